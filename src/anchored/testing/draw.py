"""Numbers without a generator: every one is a hash of what it is for.

An answer may depend on (seed, request digest, occurrence) and on nothing else, so there is no state to share, no
order to respect and no clock. Two endpoints started with one seed give one answer to one request.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, kw_only=True)
class Draw:
    """The source of all chance in one answer."""

    seed: int
    """The endpoint's seed."""
    digest: str
    """SHA-256 of the request, 64 hexadecimal digits."""
    occurrence: int
    """How many times this very request came before, from 0."""

    def fraction(self, purpose: str) -> Fraction:
        """A number in [0, 1), uniform over 2^256 values; another purpose is another number."""
        return Fraction(int.from_bytes(self._hash(purpose)), 1 << 256)

    def number(self, purpose: str, *, below: int) -> int:
        """A whole number in [0, below)."""
        return int(self.fraction(purpose) * below)

    def text(self, purpose: str, *, length: int) -> str:
        """Up to 64 hexadecimal digits, for ids."""
        return self._hash(purpose).hex()[:length]

    def _hash(self, purpose: str) -> bytes:
        parts = ["anchored-testing", self.seed, self.digest, self.occurrence, purpose]
        return hashlib.sha256(json.dumps(parts).encode()).digest()
