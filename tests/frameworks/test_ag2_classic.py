"""AG2 classic beyond the demo team: asynchronous, streamed, in threads, nested, by pattern."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from anchored.testing import running_endpoint

from .conftest import Done, Stand

PROGRAMS = Path(__file__).parent / "programs"
PROGRAM = (sys.executable, str(PROGRAMS / "ag2_classic_teams.py"))
NOWHERE = "http://127.0.0.1:9/v1"


@pytest.fixture(scope="module")
def classic(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stand]:
    folder = tmp_path_factory.mktemp("classic")
    with running_endpoint(PROGRAMS / "ag2_script.py", seed=3, log=folder / "endpoint.jsonl") as endpoint:
        yield Stand(folder=folder, endpoint=endpoint, environment={"ANCHORED_TEST_URL": endpoint.url})


def last_line(done: Done) -> str:
    return done.out.strip().splitlines()[-1]


def recorded(stand: Stand, name: str, modes: str) -> str:
    done = stand.anchored("record", "--name", name, "--", *PROGRAM, modes)
    assert done.status == 0, done.err
    return last_line(done)


def replayed(stand: Stand, name: str) -> str:
    """The result of a full replay without an endpoint, in which no tool ran and which was exact."""
    runs = stand.tool_runs()
    done = stand.anchored("replay", name, "--show-output", ANCHORED_TEST_URL=NOWHERE)
    assert done.status == 0, done.err
    assert stand.tool_runs() == runs
    return last_line(done)


def test_tools_that_overlap_and_identical_chats(classic: Stand) -> None:
    """R0-07: coroutines of one reply, and four chats that ask the same at the same time, are told apart."""
    result = recorded(classic, "overlap", "parallel+identical")
    for _ in range(2):
        assert replayed(classic, "overlap") == result
    assert {event["agent"] for event in classic.show("overlap")["events"]} == {"worker", "user", "twin"}


def test_each_way_in_which_a_tool_is_awaited(classic: Stand) -> None:
    """A tool is one event however AG2 runs it: on the loop, in a thread with a loop, twice wrapped, failing."""
    modes = "tool-error-async+tool-error-thread+declared+declared-async+promise"
    result = recorded(classic, "awaited", modes)
    assert replayed(classic, "awaited") == result
    events = classic.show("awaited")["events"]
    tools = [(event["agent"], event["name"], event["outcome"]) for event in events if event["kind"] == "execute_tool"]
    assert tools == [("user", "broken", "failure")] * 2 + [("user", "look_up", "success")] * 3


def test_chats_in_tasks_and_threads_by_pattern_and_nested(classic: Stand) -> None:
    """Runs in threads send the same events when tools are served; a handover's objects and variables come back."""
    result = recorded(classic, "ways", "run+run-async+nested+nested-async+stream-async+pattern")
    assert "ExecutedFunctionEvent" in result
    assert replayed(classic, "ways") == result


def test_an_asynchronous_group_chat(classic: Stand) -> None:
    """Control edges and the final answer are those of a synchronous one."""
    result = recorded(classic, "group", "group-async")
    assert replayed(classic, "group") == result
    shown = classic.show("group")
    chosen: list[tuple[str, str]] = []
    for event in shown["events"]:
        edges = classic.anchored("show", "group", "--event", str(event["position"]), "--json").json["edges"]
        chosen += [(event["agent"], edge["kind"]) for edge in edges if edge["kind"] == "speaker_selection"]
    assert ("researcher", "speaker_selection") in chosen
    assert shown["final"]["source"] == "adapter"
    assert shown["final"]["text"].startswith("The writer has written a page.")
    calls = classic.calls()
    changed, attempt = classic.replay("group", ANCHORED_TEST_CHANGE="prompt")
    assert changed.status == 3, (changed.err, attempt)
    assert classic.calls() == calls


def test_what_a_person_types_is_an_event(classic: Stand) -> None:
    """One event for each question, in an agent's own way or its class's; a replay needs no terminal, and reads on after
    the lines that were asked for.
    """
    folder = classic.folder
    (folder / "typed").write_text("".join(f"line {number}\n" for number in range(20)))
    asking = (sys.executable, "-c", ASKING, *PROGRAM[1:])
    done = classic.anchored("record", "--name", "human", "--", *asking, "human+human-async")
    assert done.status == 0, done.err
    result = last_line(done)
    assert "line 1" in result
    assert replayed(classic, "human") == result
    events = classic.show("human")["events"]
    assert [event["agent"] for event in events if event["kind"] == "human_input"] == ["user"] * 4


ASKING = """
import runpy, sys
sys.argv = sys.argv[1:]
sys.stdin = open("typed")
runpy.run_path(sys.argv[0], run_name="__main__")
"""
