"""The Merkle tree of RFC 9162 § 2.1, unaltered, over entry digests: root, inclusion and consistency proofs."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

from anchored.canonical import Digest

_HASH = re.compile(r"[0-9a-f]{64}")


def _leaf(entry: Digest) -> bytes:
    return hashlib.sha256(b"\x00" + bytes.fromhex(entry)).digest()


def _node(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(b"\x01" + left + right).digest()


def _split(size: int) -> int:
    """The largest power of two below `size` (size ≥ 2)."""
    return 1 << (size - 1).bit_length() - 1


class Tree:
    """A Merkle tree over entry digests that answers for every prefix; subtrees are hashed once.

    Args:
        entries: entry digests in log order.
    """

    def __init__(self, entries: Sequence[Digest]) -> None:
        self._leaves = [_leaf(entry) for entry in entries]
        self._hashes: dict[tuple[int, int], bytes] = {}

    def __len__(self) -> int:
        return len(self._leaves)

    def root(self, size: int | None = None) -> Digest:
        """Root of the first `size` entries (RFC 9162 § 2.1.1); of all by default."""
        size = len(self) if size is None else self._checked(size)
        return Digest(hashlib.sha256(b"").hexdigest() if size == 0 else self._hash(0, size).hex())

    def inclusion_proof(self, index: int, size: int | None = None) -> list[str]:
        """The audit path of entry `index` in the tree of the first `size` entries (RFC 9162 § 2.1.3.1)."""
        size = len(self) if size is None else self._checked(size)
        if not 0 <= index < size:
            raise IndexError(f"entry {index} of {size}")
        path: list[bytes] = []
        start, end = 0, size
        while end - start > 1:
            middle = start + _split(end - start)
            if index < middle:
                path.append(self._hash(middle, end))
                end = middle
            else:
                path.append(self._hash(start, middle))
                start = middle
        return [item.hex() for item in reversed(path)]

    def consistency_proof(self, first: int, second: int | None = None) -> list[str]:
        """Proof that the first `first` entries are a prefix of the first `second` (RFC 9162 § 2.1.4.1).

        Empty where the sizes are equal or `first` is 0.
        """
        second = len(self) if second is None else self._checked(second)
        if not 0 <= first <= second:
            raise IndexError(f"prefix of {first} in {second}")
        if first in (0, second):
            return []
        proof: list[bytes] = []
        start, end, whole = 0, second, True
        while first - start != end - start:
            middle = start + _split(end - start)
            if first <= middle:
                proof.append(self._hash(middle, end))
                end = middle
            else:
                proof.append(self._hash(start, middle))
                start, whole = middle, False
        if not whole:
            proof.append(self._hash(start, end))
        return [item.hex() for item in reversed(proof)]

    def _checked(self, size: int) -> int:
        if not 0 <= size <= len(self):
            raise IndexError(f"{size} entries of {len(self)}")
        return size

    def _hash(self, start: int, end: int) -> bytes:
        if end - start == 1:
            return self._leaves[start]
        held = self._hashes.get((start, end))
        if held is None:
            middle = start + _split(end - start)
            held = self._hashes[start, end] = _node(self._hash(start, middle), self._hash(middle, end))
        return held


def root(entries: Sequence[Digest]) -> Digest:
    """Root over entry digests (RFC 9162 § 2.1.1)."""
    return Tree(entries).root()


def verify_inclusion(*, index: int, size: int, entry: Digest, head: Digest, proof: Sequence[str]) -> bool:
    """Whether `proof` shows that `entry` is leaf `index` of the tree of `size` with root `head` (§ 2.1.3.2)."""
    if not 0 <= index < size or not _are_hashes(proof):
        return False
    at, last, current = index, size - 1, _leaf(entry)
    for item in proof:
        if last == 0:
            return False
        other = bytes.fromhex(item)
        if at % 2 or at == last:
            current = _node(other, current)
            while at % 2 == 0 and at:
                at, last = at >> 1, last >> 1
        else:
            current = _node(current, other)
        at, last = at >> 1, last >> 1
    return last == 0 and current.hex() == head


def verify_consistency(
    *, first: int, first_head: Digest, second: int, second_head: Digest, proof: Sequence[str]
) -> bool:
    """Whether `proof` shows that the tree of `first` leaves is a prefix of that of `second` (§ 2.1.4.2)."""
    if not 0 <= first <= second or not _are_hashes([*proof, first_head, second_head]):
        return False
    if first in (0, second):
        return not proof and (first_head == second_head if first == second else first_head == root([]))
    path = [bytes.fromhex(item) for item in proof]
    if first & (first - 1) == 0:
        path.insert(0, bytes.fromhex(first_head))
    if not path:
        return False
    at, last = first - 1, second - 1
    while at % 2:
        at, last = at >> 1, last >> 1
    old = new = path[0]
    for item in path[1:]:
        if last == 0:
            return False
        if at % 2 or at == last:
            old, new = _node(item, old), _node(item, new)
            while at % 2 == 0 and at:
                at, last = at >> 1, last >> 1
        else:
            new = _node(new, item)
        at, last = at >> 1, last >> 1
    return last == 0 and old.hex() == first_head and new.hex() == second_head


def _are_hashes(items: Sequence[str]) -> bool:
    return all(_HASH.fullmatch(item) for item in items)
