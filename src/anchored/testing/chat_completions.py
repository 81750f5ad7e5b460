"""Answers as OpenAI chat completions."""

from __future__ import annotations

from typing import Any

from anchored.testing.conversation import Json
from anchored.testing.draw import Draw
from anchored.testing.request import ChatRequest
from anchored.testing.response import Response, event, json_response, stream_response
from anchored.testing.said import Said, created, halves, tokens, words


def completion(request: ChatRequest, draw: Draw, said: Said) -> Response:
    """A chat completion, or the chunks that amount to it."""
    value = _completion(request, draw, said)
    if not request.stream:
        return json_response(200, value, draw=draw, form="chat")
    options = request.body.get("stream_options")
    usage = isinstance(options, dict) and bool(options.get("include_usage"))
    return stream_response(_chunks(value, usage=usage), draw=draw, form="chat")


def _completion(request: ChatRequest, draw: Draw, said: Said) -> dict[str, Any]:
    held: dict[str, Json] = {"content": said.text}
    if said.calls is not None:
        held["tool_calls"] = [
            {
                "id": "call_" + call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            }
            for call in said.calls
        ]
    message: dict[str, Json] = {"role": "assistant", **held, "refusal": None, "annotations": []}
    prompt, answer = tokens(request.body.get("messages")), tokens(held)
    return {
        "id": "chatcmpl-" + draw.text("id", length=32),
        "object": "chat.completion",
        "created": created(draw),
        "model": request.model,
        "choices": [
            {
                "index": 0,
                "message": message,
                "logprobs": None,
                "finish_reason": "stop" if said.calls is None else "tool_calls",
            }
        ],
        "usage": {
            "prompt_tokens": prompt,
            "completion_tokens": answer,
            "total_tokens": prompt + answer,
            "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": 0, "audio_tokens": 0},
        },
        "service_tier": "default",
        "system_fingerprint": None,
    }


def _chunks(value: dict[str, Any], *, usage: bool) -> list[bytes]:
    choice: dict[str, Any] = value["choices"][0]
    message: dict[str, Any] = choice["message"]
    common: dict[str, Json] = {
        name: value[name] for name in ("id", "created", "model", "service_tier", "system_fingerprint")
    }
    common["object"] = "chat.completion.chunk"
    if usage:
        common["usage"] = None

    def chunk(delta: dict[str, Json], finish: Json = None) -> bytes:
        choices: list[Json] = [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}]
        return event({**common, "choices": choices})

    text: str | None = message["content"]
    events = [chunk({"role": "assistant", "content": None if text is None else "", "refusal": None})]
    events += [chunk({"content": word}) for word in words(text or "")]
    for index, call in enumerate(message.get("tool_calls", ())):
        function: dict[str, str] = call["function"]
        begun: Json = {**call, "index": index, "function": {"name": function["name"], "arguments": ""}}
        events.append(chunk({"tool_calls": [begun]}))
        events += [
            chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
            for piece in halves(function["arguments"])
        ]
    events.append(chunk({}, choice["finish_reason"]))
    if usage:
        events.append(event({**common, "choices": [], "usage": value["usage"]}))
    return [*events, b"data: [DONE]\n\n"]
