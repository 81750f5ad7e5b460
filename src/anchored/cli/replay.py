"""`anchored replay`: serve the recorded prefix back, change one thing, go live, get a receipt."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import Annotated, cast
from urllib.parse import urlsplit

import typer

from anchored.attempts import Replay, ReplayRequest, Timing, read_project, replay
from anchored.boundary.replayer import plain_origin
from anchored.canonical import Json as JsonValue
from anchored.canonical import JsonObject
from anchored.cli.app import Json, Run, Store, app, library
from anchored.cli.console import (
    clip,
    err,
    out,
    print_divergence,
    print_json,
    print_table,
    progress,
    short_path,
    visible,
    where,
)
from anchored.cli.exits import verdict_code, worst
from anchored.cli.export import check_writable, write_file
from anchored.cli.reading import event_line, final_text, position_of
from anchored.cli.verify import as_expected
from anchored.errors import DamagedError, UsageError
from anchored.library import Library
from anchored.recording import Recording
from anchored.replaying import Guide, Intervention, Unchanged, resolve_anchor

_TAIL_LINES = 12


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
    guide: Annotated[
        str | None, typer.Option("--guide", metavar="TEXT", help="Append this user message at the anchor.")
    ] = None,
    trials: Annotated[int, typer.Option("--trials", metavar="N", min=1, max=1000, help="Replay so many times.")] = 1,
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
    prefix, then live; with --guide, one message is added at the anchor. Ends with 0 if the prefix was exact, 3 if it
    diverged, 4 if it was refused, 5 if the recording is damaged, 7 if the program crashed where the recording did not.
    """
    shelf = library(store)
    intervention = _intervention(at, guide)
    name = shelf.name_of(run)
    source = shelf.open(name)
    if expect is not None and source.digest != as_expected(expect):
        raise DamagedError(
            "The recording is not the one that was expected.",
            expected=expect,
            found=source.digest,
            next_step="Do not replay it; get the file whose digest you trust.",
        )
    position = None if at is None else position_of(source, at)
    request = ReplayRequest(
        name=name,
        at=position,
        intervention=intervention,
        command=tuple(command) if command else None,
        effects_allowed=_allowed(effects),
        unobserved=tuple(allow_unobserved or ()),
        origins=tuple(_origins(map_url or [], source)),
        patience=patience,
        show_output=show_output,
    )
    _say_where(source, position, intervention, quiet=as_json)
    timing = Timing(grace=grace, handshake=handshake, timeout=timeout)
    project = read_project(Path(str(source.opening.configuration["folder"])))
    if receipt is not None:
        check_writable(receipt)
    done: list[Replay] = []
    for trial in range(1, trials + 1):
        label = f"replaying {name}" + (f" ({trial} of {trials})" if trials > 1 else "")
        with progress(label, len(source.log), quiet=as_json or show_output) as update:
            attempt = replay(shelf, request, project=project, timing=timing, progress=update)
        done.append(attempt)
        if attempt.receipt is not None:
            write_file(shelf.receipt_path(attempt.name), attempt.receipt)
            if receipt is not None:
                write_file(receipt, attempt.receipt)
        if not as_json:
            _print_attempt(shelf, source, attempt, receipt)
        if attempt.interrupted is not None:
            break
    if as_json:
        print_json([_document(shelf, item) for item in done])
    elif trials > 1:
        _print_trials(source, done)
    if done[-1].interrupted is not None:
        sys.exit(128 + done[-1].interrupted)
    sys.exit(worst([verdict_code(item.verdict) for item in done]))


def _intervention(at: str | None, guide: str | None) -> Intervention:
    if guide is None:
        return Unchanged()
    if at is None or not guide:
        raise UsageError(
            "Guidance needs an anchor and a text.",
            expected="--at E --guide TEXT",
            found="--guide without --at" if at is None else "an empty text",
            next_step="See `anchored show RUN` for the events that can be anchored.",
        )
    return Guide(text=guide)


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


def _say_where(source: Recording, position: int | None, intervention: Intervention, *, quiet: bool) -> None:
    if position is None or quiet:
        return
    anchor = resolve_anchor(source.log, source.opening.run, position, intervention)
    if anchor.position != position:
        err().print(f"{position} is a tool call; guidance goes to the model call that issued it, at {anchor.position}.")


def _print_attempt(shelf: Library, source: Recording, attempt: Replay, receipt: Path | None) -> None:
    console = err()
    verdict = attempt.verdict
    divergence = verdict.divergence
    if divergence is not None and divergence.kind != "missing":
        said = where(divergence)
    else:
        said = ("" if verdict.holds else f"{verdict.kind}: ") + visible(verdict.reason)
    console.print(f"{attempt.name}: {said} ({attempt.seconds:.1f} s)", style="" if verdict.holds else "bold")
    if divergence is not None:
        print_divergence(console, divergence)
    for line in _remedy(verdict.details or {}):
        console.print(line)
    ended_early = verdict.kind in ("crashed", "failed") or (divergence is not None and divergence.kind == "missing")
    if ended_early and attempt.output is not None:
        _print_tail(attempt.output)
    if attempt.receipt is not None:
        _printfinal_text(source, attempt)
        also = f" and {short_path(receipt)}" if receipt is not None else ""
        console.print(f"  receipt: {short_path(shelf.receipt_path(attempt.name))}{also}")


def _printfinal_text(source: Recording, attempt: Replay) -> None:
    recorded, now = final_text(source), final_text(attempt.recording)
    console = err()
    if attempt.plan.anchor is not None:
        console.print(f"  answer:  {clip(now, 100) or 'none'}")
    elif now != recorded:
        console.print("  answer:  differs, although every request and result was the recorded one", style="bold")
        console.print(f"    recorded  {clip(recorded, 100) or 'none'}")
        console.print(f"    now       {clip(now, 100) or 'none'}")


def _remedy(details: JsonObject) -> list[str]:
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
        host = visible(str(details["address"]).rsplit(":", 1)[0])
        return [f"  If that changes nothing the agents see: --allow-unobserved {host}"]
    if "known" in details:
        known = cast("list[str]", details["known"])
        old = known[0] if len(known) == 1 else "OLD"
        return [f"  If it is the same model: --map-url {visible(old)}={visible(str(details['origin']))}"]
    return []


def _print_tail(path: Path) -> None:
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()[-_TAIL_LINES:]
    except OSError:
        return
    console = err()
    if lines:
        console.print(f"  its last words (all of them: {short_path(path)})", style="dim")
    for line in lines:
        console.print(f"    {clip(line, 140)}")


def _print_trials(source: Recording, done: list[Replay]) -> None:
    """One line for each attempt: how it ended and where it left the recorded run."""
    columns = ("attempt", "verdict", "first new event", "live tokens", "seconds", "answer")
    rows = [
        (
            item.name,
            item.verdict.kind,
            _first_new(source, item),
            str(live_tokens(item)),
            f"{item.seconds:.1f}",
            clip(final_text(item.recording), 100),
        )
        for item in done
    ]
    print_table(out(), columns, rows, right="seconds", shrink="answer")
    out().print(f"answers (the recording's: {clip(final_text(source), 100) or 'none'})")
    for answer, count in Counter(final_text(item.recording) for item in done).most_common():
        out().print(f"  {count} × {clip(answer, 100) or 'none'}")


def _first_new(source: Recording, attempt: Replay) -> str:
    anchor = attempt.plan.anchor
    start = anchor.position if anchor else 0
    for one, other in zip(source.log.entries[start:], attempt.recording.log.entries[start:], strict=False):
        if one.digest != other.digest:
            event = attempt.recording.log.event_of(other.position)
            return str(event.position if event else other.position)
    longer = len(attempt.recording.log) - len(source.log)
    return "none" if longer == 0 else str(min(len(source.log), len(attempt.recording.log)))


def live_tokens(attempt: Replay) -> int:
    """Tokens of the model calls that went live."""
    start = attempt.plan.anchor.position if attempt.plan.anchor else len(attempt.recording.log)
    events = [event for event in attempt.recording.log.events if event.position >= start]
    return sum(event_line(attempt.recording, event).tokens or 0 for event in events)


def _document(shelf: Library, attempt: Replay) -> JsonObject:
    verdict = attempt.verdict
    final = attempt.recording.closing.final if attempt.recording.closing else None
    anchor = attempt.plan.anchor
    return {
        "name": attempt.name,
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
        "answer": final.text if final else None,
        "live_tokens": live_tokens(attempt),
        "seconds": f"{attempt.seconds:.3f}",
    }


def _toml(name: str) -> JsonValue:
    return '"' + visible(name).replace("\\", "\\\\").replace('"', '\\"') + '"'
