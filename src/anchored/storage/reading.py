"""A run file, read whole and verified row by row."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

from anchored.canonical import Digest, as_digest, digest
from anchored.errors import DamagedError, StoreError, UnsupportedError
from anchored.storage.rows import (
    APPLICATION_ID,
    CANNOT_READ,
    CHAIN_START,
    SCHEMA,
    SCHEMA_VERSION,
    EntryRow,
    NoteRow,
    RequestRow,
    StoredRun,
    chain_value,
    connect,
    damaged,
    note_digest,
    request_row_digest,
    store_error,
    transaction,
)

_MISREAD = (TypeError, ValueError, KeyError, OverflowError, RecursionError)
"""What comes of a value of the wrong kind, which a damaged page can hold in spite of the schema."""


def read_run(path: Path) -> StoredRun:
    """Everything in the file, verified.

    Raises:
        DamagedError: anything in it is not what was written.
        UnsupportedError: a newer version wrote it.
        StoreError: it cannot be read at all.
    """
    if not path.is_file():
        raise StoreError(
            "There is no such run file.",
            expected="the file of a run",
            found=str(path),
            next_step="See `anchored list`.",
        )
    try:
        db = connect(path, "ro")
        try:
            with transaction(db, kind="DEFERRED"):
                return _Reader(path, db).read()
        finally:
            db.close()
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF in CANNOT_READ:
            raise store_error(path, error) from error
        raise damaged(path, f"SQLite says: {error}") from error
    except _MISREAD as error:
        raise damaged(path, f"{type(error).__name__}: {error}") from error


class _Reader:
    """Reads one file and checks every row; see the module's text for what holds it together."""

    def __init__(self, path: Path, db: sqlite3.Connection) -> None:
        self._path = path
        self._db = db

    def read(self) -> StoredRun:
        self._check_schema()
        heads = self._rows("SELECT id, size, chain, blobs, requests, notes, owner, closed FROM head")
        if len(heads) != 1 or heads[0][0] != 1:
            raise self._bad(f"{len(heads)} head rows")
        _, size, chain, blob_count, request_count, note_count, owner, closed = heads[0]
        entries = self._entries(size, chain)
        blobs = self._blobs(blob_count)
        requests = self._requests(request_count)
        notes = self._notes(note_count)
        owners = [json.loads(note.document)["process"] for note in notes if note.kind == "owner"]
        if owners != ([] if owner is None else [owner]):
            raise self._bad("an owner that no note names")
        closings = [note.number for note in notes if note.kind == "closing"]
        if closed not in (0, 1) or len(closings) != closed:
            raise self._bad("a closing that the head does not know, or none where it says there is one")
        return StoredRun(entries=entries, blobs=blobs, requests=requests, notes=notes, owner=owner, closed=bool(closed))

    def _check_schema(self) -> None:
        version = self._rows("PRAGMA user_version")[0][0]
        application = self._rows("PRAGMA application_id")[0][0]
        if application != APPLICATION_ID:
            raise self._bad("a SQLite file that is no run")
        if version > SCHEMA_VERSION:
            raise UnsupportedError(
                "This run file was written by a newer version.",
                expected=f"schema {SCHEMA_VERSION} or older",
                found=f"schema {version}",
                next_step="Install a newer `anchored`.",
            )
        found = self._rows("SELECT type, name, sql FROM sqlite_master WHERE type != 'index' OR sql IS NOT NULL")
        if version != SCHEMA_VERSION or sorted(found) != sorted(("table", name, sql) for name, sql in SCHEMA.items()):
            raise self._bad("tables that are not those of a run")

    def _entries(self, size: int, chain: str) -> list[EntryRow]:
        current = CHAIN_START
        entries: list[EntryRow] = []
        rows = self._rows("SELECT position, digest, document, observation, chain FROM entry ORDER BY position")
        for place, (position, stated, document, observation, link) in enumerate(rows):
            current = chain_value(current, stated, observation)
            if position != place or digest("entry", document) != stated or link != current:
                raise self._bad(f"entry {place} is not what was written")
            entries.append(EntryRow(position=position, digest=stated, document=document, observation=observation))
        if len(entries) != size or current != chain:
            raise self._bad(f"{len(entries)} entries where the head counts {size}")
        return entries

    def _blobs(self, count: int) -> dict[Digest, bytes]:
        blobs: dict[Digest, bytes] = {}
        for stated, kind, data in self._rows("SELECT digest, kind, data FROM blob"):
            if digest(kind, data) != stated:
                raise self._bad(f"blob {stated[:12]} is not what was written")
            blobs[stated] = data
        if len(blobs) != count:
            raise self._bad(f"{len(blobs)} blobs where the head counts {count}")
        return blobs

    def _requests(self, count: int) -> dict[Digest, RequestRow]:
        rows = {
            row[0]: row
            for row in self._rows("SELECT digest, before, after, field, base, keep, added, row FROM request")
        }
        built: dict[Digest, RequestRow] = {}
        for stated in rows:
            chain = [stated]
            while (base := rows[chain[-1]][4]) is not None and base not in built:
                if base not in rows or len(chain) > len(rows):
                    raise self._bad(f"request {stated[:12]} refers to one that is not there")
                chain.append(base)
            for name in reversed(chain):
                built[name] = self._request(rows[name], built)
        if len(built) != count:
            raise self._bad(f"{len(built)} requests where the head counts {count}")
        return built

    def _request(self, row: tuple[Any, ...], built: dict[Digest, RequestRow]) -> RequestRow:
        stated, before, after, field, base, keep, added, row_digest = row
        inherited = built[base].digests if base is not None else ()
        if keep < 0 or keep > len(inherited):
            raise self._bad(f"request {stated[:12]} is not what was written")
        try:
            own = tuple(as_digest(item) for item in json.loads(added))
        except (ValueError, TypeError) as error:
            raise self._bad(f"request {stated[:12]} is not what was written") from error
        request = RequestRow(digest=stated, before=before, after=after, field=field, digests=inherited[:keep] + own)
        if (
            digest("request", request.document()) != stated
            or request_row_digest(request, base, keep, added) != row_digest
        ):
            raise self._bad(f"request {stated[:12]} is not what was written")
        return request

    def _notes(self, count: int) -> list[NoteRow]:
        notes: list[NoteRow] = []
        for number, kind, document, stated in self._rows(
            "SELECT number, kind, document, digest FROM note ORDER BY number"
        ):
            if number != len(notes) or note_digest(number, kind, document) != stated:
                raise self._bad(f"note {number} is not what was written")
            notes.append(NoteRow(number=number, kind=kind, document=document))
        if len(notes) != count:
            raise self._bad(f"{len(notes)} notes where the head counts {count}")
        return notes

    def _rows(self, sql: str) -> list[tuple[Any, ...]]:
        return self._db.execute(sql).fetchall()

    def _bad(self, found: str) -> DamagedError:
        return damaged(self._path, found)
