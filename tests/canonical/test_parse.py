"""JSON text → value: exactly or not at all (H-06, H-09); and where each member of a text stands."""

from __future__ import annotations

import json
import math
import random
from typing import Any

import pytest
from builders import json_values, near_the_recursion_limit, nested, spaced
from hypothesis import given, settings
from hypothesis import strategies as st

from anchored.canonical import (
    LIMITS,
    NotCanonical,
    canonical,
    member_spans,
    parse_exact,
    parse_hashed,
    parse_own,
)
from anchored.errors import DamagedError, LimitExceeded


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1, "a": 1}',
        '{"a": 1, "b": 2, "a": 3}',
        '{"a": 1, "\\u0061": 2}',
        '[[{"x": {"a": 1, "a": 2}}]]',
        nested(100_000),
        '{"a":' * 100_000 + "1" + "}" * 100_000,
    ],
    ids=["equal", "other", "escaped", "inside", "deep array", "deep object"],
)
def test_duplicate_keys_and_endless_nesting_have_no_value(text: str) -> None:
    """H-06, H-07."""
    with pytest.raises(NotCanonical):
        parse_exact(text)


@pytest.mark.parametrize(
    "text",
    [nested(150, "1"), '{"a":' * 150 + "[1, {}, []]" + "}" * 150, '[{"b": [1.5, -2, "x\\n", null, true]}]' + " "],
)
def test_a_text_has_one_value_however_deep_its_caller_stands(text: str) -> None:
    """H-07: where Python's parser has no room on the stack, another gives the same value."""
    value = near_the_recursion_limit(lambda: parse_exact(text), free=40)
    assert canonical(value) == canonical(parse_exact(text))


@pytest.mark.parametrize("text", ['{"a": 1, "a": 1}', "[" * 60 + '{"a": 1, "a": 2}' + "]" * 60])
def test_duplicate_keys_are_found_however_deep_the_caller_stands(text: str) -> None:
    """H-06, H-07."""
    with pytest.raises(NotCanonical):
        near_the_recursion_limit(lambda: parse_exact(text), free=40)


@pytest.mark.parametrize("text", ["", "{", "[1,]", "{'a': 1}", "nul", "1 2", '"\n"', "[1] x", "\ufeff{}"])
def test_what_is_no_json_is_refused(text: str) -> None:
    """H-06."""
    with pytest.raises(ValueError):
        parse_exact(text)


def test_what_rfc_8785_cannot_express_comes_through_as_python_has_it() -> None:
    """The caller decides: program data becomes raw, our own documents are refused."""
    value: Any = parse_exact('{"n": NaN, "i": Infinity, "b": 12345678901234567890, "s": "\\ud800"}')
    assert math.isnan(value["n"])
    assert value == {"n": value["n"], "i": math.inf, "b": 12345678901234567890, "s": "\ud800"}


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b" {}",
        b"{}\n",
        b"[]",
        b"null",
        b'"text"',
        b'{"a": 1}',
        b'{"b":1,"a":2}',
        b'{"a":1,"a":1}',
        b'{"a":1.0}',
        b'{"a":-0}',
        b'{"a":1e2}',
        b'{"a":"\\u0061"}',
        b'{"a":"\\/"}',
        b'{"a":NaN}',
        b'{"a":"\\ud800"}',
        b'{"a":"\xff"}',
        b"\xef\xbb\xbf{}",
        b'{"a":1}{"b":2}',
        b'{"a":1',
        '{"\uffe1":1,"😀":2}'.encode(),
        b'{"a":' + b"[" * 201 + b"]" * 201 + b"}",
        b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
        b'{"a":' + b"9" * 5000 + b"}",
        "{}".encode("utf-16"),
    ],
)
def test_our_own_documents_are_read_from_their_canonical_bytes_alone(data: bytes) -> None:
    """H-06, H-09: one document, one text; a flipped, added or missing byte is damage, never another reading."""
    with pytest.raises(DamagedError):
        parse_own(data, what="A document")


def test_own_documents_of_any_size_are_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """H-07, H-15: the size is looked at first."""
    monkeypatch.setattr("anchored.canonical.parse.LIMITS", type(LIMITS)(document_bytes=10))
    assert parse_own(b'{"a":1234}', what="x") == {"a": 1234}
    with pytest.raises(LimitExceeded):
        parse_own(b'{"a":"bcdef"}', what="x")


@given(st.dictionaries(st.text(max_size=6), json_values(), max_size=5))
@settings(max_examples=200, deadline=None)
def test_parsing_inverts_the_canonical_form(value: dict[str, Any]) -> None:
    """`parse_own` and `parse_hashed` invert `canonical`."""
    data = canonical(value)
    assert canonical(parse_own(data, what="x")) == data
    assert parse_own(data, what="x") == parse_hashed(data) == value


@pytest.mark.parametrize("number", [2.0**53, 1e16, -1e20, 123456789012345680000.0])
def test_what_is_written_can_be_read(number: float) -> None:
    """RFC 8785 writes such floats as integers beyond 2^53; those are no damage."""
    assert parse_own(canonical({"a": number}), what="x") == {"a": number}


@given(st.dictionaries(st.text(max_size=3), json_values(leaves=4), max_size=3), st.data())
@settings(max_examples=200, deadline=None)
def test_a_changed_byte_never_reads_as_the_same_document(value: dict[str, Any], data: st.DataObject) -> None:
    """R0-07, for one document."""
    good = canonical(value)
    place = data.draw(st.integers(0, len(good) - 1))
    bad = bytearray(good)
    bad[place] ^= data.draw(st.integers(1, 255))
    try:
        read = parse_own(bytes(bad), what="x")
    except DamagedError:
        return
    assert canonical(read) == bytes(bad) != good


# ---- Where members stand


@given(
    st.dictionaries(st.text(max_size=6), json_values(), max_size=5) | st.lists(json_values(), max_size=5),
    st.integers(0, 2**32),
)
@settings(max_examples=200, deadline=None)
def test_spans_hold_the_members(value: Any, seed: int) -> None:
    """`text[span]` parses to the member, for every member in order, whatever the white space."""
    text = spaced(value, random.Random(seed))
    spans = member_spans(text)
    whole = json.loads(text)
    members = list(whole.items()) if isinstance(whole, dict) else [("", item) for item in whole]
    assert [(span.key, canonical(json.loads(text[span.start : span.end]))) for span in spans] == [
        (key, canonical(item)) for key, item in members
    ]
    for span in spans:
        assert text[span.start : span.end] == text[span.start : span.end].strip(" \t\r\n")


@given(json_values(leaves=6), st.integers(0, 2**32))
@settings(max_examples=400, deadline=None)
def test_spans_are_of_what_python_parses_and_nothing_else(value: Any, seed: int) -> None:
    """The grammar is checked a second time, without recursion, and must be the same: one character changed anywhere."""
    chance = random.Random(seed)
    text = spaced(value, chance)
    place = chance.randrange(len(text) + 1)
    new = chance.choice(["", *'{}[],:"\\/ \n0123456789.+-eEtfnNI', "null", "NaN", "-Infinity", "\x00", "é", "\ufeff"])
    changed = text[:place] + new + text[place + chance.choice((0, 1)) :]

    def accepts(parse: Any) -> bool:
        try:
            parse(changed)
        except ValueError:
            return False
        return True

    assert accepts(member_spans) == accepts(json.loads), changed


@pytest.mark.parametrize("text", ["1", '"a"', "null", " true ", "-1.5e3"])
def test_scalars_have_no_members(text: str) -> None:
    assert member_spans(text) == []


def test_each_of_two_equal_keys_has_its_span() -> None:
    text = '{"a": 1, "a": [2]}'
    assert [(span.key, text[span.start : span.end]) for span in member_spans(text)] == [("a", "1"), ("a", "[2]")]


@pytest.mark.parametrize("text", ["", "  ", "{", "[", "[1", '{"a"', '{"a":', '{"a":1,'])
def test_broken_text_has_no_spans(text: str) -> None:
    with pytest.raises(ValueError):
        member_spans(text)


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1} and more',
        "[1, 2]]",
        "[1 2]",
        '{"a": 1 "b": 2}',
        '{"a"; 1}',
        '{"a" 11}',
        '{"a": 1]',
        "[1}",
        "[1,]",
        "[,1]",
        '{"a": 1,}',
        "1 2",
        "{1: 2}",
    ],
)
def test_spans_are_of_json_alone(text: str) -> None:
    """Passing over what is not expected would give bytes that are no JSON the identity of bytes that are."""
    with pytest.raises(ValueError):
        member_spans(text)
