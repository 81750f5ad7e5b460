"""Bytes by digest: one SQLite file per run, and the project's mutable index."""

from anchored.storage.files import check_writable, write_file
from anchored.storage.index import IndexRow, ProjectIndex
from anchored.storage.reading import read_run
from anchored.storage.rows import BlobRow, EntryRow, NoteRow, RequestRow, StoredRun
from anchored.storage.run_file import RunFile

__all__ = [
    "BlobRow",
    "EntryRow",
    "IndexRow",
    "NoteRow",
    "ProjectIndex",
    "RequestRow",
    "RunFile",
    "StoredRun",
    "check_writable",
    "read_run",
    "write_file",
]
