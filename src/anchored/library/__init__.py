"""Recordings in storage: find, open, write, export."""

from anchored.library.journal import FileJournal, Journal
from anchored.library.leaves import leaves
from anchored.library.library import Library, Listed
from anchored.library.loading import load, read_order

__all__ = ["FileJournal", "Journal", "Library", "Listed", "leaves", "load", "read_order"]
