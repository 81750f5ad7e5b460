"""The door for HTTP through `httpx` and `httpx2`: whatever transport a client uses is observed.

Entered at `Client._transport_for_url` and `AsyncClient._transport_for_url`, the one place that every request of a
client passes (seen in httpx 0.28.1 and httpx2 2.16.2, which have the same inside). Each library is entered when the
program has imported it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from types import ModuleType
from typing import Any

from anchored.boundary.crossing import POISON_TEXT, Crossing, Gate, Passage, Poisoned
from anchored.boundary.failures import end_with_failure, failure_of, is_cancellation, rebuild
from anchored.boundary.guard import door_open, inside_door
from anchored.boundary.http_calls import (
    POISON_BODY,
    POISON_HEADERS,
    POISON_STATUS,
    byte_headers,
    http_crossing,
    is_stream,
    outcome_of_error,
    outcome_of_response,
    pieces,
    unserved,
)
from anchored.boundary.process import current_gate
from anchored.canonical import JsonObject
from anchored.errors import InstallError, RefusedError
from anchored.events import Failure, HttpResult, Raised, Request, served_headers
from anchored.replaying import RequestChange


def install(library: ModuleType) -> None:
    """Puts the door into every client, those that exist already included. Without a gate it is open.

    Raises:
        InstallError: this library has another inside than the ones that were seen.
    """
    door = _Door(library)
    for name, transport in (("Client", _Transport), ("AsyncClient", _AsyncTransport)):
        client: Any = getattr(library, name, None)
        original: Callable[[Any, Any], Any] | None = getattr(client, "_transport_for_url", None)
        if original is None:
            raise InstallError(
                f"The boundary does not fit this {library.__name__}.",
                expected=f"{library.__name__}.{name}._transport_for_url, as in httpx 0.28 and httpx2 2.16",
                found=f"{library.__name__} {getattr(library, '__version__', '')} without it",
                next_step="Install httpx 0.28 or httpx2 2.16, or report this version.",
            )
        client._transport_for_url = _observed(original, transport, door)


def _observed(original: Callable[[Any, Any], Any], transport: type[_Transport], door: _Door) -> Callable[..., Any]:
    def observed(self: Any, url: Any) -> Any:
        inner = original(self, url)
        gate = current_gate()
        return inner if gate is None or inside_door() else transport(inner, gate, door)

    return observed


class _Door:
    """One library's own classes."""

    def __init__(self, library: Any) -> None:
        bases = (library.SyncByteStream, library.AsyncByteStream)
        self.library = library
        self.tee: type[_Tee] = type("_Tee", (_Tee, *bases), {})
        self.served: type[_Served] = type("_Served", (_Served, *bases), {})
        self.not_sent = (
            library.ConnectError,
            library.ConnectTimeout,
            library.PoolTimeout,
            library.UnsupportedProtocol,
            library.ProxyError,
        )

    def crossing(self, request: Any) -> Crossing:
        """A request, whose body was read, as a crossing."""
        url = request.url
        headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in request.headers.raw]
        return http_crossing(
            method=request.method,
            scheme=url.scheme,
            host=url.host,
            port=url.port,
            target=url.raw_path.decode("ascii"),
            headers=headers,
            body=request.content,
        )

    def changed(self, gate: Gate, request: Any, intervention: RequestChange) -> Any:
        """A copy of the request with the intervention in it."""
        try:
            path = request.url.raw_path.decode("ascii").partition("?")[0]
            body = intervention.apply(method=request.method, path=path, body=request.content)
        except RefusedError as error:
            raise gate.poison("guard", error.problem) from error
        headers = [
            (name, value)
            for name, value in request.headers.raw
            if name.lower() not in (b"content-length", b"transfer-encoding")
        ]
        return self.library.Request(
            request.method, request.url, headers=headers, content=body, extensions=request.extensions
        )

    def poisoned(self) -> Any:
        """What every request gets after a poison."""
        return self.library.Response(POISON_STATUS, headers=list(POISON_HEADERS), content=POISON_BODY)

    def decoded(self, headers: list[tuple[str, str]], chunks: list[bytes]) -> bytes:
        """The body after content decoding, by the library's own decoders; as far as it decodes where it was cut."""
        encodings = [(name, value) for name, value in headers if name.lower() == "content-encoding"]
        if not encodings:
            return b"".join(chunks)
        decoded: list[bytes] = []
        with suppress(self.library.DecodingError):
            decoded.extend(self.library.Response(200, headers=encodings, content=iter(chunks)).iter_bytes())
        return b"".join(decoded)


class _Transport:
    """One request's way through the gate to the transport that the client chose."""

    def __init__(self, inner: Any, gate: Gate, door: _Door) -> None:
        self._inner = inner
        self._gate = gate
        self._door = door

    def handle_request(self, request: Any) -> Any:
        request.read()
        crossing = self._door.crossing(request)
        try:
            passage = self._gate.begin(crossing)
            if passage.action == "serve":
                return self._serve(passage)
            request, sent = self._outgoing(passage, request)
            try:
                with door_open():
                    response = self._inner.handle_request(request)
            except BaseException as error:
                self._failed(error, crossing, passage, sent)
                raise
            if sent is not None and response.is_redirect:
                response.close()
                raise self._redirected()
            return self._observe(response, crossing, passage, sent)
        except Poisoned:
            return self._door.poisoned()

    def _serve(self, passage: Passage) -> Any:
        result = passage.result
        if isinstance(result, Raised):
            self._gate.wait(passage)
            error = rebuild(result.error)
            end_with_failure(self._gate, passage, error)
            raise error
        return self._response(passage)

    def _response(self, passage: Passage) -> Any:
        result = passage.result
        if not isinstance(result, HttpResult):
            raise self._gate.poison("recorder", "a recorded result is no HTTP response")
        stream = self._door.served(self._gate, passage, result, self._door)
        return self._door.library.Response(result.status, headers=byte_headers(result.headers), stream=stream)

    def _outgoing(self, passage: Passage, request: Any) -> tuple[Any, Request | None]:
        """The request that goes out, and its identity if it is not the one asked."""
        if passage.intervention is None:
            return request, None
        changed = self._door.changed(self._gate, request, passage.intervention)
        return changed, self._door.crossing(changed).request

    def _failed(self, error: BaseException, crossing: Crossing, passage: Passage, sent: Request | None) -> None:
        went_out = not isinstance(error, self._door.not_sent)
        outcome = outcome_of_error(error, may_write=crossing.may_write, sent=went_out)
        self._gate.end(passage, outcome=outcome, result=Raised(error=failure_of(error)), sent=sent)

    def _redirected(self) -> Poisoned:
        return self._gate.poison(
            "guard", "the changed request was redirected, and would go on without the intervention"
        )

    def _observe(self, response: Any, crossing: Crossing, passage: Passage, sent: Request | None) -> Any:
        headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in response.headers.raw]
        tee = self._door.tee(
            self._gate,
            passage,
            response.stream,
            self._door,
            status=response.status_code,
            headers=headers,
            may_write=crossing.may_write,
            sent=sent,
        )
        if response.is_stream_consumed:  # made of bytes by a transport of the program's own, and read already
            tee.read_already(response.content)
        else:
            response.stream = tee
        return response


class _AsyncTransport(_Transport):
    async def handle_async_request(self, request: Any) -> Any:
        await request.aread()
        crossing = self._door.crossing(request)
        try:
            passage = await self._gate.begin_async(crossing)
            if passage.action == "serve":
                return await self._serve_async(passage)
            request, sent = self._outgoing(passage, request)
            try:
                with door_open():
                    response = await self._inner.handle_async_request(request)
            except BaseException as error:
                self._failed(error, crossing, passage, sent)
                raise
            if sent is not None and response.is_redirect:
                await response.aclose()
                raise self._redirected()
            return self._observe(response, crossing, passage, sent)
        except Poisoned:
            return self._door.poisoned()

    async def _serve_async(self, passage: Passage) -> Any:
        result = passage.result
        if not isinstance(result, Raised):
            return self._response(passage)
        if is_cancellation(result.error):
            try:
                await self._gate.wait_for_cancellation(passage)
            except Poisoned:
                raise
            except BaseException as error:
                self._gate.end(passage, outcome=passage.outcome, result=Raised(error=failure_of(error)))
                raise
        await self._gate.wait_async(passage)
        error = rebuild(result.error)
        end_with_failure(self._gate, passage, error)
        raise error


class _Handed:
    """A body on its way to the program; tells the gate what the program was handed, once."""

    def __init__(
        self, gate: Gate, passage: Passage, door: _Door, *, status: int, headers: list[tuple[str, str]]
    ) -> None:
        self._gate = gate
        self._passage = passage
        self._door = door
        self._status = status
        self._headers = headers
        self._chunks: list[bytes] = []
        self._may_write = False
        self._observation: JsonObject = {}
        self._sent: Request | None = None
        self._ended = False

    def _end(self, *, body: bytes | None = None, closed: bool = False, error: Failure | None = None) -> None:
        if self._ended:
            return
        self._ended = True
        result = HttpResult(
            status=self._status,
            headers=served_headers(self._headers),
            body=self._door.decoded(self._headers, self._chunks) if body is None else body,
            closed=closed,
            error=error,
        )
        try:
            self._gate.end(
                self._passage,
                outcome=outcome_of_response(self._status, error, may_write=self._may_write),
                result=result,
                observation=self._observation,
                sent=self._sent,
            )
        except Poisoned as poisoned:
            raise self._unreadable() from poisoned

    def _unreadable(self) -> Exception:
        """The status is out already; a BaseException would kill threads without a word."""
        return self._door.library.ReadError(POISON_TEXT)


class _Tee(_Handed):
    """A live body, handed on as it comes."""

    def __init__(
        self,
        gate: Gate,
        passage: Passage,
        inner: Any,
        door: _Door,
        *,
        status: int,
        headers: list[tuple[str, str]],
        may_write: bool,
        sent: Request | None,
    ) -> None:
        super().__init__(gate, passage, door, status=status, headers=headers)
        self._inner = inner
        self._may_write = may_write
        self._observation = unserved(headers)
        self._sent = sent

    def __iter__(self) -> Iterator[bytes]:
        try:
            for chunk in self._inner:
                self._chunks.append(chunk)
                yield chunk
        except GeneratorExit:
            raise
        except BaseException as error:
            self._end(error=failure_of(error))
            raise
        self._end()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._inner:
                self._chunks.append(chunk)
                yield chunk
        except GeneratorExit:
            raise
        except BaseException as error:
            self._end(error=failure_of(error))
            raise
        self._end()

    def close(self) -> None:
        self._end(closed=True)
        self._inner.close()

    async def aclose(self) -> None:
        self._end(closed=True)
        await self._inner.aclose()

    def read_already(self, content: bytes) -> None:
        """The program gets a body that was read and decoded before it came here."""
        self._end(body=content)


class _Served(_Handed):
    """A recorded body, to where the program read it, and no further before the recorded end has its turn."""

    def __init__(self, gate: Gate, passage: Passage, result: HttpResult, door: _Door) -> None:
        super().__init__(gate, passage, door, status=result.status, headers=list(result.headers))
        self._result = result
        self._left = pieces(result)

    def __iter__(self) -> Iterator[bytes]:
        if self._ended:
            return
        error = self._result.error
        try:
            if is_stream(self._result):
                self._gate.hold(self._passage)
            yield from self._handed()
            if self._result.closed and error is None:
                raise self._read_on()
            self._gate.wait(self._passage)
        except Poisoned as poisoned:
            raise self._unreadable() from poisoned
        self._end(error=error)
        if error is not None:
            raise rebuild(error)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        if self._ended:
            return
        error = self._result.error
        try:
            if is_stream(self._result):
                await self._gate.hold_async(self._passage)
            for piece in self._handed():
                yield piece
            if error is not None and is_cancellation(error):
                await self._gate.wait_for_cancellation(self._passage)
            if self._result.closed and error is None:
                raise self._read_on()
            await self._gate.wait_async(self._passage)
        except Poisoned as poisoned:
            raise self._unreadable() from poisoned
        except GeneratorExit:
            raise
        except BaseException as ended:
            self._end(error=failure_of(ended))
            raise
        self._end(error=error)
        if error is not None:
            raise rebuild(error)

    def close(self) -> None:
        if not self._ended:
            try:
                self._gate.wait(self._passage)
            except Poisoned as poisoned:
                raise self._unreadable() from poisoned
            self._end(closed=True)

    async def aclose(self) -> None:
        if not self._ended:
            try:
                await self._gate.wait_async(self._passage)
            except Poisoned as poisoned:
                raise self._unreadable() from poisoned
            finally:
                self._end(closed=True)

    def _handed(self) -> Iterator[bytes]:
        """What was not handed out yet: openai 3 reads on, past its own reading, to empty the connection."""
        for piece in self._left:
            self._chunks.append(piece)
            yield piece

    def _read_on(self) -> Poisoned:
        return self._gate.poison("divergence", "the program reads past where it closed the recorded stream")
