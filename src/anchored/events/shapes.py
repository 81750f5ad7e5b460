"""Foreign JSON, read without trust: what has not the expected shape is empty."""

from __future__ import annotations

from typing import Any, cast


def as_object(value: object) -> dict[str, Any]:
    """An object as it is, anything else as an empty one."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def as_objects(value: object) -> list[dict[str, Any]]:
    """The parts of a list, each an object or an empty one; none if it is no list."""
    return [as_object(item) for item in cast("list[object]", value)] if isinstance(value, list) else []


def as_text(value: object) -> str:
    """A text as it is, anything else as an empty one."""
    return value if isinstance(value, str) else ""


def as_number(value: object) -> int:
    """A whole number as it is, anything else as 0."""
    return value if isinstance(value, int) else 0
