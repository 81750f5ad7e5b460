"""`project.db`: the mutable index of a store's runs. It can be lost: the run files say the same."""

from __future__ import annotations

import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager
from dataclasses import astuple, dataclass
from pathlib import Path

from anchored.errors import StoreError
from anchored.storage.rows import CANNOT_READ

_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS run (name TEXT PRIMARY KEY, digest TEXT NOT NULL, mode TEXT NOT NULL,"
    " source TEXT, origin TEXT, about TEXT, plan TEXT, attempt INTEGER, entries INTEGER NOT NULL, stop TEXT NOT NULL,"
    " verdict TEXT, outcome TEXT, traces TEXT NOT NULL, created INTEGER NOT NULL, stamp TEXT NOT NULL) STRICT"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class IndexRow:
    """One run as `anchored list` shows it.

    Attributes:
        name: the run's name.
        digest: recording digest.
        mode: record or replay.
        source: what a replay replays, by recording digest.
        origin: the same by its name in the store.
        about: from where on a replay was live, and what was changed there.
        plan: digest of a replay's plan.
        attempt: number of the attempt at that plan.
        entries: size of the log.
        stop: stop reason in words.
        verdict: what became of a replay, in one word.
        outcome: what its check said; None if it had none.
        traces: ids of the OpenTelemetry traces in which it ran, separated by spaces.
        created: when it started, nanoseconds of Unix time.
        stamp: size and time of the file when the row was made; a row whose stamp is old is made anew.
    """

    name: str
    digest: str
    mode: str
    source: str | None
    origin: str | None
    about: str | None
    plan: str | None
    attempt: int | None
    entries: int
    stop: str
    verdict: str | None
    outcome: str | None
    traces: str
    created: int
    stamp: str


class ProjectIndex:
    """The index of one store."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def put(self, row: IndexRow) -> None:
        """Adds or replaces a run's row."""
        with self._open() as db:
            values = astuple(row)
            db.execute(f"INSERT OR REPLACE INTO run VALUES ({', '.join('?' * len(values))})", values)

    def reserve(self, plan: str, least: int) -> int:
        """A number for an attempt at a plan, at least `least`, that no other attempt was given."""
        with self._open() as db:
            db.execute("CREATE TABLE IF NOT EXISTS attempt (plan TEXT NOT NULL, number INTEGER NOT NULL) STRICT")
            db.execute("BEGIN IMMEDIATE")
            last = db.execute("SELECT max(number) FROM attempt WHERE plan = ?", (plan,)).fetchone()[0] or 0
            number = max(least, last + 1)
            db.execute("INSERT INTO attempt VALUES (?, ?)", (plan, number))
        return number

    def drop(self, name: str) -> None:
        """Removes a run's row."""
        with self._open() as db:
            db.execute("DELETE FROM run WHERE name = ?", (name,))

    def rows(self) -> dict[str, IndexRow]:
        """All rows by name."""
        columns = ", ".join(IndexRow.__slots__)
        with self._open() as db:
            found = db.execute(f"SELECT {columns} FROM run").fetchall()
        return {row[0]: IndexRow(**dict(zip(IndexRow.__slots__, row, strict=True))) for row in found}

    def _made_anew(self) -> None:
        """Deletes an index that is none: the run files say the same."""
        try:
            with closing(sqlite3.connect(self._path, timeout=30)) as db:
                db.execute(_SCHEMA)
                db.execute(f"SELECT {', '.join(IndexRow.__slots__)} FROM run LIMIT 1")
        except sqlite3.DatabaseError as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF not in CANNOT_READ:
                self._path.unlink(missing_ok=True)

    @contextmanager
    def _open(self) -> Generator[sqlite3.Connection]:
        self._made_anew()
        try:
            db = sqlite3.connect(self._path, timeout=30)
            try:
                with db:
                    db.execute(_SCHEMA)
                    yield db
            finally:
                db.close()
        except sqlite3.Error as error:
            raise StoreError(
                "The project's index cannot be used.",
                expected="a SQLite file that can be written",
                found=f"{self._path}: {error}",
                next_step="Delete it; it is made anew from the run files.",
            ) from error
