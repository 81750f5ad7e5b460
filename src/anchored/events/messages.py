"""What one message of a request says: of OpenAI chat completions or Anthropic, or an item of OpenAI responses."""

from __future__ import annotations

from collections.abc import Iterator

from anchored.canonical import Json
from anchored.events.shapes import as_object, as_objects, as_text


def message_text(message: Json) -> str | None:
    """The text of one message of a request; None if it has none or it is in several parts.

    That of a message which holds one result of a tool is the result's text.
    """
    outer = as_object(message)
    if "content" in outer:
        return _single_text(outer["content"])
    return _single_text(outer.get("output")) if as_text(outer.get("type")).endswith("_call_output") else None


def answered_calls(message: Json) -> Iterator[str]:
    """Ids of all tool calls whose results one message of a request holds, in order."""
    outer = as_object(message)
    held = [outer.get("tool_call_id")]
    if as_text(outer.get("type")).endswith("_call_output"):
        held.append(outer.get("call_id"))
    for part in as_objects(outer.get("content")):
        if part.get("type", "tool_result") == "tool_result":  # others of that name are results that the provider made
            held.append(part.get("tool_use_id"))
    return (item for item in held if isinstance(item, str))


def issued_calls(message: Json) -> Iterator[str]:
    """Ids of the tool calls that one message of a request repeats from the response that issued them, in order."""
    outer = as_object(message)
    held = [call.get("id") for call in as_objects(outer.get("tool_calls"))]
    if as_text(outer.get("type")).endswith("_call"):
        held.append(outer.get("call_id"))
    held.extend(part.get("id") for part in as_objects(outer.get("content")) if part.get("type") == "tool_use")
    return (item for item in held if isinstance(item, str))


def _single_text(content: object) -> str | None:
    if isinstance(content, str):
        return content
    parts = as_objects(content)
    if len(parts) != 1:
        return None
    if parts[0].get("type") == "tool_result":
        held = parts[0].get("content")
        inner = as_objects(held)
        text = inner[0].get("text") if len(inner) == 1 else held
    else:
        text = parts[0].get("text")
    return text if isinstance(text, str) else None
