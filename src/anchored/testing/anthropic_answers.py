"""Answers as Anthropic messages."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, cast

from anchored.testing.conversation import Json, ToolCall
from anchored.testing.draw import Draw
from anchored.testing.request import ChatRequest
from anchored.testing.response import Response, event, json_response, stream_response
from anchored.testing.said import Said, halves, tokens, words


def anthropic_message(request: ChatRequest, draw: Draw, said: Said) -> Response:
    """A message, or the events that amount to it.

    Raises:
        ValueError: the arguments of a call are no JSON object, which this format cannot carry.
    """
    value = _message(request, draw, said)
    if not request.stream:
        return json_response(200, value, draw=draw, form="messages")
    events = [event({"type": kind, **data}, name=kind) for kind, data in _events(value)]
    return stream_response(events, draw=draw, form="messages")


def _message(request: ChatRequest, draw: Draw, said: Said) -> dict[str, Any]:
    content: list[Json] = []
    if said.text:
        content.append({"type": "text", "text": said.text})
    for call in said.calls or ():
        content.append({"type": "tool_use", "id": "toolu_" + call.id, "name": call.name, "input": _input(call)})
    return {
        "id": "msg_" + draw.text("id", length=24),
        "type": "message",
        "role": "assistant",
        "model": request.model,
        "content": content,
        "stop_reason": "end_turn" if said.calls is None else "tool_use",
        "stop_sequence": None,
        "usage": {
            "input_tokens": tokens([request.body.get("system"), request.body.get("messages")]),
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "output_tokens": tokens(content),
            "service_tier": "standard",
        },
    }


def _input(call: ToolCall) -> dict[str, Json]:
    try:
        value = cast("Json", json.loads(call.arguments))
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise ValueError(
            f"Anthropic messages carry arguments as an object, and those of {call.name!r} are none: "
            f"{call.arguments[:200]!r}; give others, or the whole body with Reply.raw"
        )
    return value


def _events(value: dict[str, Any]) -> Iterator[tuple[str, dict[str, Json]]]:
    begun: dict[str, Json] = {"content": [], "stop_reason": None, "usage": {**value["usage"], "output_tokens": 1}}
    yield "message_start", {"message": {**value, **begun}}
    yield "ping", {}
    for index, block in enumerate(value["content"]):
        at: dict[str, Json] = {"index": index}
        if block["type"] == "text":
            yield "content_block_start", {**at, "content_block": {**block, "text": ""}}
            for word in words(block["text"]):
                yield "content_block_delta", {**at, "delta": {"type": "text_delta", "text": word}}
        else:
            yield "content_block_start", {**at, "content_block": {**block, "input": {}}}
            for piece in halves(json.dumps(block["input"])):
                yield "content_block_delta", {**at, "delta": {"type": "input_json_delta", "partial_json": piece}}
        yield "content_block_stop", at
    ended: dict[str, Json] = {"stop_reason": value["stop_reason"], "stop_sequence": None}
    yield "message_delta", {"delta": ended, "usage": {"output_tokens": value["usage"]["output_tokens"]}}
    yield "message_stop", {}
