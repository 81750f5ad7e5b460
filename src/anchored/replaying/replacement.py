"""From a file's content to the result that an event is given in place of its own."""

from __future__ import annotations

import json
from typing import Any

from anchored.errors import AnchorError, UsageError
from anchored.events import HttpResult, Result, ToolValue, decode_value, encode_value, value_with_text, with_model_text
from anchored.recording import Recording
from anchored.replaying.interventions import ReplaceResult


def text_replacement(source: Recording, position: int, text: str) -> ReplaceResult:
    """The recorded result of the event at `position` with another text.

    A tool's value that is a text, or the (flag, message) pair of a framework, gets this text, and counts as a success.
    A model's response gets it as what the model says, in the recorded wire format; its tool calls are left out.

    Raises:
        AnchorError: no event begins there.
        UsageError: its recorded result has no place for a text.
    """
    recorded = _recorded(source, position)
    try:
        if isinstance(recorded, ToolValue):
            value = value_with_text(decode_value(recorded.value), text)
            return ReplaceResult(result=ToolValue(value=encode_value(value)))
        if isinstance(recorded, HttpResult):
            body = with_model_text(recorded.body, text)
            return ReplaceResult(result=HttpResult(status=200, headers=recorded.headers, body=body))
    except ValueError as error:
        raise _no_place(position, str(error)) from error
    raise _no_place(position, "no result was recorded" if recorded is None else "it raised an exception")


def whole_replacement(source: Recording, position: int, document: bytes) -> ReplaceResult:
    """A whole result: the value of a tool, or the body of a response, as JSON.

    Raises:
        AnchorError: no event begins there.
        UsageError: it is no JSON.
    """
    recorded = _recorded(source, position)
    try:
        value: Any = json.loads(document.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise UsageError(
            "The result in the file cannot be used.",
            expected="JSON in UTF-8: the whole value of a tool, or the whole body of a response",
            found=str(error),
            next_step="Correct the file, or give a plain text in a file that does not end in .json.",
        ) from error
    event = source.log.event_at(position)
    if event is not None and event.begin.kind in ("execute_tool", "human_input"):
        try:
            return ReplaceResult(result=ToolValue(value=encode_value(value)))
        except ValueError as error:
            raise UsageError(
                "The result in the file cannot be used.",
                expected="a value of at most 100 levels and 200,000 parts",
                found=str(error),
                next_step="Give a smaller one.",
            ) from error
    headers = recorded.headers if isinstance(recorded, HttpResult) else (("content-type", "application/json"),)
    return ReplaceResult(result=HttpResult(status=200, headers=headers, body=document))


def _recorded(source: Recording, position: int) -> Result | None:
    event = source.log.event_at(position)
    if event is None:
        raise AnchorError(
            "There is no event whose result could be replaced.",
            expected="the begin of an event",
            found=f"position {position} in a log of {len(source.log)} entries",
            next_step="See `anchored show RUN`.",
        )
    return source.result(event)


def _no_place(position: int, found: str) -> UsageError:
    return UsageError(
        f"The result of the event at {position} has no place for a text.",
        expected="a recorded text, a (flag, message) pair, or a model's response in a known format",
        found=found,
        next_step="Give the whole result as JSON, in a file that ends in .json.",
    )
