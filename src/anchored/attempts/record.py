"""Recording a program: launch, watch, close."""

from __future__ import annotations

import base64
import os
import secrets
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from anchored.attempts.check import run_check
from anchored.attempts.configuration import (
    Project,
    all_patterns,
    declared_configuration,
    learned_configuration,
    read_project,
)
from anchored.attempts.forking import ForkServer
from anchored.attempts.launch import Launch, check_command, launch
from anchored.attempts.preloading import modules_of
from anchored.attempts.processes import processes_of
from anchored.attempts.watch import Ended, Timing, watch
from anchored.boundary.guard import is_python, reads_program
from anchored.boundary.start import WITHOUT_VARIABLE
from anchored.boundary.trace import given_trace
from anchored.canonical import JsonObject
from anchored.errors import DamagedError, RecordingLost, StoreError
from anchored.events import HttpResult, Outcome, model_output
from anchored.library import Library, load
from anchored.recording import FORMAT, Closing, Final, Opening, Recording, Stop, summarize

_LAST_MOMENTS = 1.0
"""Seconds that helpers of a program, such as those of `multiprocessing`, may take to end after it."""


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """A finished recording.

    Attributes:
        name: its name in the store.
        recording: what was recorded.
        ended: how the program ended.
    """

    name: str
    recording: Recording
    ended: Ended

    @property
    def observed(self) -> bool:
        """Whether the boundary was there: without it nothing was recorded."""
        return self.ended.hello and not self.recording.notes_of("install_failed")


@dataclass(frozen=True, kw_only=True, slots=True)
class Unattended:
    """A recorded program that runs in a session of its own, all of which ends with it.

    Attributes:
        output: the file to which its output and errors go.
        stdin: what it reads on its standard input.
        server: forks it where it can, if there is a recording to go by.
        like: an earlier recording of the same program, for what it loads.
    """

    output: Path
    stdin: bytes
    server: ForkServer | None = None
    like: Recording | None = None


def record(
    library: Library,
    command: tuple[str, ...],
    *,
    task: str | None,
    name: str | None,
    folder: Path,
    timing: Timing,
    check: tuple[str, ...] | None = None,
    quiet: bool = False,
    without: Sequence[str] = (),
    background: Sequence[str] = (),
    ambient: bool = False,
    unattended: Unattended | None = None,
) -> Recorded:
    """Runs a program for real and records it.

    Args:
        library: where to.
        command: the program and its arguments.
        task: the task in the user's words; stored, not passed on.
        name: the run's name; made from the program's if None.
        folder: where the program runs.
        timing: when the watchdog ends it.
        check: a command that reads the answer and judges it.
        quiet: the program's standard output goes to standard error.
        without: names of adapters to leave out, in its replays too.
        background: patterns of HTTP requests that are no events, besides the project's; in its replays too.
        ambient: record the times, random numbers and ids that the program sees, and give them again in its replays.
        unattended: how it runs away from this terminal; at it if None.

    Raises:
        UsageError: there is no such program, a run of this name already, or a pattern that is none.
        RecordingLost: the program ran, and what was recorded of it cannot be read.
    """
    check_command(command, folder)
    project = read_project(folder)
    project = replace(project, background=all_patterns(project.background, background))
    hash_seed = os.environ.get("PYTHONHASHSEED", "")
    if not hash_seed.isdigit():
        hash_seed = str(secrets.randbelow(2**32))
    name = open_run(
        library,
        name=name,
        stem=_stem(command),
        task=task,
        command=command,
        folder=folder,
        project=project,
        hash_seed=hash_seed,
        without=without,
        ambient=ambient,
    )
    run_file = library.path(name)
    program = _program_on_stdin(command) if unattended is None else None
    if program is not None:
        library.note(name, "stdin", {"data": base64.b64encode(program).decode("ascii"), "process": os.getpid()})
    child = launch(
        Launch(
            command=command,
            folder=folder,
            run_file=run_file,
            hash_seed=hash_seed,
            environment={WITHOUT_VARIABLE: ",".join(without)} if without else {},
            output=None if unattended is None else unattended.output,
            stdin=program if unattended is None else unattended.stdin,
            own_group=unattended is not None,
            quiet=quiet,
            modules=() if unattended is None or unattended.like is None else modules_of(unattended.like),
        ),
        server=None if unattended is None else unattended.server,
    )
    ended = watch(child, run_file, timing)
    try:
        _note_left_behind(library, name)
        return Recorded(name=name, recording=close(library, name, ended, check=check), ended=ended)
    except (StoreError, DamagedError) as error:
        raise RecordingLost(
            "The program ended, but its recording cannot be read.",
            expected="the run file, as it was written",
            found=error.found,
            next_step="Keep the store where it is while a program runs, and record again.",
        ) from error


def open_run(
    library: Library,
    *,
    name: str | None,
    stem: str,
    task: str | None,
    command: tuple[str, ...] | None,
    folder: Path,
    project: Project,
    hash_seed: str | None,
    without: Sequence[str] = (),
    ambient: bool = False,
) -> str:
    """Makes the run file of a new recording, with all that is known before it starts; its name.

    Raises:
        UsageError: there is such a run already.
    """
    configuration = declared_configuration(
        command=command,
        folder=folder,
        environment={**os.environ, WITHOUT_VARIABLE: ",".join(without)} if without else os.environ,
        project=project,
        hash_seed=hash_seed,
        ambient=ambient,
    )
    opening = Opening(
        format=FORMAT, run=secrets.token_hex(32), mode="record", task=task, configuration=dict(configuration)
    )
    order: JsonObject = {
        "mode": "record",
        "folder": str(folder),
        "declarations": [[pattern, effect] for pattern, effect in project.effects],
        "background": list(project.background),
        "ambient": ambient,
        "created": str(time.time_ns()),
    }
    if name is None:
        name = library.create_next(stem, opening, order)
    else:
        library.create(name, opening, order)
    trace = given_trace(os.environ)
    if trace is not None:
        library.note(name, "trace", trace)
    return name


def _note_left_behind(library: Library, name: str) -> None:
    """Says so where processes with the boundary in them go on after the program has ended: they are not waited for."""
    deadline = time.monotonic() + _LAST_MOMENTS
    while processes_of(library.path(name)) and time.monotonic() < deadline:
        time.sleep(0.02)
    left = _bound(library, name)
    if not left:
        return
    lost: JsonObject = {
        "position": len(load(library.path(name)).log),
        "reason": f"{len(left)} of its processes went on after the program had ended",
    }
    library.note(name, "incomplete", lost)


def _bound(library: Library, name: str) -> list[int]:
    """The processes of a run that are there still and have the boundary."""
    left = processes_of(library.path(name))
    if not left:
        return []
    said = [note.get("process") for note in load(library.path(name)).notes_of("hello")]
    return [process for process in left if process in said]


def _program_on_stdin(command: tuple[str, ...]) -> bytes | None:
    """Standard input where it holds the program itself, which Python then reads to its end; None elsewhere."""
    if not is_python(command[0]) or sys.stdin is None or sys.stdin.isatty():  # pyright: ignore[reportUnnecessaryComparison]
        return None
    return sys.stdin.buffer.read() if reads_program(command) else None


def close(library: Library, name: str, ended: Ended, *, check: tuple[str, ...] | None) -> Recording:
    """Closes a run by what is in the store, with what its check says of it, and reads it back."""
    library.take_lost(name)
    recording = load(library.path(name))
    configuration = learned_configuration(recording)
    stop = stop_of(recording, ended)
    final = final_answer(recording)
    summary = summarize(
        log=recording.log,
        task=recording.opening.task,
        state="undeclared",
        configuration=configuration,
        stop=stop,
        final=final,
    )
    if check is not None:
        folder = Path(str(configuration["folder"]))
        said = run_check(check, answer=final.text if final else None, stop=stop, folder=folder)
        library.note(name, "check", said.document())
    library.finish(
        name,
        Closing(
            configuration=dict(configuration),
            stop=stop,
            final=final,
            state="undeclared",
            size=summary.size,
            head=summary.head,
            recording=summary.recording,
        ),
    )
    return load(library.path(name))


def final_answer(recording: Recording) -> Final | None:
    """What the adapter or the program said last, else the last successful model text, marked inferred."""
    said = recording.notes_of("final")
    if said:
        last = _latest(said)
        source = "adapter" if last.get("source") == "adapter" else "program"
        return Final(text=str(last.get("text")), source=source)
    for event in reversed(recording.log.events):
        result = recording.result(event)
        if event.begin.kind == "chat" and event.outcome is Outcome.SUCCESS and isinstance(result, HttpResult):
            text = model_output(result.body).text
            if text:
                return Final(text=text, source="inferred")
    return None


def unobserved(recording: Recording) -> list[str]:
    """What happened outside the boundary, in words."""
    found = [
        f"connection to {note['address']}" + (f" by {note['by']}" if note.get("by") else "")
        for note in recording.notes_of("unobserved")
    ]
    found += [f"{note['kind']} {note['name']} from process {note['process']}" for note in recording.notes_of("foreign")]
    found += [
        f"--background {note['pattern']} matches a model call, {note['name']}: no replay of this is admitted"
        for note in recording.notes_of("background_refused")
    ]
    found += [f"all from entry {note['position']} on: {note['reason']}" for note in recording.notes_of("incomplete")]
    return found


def stop_of(recording: Recording, ended: Ended) -> Stop:
    """Why a run stopped, by how its program ended and by the framework's own words."""
    details = recording.notes_of("stop_detail")
    detail = str(_latest(details).get("text")) if details else ""
    if ended.by == "timeout":
        return Stop(reason="timeout", detail=detail)
    if ended.signal is not None:
        return Stop(reason="ended", detail=f"by signal {ended.signal}")
    if ended.by != "itself":
        return Stop(reason="ended", detail=ended.by)
    if ended.status < 0:
        return Stop(reason="signal", status=-ended.status, detail=detail)
    return Stop(reason="exit", status=ended.status, detail=detail)


def _latest(notes: Sequence[JsonObject]) -> JsonObject:
    """What was said last; where runs end side by side and say after which event, what was said after the last one."""
    return notes[-1] if "after" not in notes[-1] else sorted(notes, key=_after)[-1]


def _after(note: JsonObject) -> int:
    after = note.get("after")
    return after if isinstance(after, int) else -1


def _stem(command: tuple[str, ...]) -> str:
    """The program's own name: the script behind an interpreter, else the command."""
    script = next((part for part in command[1:] if part.endswith(".py")), command[0])
    return Path(script).stem
