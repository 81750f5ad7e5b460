"""How the events of a replay were answered, read off the two recordings."""

from __future__ import annotations

from dataclasses import dataclass

from anchored.recording import Event, Recording
from anchored.replaying import containers


@dataclass(frozen=True, kw_only=True, slots=True)
class Counts:
    """Events of a replay by how they were answered.

    Attributes:
        served: from the recording.
        live: for real.
        replaced: by the intervention's result.
        carried: in flight at the anchor, and handed their recorded result behind it.
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


def carried(source: Recording, replay: Recording, size: int) -> list[Event]:
    """Events of the replay that were in flight at the end of a prefix of `size` entries and got their recorded result.

    One that the program gave up, or that is a container and went on by itself, is none of them.
    """
    inside = containers(source.log)
    found: list[Event] = []
    for event in replay.log.pending_at(size):
        recorded = source.log.event_at(event.position)
        if event.end is None or recorded is None or recorded.end is None or event.position in inside:
            continue
        if (event.end.outcome, event.end.result) == (recorded.end.outcome, recorded.end.result):
            found.append(event)
    return found


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
        served=len(before) - covered - inside - len(carried(source, replay, size)),
        live=len(replay.log.events) - len(before) - replaced,
        replaced=replaced,
        carried=len(carried(source, replay, size)),
        covered=covered,
        containers=inside,
        substituted=sum(1 for end in ends if end.get("substituted") is True),
    )
