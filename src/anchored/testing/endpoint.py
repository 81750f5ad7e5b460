"""The endpoint itself: requests in, scripted answers out, one log line for each."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, dataclass
from typing import TextIO

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response as HttpResponse
from starlette.types import Receive, Scope, Send

from anchored.testing.draw import Draw
from anchored.testing.log import Call
from anchored.testing.replies import Response, error_response, json_response
from anchored.testing.request import CHAT, Json, RequestError, parse_chat, parse_json, request_digest, unread_digest
from anchored.testing.script import NoRuleError, Script, ScriptError

MODELS = "/v1/models"

FINAL = (("x-should-retry", "false"),)
"""Tells the SDKs that asking again will not help."""


@dataclass(frozen=True, kw_only=True)
class _Outcome:
    response: Response
    rule: str | None = None
    reply: int | None = None


class Endpoint:
    """An ASGI application that answers from a script.

    It runs in one event loop and awaits nothing between counting a request and logging its answer, so occurrences need
    no lock.
    """

    def __init__(self, script: Script, *, seed: int, log: TextIO | None) -> None:
        self._script = script
        self._seed = seed
        self._log = log
        self._calls = 0
        self._seen: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one HTTP request."""
        request = Request(scope, receive)
        try:
            body = await request.body()
        except ClientDisconnect:
            return
        answer = self.answer(request.method, scope["path"], body)
        response = HttpResponse(answer.body, status_code=answer.status, headers=dict(answer.headers))
        await response(scope, receive, send)

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
        if (method, path) != ("POST", CHAT):
            message = f"The scripted endpoint has POST {CHAT} and GET {MODELS}, not {method} {path}."
            return _Outcome(response=error_response(404, message, kind="not_found", draw=draw))
        try:
            if fault is not None:
                raise fault
            answer = self._script.answer(parse_chat(value), seed=draw.seed, occurrence=draw.occurrence)
        except RequestError as error:
            return _Outcome(response=_refused(error, kind="unsupported_request", draw=draw))
        except ScriptError as error:
            kind = "no_rule" if isinstance(error, NoRuleError) else "rule_failed"
            return _Outcome(response=_refused(error, kind=kind, draw=draw))
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


def _refused(error: RequestError | ScriptError, *, kind: str, draw: Draw) -> Response:
    return error_response(400, str(error), kind=kind, draw=draw, headers=FINAL)
