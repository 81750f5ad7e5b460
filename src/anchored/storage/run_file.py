"""One run, one SQLite file, open for appending."""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from anchored.canonical import canonical
from anchored.errors import StoreError
from anchored.storage.rows import (
    APPLICATION_ID,
    CHAIN_START,
    SCHEMA,
    SCHEMA_VERSION,
    BlobRow,
    EntryRow,
    RequestRow,
    chain_value,
    connect,
    note_digest,
    request_row_digest,
    store_error,
    transaction,
)

_RECENT = 8
"""How many recent requests a new one is compared with, to store only what it adds."""


class RunFile:
    """The file of one run, open for appending.

    One process owns the log; others may only add notes. Safe for use by several threads.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._db, self._descriptors = _connected(path)
        self._lock = threading.RLock()
        self._process = os.getpid()
        self._inherited: list[sqlite3.Connection] = []
        self._sound = True
        self._chain = str(self._value("SELECT chain FROM head"))
        self._recent: list[RequestRow] = []

    @classmethod
    def create(cls, path: Path) -> RunFile:
        """A new file.

        Raises:
            StoreError: the file exists, or the folder cannot be written.
        """
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch(mode=0o600, exist_ok=False)
            db = connect(path, "rw")
            with transaction(db):
                for statement in SCHEMA.values():
                    db.execute(statement)
                db.execute("INSERT INTO head VALUES (1, 0, ?, 0, 0, 0, NULL, 0)", (CHAIN_START,))
                db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
            db.close()
            return cls(path)
        except FileExistsError as error:
            raise StoreError(
                "There is a run of this name already.",
                expected="a new name",
                found=str(path),
                next_step="Choose another --name, or leave it out.",
            ) from error
        except (OSError, sqlite3.Error) as error:
            raise store_error(path, error) from error

    @classmethod
    def open(cls, path: Path) -> RunFile:
        """An existing file, for appending."""
        if not path.is_file():
            raise StoreError(
                "There is no such run file.",
                expected="the file of a run",
                found=str(path),
                next_step="See `anchored list`.",
            )
        try:
            return cls(path)
        except sqlite3.Error as error:
            raise store_error(path, error) from error

    def close(self) -> None:
        """Closes the connection; the file stays valid without it."""
        with self._lock:
            self._db.close()

    def claim(self, process: int) -> bool:
        """Makes `process` the owner of the log if it has none; whether it became that now."""
        with self._writing():
            claimed = self._db.execute("UPDATE head SET owner = ? WHERE owner IS NULL", (process,)).rowcount == 1
            if claimed:
                self._add_note("owner", canonical({"process": process}))
            return claimed

    def append(
        self,
        entry: EntryRow,
        *,
        blobs: Iterable[BlobRow] = (),
        request: RequestRow | None = None,
        durable: bool = False,
    ) -> None:
        """Appends an entry and what it refers to, in one transaction.

        Args:
            entry: its position must be the log's size.
            blobs: bytes that its digests stand for; those already there are left alone.
            request: the request of a begin.
            durable: flushed to the disk before this returns.
        """
        with self._writing(durable=durable):
            if entry.position != self._value("SELECT size FROM head"):
                raise _refused(self.path, f"entry {entry.position} out of its place")
            added = sum(
                self._db.execute(
                    "INSERT OR IGNORE INTO blob VALUES (?, ?, ?)", (blob.digest, blob.kind, blob.data)
                ).rowcount
                for blob in blobs
            )
            requests = self._add_request(request) if request else 0
            chain = chain_value(self._chain, entry.digest, entry.observation)
            self._db.execute(
                "INSERT INTO entry VALUES (?, ?, ?, ?, ?)",
                (entry.position, entry.digest, entry.document, entry.observation, chain),
            )
            self._db.execute(
                "UPDATE head SET size = size + 1, chain = ?, blobs = blobs + ?, requests = requests + ?",
                (chain, added, requests),
            )
            self._chain = chain

    def note(self, kind: str, document: bytes) -> None:
        """Adds a note."""
        with self._writing():
            self._add_note(kind, document)

    def note_once(self, kind: str, document: bytes) -> None:
        """Adds a note unless there is one of this kind."""
        with self._writing():
            if not self._value("SELECT count(*) FROM note WHERE kind = ?", kind):
                self._add_note(kind, document)

    def finish(self, closing: bytes) -> None:
        """Adds the closing, after which nothing more belongs to the run."""
        with self._writing(durable=True):
            self._add_note("closing", closing)
            self._db.execute("UPDATE head SET closed = 1")
        with self._lock, suppress(sqlite3.OperationalError):  # not while another process has it open
            self._db.execute("PRAGMA journal_mode = DELETE")  # one file, which readers leave as it is
        self.path.chmod(0o400)

    def notes(self, kind: str) -> list[bytes]:
        """Documents of the notes of a kind, unverified; for watching a live run."""
        try:
            self._after_fork()
            with self._lock:
                rows = self._db.execute("SELECT document FROM note WHERE kind = ? ORDER BY number", (kind,)).fetchall()
        except sqlite3.Error as error:
            raise store_error(self.path, error) from error
        return [row[0] for row in rows]

    def size(self) -> int:
        """Entries so far."""
        return int(self._value("SELECT size FROM head"))

    @contextmanager
    def _writing(self, *, durable: bool = False) -> Generator[None]:
        try:
            self._after_fork()
            with self._lock:
                self._recover()
                with self._transacting(durable=durable):
                    if self._value("SELECT closed FROM head"):
                        raise _refused(self.path, "a run that is closed")
                    yield
        except (sqlite3.Error, OSError) as error:
            raise store_error(self.path, error) from error

    @contextmanager
    def _transacting(self, *, durable: bool) -> Generator[None]:
        chain, recent = self._chain, self._recent
        self._sound = False
        try:
            if durable:
                self._db.execute("PRAGMA synchronous = FULL")
            with transaction(self._db):
                yield
            if durable:
                self._db.execute("PRAGMA synchronous = NORMAL")
            self._sound = True
        except StoreError:
            self._sound = True
            raise
        finally:
            if not self._sound or self._db.in_transaction:
                self._chain, self._recent = chain, recent

    def _recover(self) -> None:
        """Before each write: the file behind the connection is still ours, and nothing half-done is left.

        A program may close descriptors that are not its own and open its files under their numbers; SQLite would then
        write into those.
        """
        for descriptor, identity in self._descriptors.items():
            if _identity(descriptor) != identity:
                raise store_error(self.path, OSError("the program closed the recorder's file"))
        if not self._sound:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            self._db.execute("PRAGMA synchronous = NORMAL")
            self._chain = str(self._value("SELECT chain FROM head"))
            self._recent = []
            self._sound = True

    def _after_fork(self) -> None:
        """A forked process opens the file anew: SQLite connections and held locks do not survive a fork.

        The inherited connection is kept, since closing it would release the parent's locks.
        """
        if self._process != os.getpid():
            self._process = os.getpid()
            self._lock = threading.RLock()
            self._inherited.append(self._db)
            self._db, self._descriptors = _connected(self.path)

    def _value(self, sql: str, *arguments: object) -> Any:
        row = self._db.execute(sql, arguments).fetchone()
        return None if row is None else row[0]

    def _add_note(self, kind: str, document: bytes) -> None:
        number = int(self._value("SELECT notes FROM head"))
        self._db.execute(
            "INSERT INTO note VALUES (?, ?, ?, ?)", (number, kind, document, note_digest(number, kind, document))
        )
        self._db.execute("UPDATE head SET notes = notes + 1")

    def _add_request(self, request: RequestRow) -> int:
        """Stores what the request has beyond the recent one that it shares most with; 1 if it was new, else 0."""
        if self._value("SELECT 1 FROM request WHERE digest = ?", request.digest):
            return 0
        base, keep = None, 0
        for recent in self._recent:
            shared = _shared(recent.digests, request.digests)
            if shared > keep:
                base, keep = recent.digest, shared
        added = json.dumps(request.digests[keep:], separators=(",", ":"))
        row = request_row_digest(request, base, keep, added)
        self._db.execute(
            "INSERT INTO request VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (request.digest, request.before, request.after, request.field, base, keep, added, row),
        )
        if request.field is not None:
            self._recent = [request, *self._recent[: _RECENT - 1]]
        return 1


_opening = threading.Lock()


def _connected(path: Path) -> tuple[sqlite3.Connection, dict[int, tuple[int, int]]]:
    """A connection to a run file, and the descriptors that it opened, with which file each is."""
    with _opening:
        before = _descriptors_of(path)
        db = connect(path, "rw")
        db.execute("SELECT chain FROM head").fetchone()  # opens the log and its index as well
        return db, {number: identity for number, identity in _descriptors_of(path).items() if number not in before}


def _descriptors_of(path: Path) -> dict[int, tuple[int, int]]:
    """Descriptors of this process that are open on a run file, its log or its index."""
    wanted = {
        (status.st_dev, status.st_ino)
        for part in (path, path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-shm"))
        if part.exists() and (status := part.stat())
    }
    found: dict[int, tuple[int, int]] = {}
    for name in os.listdir("/dev/fd") if os.path.isdir("/dev/fd") else ():
        identity = _identity(int(name))
        if identity is not None and identity in wanted:
            found[int(name)] = identity
    return found


def _identity(descriptor: int) -> tuple[int, int] | None:
    try:
        status = os.fstat(descriptor)
    except OSError:
        return None
    return (status.st_dev, status.st_ino)


def _refused(path: Path, found: str) -> StoreError:
    return StoreError(
        "Nothing can be added there.",
        expected="the next entry of an open run",
        found=f"{path.name}: {found}",
        next_step="Record a new run.",
    )


def _shared(first: tuple[str, ...], second: tuple[str, ...]) -> int:
    count = 0
    for one, other in zip(first, second, strict=False):
        if one != other:
            break
        count += 1
    return count
