"""One view of a conversation, whichever of the three APIs it was sent to.

What OpenAI responses keep in items and Anthropic messages in blocks is brought into the form of chat completions: the
instructions are the first message, calls stand in the message of the assistant that made them, and every result of a
tool is a message of its own. Nothing here raises on odd input.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"


@dataclass(frozen=True, kw_only=True)
class ToolCall:
    """A tool call that stands in a message of the conversation."""

    id: str
    name: str
    arguments: str
    """JSON text as the model wrote it, not parsed: it may be malformed."""


@dataclass(frozen=True, kw_only=True)
class Message:
    """One message of the conversation."""

    role: str
    """`system`, `user`, `assistant`, `tool`, or whatever was sent."""
    name: str = ""
    """The author's name where one was sent, else empty."""
    text: str = ""
    """The content; text parts are joined by line breaks, other parts are left out."""
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str = ""
    """Of a tool's result: the call that it answers. Else empty."""


def chat_messages(body: dict[str, Json]) -> Iterator[Message]:
    """The conversation of OpenAI chat completions."""
    for entry in objects(body.get("messages")):
        yield Message(
            role=text_of(entry.get("role")),
            name=text_of(entry.get("name")),
            text=_content(entry.get("content")),
            tool_calls=tuple(_chat_calls(entry.get("tool_calls"))),
            tool_call_id=text_of(entry.get("tool_call_id")),
        )


def responses_messages(body: dict[str, Json]) -> Iterator[Message]:
    """The conversation of OpenAI responses. Items that are neither said, called nor answered are left out."""
    if instructions := text_of(body.get("instructions")):
        yield Message(role="system", text=instructions)
    given = body.get("input")
    if isinstance(given, str):
        yield Message(role="user", text=given)
    assistant: Message | None = None
    for item in objects(given):
        kind = item.get("type", "message")
        call = _item_call(item) if kind == "function_call" else None
        if call is not None:
            assistant = assistant or Message(role="assistant")
            assistant = replace(assistant, tool_calls=(*assistant.tool_calls, call))
            continue
        if kind not in ("message", "function_call_output"):
            continue
        if assistant is not None:
            yield assistant
            assistant = None
        if kind == "function_call_output":
            yield Message(role="tool", text=_content(item.get("output")), tool_call_id=text_of(item.get("call_id")))
            continue
        message = Message(role=text_of(item.get("role")), text=_content(item.get("content")))
        if message.role == "assistant":
            assistant = message
        else:
            yield message
    if assistant is not None:
        yield assistant


def anthropic_messages(body: dict[str, Json]) -> Iterator[Message]:
    """The conversation of Anthropic messages."""
    if system := _content(body.get("system")):
        yield Message(role="system", text=system)
    for entry in objects(body.get("messages")):
        blocks = objects(entry.get("content"))
        answers = [block for block in blocks if block.get("type") == "tool_result"]
        for block in answers:
            yield Message(
                role="tool", text=_content(block.get("content")), tool_call_id=text_of(block.get("tool_use_id"))
            )
        said = Message(
            role=text_of(entry.get("role")),
            text=_content(entry.get("content")),
            tool_calls=tuple(
                ToolCall(
                    id=text_of(block.get("id")),
                    name=text_of(block.get("name")),
                    arguments=json.dumps(block.get("input")),
                )
                for block in blocks
                if block.get("type") == "tool_use"
            ),
        )
        if len(answers) < len(blocks) or not answers:
            yield said


def objects(value: Json) -> list[dict[str, Json]]:
    """The objects of a list; none if it is no list."""
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def text_of(value: Json) -> str:
    """A text as it is, anything else as an empty one."""
    return value if isinstance(value, str) else ""


def _chat_calls(value: Json) -> Iterator[ToolCall]:
    for call in objects(value):
        function = call.get("function")
        if isinstance(function, dict):
            yield ToolCall(
                id=text_of(call.get("id")),
                name=text_of(function.get("name")),
                arguments=text_of(function.get("arguments")),
            )


def _item_call(item: dict[str, Json]) -> ToolCall:
    return ToolCall(
        id=text_of(item.get("call_id")), name=text_of(item.get("name")), arguments=text_of(item.get("arguments"))
    )


def _content(value: Json) -> str:
    if isinstance(value, list):
        return "\n".join(text_of(part.get("text")) for part in objects(value) if "text" in part)
    return text_of(value)
