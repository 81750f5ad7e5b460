"""Folders in which real programs run, one scripted endpoint whose log counts live calls, and the matrix."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from anchored.testing import Call, RunningEndpoint, running_endpoint

from .ending import ENDINGS
from .launching import WAYS
from .matrix import Matrix, Row
from .misbehaving import DIVERGENCES
from .refusing import REFUSALS, RESTARTS, UNRECORDED
from .teams import TEAMS

COMMAND = Path(sys.executable).with_name("anchored")
MOST_SECONDS = 60
"""No command of these tests takes so long, unless it would never end."""

SCRIPT = """
from anchored.testing import Reply, Rule, Script
echo = Reply.text(lambda request: "about " + request.last.text)
script = Script(rules=[Rule(name="all", when=lambda request: True, replies=echo)])
"""


@dataclass(frozen=True, kw_only=True)
class Done:
    """A finished command.

    Attributes:
        status: its exit status; None if it had to be ended.
        first: number of the first call that the endpoint got from it.
        calls: what the endpoint had got until it ended.
    """

    status: int | None
    out: str
    err: str
    first: int
    calls: list[Call]

    @property
    def attempt(self) -> dict[str, Any]:
        """The document of a replay's one attempt; empty where it came to none."""
        return json.loads(self.out)[0] if self.out.startswith("[") else {}


@dataclass(kw_only=True)
class Place:
    """A folder where programs run, with a store of its own."""

    folder: Path
    endpoint: RunningEndpoint
    environment: dict[str, str] = field(default_factory=dict)

    def write(self, name: str, text: str) -> None:
        """A file in the folder; what begins with #! can be executed."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace("{python}", sys.executable), encoding="utf-8")
        if text.startswith("#!"):
            path.chmod(0o755)

    def run(self, *command: str, stdin: str = "") -> Done:
        """Runs a command to its end, and ends it if it has none."""
        first = len(self.endpoint.calls())
        out, err = self.folder / ".out", self.folder / ".err"
        with out.open("wb") as output, err.open("wb") as errors:
            process = subprocess.Popen(
                [part.replace("{python}", sys.executable).replace("{url}", self.endpoint.url) for part in command],
                cwd=self.folder,
                env=self._environment(),
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=errors,
            )
            try:
                process.communicate(stdin.encode(), timeout=MOST_SECONDS)
                status: int | None = process.returncode
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                status = None
        said = [path.read_text(encoding="utf-8", errors="replace") for path in (out, err)]
        return Done(status=status, out=said[0], err=said[1], first=first, calls=self.endpoint.calls()[first:])

    def anchored(self, *arguments: str, stdin: str = "") -> Done:
        return self.run(str(COMMAND), *arguments, stdin=stdin)

    def ended(self, name: str) -> Any:
        """How the program of a run ended, as the store has it: reason and status."""
        stop = json.loads(self.anchored("show", name, "--json").out)["stop"]
        return stop["reason"], stop["status"]

    def left(self, name: str) -> list[int]:
        """Processes whose environment names an attempt: those that are there after two seconds, which end here."""
        deadline = time.monotonic() + 2
        while (found := self._processes(name)) and time.monotonic() < deadline:
            time.sleep(0.05)
        for process in found:
            os.kill(process, signal.SIGKILL)
        return found

    def _processes(self, name: str) -> list[int]:
        wanted = f"ANCHORED_ATTEMPT={self.folder}".encode(), f"/runs/{name}.sqlite".encode()
        found: list[int] = []
        for path in Path("/proc").glob("[0-9]*/environ"):
            try:
                variables = path.read_bytes().split(b"\0")
            except OSError:
                continue
            if any(variable.startswith(wanted[0]) and variable.endswith(wanted[1]) for variable in variables):
                found.append(int(path.parent.name))
        return found

    def _environment(self) -> dict[str, str]:
        outside = {name: text for name, text in os.environ.items() if not name.startswith("ANCHORED_")}
        return {
            **outside,
            "OPENAI_BASE_URL": self.endpoint.url,
            "OPENAI_API_KEY": "none",
            "NO_PROXY": "127.0.0.1",
            "NO_COLOR": "1",
            **{name: text.replace("{python}", sys.executable) for name, text in self.environment.items()},
        }


def row_of(place: Place, done: Done, *, expected: int, name: str, prefix: list[Call] | None = None) -> Row:
    """The row of a replay, once nothing of it is left.

    Args:
        place: where it ran.
        done: the command.
        expected: exit status.
        name: of the attempt.
        prefix: the recorded calls before the anchor, which are known again by the digest of what was asked; without an
            anchor every call is one too early.
    """
    left = place.left(name)
    calls = place.endpoint.calls()[done.first :]
    known = {call.digest for call in prefix or ()}
    verdict = str(done.attempt.get("verdict", "refused before the start" if done.status == 4 else "none"))
    divergence = done.attempt.get("divergence") or {}
    return Row(
        expected=expected,
        found=done.status,
        verdict=verdict + (f": {divergence['kind']}" if divergence else ""),
        before=sum(prefix is None or call.digest in known for call in calls),
        live=len(calls),
        left=len(left),
        to_end=done.attempt.get("seconds_to_end"),
    )


@pytest.fixture(scope="session")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningEndpoint]:
    folder = tmp_path_factory.mktemp("endpoint")
    (folder / "script.py").write_text(SCRIPT)
    with running_endpoint(folder / "script.py", log=folder / "endpoint.jsonl") as made:
        yield made


@pytest.fixture
def place(tmp_path: Path, endpoint: RunningEndpoint) -> Place:
    """A folder of this test's own."""
    return Place(folder=tmp_path, endpoint=endpoint)


@pytest.fixture(scope="session")
def matrix() -> Iterator[Matrix]:
    """Where tests leave their rows; written to the file that ANCHORED_LAUNCHING names, if all of them ran."""
    made = Matrix(
        launching=[way.name for way in (*WAYS, *UNRECORDED, *RESTARTS, *REFUSALS)],
        misbehaving=[row.name for row in (*DIVERGENCES, *ENDINGS, *TEAMS)],
    )
    yield made
    path = os.environ.get("ANCHORED_LAUNCHING")
    if path and not made.missing():
        made.write(Path(path))
