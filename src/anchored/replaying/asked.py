"""What the boundary asks of a session."""

from __future__ import annotations

from dataclasses import dataclass

from anchored.events import Edge, Kind, Request


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
        lane: the task or thread that asks, by how it was started; None where that is not known. No part of identity:
            it tells identical requests apart, and what can wait from what cannot.
    """

    kind: Kind
    actor: str | None
    name: str
    parent: int | None
    call_id: str | None
    request: Request
    edges: tuple[Edge, ...] = ()
    origin: str = ""
    lane: str | None = None
