"""The door for HTTP through `urllib3` 2, and so through `requests`: every send of every pool is observed.

Entered at `HTTPConnectionPool._make_request`, which each send passes: redirects and retries, urllib3's own too, are
sends of their own. Private and seen in 2.8.0: that, `HTTPSConnectionPool._prepare_proxy`, and `_raw_read` and
`_handle_chunk` of a response, one of which every part of a body passes.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import wraps
from types import ModuleType
from typing import Any, cast
from urllib.parse import urlsplit

from anchored.boundary.crossing import POISON_TEXT, Crossing, Gate, Passage, Poisoned
from anchored.boundary.failures import error_of_parts, failure_of, failure_parts, keep_by, rebuild
from anchored.boundary.guard import door_open, inside_door
from anchored.boundary.handed import (
    DECODED_OUTSIDE,
    Handed,
    end_unanswered,
    is_encoded,
    no_response,
    raise_recorded,
    redirected,
)
from anchored.boundary.http_calls import http_crossing
from anchored.boundary.http_wire import poisoned_response, served_response
from anchored.boundary.process import current_gate
from anchored.errors import InstallError, RefusedError
from anchored.events import Failure, HttpResult, Raised, Request

_REDIRECTS = frozenset({301, 302, 303, 307, 308})

_place: ContextVar[tuple[Any, Any]] = ContextVar("anchored_urllib3_place", default=(None, None))
"""The pool and the connection that recorded exceptions are about."""


def install(library: ModuleType) -> None:
    """Puts the door into every pool, those that exist already included. Without a gate it is open.

    Raises:
        InstallError: this urllib3 has another inside than the one that was seen.
    """
    door = _Door(library)
    pool: Any = door.pools.HTTPConnectionPool
    original: Callable[..., Any] | None = getattr(pool, "_make_request", None)
    if original is None or not hasattr(door.response, "_raw_read") or not hasattr(door.response, "_handle_chunk"):
        raise InstallError(
            "The boundary does not fit this urllib3.",
            expected="urllib3.HTTPConnectionPool._make_request and what reads a response, as in urllib3 2.8",
            found=f"urllib3 {getattr(library, '__version__', '')} without them",
            next_step="Install urllib3 2, or report this version.",
        )

    @wraps(original)
    def _make_request(self: Any, conn: Any, method: str, url: str, *args: Any, **kwargs: Any) -> Any:
        gate = current_gate()
        if gate is None or inside_door():
            return original(self, conn, method, url, *args, **kwargs)
        send = _Send(gate, door, self, conn, method, url, kwargs)
        return send.go(lambda: original(self, conn, method, url, *args, **send.given))

    pool._make_request = _make_request
    _postpone_tunnel(door)


def _postpone_tunnel(door: _Door) -> None:
    """A tunnel through a proxy is made when the request goes out, not before it is known whether one does."""
    pool: Any = door.pools.HTTPSConnectionPool
    original: Callable[[Any, Any], None] = pool._prepare_proxy

    @wraps(original)
    def _prepare_proxy(self: Any, conn: Any) -> None:
        if current_gate() is None or inside_door():
            original(self, conn)
        else:
            conn._anchored_tunnel = lambda: original(self, conn)

    pool._prepare_proxy = _prepare_proxy


class _Door:
    """The library's own classes."""

    def __init__(self, library: Any) -> None:
        self.library = library
        self.pools = library.connectionpool
        self.errors = library.exceptions
        self.response: type[Any] = library.response.HTTPResponse
        self.observed: type[Any] = type("HTTPResponse", (_Observed, self.response), {"__module__": "urllib3.response"})
        self.not_sent = (self.errors.NewConnectionError, self.errors.ConnectTimeoutError, self.errors.ProxyError)
        for kind in (
            *(self.errors.NewConnectionError, self.errors.NameResolutionError, self.errors.ConnectTimeoutError),
            *(self.errors.ReadTimeoutError, self.errors.ProtocolError, self.errors.SSLError, self.errors.ProxyError),
            *(self.errors.IncompleteRead, self.errors.InvalidChunkLength),
        ):
            keep_by(kind, _take, lambda parts, kind=kind: _made(kind, parts))

    def unreadable(self) -> Exception:
        """The status is out already; a BaseException would kill threads without a word."""
        return self.errors.ProtocolError(POISON_TEXT)

    def decoded(self, headers: list[tuple[str, str]], chunks: list[bytes]) -> bytes:
        """The body after content decoding, by the library's own decoders; as far as it decodes where it was cut."""
        encodings = [(name, value) for name, value in headers if name.lower() == "content-encoding"]
        if not encodings:
            return b"".join(chunks)
        parts: list[bytes] = []
        body = self.response(body=io.BytesIO(b"".join(chunks)), headers=encodings, preload_content=False)
        with suppress(self.errors.DecodeError):
            parts.extend(body.stream(2**14, decode_content=True))
        return b"".join(parts)

    def made(self, response: Any, send: _Send) -> Any:
        """urllib3's own response over one of the standard library's that was made here."""
        given = send.given
        made = self.response(
            body=response,
            headers=dict(response.headers.items()),
            status=response.status,
            version=response.version,
            version_string="HTTP/1.1",
            reason=response.reason,
            preload_content=False,
            decode_content=given.get("decode_content", True),
            original_response=response,
            enforce_content_length=False,
            request_method=send.method,
            request_url=send.url,
            retries=given.get("retries"),
        )
        made.chunked = True
        made._pool = send.pool
        made._connection = given.get("response_conn")
        if given.get("preload_content", True):
            made._body = made.read(decode_content=given.get("decode_content", True))
        return made


class _Send:
    """One send of a pool."""

    def __init__(
        self, gate: Gate, door: _Door, pool: Any, connection: Any, method: str, url: str, given: dict[str, Any]
    ) -> None:
        self.pool = pool
        self.connection = connection
        self.method = method
        self.url = url
        self.given = given
        self._gate = gate
        self._door = door

    def go(self, send: Callable[[], Any]) -> Any:
        """What the library gets: a response, live or served, or an exception."""
        body, self.given["body"] = _whole(self.given.get("body"))
        crossing = self._crossing(body)
        try:
            passage = self._gate.begin(crossing)
            if passage.action == "serve":
                return self._serve(passage)
            sent = self._put_in(passage, body)
            try:
                with door_open():
                    tunnel = self.connection.__dict__.pop("_anchored_tunnel", None)
                    if tunnel is not None:
                        tunnel()
                    response = send()
            except BaseException as error:
                went_out = not isinstance(error, self._door.not_sent)
                end_unanswered(self._gate, passage, crossing, error, went_out=went_out, sent=sent)
                raise
            if sent is not None and response.status in _REDIRECTS:
                response.close()
                raise redirected(self._gate)
            return self._observe(response, crossing, passage, sent)
        except Poisoned:
            return self._door.made(poisoned_response(self.method), self)

    def _crossing(self, body: bytes) -> Crossing:
        scheme, host, port, target = self.pool.scheme, self.pool.host, self.pool.port, self.url
        if not target.startswith("/"):  # by a proxy
            parts = urlsplit(target)
            scheme, host, port = parts.scheme, parts.hostname or "", parts.port
            target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        headers = cast("Mapping[Any, Any]", self.given.get("headers") or {})
        return http_crossing(
            method=self.method.upper(),
            scheme=scheme,
            host=host.strip("[]"),
            port=port,
            target=target,
            headers=[(_text(name), _text(value)) for name, value in headers.items()],
            body=body,
        )

    def _put_in(self, passage: Passage, body: bytes) -> Request | None:
        """Puts an intervention into what is sent; the identity of that. The headers are a copy."""
        if passage.intervention is None:
            return None
        try:
            changed = passage.intervention.apply(method=self.method, path=self.url.partition("?")[0], body=body)
        except RefusedError as error:
            raise self._gate.poison("guard", error.problem) from error
        framing = ("content-length", "transfer-encoding")
        headers = cast("Mapping[Any, Any]", self.given.get("headers") or {})
        kept = {name: value for name, value in headers.items() if _text(name).lower() not in framing}
        self.given.update(body=changed, headers=kept, chunked=False)
        return self._crossing(changed).request

    def _serve(self, passage: Passage) -> Any:
        self.connection.__dict__.pop("_anchored_tunnel", None)
        result = passage.result
        with _at(self.pool, self.connection):
            if isinstance(result, Raised):
                error = raise_recorded(self._gate, passage, result.error)
                if not isinstance(error, self._door.not_sent):
                    self.connection._has_connected_to_proxy = True
                raise error
        if not isinstance(result, HttpResult):
            raise no_response(self._gate)
        handed = Handed(self._gate, passage, status=result.status, headers=result.headers)

        def put_together(failure: Failure) -> Exception:
            with _at(self.pool, self.connection):
                return rebuild(failure)

        response = served_response(
            result, handed, method=self.method, unreadable=self._door.unreadable, put_together=put_together
        )
        return self._door.made(response, self)

    def _observe(self, response: Any, crossing: Crossing, passage: Passage, sent: Request | None) -> Any:
        headers = [(_text(name), _text(value)) for name, value in response.headers.items()]
        preloaded = self.given.get("preload_content", True) or type(response) is not self._door.response
        raw = not self.given.get("decode_content", True)
        handed = Handed(
            self._gate,
            passage,
            status=response.status,
            headers=headers,
            may_write=crossing.may_write,
            sent=sent,
            decode=b"".join if preloaded else lambda chunks: self._door.decoded(headers, chunks),
            unreplayable=DECODED_OUTSIDE if preloaded and raw and is_encoded(headers) else None,
        )
        if preloaded:
            handed.take(response.data or b"")
            handed.end()
        else:
            response.__class__ = self._door.observed
            response._anchored = (handed, self._door)
        return response


class _Observed:
    """A live response, whose body tells what passes. Mixed into the library's own class."""

    _anchored: tuple[Handed, _Door]
    _reads = False

    def _raw_read(self, amt: int | None = None, **kwargs: Any) -> bytes:
        with self._breaking(), self._reading():
            data: bytes = cast("Any", super())._raw_read(amt, **kwargs)
        self._anchored[0].take(data)
        if (amt is None and not kwargs.get("read1")) or (amt != 0 and not data):
            self._end()
        return data

    def _update_chunk_length(self) -> None:
        with self._reading():
            cast("Any", super())._update_chunk_length()

    def _handle_chunk(self, amt: int | None) -> bytes:
        with self._reading():
            data: bytes = cast("Any", super())._handle_chunk(amt)
        self._anchored[0].take(data)
        return data

    def read(self, amt: int | None = None, decode_content: bool | None = None, **kwargs: Any) -> bytes:
        self._mark(decode_content)
        return cast("Any", super()).read(amt, decode_content, **kwargs)

    def read1(self, amt: int | None = None, decode_content: bool | None = None) -> bytes:
        self._mark(decode_content)
        return cast("Any", super()).read1(amt, decode_content)

    def read_chunked(self, amt: int | None = None, decode_content: bool | None = None) -> Generator[bytes]:
        self._mark(decode_content)
        with self._breaking():
            yield from cast("Any", super()).read_chunked(amt, decode_content)
        self._end()

    def stream(self, amt: int | None = 2**16, decode_content: bool | None = None) -> Generator[bytes]:
        yield from cast("Any", super()).stream(amt, decode_content)
        self._end()

    def close(self) -> None:
        if "_anchored" in self.__dict__ and not self._reads:
            self._end(closed=True)
        cast("Any", super()).close()

    @contextmanager
    def _reading(self) -> Generator[None]:
        """Inside, it is the library that closes: at the end, or before it says that the body broke off."""
        before, self._reads = self._reads, True
        try:
            yield
        finally:
            self._reads = before

    def _mark(self, decode_content: bool | None) -> None:
        """Notes where the program takes a body as it came, and decodes it itself."""
        response = cast("Any", self)
        decodes = response.decode_content if decode_content is None else decode_content
        if not decodes and is_encoded(list(response.headers.items())):
            self._anchored[0].unreplayable = DECODED_OUTSIDE

    @contextmanager
    def _breaking(self) -> Generator[None]:
        handed, door = self._anchored
        try:
            yield
        except GeneratorExit:
            raise
        except BaseException as error:
            try:
                handed.end(error=failure_of(error))
            except Poisoned as poisoned:
                raise door.unreadable() from poisoned
            raise

    def _end(self, *, closed: bool = False) -> None:
        handed, door = self._anchored
        if current_gate() is handed.gate:
            try:
                handed.end(closed=closed)
            except Poisoned as poisoned:
                raise door.unreadable() from poisoned


def _whole(body: Any) -> tuple[bytes, Any]:
    """A request's body, and what to send in its place where it can be read only once."""
    if body is None:
        return b"", None
    if isinstance(body, str):
        return body.encode("utf-8"), body
    if isinstance(body, bytes | bytearray):
        return bytes(body), body
    if hasattr(body, "read"):
        data = body.read()
        content = data.encode("utf-8") if isinstance(data, str) else bytes(data)
        return content, io.BytesIO(content)
    parts = [part.encode("utf-8") if isinstance(part, str) else bytes(part) for part in body]
    return b"".join(parts), iter(parts)


def _text(value: Any) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)


@contextmanager
def _at(pool: Any, connection: Any) -> Generator[None]:
    token = _place.set((pool, connection))
    try:
        yield
    finally:
        _place.reset(token)


_PLACES = ("pool", "connection")


def _take(error: Any) -> object:
    """The arguments of one of urllib3's exceptions, with names in place of pool and connection; then what it says,
    where pool and connection are in it: those of a replay may have another port.
    """
    held, said = error.args, []
    if hasattr(error, "_message") or hasattr(error, "_reason"):  # its arguments are made of others
        at = 1 if hasattr(error, "_reason") else 0
        held = list(error.__reduce__()[1])
        held[at] = error.conn if hasattr(error, "conn") else error.pool
        said = [("said", error.args[0])]
    return [*(_argument(item) for item in held), *said]


def _argument(item: Any) -> object:
    if isinstance(item, Exception):
        return ("error", *failure_parts(item))
    if hasattr(item, "urlopen"):
        return ("pool",)
    if hasattr(item, "getresponse"):
        return ("connection",)
    return ("plain", item)


def _made(kind: Any, parts: Any) -> Exception:
    """Inverts `_take` at the current place."""
    error = kind(*(_put(part) for part in parts if part[0] != "said"))
    said = tuple(part[1] for part in parts if part[0] == "said")
    error.args = said or error.args
    return error


def _put(part: Any) -> object:
    word = part[0]
    if word == "error":
        return error_of_parts(tuple(part[1:]))
    return _place.get()[_PLACES.index(word)] if word in _PLACES else part[1]
