"""smolagents, recorded and replayed in an environment of its own: agents that call tools, agents that write code."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from anchored.testing import running_endpoint

from .conftest import Done, Stand

PROGRAMS = Path(__file__).parent / "programs"
PYTHON = Path(__file__).parents[2] / ".venv-openai3" / "bin" / "python"
PROGRAM = (str(PYTHON), str(PROGRAMS / "cities_smolagents.py"))
NOWHERE = "http://127.0.0.1:9/v1"

pytestmark = pytest.mark.skipif(not PYTHON.exists(), reason="smolagents is in .venv-openai3: make stands")


@pytest.fixture(scope="module")
def smolagents(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stand]:
    folder = tmp_path_factory.mktemp("smolagents")
    with running_endpoint(PROGRAMS / "smolagents_script.py", seed=3, log=folder / "endpoint.jsonl") as endpoint:
        yield Stand(folder=folder, endpoint=endpoint, environment={"ANCHORED_TEST_URL": endpoint.url})


def last_line(done: Done) -> str:
    return done.out.strip().splitlines()[-1]


def recorded(stand: Stand, mode: str) -> str:
    done = stand.anchored("record", "--name", mode, "--", *PROGRAM, mode)
    assert done.status == 0, done.err
    return last_line(done)


def replayed(stand: Stand, name: str) -> str:
    """The result of a full replay without an endpoint, in which no tool ran and which was exact."""
    runs = stand.tool_runs()
    done = stand.anchored("replay", name, "--show-output", ANCHORED_TEST_URL=NOWHERE)
    assert done.status == 0, done.err
    assert stand.tool_runs() == runs
    return last_line(done)


def test_actors_parents_edges_and_final_answer_of_a_managed_agent(smolagents: Stand) -> None:
    """R4-03: who acts, inside of what; edges written down by hand. The expert writes code, which names no call ids."""
    result = recorded(smolagents, "team")
    shown = smolagents.show("team")
    events = [(event["position"], event["agent"], event["name"], event["parent"]) for event in shown["events"]]
    assert events == [
        (0, "chief", "scripted-1", None),
        (2, "chief", "expert", None),
        (3, "expert", "scripted-1", 2),
        (5, "expert", "weather", 2),
        (7, "expert", "scripted-1", 2),
        (10, "chief", "scripted-1", None),
    ]
    edges = {
        position: sorted(
            (edge["from"], edge["kind"])
            for edge in smolagents.anchored("show", "team", "--event", str(position), "--json").json["edges"]
            if edge["recorded"]
        )
        for position, *_ in events
    }
    assert edges == {
        0: [],
        2: [(1, "call_id")],
        3: [(2, "parent")],
        5: [(2, "parent"), (4, "step_order")],
        7: [(2, "parent"), (6, "step_order")],
        10: [(9, "step_order")],
    }
    assert shown["final"]["source"] == "adapter"
    assert shown["final"]["text"] == result.removesuffix(" []")
    assert replayed(smolagents, "team") == result


def test_equal_calls_in_threads_keep_their_ids_and_their_order(smolagents: Stand) -> None:
    """R0-07: the same tool three times at once, without arguments; each result is that of its own call id."""
    result = recorded(smolagents, "twins")
    tools = [event for event in smolagents.show("twins")["events"] if event["kind"] == "execute_tool"]
    assert [tool["name"] for tool in tools] == ["roll"] * 3
    ids = [
        smolagents.anchored("show", "twins", "--event", str(tool["position"]), "--json").json["call_id"]
        for tool in tools
    ]
    assert len(set(ids)) == 3 and None not in ids
    assert replayed(smolagents, "twins") == result


def test_generated_code_runs_again_and_its_tools_do_not(smolagents: Stand) -> None:
    """Issue 4: before the anchor the code's tools are served, behind it one request is live, with the guidance."""
    recorded(smolagents, "code")
    calls, runs = smolagents.calls(), smolagents.tool_runs()
    last = [event["position"] for event in smolagents.show("code")["events"] if event["kind"] == "chat"][-1]
    done, attempt = smolagents.replay("code", "--at", str(last), "--guide", "Say it shorter.")
    assert done.status == 0, (done.err, attempt)
    assert (attempt["verdict"], smolagents.calls() - calls, smolagents.tool_runs() - runs) == ("live", 1, 0)


def test_a_managed_agent_is_called_live_without_an_effect_of_its_own(smolagents: Stand) -> None:
    """Its model calls are live and its tools are judged one by one; nobody has to declare the agent."""
    recorded(smolagents, "nested")
    runs = smolagents.tool_runs()
    done, attempt = smolagents.replay("nested", "--at", "0")
    assert done.status == 0, (done.err, attempt)
    assert (attempt["verdict"], smolagents.tool_runs() - runs) == ("live", 1)
