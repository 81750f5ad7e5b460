"""A Python that has loaded what the program will load, and forks a process for each attempt.

It is started by the attempt's own command, so interpreter, options and arguments are the program's. It stands still
inside `sitecustomize`, where the boundary is put in before any program runs; each fork goes on from there, and what
then runs `__main__` is the interpreter itself.

The parent is told {"ready": true} once, or {"refused": reason, "module": the one that was being loaded}. It orders by
{"attempt": run file, "stdin": its identity, "fresh": whether the output is a file of this attempt alone}, with the
descriptors of standard input, output and error, and is told {"pid"}, or {"changed": file} where what was loaded is out
of date, and at the end of each fork {"pid", "status"}. A fork stays a zombie until the next order, so that nobody else
gets its id while it is asked for.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import json
import os
import select
import signal
import socket
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, cast

from anchored.boundary.anew import watch_environment
from anchored.boundary.crossing import Crossing, Gate, Passage
from anchored.boundary.environment import Reads
from anchored.boundary.guard import ATTEMPT_VARIABLE
from anchored.boundary.process import use_gate
from anchored.boundary.proxies import restore_proxies
from anchored.boundary.start import abort, put_doors_in, start
from anchored.boundary.stdin import STDIN_VARIABLE
from anchored.canonical import JsonObject

FORK_VARIABLE = "ANCHORED_FORK"
"""Environment variable that makes a Python such a server: {"socket": descriptor, "modules": what to load}, as JSON."""

LONGEST_PATH = 1024
"""Bytes that a run file's path may have: the environment of a process has no room for more than was left."""

LONGEST_MESSAGE = 65536
_STEP_MS = 5
_THREADS = Path("/proc/self/task")
_DESCRIPTORS = Path("/proc/self/fd")


class _Refused(Exception):
    """This program's processes cannot be forked."""

    def __init__(self, reason: str, module: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.module = module


class _NotYet:
    """The gate while modules are loaded: whatever they do outside this process is no matter of a server."""

    def __init__(self) -> None:
        self.found: str | None = None

    @property
    def serving(self) -> bool:
        """Nothing is served, and nothing let through: `begin` says so."""
        return False

    def begin(self, crossing: Crossing) -> Passage:
        self._stop(f"calls {crossing.origin}{crossing.path}" if crossing.origin else f"calls {crossing.name}")

    async def begin_async(self, crossing: Crossing) -> Passage:
        return self.begin(crossing)

    def connecting(self, address: str, *, inside: bool) -> None:
        self._stop(f"connects to {address}")

    def spawning(self, command: str, *, bound: bool, python: bool, inherits: bool) -> None:
        self._stop(f"starts {command}")

    def note(self, kind: str, document: JsonObject, *, once: bool = False) -> None:
        """Said again to the gate of each attempt."""

    def forked(self) -> None:
        """No lock is held."""

    def _stop(self, what: str) -> NoReturn:
        self.found = self.found or what
        raise PermissionError(f"anchored: a module that is loaded ahead {what}")


@dataclass(frozen=True, kw_only=True, slots=True)
class _Order:
    """What the parent wants started, and with which descriptors."""

    attempt: str
    stdin: str
    fresh: bool
    descriptors: tuple[int, ...]


def serve(text: str) -> None:
    """Loads modules, then forks for each order. Returns in the forks only, with the boundary in.

    1. Put the doors in.  2. Load.  3. Look whether a fork would be what a start is.  4. Fork when told to.
    """
    settings = cast("dict[str, Any]", json.loads(text))
    control = socket.socket(fileno=settings["socket"])
    control.set_inheritable(False)
    initial = dict(os.environ)
    try:
        restore_proxies()
        put_doors_in(abort)  # 1
        reads = _load(settings["modules"], control)  # 2, 3
    except _Refused as refused:
        _send(control, {"refused": refused.reason, "module": refused.module})
        os._exit(0)
    held = _Held()
    gc.collect()
    gc.freeze()
    _send(control, {"ready": True})
    order = _wait_for_orders(control, held)  # 4
    _become(order)
    start(Path(order.attempt))
    environment = {**initial, ATTEMPT_VARIABLE: order.attempt, STDIN_VARIABLE: order.stdin}
    watch_environment(order.attempt, environment, reads, fresh=order.fresh)


def _load(modules: Iterable[str], control: socket.socket) -> dict[str, Reads]:
    """Loads modules as the program would: from its folder, and with its name. What each has read of the environment.

    Raises:
        _Refused: one of them does something that a fork would not have, or have in common with others.
    """
    place = _first_place()
    script = sys.argv[0] if sys.argv[0] not in ("", "-", "-c", "-m") else None
    main = sys.modules["__main__"]
    if place is not None:
        sys.path.insert(0, place)
    if script is not None:
        main.__file__ = os.path.join(os.getcwd(), script)
    reads: dict[str, Reads] = {}
    gate = _NotYet()
    use_gate(cast("Gate", gate))
    try:
        for module in modules:
            reads[module] = Reads()
            with reads[module].watched():
                _load_one(module, gate)
            _check_alone(module, control)
    finally:
        use_gate(None)
        if script is not None:
            del main.__file__
        if place is not None:
            sys.path.remove(place)
    return reads


def _load_one(module: str, gate: _NotYet) -> None:
    try:
        importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise _Refused(f"{module} cannot be loaded: {error}", module) from error
    except BaseException as error:
        raise _Refused(f"{module} cannot be loaded: {type(error).__name__}: {error}", module) from error
    if gate.found is not None:
        raise _Refused(f"{module} {gate.found} when it is loaded", module)


def _check_alone(module: str, control: socket.socket) -> None:
    """No thread, which a fork would not have; no socket, which forks would share; no child, which they would not have.

    Native libraries may have threads that they end before a fork and start again after it, as OpenBLAS does; that is
    seen by forking.
    """
    if _threads() > 1:
        tried = os.fork()
        if tried == 0:
            os._exit(0)
        os.waitpid(tried, 0)
    if _threads() > 1:
        raise _Refused(f"{module} starts a thread when it is loaded", module)
    for place in _DESCRIPTORS.iterdir():
        with suppress(OSError):
            if os.readlink(place).startswith("socket:") and int(place.name) not in (control.fileno(), 0, 1, 2):
                raise _Refused(f"{module} opens a socket when it is loaded", module)
    with suppress(ChildProcessError):
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        raise _Refused(f"{module} starts a process when it is loaded", module)


def _threads() -> int:
    return len(os.listdir(_THREADS))


def _first_place() -> str | None:
    """What the interpreter will put first into `sys.path`; None if nothing."""
    if sys.flags.safe_path:
        return None
    script = sys.argv[0]
    if script == "-m":
        return os.getcwd()
    if script in ("", "-", "-c"):
        return ""
    return script if os.path.isdir(script) else os.path.dirname(os.path.realpath(script))


class _Held:
    """The files of what is loaded, as they were: a module that is another by now must be loaded anew."""

    def __init__(self) -> None:
        loaded = [getattr(module, "__dict__", {}).get("__file__") for module in list(sys.modules.values())]
        self._files = {file: self._state(file) for file in loaded if isinstance(file, str) and os.path.isabs(file)}
        self._names = {name.partition(".")[0] for name in sys.modules}
        self._place = _first_place()
        self._hiding = self._hidden()

    def changed(self) -> str | None:
        """A file that is not as it was when it was loaded, or that would be loaded in the place of another."""
        for file, state in self._files.items():
            if self._state(file) != state:
                return file
        new = sorted(self._hidden() - self._hiding)
        return new[0] if new else None

    @staticmethod
    def _state(file: str) -> tuple[int, int, int] | None:
        try:
            status = os.stat(file)
        except OSError:
            return None
        return status.st_mtime_ns, status.st_size, status.st_ino

    def _hidden(self) -> set[str]:
        """Names in the program's folder that come before those of loaded modules."""
        if self._place is None:
            return set()
        try:
            names = os.listdir(self._place or ".")
        except OSError:
            return set()
        return {name for name in names if name.partition(".")[0] in self._names}


def _wait_for_orders(control: socket.socket, held: _Held) -> _Order:
    """Forks for each order, and says how forks end; returns in the fork. Ends with the parent."""
    running: set[int] = set()
    ended: set[int] = set()
    poll = select.poll()
    poll.register(control, select.POLLIN)
    while True:
        for child in sorted(running):
            found = os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if found is not None:
                running.discard(child)
                ended.add(child)
                status = found.si_status if found.si_code == os.CLD_EXITED else -found.si_status
                _send(control, {"pid": child, "status": status})
        if not poll.poll(_STEP_MS if running else None):
            continue
        order = _receive(control)
        if order is None:
            _leave(running)
        for child in ended:
            os.waitpid(child, 0)
        ended.clear()
        changed = held.changed()
        if changed is not None:
            _send(control, {"changed": changed})
            _close(order.descriptors)
            continue
        _flush()
        told, tell = os.pipe()
        child = os.fork()
        if child == 0:
            control.close()
            os.close(told)
            os.setsid()
            _show_attempt(order.attempt)
            os.close(tell)
            return order
        _close((tell, *order.descriptors))
        os.read(told, 1)  # until the fork can be found and ended by what it has of its own, or is gone
        os.close(told)
        running.add(child)
        _send(control, {"pid": child})


def _receive(control: socket.socket) -> _Order | None:
    try:
        data, descriptors, _, _ = socket.recv_fds(control, LONGEST_MESSAGE, 3)
    except OSError:
        return None
    if not data:
        return None
    order = cast("dict[str, Any]", json.loads(data))
    return _Order(attempt=order["attempt"], stdin=order["stdin"], fresh=order["fresh"], descriptors=tuple(descriptors))


def _send(control: socket.socket, message: Mapping[str, object]) -> None:
    with suppress(OSError):  # a parent that is gone is noticed where it is read from
        control.send(json.dumps(message).encode())


def _leave(running: Iterable[int]) -> NoReturn:
    """The parent is gone: nothing is left behind."""
    for child in running:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(child, signal.SIGKILL)
    os._exit(0)


def _close(descriptors: Iterable[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, OSError, ValueError):
            stream.flush()


def _become(order: _Order) -> None:
    """Makes this fork what a start would have made."""
    for number, descriptor in enumerate(order.descriptors):
        os.dup2(descriptor, number)
    _close(descriptor for descriptor in order.descriptors if descriptor > 2)
    os.environ[ATTEMPT_VARIABLE] = order.attempt
    os.environ[STDIN_VARIABLE] = order.stdin
    importlib.invalidate_caches()
    for name in ("numpy.random", "torch"):  # `random` itself does so after each fork
        loaded: Any = sys.modules.get(name)
        seed = getattr(loaded, "seed", None)
        if seed is not None:
            seed()


def _show_attempt(attempt: str) -> None:
    """Lets the system's own view of this process's environment name the attempt, by which its processes are found.

    `/proc/PID/environ` shows the memory in which the environment was when the program started, and only that. A
    variable that leaves room for it was set then.
    """
    fields = Path("/proc/self/stat").read_text(encoding="ascii", errors="replace").rpartition(") ")[2].split()
    begin, end = (
        int(fields[47]),
        int(fields[48]),
    )  # env_start and env_end of proc(5), less the two before the name's end
    shown = b"\0" + ctypes.string_at(begin, end - begin)
    name = b"\0" + ATTEMPT_VARIABLE.encode() + b"="
    place = shown.index(name) + len(name)
    room = shown.index(b"\0", place) - place
    path = os.fsencode(attempt)
    if len(path) > room:
        raise ValueError(f"a run file's path of {len(path)} bytes, for {room}")
    ctypes.memmove(begin + place - 1, path + b"\0" * (room - len(path)), room)


def reserved_attempt() -> str:
    """What the variable of the attempt holds in a server's own environment."""
    return "-" * LONGEST_PATH
