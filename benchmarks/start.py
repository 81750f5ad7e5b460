"""How long a replay's program takes to start and import its framework: spawned, and forked from a preloaded server.

    .venv/bin/python benchmarks/start.py [--rounds R] [FRAMEWORK …]

For each framework a program that imports it and makes one call is recorded in the environment that holds it (`make
stands`), then replayed to its end by turns. Seconds are wall-clock, median of R rounds, from the order of the attempt
to the program's first line after its imports, with the boundary in it. What the server takes to load is named apart.
"""

import argparse
import os
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from anchored.attempts import ForkServer, Project, ReplayRequest, Timing, record, replay
from anchored.library import Library, read_order
from anchored.replaying import Unchanged
from anchored.testing import running_endpoint

HOME = Path(__file__).resolve().parents[1]
SCRIPT = """
from anchored.testing import Reply, Rule, Script
script = Script(rules=[Rule(name="all", when=lambda request: True, replies=Reply.text("an answer"))])
"""
PROGRAM = """
{imports}
import time
started = time.time_ns()
import os
import httpx
body = {{"model": "scripted-1", "messages": [{{"role": "user", "content": "start"}}]}}
httpx.post(os.environ["OPENAI_BASE_URL"] + "/chat/completions", json=body)
with open(os.environ["START_LOG"], "w") as file:
    file.write(str(started))
"""
QUIET = {
    "CREWAI_DISABLE_TELEMETRY": "true",
    "CREWAI_DISABLE_TRACKING": "true",
    "CREWAI_TRACING_ENABLED": "false",
    "LANGSMITH_TRACING": "false",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "OPENAI_AGENTS_DISABLE_TRACING": "1",
    "OTEL_SDK_DISABLED": "true",
}
"""So that no framework calls out by itself. Without it CrewAI starts a thread when it is imported."""


@dataclass(frozen=True, kw_only=True)
class Framework:
    name: str
    stand: str
    imports: str


FRAMEWORKS = (
    Framework(name="AG2 0.13.3", stand=".venv", imports="import autogen"),
    Framework(name="CrewAI", stand=".venv-openai2", imports="import crewai"),
    Framework(
        name="AutoGen",
        stand=".venv-openai2",
        imports="import autogen_agentchat.agents, autogen_agentchat.teams, autogen_ext.models.openai",
    ),
    Framework(name="AG2 1.2.1", stand=".venv-openai3", imports="import ag2"),
    Framework(name="OpenAI Agents", stand=".venv-openai3", imports="import agents"),
    Framework(name="LangGraph", stand=".venv-openai3", imports="import langgraph.graph, langchain_openai"),
    Framework(name="Pydantic AI", stand=".venv-openai3", imports="import pydantic_ai, pydantic_ai.models.openai"),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("frameworks", nargs="*", metavar="FRAMEWORK", help="part of a name; all if none is given")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    print(f"{'':<16}{'spawned':>9}{'forked':>9}{'ratio':>8}{'server':>9}  how", flush=True)
    for framework in FRAMEWORKS:
        if not options.frameworks or any(part in framework.name for part in options.frameworks):
            measure(framework, options.rounds)


def measure(framework: Framework, rounds: int) -> None:
    python = HOME / framework.stand / "bin" / "python"
    if not python.exists():
        print(f"{framework.name:<16}  not here: make stands")
        return
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "script.py").write_text(SCRIPT)
        (place / "program.py").write_text(PROGRAM.format(imports=framework.imports))
        with running_endpoint(place / "script.py", log=place / "log.jsonl") as endpoint:
            os.environ |= {
                **QUIET,
                "HOME": folder,
                "NO_PROXY": "127.0.0.1",
                "OPENAI_BASE_URL": endpoint.url,
                "PYTHONPATH": str(HOME / "src"),
                "START_LOG": str(place / "started"),
            }
            library = Library(place / "store")
            done = record(
                library,
                (str(python), "program.py"),
                task=None,
                name="one",
                folder=place,
                timing=Timing(),
            )
            if done.ended.status != 0:
                sys.exit(f"{framework.name}: the program ended with {done.ended.status}")
        spawned: list[float] = []
        forked: list[float] = []
        with ForkServer() as server:
            before = time.monotonic()
            attempt(library, place, server)
            loading = time.monotonic() - before
            how = ""
            for _ in range(rounds):
                spawned.append(attempt(library, place, None)[0])
                seconds, how = attempt(library, place, server)
                forked.append(seconds)
        slow, fast = statistics.median(spawned), statistics.median(forked)
        print(f"{framework.name:<16}{slow:>8.2f}s{fast:>8.3f}s{fast / slow:>8.3f}{loading:>8.1f}s  {how}", flush=True)


def attempt(library: Library, place: Path, server: ForkServer | None) -> tuple[float, str]:
    """Seconds from the order to the first line after the imports, and how the program was started."""
    done = replay(
        library,
        ReplayRequest(name="one", at=None, intervention=Unchanged()),
        project=Project(),
        timing=Timing(handshake=60),
        server=server,
    )
    if not done.verdict.holds:
        sys.exit("\n".join(done.words()))
    ordered = int(str(read_order(library.path(done.name))["created"]))
    return (int((place / "started").read_text()) - ordered) / 1e9, done.started


if __name__ == "__main__":
    main()
