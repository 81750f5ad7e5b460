"""What breaks recorders: children, full disks, signals, closed descriptors, redirects, odd exceptions, races."""

import json
import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from anchored.testing import running_endpoint

from .conftest import COMMAND, Done, Stand
from .test_boundary import SCRIPT, recorded, write


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stand]:
    folder = tmp_path_factory.mktemp("hard")
    (folder / "script.py").write_text(SCRIPT)
    with running_endpoint(folder / "script.py", log=folder / "endpoint.jsonl") as endpoint:
        yield Stand(folder=folder, endpoint=endpoint)


def unchanged(stand: Stand, name: str, body: str) -> Done:
    """A program that gives the same output and status unrecorded and recorded."""
    program = write(stand, name, body)
    bare = stand.run(sys.executable, program)
    done = stand.record(name, program)
    assert (done.out, done.status) == (bare.out, bare.status), done.err
    return done


def test_other_pythons_that_a_program_starts_go_on(plain: Stand) -> None:
    """Law 6: a child whose Python has no boundary gets what it would have got; before an anchor there is none."""
    unchanged(plain, "children", CHILDREN)
    refused, attempt = plain.replay("children")
    assert refused.status == 4, (refused.err, attempt)
    assert "a child without the boundary" in attempt["reason"]


CHILDREN = """
import subprocess
ask("one")
for python, environment in ((sys.executable, {}), (sys.executable, {**os.environ, "PYTHONHOME": ""})):
    try:
        command = [python, "-S", "-c", "print('of the child')"]
        print(subprocess.run(command, env=environment, capture_output=True, text=True).stdout)
    except OSError as error:
        print(error)
"""


@pytest.mark.parametrize("when", ["at the start", "later"])
def test_a_store_that_cannot_be_written_stops_no_program(plain: Stand, when: str) -> None:
    """Law 6: the program goes on, and nothing is called complete that is not."""
    name = f"full-{when.replace(' ', '-')}"
    done = unchanged(plain, name, FULL.format(when=when))
    assert "four" in done.out
    if when == "later":
        assert "all from entry 2 on" in done.err, done.err
        refused, _ = plain.replay(name)
        assert refused.status == 4


FULL = """
import resource


def limit(size):
    signal = __import__("signal")
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


if "{when}" == "at the start":
    limit(0)
print(ask("one"))
if "{when}" == "later":
    limit(0)
for word in ("two", "three"):
    print(ask(word))
limit(resource.RLIM_INFINITY)
print(ask("four"))
"""


def test_a_store_that_is_removed_stops_no_program(plain: Stand) -> None:
    """Law 6: the program ends as it would have; `record` says 125, since nothing of it is left."""
    program = write(plain, "removes", "import shutil\nask('one')\nshutil.rmtree('gone')\nprint(ask('two'))\n")
    done = plain.anchored("record", "--store", "gone", "--", sys.executable, program)
    assert done.out == "about two\n"
    assert done.status == 125, done.err
    assert "its recording cannot be read" in done.err


def test_a_signal_handler_that_raises_is_the_programs_own(plain: Stand) -> None:
    """Law 6: what the handler raises reaches the program; recording stops and says so, or is whole."""
    program = write(plain, "alarm", ALARM)
    done = plain.record("alarm", program)
    assert done.status == 0, done.err
    assert "done" in done.out
    shown = plain.show("alarm")
    lost = [note for note in shown["notes"] if note["note"] == "incomplete"]
    assert lost or all(event["outcome"] in ("success", "abort", "failure") for event in shown["events"])
    assert plain.anchored("verify", "alarm").status == 0


ALARM = """
import signal, time


class TimeUp(Exception):
    pass


def handler(number, frame):
    raise TimeUp


signal.signal(signal.SIGALRM, handler)


@anchored.tool(effect="none")
def quick(number):
    return number


until = time.monotonic() + 3
while time.monotonic() < until:
    signal.setitimer(signal.ITIMER_REAL, 0.003)
    try:
        for number in range(1000):
            quick(number)
    except TimeUp:
        pass
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
print("done")
"""


def test_closed_descriptors_are_never_written_to(plain: Stand) -> None:
    """A program that closes all descriptors and opens its own files keeps those as they are."""
    done = unchanged(plain, "closing", CLOSING)
    assert "untouched" in done.out


CLOSING = """
ask("one")
os.closerange(3, 200)
files = [open(f"mine-{number}.txt", "w+b") for number in range(8)]
for file in files:
    file.write(b"x" * 100)
    file.flush()
client = httpx.Client()
for word in ("two", "three"):
    ask(word, client)
print("untouched" if all(os.fstat(file.fileno()).st_size == 100 for file in files) else "damaged")
os._exit(0) if sys.stdout.flush() is None else None
"""


def test_a_redirected_guided_request_is_refused(plain: Stand) -> None:
    """The redirected request would go out without the guidance; there is no receipt for that."""
    recorded(plain, "redirect", REDIRECT)
    done, attempt = plain.replay("redirect", "--at", "2", "--guide", "Be brief.")
    assert done.status == 4, (done.err, attempt)
    assert "redirected" in attempt["reason"]
    assert attempt["receipt"] is None


REDIRECT = """
def answer(request):
    if request.url.path == "/v1/chat/completions":
        return httpx.Response(307, headers={"location": "/v2/chat/completions"})
    return httpx.Response(200, json={"choices": [{"message": {"content": "here"}}]})


ask("one")
ask("two", httpx.Client(transport=httpx.MockTransport(answer), follow_redirects=True))
"""


def test_served_exceptions_keep_their_attributes(plain: Stand) -> None:
    """Identity 7: raised again equal, attributes included, or as a stand-in that is counted."""
    recorded(plain, "exceptions", EXCEPTIONS)
    done = plain.anchored("replay", "exceptions", "--show-output", "--receipt", str(plain.folder / "exceptions.json"))
    assert done.status == 0, done.err
    assert done.out.splitlines() == ["Bad 42", "CalledProcessError OUT", "FileNotFoundError gone.txt", "Stubborn"]
    assert '"substituted":0' not in (plain.folder / "exceptions.json").read_text()


EXCEPTIONS = """
import subprocess


class Bad(Exception):
    def __init__(self, message, code=0):
        super().__init__(message)
        self.code = code


class Stubborn(Exception):
    def __init__(self):
        super().__init__("made without arguments")


@anchored.tool(effect="none")
def fail(how):
    if how == 0:
        raise Bad("no", 42)
    if how == 1:
        raise subprocess.CalledProcessError(3, "x", output="OUT")
    if how == 2:
        raise FileNotFoundError(2, "gone", "gone.txt")
    raise Stubborn


for how in range(4):
    try:
        fail(how)
    except Bad as error:
        print("Bad", error.code)
    except subprocess.CalledProcessError as error:
        print("CalledProcessError", error.output)
    except FileNotFoundError as error:
        print("FileNotFoundError", error.filename)
    except Exception:
        print("Stubborn")
"""


def test_identical_requests_of_two_threads_are_told_apart_by_lanes(plain: Stand) -> None:
    """Order: without lane evidence they could be given each other's results, and are refused."""
    recorded(plain, "twins", TWINS)
    exact, _ = plain.replay("twins")
    assert exact.status == 0, exact.err
    recorded(plain, "strays", STRAYS)
    refused, _ = plain.replay("strays")
    assert refused.status == 4
    assert "identical, and of several threads" in refused.err


TWINS = """
import threading
for _ in range(2):
    thread = threading.Thread(target=lambda: ask("same", httpx.Client()))
    thread.start()
    thread.join()
"""

STRAYS = """
import _thread, threading
for _ in range(2):
    done = threading.Event()
    _thread.start_new_thread(lambda: (ask("same", httpx.Client()), done.set()), ())
    done.wait()
"""


def test_odd_uses_of_the_decorator_and_odd_addresses(plain: Stand) -> None:
    """Law 6: the program's own errors in its own words; an IPv6 address ruins no recording."""
    unchanged(plain, "odd", ODD)
    done = plain.anchored("replay", "odd", "--show-output", "--effects", "allow")
    assert done.status == 0, done.err


ODD = """
import functools


@anchored.tool(effect="none")
def two(a, b):
    return a + b


class Unspeakable(Exception):
    def __str__(self):
        raise RuntimeError("no words")


@anchored.tool(effect="none")
def fail():
    raise Unspeakable


try:
    two(1)
except TypeError as error:
    print(error)
print(anchored.tool(effect="none")(functools.partial(two, 3))(5))
print(anchored.tool(effect="none")(max)(3, 4))
print(two(1.0, 2), two((1,), (2,)))
try:
    fail()
except Exception as error:
    print(type(error).__name__)
try:
    httpx.get("http://[::1]:1/v6")
except httpx.HTTPError as error:
    print(type(error).__name__)
anchored.final(object)
"""


def test_arguments_of_other_types_are_other_calls(plain: Stand) -> None:
    """1 and 1.0 are equal to JSON and not to a Python tool."""
    recorded(plain, "kinds", TYPES.format(value="1.0"))
    program = write(plain, "other-kinds", TYPES.format(value="1"))
    done, attempt = plain.replay("kinds", "--", sys.executable, program)
    assert done.status == 3, (done.err, attempt)


TYPES = """
@anchored.tool(effect="none")
def kind(value):
    return type(value).__name__


print(kind({value}))
"""


def test_attempts_at_once_have_numbers_of_their_own(plain: Stand) -> None:
    """An attempt is recorded exactly once, under a number that no other has."""
    recorded(plain, "many", "ask('one')\nask('two')\n")
    with ThreadPoolExecutor(4) as pool:
        done = list(pool.map(lambda _: plain.replay("many", "--at", "2"), range(6)))
    assert all(item.status == 0 for item, _ in done), [item.err for item, _ in done]
    assert sorted(attempt["attempt"] for _, attempt in done) == [1, 2, 3, 4, 5, 6]
    assert len({attempt["name"] for _, attempt in done}) == 6


def test_a_watcher_that_is_a_zombie_watches_nothing(plain: Stand) -> None:
    """kill −9 of the command, not waited for by its own parent: nothing goes live."""
    recorded(plain, "zombie", "ask('one')\nask('two')\n")
    program = write(
        plain, "zombies", "import time\nask('one')\ntime.sleep(3)\ntry:\n    ask('two')\nexcept KeyError:\n    pass\n"
    )
    calls = plain.calls()
    replayed = subprocess.Popen(
        [str(COMMAND), "replay", "zombie", "--at", "2", "--", sys.executable, program],
        cwd=plain.folder,
        env={**os.environ, "OPENAI_BASE_URL": plain.endpoint.url, "NO_PROXY": "127.0.0.1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    time.sleep(2)
    os.kill(replayed.pid, signal.SIGKILL)
    time.sleep(5)
    assert plain.calls() == calls
    replayed.wait()


def test_programs_in_other_languages_are_named(plain: Stand) -> None:
    """What they do is not seen: the recording says so, and the receipt names each."""
    done = plain.record("others", write(plain, "others", OTHERS))
    assert done.status == 0, done.err
    assert "programs:     sh, uname: what they did is not seen" in done.err
    for place in ((), ("--at", "2")):
        done, attempt = plain.replay("others", *place)
        assert done.status == 0, (done.err, attempt)
        predicate = json.loads(Path(attempt["receipt"]).read_text())["predicate"]
        assert predicate["unobserved"] == ["program sh", "program uname"]


OTHERS = """
import subprocess
ask("one")
subprocess.run(["uname"], stdout=subprocess.DEVNULL)
os.system("true")
ask("two")
"""


def test_proxies_are_the_programs_own_again_when_it_is_live(plain: Stand) -> None:
    """A dead proxy stands in the way of what inherits the environment in the prefix, and of nothing after it."""
    program = write(plain, "proxies", PROXIES)
    proxies = {"HTTPS_PROXY": "http://proxy.invalid:1", "NO_PROXY": "127.0.0.1"}
    done = plain.anchored("record", "--name", "proxies", "--", sys.executable, program, **proxies)
    assert done.out.splitlines() == ["http://proxy.invalid:1", "http://proxy.invalid:1"] * 2, done.err
    shown = plain.anchored("replay", "proxies", "--at", "2", "--show-output", **proxies)
    assert shown.status == 0, shown.err
    seen = ["http://proxy.invalid:1", "http://127.0.0.1:9"]
    assert shown.out.splitlines() == [*seen, "http://proxy.invalid:1", "http://proxy.invalid:1"]


PROXIES = """
import subprocess
def show():
    print(os.environ["HTTPS_PROXY"], flush=True)
    subprocess.run(["sh", "-c", "echo $HTTPS_PROXY"])
ask("one")
show()
ask("two")
show()
"""


def test_what_was_typed_is_given_again(plain: Stand) -> None:
    """A program that asks at the keyboard is replayed with the lines that were typed; without a terminal, too."""
    program = write(plain, "typed", "print(ask(input('What? ')), ask(input('And? ')))\n")
    master, slave = pty.openpty()
    recorded = subprocess.Popen(
        [str(COMMAND), "record", "--name", "typed", "--", sys.executable, program],
        cwd=plain.folder,
        env={**os.environ, "OPENAI_BASE_URL": plain.endpoint.url, "NO_PROXY": "127.0.0.1"},
        stdin=slave,
        stdout=slave,
        stderr=subprocess.DEVNULL,
    )
    os.close(slave)
    os.write(master, "lamps ü\nlength\n".encode())
    assert recorded.wait(timeout=60) == 0
    os.close(master)
    done, attempt = plain.replay("typed")
    assert done.status == 0, (done.err, attempt)
    assert (
        (plain.folder / ".anchored" / "runs" / "typed.replay-1.out")
        .read_text()
        .endswith("about lamps ü about length\n")
    )


def test_what_goes_past_the_boundary_is_never_called_nothing(plain: Stand) -> None:
    """An allowed host is named in the verdict, and it is not offered where the recording called it."""
    recorded(plain, "past", PAST)
    address = plain.endpoint.url.removeprefix("http://").partition("/")[0]
    refused = plain.anchored("replay", "past")
    assert refused.status == 4
    assert "The recording went there too, outside the boundary" in refused.err
    done, attempt = plain.replay("past", "--allow-unobserved", address)
    assert done.status == 0, done.err
    assert attempt["reason"] == f"exact: every request was the recorded one; reached outside the boundary: {address}"
    assert f"not observed: connection to {address} by http" in plain.anchored("show", "past").out


PAST = """
import http.client

ask("one")
connection = http.client.HTTPConnection(BASE.partition("//")[2].partition("/")[0])
connection.putrequest("GET", "/v1/models")
connection.endheaders()
connection.getresponse().read()
ask("two")
"""


def test_a_receipt_finds_its_own_source(plain: Stand) -> None:
    """An exact replay has the digest of its source, and other event ids: receipts of both hold."""
    recorded(plain, "twin", "ask('one')\nask('two')\n")
    exact, _ = plain.replay("twin")
    assert exact.status == 0
    _, of_replay = plain.replay("twin.replay-1", "--at", "2")
    _, of_twin = plain.replay("twin", "--at", "2")
    for attempt, source in ((of_replay, "twin.replay-1"), (of_twin, "twin")):
        done = plain.anchored("verify", attempt["receipt"])
        assert done.status == 0, done.err
        assert f"matches the recordings {source} and {attempt['name']}" in done.out
    kept = plain.anchored("rm", "twin")
    assert kept.status == 2, "replays refer to it, whatever else has its digest"
    assert plain.anchored("rm", "twin", "--replays").status == 0
    done = plain.anchored("verify", of_replay["receipt"])
    assert done.status == 0, "its own source is still there"


def test_last_is_the_last_recording_for_a_replay(plain: Stand) -> None:
    recorded(plain, "latest", "ask('one')\n")
    for _ in range(2):
        _, attempt = plain.replay("last")
        assert attempt["name"].startswith("latest.replay-")
    assert plain.show("last")["mode"] == "replay"


def test_trials_stop_where_every_attempt_would_end_likewise(plain: Stand) -> None:
    """What is refused or diverges costs nothing a second time."""
    recorded(plain, "stops", "ask('one')\nask('two')\n")
    other = write(plain, "stops-not", "ask('one')\nask('other')\n")
    done = plain.anchored(
        "replay", "stops", "--at", "2", "--guide", "Be brief.", "--trials", "3", "--", sys.executable, other
    )
    assert done.status == 3
    assert "stopped after 1 of 6 attempts" in done.err
    assert done.out.count("stops.replay-") == 1


def test_awaited_tools_are_events_too(plain: Stand) -> None:
    """In the prefix no tool runs, whether it is called or awaited."""
    recorded(plain, "awaited", AWAITED)
    runs = plain.tool_runs()
    for place, more in (((), 0), (("--at", "4"), 1)):
        done, attempt = plain.replay("awaited", *place, "--effects", "allow")
        assert done.status == 0, (done.err, attempt)
        assert plain.tool_runs() - runs == more
    shown = plain.show("awaited")["events"]
    assert [(event["kind"], event["outcome"]) for event in shown] == [
        ("execute_tool", "success"),
        ("chat", "success"),
        ("execute_tool", "failure"),
    ]


AWAITED = """
import asyncio


@anchored.tool(effect="write")
async def pay(amount):
    log(f"paid {amount}")
    await asyncio.sleep(0)
    if amount > 10:
        raise ValueError("too much")
    return amount


async def main():
    print(await pay(3), ask("one"))
    try:
        await pay(30)
    except ValueError as error:
        print(error)


asyncio.run(main())
"""


def test_a_child_with_an_environment_of_its_own_is_no_way_out(plain: Stand) -> None:
    """It would not find the dead proxy; where the replay has a network it is refused, or allowed by name."""
    recorded(plain, "copies", COPIES)
    done, attempt = plain.replay("copies", "--at", "2")
    assert done.status == 4, (done.err, attempt)
    assert "with an environment of its own" in attempt["reason"]
    allowed, attempt = plain.replay("copies", "--at", "2", "--allow-unobserved", "program true")
    assert allowed.status == 0, (allowed.err, attempt)


COPIES = """
import subprocess
ask("one")
subprocess.run(["true"], env={**os.environ})
ask("two")
"""


def test_a_program_keeps_its_descriptors_and_its_lines(plain: Stand) -> None:
    """Law 6: descriptors that the caller handed down, CRLF, how far is read ahead, and what children read."""
    program = write(plain, "handed", HANDED)
    command = "printf 'a\\r\\nb\\rc\\nrest\\n' | {0} 7>handed-{1}.txt"
    bare = plain.run("sh", "-c", command.format(f"{sys.executable} {program}", "bare"))
    assert bare.status == 0, bare.err
    recording = f"{COMMAND} record --name handed -- {sys.executable} {program}"
    done = plain.run("sh", "-c", command.format(recording, "recorded"))
    assert (done.out, done.status) == (bare.out, bare.status), done.err
    for which in ("bare", "recorded"):
        assert (plain.folder / f"handed-{which}.txt").read_text() == "of the program"
    replay = plain.anchored("replay", "handed", "--show-output")
    assert (replay.out, replay.status) == (bare.out, 0), replay.err


HANDED = """
import subprocess
print(repr(input()), ask("one"))
child = [sys.executable, "-c", "import sys; print(sys.stdin.read())"]
print(subprocess.run(child, input="of the child", capture_output=True, text=True).stdout)
print(repr(sys.stdin.read()))
try:
    os.write(7, b"of the program")
except OSError:
    pass
"""
