"""Tools of MCP servers are recorded and served at the client session, over standard streams and over HTTP.

Issue 4, "framework-native systems": whatever framework holds the session, a tool does not run in a replay's prefix.
"""

import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from anchored.testing import running_endpoint

from .conftest import Done, Stand, running_tools
from .subjects import OPENAI2, OPENAI3

PROGRAMS = Path(__file__).parent / "programs"
LOOK = 6
SWITCH = 10


class ToolStand(Stand):
    """A stand whose program and command run in one of the framework environments."""

    python: Path
    transport: str
    port: int

    def anchored(self, *arguments: str, **environment: str) -> Done:
        return self.run(str(self.python), "-m", "anchored", *arguments, **environment)

    def ran(self) -> list[str]:
        """What the server and its tools have noted."""
        return self.tool_log.read_text().splitlines() if self.tool_log.exists() else []

    @contextmanager
    def serving(self) -> Iterator[None]:
        """The server over HTTP, if that is the transport; over standard streams the program starts it."""
        if self.transport == "stdio":
            yield
            return
        with running_tools(self.python, self.folder / "mcp_server.py", self.tool_log, port=self.port):
            yield


@pytest.fixture(
    scope="module",
    params=[
        pytest.param((python, transport), id=f"{name}-{transport}")
        for name, python in (("mcp1", OPENAI2), ("mcp2", OPENAI3))
        for transport in ("stdio", "http")
    ],
)
def tools(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ToolStand]:
    """A run with a tool server, recorded as `run`; over HTTP, the server has ended since."""
    python, transport = request.param
    if not python.exists():
        pytest.skip(f"{python.parents[1].name} is not there: make stands")
    folder = tmp_path_factory.mktemp("tools")
    for name in ("mcp_server.py", "mcp_clients.py"):
        shutil.copy(PROGRAMS / name, folder / name)
    with running_endpoint(PROGRAMS / "http_clients_script.py", log=folder / "endpoint.jsonl") as endpoint:
        stand = ToolStand(folder=folder, endpoint=endpoint, environment={"ANCHORED_TEST_URL": endpoint.url})
        stand.python, stand.transport = python, transport
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            stand.port = free.getsockname()[1]
        stand.environment["MCP_PORT"] = str(stand.port)
        with stand.serving():
            done = stand.anchored("record", "--name", "run", "--", str(python), "mcp_clients.py", transport)
        assert done.status == 0, done.err
        (folder / "run.out").write_text(done.out)
        yield stand


def test_requests_to_a_tool_server_are_crossings(tools: ToolStand) -> None:
    """What a server says of its tools is their declared effect; what passes the transport is nothing of its own, and a
    call that a framework's adapter has recorded is recorded once.
    """
    shown = tools.show("run")
    events = [(event["kind"], event["name"], event["outcome"]) for event in shown["events"]]
    assert events == [
        ("retrieve", "mcp initialize", "success"),
        ("retrieve", "mcp tools/list", "success"),
        ("chat", "scripted-1", "success"),
        ("execute_tool", "look", "success"),
        ("chat", "scripted-1", "success"),
        ("execute_tool", "switch", "success"),
        ("execute_tool", "broken", "failure"),
        ("execute_tool", "lamps_look", "success"),
        ("execute_tool", "look", "success"),
        ("execute_tool", "look", "success"),
        ("chat", "scripted-1", "success"),
    ]
    assert [note for note in shown["notes"] if note["note"] in ("unobserved", "foreign")] == []
    effects = {
        name: tools.anchored("show", "run", "--event", str(position), "--json").json["begin"]["effect"]
        for name, position in (("look", LOOK), ("switch", SWITCH), ("broken", SWITCH + 2))
    }
    assert effects == {"look": "read", "switch": "write", "broken": None}


def test_a_full_replay_needs_no_server(tools: ToolStand) -> None:
    """Neither is one started, nor called: all is served."""
    before, calls = tools.ran(), tools.calls()
    done = tools.anchored("replay", "run", "--show-output")
    assert done.status == 0, done.err
    assert done.out == (tools.folder / "run.out").read_text()
    assert (tools.ran(), tools.calls()) == (before, calls)


def test_equal_calls_at_once_are_events_of_their_own(tools: ToolStand) -> None:
    """A call stands for no other one: neither is missing, and a replay gives each what it had."""
    mode = f"{tools.transport}_parallel"
    before = len(tools.ran())
    with tools.serving():
        recorded = tools.anchored("record", "--name", "parallel", "--", str(tools.python), "mcp_clients.py", mode)
    assert recorded.status == 0, recorded.err
    rolled = sum(line.startswith("roll") for line in tools.ran()[before:])
    events = [event["kind"] for event in tools.show("parallel")["events"]]
    assert events.count("execute_tool") == rolled == 4
    done = tools.anchored("replay", "parallel", "--show-output")
    assert (done.status, done.out) == (0, recorded.out), done.err


def test_behind_the_anchor_the_server_is_there(tools: ToolStand) -> None:
    """It hears the handshake that the session has had; tools of the prefix did not run."""
    with tools.serving():
        before = len(tools.ran())
        done = tools.anchored("replay", "run", "--at", str(SWITCH), "--effects", "allow")
        assert done.status == 0, done.err
        ran = tools.ran()[before:]
        assert [line for line in ran if line != "server started"][:2] == ["switch the lamp", "broken that lamp"]
        assert "look the lamp" not in ran
        refused = tools.anchored("replay", "run", "--at", str(SWITCH))
        assert refused.status == 4, "the server says that it writes"
        assert "switch" in refused.err
