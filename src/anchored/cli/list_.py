"""`anchored list`: the runs of a store."""

from __future__ import annotations

from dataclasses import asdict

from anchored.canonical import Json as JsonValue
from anchored.cli.app import Json, Store, app, library
from anchored.cli.console import err, out, print_json, short, table, visible
from anchored.cli.exits import DAMAGED


@app.command("list")
def list_command(*, store: Store = None, as_json: Json = False) -> None:
    """List the recordings and replays of the store, oldest first."""
    shelf = library(store)
    listed = shelf.listed()
    if as_json:
        rows: list[JsonValue] = [
            asdict(item.row) if item.row else {"name": item.name, "error": str(item.error)} for item in listed
        ]
        print_json(rows)
        return
    if not listed:
        err().print(f"No runs in {visible(str(shelf.root))}. Record one: anchored record -- python team.py")
        return
    shown = table("name", "digest", "mode", "entries", "stopped", "replay of", right=("entries",))
    for item in listed:
        row = item.row
        if row is None:
            shown.add_row(visible(item.name), "damaged", "", "", f"see: anchored verify {visible(item.name)}", "")
            continue
        origin = f"{short(row.source)} #{row.attempt}" if row.source else ""
        shown.add_row(visible(row.name), short(row.digest), row.mode, str(row.entries), visible(row.stop), origin)
    out().print(shown)
    if any(item.row is None for item in listed):
        raise SystemExit(DAMAGED)
