"""A store of runs: a folder with one file per run and an index."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from anchored.canonical import Json, JsonObject, canonical, parse_own, storable
from anchored.errors import AnchoredError, DamagedError, StoreError, UsageError
from anchored.library.journal import lost_path
from anchored.library.loading import load
from anchored.recording import Closing, Opening, Recording, Replayed, to_document
from anchored.replaying import plan_from
from anchored.storage import IndexRow, ProjectIndex, RunFile, write_file

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_DIGEST_LIKE = re.compile(r"[0-9a-f]{8,64}")
_NANOSECONDS = re.compile(r"[0-9]{1,18}|[1-8][0-9]{18}")
_TRACE = re.compile(r"[0-9a-f]{32}")
_SHORTEST_DIGEST = 4


@dataclass(frozen=True, kw_only=True, slots=True)
class Listed:
    """One run of a store, as far as it can be read.

    Attributes:
        name: the run's name.
        row: what the index knows; None where the file is damaged.
        error: why it cannot be read.
    """

    name: str
    row: IndexRow | None
    error: AnchoredError | None = None


class Library:
    """The runs of one store.

    Args:
        root: the store's folder; made with mode 0700 when first written to, and ignored by git.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._runs = root / "runs"
        self._index = ProjectIndex(root / "project.db")

    @classmethod
    def locate(cls, given: str | None, environment: Mapping[str, str]) -> Library:
        """The store that is meant: `--store`, else ANCHORED_STORE, else `./.anchored`."""
        return cls(Path(given or environment.get("ANCHORED_STORE") or ".anchored").absolute())

    def path(self, name: str) -> Path:
        """The file of the run `name`."""
        return self._runs / f"{name}.sqlite"

    def output_path(self, name: str) -> Path:
        """Where the output of a replay's program is kept."""
        return self._runs / f"{name}.out"

    def receipt_path(self, name: str) -> Path:
        """Where the receipt of a replay is kept."""
        return self._runs / f"{name}.receipt.json"

    def create(self, name: str, opening: Opening, order: JsonObject) -> Path:
        """A new run file with its opening and what the child is to do; its path.

        Raises:
            UsageError: the name is no name, or there is such a run already.
            StoreError: the store cannot be written.
        """
        if not _NAME.fullmatch(name) or name == "last" or _DIGEST_LIKE.fullmatch(name):
            raise UsageError(
                "A run cannot have this name.",
                expected="up to 100 letters, digits, dots, dashes and underscores, the first a letter or digit;"
                " not `last`, and nothing that reads as a digest",
                found=repr(name),
                next_step="Choose another --name, or leave it out.",
            )
        if self.path(name).exists():
            raise UsageError(
                "There is a run of this name already.",
                expected="a new name",
                found=name,
                next_step="Choose another --name, or leave it out.",
            )
        self._prepare()
        file = RunFile.create(self.path(name))
        file.note("opening", canonical(storable(to_document(opening))))
        file.note("order", canonical(storable(order)))
        file.close()
        return self.path(name)

    def create_next(self, stem: str, opening: Opening, order: JsonObject) -> str:
        """`create` under the first name of this stem that no run has, also where others create at the same time."""
        while True:
            name = self.unused_name(stem)
            try:
                self.create(name, opening, order)
                return name
            except (UsageError, StoreError):
                if not self.path(name).exists():
                    raise

    def unused_name(self, stem: str) -> str:
        """`stem-1`, or the first such name that no run has."""
        clean = re.sub(r"[^A-Za-z0-9._-]+", "-", stem).strip("-._")[:80] or "run"
        number = 1
        while self.path(f"{clean}-{number}").exists():
            number += 1
        return f"{clean}-{number}"

    def note(self, name: str, kind: str, document: JsonObject) -> None:
        """Says something about a run that is not closed yet."""
        file = RunFile.open(self.path(name))
        file.note(kind, canonical(storable(document)))
        file.close()

    def adopt(self, run_file: Path) -> str:
        """Copies a run file of another place into the store; the name that it gets."""
        self._prepare()
        name = self.unused_name(run_file.stem)
        shutil.copyfile(run_file, self.path(name))
        return name

    def keep_receipt(self, name: str, receipt: bytes) -> None:
        """Keeps the receipt of a replay beside its run file."""
        write_file(self.receipt_path(name), receipt)

    def take_lost(self, name: str) -> None:
        """Puts what a recorder said beside its run file into it."""
        path = lost_path(self.path(name))
        if not path.exists():
            return
        try:
            said = parse_own(path.read_bytes(), what="What a recorder lost")
        except DamagedError:
            said: JsonObject = {"position": 0, "reason": "the recorder lost its file, and could not say when"}
        self.note(name, "incomplete", said)
        path.unlink()

    def discard(self, name: str) -> None:
        """Removes a run in which nothing was recorded."""
        run_file = self.path(name)
        beside = [run_file.with_name(run_file.name + ending) for ending in ("-wal", "-shm")]
        for path in (run_file, *beside, lost_path(run_file), self.output_path(name), self.receipt_path(name)):
            path.unlink(missing_ok=True)
        self._index.drop(name)

    def finish(self, name: str, closing: Closing) -> None:
        """Closes a run and puts it into the index."""
        file = RunFile.open(self.path(name))
        file.finish(canonical(storable(to_document(closing))))
        file.close()
        self._index.put(self._row(name))

    def listed(self) -> list[Listed]:
        """All runs, oldest first; the index is brought up to date on the way."""
        known = self._index.rows() if self.root.is_dir() else {}
        found: list[Listed] = []
        for path in sorted(self._runs.glob("*.sqlite")):
            name = path.stem
            row = known.pop(name, None)
            try:
                if row is None or row.stamp != _stamp(path):
                    row = self._row(name)
                    self._index.put(row)
                found.append(Listed(name=name, row=row))
            except (DamagedError, StoreError) as error:
                found.append(Listed(name=name, row=None, error=error))
        for name in known:
            self._index.drop(name)
        return sorted(found, key=_age)

    def name_of(self, reference: str, *, recorded: bool = False) -> str:
        """The name of the run that a name, a digest prefix, a trace id or `last` means.

        Args:
            reference: what the user says.
            recorded: `last` means the last recording, and no replay.

        Raises:
            UsageError: none, or more than one.
        """
        if _NAME.fullmatch(reference) and self.path(reference).is_file():
            return reference
        listed = self.listed()
        latest = [item.name for item in listed if not recorded or (item.row and item.row.mode == "record")]
        if reference == "last" and latest:
            return latest[-1]
        matching = {
            item.row.digest: item.name
            for item in reversed(listed)
            if len(reference) >= _SHORTEST_DIGEST and item.row and item.row.digest.startswith(reference)
        }
        if not matching and _TRACE.fullmatch(reference):
            matching = {
                item.row.digest: item.name
                for item in listed
                if item.row and item.row.mode == "record" and reference in item.row.traces.split()
            }
        if len(matching) == 1:  # an exact replay has the digest of its source, which is the older one
            return next(iter(matching.values()))
        recordings = [item.name for item in listed if item.row is None or item.row.mode == "record"]
        nothing = "the store is empty" if self.root.is_dir() else "there is no store"
        names = ", ".join(recordings[-5:]) or nothing
        raise UsageError(
            "No such run." if not matching else "More than one recording is meant by this.",
            expected=f"a name, a digest prefix of at least {_SHORTEST_DIGEST} digits, a trace id, or `last`",
            found=f"{reference!r} in {self.root} ({', '.join(matching.values()) if matching else names})",
            next_step="See `anchored list`; another store is chosen with --store.",
        )

    def open(self, reference: str) -> Recording:
        """The recording that a name, a digest prefix or `last` means, verified.

        Raises:
            UsageError: none, or more than one.
            DamagedError: it is not what was written.
        """
        name = self.name_of(reference)
        recording = load(self.path(name))
        if not (reference in (name, "last", *recording.traces) or recording.digest.startswith(reference)):
            raise DamagedError(
                "The index of the store names another run for this digest.",
                expected=reference,
                found=f"{name}: {recording.digest}",
                next_step=f"Delete {self.root / 'project.db'}; it is made anew from the run files.",
            )
        return recording

    def by_digest(self, digest: str) -> list[tuple[str, IndexRow]]:
        """Names and rows of the runs with this recording digest, oldest first."""
        return [(item.name, item.row) for item in self.listed() if item.row and item.row.digest == digest]

    def next_attempt(self, plan: str) -> int:
        """The number of a new attempt at a replay plan; no two attempts are given one."""
        numbers = [item.row.attempt or 0 for item in self.listed() if item.row and item.row.plan == plan]
        self._prepare()
        return self._index.reserve(plan, max(numbers, default=0) + 1)

    def _row(self, name: str) -> IndexRow:
        path = self.path(name)
        stamp = _stamp(path)
        recording = load(path)
        opening, closing = recording.opening, recording.closing
        orders = recording.notes_of("order")
        verdicts, checks = recording.notes_of("verdict"), recording.notes_of("check")
        replayed = opening.replayed
        return IndexRow(
            name=name,
            digest=recording.digest,
            mode=opening.mode,
            source=replayed.source if replayed else None,
            origin=Path(str(orders[0].get("source"))).stem if replayed and orders else None,
            about=_about(replayed) if replayed else None,
            plan=str(orders[0].get("plan_digest")) if replayed and orders else None,
            attempt=replayed.attempt if replayed else None,
            entries=len(recording.log),
            stop=closing.stop.words if closing else "unsealed",
            verdict=str(verdicts[-1].get("kind")) if verdicts else None,
            outcome=str(checks[-1].get("outcome")) if checks else None,
            traces=" ".join(recording.traces),
            created=_created(orders[0].get("created")) if orders else 0,
            stamp=stamp,
        )

    def _prepare(self) -> None:
        try:
            self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._runs.mkdir(mode=0o700, exist_ok=True)
            ignore = self.root / ".gitignore"
            if not ignore.exists():
                ignore.write_text("*\n", encoding="utf-8")
        except OSError as error:
            raise StoreError(
                "The store cannot be made.",
                expected="a folder that can be written",
                found=f"{self.root}: {error.strerror}",
                next_step="Choose another folder with --store or ANCHORED_STORE.",
            ) from error


def _about(replayed: Replayed) -> str:
    """From where on a replay was live, and what was changed there."""
    plan = plan_from(cast("JsonObject", replayed.plan))
    if plan.anchor is None:
        return "to the end"
    kind = str(plan.intervention.document()["kind"])
    return f"at {plan.anchor.position}, {'control' if kind == 'none' else kind.replace('_', ' ')}"


def _age(item: Listed) -> tuple[int, list[int | str]]:
    """Oldest first, and in the order of their numbers where that does not tell."""
    parts = re.split(r"([0-9]{1,18})", item.name)
    ordered = [int(part) if place % 2 else part for place, part in enumerate(parts)]
    return (item.row.created if item.row else 0, ordered)


def _created(stated: Json) -> int:
    """Nanoseconds of Unix time as an order states them; 0 where it states none."""
    return int(stated) if isinstance(stated, str) and _NANOSECONDS.fullmatch(stated) else 0


def _stamp(path: Path) -> str:
    parts = [path, path.with_name(path.name + "-wal")]
    return " ".join(
        f"{status.st_size}:{status.st_mtime_ns}" for part in parts if part.exists() and (status := os.stat(part))
    )
