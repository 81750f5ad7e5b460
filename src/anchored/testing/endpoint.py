"""The endpoint itself: requests in, scripted answers out, one log line for each."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from dataclasses import asdict, dataclass
from typing import TextIO

from starlette.requests import ClientDisconnect, Request
from starlette.types import Receive, Scope, Send

from anchored.testing.conversation import Json
from anchored.testing.draw import Draw
from anchored.testing.embeddings import embeddings
from anchored.testing.log import Call
from anchored.testing.request import (
    PATHS,
    RequestError,
    format_of,
    parse_chat,
    parse_json,
    request_digest,
    unread_digest,
)
from anchored.testing.response import Response, error_response, json_response
from anchored.testing.script import NoRuleError, Script, ScriptError

MODELS = "/v1/models"

TRANSPORT = "transport"
"""Under this name the server puts its connection into the state of a request, so that it can be closed."""

FINAL = (("x-should-retry", "false"),)
"""Tells the SDKs that asking again will not help."""

_WITHOUT_BODY = (204, 304)


@dataclass(frozen=True, kw_only=True)
class _Outcome:
    response: Response
    rule: str | None = None
    reply: int | None = None


class Endpoint:
    """An ASGI application that answers from a script.

    It runs in one event loop and awaits nothing between counting a request and logging its answer, so occurrences need
    no lock. What a reply waits, it waits after that, and other requests are answered meanwhile.
    """

    def __init__(self, script: Script, *, seed: int, log: TextIO | None) -> None:
        self._script = script
        self._seed = seed
        self._log = log
        self._calls = 0
        self._seen: Counter[str] = Counter()
        self._stopping = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one HTTP request."""
        request = Request(scope, receive)
        try:
            body = await request.body()
        except ClientDisconnect:
            return
        answer = self.answer(request.method, scope["path"], body)
        if answer.delay and not await self._wait(answer.delay, receive):
            await _close(scope, receive)
            return
        headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in answer.headers]
        if answer.breaks is None and answer.status not in _WITHOUT_BODY:
            headers.append((b"content-length", str(len(answer.body)).encode()))
        await send({"type": "http.response.start", "status": answer.status, "headers": headers})
        left = len(answer.body) if answer.cut is None else answer.cut
        for piece in answer.pieces:
            await send({"type": "http.response.body", "body": piece[:left], "more_body": True})
            left -= len(piece)
            if left <= 0:
                break
        if answer.cut is None:
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        else:
            await _close(scope, receive)

    def stop(self) -> None:
        """Let nobody wait any longer: who still does gets its connection closed."""
        self._stopping.set()

    def answer(self, method: str, path: str, body: bytes) -> Response:
        """Count, answer and log one request; the log line is flushed before the answer is given out."""
        value: Json = None
        fault: RequestError | None = None
        try:
            value = parse_json(body) if body else None
            digest = request_digest(path, value)
        except RequestError as error:
            fault, digest = error, unread_digest(path, body)
        occurrence = self._seen[digest]
        self._seen[digest] += 1
        draw = Draw(seed=self._seed, digest=digest, occurrence=occurrence)
        outcome = self._outcome(method, path, value, fault, draw)
        self._write(
            Call(
                n=self._calls,
                path=path,
                digest=digest,
                occurrence=occurrence,
                rule=outcome.rule,
                reply=outcome.reply,
                status=outcome.response.status,
            )
        )
        self._calls += 1
        return outcome.response

    def _outcome(self, method: str, path: str, value: Json, fault: RequestError | None, draw: Draw) -> _Outcome:
        if (method, path) == ("GET", MODELS):
            return _Outcome(response=self._models(draw))
        form = format_of(path)
        if method != "POST" or form is None:
            message = f"The scripted endpoint has POST {', '.join(PATHS)} and GET {MODELS}, not {method} {path}."
            return _Outcome(response=error_response(404, message, kind="not_found", draw=draw, form=form))
        try:
            if fault is not None:
                raise fault
            if form == "embeddings":
                return _Outcome(response=embeddings(value, draw))
            answer = self._script.answer(parse_chat(value, path=path), seed=draw.seed, occurrence=draw.occurrence)
        except (RequestError, ScriptError) as error:
            kind = "no_rule" if isinstance(error, NoRuleError) else "rule_failed"
            kind = "unsupported_request" if isinstance(error, RequestError) else kind
            return _Outcome(response=error_response(400, str(error), kind=kind, draw=draw, headers=FINAL, form=form))
        return _Outcome(response=answer.response, rule=answer.rule, reply=answer.reply)

    def _models(self, draw: Draw) -> Response:
        models: list[Json] = [
            {"id": name, "object": "model", "created": 0, "owned_by": "script"} for name in self._script.models
        ]
        return json_response(200, {"object": "list", "data": models}, draw=draw)

    def _write(self, call: Call) -> None:
        if self._log is not None:
            self._log.write(json.dumps(asdict(call)) + "\n")
            self._log.flush()

    async def _wait(self, seconds: float, receive: Receive) -> bool:
        """Whether the time has passed, and neither the client has gone nor the server is to end."""
        ends = {asyncio.ensure_future(receive()), asyncio.ensure_future(self._stopping.wait())}
        try:
            ended, _ = await asyncio.wait(ends, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for end in ends:
                _ = end.cancel()
        return not ended


async def _close(scope: Scope, receive: Receive) -> None:
    """Close the connection after what was sent, and wait until the server knows, or it would call it a fault."""
    transport: asyncio.Transport | None = scope.get("state", {}).get(TRANSPORT)
    if transport is not None:
        transport.close()
        while (await receive())["type"] != "http.disconnect":
            pass
