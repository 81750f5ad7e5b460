"""What the doors for HTTP have in common, whatever library a program calls with."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from anchored.boundary.actors import current_actor, take_choice
from anchored.boundary.crossing import POISON_TEXT, Crossing
from anchored.boundary.failures import is_cancellation
from anchored.canonical import JsonObject
from anchored.events import (
    SERVED_HEADERS,
    Declared,
    Failure,
    HttpResult,
    Outcome,
    http_request,
    model_kind,
    model_name,
)

Headers = Sequence[tuple[str, str]]
"""(name, value) pairs in the order in which they were sent."""

POISON_STATUS = 403
POISON_HEADERS = (("content-type", "application/json"), ("x-should-retry", "false"))
POISON_BODY = json.dumps({"error": {"message": POISON_TEXT, "type": "anchored", "code": "replay_ended"}}).encode()
"""Constant: an exception hangs some frameworks and costs retries; a difference is read by the agents."""

_READING_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_FIRST_ERROR = 400
_DEFAULT_PORTS = {"http": 80, "https": 443}


def http_crossing(
    *, method: str, scheme: str, host: str, port: int | None, target: str, headers: Headers, body: bytes
) -> Crossing:
    """A request as a crossing: a model call where path and body say so, `http` otherwise.

    Args:
        method: in upper case.
        scheme: "http" or "https".
        host: name or address, without brackets.
        port: None for the scheme's own.
        target: path and query as they are sent.
        headers: all headers.
        body: the whole body.
    """
    path, _, query = target.partition("?")
    kind = model_kind(method, path)
    name = model_name(body, path) if kind != "http" else None
    shown = f"[{host}]" if ":" in host else host
    return Crossing(
        kind=kind if name is not None else "http",
        actor=current_actor(),
        name=name if name is not None else f"{method} {path}",
        call_id=None,
        declared=Declared(),
        request=http_request(method=method, path=path, query=query, headers=headers, body=body),
        may_write=name is None and method not in _READING_METHODS,
        origin=f"{scheme}://{shown}:{port or _DEFAULT_PORTS.get(scheme)}",
        method=method,
        path=path,
        observation={},
        chosen_by=take_choice(),
    )


def unserved(headers: Headers) -> JsonObject:
    """The headers that are kept as observation."""
    return {"headers": [[name, value] for name, value in headers if name.lower() not in SERVED_HEADERS]}


def outcome_of_error(error: BaseException, *, may_write: bool, sent: bool) -> Outcome:
    """What came of a request that was not answered: a write that may have been sent is unknown, never a failure."""
    if not isinstance(error, Exception):
        return Outcome.UNKNOWN if may_write else Outcome.ABORT
    return Outcome.UNKNOWN if may_write and sent else Outcome.FAILURE


def outcome_of_response(status: int, error: Failure | None, *, may_write: bool) -> Outcome:
    """What came of a request that was answered, perhaps by a body that broke off."""
    if error is not None:
        return Outcome.UNKNOWN if may_write else Outcome.ABORT if is_cancellation(error) else Outcome.FAILURE
    return Outcome.SUCCESS if status < _FIRST_ERROR else Outcome.FAILURE


def is_stream(result: HttpResult) -> bool:
    """Whether a body is read event by event."""
    return any(name == "content-type" and value.startswith("text/event-stream") for name, value in result.headers)


def pieces(result: HttpResult) -> Iterator[bytes]:
    """A recorded body as it is handed out: event by event where it is a stream, else at once."""
    if not is_stream(result):
        if result.body:
            yield result.body
        return
    start = 0
    while start < len(result.body):
        end = result.body.find(b"\n\n", start)
        end = len(result.body) if end < 0 else end + 2
        yield result.body[start:end]
        start = end


def byte_headers(headers: Headers) -> list[tuple[Any, Any]]:
    """Headers as bytes."""
    return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]
