"""docs/frameworks.md: a cell for each framework and column, written from the cells that the tests found."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from anchored.testing.conformance import COLUMNS

TEXT = """# Frameworks

Made by `make conformance`, which runs real programs in both environments of `requirements/` against the scripted
endpoint; none of it is typed in. Every cell is a test that ran.

A cell says how many attempts did what they must of all that were tried; then how many were refused since their order
comes from outside the boundary (a lock, a semaphore, a pool of one, a blocking client in an event loop), which is
allowed there and nowhere else. {crossed} attempts of {tried} were called exact and had another result (*crossed*).

- **record**: the program ends as it does unrecorded, and every call that the endpoint saw is in the log.
- **full replay**: with no endpoint and no network, to the end; no tool runs, and the last line is the recorded one.
- **control**, **guided**: an anchor, evenly over all events (model calls, for guidance): the prefix exact, then live;
  what went live is in the log, and the guidance was in the first request and in no other.
- **parallel**, **nested**, **stream**, **async**, **error**: full replays of such runs. Parallel ones race by chance.
- **changed request**: recordings in which the agent, the name or a single value of one request is another (prompts,
  schemas, settings, history, arguments), every digest computed anew, anchored at the last event: diverged at that event
  and field, nothing live.
- **swallowed divergence**, **hang**: a changed prompt in a program that swallows all errors, and then goes on or hangs:
  diverged, nothing live, ended by the watchdog. The longest time from the divergence to the end, with a grace of 0.5 s,
  was {slowest} s.

{table}

An empty cell: the framework has no such thing, or none that is another than its neighbour's.
"""


def write(path: Path, cells: Sequence[dict[str, Any]]) -> None:
    """Writes the page."""
    subjects = list(dict.fromkeys(cell["subject"] for cell in cells))
    by_place = {(cell["subject"], cell["column"]): cell for cell in cells}
    lines = ["| framework | " + " | ".join(COLUMNS) + " |", "|---" * (len(COLUMNS) + 1) + "|"]
    for subject in subjects:
        shown = [_shown(by_place.get((subject, column))) for column in COLUMNS]
        lines.append(f"| {subject} | " + " | ".join(shown) + " |")
    text = TEXT.format(
        table="\n".join(lines),
        tried=sum(cell["tried"] for cell in cells),
        crossed=sum(cell["crossed"] for cell in cells),
        slowest=f"{max(cell['slowest'] for cell in cells):.1f}",
    )
    path.write_text(text, encoding="utf-8")


def _shown(cell: dict[str, Any] | None) -> str:
    if cell is None:
        return ""
    refused = f", {cell['refused']} refused" if cell["refused"] else ""
    crossed = f", {cell['crossed']} **crossed**" if cell["crossed"] else ""
    other = cell["tried"] - cell["exact"] - cell["refused"] - cell["crossed"]
    return f"{cell['exact']}/{cell['tried']}{refused}{crossed}" + (f", {other} **failed**" if other else "")
