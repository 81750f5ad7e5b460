"""kill −9 while recording: all that was acknowledged is there, what was pending is pending, nothing is a success."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from anchored.testing import running_endpoint

from .conftest import COMMAND, DEMO, Stand, make_stand

PROGRAM = """
import os, signal, sys
import httpx
import anchored

moment = sys.argv[1]
url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"


def die(here):
    if moment == here:
        os.kill(os.getpid(), signal.SIGKILL)


class Dying(httpx.HTTPTransport):
    def handle_request(self, request):
        die("before sending")
        response = super().handle_request(request)
        die("before reading")
        return response


@anchored.tool(effect="write")
def store(text):
    with open(os.environ["TOOL_LOG"], "a") as file:
        file.write(text + "\\n")
    die("inside a tool")
    return len(text)


def ask(client, text):
    body = {"model": "scripted-1", "messages": [{"role": "user", "content": text}]}
    return client.post(url, json=body).json()["choices"][0]["message"]["content"]


with httpx.Client() as client:
    text = ask(client, "one")
die("between events")
store(text)
with httpx.Client(transport=Dying()) as client:
    ask(client, "two")
die("at the end")
"""

SCRIPT = """
from anchored.testing import Reply, Rule, Script
script = Script(rules=[Rule(name="all", when=lambda request: True, replies=Reply.text("an answer"))])
"""


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stand]:
    folder = tmp_path_factory.mktemp("kills")
    (folder / "script.py").write_text(SCRIPT)
    (folder / "program.py").write_text(PROGRAM)
    with running_endpoint(folder / "script.py", log=folder / "endpoint.jsonl") as endpoint:
        yield Stand(folder=folder, endpoint=endpoint)


@pytest.mark.parametrize(
    ("moment", "outcomes", "calls", "tools"),
    [
        ("between events", ["success"], 1, 0),
        ("inside a tool", ["success", "pending"], 1, 1),
        ("before sending", ["success", "success", "pending"], 1, 1),
        ("before reading", ["success", "success", "pending"], 2, 1),
        ("at the end", ["success", "success", "success"], 2, 1),
    ],
)
def test_killed_recorder(plain: Stand, moment: str, outcomes: list[str], calls: int, tools: int, figures: Any) -> None:
    """Every call that the endpoint saw and every tool that ran has its begin; a begin without an end is pending."""
    name = moment.replace(" ", "-")
    calls_before, tools_before = plain.calls(), plain.tool_runs()
    done = plain.record(name, "program.py", moment)
    assert done.status == 128 + signal.SIGKILL, done.err
    assert plain.calls() - calls_before == calls
    assert plain.tool_runs() - tools_before == tools
    shown = plain.show(name)
    assert [event["outcome"] for event in shown["events"]] == outcomes
    assert shown["stop"]["reason"] == "signal"
    assert plain.anchored("verify", name).status == 0
    figures.add(
        f"kill −9 while recording, {moment}",
        "test_killed_recorder",
        calls_seen=calls,
        tools_run=tools,
        begins_stored=len(outcomes),
        outcomes=" ".join(outcomes),
    )
    if "pending" in outcomes:
        pending = next(event["position"] for event in shown["events"] if event["outcome"] == "pending")
        refused, _ = plain.replay(name)
        assert refused.status == 4
        assert f"still pending: {pending}" in refused.err
        assert f"--at {pending}" in refused.err
    else:
        again, attempt = plain.replay(name)
        assert again.status == 0, (again.err, attempt)
        assert attempt["verdict"] == "exact", "it killed itself at the same place, as the recording says"


def test_killed_parent_and_child_of_a_real_team(tmp_path: Path) -> None:
    """Both processes die; the file loads unsealed, and every call that the endpoint saw has its begin."""
    with running_endpoint(DEMO / "script.py", seed=0, log=tmp_path / "endpoint.jsonl") as endpoint:
        stand = make_stand(tmp_path, endpoint)
        parent = subprocess.Popen(
            [str(COMMAND), "record", "--name", "killed", "--", sys.executable, "team.py"],
            cwd=tmp_path,
            env={**os.environ, "OPENAI_BASE_URL": endpoint.url, "NO_PROXY": "127.0.0.1"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        deadline = time.monotonic() + 60
        while stand.calls() < 5 and time.monotonic() < deadline:
            time.sleep(0.01)
        os.killpg(parent.pid, signal.SIGKILL)
        parent.wait()
        seen = stand.calls()
    shown = stand.show("killed")
    assert shown["sealed"] is False
    assert shown["stop"] is None
    assert sum(1 for event in shown["events"] if event["kind"] == "chat") >= seen >= 5
    assert "unsealed" in stand.anchored("list").out
    assert "unsealed" in stand.anchored("verify", "killed").out
