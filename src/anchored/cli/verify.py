"""`anchored verify`: every byte of a run, or a receipt."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from anchored.canonical import Json as JsonValue
from anchored.canonical import JsonObject, as_digest, visible
from anchored.cli.app import Json, Store, app, library
from anchored.cli.console import out, print_json
from anchored.errors import DamagedError, UsageError
from anchored.library import Library, verify_receipt_in, verify_run


@app.command("verify")
def verify_command(
    target: Annotated[str, typer.Argument(metavar="RUN|RECEIPT", help="A run, or the file of a receipt.")],
    *,
    expect: Annotated[
        str | None,
        typer.Option("--expect", metavar="DIGEST", help="The digest that it must have, from a place you trust."),
    ] = None,
    store: Store = None,
    as_json: Json = False,
) -> None:
    """Verify every byte of a run, or a receipt, and say what was checked."""
    expected = None if expect is None else as_expected(expect)
    shelf = library(store)
    path = Path(target)
    if path.is_file() and not shelf.path(target).is_file():
        _verify_receipt_file(shelf, path, expected, as_json=as_json)
    else:
        _verify_run(shelf, target, expected, as_json=as_json)


def as_expected(text: str) -> str:
    """A digest that the user gave. Raises UsageError if it is none."""
    try:
        return as_digest(text)
    except DamagedError as error:
        raise UsageError(
            "--expect takes a whole digest.", expected=error.expected, found=error.found, next_step=error.next_step
        ) from error


def _verify_run(shelf: Library, reference: str, expected: str | None, *, as_json: bool) -> None:
    verified = verify_run(shelf, reference, expect=expected)
    if as_json:
        document: JsonObject = {
            "digest": verified.digest,
            "entries": verified.entries,
            "sealed": verified.sealed,
            "checked": list[JsonValue](verified.steps),
        }
        print_json(document)
        return
    console = out()
    console.print(f"verified {verified.digest}: {verified.entries} entries")
    _print_steps(verified.steps)
    if not verified.sealed:
        console.print(
            "  unsealed: the recorder was killed or is at work; entries after the last one would not be missed"
        )
    if expected is None:
        console.print("  Whoever can write the file can write it anew with other digests: --expect DIGEST pins it.")


def _verify_receipt_file(shelf: Library, path: Path, expected: str | None, *, as_json: bool) -> None:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(
            "The receipt cannot be read.",
            expected="a readable file",
            found=f"{path}: {error.strerror}",
            next_step="Check the path.",
        ) from error
    verified = verify_receipt_in(shelf, data, expect=expected)
    if as_json:
        print_json(
            {"level": verified.level, "checked": list[JsonValue](verified.steps), "predicate": verified.predicate}
        )
        return
    console = out()
    compared = f" {' and '.join(verified.recordings)}" if verified.recordings else ""
    console.print(f"verified {visible(str(path))}: {verified.level}{compared}")
    _print_steps(verified.steps)
    if verified.recordings is None:
        console.print(
            "  The recordings that it names are not both in this store, so it could only be checked by itself:"
        )
        console.print("  a receipt that was altered and hashed anew would pass. It is not signed.")
    console.print("  A receipt is evidence of what was replayed, never an authority to do anything.")


def _print_steps(steps: Sequence[str]) -> None:
    for number, step in enumerate(steps, start=1):
        out().print(f"  {number}. {step}")
