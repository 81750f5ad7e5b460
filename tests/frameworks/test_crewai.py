"""CrewAI 1.15.30, as far as `make test` has time for it; each mode of its program is tried by `make conformance`."""

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from anchored.library import load
from anchored.recording import Final
from anchored.testing import running_endpoint

from .conftest import Done, Stand

ENVIRONMENT = Path(__file__).parents[2] / ".venv-openai2" / "bin"
PROGRAMS = Path(__file__).with_name("programs")
PYTHON, COMMAND = ENVIRONMENT / "python", ENVIRONMENT / "anchored"
QUIET = {
    "CREWAI_DISABLE_TELEMETRY": "true",
    "CREWAI_DISABLE_TRACKING": "true",
    "OTEL_SDK_DISABLED": "true",
    "CREWAI_TRACING_ENABLED": "false",
    "CREWAI_TESTING": "true",
    "CREWAI_DISABLE_VERSION_CHECK": "true",
}

pytestmark = pytest.mark.skipif(not PYTHON.exists(), reason=".venv-openai2 is not there: make stands")


@pytest.fixture(scope="module")
def crewai(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stand]:
    """A folder with the program, and an endpoint that plays its model."""
    folder = tmp_path_factory.mktemp("crewai")
    for name, source in (("crews.py", "crewai_crews.py"), ("crewai_quiet.py", "crewai_quiet.py")):
        shutil.copy(PROGRAMS / source, folder / name)
    with running_endpoint(PROGRAMS / "crewai_script.py", log=folder / "endpoint.jsonl") as endpoint:
        yield Stand(
            folder=folder,
            endpoint=endpoint,
            environment={"ANCHORED_TEST_URL": endpoint.url, "HOME": str(folder)},
        )


def anchored(stand: Stand, *arguments: str, **environment: str) -> Done:
    return stand.run(str(COMMAND), *arguments, **environment)


def last_line(done: Done) -> str:
    return done.out.strip().splitlines()[-1]


@pytest.mark.timeout(300)
def test_a_crew_is_replayed_exactly_and_a_changed_one_is_not(crewai: Stand) -> None:
    """Issue 4: who acts, which tool, in which order; served to the end; a changed prompt never goes live.

    The log, by hand: 0 the researcher is asked and calls the tool by its id; 2 the tool; 4 the researcher is asked with
    call and result, on what it was asked before; 6 the writer's task follows the researcher's, and holds its answer
    inside a larger text only.

    Recorded with CrewAI's telemetry and its look for a newer version left on: the boundary keeps both off, and no dead
    proxy is asked.
    """
    done = anchored(
        crewai,
        *("record", "--name", "crew", "--", str(PYTHON), "crews.py", "sequential"),
        ANCHORED_TEST_CHATTY="1",
        CREWAI_TRACING_ENABLED="false",
        CI="",
        HTTPS_PROXY="http://127.0.0.1:9",
    )
    assert done.status == 0, done.err
    recording = load(crewai.folder / ".anchored" / "runs" / "crew.sqlite")
    begins = [event.begin for event in recording.log.events]
    assert [
        (begin.position, begin.actor, begin.kind, {(edge.position, edge.kind) for edge in begin.edges})
        for begin in begins
    ] == [
        (0, "Researcher", "chat", set()),
        (2, "Researcher", "execute_tool", {(1, "call_id")}),
        (4, "Researcher", "chat", {(1, "call_id"), (3, "call_id")}),
        (6, "Writer", "chat", {(5, "task_order")}),
    ]
    assert not recording.notes_of("unobserved")
    assert recording.closing is not None
    assert recording.closing.final == Final(text="Final: it, by Writer.", source="adapter")
    calls, tools = crewai.calls(), crewai.tool_runs()

    replay = anchored(crewai, "replay", "crew", "--show-output")
    assert replay.status == 0, replay.err
    assert last_line(replay) == last_line(done)

    text = (crewai.folder / "crews.py").read_text(encoding="utf-8")
    (crewai.folder / "changed.py").write_text(text.replace("Write about it.", "Write of it."), encoding="utf-8")
    changed = anchored(crewai, "replay", "crew", "--", str(PYTHON), "changed.py", "sequential")
    assert changed.status == 3, changed.err
    assert "Write of it." in changed.err
    assert (crewai.calls(), crewai.tool_runs()) == (calls, tools)


PROJECT = """
[project]
name = "lamps"
version = "0.1.0"
requires-python = ">=3.11"

[project.scripts]
run_crew = "lamps:run"

[tool.crewai]
type = "crew"
project_id = "9d1f9bd4-3f4e-4f6b-8a0c-2c1d5a0f5a11"
"""

RUN_CREW = """#!{python}
import os
import httpx
for word in ("lamps", "chairs"):
    body = {{"model": "gpt-4o-mini", "messages": [{{"role": "user", "content": f"Write about {{word}}."}}]}}
    answer = httpx.post(os.environ["ANCHORED_TEST_URL"] + "/chat/completions", json=body)
    print(answer.json()["choices"][0]["message"]["content"])
"""


@pytest.mark.timeout(300)
def test_crewai_run_starts_its_crew_inside_the_boundary(crewai: Stand) -> None:
    """Issue 4: `crewai run` is a launcher of `uv run`; the crew's own process owns the log, in anchored replays too."""
    uv = Path(sys.executable).with_name("uv")
    if not uv.exists():
        pytest.skip("uv is not there: make setup")
    project = crewai.folder / "project"
    (project / "bin").mkdir(parents=True)
    (project / "pyproject.toml").write_text(PROJECT, encoding="utf-8")
    script = project / "bin" / "run_crew"
    script.write_text(RUN_CREW.format(python=PYTHON), encoding="utf-8")
    script.chmod(0o755)
    (project / "bin" / "uv").symlink_to(uv)
    stand = Stand(
        folder=project,
        endpoint=crewai.endpoint,
        environment={
            **crewai.environment,
            **QUIET,
            "PATH": f"{project / 'bin'}:{ENVIRONMENT}:/usr/bin:/bin",
            "UV_NO_SYNC": "1",
            "UV_OFFLINE": "1",
            "UV_PROJECT_ENVIRONMENT": str(ENVIRONMENT.parent),
            "UV_CACHE_DIR": str(crewai.folder / "uv"),
            "UV_PYTHON_DOWNLOADS": "never",
        },
    )
    done = anchored(stand, "record", "--name", "launched", "--", str(ENVIRONMENT / "crewai"), "run")
    assert done.status == 0, done.err
    recording = load(project / ".anchored" / "runs" / "launched.sqlite")
    assert [event.begin.kind for event in recording.log.events] == ["chat", "chat"]
    calls = stand.calls()
    full = anchored(stand, "replay", "launched", "--show-output")
    assert full.status == 0, full.err
    assert stand.calls() == calls
    control = anchored(stand, "replay", "launched", "--at", "2", "--show-output")
    assert control.status == 0, control.err
    assert stand.calls() == calls + 1
