"""R4-03: small runs of frameworks whose actors, parents and recorded edges were written down by hand.

Those of AG2, AG2 1.x and AutoGen stand with their other tests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from anchored.library import Library
from anchored.testing import running_endpoint

from .conftest import Stand
from .subjects import OPENAI2, OPENAI3, PROGRAMS

Edges = list[tuple[int, str]]
Row = tuple[int, str, str, int | None, Edges]
"""An event: position, agent, name, parent, and the edges to it."""

NESTED: list[tuple[int, int | None, Edges]] = [
    (0, None, []),
    (2, None, [(1, "call_id")]),
    (3, 2, []),
    (5, 2, [(4, "call_id")]),
    (7, 2, [(4, "call_id"), (6, "call_id")]),
    (10, None, [(1, "call_id"), (9, "call_id")]),
]
"""A tool that asks another agent, who uses a tool."""


def nested(outer: str, enters: str, asks: str, inner: str, uses: str) -> list[Row]:
    who = [(outer, "scripted-1"), (enters, asks), (inner, "scripted-1"), (uses, "weather"), (inner, "scripted-1")]
    return [
        (position, *acts, parent, edges)
        for (position, parent, edges), acts in zip(NESTED, [*who, (outer, "scripted-1")], strict=True)
    ]


MODEL = "gpt-4o-mini"
RUNS: dict[str, tuple[Path, str, list[Row]]] = {
    "cities_openai_agents.py nested": (
        OPENAI3,
        "cities_script.py",
        nested("Chief", "Chief", "ask_expert", "Expert", "Expert"),
    ),
    "cities_openai_agents.py handoff": (
        OPENAI3,
        "cities_script.py",
        [
            (0, "Front desk", "scripted-1", None, []),
            (2, "Specialist", "scripted-1", None, [(1, "call_id"), (1, "speaker_selection")]),
        ],
    ),
    "cities_langgraph.py nested": (
        OPENAI3,
        "cities_script.py",
        nested("agent", "tools", "ask_expert", "tools/agent", "tools/tools"),
    ),
    "cities_pydantic_ai.py nested": (
        OPENAI3,
        "cities_script.py",
        nested("chief", "chief", "ask_expert", "expert", "expert"),
    ),
    "crewai_crews.py sequential": (
        OPENAI2,
        "crewai_script.py",
        [
            (0, "Researcher", MODEL, None, []),
            (2, "Researcher", "search_archive", None, [(1, "call_id")]),
            (4, "Researcher", MODEL, None, [(1, "call_id"), (3, "call_id")]),
            (6, "Writer", MODEL, None, [(5, "task_order")]),
        ],
    ),
    "crewai_crews.py delegation": (
        OPENAI2,
        "crewai_script.py",
        [
            (0, "Lead", MODEL, None, []),
            (2, "Lead", "delegate_work_to_coworker", None, [(1, "call_id")]),
            (3, "Deputy", MODEL, 2, []),
            (5, "Deputy", "delegate_work_to_coworker", 2, [(4, "call_id")]),
            (6, "Researcher", MODEL, 5, []),
            (8, "Researcher", "search_archive", 5, [(7, "call_id")]),
            (10, "Researcher", MODEL, 5, [(7, "call_id"), (9, "call_id")]),
            (13, "Deputy", MODEL, 2, [(4, "call_id"), (12, "call_id")]),
            (16, "Lead", MODEL, None, [(1, "call_id"), (15, "call_id")]),
        ],
    ),
}


@pytest.fixture(scope="module")
def stand_of(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Stand]]:
    """A stand whose endpoint plays a script."""
    made: dict[str, Stand] = {}
    with ExitStack() as endpoints:

        def give(script: str) -> Stand:
            if script not in made:
                folder = tmp_path_factory.mktemp("edges")
                running = running_endpoint(PROGRAMS / script, seed=3, log=folder / "endpoint.jsonl")
                endpoint = endpoints.enter_context(running)
                environment = {"ANCHORED_TEST_URL": endpoint.url, "OPENAI_API_KEY": "none"}
                made[script] = Stand(folder=folder, endpoint=endpoint, environment=environment)
            return made[script]

        yield give


@pytest.mark.parametrize("run", RUNS)
def test_actors_parents_and_edges_are_those_of_the_program(run: str, stand_of: Callable[[str], Stand]) -> None:
    """Every event of the run, and all its recorded edges; none of them from a short text."""
    python, script, rows = RUNS[run]
    if not python.exists():
        pytest.skip(f"{python.parent.parent.name} is not there: make stands")
    stand = stand_of(script)
    program, mode = run.split()
    name = run.replace(" ", "-")
    done = stand.anchored("record", "--name", name, "--", str(python), str(PROGRAMS / program), mode)
    assert done.status == 0, done.err
    log = Library(stand.folder / ".anchored").open(name).log
    found: list[Row] = []
    for event in log.events:
        begin = event.begin
        edges = sorted((edge.position, edge.kind) for edge in begin.edges)
        found.append((event.position, str(begin.actor), begin.name, begin.parent, edges))
    assert found == rows
