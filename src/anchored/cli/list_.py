"""`anchored list`: the runs of a store."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime

from anchored.canonical import Json as JsonValue
from anchored.canonical import visible
from anchored.cli.app import Json, Store, app, library
from anchored.cli.console import err, out, print_json, print_table, short
from anchored.cli.exits import DAMAGED
from anchored.library import Listed


@app.command("list")
def list_command(*, store: Store = None, as_json: Json = False) -> None:
    """List the recordings and replays of the store, oldest first."""
    shelf = library(store)
    listed = shelf.listed()
    if as_json:
        found: list[JsonValue] = [
            asdict(item.row) if item.row else {"name": item.name, "error": str(item.error)} for item in listed
        ]
        print_json(found)
        return
    if not listed:
        err().print(f"No runs in {visible(str(shelf.root))}. Record one: anchored record -- python team.py")
        return
    rows = [_row(item) for item in listed]
    columns = ("name", "started", "digest", "entries", "ended", "replay of", "verdict", "check")
    print_table(out(), columns, rows, right=["entries"], shrink=["ended", "started"])
    if any(item.row is None for item in listed):
        raise SystemExit(DAMAGED)


def _row(item: Listed) -> tuple[str, ...]:
    row = item.row
    name = visible(item.name)
    if row is None:
        return (name, "", "damaged", "", f"see: anchored verify {name}", "", "", "")
    started = datetime.fromtimestamp(row.created / 1e9, tz=UTC).astimezone().strftime("%m-%d %H:%M:%S")
    origin = f"{visible(row.origin or short(row.source))} {row.about}" if row.source else ""
    return (
        name,
        started,
        short(row.digest),
        str(row.entries),
        visible(row.stop),
        origin,
        row.verdict or "",
        row.outcome or "",
    )
