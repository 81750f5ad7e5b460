"""Anchors: bound to one event of one recording (R0-02), and never moved unseen (R0-13)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from builders import RUN

from anchored.canonical import digest, jcs_digest
from anchored.recording import Recording, anchor_on, event_id, prefix_digest


def test_an_anchor_binds_an_event_and_its_position(team: Recording) -> None:
    """R0-02: the event's id, its place, its entry, and the prefix before it."""
    for event in team.log.events:
        anchor = anchor_on(team.log, RUN, event.position)
        assert anchor.position == event.position
        assert anchor.event == event_id(RUN, event.position)
        assert anchor.entry == event.begin.digest
        assert anchor.prefix == prefix_digest(team.log, event.position)


def test_moving_the_anchor_changes_its_digest_and_its_prefix(team: Recording) -> None:
    """R0-13: no two anchors of a recording share any part."""
    anchors = [anchor_on(team.log, RUN, event.position) for event in team.log.events]
    for part in ("digest", "prefix", "entry", "event", "position"):
        assert len({getattr(anchor, part) for anchor in anchors}) == len(anchors)


@pytest.mark.parametrize(
    "change",
    [
        {"event": digest("event-id", b"other")},
        {"position": 7},
        {"entry": digest("entry", b"other")},
        {"prefix": digest("prefix", b"other")},
    ],
    ids=lambda change: next(iter(change)),
)
def test_an_anchors_digest_covers_every_field(team: Recording, change: dict[str, Any]) -> None:
    """R0-13."""
    anchor = anchor_on(team.log, RUN, 6)
    assert replace(anchor, **change).digest != anchor.digest


def test_the_run_is_part_of_the_event_ids(team: Recording) -> None:
    """R0-08, H-04: events of another run never have the ids of this one, even at equal positions."""
    ids = {event_id(run, event.position) for run in (RUN, "a" * 64) for event in team.log.events}
    assert len(ids) == 2 * len(team.log.events)
    assert anchor_on(team.log, "a" * 64, 6).digest != anchor_on(team.log, RUN, 6).digest


@pytest.mark.parametrize("position", [-1, 1, 5, 46, 10**9])
def test_no_anchor_where_nothing_begins(team: Recording, position: int) -> None:
    """R0-06: negative, an end, past the log."""
    with pytest.raises(KeyError):
        anchor_on(team.log, RUN, position)


def test_true_is_no_position(team: Recording) -> None:
    """R0-06, H-06: Python's True equals 0 + 1 and False equals 0, but their digests are others than those of 0."""
    with pytest.raises((KeyError, TypeError, ValueError)):
        anchor_on(team.log, RUN, False)


def test_digests_are_those_of_the_page(team: Recording) -> None:
    """docs/design/identity.md, The log."""
    anchor = anchor_on(team.log, RUN, 6)
    assert anchor.prefix == jcs_digest("prefix", {"size": 6, "head": team.log.tree.root(6)})
    assert anchor.event == jcs_digest("event-id", {"run": RUN, "position": 6})
    assert anchor.digest == jcs_digest(
        "anchor", {"event": anchor.event, "position": 6, "entry": anchor.entry, "prefix": anchor.prefix}
    )
    assert prefix_digest(team.log, 0) != jcs_digest("suffix", {"size": 0, "head": team.log.tree.root(0)})
