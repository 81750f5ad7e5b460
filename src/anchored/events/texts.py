"""The text in a tool's value: what it hands to the model."""

from __future__ import annotations

from typing import cast


def value_text(value: object) -> str:
    """A tool's value in words: a text as it is, of a (flag, message) pair its content, else Python's own form."""
    if isinstance(value, str):
        return value
    pair = _message(value)
    return repr(value) if pair is None else str(pair["content"])


def value_with_text(value: object, text: str) -> object:
    """The value with another text in that place; the flag of a pair says success then.

    Raises:
        ValueError: it has no text.
    """
    if isinstance(value, str):
        return text
    message = _message(value)
    if message is None:
        raise ValueError(f"a {type(value).__name__}")
    return (True, {**message, "content": text})


def _message(value: object) -> dict[str, object] | None:
    """The message of a (flag, message) pair, such as AG2's `execute_function` gives."""
    if not isinstance(value, tuple):
        return None
    parts = cast("tuple[object, ...]", value)
    if len(parts) != 2 or not isinstance(parts[0], bool) or not isinstance(parts[1], dict):
        return None
    message = cast("dict[str, object]", parts[1])
    return message if isinstance(message.get("content"), str) else None
