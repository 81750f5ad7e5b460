"""`anchored show`: a run as a timeline, or one event of it."""

from __future__ import annotations

import base64
import json
from typing import Annotated, Any, cast

import typer

from anchored.attempts import checked, said, unobserved
from anchored.canonical import Json as JsonValue
from anchored.canonical import JsonObject, clip, visible
from anchored.cli.app import Json, Run, Store, app, library
from anchored.cli.console import labelled, out, print_divergence, print_json, print_table, short
from anchored.cli.reading import event_line, position_of, told
from anchored.errors import AnchorError
from anchored.events import HttpResult, Raised, ToolValue, decode_value
from anchored.graph import INFERENCE_RULES, inferred_edges
from anchored.recording import Event, Recording, event_id
from anchored.replaying import Divergence, where

_LONGEST = 4000
_LONGEST_SAYING = 100


@app.command("show")
def show_command(
    run: Run,
    *,
    event: Annotated[
        str | None,
        typer.Option("--event", metavar="E", help="One event, by position or id prefix: request, result, edges."),
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="With --event: leave nothing out.")] = False,
    store: Store = None,
    as_json: Json = False,
) -> None:
    """Show the timeline of a run, or one event of it."""
    recording = library(store).open(run)
    if event is not None:
        found = _find(recording, event)
        if as_json:
            print_json(_event_document(recording, found))
        else:
            _print_event(recording, found, full=full)
    elif as_json:
        print_json(_document(recording))
    else:
        _print_timeline(recording)


def _find(recording: Recording, reference: str) -> Event:
    position = position_of(recording, reference)
    event = recording.log.event_of(position)
    if event is None:
        raise AnchorError(
            "No such event.",
            expected=f"a position from 0 to {len(recording.log) - 1}",
            found=str(position),
            next_step="See `anchored show RUN`.",
        )
    return event


def _print_timeline(recording: Recording) -> None:
    console = out()
    closing = recording.closing
    console.print(f"{recording.opening.mode} {short(recording.digest)}")
    rows: JsonObject = {"digest": recording.digest}
    if recording.opening.task:
        rows["task"] = clip(recording.opening.task, 120)
    command = cast("list[str] | None", recording.opening.configuration["command"])
    rows["command"] = "none: recorded inside a program" if command is None else " ".join(command)
    if closing is None:
        rows["stopped"] = "unsealed: the recorder was killed, or is still at work"
    else:
        detail = "" if closing.stop.reason == "ended" else closing.stop.detail
        rows["stopped"] = f"{closing.stop.words} {detail}".rstrip()
        if closing.final:
            rows["answer"] = f"{clip(closing.final.text, 120)} ({closing.final.source})"
    if recording.traces:
        rows["trace"] = ", ".join(recording.traces)
    missed = unobserved(recording)
    if missed:
        rows["not observed"] = "; ".join(missed)
    judged = checked(recording)
    if judged is not None:
        rows["check"] = f"{judged.outcome}, {judged.reason}"
    replayed = recording.opening.replayed
    if replayed:
        rows["replay of"] = f"{short(replayed.source)}, attempt {replayed.attempt} of this plan"
        rows["replayed"] = told(replayed)
    labelled(console, rows)
    columns = ("at", "agent", "kind", "name", "outcome", "tokens", "bytes", "says")
    lines = [_line(recording, item) for item in recording.log.events]
    print_table(console, columns, lines, right=["at", "tokens", "bytes"], shrink=["name", "agent", "says"])
    for verdict in recording.notes_of("verdict"):
        console.print(f"verdict: {visible(said(str(verdict.get('kind')), str(verdict.get('reason'))))}")
    for poison in recording.notes_of("poison"):
        held = poison.get("divergence")
        if isinstance(held, dict):
            divergence = Divergence.from_document(held)
            console.print(where(divergence))
            print_divergence(console, divergence)


def _line(recording: Recording, item: Event) -> tuple[str, ...]:
    line = event_line(recording, item)
    inside = "└ " if item.begin.parent is not None else ""
    return (
        str(item.position),
        visible(item.begin.actor or "–"),
        inside + item.begin.kind,
        clip(item.begin.name, 28),
        item.outcome.value + (", replaced" if recording.observation(item.position).get("replaced") else ""),
        "" if line.tokens is None else str(line.tokens),
        str(line.size),
        clip(line.says, _LONGEST_SAYING),
    )


def _document(recording: Recording) -> JsonObject:
    closing = recording.closing
    events: list[JsonValue] = []
    for item in recording.log.events:
        line = event_line(recording, item)
        events.append(
            {
                "position": item.position,
                "end": item.end.position if item.end else None,
                "id": event_id(recording.opening.run, item.position),
                "agent": item.begin.actor,
                "kind": item.begin.kind,
                "name": item.begin.name,
                "outcome": item.outcome.value,
                "replaced": recording.observation(item.position).get("replaced") is True,
                "parent": item.begin.parent,
                "tokens": line.tokens,
                "bytes": line.size,
                "quiescent": recording.log.quiescent(item.position),
            }
        )
    return {
        "digest": recording.digest,
        "mode": recording.opening.mode,
        "task": recording.opening.task,
        "configuration": recording.configuration,
        "entries": len(recording.log),
        "sealed": closing is not None,
        "stop": {"reason": closing.stop.reason, "status": closing.stop.status, "detail": closing.stop.detail}
        if closing
        else None,
        "final": {"text": closing.final.text, "source": closing.final.source} if closing and closing.final else None,
        "events": events,
        "traces": list[JsonValue](recording.traces),
        "notes": [{"note": note.kind, **note.document} for note in recording.notes if note.kind != "order"],
    }


def _event_document(recording: Recording, item: Event) -> JsonObject:
    begin, end = item.begin, item.end
    return {
        "id": event_id(recording.opening.run, item.position),
        "begin": {**begin.document(), "digest": begin.digest},
        "end": {**end.document(), "digest": end.digest} if end else None,
        "request": recording.request(begin),
        "sent": recording.sent(item),
        "result": _result(recording, item),
        "edges": _edges(recording, item),
    }


def _result(recording: Recording, item: Event) -> JsonValue:
    result = recording.result(item)
    if isinstance(result, HttpResult):
        return {
            "status": result.status,
            "headers": [[name, value] for name, value in result.headers],
            "body": _body(result.body),
            "closed": result.closed,
        }
    if isinstance(result, ToolValue):
        value = decode_value(result.value)
        return {"value": cast("JsonValue", json.loads(json.dumps(value, default=repr)))}
    if isinstance(result, Raised):
        return {"raised": {"class": result.error.error_class, "message": result.error.message}}
    return None


def _body(data: bytes) -> JsonValue:
    """A body as JSON where it is that, else as text, else as base64."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode("ascii")}
    try:
        value = json.loads(text)
        json.dumps(value, allow_nan=False)
        return {"json": value}
    except (ValueError, RecursionError):
        return {"text": text}


def _edges(recording: Recording, item: Event) -> list[JsonValue]:
    recorded: list[JsonValue] = [
        {"from": edge.position, "kind": edge.kind, "recorded": True} for edge in item.begin.edges
    ]
    if item.begin.parent is not None:
        recorded.append({"from": item.begin.parent, "kind": "parent", "recorded": True})
    inferred: list[JsonValue] = [
        {"from": edge.earlier, "kind": f"{edge.rule} (rules {INFERENCE_RULES})", "recorded": False}
        for edge in inferred_edges(recording)
        if edge.later == item.position
    ]
    return recorded + inferred


def _print_event(recording: Recording, item: Event, *, full: bool) -> None:
    console = out()
    begin = item.begin
    rows: JsonObject = {
        "event": event_id(recording.opening.run, item.position),
        "position": f"{item.position} – {item.end.position if item.end else 'pending'}",
        "agent": begin.actor or "unknown",
        "call": f"{begin.kind} {begin.name}",
        "outcome": item.outcome.value,
    }
    if begin.kind == "execute_tool":
        rows["call id"] = begin.call_id or "none"
        rows["effect"] = begin.declared.effect or "undeclared"
    rows["anchor"] = "yes" if recording.log.quiescent(item.position) else "no: another event is in flight"
    labelled(console, rows)
    parts: list[tuple[str, JsonValue]] = [("request", recording.request(begin))]
    if (sent := recording.sent(item)) is not None:
        parts.append(("sent, with the intervention", sent))
    parts.append(("result", _result(recording, item)))
    for name, value in parts:
        console.print(f"\n{name}", style="bold")
        text = json.dumps(value, indent=2, ensure_ascii=False)
        left = 0 if full or len(text) <= _LONGEST else len(text) - _LONGEST
        console.print(visible(text if not left else text[:_LONGEST], lines=True))
        if left:
            console.print(f"… {left} more characters; all of it with --full or --json", style="dim")
    console.print("\ndepends on", style="bold")
    for held in _edges(recording, item):
        edge = cast("dict[str, Any]", held)
        source = recording.log.event_of(int(edge["from"]))
        what = f"{source.begin.actor or '–'}: {source.begin.kind} {source.begin.name}" if source else ""
        how = "recorded" if edge["recorded"] else "inferred"
        console.print(visible(f"  {edge['from']:>5}  {how} by {edge['kind']}  {what}"))
    if not _edges(recording, item):
        console.print("  nothing that was recorded or can be inferred")
