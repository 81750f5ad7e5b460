"""Times and chances that a program sees: which value is whose, and what the doors leave as it was.

The doors change a whole process, so they are tried in processes of their own.
"""

import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest
from builders import recorded, team

from anchored.boundary.ambient import Ambient
from anchored.recording import Note
from anchored.replaying import Stream, ambient_digest, ambient_kinds, ambient_note, is_incomplete, recorded_ambient

TIME = Stream("main", "time.time", "team", None)


def counting(ambient: Ambient, count: int, function: str = "time.time", start: int = 100) -> list[str]:
    return [ambient.take(function, "team", lambda number=number: str(number)) for number in range(start, start + count)]


def notes_of(ambient: Ambient) -> list[Note]:
    said: list[Note] = []

    def say(kind: str, document: Any, *, once: bool = False) -> None:
        said.append(Note(kind=kind, document=document))

    ambient.tell(say)
    ambient.flush()
    return said


def run_of(notes: list[Note], owner: int) -> Any:
    held = recorded(team())
    return replace(held, notes=[Note(kind="owner", document={"process": owner}), *notes])


def test_the_nth_asking_gets_the_nth_value() -> None:
    """Recorded values, each stream by itself; when one is used up real ones, and that is said once."""
    ambient = Ambient({TIME: ["1", "2"], TIME._replace(function="os.urandom(2)"): ["aa"]})
    assert counting(ambient, 1) == ["1"]
    assert counting(ambient, 1, "os.urandom(2)") == ["aa"]
    assert counting(ambient, 2) == ["2", "101"]
    assert counting(ambient, 1) == ["100"]
    kinds = [note.kind for note in notes_of(ambient)]
    assert kinds == ["ambient", "ambient_incomplete"]
    assert notes_of(ambient) == []


def test_behind_the_anchor_all_is_real_and_nothing_lacks() -> None:
    ambient = Ambient({TIME: ["1", "2"]})
    called: list[bool] = []
    ambient.when_live(lambda: called.append(True))
    assert counting(ambient, 1) == ["1"]
    ambient.go_live()
    ambient.go_live()
    assert counting(ambient, 2) == ["100", "101"]
    assert called == [True]
    assert [note.kind for note in notes_of(ambient)] == ["ambient"]


def test_notes_are_bounded_and_give_the_streams_back() -> None:
    """`recorded_ambient` inverts the notes, in whatever order they were written; other processes' are not taken."""
    import os

    ambient = Ambient()
    said: list[Note] = []
    ambient.tell(lambda kind, document, *, once=False: said.append(Note(kind=kind, document=document)))
    values = counting(ambient, 2500)
    ambient.flush()
    assert len(said) == 3
    other = Note(kind="ambient", document=ambient_note(1, {TIME: ["7"]}, {TIME: 0}))
    run = run_of([other, *reversed(said)], os.getpid())
    streams = recorded_ambient(run)
    assert streams == {TIME: values}
    assert ambient_kinds(streams) == ["time"]
    assert ambient_digest(streams) != ambient_digest({TIME: values[:-1]})
    lacking = Note(kind="ambient_incomplete", document={"process": 1, "stream": list(TIME)})
    assert not is_incomplete(run_of([lacking], os.getpid()))
    assert is_incomplete(run_of([lacking], 1))


HEAD = """
import asyncio, copy, datetime as dt, json, logging, os, pickle, random, secrets, sys, threading, time, uuid
before = (dt.datetime, time.monotonic, time.time)
from anchored.boundary.ambient import Ambient
from anchored.boundary.ambient_doors import install_ambient
from anchored.boundary.lanes import watch_lanes
from anchored.replaying import Stream
kept = {}
held = json.loads(sys.stdin.read() or "null")
served = None if held is None else {Stream(*stream): values for stream, values in held}
ambient = Ambient(served)
def say(kind, document, *, once=False):
    if kind == "ambient_incomplete":
        print("incomplete", document["stream"])
        return
    for *stream, first, values in document["streams"]:
        kept.setdefault(Stream(*stream), []).extend(values.split())
ambient.tell(say)
watch_lanes()
install_ambient(ambient)
"""


def run(body: str, given: str = "") -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", HEAD + body], input=given, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


SEEN = """
def seen():
    now = dt.datetime.now
    return [
        time.time(), time.time_ns(), str(now()), str(now(dt.timezone.utc)), str(dt.date.today()),
        str(dt.datetime.today()), time.strftime("%X"), time.ctime(), time.asctime(), time.gmtime().tm_sec,
        str(time.localtime(None)), str(uuid.uuid1()), str(uuid.uuid4()), random.random(), random.gauss(0, 1),
        random.choice("abc"), random.sample(range(99), 5), random.Random().random(), secrets.token_hex(),
        random.SystemRandom().random(), os.urandom(5).hex(), random.randbytes(3).hex(),
    ]
lines = {}
def ask(name):
    for _ in range(3):
        lines.setdefault(name, []).append(seen())
        time.sleep(0.001)
def own(number):
    def one():
        ask(number)
    one.__qualname__ = f"own{number}"
    return one
threads = [threading.Thread(target=own(number)) for number in range(3)]
for thread in threads: thread.start()
ask("main")
for thread in threads: thread.join()
async def inner(name):
    await asyncio.sleep(0)
    ask(name)
async def main():
    await asyncio.wait_for(asyncio.gather(inner("a"), inner("b")), 20)
asyncio.run(main())
"""


def test_a_program_sees_the_same_again() -> None:
    """Time, chance and ids, in threads and tasks that race: each lane has its own, so their order does not count."""
    kept = SEEN + "ambient.flush(); print(json.dumps([sorted(lines.items(), key=str), list(kept.items())]))"
    lines, streams = json_of(run(kept))
    again, streams_again = json_of(run(kept, json_text(streams)))
    assert again == lines
    assert sorted(streams_again, key=str) == sorted(streams, key=str)
    other, _ = json_of(run(kept))
    flat, others = ([value for _, said in held for line in said for value in line] for held in (lines, other))
    long = [
        (one, another)
        for one, another in zip(flat, others, strict=True)
        if not isinstance(one, str) and len(str(one)) > 14
    ]
    assert len(long) > 50
    assert not [one for one, another in long if one == another], "without recorded values it sees others"


def json_of(text: str) -> Any:
    import json

    return json.loads(text)


def json_text(value: Any) -> str:
    import json

    return json.dumps(value)


def test_what_is_served_ends_at_the_anchor() -> None:
    """The module's generator and those that seeded themselves are seeded anew; one that the program seeded is not."""
    body = """
mine, system = random.Random(5), random.Random()
first = random.random()
ambient.go_live()
print(json.dumps([first, random.random(), system.random(), mine.random(), time.time()]))
ambient.flush()
print(json.dumps(list(kept.items())))
"""
    values, streams = map(json_of, run(body).splitlines())
    again = json_of(run(body, json_text(streams)).splitlines()[0])
    assert again[0] == values[0]
    assert again[3] == values[3]
    for place in (1, 2, 4):
        assert again[place] != values[place]


@pytest.mark.parametrize(
    "body",
    [
        "assert dt.datetime is before[0] and type(dt.datetime.now()) is dt.datetime",
        "assert time.monotonic is before[1]",
        "class A:\n    clock = time.time\nassert abs(A().clock() - before[2]()) < 60",
        "assert pickle.loads(pickle.dumps(time.time)) is time.time and copy.deepcopy(os.urandom) is os.urandom",
        "class B(dt.datetime): pass\nassert type(B.now()) is B and type(B.now(dt.timezone.utc)) is B",
        "assert abs((dt.datetime.now(dt.timezone.utc).timestamp()) - before[2]()) < 60",
        "assert abs(time.mktime(time.localtime()) - before[2]()) < 60 and time.gmtime(0).tm_year == 1970",
        "assert time.strftime('%Y', time.gmtime(0)) == '1970' and time.ctime(0) and time.asctime(time.gmtime(0))",
        "random.seed(5); one = random.random(); assert one == random.Random(5).random() != random.random()",
        "random.seed('x'); state = random.getstate(); one = random.gauss(0, 1)\n"
        "random.setstate(state); assert random.gauss(0, 1) == one",
        "found = []\nrandom.seed(5)\nfor _ in range(2):\n"
        "    thread = threading.Thread(target=lambda: found.append(random.random())); thread.start(); thread.join()\n"
        "other = random.Random(5); assert found == [other.random(), other.random()], 'seeded, it is one for all'",
        "assert uuid.uuid4().version == 4 and uuid.uuid1().version == 1 and uuid.uuid1(5, 6).node == 5",
        "assert len(os.urandom(0)) == 0 and len(os.urandom(10000)) == 10000",
        "try:\n    os.urandom(-1)\nexcept ValueError:\n    pass\nelse:\n    raise SystemExit(1)",
        "try:\n    time.time(1)\nexcept TypeError:\n    pass\nelse:\n    raise SystemExit(1)",
        "assert sorted(random.sample(range(9), 9)) == list(range(9)) and 0 <= random.randrange(3) < 3",
        "if (pid := os.fork()) == 0:\n    random.random(); time.time(); os._exit(0)\nassert os.waitpid(pid, 0)[1] == 0",
    ],
)
def test_what_the_doors_leave_as_it_was(body: str) -> None:
    """Law 6: recording never changes what the program gets, but for which chance it is."""
    run(body)


def test_who_keeps_time_for_itself_gets_real_time() -> None:
    """Requirement 2: only what the program and its libraries ask counts; never loops, threads, logging, or ours."""
    body = """
logging.getLogger("x").warning("said")
async def main():
    await asyncio.sleep(0.01)
    await asyncio.wait_for(asyncio.sleep(0), 5)
asyncio.run(main())
print(len(kept)); ambient.flush()
print(sorted({stream.module for stream in kept}))
"""
    assert run(body).splitlines()[-1] == "['random']", "the seed of the module's own generator, and nothing else"
