"""A run file → a recording, every reference followed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from anchored.canonical import Digest, JsonObject, parse_own
from anchored.errors import DamagedError
from anchored.events import Begin, Request, ToolValue, decode_value, entry_from_document, stored_request
from anchored.recording import Note, Record, Recording, check_closing, closing_from, opening_from
from anchored.storage import RequestRow, StoredRun, read_run


class _StoredContents:
    """The bytes of one run file, already verified."""

    def __init__(self, blobs: Mapping[Digest, bytes], requests: Mapping[Digest, RequestRow]) -> None:
        self._blobs = blobs
        self._requests = requests

    def blob(self, digest: Digest) -> bytes:
        return self._blobs[digest]

    def request(self, digest: Digest) -> Request:
        row = self._requests[digest]
        return stored_request(
            before=row.before,
            after=row.after,
            field=row.field,
            digests=[Digest(item) for item in row.digests],
            read=self.blob,
        )


def load(path: Path) -> Recording:
    """Reads a run file and checks every byte of it.

    1. Rows: digests, chain and counts (storage).
    2. Documents: opening, entries and closing have the fields of this format.
    3. Log: positions, pairs, parents and edges.
    4. References: every digest that an entry or request names is there.
    5. Closing: size, head and recording digest are those of the log.

    Raises:
        DamagedError: anything is not what was written.
        UnsupportedError: a newer version wrote it.
        StoreError: it cannot be read.
    """
    stored = read_run(path)  # 1
    recording = _decode(path, stored)  # 2
    _ = recording.log  # 3
    _check_references(path, recording, stored)  # 4
    check_closing(recording)  # 5
    return recording


def read_order(path: Path) -> JsonObject:
    """What the parent told the child to do, from a run file that has just been made."""
    stored = read_run(path)
    return _note(path, stored, "order")


def _decode(path: Path, stored: StoredRun) -> Recording:
    kinds = [note.kind for note in stored.notes]
    if kinds[:1] != ["opening"] or kinds.count("opening") != 1 or kinds.count("order") != 1:
        raise _damaged(path, "not one opening and one order")
    opening = opening_from(parse_own(stored.notes[0].document, what="The opening of the recording"))
    closing = closing_from(_note(path, stored, "closing")) if stored.closed else None
    records = [
        Record(
            entry=entry_from_document(parse_own(row.document, what=f"Entry {row.position}")),
            observation=parse_own(row.observation, what=f"What was observed of entry {row.position}"),
        )
        for row in stored.entries
    ]
    notes = [
        Note(kind=note.kind, document=parse_own(note.document, what=f"Note {note.number}"))
        for note in stored.notes
        if note.kind not in ("opening", "closing")
    ]
    return Recording(
        opening=opening,
        closing=closing,
        records=records,
        notes=notes,
        contents=_StoredContents(stored.blobs, stored.requests),
    )


def _note(path: Path, stored: StoredRun, kind: str) -> JsonObject:
    for note in stored.notes:
        if note.kind == kind:
            return parse_own(note.document, what=f"Note {note.number}")
    raise _damaged(path, f"no {kind}")


def _check_references(path: Path, recording: Recording, stored: StoredRun) -> None:
    try:
        for request in stored.requests.values():
            recording.contents.request(request.digest)
        for entry in recording.log.entries:
            if isinstance(entry, Begin):
                stored.requests[entry.request]
        for event in recording.log.events:
            result = recording.result(event)
            if isinstance(result, ToolValue):
                decode_value(result.value)
            recording.sent(event)
    except KeyError as error:
        raise _damaged(path, f"nothing stands behind the digest {str(error.args[0])[:12]}…") from error


def _damaged(path: Path, found: str) -> DamagedError:
    return DamagedError(
        f"The run file {path.name} is damaged.",
        expected="an opening, a log, and all that its digests stand for",
        found=found,
        next_step="Restore the file from a copy, or record the run again.",
    )
