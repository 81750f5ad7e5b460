"""RFC 8785: the reference vectors, what has no canonical form, and limits that hold without recursion (H-06, H-07)."""

from __future__ import annotations

import json
import math
import random
import struct
from collections.abc import Callable
from typing import Any

import pytest
from builders import json_values, near_the_recursion_limit, nested, spaced
from hypothesis import given, settings
from hypothesis import strategies as st

from anchored.canonical import (
    LIMITS,
    Limits,
    NotCanonical,
    canonical,
    check_limits,
    jcs_digest,
    parse_exact,
    request_document,
)
from anchored.errors import LimitExceeded

# RFC 8785, appendix B: IEEE 754 bits and the text that ECMAScript writes for them.
NUMBERS = {
    "0000000000000000": "0",
    "8000000000000000": "0",
    "0000000000000001": "5e-324",
    "8000000000000001": "-5e-324",
    "7fefffffffffffff": "1.7976931348623157e+308",
    "ffefffffffffffff": "-1.7976931348623157e+308",
    "4340000000000000": "9007199254740992",
    "c340000000000000": "-9007199254740992",
    "4430000000000000": "295147905179352830000",
    "44b52d02c7e14af5": "9.999999999999997e+22",
    "44b52d02c7e14af6": "1e+23",
    "44b52d02c7e14af7": "1.0000000000000001e+23",
    "444b1ae4d6e2ef4e": "999999999999999700000",
    "444b1ae4d6e2ef4f": "999999999999999900000",
    "444b1ae4d6e2ef50": "1e+21",
    "3eb0c6f7a0b5ed8c": "9.999999999999997e-7",
    "3eb0c6f7a0b5ed8d": "0.000001",
    "41b3de4355555553": "333333333.3333332",
    "41b3de4355555554": "333333333.33333325",
    "41b3de4355555555": "333333333.3333333",
    "41b3de4355555556": "333333333.3333334",
    "41b3de4355555557": "333333333.33333343",
    "becbf647612f3696": "-0.0000033333333333333333",
    "43143ff3c1cb0959": "1424953923781206.2",
}


@pytest.mark.parametrize(("bits", "text"), NUMBERS.items())
def test_numbers_are_written_as_the_rfc_writes_them(bits: str, text: str) -> None:
    """H-06."""
    (number,) = struct.unpack(">d", bytes.fromhex(bits))
    assert canonical(number) == text.encode()


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1.0, "1"),
        (-0.0, "0"),
        (0, "0"),
        (1e21, "1e+21"),
        (1e20, "100000000000000000000"),
        (1e-6, "0.000001"),
        (1e-7, "1e-7"),
        (4.50, "4.5"),
        (2e-3, "0.002"),
        (2**53 - 1, "9007199254740991"),
        (-(2**53) + 1, "-9007199254740991"),
        (True, "true"),
        (None, "null"),
        ("", '""'),
        ([], "[]"),
        ({}, "{}"),
        ('€$\u000f\nA\'B"\\\\"/', '"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"'),
        ("\b\f\t\r\x00\x1f\x7f\u2028", '"\\b\\f\\t\\r\\u0000\\u001f\x7f\u2028"'),
        ("e\u0301é", '"e\u0301é"'),
    ],
)
def test_values_are_written_as_the_rfc_writes_them(value: object, expected: str) -> None:
    """H-06: -0 is encoded one way, as 0. Nothing is normalized: both forms of é stay what they are."""
    assert canonical(value) == expected.encode()


def test_keys_are_sorted_by_utf16_code_units() -> None:
    """H-06: by code points U+1F600 would stand behind U+FFE1; its first surrogate, D83D, stands before it."""
    assert canonical({"\uffe1": 1, "😀": 2}) == '{"😀":2,"\uffe1":1}'.encode()


def test_keys_of_the_rfc_example_are_sorted() -> None:
    """RFC 8785 § 3.2.3."""
    keys = ["\u20ac", "\r", "\ufb33", "1", "😀", "\u0080", "\u00f6"]
    order = ["\r", "1", "\u0080", "\u00f6", "\u20ac", "😀", "\ufb33"]
    assert list(json.loads(canonical(dict.fromkeys(keys, 0)))) == order


@pytest.mark.parametrize(
    "value",
    [
        math.nan,
        math.inf,
        -math.inf,
        2**53,
        -(2**53),
        10**400,
        "\ud800",
        "\udc80",
        "\ud83d\ude00",
        {"\udfff": 1},
        {1: 2},
        {None: 1},
        {("a",): 1},
        b"bytes",
        {1, 2},
        object(),
        1j,
    ],
)
@pytest.mark.parametrize("wrap", [lambda value: value, lambda value: [1, {"a": [value]}]], ids=["bare", "inside"])
def test_what_has_no_canonical_form_is_refused(value: object, wrap: Callable[[object], object]) -> None:
    """H-06."""
    with pytest.raises(NotCanonical):
        canonical(wrap(value))


def _nested_list(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth - 1):
        value = [value]
    return value


def _nested_dict(depth: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(depth - 1):
        value = {"a": value}
    return value


def _nested_tuple(depth: int) -> tuple[Any, ...]:
    value: tuple[Any, ...] = ()
    for _ in range(depth - 1):
        value = (value,)
    return value


@pytest.mark.parametrize("build", [_nested_list, _nested_dict])
def test_depth_is_limited_exactly(build: Callable[[int], object]) -> None:
    """H-07."""
    assert canonical(build(LIMITS.depth))
    with pytest.raises(NotCanonical):
        canonical(build(LIMITS.depth + 1))


@pytest.mark.parametrize("build", [_nested_list, _nested_dict, _nested_tuple])
def test_a_hundred_thousand_levels_are_no_recursion_error(build: Callable[[int], object]) -> None:
    """H-07."""
    with pytest.raises(NotCanonical):
        canonical(build(100_000))


def test_a_value_that_holds_itself_is_refused() -> None:
    """H-07."""
    value: list[Any] = []
    value.append(value)
    with pytest.raises(NotCanonical):
        canonical(value)


def test_counts_of_values_are_limited() -> None:
    """H-07: containers count too."""
    check_limits([1, 2, {"a": 3}], limits=Limits(nodes=5))
    with pytest.raises(LimitExceeded):
        check_limits([1, 2, {"a": 3}], limits=Limits(nodes=4))


def test_a_value_has_one_canonical_form_however_deep_its_caller_stands() -> None:
    """H-07: an identity that depends on the free stack would differ between a recording and its replay."""
    value = _nested_list(150)
    assert near_the_recursion_limit(lambda: canonical(value), free=60) == canonical(value)


@given(json_values(), st.integers(0, 2**32))
@settings(max_examples=200, deadline=None)
def test_order_and_space_do_not_matter(value: object, seed: int) -> None:
    """R0-01, R0-24: key order, white space and escapes have no part in the canonical form, and parsing inverts it."""
    text = spaced(value, random.Random(seed))
    data = canonical(parse_exact(text))
    assert data == canonical(value)
    assert canonical(parse_exact(data.decode())) == data


@given(st.floats(allow_nan=False, allow_infinity=False))
@settings(max_examples=500, deadline=None)
def test_numbers_follow_ecmascript(number: float) -> None:
    """ECMA-262 Number::toString, written here by its definition from the shortest digits that read back equal."""
    assert canonical(number).decode() == _ecmascript(number)


def _ecmascript(number: float) -> str:
    if number == 0:
        return "0"
    if number < 0:
        return "-" + _ecmascript(-number)
    mantissa, exponent = f"{number!r}e0".split("e")[:2] if "e" in repr(number) else (repr(number), "0")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    point = len(whole) + int(exponent) - (len(whole + fraction) - len(digits))
    digits = digits.rstrip("0")
    count = len(digits)
    if count <= point <= 21:
        return digits + "0" * (point - count)
    if 0 < point <= 21:
        return f"{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return "0." + "0" * -point + digits
    sign = "+" if point > 0 else "-"
    return f"{digits[0]}{'.' + digits[1:] if count > 1 else ''}e{sign}{abs(point - 1)}"


@given(st.dictionaries(st.text(max_size=4), st.integers(0, 9), max_size=8))
@settings(max_examples=200, deadline=None)
def test_keys_are_in_utf16_order(value: dict[str, int]) -> None:
    """H-06, H-16."""
    held = list(json.loads(canonical(value)))
    assert held == sorted(value, key=lambda key: key.encode("utf-16-be"))


@given(json_values(), json_values())
@settings(max_examples=200, deadline=None)
def test_digests_are_equal_exactly_if_canonical_forms_are(one: object, other: object) -> None:
    """R0-01."""
    assert (jcs_digest("test", one) == jcs_digest("test", other)) == (canonical(one) == canonical(other))


def test_a_request_document_is_the_canonical_form_of_the_whole() -> None:
    """The messages are spliced in; hashing the parts is hashing the document (docs/design/identity.md, Requests)."""
    before, after = b'{"body":null,"headers":{},"messages":', b',"method":"POST","path":"/","query":""}'
    document = request_document(before, after, "messages", ["ab", "cd"])
    assert document == canonical(json.loads(document))
    assert json.loads(document)["messages"] == {"field": "messages", "digests": ["ab", "cd"]}
    assert request_document(b"{}", b"never", None, ["ab"]) == b"{}"


def test_deep_text_is_no_recursion_error() -> None:
    """H-07."""
    with pytest.raises(NotCanonical):
        canonical(parse_exact(nested(100_000)))
