"""Streamed responses: server-sent events of OpenAI chat completions and responses, and of Anthropic messages.

A stream is read into the body that the same response would have had unstreamed, as far as its complete events go, so
that there is one reading of bodies. Time and memory are linear in the stream's length.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, Literal, TypeAlias

from anchored.events.shapes import as_number, as_object, as_objects, as_text

_Form: TypeAlias = Literal["chat", "responses", "messages"]
_Object: TypeAlias = dict[str, Any]

_REPLACED = {"chat": "chatcmpl-replaced", "responses": "resp_replaced", "messages": "msg_replaced"}
"""The id of a response whose stream broke before it had one."""


def assembled(body: bytes) -> _Object | None:
    """The unstreamed body that a stream amounts to; None if it is no stream in a known format.

    Never raises. Of a stream that was cut, what its complete events say: a text or a call's arguments may break off.
    """
    events = list(_events(body))
    match _form(events):
        case "chat":
            return _chat(events)
        case "responses":
            return _responses(events)
        case "messages":
            return _messages(events)
        case None:
            return None


def stream_saying(body: bytes, text: str) -> bytes:
    """A whole stream in the format of the given one, in which the model says `text` and calls no tool.

    Raises:
        ValueError: the given one is no stream in a known format.
    """
    events = list(_events(body))
    match _form(events):
        case "chat":
            written = _chat_saying(_chat(events), text)
        case "responses":
            written = _responses_saying(_responses(events), text)
        case "messages":
            written = _messages_saying(_messages(events), text)
        case None:
            raise ValueError("no JSON, and no stream of a known kind")
    return b"".join(written)


def output_message(text: str) -> _Object:
    """The item of an OpenAI response that says a text."""
    content: _Object = {"type": "output_text", "text": text, "annotations": []}
    return {
        "id": "msg_replaced",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [content],
    }


def _events(body: bytes) -> Iterator[_Object]:
    """The JSON object in each complete event (WHATWG HTML, 9.2.6); what is none is left out, as `[DONE]` is."""
    data: list[bytes] = []
    for line in body.removeprefix(b"\xef\xbb\xbf").splitlines():
        if line.startswith(b"data:"):
            data.append(line[5:])
        elif not line and data:
            try:
                value: object = json.loads(b"\n".join(data).decode("utf-8", "replace"))
            except (ValueError, RecursionError):
                value = None
            if event := as_object(value):
                yield event
            data = []


def _form(events: Iterable[_Object]) -> _Form | None:
    for event in events:
        kind = as_text(event.get("type"))
        if isinstance(event.get("choices"), list):
            return "chat"
        if kind.startswith("response."):
            return "responses"
        if kind.startswith(("message_", "content_block_")):
            return "messages"
    return None


def _chat(events: Iterable[_Object]) -> _Object:
    whole: _Object = {}
    said: list[str] = []
    legacy: list[str] = []
    calls: list[_Call] = []
    at: dict[int, _Call] = {}
    finish: object = None
    for event in events:
        for name, value in event.items():
            if whole.get(name) is None or (name == "usage" and value is not None):
                whole[name] = value
        for choice in as_objects(event.get("choices")):
            if choice.get("index", 0) != 0:
                continue
            finish = choice.get("finish_reason") or finish
            if isinstance(text := choice.get("text"), str):
                legacy.append(text)
            delta = as_object(choice.get("delta"))
            said.append(as_text(delta.get("content")))
            for part in as_objects(delta.get("tool_calls")):
                index, call_id = as_number(part.get("index")), as_text(part.get("id"))
                call = at.get(index)
                # Some providers give several calls one index; the next id is then the next call.
                if call is None or (call_id and call.id and call_id != call.id):
                    call = at[index] = _Call()
                    calls.append(call)
                call.id = call.id or call_id
                function = as_object(part.get("function", part.get("custom")))
                call.name = call.name or as_text(function.get("name"))
                call.pieces.append(as_text(function.get("arguments", function.get("input"))))
    whole.pop("choices", None)
    choice: _Object = {"index": 0, "finish_reason": finish}
    if legacy:
        return {**whole, "choices": [{**choice, "text": "".join(legacy)}]}
    message: _Object = {"role": "assistant", "content": "".join(said)}
    if calls:
        message["tool_calls"] = [call.document() for call in calls]
    return {**whole, "object": "chat.completion", "choices": [{**choice, "message": message}]}


class _Call:
    """A tool call of which parts arrive."""

    def __init__(self) -> None:
        self.id = ""
        self.name = ""
        self.pieces: list[str] = []

    def document(self) -> _Object:
        function = {"name": self.name or None, "arguments": "".join(self.pieces)}
        return {"id": self.id or None, "type": "function", "function": function}


def _responses(events: Iterable[_Object]) -> _Object:
    whole: _Object = {}
    items: dict[int, _Object] = {}
    done: dict[int, _Object] = {}
    texts: dict[int, dict[int, list[str]]] = {}
    arguments: dict[int, list[str]] = {}
    for event in events:
        if isinstance(event.get("response"), dict):
            whole = as_object(event["response"])
        index, part = as_number(event.get("output_index")), as_number(event.get("content_index"))
        match event.get("type"):
            case "response.output_item.added":
                items[index] = as_object(event.get("item"))
            case "response.output_item.done":
                done[index] = as_object(event.get("item"))
            case "response.output_text.delta":
                texts.setdefault(index, {}).setdefault(part, []).append(as_text(event.get("delta")))
            case "response.function_call_arguments.delta" | "response.custom_tool_call_input.delta":
                arguments.setdefault(index, []).append(as_text(event.get("delta")))
            case _:
                pass
    for index, item in items.items():
        begun = dict(item)
        if index in texts:
            parts = sorted(texts[index].items())
            begun["content"] = [{"type": "output_text", "text": "".join(pieces)} for _, pieces in parts]
        if index in arguments:
            field = "input" if item.get("type") == "custom_tool_call" else "arguments"
            begun[field] = "".join(arguments[index])
        done.setdefault(index, begun)
    # What the last event says counts; some providers leave its output empty.
    return {**whole, "output": as_objects(whole.get("output")) or [item for _, item in sorted(done.items())]}


def _messages(events: Iterable[_Object]) -> _Object:
    whole: _Object = {}
    blocks: dict[int, _Object] = {}
    texts: dict[int, list[str]] = {}
    inputs: dict[int, list[str]] = {}
    usage: _Object = {}
    for event in events:
        index, delta = as_number(event.get("index")), as_object(event.get("delta"))
        match event.get("type"):
            case "message_start":
                whole = dict(as_object(event.get("message")))
                usage.update(as_object(whole.get("usage")))
            case "content_block_start":
                blocks[index] = as_object(event.get("content_block"))
            case "content_block_delta" if delta.get("type") == "text_delta":
                texts.setdefault(index, []).append(as_text(delta.get("text")))
            case "content_block_delta" if delta.get("type") == "input_json_delta":
                inputs.setdefault(index, []).append(as_text(delta.get("partial_json")))
            case "message_delta":
                whole.update(delta)
                usage.update(as_object(event.get("usage")))
            case _:
                pass
    content: list[_Object] = []
    for index, block in sorted(blocks.items()):
        content.append(dict(block))
        if index in texts:
            content[-1]["text"] = as_text(block.get("text")) + "".join(texts[index])
        if given := "".join(inputs.get(index, ())):
            content[-1]["input"] = _input(given)
    return {**whole, "content": content, "usage": usage}


def _input(given: str) -> object:
    try:
        return json.loads(given)
    except (ValueError, RecursionError):
        return given


def _event(data: _Object, *, name: str | None = None) -> bytes:
    head = b"" if name is None else b"event: %s\n" % name.encode()
    return head + b"data: %s\n\n" % json.dumps(data, ensure_ascii=False).encode()


def _chat_saying(whole: _Object, text: str) -> Iterator[bytes]:
    common = {"id": _REPLACED["chat"], "created": 0, "model": "", **whole}
    usage = common.pop("usage", None)
    if "text" in whole["choices"][0]:
        common["choices"] = [{"index": 0, "text": text, "logprobs": None, "finish_reason": "stop"}]
        yield _event(common)
    else:
        common["object"] = "chat.completion.chunk"
        for delta, finish in (({"role": "assistant", "content": ""}, None), ({"content": text}, None), ({}, "stop")):
            yield _event({**common, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})
    if usage is not None:
        yield _event({**common, "choices": [], "usage": usage})
    yield b"data: [DONE]\n\n"


def _responses_saying(whole: _Object, text: str) -> Iterator[bytes]:
    item = output_message(text)
    head: _Object = {"id": _REPLACED["responses"], "object": "response", "created_at": 0, "model": "", **whole}
    head.update(error=None, incomplete_details=None)
    begun: _Object = {**head, "status": "in_progress", "output": [], "usage": None}
    part: _Object = item["content"][0]
    at: _Object = {"output_index": 0}
    within: _Object = {**at, "item_id": item["id"], "content_index": 0}
    steps: list[tuple[str, _Object]] = [
        ("response.created", {"response": begun}),
        ("response.in_progress", {"response": begun}),
        ("response.output_item.added", {**at, "item": {**item, "status": "in_progress", "content": []}}),
        ("response.content_part.added", {**within, "part": {**part, "text": ""}}),
        ("response.output_text.delta", {**within, "delta": text, "logprobs": []}),
        ("response.output_text.done", {**within, "text": text, "logprobs": []}),
        ("response.content_part.done", {**within, "part": part}),
        ("response.output_item.done", {**at, "item": item}),
        ("response.completed", {"response": {**head, "status": "completed", "output": [item]}}),
    ]
    for number, (kind, data) in enumerate(steps):
        yield _event({"type": kind, "sequence_number": number, **data}, name=kind)


def _messages_saying(whole: _Object, text: str) -> Iterator[bytes]:
    usage: _Object = {"input_tokens": 0, "output_tokens": 0, **as_object(whole.get("usage"))}
    head: _Object = {"id": _REPLACED["messages"], "type": "message", "role": "assistant", "model": "", **whole}
    head.update(content=[], stop_reason=None, stop_sequence=None, usage=usage)
    ended: _Object = {"stop_reason": "end_turn", "stop_sequence": None}
    steps: list[tuple[str, _Object]] = [
        ("message_start", {"message": head}),
        ("content_block_start", {"index": 0, "content_block": {"type": "text", "text": ""}}),
        ("content_block_delta", {"index": 0, "delta": {"type": "text_delta", "text": text}}),
        ("content_block_stop", {"index": 0}),
        ("message_delta", {"delta": ended, "usage": {"output_tokens": usage["output_tokens"]}}),
        ("message_stop", {}),
    ]
    for kind, data in steps:
        yield _event({"type": kind, **data}, name=kind)
