"""Digests: SHA-256 with a domain, written as 64 lowercase hexadecimal digits."""

from __future__ import annotations

import hashlib
import re
from typing import NewType

from anchored.errors import DamagedError

Digest = NewType("Digest", str)

EMPTY_TREE_HEAD = Digest(hashlib.sha256(b"").hexdigest())
"""Root of a Merkle tree without leaves (RFC 9162 § 2.1.1)."""

_DIGEST = re.compile(r"[0-9a-f]{64}")
_PREFIXES: dict[str, bytes] = {}


def digest(kind: str, data: bytes) -> Digest:
    """SHA-256 of `data` in the domain of `kind`: `sha256("anchored/<kind>/v1" ‖ 0x00 ‖ data)`."""
    prefix = _PREFIXES.get(kind)
    if prefix is None:
        prefix = _PREFIXES[kind] = f"anchored/{kind}/v1".encode() + b"\0"
    return Digest(hashlib.sha256(prefix + data).hexdigest())


def as_digest(value: object) -> Digest:
    """`value` if it is a digest, whole and in lower case.

    Raises:
        DamagedError: it is anything else.
    """
    if isinstance(value, str) and _DIGEST.fullmatch(value):
        return Digest(value)
    raise DamagedError(
        "Not a digest.",
        expected="64 lowercase hexadecimal digits",
        found=repr(value)[:80],
        next_step="Take the digest from `anchored list --json` or from a receipt, whole.",
    )
