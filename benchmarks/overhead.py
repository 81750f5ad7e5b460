"""What recording costs per call on each framework, against the same program unrecorded, in one run.

    .venv/bin/python benchmarks/overhead.py [--pairs P] [--turns T] [--page FILE] [FRAMEWORK …]

For each framework turns.py is started twice in the environment that holds it (`make stands`), once as it is and once
under `anchored record`, and both make turns by turns, against the scripted endpoint on this machine, which answers
without delay: P times as many as T each, after some that are not counted. Start-up and imports are outside of what is
measured. With --page the table is written to a page.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from anchored.library import Library
from anchored.testing import running_endpoint

HOME = Path(__file__).resolve().parents[1]
PROGRAM = Path(__file__).with_name("turns.py")
SCRIPT = """
from anchored.testing import Reply, Rule, Script

script = Script(
    rules=[
        Rule(name="told", when=lambda request: request.last.role == "tool", replies=Reply.text("Many.")),
        Rule(
            name="asked",
            when=lambda request: True,
            replies=Reply.tools(lambda request: [(request.tool_names[0], {"place": "Oslo"})]),
        ),
    ]
)
"""
CALLS = 3
"""In a turn: two of the model, one of the tool."""
WARM = 5
"""Turns that are not counted."""
PAGE = """# Overhead

Made by `make overhead`, which runs `benchmarks/overhead.py`; none is typed in. A program of each framework makes turns
of two model calls and a tool call, against the scripted endpoint on the same machine, which answers without delay. It
is started twice, as it is and under `anchored record`, and the two make {turns} turns by turns, {pairs} times each.

Milliseconds per call of the program's own process. *Processor* is its processors' time, which other work on the machine
disturbs least; the difference and the ratio are of it, medians over the pairs, with the smallest and the largest
difference. *Waited* is how much longer a call takes on the clock, in the median: with what waits for the disk. Start-up
is not counted. A real model call takes a thousand milliseconds or so.

{table}

On {machine}, {seconds:.0f} s in all.
"""


@dataclass(frozen=True, kw_only=True)
class Framework:
    """A function of turns.py, and the environment that it runs in."""

    name: str
    function: str
    stand: str


FRAMEWORKS = (
    Framework(name="AG2 0.13.3", function="ag2_classic", stand="openai2"),
    Framework(name="AG2 1.2.1", function="ag2", stand="openai3"),
    Framework(name="AutoGen 0.7.5", function="autogen", stand="openai3"),
    Framework(name="CrewAI 1.15.30", function="crewai", stand="openai2"),
    Framework(name="OpenAI Agents 0.24.0", function="openai_agents", stand="openai3"),
    Framework(name="LangGraph 1.2.24", function="langgraph", stand="openai3"),
    Framework(name="Pydantic AI 2.68.0", function="pydantic_ai", stand="openai3"),
    Framework(name="openai 2.54.0", function="openai", stand="openai2"),
    Framework(name="openai 3.57.0", function="openai", stand="openai3"),
    Framework(name="anthropic 2.14.0", function="anthropic", stand="openai3"),
    Framework(name="LiteLLM 1.110.2", function="litellm", stand="openai3"),
)


@dataclass(frozen=True, kw_only=True)
class Cost:
    """Of a call, in milliseconds."""

    wall: float
    processor: float


class Program:
    """A turns.py that waits for orders."""

    def __init__(self, command: list[str], orders: Path, place: Path) -> None:
        os.mkfifo(orders)
        self._orders = os.open(orders, os.O_RDWR)  # so that it need not wait for a reader
        self._place = place
        self.turns = 0
        self._errors = (place / f"{orders.name}.err").open("w+")
        self._process = subprocess.Popen(
            [*command, str(orders)], cwd=place, stdout=subprocess.PIPE, stderr=self._errors, text=True
        )

    def make(self, turns: int) -> Cost:
        """Has turns made."""
        os.write(self._orders, f"{turns}\n".encode())
        self.turns += turns
        for line in self._process.stdout or ():
            words = line.split()
            if words[:1] == ["turns"]:
                return Cost(wall=1000 * float(words[1]), processor=1000 * float(words[2]))
        self._fail()

    def end(self) -> None:
        """Has it end, and well."""
        os.close(self._orders)
        self._process.communicate()
        if self._process.returncode != 0:
            self._fail()
        self._errors.close()

    def _fail(self) -> None:
        self._errors.seek(0)
        sys.exit(f"{self._process.args} ended with {self._process.wait()}: {self._errors.read()[-3000:]}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("frameworks", nargs="*", metavar="FRAMEWORK", help="part of a name; all if none is given")
    parser.add_argument("--pairs", type=int, default=8)
    parser.add_argument("--turns", type=int, default=15)
    parser.add_argument("--page", type=Path)
    options = parser.parse_args()
    started = time.monotonic()
    rows = ["| | calls | unrecorded | recorded | difference | ratio | waited |", "|---|---|---|---|---|---|---|"]
    print(*rows, sep="\n", flush=True)
    for framework in FRAMEWORKS:
        if options.frameworks and not any(part in framework.name for part in options.frameworks):
            continue
        python = HOME / f".venv-{framework.stand}" / "bin" / "python"
        if not python.exists():
            sys.exit(f"{framework.name}: {python} is not there: make stands")
        rows.append(row(framework.name, measure(framework, python, options.pairs, options.turns), options.turns))
        print(rows[-1], flush=True)
    if options.page:
        text = PAGE.format(
            table="\n".join(rows),
            pairs=options.pairs,
            turns=options.turns,
            machine=f"{os.cpu_count()} processors, Python {sys.version.split()[0]}",
            seconds=time.monotonic() - started,
        )
        options.page.write_text(text, encoding="utf-8")


def measure(framework: Framework, python: Path, pairs: int, turns: int) -> list[tuple[Cost, Cost]]:
    """Costs unrecorded and recorded, in pairs."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "script.py").write_text(SCRIPT)
        with running_endpoint(place / "script.py", log=place / "log.jsonl") as endpoint:
            os.environ |= {"OPENAI_BASE_URL": endpoint.url, "NO_PROXY": "127.0.0.1", "HOME": folder}
            command = [str(python), str(PROGRAM), framework.function]
            record = [
                sys.executable,
                "-m",
                "anchored",
                "record",
                "--store",
                str(place / "store"),
                "--name",
                "one",
                "--",
            ]
            plain = Program(command, place / "plain", place)
            recorded = Program([*record, *command], place / "recorded", place)
            plain.make(WARM)
            recorded.make(WARM)
            costs: list[tuple[Cost, Cost]] = []
            for number in range(pairs):
                first, second = (plain, recorded) if number % 2 else (recorded, plain)
                one, other = first.make(turns), second.make(turns)
                costs.append((one, other) if first is plain else (other, one))
            plain.end()
            recorded.end()
        events = len(Library(place / "store").open("one").log.events)
        if events != recorded.turns * CALLS:
            sys.exit(f"{framework.name}: {events} events of {recorded.turns * CALLS} calls")
        return costs


def row(name: str, costs: list[tuple[Cost, Cost]], turns: int) -> str:
    """A line of the table."""
    middle = statistics.median
    before = middle(plain.processor for plain, _ in costs)
    after = middle(recorded.processor for _, recorded in costs)
    more = [recorded.processor - plain.processor for plain, recorded in costs]
    ratio = middle(recorded.processor / plain.processor for plain, recorded in costs)
    waited = middle(recorded.wall - plain.wall for plain, recorded in costs)
    return (
        f"| {name} | {len(costs) * turns * CALLS} | {before:.2f} | {after:.2f} | "
        f"{middle(more):.2f} ({min(more):.2f} to {max(more):.2f}) | {ratio:.2f} | {waited:.2f} |"
    )


if __name__ == "__main__":
    main()
