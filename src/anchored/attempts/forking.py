"""Attempts that are forked from a Python which has loaded their frameworks already: the parent's side.

Whatever cannot be forked exactly is started as ever, and why is said with it.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import IO, Any, cast

from anchored.attempts.forkable import Start, key_of, unfit
from anchored.attempts.processes import end_processes
from anchored.boundary.fork_server import FORK_VARIABLE, LONGEST_MESSAGE, reserved_attempt
from anchored.boundary.guard import ATTEMPT_VARIABLE
from anchored.boundary.stdin import STDIN_VARIABLE

_STEP = 0.005
_MOST_REFUSED = 3
"""How often a server is started again without a module that cannot be forked."""


class ForkedProcess:
    """A forked process, with what of `subprocess.Popen` is used of a program.

    Attributes:
        pid: its id, which nobody else gets before the server is told to start another.
        returncode: exit status, or minus the signal's number; None while it runs.
    """

    def __init__(self, server: _Server, pid: int, run_file: Path) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._server = server
        self._run_file = run_file

    def poll(self) -> int | None:
        """Its status if it has ended. Where the server has gone and cannot tell, the process is ended."""
        if self.returncode is None:
            self.returncode = self._server.status_of(self.pid)
            if self.returncode is None and self._server.gone:
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(self.pid, signal.SIGKILL)
                end_processes(self._run_file)
                self.returncode = -signal.SIGKILL
        return self.returncode

    def wait(self) -> int:
        """Its status, once it has ended."""
        while (status := self.poll()) is None:
            time.sleep(_STEP)
        return status

    def kill(self) -> None:
        """Ends it at once."""
        self.send_signal(signal.SIGKILL)

    def send_signal(self, number: int) -> None:
        """Sends it a signal, if it has not ended."""
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)


class ForkServer:
    """Starts attempts by forking, as long as it is open; one for as many recordings as you like. Safe for threads.

    There is a process for each command in its folder and environment, made when first used; the ones used last are
    kept. They end with this object, and with the process that made it.

    Args:
        most: how many are kept.
        patience: seconds that one may take to load its modules.
    """

    def __init__(self, *, most: int = 4, patience: float = 120.0) -> None:
        self._most = most
        self._patience = patience
        self._servers: dict[str, _Server] = {}
        self._unfit: dict[str, str] = {}
        self._left_out: dict[str, tuple[tuple[str, str], ...]] = {}
        self._keys: dict[Path, str] = {}
        self._lock = threading.RLock()
        self._closed = False

    def __enter__(self) -> ForkServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends all of its processes, those of attempts too."""
        with self._lock:
            self._closed = True
            for server in self._servers.values():
                server.end()
            self._servers.clear()

    def start(self, start: Start) -> tuple[ForkedProcess | None, str]:
        """A forked process, or None; and how it was started, or why it was not."""
        with self._lock:
            key = key_of(start)
            reason = "the server is closed" if self._closed else self._unfit.get(key) or unfit(start)
            if reason:
                return None, f"spawned: {reason}"
            why = ""
            for _ in range(2):  # once more where what was loaded has changed since
                server = self._server(key, start)
                if server is None:
                    return None, f"spawned: {self._unfit[key]}"
                pid = server.fork(start)
                if pid is not None:
                    self._keys[start.run_file] = key
                    left_out = "".join(f"; {why}" for _, why in self._left_out.get(key, ()))
                    return ForkedProcess(server, pid, start.run_file), f"forked{left_out}"
                why = server.reason
                self._servers.pop(key).end()
                end_processes(start.run_file)
                if start.output is not None:
                    start.output.seek(0)
                    start.output.truncate()
            return None, f"spawned: {why}"

    def avoid(self, run_file: Path, reason: str) -> None:
        """The program of an attempt is not forked again."""
        with self._lock:
            key = self._keys.get(run_file)
            if key is not None:
                self._unfit[key] = reason

    def _server(self, key: str, start: Start) -> _Server | None:
        """The server for a command, made if there is none; None where there can be none."""
        server = self._servers.pop(key, None)
        if server is not None and server.gone:
            server.end()
            server = None
        for _ in range(_MOST_REFUSED):
            if server is not None:
                break
            left_out = self._left_out.get(key, ())
            modules = [module for module in start.modules if module not in dict(left_out)]
            if not modules:
                self._unfit[key] = "; ".join(why for _, why in left_out) or "it is not known what it loads"
                return None
            server = _Server(start, modules)
            try:
                ready = server.wait_until_ready(self._patience)
            except BaseException:  # Ctrl-C
                server.end()
                raise
            if not ready:
                server.end()
                if server.refused is None:
                    self._unfit[key] = server.reason
                    return None
                self._left_out[key] = (*left_out, (server.refused, server.reason))
                server = None
        if server is None:
            self._unfit[key] = "; ".join(why for _, why in self._left_out[key])
            return None
        self._servers[key] = server
        for other in [name for name in self._servers if name != key]:  # those that were not used for longest come first
            if len(self._servers) > self._most and self._servers[other].is_idle():
                self._servers.pop(other).end()
        return server


class _Server:
    """One process that forks.

    Attributes:
        gone: it has ended, or is not to be asked any more.
        reason: why it forks nothing.
        refused: the module for which it forks nothing.
    """

    def __init__(self, start: Start, modules: Sequence[str]) -> None:
        self.gone = False
        self.reason = "the fork server has ended"
        self.refused: str | None = None
        self._running: set[int] = set()
        self._ready = False
        self._started: list[int] = []
        self._statuses: dict[int, int] = {}
        self._lock = threading.RLock()
        self._output: IO[bytes] | None = None
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs, ExitStack() as files:
            stdin: IO[bytes] | int = subprocess.DEVNULL
            if start.stdin is not None:
                stdin = files.enter_context(tempfile.TemporaryFile())  # of the same kind, and empty
            if start.output is not None:
                self._output = tempfile.TemporaryFile()  # noqa: SIM115 - read as long as the server lives
            told = {"socket": theirs.fileno(), "modules": list(modules)}
            try:
                self._process = subprocess.Popen(
                    start.words,
                    cwd=start.folder,
                    env={
                        **start.environment,
                        ATTEMPT_VARIABLE: reserved_attempt(),
                        STDIN_VARIABLE: "",
                        FORK_VARIABLE: json.dumps(told),
                    },
                    stdin=stdin,
                    stdout=self._output,
                    stderr=None if self._output is None else subprocess.STDOUT,
                    start_new_session=True,
                    pass_fds=[theirs.fileno()],
                )
            except OSError as error:
                self._process = None
                self.gone = True
                self.reason = f"the fork server cannot be started: {error.strerror}"

    def wait_until_ready(self, patience: float) -> bool:
        """Whether it has loaded all, and forks."""
        deadline = time.monotonic() + patience
        with self._lock:
            while not (self._ready or self.gone):
                if time.monotonic() > deadline:
                    self.reason = f"its modules took more than {patience:.0f} s to load"
                    return False
                self._listen(_STEP)
        return self._ready and not self.gone

    def fork(self, start: Start) -> int | None:
        """The id of a new process; None if there is none, and then the server is of no more use."""
        with self._lock, ExitStack() as files:
            self._listen(0)
            if self.gone:
                return None
            stdin = start.stdin if start.stdin is not None else files.enter_context(open(os.devnull, "rb"))
            if start.output is not None:
                self._repeat_output(start.output)
            outputs = (1, 2) if start.output is None else (start.output.fileno(), start.output.fileno())
            order = {
                "attempt": str(start.run_file),
                "stdin": start.environment[STDIN_VARIABLE],
                "fresh": start.output is not None,
            }
            try:
                socket.send_fds(self._socket, [json.dumps(order).encode()], [stdin.fileno(), *outputs])
            except OSError:
                self.gone = True
                return None
            deadline = time.monotonic() + 30
            while not (self._started or self.gone):
                self._listen(_STEP)
                if time.monotonic() > deadline:
                    self.gone = True
            return self._started.pop() if self._started else None

    def status_of(self, pid: int) -> int | None:
        """The status of a fork that has ended."""
        with self._lock:
            self._listen(0)
            return self._statuses.get(pid)

    def is_idle(self) -> bool:
        """Whether all of its forks have ended."""
        with self._lock:
            self._listen(0)
            return not self._running

    def end(self) -> None:
        """Ends it and its forks."""
        with self._lock:
            self.gone = True
            self._socket.close()
            if self._process is not None:
                try:
                    self._process.wait(1)  # it ends its forks first
                except subprocess.TimeoutExpired:
                    with suppress(ProcessLookupError, PermissionError):
                        os.killpg(self._process.pid, signal.SIGKILL)
                    for pid in self._running:
                        with suppress(ProcessLookupError, PermissionError):
                            os.killpg(pid, signal.SIGKILL)
                    self._process.wait()
            if self._output is not None:
                self._output.close()

    def _repeat_output(self, output: IO[bytes]) -> None:
        """What was printed while modules were loaded stands first in the output of each fork."""
        if self._output is not None:
            self._output.seek(0)
            shutil.copyfileobj(self._output, output)
            output.flush()

    def _listen(self, seconds: float) -> None:
        """Takes what the server has said, and waits for it so long."""
        while not self.gone and select.select([self._socket], [], [], seconds)[0]:
            try:
                data = self._socket.recv(LONGEST_MESSAGE)
            except OSError:
                data = b""
            if not data:
                self.gone = True
                return
            self._take(cast("dict[str, Any]", json.loads(data)))
            seconds = 0

    def _take(self, message: dict[str, Any]) -> None:
        if "status" in message:
            self._statuses[message["pid"]] = message["status"]
            self._running.discard(message["pid"])
        elif "pid" in message:
            self._statuses.pop(message["pid"], None)
            self._started.append(message["pid"])
            self._running.add(message["pid"])
        elif "ready" in message:
            self._ready = True
        elif "changed" in message:
            self.gone = True
            self.reason = f"{message['changed']} has changed since it was loaded"
        else:
            self.gone = True
            self.reason = str(message["refused"])
            self.refused = message["module"]
