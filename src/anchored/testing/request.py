"""What a rule sees of a request: the parsed body and views of the conversation in it."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias, cast

from anchored.errors import UsageError
from anchored.testing.conversation import (
    Json,
    Message,
    anthropic_messages,
    chat_messages,
    objects,
    responses_messages,
    text_of,
)

CHAT = "/v1/chat/completions"

Format: TypeAlias = Literal["chat", "responses", "messages", "embeddings"]
"""OpenAI chat completions, OpenAI responses, Anthropic messages; OpenAI embeddings, which no rule sees."""

PATHS: dict[str, Format] = {
    CHAT: "chat",
    "/v1/responses": "responses",
    "/v1/messages": "messages",
    "/v1/embeddings": "embeddings",
}

_DEPLOYMENT = re.compile("/openai/deployments/([^/]+)/(chat/completions|embeddings)")


class RequestError(UsageError):
    """A request that the endpoint does not answer, whatever the script says."""


@dataclass(frozen=True, kw_only=True)
class ChatRequest:
    """One request to a model, in any of the three formats; a rule need not know in which."""

    body: dict[str, Json]
    """The parsed body, all of it."""
    path: str = CHAT
    """One of `PATHS`, or `/openai/deployments/MODEL/chat/completions` as Azure has it."""

    @cached_property
    def digest(self) -> str:
        """SHA-256 of path and body; the order of keys and the spacing do not count."""
        return request_digest(self.path, self.body)

    @property
    def format(self) -> Format:
        """How the request is written and has to be answered."""
        return format_of(self.path) or "chat"

    @property
    def model(self) -> str:
        """The model asked for."""
        deployment = _DEPLOYMENT.fullmatch(self.path)
        return text_of(self.body.get("model")) or (deployment.group(1) if deployment else "")

    @property
    def stream(self) -> bool:
        """Whether the answer has to come as a stream of events."""
        return bool(self.body.get("stream"))

    @cached_property
    def messages(self) -> tuple[Message, ...]:
        """The conversation, oldest first, in the form of chat completions."""
        match self.format:
            case "responses":
                return tuple(responses_messages(self.body))
            case "messages":
                return tuple(anthropic_messages(self.body))
            case _:
                return tuple(chat_messages(self.body))

    @property
    def last(self) -> Message:
        """The last message, an empty one if there is none."""
        return self.messages[-1] if self.messages else Message(role="")

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
        """The tools offered to the model, in the order sent; those that the provider runs itself may be among them."""
        tools = objects(self.body.get("tools"))
        if self.format == "chat":
            functions = [tool.get("function") for tool in tools]
            return tuple(text_of(function.get("name")) for function in functions if isinstance(function, dict))
        return tuple(text_of(tool.get("name")) for tool in tools if "name" in tool)

    def contains(self, phrase: str) -> bool:
        """Whether the conversation holds this text, as guidance would be; case and spacing do not count."""
        return _plain(phrase) in _plain(self.text)


def format_of(path: str) -> Format | None:
    """The format that is spoken at a path; none where the endpoint has nothing."""
    if deployment := _DEPLOYMENT.fullmatch(path):
        return "embeddings" if deployment.group(2) == "embeddings" else "chat"
    return PATHS.get(path)


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


def parse_chat(value: Json, *, path: str = CHAT) -> ChatRequest:
    """Read a body as a request to a model that the endpoint can answer.

    Raises:
        RequestError: it is none, asks for several choices, or goes on from a conversation kept by the server.
    """
    request = ChatRequest(body=parse_object(value), path=path)
    if request.format == "responses":
        _check_input(request.body)
        return request
    messages = request.body.get("messages")
    if not isinstance(messages, list) or not all(isinstance(message, dict) for message in messages):
        raise RequestError(
            "The body is no chat request.",
            expected="a list of objects in 'messages'",
            found="nothing" if messages is None else type(messages).__name__,
            next_step="Send the conversation in 'messages'.",
        )
    if request.body.get("n") not in (None, 1):
        raise RequestError(
            "The scripted endpoint gives one choice.",
            expected="'n' absent or 1",
            found=f"'n': {request.body.get('n')!r}",
            next_step="Ask several times; each time is a draw of its own.",
        )
    return request


def parse_object(value: Json) -> dict[str, Json]:
    """The body as an object.

    Raises:
        RequestError: it is none.
    """
    if not isinstance(value, dict):
        raise RequestError(
            "The body is no chat request.",
            expected="a JSON object",
            found=type(value).__name__,
            next_step="Send {'model': …, 'messages': […]}.",
        )
    return value


def request_digest(path: str, body: Json) -> str:
    """SHA-256 of a path and a parsed body, in hexadecimal."""
    return _digest({"path": path, "body": body})


def unread_digest(path: str, body: bytes) -> str:
    """The same for a body that is no JSON: its bytes count."""
    return _digest({"path": path, "bytes": body.hex()})


def _check_input(body: dict[str, Json]) -> None:
    given = body.get("input")
    if not isinstance(given, str) and not (isinstance(given, list) and all(isinstance(item, dict) for item in given)):
        raise RequestError(
            "The body is no request for a response.",
            expected="a text or a list of objects in 'input'",
            found="nothing" if given is None else type(given).__name__,
            next_step="Send the conversation in 'input'.",
        )
    if kept := [name for name in ("previous_response_id", "conversation") if body.get(name) is not None]:
        raise RequestError(
            "The scripted endpoint keeps no conversations.",
            expected="the whole conversation in 'input'",
            found=f"{kept[0]!r}: {body[kept[0]]!r}",
            next_step="Let the program under test send the conversation itself.",
        )


def _digest(value: Json) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()
