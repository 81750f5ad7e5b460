"""What the program reads on its standard input, kept so that a replay can be given the same."""

from __future__ import annotations

import base64
import io
import os
import sys
from typing import IO, Any, cast

from anchored.boundary.crossing import Gate

_MOST = 8_000_000
"""Bytes that are kept. A program that reads more cannot be given its input again."""

STDIN_VARIABLE = "ANCHORED_STDIN"
"""Environment variable that says which file or pipe is the program's own standard input."""

_INSIDE = "ANCHORED_INSIDE"
"""Environment variable of the children of a Python that has the boundary."""

_DESCRIPTOR = 0
_TYPED = "builtins.input/result"
"""Audit event of a line that `input()` has read from a terminal."""


def watch_stdin(gate: Gate) -> None:
    """Keeps what Python reads of standard input, exactly as far as it is read.

    A terminal is left alone; there what `input()` gives is kept, as the lines that were typed.
    """
    inside = os.environ.get(_INSIDE) is not None
    os.environ[_INSIDE] = "1"
    stdin = cast("io.TextIOWrapper | None", sys.stdin)
    if not isinstance(stdin, io.TextIOWrapper) or stdin.closed or stdin.fileno() != _DESCRIPTOR:
        return
    if inside and os.environ.get(STDIN_VARIABLE) != stdin_identity(_DESCRIPTOR):
        return  # what the program itself hands to a child of its own
    keep = _Keeper(gate)
    if stdin.isatty():
        sys.addaudithook(
            lambda event, given: keep(f"{given[0]}\n".encode("utf-8", "surrogateescape")) if event == _TYPED else None
        )
        return
    raw = _Kept(keep)
    setattr(raw, "name", stdin.name)  # noqa: B010 - as Python itself names it
    watched = io.TextIOWrapper(
        io.BufferedReader(raw, buffer_size=os.fstat(_DESCRIPTOR).st_blksize or io.DEFAULT_BUFFER_SIZE),
        encoding=stdin.encoding,
        errors=stdin.errors,
        newline="\n",  # as Python itself opens it where lines end so
        line_buffering=stdin.line_buffering,
    )
    setattr(watched, "mode", "r")  # noqa: B010 - likewise
    sys.stdin = sys.__stdin__ = watched  # pyright: ignore[reportAttributeAccessIssue]
    cast("io.BufferedReader", stdin.detach()).detach()  # or its end would close the descriptor


def stdin_identity(file: IO[bytes] | int | None) -> str:
    """Which file or pipe a standard input is: device and inode. "" where there is none."""
    try:
        status = os.fstat(_DESCRIPTOR if file is None else file if isinstance(file, int) else file.fileno())
    except OSError:
        return ""
    return f"{status.st_dev}:{status.st_ino}"


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
        self._keeper = keep
        self._end = 0

    def readinto(self, buffer: Any, /) -> int | None:
        count = super().readinto(buffer)
        if count:
            self._keep(bytes(memoryview(buffer)[:count]))
        return count

    def readall(self) -> bytes:
        data = super().readall()
        self._keep(data)
        return data

    def _keep(self, data: bytes) -> None:
        """Keeps what was not read before: a file may be read again from its start."""
        end = self.tell() if self.seekable() else self._end + len(data)
        new = data[max(0, len(data) - (end - self._end)) :] if end > self._end else b""
        self._end = max(self._end, end)
        if new:
            self._keeper(new)
