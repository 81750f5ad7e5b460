"""Recording in this process, for as long as a `with` block lasts."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

from anchored.attempts.configuration import current_folder, read_project
from anchored.attempts.record import close, open_run, unobserved
from anchored.attempts.watch import Ended
from anchored.boundary import Declarations, Recorder, current_gate, use_gate
from anchored.boundary.loaded import loaded
from anchored.boundary.program import program_command
from anchored.boundary.start import put_in
from anchored.canonical import visible
from anchored.errors import DamagedError, InstallError, StoreError, UsageError
from anchored.library import FileJournal, Library
from anchored.recording import Recording

_LOCK = threading.RLock()
_gates: list[Recorder] = []
"""The gates of blocks that have not ended."""

_INSIDE_BLOCK: ContextVar[bool] = ContextVar("anchored_inside_block", default=False)


class Run:
    """A run that is being recorded in this process.

    Attributes:
        name: its name in the store; None where the program is recorded or replayed from outside already.
    """

    def __init__(self, name: str | None) -> None:
        self.name = name
        self._recording: Recording | None = None

    @property
    def recording(self) -> Recording:
        """The recording, once the block has ended.

        Raises:
            UsageError: it has not, or there is none of its own.
        """
        if self._recording is None:
            raise UsageError(
                "There is no recording of this block.",
                expected="a block that has ended, in a program that is not recorded or replayed from outside",
                found="a block that goes on" if self.name else "a program that is recorded or replayed from outside",
                next_step="Read run.recording after the block, and only where run.name is not None.",
            )
        return self._recording

    def close(self, recording: Recording) -> None:
        """The block has ended, and this is what was recorded."""
        self._recording = recording


@contextmanager
def record_block(
    library: Library,
    *,
    name: str | None,
    task: str | None,
    program: str | None,
    check: tuple[str, ...] | None,
) -> Generator[Run]:
    """Records what this process does inside.

    Where the program is recorded or replayed from outside, that goes on and this does nothing.

    Args:
        library: where to.
        name: the run's name; `block-1` and so on if None.
        task: the task in the user's words.
        program: "module:function" that does the same again, for replays.
        check: a command that reads the answer and judges it.

    Raises:
        UsageError: there is such a run already.
        InstallError: a door does not fit what is imported.
    """
    if _stands_aside():
        yield Run(None)
        return
    folder = current_folder()
    project = read_project(folder)
    hash_seed = os.environ.get("PYTHONHASHSEED", "")
    name = open_run(
        library,
        name=name,
        stem="block",
        task=task,
        command=None if program is None else program_command(program),
        folder=folder,
        project=project,
        hash_seed=hash_seed if hash_seed.isdigit() else None,
    )
    journal = FileJournal(library.path(name))
    declarations = Declarations(project.effects)
    recorder = Recorder(
        journal, time.time_ns, declarations, background=project.background, look=lambda: loaded(folder, folder)
    )
    run = Run(name)
    status = 0
    process = os.getpid()
    try:
        _take_gate(recorder)
        put_in(recorder, journal, failed=_does_not_fit)
    except BaseException:
        _give_back(recorder)
        journal.close()
        library.discard(name)
        raise
    inside = _INSIDE_BLOCK.set(True)
    try:
        yield run
    except SystemExit as error:
        status = error.code & 0xFF if isinstance(error.code, int) else 0 if error.code is None else 1
        raise
    except BaseException:
        status = 1
        raise
    finally:
        _INSIDE_BLOCK.reset(inside)
        if os.getpid() == process:  # a fork leaves the block as well, and the run is its parent's
            _finish(library, run, recorder, journal, status, check)
        else:
            _give_back(recorder)


def _finish(
    library: Library, run: Run, recorder: Recorder, journal: FileJournal, status: int, check: tuple[str, ...] | None
) -> None:
    name = str(run.name)
    recorder.close()
    _give_back(recorder)
    journal.close()
    try:
        recording = close(library, name, Ended(status=status, hello=True, by="itself"), check=check)
        run.close(recording)
        missed = unobserved(recording)
        if missed:
            sys.stderr.write(f"anchored: not observed in {name}: {visible('; '.join(missed))}\n")
    except (StoreError, DamagedError) as error:  # the recorder's loss, not the program's
        sys.stderr.write(f"anchored: what was recorded of {name} cannot be read: {error.found}\n")


def _stands_aside() -> bool:
    """Whether this process is recorded or replayed already: from outside, or by a block around this one.

    Raises:
        UsageError: by a block elsewhere in it.
    """
    gate = current_gate()
    if gate is None or not isinstance(gate, Recorder) or gate not in _gates or _INSIDE_BLOCK.get():
        return gate is not None
    raise UsageError(
        "Another block records in this process.",
        expected="one block at a time",
        found="a block in another thread or task that has not ended",
        next_step="Record each in a process of its own, or put one block around both.",
    )


def _take_gate(recorder: Recorder) -> None:
    """Makes `recorder` the gate. Raises UsageError where another block was quicker."""
    with _LOCK:
        _stands_aside()
        _gates.append(recorder)
        use_gate(recorder)


def _give_back(recorder: Recorder) -> None:
    with _LOCK:
        if current_gate() is recorder:
            use_gate(None)
        _gates[:] = [gate for gate in _gates if gate is not recorder]


def _does_not_fit(reason: str) -> None:
    raise InstallError(
        "The boundary does not fit this program.",
        expected="the versions in README.md",
        found=reason,
        next_step="Install those versions, or record without this package.",
    )
