"""Objects that tools hand to a framework ↔ plain data, which a recording can keep. `unpack` inverts `pack`.

What can be kept besides plain data: pydantic models, dataclasses, events of AG2 1.x, members of enumerations,
exceptions (what failures are made of), and dates, times, decimals and UUIDs. An object is told by the name of its
class, which is looked up among the modules that are loaded: nothing is imported for a recording's sake, and no
constructor of the program's runs. The time at which an event was made is left out, since a tool that encloses model
calls makes its event anew in a replay: it is in no request, and a rebuilt event has its own.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from time import time as clock
from typing import Any, cast
from uuid import UUID

from anchored.boundary import failure_of, rebuild
from anchored.events import Failure, Unreplayable

_MARK = "anchored.object"
"""First item of the list that stands for an object; a list that has it by itself is marked too."""

_WRITTEN: dict[type, tuple[Callable[[Any], object], Callable[[Any], object]]] = {
    datetime: (datetime.isoformat, datetime.fromisoformat),
    date: (date.isoformat, date.fromisoformat),
    time: (time.isoformat, time.fromisoformat),
    timedelta: (
        lambda value: [value.days, value.seconds, value.microseconds],
        lambda parts: timedelta(days=parts[0], seconds=parts[1], microseconds=parts[2]),
    ),
    Decimal: (str, Decimal),
    UUID: (str, UUID),
}
_MADE_AT = "created_at"
_MODEL_SLOTS = ("__pydantic_extra__", "__pydantic_private__")
_PLAIN = (type(None), bool, int, float, str, bytes)
_GROUPS = (list, tuple, set, frozenset)
_MOST_DEEP = 50


def pack(value: object) -> object:
    """Plain data for a value.

    Raises:
        Unreplayable: some part of it is an object of another kind, or cannot be looked into.
    """
    try:
        return _pack(value, "", 0)
    except Unreplayable:
        raise
    except Exception as error:  # the program's own attributes may raise
        raise Unreplayable("", f"{type(value).__qualname__} that cannot be looked into") from error


def unpack(data: object) -> object:
    """The value that `pack` made `data` of.

    Raises:
        ValueError: a class is not loaded, or is not what it was.
    """
    if isinstance(data, dict):
        return {key: unpack(item) for key, item in cast("dict[object, object]", data).items()}
    if not isinstance(data, _GROUPS):
        return data
    items = cast("list[object]", data)
    if isinstance(data, list) and items[:1] == [_MARK]:
        _, kind, name, content = items
        return _rebuilt(str(kind), str(name), content)
    return type(items)(unpack(item) for item in items)


def _pack(value: object, path: str, depth: int) -> object:
    kind = type(value)
    if kind in _PLAIN:
        return value
    if depth > _MOST_DEEP:
        raise Unreplayable(path, "value that is nested too deeply")
    if kind in _GROUPS:
        items = cast("list[object]", value)
        packed = [_pack(item, f"{path}/{number}", depth + 1) for number, item in enumerate(items)]
        marked = kind is list and items[:1] == [_MARK]
        return [_MARK, "list", "", packed] if marked else packed if kind is list else cast("Any", kind)(packed)
    if kind is dict:
        return _pack_dict(cast("dict[object, object]", value), path, depth)
    if kind in _WRITTEN:
        return [_MARK, "written", kind.__name__, _WRITTEN[kind][0](value)]
    if isinstance(value, Enum):
        return [_MARK, "enum", _name(kind, path), value.name]
    if isinstance(value, Exception):
        failure = failure_of(value)
        return [_MARK, "failure", failure.error_class, [failure.message, failure.arguments]]
    for name, (is_one, state_of) in _OBJECTS.items():
        state = state_of(value) if is_one(kind) else None
        if state is not None:
            return [_MARK, name, _name(kind, path), _pack_dict(state, path, depth)]
    raise Unreplayable(path, kind.__qualname__)


def _pack_dict(value: dict[Any, Any], path: str, depth: int) -> dict[object, object]:
    """Keys stay as they are: an object as a key is for `encode_value` to refuse."""
    return {key: _pack(item, f"{path}/{key}", depth + 1) for key, item in value.items()}


def _is_model(kind: Any) -> bool:
    pydantic: Any = sys.modules.get("pydantic")
    return pydantic is not None and isinstance(kind, type) and issubclass(kind, pydantic.BaseModel)


def _model_state(value: Any) -> dict[Any, Any]:
    """All that a pydantic model is made of."""
    state: dict[Any, Any] = {"": dict(value.__dict__), "__pydantic_fields_set__": set(value.__pydantic_fields_set__)}
    return {**state, **{slot: getattr(value, slot, None) for slot in _MODEL_SLOTS}}


def _dataclass_state(value: Any) -> dict[Any, Any] | None:
    """The fields of a dataclass; None where it has more than those."""
    names = [item.name for item in fields(value)]
    if not set(getattr(value, "__dict__", ())) <= set(names):
        return None
    return {name: getattr(value, name) for name in names if hasattr(value, name)}


def _is_event(kind: Any) -> bool:
    """An event of AG2 1.x."""
    return hasattr(kind, "_event_fields_")


def _event_state(event: Any) -> dict[Any, Any]:
    held = cast("dict[str, object]", vars(event))
    return {name: item for name, item in held.items() if name != _MADE_AT and not name.startswith("_")}


_OBJECTS: dict[str, tuple[Callable[[Any], bool], Callable[[Any], dict[Any, Any] | None]]] = {
    "model": (_is_model, _model_state),
    "event": (_is_event, _event_state),
    "dataclass": (is_dataclass, _dataclass_state),
}
"""Kinds of objects: which classes are of the kind, and what one of theirs is made of."""


def _name(kind: type, path: str) -> str:
    """What finds a class again among the loaded modules."""
    name = f"{kind.__module__}:{kind.__qualname__}"
    try:
        if _loaded(name) is kind:
            return name
    except ValueError:
        pass
    raise Unreplayable(path, f"{kind.__qualname__}, a class that its module does not have")


def _loaded(name: str) -> Any:
    module, _, path = name.partition(":")
    found: object = sys.modules.get(module)
    for part in path.split("."):
        found = getattr(found, part, None)
    if not isinstance(found, type):
        raise ValueError(f"no class {name} is loaded")
    return found


def _rebuilt(kind: str, name: str, content: Any) -> object:
    if kind == "list":
        return [unpack(item) for item in content]
    if kind == "written":
        return next(read for known, (_, read) in _WRITTEN.items() if known.__name__ == name)(content)
    if kind == "failure":
        return rebuild(Failure(error_class=name, message=content[0], arguments=content[1]))
    found = _loaded(name)
    if kind == "enum" and issubclass(found, Enum):
        return found[content]
    if kind not in _OBJECTS or not _OBJECTS[kind][0](found):
        raise ValueError(f"{name} is no {kind}")
    state = cast("dict[Any, Any]", unpack(content))
    made: Any = found.__new__(found)
    if kind == "model":
        object.__setattr__(made, "__dict__", state.pop(""))
    if kind == "event":
        setattr(made, _MADE_AT, clock())
    for attribute, item in state.items():
        object.__setattr__(made, attribute, item)
    return made
