"""The door for HTTP through `aiohttp`: every request of every session is observed.

Entered at `ClientSession._request`, which every request of a session passes, with a client middleware of its own, the
innermost: redirects, and what the program's own middlewares repeat, are sends of their own. Private and seen in
3.14.5: `_request`, `_middlewares`, `_read_bufsize` and `_auto_decompress` of a session, `_wait` of a stream reader, how
a response is made. An aiohttp before 3.12 has no middlewares: its calls stay outside the boundary, where the guard
names or refuses them, and so do WebSockets.
"""

from __future__ import annotations

import asyncio
import http
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import wraps
from inspect import signature
from types import ModuleType
from typing import Any, cast

from anchored.boundary.crossing import POISON_TEXT, Crossing, Gate, Passage, Poisoned
from anchored.boundary.failures import (
    error_of_parts,
    failure_of,
    failure_parts,
    is_cancellation,
    keep_by,
    rebuild,
)
from anchored.boundary.guard import door_open, inside_door
from anchored.boundary.handed import (
    DECODED_OUTSIDE,
    Handed,
    end_unanswered,
    is_encoded,
    no_response,
    raise_recorded_async,
    read_past,
    redirected,
)
from anchored.boundary.http_calls import (
    POISON_BODY,
    POISON_HEADERS,
    POISON_STATUS,
    Headers,
    byte_headers,
    http_crossing,
    is_stream,
    pieces,
)
from anchored.boundary.process import current_gate
from anchored.errors import InstallError, RefusedError
from anchored.events import HttpResult, Raised, Request
from anchored.replaying import RequestChange

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_READ_SIZE = 2**16


def install(library: ModuleType) -> None:
    """Puts the door into every session, those that exist already included. Without a gate it is open.

    Raises:
        InstallError: this aiohttp has another inside than the one that was seen.
    """
    session: Any = getattr(library, "ClientSession", None)
    original: Callable[..., Awaitable[Any]] | None = getattr(session, "_request", None)
    if original is None:
        raise InstallError(
            "The boundary does not fit this aiohttp.",
            expected="aiohttp.ClientSession._request, as in aiohttp 3.14",
            found=f"aiohttp {getattr(library, '__version__', '')} without it",
            next_step="Install aiohttp 3.14, or report this version.",
        )
    if "middlewares" not in signature(original).parameters:
        return
    door = _Door(library)

    @wraps(original)
    async def _request(self: Any, *args: Any, **kwargs: Any) -> Any:
        gate = current_gate()
        if gate is None or inside_door():
            return await original(self, *args, **kwargs)
        given = kwargs.pop("middlewares", None)
        size = kwargs.get("read_bufsize") or getattr(self, "_read_bufsize", _READ_SIZE)
        inflates = kwargs.get("auto_decompress")
        inflates = getattr(self, "_auto_decompress", True) if inflates is None else inflates
        send = _Send(gate, door, self, size=size, inflates=inflates)
        return await original(
            self, *args, middlewares=(*(self._middlewares if given is None else given), send), **kwargs
        )

    session._request = _request


class _Door:
    """The library's own classes."""

    def __init__(self, library: Any) -> None:
        self.library = library
        self.reader: type[Any] = type("_Reader", (_Reader, library.StreamReader), {})
        self.not_sent = (library.ClientConnectorError, library.ConnectionTimeoutError)
        for name in _CONNECTOR_ERRORS:
            kind = getattr(library, name, None)
            if kind is not None:
                keep_by(kind, _take_connector_error, lambda parts, kind=kind: _connector_error(library, kind, parts))

    def unreadable(self) -> Exception:
        """The status is out already; a BaseException would kill tasks without a word."""
        return self.library.ClientPayloadError(POISON_TEXT)

    def body(self, source: _Live | _Served, *, size: int) -> Any:
        """A reader of the library's own that is fed from `source` as the program reads."""
        reader = self.reader(_Unconnected(), size, loop=asyncio.get_running_loop())
        reader.attach(source, self)
        return reader

    def response(self, request: Any, session: Any, *, status: int, headers: Headers) -> Any:
        """A response of the kind that the session makes, without a connection and, yet, without a body."""
        from multidict import CIMultiDict, CIMultiDictProxy

        kind = request.response_class
        known = signature(kind.__init__).parameters
        loop = asyncio.get_running_loop()
        parts = {
            "writer": None,
            "continue100": None,
            "timer": None,
            "request_info": request.request_info,
            "traces": getattr(request, "_traces", []),
            "loop": loop,
            "session": session,
            "stream_writer": _Unconnected(),
        }
        made = kind(
            request.method,
            getattr(request, "original_url", request.url),
            **{name: part for name, part in parts.items() if name in known},
        )
        made.status = status
        made.reason = http.HTTPStatus(status).phrase if status in set(http.HTTPStatus) else ""
        made.version = self.library.HttpVersion11
        made._headers = CIMultiDictProxy(CIMultiDict(headers))
        made._raw_headers = tuple(byte_headers(headers))
        return made


class _Unconnected:
    """Stands where a connection would be."""

    connected = True
    output_size = 0
    upgraded = False

    def pause_reading(self) -> None:
        """Nothing is read from a connection."""

    def resume_reading(self, **_: object) -> None:
        """Nothing is read from a connection."""


class _Send:
    """The innermost middleware of one request: each time it is sent is an event."""

    def __init__(self, gate: Gate, door: _Door, session: Any, *, size: int, inflates: bool) -> None:
        self._gate = gate
        self._door = door
        self._session = session
        self._size = size
        self._inflates = inflates

    async def __call__(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        if request.headers.get("Upgrade", "").lower() == "websocket":
            return await handler(request)
        body = await _body_of(request)
        crossing = _crossing(request, body)
        try:
            passage = await self._gate.begin_async(crossing)
            if passage.action == "serve":
                return await self._serve(request, passage)
            sent = await self._put_in(request, body, passage.intervention)
            try:
                with door_open():
                    response = await handler(request)
            except BaseException as error:
                went_out = not isinstance(error, self._door.not_sent)
                end_unanswered(self._gate, passage, crossing, error, went_out=went_out, sent=sent)
                raise
            if sent is not None:
                if response.status in _REDIRECTS and "Location" in response.headers:
                    response.close()
                    raise redirected(self._gate)
                await request.update_body(body)
            return self._observe(response, crossing, passage, sent)
        except Poisoned:
            return self._poisoned(request)

    async def _put_in(self, request: Any, body: bytes, intervention: RequestChange | None) -> Request | None:
        """Puts an intervention into what is sent; the identity of that. The program has no part in this request."""
        if intervention is None:
            return None
        try:
            changed = intervention.apply(
                method=request.method, path=request.url.raw_path_qs.partition("?")[0], body=body
            )
        except RefusedError as error:
            raise self._gate.poison("guard", error.problem) from error
        await request.update_body(changed)
        return _crossing(request, changed).request

    def _observe(self, response: Any, crossing: Crossing, passage: Passage, sent: Request | None) -> Any:
        headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in response.raw_headers]
        handed = Handed(
            self._gate,
            passage,
            status=response.status,
            headers=headers,
            may_write=crossing.may_write,
            sent=sent,
            unreplayable=None if self._inflates or not is_encoded(headers) else DECODED_OUTSIDE,
        )
        response.content = self._door.body(_Live(response.content, handed), size=self._size)
        return response

    async def _serve(self, request: Any, passage: Passage) -> Any:
        result = passage.result
        if isinstance(result, Raised):
            raise await raise_recorded_async(self._gate, passage, result.error)
        if not isinstance(result, HttpResult):
            raise no_response(self._gate)
        handed = Handed(self._gate, passage, status=result.status, headers=result.headers)
        response = self._door.response(request, self._session, status=result.status, headers=result.headers)
        response.content = self._door.body(_Served(result, handed), size=self._size)
        return response

    def _poisoned(self, request: Any) -> Any:
        response = self._door.response(request, self._session, status=POISON_STATUS, headers=POISON_HEADERS)
        content = self._door.library.StreamReader(_Unconnected(), _READ_SIZE, loop=asyncio.get_running_loop())
        content.feed_data(POISON_BODY)
        content.feed_eof()
        response.content = content
        return response


async def _body_of(request: Any) -> bytes:
    body = request.body
    return bytes(body) if isinstance(body, bytes | bytearray) else await body.as_bytes()


def _crossing(request: Any, body: bytes) -> Crossing:
    url = request.url
    return http_crossing(
        method=request.method,
        scheme=url.scheme,
        host=url.raw_host or "",
        port=url.port,
        target=url.raw_path_qs,
        headers=list(request.headers.items()),
        body=body,
    )


class _Live:
    """A live body as it comes, with where its chunks end."""

    def __init__(self, inner: Any, handed: Handed) -> None:
        self.inner = inner
        self._handed = handed

    async def next(self) -> tuple[bytes, bool] | None:
        """The next part; None at the end."""
        try:
            chunk, ends = await self.inner.readchunk()
        except BaseException as error:
            self._handed.end(error=failure_of(error))
            raise
        if not chunk and not ends:
            self._handed.end()
            return None
        self._handed.take(chunk)
        return chunk, ends

    def chunked(self) -> bool:
        """Whether it comes in chunks whose ends the program can see."""
        return getattr(self.inner, "_http_chunk_splits", None) is not None

    def over(self) -> bool:
        """Whether nothing is left of it."""
        return bool(self.inner.at_eof())

    def end(self, *, closed: bool) -> None:
        """The program reads no further."""
        self._handed.end(closed=closed)


class _Served:
    """A recorded body, to where the program read it, and no further before the recorded end has its turn."""

    inner = None

    def __init__(self, result: HttpResult, handed: Handed) -> None:
        self._result = result
        self._handed = handed
        self._pieces = pieces(result)
        self._streamed = is_stream(result)
        self._held = not self._streamed

    async def next(self) -> tuple[bytes, bool] | None:
        """The next part; None at the end."""
        gate, passage, error = self._handed.gate, self._handed.passage, self._result.error
        try:
            if not self._held:
                self._held = True
                await gate.hold_async(passage)
            piece = next(self._pieces, None)
            if piece is not None:
                self._handed.take(piece)
                return piece, self._streamed
            if self._handed.ended or (self._result.closed and error is None):
                raise read_past(gate)
            if error is not None and is_cancellation(error):
                await gate.wait_for_cancellation(passage)
            await gate.wait_async(passage)
        except Poisoned:
            raise
        except BaseException as ended:
            self._handed.end(error=failure_of(ended))
            raise
        self._handed.end(error=error)
        if error is not None:
            raise rebuild(error)
        return None

    def chunked(self) -> bool:
        """Whether it comes in chunks: event by event."""
        return self._streamed

    def over(self) -> bool:
        """Whether nothing is left of it."""
        return self._result.error is None and self._handed.size >= len(self._result.body)

    def end(self, *, closed: bool) -> None:
        """The program reads no further. Where it had all, it was told so or not as when it was recorded."""
        self._handed.end(closed=self._result.closed if self.over() else closed)


class _Reader:
    """A stream reader that takes its next part from a source when the program wants more than there is.

    Mixed into the library's own, all of whose ways of reading wait in `_wait`, and whose `set_exception` is how a
    response says that it was closed.
    """

    _source: _Live | _Served | None = None
    _door: _Door

    def attach(self, source: _Live | _Served, door: _Door) -> None:
        """Where the body comes from."""
        self._source, self._door = source, door

    async def _wait(self, func_name: str) -> None:
        reader = cast("Any", self)
        try:
            part = await cast("_Live | _Served", self._source).next()
        except Poisoned as poisoned:
            raise self._door.unreadable() from poisoned
        except Exception as error:
            cast("Any", super()).set_exception(error)
            raise
        if part is None:
            reader.feed_eof()
            return
        chunk, ends = part
        if not reader.total_bytes and cast("_Live | _Served", self._source).chunked():
            reader.begin_http_chunk_receiving()
        reader.feed_data(chunk)
        if ends:
            reader.end_http_chunk_receiving()

    def at_eof(self) -> bool:
        """Whether all was read; who is told so here need not read again."""
        reader = cast("Any", self)
        if cast("Any", super()).at_eof():
            return True
        if reader._buffer or reader._exception is not None or self._source is None or not self._source.over():
            return False
        self._end(closed=False)
        reader.feed_eof()
        return True

    async def wait_eof(self) -> None:
        while not cast("Any", self).is_eof():
            await self._wait("wait_eof")

    def set_read_chunk_size(self, n: int) -> None:
        cast("Any", super()).set_read_chunk_size(n)
        if self._source is not None and self._source.inner is not None:
            self._source.inner.set_read_chunk_size(n)

    def set_exception(self, exc: BaseException, *cause: Any) -> None:
        """The response was closed or released."""
        cast("Any", super()).set_exception(exc, *cause)
        if self._source is not None and self._source.inner is not None:
            self._source.inner.set_exception(exc, *cause)
        self._end(closed=True)

    def __del__(self) -> None:
        if current_gate() is not None:
            with suppress(Poisoned, AttributeError):
                cast("_Live | _Served", self._source).end(closed=True)

    def _end(self, *, closed: bool) -> None:
        if self._source is not None:
            try:
                self._source.end(closed=closed)
            except Poisoned as poisoned:
                raise self._door.unreadable() from poisoned


_CONNECTOR_ERRORS = (
    "ClientConnectorError",
    "ClientConnectorDNSError",
    "ClientProxyConnectionError",
    "ClientConnectorSSLError",
    "ClientConnectorCertificateError",
)
"""They hold the key of a connection, and the system's own exception."""


def _take_connector_error(error: Any) -> object:
    key, cause = error.args
    if not isinstance(key.ssl, bool) or key.proxy is not None:
        raise TypeError("its connection is described by live objects")
    return (key.host, key.port, key.is_ssl, key.ssl, failure_parts(cause))


def _connector_error(library: Any, kind: Any, parts: Any) -> Exception:
    host, port, is_ssl, ssl, cause = parts
    key = library.client_reqrep.ConnectionKey(host, port, is_ssl, ssl, None, None, None)
    return kind(key, error_of_parts(tuple(cause)))
