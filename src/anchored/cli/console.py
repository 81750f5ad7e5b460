"""What people see: colours on a terminal, everything from a trace escaped, JSON where it is asked for."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from rich.console import Console
from rich.text import Text

from anchored.canonical import Json, JsonObject, clip, visible
from anchored.errors import AnchoredError
from anchored.replaying import Divergence, divergence_lines

_SHORT = 12
LINE_STYLES = {"-": "red", "+": "green"}
"""Style by the mark with which a line of a difference begins."""
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


def short(digest: str) -> str:
    """The first digits of a digest."""
    return digest[:_SHORT]


def short_path(path: Path) -> str:
    """A path as it is shortest: from here, or whole."""
    here = os.path.relpath(path)
    return visible(min(here, str(path), key=len))


def print_table(
    console: Console,
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    right: Sequence[str],
    shrink: Sequence[str],
) -> None:
    """A table that fits the console: columns named in `shrink` give way, first the first; the others never do.

    Args:
        console: where to.
        columns: headings.
        rows: cells, visible text.
        right: names of columns to align right.
        shrink: names of columns that may be cut.
    """
    widths = [max(len(line[place]) for line in (columns, *rows)) for place in range(len(columns))]
    for name in shrink:
        place = columns.index(name)
        excess = sum(widths) + 2 * (len(widths) - 1) - console.width
        widths[place] = max(min(widths[place], _NARROWEST), widths[place] - max(0, excess))
    for number, line in enumerate((columns, *rows)):
        cells = [
            clip(cell, width).rjust(width) if heading in right else clip(cell, width).ljust(width)
            for heading, cell, width in zip(columns, line, widths, strict=True)
        ]
        console.print(Text("  ".join(cells).rstrip(), style="" if number else "bold"))


def print_divergence(console: Console, divergence: Divergence) -> None:
    """How a replay left the recording."""
    for line in divergence_lines(divergence):
        console.print(Text(line, style=LINE_STYLES.get(line.lstrip()[:1], "")))


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
