"""Programs that call with aiohttp, requests, urllib3, urllib.request and http.client are recorded and replayed exactly.

All of it is issue 4: a framework may call with any client, and none may go past the boundary.
"""

import json
import shutil
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from anchored.testing import running_endpoint

from .conftest import Done, Stand

PROGRAMS = Path(__file__).parent / "programs"
CLIENTS = ("aiohttp", "requests", "urllib3", "urllib", "http.client")
MODES = "whole,streamed,between,early,cut,cutstream,refused,timeout,retried,racing"
"""Of them all but these are in every client; `http.client` and `urllib` decode no content."""

DECODING = ("aiohttp", "requests", "urllib3")
FOLLOWING = ("aiohttp", "requests", "urllib3")
"""Clients that repeat a POST where a redirect points."""


class _Redirect(BaseHTTPRequestHandler):
    """Points to where the endpoint is."""

    target = ""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(307)
        self.send_header("Location", self.target)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing."""


@pytest.fixture(scope="module", params=CLIENTS)
def client(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Stand, str]]:
    """A stand whose endpoint is up, and the client's name; its run through all modes is recorded as `all`."""
    name = str(request.param)
    folder = tmp_path_factory.mktemp(name.replace(".", ""))
    shutil.copy(PROGRAMS / "http_clients.py", folder / "program.py")
    with running_endpoint(PROGRAMS / "http_clients_script.py", seed=5, log=folder / "endpoint.jsonl") as endpoint:
        stand = Stand(folder=folder, endpoint=endpoint, environment={"ANCHORED_TEST_URL": endpoint.url})
        _Redirect.target = endpoint.url + "/chat/completions"
        with ThreadingHTTPServer(("127.0.0.1", 0), _Redirect) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            modes = MODES + (",gzip" if name in DECODING else "")
            done = stand.record("all", "program.py", name, modes)
            assert done.status == 0, done.err
            assert "connection to" not in done.err, "nothing went past the boundary"
            (folder / "all.out").write_text(done.out)
            if name in FOLLOWING:
                stand.environment["REDIRECT_URL"] = f"http://127.0.0.1:{server.server_port}/"
                redirected = stand.record("redirected", "program.py", name, "redirect")
                assert redirected.status == 0, redirected.err
                (folder / "redirected.out").write_text(redirected.out)
            server.shutdown()
        yield stand, name


def replayed(stand: Stand, run: str, *arguments: str) -> Done:
    """A replay without a live call."""
    calls = stand.calls()
    done = stand.anchored("replay", run, "--show-output", *arguments)
    assert stand.calls() == calls
    return done


def test_every_way_of_calling_replays_exactly(client: tuple[Stand, str]) -> None:
    """Whole, streamed, with calls between, closed early, cut, refused, timed out, retried, racing: the same output."""
    stand, _ = client
    done = replayed(stand, "all")
    assert done.status == 0, done.err
    assert done.out == (stand.folder / "all.out").read_text()


def test_an_endpoint_on_another_port_changes_nothing(client: tuple[Stand, str]) -> None:
    """Loopback ports are free, and errors are those of the recording, with the port that they named."""
    stand, _ = client
    done = stand.anchored("replay", "all", "--show-output", ANCHORED_TEST_URL="http://127.0.0.1:9/v1")
    assert (done.status, done.out) == (0, (stand.folder / "all.out").read_text()), done.err


def test_what_came_of_each_call_is_recorded(client: tuple[Stand, str]) -> None:
    """A refused connection, a time-out and a cut are failures; the SDK's own repetitions are calls of their own."""
    stand, name = client
    outcomes = [event["outcome"] for event in stand.show("all")["events"]]
    assert outcomes.count("failure") >= {"urllib3": 7}.get(name, 5)
    assert {event["kind"] for event in stand.show("all")["events"]} <= {"chat", "http"}


def test_redirects_are_calls_of_their_own(client: tuple[Stand, str]) -> None:
    """Each send is an event, and all are served without the servers."""
    stand, name = client
    if name not in FOLLOWING:
        pytest.skip("this client does not repeat a POST where a redirect points")
    assert [event["kind"] for event in stand.show("redirected")["events"]] == ["http", "chat", "chat"]
    done = replayed(stand, "redirected")
    assert (done.status, done.out) == (0, (stand.folder / "redirected.out").read_text()), done.err


def test_a_changed_prompt_diverges_and_the_door_answers_403(client: tuple[Stand, str]) -> None:
    """Fail closed: nothing goes live, and every later request gets the constant answer."""
    stand, name = client
    text = (stand.folder / "program.py").read_text()
    (stand.folder / "changed.py").write_text(
        text.replace('whole("whole")', 'whole("other")', 2).replace('"whole")', '"other")')
    )
    done = replayed(stand, "all", "--", sys.executable, "changed.py", name, "whole")
    assert done.status == 3, (done.out, done.err)
    assert done.out.startswith("403 "), done.out


def test_guidance_is_in_the_anchors_request_once(client: tuple[Stand, str]) -> None:
    """An intervention changes a copy of what is sent, with a length that fits."""
    stand, name = client
    (stand.folder / "calls").write_text("")
    if stand.record("short", "program.py", name, "whole").status != 0:
        pytest.fail("the program cannot be recorded")
    last = stand.show("short")["events"][-1]["position"]
    calls = stand.calls()
    done, attempt = stand.replay("short", "--at", str(last), "--guide", "Speak of lamps.", "--no-control")
    assert done.status == 0, (done.err, attempt)
    assert stand.calls() == calls + 1
    shown = stand.anchored("show", attempt["name"], "--event", str(last), "--json").json
    assert "Speak of lamps." not in json.dumps(shown["request"])
    assert "Speak of lamps." in json.dumps(shown["result"])


def test_a_program_decodes_a_body_itself(tmp_path: Path) -> None:
    """What a replay could not hand out is refused with the reason: bodies are kept decoded, without encoding."""
    (tmp_path / "program.py").write_text(GUNZIPS)
    with running_endpoint(PROGRAMS / "http_clients_script.py", log=tmp_path / "endpoint.jsonl") as endpoint:
        stand = Stand(folder=tmp_path, endpoint=endpoint)
        recorded = stand.record("gunzips", "program.py")
        assert recorded.status == 0, recorded.err
        refused = stand.anchored("replay", "gunzips")
    assert refused.status == 4
    assert "an encoded body that the program decodes itself" in refused.err


GUNZIPS = """
import gzip, json, os, urllib.request

body = json.dumps({"model": "scripted-1", "messages": [{"role": "user", "content": "gzip"}]}).encode()
asked = urllib.request.Request(os.environ["OPENAI_BASE_URL"] + "/chat/completions", body)
with urllib.request.urlopen(asked) as done:
    assert done.headers["content-encoding"] == "gzip"
    print(json.loads(gzip.decompress(done.read()))["model"])
"""
