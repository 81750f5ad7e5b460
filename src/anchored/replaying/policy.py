"""What may be replayed at all by this version, and which tools may run live."""

from __future__ import annotations

from anchored.errors import AnchorError, EffectRefused, RefusedError
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


def contested(log: Log) -> frozenset[int]:
    """Positions of the ends of events of which one ended while the other was in flight, neither enclosing the other.

    The second of two results is among them as the first is: whoever acts on the first may have to do so before it.
    """
    ancestors: dict[int, frozenset[int]] = {}
    pending: set[int] = set()
    overlapped: set[int] = set()
    found: set[int] = set()
    for entry in log.entries:
        if isinstance(entry, End):
            pending.discard(entry.begin)
            others = pending - ancestors[entry.begin]
            overlapped |= others
            if others or entry.begin in overlapped:
                found.add(entry.position)
            continue
        parent = entry.parent
        ancestors[entry.position] = frozenset() if parent is None else ancestors[parent] | {parent}
        pending.add(entry.position)
    return frozenset(found)


def lane_of(recording: Recording, position: int) -> str | None:
    """The task or thread that asked for the event at `position`, by how it was started; None where not recorded."""
    lane = recording.observation(position).get("lane")
    return lane if isinstance(lane, str) else None


def check_replayable(recording: Recording, *, size: int, anchored: bool, effects_allowed: bool) -> None:
    """Whether the first `size` entries can be served back by this version.

    Args:
        recording: the source.
        size: entries of the prefix.
        anchored: whether live execution follows.
        effects_allowed: whether containers that may write may run their code.

    Raises:
        AnchorError: nothing begins at the anchor, a served tool stands for what does, or an event is in flight there
            whose outcome was not recorded.
        RefusedError: with the first reason, in log order.
    """
    log = recording.log
    entered = containers(log)
    _check_declared(recording)
    if anchored:
        check_anchor(log, size)
        _check_reachable(log, size, covered_positions(log, entered))
        _check_in_flight(log, size, entered)
    else:
        _check_complete(recording)
    for event in log.events:
        if event.position < size:
            _check_event(recording, event)
    _check_identical(recording, size)
    for position in sorted(entered):
        event = log.event_at(position)
        if position < size and event and not effects_allowed and event.begin.declared.effect not in SAFE_EFFECTS:
            raise EffectRefused(
                f"The tool {event.begin.name!r} at {position} encloses model calls: its own code runs in the prefix.",
                expected="effect none or read, as declared when it was recorded",
                found=f"effect {event.begin.declared.effect or 'undeclared'}",
                next_step="Repeat with --effects allow if running it again is safe.",
            )


def _check_reachable(log: Log, anchor: int, covered: dict[int, int]) -> None:
    tool = covered.get(anchor)
    if tool is not None:
        raise AnchorError(
            "No anchor can be put there.",
            expected="an event that the program asks for in a replay",
            found=f"HTTP inside the tool at {tool}, for which that tool's recorded result stands",
            next_step=f"Put the anchor on the tool: {tool}.",
        )


def _check_in_flight(log: Log, anchor: int, entered: frozenset[int]) -> None:
    """What is in flight at the anchor is served its recorded outcome; a container goes on by itself."""
    lost = [event.position for event in log.pending_at(anchor) if event.end is None and event.position not in entered]
    if lost:
        raise AnchorError(
            "No anchor can be put there.",
            expected="a recorded outcome for each event in flight at the anchor",
            found=f"no outcome was recorded for {', '.join(map(str, lost))}",
            next_step=f"Put the anchor at or before {lost[0]}.",
        )


def _check_declared(recording: Recording) -> None:
    for note in recording.notes_of("background_refused"):
        raise RefusedError(
            "This recording was made with a model call declared as background.",
            expected="patterns of telemetry alone",
            found=f"--background {note.get('pattern')}, which matches a call of {note.get('name')}",
            next_step="Record again with a narrower pattern: a model call is never background.",
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


def why_unreplayable(recording: Recording, event: Event) -> str | None:
    """Why an event cannot be served back, in words; None if it can be."""
    reason = recording.observation(event.position).get("unreplayable")
    if event.end is not None:
        reason = reason or recording.observation(event.end.position).get("unreplayable")
    return None if reason is None else str(reason)


def _check_event(recording: Recording, event: Event) -> None:
    reason = why_unreplayable(recording, event)
    if reason is not None:
        raise RefusedError(
            f"The event at {event.position} ({event.begin.kind} {event.begin.name}) cannot be served back.",
            expected="a request and a result that can be rebuilt from bytes",
            found=reason,
            next_step=f"Choose an anchor at or before {event.position}, or let the tool return plain values.",
        )


def _check_identical(recording: Recording, size: int) -> None:
    """Identical requests could be given each other's results where no end separates their begins, or where two threads
    asked them: then their order was left to chance, and only their lanes tell them apart.
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
        if other is not None and not _told_apart(recording, other, entry.position, overlap=likeness in open_group):
            raise RefusedError(
                f"The events at {other} and {entry.position} are identical, and of several threads or tasks.",
                expected="lane evidence that tells them apart",
                found="none recorded",
                next_step=f"Choose an anchor at or before {entry.position}.",
            )
        open_group[likeness] = earlier[likeness] = entry.position


def _told_apart(recording: Recording, one: int, other: int, *, overlap: bool) -> bool:
    lanes = (lane_of(recording, one), lane_of(recording, other))
    return None not in lanes and (not overlap or lanes[0] != lanes[1])


def _thread(recording: Recording, position: int) -> object:
    return recording.observation(position).get("thread")


def _likeness(begin: Begin) -> tuple[object, ...]:
    return (begin.kind, begin.actor, begin.name, begin.parent, begin.call_id, begin.request)
