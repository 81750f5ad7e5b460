"""What the endpoint may answer, and the bytes it then sends.

A reply is written by `Reply.text`, `Reply.tools`, `Reply.status` or `Reply.raw`. Ids, `created` and usage come from the
draw and the request, so a reply has the same bytes whenever it is given to the same occurrence of the same request.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from anchored.testing.draw import Draw
from anchored.testing.request import ChatRequest, Json

Text: TypeAlias = str | Callable[[ChatRequest], str]
"""A text, or a function that makes it from the request; it must look at nothing else."""

Call: TypeAlias = tuple[str, Mapping[str, Json] | str]
"""A tool's name and its arguments: an object, or the exact JSON text (which may be malformed on purpose)."""

Calls: TypeAlias = Sequence[Call] | Callable[[ChatRequest], Sequence[Call]]

ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "invalid_request_error",
    429: "rate_limit_error",
}

FIRST_CREATED = 1_700_000_000


@dataclass(frozen=True, kw_only=True)
class Response:
    """An HTTP response."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes


class Reply(ABC):
    """One possible answer to a request."""

    @abstractmethod
    def response(self, request: ChatRequest, draw: Draw) -> Response:
        """The response to this occurrence of this request."""

    @staticmethod
    def text(content: Text) -> Reply:
        """The assistant says this."""
        return TextReply(content=content)

    @staticmethod
    def tools(calls: Calls, *, content: Text | None = None) -> Reply:
        """The assistant calls these tools, in this order, and may say something with it. No text is sent as null."""
        return ToolsReply(calls=calls, content=content)

    @staticmethod
    def status(code: int, *, message: str = "", retry_after: float | None = None) -> Reply:
        """An error with this HTTP status; `retry_after` is in seconds and becomes the header of that name."""
        return StatusReply(code=code, message=message, retry_after=retry_after)

    @staticmethod
    def raw(body: bytes, *, code: int = 200, content_type: str = "application/json") -> Reply:
        """Exactly these bytes: for NaN, integers of 64 bits, lone surrogates, cut JSON."""
        return RawReply(body=body, code=code, content_type=content_type)


@dataclass(frozen=True, kw_only=True)
class TextReply(Reply):
    """A message of text."""

    content: Text

    def response(self, request: ChatRequest, draw: Draw) -> Response:
        """A chat completion that stopped by itself."""
        return _completion(request, draw, {"content": _said(self.content, request)}, finish="stop")


@dataclass(frozen=True, kw_only=True)
class ToolsReply(Reply):
    """A message that calls tools."""

    calls: Calls
    content: Text | None

    def response(self, request: ChatRequest, draw: Draw) -> Response:
        """A chat completion that stopped to have its tools run."""
        calls = self.calls(request) if callable(self.calls) else self.calls
        content = None if self.content is None else _said(self.content, request) or None
        tool_calls: list[Json] = [_tool_call(call, draw, index) for index, call in enumerate(calls)]
        return _completion(request, draw, {"content": content, "tool_calls": tool_calls}, finish="tool_calls")


@dataclass(frozen=True, kw_only=True)
class StatusReply(Reply):
    """An error."""

    code: int
    message: str
    retry_after: float | None

    def response(self, request: ChatRequest, draw: Draw) -> Response:
        """An error body as the OpenAI API sends it."""
        headers = () if self.retry_after is None else (("retry-after", f"{self.retry_after:g}"),)
        message = self.message or f"The script answers with status {self.code}."
        return error_response(self.code, message, kind=None, draw=draw, headers=headers)


@dataclass(frozen=True, kw_only=True)
class RawReply(Reply):
    """Bytes as they are."""

    body: bytes
    code: int
    content_type: str

    def response(self, request: ChatRequest, draw: Draw) -> Response:
        """The bytes, whatever the request."""
        return Response(status=self.code, headers=_headers(draw, self.content_type), body=self.body)


def json_response(status: int, value: Json, *, draw: Draw, headers: tuple[tuple[str, str], ...] = ()) -> Response:
    """A response with a JSON body. All beyond ASCII is escaped, so that lone surrogates can be sent."""
    body = json.dumps(value, separators=(",", ":")).encode()
    return Response(status=status, headers=_headers(draw, "application/json") + headers, body=body)


def error_response(
    status: int, message: str, *, kind: str | None, draw: Draw, headers: tuple[tuple[str, str], ...] = ()
) -> Response:
    """An error body as the OpenAI API sends it; `kind` becomes its `code`."""
    error_type = ERROR_TYPES.get(status, "server_error" if status >= 500 else "invalid_request_error")
    error: Json = {"message": message, "type": error_type, "param": None, "code": kind}
    return json_response(status, {"error": error}, draw=draw, headers=headers)


def _headers(draw: Draw, content_type: str) -> tuple[tuple[str, str], ...]:
    return (("content-type", content_type), ("x-request-id", "req_" + draw.text("request-id", length=32)))


def _completion(request: ChatRequest, draw: Draw, said: dict[str, Json], *, finish: str) -> Response:
    message: dict[str, Json] = {"role": "assistant", **said, "refusal": None, "annotations": []}
    prompt, completion = _tokens(request.body.get("messages")), _tokens(said)
    value: Json = {
        "id": "chatcmpl-" + draw.text("id", length=32),
        "object": "chat.completion",
        "created": FIRST_CREATED + draw.number("created", below=10_000_000),
        "model": request.model,
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": finish}],
        "usage": {
            "prompt_tokens": prompt,
            "completion_tokens": completion,
            "total_tokens": prompt + completion,
            "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": 0, "audio_tokens": 0},
        },
        "service_tier": "default",
        "system_fingerprint": None,
    }
    return json_response(200, value, draw=draw)


def _tool_call(call: Call, draw: Draw, index: int) -> Json:
    name, arguments = call
    text = arguments if isinstance(arguments, str) else json.dumps(dict(arguments))
    call_id = "call_" + draw.text(f"call/{index}", length=24)
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": text}}


def _said(content: Text, request: ChatRequest) -> str:
    return content(request) if callable(content) else content


def _tokens(value: Json) -> int:
    """About four characters to a token: no tokenizer, but it grows with the text as a real count does."""
    return -(-len(json.dumps(value)) // 4)
