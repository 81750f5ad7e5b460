"""Verifying what a store holds: a run byte by byte, and a receipt against the recordings that it names."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from anchored.canonical import JsonObject
from anchored.errors import DamagedError
from anchored.library.library import Library
from anchored.library.loading import load
from anchored.receipts import Checked, verify_receipt
from anchored.recording import event_id

_RUN_STEPS = (
    "every row: digests, chain, counts",
    "every document: the fields of this format",
    "the log: positions, pairs, parents, edges",
    "every reference: the bytes behind each digest",
    "the closing: size, head and recording digest",
)
_EXPECTED = "the digest that was expected"


@dataclass(frozen=True, kw_only=True, slots=True)
class VerifiedRun:
    """A run whose every byte was checked.

    Attributes:
        digest: recording digest.
        entries: size of the log.
        sealed: whether it was closed; entries after the last one would not be missed otherwise.
        steps: what was checked, in order.
    """

    digest: str
    entries: int
    sealed: bool
    steps: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class VerifiedReceipt:
    """A receipt that holds.

    Attributes:
        digest: its own.
        level: `self-consistent`, or `matches the recordings` where the store has both.
        recordings: the names of source and replay in the store; None where they are not both there.
        steps: what was checked, in order.
        predicate: what it states.
    """

    digest: str
    level: str
    recordings: tuple[str, str] | None
    steps: tuple[str, ...]
    predicate: JsonObject


def verify_run(library: Library, run: str | Path, *, expect: str | None = None) -> VerifiedRun:
    """Reads a run and checks every byte of it.

    Args:
        library: the store.
        run: a name, a digest prefix, a trace id, `last`, or the path of a run file.
        expect: the digest that it must have.

    Raises:
        UsageError: there is no such run.
        DamagedError: it is not what was written, or not what was expected.
    """
    recording = load(run) if isinstance(run, Path) else library.open(run)
    _check_expected(recording.digest, expect)
    return VerifiedRun(
        digest=recording.digest,
        entries=len(recording.log),
        sealed=recording.closing is not None,
        steps=_steps(_RUN_STEPS, expect),
    )


def verify_receipt_in(library: Library, receipt: bytes, *, expect: str | None = None) -> VerifiedReceipt:
    """Checks a receipt, and where the store has both recordings, that they have this very receipt.

    Args:
        library: the store.
        receipt: the file's bytes.
        expect: the digest that it must have.

    Raises:
        DamagedError: it does not hold, or is not what was expected.
    """
    checked = verify_receipt(receipt)
    source, replay = (next(iter(find(library, checked)), None) for find in (_sources, _replays))
    recordings = None
    if source is not None and replay is not None:
        recordings = (source, replay)
        checked = verify_receipt(receipt, source=library.open(source), replay=library.open(replay))
    own = str(checked.predicate["digest"])
    _check_expected(own, expect)
    return VerifiedReceipt(
        digest=own,
        level=checked.level,
        recordings=recordings,
        steps=_steps(checked.steps, expect),
        predicate=checked.predicate,
    )


def _sources(library: Library, checked: Checked) -> list[str]:
    """The runs that the receipt names as its source. An exact replay has its source's digest, and other event ids."""
    predicate = cast("dict[str, Any]", checked.predicate)
    anchor = predicate["anchor"]
    itself = _replays(library, checked)
    return [
        name
        for name, _ in library.by_digest(str(predicate["source"]["recording"]))
        if name not in itself
        if anchor is None or event_id(load(library.path(name)).opening.run, anchor["position"]) == anchor["event"]
    ]


def _replays(library: Library, checked: Checked) -> list[str]:
    """The runs that were made of the receipt's plan and attempt."""
    predicate = cast("dict[str, Any]", checked.predicate)
    plan = predicate["plan"]
    named = library.by_digest(str(predicate["replay"]["recording"]))
    return [name for name, row in named if (row.plan, row.attempt) == (plan["digest"], plan["attempt"])]


def _steps(steps: tuple[str, ...] | list[str], expect: str | None) -> tuple[str, ...]:
    return (*steps, *((_EXPECTED,) if expect is not None else ()))


def _check_expected(actual: str, expected: str | None) -> None:
    if expected is not None and actual != expected:
        raise DamagedError(
            "It is not what was expected.",
            expected=expected,
            found=actual,
            next_step="Do not rely on it; get the file whose digest you trust.",
        )
