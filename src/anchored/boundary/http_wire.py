"""Recorded responses as the bytes of a connection, for clients that read with the standard library's `http.client`."""

from __future__ import annotations

import io
from collections.abc import Callable, Generator
from contextlib import contextmanager
from http.client import HTTPException, HTTPResponse, responses
from typing import Any

from anchored.boundary.crossing import Poisoned
from anchored.boundary.failures import rebuild
from anchored.boundary.handed import Handed, read_past
from anchored.boundary.http_calls import POISON_BODY, POISON_HEADERS, POISON_STATUS, Headers, is_stream, pieces
from anchored.boundary.process import current_gate
from anchored.events import Failure, HttpResult


def served_response(
    result: HttpResult,
    handed: Handed,
    *,
    method: str,
    unreadable: Callable[[], Exception],
    put_together: Callable[[Failure], Exception] = rebuild,
) -> Any:
    """A recorded response, read by the standard library's own reader.

    Args:
        result: the response.
        handed: what tells the gate what the program was handed.
        method: of the request, since some have no body.
        unreadable: what to raise where the session is over.
        put_together: makes the exception that broke the body off.
    """
    wire = _Wire(result, handed, unreadable, put_together)
    response = _read(wire, result.status, result.headers, method)
    response._anchored = wire
    return response


def poisoned_response(method: str) -> Any:
    """What every request gets after a poison."""
    body = b"%x\r\n%b\r\n0\r\n\r\n" % (len(POISON_BODY), POISON_BODY)
    return _read(io.BytesIO(body), POISON_STATUS, POISON_HEADERS, method)


def _read(body: io.IOBase, status: int, headers: Headers, method: str) -> Any:
    """The response has its body in chunks, which the library reads one by one; it does not say so to the program."""
    head = [
        f"HTTP/1.1 {status} {responses.get(status, '')}",
        *(f"{name}: {value}" for name, value in headers),
    ]
    wire = "".join(f"{line}\r\n" for line in [*head, "transfer-encoding: chunked", ""]).encode("latin-1")
    response = HTTPResponse(_Socket(_Joined(wire, body)), method=method)  # pyright: ignore[reportArgumentType]
    response.__class__ = _Response
    response.begin()
    del response.headers["transfer-encoding"]
    return response


class _Response(HTTPResponse):
    """Raises what broke a recorded body off as it was: the library makes others of some exceptions."""

    _anchored: _Wire

    def read(self, amt: int | None = None) -> bytes:
        with self._as_it_was():
            return super().read(amt)

    def read1(self, n: int = -1) -> bytes:
        with self._as_it_was():
            return super().read1(n)

    def readinto(self, b: Any) -> int:
        with self._as_it_was():
            return super().readinto(b)

    def readline(self, limit: int = -1) -> bytes:  # pyright: ignore[reportIncompatibleMethodOverride]
        with self._as_it_was():
            return super().readline(limit)

    @contextmanager
    def _as_it_was(self) -> Generator[None]:
        try:
            yield
        except HTTPException:
            if self._anchored.broken is None:
                raise
            raise self._anchored.broken from None


class _Socket:
    """What `http.client` wants of a connection: to be made a file of."""

    def __init__(self, raw: io.RawIOBase) -> None:
        self._raw = raw

    def makefile(self, mode: str) -> io.BufferedReader:
        """The bytes that come."""
        return io.BufferedReader(self._raw)


class _Joined(io.RawIOBase):
    """A head, and then a body, never both in one read."""

    def __init__(self, head: bytes, body: Any) -> None:
        self._head = head
        self._body = body

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        if self._head:
            view = memoryview(buffer)
            part, self._head = self._head[: len(view)], self._head[len(view) :]
            view[: len(part)] = part
            return len(part)
        return self._body.readinto(buffer)

    def close(self) -> None:
        if not self.closed:
            self._body.close()
        super().close()


class _Wire(io.RawIOBase):
    """A recorded body in chunks, to where the program read it; the last one waits for the turn of the recorded end."""

    def __init__(
        self,
        result: HttpResult,
        handed: Handed,
        unreadable: Callable[[], Exception],
        put_together: Callable[[Failure], Exception],
    ) -> None:
        self._result = result
        self._handed = handed
        self._unreadable = unreadable
        self._put_together = put_together
        self.broken: Exception | None = None
        self._pieces = pieces(result)
        self._left = b""
        self._held = not is_stream(result)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        view = memoryview(buffer)
        if not self._left:
            self._left = self._next()
        part, self._left = self._left[: len(view)], self._left[len(view) :]
        view[: len(part)] = part
        return len(part)

    def _next(self) -> bytes:
        gate, passage, error = self._handed.gate, self._handed.passage, self._result.error
        if self._handed.ended:
            return b""
        try:
            if not self._held:
                self._held = True
                gate.hold(passage)
            piece = next(self._pieces, b"")
            if piece:
                self._handed.take(piece)
                return b"%x\r\n%b\r\n" % (len(piece), piece)
            if self._result.closed and error is None:
                raise read_past(gate)
            gate.wait(passage)
            self._handed.end(error=error)
        except Poisoned as poisoned:
            raise self._unreadable() from poisoned
        if error is not None:
            self.broken = self._put_together(error)
            raise self.broken
        return b"0\r\n\r\n"

    def close(self) -> None:
        """The program reads no further."""
        closed = self.closed
        super().close()
        if closed or self._handed.ended or current_gate() is not self._handed.gate:
            return
        whole = self._result.error is None and self._handed.size >= len(self._result.body)
        try:
            self._handed.gate.wait(self._handed.passage)
            self._handed.end(closed=self._result.closed if whole else True)
        except Poisoned as poisoned:
            raise self._unreadable() from poisoned
