"""Objects that a framework's tools give ↔ plain data. `unpack` inverts `pack`.

A dataclass, pydantic model, enum member or event of AG2 1.x is its class's name and its fields; an exception is what
failures are made of. The time at which an event was made is left out: it is in no request, and a rebuilt event has its
own.

Packing makes no object, since a constructor may do anything, and the program is to have what it has unrecorded. A
dataclass is rebuilt without its constructor. A class is looked up among what is loaded and never imported by its name.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any, cast

from anchored.boundary import failure_of, rebuild
from anchored.events import Failure, Unreplayable

_OBJECT = "anchored.object"
_FAILURE = "anchored.failure"
_TIME = "created_at"


def pack(value: object) -> object:
    """Plain data of a value; parts of no known shape are left as they are, for `encode_value` to refuse.

    Raises:
        Unreplayable: a part looks like packed data, or cannot be looked into.
    """
    try:
        return _pack(value)
    except Unreplayable:
        raise
    except Exception as error:  # the program's own attributes may raise, and lists may hold themselves
        raise Unreplayable("", f"{type(value).__qualname__} that cannot be looked into") from error


def unpack(packed: object) -> object:
    """The value again.

    Raises:
        TypeError: its class is not loaded. Any other exception is that class's.
    """
    if isinstance(packed, list | tuple):
        items = [unpack(item) for item in cast("list[object]", packed)]
        return items if isinstance(packed, list) else tuple(items)
    if not isinstance(packed, dict):
        return packed
    held = cast("dict[str, Any]", packed)
    if _FAILURE in held:
        error_class, message, arguments = held[_FAILURE]
        return rebuild(Failure(error_class=error_class, message=message, arguments=arguments))
    if _OBJECT not in held:
        return {key: unpack(item) for key, item in held.items()}
    kind = _loaded(held[_OBJECT])
    shape = None if kind is None else _shape_of(kind)
    if kind is None or shape is None:
        raise TypeError(f"{held[_OBJECT]} is not loaded")
    return shape[1](kind, {key: unpack(item) for key, item in held["fields"].items()})


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
    shape = _shape_of(kind)
    name = f"{kind.__module__}:{kind.__qualname__}"
    held = None if shape is None or _loaded(name) is not kind else shape[0](value)
    return value if held is None else {_OBJECT: name, "fields": {key: _pack(item) for key, item in held.items()}}


_Shape = tuple[Callable[[Any], "dict[str, object] | None"], Callable[[Any, dict[str, Any]], object]]
"""What an object of a kind holds, None if that is not all of it; and how to make it again."""


def _shape_of(kind: Any) -> _Shape | None:
    if issubclass(kind, Enum):
        return lambda member: {"value": member.value}, lambda kind, held: kind(held["value"])
    if hasattr(kind, "_event_fields_"):
        return _event, lambda kind, held: kind(**held)
    if hasattr(kind, "model_fields") and hasattr(kind, "model_construct"):
        return _model, lambda kind, held: kind.model_construct(set(held["set"]), **held["held"])
    return (_dataclass, _same_dataclass) if is_dataclass(kind) else None


def _event(event: Any) -> dict[str, object]:
    held = cast("dict[str, object]", vars(event))
    return {key: item for key, item in held.items() if not key.startswith("_") and key != _TIME}


def _model(model: Any) -> dict[str, object] | None:
    if model.__pydantic_private__:
        return None
    names = cast("dict[str, object]", cast("Any", type(model)).model_fields)
    held: dict[str, object] = {name: getattr(model, name) for name in names}
    return {"set": sorted(model.model_fields_set), "held": {**held, **(model.model_extra or {})}}


def _dataclass(value: Any) -> dict[str, object] | None:
    names = [field.name for field in fields(value)]
    more = getattr(value, "__dict__", {}).keys() - set(names)
    return None if more else {name: getattr(value, name) for name in names if hasattr(value, name)}


def _same_dataclass(kind: Any, held: dict[str, Any]) -> object:
    made = object.__new__(kind)
    for name, item in held.items():
        object.__setattr__(made, name, item)
    return made


def _loaded(name: str) -> type | None:
    """The class of this name, if it is loaded."""
    module, _, path = name.partition(":")
    found: object = sys.modules.get(module)
    for part in path.split("."):
        found = getattr(found, part, None)
    return found if isinstance(found, type) else None
