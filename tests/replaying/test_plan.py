"""The replay plan: one digest over everything that decides what an attempt does (H-02, R0-06)."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from typing import Any

import pytest
from builders import RUN, recorded, team
from hypothesis import given, settings
from hypothesis import strategies as st

from anchored.canonical import canonical, digest, jcs_digest, parse_own
from anchored.errors import AnchorError, DamagedError
from anchored.recording import Anchor, anchor_on
from anchored.replaying import (
    Call,
    EditRequest,
    Guide,
    ReplayPlan,
    SwapModel,
    Unchanged,
    plan_from,
    resolve_anchor,
)

ANCHOR = Anchor(event=digest("event-id", b"1"), position=4, entry=digest("entry", b"1"), prefix=digest("prefix", b"1"))
PLAN = ReplayPlan(
    source=digest("recording", b"1"),
    anchor=ANCHOR,
    intervention=Guide(text="x"),
    command=("python", "a.py"),
    effects_allowed=True,
    declarations=(("search*", "read"), ("*", "none")),
    unobserved=("example.com",),
    background=("example.com/beat",),
    origins=(("https://a", "https://b"),),
)

words = st.text(max_size=6)
digests = st.binary(min_size=1, max_size=4).map(lambda data: digest("test", data))
plans = st.builds(
    ReplayPlan,
    source=digests,
    anchor=st.none() | st.builds(Anchor, event=digests, position=st.integers(0, 2**40), entry=digests, prefix=digests),
    intervention=st.just(Unchanged())
    | st.builds(Guide, text=words)
    | st.builds(SwapModel, model=words)
    | st.builds(EditRequest, patch=words.map(lambda text: json.dumps([{"op": "add", "path": "/a", "value": text}])))
    | st.builds(Call, target=st.sampled_from(["a:b", "a.b:c"]), source=digests),
    command=st.none() | st.lists(words, max_size=3).map(tuple),
    effects_allowed=st.booleans(),
    declarations=st.lists(st.tuples(words, words), max_size=2).map(tuple),
    unobserved=st.lists(words, max_size=2).map(tuple),
    background=st.lists(words, max_size=2).map(tuple),
    origins=st.lists(st.tuples(words, words), max_size=2).map(tuple),
)


@given(plans)
@settings(max_examples=200, deadline=None)
def test_reading_inverts_writing(plan: ReplayPlan) -> None:
    """`plan_from` inverts `document`, through canonical bytes."""
    assert plan_from(parse_own(canonical(plan.document()), what="a plan")) == plan


@given(plans, plans)
@settings(max_examples=200, deadline=None)
def test_digests_are_equal_exactly_if_plans_are(one: ReplayPlan, other: ReplayPlan) -> None:
    """H-02: over all fields."""
    assert (one.digest == other.digest) == (one == other)


@pytest.mark.parametrize(
    "change",
    [
        {"source": digest("recording", b"2")},
        {"anchor": None},
        {"anchor": replace(ANCHOR, position=5)},
        {"anchor": replace(ANCHOR, event=digest("event-id", b"2"))},
        {"anchor": replace(ANCHOR, entry=digest("entry", b"2"))},
        {"anchor": replace(ANCHOR, prefix=digest("prefix", b"2"))},
        {"intervention": Unchanged()},
        {"intervention": Guide(text="y")},
        {"command": None},
        {"command": ("python", "b.py")},
        {"command": ("python a.py",)},
        {"effects_allowed": False},
        {"declarations": ()},
        {"declarations": (("*", "none"), ("search*", "read"))},
        {"unobserved": ()},
        {"background": ()},
        {"origins": ()},
        {"origins": (("https://b", "https://a"),)},
    ],
    ids=str,
)
def test_every_field_changes_the_digest_and_the_run(change: dict[str, Any]) -> None:
    """H-02, R0-13, and identity law 5: the replay's run id derives from source, plan and attempt."""
    other = replace(PLAN, **change)
    assert other.digest != PLAN.digest
    assert other.run_id(1) != PLAN.run_id(1)


def test_every_attempt_has_a_run_of_its_own() -> None:
    """R0-08: events of two attempts never share an id."""
    assert len({PLAN.run_id(attempt) for attempt in range(1, 50)}) == 49
    assert PLAN.run_id(2) == jcs_digest("run", {"source": PLAN.source, "plan": PLAN.digest, "attempt": 2})


def test_declarations_have_a_digest_where_there_are_any() -> None:
    assert replace(PLAN, declarations=()).declarations_digest is None
    assert PLAN.declarations_digest != replace(PLAN, declarations=PLAN.declarations[:1]).declarations_digest


def places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path for key, item in pairs for path in ((*at, key), *places(item, (*at, key)))]


@pytest.mark.parametrize("edit", ["dropped", "unknown", "object", "number"])
@pytest.mark.parametrize("path", places(PLAN.document()), ids=lambda path: "/".join(map(str, path)))
def test_a_plan_with_other_fields_is_refused_or_another(path: tuple[Any, ...], edit: str) -> None:
    """H-09: nothing is dropped in silence, so what is read says what was written."""
    document: Any = copy.deepcopy(PLAN.document())
    at = document
    for key in path[:-1]:
        at = at[key]
    if edit == "dropped":
        del at[path[-1]]
    elif edit == "unknown":
        at.update(unknown=1) if isinstance(at, dict) else at.append([])
    else:
        at[path[-1]] = {"a": 1} if edit == "object" else 7
    try:
        plan = plan_from(document)
    except DamagedError:
        return
    assert plan.document() == document
    assert plan.digest != PLAN.digest


@pytest.mark.parametrize("document", [{}, {"anchor": None}, json.loads(canonical(PLAN.document())) | {"more": 1}])
def test_what_describes_no_plan_is_refused(document: Any) -> None:
    """H-09."""
    with pytest.raises(DamagedError):
        plan_from(document)


@pytest.mark.parametrize(
    "change",
    [
        {"position": True},
        {"position": -1},
        {"position": "4"},
        {"position": None},
        {"position": [4]},
        {"event": "not a digest"},
        {"event": ANCHOR.event + "\n"},
        {"event": ANCHOR.event.upper()},
        {"entry": None},
        {"entry": [ANCHOR.entry]},
        {"prefix": ""},
        {"prefix": 7},
    ],
    ids=str,
)
def test_a_malformed_anchor_is_refused(change: dict[str, Any]) -> None:
    """R0-06, H-06, H-08: wrong types, negative positions, and what is no digest."""
    document: Any = PLAN.document()
    with pytest.raises(DamagedError):
        plan_from({**document, "anchor": {**document["anchor"], **change}})


@pytest.mark.parametrize(
    "change",
    [
        {"source": "x"},
        {"source": 7},
        {"effects": "maybe"},
        {"effects": True},
        {"command": "python"},
        {"command": [1]},
        {"unobserved": "host"},
        {"background": "host"},
        {"origins": [["a"]]},
        {"origins": ["ab"]},
        {"declarations": [["a", "b", "c"]]},
        {"declarations": [["a", 1]]},
        {"anchor": {}},
        {"anchor": []},
    ],
    ids=str,
)
def test_fields_of_another_kind_are_refused(change: dict[str, Any]) -> None:
    """H-09: sources that are no digest, words and commands that are no text."""
    with pytest.raises(DamagedError):
        plan_from({**PLAN.document(), **change})


# ---- From what the user points at to an anchor

TEAM = recorded(team())


@pytest.mark.parametrize("intervention", [Unchanged(), Guide(text="x")])
@pytest.mark.parametrize("position", [0, 6, 10, 18, 24, 34, 44])
def test_an_anchor_on_a_model_call_stays_there(position: int, intervention: Any) -> None:
    """R0-02."""
    assert resolve_anchor(TEAM.log, RUN, position, intervention) == anchor_on(TEAM.log, RUN, position)


def test_guidance_on_a_tool_call_goes_to_the_call_that_issued_it() -> None:
    """By a recorded edge alone; the control stays where it was pointed at."""
    assert resolve_anchor(TEAM.log, RUN, 2, Guide(text="x")).position == 0
    assert resolve_anchor(TEAM.log, RUN, 2, Unchanged()).position == 2
    assert resolve_anchor(TEAM.log, RUN, 5, Guide(text="x")).position == 0


@pytest.mark.parametrize("position", [12, 20, 26, 42])
def test_guidance_that_leads_to_no_model_call_is_refused_never_guessed(position: int) -> None:
    with pytest.raises(AnchorError) as caught:
        resolve_anchor(TEAM.log, RUN, position, Guide(text="x"))
    assert "recorded edge" in caught.value.expected
    assert resolve_anchor(TEAM.log, RUN, position, Unchanged()).position == position


@pytest.mark.parametrize(("position", "near"), [(1, "0, 2, 3"), (45, "42, 44")])
def test_an_anchor_on_an_end_is_refused(position: int, near: str) -> None:
    """R0-06: live execution starts with something that the program asks; the nearest anchors are named."""
    with pytest.raises(AnchorError) as caught:
        resolve_anchor(TEAM.log, RUN, position, Unchanged())
    assert near in caught.value.next_step


@pytest.mark.parametrize("position", [-1, 46, 10**12])
@pytest.mark.parametrize("intervention", [Unchanged(), Guide(text="x")])
def test_an_anchor_outside_the_log_is_refused(position: int, intervention: Any) -> None:
    """R0-06."""
    with pytest.raises(AnchorError):
        resolve_anchor(TEAM.log, RUN, position, intervention)
