"""`anchored diff`: where two runs part, and how."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer
from rich.text import Text

from anchored.attempts import checked
from anchored.canonical import Json as JsonValue
from anchored.canonical import JsonObject, clip, visible
from anchored.cli.app import Json, Store, app, library
from anchored.cli.console import out, print_json
from anchored.cli.reading import event_line, final_text, told
from anchored.recording import Event, Recording
from anchored.replaying import Absent, Step, compare, difference_lines, parting

_MARKS = {"same": " ", "result": "~", "changed": "≠", "left": "-", "right": "+"}
_STYLES = {"same": "dim", "result": "yellow", "changed": "yellow", "left": "red", "right": "green"}
_SAYING = 60


@app.command("diff")
def diff_command(
    first: Annotated[str, typer.Argument(metavar="A", help="A run: its name, a prefix of its digest, or `last`.")],
    second: Annotated[str, typer.Argument(metavar="B", help="Another run.")],
    *,
    every: Annotated[bool, typer.Option("--all", help="Show the events that are the same as well.")] = False,
    store: Store = None,
    as_json: Json = False,
) -> None:
    """Show where two runs part and how, event by event."""
    shelf = library(store)
    left, right = shelf.open(first), shelf.open(second)
    steps = compare(left, right)
    if as_json:
        print_json(_document(left, right, steps))
        return
    _print(left, right, steps, every=every)


def _print(left: Recording, right: Recording, steps: Sequence[Step], *, every: bool) -> None:
    console = out()
    replayed = right.opening.replayed
    if replayed is not None and replayed.source == left.digest:
        console.print(f"the second is a replay of the first, {told(replayed)}")
    apart = parting(steps)
    same = sum(1 for step in steps if step.kind == "same")
    if apart is None:
        console.print(f"the same: {same} events, every request and every result")
    else:
        event = steps[apart].left or steps[apart].right
        place = "the start" if event is None else f"the event at {event.position}"
        console.print(f"the same up to {place}; {same} events are equal, {len(steps) - same} are not")
        console.print("  ~ another result   ≠ another request   - only in the first   + only in the second")
    for step in steps:
        if step.kind != "same" or every:
            for line in _lines(left, right, step):
                console.print(Text(line, style=_STYLES[step.kind]))
    answers = [final_text(recording) for recording in (left, right)]
    if answers[0] != answers[1]:
        console.print(Text(f"- answer  {clip(answers[0], 100) or 'none'}", style="red"))
        console.print(Text(f"+ answer  {clip(answers[1], 100) or 'none'}", style="green"))
    checks = [judged.outcome if (judged := checked(recording)) else "none" for recording in (left, right)]
    if checks[0] != checks[1]:
        console.print(f"  check   {checks[0]}, then {checks[1]}")


def _lines(left: Recording, right: Recording, step: Step) -> list[str]:
    positions = [str(event.position) if event else "·" for event in (step.left, step.right)]
    event = step.left or step.right
    if event is None:
        return []
    begin = event.begin
    what = f"{visible(begin.actor or '–')}: {begin.kind} {clip(begin.name, 32)}"
    lines = [f"{_MARKS[step.kind]} {positions[0]:>5} {positions[1]:>5}  {what}"]
    if step.difference is not None:
        recorded, actual = difference_lines(step.difference.recorded, step.difference.actual)
        lines += [
            f"                 asked, {visible(step.difference.path)}",
            f"                 - {recorded}",
            f"                 + {actual}",
        ]
    said = [_says(recording, event) for recording, event in ((left, step.left), (right, step.right)) if event]
    if step.kind != "same" and len(set(said)) == len(said):
        marks = "-+" if len(said) > 1 else (" ",)
        lines += [f"                 {mark} {saying}" for mark, saying in zip(marks, said, strict=False) if saying]
    return lines


def _says(recording: Recording, event: Event) -> str:
    return clip(event_line(recording, event).says, _SAYING)


def _document(left: Recording, right: Recording, steps: Sequence[Step]) -> JsonObject:
    apart = parting(steps)
    shown: list[JsonValue] = []
    for step in steps:
        entry: JsonObject = {
            "kind": step.kind,
            "first": step.left.position if step.left else None,
            "second": step.right.position if step.right else None,
        }
        if step.difference is not None:
            difference: JsonObject = {"path": step.difference.path}
            if not isinstance(step.difference.recorded, Absent):
                difference["first"] = step.difference.recorded
            if not isinstance(step.difference.actual, Absent):
                difference["second"] = step.difference.actual
            entry["difference"] = difference
        shown.append(entry)
    return {"first": left.digest, "second": right.digest, "parting": apart, "steps": shown}
