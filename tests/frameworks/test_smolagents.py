"""smolagents, recorded and replayed in an environment of its own: agents that call tools, agents that write code."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from anchored.library import Library
from anchored.recording import Recording
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


def recorded(stand: Stand, modes: str) -> tuple[str, Recording]:
    """The result, and the recording, whose name is that of the modes."""
    done = stand.anchored("record", "--name", modes.replace("+", "-"), "--", *PROGRAM, modes)
    assert done.status == 0, done.err
    return last_line(done), Library(stand.folder / ".anchored").open(modes.replace("+", "-"))


def test_actors_parents_edges_ids_and_an_exact_replay(smolagents: Stand) -> None:
    """R4-03, R0-07: a managed agent that writes code, then one tool three times at once, without arguments.

    Who acts, inside of what, and edges, written down by hand; generated code names no call ids. The replay has no
    endpoint, gives the same result, and runs no tool.
    """
    result, recording = recorded(smolagents, "team+twins")
    begins = [event.begin for event in recording.log.events]
    found = [
        (begin.position, begin.actor, begin.name, begin.parent, [(edge.position, edge.kind) for edge in begin.edges])
        for begin in begins
    ]
    assert found[:6] == [
        (0, "chief", "scripted-1", None, []),
        (2, "chief", "expert", None, [(1, "call_id")]),
        (3, "expert", "scripted-1", 2, []),
        (5, "expert", "weather", 2, [(4, "step_order")]),
        (7, "expert", "scripted-1", 2, [(6, "step_order")]),
        (10, "chief", "scripted-1", None, [(9, "step_order")]),
    ]
    rolls = [begin for begin in begins if begin.name == "roll"]
    assert len({roll.call_id for roll in rolls} - {None}) == len(rolls) == 3
    assert [edge.kind for edge in begins[-1].edges] == ["step_order"] * 3
    answer = recording.notes_of("final")[-1]
    assert answer["source"] == "adapter" and str(answer["text"]) in result

    runs = smolagents.tool_runs()
    replayed = smolagents.anchored("replay", "team-twins", "--show-output", ANCHORED_TEST_URL=NOWHERE)
    assert replayed.status == 0, replayed.err
    assert (last_line(replayed), smolagents.tool_runs()) == (result, runs)


def test_generated_code_runs_again_and_its_tools_do_not(smolagents: Stand) -> None:
    """Issue 4: before the anchor tools are served to it. Live, nobody has to declare an effect of a managed agent."""
    _, recording = recorded(smolagents, "nested+code")
    last = recording.log.events[-1].position
    for anchor, live, ran in ((last, 1, 0), (0, 6, 4)):
        calls, runs = smolagents.calls(), smolagents.tool_runs()
        done, attempt = smolagents.replay("nested-code", "--at", str(anchor))
        assert done.status == 0, (done.err, attempt)
        assert (attempt["verdict"], smolagents.calls() - calls, smolagents.tool_runs() - runs) == ("live", live, ran)
