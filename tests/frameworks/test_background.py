"""Background HTTP: threads send heartbeats with ids and times in them while a program asks its model.

Declared, they stand outside the order and nothing of them goes out in a replay; undeclared, they diverge and the
message says what to declare (design: The boundary, Background HTTP).
"""

import json
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from anchored.library import load
from anchored.testing import running_endpoint

from .conftest import Stand
from .test_boundary import HEAD, SCRIPT

SENDERS = {
    "httpx": "httpx.post(url, json=body).json()",
    "urllib": "json.load(urllib.request.urlopen(urllib.request.Request(url, data=json.dumps(body).encode())))",
    "aiohttp": "asyncio.run(send(url, body))",
}

BEATING = """
import asyncio, json, random, threading, time, uuid, urllib.request

stop = threading.Event()
answers = []


async def send(url, body):
    import aiohttp

    async with aiohttp.ClientSession() as session:
        async with session.post(url, json=body) as response:
            return await response.json()


def beat(path):
    while not stop.is_set():
        url = os.environ["BEATS"] + path
        body = {"id": uuid.uuid4().hex, "time": time.time(), "said": len(answers)}
        answers.append(SEND)
        stop.wait(random.random() * 0.01)


threads = [threading.Thread(target=beat, args=(path,)) for path in ("/heartbeat", "/v1/traces?key=1")]
for thread in threads:
    thread.start()
text = "start"
for turn in range(4):
    text = ask(f"number {turn} {text[-40:]}")
while len(answers) < 2:
    time.sleep(0.01)
stop.set()
for thread in threads:
    thread.join()
print(text, sorted({answer["from"] for answer in answers}))
"""


@dataclass
class Beats:
    """A server that telemetry goes to, and what came."""

    url: str = ""
    came: list[dict[str, Any]] = field(default_factory=list)


@pytest.fixture(scope="module")
def beats() -> Iterator[Beats]:
    seen = Beats()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            seen.came.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            body = json.dumps({"from": self.path.partition("?")[0]}).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    seen.url = f"http://127.0.0.1:{server.server_port}"
    yield seen
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(scope="module")
def beating(tmp_path_factory: pytest.TempPathFactory, beats: Beats) -> Iterator[Stand]:
    folder = tmp_path_factory.mktemp("beating")
    (folder / "script.py").write_text(SCRIPT)
    for name, sender in SENDERS.items():
        (folder / f"{name}_team.py").write_text(HEAD + BEATING.replace("SEND", sender))
    with running_endpoint(folder / "script.py", log=folder / "endpoint.jsonl") as endpoint:
        yield Stand(folder=folder, endpoint=endpoint, environment={"BEATS": beats.url})


DECLARED = ("--background", "127.0.0.1/heartbeat", "--background", "127.0.0.1/v1/traces")
NAMES = ["POST 127.0.0.1/heartbeat", "POST 127.0.0.1/v1/traces"]


def record(stand: Stand, name: str, program: str, *options: str) -> None:
    done = stand.anchored("record", "--name", name, *options, "--", sys.executable, program)
    assert done.status == 0, done.err


def receipt(attempt: dict[str, Any], stand: Stand) -> dict[str, Any]:
    return json.loads((stand.folder / attempt["receipt"]).read_text())["predicate"]


@pytest.mark.parametrize("client", SENDERS)
def test_declared_heartbeats_stand_outside_the_order(beating: Stand, beats: Beats, client: str) -> None:
    """No event, real while recording, served what was got then before the anchor and behind it; on the receipt."""
    before = len(beats.came)
    record(beating, client, f"{client}_team.py", *DECLARED)
    assert len(beats.came) > before, "recording changes nothing: they go out"
    shown = beating.show(client)
    assert [event["kind"] for event in shown["events"]] == ["chat"] * 4
    came = len(beats.came)
    for options in ((), ("--at", "4")):
        done, attempt = beating.replay(client, *options)
        assert done.status == 0, done.err
        assert receipt(attempt, beating)["background"] == NAMES
        said = (beating.folder / ".anchored" / "runs" / f"{attempt['name']}.out").read_text()
        assert said.endswith("['/heartbeat', '/v1/traces']\n"), said
    assert len(beats.came) == came, "nothing goes out in a replay"
    verified = beating.anchored("verify", attempt["receipt"])
    assert verified.status == 0, verified.err


def test_what_was_never_answered_gets_an_empty_answer(beating: Stand, beats: Beats) -> None:
    """Declared at the replay alone, where the recording has no such request."""
    quiet = "import threading\nthreads = []\n" + 'print(ask("one"), [key for key in extra()])\n'
    late = 'def extra():\n    return httpx.post(os.environ["BEATS"] + "/late", json={}).json() if LATE else {}\n'
    (beating.folder / "late.py").write_text(HEAD + 'LATE = os.environ.get("LATE")\n' + late + quiet)
    record(beating, "late", "late.py")
    came = len(beats.came)
    done, attempt = beating.replay("late", "--background", "127.0.0.1/late", LATE="1")
    assert done.status == 0, done.err
    assert receipt(attempt, beating)["background"] == ["POST 127.0.0.1/late"]
    done, attempt = beating.replay("late", LATE="1")
    assert (done.status, attempt["verdict"]) == (3, "diverged")
    assert len(beats.came) == came


def test_undeclared_heartbeats_diverge_and_the_message_says_what_to_declare(beating: Stand, beats: Beats) -> None:
    record(beating, "undeclared", "httpx_team.py")
    came = len(beats.came)
    done = beating.anchored("replay", "undeclared")
    assert done.status in (3, 4), done.err
    assert "record again with --background 127.0.0.1/" in done.err
    assert len(beats.came) == came
    refused = beating.anchored("replay", "undeclared", *DECLARED)
    assert refused.status == 4
    assert "Record again with --background" in refused.err


def test_a_model_call_is_never_background(beating: Stand, tmp_path: Path) -> None:
    """Recorded as ever, said, and no replay of it is admitted; a replay with such a pattern ends at the call."""
    (beating.folder / "plainly.py").write_text(HEAD + 'print(ask("one"))\n')
    done = beating.anchored(
        "record", "--name", "wide", "--background", "127.0.0.1/*", "--", sys.executable, "plainly.py"
    )
    assert done.status == 0
    assert "--background 127.0.0.1/* matches a model call" in done.err.replace("\n", " ").replace("  ", " ")
    assert [event["kind"] for event in beating.show("wide")["events"]] == ["chat"]
    refused = beating.anchored("replay", "wide")
    assert refused.status == 4
    assert "never background" in refused.err
    record(beating, "plainly", "plainly.py")
    calls = beating.calls()
    done, attempt = beating.replay("plainly", "--background", "127.0.0.1/*")
    assert (done.status, attempt["verdict"]) == (4, "refused")
    assert "--background 127.0.0.1/* matches" in attempt["reason"]
    assert beating.calls() == calls


def test_answers_are_kept_when_they_change(beating: Stand, beats: Beats) -> None:
    """Notes hold an answer once for each method and path, and again where it is another."""
    record(beating, "kept", "httpx_team.py", *DECLARED)
    notes = load(next((beating.folder / ".anchored").rglob("kept.sqlite"))).notes_of("background")
    assert {(note["method"], note["path"], note["status"]) for note in notes} == {
        ("POST", "/heartbeat", 200),
        ("POST", "/v1/traces", 200),
    }
    assert sorted(note["path"] for note in notes if "body" in note) == ["/heartbeat", "/v1/traces"]
