"""What a session may answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from anchored.events import HttpResult, ToolValue
from anchored.recording import Event
from anchored.replaying.divergence import Divergence
from anchored.replaying.interventions import RequestChange


@dataclass(frozen=True, kw_only=True, slots=True)
class Serve:
    """Hand out the recorded result of `event`; what it covers goes into the log with it."""

    event: Event


@dataclass(frozen=True, kw_only=True, slots=True)
class Enter:
    """Let the container `event` run its own code; what it asks inside is served."""

    event: Event


@dataclass(frozen=True, kw_only=True, slots=True)
class Wait:
    """Not yet: `position` comes first.

    Attributes:
        position: the entry that comes next.
        turn: position of the record that the request stands for; behind all where there is none.
        known: the request is recorded later. One that is not may still come to nothing: a task that loses a race is
            cancelled. If it is not cancelled, it is a divergence.
    """

    position: int
    turn: int
    known: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class Ambiguous:
    """Stop: the request is recorded for several tasks or threads, and nothing tells which of them asks."""

    positions: tuple[int, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Intervene:
    """Apply the change to a copy of the request and send that."""

    intervention: RequestChange


@dataclass(frozen=True, kw_only=True, slots=True)
class Replace:
    """Hand out this result; nothing is carried out."""

    result: HttpResult | ToolValue


@dataclass(frozen=True, kw_only=True, slots=True)
class GoLive:
    """Do it for real."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Diverge:
    """Stop: the program is not where the recording was."""

    divergence: Divergence


Answer: TypeAlias = Serve | Enter | Wait | Ambiguous | Intervene | Replace | GoLive | Diverge
