"""What came of an event."""

from __future__ import annotations

from enum import StrEnum


class Outcome(StrEnum):
    """What came of an event; only `success` says that it did what was asked."""

    PLANNED = "planned"
    PENDING = "pending"
    SUCCESS = "success"
    FAILURE = "failure"
    ABORT = "abort"
    UNKNOWN = "unknown"


def parse_outcome(value: object) -> Outcome:
    """The outcome that `value` names; whatever is no outcome's name is `unknown`, never success (R1-22)."""
    if isinstance(value, str):
        try:
            return Outcome(value)
        except ValueError:
            return Outcome.UNKNOWN
    return Outcome.UNKNOWN
