"""The statement of what a replay was, and its verification."""

from anchored.receipts.counts import Counts, count
from anchored.receipts.statement import PREDICATE_TYPE, build_receipt
from anchored.receipts.verification import Checked, verify_receipt

__all__ = ["PREDICATE_TYPE", "Checked", "Counts", "build_receipt", "count", "verify_receipt"]
