"""RFC 8785, by the `rfc8785` package."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, cast

import rfc8785

from anchored.canonical.digest import Digest, digest
from anchored.canonical.json import Json
from anchored.canonical.limits import check_limits
from anchored.errors import LimitExceeded


class NotCanonical(ValueError):
    """The value has no RFC 8785 form: NaN, infinity, an integer beyond 2^53, a lone surrogate, too deep, no JSON."""


class _Text:
    """Bytes that are canonical already; no JSON value is one."""

    __slots__ = ("data",)

    def __init__(self, data: bytes) -> None:
        self.data = data


_COMMA, _COLON, _OPEN, _CLOSE = _Text(b","), _Text(b":"), _Text(b"{"), _Text(b"}")
_START, _END = _Text(b"["), _Text(b"]")


def canonical(value: object) -> bytes:
    """RFC 8785 bytes of a JSON value.

    Containers are put together here without recursion, so that the result does not depend on how deep its caller
    stands; scalars are written by `rfc8785`.

    Raises:
        NotCanonical: RFC 8785 cannot express it.
    """
    try:
        check_limits(value)
        return b"".join(_written(value))
    except (rfc8785.CanonicalizationError, LimitExceeded, UnicodeError) as error:
        raise NotCanonical(str(error)) from error


def _written(value: object) -> Iterator[bytes]:
    stack: list[object] = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, _Text):
            yield item.data
        elif isinstance(item, dict):
            stack.extend(_members(cast("dict[object, object]", item)))
        elif isinstance(item, (list, tuple)):
            stack.extend(_elements(cast("list[object]", item)))
        else:
            yield rfc8785.dumps(cast("Any", item))


def _members(item: dict[object, object]) -> list[object]:
    """The pieces of an object, last first; keys in the order of their UTF-16 code units."""
    names: list[str] = []
    for key in item:
        if not isinstance(key, str):
            raise NotCanonical(f"a key is a {type(key).__name__}")
        names.append(key)
    pieces: list[object] = [_CLOSE]
    for name in sorted(names, key=lambda name: name.encode("utf-16-be", "surrogatepass"), reverse=True):
        pieces += (item[name], _COLON, name, _COMMA)
    if names:
        pieces.pop()
    pieces.append(_OPEN)
    return pieces


def _elements(item: list[object]) -> list[object]:
    """The pieces of an array, last first."""
    pieces: list[object] = [_END]
    for element in reversed(item):
        pieces += (element, _COMMA)
    if item:
        pieces.pop()
    pieces.append(_START)
    return pieces


def jcs_digest(kind: str, value: object) -> Digest:
    """`H(kind, JCS(value))`."""
    return digest(kind, canonical(value))


def request_document(before: bytes, after: bytes, field: str | None, digests: Iterable[str]) -> bytes:
    """What is hashed for a request: `before ‖ JCS{"digests", "field"} ‖ after`, or `before` without a field."""
    if field is None:
        return before
    return before + canonical({"digests": list(digests), "field": field}) + after


def storable(value: Json) -> Json:
    """`value` with text that is not valid Unicode written out in escapes, so that it can be stored; for what is said
    about a run. Identity keeps such text apart by its raw bytes instead.
    """
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, list):
        return [storable(item) for item in value]
    if isinstance(value, dict):
        return {str(storable(key)): storable(item) for key, item in value.items()}
    return value
