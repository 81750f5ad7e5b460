"""Every anchor of real AG2 runs: exact prefixes, and nothing live before the anchor."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from anchored.testing import running_endpoint

from .conftest import DEMO, Stand, make_stand


def assert_exact_at(stand: Stand, name: str, position: int, *arguments: str, counted: bool = True) -> None:
    """The prefix is exact, and all that reached endpoint and tools lies behind the anchor.

    Without `counted`, some tool breaks before its own line in the log: then none more than the live ones is there.
    """
    calls, tools = stand.calls(), stand.tool_runs()
    done, attempt = stand.replay(name, "--at", str(position), *arguments)
    assert done.status == 0, (position, done.err, attempt)
    assert attempt["verdict"] == "live", attempt
    assert attempt["prefix_exact"] is True
    assert attempt["receipt"] is not None
    events = [event for event in stand.show(attempt["name"])["events"] if event["position"] >= attempt["anchor"]]
    live_tools = [event for event in events if event["kind"] == "execute_tool"]
    assert stand.calls() - calls == len(events) - len(live_tools), f"live calls before the anchor at {position}"
    ran = stand.tool_runs() - tools
    assert ran == len(live_tools) if counted else ran <= len(live_tools), f"live tools before the anchor at {position}"


def test_every_quiescent_anchor_is_exact(stand: Stand, figures: Any) -> None:
    """R4-08, R4-11, R4-17, R0-03: of one recorded run each quiescent anchor is replayed."""
    recording = stand.show("first")
    anchors = [event["position"] for event in recording["events"] if event["quiescent"]]
    assert 20 <= recording["entries"] <= 60
    assert len(anchors) == len(recording["events"])
    for position in anchors:
        assert_exact_at(stand, "first", position)
    assert stand.anchored("verify", "first", "--expect", recording["digest"]).status == 0, "the source changed"
    figures.add(
        "AG2 0.13.3, seed 0: every quiescent anchor",
        "test_every_quiescent_anchor_is_exact",
        entries=recording["entries"],
        anchors=len(anchors),
        exact=len(anchors),
        live_before=0,
    )


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A run of the team that is not like the others.

    Attributes:
        seed: the endpoint's.
        changes: to the team's program, besides that it answers two questions.
        arguments: of the program.
        shows: what must be true of the recording, so that it is the run that is meant.
    """

    seed: int
    shows: Callable[[Stand], bool]
    changes: tuple[tuple[str, str], ...] = ()
    arguments: tuple[str, ...] = ()


ASK = "    print(ask(arguments.question, rounds=arguments.rounds))"
OTHER = 'question.replace("Corvane Tunnel", "Ostrel Bridge")'
TWO_QUESTIONS = (
    ASK,
    f"    for question in (arguments.question, arguments.{OTHER}):\n    " + ASK.replace("arguments.q", "q"),
)
TWICE = (ASK, "    for _ in range(2):\n    " + ASK)
RAISES = ('    note("calculate", ', '    raise RuntimeError("no battery")\n    note("calculate", ')


def failures(stand: Stand) -> int:
    return sum(1 for event in stand.show("other")["events"] if event["outcome"] == "failure")


def same_request_other_answer(stand: Stand) -> bool:
    """Whether some request was made twice and answered in two ways."""
    answers: dict[str, set[str]] = {}
    for event in stand.show("other")["events"]:
        shown = stand.anchored("show", "other", "--event", str(event["position"]), "--json").json
        answers.setdefault(shown["begin"]["request"], set()).add(shown["end"]["result"])
    return any(len(results) > 1 for results in answers.values())


KINDS = {
    "two questions": Kind(seed=1, changes=(TWO_QUESTIONS,), shows=lambda stand: failures(stand) == 0),
    "another seed": Kind(seed=2, changes=(TWO_QUESTIONS,), shows=lambda stand: failures(stand) == 0),
    "a tool that raises": Kind(seed=0, changes=(TWO_QUESTIONS, RAISES), shows=lambda stand: failures(stand) > 0),
    "a round limit": Kind(
        seed=0,
        changes=(TWO_QUESTIONS,),
        arguments=("--rounds", "8"),
        shows=lambda stand: "Maximum rounds" in stand.show("other")["stop"]["detail"],
    ),
    "one request, several answers": Kind(seed=0, changes=(TWICE,), shows=same_request_other_answer),
}


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.timeout(900)
def test_anchors_of_other_runs(tmp_path: Path, name: str, seed: int, thorough: bool, figures: Any) -> None:
    """R4-08, R4-32, pains 5: every anchor of five more runs in `make figures`; three of each, drawn, elsewhere."""
    kind = KINDS[name]
    with running_endpoint(DEMO / "script.py", seed=kind.seed, log=tmp_path / "endpoint.jsonl") as endpoint:
        stand = make_stand(tmp_path, endpoint)
        stand.program("other.py", *kind.changes)
        assert stand.record("other", "other.py", *kind.arguments).status == 0
        recording = stand.show("other")
        assert 20 <= len(recording["events"]) <= 60
        assert kind.shows(stand)
        anchors = [event["position"] for event in recording["events"] if event["quiescent"]]
        assert len(anchors) == len(recording["events"])
        tried = anchors if thorough else random.Random(seed).sample(anchors, 3)
        print(f"seed {seed}: {tried}")
        for position in tried:
            assert_exact_at(stand, "other", position, counted=RAISES not in kind.changes)
        assert stand.anchored("verify", "other", "--expect", recording["digest"]).status == 0, "the source changed"
    figures.add(
        f"AG2 0.13.3, {name}: every quiescent anchor",
        "test_anchors_of_other_runs",
        events=len(anchors),
        anchors=len(tried),
        exact=len(tried),
        live_before=0,
    )


def test_guidance_changes_the_suffix_alone(stand: Stand) -> None:
    """R4-11: the message is in the anchor's request, once, at its end; the program's own later requests lack it."""
    text = "Use the current figure, not the superseded one; check the year."
    calls = stand.calls()
    done, attempt = stand.replay("first", "--at", "18", "--guide", text)
    assert done.status == 0, done.err
    recorded = stand.anchored("show", "first", "--event", "18", "--json").json["request"]
    event = stand.anchored("show", attempt["name"], "--event", "18", "--json").json
    assert event["request"] == recorded, "the program asked what it asked before"
    assert event["sent"]["body"]["messages"] == [*recorded["body"]["messages"], {"role": "user", "content": text}]
    assert stand.endpoint.calls()[calls].digest != stand.endpoint.calls()[9].digest
    later = stand.anchored("show", attempt["name"], "--event", "24", "--json").json
    assert later["sent"] is None
    assert {"role": "user", "content": text} not in later["request"]["body"]["messages"]
    again, second = stand.replay(attempt["name"])
    assert again.status == 0, "a guided replay can be replayed itself"
    assert second["verdict"] == "exact"


def test_guidance_on_a_tool_goes_to_the_call_that_issued_it(stand: Stand) -> None:
    """An anchor on a tool call resolves over the recorded call id, never by guessing."""
    _, attempt = stand.replay("first", "--at", "20", "--guide", "check the year")
    assert attempt["anchor"] == 18
    done = stand.anchored("replay", "first", "--at", "20", "--guide", "check the year")
    assert "guidance goes to the model call that issued it, at 18" in done.err


def test_full_replay_makes_no_call_with_the_endpoint_down(tmp_path: Path, figures: Any) -> None:
    """R0-03: a full replay of an unchanged program is exact and nothing goes live."""
    log = tmp_path / "endpoint.jsonl"
    with running_endpoint(DEMO / "script.py", seed=0, log=log) as endpoint:
        stand = make_stand(tmp_path, endpoint)
        assert stand.record("run").status == 0
    lines, tools = len(log.read_text().splitlines()), stand.tool_runs()
    done, attempt = stand.replay("run")
    assert done.status == 0, done.err
    assert attempt["verdict"] == "exact"
    assert len(log.read_text().splitlines()) == lines
    assert stand.tool_runs() == tools
    recording, again = stand.show("run"), stand.show(attempt["name"])
    assert again["digest"] == recording["digest"]
    figures.add(
        "AG2 0.13.3: full replay with the endpoint shut down",
        "test_full_replay_makes_no_call_with_the_endpoint_down",
        entries=recording["entries"],
        verdict=attempt["verdict"],
        calls=0,
        tool_runs=0,
    )
