"""The watchdog: waits for a program, and ends it when its time is up or its session is poisoned."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from anchored.attempts.launch import Child
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
        by: who ended it: itself, the watchdog after a poison, the time limit, or the missing handshake.
    """

    status: int
    hello: bool
    by: str


def watch(child: Child, run_file: Path, timing: Timing, *, progress: Callable[[int], None] | None = None) -> Ended:
    """Waits until the program has ended, or ends it.

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
    interrupt = signal.signal(signal.SIGINT, signal.SIG_IGN) if not child.own_group else None
    try:
        while True:
            status = child.process.poll()
            hello = hello or bool(file.notes("hello"))
            if status is not None:
                return Ended(status=status, hello=hello, by="itself")
            now = time.monotonic()
            if poisoned_at is None and file.notes("poison"):
                poisoned_at = now
            reason = _overdue(timing, now - started, None if poisoned_at is None else now - poisoned_at, hello=hello)
            if reason is not None:
                child.end()
                return Ended(status=child.process.returncode, hello=hello, by=reason)
            if progress is not None and (current := file.size()) != size:
                size = current
                progress(size)
            time.sleep(_STEP)
    except BaseException:
        child.end()
        raise
    finally:
        file.close()
        if interrupt is not None:
            signal.signal(signal.SIGINT, interrupt)


def _overdue(timing: Timing, running: float, poisoned: float | None, *, hello: bool) -> str | None:
    if poisoned is not None and poisoned > timing.grace:
        return "watchdog"
    if timing.timeout is not None and running > timing.timeout:
        return "timeout"
    if timing.handshake is not None and not hello and running > timing.handshake:
        return "handshake"
    return None
