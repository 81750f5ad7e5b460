"""AG2 1.x, recorded and replayed in an environment of its own: agents, tools, subagents, the channels of a Hub."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from anchored.testing import running_endpoint

from .conftest import Done, Stand

PROGRAMS = Path(__file__).parent / "programs"
PYTHON = Path(__file__).parents[2] / ".venv-openai3" / "bin" / "python"
PROGRAM = (str(PYTHON), str(PROGRAMS / "ag2_agents.py"))
NOWHERE = "http://127.0.0.1:9/v1"

pytestmark = pytest.mark.skipif(not PYTHON.exists(), reason="AG2 1.x is in .venv-openai3: make stands")


@pytest.fixture(scope="module")
def ag2(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stand]:
    folder = tmp_path_factory.mktemp("ag2")
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
    done = stand.anchored("replay", name, "--show-output", "--effects", "allow", ANCHORED_TEST_URL=NOWHERE)
    assert done.status == 0, done.err
    assert stand.tool_runs() == runs
    return last_line(done)


def test_the_order_in_which_parallel_tools_complete_is_replayed(ag2: Stand) -> None:
    """R0-07: AG2 1.x lets the order of completion into the next request; coroutines and threads, twins and subtasks."""
    result = recorded(ag2, "parallel", "parallel+identical+subtasks")
    assert "threaded 3 done" in result
    for _ in range(3):
        assert replayed(ag2, "parallel") == result


def test_what_tools_give_is_served_as_it_was(ag2: Stand) -> None:
    """Tool results are AG2's events: objects in them, tracebacks of what raised, last words, changed arguments."""
    result = recorded(ag2, "values", "values+tool-error+final-tool+middleware+stream")
    assert "Thing(name='lamp', sizes={'height': 1.5})" in result
    assert replayed(ag2, "values") == result
    events = ag2.show("values")["events"]
    tools = [(event["name"], event["outcome"]) for event in events if event["kind"] == "execute_tool"]
    names = ["things", "broken", "ends", "look_up", "look_up"]
    assert tools == [(name, "failure" if name == "broken" else "success") for name in names]


def test_actors_parents_edges_and_final_answer_of_a_subagent(ag2: Stand) -> None:
    """R4-03: who acts, inside of what; edges written down by hand. The outer agent has the last word."""
    recorded(ag2, "nested", "nested")
    shown = ag2.show("nested")
    events = [(event["position"], event["agent"], event["name"], event["parent"]) for event in shown["events"]]
    assert events == [
        (0, "main", "scripted-1", None),
        (2, "main", "task_helper", None),
        (3, "helper", "scripted-1", 2),
        (5, "helper", "look_up", 2),
        (7, "helper", "scripted-1", 2),
        (10, "main", "scripted-1", None),
    ]
    edges = {
        position: sorted(
            (edge["from"], edge["kind"])
            for edge in ag2.anchored("show", "nested", "--event", str(position), "--json").json["edges"]
            if edge["recorded"]
        )
        for position, *_ in events
    }
    assert edges == {
        0: [],
        2: [(1, "call_id")],
        3: [(2, "parent")],
        5: [(2, "parent"), (4, "call_id")],
        7: [(2, "parent"), (4, "call_id"), (6, "call_id")],
        10: [(1, "call_id"), (9, "call_id")],
    }
    assert shown["final"]["source"] == "adapter"
    assert shown["final"]["text"].startswith("Something longer is said of it")


def test_what_a_person_says_is_an_event(ag2: Stand) -> None:
    """Asked by a tool or for leave to run one; nobody is asked again, and the asking agent is its actor."""
    result = recorded(ag2, "human", "human")
    assert replayed(ag2, "human") == result
    events = ag2.show("human")["events"]
    asked = [(event["agent"], event["parent"] is None) for event in events if event["kind"] == "human_input"]
    assert asked == [("asker", False), ("asker", False), ("researcher", True)]


def test_a_hub_is_replayed_guided_and_ended(ag2: Stand) -> None:
    """Fail closed: a Hub reports a failed turn and waits on. Nothing goes live, and the program does not finish."""
    result = recorded(ag2, "hub", "hub")
    assert "TERMINATE" in result
    assert replayed(ag2, "hub") == result
    calls, runs = ag2.calls(), ag2.tool_runs()
    chats = [event for event in ag2.show("hub")["events"] if event["kind"] == "chat"]
    assert [chat["outcome"] for chat in chats][-2:] == ["success", "abort"], "the next turn is given up when it is over"
    done, attempt = ag2.replay("hub", "--at", str(chats[-2]["position"]), "--guide", "Say it shorter.")
    assert done.status == 0, (done.err, attempt)
    assert (attempt["verdict"], ag2.calls() - calls, ag2.tool_runs() - runs) == ("live", 2, 0)
    changed = ag2.anchored(
        "replay", "hub", "--show-output", "--grace", "1", ANCHORED_TEST_CHANGE="prompt", HUB_PATIENCE="200"
    )
    assert changed.status == 3, changed.err
    assert "Speak of" not in changed.out, "it was ended while it waited"
    assert ag2.calls() - calls == 2
