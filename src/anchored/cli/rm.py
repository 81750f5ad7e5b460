"""`anchored rm`: remove runs from the store."""

from __future__ import annotations

from typing import Annotated

import typer

from anchored.canonical import visible
from anchored.cli.app import Store, app, library
from anchored.cli.console import err
from anchored.errors import UsageError


@app.command("rm")
def rm_command(
    runs: Annotated[list[str], typer.Argument(metavar="RUN …", help="Names, digest prefixes, or `last`.")],
    *,
    replays: Annotated[bool, typer.Option("--replays", help="With each recording, all replays of it.")] = False,
    store: Store = None,
) -> None:
    """Remove runs, with their receipts and kept output. It cannot be undone.

    A recording that replays refer to is kept, unless they go with it.
    """
    shelf = library(store)
    names = list(dict.fromkeys(shelf.name_of(run) for run in runs))
    listed = {item.name: item.row for item in shelf.listed() if item.row}
    for name in list(names):
        left = [other for other, row in listed.items() if row.origin == name and other not in names]
        if left and replays:
            names += left
        elif left:
            raise UsageError(
                "Replays refer to this recording.",
                expected="a run that no replay needs",
                found=f"{name}: {', '.join(left[:5])}",
                next_step="Add --replays to remove them too; without their source their receipts cannot be checked.",
            )
    for name in dict.fromkeys(names):
        shelf.discard(name)
        err().print(f"removed {visible(name)}")
