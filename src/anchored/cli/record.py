"""`anchored record`: run a program for real and record it."""

from __future__ import annotations

import sys
from typing import Annotated, cast

import typer

from anchored.attempts import Recorded, Timing, check_words, checked, current_folder, record, unobserved
from anchored.boundary.start import INSTALL_FAILED
from anchored.canonical import Json as JsonValue
from anchored.canonical import JsonObject, clip
from anchored.cli.app import BackgroundPatterns, Json, Store, app, library
from anchored.cli.console import err, labelled, print_json, short
from anchored.cli.exits import NOT_RECORDED
from anchored.errors import UsageError
from anchored.recording import Event, Recording
from anchored.replaying import why_unreplayable


@app.command("record", context_settings={"allow_extra_args": False})
def record_command(
    command: Annotated[list[str], typer.Argument(metavar="-- COMMAND [ARG …]", help="The program, unchanged.")],
    *,
    task: Annotated[str | None, typer.Option("--task", help="The task in your words; stored, not passed on.")] = None,
    name: Annotated[str | None, typer.Option("--name", help="Name of the run [default: from the program's].")] = None,
    check: Annotated[
        str | None,
        typer.Option(
            "--check", metavar="CMD", help="Judges the answer: reads it, ends with 0 if it is right, 1 if not."
        ),
    ] = None,
    timeout: Annotated[
        float | None, typer.Option("--timeout", min=0.1, help="End the program after so many seconds.")
    ] = None,
    without: Annotated[
        list[str] | None,
        typer.Option("--without", metavar="ADAPTER", help="Leave this adapter out, in replays too. Repeatable."),
    ] = None,
    background: BackgroundPatterns = None,
    ambient: Annotated[
        bool, typer.Option("--ambient", help="Record the times, random numbers and ids that the program sees, too.")
    ] = False,
    store: Store = None,
    as_json: Json = False,
) -> None:
    """Run a program live and record every model and tool call.

    Ends with the program's own status, 128+n after signal n, 125 if nothing could be recorded. With --json the
    program's standard output goes to standard error.
    """
    if not command:
        raise UsageError(
            "There is nothing to record.",
            expected="a command after `--`",
            found="none",
            next_step="anchored record -- python team.py",
        )
    folder = current_folder()
    shelf = library(store)
    done = record(
        shelf,
        tuple(command),
        task=task,
        name=name,
        folder=folder,
        timing=Timing(timeout=timeout),
        check=None if check is None else check_words(check, folder),
        quiet=as_json,
        without=tuple(without or ()),
        background=tuple(background or ()),
        ambient=ambient,
    )
    if not done.observed:
        shelf.discard(done.name)
        _say_nothing_was_recorded(done)
        sys.exit(NOT_RECORDED)
    if as_json:
        print_json(_document(done))
    else:
        _print(done)
    sys.exit(done.ended.status if done.ended.status >= 0 else 128 - done.ended.status)


def _programs(recording: Recording) -> list[str]:
    """Programs in other languages that the run started."""
    return sorted({str(note["name"]) for note in recording.notes_of("program")})


def _document(done: Recorded) -> JsonObject:
    recording = done.recording
    closing = recording.closing
    return {
        "name": done.name,
        "digest": recording.digest,
        "entries": len(recording.log),
        "events": len(recording.log.events),
        "stop": cast(
            "JsonValue",
            recording.closing
            and {
                "reason": recording.closing.stop.reason,
                "status": recording.closing.stop.status,
                "detail": recording.closing.stop.detail,
            },
        ),
        "final": {"text": closing.final.text, "source": closing.final.source} if closing and closing.final else None,
        "check": judged.document() if (judged := checked(recording)) else None,
        "unobserved": list[JsonValue](unobserved(recording)),
        "programs": list[JsonValue](_programs(recording)),
        "observed": done.observed,
    }


def _print(done: Recorded) -> None:
    console = err()
    recording = done.recording
    tools = sum(1 for event in recording.log.events if event.begin.kind == "execute_tool")
    others = len(recording.log.events) - tools
    console.print(f"recorded {done.name}  {short(recording.digest)}")
    rows: JsonObject = {
        "digest": recording.digest,
        "events": f"{others} model and HTTP calls, {tools} tool calls; {len(recording.log)} entries",
        "stopped": _stopped(done),
    }
    closing = recording.closing
    if closing and closing.final:
        rows["answer"] = f"{clip(closing.final.text, 100)} ({closing.final.source})"
    judged = checked(recording)
    if judged is not None:
        rows["check"] = f"{judged.outcome}, {judged.reason}"
    caches = recording.configuration.get("caches_off")
    if caches:
        rows["caches off"] = ", ".join(cast("list[str]", caches))
    missed = unobserved(recording)
    rows["not observed"] = "; ".join(missed) or "nothing that was noticed"
    if missed:
        rows["so"] = "what is not observed cannot be served back: a replay refuses it"
    if missed and not others:
        rows["no model call"] = "was recorded: its client is of a library that is not observed yet, see README"
    labelled(console, rows)
    programs = _programs(recording)
    if programs:
        labelled(console, {"programs": f"{', '.join(programs)}: what they did is not seen"})
    undeclared = sorted({event.begin.name for event in recording.log.events if _is_undeclared(event)})
    if undeclared:
        rows = {
            "undeclared": f"{', '.join(undeclared)}: refused after an anchor, until anchored.toml says read or none"
        }
        labelled(console, rows)
    kept = [(event, why_unreplayable(recording, event)) for event in recording.log.events]
    lost = [f"{event.begin.name} at {event.position}: {why}" for event, why in kept if why is not None]
    if lost:
        more = f" (and {len(lost) - 1} more)" if len(lost) > 1 else ""
        labelled(console, {"not served back": f"{clip(lost[0], 160)}{more}; anchors behind it are refused"})
    if others or not missed:
        console.print(f"next: anchored show {done.name} · anchored replay {done.name}")


def _is_undeclared(event: Event) -> bool:
    return event.begin.kind == "execute_tool" and event.begin.declared.effect is None


def _say_nothing_was_recorded(done: Recorded) -> None:
    console = err()
    console.print("anchored: nothing was recorded.", style="bold")
    if done.ended.status == INSTALL_FAILED or done.ended.hello:
        console.print("  The boundary could not be put into the program's Python; it says why above.")
    else:
        console.print("  No boundary was put into this program: it runs no Python, or Python with -I, -E or -S.")


def _stopped(done: Recorded) -> str:
    closing = done.recording.closing
    if closing is None:
        return "unknown"
    stop = closing.stop
    return f"{stop.words}; {stop.detail}" if stop.detail and stop.reason != "ended" else stop.words
