"""What people see: colours on a terminal, everything from a trace escaped, JSON where it is asked for."""

from __future__ import annotations

import json
import os
import sys
import unicodedata
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from rich.console import Console
from rich.text import Text

from anchored.canonical import Json, JsonObject
from anchored.errors import AnchoredError
from anchored.replaying import Absent, Divergence

_SHORT = 12
_WINDOW = 48
_PIPED_WIDTH = 160
_NARROWEST = 8


class _Settings:
    color: bool | None = None


def use_color(color: bool | None) -> None:
    """Colour on or off; None leaves it to the terminal and NO_COLOR."""
    _Settings.color = color


def out() -> Console:
    """Standard output: what was asked for."""
    return _console(stderr=False)


def err() -> Console:
    """Standard error: progress, summaries, errors."""
    return _console(stderr=True)


def _console(*, stderr: bool) -> Console:
    plain = _Settings.color is False or (_Settings.color is None and "NO_COLOR" in os.environ)
    console = Console(
        stderr=stderr,
        force_terminal=True if _Settings.color else None,
        color_system=None if plain else "auto",
        highlight=False,
        markup=False,
        emoji=False,
        soft_wrap=True,
    )
    if not console.is_terminal:
        console.width = _PIPED_WIDTH
    return console


def print_json(value: Json) -> None:
    """JSON on standard output, one document."""
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=True) + "\n")


def print_error(error: AnchoredError) -> None:
    """An error of ours on standard error."""
    console = err()
    console.print(Text("error ", style="bold red") + Text(visible(error.problem)))
    for name, value in (("expected", error.expected), ("found", error.found), ("next", error.next_step)):
        console.print(Text(f"  {name + ':':<10}", style="dim") + Text(visible(value)))


def visible(text: str, *, lines: bool = False) -> str:
    """Text from a trace with control, bidi and other invisible characters written out.

    Args:
        text: anything.
        lines: keep line breaks.
    """
    return "".join(
        character if _harmless(character) or (lines and character == "\n") else _escaped(character)
        for character in text
    )


def _harmless(character: str) -> bool:
    return character == " " or (character.isprintable() and unicodedata.category(character) not in ("Cf", "Cs", "Co"))


def _escaped(character: str) -> str:
    return (
        character.encode("unicode_escape").decode("ascii")
        if ord(character) < 0xD800 or ord(character) > 0xDFFF
        else f"\\u{ord(character):04x}"
    )


def short(digest: str) -> str:
    """The first digits of a digest."""
    return digest[:_SHORT]


def short_path(path: Path) -> str:
    """A path as it is shortest: from here, or whole."""
    here = os.path.relpath(path)
    return visible(min(here, str(path), key=len))


def clip(text: str, width: int) -> str:
    """Text in one line of at most `width` characters."""
    line = visible(text)
    return line if len(line) <= width else line[: width - 1] + "…"


def print_table(
    console: Console, columns: Sequence[str], rows: Sequence[Sequence[str]], *, right: str, shrink: str
) -> None:
    """A table that fits the console: columns named in `shrink` give way, first the first; the others never do.

    Args:
        console: where to.
        columns: headings.
        rows: cells, visible text.
        right: names of columns to align right, separated by spaces.
        shrink: names of columns that may be cut, separated by spaces.
    """
    widths = [max(len(line[place]) for line in (columns, *rows)) for place in range(len(columns))]
    for name in shrink.split():
        place = columns.index(name)
        excess = sum(widths) + 2 * (len(widths) - 1) - console.width
        widths[place] = max(min(widths[place], _NARROWEST), widths[place] - max(0, excess))
    for number, line in enumerate((columns, *rows)):
        cells = [
            clip(cell, width).rjust(width) if heading in right.split() else clip(cell, width).ljust(width)
            for heading, cell, width in zip(columns, line, widths, strict=True)
        ]
        console.print(Text("  ".join(cells).rstrip(), style="" if number else "bold"))


def where(divergence: Divergence) -> str:
    """The place of a divergence and whose call it is, in a few words."""
    if divergence.kind == "extra":
        return f"diverged after the recorded end at {divergence.position}, {visible(divergence.actual_call)}"
    return f"diverged at {divergence.position}, {visible(divergence.recorded_call)}"


def print_divergence(console: Console, divergence: Divergence) -> None:
    """How a replay left the recording."""
    what = {
        "changed": "another request than the recorded one",
        "extra": "a call that was not recorded",
        "missing": "a recorded call that the program never made",
        "result": "a result that was not handed out as recorded",
    }[divergence.kind]
    console.print(f"  {what}")
    if divergence.kind != "changed":
        return
    if divergence.actual_call != divergence.recorded_call:
        console.print(Text(f"  - expected  {visible(divergence.recorded_call)}", style="red"))
        console.print(Text(f"  + came      {visible(divergence.actual_call)}", style="green"))
    recorded, actual = difference_lines(divergence.recorded, divergence.actual)
    console.print(Text(f"    field     {visible(divergence.path) or '/'}, the first that differs"))
    console.print(Text("  - recorded  ", style="red") + Text(recorded))
    console.print(Text("  + actual    ", style="green") + Text(actual))


def difference_lines(recorded: Json | Absent, actual: Json | Absent) -> tuple[str, str]:
    """Both values of a difference; of long texts only what lies around the place where they part."""
    if isinstance(recorded, str) and isinstance(actual, str):
        pairs = enumerate(zip(recorded, actual, strict=False))
        at = next((place for place, (one, other) in pairs if one != other), min(len(recorded), len(actual)))
        return _window(recorded, at), _window(actual, at)
    return _one_side(recorded), _one_side(actual)


def _window(text: str, at: int) -> str:
    start, end = max(0, at - _WINDOW), at + _WINDOW
    before, after = "…" if start else "", "…" if end < len(text) else ""
    return f'{before}"{visible(text[start:end])}"{after}'


def _one_side(value: Json | Absent) -> str:
    return "nothing" if isinstance(value, Absent) else clip(json.dumps(value, ensure_ascii=False), 2 * _WINDOW)


class Progress(Protocol):
    """Called with the number of entries so far."""

    def __call__(self, entries: int, /) -> None: ...


@contextmanager
def progress(label: str, total: int | None = None, *, quiet: bool = False) -> Generator[Progress | None]:
    """A line on standard error that moves while a program runs; nothing where that is no terminal."""
    console = err()
    if quiet or not console.is_terminal:
        yield None
        return
    with console.status(visible(label)) as status:

        def update(entries: int, /) -> None:
            of = f" of {total}" if total is not None else ""
            status.update(visible(f"{label}: {entries}{of} entries"))

        yield update


def labelled(console: Console, rows: JsonObject) -> None:
    """Names and values, one a line."""
    for name, value in rows.items():
        console.print(Text(f"  {name + ':':<14}", style="dim") + Text(visible(str(value))))
