"""Issue 4: adapters have one shape, come by entry points, are loaded lazily, and can be left out.

The adapter is the one of docs/adapters.md, as it stands there, for an invented framework.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from anchored.testing import running_endpoint

from .conftest import Done, Stand

PAGE = Path(__file__).resolve().parents[2] / "docs" / "adapters.md"

HIVE = """
import os
import httpx


class Agent:
    def __init__(self, name):
        self.name = name


class Model:
    def complete(self, messages, *, agent):
        url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
        body = {"model": "scripted-1", "messages": messages}
        return httpx.post(url, json=body).json()["choices"][0]["message"]["content"]


class Tool:
    def __init__(self, function):
        self.function, self.name = function, function.__name__

    async def invoke(self, call):
        return self.function(**call.arguments)


class Call:
    def __init__(self, agent, arguments, id):
        self.agent, self.arguments, self.id = agent, arguments, id
"""

PROGRAM = """
import asyncio, os, sys
import hive

def weather(city):
    open(os.environ["TOOL_LOG"], "a").write(city + "\\n")
    return city + " is dry"

agent = hive.Agent("scout")
found = asyncio.run(hive.Tool(weather).invoke(hive.Call(agent, {"city": "Rome"}, "call_1")))
print(hive.Model().complete([{"role": "user", "content": found}], agent=agent))
print("hive_adapter" in sys.modules, file=sys.stderr)
"""

SCRIPT = """
from anchored.testing import Reply, Rule, Script
echo = Reply.text(lambda request: "about " + request.last.text)
script = Script(rules=[Rule(name="all", when=lambda request: True, replies=echo)])
"""


@pytest.fixture(scope="module")
def hive(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stand]:
    """A framework, and the adapter of the page as another distribution."""
    folder = tmp_path_factory.mktemp("hive")
    code = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)[0]
    (folder / "hive.py").write_text(HIVE)
    (folder / "hive_adapter.py").write_text(code)
    for name, version, points in (
        ("hive_agents", "2.1.0", ""),
        ("anchored_hive", "1.0", "[anchored.adapters]\nhive = hive_adapter:ADAPTER\n"),
    ):
        about = folder / f"{name}-{version}.dist-info"
        about.mkdir()
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name.replace('_', '-')}\nVersion: {version}\n")
        (about / "entry_points.txt").write_text(points)
    (folder / "team.py").write_text(PROGRAM)
    (folder / "plain.py").write_text("import sys, httpx\nprint('hive_adapter' in sys.modules)\n")
    (folder / "script.py").write_text(SCRIPT)
    with running_endpoint(folder / "script.py", log=folder / "endpoint.jsonl") as endpoint:
        yield Stand(folder=folder, endpoint=endpoint, environment={"PYTHONPATH": str(folder)})


def recorded(hive: Stand, name: str, *options: str) -> tuple[Done, list[dict[str, object]]]:
    done = hive.anchored("record", "--name", name, *options, "--", sys.executable, "team.py")
    assert done.status == 0, done.err
    return done, hive.show(name)["events"]


def test_the_adapter_of_the_page_works(hive: Stand) -> None:
    """It says who acts and which tool is called, and the tool never runs in a replay."""
    done, events = recorded(hive, "hive")
    assert done.out == "about Rome is dry\n"
    assert "proved on" not in done.err
    assert [(event["kind"], event["agent"], event["name"]) for event in events] == [
        ("execute_tool", "scout", "weather"),
        ("chat", "scout", "scripted-1"),
    ]
    runs, calls = hive.tool_runs(), hive.calls()
    exact, attempt = hive.replay("hive")
    assert exact.status == 0, (exact.err, attempt)
    assert (hive.tool_runs(), hive.calls()) == (runs, calls)


def test_an_adapter_is_loaded_when_its_framework_is(hive: Stand) -> None:
    done = hive.anchored("record", "--name", "lazy", "--", sys.executable, "plain.py")
    assert (done.status, done.out) == (0, "False\n")
    assert recorded(hive, "loaded")[0].err.startswith("True\n")


def test_an_adapter_can_be_left_out_in_replays_too(hive: Stand) -> None:
    """The recording remembers it: what the adapter would say is in no entry, so a replay must do without it as well."""
    _, events = recorded(hive, "without", "--without", "hive", "--without", "other")
    assert [(event["kind"], event["agent"]) for event in events] == [("chat", None)]
    exact, attempt = hive.replay("without")
    assert exact.status == 0, (exact.err, attempt)
    recorded(hive, "with")
    exact, attempt = hive.replay("with", ANCHORED_WITHOUT="hive")
    assert exact.status == 0, (exact.err, attempt)


def test_another_version_is_said_once_and_another_inside_is_refused(hive: Stand) -> None:
    about = hive.folder / "hive_agents-2.1.0.dist-info" / "METADATA"
    held = about.read_text()
    about.write_text(held.replace("2.1.0", "3.0"))
    try:
        done, _ = recorded(hive, "newer")
        assert done.err.count("the adapter hive is proved on hive-agents 2.1.0, not 3.0") == 1
    finally:
        about.write_text(held)
    source = (hive.folder / "hive.py").read_text()
    (hive.folder / "hive.py").write_text(source.replace("async def invoke", "async def call"))
    try:
        done = hive.anchored("record", "--", sys.executable, "team.py")
        assert done.status == 125
        assert "--without hive" in done.err
        assert "2.1.0" in json.dumps(done.err)
    finally:
        (hive.folder / "hive.py").write_text(source)
