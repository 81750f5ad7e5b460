"""Entries: what their digests cover (R0-01, R0-07), and the strict reading of their documents (H-09)."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anchored.canonical import Digest, digest
from anchored.errors import DamagedError
from anchored.events import Begin, Declared, Edge, End, Entry, Kind, Outcome, entry_from_document

ONE, TWO = digest("test", b"1"), digest("test", b"2")
BEGIN = Begin(
    position=7,
    kind="execute_tool",
    actor="planner",
    name="search",
    parent=3,
    call_id="call_1",
    request=ONE,
    edges=(Edge(position=2, kind="call_id"), Edge(position=5, kind="message")),
    declared=Declared(effect="read", idempotency_token="t", reads=ONE, writes=TWO),
)
END = End(position=9, begin=7, begin_digest=BEGIN.digest, outcome=Outcome.SUCCESS, result=TWO)
SETTLED = (Outcome.SUCCESS, Outcome.FAILURE, Outcome.ABORT, Outcome.UNKNOWN)

digests = st.binary(min_size=1, max_size=4).map(lambda data: digest("test", data))
words = st.text(max_size=8)
begins = st.builds(
    Begin,
    position=st.integers(0, 2**40),
    kind=st.sampled_from(get_args(Kind)),
    actor=st.none() | words,
    name=words,
    parent=st.none() | st.integers(0, 2**40),
    call_id=st.none() | words,
    request=digests,
    edges=st.lists(
        st.builds(Edge, position=st.integers(0, 99), kind=st.from_regex(r"[a-z][a-z_]{0,9}", fullmatch=True)),
        max_size=3,
    ).map(tuple),
    declared=st.builds(
        Declared,
        effect=st.sampled_from([None, "none", "read", "write"]),
        idempotency_token=st.none() | words,
        reads=st.none() | digests,
        writes=st.none() | digests,
    ),
)
ends = st.builds(
    End,
    position=st.integers(0, 2**40),
    begin=st.integers(0, 2**40),
    begin_digest=digests,
    outcome=st.sampled_from(SETTLED),
    result=st.none() | digests,
)


@given(begins | ends)
@settings(max_examples=150, deadline=None)
def test_reading_inverts_writing(entry: Entry) -> None:
    """`entry_from_document` inverts `document`."""
    assert entry_from_document(entry.document()) == entry
    assert entry_from_document(json.loads(json.dumps(entry.document()))).digest == entry.digest


@given(begins | ends, begins | ends)
@settings(max_examples=150, deadline=None)
def test_digests_are_equal_exactly_if_entries_are(one: Entry, other: Entry) -> None:
    """R0-07: equal entry digests ⇒ equal in every field."""
    assert (one.digest == other.digest) == (one == other)


@pytest.mark.parametrize(
    "change",
    [
        {"position": 8},
        {"kind": "http"},
        {"actor": "critic"},
        {"actor": None},
        {"actor": ""},
        {"name": "search2"},
        {"parent": 4},
        {"parent": None},
        {"call_id": "call_2"},
        {"call_id": None},
        {"request": TWO},
        {"edges": ()},
        {"edges": BEGIN.edges[:1]},
        {"edges": (BEGIN.edges[0], Edge(position=6, kind="message"))},
        {"edges": (BEGIN.edges[0], Edge(position=5, kind="history"))},
        {"declared": Declared()},
        {"declared": replace(BEGIN.declared, effect="none")},
        {"declared": replace(BEGIN.declared, effect=None)},
        {"declared": replace(BEGIN.declared, idempotency_token=None)},
        {"declared": replace(BEGIN.declared, reads=TWO)},
        {"declared": replace(BEGIN.declared, writes=None)},
    ],
    ids=str,
)
def test_a_begins_digest_covers_every_field(change: dict[str, Any]) -> None:
    """R0-07; and its end, which names that digest, covers it too."""
    other = replace(BEGIN, **change)
    assert other.digest != BEGIN.digest
    assert replace(END, begin_digest=other.digest).digest != END.digest


@pytest.mark.parametrize(
    "change",
    [
        {"position": 10},
        {"begin": 6},
        {"begin_digest": ONE},
        {"outcome": Outcome.FAILURE},
        {"outcome": Outcome.UNKNOWN},
        {"result": ONE},
        {"result": None},
    ],
    ids=str,
)
def test_an_ends_digest_covers_every_field(change: dict[str, Any]) -> None:
    """R0-07."""
    assert replace(END, **change).digest != END.digest


def test_entries_are_hashed_as_the_page_says() -> None:
    """docs/design/identity.md, Entries, written out by other code."""

    def h(value: Any) -> str:
        text = json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
        return hashlib.sha256(b"anchored/entry/v1\0" + text).hexdigest()

    begin = h(
        {
            "entry": "begin",
            "position": 7,
            "kind": "execute_tool",
            "actor": "planner",
            "name": "search",
            "parent": 3,
            "call_id": "call_1",
            "request": ONE,
            "edges": [{"kind": "call_id", "position": 2}, {"kind": "message", "position": 5}],
            "effect": "read",
            "idempotency_token": "t",
            "reads": ONE,
            "writes": TWO,
        }
    )
    assert BEGIN.digest == begin
    held = {"position": 7, "digest": begin}
    assert END.digest == h({"entry": "end", "position": 9, "begin": held, "outcome": "success", "result": TWO})


def places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path for key, item in pairs for path in ((*at, key), *places(item, (*at, key)))]


def edited(entry: Entry, path: tuple[Any, ...], edit: Any) -> Any:
    document = json.loads(json.dumps(entry.document()))
    at = document
    for key in path[:-1]:
        at = at[key]
    edit(at, path[-1])
    return document


def _drop(at: Any, key: Any) -> None:
    del at[key]


def _add(at: Any, key: Any) -> None:
    if isinstance(at, dict):
        at["unknown"] = None
    else:
        at.append({"kind": "message", "position": 1, "unknown": 1})


def _put(value: Any) -> Any:
    return lambda at, key: at.__setitem__(key, value)


EDITS = {
    "dropped": _drop,
    "one more": _add,
    "true": _put(True),
    "-1": _put(-1),
    "text": _put("other word"),
    "newline": lambda at, key: at.__setitem__(key, f"{at[key]}\n"),
    "array": lambda at, key: at.__setitem__(key, [at[key]]),
    "object": _put({}),
    "big": _put(2**60),
    "fraction": _put(0.5),
    "null": _put(None),
    "empty": _put(""),
}
TEXTS = {("actor",), ("name",), ("call_id",), ("effect",), ("idempotency_token",), ("reads",), ("writes",)}
NULLABLE = {*TEXTS, ("parent",), ("result",)} - {("name",)}
NUMBERS = {("position",), ("parent",), ("begin", "position"), ("edges", 0, "position"), ("edges", 1, "position")}


@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.parametrize(
    ("entry", "path"),
    [(entry, path) for entry in (BEGIN, END) for path in places(entry.document())],
    ids=lambda item: "/".join(map(str, item)) if isinstance(item, tuple) else type(item).__name__,
)
def test_a_document_with_other_fields_is_refused_or_another_entry(
    entry: Entry, path: tuple[Any, ...], edit: str
) -> None:
    """H-06 (no bool is a position), H-09 (no field dropped, none unknown): whatever is read has another digest."""
    document = edited(entry, path, EDITS[edit])
    allowed = (
        (edit in ("text", "newline", "empty") and path in TEXTS)
        or (edit == "null" and path in NULLABLE)
        or (edit == "big" and path in NUMBERS)
        or (edit == "dropped" and path[0] == "edges" and len(path) == 2)
    )
    if not allowed:
        with pytest.raises(DamagedError):
            entry_from_document(document)
        return
    try:
        read = entry_from_document(document)
    except DamagedError:
        return
    assert read.document() == document
    if edit != "big":
        assert read.digest != entry.digest


@pytest.mark.parametrize("document", [{}, {"entry": "begin"}, {"entry": "end"}, {"entry": "middle"}, {"entry": None}])
def test_what_describes_no_entry_is_refused(document: Any) -> None:
    """H-09."""
    with pytest.raises(DamagedError):
        entry_from_document(document)


@pytest.mark.parametrize("kind", ["", "Message", "_a", "a b", "a-b", "a\n", "a" * 41, "é", 1, None])
def test_a_kind_of_edge_is_a_plain_word(kind: Any) -> None:
    """H-08: matched whole, its type first; adapters have words of their own."""
    with pytest.raises(DamagedError):
        entry_from_document({**BEGIN.document(), "edges": [{"kind": kind, "position": 2}]})
    assert entry_from_document({**BEGIN.document(), "edges": [{"kind": "a" * 40, "position": 2}]})


@pytest.mark.parametrize("word", ["planned", "pending"])
def test_an_end_says_what_came_of_it(word: str) -> None:
    """An end is what no planned or pending event has."""
    with pytest.raises(DamagedError):
        entry_from_document({**END.document(), "outcome": word})


@pytest.mark.parametrize("word", ["Success", "ok", "success ", "SUCCESS", "done", ""])
def test_an_unknown_outcome_is_refused_where_it_is_stored(word: str) -> None:
    """R1-22: it never becomes success."""
    with pytest.raises(DamagedError):
        entry_from_document({**END.document(), "outcome": word})


def test_invalid_text_stands_as_its_digest() -> None:
    """Law 6: an actor, name or call id that is not valid Unicode is told apart and can be written."""
    held = [replace(BEGIN, actor=text, name=text, call_id=text) for text in ("\ud800", "\ud801", "a")]
    assert len({entry.digest for entry in held}) == len(held)
    read = entry_from_document(held[0].document())
    assert read.digest == held[0].digest
    assert isinstance(read, Begin)
    assert read.name == "anchored-raw:" + digest("raw", b"\xed\xa0\x80")


def test_times_and_lanes_are_in_no_entry() -> None:
    """Identity law 3."""
    assert set(BEGIN.document()) == {
        "entry",
        "position",
        "kind",
        "actor",
        "name",
        "parent",
        "call_id",
        "request",
        "edges",
        "effect",
        "idempotency_token",
        "reads",
        "writes",
    }
    assert set(END.document()) == {"entry", "position", "begin", "outcome", "result"}
    assert Digest(BEGIN.digest) == BEGIN.digest
