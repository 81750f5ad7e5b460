"""A tool's value ↔ bytes. `decode_value` inverts `encode_value`: equal in type and value, or not encoded at all."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable
from typing import Any, cast

_PLAIN = (type(None), bool, int, str)
_MAX_DEPTH = 100


class Unreplayable(ValueError):
    """The value cannot be rebuilt from bytes; `path` says which part of it."""

    def __init__(self, path: str, kind: str) -> None:
        super().__init__(f"the value at {path or '/'} is a {kind}, which cannot be rebuilt from bytes")
        self.path = path
        self.kind = kind


def encode_value(value: object) -> bytes:
    """Bytes of a value made of None, bool, int, float, str, bytes, list, tuple, dict, set and frozenset.

    Exact types only: a subclass could not be rebuilt.

    Raises:
        Unreplayable: with the path of the part that cannot be encoded.
    """
    return json.dumps(_tagged(value, "", 0), separators=(",", ":"), ensure_ascii=True).encode("ascii")


def decode_value(data: bytes) -> object:
    """The value that `encode_value` made `data` of."""
    return _untagged(json.loads(data))


def _tagged(value: object, path: str, depth: int) -> object:
    kind = type(value)
    if kind in _PLAIN:
        return value
    if depth > _MAX_DEPTH:
        raise Unreplayable(path, "value nested too deeply")
    if kind is float:
        number = cast("float", value)
        return number if math.isfinite(number) else {"float": repr(number)}
    if kind is bytes:
        return {"bytes": base64.b64encode(cast("bytes", value)).decode("ascii")}
    if kind is list or kind is tuple:
        items = cast("list[object]", value)
        return {kind.__name__: [_tagged(item, f"{path}/{number}", depth + 1) for number, item in enumerate(items)]}
    if kind is dict:
        pairs = cast("dict[object, object]", value).items()
        return {
            "dict": [
                [_tagged(key, f"{path}/{key}", depth + 1), _tagged(item, f"{path}/{key}", depth + 1)]
                for key, item in pairs
            ]
        }
    if kind is set or kind is frozenset:
        members = [_tagged(item, f"{path}/{item}", depth + 1) for item in cast("set[object]", value)]
        return {kind.__name__: sorted(members, key=json.dumps)}
    raise Unreplayable(path, kind.__qualname__)


def _untagged(held: Any) -> object:
    if not isinstance(held, dict):
        return held
    ((tag, content),) = cast("dict[str, Any]", held).items()
    return _BUILD[tag](content)


def _items(content: list[Any]) -> list[object]:
    return [_untagged(item) for item in content]


_BUILD: dict[str, Callable[[Any], object]] = {
    "float": float,
    "bytes": base64.b64decode,
    "list": _items,
    "tuple": lambda content: tuple(_items(content)),
    "set": lambda content: set(_items(content)),
    "frozenset": lambda content: frozenset(_items(content)),
    "dict": lambda content: {_untagged(key): _untagged(item) for key, item in content},
}
