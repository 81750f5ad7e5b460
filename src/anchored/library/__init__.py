"""Recordings in storage: find, open, write, export."""

from anchored.library.journal import FileJournal, Journal
from anchored.library.leaves import leaves
from anchored.library.library import Library, Listed
from anchored.library.loading import load, read_order
from anchored.library.verifying import VerifiedReceipt, VerifiedRun, verify_receipt_in, verify_run

__all__ = [
    "FileJournal",
    "Journal",
    "Library",
    "Listed",
    "VerifiedReceipt",
    "VerifiedRun",
    "leaves",
    "load",
    "read_order",
    "verify_receipt_in",
    "verify_run",
]
