"""The processes of an attempt, found by the environment that they were started with."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Protocol

from anchored.boundary.guard import ATTEMPT_VARIABLE

_PROC = Path("/proc")
_ROUNDS = 50
_STEP = 0.02


class Process(Protocol):
    """A running program, however it was started."""

    @property
    def pid(self) -> int:
        """Its process id."""
        ...

    @property
    def returncode(self) -> int | None:
        """Exit status, or minus the signal's number; None as long as nobody has seen it end."""
        ...

    def poll(self) -> int | None:
        """The same, after a look."""
        ...

    def wait(self) -> int:
        """The same, once it has ended."""
        ...

    def kill(self) -> None:
        """Ends it at once."""
        ...

    def send_signal(self, sig: int, /) -> None:
        """Sends it a signal, if it has not ended."""
        ...


def processes_of(run_file: Path) -> list[int]:
    """Ids of the processes that were started for an attempt and are there still; none where no /proc tells."""
    wanted = f"{ATTEMPT_VARIABLE}={run_file}".encode("utf-8", "surrogateescape")
    found: list[int] = []
    for place in _PROC.glob("[0-9]*"):
        try:
            there = wanted in (place / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if there and int(place.name) != os.getpid() and not _is_dead(place):
            found.append(int(place.name))
    return found


def end_processes(run_file: Path) -> None:
    """Ends all that an attempt has started, whatever group or session it went to."""
    for _ in range(_ROUNDS):
        found = processes_of(run_file)
        if not found:
            return
        for process in found:
            try:
                os.kill(process, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                continue
        time.sleep(_STEP)


def _is_dead(place: Path) -> bool:
    try:
        return (place / "stat").read_text(encoding="ascii", errors="replace").rpartition(") ")[2][:1] in ("Z", "X")
    except OSError:
        return True
