"""Outcomes: an unknown word never becomes success (R1-22)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anchored.events import Outcome, parse_outcome


@pytest.mark.parametrize("outcome", list(Outcome))
def test_every_outcome_is_read_as_itself(outcome: Outcome) -> None:
    """R1-22."""
    assert parse_outcome(outcome.value) is outcome
    assert parse_outcome(outcome) is outcome


WORDS = ["", " ", "Success", "SUCCESS", "success\n", " success", "succeeded", "ok", "true", "1", "None", "unknown "]
OTHERS = [
    True,
    False,
    None,
    0,
    1,
    200,
    1.0,
    b"success",
    ["success"],
    ("success",),
    {"success": True},
    pytest.param(object(), id="object"),
    Outcome,
]


@pytest.mark.parametrize("value", [*WORDS, *OTHERS], ids=repr)
def test_everything_else_is_unknown(value: object) -> None:
    """R1-22: booleans, None and "" too."""
    assert parse_outcome(value) is Outcome.UNKNOWN


@given(st.text() | st.booleans() | st.none() | st.integers() | st.floats() | st.binary())
def test_nothing_but_the_word_is_success(value: object) -> None:
    """R1-22."""
    assert (parse_outcome(value) is Outcome.SUCCESS) == (value == "success")
