"""JSON text → value, exactly or not at all; and where each member of a text begins and ends."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, cast

from anchored.canonical.jcs import NotCanonical, canonical
from anchored.canonical.json import Json, JsonObject
from anchored.canonical.limits import LIMITS
from anchored.canonical.tokens import NotJson, tokens
from anchored.errors import DamagedError, LimitExceeded


@dataclass(frozen=True, kw_only=True, slots=True)
class Span:
    """One member of an object or array, as text.

    Attributes:
        key: the member's name; empty for an array's element.
        start: index of its first character in the text.
        end: index after its last character.
    """

    key: str
    start: int
    end: int


def parse_exact(text: str) -> Json:
    """The value of a JSON text.

    NaN, infinities, big integers and lone surrogates come through as Python has them; `canonical` refuses those.

    Raises:
        NotCanonical: an object holds one key twice, or a number has more digits than Python reads.
        NotJson: it is no JSON.
    """
    try:
        return cast("Json", json.loads(text, object_pairs_hook=_unique))
    except RecursionError:
        return _parse_iteratively(text)
    except json.JSONDecodeError as error:
        raise NotJson(str(error)) from error
    except NotCanonical:
        raise
    except ValueError as error:
        raise NotCanonical(str(error)) from error


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise NotCanonical("an object holds one key twice")
    return members


def _parse_iteratively(text: str) -> Json:
    """`parse_exact` where Python's parser has no room on the stack, so that a value never depends on the caller."""
    held: list[list[Any]] = [[]]
    for token in tokens(text):
        if token.text in ("{", "["):
            held.append([])
            if len(held) > LIMITS.depth + 1:
                raise NotCanonical("nested too deeply")
        elif token.text in ("}", "]"):
            items = held.pop()
            pairs = list(zip(items[::2], items[1::2], strict=True)) if token.text == "}" else None
            held[-1].append(items if pairs is None else _unique(pairs))
        elif token.text not in (":", ","):
            held[-1].append(_scalar(token.text))
    return cast("Json", held[0][0])


def _scalar(text: str) -> Json:
    try:
        return cast("Json", json.loads(text))
    except ValueError as error:
        raise NotCanonical(str(error)) from error


def parse_own(data: bytes, *, what: str) -> JsonObject:
    """One of our own documents: an object in exactly its RFC 8785 bytes.

    Raises:
        DamagedError: it is anything else.
    """
    if len(data) > LIMITS.document_bytes:
        raise LimitExceeded(
            f"{what} is too large.",
            expected=f"at most {LIMITS.document_bytes:,} bytes",
            found=f"{len(data):,} bytes",
            next_step="Do not trust this file.",
        )
    try:
        value: object = json.loads(data.decode("utf-8"), object_pairs_hook=_unique, parse_int=_own_number)
        held = cast("JsonObject", value) if isinstance(value, dict) else None
        if held is not None and canonical(held) == data:
            return held
        found = "another JSON text"
    except (ValueError, RecursionError) as error:
        found = str(error)
    raise DamagedError(
        f"{what} is damaged.",
        expected="a JSON object in canonical form (RFC 8785)",
        found=found[:200],
        next_step="Restore the file from a copy, or record the run again.",
    )


def _own_number(digits: str) -> int | float:
    """RFC 8785 writes floats beyond 2^53 without a fraction; an integer of ours is never that large."""
    number = float(digits)
    return int(digits) if abs(number) < 2**53 else number


def parse_hashed(data: bytes) -> Json:
    """The value of canonical bytes whose digest was verified; for reading, not for hashing again."""
    return cast("Json", json.loads(data, parse_int=_own_number))


def member_spans(text: str) -> list[Span]:
    """Spans of the members of the object or array that `text` is; for other values an empty list.

    Raises:
        NotJson: it is no JSON.
    """
    found: list[Span] = []
    depth, key, start, end = 0, "", -1, -1
    for token in tokens(text):
        depth -= token.text in ("}", "]")
        if depth == 1 and token.text == ":":
            key, start = str(json.loads(text[start:end])), -1
        elif start >= 0 and (depth == 0 or (depth == 1 and token.text == ",")):
            found.append(Span(key=key, start=start, end=end))
            key, start = "", -1
        elif (depth >= 1 and token.text != ",") or depth > 1:
            start, end = token.start if start < 0 else start, token.end
        depth += token.text in ("{", "[")
    return found
