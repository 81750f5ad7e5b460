"""Every error of the package, drawn as a tree.

AnchoredError
├── UsageError            the command or argument cannot be meant
│   └── AnchorError       no such anchor, or one that cannot serve here
├── RefusedError          possible, but not allowed or not reproducible
│   └── EffectRefused     a tool would run live without a declared effect
├── DamagedError          stored bytes are not what was written
│   ├── UnsupportedError  written by a newer version
│   └── LimitExceeded     larger or deeper than a reader accepts
├── StoreError            the store could not be read or written
│   └── RecordingLost     a program ran, and what was recorded of it cannot be read
└── InstallError          the boundary cannot be put into this process

Each says what was expected, what was found and what to do next, and keeps the three as attributes.
"""

from __future__ import annotations


class AnchoredError(Exception):
    """Root of all errors that the package raises on purpose.

    Attributes:
        problem: one sentence saying what is wrong.
        expected: what would have been right.
        found: what was there instead.
        next_step: what the reader can do about it.
    """

    def __init__(self, problem: str, *, expected: str, found: str, next_step: str) -> None:
        super().__init__(f"{problem}\n  expected: {expected}\n  found:    {found}\n  next:     {next_step}")
        self.problem = problem
        self.expected = expected
        self.found = found
        self.next_step = next_step


class UsageError(AnchoredError):
    """The command or argument cannot be meant."""


class AnchorError(UsageError):
    """No such anchor, or one that cannot serve here."""


class RefusedError(AnchoredError):
    """Possible, but not allowed or not reproducible."""


class EffectRefused(RefusedError):
    """A tool would run live although nothing says that it may."""


class DamagedError(AnchoredError):
    """Stored bytes are not what was written."""


class UnsupportedError(DamagedError):
    """Written by a newer version of the package."""


class LimitExceeded(DamagedError):
    """Larger or deeper than a reader accepts."""


class StoreError(AnchoredError):
    """The store could not be read or written."""


class RecordingLost(StoreError):
    """A program ran to its end, and what was recorded of it cannot be read."""


class InstallError(AnchoredError):
    """The boundary cannot be put into this process."""
