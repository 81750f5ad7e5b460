"""What programs and tests use: `import anchored` has all of it. The command line does the same."""

from __future__ import annotations

import os
import shlex
import tempfile
from collections.abc import Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Literal

from anchored.attempts import (
    NotReproduced,
    Replay,
    ReplayRequest,
    Run,
    Timing,
    check_words,
    choose_intervention,
    current_folder,
    read_project,
    record_block,
)
from anchored.attempts import replay as attempt_replay
from anchored.boundary.program import program_command
from anchored.errors import AnchorError, UsageError
from anchored.library import Library, VerifiedReceipt, VerifiedRun, verify_receipt_in, verify_run
from anchored.library import load as load_file
from anchored.recording import Anchor, Recording

__all__ = [
    "Anchor",
    "NotReproduced",
    "Recording",
    "Replay",
    "Run",
    "VerifiedReceipt",
    "VerifiedRun",
    "load",
    "record",
    "replay",
    "verify",
]


def record(
    *,
    name: str | None = None,
    task: str | None = None,
    program: str | None = None,
    check: str | None = None,
    store: str | Path | None = None,
) -> AbstractContextManager[Run]:
    """Records the model and tool calls of this process, for as long as a `with` block lasts.

    In a program that `anchored record` or `replay` has started it does nothing: that one records or replays already.

    Args:
        name: the run's name; made up if None.
        task: the task in your words; stored, not passed on.
        program: "module:function" that does what the block does, so that the run can be replayed without being told.
        check: a command that reads the answer and ends with 0 if it is right.
        store: folder of the recordings; $ANCHORED_STORE or ./.anchored if None.

    Example:
        >>> import anchored
        >>> @anchored.tool(effect="none")
        ... def add(one: int, other: int) -> int:
        ...     return one + other
        >>> with anchored.record(name="sum") as run:
        ...     add(2, 3)
        5
        >>> len(run.recording.log.events)
        1
    """
    words = None if check is None else check_words(check, current_folder())
    return record_block(_library(store), name=name, task=task, program=program, check=words)


def load(run: str | Path, *, store: str | Path | None = None) -> Recording:
    """A recording, every byte of it verified.

    Args:
        run: a name, a digest prefix, a trace id, `last`, or the path of a run file.
        store: folder of the recordings; $ANCHORED_STORE or ./.anchored if None.

    Raises:
        UsageError: there is no such run, or more than one.
        DamagedError: it is not what was written.

    Example:
        >>> import anchored
        >>> recording = anchored.load("lookup")
        >>> [event.begin.name for event in recording.log.events]
        ['population', 'density']
        >>> recording.anchor_at(2).position
        2
    """
    return load_file(run) if isinstance(run, Path) else _library(store).open(run)


def replay(
    run: str | Path | Recording,
    *,
    at: int | Anchor | None = None,
    guide: str | None = None,
    set_result: str | Path | None = None,
    edit: str | Path | None = None,
    model: str | None = None,
    call: str | None = None,
    program: str | None = None,
    command: Sequence[str] | None = None,
    folder: str | Path | None = None,
    effects: Literal["refuse", "allow"] = "refuse",
    allow_unobserved: Sequence[str] = (),
    background: Sequence[str] = (),
    map_url: Sequence[tuple[str, str]] = (),
    check: str | Sequence[str] | None = None,
    grace: float = 3.0,
    handshake: float = 20.0,
    timeout: float = 600.0,
    patience: float = 5.0,
    store: str | Path | None = None,
) -> Replay:
    """Restarts the program in a process of its own and serves the recording back into it, once.

    Args:
        run: a name, a digest prefix, a trace id, `last` (recording), a recording of the store, or the path of a run
            file. That is data, not orders: `command` or `program` must say what to run; the attempt is kept nowhere.
        at: the event to anchor on; None replays to the end, nothing live.
        guide: a user message to append at the anchor.
        set_result: a file with the result to give to the event at the anchor; `.json` is all of it, any other its text.
        edit: a file with a JSON Patch (RFC 6902) to apply to the request at the anchor.
        model: the model to ask at the anchor in place of the recorded one.
        call: "module:function" of the program's folder that changes the request at the anchor. It is given a dict of
            method, path and body, and returns the changed body, or changes it in place and returns None.
        program: "module:function" in place of the recorded command.
        command: a command in place of the recorded one.
        folder: where the program runs; where it was recorded if None, and for a run file here.
        effects: what to do with tools without a harmless declared effect that would run live.
        allow_unobserved: hosts that may be reached outside the boundary.
        background: patterns (HOST[:PORT][/PATH]) of HTTP requests that are answered locally, outside the order.
        map_url: (recorded origin, origin to call in its place).
        check: a command that reads the answer and ends with 0 if it is right; the recording's own if None.
        grace: seconds from a divergence to the end of the program.
        handshake: seconds until the boundary must have said hello.
        timeout: seconds for the whole attempt.
        patience: seconds that a concurrent request may wait for its turn.
        store: folder of the recordings; $ANCHORED_STORE or ./.anchored if None.

    Raises:
        UsageError: there is no such run, program or folder, or more than one intervention.
        AnchorError: nothing can be anchored there.
        RefusedError: the run cannot be replayed by this version, or the edit or model does not fit the request.

    Example:
        >>> import anchored
        >>> attempt = anchored.replay("lookup")
        >>> attempt.verdict.kind
        'exact'
        >>> attempt.require_exact()
        >>> anchored.replay("lookup", at=2).answer
        '42 per square kilometre'
    """
    if program is not None and command is not None:
        raise UsageError(
            "A replay starts one program.",
            expected="program or command",
            found="both",
            next_step="Leave one out.",
        )
    with _shelf(run, store) as (shelf, name):
        source = shelf.open(name)
        position = _position(source, at)
        given = folder if folder is not None or not isinstance(run, Path) else current_folder()
        where = Path(given).absolute() if given is not None else Path(str(source.opening.configuration["folder"]))
        intervention = choose_intervention(
            source,
            position,
            guide=guide,
            set_result=None if set_result is None else Path(set_result),
            edit=None if edit is None else Path(edit),
            model=model,
            call=call,
            folder=where,
        )
        if program is not None:
            command = program_command(program)
        request = ReplayRequest(
            name=name,
            at=position,
            intervention=intervention,
            command=None if command is None else tuple(command),
            effects_allowed=effects == "allow",
            unobserved=tuple(allow_unobserved),
            origins=tuple(map_url),
            background=tuple(background),
            patience=patience,
            check=_check(check, where),
            folder=where,
            trusted=not isinstance(run, Path),
        )
        timing = Timing(grace=grace, handshake=handshake, timeout=timeout)
        return attempt_replay(shelf, request, project=read_project(where), timing=timing)


def verify(
    target: str | Path | bytes, *, expect: str | None = None, store: str | Path | None = None
) -> VerifiedRun | VerifiedReceipt:
    """Verifies every byte of a run, or a receipt, against its recordings where the store has them.

    Args:
        target: a run (a name, a digest prefix, a trace id, `last`, or the path of a run file), or a receipt's bytes.
        expect: the digest that it must have, from a place you trust.
        store: folder of the recordings; $ANCHORED_STORE or ./.anchored if None.

    Raises:
        UsageError: there is no such run.
        DamagedError: it does not hold, or has another digest.

    Example:
        >>> import anchored
        >>> anchored.verify(anchored.replay("lookup").receipt).level
        'matches the recordings'
    """
    shelf = _library(store)
    if isinstance(target, bytes):
        return verify_receipt_in(shelf, target, expect=expect)
    return verify_run(shelf, target, expect=expect)


def _library(store: str | Path | None) -> Library:
    return Library.locate(None if store is None else str(store), os.environ)


@contextmanager
def _shelf(run: str | Path | Recording, store: str | Path | None) -> Generator[tuple[Library, str]]:
    """The store of a run and its name there. A run file outside of a store gets one for the time being."""
    if not isinstance(run, Path):
        shelf = _library(store)
        yield shelf, shelf.name_of(run.digest if isinstance(run, Recording) else run, recorded=True)
        return
    if load_file(run).closing is None:
        raise UsageError(
            "This run file is not sealed.",
            expected="a run that was closed",
            found=f"{run}: its recorder was killed, or is still at work",
            next_step="Replay it in its store.",
        )
    with tempfile.TemporaryDirectory(prefix="anchored-") as folder:
        shelf = Library(Path(folder))
        yield shelf, shelf.adopt(run)


def _position(source: Recording, at: int | Anchor | None) -> int | None:
    if not isinstance(at, Anchor):
        return at
    if at != source.anchor_at(at.position):
        raise AnchorError(
            "This anchor is of another recording.",
            expected=f"an anchor of {source.digest}",
            found=f"the prefix {at.prefix} at {at.position}",
            next_step="Take it from this recording: recording.anchor_at(position).",
        )
    return at.position


def _check(check: str | Sequence[str] | None, folder: Path) -> tuple[str, ...] | None:
    if check is None:
        return None
    return check_words(check if isinstance(check, str) else shlex.join(check), folder)
