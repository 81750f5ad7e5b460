"""The rows of a run file, its schema, and the digests that hold them together.

- An entry carries its own digest and a chain value over all entries and observations so far.
- A blob's key is the digest of its bytes, a request's key that of its rebuilt document; a request's row has a digest
  of its own besides, since two bases may rebuild one document.
- A note's digest covers its number and kind.
- The one row of `head` counts all of them and holds the last chain value. It moves in the same transaction.

So no row can be changed, added, dropped or swapped unseen.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from anchored.canonical import Digest, canonical, digest, request_document
from anchored.errors import DamagedError, StoreError

SCHEMA_VERSION = 1
APPLICATION_ID = 0x616E6368
CANNOT_READ = {sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PERM}
SCHEMA = {
    "head": "CREATE TABLE head (id INTEGER PRIMARY KEY CHECK (id = 1), size INTEGER NOT NULL, chain TEXT NOT NULL,"
    " blobs INTEGER NOT NULL, requests INTEGER NOT NULL, notes INTEGER NOT NULL, owner INTEGER,"
    " closed INTEGER NOT NULL) STRICT",
    "entry": "CREATE TABLE entry (position INTEGER PRIMARY KEY, digest TEXT NOT NULL, document BLOB NOT NULL,"
    " observation BLOB NOT NULL, chain TEXT NOT NULL) STRICT",
    "blob": "CREATE TABLE blob (digest TEXT PRIMARY KEY, kind TEXT NOT NULL, data BLOB NOT NULL) STRICT, WITHOUT ROWID",
    "request": "CREATE TABLE request (digest TEXT PRIMARY KEY, before BLOB NOT NULL, after BLOB NOT NULL, field TEXT,"
    " base TEXT, keep INTEGER NOT NULL, added TEXT NOT NULL, row TEXT NOT NULL) STRICT, WITHOUT ROWID",
    "note": "CREATE TABLE note (number INTEGER PRIMARY KEY, kind TEXT NOT NULL, document BLOB NOT NULL,"
    " digest TEXT NOT NULL) STRICT",
}

CHAIN_START = digest("row", b"")
"""Chain value of a log without entries."""


@dataclass(frozen=True, kw_only=True, slots=True)
class EntryRow:
    """An entry as stored: its document's bytes, their digest, and the bytes of what was observed."""

    position: int
    digest: Digest
    document: bytes
    observation: bytes


@dataclass(frozen=True, kw_only=True, slots=True)
class BlobRow:
    """Bytes, with `digest == H(kind, data)`."""

    kind: str
    digest: Digest
    data: bytes


@dataclass(frozen=True, kw_only=True, slots=True)
class RequestRow:
    """A request as stored: document = `before ‖ JCS{"digests", "field"} ‖ after`, or `before` where `field` is None."""

    digest: Digest
    before: bytes
    after: bytes
    field: str | None
    digests: tuple[str, ...]

    def document(self) -> bytes:
        """The bytes that the digest stands for."""
        return request_document(self.before, self.after, self.field, self.digests)


@dataclass(frozen=True, kw_only=True, slots=True)
class NoteRow:
    """Something said about the run outside its log."""

    number: int
    kind: str
    document: bytes


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredRun:
    """A whole file as read in one transaction, verified."""

    entries: Sequence[EntryRow]
    blobs: dict[Digest, bytes]
    requests: dict[Digest, RequestRow]
    notes: Sequence[NoteRow]
    owner: int | None
    closed: bool


def chain_value(before: str, entry: str, observation: bytes) -> Digest:
    """The chain value after an entry."""
    return digest("row", f"{before}{entry}".encode() + observation)


def note_digest(number: int, kind: str, document: bytes) -> Digest:
    return digest("note", canonical({"kind": kind, "number": number}) + document)


def request_row_digest(request: RequestRow, base: str | None, keep: int, added: str) -> Digest:
    own = {"added": added, "base": base, "digest": request.digest, "field": request.field, "keep": keep}
    return digest(
        "row", canonical(own) + digest("row", request.before).encode() + digest("row", request.after).encode()
    )


def connect(path: Path, mode: str) -> sqlite3.Connection:
    db = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}", uri=True, isolation_level=None, check_same_thread=False, timeout=30
    )
    db.execute("PRAGMA trusted_schema = OFF")
    if mode == "rw":
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = NORMAL")
    return db


@contextmanager
def transaction(db: sqlite3.Connection, *, kind: str = "IMMEDIATE") -> Generator[None]:
    db.execute(f"BEGIN {kind}")
    try:
        yield
    except BaseException:
        db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")


def damaged(path: Path, found: str) -> DamagedError:
    return DamagedError(
        f"The run file {path.name} is damaged.",
        expected="every row as it was written",
        found=found,
        next_step="Restore the file from a copy, or record the run again; nothing in it can be relied upon.",
    )


def store_error(path: Path, error: Exception) -> StoreError:
    return StoreError(
        "The store cannot be used.",
        expected="a folder that can be written, with room on the disk",
        found=f"{path}: {error}",
        next_step="Make room or set the rights, or choose another folder with --store.",
    )
