"""Replaying a recording: plan, launch, watch, judge, and a receipt if the prefix was exact."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from anchored.attempts.configuration import Project, recorded_environment
from anchored.attempts.launch import Launch, check_command, launch
from anchored.attempts.record import close
from anchored.attempts.verdict import Verdict, judge
from anchored.attempts.watch import Timing, watch
from anchored.canonical import JsonObject
from anchored.errors import UsageError
from anchored.library import Library, load
from anchored.receipts import build_receipt
from anchored.recording import FORMAT, Opening, Recording, Replayed
from anchored.replaying import Intervention, ReplayPlan, check_replayable, resolve_anchor


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
        patience: seconds that a request may wait for its turn.
        show_output: leave the program's output on this terminal.
    """

    name: str
    at: int | None
    intervention: Intervention
    command: tuple[str, ...] | None = None
    effects_allowed: bool = False
    unobserved: tuple[str, ...] = ()
    origins: tuple[tuple[str, str], ...] = ()
    patience: float = 5.0
    show_output: bool = False


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
        seconds: how long it took.
        output: where the program's output was kept, unless it was shown.
    """

    name: str
    attempt: int
    plan: ReplayPlan
    recording: Recording
    verdict: Verdict
    receipt: bytes | None
    interrupted: int | None
    seconds: float
    output: Path | None


def make_plan(source: Recording, request: ReplayRequest, project: Project) -> ReplayPlan:
    """The plan of a replay, checked before anything starts.

    Raises:
        AnchorError: nothing can be anchored there.
        RefusedError: the prefix cannot be served back by this version.
    """
    anchor = None
    if request.at is not None:
        anchor = resolve_anchor(source.log, source.opening.run, request.at, request.intervention)
    check_replayable(
        source,
        size=anchor.position if anchor else len(source.log),
        anchored=anchor is not None,
        effects_allowed=request.effects_allowed,
    )
    return ReplayPlan(
        source=source.digest,
        anchor=anchor,
        intervention=request.intervention,
        command=request.command,
        effects_allowed=request.effects_allowed,
        declarations=project.effects,
        unobserved=request.unobserved,
        origins=request.origins,
    )


def replay(
    library: Library,
    request: ReplayRequest,
    *,
    project: Project,
    timing: Timing,
    progress: Callable[[int], None] | None = None,
) -> Replay:
    """Replays a recording once.

    Args:
        library: where the recording is, and where the attempt is recorded.
        request: what to replay.
        project: what the project declares now.
        timing: when the watchdog ends the program.
        progress: called with the number of entries so far.
    """
    source = library.open(request.name)
    plan = make_plan(source, request, project)
    attempt = library.next_attempt(plan.digest)
    configuration = source.opening.configuration
    command = request.command or tuple(cast("list[str]", configuration["command"]))
    folder = Path(str(configuration["folder"]))
    if not folder.is_dir():
        raise UsageError(
            "The folder of the recording is gone.",
            expected="the folder in which the program was recorded",
            found=str(folder),
            next_step="Put it back, or record again where the program is now.",
        )
    check_command(command, folder)
    environment = cast("dict[str, str]", configuration["environment"])
    declared: JsonObject = {
        **cast("JsonObject", configuration),
        "command": list(command),
        "environment": dict(recorded_environment(environment, environment)),
        "effects": [[pattern, effect] for pattern, effect in project.effects],
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
            hash_seed=str(configuration["hash_seed"]),
            environment=environment,
            output=output,
            own_group=True,
        )
    )
    ended = watch(child, run_file, timing, progress=progress)
    verdict = judge(source, load(run_file), plan, ended)
    library.note(name, "verdict", verdict.document())
    recording = close(library, name, ended)
    receipt = None
    if verdict.prefix_exact and verdict.kind in ("exact", "live", "crashed"):
        receipt = build_receipt(source, recording)
    return Replay(
        name=name,
        attempt=attempt,
        plan=plan,
        recording=recording,
        verdict=verdict,
        receipt=receipt,
        interrupted=ended.signal,
        seconds=time.monotonic() - started,
        output=output,
    )
