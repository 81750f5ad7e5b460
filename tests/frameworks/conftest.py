"""A stand for real runs: a folder with a program, a store, and the scripted endpoint as a process of its own.

Calls are counted by the endpoint's log, tool runs by a file that the tools' bodies append to.
"""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from anchored.testing import RunningEndpoint, running_endpoint

DEMO = Path(__file__).parents[2] / "demo"
COMMAND = Path(sys.executable).with_name("anchored")


@dataclass(frozen=True, kw_only=True)
class Done:
    """A finished command."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@dataclass(kw_only=True)
class Stand:
    """Where a program runs."""

    folder: Path
    endpoint: RunningEndpoint
    environment: dict[str, str] = field(default_factory=dict)

    def run(self, *command: str, **environment: str) -> Done:
        done = subprocess.run(
            command,
            cwd=self.folder,
            env={
                **os.environ,
                "OPENAI_BASE_URL": self.endpoint.url,
                "TOOL_LOG": str(self.tool_log),
                "NO_PROXY": "127.0.0.1",
                "NO_COLOR": "1",
                **self.environment,
                **environment,
            },
            capture_output=True,
            text=True,
            check=False,
            timeout=240,
        )
        return Done(status=done.returncode, out=done.stdout, err=done.stderr)

    def anchored(self, *arguments: str, **environment: str) -> Done:
        return self.run(str(COMMAND), *arguments, **environment)

    def record(self, name: str, program: str = "team.py", *arguments: str) -> Done:
        return self.anchored("record", "--name", name, "--", sys.executable, program, *arguments)

    def replay(self, name: str, *arguments: str, **environment: str) -> tuple[Done, dict[str, Any]]:
        """A replay's end and the document of its one attempt."""
        done = self.anchored("replay", name, "--json", *arguments, **environment)
        return done, (done.json[0] if done.out.startswith("[") else {})

    def show(self, name: str) -> dict[str, Any]:
        done = self.anchored("show", name, "--json")
        assert done.status == 0, done.err
        return done.json

    @property
    def tool_log(self) -> Path:
        return self.folder / "tools.jsonl"

    def tool_runs(self) -> int:
        return len(self.tool_log.read_text().splitlines()) if self.tool_log.exists() else 0

    def calls(self) -> int:
        return len(self.endpoint.calls())

    def program(self, name: str, *changes: tuple[str, str]) -> str:
        """The demo team with some of its text changed; each change must hit."""
        text = (DEMO / "team.py").read_text(encoding="utf-8")
        for old, new in changes:
            assert old in text, old
            text = text.replace(old, new)
        (self.folder / name).write_text(text, encoding="utf-8")
        return name


@contextmanager
def running_tools(python: Path, program: Path, log: Path, *, port: int = 0) -> Iterator[int]:
    """A tool server over HTTP for the length of a block, by the interpreter of its environment; gives its port.

    Args:
        log: what its tools append to.
        port: where it listens; 0 takes a free one.
    """
    if not port:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
    server = subprocess.Popen(
        [str(python), str(program), "streamable-http", str(port)],
        env={**os.environ, "TOOL_LOG": str(log)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        deadline = time.monotonic() + 60
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                assert server.poll() is None, "the server has ended"
                assert time.monotonic() < deadline, "the server never listened"
                time.sleep(0.1)
        yield port
    finally:
        server.terminate()
        server.wait()


def make_stand(folder: Path, endpoint: RunningEndpoint) -> Stand:
    shutil.copy(DEMO / "team.py", folder / "team.py")
    shutil.copy(DEMO / "anchored.toml", folder / "anchored.toml")
    return Stand(folder=folder, endpoint=endpoint)


@pytest.fixture(scope="session")
def stand(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stand]:
    """The demo team with its default seed, recorded as `first`."""
    folder = tmp_path_factory.mktemp("stand")
    with running_endpoint(DEMO / "script.py", seed=0, log=folder / "endpoint.jsonl") as endpoint:
        made = make_stand(folder, endpoint)
        done = made.record("first")
        assert done.status == 0, done.err
        yield made
