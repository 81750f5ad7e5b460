"""Replaying a recording: plan, launch, watch, judge, and a receipt if the prefix was exact."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from anchored.attempts.check import Checked, checked
from anchored.attempts.configuration import Project, all_patterns, git_head, restored_environment, standard_input
from anchored.attempts.forking import ForkServer
from anchored.attempts.intervene import check_applies
from anchored.attempts.launch import Launch, check_boundary, check_command, launch
from anchored.attempts.preloading import modules_of
from anchored.attempts.record import close
from anchored.attempts.verdict import Verdict, judge, said
from anchored.attempts.watch import Timing, watch
from anchored.boundary.guard import reads_program
from anchored.canonical import JsonObject, clip, visible
from anchored.errors import RefusedError, UsageError
from anchored.graph import EDGE_RULES
from anchored.library import Library, load
from anchored.receipts import build_receipt
from anchored.recording import FORMAT, Opening, Recording, Replayed
from anchored.replaying import (
    Changed,
    Intervention,
    ReplayPlan,
    changed_since,
    check_not_recorded,
    check_replayable,
    divergence_lines,
    is_ambient,
    is_incomplete,
    resolve_anchor,
    where,
)

_SHORT = 12
_MOST_SHOWN = 8
_TAIL_LINES = 12


@dataclass(frozen=True, kw_only=True)
class ReplayRequest:
    """What the user wants replayed.

    Attributes:
        name: the source run.
        at: position of the event to anchor on; None replays to the end.
        intervention: what to change there.
        command: a command in place of the recorded one.
        effects_allowed: tools without a harmless declared effect may run live.
        unobserved: hosts that may be reached outside the boundary.
        origins: recorded origin → origin to use instead.
        background: patterns of HTTP requests that are answered locally, besides the recording's.
        patience: seconds that a request may wait for its turn.
        check: a command that reads the answer and judges it; the recording's own if None.
        folder: where the program runs; where it was recorded if None.
        show_output: leave the program's output on this terminal.
        trusted: it was recorded here, so its command, check and whole environment may be used. A run file of another
            place is data, not orders.
    """

    name: str
    at: int | None
    intervention: Intervention
    command: tuple[str, ...] | None = None
    effects_allowed: bool = False
    unobserved: tuple[str, ...] = ()
    origins: tuple[tuple[str, str], ...] = ()
    background: tuple[str, ...] = ()
    patience: float = 5.0
    check: tuple[str, ...] | None = None
    folder: Path | None = None
    show_output: bool = False
    trusted: bool = True


@dataclass(frozen=True, kw_only=True)
class Replay:
    """One attempt at a replay.

    Attributes:
        name: its name in the store.
        attempt: its number among the attempts of its plan.
        plan: what was to be done.
        recording: what it recorded.
        verdict: what became of it.
        receipt: the receipt; None where the prefix was not exact.
        interrupted: the signal that ended it early, if one did.
        started: how its program was started: `forked`, or `spawned`, and why if it was to be forked.
        seconds: how long it took.
        seconds_to_end: from a divergence or refusal to the end of the program; None where there was none.
        output: where the program's output was kept, unless it was shown.
        tail: the last lines of that output.
        changed: what was no longer as it was when the source was recorded.
        check: what the check said of it; None without a check, and where the prefix was not exact.
    """

    name: str
    attempt: int
    plan: ReplayPlan
    recording: Recording
    verdict: Verdict
    receipt: bytes | None
    interrupted: int | None
    started: str
    seconds: float
    seconds_to_end: float | None
    output: Path | None
    tail: tuple[str, ...]
    changed: tuple[Changed, ...]
    check: Checked | None

    @property
    def answer(self) -> str | None:
        """The final answer; None if there is none."""
        closing = self.recording.closing
        return closing.final.text if closing and closing.final else None

    def require_exact(self) -> None:
        """Raises unless the prefix was exact and the program went on to its end; without an anchor, the whole run.

        Raises:
            NotReproduced: with the difference in words.
        """
        __tracebackhide__ = True  # pytest shows the test's own line
        if not self.verdict.holds:
            raise NotReproduced("\n".join(self.words()))

    def words(self) -> list[str]:
        """What became of it, in lines."""
        verdict = self.verdict
        divergence = verdict.divergence
        if divergence is not None and divergence.kind != "missing":
            first = where(divergence)
        else:
            first = visible(said(verdict.kind, verdict.reason))
        lines = [f"{self.name}: {first} ({self.seconds:.1f} s)"]
        if divergence is not None:
            lines += divergence_lines(divergence)
        place = (verdict.details or {}).get("background")
        if place is not None:
            lines.append(f"  if that is telemetry or a heartbeat: record again with --background {visible(str(place))}")
        if is_incomplete(self.recording):
            lines.append("  ambient: incomplete, the program asked more often for time or chance than when recorded")
        if self.changed:
            lines.append(f"  changed since the recording: {changed_words(self.changed)}")
        ended_early = verdict.kind in ("crashed", "failed") or (divergence is not None and divergence.kind == "missing")
        if ended_early and self.tail:
            whole = f" (all of them: {self.output})" if self.output is not None and self.output.exists() else ""
            lines += [f"  the program's last words{visible(whole)}", *(f"    {clip(line, 140)}" for line in self.tail)]
        return lines


class NotReproduced(AssertionError):
    """A replay was not what was recorded; the message says where and how it parted."""

    __module__ = "anchored"


def changed_words(changed: Sequence[Changed]) -> str:
    """What changed since the recording: files by name, packages and Python by version."""
    shown: list[str] = []
    for part in changed:
        what = part.what.removeprefix("file ").removeprefix("package ")
        if part.what.startswith("file "):
            shown.append(what if part.now != "none" else f"{what} (gone)")
        else:
            shown.append(f"{what} {part.recorded[:_SHORT]} → {part.now[:_SHORT]}")
    more = len(shown) - _MOST_SHOWN
    return visible(", ".join(shown[:_MOST_SHOWN]) + (f" and {more} more" if more > 0 else ""))


def make_plan(source: Recording, request: ReplayRequest, project: Project) -> ReplayPlan:
    """The plan of a replay, checked before anything starts.

    Raises:
        AnchorError: nothing can be anchored there.
        RefusedError: the prefix cannot be served back by this version, or the intervention does not fit the request.
    """
    _check_rules(source)
    anchor = None
    if request.at is not None:
        anchor = resolve_anchor(source.log, source.opening.run, request.at, request.intervention)
        check_applies(source, anchor, request.intervention)
    check_replayable(
        source,
        size=anchor.position if anchor else len(source.log),
        anchored=anchor is not None,
        effects_allowed=request.effects_allowed,
    )
    recorded = cast("list[str]", source.opening.configuration.get("background", []))
    background = all_patterns(recorded, request.background)
    check_not_recorded(source, background, size=anchor.position if anchor else len(source.log))
    return ReplayPlan(
        source=source.digest,
        anchor=anchor,
        intervention=request.intervention,
        command=request.command,
        effects_allowed=request.effects_allowed,
        declarations=project.effects,
        unobserved=request.unobserved,
        origins=request.origins,
        background=background,
    )


def _check_rules(source: Recording) -> None:
    """Edges are part of identity, so a replay must find them by the rules of the recording."""
    rules = source.opening.configuration.get("edge_rules", EDGE_RULES)
    if rules != EDGE_RULES:
        raise RefusedError(
            "This recording was made with other rules for edges than this version has.",
            expected=f"edge rules {EDGE_RULES}",
            found=f"edge rules {rules}",
            next_step="Replay it with the version of `anchored` that recorded it, or record the run again.",
        )


def replay(
    library: Library,
    request: ReplayRequest,
    *,
    project: Project,
    timing: Timing,
    progress: Callable[[int], None] | None = None,
    server: ForkServer | None = None,
) -> Replay:
    """Replays a recording once.

    Args:
        library: where the recording is, and where the attempt is recorded.
        request: what to replay.
        project: what the project declares now.
        timing: when the watchdog ends the program.
        progress: called with the number of entries so far.
        server: forks the program where it can; without one it is spawned. For several attempts.
    """
    source = library.open(request.name)
    plan = make_plan(source, request, project)
    attempt = library.next_attempt(plan.digest)
    configuration = source.opening.configuration
    command = request.command or _recorded_command(source, trusted=request.trusted)
    folder = request.folder or Path(str(configuration["folder"]))
    if not folder.is_dir():
        raise UsageError(
            "The folder of the program is not there.",
            expected="the folder in which it was recorded, or another that is given",
            found=str(folder),
            next_step="Say where the program is now: --folder FOLDER, or folder=… in Python.",
        )
    check_command(command, folder)
    check_boundary(command)
    stdin = _stdin(source)
    if not request.trusted and stdin is not None and reads_program(command):
        raise RefusedError(
            "This command would run a program out of a run file of another place.",
            expected="a program of your own",
            found=" ".join(command),
            next_step="Put the program into a file, and give that as the command.",
        )
    declared: JsonObject = {
        **cast("JsonObject", configuration),
        "command": list(command),
        "folder": str(folder),
        "git_head": git_head(folder),
        "effects": [[pattern, effect] for pattern, effect in project.effects],
        "background": list(plan.background),
    }
    opening = Opening(
        format=FORMAT,
        run=plan.run_id(attempt),
        mode="replay",
        task=source.opening.task,
        configuration=dict(declared),
        replayed=Replayed(source=source.digest, plan=dict(plan.document()), attempt=attempt),
    )
    order: JsonObject = {
        "mode": "replay",
        "folder": str(folder),
        "source": str(library.path(request.name)),
        "plan": plan.document(),
        "plan_digest": plan.digest,
        "patience_ms": int(request.patience * 1000),
        "watcher": os.getpid(),
        "created": str(time.time_ns()),
    }
    started = time.monotonic()
    name = library.create_next(f"{request.name}.replay", opening, order)
    run_file = library.path(name)
    output = None if request.show_output else library.output_path(name)
    child = launch(
        Launch(
            command=command,
            folder=folder,
            run_file=run_file,
            hash_seed=cast("str | None", configuration["hash_seed"]),
            environment=restored_environment(
                source,
                os.environ,
                live=plan.anchor is not None,
                declared=None if request.trusted else project.environment,
            ),
            output=output,
            stdin=stdin,
            replayed=True,
            own_group=True,
            isolated=plan.anchor is None and not plan.unobserved,
            modules=modules_of(source),
        ),
        server=None if is_ambient(source) else server,  # what is loaded before has looked at the clock by itself
    )
    ended = watch(child, run_file, timing, progress=progress)
    verdict = judge(source, load(run_file), plan, ended)
    library.note(name, "verdict", verdict.document())
    check = request.check or (_recorded_check(source) if request.trusted else None)
    recording = close(library, name, ended, check=check if verdict.holds else None)
    started_by = child.started
    for note in recording.notes_of("unforked"):
        started_by = f"spawned: {note.get('reason')}"
        if server is not None:
            server.avoid(run_file, str(note.get("reason")))
    receipt = None
    if verdict.prefix_exact and verdict.kind in ("exact", "live", "crashed"):
        receipt = build_receipt(source, recording)
        library.keep_receipt(name, receipt)
    return Replay(
        name=name,
        attempt=attempt,
        plan=plan,
        recording=recording,
        verdict=verdict,
        receipt=receipt,
        interrupted=ended.signal,
        started=started_by,
        seconds=time.monotonic() - started,
        seconds_to_end=ended.after_poison,
        output=output,
        tail=_tail(output),
        changed=tuple(changed_since(source, recording)),
        check=checked(recording),
    )


def _tail(output: Path | None) -> tuple[str, ...]:
    if output is None:
        return ()
    try:
        return tuple(output.read_text(encoding="utf-8", errors="replace").splitlines()[-_TAIL_LINES:])
    except OSError:
        return ()


def _recorded_command(source: Recording, *, trusted: bool) -> tuple[str, ...]:
    if not trusted:
        raise UsageError(
            "A run file of another place is data, not orders: its command is not run unasked.",
            expected='command=[…] or program="module:function"',
            found="neither",
            next_step="Say what to run; `anchored.load(path).configuration` shows what was recorded.",
        )
    command = cast("list[str] | None", source.opening.configuration["command"])
    if command is None:
        raise UsageError(
            "This run was recorded inside a program, and no command is known that makes it again.",
            expected='a command after `--`, or program="module:function"',
            found="none",
            next_step="anchored replay RUN -- python -m anchored.boundary.program module:function",
        )
    return tuple(command)


def _recorded_check(source: Recording) -> tuple[str, ...] | None:
    judged = checked(source)
    return judged.command if judged else None


def _stdin(source: Recording) -> bytes | None:
    """What the recorded program read on its standard input; None if it read nothing.

    Raises:
        RefusedError: it read more than is kept.
    """
    for note in source.notes_of("stdin_lost"):
        raise RefusedError(
            "The program's standard input cannot be given again.",
            expected=f"at most {note.get('most')} bytes",
            found="more",
            next_step="Let the program read a file instead, and record again.",
        )
    return standard_input(source) or None
