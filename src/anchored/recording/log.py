"""The log: begin and end entries in observed order, checked once and then relied upon."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from anchored.canonical import LIMITS, Digest
from anchored.errors import DamagedError
from anchored.events import Begin, End, Entry, Outcome
from anchored.recording.merkle import Tree


@dataclass(frozen=True, kw_only=True, slots=True)
class Event:
    """One crossing: what was asked and, where it is known, what came of it."""

    begin: Begin
    end: End | None

    @property
    def position(self) -> int:
        """Position of its begin."""
        return self.begin.position

    @property
    def outcome(self) -> Outcome:
        """Its outcome; pending without an end."""
        return self.end.outcome if self.end else Outcome.PENDING


class Log:
    """Entries in observed order.

    Args:
        entries: all entries, positions 0, 1, 2, ….

    Raises:
        DamagedError: positions have gaps, an end has no begin of its digest or ends it twice, or an edge or parent
            does not point backwards to a begin or end.
    """

    def __init__(self, entries: Sequence[Entry]) -> None:
        self.entries: tuple[Entry, ...] = tuple(entries)
        self.events: tuple[Event, ...] = _paired(self.entries)
        self._by_position = {event.position: event for event in self.events}

    def __len__(self) -> int:
        return len(self.entries)

    @cached_property
    def tree(self) -> Tree:
        """The Merkle tree over all entries."""
        return Tree([entry.digest for entry in self.entries])

    @property
    def head(self) -> Digest:
        """Root over all entries."""
        return self.tree.root()

    def event_at(self, position: int) -> Event | None:
        """The event whose begin stands at `position`."""
        return self._by_position.get(position)

    def event_of(self, position: int) -> Event | None:
        """The event whose begin or end stands at `position`."""
        if not 0 <= position < len(self.entries):
            return None
        entry = self.entries[position]
        return self._by_position[entry.begin if isinstance(entry, End) else position]

    def pending_at(self, position: int) -> list[Event]:
        """Events begun before `position` that had not ended there."""
        return [
            event
            for event in self.events
            if event.position < position and (event.end is None or event.end.position >= position)
        ]

    def quiescent(self, position: int) -> bool:
        """Whether an event begins at `position` while no other is pending."""
        return position in self._by_position and not self.pending_at(position)

    def quiescent_positions(self) -> list[int]:
        """All positions at which an anchor is quiescent, in order."""
        open_events = 0
        found: list[int] = []
        for entry in self.entries:
            if isinstance(entry, End):
                open_events -= 1
                continue
            if open_events == 0:
                found.append(entry.position)
            open_events += 1
        return found

    def descendants(self, position: int) -> list[Event]:
        """Events enclosed by the event at `position`, at any depth, in order."""
        inside = {position}
        found: list[Event] = []
        for event in self.events:
            if event.begin.parent in inside:
                inside.add(event.position)
                found.append(event)
        return found


def _paired(entries: tuple[Entry, ...]) -> tuple[Event, ...]:
    if len(entries) > LIMITS.entries:
        raise _damaged(f"{len(entries):,} entries", f"at most {LIMITS.entries:,} entries")
    begins: dict[int, Begin] = {}
    ends: dict[int, End] = {}
    for position, entry in enumerate(entries):
        if entry.position != position:
            raise _damaged(f"position {entry.position} at place {position}", "positions 0, 1, 2, … without a gap")
        if isinstance(entry, Begin):
            _check_begin(entry, begins, ends)
            begins[position] = entry
        else:
            begin = begins.get(entry.begin)
            if begin is None or begin.digest != entry.begin_digest or entry.begin in ends:
                raise _damaged(f"the end at {position} of {entry.begin}", "one end for one earlier begin")
            ends[entry.begin] = entry
    return tuple(Event(begin=begin, end=ends.get(position)) for position, begin in begins.items())


def _check_begin(entry: Begin, begins: dict[int, Begin], ends: dict[int, End]) -> None:
    if entry.parent is not None and (entry.parent not in begins or entry.parent in ends):
        raise _damaged(f"parent {entry.parent} of {entry.position}", "an event that is still open")
    if list(entry.edges) != sorted(set(entry.edges)):
        raise _damaged(f"the edges of {entry.position}", "each edge once, sorted")
    if not all(0 <= edge.position < entry.position for edge in entry.edges):
        raise _damaged(f"an edge of {entry.position} that does not point backwards", "edges to earlier entries")


def _damaged(found: str, expected: str) -> DamagedError:
    return DamagedError(
        "The log is damaged.",
        expected=expected,
        found=found,
        next_step="Restore the file from a copy, or record the run again.",
    )
