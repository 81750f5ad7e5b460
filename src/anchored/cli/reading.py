"""What several commands read out of a recording."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from anchored.canonical import JsonObject, clip
from anchored.errors import AnchorError
from anchored.events import HttpResult, ToolValue, decode_value, model_output, value_text
from anchored.recording import Event, Recording, Replayed, event_id
from anchored.replaying import (
    Call,
    EditRequest,
    Guide,
    Intervention,
    ReplaceResult,
    SwapModel,
    Unchanged,
    plan_from,
)

_LONGEST_POSITION = 7
_SHORTEST_ID = 4


@dataclass(frozen=True, kw_only=True, slots=True)
class EventLine:
    """One event as a timeline shows it.

    Attributes:
        tokens: input and output tokens together; None if the provider does not say.
        size: bytes of its result.
        says: what its result says, in words.
    """

    event: Event
    tokens: int | None
    size: int
    says: str


def event_line(recording: Recording, event: Event) -> EventLine:
    """An event with what its result says."""
    result = recording.result(event)
    if isinstance(result, HttpResult):
        output = model_output(result.body) if event.begin.kind != "http" else None
        if output is None:
            return EventLine(event=event, tokens=None, size=len(result.body), says=f"HTTP {result.status}")
        counted = [count for count in (output.input_tokens, output.output_tokens) if count is not None]
        calls = [f"calls {name} {given}" for name, given in zip(output.calls, output.arguments, strict=True)]
        says = " · ".join(part for part in (output.text, *calls) if part) or f"HTTP {result.status}"
        return EventLine(event=event, tokens=sum(counted) if counted else None, size=len(result.body), says=says)
    if isinstance(result, ToolValue):
        says = value_text(decode_value(result.value))
        return EventLine(event=event, tokens=None, size=len(result.value), says=says)
    says = result.error.message if result is not None else ""
    return EventLine(event=event, tokens=None, size=0, says=says)


def final_text(recording: Recording) -> str:
    """The final answer; empty if there is none."""
    return recording.closing.final.text if recording.closing and recording.closing.final else ""


def told(replayed: Replayed) -> str:
    """From where on a replay was live, and what was changed there, in words."""
    plan = plan_from(cast("JsonObject", replayed.plan))
    if plan.anchor is None:
        return "to the end"
    return f"live from {plan.anchor.position}, {_changed(plan.intervention)}"


def _changed(intervention: Intervention) -> str:
    match intervention:
        case Unchanged():
            return "nothing changed: the control"
        case Guide():
            return f"guided: {clip(intervention.text, 120)}"
        case ReplaceResult():
            return "a result put in"
        case EditRequest():
            return f"the request edited: {clip(intervention.patch, 120)}"
        case SwapModel():
            return f"another model asked: {clip(intervention.model, 120)}"
        case Call():
            return f"the request changed by {clip(intervention.target, 120)}, opaque"


def position_of(recording: Recording, reference: str) -> int:
    """The position that a number or the prefix of an event id means.

    Raises:
        AnchorError: none, or more than one.
    """
    if reference.isascii() and reference.isdigit() and len(reference) <= _LONGEST_POSITION:
        return int(reference)
    matching = [
        event.position
        for event in recording.log.events
        if len(reference) >= _SHORTEST_ID and event_id(recording.opening.run, event.position).startswith(reference)
    ]
    if len(matching) == 1:
        return matching[0]
    raise AnchorError(
        "No such event." if not matching else "More than one event has this id.",
        expected=f"a position from 0 to {len(recording.log) - 1}, or a prefix of an event id",
        found=repr(reference),
        next_step="See `anchored show RUN`.",
    )
