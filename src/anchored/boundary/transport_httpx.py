"""The door for HTTP through `httpx`: whatever transport a synchronous client uses is observed.

Entered at `httpx.Client._transport_for_url`, the one place that every request of a client passes (seen in 0.28.1).
Imported only when the program has imported httpx.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import httpx

from anchored.boundary.actors import current_actor
from anchored.boundary.crossing import POISON_TEXT, Crossing, Gate, Passage, Poisoned
from anchored.boundary.failures import end_with_failure, failure_of, rebuild
from anchored.boundary.guard import door_open, inside_door
from anchored.boundary.process import current_gate
from anchored.canonical import JsonObject
from anchored.errors import InstallError, RefusedError
from anchored.events import (
    SERVED_HEADERS,
    Declared,
    Failure,
    HttpResult,
    Outcome,
    Raised,
    Request,
    Result,
    http_request,
    model_kind,
    model_name,
    served_headers,
)
from anchored.replaying import Guide

_READING_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.UnsupportedProtocol, httpx.ProxyError)
_FIRST_ERROR = 400


def install() -> None:
    """Puts the door into every synchronous client, those that exist already included. Without a gate it is open.

    Raises:
        InstallError: this httpx has another inside than the one that was seen.
    """
    original: Callable[[httpx.Client, httpx.URL], httpx.BaseTransport] | None = getattr(
        httpx.Client, "_transport_for_url", None
    )
    if original is None:
        raise InstallError(
            "The boundary does not fit this httpx.",
            expected="httpx.Client._transport_for_url, as in httpx 0.28",
            found=f"httpx {httpx.__version__} without it",
            next_step="Install httpx 0.28, or report this version.",
        )

    def observed(self: httpx.Client, url: httpx.URL) -> httpx.BaseTransport:
        transport = original(self, url)
        gate = current_gate()
        return transport if gate is None or inside_door() else _Observed(transport, gate)

    setattr(httpx.Client, "_transport_for_url", observed)  # noqa: B010 - a private name, assigned knowingly


class _Observed(httpx.BaseTransport):
    """One request's way through the gate to the transport that the client chose."""

    def __init__(self, inner: httpx.BaseTransport, gate: Gate) -> None:
        self._inner = inner
        self._gate = gate

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        crossing = _crossing(request, request.read())
        try:
            passage = self._gate.begin(crossing)
            if passage.action == "serve":
                return self._serve(passage)
            if passage.intervention is None:
                return self._live(crossing, passage, request, sent=None)
            changed = self._changed(request, passage.intervention)
            return self._live(crossing, passage, changed, sent=_crossing(changed, changed.content).request)
        except Poisoned:
            return _poisoned_response()

    def _live(
        self, crossing: Crossing, passage: Passage, request: httpx.Request, *, sent: Request | None
    ) -> httpx.Response:
        try:
            with door_open():
                response = self._inner.handle_request(request)
        except BaseException as error:
            result = Raised(error=failure_of(error))
            self._gate.end(passage, outcome=_outcome_of(error, crossing), result=result, sent=sent)
            raise
        if sent is not None and response.is_redirect:
            response.close()
            raise self._gate.poison("guard", "the guided request was redirected, and would go on without the guidance")
        headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in response.headers.raw]
        seen: JsonObject = {"headers": [[name, value] for name, value in headers if name.lower() not in SERVED_HEADERS]}
        tee = _Tee(
            self._gate,
            passage,
            response.stream,  # pyright: ignore[reportArgumentType]
            status=response.status_code,
            headers=headers,
            may_write=crossing.may_write,
            observation=seen,
            sent=sent,
        )
        if response.is_stream_consumed:  # made of bytes by a transport of the program's own, and read already
            tee.read_already(response.content)
        else:
            response.stream = tee
        return response

    def _serve(self, passage: Passage) -> httpx.Response:
        result = passage.result
        if isinstance(result, Raised):
            error = rebuild(result.error)
            end_with_failure(self._gate, passage, error)
            raise error
        if not isinstance(result, HttpResult):
            raise self._gate.poison("recorder", "a recorded result is no HTTP response")
        headers = list(result.headers)
        stream = _Tee(
            self._gate,
            passage,
            _Recorded(self._gate, result),
            status=result.status,
            headers=headers,
            may_write=False,
            observation={},
        )
        raw = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]
        return httpx.Response(result.status, headers=raw, stream=stream)

    def _changed(self, request: httpx.Request, intervention: Guide) -> httpx.Request:
        """A copy of the request with the intervention in it."""
        try:
            path, _ = _target(request)
            body = intervention.apply(method=request.method, path=path, body=request.content)
        except RefusedError as error:
            raise self._gate.poison("guard", error.problem) from error
        headers = [
            (name, value)
            for name, value in request.headers.raw
            if name.lower() not in (b"content-length", b"transfer-encoding")
        ]
        return httpx.Request(request.method, request.url, headers=headers, content=body, extensions=request.extensions)


class _Tee(httpx.SyncByteStream):
    """Hands a body on as it comes, and tells the gate what the program was handed, once."""

    def __init__(
        self,
        gate: Gate,
        passage: Passage,
        inner: httpx.SyncByteStream,
        *,
        status: int,
        headers: list[tuple[str, str]],
        may_write: bool,
        observation: JsonObject,
        sent: Request | None = None,
    ) -> None:
        self._gate = gate
        self._passage = passage
        self._inner = inner
        self._status = status
        self._headers = headers
        self._may_write = may_write
        self._observation = observation
        self._sent = sent
        self._chunks: list[bytes] = []
        self._ended = False

    def __iter__(self) -> Iterator[bytes]:
        try:
            for chunk in self._inner:
                self._chunks.append(chunk)
                yield chunk
        except GeneratorExit:
            raise
        except Exception as error:
            self._end(error=failure_of(error))
            raise
        self._end()

    def close(self) -> None:
        self._end(closed=True)
        self._inner.close()

    def read_already(self, content: bytes) -> None:
        """The program gets a body that was read and decoded before it came here."""
        self._end(body=content)

    def _end(self, *, body: bytes | None = None, closed: bool = False, error: Failure | None = None) -> None:
        if self._ended:
            return
        self._ended = True
        result: Result = HttpResult(
            status=self._status,
            headers=served_headers(self._headers),
            body=_decoded(self._headers, self._chunks) if body is None else body,
            closed=closed,
            error=error,
        )
        try:
            self._gate.end(
                self._passage,
                outcome=self._outcome(error),
                result=result,
                observation=self._observation,
                sent=self._sent,
            )
        except Poisoned as poisoned:  # the status is out already; a BaseException would kill threads without a word
            raise httpx.ReadError(POISON_TEXT) from poisoned

    def _outcome(self, error: Failure | None) -> Outcome:
        if error is not None:
            return Outcome.UNKNOWN if self._may_write else Outcome.FAILURE
        return Outcome.SUCCESS if self._status < _FIRST_ERROR else Outcome.FAILURE


class _Recorded(httpx.SyncByteStream):
    """A recorded body, to where the program read it."""

    def __init__(self, gate: Gate, result: HttpResult) -> None:
        self._gate = gate
        self._result = result

    def __iter__(self) -> Iterator[bytes]:
        if self._result.body:
            yield self._result.body
        if self._result.error is not None:
            raise rebuild(self._result.error)
        if self._result.closed:
            self._gate.poison("divergence", "the program reads past where it closed the recorded stream")
            raise httpx.ReadError(POISON_TEXT)


def _crossing(request: httpx.Request, body: bytes) -> Crossing:
    path, query = _target(request)
    kind = model_kind(request.method, path)
    name = model_name(body) if kind != "http" else None
    headers = [(key.decode("latin-1"), value.decode("latin-1")) for key, value in request.headers.raw]
    return Crossing(
        kind=kind if name is not None else "http",
        actor=current_actor(),
        name=name if name is not None else f"{request.method} {path}",
        call_id=None,
        declared=Declared(),
        request=http_request(method=request.method, path=path, query=query, headers=headers, body=body),
        may_write=name is None and request.method not in _READING_METHODS,
        origin=_origin(request.url),
        observation={},
    )


def _target(request: httpx.Request) -> tuple[str, str]:
    path, _, query = request.url.raw_path.decode("ascii").partition("?")
    return path, query


def _origin(url: httpx.URL) -> str:
    port = url.port or {"http": 80, "https": 443}.get(url.scheme)
    host = f"[{url.host}]" if ":" in url.host else url.host
    return f"{url.scheme}://{host}:{port}"


def _outcome_of(error: BaseException, crossing: Crossing) -> Outcome:
    if not isinstance(error, Exception):
        return Outcome.UNKNOWN if crossing.may_write else Outcome.ABORT
    return Outcome.UNKNOWN if crossing.may_write and not isinstance(error, _NOT_SENT) else Outcome.FAILURE


def _decoded(headers: list[tuple[str, str]], chunks: list[bytes]) -> bytes:
    """The body after content decoding, by httpx's own decoders; as far as it decodes where it was cut short."""
    encodings = [(name, value) for name, value in headers if name.lower() == "content-encoding"]
    if not encodings:
        return b"".join(chunks)
    decoded: list[bytes] = []
    with suppress(httpx.DecodingError):
        decoded.extend(httpx.Response(200, headers=encodings, stream=_Chunks(chunks)).iter_bytes())
    return b"".join(decoded)


class _Chunks(httpx.SyncByteStream):
    def __init__(self, chunks: list[bytes]) -> None:
        self._chunks = chunks

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._chunks)


def _poisoned_response() -> httpx.Response:
    """Constant: an exception hangs some frameworks and costs retries; a difference is read by the agents."""
    body: dict[str, Any] = {"error": {"message": POISON_TEXT, "type": "anchored", "code": "replay_ended"}}
    headers = {"content-type": "application/json", "x-should-retry": "false"}
    return httpx.Response(403, headers=headers, content=json.dumps(body).encode())
