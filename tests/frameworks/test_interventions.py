"""Results put in, trials against a control, checks, and what changed since the recording, on the real team."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from anchored.testing import running_endpoint

from .conftest import COMMAND, DEMO, Stand, make_stand

VERIFIER = Path(__file__).parents[2] / "tools" / "verify_receipt.py"
DECIDING, TOOL = 18, 20


@pytest.fixture(scope="module")
def checked(tmp_path_factory: pytest.TempPathFactory):
    """The team with its check, recorded as `team`: a failing run."""
    folder = tmp_path_factory.mktemp("checked")
    with running_endpoint(DEMO / "script.py", seed=0, log=folder / "endpoint.jsonl") as endpoint:
        stand = make_stand(folder, endpoint)
        (folder / "check.py").write_bytes((DEMO / "check.py").read_bytes())
        command = ("--check", f"{sys.executable} check.py", "--", sys.executable, "team.py")
        done = stand.anchored("record", "--name", "team", *command)
        assert done.status == 0, done.err
        assert "check:        failing" in done.err
        yield stand


def put(stand: Stand, name: str, text: str) -> str:
    (stand.folder / name).write_text(text)
    return name


def test_a_tools_result_is_put_in_and_the_tool_does_not_run(checked: Stand) -> None:
    """Issue, ReplaceResult; demo: a corrected result repairs for certain."""
    calls, tools = checked.calls(), checked.tool_runs()
    done, attempt = checked.replay("team", "--at", str(TOOL), "--set-result", put(checked, "r.txt", "300\n"))
    assert done.status == 0, done.err
    assert (attempt["verdict"], attempt["check"]["outcome"]) == ("live", "passing")
    events = checked.show(attempt["name"])["events"]
    later = [event for event in events if event["position"] > TOOL]
    assert [event["replaced"] for event in events] == [event["position"] == TOOL for event in events]
    assert checked.calls() - calls == len(later)
    assert checked.tool_runs() == tools, "the tool that was replaced ran"
    shown = checked.anchored("show", attempt["name"], "--event", str(TOOL), "--json").json
    recorded = checked.anchored("show", "team", "--event", str(TOOL), "--json").json
    assert shown["request"] == recorded["request"]
    assert shown["result"]["value"][1] == {**recorded["result"]["value"][1], "content": "300"}
    predicate = json.loads(Path(attempt["receipt"]).read_text())["predicate"]
    assert predicate["counts"] | {"served": 0} == {
        "served": 0,
        "live": len(later),
        "replaced": 1,
        "carried": 0,
        "covered": 0,
        "containers": 0,
        "substituted": 0,
    }
    verified = subprocess.run(
        [sys.executable, VERIFIER, attempt["receipt"]], capture_output=True, text=True, check=False
    )
    assert verified.returncode == 0, verified.stdout + verified.stderr
    again, second = checked.replay(attempt["name"])
    assert again.status == 0, (again.err, second)


def test_a_models_result_is_put_in_and_the_model_is_not_called(checked: Stand) -> None:
    """The endpoint sees only what comes after the anchor, and the team goes on from the words that were put in."""
    calls = checked.calls()
    said = "Report: 300 lamps per kilometre in the Corvane Tunnel."
    done, attempt = checked.replay("team", "--at", str(DECIDING), "--set-result", put(checked, "said.txt", said))
    assert done.status == 0, done.err
    assert "300 lamps" in attempt["answer"]
    events = [event for event in checked.show(attempt["name"])["events"] if event["position"] > DECIDING]
    assert checked.calls() - calls == len(events)
    assert all(event["name"] != "calculate" for event in events), "the tool call of the recorded response was made"


def test_a_whole_response_is_put_in_byte_for_byte(checked: Stand) -> None:
    recorded = checked.anchored("show", "team", "--event", str(DECIDING), "--json").json["result"]["body"]["json"]
    call = recorded["choices"][0]["message"]["tool_calls"][0]["function"]
    call["arguments"] = call["arguments"].replace("1240", "1860")
    name = put(checked, "whole.json", json.dumps(recorded, indent=3))
    done, attempt = checked.replay("team", "--at", str(DECIDING), "--set-result", name)
    assert done.status == 0, done.err
    assert attempt["check"]["outcome"] == "passing"
    shown = checked.anchored("show", attempt["name"], "--event", str(DECIDING), "--json").json
    assert shown["result"]["body"]["json"] == recorded


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--set-result", "r.txt"), "without --at"),
        (("--at", "20", "--set-result", "gone.txt"), "cannot be read"),
        (("--at", "20", "--set-result", "bad.json"), "JSON in UTF-8"),
        (("--at", "20", "--guide", "x", "--set-result", "r.txt"), "--guide and --set-result"),
        (("--at", "21", "--set-result", "r.txt"), "no event whose result"),
    ],
)
def test_results_that_cannot_be_put_in_are_refused_before_anything_runs(
    checked: Stand, arguments: tuple[str, ...], says: str
) -> None:
    put(checked, "r.txt", "300")
    put(checked, "bad.json", "{")
    runs = len(checked.anchored("list", "--json").json)
    done = checked.anchored("replay", "team", *arguments)
    assert done.status == 2, done.err
    assert says in done.err
    assert len(checked.anchored("list", "--json").json) == runs


def test_trials_end_in_a_table_of_control_against_guided(checked: Stand) -> None:
    """Issue, Comparing: attempts, outcomes, first difference, tokens, time; both arms from one anchor."""
    guide = ("--guide", "Use the current figure, not the superseded one.")
    done = checked.anchored("replay", "team", "--at", str(TOOL), *guide, "--trials", "2")
    assert done.status == 0, done.err
    lines = done.out.splitlines()
    heading = "arm attempt verdict outcome first difference live tokens seconds answer"
    assert re.sub(r"\s+", " ", lines[0]) == heading
    assert [line.split()[0] for line in lines[1:5]] == ["control", "control", "guided", "guided"]
    assert lines[5].startswith("the recording: failing: The Corvane Tunnel has 200")
    assert re.fullmatch(r"control: +passing [012] of 2; \d+ live tokens, [\d.]+ s", lines[6])
    assert re.fullmatch(r"guided: +passing [012] of 2; \d+ live tokens, [\d.]+ s", lines[7])
    names = [line.split()[1] for line in lines[1:5]]
    shown = [checked.show(name) for name in names]
    numbers = [int(name.rpartition("-")[2]) for name in names]
    assert numbers[0] < numbers[2] < numbers[1] < numbers[3], "by turns"
    anchors = {json.dumps(json.loads(receipt_of(checked, name))["predicate"]["anchor"]) for name in names}
    assert len(anchors) == 1, "the arms are anchored at one place"
    assert all(document["events"][9]["position"] == DECIDING for document in shown)


def receipt_of(stand: Stand, name: str) -> str:
    return (stand.folder / ".anchored" / "runs" / f"{name}.receipt.json").read_text()


def test_trials_in_json_and_without_a_control(checked: Stand) -> None:
    guide = ("--guide", "Check the year.", "--trials", "1", "--json")
    both = checked.anchored("replay", "team", "--at", str(DECIDING), *guide).json
    assert [(item["arm"], item["intervention"]["kind"]) for item in both] == [("control", "none"), ("guided", "guide")]
    alone = checked.anchored("replay", "team", "--at", str(DECIDING), *guide, "--no-control").json
    assert [item["arm"] for item in alone] == ["guided"]
    assert {item["check"]["outcome"] for item in (*both, *alone)} <= {"passing", "failing"}


def test_what_changed_since_the_recording_is_said_on_screen_and_on_the_receipt(checked: Stand) -> None:
    """Issue, configuration: a changed program is named; whether it matters, the requests decide."""
    original = (checked.folder / "team.py").read_text()
    try:
        (checked.folder / "team.py").write_text(original + "# a comment\n")
        done, attempt = checked.replay("team")
        assert (done.status, attempt["verdict"]) == (0, "exact")
        assert [part["what"] for part in attempt["changed"]] == ["file team.py"]
        assert json.loads(Path(attempt["receipt"]).read_text())["predicate"]["changed"] == ["file team.py"]
        (checked.folder / "team.py").write_text(original.replace("write TERMINATE", "write TERMINATE at last"))
        shown = checked.anchored("replay", "team")
        assert shown.status == 3
        assert "changed since the recording: team.py" in shown.err
    finally:
        (checked.folder / "team.py").write_text(original)
    done, attempt = checked.replay("team")
    assert attempt["changed"] == []


def test_a_full_replay_takes_no_key_and_no_endpoint(checked: Stand) -> None:
    """Issue: no key, no network. What was set when it was recorded is restored, or stood in for."""
    key = {"OPENAI_API_KEY": "sk-invented-of-a-test"}
    recorded = checked.anchored("record", "--name", "keyed", "--", sys.executable, "team.py", **key)
    assert recorded.status == 0, recorded.err
    configuration = checked.show("keyed")["configuration"]
    assert configuration["keys"] == ["OPENAI_API_KEY"]
    stored = (checked.folder / ".anchored" / "runs" / "keyed.sqlite").read_bytes()
    assert b"sk-invented-of-a-test" not in stored
    bare = ("env", "-u", "OPENAI_BASE_URL", "-u", "OPENAI_API_KEY", str(COMMAND))
    done = checked.run(*bare, "replay", "keyed")
    assert done.status == 0, done.err
    at = checked.run(*bare, "replay", "keyed", "--at", "0")
    assert "OPENAI_API_KEY was set when this run was recorded" in at.err


def test_a_full_replay_with_the_endpoint_on_another_port(checked: Stand, tmp_path: Path) -> None:
    """Identity 1: loopback ports are free; the value that is set now is the one that counts."""
    with running_endpoint(DEMO / "script.py", seed=0, log=tmp_path / "other.jsonl") as other:
        assert other.url != checked.endpoint.url
        before = checked.calls()
        done, attempt = checked.replay("team", OPENAI_BASE_URL=other.url)
        assert (done.status, attempt["verdict"]) == (0, "exact"), done.err
        assert (checked.calls(), len(other.calls())) == (before, 0)
        done, attempt = checked.replay("team", "--at", str(DECIDING), OPENAI_BASE_URL=other.url)
        assert done.status == 0, done.err
        live = [event for event in checked.show(attempt["name"])["events"] if event["position"] >= DECIDING]
        assert len(other.calls()) == sum(1 for event in live if event["kind"] == "chat")
        assert checked.calls() == before


def test_a_trace_leads_to_its_recording(checked: Stand) -> None:
    """Issue, Finding it again: the caller's trace is kept, outside of identity, and names the run."""
    trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    parent = {"TRACEPARENT": f"00-{trace}-00f067aa0ba902b7-01"}
    done = checked.anchored("record", "--name", "traced", "--", sys.executable, "team.py", **parent)
    assert done.status == 0, done.err
    assert checked.show(trace)["traces"] == [trace]
    assert f"trace:        {trace}" in checked.anchored("show", "traced").out
    done = checked.anchored("replay", trace)
    assert done.status == 0, done.err
    assert checked.anchored("show", "0" * 32).status == 2
