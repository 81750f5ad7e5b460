"""What known wire formats say: OpenAI chat completions and responses, Anthropic messages. Others are opaque."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

from anchored.canonical import Json
from anchored.events.entries import Kind

_ENDINGS: tuple[tuple[str, Kind], ...] = (
    ("/chat/completions", "chat"),
    ("/responses", "chat"),
    ("/messages", "chat"),
    ("/completions", "text_completion"),
    ("/embeddings", "embeddings"),
    (":generateContent", "generate_content"),
    (":streamGenerateContent", "generate_content"),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelOutput:
    """What a model's response says.

    Attributes:
        text: its text; empty if it has none.
        call_ids: ids of the tool calls that it issues, in order.
        calls: names of the tools it calls, in order.
        arguments: what it calls them with, as JSON text, in the same order.
        input_tokens: as the provider counts them; None if it does not say.
        output_tokens: likewise.
    """

    text: str = ""
    call_ids: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    input_tokens: int | None = None
    output_tokens: int | None = None


def model_kind(method: str, path: str) -> Kind:
    """What kind of crossing an HTTP request is, by its path; `http` if it is no known model call."""
    if method == "POST":
        for ending, kind in _ENDINGS:
            if path.endswith(ending):
                return kind
    return "http"


def model_name(body: bytes) -> str | None:
    """The model that a request body names."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return None
    model = cast("dict[str, Any]", value).get("model") if isinstance(value, dict) else None
    return model if isinstance(model, str) else None


def model_output(body: bytes) -> ModelOutput:
    """What a response body says, where its format is known; nothing otherwise."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return ModelOutput()
    texts: list[str] = []
    call_ids: list[str] = []
    calls: list[str] = []
    arguments: list[str] = []
    for part in _parts(value):
        if isinstance(text := part.get("text"), str):
            texts.append(text)
        if isinstance(call := part.get("call_id"), str):
            call_ids.append(call)
        if isinstance(name := part.get("call_name"), str):
            calls.append(name)
            given = part.get("arguments")
            arguments.append(given if isinstance(given, str) else "" if given is None else json.dumps(given))
    usage = _object(_object(value).get("usage"))
    return ModelOutput(
        text="\n".join(texts),
        call_ids=tuple(call_ids),
        calls=tuple(calls),
        arguments=tuple(arguments),
        input_tokens=_count(usage.get("prompt_tokens", usage.get("input_tokens"))),
        output_tokens=_count(usage.get("completion_tokens", usage.get("output_tokens"))),
    )


def with_model_text(body: bytes, text: str) -> bytes:
    """A response body in which the model says `text` and calls no tool.

    Raises:
        ValueError: it is in no known format, or a stream.
    """
    try:
        value = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise ValueError("no JSON") from error
    whole = _object(value)
    choices = _objects(whole.get("choices"))
    if choices and isinstance(choices[0].get("message"), dict):
        message = {name: part for name, part in choices[0]["message"].items() if name != "tool_calls"}
        whole["choices"] = [{**choices[0], "message": {**message, "content": text}, "finish_reason": "stop"}]
    elif choices:
        whole["choices"] = [{**choices[0], "text": text, "finish_reason": "stop"}]
    elif _objects(whole.get("output")):
        content: dict[str, Any] = {"type": "output_text", "text": text, "annotations": []}
        message = {"id": "msg_replaced", "type": "message", "role": "assistant", "status": "completed"}
        whole["output"] = [{**message, "content": [content]}]
    elif _objects(whole.get("content")):
        whole.update(content=[{"type": "text", "text": text}], stop_reason="end_turn")
    else:
        raise ValueError("a body of another kind")
    return json.dumps(whole, ensure_ascii=False).encode()


def message_text(message: Json) -> str | None:
    """The text of one message of a request; None if it has none or it is in several parts."""
    content = _object(message).get("content")
    if isinstance(content, str):
        return content
    parts = _objects(content)
    return parts[0]["text"] if len(parts) == 1 and isinstance(parts[0].get("text"), str) else None


def answered_calls(message: Json) -> Iterator[str]:
    """Ids of the tool calls whose results one message of a request holds."""
    outer = _object(message)
    held = [outer.get("tool_call_id")]
    if outer.get("type") == "function_call_output":
        held.append(outer.get("call_id"))
    held.extend(part.get("tool_use_id") for part in _objects(outer.get("content")))
    return (item for item in held if isinstance(item, str))


def issued_calls(message: Json) -> Iterator[str]:
    """Ids of the tool calls that one message of a request repeats from the response that issued them."""
    outer = _object(message)
    held = [call.get("id") for call in _objects(outer.get("tool_calls"))]
    if outer.get("type") == "function_call":
        held.append(outer.get("call_id"))
    held.extend(part.get("id") for part in _objects(outer.get("content")) if part.get("type") == "tool_use")
    return (item for item in held if isinstance(item, str))


def _parts(value: Json) -> Iterator[dict[str, Any]]:
    """One `{"text"}` or `{"call_id", "call_name", "arguments"}` for each part of a response."""
    whole = _object(value)
    choices = _objects(whole.get("choices"))
    if choices:
        message = _object(choices[0].get("message"))
        yield {"text": message.get("content") if message else choices[0].get("text")}
        for call in _objects(message.get("tool_calls")):
            function = _object(call.get("function"))
            yield {"call_id": call.get("id"), "call_name": function.get("name"), "arguments": function.get("arguments")}
    for item in _objects(whole.get("output")):
        if item.get("type") == "function_call":
            yield {"call_id": item.get("call_id"), "call_name": item.get("name"), "arguments": item.get("arguments")}
        yield from ({"text": part.get("text")} for part in _objects(item.get("content")))
    for item in _objects(whole.get("content")):
        if item.get("type") == "tool_use":
            yield {"call_id": item.get("id"), "call_name": item.get("name"), "arguments": item.get("input")}
        yield {"text": item.get("text")}


def _object(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _objects(value: object) -> list[dict[str, Any]]:
    return [_object(item) for item in cast("list[object]", value)] if isinstance(value, list) else []


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
