"""`anchored verify`: every byte of a run, or a receipt."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, cast

import typer

from anchored.canonical import Json as JsonValue
from anchored.canonical import JsonObject, as_digest, parse_own, visible
from anchored.cli.app import Json, Store, app, library
from anchored.cli.console import out, print_json
from anchored.errors import DamagedError, UsageError
from anchored.library import Library
from anchored.receipts import Checked, verify_receipt

_RUN_STEPS = (
    "every row: digests, chain, counts",
    "every document: the fields of this format",
    "the log: positions, pairs, parents, edges",
    "every reference: the bytes behind each digest",
    "the closing: size, head and recording digest",
)


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
    if path.is_file():
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
    recording = shelf.open(reference)
    _check_expected(recording.digest, expected)
    steps = list(_RUN_STEPS) + (["the digest that was expected"] if expected else [])
    if as_json:
        document: JsonObject = {
            "digest": recording.digest,
            "entries": len(recording.log),
            "sealed": recording.closing is not None,
            "checked": list[JsonValue](steps),
        }
        print_json(document)
        return
    console = out()
    console.print(f"verified {recording.digest}: {len(recording.log)} entries")
    for number, step in enumerate(steps, start=1):
        console.print(f"  {number}. {step}")
    if recording.closing is None:
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
    alone = verify_receipt(data)
    names = [_name(shelf, alone, which) for which in ("source", "replay")]
    checked = alone
    if names[0] is not None and names[1] is not None:
        checked = verify_receipt(data, source=shelf.open(names[0]), replay=shelf.open(names[1]))
    _check_expected(str(parse_own(data, what="The receipt")["predicate"]["digest"]), expected)  # pyright: ignore
    if as_json:
        print_json({"level": checked.level, "checked": list[JsonValue](checked.steps), "predicate": checked.predicate})
        return
    console = out()
    compared = f" {names[0]} and {names[1]}" if checked is not alone else ""
    console.print(f"verified {visible(str(path))}: {checked.level}{compared}")
    for number, step in enumerate(checked.steps, start=1):
        console.print(f"  {number}. {step}")
    if checked is alone:
        console.print(
            "  The recordings that it names are not both in this store, so it could only be checked by itself:"
        )
        console.print("  a receipt that was altered and hashed anew would pass. It is not signed.")
    console.print("  A receipt is evidence of what was replayed, never an authority to do anything.")


def _name(shelf: Library, checked: Checked, which: str) -> str | None:
    """The run in the store that the receipt names; for the replay the one that was made of this plan and attempt."""
    predicate = cast("dict[str, Any]", checked.predicate)
    names = shelf.by_digest(str(predicate[which]["recording"]))
    plan = predicate["plan"]
    for name, row in names:
        is_replay = (row.plan, row.attempt) == (plan["digest"], plan["attempt"])
        if which == "source" or is_replay:
            return name
    return None


def _check_expected(actual: str, expected: str | None) -> None:
    if expected is not None and actual != expected:
        raise DamagedError(
            "It is not what was expected.",
            expected=expected,
            found=actual,
            next_step="Do not rely on it; get the file whose digest you trust.",
        )
