"""JSON text → value, exactly or not at all; and where each member of a text begins and ends."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from anchored.canonical.jcs import NotCanonical, canonical
from anchored.canonical.limits import LIMITS
from anchored.errors import DamagedError, LimitExceeded

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
JsonObject: TypeAlias = dict[str, Json]

_SPACE = re.compile(r"[ \t\n\r]*")
_DECODER = json.JSONDecoder()


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


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise NotCanonical("an object holds one key twice")
    return members


def parse_exact(text: str) -> Json:
    """The value of a JSON text.

    NaN, infinities, big integers and lone surrogates come through as Python has them; `canonical` refuses those.

    Raises:
        NotCanonical: an object holds one key twice, or nesting is too deep to parse.
        ValueError: it is no JSON.
    """
    try:
        return cast("Json", json.loads(text, object_pairs_hook=_unique))
    except RecursionError as error:
        raise NotCanonical("nested too deeply") from error


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
        value = parse_exact(data.decode("utf-8"))
        if isinstance(value, dict) and canonical(value) == data:
            return value
        found = "another JSON text"
    except ValueError as error:
        found = str(error)
    raise DamagedError(
        f"{what} is damaged.",
        expected="a JSON object in canonical form (RFC 8785)",
        found=found[:200],
        next_step="Restore the file from a copy, or record the run again.",
    )


def parse_hashed(data: bytes) -> Json:
    """The value of canonical bytes whose digest was verified; for reading, not for hashing again."""
    return cast("Json", json.loads(data))


def member_spans(text: str) -> list[Span]:
    """Spans of the members of the object or array that `text` is; for other values an empty list.

    Raises:
        ValueError: it is no JSON.
        NotCanonical: nesting is too deep to parse.
    """
    try:
        return _member_spans(text)
    except (RecursionError, IndexError) as error:
        raise NotCanonical("nested too deeply or cut short") from error


def _member_spans(text: str) -> list[Span]:
    at = _skip(text, 0)
    if text[at] not in "{[":
        return []
    in_object = text[at] == "{"
    spans: list[Span] = []
    at = _skip(text, at + 1)
    while text[at] not in "}]":
        key = ""
        if in_object:
            key, at = _DECODER.raw_decode(text, at)
            at = _skip(text, _skip(text, at) + 1)
        _, end = _DECODER.raw_decode(text, at)
        spans.append(Span(key=key, start=at, end=end))
        at = _skip(text, end)
        if text[at] == ",":
            at = _skip(text, at + 1)
    return spans


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at
