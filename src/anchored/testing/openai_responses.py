"""Answers as OpenAI responses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from anchored.testing.conversation import Json
from anchored.testing.draw import Draw
from anchored.testing.request import ChatRequest
from anchored.testing.response import Response, event, json_response, stream_response
from anchored.testing.said import Said, created, halves, tokens, words


def openai_response(request: ChatRequest, draw: Draw, said: Said) -> Response:
    """A response, or the events that amount to it."""
    value = _response(request, draw, said)
    if not request.stream:
        return json_response(200, value, draw=draw, form="responses")
    events = [
        event({"type": kind, "sequence_number": number, **data}, name=kind)
        for number, (kind, data) in enumerate(_events(value))
    ]
    return stream_response(events, draw=draw, form="responses")


def _response(request: ChatRequest, draw: Draw, said: Said) -> dict[str, Any]:
    body = request.body
    output: list[Json] = [*_items(draw, said)]
    prompt, answer = tokens([body.get("instructions"), body.get("input")]), tokens(output)
    return {
        "id": "resp_" + draw.text("id", length=32),
        "object": "response",
        "created_at": created(draw),
        "status": "completed",
        "background": False,
        "error": None,
        "incomplete_details": None,
        "instructions": body.get("instructions"),
        "max_output_tokens": body.get("max_output_tokens"),
        "model": request.model,
        "output": output,
        "parallel_tool_calls": body.get("parallel_tool_calls", True),
        "previous_response_id": None,
        "reasoning": {"effort": None, "summary": None},
        "service_tier": "default",
        "store": body.get("store", True),
        "temperature": body.get("temperature", 1.0),
        "text": body.get("text", {"format": {"type": "text"}}),
        "tool_choice": body.get("tool_choice", "auto"),
        "tools": body.get("tools", []),
        "top_p": body.get("top_p", 1.0),
        "truncation": "disabled",
        "usage": {
            "input_tokens": prompt,
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens": answer,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": prompt + answer,
        },
        "user": None,
        "metadata": body.get("metadata") or {},
    }


def _items(draw: Draw, said: Said) -> Iterator[dict[str, Json]]:
    if said.text or not said.calls:
        content: dict[str, Json] = {
            "type": "output_text",
            "annotations": [],
            "logprobs": [],
            "text": said.text or "",
        }
        message_id = "msg_" + draw.text("message", length=32)
        yield {
            "id": message_id,
            "type": "message",
            "status": "completed",
            "content": [content],
            "role": "assistant",
        }
    for index, call in enumerate(said.calls or ()):
        yield {
            "id": "fc_" + draw.text(f"item/{index}", length=32),
            "type": "function_call",
            "status": "completed",
            "arguments": call.arguments,
            "call_id": "call_" + call.id,
            "name": call.name,
        }


def _events(value: dict[str, Any]) -> Iterator[tuple[str, dict[str, Json]]]:
    begun: dict[str, Json] = {**value, "status": "in_progress", "output": [], "usage": None}
    yield "response.created", {"response": begun}
    yield "response.in_progress", {"response": begun}
    for index, item in enumerate(value["output"]):
        at: dict[str, Json] = {"output_index": index}
        empty: dict[str, Json] = {"content": []} if item["type"] == "message" else {"arguments": ""}
        yield "response.output_item.added", {**at, "item": {**item, "status": "in_progress", **empty}}
        within: dict[str, Json] = {**at, "item_id": item["id"]}
        if item["type"] == "message":
            for number, part in enumerate(item["content"]):
                yield from _part_events({**within, "content_index": number}, part)
        else:
            for piece in halves(item["arguments"]):
                yield "response.function_call_arguments.delta", {**within, "delta": piece}
            done: dict[str, Json] = {"name": item["name"], "arguments": item["arguments"]}
            yield "response.function_call_arguments.done", {**within, **done}
        yield "response.output_item.done", {**at, "item": item}
    yield "response.completed", {"response": value}


def _part_events(within: dict[str, Json], part: dict[str, Any]) -> Iterator[tuple[str, dict[str, Json]]]:
    yield "response.content_part.added", {**within, "part": {**part, "text": ""}}
    for word in words(part["text"]):
        yield "response.output_text.delta", {**within, "delta": word, "logprobs": []}
    yield "response.output_text.done", {**within, "text": part["text"], "logprobs": []}
    yield "response.content_part.done", {**within, "part": part}
