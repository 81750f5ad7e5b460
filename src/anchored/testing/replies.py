"""What the endpoint may answer.

A reply is written by `Reply.text`, `Reply.tools`, `Reply.status` or `Reply.raw`, and is sent in the format that is
asked for: OpenAI chat completions, OpenAI responses or Anthropic messages, at once or as a stream. Ids, times and usage
come from the draw and the request, so a reply has the same bytes whenever it is given to the same occurrence of the
same request.

`Reply.delayed`, `Reply.cut` and `Reply.gzipped` change how another reply is sent, and can be put around each other;
`Reply.hang` keeps the client waiting.
"""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from anchored.errors import UsageError
from anchored.testing.anthropic_answers import anthropic_message
from anchored.testing.chat_completions import completion
from anchored.testing.conversation import Json, ToolCall
from anchored.testing.draw import Draw
from anchored.testing.openai_responses import openai_response
from anchored.testing.request import ChatRequest
from anchored.testing.response import Response, common_headers, error_response
from anchored.testing.said import Said

Text: TypeAlias = str | Callable[[ChatRequest], str]
"""A text, or a function that makes it from the request; it must look at nothing else."""

Call: TypeAlias = tuple[str, Mapping[str, Json] | str]
"""A tool's name and its arguments: an object, or the exact JSON text (which may be malformed on purpose)."""

Calls: TypeAlias = Sequence[Call] | Callable[[ChatRequest], Sequence[Call]]


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
        """The assistant calls these tools, in this order, and may say something with it. No text is sent as null.

        Anthropic messages cannot carry malformed arguments; a reply that has them fails there.
        """
        return ToolsReply(calls=calls, content=content)

    @staticmethod
    def status(code: int, *, message: str = "", retry_after: float | None = None) -> Reply:
        """An error with this HTTP status; `retry_after` is in seconds and becomes the header of that name."""
        return StatusReply(code=code, message=message, retry_after=retry_after)

    @staticmethod
    def raw(body: bytes, *, code: int = 200, content_type: str = "application/json") -> Reply:
        """Exactly these bytes: for NaN, integers of 64 bits, lone surrogates, cut JSON."""
        return RawReply(body=body, code=code, content_type=content_type)

    @staticmethod
    def delayed(reply: Reply, *, seconds: tuple[float, float]) -> Reply:
        """The same after a time between these two, drawn with the answer; requests overlap meanwhile.

        Raises:
            UsageError: the times are no range.
        """
        return DelayedReply(reply=reply, seconds=seconds)

    @staticmethod
    def cut(reply: Reply, *, after: int) -> Reply:
        """The same, but the server closes the connection when it has sent this many bytes of the body.

        With 0 the client sees status and headers only. A body that is no longer than this is sent whole.

        Raises:
            UsageError: the number is negative.
        """
        return CutReply(reply=reply, after=after)

    @staticmethod
    def hang(*, seconds: float = 3600.0) -> Reply:
        """No byte for this long, then status 504. It ends earlier if the client goes away or the endpoint is ended.

        Raises:
            UsageError: the time is negative.
        """
        return DelayedReply(reply=StatusReply(code=504, message="", retry_after=None), seconds=(seconds, seconds))

    @staticmethod
    def gzipped(reply: Reply) -> Reply:
        """The same with `content-encoding: gzip`, whether or not the client accepts it."""
        return GzippedReply(reply=reply)


@dataclass(frozen=True, kw_only=True)
class TextReply(Reply):
    """A message of text."""

    content: Text

    def response(self, request: ChatRequest, draw: Draw) -> Response:
        """An answer that stopped by itself."""
        return _written(request, draw, Said(text=_said(self.content, request), calls=None))


@dataclass(frozen=True, kw_only=True)
class ToolsReply(Reply):
    """A message that calls tools."""

    calls: Calls
    content: Text | None

    def response(self, request: ChatRequest, draw: Draw) -> Response:
        """An answer that stopped to have its tools run."""
        calls = self.calls(request) if callable(self.calls) else self.calls
        content = None if self.content is None else _said(self.content, request) or None
        held = tuple(_call(call, draw, index) for index, call in enumerate(calls))
        return _written(request, draw, Said(text=content, calls=held))


@dataclass(frozen=True, kw_only=True)
class StatusReply(Reply):
    """An error."""

    code: int
    message: str
    retry_after: float | None

    def response(self, request: ChatRequest, draw: Draw) -> Response:
        """An error body as the API sends it; never a stream."""
        headers = () if self.retry_after is None else (("retry-after", f"{self.retry_after:g}"),)
        message = self.message or f"The script answers with status {self.code}."
        return error_response(self.code, message, kind=None, draw=draw, headers=headers, form=request.format)


@dataclass(frozen=True, kw_only=True)
class RawReply(Reply):
    """Bytes as they are."""

    body: bytes
    code: int
    content_type: str

    def response(self, request: ChatRequest, draw: Draw) -> Response:
        """The bytes, whatever the request."""
        headers = common_headers(draw, self.content_type, form=request.format)
        return Response(status=self.code, headers=headers, body=self.body)


@dataclass(frozen=True, kw_only=True)
class DelayedReply(Reply):
    """Another reply, later."""

    reply: Reply
    seconds: tuple[float, float]

    def __post_init__(self) -> None:
        """Check the range."""
        low, high = self.seconds
        if not (math.isfinite(high) and 0 <= low <= high):
            raise UsageError(
                "A reply cannot be delayed so.",
                expected="two times in seconds, not below 0, the shorter first",
                found=repr(self.seconds),
                next_step="Write seconds=(0.0, 0.5), for example.",
            )

    def response(self, request: ChatRequest, draw: Draw) -> Response:
        """The other reply's response, with the time that the server is to wait."""
        response = self.reply.response(request, draw)
        low, high = self.seconds
        return replace(response, delay=response.delay + low + float(draw.fraction("delay")) * (high - low))


@dataclass(frozen=True, kw_only=True)
class CutReply(Reply):
    """The beginning of another reply."""

    reply: Reply
    after: int

    def __post_init__(self) -> None:
        """Check the number."""
        if self.after < 0:
            raise UsageError(
                "A reply cannot be cut so.",
                expected="a number of bytes, not below 0",
                found=str(self.after),
                next_step="Use after=0 to send the headers alone.",
            )

    def response(self, request: ChatRequest, draw: Draw) -> Response:
        """The other reply's response, with the place of the cut."""
        response = self.reply.response(request, draw)
        cut = self.after if response.cut is None else min(self.after, response.cut)
        return replace(response, cut=cut) if self.after < len(response.body) else response


@dataclass(frozen=True, kw_only=True)
class GzippedReply(Reply):
    """Another reply, compressed."""

    reply: Reply

    def response(self, request: ChatRequest, draw: Draw) -> Response:
        """The other reply's response with its body compressed; a cut counts the bytes as they are sent."""
        return self.reply.response(request, draw).gzipped()


def _written(request: ChatRequest, draw: Draw, said: Said) -> Response:
    match request.format:
        case "responses":
            return openai_response(request, draw, said)
        case "messages":
            return anthropic_message(request, draw, said)
        case _:
            return completion(request, draw, said)


def _call(call: Call, draw: Draw, index: int) -> ToolCall:
    name, arguments = call
    text = arguments if isinstance(arguments, str) else json.dumps(dict(arguments))
    return ToolCall(id=draw.text(f"call/{index}", length=24), name=name, arguments=text)


def _said(content: Text, request: ChatRequest) -> str:
    return content(request) if callable(content) else content
