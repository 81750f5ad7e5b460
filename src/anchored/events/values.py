"""A tool's value ↔ bytes. `decode_value` inverts `encode_value`: equal in type and value, or not encoded at all."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable
from typing import Any, cast

from anchored.errors import DamagedError

_MAX_DEPTH = 100
_MOST_NODES = 200_000
_LARGEST_PLAIN = 2**63
"""Beyond this an integer is written in base 16, which has no limit on its digits."""


class Unreplayable(ValueError):
    """The value cannot be rebuilt from bytes; `path` says which part of it."""

    def __init__(self, path: str, kind: str) -> None:
        place, what = (_valid(part) for part in (path or "/", kind))
        super().__init__(f"the value at {place} is a {what}, which cannot be rebuilt from bytes")
        self.path = path
        self.kind = kind


def encode_value(value: object) -> bytes:
    """Bytes of a value made of None, bool, int, float, str, bytes, list, tuple, dict, set and frozenset.

    Exact types only: a subclass could not be rebuilt.

    Raises:
        Unreplayable: with the path of the part that cannot be encoded.
    """
    return json.dumps(_tagged(value, "", 0, [0]), separators=(",", ":"), ensure_ascii=True).encode("ascii")


def decode_value(data: bytes) -> object:
    """The value that `encode_value` made `data` of.

    Raises:
        DamagedError: it made it of none.
    """
    try:
        return _untagged(json.loads(data))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise DamagedError(
            "A recorded value is damaged.",
            expected="the encoding of events/values.py",
            found=f"{type(error).__name__}: {error}"[:200],
            next_step="Restore the file from a copy, or record the run again.",
        ) from error


def is_plain_json(value: object) -> bool:
    """Whether JSON gives a value back equal in type: exact types, texts as keys, no float that is a whole number."""
    stack: list[tuple[object, int]] = [(value, 0)]
    seen = 0
    while stack:
        item, depth = stack.pop()
        seen += 1
        kind = type(item)
        if depth > _MAX_DEPTH or seen > _MOST_NODES:
            return False
        if kind is dict:
            members = cast("dict[object, object]", item)
            if not all(type(key) is str for key in members):
                return False
            stack.extend((member, depth + 1) for member in members.values())
        elif kind is list:
            stack.extend((member, depth + 1) for member in cast("list[object]", item))
        elif kind is float:
            if not math.isfinite(cast("float", item)) or cast("float", item).is_integer():
                return False
        elif item is not None and kind not in (str, int, bool):
            return False
    return True


def _tagged(value: object, path: str, depth: int, nodes: list[int]) -> object:
    kind = type(value)
    nodes[0] += 1
    if nodes[0] > _MOST_NODES:
        raise Unreplayable(path, f"value of more than {_MOST_NODES:,} parts")
    if kind is bool or value is None:
        return value
    if kind is int:
        number = cast("int", value)
        return number if abs(number) < _LARGEST_PLAIN else {"int": hex(number)}
    if kind is str:
        text = cast("str", value)
        return text if _is_valid(text) else {"str": _base64(text.encode("utf-8", "surrogatepass"))}
    if kind is float:
        number = cast("float", value)
        return number if math.isfinite(number) else {"float": repr(number)}
    if kind is bytes:
        return {"bytes": _base64(cast("bytes", value))}
    if depth < _MAX_DEPTH and kind in (list, tuple, set, frozenset):
        items = [
            _tagged(item, f"{path}/{place}", depth + 1, nodes) for place, item in enumerate(cast("list[object]", value))
        ]
        return {kind.__name__: sorted(items, key=json.dumps) if kind in (set, frozenset) else items}
    if depth < _MAX_DEPTH and kind is dict:
        pairs: list[object] = []
        for place, (key, item) in enumerate(cast("dict[object, object]", value).items()):
            step = f"{path}/{key if type(key) is str else place}"
            pairs.append([_tagged(key, step, depth + 1, nodes), _tagged(item, step, depth + 1, nodes)])
        return {"dict": pairs}
    raise Unreplayable(path, kind.__qualname__ if depth < _MAX_DEPTH else "value nested too deeply")


def _is_valid(text: str) -> bool:
    return _valid(text) == text


def _valid(text: str) -> str:
    """`text` with what is not valid Unicode written out."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _untagged(held: Any) -> object:
    if not isinstance(held, dict):
        return held
    ((tag, content),) = cast("dict[str, Any]", held).items()
    return _BUILD[tag](content)


def _items(content: list[Any]) -> list[object]:
    return [_untagged(item) for item in content]


_BUILD: dict[str, Callable[[Any], object]] = {
    "float": float,
    "int": lambda content: int(content, 16),
    "str": lambda content: base64.b64decode(content).decode("utf-8", "surrogatepass"),
    "bytes": base64.b64decode,
    "list": _items,
    "tuple": lambda content: tuple(_items(content)),
    "set": lambda content: set(_items(content)),
    "frozenset": lambda content: frozenset(_items(content)),
    "dict": lambda content: {_untagged(key): _untagged(item) for key, item in content},
}
