"""What known wire formats say: OpenAI chat completions and responses, Anthropic messages. Others are opaque."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from anchored.canonical import Json
from anchored.events.entries import Kind
from anchored.events.shapes import as_object, as_objects, as_text
from anchored.events.streams import assembled, output_message, stream_saying

_ENDINGS: tuple[tuple[str, Kind], ...] = (
    ("/chat/completions", "chat"),  # OpenAI; Azure below /openai/deployments/NAME; most others
    ("/responses", "chat"),
    ("/messages", "chat"),  # Anthropic
    ("/api/chat", "chat"),  # Ollama
    ("/completions", "text_completion"),
    ("/api/generate", "text_completion"),
    ("/embeddings", "embeddings"),
    ("/api/embed", "embeddings"),
    (":generateContent", "generate_content"),  # Gemini, and Vertex AI
    (":streamGenerateContent", "generate_content"),
    (":embedContent", "embeddings"),
    (":batchEmbedContents", "embeddings"),
    (":rawPredict", "chat"),  # Anthropic on Vertex AI
    (":streamRawPredict", "chat"),
)

_PATH_MODEL = re.compile("/(?:deployments/([^/]+)/|models/([^/:]+?)(?::|%3[Aa]))")
"""Azure's deployment, or the model of Gemini and Vertex AI."""


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
    """What kind of crossing an HTTP request is, by its path without the query; `http` if it is no known model call.

    A call in fact if `model_name` finds a name for it as well: other services have paths that end alike.
    """
    if method == "POST":
        plain = path.replace("%3A", ":").replace("%3a", ":")
        for ending, kind in _ENDINGS:
            if plain.endswith(ending):
                return kind
    return "http"


def model_name(body: bytes, path: str = "") -> str | None:
    """The model that a request body names, or else its path: Azure's deployment, or the model of Gemini."""
    try:
        value: object = json.loads(body)
    except (ValueError, RecursionError):
        value = None
    model = as_object(value).get("model")
    if isinstance(model, str):
        return model
    named = _PATH_MODEL.search(path)
    return None if named is None else unquote(named.group(1) or named.group(2))


def model_output(body: bytes) -> ModelOutput:
    """What a response body says, streamed or not, where its format is known; nothing otherwise.

    Never raises. Of a stream that was cut, what its complete events say.
    """
    try:
        value: Json = json.loads(body)
    except (ValueError, RecursionError):
        value = assembled(body)
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
            arguments.append(_argument_text(part.get("arguments")))
    usage = as_object(as_object(value).get("usage"))
    return ModelOutput(
        text="\n".join(texts),
        call_ids=tuple(call_ids),
        calls=tuple(calls),
        arguments=tuple(arguments),
        input_tokens=_count(usage.get("prompt_tokens", usage.get("input_tokens"))),
        output_tokens=_count(usage.get("completion_tokens", usage.get("output_tokens"))),
    )


def with_model_text(body: bytes, text: str) -> bytes:
    """A response body in which the model says `text` and calls no tool; of a stream, a whole one in its format.

    Raises:
        ValueError: it is in no known format.
    """
    try:
        value: object = json.loads(body)
    except RecursionError as error:
        raise ValueError("a body of too many levels") from error
    except ValueError:
        return stream_saying(body, text)
    whole = as_object(value)
    choices = as_objects(whole.get("choices"))
    if choices and isinstance(choices[0].get("message"), dict):
        dropped = ("tool_calls", "function_call")
        message = {name: part for name, part in choices[0]["message"].items() if name not in dropped}
        whole["choices"] = [{**choices[0], "message": {**message, "content": text}, "finish_reason": "stop"}]
    elif choices:
        whole["choices"] = [{**choices[0], "text": text, "finish_reason": "stop"}]
    elif as_objects(whole.get("output")) or whole.get("object") == "response":
        whole["output"] = [output_message(text)]
        whole.update({name: None for name in ("error", "incomplete_details") if name in whole})
        whole.update({"status": "completed"} if "status" in whole else {})
    elif as_objects(whole.get("content")) or whole.get("type") == "message":
        whole.update(content=[{"type": "text", "text": text}], stop_reason="end_turn")
    else:
        raise ValueError("a body of another kind")
    return json.dumps(whole, ensure_ascii=False).encode()


def _parts(value: Json) -> Iterator[dict[str, Any]]:
    """One `{"text"}` or `{"call_id", "call_name", "arguments"}` for each part of a response."""
    whole = as_object(value)
    choices = as_objects(whole.get("choices"))
    if choices:
        message = as_object(choices[0].get("message"))
        yield {"text": message.get("content") if message else choices[0].get("text")}
        for call in as_objects(message.get("tool_calls")):
            function = as_object(call.get("function", call.get("custom")))
            given = function.get("arguments", function.get("input"))
            yield {"call_id": call.get("id"), "call_name": function.get("name"), "arguments": given}
    for item in as_objects(whole.get("output")):
        kind = as_text(item.get("type"))
        if kind.endswith("_call") and "call_id" in item:  # without it, the provider runs the tool itself
            given = item.get("arguments", item.get("input", item.get("action")))
            yield {"call_id": item["call_id"], "call_name": item.get("name", kind), "arguments": given}
        elif kind != "reasoning":
            yield from ({"text": part.get("text")} for part in as_objects(item.get("content")))
    for item in as_objects(whole.get("content")):
        if item.get("type") == "tool_use":
            yield {"call_id": item.get("id"), "call_name": item.get("name"), "arguments": item.get("input")}
        yield {"text": item.get("text")}


def _argument_text(given: object) -> str:
    if given is None or isinstance(given, str):
        return given or ""
    try:
        return json.dumps(given)
    except RecursionError:
        return ""


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
