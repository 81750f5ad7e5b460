"""Every anchor of real AG2 runs: exact prefixes, and nothing live before the anchor."""

import random
import secrets
from pathlib import Path
from typing import Any

from anchored.testing import running_endpoint

from .conftest import DEMO, Stand, make_stand


def assert_exact_at(stand: Stand, name: str, position: int, *arguments: str) -> None:
    """The prefix is exact, and all that reached endpoint and tools lies behind the anchor."""
    calls, tools = stand.calls(), stand.tool_runs()
    done, attempt = stand.replay(name, "--at", str(position), *arguments)
    assert done.status == 0, (position, done.err, attempt)
    assert attempt["verdict"] == "live", attempt
    assert attempt["prefix_exact"] is True
    assert attempt["receipt"] is not None
    events = [event for event in stand.show(attempt["name"])["events"] if event["position"] >= attempt["anchor"]]
    live_tools = [event for event in events if event["kind"] == "execute_tool"]
    assert stand.calls() - calls == len(events) - len(live_tools), f"live calls before the anchor at {position}"
    assert stand.tool_runs() - tools == len(live_tools), f"live tools before the anchor at {position}"


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


def test_sampled_anchors_of_another_seed(tmp_path: Path, figures: Any) -> None:
    """Another endpoint seed gives another run; 8 of its anchors."""
    entries = sample_anchors(tmp_path, seed=2)
    figures.add(
        "AG2 0.13.3, seed 2: sampled anchors",
        "test_sampled_anchors_of_another_seed",
        entries=entries,
        anchors=8,
        exact=8,
        live_before=0,
    )


def test_sampled_anchors_of_a_run_whose_tool_raises(tmp_path: Path, figures: Any) -> None:
    """R4-32: a tool that raised is a recorded outcome like any other; 8 anchors of such a run."""
    entries = sample_anchors(
        tmp_path, ('    note("calculate", ', '    raise RuntimeError("no battery")\n    note("calculate", ')
    )
    figures.add(
        "AG2 0.13.3, a tool that raises: sampled anchors",
        "test_sampled_anchors_of_a_run_whose_tool_raises",
        entries=entries,
        anchors=8,
        exact=8,
        live_before=0,
    )


def sample_anchors(folder: Path, *changes: tuple[str, str], seed: int = 0) -> int:
    """Tries 8 anchors of a run of the changed team; the entries of its log."""
    draw = secrets.randbelow(2**32)
    print(f"anchors drawn with seed {draw}")
    with running_endpoint(DEMO / "script.py", seed=seed, log=folder / "endpoint.jsonl") as endpoint:
        stand = make_stand(folder, endpoint)
        stand.program("changed.py", *changes)
        assert stand.record("other", "changed.py").status == 0
        recording = stand.show("other")
        assert 20 <= recording["entries"] <= 60
        failed = [event for event in recording["events"] if event["outcome"] == "failure"]
        assert bool(failed) == bool(changes), "the tool that raises is a failure, and nothing else is"
        anchors = [event["position"] for event in recording["events"] if event["quiescent"]]
        if changes:  # the broken tool never gets to its own log line
            anchors = [position for position in anchors if position > failed[-1]["position"]] + anchors[:6]
        for position in random.Random(draw).sample(anchors, 8):
            if not changes:
                assert_exact_at(stand, "other", position)
            else:
                assert_exact_with_broken_tool(stand, position)
        return int(recording["entries"])


def assert_exact_with_broken_tool(stand: Stand, position: int) -> None:
    calls = stand.calls()
    done, attempt = stand.replay("other", "--at", str(position))
    assert done.status == 0, (position, done.err, attempt)
    assert attempt["prefix_exact"] is True
    events = [event for event in stand.show(attempt["name"])["events"] if event["position"] >= attempt["anchor"]]
    assert stand.calls() - calls == sum(1 for event in events if event["kind"] == "chat")


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
