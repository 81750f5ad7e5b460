"""Anchors: where a prefix ends and live execution starts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from anchored.canonical import Digest, jcs_digest
from anchored.errors import AnchorError
from anchored.recording.log import Log


@dataclass(frozen=True, kw_only=True, slots=True)
class Anchor:
    """The place of an intervention, bound to one event of one recording.

    Attributes:
        event: the event's id.
        position: position of its begin; the prefix is the entries before it.
        entry: digest of its begin.
        prefix: prefix digest.
    """

    event: Digest
    position: int
    entry: Digest
    prefix: Digest

    @property
    def digest(self) -> Digest:
        """`H("anchor", JCS{event, position, entry, prefix})`."""
        return jcs_digest(
            "anchor",
            {"event": self.event, "position": self.position, "entry": self.entry, "prefix": self.prefix},
        )


def event_id(run: str, position: int) -> Digest:
    """`H("event-id", JCS{run, position})`, position being that of the event's begin."""
    return jcs_digest("event-id", {"run": run, "position": position})


def prefix_digest(log: Log, size: int) -> Digest:
    """`H("prefix", JCS{size, head})` of the first `size` entries."""
    return jcs_digest("prefix", {"size": size, "head": log.tree.root(size)})


def anchor_on(log: Log, run: str, position: int) -> Anchor:
    """The anchor on the event that begins at `position`.

    Raises:
        KeyError: no event begins there.
    """
    event = log.event_at(position) if type(position) is int else None
    if event is None:
        raise KeyError(position)
    return Anchor(
        event=event_id(run, position),
        position=position,
        entry=event.begin.digest,
        prefix=prefix_digest(log, position),
    )


def check_anchor(log: Log, position: int) -> None:
    """Whether an event begins at `position`.

    Raises:
        AnchorError: with the nearest positions at which one does.
    """
    if type(position) is int and log.event_at(position) is not None:
        return
    event = log.event_of(position) if type(position) is int else None
    if type(position) is not int:
        found, position = repr(position), 0
    elif event is None:
        found = f"position {position} in a log of {len(log)} entries"
    else:
        found = f"position {position} is the end of the event that begins at {event.position}"
    raise AnchorError(
        "No anchor can be put there.",
        expected="the begin of an event",
        found=found,
        next_step=_nearest([event.position for event in log.events], position),
    )


def _nearest(positions: Sequence[int], position: int) -> str:
    before = [item for item in positions if item < position][-2:]
    after = [item for item in positions if item > position][:2]
    names = ", ".join(str(item) for item in (*before, *after))
    return f"Nearest anchors: {names}." if names else "This log has none."
