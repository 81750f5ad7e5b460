"""The final answer and the reason to stop, by what was said of them."""

from __future__ import annotations

import pytest
from builders import Memory, opening, sealed

from anchored.attempts.record import final_answer, stop_of
from anchored.attempts.watch import Ended
from anchored.canonical import JsonObject
from anchored.recording import Final


def said(text: str, after: int | None = None) -> JsonObject:
    return {"text": text, "source": "adapter"} if after is None else {"text": text, "source": "adapter", "after": after}


@pytest.mark.parametrize(
    "notes",
    [
        [said("first"), said("last")],
        [said("first", 9), said("last")],
        [said("last", 4), said("first", 2)],
        [said("first", 4), said("last", 4), said("first", -1)],
    ],
)
def test_of_runs_side_by_side_the_one_with_the_last_event_answers(notes: list[JsonObject]) -> None:
    """R0-04: which of two tasks ends first is left to chance, and must not change a recording's digest."""
    memory = Memory()
    for note in notes:
        memory.note("final", note)
        memory.note("stop_detail", note)
    recording = sealed(memory, opening(), None)
    assert final_answer(recording) == Final(text="last", source="adapter")
    assert stop_of(recording, Ended(by="itself", status=0, hello=True, signal=None, after_poison=None)).detail == "last"
