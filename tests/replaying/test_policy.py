"""What may be replayed at all, and why not; the first place where two values differ."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from builders import Both, Memory, Program, chat, http, json_values, recorded, sealed, team, tool, user
from hypothesis import given, settings
from hypothesis import strategies as st

from anchored.canonical import canonical
from anchored.errors import AnchorError, EffectRefused, RefusedError
from anchored.events import Declared, Outcome, ToolValue, encode_value
from anchored.recording import Note, Recording
from anchored.replaying import ABSENT, check_replayable, containers, covered_positions, first_difference

TEAM = recorded(team())


def check(recording: Recording, size: int | None = None, *, effects_allowed: bool = False) -> None:
    check_replayable(
        recording,
        size=len(recording.log) if size is None else size,
        anchored=size is not None,
        effects_allowed=effects_allowed,
    )


def observed(recording: Recording, position: int, **more: Any) -> Recording:
    records = list(recording.records)
    records[position] = replace(records[position], observation={**records[position].observation, **more})
    return replace(recording, records=records)


def test_a_whole_run_can_be_replayed_and_every_quiescent_prefix() -> None:
    check(TEAM)
    for position in TEAM.log.quiescent_positions():
        check(TEAM, position)


COVERED = covered_positions(TEAM.log, containers(TEAM.log))
ANCHORS = [event.position for event in TEAM.log.events if event.position not in COVERED]


@pytest.mark.parametrize("position", ANCHORS)
def test_an_anchor_can_stand_on_whatever_is_asked(position: int) -> None:
    """Issue 4: inside a container and beside calls in flight too; those are carried."""
    check(TEAM, position, effects_allowed=True)


@pytest.mark.parametrize("position", [position for position in range(-1, 48) if position not in ANCHORS])
def test_no_other_anchor_can_serve(position: int) -> None:
    """R0-06: ends, what a served tool covers, outside of the log."""
    with pytest.raises(AnchorError):
        check(TEAM, position, effects_allowed=True)


def test_what_is_in_flight_at_an_anchor_needs_an_outcome() -> None:
    """Design, In flight: it is served its recorded outcome, so there must be one."""
    source = recorded(overlapping())
    check(source, 1)
    cut = replace(source, closing=None, records=source.records[:2])
    with pytest.raises(AnchorError) as caught:
        check(cut, 1)
    assert caught.value.next_step.endswith("at or before 0.")


def overlapping() -> Program:
    yield Both(first=http("GET", "/a"), second=http("GET", "/b"))


def test_what_is_pending_cannot_be_replayed_to_its_end() -> None:
    cut = replace(TEAM, closing=None, records=TEAM.records[:-1])
    with pytest.raises(RefusedError) as caught:
        check(cut)
    assert "44" in caught.value.found
    assert "--at 44" in caught.value.next_step
    check(cut, 44)


def test_a_log_that_is_known_to_be_incomplete_cannot_be_replayed_to_its_end() -> None:
    """Law 6: the recording says `incomplete from k`."""
    cut = replace(TEAM, notes=[*TEAM.notes, Note(kind="incomplete", document={"position": 46, "reason": "full"})])
    with pytest.raises(RefusedError) as caught:
        check(cut)
    assert "incomplete from 46: full" in caught.value.found
    check(cut, 20)


@pytest.mark.parametrize("position", [24, 25])
def test_what_cannot_be_rebuilt_is_refused_behind_it(position: int) -> None:
    """Law 6: anchors behind an unreplayable event are refused, with the reason."""
    odd = observed(TEAM, position, unreplayable="the value at / is a object")
    check(odd, 24)
    for size in (None, 26, 44):
        with pytest.raises(RefusedError) as caught:
            check(odd, size)
        assert "the value at /" in caught.value.found
        assert "24" in caught.value.next_step


def twins(same: bool) -> Program:
    yield chat("a", [user("before")])
    yield Both(first=http("GET", "/x"), second=http("GET", "/x" if same else "/y"))
    yield chat("a", [user("after")])


def test_equal_requests_side_by_side_are_ambiguous() -> None:
    """Design, Order: without lane evidence they could be given each other's results."""
    source = recorded(twins(True))
    check(source, 2)
    for size in (None, 6):
        with pytest.raises(RefusedError) as caught:
            check(source, size)
        assert "2 and 3 are identical" in caught.value.problem
    check(recorded(twins(False)))


def nest(effect: str | None, *, model: bool = True) -> Program:
    def inside() -> Program:
        yield chat("b", [user("x")]) if model else http("GET", "/x")
        return ToolValue(value=encode_value(1)), Outcome.SUCCESS

    yield tool("a", "outer", {}, effect=effect, inside=inside, container=model)
    yield chat("a", [user("after")])


@pytest.mark.parametrize("effect", ["write", None, "unheard of"])
def test_a_container_that_may_write_needs_permission(effect: str | None) -> None:
    """Design, Nesting: its own code runs in the prefix."""
    source = recorded(nest(effect))
    with pytest.raises(EffectRefused) as caught:
        check(source)
    assert (effect or "undeclared") in caught.value.found
    check(source, effects_allowed=True)
    check(source, 0)


@pytest.mark.parametrize("effect", ["none", "read"])
def test_a_container_that_may_not_write_runs(effect: str) -> None:
    check(recorded(nest(effect)))


@pytest.mark.parametrize("effect", ["write", None])
def test_a_leaf_tool_is_served_whatever_it_may_do(effect: str | None) -> None:
    """Its code does not run; HTTP inside it makes it no container."""
    source = recorded(nest(effect, model=False))
    check(source)
    assert containers(source.log) == frozenset()
    assert covered_positions(source.log, frozenset()) == {1: 0, 2: 0}


def deep() -> Program:
    """A tool in a tool in a tool, a model call innermost, and HTTP at every level."""

    def level(depth: int) -> Any:
        def inside() -> Program:
            yield http("GET", f"/{depth}")
            if depth == 3:
                yield chat("b", [user("x")])
            else:
                yield tool("a", f"t{depth}", {}, effect="none", inside=level(depth + 1), container=True)
            return ToolValue(value=encode_value(depth)), Outcome.SUCCESS

        return inside

    yield tool("a", "t0", {}, effect="none", inside=level(1), container=True)


def test_all_that_enclose_a_model_call_are_containers() -> None:
    """At any depth; HTTP inside a container is served, not covered."""
    log = recorded(deep()).log
    assert [event.begin.name for event in log.events if event.position in containers(log)] == ["t0", "t1", "t2"]
    assert covered_positions(log, containers(log)) == {}


def test_declarations_made_when_recorded_decide() -> None:
    """What was declared is part of the entry, and is carried over at replay."""
    source = recorded(nest("none"))
    begin = source.log.events[0].begin
    assert begin.declared == Declared(effect="none")
    memory = Memory()
    assert sealed(memory, source.opening, None).log.events == ()


# ---- The first difference


@given(json_values(), json_values())
@settings(max_examples=150, deadline=None)
def test_there_is_a_difference_exactly_if_canonical_forms_differ(one: Any, other: Any) -> None:
    """Numbers as RFC 8785 sees them, true and 1 apart."""
    assert (first_difference(one, other) is None) == (canonical(one) == canonical(other))
    assert first_difference(one, one) is None


def resolved(value: Any, pointer: str) -> Any:
    """What a JSON Pointer leads to (RFC 6901)."""
    for part in pointer.split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict):
            value = value.get(key, ABSENT)
        elif isinstance(value, list):
            value = value[int(key)] if int(key) < len(value) else ABSENT
        else:
            return ABSENT
    return value


@given(json_values(), st.data())
@settings(max_examples=150, deadline=None)
def test_the_place_leads_to_both_values(one: Any, data: st.DataObject) -> None:
    """A JSON Pointer, with ~ and / escaped."""
    other = data.draw(json_values() | st.just({"a/b": [one], "~": one}) | st.just([one, one]))
    wrapped = data.draw(st.sampled_from([(one, other), ([1, one], [1, other]), ({"x/y~z": one}, {"x/y~z": other})]))
    difference = first_difference(*wrapped)
    if difference is not None:
        assert resolved(wrapped[0], difference.path) == difference.recorded
        assert resolved(wrapped[1], difference.path) == difference.actual
        assert (
            difference.recorded is ABSENT
            or difference.actual is ABSENT
            or difference.recorded != difference.actual
            or (isinstance(difference.recorded, bool) != isinstance(difference.actual, bool))
        )


@pytest.mark.parametrize(
    ("one", "other", "path"),
    [
        ({"a": 1, "b": 2}, {"b": 3, "a": 2}, "/a"),
        ({"b": 1, "a": 1}, {"a": 2, "b": 2}, "/b"),
        ({"a": 1}, {"c": 1, "a": 1}, "/c"),
        ([1, 2, 3], [1, 3], "/1"),
        ([1], [1, 2], "/1"),
        ({"a": {}}, {"a": []}, "/a"),
        ({"a": None}, {}, "/a"),
        ({"": 1}, {"": 2}, "/"),
        (1, True, ""),
        (0, False, ""),
        ("1", 1, ""),
        ({"a": [{"b": "é"}]}, {"a": [{"b": "e\u0301"}]}, "/a/0/b"),
    ],
)
def test_the_first_difference_in_document_order(one: Any, other: Any, path: str) -> None:
    difference = first_difference(one, other)
    assert difference is not None
    assert difference.path == path


def test_equal_numbers_are_no_difference() -> None:
    assert first_difference({"a": [1, -0.0, 1e2]}, {"a": [1.0, 0, 100]}) is None


def test_deep_values_are_compared_without_recursion() -> None:
    """H-07."""
    one: Any = 1
    other: Any = 2
    for _ in range(20_000):
        one, other = [one], [other]
    difference = first_difference(one, other)
    assert difference is not None
    assert difference.path == "/0" * 20_000
