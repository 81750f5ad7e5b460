"""`anchored export`: parts of a recording for others."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from anchored.canonical import visible
from anchored.cli.app import Run, Store, app, library
from anchored.cli.console import err
from anchored.library import leaves
from anchored.storage import check_writable, write_file


@app.command("export")
def export_command(
    run: Run,
    *,
    leaves_file: Annotated[
        Path, typer.Option("--leaves", metavar="FILE", help="Write the content-free entry digests here.")
    ],
    store: Store = None,
) -> None:
    """Write the entry digests of a run, without content, for the independent verifier."""
    check_writable(leaves_file)
    recording = library(store).open(run)
    write_file(leaves_file, leaves(recording))
    err().print(f"wrote {visible(str(leaves_file))}: {len(recording.log)} entry digests of {recording.digest}")
