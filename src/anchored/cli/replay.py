"""`anchored replay`: serve the recorded prefix back, change one thing, go live, get a receipt."""

from __future__ import annotations

import dataclasses
import os
import sys
from pathlib import Path
from typing import Annotated, cast
from urllib.parse import urlsplit

import typer
from rich.text import Text

from anchored.attempts import (
    ForkServer,
    Replay,
    ReplayRequest,
    Timing,
    check_intervention,
    check_words,
    choose_intervention,
    missing_keys,
    read_project,
    replay,
)
from anchored.boundary.live import plain_origin
from anchored.canonical import Json as JsonValue
from anchored.canonical import JsonObject, clip, visible
from anchored.cli.app import (
    BackgroundPatterns,
    CallTarget,
    EditFile,
    GuideText,
    Json,
    ModelName,
    Run,
    SetResult,
    Store,
    app,
    library,
)
from anchored.cli.console import LINE_STYLES, err, print_json, progress, short_path
from anchored.cli.exits import verdict_code, worst
from anchored.cli.reading import final_text, position_of
from anchored.cli.trials import Trial, first_difference, live_tokens, print_trials
from anchored.cli.verify import as_expected
from anchored.errors import DamagedError, UsageError
from anchored.library import Library
from anchored.recording import Recording
from anchored.replaying import Guide, Unchanged, resolve_anchor
from anchored.storage import check_writable, write_file

_ARMS = {
    "guide": "guided",
    "replace_result": "replaced",
    "edit_request": "edited",
    "swap_model": "swapped",
    "call": "called",
}
"""Name of an arm by the kind of its intervention."""


@app.command("replay")
def replay_command(
    run: Run,
    command: Annotated[
        list[str] | None, typer.Argument(metavar="[-- COMMAND …]", help="Another command than the recorded one.")
    ] = None,
    *,
    at: Annotated[
        str | None,
        typer.Option("--at", metavar="E", help="Anchor on this event (position or id prefix) and go live there."),
    ] = None,
    guide: GuideText = None,
    set_result: SetResult = None,
    edit: EditFile = None,
    model: ModelName = None,
    call: CallTarget = None,
    trials: Annotated[
        int | None,
        typer.Option(
            "--trials",
            metavar="N",
            min=1,
            max=1000,
            help="Replay so many times, and as often with nothing changed, and compare.",
        ),
    ] = None,
    control: Annotated[
        bool, typer.Option("--control/--no-control", help="With --trials: the control arm, nothing changed.")
    ] = True,
    check: Annotated[
        str | None,
        typer.Option(
            "--check", metavar="CMD", help="Judges the answer: reads it, ends with 0 if right [default: RUN's]."
        ),
    ] = None,
    where: Annotated[
        Path | None,
        typer.Option("--folder", metavar="FOLDER", help="Where the program runs [default: where it was recorded]."),
    ] = None,
    effects: Annotated[
        str, typer.Option("--effects", metavar="refuse|allow", help="Tools without a harmless declared effect, live.")
    ] = "refuse",
    allow_unobserved: Annotated[
        list[str] | None,
        typer.Option("--allow-unobserved", metavar="HOST", help="Let the program reach this host before the anchor."),
    ] = None,
    map_url: Annotated[
        list[str] | None,
        typer.Option(
            "--map-url", metavar="OLD=NEW", help="Let the program call origin NEW live, where the recording called OLD."
        ),
    ] = None,
    background: BackgroundPatterns = None,
    expect: Annotated[
        str | None, typer.Option("--expect", metavar="DIGEST", help="The digest that the recording must have.")
    ] = None,
    receipt: Annotated[
        Path | None, typer.Option("--receipt", metavar="FILE", help="Write the (last) receipt here too.")
    ] = None,
    grace: Annotated[
        float, typer.Option("--grace", min=0.0, help="Seconds from a divergence to the end of the program.")
    ] = 3.0,
    timeout: Annotated[float, typer.Option("--timeout", min=0.1, help="Seconds for each attempt.")] = 600.0,
    handshake: Annotated[
        float, typer.Option("--handshake", min=0.1, help="Seconds until the boundary must have said hello.")
    ] = 20.0,
    patience: Annotated[
        float, typer.Option("--patience", min=0.0, help="Seconds that a concurrent request may wait for its turn.")
    ] = 5.0,
    show_output: Annotated[bool, typer.Option("--show-output", help="Show the program's own output.")] = False,
    store: Store = None,
    as_json: Json = False,
) -> None:
    """Restart the program and serve the recording back into it.

    Without --at: to the end, nothing live: does the program still make the recorded requests? With --at: the exact
    prefix, then live, and what is given is changed there: the request by --guide, --edit, --model or --call; with
    --set-result its result, and it is not carried out. Ends with 0 if the prefix was exact, 3 if it diverged, 4 if it
    was refused, 5 if the recording is damaged, 7 if the program crashed where the recording did not.
    """
    shelf = library(store)
    check_intervention(anchored=at is not None, guide=guide, set_result=set_result, edit=edit, model=model, call=call)
    name = shelf.name_of(run, recorded=True)
    source = shelf.open(name)
    if expect is not None and source.digest != as_expected(expect):
        raise DamagedError(
            "The recording is not the one that was expected.",
            expected=expect,
            found=source.digest,
            next_step="Do not replay it; get the file whose digest you trust.",
        )
    position = None if at is None else position_of(source, at)
    folder = where.absolute() if where is not None else Path(str(source.opening.configuration["folder"]))
    intervention = choose_intervention(
        source, position, guide=guide, set_result=set_result, edit=edit, model=model, call=call, folder=folder
    )
    request = ReplayRequest(
        name=name,
        at=position,
        intervention=intervention,
        command=tuple(command) if command else None,
        effects_allowed=_allowed(effects),
        unobserved=tuple(allow_unobserved or ()),
        origins=tuple(_origins(map_url or [], source)),
        background=tuple(background or ()),
        patience=patience,
        check=None if check is None else check_words(check, folder),
        folder=folder,
        show_output=show_output,
    )
    if not as_json:
        _say_before(source, request)
    timing = Timing(grace=grace, handshake=handshake, timeout=timeout)
    project = read_project(folder)
    arms = _arms(source, request, control=control and trials is not None)
    if receipt is not None:
        check_writable(receipt)
    done: list[Trial] = []
    turns = [(number, arm) for number in range(1, (trials or 1) + 1) for arm in arms]
    with ForkServer() as server:
        for place, (_, arm) in enumerate(turns, start=1):
            label = f"replaying {name}" + (f", {arm} ({place} of {len(turns)})" if len(turns) > 1 else "")
            with progress(label, len(source.log), quiet=as_json or show_output) as update:
                attempt = replay(
                    shelf,
                    arms[arm],
                    project=project,
                    timing=timing,
                    progress=update,
                    server=server if len(turns) > 1 else None,  # for one attempt it would cost what it saves
                )
            done.append(Trial(arm=arm, replay=attempt))
            if attempt.receipt is not None and receipt is not None and (arm != "control" or len(arms) == 1):
                write_file(receipt, attempt.receipt)
            if not as_json:
                _print_attempt(shelf, source, done[-1], receipt)
            if attempt.interrupted is not None:
                break
            if place < len(turns) and attempt.verdict.kind in ("diverged", "refused", "failed"):
                err().print(
                    f"stopped after {place} of {len(turns)} attempts: the others would end likewise", style="bold"
                )
                break
    if as_json:
        print_json([_document(shelf, source, item) for item in done])
    elif trials is not None:
        print_trials(source, done)
    interrupted = done[-1].replay.interrupted
    if interrupted is not None:
        sys.exit(128 + interrupted)
    sys.exit(worst([verdict_code(item.replay.verdict) for item in done]))


def _arms(source: Recording, request: ReplayRequest, *, control: bool) -> dict[str, ReplayRequest]:
    """What is tried, by the name of the arm. The control is anchored where the intervention is."""
    if isinstance(request.intervention, Unchanged):
        return {"control": request}
    arm = _ARMS[str(request.intervention.document()["kind"])]
    if not control or request.at is None:
        return {arm: request}
    anchor = resolve_anchor(source.log, source.opening.run, request.at, request.intervention)
    return {"control": dataclasses.replace(request, at=anchor.position, intervention=Unchanged()), arm: request}


def _allowed(effects: str) -> bool:
    if effects not in ("refuse", "allow"):
        raise UsageError(
            "--effects says what to do with tools that may write.",
            expected="refuse or allow",
            found=effects,
            next_step="Leave it out to refuse.",
        )
    return effects == "allow"


def _origins(pairs: list[str], source: Recording) -> list[tuple[str, str]]:
    known = cast("list[str]", source.configuration.get("origins", []))
    found: list[tuple[str, str]] = []
    for pair in pairs:
        old, _, new = pair.partition("=")
        if plain_origin(old) not in known or not _is_origin(old) or not _is_origin(new):
            raise UsageError(
                "--map-url maps one origin to another.",
                expected=f"OLD=NEW, OLD being one of {', '.join(known) or 'none: nothing was called'}",
                found=pair,
                next_step="Give scheme, host and port, without a path.",
            )
        found.append((old, new))
    return found


def _is_origin(text: str) -> bool:
    parts = urlsplit(text)
    return bool(parts.scheme and parts.hostname) and parts.path in ("", "/")


def _say_before(source: Recording, request: ReplayRequest) -> None:
    """What the user should know before the program starts."""
    if request.at is None:
        return
    anchor = resolve_anchor(source.log, source.opening.run, request.at, request.intervention)
    if anchor.position != request.at:
        what = "guidance" if isinstance(request.intervention, Guide) else "the change"
        err().print(f"{request.at} is a tool call; {what} goes to the model call that issued it, at {anchor.position}.")
    missing = missing_keys(source, os.environ)
    if missing:
        err().print(f"note: {', '.join(missing)} was set when this run was recorded, and is not set now.")


def _print_attempt(shelf: Library, source: Recording, trial: Trial, receipt: Path | None) -> None:
    console = err()
    attempt = trial.replay
    verdict = attempt.verdict
    for number, line in enumerate(attempt.words()):
        style = LINE_STYLES.get(line.lstrip()[:1], "") if number else "" if verdict.holds else "bold"
        console.print(Text(line, style=style))
    if attempt.started not in ("forked", "spawned"):
        console.print(f"  started: {visible(attempt.started)}")
    for line in _remedy(source, verdict.details or {}):
        console.print(line)
    if attempt.receipt is not None:
        if verdict.holds:
            _print_answer(source, attempt)
        if attempt.check is not None:
            console.print(f"  check:   {attempt.check.outcome}, {visible(attempt.check.reason)}")
        also = f" and {short_path(receipt)}" if receipt is not None else ""
        console.print(f"  receipt: {short_path(shelf.receipt_path(attempt.name))}{also}")


def _print_answer(source: Recording, attempt: Replay) -> None:
    recorded, now = final_text(source), final_text(attempt.recording)
    console = err()
    if attempt.plan.anchor is not None:
        console.print(f"  answer:  {clip(now, 100) or 'none'}")
    elif now != recorded:
        console.print("  answer:  differs, although every request and result was the recorded one", style="bold")
        console.print(f"    recorded  {clip(recorded, 100) or 'none'}")
        console.print(f"    now       {clip(now, 100) or 'none'}")


def _remedy(source: Recording, details: JsonObject) -> list[str]:
    """What the user can do about a refusal."""
    if details.get("cause") == "effects":
        tool = str(details.get("tool"))
        allow = "  Run it all the same with --effects allow."
        if details.get("effect") == "write":
            return [allow]
        return [
            "  If it only reads or computes, say so in anchored.toml:",
            f'    [effects]\n    {_toml(tool)} = "read"',
            allow,
        ]
    if "address" in details:
        address = str(details["address"])
        if any(note.get("address") == address for note in source.notes_of("unobserved")):
            return ["  The recording went there too, outside the boundary: what came of it cannot be served."]
        return [f"  If that is no model, and changes nothing the agents see: --allow-unobserved {visible(address)}"]
    if "known" in details:
        known = cast("list[str]", details["known"])
        old = known[0] if len(known) == 1 else "OLD"
        return [f"  If it is the same model: --map-url {visible(old)}={visible(str(details['origin']))}"]
    return []


def _document(shelf: Library, source: Recording, trial: Trial) -> JsonObject:
    attempt = trial.replay
    verdict = attempt.verdict
    anchor = attempt.plan.anchor
    return {
        "name": attempt.name,
        "arm": trial.arm,
        "attempt": attempt.attempt,
        "digest": attempt.recording.digest,
        "plan": attempt.plan.digest,
        "anchor": anchor.position if anchor else None,
        "intervention": attempt.plan.intervention.document(),
        "verdict": verdict.kind,
        "reason": verdict.reason,
        "prefix_exact": verdict.prefix_exact,
        "divergence": verdict.divergence.document() if verdict.divergence else None,
        "details": verdict.details,
        "receipt": str(shelf.receipt_path(attempt.name)) if attempt.receipt is not None else None,
        "answer": attempt.answer,
        "check": attempt.check.document() if attempt.check else None,
        "changed": [dataclasses.asdict(part) for part in attempt.changed],
        "first_difference": first_difference(source, attempt),
        "live_tokens": live_tokens(attempt),
        "started": attempt.started,
        "seconds": f"{attempt.seconds:.3f}",
        "seconds_to_end": None if attempt.seconds_to_end is None else f"{attempt.seconds_to_end:.3f}",
    }


def _toml(name: str) -> JsonValue:
    return '"' + visible(name).replace("\\", "\\\\").replace('"', '\\"') + '"'
