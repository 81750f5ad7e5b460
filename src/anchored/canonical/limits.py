"""Limits on what is canonicalized or read, checked iteratively and before hashing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from anchored.errors import LimitExceeded


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """Upper bounds.

    Attributes:
        depth: nesting of arrays and objects.
        nodes: values in one document, containers included.
        document_bytes: size of one stored document or body.
        entries: begin and end entries of one log.
    """

    depth: int = 200
    nodes: int = 2_000_000
    document_bytes: int = 512 * 1024 * 1024
    entries: int = 1_000_000


LIMITS = Limits()


def check_limits(value: object, *, limits: Limits = LIMITS) -> None:
    """Walks `value` without recursion and raises `LimitExceeded` where it is too deep or has too many values."""
    nodes = 0
    stack: list[tuple[object, int]] = [(value, 1)]
    while stack:
        item, depth = stack.pop()
        nodes += 1
        if nodes > limits.nodes:
            raise _exceeded("values in one document", limits.nodes, "more")
        if not isinstance(item, (dict, list, tuple)):
            continue
        if depth > limits.depth:
            raise _exceeded("levels of nesting", limits.depth, "more")
        children = cast("dict[object, object]", item).values() if isinstance(item, dict) else cast("list[object]", item)
        stack.extend((child, depth + 1) for child in children)


def _exceeded(what: str, bound: int, found: str) -> LimitExceeded:
    return LimitExceeded(
        f"Too many {what}.",
        expected=f"at most {bound:,}",
        found=found,
        next_step="Record a smaller document; the limit protects every reader of the file.",
    )
