"""What plain programs do at the boundary: tools, containers, HTTP under tools, transports, connections, exceptions."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from anchored.testing import running_endpoint

from .conftest import COMMAND, Stand

SCRIPT = """
from anchored.testing import Reply, Rule, Script
echo = Reply.text(lambda request: "about " + request.last.text)
slow = Reply.delayed(echo, seconds=(0.03, 0.06))
script = Script(
    rules=[
        Rule(name="slow", when=lambda request: request.last.text.startswith("number"), replies=slow),
        Rule(name="all", when=lambda request: True, replies=echo),
    ]
)
"""

HEAD = """
import os, sys
import httpx
import anchored

BASE = os.environ["OPENAI_BASE_URL"]
client = httpx.Client()


def ask(text, using=client):
    body = {"model": "scripted-1", "messages": [{"role": "user", "content": text}]}
    return using.post(BASE + "/chat/completions", json=body).json()["choices"][0]["message"]["content"]


def log(line):
    with open(os.environ["TOOL_LOG"], "a") as file:
        file.write(line + "\\n")
"""


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stand]:
    folder = tmp_path_factory.mktemp("plain")
    (folder / "script.py").write_text(SCRIPT)
    with running_endpoint(folder / "script.py", log=folder / "endpoint.jsonl") as endpoint:
        yield Stand(folder=folder, endpoint=endpoint)


def write(stand: Stand, name: str, body: str) -> str:
    (stand.folder / f"{name}.py").write_text(HEAD + body)
    return f"{name}.py"


def recorded(stand: Stand, name: str, body: str, *, status: int = 0) -> list[dict[str, object]]:
    done = stand.record(name, write(stand, name, body))
    assert done.status == status, done.err
    return stand.show(name)["events"]


def replayed_exactly(stand: Stand, name: str, *, tools: int = 0) -> None:
    calls, runs = stand.calls(), stand.tool_runs()
    shown = stand.anchored("replay", name, "--show-output", "--effects", "allow")
    assert shown.status == 0, shown.err
    assert stand.calls() == calls
    assert stand.tool_runs() - runs == tools


def test_declared_tools_are_recorded_and_served(plain: Stand) -> None:
    """`@anchored.tool` makes a call an event, keeps exact types, and a served tool does not run."""
    events = recorded(plain, "tools", TOOLS)
    assert [event["kind"] for event in events] == ["execute_tool", "chat", "execute_tool", "execute_tool"]
    assert [event["outcome"] for event in events] == ["success", "success", "failure", "success"]
    replayed_exactly(plain, "tools")
    done, attempt = plain.replay("tools", "--at", "4")
    assert done.status == 4, "a tool that writes does not run live"
    assert attempt["details"]["tool"] == "broken"


TOOLS = """
@anchored.tool(effect="read")
def look(name, *, deep=False):
    log("look")
    return {"name": name, "found": (1, 2.5, None, b"x"), "deep": deep}


@anchored.tool(effect="write")
def broken(text):
    log("broken")
    raise KeyError("value")


@anchored.tool(effect="none")
async def later(text):
    return text


@anchored.tool(effect="none")
def count(text):
    log("count")
    return len(text)


found = look("lamp", deep=True)
assert found == {"name": "lamp", "found": (1, 2.5, None, b"x"), "deep": True}, found
assert type(found["found"]) is tuple
text = ask(str(found))
try:
    broken(text)
except KeyError as error:
    assert error.args == ("value",), error.args
assert count(text) == len(text)
"""


def test_http_under_a_tool_is_covered_by_its_result(plain: Stand) -> None:
    """Nesting: the tool is served, its own HTTP is not asked again, and the log is the same."""
    events = recorded(plain, "covered", COVERED)
    assert [(event["kind"], event["parent"]) for event in events] == [
        ("execute_tool", None),
        ("http", 0),
        ("http", 0),
        ("chat", None),
    ]
    replayed_exactly(plain, "covered")
    done, attempt = plain.replay("covered", "--at", "6")
    assert done.status == 0, done.err
    assert attempt["verdict"] == "live"


COVERED = """
@anchored.tool(effect="read")
def fetch(what):
    log("fetch")
    return client.get(BASE + "/models").text + str(client.get(BASE + "/nothing").status_code)


ask(fetch("models")[:20])
"""


def test_a_container_runs_its_own_code_and_only_leaves_are_served(plain: Stand) -> None:
    """Nesting: a tool that asks a model runs again in the prefix; it needs a harmless effect or --effects allow."""
    events = recorded(plain, "container", CONTAINER)
    assert [(event["kind"], event["parent"]) for event in events] == [
        ("execute_tool", None),
        ("chat", 0),
        ("execute_tool", 0),
        ("chat", None),
    ]
    refused = plain.anchored("replay", "container")
    assert refused.status == 4
    assert "encloses model calls" in refused.err
    replayed_exactly(plain, "container", tools=1)
    inside, attempt = plain.replay("container", "--at", "1", "--effects", "allow")
    assert inside.status == 0, (inside.err, attempt)
    assert attempt["arm"] == "control"


CONTAINER = """
@anchored.tool(effect="read")
def leaf(text):
    log("leaf")
    return text.upper()


@anchored.tool(effect="write")
def delegate(text):
    log("delegate")
    return leaf(ask(text))


ask(delegate("lamps"))
"""


def test_a_task_that_outlives_its_tool_is_enclosed_by_nothing(plain: Stand) -> None:
    """A parent is an event that is still open; the log loads, and replays exactly."""
    events = recorded(plain, "outlives", OUTLIVES)
    assert [(event["kind"], event["parent"]) for event in events] == [("execute_tool", None), ("chat", None)]
    replayed_exactly(plain, "outlives", tools=0)


OUTLIVES = """
import contextvars

kept = []


@anchored.tool(effect="none")
def starts(text):
    kept.append(contextvars.copy_context())
    return text


starts("one")
context = kept[0] if kept else contextvars.copy_context()
context.run(ask, "two")
"""


def test_custom_and_nested_transports_are_recorded_once(plain: Stand) -> None:
    """Whatever transport a client uses is observed, at the outermost."""
    events = recorded(plain, "transports", TRANSPORTS)
    assert [event["kind"] for event in events] == ["chat", "chat", "chat"]
    replayed_exactly(plain, "transports")


TRANSPORTS = """
class Outer(httpx.BaseTransport):
    def __init__(self):
        self.inner = httpx.Client()

    def handle_request(self, request):
        answer = self.inner.post(str(request.url), content=request.read(), headers={"content-type": "application/json"})
        return httpx.Response(answer.status_code, content=answer.content)


ask("custom", httpx.Client(transport=Outer()))
ask("mounted", httpx.Client(mounts={"http://": httpx.HTTPTransport()}))
in_process = httpx.MockTransport(lambda request: httpx.Response(200, json={"choices": [{"message": {"content": "m"}}]}))
ask("in process", httpx.Client(transport=in_process))
"""


@pytest.mark.parametrize(
    "way",
    [
        "by_parts()",
        "socket.create_connection((host, port)).close()",
        "asyncio.run(later())",
        "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', (host, port))",
    ],
)
def test_connections_outside_the_boundary(plain: Stand, way: str) -> None:
    """Guard: listed while recording; refused while replaying, and the replay is over; allowed where named."""
    name = "guard-" + way.partition("(")[0].replace(".", "-")
    done = plain.record(name, write(plain, name, GUARD.format(way=way)))
    assert done.status == 0, done.err
    assert "connection to 127.0.0.1:" in done.err
    calls = plain.calls()
    refused, attempt = plain.replay(name)
    assert refused.status == 4, (refused.err, attempt)
    assert attempt["details"]["cause"] == "guard"
    assert attempt["receipt"] is None
    assert plain.calls() == calls
    allowed, attempt = plain.replay(name, "--allow-unobserved", "127.0.0.1")
    assert allowed.status == 0, (allowed.err, attempt)


GUARD = """
import asyncio, http.client, socket, urllib.parse


def by_parts():
    connection = http.client.HTTPConnection(host, port)
    connection.putrequest("GET", "/v1/models")
    connection.endheaders()
    connection.getresponse().read()


async def later():
    await asyncio.open_connection(host, port)


host, port = urllib.parse.urlsplit(BASE).hostname, urllib.parse.urlsplit(BASE).port
ask("first")
try:
    {way}
except OSError as error:
    print("refused", error)
ask("second")
"""


def test_poisoned_model_door_answers_403(plain: Stand) -> None:
    """Fail closed: a constant 403 that no SDK retries, and nothing goes live until the process ends."""
    recorded(plain, "poison", "for word in ('one', 'two'):\n    ask(word)\n")
    program = write(plain, "poisoned", POISONED)
    calls = plain.calls()
    done = plain.anchored("replay", "poison", "--show-output", "--", sys.executable, program)
    assert done.status == 3, done.err
    assert done.out.splitlines() == ["403 false anchored ended this replay"] * 3
    assert plain.calls() == calls


POISONED = """
for word in ("three", "one", "two"):
    body = {"model": "scripted-1", "messages": [{"role": "user", "content": word}]}
    answer = client.post(BASE + "/chat/completions", json=body)
    print(answer.status_code, answer.headers["x-should-retry"], answer.json()["error"]["message"])
"""


def test_a_tool_whose_value_cannot_be_kept(plain: Stand) -> None:
    """Identity 6: `unreplayable` with the reason; anchors behind it are refused, those before it serve."""
    done = plain.record("values", write(plain, "values", VALUES))
    assert "opaque at 2: the value at /1 is a Opaque" in " ".join(done.err.split()), "it is said when it is recorded"
    refused = plain.anchored("replay", "values")
    assert refused.status == 4
    assert "the value at /1 is a Opaque" in refused.err
    done, attempt = plain.replay("values", "--at", "2", "--effects", "allow")
    assert done.status == 0, (done.err, attempt)


VALUES = """
class Opaque:
    pass


@anchored.tool(effect="none")
def opaque(text):
    return [text, Opaque()]


ask("one")
opaque("two")
ask("three")
"""


def test_watchdog_ends_a_program_that_goes_on(plain: Stand) -> None:
    """A divergence that is swallowed into an endless loop ends within the grace."""
    recorded(plain, "loop", "ask('one')\n")
    program = write(
        plain,
        "looping",
        "import time\nask('two') if False else client.post(BASE + '/x')\nwhile True:\n    time.sleep(1)\n",
    )
    done, attempt = plain.replay("loop", "--grace", "0.5", "--", sys.executable, program)
    assert done.status == 3, (done.err, attempt)
    assert float(attempt["seconds"]) < 20


def test_python_without_site_is_no_recording(plain: Stand) -> None:
    """Without a hello `record` ends with 125, and a replay is ended and no success."""
    program = write(plain, "isolated", "print(ask('one'))\n")
    done = plain.anchored("record", "--name", "isolated", "--", sys.executable, "-I", program)
    assert done.status == 125
    assert "No boundary was put into this program" in done.err
    recorded(plain, "whole", "print(ask('one'))\n")
    calls = plain.calls()
    replayed, attempt = plain.replay("whole", "--", sys.executable, "-c", "print('nothing')")
    assert replayed.status == 3, (replayed.err, attempt)
    assert attempt["divergence"]["kind"] == "missing"
    assert plain.calls() == calls


def test_final_answer_and_own_sitecustomize(plain: Stand) -> None:
    """`anchored.final` says the answer; an existing sitecustomize keeps working."""
    more = plain.folder / "more"
    more.mkdir()
    (more / "sitecustomize.py").write_text("import os\nos.environ['SEEN'] = 'yes'\n")
    program = write(plain, "final", "ask('one')\nanchored.final('SEEN=' + os.environ['SEEN'])\n")
    done = plain.anchored("record", "--name", "final", "--", sys.executable, program, PYTHONPATH=str(more))
    assert done.status == 0, done.err
    assert plain.show("final")["final"] == {"text": "SEEN=yes", "source": "program"}


def test_an_origin_the_recording_lacks_is_refused_unless_mapped(plain: Stand) -> None:
    """Identity 1: scheme, host and port are configuration; loopback ports are free, other hosts need --map-url."""
    recorded(plain, "origin", "ask('one')\nask('two')\n")
    program = write(plain, "elsewhere", "BASE = BASE.replace('127.0.0.1', 'localhost')\nask('one')\nask('two')\n")
    done, attempt = plain.replay("origin", "--at", "2", "--", sys.executable, program)
    assert done.status == 4, (done.err, attempt)
    assert "never called http://localhost" in attempt["reason"]
    mapping = "http://127.0.0.1=http://localhost"
    mapped, attempt = plain.replay("origin", "--at", "2", "--map-url", mapping, "--", sys.executable, program)
    assert mapped.status == 0, (mapped.err, attempt)


@pytest.mark.parametrize("way", ["fork", "spawn", "exec"])
def test_calls_of_another_process_are_foreign(plain: Stand, way: str) -> None:
    """The process that makes the first crossing owns the log; others are noted, and refused in a replay."""
    events = recorded(plain, f"foreign-{way}", FOREIGN.format(way=way))
    assert [event["kind"] for event in events] == ["chat"]
    foreign = [note for note in plain.show(f"foreign-{way}")["notes"] if note["note"] == "foreign"]
    assert [note["name"] for note in foreign] == ["scripted-1"]
    calls = plain.calls()
    done, attempt = plain.replay(f"foreign-{way}")
    assert done.status == 4, (done.err, attempt)
    assert "another process" in attempt["reason"]
    assert plain.calls() == calls


FOREIGN = """
import subprocess

ask("own")
if "{way}" == "fork":
    child = os.fork()
    if child == 0:
        try:
            ask("of the fork")
        finally:
            os._exit(0)
    os.waitpid(child, 0)
else:
    source = open(__file__).read().partition("import subprocess")[0] + "ask('of the child')"
    if "{way}" == "spawn":
        subprocess.run([sys.executable, "-c", source])
    else:
        os.execv(sys.executable, [sys.executable, "-c", source])
"""


def test_threads_that_overlap_are_served_in_recorded_order(plain: Stand) -> None:
    """Order: a request that matches a later record waits for its turn; results are released in recorded order."""
    events = recorded(plain, "threads", THREADS)
    assert sorted(event["kind"] for event in events) == ["chat"] * 7
    for _ in range(3):
        replayed_exactly(plain, "threads")
    busy = [event["position"] for event in events if not event["quiescent"]]
    assert busy, "it answers when the next thread has asked long since"
    for position in busy:
        calls = plain.calls()
        done, attempt = plain.replay("threads", "--at", str(position))
        assert done.status == 0, (done.err, attempt)
        file = plain.folder / ".anchored" / "runs" / f"{attempt['name']}.receipt.json"
        receipt = json.loads(file.read_text())["predicate"]
        before = [event for event in events if event["position"] < position]
        assert receipt["counts"]["carried"] == len([event for event in before if event["end"] > position]) > 0
        assert plain.calls() - calls == receipt["counts"]["live"] == len(events) - len(before), "none ran again"


THREADS = """
from concurrent.futures import ThreadPoolExecutor
import random, time


def later(number):
    time.sleep(random.random() / 20)
    return ask(f"number {number}", httpx.Client())


ask("first")
with ThreadPoolExecutor(5) as pool:
    answers = list(pool.map(later, range(5)))
ask(" ".join(answers))
"""


def test_a_thread_ahead_of_the_anchor_waits(plain: Stand) -> None:
    """Order: a request recorded behind the anchor may come first; it waits for the anchor instead of diverging."""
    recorded(plain, "ahead", AHEAD)
    begins = [event["position"] for event in plain.show("ahead")["events"]]
    assert begins == [0, 2, 4, 5]
    for position in ("2", "4"):
        done, attempt = plain.replay("ahead", "--at", position)
        assert done.status == 0, (done.err, attempt)


AHEAD = """
import threading, time

replaying = "replay" in open("/proc/self/environ").read().partition("ANCHORED_ATTEMPT=")[2].partition(chr(0))[0]


def later(number, delay):
    time.sleep(delay)
    ask(f"number {number}", httpx.Client())


ask("first")
ask("second")
delays = (0.0, 0.2) if not replaying else (0.4, 0.0)
threads = [threading.Thread(target=later, args=(number, delay)) for number, delay in enumerate(delays)]
slow = httpx.HTTPTransport.handle_request


def slowly(self, request):
    time.sleep(0.6)
    return slow(self, request)


httpx.HTTPTransport.handle_request = slowly
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_to_a_replay_ends_the_program(plain: Stand, number: signal.Signals) -> None:
    """Nothing goes on unwatched: the program ends with the command, and the attempt is sealed as ended."""
    name = f"slow-{number.name.lower()}"
    recorded(plain, name, "import time\nask('one')\nask('two')\n")
    program = write(plain, f"{name}-er", "import time\nask('one')\ntime.sleep(30)\nask('two')\n")
    calls = plain.calls()
    replayed = start(plain, "replay", name, "--at", "2", "--", sys.executable, program)
    until(lambda: f"{name}.replay-1" in plain.anchored("list").out and shown_entries(plain, f"{name}.replay-1") == 2)
    replayed.send_signal(number)
    assert replayed.wait(30) == 128 + number
    assert plain.calls() == calls
    shown = plain.show(f"{name}.replay-1")
    assert shown["stop"]["reason"] == "ended"
    hello = next(note for note in shown["notes"] if note["note"] == "hello")
    assert not Path(f"/proc/{hello['process']}").exists(), "the program is gone"


def test_nothing_goes_live_when_the_watcher_is_gone(plain: Stand) -> None:
    """kill −9 of the command: the program lives on, but its session is over."""
    recorded(plain, "orphan", "ask('one')\nask('two')\n")
    marker = plain.folder / "orphan.done"
    program = write(plain, "orphaned", ORPHANED.format(marker=str(marker)))
    calls = plain.calls()
    replayed = start(plain, "replay", "orphan", "--at", "2", "--", sys.executable, program)
    until(lambda: "orphan.replay-1" in plain.anchored("list").out and shown_entries(plain, "orphan.replay-1") == 2)
    replayed.kill()
    replayed.wait()
    until(marker.exists)
    assert plain.calls() == calls
    poison = next(note for note in plain.show("orphan.replay-1")["notes"] if note["note"] == "poison")
    assert "is gone" in poison["message"]


ORPHANED = """
import time

ask("one")
time.sleep(3)
try:
    ask("two")
except KeyError:
    pass
open({marker!r}, "w")
"""


def start(stand: Stand, *arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [str(COMMAND), *arguments],
        cwd=stand.folder,
        env={
            **os.environ,
            "OPENAI_BASE_URL": stand.endpoint.url,
            "TOOL_LOG": str(stand.tool_log),
            "NO_PROXY": "127.0.0.1",
        },
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def shown_entries(stand: Stand, name: str) -> int:
    return int(stand.show(name)["entries"])


def until(holds: Callable[[], bool], seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "it never came to that"
        time.sleep(0.1)
