"""Edits, other models and functions at the anchor of real programs: the endpoint's own log of bytes is what counts."""

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

import anchored
from anchored.errors import UsageError

from .conftest import Done, Stand

VERIFIER = Path(__file__).parents[2] / "tools" / "verify_receipt.py"
COLDER = '[{"op": "test", "path": "/model", "value": "m-1"}, {"op": "replace", "path": "/temperature", "value": 0.10}]'
CHANGES = """
def colder(request):
    assert request["method"] == "POST", request
    request["body"]["temperature"] = 0.1


def same(request):
    return request["body"]


def failing(request):
    raise ValueError("no place for it")
"""


@dataclass
class RawEndpoint:
    """An endpoint that keeps the bytes of each request; so many of the next ones are told to come again."""

    url: str
    bodies: list[tuple[str, bytes]] = field(default_factory=list)
    busy: int = 0


@pytest.fixture(scope="module")
def raw() -> Iterator[RawEndpoint]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"])) if "content-length" in self.headers else b""
            while self.headers.get("transfer-encoding") == "chunked":
                size = int(self.rfile.readline(), 16)
                body += self.rfile.read(size)
                self.rfile.readline()
                if not size:
                    break
            endpoint.bodies.append((self.path, body))
            status, kind, answer = 200, "application/json", json.dumps(said(self.path)).encode()
            if endpoint.busy:
                endpoint.busy -= 1
                status, answer = 429, b'{"error": {"message": "busy"}}'
            elif b'"stream": true' in body:
                kind, answer = "text/event-stream", b'data: {"choices": []}\n\ndata: [DONE]\n\n'
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(answer)))
            self.send_header("retry-after-ms", "1")
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    endpoint = RawEndpoint(url=f"http://127.0.0.1:{server.server_port}/v1")
    Thread(target=server.serve_forever, daemon=True).start()
    yield endpoint
    server.shutdown()
    server.server_close()


def said(path: str) -> dict[str, Any]:
    if path.endswith("/messages"):
        return {"role": "assistant", "content": [{"type": "text", "text": "yes"}], "stop_reason": "end_turn"}
    message = {"role": "assistant", "content": "yes"}
    return {"id": "c", "object": "chat.completion", "choices": [{"index": 0, "message": message}], "output": []}


FORMATS = """
import os
import httpx

BASE = os.environ["OPENAI_BASE_URL"]
client = httpx.Client()
json = {"content-type": "application/json"}
talk = '"messages": [{"role": "user", "content": "\\\\u00e9 \\\\/"}]'


def ask(path, rest, *, chunked=False):
    text = '{"model":"m-1", "temperature" : 1.50,  "top_p": 1e0, ' + rest + "}\\n"
    content = (part.encode() for part in (text[:9], text[9:])) if chunked else text.encode()
    client.post(BASE + path, content=content, headers=json)


ask("/chat/completions", talk)
ask("/chat/completions", '"seed": 12345678901234567890, ' + talk)
ask("/responses", '"input": "one"')
ask("/messages", '"max_tokens": 5, ' + talk)
ask("/embeddings", '"input": ["one"]')
ask("/lookup", '"place": "Corvane"')
ask("/chat/completions", talk, chunked=True)
ask("/chat/completions", '"stream": true, ' + talk)
ask("/chat/completions", '"last": null, ' + talk)
"""
NAMES = ("chat", "big integer", "responses", "messages", "embeddings", "http", "chunked request", "streamed answer")


@pytest.fixture(scope="module")
def formats(raw: RawEndpoint, tmp_path_factory: pytest.TempPathFactory) -> tuple[Stand, list[tuple[str, bytes]]]:
    """A program that asks in every format, recorded as `formats`, and what it sent."""
    stand = stand_of(tmp_path_factory.mktemp("formats"), raw, formats=FORMATS)
    bodies = list(raw.bodies)
    assert [event["kind"] for event in stand.show("formats")["events"]][:6] == [
        "chat",
        "chat",
        "chat",
        "chat",
        "embeddings",
        "http",
    ]
    return stand, bodies


def stand_of(folder: Path, raw: RawEndpoint, **programs: str) -> Stand:
    raw.bodies.clear()
    stand = Stand(folder=folder, endpoint=raw, environment={"OPENAI_API_KEY": "sk-invented"})  # type: ignore[arg-type]
    (folder / "changes.py").write_text(CHANGES)
    (folder / "colder.json").write_text(COLDER)
    for name, text in programs.items():
        (folder / f"{name}.py").write_text(text)
        done = stand.record(name, f"{name}.py")
        assert done.status == 0, done.err
    return stand


def replayed(stand: Stand, raw: RawEndpoint, name: str, *arguments: str) -> tuple[Done, dict[str, Any]]:
    raw.bodies.clear()
    return stand.replay(name, *arguments)


@pytest.mark.parametrize("place", range(len(NAMES)), ids=NAMES)
def test_an_edit_changes_the_anchors_request_alone(
    formats: tuple[Stand, list[tuple[str, bytes]]], raw: RawEndpoint, place: int
) -> None:
    """Issue, EditRequest: byte for byte, once, at the anchor; what the log holds is what the program asked."""
    stand, bodies = formats
    done, attempt = replayed(stand, raw, "formats", "--at", str(2 * place), "--edit", "colder.json")
    assert done.status == 0, done.err
    path, body = bodies[place]
    assert body.count(b"1.50") == 1
    assert raw.bodies == [(path, body.replace(b"1.50", b"0.10")), *bodies[place + 1 :]]
    shown, recorded = (
        stand.anchored("show", name, "--event", str(2 * place), "--json").json for name in (attempt["name"], "formats")
    )
    assert shown["request"] == recorded["request"]
    assert shown["sent"]["body"] == {**recorded["request"]["body"], "temperature": 0.1}


def test_another_model_is_asked_and_all_else_is_kept(
    formats: tuple[Stand, list[tuple[str, bytes]]], raw: RawEndpoint
) -> None:
    """Issue, SwapModel: every other byte; and such a replay can be replayed itself."""
    stand, bodies = formats
    done, attempt = replayed(stand, raw, "formats", "--at", "2", "--model", "m-2")
    assert done.status == 0, done.err
    path, body = bodies[1]
    assert raw.bodies == [(path, body.replace(b'"m-1"', b'"m-2"')), *bodies[2:]]
    again, second = replayed(stand, raw, attempt["name"])
    assert (again.status, second["verdict"], raw.bodies) == (0, "exact", [])


@pytest.mark.parametrize("function", ["colder", "same"])
def test_a_function_changes_the_anchors_request_alone(
    formats: tuple[Stand, list[tuple[str, bytes]]], raw: RawEndpoint, function: str
) -> None:
    """Issue, Call: it runs in the child; where it changes nothing the bytes are the program's."""
    stand, bodies = formats
    done, _ = replayed(stand, raw, "formats", "--at", "2", "--call", f"changes:{function}")
    assert done.status == 0, done.err
    path, body = bodies[1]
    changed = json.dumps({**json.loads(body), "temperature": 0.1}, ensure_ascii=False, separators=(",", ":"))
    assert raw.bodies == [(path, body if function == "same" else changed.encode()), *bodies[2:]]


@pytest.mark.parametrize(
    ("option", "value", "kind", "words", "listed"),
    [
        ("--edit", "colder.json", "edit_request", "the request edited: [{", "edit request"),
        ("--model", "m-2", "swap_model", "another model asked: m-2", "swap model"),
        ("--call", "changes:colder", "call", "the request changed by changes:colder, opaque", "call"),
    ],
)
def test_receipts_and_words_tell_what_was_changed(
    formats: tuple[Stand, list[tuple[str, bytes]]], option: str, value: str, kind: str, words: str, listed: str
) -> None:
    """R0-26: kind, digest, and whether it is opaque, which both verifiers read; on the screen in words."""
    stand, _ = formats
    done, attempt = stand.replay("formats", "--at", "0", option, value)
    assert done.status == 0, done.err
    told = json.loads(Path(attempt["receipt"]).read_text())["predicate"]["intervention"]
    assert (told["kind"], told["opaque"]) == (kind, kind == "call")
    assert attempt["intervention"]["kind"] == kind
    leaves = [(run, f"{kind}-{run.partition('.')[2] or 'source'}.leaves") for run in ("formats", attempt["name"])]
    for run, file in leaves:
        assert stand.anchored("export", run, "--leaves", file).status == 0
    verifier = [sys.executable, str(VERIFIER), attempt["receipt"], "--source", leaves[0][1], "--replay", leaves[1][1]]
    verified = subprocess.run(verifier, cwd=stand.folder, capture_output=True, text=True, check=False)
    assert verified.returncode == 0, verified.stdout + verified.stderr
    assert "matches the recordings" in stand.anchored("verify", attempt["receipt"]).out
    assert words in stand.anchored("show", attempt["name"]).out
    assert f"at 0, {listed}" in " ".join(stand.anchored("list").out.split())


def test_trials_name_the_arm_by_what_was_done(formats: tuple[Stand, list[tuple[str, bytes]]]) -> None:
    stand, _ = formats
    for option, value, arm in (("--model", "m-2", "swapped"), ("--call", "changes:same", "called")):
        done = stand.anchored("replay", "formats", "--at", "16", option, value, "--trials", "1")
        assert done.status == 0, done.err
        assert [line.split()[0] for line in done.out.splitlines()[1:3]] == ["control", arm]


@pytest.mark.parametrize("given", [{"edit": "colder.json"}, {"model": "m-2"}, {"call": "changes:colder"}], ids=str)
def test_python_does_the_same(
    formats: tuple[Stand, list[tuple[str, bytes]]],
    raw: RawEndpoint,
    monkeypatch: pytest.MonkeyPatch,
    given: dict[str, Any],
) -> None:
    """Issue, from Python: `anchored.replay` takes each of them, by the text that the command line takes."""
    stand, bodies = formats
    monkeypatch.chdir(stand.folder)
    monkeypatch.setenv("OPENAI_BASE_URL", raw.url)
    raw.bodies.clear()
    attempt = anchored.replay("formats", at=16, **given)
    assert attempt.verdict.holds, attempt.words()
    ((path, sent),) = raw.bodies
    path_recorded, body = bodies[8]
    changed = {"model": "m-2"} if "model" in given else {"temperature": 0.1}
    assert (path, json.loads(sent)) == (path_recorded, {**json.loads(body), **changed})
    with pytest.raises(UsageError, match="--guide and --"):
        anchored.replay("formats", at=16, guide="x", **given)
    with pytest.raises(UsageError, match="without --at"):
        anchored.replay("formats", **given)


# ---- Refusals


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        (("--edit", "colder.json"), 2, "--edit without --at"),
        (("--model", "m-2"), 2, "--model without --at"),
        (("--call", "changes:colder"), 2, "--call without --at"),
        (("--at", "0", "--edit", "colder.json", "--model", "m-2"), 2, "--edit and --model"),
        (("--at", "0", "--guide", "x", "--model", "m", "--call", "a:b"), 2, "--guide, --model and --call"),
        (("--at", "0", "--set-result", "colder.json", "--edit", "colder.json"), 2, "--set-result and --edit"),
        (("--at", "0", "--model", ""), 2, "--model with an empty text"),
        (("--at", "0", "--edit", "gone.json"), 2, "gone.json: No such file"),
        (("--at", "0", "--edit", "changes.py"), 2, "no JSON array"),
        (("--at", "0", "--edit", "empty.json"), 2, "it changes nothing"),
        (("--at", "0", "--edit", "spam.json"), 2, "operation 1: op is none of add"),
        (("--at", "0", "--edit", "missing.json"), 4, "operation 1, remove /nothing: there is nothing there"),
        (("--at", "0", "--edit", "test.json"), 4, "operation 1, test /model: the value there is another one"),
        (("--at", "0", "--call", "gone:colder"), 2, "not in the program's folder"),
        (("--at", "0", "--call", "changes"), 2, "module:function"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_what_cannot_be_changed_is_refused_before_anything_runs(
    formats: tuple[Stand, list[tuple[str, bytes]]],
    raw: RawEndpoint,
    arguments: tuple[str, ...],
    status: int,
    says: str,
) -> None:
    """One intervention, with an anchor, that fits; the error says which were given."""
    stand, _ = formats
    (stand.folder / "empty.json").write_text("[]")
    (stand.folder / "spam.json").write_text('[{"op": "spam", "path": "/model"}]')
    (stand.folder / "missing.json").write_text('[{"op": "remove", "path": "/nothing"}]')
    (stand.folder / "test.json").write_text('[{"op": "test", "path": "/model", "value": "m-2"}]')
    runs = sorted((stand.folder / ".anchored" / "runs").glob("*.sqlite"))
    raw.bodies.clear()
    done = stand.anchored("replay", "formats", *arguments)
    assert done.status == status, done.err
    assert says in done.err
    assert sorted((stand.folder / ".anchored" / "runs").glob("*.sqlite")) == runs
    assert raw.bodies == []


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--edit", "missing.json"), "operation 1, remove /nothing: there is nothing there"),
        (("--call", "changes:failing"), "changes:failing failed: ValueError: no place for it"),
        (("--call", "changes:gone"), "changes:gone cannot be imported: AttributeError"),
    ],
)
def test_what_the_child_cannot_change_ends_the_replay_as_refused(
    formats: tuple[Stand, list[tuple[str, bytes]]], raw: RawEndpoint, arguments: tuple[str, ...], says: str
) -> None:
    """Fail closed: the anchor's request is not sent, nor any that follows. Position 2 is kept as raw bytes in part."""
    stand, _ = formats
    (stand.folder / "missing.json").write_text('[{"op": "remove", "path": "/nothing"}]')
    done, attempt = replayed(stand, raw, "formats", "--at", "2", *arguments)
    assert done.status == 4, (done.err, attempt)
    assert says in attempt["reason"]
    assert (attempt["details"]["cause"], attempt["receipt"]) == ("guard", None)
    assert raw.bodies == []


MAIN = """
import os
import httpx


def rename(request):
    request["body"]["model"] = "m-3"


for word in ("one", "two"):
    body = {"model": "m-1", "messages": [{"role": "user", "content": word}]}
    httpx.post(os.environ["OPENAI_BASE_URL"] + "/chat/completions", json=body)
    with open("changes.py", "a") as file:
        file.write(os.environ.get("MORE", ""))
"""


def test_the_programs_own_function_and_a_source_that_changes_meanwhile(raw: RawEndpoint, tmp_path: Path) -> None:
    """To get at its function the program is not run a second time; a source that is not the planned one never runs."""
    stand = stand_of(tmp_path, raw, main=MAIN)
    bodies = list(raw.bodies)
    done, _ = replayed(stand, raw, "main", "--at", "2", "--call", "main:rename")
    assert done.status == 0, done.err
    assert raw.bodies == [(path, body.replace(b"m-1", b"m-3")) for path, body in bodies[1:]]
    raw.bodies.clear()
    done, attempt = stand.replay("main", "--at", "2", "--call", "changes:colder", MORE="# changed\n")
    assert done.status == 4, done.err
    assert "changes:colder has another source than when this replay was planned" in attempt["reason"]
    assert raw.bodies == []


TOOLS = """
import os
import httpx
import anchored


@anchored.tool(effect="read")
def look(name):
    return name


body = {"model": "m-1", "messages": [{"role": "user", "content": look("lamp")}]}
httpx.post(os.environ["OPENAI_BASE_URL"] + "/chat/completions", json=body)
"""


def test_a_tool_call_that_no_model_issued_has_no_request(raw: RawEndpoint, tmp_path: Path) -> None:
    """Design, Interventions: refused, never guessed."""
    stand = stand_of(tmp_path, raw, tools=TOOLS)
    for change in (("--edit", "colder.json"), ("--model", "m-2"), ("--call", "changes:colder")):
        done = stand.anchored("replay", "tools", "--at", "0", *change)
        assert done.status == 2, done.err
        assert "no request that could be changed at the event at 0" in done.err
        assert "a tool call that a recorded edge ties to one" in done.err


def test_a_change_on_a_teams_tool_call_goes_to_the_call_that_issued_it(stand: Stand) -> None:
    """With AG2's own tools: over the recorded call id, and it says so."""
    done = stand.anchored("replay", "first", "--at", "20", "--model", "scripted-1")
    assert done.status == 0, done.err
    assert "the change goes to the model call that issued it, at 18" in done.err


# ---- Retries

RETRIES = """
import openai

client = openai.OpenAI()
for word in ("one", "two", "three"):
    client.chat.completions.create(
        model="m-1", temperature=1.5, messages=[{"role": "user", "content": word}]
    )
"""


@pytest.mark.parametrize("change", [("--edit", "colder.json"), ("--model", "m-2"), ("--call", "changes:colder")])
def test_each_send_of_the_anchors_request_is_changed_until_one_succeeds(
    raw: RawEndpoint, tmp_path: Path, change: tuple[str, str]
) -> None:
    """Design, Retries: the SDK repeats a request that was busy, and the change is in both sends; then no more."""
    stand = stand_of(tmp_path, raw, retries=RETRIES)
    one, two, three = raw.bodies
    kept = (stand.folder / ".anchored" / "runs" / "retries.sqlite").read_bytes()
    raw.busy = 1
    done, attempt = replayed(stand, raw, "retries", "--at", "2", *change)
    assert done.status == 0, done.err
    path, body = two
    if change[0] == "--model":
        sent = body.replace(b'"m-1"', b'"m-2"')
    else:
        sent = body.replace(b"1.5", b"0.10" if change[0] == "--edit" else b"0.1")
    assert sent != body
    assert raw.bodies == [(path, sent), (path, sent), three]
    assert one not in raw.bodies
    events = stand.show(attempt["name"])["events"]
    assert [event["outcome"] for event in events] == ["success", "failure", "success", "success"]
    recorded = stand.anchored("show", "retries", "--event", "2", "--json").json["request"]
    for position in (2, 4):
        shown = stand.anchored("show", attempt["name"], "--event", str(position), "--json").json
        assert shown["request"] == recorded, "the log holds what the program asked"
        assert shown["sent"]["body"] == json.loads(sent)
    assert stand.anchored("show", attempt["name"], "--event", "6", "--json").json["sent"] is None
    assert (stand.folder / ".anchored" / "runs" / "retries.sqlite").read_bytes() == kept
