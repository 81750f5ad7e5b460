"""The watchdog: waits for a program, and ends it when its time is up or its session is poisoned."""

from __future__ import annotations

import json
import signal
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from anchored.attempts.launch import Child
from anchored.errors import StoreError
from anchored.storage import RunFile

_STEP = 0.02


@dataclass(frozen=True, kw_only=True, slots=True)
class Timing:
    """How long the watchdog waits, in seconds.

    Attributes:
        grace: from a poison to the end of the program.
        handshake: from the start to the hello of the boundary; None waits for ever.
        timeout: for the whole program; None has no limit.
    """

    grace: float = 3.0
    handshake: float | None = None
    timeout: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Ended:
    """How a program ended.

    Attributes:
        status: exit status, or minus the signal's number.
        hello: whether the boundary said hello.
        by: what ended it: `itself`, the `watchdog` after a poison, the `timeout`, a missing `handshake`, or a
            `signal` to its parent.
        signal: that signal's number.
        after_poison: seconds from the poison to the end; None where there was none.
    """

    status: int
    hello: bool
    by: str
    signal: int | None = None
    after_poison: float | None = None


def watch(child: Child, run_file: Path, timing: Timing, *, progress: Callable[[int], None] | None = None) -> Ended:
    """Waits until the program has ended, or ends it.

    A signal that would end this process ends the program first, so that nothing goes on unwatched; a recorded program
    is given the signal and the time to end by itself. Ctrl-C reaches a recorded program from the terminal anyway.

    Args:
        child: the program.
        run_file: the file of its attempt, read while it grows.
        timing: when to end it.
        progress: called with the number of entries so far when it changes.
    """
    started = time.monotonic()
    file = RunFile.open(run_file)
    poisoned_at: float | None = None
    hello = False
    size = -1
    with _signals() as received:
        try:
            while True:
                status = child.process.poll()
                notes = _notes(file, required=child.own_group)
                hello = hello or "hello" in notes
                if status is not None:
                    child.end_rest()
                    return Ended(status=status, hello=hello, by="itself", after_poison=_since(notes))
                while received:
                    number = received.pop()
                    if child.own_group:
                        status = child.end()
                        return Ended(status=status, hello=hello, by="signal", signal=number, after_poison=_since(notes))
                    if number != signal.SIGINT:
                        child.process.send_signal(number)
                now = time.monotonic()
                if poisoned_at is None and "poison" in notes:
                    poisoned_at = now - (timing.grace if notes["poison"].get("live") else 0)
                poisoned = None if poisoned_at is None else now - poisoned_at
                reason = _overdue(timing, now - started, poisoned, hello=hello)
                if reason is not None:
                    status = child.end()
                    return Ended(status=status, hello=hello, by=reason, after_poison=_since(notes))
                if progress is not None and (current := file.size()) != size:
                    size = current
                    progress(size)
                time.sleep(_STEP)
        except BaseException:
            child.end()
            raise
        finally:
            file.close()


def _notes(file: RunFile, *, required: bool) -> dict[str, dict[str, object]]:
    """The notes that decide, by kind. A recorded program is not ended because its store cannot be read."""
    found: dict[str, dict[str, object]] = {}
    try:
        for kind in ("hello", "poison"):
            for document in file.notes(kind)[:1]:
                found[kind] = json.loads(document)
    except StoreError:
        if required:
            raise
    return found


def _since(notes: dict[str, dict[str, object]]) -> float | None:
    """Seconds since the poison; None where there is none."""
    said = notes.get("poison", {}).get("time")
    return max(0.0, time.time() - int(said) / 1e9) if isinstance(said, str) else None


@contextmanager
def _signals() -> Generator[list[int]]:
    """Inside, the signals that would end this process are collected instead; only where this is the main thread."""
    received: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield received
        return
    ending = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    numbers = [number for number in ending if signal.getsignal(number) is not signal.SIG_IGN]  # as `nohup` sets it
    before = {number: signal.signal(number, lambda number, _: received.append(number)) for number in numbers}
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _overdue(timing: Timing, running: float, poisoned: float | None, *, hello: bool) -> str | None:
    if poisoned is not None and poisoned >= timing.grace:
        return "watchdog"
    if timing.timeout is not None and running > timing.timeout:
        return "timeout"
    if timing.handshake is not None and not hello and running > timing.handshake:
        return "handshake"
    return None
