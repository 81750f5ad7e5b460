"""Between the boundary and the store: what a recorder may do, and the one that writes a run file."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from anchored.canonical import JsonObject, canonical, storable
from anchored.events import Blob, Request
from anchored.recording import Record
from anchored.storage import BlobRow, EntryRow, RequestRow, RunFile


class Journal(Protocol):
    """Where a boundary writes. A supervisor in another process can stand behind it as well as a file."""

    def claim(self, process: int) -> bool:
        """Makes `process` the owner of the log if it has none; whether it became that now."""
        ...

    def append(self, record: Record, *, request: Request | None, blobs: Iterable[Blob], durable: bool) -> None:
        """Appends an entry with all that its digests stand for; with `durable`, on the disk before this returns."""
        ...

    def note(self, kind: str, document: JsonObject, *, once: bool = False) -> None:
        """Says something outside the log; with `once`, only if nothing of this kind was said before."""
        ...

    def lost(self, document: JsonObject) -> bool:
        """Says by another way from where on the log lacks entries; whether that could be said."""
        ...


class FileJournal:
    """A journal that writes a run file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = RunFile.open(path)

    def lost(self, document: JsonObject) -> bool:
        path = lost_path(self._path)
        try:
            path.write_bytes(canonical(storable(document)))
        except OSError:
            with suppress(OSError):
                path.unlink(missing_ok=True)
            return False
        return True

    def close(self) -> None:
        """Nothing more is written."""
        self._file.close()

    def claim(self, process: int) -> bool:
        return self._file.claim(process)

    def append(self, record: Record, *, request: Request | None, blobs: Iterable[Blob], durable: bool) -> None:
        entry = record.entry
        row = EntryRow(
            position=entry.position,
            digest=entry.digest,
            document=canonical(entry.document()),
            observation=canonical(storable(record.observation)),
        )
        self._file.append(
            row,
            blobs=[BlobRow(kind=blob.kind, digest=blob.digest, data=blob.data) for blob in blobs],
            request=None if request is None else _request_row(request),
            durable=durable,
        )

    def note(self, kind: str, document: JsonObject, *, once: bool = False) -> None:
        write = self._file.note_once if once else self._file.note
        write(kind, canonical(storable(document)))


def _request_row(request: Request) -> RequestRow:
    return RequestRow(
        digest=request.digest,
        before=request.before,
        after=request.after,
        field=request.field,
        digests=tuple(message.digest for message in request.messages),
    )


def lost_path(run_file: Path) -> Path:
    """Where a recorder whose run file is lost to it says so."""
    return run_file.with_suffix(".lost")
