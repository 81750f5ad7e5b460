"""Attempts that are forked from a preloaded server are what spawned ones are, and whatever cannot be forked is spawned.

Every program here is replayed both ways; what it was served, what it saw and how it was judged must be the same.
"""

import difflib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from anchored.attempts import ForkServer, Project, Replay, ReplayRequest, Timing, record, replay
from anchored.attempts.processes import processes_of
from anchored.library import Library
from anchored.replaying import Unchanged
from anchored.testing import RunningEndpoint, running_endpoint

SCRIPT = """
from anchored.testing import Reply, Rule, Script
echo = Reply.text(lambda request: "about " + request.last.text)
script = Script(rules=[Rule(name="all", when=lambda request: True, replies=echo)])
"""

ASK = """
import os
import httpx


def ask(text):
    body = {"model": "scripted-1", "messages": [{"role": "user", "content": text}]}
    answer = httpx.post(os.environ["OPENAI_BASE_URL"] + "/chat/completions", json=body, timeout=30)
    return answer.json()["choices"][0]["message"]["content"] if answer.status_code == 200 else "none"


"""

LOOKS = """
import atexit, json, re, signal, threading
from pathlib import Path
import __main__


def look():
    return {
        "argv": sys.argv, "orig_argv": sys.orig_argv, "path": sys.path, "folder": os.getcwd(), "flags": str(sys.flags),
        "environment": {n: v for n, v in os.environ.items() if n not in ("ANCHORED_ATTEMPT", "ANCHORED_STDIN")},
        "file": getattr(__main__, "__file__", None), "name": __name__, "package": __package__,
        "spec": re.sub("0x[0-9a-f]+", "", str(__spec__)), "loader": type(__main__.__loader__).__name__,
        "names": sorted(vars(__main__)),
        "signals": {str(number): str(signal.getsignal(number)) for number in signal.valid_signals()},
        "streams": [(s.name, s.mode, s.encoding, s.errors, s.line_buffering, s.isatty(), s.seekable())
                    for s in (sys.stdin, sys.stdout, sys.stderr)],
        "stdin": sys.stdin.read(), "leader": os.getsid(0) == os.getpid(), "threads": threading.active_count(),
        "tasks": len(os.listdir("/proc/self/task")), "umask": os.umask(0o22),
        "descriptors": sorted(os.readlink(f"/proc/self/fd/{fd}").partition(":")[0].rpartition(".")[2]
                              for fd in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{fd}")),
        "devices": sorted(line.split(":")[0].strip() for line in Path("/proc/net/dev").read_text().splitlines()),
        "isolated": os.environ.get("ANCHORED_ISOLATED"),
        "attempt": [v for v in Path("/proc/self/environ").read_bytes().split(b"\\0")
                    if v.startswith(b"ANCHORED_ATTEMPT=")] == [b"ANCHORED_ATTEMPT=" + os.environb[b"ANCHORED_ATTEMPT"]],
    }


atexit.register(lambda: print("at the end"))
print(json.dumps(look(), sort_keys=True, indent=1))
sys.stderr.write("to the other\\n")
"""


@dataclass(kw_only=True)
class Stand:
    """A folder in which programs run, with a store."""

    folder: Path
    library: Library

    def write(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def record(self, *command: str, name: str = "one") -> None:
        record(self.library, command, task=None, name=name, folder=self.folder, timing=Timing())

    def replay(
        self, server: ForkServer | None, *, at: int | None = None, timeout: float = 60, name: str = "one"
    ) -> Replay:
        return replay(
            self.library,
            ReplayRequest(name=name, at=at, intervention=Unchanged()),
            project=Project(),
            timing=Timing(grace=1, handshake=30, timeout=timeout),
            server=server,
        )

    def both(self, server: ForkServer, *, at: int | None = None, timeout: float = 60) -> tuple[Replay, Replay]:
        """A spawned replay and a forked one; they must be alike in all that counts."""
        spawned, forked = self.replay(None, at=at, timeout=timeout), self.replay(server, at=at, timeout=timeout)
        assert spawned.started == "spawned"
        assert forked.started == "forked"
        for what in ("kind", "reason", "divergence", "prefix_exact"):
            assert getattr(forked.verdict, what) == getattr(spawned.verdict, what)
        assert forked.recording.log.entries[:at] == spawned.recording.log.entries[:at]
        assert forked.recording.closing is not None
        assert spawned.recording.closing is not None
        assert forked.recording.closing.stop == spawned.recording.closing.stop
        assert at is not None or forked.recording.digest == spawned.recording.digest
        assert (forked.receipt is None) == (spawned.receipt is None)
        texts = [self.output(attempt).splitlines() for attempt in (spawned, forked)]
        assert not list(difflib.unified_diff(*texts, "spawned", "forked", lineterm="", n=0))
        for attempt in (spawned, forked):
            assert not processes_of(self.library.path(attempt.name))
        return spawned, forked

    def output(self, attempt: Replay) -> str:
        assert attempt.output is not None
        return attempt.output.read_text(encoding="utf-8")

    def package(self, name: str, text: str) -> None:
        """An installed package of this name, whose module says what is given."""
        self.write(f"site-packages/{name}/__init__.py", text)
        (self.folder / "site-packages" / f"{name}-1.0.dist-info").mkdir()


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningEndpoint]:
    folder = tmp_path_factory.mktemp("endpoint")
    (folder / "script.py").write_text(SCRIPT)
    with running_endpoint(folder / "script.py", log=folder / "log.jsonl") as made:
        yield made


@pytest.fixture
def stand(tmp_path: Path, endpoint: RunningEndpoint, monkeypatch: pytest.MonkeyPatch) -> Stand:
    monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    held = os.environ.get("PYTHONPATH")
    places = [str(tmp_path / "site-packages"), *([held] if held else [])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(places))
    return Stand(folder=tmp_path, library=Library(tmp_path / "store"))


@pytest.fixture
def server() -> Iterator[ForkServer]:
    with ForkServer() as made:
        yield made


@pytest.fixture(scope="module")
def ending(tmp_path_factory: pytest.TempPathFactory, endpoint: RunningEndpoint) -> Iterator[tuple[Stand, ForkServer]]:
    """A recorded program that ends as a file says, and a server for it."""
    folder = tmp_path_factory.mktemp("ending")
    stand = Stand(folder=folder, library=Library(folder / "store"))
    stand.write("end", "pass\n")
    text = f"import signal, socket, subprocess, sys, time\n{ASK}ask('one')\nprint('words', ask('two'))\n"
    stand.write("program.py", f"{text}exec(open('end').read())\n")
    with pytest.MonkeyPatch.context() as patch, ForkServer() as server:
        patch.setenv("OPENAI_BASE_URL", endpoint.url)
        patch.setenv("NO_PROXY", "127.0.0.1")
        stand.record(sys.executable, "program.py")
        yield stand, server


@pytest.mark.parametrize("at", [None, 2])
def test_a_fork_is_served_and_judged_as_a_start_is(stand: Stand, server: ForkServer, at: int | None) -> None:
    stand.write("program.py", ASK + "print(ask('one'), ask('two'))\n")
    stand.record(sys.executable, "program.py")
    _, forked = stand.both(server, at=at)
    assert forked.verdict.holds
    again = stand.replay(server, at=at)
    assert again.started == "forked"
    assert again.recording.log.entries[:at] == forked.recording.log.entries[:at]


@pytest.mark.parametrize(
    "command",
    [
        ["{python}", "program.py", "one", "--two"],
        ["{python}", "-u", "-X", "dev", "-W", "error", "inner/program.py"],
        ["{python}", "-m", "inner.program", "x"],
        ["{python}", "-c", "{text}", "x"],
        ["{python}", "-P", "program.py"],
        ["{python}", "inner"],
        ["./script", "y"],
        ["{python}", "program.py"],
    ],
    ids=lambda words: " ".join(words)[:24],
)
def test_a_fork_sees_what_a_start_sees(stand: Stand, server: ForkServer, command: list[str]) -> None:
    """Arguments, environment, `__main__`, streams, signals, descriptors, devices of its network, what `ps` shows."""
    looks = f"import sys\n{ASK}{LOOKS}\nask('one')\n"
    stand.write("program.py", looks)
    stand.write("inner/__init__.py", "")
    stand.write("inner/program.py", looks)
    stand.write("inner/__main__.py", looks)
    stand.write("script", f"#!{sys.executable}\n{looks}")
    (stand.folder / "script").chmod(0o755)
    stand.record(*(word.replace("{python}", sys.executable).replace("{text}", looks) for word in command))
    _, forked = stand.both(server, at=0 if len(command) == 2 else None)  # with a network too
    assert forked.verdict.holds
    assert "at the end" in stand.output(forked)
    assert '"attempt": true' in stand.output(forked), "what the system shows of its environment names its attempt"


@pytest.mark.parametrize(
    ("end", "kind"),
    [
        ("sys.exit(3)", "crashed"),
        ("sys.exit('words')", "crashed"),
        ("raise ValueError('broken')", "crashed"),
        ("os._exit(4)", "crashed"),
        ("os.kill(os.getpid(), signal.SIGTERM)", "crashed"),
        ("os.kill(os.getpid(), signal.SIGSEGV)", "crashed"),
        ("time.sleep(600)", "crashed"),
        ("signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals()), time.sleep(600)", "crashed"),
        ("ask('three')", "diverged"),
        ("ask('three'), time.sleep(600)", "diverged"),
        ("socket.create_connection(('127.0.0.1', 9))", "refused"),
        ("subprocess.run([sys.executable, '-I', '-c', 'pass'])", "refused"),
    ],
)
def test_a_fork_ends_as_a_start_does(ending: tuple[Stand, ForkServer], end: str, kind: str) -> None:
    """A crash, a hang that the watchdog ends, a divergence, a poison: verdict, status and last words are the same."""
    place, server = ending
    place.write("end", f"sys.stdout.write('begun')\n{end}\n")
    timeout = 2.5 if "sleep" in end and kind == "crashed" else 60.0
    _, forked = place.both(server, timeout=timeout)
    assert forked.verdict.kind == kind


def test_what_a_fork_leaves_behind_is_ended(stand: Stand, server: ForkServer) -> None:
    """Whatever session it went to, and whether it was forked or executed (issue: processes by /proc/PID/environ)."""
    stand.write(
        "program.py",
        ASK + "import subprocess, sys, time\nask('one')\n"
        "if len(sys.argv) > 1:\n"
        "    subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'], start_new_session=True)\n"
        "    if os.fork() == 0:\n"
        "        os.setsid()\n"
        "        if os.fork() == 0:\n"
        "            time.sleep(600)\n"
        "        os._exit(0)\n"
        "    os.wait()\n"
        "    print('left')\n",
    )
    stand.record(sys.executable, "program.py", "x", name="none")
    for process in processes_of(stand.library.path("none")):
        os.kill(process, signal.SIGKILL)
    stand.record(sys.executable, "program.py")
    stand.write("program.py", (stand.folder / "program.py").read_text().replace("len(sys.argv) > 1", "True"))
    _, forked = stand.both(server)
    assert forked.verdict.kind == "exact"
    assert "left" in stand.output(forked)
    server.close()
    assert not _python_children(stand.folder)


def test_multiprocessing_in_a_fork(stand: Stand, server: ForkServer) -> None:
    """Both ways to start, from `__main__` and from a module beside it, with a pool."""
    stand.write("work.py", "def double(number):\n    return 2 * number\n")
    stand.write(
        "program.py",
        ASK + "import multiprocessing\nimport work\n\n\ndef triple(number):\n    return 3 * number\n\n\n"
        "if __name__ == '__main__':\n"
        "    for way in ('spawn', 'fork'):\n"
        "        with multiprocessing.get_context(way).Pool(2) as pool:\n"
        "            print(way, pool.map(work.double, [1, 2]), pool.map(triple, [1, 2]))\n"
        "    print(ask('one'))\n",
    )
    stand.record(sys.executable, "program.py")
    _, forked = stand.both(server)
    assert "spawn [2, 4] [3, 6]\nfork [2, 4] [3, 6]" in stand.output(forked)


def test_standard_input_is_given_to_each_fork(stand: Stand, server: ForkServer) -> None:
    stand.write("program.py", ASK + "import sys\nprint(ask(input() + sys.stdin.read()))\n")
    given = stand.folder / "given"
    given.write_text("first\nsecond\nthird")
    recording = [sys.executable, "-m", "anchored", "record", "--store", str(stand.folder / "store"), "--name", "one"]
    with given.open("rb") as stdin:
        done = subprocess.run(
            [*recording, "--", sys.executable, "program.py"],
            cwd=stand.folder,
            stdin=stdin,
            capture_output=True,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    for _ in range(2):
        _, forked = stand.both(server)
        assert forked.verdict.kind == "exact"
        assert "about first" in stand.output(forked)


def test_no_two_forks_draw_the_same(stand: Stand, server: ForkServer) -> None:
    """`random`, and what comes from the system."""
    stand.write(
        "program.py",
        ASK + "import random, tempfile, uuid\nask('one')\nprint(random.random())\nprint(uuid.uuid4())\n"
        "print(tempfile.mktemp())\nprint(hash('text'))\n",
    )
    stand.record(sys.executable, "program.py")
    first, second = (stand.output(stand.replay(server)).splitlines() for _ in range(2))
    assert [one == other for one, other in zip(first, second, strict=True)] == [False, False, False, True]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("import threading, time\nthreading.Thread(target=time.sleep, args=(9,), daemon=True).start()", "a thread"),
        ("import socket\nheld = socket.socket()", "a socket"),
        ("import subprocess\nheld = subprocess.Popen(['sleep', '9'])", "starts sleep"),
        ("import os, time\nif os.fork() == 0:\n    time.sleep(9)\n    os._exit(0)", "a process"),
        (
            "import socket\ntry:\n    socket.create_connection(('127.0.0.1', 9))\nexcept OSError:\n    pass",
            "connects to",
        ),
        (
            "import httpx\ntry:\n    httpx.get('http://127.0.0.1:9/prices')\nexcept OSError:\n    pass",
            "calls http://127.0.0.1:9/prices when it is loaded",
        ),
        ("raise ValueError('not today')", "not today"),
    ],
)
def test_what_a_fork_would_not_have_is_loaded_by_each(stand: Stand, server: ForkServer, text: str, reason: str) -> None:
    """A module that starts a thread or a process, opens a socket or calls is left to the program; others are loaded."""
    guarded = "import os\nif os.environ.get('TAME') != '1':\n" + "".join(f"    {line}\n" for line in text.splitlines())
    stand.package("litellm", guarded)
    stand.write("program.py", ASK + "os.environ['TAME'] = '1'\nimport litellm\nprint(ask('one'))\n")
    stand.record(sys.executable, "program.py")
    done = stand.replay(server)
    assert done.started.startswith("forked; litellm ")
    assert reason in done.started
    assert done.verdict.kind == "exact"


def test_a_program_is_spawned_if_nothing_can_be_loaded_ahead(stand: Stand, server: ForkServer) -> None:
    """Not a Python, a Python that reads its program, or hashes that no two starts share."""
    stand.write("program.py", ASK + "print(ask('one'))\n")
    stand.record("env", sys.executable, "program.py")
    assert stand.replay(server).started == "spawned: env is no Python, and no script of one"
    stand.write("nothing.py", "import json\n")
    stand.record(sys.executable, "nothing.py", name="nothing")
    assert stand.replay(server, name="nothing").started == "spawned: it is not known what it loads"


def test_a_module_that_has_changed_is_loaded_anew(stand: Stand, server: ForkServer) -> None:
    """A fork has the code that a start would have: files of the packages, and a new one that hides them."""
    stand.package("litellm", "word = 'first'\n")
    stand.write("program.py", ASK + "import litellm\nprint(litellm.word)\nask('one')\n")
    stand.record(sys.executable, "program.py")
    assert stand.output(stand.replay(server)) == "first\n"
    stand.write("site-packages/litellm/__init__.py", "word = 'second'\n")
    second = stand.replay(server)
    assert (stand.output(second), second.started) == ("second\n", "forked")
    stand.write("litellm.py", "word = 'hidden'\n")
    third = stand.replay(server)
    assert (stand.output(third), third.started) == ("hidden\n", "forked")


def test_a_variable_that_is_set_before_the_import_counts(stand: Stand, server: ForkServer) -> None:
    """The module was loaded without it, so the program is started really, and is not forked again."""
    stand.package("litellm", "import os\nmode = os.environ.get('LITELLM_MODE', 'none')\n")
    stand.write(
        "program.py",
        ASK + "print('begun')\nos.environ['OTHER'] = 'x'\nos.environ['LITELLM_MODE'] = 'quiet'\n"
        "import litellm\nprint(litellm.mode, ask('one'))\nos.environ['LITELLM_MODE'] = 'loud'\n",
    )
    stand.record(sys.executable, "program.py")
    spawned = stand.replay(None)
    for _ in range(2):
        done = stand.replay(server)
        assert done.started == "spawned: the program sets LITELLM_MODE, which litellm reads when it is loaded"
        assert done.verdict == spawned.verdict
        assert stand.output(done) == stand.output(spawned) == "begun\nquiet about one\n"
        assert done.recording.digest == spawned.recording.digest


@pytest.mark.parametrize("text", ["import litellm", "from litellm import ask as it", "from own import litellm as it"])
def test_a_variable_that_is_set_after_the_import_does_not(stand: Stand, server: ForkServer, text: str) -> None:
    stand.package("litellm", "import os\nmode = os.environ.copy()\n\n\ndef ask():\n    pass\n")
    stand.write("own.py", "import litellm\n")
    stand.write("program.py", f"{ASK}{text}\nos.environ['LITELLM_MODE'] = 'quiet'\nprint(ask('one'))\n")
    stand.record(sys.executable, "program.py")
    assert stand.replay(server).started == "forked"


def test_what_is_printed_while_loading_is_in_every_output(stand: Stand, server: ForkServer) -> None:
    stand.package("litellm", "print('loaded')\n")
    stand.write("program.py", ASK + "import litellm\nprint(ask('one'))\n")
    stand.record(sys.executable, "program.py")
    for _ in range(2):
        stand.both(server)


def _python_children(folder: Path) -> list[int]:
    """Processes that run in a folder, but this one."""
    found: list[int] = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            if (place / "cwd").readlink() == folder and int(place.name) != os.getpid():
                found.append(int(place.name))
        except OSError:
            continue
    return found


def test_a_server_that_dies_hangs_nothing(stand: Stand, server: ForkServer) -> None:
    """Between two attempts another is started; under an attempt, that one is ended, and the next is as ever."""
    stand.write(
        "program.py",
        ASK + "import pathlib, time\nask('one')\npathlib.Path('there').touch()\n"
        "while pathlib.Path('wait').exists():\n    time.sleep(0.05)\n",
    )
    stand.record(sys.executable, "program.py")
    assert stand.replay(server).started == "forked"
    (made,) = _python_children(stand.folder)
    os.kill(made, signal.SIGKILL)
    assert stand.replay(server).started == "forked"
    (made,) = _python_children(stand.folder)
    (stand.folder / "wait").touch()
    (stand.folder / "there").unlink()

    def kill() -> None:
        while not (stand.folder / "there").exists():
            time.sleep(0.01)
        os.kill(made, signal.SIGKILL)

    thread = threading.Thread(target=kill)
    thread.start()
    ended = stand.replay(server)
    thread.join()
    assert ended.verdict.kind == "crashed"
    (stand.folder / "wait").unlink()
    after = stand.replay(server)
    assert (after.started, after.verdict.kind) == ("forked", "exact")
    server.close()
    assert not _python_children(stand.folder)
    assert stand.replay(server).started == "spawned: the server is closed"


def test_nothing_is_left_when_the_parent_is_killed(stand: Stand) -> None:
    stand.write(
        "program.py",
        ASK + "import pathlib, time\nask('one')\nif pathlib.Path('wait').exists():\n"
        "    pathlib.Path('there').touch()\n    time.sleep(600)\n",
    )
    stand.record(sys.executable, "program.py")
    (stand.folder / "wait").touch()
    parent = subprocess.Popen(
        [sys.executable, "-m", "anchored", "replay", "one", "--trials", "2", "--store", str(stand.folder / "store")],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    while not (stand.folder / "there").exists():
        time.sleep(0.02)
    assert len(_python_children(stand.folder)) == 2, "the server and the attempt"
    parent.kill()
    parent.wait()
    deadline = time.monotonic() + 20
    while _python_children(stand.folder) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not _python_children(stand.folder)


def test_one_server_serves_several_recordings_and_keeps_the_latest(stand: Stand) -> None:
    with ForkServer(most=2) as server:
        for number in range(3):
            stand.write(f"program{number}.py", ASK + f"print(ask('{number}'))\n")
            stand.record(sys.executable, f"program{number}.py", name=f"run{number}")
            assert stand.replay(server, name=f"run{number}").started == "forked"
        assert len(_python_children(stand.folder)) == 2
        assert stand.replay(server, name="run0").verdict.kind == "exact"
    assert not _python_children(stand.folder)


def test_trials_are_forked(stand: Stand) -> None:
    """`anchored replay --trials N`, and the document says so."""
    stand.write("program.py", ASK + "print(ask('one'), ask('two'))\n")
    stand.record(sys.executable, "program.py")
    store = str(stand.folder / "store")
    done = subprocess.run(
        [sys.executable, "-m", "anchored", "replay", "one", "--trials", "2", "--at", "2", "--store", store, "--json"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert [(item["verdict"], item["started"]) for item in json.loads(done.stdout)] == [("live", "forked")] * 2
