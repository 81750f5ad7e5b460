"""A tool's value and its bytes: rebuilt equal in type and value, or not encoded at all."""

from __future__ import annotations

import enum
import math
from collections import OrderedDict, namedtuple
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anchored.canonical import canonical
from anchored.events import Unreplayable, decode_value, encode_value


def same(one: Any, other: Any) -> bool:
    """Equal in exact type and value, at every depth: 1, 1.0 and True differ, 0.0 and -0.0 too, NaN is NaN."""
    if type(one) is not type(other):
        return False
    if isinstance(one, float):
        return (
            math.isnan(other) if math.isnan(one) else (one, math.copysign(1, one)) == (other, math.copysign(1, other))
        )
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict):
        return len(one) == len(other) and all(
            same(*keys) and same(*items)
            for keys, items in zip(
                zip(one, other, strict=True), zip(one.values(), other.values(), strict=True), strict=True
            )
        )
    if isinstance(one, (set, frozenset)):
        return len(one) == len(other) and all(any(same(item, held) for held in other) for item in one)
    return bool(one == other)


hashable = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(max_size=5)
    | st.binary(max_size=5),
    lambda inner: st.tuples(inner) | st.tuples(inner, inner) | st.frozensets(inner, max_size=3),
    max_leaves=4,
)
values = st.recursive(
    hashable | st.floats(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples(inner, inner)
        | st.dictionaries(hashable, inner, max_size=4)
        | st.sets(hashable, max_size=4)
    ),
    max_leaves=16,
)


@given(values)
@settings(max_examples=300, deadline=None)
def test_decoding_inverts_encoding(value: object) -> None:
    """Equal in type and value, and in the order of dicts."""
    data = encode_value(value)
    assert same(decode_value(data), value)
    assert encode_value(decode_value(data)) == data


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        1,
        1.0,
        0.0,
        -0.0,
        math.nan,
        math.inf,
        -math.inf,
        5e-324,
        10**300,
        -(2**63),
        "",
        "\ud800",
        "a\udfffb",
        "\x00",
        b"",
        b"\x00\xff",
        [],
        (),
        {},
        set(),
        frozenset(),
        (1, [2, (3, {4: (5,)})]),
        {1: "int", 2.0: "float", "1": "text", b"1": "bytes", None: "none", (1,): "tuple", frozenset({1}): "set"},
        {"dict": []},
        {"float": "nan"},
        {"bytes": "AA=="},
        [{"list": [1]}, {"tuple": [1]}],
        {"b": 1, "a": 2},
    ],
    ids=repr,
)
def test_these_come_back_exactly(value: object) -> None:
    """Values that look like our own tags are no tags."""
    assert same(decode_value(encode_value(value)), value)


def test_other_values_have_other_bytes() -> None:
    """Law: equal result digests ⇔ equal handed values."""
    held = [None, False, 0, 0.0, -0.0, "", b"", [], (), {}, set(), frozenset(), "0", [0], (0,), {0}, {0: 0}, [[]], [()]]
    assert len({encode_value(value) for value in held}) == len(held)


def test_the_order_of_a_set_does_not_matter_and_of_a_dict_does() -> None:
    assert encode_value({"b", "a", "c"}) == encode_value({"c", "b", "a"})
    assert encode_value({"a": 1, "b": 2}) != encode_value({"b": 2, "a": 1})


class _Text(str):
    __slots__ = ()


class _Number(int):
    pass


class _List(list):  # type: ignore[type-arg]
    pass


class _Word(enum.StrEnum):
    A = "a"


class _Count(enum.IntEnum):
    ONE = 1


@dataclass
class _Point:
    x: int = 1


_Pair = namedtuple("_Pair", "a b")

REFUSED: list[object] = [
    object(),
    object,
    _Text("a"),
    _Number(1),
    _List([1]),
    _Word.A,
    _Count.ONE,
    _Point(),
    _Pair(1, 2),
    OrderedDict(a=1),
    Decimal("1"),
    1j,
    bytearray(b"a"),
    memoryview(b"a"),
    range(3),
    iter([1]),
    ValueError("x"),
    len,
    ...,
]


@pytest.mark.parametrize("value", REFUSED, ids=lambda value: type(value).__name__)
def test_what_cannot_be_rebuilt_is_refused_with_its_place(value: object) -> None:
    """A subclass would come back as its base, so it is not encoded at all."""
    for held, path in ((value, ""), ([0, value], "/1"), ({"a": (0, {"b": value})}, "/a/1/b")):
        with pytest.raises(Unreplayable) as caught:
            encode_value(held)
        assert caught.value.path == path
        assert type(value).__qualname__ in str(caught.value)
        assert (path or "/") in str(caught.value)


def test_a_key_that_cannot_be_rebuilt_is_refused() -> None:
    for value in ({_Text("k"): 1}, {(1, _Count.ONE): 1}, {_Word.A}, frozenset({(_Text("a"),)})):
        with pytest.raises(Unreplayable):
            encode_value(value)


def test_endless_nesting_is_refused() -> None:
    """H-07: no RecursionError reaches the program."""
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    held: list[Any] = []
    held.append(held)
    for value in (deep, held):
        with pytest.raises(Unreplayable):
            encode_value(value)


def test_two_halves_of_a_character_stay_two() -> None:
    """A lone high and a lone low surrogate side by side are not the character that JSON reads in them."""
    value = "\ud83d\ude00"
    try:
        data = encode_value(value)
    except Unreplayable:
        return
    assert same(decode_value(data), value)


def test_a_number_of_any_size_is_encoded_or_refused() -> None:
    """Law 6: beyond 4,300 digits (a setting of the process) Python writes no integer in decimal."""
    for value in (10**5000, [10**5000], {10**5000: 1}, {10**5000}):
        try:
            data = encode_value(value)
        except Unreplayable:
            continue
        assert same(decode_value(data), value)


class _Unspeakable:
    def __repr__(self) -> str:
        raise RuntimeError("no words")


def test_the_place_of_what_is_refused_can_always_be_told() -> None:
    """Law 6: naming a key or member by its own `__str__` would hand the program what that raises."""
    for value in ({_Unspeakable(): 1}, {_Unspeakable()}, {(_Unspeakable(),): 1}):
        with pytest.raises(Unreplayable):
            encode_value(value)


def test_what_is_said_of_a_refused_value_can_be_stored() -> None:
    """Law 6: it is kept as an observation, also where a key is no valid text."""
    with pytest.raises(Unreplayable) as caught:
        encode_value({"\ud800": object()})
    assert canonical({"unreplayable": str(caught.value)})
