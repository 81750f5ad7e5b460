"""How the events of a replay were answered, read off the two recordings."""

from __future__ import annotations

from dataclasses import dataclass

from anchored.recording import Recording
from anchored.replaying import containers


@dataclass(frozen=True, kw_only=True, slots=True)
class Counts:
    """Events of a replay by how they were answered.

    Attributes:
        served: from the recording.
        live: for real.
        replaced: by the intervention's result.
        carried: in flight at the anchor.
        covered: under a served tool.
        containers: tools that ran their own code in the prefix.
        substituted: recorded exceptions whose class could not be rebuilt; served as stand-ins.
    """

    served: int
    live: int
    replaced: int
    carried: int
    covered: int
    containers: int
    substituted: int


def count(source: Recording, replay: Recording, size: int) -> Counts:
    """Counts the events of a replay whose prefix has `size` entries."""
    before = [event for event in replay.log.events if event.position < size]
    ends = [replay.observation(event.end.position) for event in before if event.end is not None]
    covered = sum(1 for event in before if replay.observation(event.position).get("covered") is True)
    replaced = sum(
        1
        for event in replay.log.events
        if event.position >= size and replay.observation(event.position).get("replaced") is True
    )
    inside = sum(1 for position in containers(source.log) if position < size)
    return Counts(
        served=len(before) - covered - inside,
        live=len(replay.log.events) - len(before) - replaced,
        replaced=replaced,
        carried=0,
        covered=covered,
        containers=inside,
        substituted=sum(1 for end in ends if end.get("substituted") is True),
    )
