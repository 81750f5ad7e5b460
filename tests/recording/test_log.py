"""The log: checked once (R0-04 to R0-07), then relied upon; where an anchor is quiescent."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anchored.canonical import LIMITS, Limits, digest
from anchored.errors import DamagedError
from anchored.events import Begin, Edge, End, Entry, Outcome
from anchored.recording import Log, prefix_digest, verify_consistency, verify_inclusion


def begin(position: int, **fields: Any) -> Begin:
    held: dict[str, Any] = {"kind": "chat", "actor": "a", "name": "m", "parent": None, "call_id": None}
    return Begin(position=position, request=digest("request", str(position).encode()), **{**held, **fields})


def end(position: int, of: Begin, **fields: Any) -> End:
    held: dict[str, Any] = {"begin": of.position, "begin_digest": of.digest, "outcome": Outcome.SUCCESS}
    return End(position=position, result=digest("result", str(position).encode()), **{**held, **fields})


B0 = begin(0)
E1 = end(1, B0)
B2 = begin(2, edges=(Edge(position=0, kind="history"), Edge(position=1, kind="message")))
B3 = begin(3, parent=2)
E4 = end(4, B3)
E5 = end(5, B2)
B6 = begin(6)
GOOD: list[Entry] = [B0, E1, B2, B3, E4, E5, B6]


@st.composite
def logs(draw: st.DrawFn) -> list[Entry]:
    """Logs as recorders make them: nested, overlapping, with edges, and something pending in the end."""
    entries: list[Entry] = []
    opened: list[Begin] = []
    for _ in range(draw(st.integers(0, 24))):
        position = len(entries)
        if opened and draw(st.booleans()):
            chosen = opened.pop(draw(st.integers(0, len(opened) - 1)))
            entries.append(end(position, chosen, outcome=draw(st.sampled_from([Outcome.SUCCESS, Outcome.UNKNOWN]))))
            continue
        parents = [None, *(item.position for item in opened)]
        places = draw(st.sets(st.integers(0, position - 1), max_size=2)) if position else set()
        opened.append(
            begin(
                position,
                parent=draw(st.sampled_from(parents)),
                edges=tuple(Edge(position=place, kind="message") for place in sorted(places)),
                kind=draw(st.sampled_from(["chat", "http", "execute_tool"])),
            )
        )
        entries.append(opened[-1])
    return entries


# ---- What is refused


def test_a_good_log_is_accepted() -> None:
    log = Log(GOOD)
    assert len(log) == 7
    assert [(event.position, event.outcome) for event in log.events] == [
        (0, Outcome.SUCCESS),
        (2, Outcome.SUCCESS),
        (3, Outcome.SUCCESS),
        (6, Outcome.PENDING),
    ]
    assert Log([]).head == Log([]).tree.root(0)


@pytest.mark.parametrize(
    "entries",
    [
        GOOD[1:],
        [B0, E1, B3, *GOOD[4:]],
        [begin(1)],
        [begin(-1)],
        [B0, B0],
        [B0, E1, B2, B2],
        [B0, begin(2), begin(1)],
        [B0, E1, begin(2), begin(4)],
        [B0, E1, B6],
    ],
    ids=["first gone", "one gone", "from 1", "from -1", "doubled", "doubled later", "swapped", "gap", "jump"],
)
def test_positions_have_no_gaps(entries: list[Entry]) -> None:
    """R0-05: positions strictly increase, by one; an id derives from a position, so none is there twice (R0-04)."""
    with pytest.raises(DamagedError):
        Log(entries)


@pytest.mark.parametrize(
    "entries",
    [
        [end(0, begin(0))],
        [B0, end(1, begin(0, name="other"))],
        [B0, replace(E1, begin_digest=digest("entry", b"x"))],
        [B0, replace(E1, begin=1)],
        [B0, replace(E1, begin=5)],
        [B0, replace(E1, begin=-1)],
        [B0, E1, end(2, B0)],
        [B0, E1, replace(end(2, B0), outcome=Outcome.FAILURE)],
        [B0, E1, replace(end(2, begin(2)), begin=1, begin_digest=E1.digest)],
        [begin(0), begin(1), replace(end(2, begin(0)), begin=1)],
    ],
    ids=[
        "no begin",
        "of another digest",
        "of a forged digest",
        "of itself",
        "of a later one",
        "of a negative one",
        "twice",
        "twice, otherwise",
        "of an end",
        "digest of another begin",
    ],
)
def test_an_end_ends_one_earlier_begin_of_its_digest_once(entries: list[Entry]) -> None:
    """R0-07."""
    with pytest.raises(DamagedError):
        Log(entries)


@pytest.mark.parametrize("parent", [0, 1, 2, 5, -1])
def test_a_parent_is_an_event_that_is_still_open(parent: int) -> None:
    """Ended, no begin, itself, later, negative."""
    with pytest.raises(DamagedError):
        Log([B0, E1, begin(2, parent=parent)])


@pytest.mark.parametrize(
    "edges",
    [
        (Edge(position=2, kind="message"),),
        (Edge(position=9, kind="message"),),
        (Edge(position=1, kind="message"), Edge(position=0, kind="message")),
        (Edge(position=1, kind="message"), Edge(position=1, kind="call_id")),
        (Edge(position=1, kind="message"), Edge(position=1, kind="message")),
        (Edge(position=0, kind="message"), Edge(position=2, kind="history")),
    ],
    ids=["itself", "forward", "unsorted", "unsorted kinds", "doubled", "one forward"],
)
def test_edges_point_backwards_each_once_sorted(edges: tuple[Edge, ...]) -> None:
    """Identity, Entries: sorted by position, then kind."""
    with pytest.raises(DamagedError):
        Log([B0, E1, begin(2, edges=edges)])
    assert Log([B0, E1, begin(2, edges=(Edge(position=1, kind="call_id"), Edge(position=1, kind="message")))])


def test_an_edge_points_at_an_entry() -> None:
    """R0-06: a negative position points at nothing, but `entries[-1]` would read the last entry."""
    with pytest.raises(DamagedError):
        Log([B0, E1, begin(2, edges=(Edge(position=-1, kind="call_id"),))])


def test_the_number_of_entries_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """H-07."""
    assert LIMITS.entries == 1_000_000
    monkeypatch.setattr("anchored.recording.log.LIMITS", Limits(entries=6))
    assert len(Log(GOOD[:6])) == 6
    with pytest.raises(DamagedError):
        Log(GOOD)


@given(logs(), st.data())
@settings(max_examples=80, deadline=None)
def test_deleting_inserting_or_swapping_entries_is_refused(entries: list[Entry], data: st.DataObject) -> None:
    """R0-07, R0-05: whatever is done to the order of a log, it is no log any more, or has another head."""
    if not entries:
        return
    place = data.draw(st.integers(0, len(entries) - 1))
    other = data.draw(st.integers(0, len(entries) - 1))
    swapped = list(entries)
    swapped[place], swapped[other] = swapped[other], swapped[place]
    for changed in (
        [*entries[:place], *entries[place + 1 :]],
        [*entries[:place], entries[other], *entries[place:]],
        swapped,
        entries[1:],
        [*entries, entries[other]],
    ):
        if changed in (entries, entries[:-1]):
            continue
        with pytest.raises(DamagedError):
            Log(changed)
    assert Log(entries[:-1]).head != Log(entries).head


# ---- What is relied upon


@given(logs())
@settings(max_examples=120, deadline=None)
def test_quiescent_positions_are_those_at_which_nothing_is_in_flight(entries: list[Entry]) -> None:
    """Design: no other event is pending at its begin. By the definition, entry by entry."""
    log = Log(entries)
    ended = {entry.begin: entry.position for entry in entries if isinstance(entry, End)}
    begun = [entry.position for entry in entries if isinstance(entry, Begin)]
    naive = [
        position
        for position in begun
        if not any(other < position and ended.get(other, len(entries)) > position for other in begun)
    ]
    assert log.quiescent_positions() == naive
    for position in range(-1, len(entries) + 1):
        assert log.quiescent(position) == (position in naive)
        pending = [other for other in begun if other < position <= ended.get(other, len(entries))]
        assert [event.position for event in log.pending_at(position)] == pending


@given(logs())
@settings(max_examples=80, deadline=None)
def test_events_pair_begins_with_their_ends(entries: list[Entry]) -> None:
    log = Log(entries)
    assert [event.begin for event in log.events] == [entry for entry in entries if isinstance(entry, Begin)]
    for event in log.events:
        assert log.event_at(event.position) is event
        assert log.event_of(event.position) is event
        assert (event.outcome is Outcome.PENDING) == (event.end is None)
        if event.end is not None:
            assert log.event_of(event.end.position) is event
            assert log.event_at(event.end.position) is None
            assert event.end.begin_digest == event.begin.digest
    for position in (-1, len(entries), len(entries) + 5):
        assert log.event_at(position) is None
        assert log.event_of(position) is None


@given(logs())
@settings(max_examples=80, deadline=None)
def test_descendants_are_what_is_enclosed(entries: list[Entry]) -> None:
    log = Log(entries)
    parents = {event.position: event.begin.parent for event in log.events}

    def enclosed(position: int | None, by: int) -> bool:
        while position is not None:
            position = parents[position]
            if position == by:
                return True
        return False

    for event in log.events:
        expected = [inner for inner in log.events if enclosed(inner.position, event.position)]
        assert log.descendants(event.position) == expected


@given(logs(), st.data())
@settings(max_examples=80, deadline=None)
def test_a_prefix_of_a_prefix_is_a_prefix(entries: list[Entry], data: st.DataObject) -> None:
    """Law: digests and proofs of a prefix are the same however much of the log followed it."""
    log = Log(entries)
    size = data.draw(st.integers(0, len(entries)))
    smaller = data.draw(st.integers(0, size))
    prefix = Log(entries[:size])
    assert prefix.head == log.tree.root(size)
    assert (
        prefix_digest(prefix, smaller) == prefix_digest(log, smaller) == prefix_digest(Log(entries[:smaller]), smaller)
    )
    for first, second in ((smaller, size), (smaller, len(entries)), (size, len(entries))):
        assert verify_consistency(
            first=first,
            first_head=log.tree.root(first),
            second=second,
            second_head=log.tree.root(second),
            proof=log.tree.consistency_proof(first, second),
        )
    for index in range(smaller):
        assert verify_inclusion(
            index=index,
            size=size,
            entry=entries[index].digest,
            head=prefix.head,
            proof=prefix.tree.inclusion_proof(index),
        )


@given(logs())
@settings(max_examples=80, deadline=None)
def test_every_prefix_of_a_log_is_a_log_with_its_own_digest(entries: list[Entry]) -> None:
    """R0-07: no two prefixes share a digest; what was in flight is pending in the shorter."""
    log = Log(entries)
    digests = {prefix_digest(log, size) for size in range(len(entries) + 1)}
    assert len(digests) == len(entries) + 1
    for size in range(len(entries) + 1):
        prefix = Log(entries[:size])
        assert [event.position for event in prefix.events if event.end is None] == [
            event.position for event in log.pending_at(size)
        ]
