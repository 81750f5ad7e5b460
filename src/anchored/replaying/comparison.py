"""Two recordings side by side: which events are the same, where they part, and how."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from anchored.canonical import JsonObject
from anchored.events import Begin
from anchored.recording import Event, Recording
from anchored.replaying.differences import Difference, first_difference

StepKind: TypeAlias = Literal["same", "result", "changed", "left", "right"]
"""`same`: request and result are equal. `result`: the request is equal, what came of it is not. `changed`: the same
agent, kind and name asked another thing. `left`, `right`: only one of the two has the event."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """One event of either recording, or one of each that belong together.

    Attributes:
        kind: see StepKind.
        left: the first recording's event, if it has one here.
        right: the second's.
        difference: the first differing field of the requests, for `changed`.
    """

    kind: StepKind
    left: Event | None
    right: Event | None
    difference: Difference | None = None


def compare(left: Recording, right: Recording) -> list[Step]:
    """All events of both recordings in order, put side by side.

    Equal events pair first; between those, events of one agent, kind and name pair in order. Edges, declared effects
    and observations are left out: they follow from the rest or are no part of what happened.
    """
    steps: list[Step] = []
    ones, others = left.log.events, right.log.events
    matcher = difflib.SequenceMatcher(
        None, [_asked(event.begin) for event in ones], [_asked(event.begin) for event in others], autojunk=False
    )
    for tag, start, end, other_start, other_end in matcher.get_opcodes():
        if tag == "equal":
            for one, other in zip(ones[start:end], others[other_start:other_end], strict=True):
                same = _outcome(one) == _outcome(other)
                steps.append(Step(kind="same" if same else "result", left=one, right=other))
        else:
            steps.extend(_apart(left, right, ones[start:end], others[other_start:other_end]))
    return steps


def parting(steps: Sequence[Step]) -> int | None:
    """Index of the first step that is not the same; None if all are."""
    return next((place for place, step in enumerate(steps) if step.kind != "same"), None)


def _apart(left: Recording, right: Recording, ones: Sequence[Event], others: Sequence[Event]) -> list[Step]:
    """Events without an equal one: paired by who calls what, in order."""
    steps: list[Step] = []
    matcher = difflib.SequenceMatcher(
        None, [_caller(event.begin) for event in ones], [_caller(event.begin) for event in others], autojunk=False
    )
    for tag, start, end, other_start, other_end in matcher.get_opcodes():
        if tag == "equal":
            for one, other in zip(ones[start:end], others[other_start:other_end], strict=True):
                difference = first_difference(_request(left, one), _request(right, other))
                steps.append(Step(kind="changed", left=one, right=other, difference=difference))
        else:
            steps.extend(Step(kind="left", left=event, right=None) for event in ones[start:end])
            steps.extend(Step(kind="right", left=None, right=event) for event in others[other_start:other_end])
    return steps


def _asked(begin: Begin) -> tuple[object, ...]:
    return (*_caller(begin), begin.call_id, begin.request)


def _caller(begin: Begin) -> tuple[object, ...]:
    return (begin.kind, begin.actor, begin.name)


def _outcome(event: Event) -> tuple[object, ...]:
    return (event.outcome, event.end.result if event.end else None)


def _request(recording: Recording, event: Event) -> JsonObject:
    return {**recording.request(event.begin), "call_id": event.begin.call_id}
