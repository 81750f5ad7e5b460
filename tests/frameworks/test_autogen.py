"""AutoGen AgentChat, recorded and replayed in real runs; the wider matrix is `make conformance`'s.

Each program runs in one of the environments that `make stands` makes; without them these tests are skipped.
"""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from anchored.library import load
from anchored.recording import Event
from anchored.testing import running_endpoint

from .conftest import Done, Stand

ROOT = Path(__file__).parents[2]
PROGRAMS = Path(__file__).parent / "programs"


@dataclass(frozen=True, kw_only=True)
class Ground:
    """Where the program's modes run, with one of the Pythons."""

    stand: Stand

    def record(self, mode: str, python: str) -> Done:
        path = ROOT / f".venv-{python}" / "bin" / "python"
        if not path.exists():
            pytest.skip(f"no .venv-{python}: run `make stands`")
        done = self.stand.anchored("record", "--name", f"{mode}-{python}", "--", str(path), "autogen_teams.py", mode)
        assert done.status == 0, done.err
        return done

    def replay(self, mode: str, python: str, *arguments: str, **environment: str) -> tuple[Done, dict[str, Any], str]:
        """A replay's end, its document, and the last line that the program printed."""
        done, document = self.stand.replay(f"{mode}-{python}", "--effects", "allow", *arguments, **environment)
        assert document, done.err
        return done, document, last_line(self.output(document))

    def output(self, document: dict[str, Any]) -> str:
        return (self.stand.folder / ".anchored" / "runs" / f"{document['name']}.out").read_text(encoding="utf-8")

    def events(self, mode: str, python: str) -> tuple[Event, ...]:
        return load(self.stand.folder / ".anchored" / "runs" / f"{mode}-{python}.sqlite").log.events


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    folder = tmp_path_factory.mktemp("autogen")
    shutil.copy(PROGRAMS / "autogen_teams.py", folder)
    with running_endpoint(PROGRAMS / "autogen_script.py", seed=0, log=folder / "endpoint.jsonl") as endpoint:
        yield Ground(stand=Stand(folder=folder, endpoint=endpoint, environment={"ANCHORED_TEST_URL": endpoint.url}))


def last_line(text: str) -> str:
    return text.strip().rpartition("\n")[2]


@pytest.mark.parametrize(("mode", "python"), [("parallel_tools", "openai2"), ("stream_tool", "openai3")])
def test_a_replay_hands_out_what_tools_handed_out(ground: Ground, mode: str, python: str) -> None:
    """R0-04: racing tools, and a tool that streams, give the same output, and none of them runs again.

    With openai 3 the model streams too: that empties the connection behind its reading, and must find nothing there.
    """
    recorded = ground.record(mode, python)
    runs, calls = ground.stand.tool_runs(), ground.stand.calls()
    done, document, said = ground.replay(mode, python)
    assert (done.status, document["verdict"]) == (0, "exact")
    assert said == last_line(recorded.out)
    assert (ground.stand.tool_runs(), ground.stand.calls()) == (runs, calls)


def test_a_changed_prompt_ends_two_teams_side_by_side(ground: Ground) -> None:
    """R0-05: nothing goes live, no tool runs; unchanged, each of two identical teams gets its own answers."""
    recorded = ground.record("twin_teams", "openai3")
    runs, calls = ground.stand.tool_runs(), ground.stand.calls()
    done, document, said = ground.replay("twin_teams", "openai3")
    assert (done.status, document["verdict"]) == (0, "exact")
    assert said == last_line(recorded.out)
    done, document, _ = ground.replay("twin_teams", "openai3", ANCHORED_TEST_CHANGE="prompt")
    assert (done.status, document["verdict"]) == (3, "diverged")
    assert (ground.stand.tool_runs(), ground.stand.calls()) == (runs, calls)


EDGES = {
    0: [],
    2: [(1, "message")],
    4: [],
    6: [],
    8: [],
    10: [(9, "message")],
    12: [],
    14: [(13, "message"), (13, "speaker_selection")],
    16: [(15, "call_id")],
    18: [(14, "history"), (15, "call_id"), (17, "call_id")],
    20: [(13, "message"), (19, "message")],
    22: [(13, "message"), (19, "message"), (21, "message"), (21, "speaker_selection")],
    24: [(20, "history"), (21, "message"), (23, "message")],
    26: [(24, "history"), (25, "speaker_selection")],
}
"""Of Magentic-One, event → what it depends on, written down by hand.

0 facts, 2 plan, 4 a malformed ledger, 6 the ledger that sees a stall, 8 and 10 new facts and plan, 12 the ledger that
chooses the researcher (14, 18, tool 16), 20 the one that chooses the writer (22), 24 the one that is satisfied, 26 the
answer. Facts and plan are embedded in larger texts, which no recorded edge shows.
"""


def test_magentic_one_is_followed_by_its_ledgers(ground: Ground) -> None:
    """R4-03: who speaks next and what it is told come from a ledger; each try of a ledger is an event."""
    ground.record("magentic", "openai2")
    shown = ground.stand.show("magentic-openai2")
    orchestrator, researcher = "MagenticOneOrchestrator", "researcher"
    actors = [*[orchestrator] * 7, *[researcher] * 3, orchestrator, "writer", *[orchestrator] * 2]
    assert shown["final"] == {"text": "The final answer of all.", "source": "adapter"}
    assert shown["stop"]["detail"] == "it is so"
    begins = [event.begin for event in ground.events("magentic", "openai2")]
    assert [begin.actor for begin in begins] == actors
    assert {begin.position: [(edge.position, edge.kind) for edge in begin.edges] for begin in begins} == EDGES


def test_a_poisoned_tool_raises_nothing(ground: Ground) -> None:
    """R0-05: AutoGen hangs on what a tool raises, so the tool gives an error, and the next model call ends the run."""
    ground.record("direct_tool", "openai2")
    runs, calls = ground.stand.tool_runs(), ground.stand.calls()
    done, document, _ = ground.replay("direct_tool", "openai2", ANCHORED_TEST_CHANGE="prompt")
    assert (done.status, document["verdict"], document["divergence"]["position"]) == (3, "diverged", 0)
    assert "PermissionDeniedError" in ground.output(document)
    assert (ground.stand.tool_runs(), ground.stand.calls()) == (runs, calls)
