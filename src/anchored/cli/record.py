"""`anchored record`: run a program for real and record it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, cast

import typer

from anchored.attempts import Recorded, Timing, record
from anchored.canonical import Json as JsonValue
from anchored.canonical import JsonObject
from anchored.cli.app import Json, Store, app, library
from anchored.cli.console import clip, err, labelled, print_json, short
from anchored.cli.exits import NOT_RECORDED
from anchored.errors import UsageError


@app.command("record", context_settings={"allow_extra_args": False})
def record_command(
    command: Annotated[list[str], typer.Argument(metavar="-- COMMAND [ARG …]", help="The program, unchanged.")],
    *,
    task: Annotated[str | None, typer.Option("--task", help="The task in your words; stored, not passed on.")] = None,
    name: Annotated[str | None, typer.Option("--name", help="Name of the run [default: from the program's].")] = None,
    timeout: Annotated[
        float | None, typer.Option("--timeout", min=0.1, help="End the program after so many seconds.")
    ] = None,
    store: Store = None,
    as_json: Json = False,
) -> None:
    """Run a program live and record every model and tool call.

    Ends with the program's own status, 128+n after signal n, 125 if nothing could be recorded.
    """
    if not command:
        raise UsageError(
            "There is nothing to record.",
            expected="a command after `--`",
            found="none",
            next_step="anchored record -- python team.py",
        )
    done = record(
        library(store),
        tuple(command),
        task=task,
        name=name,
        folder=Path.cwd(),
        timing=Timing(timeout=timeout),
    )
    if as_json:
        print_json(_document(done))
    _print(done)
    if not done.ended.hello:
        sys.exit(NOT_RECORDED)
    sys.exit(done.ended.status if done.ended.status >= 0 else 128 - done.ended.status)


def unobserved(done: Recorded) -> list[str]:
    """What happened outside the boundary, in words."""
    recording = done.recording
    found = [f"connection to {note['address']}" for note in recording.notes_of("unobserved")]
    found += [f"{note['kind']} {note['name']} from process {note['process']}" for note in recording.notes_of("foreign")]
    found += [f"all from entry {note['position']} on: {note['reason']}" for note in recording.notes_of("incomplete")]
    return found


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
        "unobserved": list[JsonValue](unobserved(done)),
        "observed": done.ended.hello,
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
    caches = recording.configuration.get("caches_off")
    if caches:
        rows["caches off"] = ", ".join(cast("list[str]", caches))
    rows["not observed"] = "; ".join(unobserved(done)) or "nothing that was noticed"
    labelled(console, rows)
    if not done.ended.hello:
        console.print("warning: no boundary was put into this program; nothing was recorded.")
        console.print("  It runs Python with -I, -E or -S, another interpreter, or no Python at all.")
    elif recording.log.events:
        console.print(f"next: anchored show {done.name} · anchored replay {done.name}")


def _stopped(done: Recorded) -> str:
    closing = done.recording.closing
    if closing is None:
        return "unknown"
    stop = closing.stop
    words = {"exit": f"exit status {stop.status}", "signal": f"signal {stop.status}", "timeout": "time limit"}
    said = words.get(stop.reason, stop.reason)
    return f"{said}; {stop.detail}" if stop.detail else said
