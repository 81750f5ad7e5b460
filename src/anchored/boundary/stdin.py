"""What the program reads on its standard input, kept so that a replay can be given the same."""

from __future__ import annotations

import base64
import io
import os
import sys
from typing import Any, cast

from anchored.boundary.crossing import Gate

_MOST = 8_000_000
"""Bytes that are kept. A program that reads more cannot be given its input again."""

_DESCRIPTOR = 0
_TYPED = "builtins.input/result"
"""Audit event of a line that `input()` has read from a terminal."""


def watch_stdin(gate: Gate) -> None:
    """Keeps what Python reads of standard input, exactly as far as it is read.

    A terminal is left alone; there what `input()` gives is kept, as the lines that were typed.
    """
    stdin = cast("io.TextIOWrapper | None", sys.stdin)
    if not isinstance(stdin, io.TextIOWrapper) or stdin.closed or stdin.fileno() != _DESCRIPTOR:
        return
    keep = _Keeper(gate)
    if stdin.isatty():
        sys.addaudithook(lambda event, given: keep(f"{given[0]}\n".encode()) if event == _TYPED else None)
        return
    raw = _Kept(keep)
    setattr(raw, "name", stdin.name)  # noqa: B010 - as Python itself names it
    watched = io.TextIOWrapper(
        io.BufferedReader(raw), encoding=stdin.encoding, errors=stdin.errors, line_buffering=stdin.line_buffering
    )
    setattr(watched, "mode", "r")  # noqa: B010 - likewise
    sys.stdin = sys.__stdin__ = watched  # pyright: ignore[reportAttributeAccessIssue]
    cast("io.BufferedReader", stdin.detach()).detach()  # or its end would close the descriptor


class _Keeper:
    """Notes what was read, up to a limit."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate
        self._size = 0

    def __call__(self, data: bytes) -> None:
        self._size += len(data)
        if self._size <= _MOST:
            self._gate.note("stdin", {"data": base64.b64encode(data).decode("ascii"), "process": os.getpid()})
        else:
            self._gate.note("stdin_lost", {"most": _MOST, "process": os.getpid()}, once=True)


class _Kept(io.FileIO):
    """Standard input, with a note of all that is read."""

    def __init__(self, keep: _Keeper) -> None:
        super().__init__(_DESCRIPTOR, closefd=False)
        self._keep = keep

    def readinto(self, buffer: Any, /) -> int | None:
        count = super().readinto(buffer)
        if count:
            self._keep(bytes(memoryview(buffer)[:count]))
        return count

    def readall(self) -> bytes:
        data = super().readall()
        if data:
            self._keep(data)
        return data
