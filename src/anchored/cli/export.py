"""`anchored export`: parts of a recording for others."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from anchored.canonical import visible
from anchored.cli.app import Run, Store, app, library
from anchored.cli.console import err
from anchored.errors import StoreError, UsageError
from anchored.library import leaves


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


def write_file(path: Path, data: bytes) -> None:
    """Writes a file whole or not at all, readable by its owner only.

    Raises:
        StoreError: it cannot be written.
    """
    try:
        descriptor, temporary = tempfile.mkstemp(dir=path.parent or Path(), prefix=f".{path.name}.")
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError as error:
        raise StoreError(
            "The file cannot be written.",
            expected="a folder that exists and can be written",
            found=f"{path}: {error.strerror}",
            next_step="Choose another place.",
        ) from error


def check_writable(path: Path) -> None:
    """Whether a file can be written there, before work is done for it.

    Raises:
        UsageError: the folder does not exist or cannot be written.
    """
    folder = path.parent
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise UsageError(
            "The file cannot be written.",
            expected="a folder that exists and can be written",
            found=str(path),
            next_step="Choose another place.",
        )
