"""What a rule sees of a request: the parsed body and views of the conversation in it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias, cast

from anchored.errors import UsageError

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"

CHAT = "/v1/chat/completions"


class RequestError(UsageError):
    """A request that the endpoint does not answer, whatever the script says."""


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
    name: str
    """The author's name where one was sent, else empty."""
    text: str
    """The content; text parts are joined by line breaks, other parts are left out."""
    tool_calls: tuple[ToolCall, ...]
    tool_call_id: str
    """Of a tool's result: the call that it answers. Else empty."""


@dataclass(frozen=True, kw_only=True)
class ChatRequest:
    """One request to `/v1/chat/completions`."""

    body: dict[str, Json]
    """The parsed body, all of it."""
    path: str = CHAT

    @cached_property
    def digest(self) -> str:
        """SHA-256 of path and body; the order of keys and the spacing do not count."""
        return request_digest(self.path, self.body)

    @property
    def model(self) -> str:
        """The model asked for."""
        return _text(self.body.get("model"))

    @cached_property
    def messages(self) -> tuple[Message, ...]:
        """The conversation, oldest first."""
        return tuple(_message(entry) for entry in _objects(self.body.get("messages")))

    @property
    def last(self) -> Message:
        """The last message, an empty one if there is none."""
        return self.messages[-1] if self.messages else _message({})

    @property
    def system(self) -> str:
        """The text of the first system or developer message, which says who is asked to speak."""
        return next((m.text for m in self.messages if m.role in ("system", "developer")), "")

    @cached_property
    def text(self) -> str:
        """The text of all messages, one after the other. Tool calls and their arguments are not in it."""
        return "\n".join(message.text for message in self.messages)

    @property
    def tool_names(self) -> tuple[str, ...]:
        """The tools offered to the model, in the order sent."""
        return tuple(
            _text(function.get("name"))
            for tool in _objects(self.body.get("tools"))
            if isinstance(function := tool.get("function"), dict)
        )

    def contains(self, phrase: str) -> bool:
        """Whether the conversation holds this text, as guidance would be; case and spacing do not count."""
        return _plain(phrase) in _plain(self.text)


def parse_json(body: bytes) -> Json:
    """Parse a body as Python does: NaN and whole numbers of any size are let through, of equal keys the last counts.

    Raises:
        RequestError: it is no JSON.
    """
    try:
        return cast("Json", json.loads(body))
    except (ValueError, RecursionError) as error:
        raise RequestError(
            "The body cannot be read.",
            expected="one JSON value",
            found=f"{len(body)} bytes ({type(error).__name__}: {error})",
            next_step="Send the request with content-type application/json.",
        ) from error


def parse_chat(value: Json) -> ChatRequest:
    """Read a body as a chat request that the endpoint can answer.

    Raises:
        RequestError: it is none, or asks for a stream or for several choices.
    """
    if not isinstance(value, dict):
        raise RequestError(
            "The body is no chat request.",
            expected="a JSON object",
            found=type(value).__name__,
            next_step="Send {'model': …, 'messages': […]}.",
        )
    messages = value.get("messages")
    if not isinstance(messages, list) or not all(isinstance(message, dict) for message in messages):
        raise RequestError(
            "The body is no chat request.",
            expected="a list of objects in 'messages'",
            found="nothing" if messages is None else type(messages).__name__,
            next_step="Send the conversation in 'messages'.",
        )
    if value.get("stream"):
        raise RequestError(
            "The scripted endpoint does not stream.",
            expected="'stream' absent or false",
            found="'stream': true",
            next_step="Switch streaming off in the program under test.",
        )
    if value.get("n") not in (None, 1):
        raise RequestError(
            "The scripted endpoint gives one choice.",
            expected="'n' absent or 1",
            found=f"'n': {value.get('n')!r}",
            next_step="Ask several times; each time is a draw of its own.",
        )
    return ChatRequest(body=value)


def request_digest(path: str, body: Json) -> str:
    """SHA-256 of a path and a parsed body, in hexadecimal."""
    return _digest({"path": path, "body": body})


def unread_digest(path: str, body: bytes) -> str:
    """The same for a body that is no JSON: its bytes count."""
    return _digest({"path": path, "bytes": body.hex()})


def _digest(value: Json) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _message(entry: dict[str, Json]) -> Message:
    return Message(
        role=_text(entry.get("role")),
        name=_text(entry.get("name")),
        text=_content(entry.get("content")),
        tool_calls=tuple(_tool_calls(entry.get("tool_calls"))),
        tool_call_id=_text(entry.get("tool_call_id")),
    )


def _tool_calls(value: Json) -> Iterator[ToolCall]:
    for call in _objects(value):
        function = call.get("function")
        if isinstance(function, dict):
            yield ToolCall(
                id=_text(call.get("id")),
                name=_text(function.get("name")),
                arguments=_text(function.get("arguments")),
            )


def _content(value: Json) -> str:
    if isinstance(value, list):
        return "\n".join(_text(part.get("text")) for part in _objects(value) if "text" in part)
    return _text(value)


def _objects(value: Json) -> list[dict[str, Json]]:
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()
