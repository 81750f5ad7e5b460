"""The door for HTTP through the standard library: `http.client`, and so `urllib.request`.

Entered at `HTTPConnection.request` and `getresponse`, both public. A request that is put together by `putrequest` and
`endheaders` stays outside the boundary, where the guard names or refuses it.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from functools import wraps
from types import ModuleType
from typing import Any, cast

from anchored.boundary.crossing import POISON_TEXT, Crossing, Gate, Passage, Poisoned
from anchored.boundary.failures import failure_of, rebuild
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
from anchored.errors import RefusedError
from anchored.events import HttpResult, Raised, Request

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_SENDING = "anchored_sending"
"""Attribute of an exception that was raised while the request went out; others came instead of the response."""


def install(library: ModuleType) -> None:
    """Puts the door into every connection, those that exist already included. Without a gate it is open."""
    connection: Any = cast("Any", library).HTTPConnection
    send: Callable[..., None] = connection.request
    answer: Callable[[Any], Any] = connection.getresponse

    @wraps(send)
    def request(
        self: Any,
        method: str,
        url: str,
        body: Any = None,
        headers: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        gate = current_gate()
        given: Mapping[str, Any] = {} if headers is None else headers
        if gate is None or inside_door():
            send(self, method, url, body, given, **kwargs)
            return
        exchange = _Exchange(gate, cast("Any", library), self, method, url, given)
        self._anchored = exchange
        exchange.send(body, lambda body, headers: send(self, method, url, body, headers, **kwargs))

    @wraps(answer)
    def getresponse(self: Any) -> Any:
        exchange = cast("_Exchange | None", self.__dict__.pop("_anchored", None))
        return answer(self) if exchange is None else exchange.answer(lambda: answer(self))

    connection.request = request
    connection.getresponse = getresponse


class _Exchange:
    """One request of a connection, and its response."""

    def __init__(
        self, gate: Gate, library: Any, connection: Any, method: str, url: str, headers: Mapping[str, Any]
    ) -> None:
        self._gate = gate
        self._library = library
        self._connection = connection
        self._method = method
        self._url = url
        self._headers = headers
        self._sent: Request | None = None
        self._crossing: Crossing
        self._passage: Passage | None = None

    def send(self, body: Any, send: Callable[[Any, Mapping[str, Any]], None]) -> None:
        """The request goes out, unless its response is served."""
        data, body = _whole(body)
        self._crossing = self._asked(self._headers, data)
        try:
            passage = self._gate.begin(self._crossing)
            if passage.action == "serve":
                self._passage = passage
                if isinstance(passage.result, Raised) and hasattr(rebuild(passage.result.error), _SENDING):
                    self._passage = None
                    raise raise_recorded(self._gate, passage, passage.result.error)
                return
            headers = self._headers
            if passage.intervention is not None:
                body, headers = self._changed(passage, data)
        except Poisoned:
            return
        try:
            with door_open():
                send(body, headers)
        except BaseException as error:
            if isinstance(error, Exception):
                setattr(error, _SENDING, True)
            self._failed(passage, error, went_out=self._connection.sock is not None)
            raise
        self._passage = passage

    def answer(self, receive: Callable[[], Any]) -> Any:
        """The response, live or served, or an exception in its place."""
        passage = self._passage
        if passage is None:
            return poisoned_response(self._method)
        try:
            if passage.action == "serve":
                return self._serve(passage)
            try:
                with door_open():
                    response = receive()
            except BaseException as error:
                self._failed(passage, error, went_out=True)
                raise
            if self._sent is not None and response.status in _REDIRECTS:
                response.close()
                raise redirected(self._gate)
        except Poisoned:
            return poisoned_response(self._method)
        headers: list[tuple[str, str]] = list(response.headers.items())
        handed = Handed(
            self._gate,
            passage,
            status=response.status,
            headers=headers,
            may_write=self._crossing.may_write,
            sent=self._sent,
            unreplayable=DECODED_OUTSIDE if is_encoded(headers) else None,
        )
        kind = cast("type[Any]", type(response))
        response.__class__ = type("HTTPResponse", (_Observed, kind), {"__module__": "http.client"})
        response._anchored = handed
        return response

    def _asked(self, headers: Mapping[str, Any], body: bytes) -> Crossing:
        connection, target = self._connection, self._url
        scheme = "https" if isinstance(connection, self._library.HTTPSConnection) else "http"
        host, port = connection.host, connection.port
        if getattr(connection, "_tunnel_host", None):
            host, port = connection._tunnel_host, connection._tunnel_port
        if "://" in target.partition("/")[0] + "//":  # by a proxy
            scheme, _, rest = target.partition("://")
            place, _, path = rest.partition("/")
            host, _, number = place.rpartition("@")[2].partition(":")
            port, target = int(number) if number.isdecimal() else None, "/" + path
        return http_crossing(
            method=self._method.upper(),
            scheme=scheme,
            host=host.strip("[]"),
            port=port,
            target=target,
            headers=[(str(name), _text(value)) for name, value in headers.items()],
            body=body,
        )

    def _changed(self, passage: Passage, data: bytes) -> tuple[bytes, dict[str, Any]]:
        """Body and headers with the intervention in them."""
        assert passage.intervention is not None
        try:
            body = passage.intervention.apply(method=self._method, path=self._url.partition("?")[0], body=data)
        except RefusedError as error:
            raise self._gate.poison("guard", error.problem) from error
        framing = ("content-length", "transfer-encoding")
        headers = {name: value for name, value in self._headers.items() if name.lower() not in framing}
        self._sent = self._asked(headers, body).request
        return body, headers

    def _failed(self, passage: Passage, error: BaseException, *, went_out: bool) -> None:
        end_unanswered(self._gate, passage, self._crossing, error, went_out=went_out, sent=self._sent)

    def _serve(self, passage: Passage) -> Any:
        result = passage.result
        if isinstance(result, Raised):
            raise raise_recorded(self._gate, passage, result.error)
        if not isinstance(result, HttpResult):
            raise no_response(self._gate)
        handed = Handed(self._gate, passage, status=result.status, headers=result.headers)
        return served_response(result, handed, method=self._method, unreadable=_unreadable)


class _Observed:
    """A live response, whose body tells what passes. Mixed into the library's own class."""

    _anchored: Handed
    _depth = 0

    def read(self, amt: int | None = None) -> bytes:
        with self._outermost() as outermost:
            data: bytes = cast("Any", super()).read(amt)
        self._passed(outermost, data, whole=amt is None or amt < 0, wanted=amt != 0)
        return data

    def read1(self, n: int = -1) -> bytes:
        with self._outermost() as outermost:
            data: bytes = cast("Any", super()).read1(n)
        self._passed(outermost, data, wanted=n != 0)
        return data

    def readinto(self, b: Any) -> int:
        with self._outermost() as outermost:
            count: int = cast("Any", super()).readinto(b)
        self._passed(outermost, bytes(memoryview(b)[:count]), wanted=len(b) > 0)
        return count

    def readline(self, limit: int = -1) -> bytes:
        with self._outermost() as outermost:
            data: bytes = cast("Any", super()).readline(limit)
        self._passed(outermost, data, wanted=limit != 0)
        return data

    def close(self) -> None:
        if "_anchored" in self.__dict__ and current_gate() is self._anchored.gate:
            _end(self._anchored, closed=True)
        cast("Any", super()).close()

    @contextmanager
    def _outermost(self) -> Generator[bool]:
        """Some ways of reading use others."""
        depth = self._depth
        self._depth = depth + 1
        try:
            yield depth == 0
        except BaseException as error:
            if depth == 0 and current_gate() is self._anchored.gate:
                partial = getattr(error, "partial", b"")
                self._anchored.take(partial if isinstance(partial, bytes) else b"")
                try:
                    self._anchored.end(error=failure_of(error))
                except Poisoned as poisoned:
                    raise _unreadable() from poisoned
            raise
        finally:
            self._depth = depth

    def _passed(self, outermost: bool, data: bytes, *, wanted: bool, whole: bool = False) -> None:
        if outermost and current_gate() is self._anchored.gate:
            self._anchored.take(data)
            if whole or (wanted and not data):
                _end(self._anchored)


def _end(handed: Handed, *, closed: bool = False) -> None:
    try:
        handed.end(closed=closed)
    except Poisoned as poisoned:
        raise _unreadable() from poisoned


def _unreadable() -> Exception:
    """The status is out already; a BaseException would kill threads without a word."""
    return ConnectionResetError(POISON_TEXT)


def _whole(body: Any) -> tuple[bytes, Any]:
    """A request's body, and what to send in its place where it can be read only once."""
    if body is None:
        return b"", None
    if isinstance(body, str):
        return body.encode("latin-1", "replace"), body
    if isinstance(body, bytes | bytearray):
        return bytes(body), body
    if hasattr(body, "read"):
        data = body.read()
        content = data.encode("latin-1", "replace") if isinstance(data, str) else bytes(data)
        return content, io.BytesIO(content)
    parts = [bytes(part) for part in cast("Iterable[Any]", body)]
    return b"".join(parts), iter(parts)


def _text(value: Any) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)
