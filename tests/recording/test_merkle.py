"""The Merkle tree against RFC 9162's own recursive definitions, written here a second time."""

from __future__ import annotations

import hashlib
import random

import pytest

from anchored.canonical import EMPTY_TREE_HEAD, Digest, digest
from anchored.recording import Tree, root, verify_consistency, verify_inclusion

MOST = 40
ENTRIES = [digest("entry", str(number).encode()) for number in range(MOST)]
TREE = Tree(ENTRIES)


# ---- RFC 9162 § 2.1.1, 2.1.3.1 and 2.1.4.1, word for word


def mth(entries: list[Digest]) -> bytes:
    if not entries:
        return hashlib.sha256(b"").digest()
    if len(entries) == 1:
        return hashlib.sha256(b"\x00" + bytes.fromhex(entries[0])).digest()
    k = split(len(entries))
    return hashlib.sha256(b"\x01" + mth(entries[:k]) + mth(entries[k:])).digest()


def split(n: int) -> int:
    k = 1
    while k * 2 < n:
        k *= 2
    return k


def path(m: int, entries: list[Digest]) -> list[bytes]:
    if len(entries) == 1:
        return []
    k = split(len(entries))
    if m < k:
        return [*path(m, entries[:k]), mth(entries[k:])]
    return [*path(m - k, entries[k:]), mth(entries[:k])]


def proof(m: int, entries: list[Digest]) -> list[bytes]:
    return subproof(m, entries, True)


def subproof(m: int, entries: list[Digest], whole: bool) -> list[bytes]:
    if m == len(entries):
        return [] if whole else [mth(entries)]
    k = split(len(entries))
    if m <= k:
        return [*subproof(m, entries[:k], whole), mth(entries[k:])]
    return [*subproof(m - k, entries[k:], False), mth(entries[:k])]


# ---- A verifier of the same shape, which the iterative one of the package is compared with


def climbed(index: int, size: int, entry: Digest, nodes: list[bytes]) -> bytes | None:
    """The root that an audit path leads to, taken apart from the top; None if its length does not fit."""
    if size == 1:
        return hashlib.sha256(b"\x00" + bytes.fromhex(entry)).digest() if not nodes else None
    if not nodes:
        return None
    k = split(size)
    if index < k:
        below = climbed(index, k, entry, nodes[:-1])
        return None if below is None else hashlib.sha256(b"\x01" + below + nodes[-1]).digest()
    below = climbed(index - k, size - k, entry, nodes[:-1])
    return None if below is None else hashlib.sha256(b"\x01" + nodes[-1] + below).digest()


def joined(m: int, n: int, first: bytes, nodes: list[bytes], whole: bool) -> tuple[bytes, bytes] | None:
    """The two roots that a consistency proof leads to."""
    if m == n:
        if whole:
            return (first, first) if not nodes else None
        return (nodes[0], nodes[0]) if len(nodes) == 1 else None
    if not nodes:
        return None
    k = split(n)
    if m <= k:
        below = joined(m, k, first, nodes[:-1], whole)
        return None if below is None else (below[0], hashlib.sha256(b"\x01" + below[1] + nodes[-1]).digest())
    below = joined(m - k, n - k, first, nodes[:-1], False)
    if below is None:
        return None
    return (
        hashlib.sha256(b"\x01" + nodes[-1] + below[0]).digest(),
        hashlib.sha256(b"\x01" + nodes[-1] + below[1]).digest(),
    )


def shows_inclusion(index: int, size: int, entry: Digest, head: str, nodes: list[str]) -> bool:
    if not 0 <= index < size:
        return False
    found = climbed(index, size, entry, [bytes.fromhex(node) for node in nodes])
    return found is not None and found.hex() == head


def shows_consistency(first: int, first_head: str, second: int, second_head: str, nodes: list[str]) -> bool:
    if not 0 <= first <= second:
        return False
    if first in (0, second):
        return not nodes and first_head == (second_head if first == second else EMPTY_TREE_HEAD)
    found = joined(first, second, bytes.fromhex(first_head), [bytes.fromhex(node) for node in nodes], True)
    return found is not None and (found[0].hex(), found[1].hex()) == (first_head, second_head)


def altered(nodes: list[str], chance: random.Random) -> list[list[str]]:
    """One bit of each node flipped, each node dropped, one added at each place, neighbours swapped."""
    found: list[list[str]] = []
    for place in range(len(nodes)):
        data = bytearray.fromhex(nodes[place])
        data[chance.randrange(32)] ^= 1 << chance.randrange(8)
        found.append([*nodes[:place], data.hex(), *nodes[place + 1 :]])
        found.append([*nodes[:place], *nodes[place + 1 :]])
        if place and nodes[place] != nodes[place - 1]:
            found.append([*nodes[: place - 1], nodes[place], nodes[place - 1], *nodes[place + 1 :]])
    for place in range(len(nodes) + 1):
        found.append([*nodes[:place], chance.randbytes(32).hex(), *nodes[place:]])
    return found


# ---- Roots and proofs


@pytest.mark.parametrize("size", range(MOST + 1))
def test_roots_are_those_of_the_rfc(size: int) -> None:
    """A prefix's root is that of a tree of its own, whatever followed it."""
    expected = mth(ENTRIES[:size]).hex()
    assert TREE.root(size) == root(ENTRIES[:size]) == Tree(ENTRIES[:size]).root() == expected
    assert len(Tree(ENTRIES[:size])) == size


def test_the_empty_tree_and_the_size_matter() -> None:
    assert TREE.root(0) == EMPTY_TREE_HEAD
    assert len({TREE.root(size) for size in range(MOST + 1)}) == MOST + 1


def test_a_leaf_is_no_node() -> None:
    """RFC 9162's prefixes: an entry digest that is a node's input has another hash than that node."""
    assert root(ENTRIES[:1]) == hashlib.sha256(b"\x00" + bytes.fromhex(ENTRIES[0])).hexdigest() != ENTRIES[0]


@pytest.mark.parametrize("size", range(1, MOST + 1))
def test_inclusion_proofs_are_those_of_the_rfc_and_no_altered_one_holds(size: int, seed: int) -> None:
    """R0-07: flipped, dropped, added and swapped nodes, other entries, other heads, other places."""
    chance = random.Random(seed + size)
    head = TREE.root(size)
    for index in range(size):
        nodes = TREE.inclusion_proof(index, size)
        assert nodes == [node.hex() for node in path(index, ENTRIES[:size])]
        held = {"index": index, "size": size, "entry": ENTRIES[index], "head": head, "proof": nodes}
        assert verify_inclusion(**held)
        for other in altered(nodes, chance):
            assert not verify_inclusion(**{**held, "proof": other}), (seed, index, other)
        for entry in (ENTRIES[(index + 1) % MOST], digest("entry", b"other"), EMPTY_TREE_HEAD):
            assert not verify_inclusion(**{**held, "entry": entry})
        for other_head in (TREE.root(size - 1), EMPTY_TREE_HEAD, head.upper(), ""):
            assert not verify_inclusion(**{**held, "head": Digest(other_head)})
        for place in {-1, size, *range(size)} - {index}:
            assert not verify_inclusion(**{**held, "index": place})


@pytest.mark.parametrize("size", range(MOST + 1))
def test_consistency_proofs_are_those_of_the_rfc_and_no_altered_one_holds(size: int, seed: int) -> None:
    """R0-07: for every prefix of every size."""
    chance = random.Random(seed - size)
    for first in range(size + 1):
        nodes = TREE.consistency_proof(first, size)
        expected = [] if first == 0 else [node.hex() for node in proof(first, ENTRIES[:size])]
        assert nodes == expected == Tree(ENTRIES[:size]).consistency_proof(first)
        held = {
            "first": first,
            "first_head": TREE.root(first),
            "second": size,
            "second_head": TREE.root(size),
            "proof": nodes,
        }
        assert verify_consistency(**held)
        for other in altered(nodes, chance):
            assert not verify_consistency(**{**held, "proof": other}), (seed, first, other)
        assert not verify_consistency(**{**held, "first_head": digest("entry", b"other")})
        if first:
            assert not verify_consistency(**{**held, "second_head": digest("entry", b"other")})
        if 0 < first < size:
            swapped = {"first_head": held["second_head"], "second_head": held["first_head"]}
            assert not verify_consistency(**{**held, **swapped})
            assert not verify_consistency(**{**held, "first": size, "second": first})
        assert not verify_consistency(**{**held, "first": -1})


def test_a_prefix_that_was_changed_has_no_proof() -> None:
    """R0-07: one entry changed, inserted, deleted, reordered: no proof of the old tree holds for the new, and back."""
    for size in (5, 8, 13):
        for first in range(1, size):
            old = ENTRIES[:size]
            for new in (
                [digest("entry", b"other"), *old[1:]],
                [*old[: first - 1], digest("entry", b"other"), *old[first:]],
                [digest("entry", b"other"), *old],
                old[1:],
                [*old[: first - 1], *old[first:]],
                [old[first], *old[1:first], old[0], *old[first + 1 :]],
            ):
                if new[:first] == old[:first]:
                    continue
                for entries in (old, new):
                    nodes = Tree(entries).consistency_proof(min(first, len(entries)))
                    assert not verify_consistency(
                        first=first,
                        first_head=root(old[:first]),
                        second=len(new),
                        second_head=root(new),
                        proof=nodes,
                    )


def test_wrong_sizes_are_judged_as_the_rfc_judges_them() -> None:
    """A proof binds the heads; some wrong sizes fit one too (RFC 9162 takes sizes from a signed head).

    Those are exactly the ones that the recursive definition lets pass, and each of our digests binds size with head.
    """
    for size in range(1, 18):
        for first in range(size + 1):
            nodes = TREE.consistency_proof(first, size)
            heads = TREE.root(first), TREE.root(size)
            for other_first in range(-1, 19):
                for other_second in range(-1, 19):
                    assert verify_consistency(
                        first=other_first,
                        first_head=heads[0],
                        second=other_second,
                        second_head=heads[1],
                        proof=nodes,
                    ) == shows_consistency(other_first, heads[0], other_second, heads[1], nodes)
        for index in range(size):
            nodes = TREE.inclusion_proof(index, size)
            for other_size in range(-1, 19):
                assert verify_inclusion(
                    index=index, size=other_size, entry=ENTRIES[index], head=TREE.root(size), proof=nodes
                ) == shows_inclusion(index, other_size, ENTRIES[index], TREE.root(size), nodes)


@pytest.mark.parametrize("node", ["", "zz", "0", "é" * 32, "00" * 31, "00" * 33])
def test_what_is_no_hash_proves_nothing(node: str) -> None:
    """Both say whether a proof holds, whatever it is made of."""
    nodes = TREE.consistency_proof(3, 5)
    for place in range(len(nodes)):
        bad = [*nodes[:place], node, *nodes[place + 1 :]]
        assert not verify_consistency(first=3, first_head=TREE.root(3), second=5, second_head=TREE.root(5), proof=bad)
    assert not verify_inclusion(index=0, size=2, entry=ENTRIES[0], head=TREE.root(2), proof=[node])


@pytest.mark.parametrize(("index", "size"), [(0, 0), (-1, 3), (3, 3), (0, -1), (0, MOST + 1)])
def test_there_is_no_path_to_what_is_not_there(index: int, size: int) -> None:
    with pytest.raises(IndexError):
        TREE.inclusion_proof(index, size)


@pytest.mark.parametrize(("first", "second"), [(-1, 3), (4, 3), (0, MOST + 1), (MOST + 1, MOST + 1)])
def test_there_is_no_proof_between_sizes_that_are_not_there(first: int, second: int) -> None:
    with pytest.raises(IndexError):
        TREE.consistency_proof(first, second)
