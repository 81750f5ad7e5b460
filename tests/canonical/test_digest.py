"""Digests and their domains (H-01, H-08)."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anchored.canonical import EMPTY_TREE_HEAD, as_digest, digest, jcs_digest
from anchored.errors import DamagedError

KINDS = (
    "request",
    "message",
    "raw",
    "body",
    "result",
    "entry",
    "prefix",
    "suffix",
    "anchor",
    "recording",
    "receipt",
    "plan",
    "run",
    "event-id",
    "intervention",
    "call-source",
    "configuration",
    "task",
    "state",
    "stop",
    "final",
    "row",
    "note",
)
GOOD = "0123456789abcdef" * 4


@given(st.sampled_from(KINDS), st.binary(max_size=64))
@settings(max_examples=100, deadline=None)
def test_a_digest_is_what_the_page_says(kind: str, data: bytes) -> None:
    """docs/design/identity.md, Digests, written out."""
    assert digest(kind, data) == hashlib.sha256(b"anchored/" + kind.encode() + b"/v1" + b"\x00" + data).hexdigest()


@pytest.mark.parametrize("data", [b"", b"{}", b"\0"])
def test_equal_bytes_have_another_digest_in_every_domain(data: bytes) -> None:
    """H-01: an empty prefix and an empty suffix never share a digest."""
    assert len({digest(kind, data) for kind in KINDS}) == len(KINDS)


def test_no_kind_runs_into_the_bytes() -> None:
    """H-01: kind and bytes are kept apart."""
    assert digest("a", b"b\0c") != digest("a/v1\0b", b"c")
    assert jcs_digest("prefix", {"size": 0, "head": EMPTY_TREE_HEAD}) != jcs_digest("suffix", {})


def test_the_empty_tree_has_the_head_of_the_rfc() -> None:
    assert hashlib.sha256(b"").hexdigest() == EMPTY_TREE_HEAD


@pytest.mark.parametrize(
    "value",
    [
        GOOD + "\n",
        "\n" + GOOD,
        GOOD.upper(),
        GOOD[:-1] + "F",
        GOOD[:-1],
        GOOD + "0",
        GOOD[:-1] + "g",
        GOOD[:-1] + "٣",
        " " + GOOD[1:],
        "0x" + GOOD[2:],
        "",
        [GOOD],
        (GOOD,),
        {"digest": GOOD},
        GOOD.encode(),
        None,
        0,
        True,
    ],
)
def test_only_a_whole_digest_is_one(value: object) -> None:
    """H-08: matched whole, and its type first."""
    with pytest.raises(DamagedError):
        as_digest(value)


def test_a_digest_is_let_through() -> None:
    """H-08."""
    assert as_digest(GOOD) == GOOD
    assert as_digest(digest("request", b"")) == digest("request", b"")
