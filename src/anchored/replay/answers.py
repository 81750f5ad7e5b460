"""What the boundary asks of a session, and what it may answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from anchored.events import Edge, Kind, Request
from anchored.recording import Event

if TYPE_CHECKING:
    from anchored.replay.divergence import Divergence
    from anchored.replay.interventions import Guide


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """A crossing that the program is about to make.

    Attributes:
        kind: what kind of crossing.
        actor: the acting agent, if known.
        name: model, tool, or method and path.
        parent: position of the enclosing event's begin in this run's log.
        call_id: the framework's id of the tool call.
        request: what is asked.
        edges: what it depends on, by the recorded-edge rules.
        origin: scheme, host and port for HTTP; empty for tools.
    """

    kind: Kind
    actor: str | None
    name: str
    parent: int | None
    call_id: str | None
    request: Request
    edges: tuple[Edge, ...] = ()
    origin: str = ""


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
    """Not yet: `position` comes first."""

    position: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Intervene:
    """Apply the intervention to a copy of the request and send that."""

    intervention: Guide


@dataclass(frozen=True, kw_only=True, slots=True)
class GoLive:
    """Do it for real."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Diverge:
    """Stop: the program is not where the recording was."""

    divergence: Divergence


Answer: TypeAlias = Serve | Enter | Wait | Intervene | GoLive | Diverge
