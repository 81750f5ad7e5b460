"""A program on uvloop, whose connections are native code: observed at the doors, guarded outside of them."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from anchored.testing import running_endpoint

from .conftest import Done, Stand
from .subjects import OPENAI3

PROGRAMS = Path(__file__).parent / "programs"


class LoopStand(Stand):
    """A stand in an environment that has uvloop."""

    def anchored(self, *arguments: str, **environment: str) -> Done:
        return self.run(str(OPENAI3), "-m", "anchored", *arguments, **environment)


@pytest.fixture(scope="module")
def loop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LoopStand]:
    if not OPENAI3.exists():
        pytest.skip(f"{OPENAI3.parents[1].name} is not there: make stands")
    folder = tmp_path_factory.mktemp("loop")
    shutil.copy(PROGRAMS / "uvloop_clients.py", folder / "program.py")
    with running_endpoint(PROGRAMS / "http_clients_script.py", log=folder / "endpoint.jsonl") as endpoint:
        yield LoopStand(folder=folder, endpoint=endpoint, environment={"ANCHORED_TEST_URL": endpoint.url})


def record(loop: LoopStand, mode: str) -> Done:
    done = loop.anchored("record", "--name", mode, "--", str(OPENAI3), "program.py", mode)
    assert done.status == 0, done.err
    return done


def test_clients_on_uvloop_replay_exactly(loop: LoopStand) -> None:
    """httpx and aiohttp, identical concurrent requests with different answers too; nothing went past the boundary."""
    recorded = record(loop, "plain")
    assert "connection to" not in recorded.err
    calls = loop.calls()
    for _ in range(2):
        done = loop.anchored("replay", "plain", "--show-output")
        assert (done.status, done.out) == (0, recorded.out), done.err
    assert loop.calls() == calls


@pytest.mark.parametrize("mode", ["connect", "look_up", "start", "send"])
def test_what_uvloop_reaches_by_itself_is_refused(loop: LoopStand, mode: str) -> None:
    """Guard: a connection, a name, a child without the boundary, a datagram: listed while recording, refused after."""
    recorded = record(loop, mode)
    told = "child without boundary" if mode == "start" else "connection to "
    assert told in recorded.err, recorded.err
    calls = loop.calls()
    refused, attempt = loop.replay(mode)
    assert refused.status == 4, (refused.err, attempt)
    assert attempt["details"]["cause"] == "guard"
    assert loop.calls() == calls
