"""What may be replayed at all by this version, and which tools may run live."""

from __future__ import annotations

from anchored.errors import EffectRefused, RefusedError
from anchored.events import Begin, End
from anchored.recording import Event, Log, Recording, check_anchor

SAFE_EFFECTS = frozenset({"none", "read"})
"""Declared effects under which a tool may run live."""

CONTAINER_KINDS = frozenset({"chat", "text_completion", "embeddings", "generate_content", "execute_tool"})
"""A tool that encloses one of these runs its own code in the prefix; only what it encloses is served."""


def containers(log: Log) -> frozenset[int]:
    """Positions of tool events that enclose model calls or further tools."""
    found: set[int] = set()
    for event in log.events:
        if event.begin.kind in CONTAINER_KINDS:
            parent = event.begin.parent
            while parent is not None and parent not in found:
                found.add(parent)
                outer = log.event_at(parent)
                parent = outer.begin.parent if outer else None
    return frozenset(found)


def covered_positions(log: Log, container_positions: frozenset[int]) -> dict[int, int]:
    """Position of each entry that lies under a served leaf tool → position of that tool's begin.

    HTTP under a leaf tool is part of what the tool's result stands for.
    """
    covered: dict[int, int] = {}
    for event in log.events:
        if event.begin.kind != "execute_tool" or event.position in container_positions:
            continue
        for inner in log.descendants(event.position):
            covered[inner.position] = event.position
            if inner.end is not None:
                covered[inner.end.position] = event.position
    return covered


def check_replayable(recording: Recording, *, size: int, anchored: bool, effects_allowed: bool) -> None:
    """Whether the first `size` entries can be served back by this version.

    Args:
        recording: the source.
        size: entries of the prefix.
        anchored: whether live execution follows.
        effects_allowed: whether containers that may write may run their code.

    Raises:
        AnchorError: the anchor is not quiescent, or nothing begins there.
        RefusedError: with the first reason, in log order.
    """
    log = recording.log
    if anchored:
        check_anchor(log, size)
    else:
        _check_complete(recording)
    for event in log.events:
        if event.position < size:
            _check_event(recording, event)
    _check_identical(recording, size)
    _check_covered(log, size)
    for position in sorted(containers(log)):
        event = log.event_at(position)
        if position < size and event and not effects_allowed and event.begin.declared.effect not in SAFE_EFFECTS:
            raise EffectRefused(
                f"The tool {event.begin.name!r} at {position} encloses model calls: its own code runs in the prefix.",
                expected="effect none or read, as declared when it was recorded",
                found=f"effect {event.begin.declared.effect or 'undeclared'}",
                next_step="Repeat with --effects allow if running it again is safe.",
            )


def _check_complete(recording: Recording) -> None:
    pending = [event for event in recording.log.events if event.end is None]
    if pending:
        names = ", ".join(str(event.position) for event in pending)
        raise RefusedError(
            "This recording cannot be replayed to its end.",
            expected="a recorded outcome for every event",
            found=f"still pending: {names}",
            next_step=f"Replay with --at {pending[0].position} to go live there.",
        )
    for note in recording.notes_of("incomplete"):
        raise RefusedError(
            "This recording cannot be replayed to its end.",
            expected="a complete log",
            found=f"incomplete from {note.get('position')}: {note.get('reason')}",
            next_step="Record the run again.",
        )


def _check_event(recording: Recording, event: Event) -> None:
    reason = recording.observation(event.position).get("unreplayable")
    if event.end is not None:
        reason = reason or recording.observation(event.end.position).get("unreplayable")
    if reason is not None:
        raise RefusedError(
            f"The event at {event.position} ({event.begin.kind} {event.begin.name}) cannot be served back.",
            expected="a request and a result that can be rebuilt from bytes",
            found=str(reason),
            next_step=f"Choose an anchor at or before {event.position}, or let the tool return plain values.",
        )


def _check_identical(recording: Recording, size: int) -> None:
    """Identical requests could be given each other's results where no end separates their begins, or where two threads
    asked them: then their order was left to chance.
    """
    open_group: dict[tuple[object, ...], int] = {}
    earlier: dict[tuple[object, ...], int] = {}
    for entry in recording.log.entries[:size]:
        if isinstance(entry, End):
            open_group.clear()
            continue
        likeness = _likeness(entry)
        other = open_group.get(likeness)
        before = earlier.get(likeness)
        if other is None and before is not None and _thread(recording, before) != _thread(recording, entry.position):
            other = before
        if other is not None:
            raise RefusedError(
                f"The events at {other} and {entry.position} are identical, and of several threads.",
                expected="lane evidence that tells them apart",
                found="none recorded",
                next_step=f"Choose an anchor at or before {entry.position}.",
            )
        open_group[likeness] = earlier[likeness] = entry.position


def _thread(recording: Recording, position: int) -> object:
    return recording.observation(position).get("thread")


def _check_covered(log: Log, size: int) -> None:
    """What a served tool covers is copied as one piece; entries of others in between could not keep their places."""
    for tool, positions in pieces(covered_positions(log, containers(log))).items():
        event = log.event_at(tool)
        end = event.end.position if event and event.end else len(log)
        if tool < size and positions != list(range(tool + 1, end)):
            raise RefusedError(
                f"HTTP under the tool at {tool} overlaps other events.",
                expected="entries of that tool alone between its begin and its end",
                found=f"entries {positions} of {tool + 1} to {end - 1}",
                next_step=f"Choose an anchor at or before {tool}.",
            )


def pieces(covered: dict[int, int]) -> dict[int, list[int]]:
    """What `covered_positions` gives, the other way round: position of each tool's begin → what it covers, in order."""
    found: dict[int, list[int]] = {}
    for position, tool in sorted(covered.items()):
        found.setdefault(tool, []).append(position)
    return found


def _likeness(begin: Begin) -> tuple[object, ...]:
    return (begin.kind, begin.actor, begin.name, begin.parent, begin.call_id, begin.request)
