"""The guard: sees every connection that Python opens, and asks the gate whether it may be.

An audit hook cannot be removed and does not see native code (curl; uvloop, for which there is `guard_uvloop`) or other
processes.
"""

from __future__ import annotations

import inspect
import os
import re
import sys
import threading
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import cast

from anchored.boundary.lanes import inherit, inherited
from anchored.boundary.process import current_gate
from anchored.boundary.proxies import passes_on_proxies

ATTEMPT_VARIABLE = "ANCHORED_ATTEMPT"
"""Environment variable that names the run file of the attempt; a child without it has no boundary."""

_MULTIPROCESSING = f"{os.sep}pymp-"
"""In the paths of the sockets by which `multiprocessing` reaches its own processes, which have the boundary."""

_INSIDE: ContextVar[int | None] = ContextVar("anchored_inside_door", default=None)
"""The thread in which a door of ours is at work; one that is started in there inherits the context, not the door."""
_installed: list[bool] = []


@contextmanager
def door_open() -> Generator[None]:
    """Inside, connections are made by a door of ours."""
    token = _INSIDE.set(threading.get_ident())
    try:
        yield
    finally:
        _INSIDE.reset(token)


def inside_door() -> bool:
    """Whether a door of ours is at work in this thread or task."""
    return _INSIDE.get() == threading.get_ident() or inherited("door") is True


inherit("door", inside_door)
"""A name is looked up in a thread of the event loop's."""


def install_guard() -> None:
    """Watches this process from now on."""
    if not _installed:
        _installed.append(True)
        sys.addaudithook(_audit)


def _audit(event: str, arguments: tuple[object, ...]) -> None:
    if event == "socket.connect":
        check_address(arguments[1])
    elif event in ("socket.sendto", "socket.sendmsg"):
        if arguments[1] is not None:
            check_address(arguments[1])
    elif event in ("socket.gethostbyname", "socket.gethostbyaddr"):
        check_name(arguments[0], "name")
    elif event == "socket.getaddrinfo":
        check_name(arguments[0], arguments[1])
    elif event in _SPAWNING:
        check_child(event, arguments)


def check_address(address: object) -> None:
    """A connection is about to be made to a socket address. Raises OSError if it must not be."""
    gate = current_gate()
    shown = _shown(address)
    if gate is not None and _MULTIPROCESSING not in shown:
        gate.connecting(shown, inside=inside_door())


def check_name(host: object, port: object) -> None:
    """A name is about to be looked up. Raises OSError if it must not be."""
    if _is_name(host):
        check_address((host, port))


_SPAWNING = {"subprocess.Popen": 3, "os.exec": 2, "os.posix_spawn": 2, "os.system": 0}
"""Audit events that start a program, and which argument is its environment (None: this process's own)."""


_INTERPRETER = re.compile(r"python[0-9.]*t?d?(\.exe)?|pypy[0-9.]*")
_HIDDEN = re.compile(r"(?:^|[\s;&|(/'\"])python[0-9.]*['\"]?(?:\s+-[a-zA-Z]+)*\s+-[a-zA-Z]*[IES]")
"""Such a Python in the text of a shell command."""

_OPTIONS_WITH_VALUE = frozenset({"--check-hash-based-pycs"})


def is_python(command: str) -> bool:
    """Whether a command is a Python interpreter, by its name."""
    return _INTERPRETER.fullmatch(os.path.basename(command)) is not None


def ignored_by(command: Sequence[str]) -> str | None:
    """The option by which a command line shuts the boundary out (-I, -E or -S of Python, -i of env); None if none does.

    -I and -E ignore PYTHONPATH, by which the boundary comes; -S runs no `sitecustomize`; -i passes no environment on.
    """
    program = next((place for place, word in enumerate(command) if is_python(word)), len(command))
    before = command[:program]
    if before and os.path.basename(before[0]) == "env":
        cleared = next((word for word in before[1:] if _clears(word)), None)
        if cleared is not None:
            return cleared
    hidden = next((found for word in before if (found := _HIDDEN.search(word)) is not None), None)
    if hidden is not None:
        return hidden[0].split()[-1]
    letters, _ = _options(command[program + 1 :])
    return next((f"-{letter}" for letter in letters if letter in "IES"), None)


def _clears(word: str) -> bool:
    """Whether a word of `env` takes the environment away by which the boundary comes."""
    cluster = word.startswith("-") and not word.startswith("--") and "i" in word
    return word in ("-", "--ignore-environment", "PYTHONPATH") or cluster or word.startswith("PYTHONPATH=")


def unbound(environment: Mapping[str, str]) -> dict[str, str]:
    """An environment without that by which the boundary comes."""
    return {name: value for name, value in environment.items() if name != ATTEMPT_VARIABLE}


def reads_program(command: Sequence[str]) -> bool:
    """Whether a Python command line takes the program from standard input."""
    letters, rest = _options(command[1:])
    informs = any(word.startswith(("--version", "--help")) for word in command[1:])
    return not informs and not set("cmiVh?") & set(letters) and (not rest or rest[0] == "-")


def _options(words: Sequence[str]) -> tuple[str, Sequence[str]]:
    """The letters of Python's own options, up to the program, and the words from the program on."""
    letters = ""
    place = 0
    while place < len(words):
        word = words[place]
        if not word.startswith("-") or word == "-":
            break
        if word.startswith("--"):
            place += 2 if word in _OPTIONS_WITH_VALUE else 1
            if word == "--":
                break
            continue
        place += 1
        for at, letter in enumerate(word[1:], 1):
            letters += letter
            if letter in "cm":
                return letters, words[place:]
            if letter in "XW":
                place += at == len(word) - 1
                break
    return letters, words[place:]


def check_child(event: str, arguments: tuple[object, ...]) -> None:
    """A program is about to be started, as an audit event of _SPAWNING says. Raises OSError if it must not be."""
    gate = current_gate()
    if gate is None:
        return
    executable = _text(arguments[0])
    if event == "os.system":
        gate.spawning("sh", bound=ignored_by(["sh", _text(arguments[0])]) is None, python=False, inherits=True)
        return
    environment = arguments[_SPAWNING[event]]
    held = cast("Mapping[object, object]", os.environ if environment is None else environment)
    try:
        kept = ATTEMPT_VARIABLE in held or (held is not os.environ and ATTEMPT_VARIABLE.encode() in held)
    except TypeError:
        kept = False
    words = _words(arguments[1])
    if kept and words == ["uname", "-p"]:  # the standard library's `platform`, which SDKs ask for their headers
        return
    bound = inside_door() or (kept and ignored_by(words) is None)  # what a door starts does that door's crossings
    inherits = environment is None or held is os.environ or passes_on_proxies(held)
    gate.spawning(executable, bound=bound, python=is_python(executable), inherits=inherits)


def _words(arguments: object) -> list[str]:
    """A child's command line; empty where it is no list."""
    if isinstance(arguments, list | tuple):
        return [_text(word) for word in cast("Sequence[object]", arguments)]
    return []


_CLIENTS = ("httpx2", "aiohttp", "requests", "urllib3", "httpx", "urllib", "http", "websockets", "grpc")


def calling_client() -> str | None:
    """The HTTP library that is at work in this thread, outermost first; None if none of the known ones is."""
    frame = inspect.currentframe()
    found: set[str] = set()
    while frame is not None:
        found.add(str(frame.f_globals.get("__name__", "")).partition(".")[0])
        frame = frame.f_back
    return next((name for name in _CLIENTS if name in found), None)


def _is_name(host: object) -> bool:
    """Whether looking up `host` asks a name server."""
    if isinstance(host, bytes):
        host = host.decode("ascii", "replace")
    return (
        isinstance(host, str)
        and host not in ("", "localhost")
        and not host.replace(".", "").isdigit()
        and ":" not in host
    )


def _shown(address: object) -> str:
    if isinstance(address, tuple):
        host, *rest = cast("tuple[object, ...]", address)
        return f"{_text(host)}:{rest[0]}" if rest else _text(host)
    return _text(address)


def _text(part: object) -> str:
    return part.decode("utf-8", "replace") if isinstance(part, bytes) else str(part)
