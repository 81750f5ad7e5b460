"""Exit statuses, in one place (docs/commands.md)."""

from __future__ import annotations

from anchored.attempts import Verdict
from anchored.errors import AnchoredError, DamagedError, RecordingLost, RefusedError, UsageError

DONE = 0
UNEXPECTED = 1
USAGE = 2
DIVERGED = 3
REFUSED = 4
DAMAGED = 5
CRASHED = 7
NOT_RECORDED = 125

_WORST_FIRST = (DAMAGED, REFUSED, DIVERGED, CRASHED, UNEXPECTED)


def exit_code(error: AnchoredError) -> int:
    """The status for an error of ours."""
    if isinstance(error, RecordingLost):
        return NOT_RECORDED
    if isinstance(error, DamagedError):
        return DAMAGED
    if isinstance(error, RefusedError):
        return REFUSED
    return USAGE if isinstance(error, UsageError) else UNEXPECTED


def verdict_code(verdict: Verdict) -> int:
    """The status for one attempt."""
    return {
        "exact": DONE,
        "live": DONE,
        "diverged": DIVERGED,
        "refused": REFUSED,
        "failed": UNEXPECTED,
        "crashed": CRASHED,
    }[verdict.kind]


def worst(codes: list[int]) -> int:
    """The status for several attempts: the first that occurred, in the order of `_WORST_FIRST`."""
    return next((code for code in _WORST_FIRST if code in codes), DONE)
