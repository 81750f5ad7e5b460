"""Objects that a framework's tools give ↔ plain data. `unpack` inverts `pack`.

A dataclass, pydantic model, enum member or event of AG2 1.x is its class's name and its fields; an exception is what
failures are made of. The time at which an event was made is left out: it is in no request, and a rebuilt event has its
own.

A class is looked up among what is loaded and never imported by its name.
"""

from __future__ import annotations

import sys
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any, cast

from anchored.boundary import Gate, failure_of, rebuild
from anchored.events import Failure, Unreplayable

_OBJECT = "anchored.object"
_FAILURE = "anchored.failure"
_TIME = "created_at"


def pack(value: object) -> object:
    """Plain data of a value; parts of no known shape are left as they are, for `encode_value` to refuse.

    Raises:
        Unreplayable: a part looks like packed data, or cannot be rebuilt equal.
    """
    packed = _pack(value)
    try:
        again = _pack(_rebuild(packed))
    except Exception as error:  # any constructor may refuse
        raise Unreplayable("", f"{type(value).__qualname__} that cannot be made again") from error
    if again != packed:
        raise Unreplayable("", f"{type(value).__qualname__} that is another when it is made again")
    return packed


def unpack(gate: Gate, packed: object) -> object:
    """The value again. Poisons the session where it cannot be rebuilt."""
    try:
        return _rebuild(packed)
    except Exception as error:
        raise gate.poison("recorder", f"the tool's recorded value cannot be rebuilt: {error}") from error


def _pack(value: object) -> object:
    kind = type(value)
    if kind is dict:
        held = cast("dict[object, object]", value)
        if _OBJECT in held or _FAILURE in held:
            raise Unreplayable("", f"dict with a key {_OBJECT} or {_FAILURE}")
        return {key: _pack(item) for key, item in held.items()}
    if kind is list or kind is tuple:
        items = [_pack(item) for item in cast("list[object]", value)]
        return items if kind is list else tuple(items)
    if isinstance(value, Exception):
        failure = failure_of(value)
        return {_FAILURE: [failure.error_class, failure.message, failure.arguments]}
    held = _fields(value)
    name = f"{kind.__module__}:{kind.__qualname__}"
    if held is None or _loaded(name) is not kind:
        return value
    return {_OBJECT: name, "fields": {key: _pack(item) for key, item in held.items()}}


def _fields(value: object) -> dict[str, object] | None:
    """What an object is made from, by name; None where that is not known."""
    if isinstance(value, Enum):
        return {"value": value.value}
    if _is_event(value):
        return {key: item for key, item in vars(value).items() if not key.startswith("_") and key != _TIME}
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    if hasattr(type(value), "model_fields"):
        return {key: getattr(value, key) for key in cast("dict[str, object]", cast("Any", type(value)).model_fields)}
    return None


def _rebuild(packed: object) -> object:
    if isinstance(packed, list | tuple):
        items = [_rebuild(item) for item in cast("list[object]", packed)]
        return items if isinstance(packed, list) else tuple(items)
    if type(packed) is not dict:
        return packed
    held = cast("dict[str, Any]", packed)
    if _FAILURE in held:
        error_class, message, arguments = held[_FAILURE]
        return rebuild(Failure(error_class=error_class, message=message, arguments=arguments))
    if _OBJECT not in held:
        return {key: _rebuild(item) for key, item in held.items()}
    kind = _loaded(held[_OBJECT])
    if kind is None:
        raise TypeError(f"{held[_OBJECT]} is not loaded")
    return kind(**{key: _rebuild(item) for key, item in held["fields"].items()})


def _is_event(value: object) -> bool:
    return hasattr(type(value), "_event_fields_")


def _loaded(name: str) -> Any:
    """The class of this name, if it is loaded and of a known shape."""
    module, _, path = name.partition(":")
    found: Any = sys.modules.get(module)
    for part in path.split("."):
        found = getattr(found, part, None)
    if not isinstance(found, type):
        return None
    kind = cast("type[object]", found)
    known = issubclass(kind, Enum) or is_dataclass(kind)
    return kind if known or hasattr(kind, "_event_fields_") or hasattr(kind, "model_fields") else None
