"""Requests and their identity (docs/design/identity.md)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal, cast

import msgspec

from anchored.canonical import (
    Digest,
    Json,
    JsonObject,
    NotCanonical,
    canonical,
    digest,
    member_spans,
    parse_exact,
    parse_hashed,
    request_document,
)
from anchored.errors import DamagedError
from anchored.events.values import Unreplayable, encode_value, is_plain_json

IDENTITY_HEADERS = ("anthropic-beta", "anthropic-version", "openai-beta")
"""The only headers that are part of a request's identity."""

MESSAGE_FIELDS = ("messages", "input", "contents")
"""Top-level fields that may hold the conversation; the first that holds an array does."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Blob:
    """Bytes that a digest stands for: `digest == H(kind, data)`."""

    kind: Literal["message", "raw", "body", "result", "arguments"]
    digest: Digest
    data: bytes


@dataclass(frozen=True, kw_only=True, slots=True)
class Message:
    """One message of a request.

    Attributes:
        digest: `H("message", JCS)`, or `H("raw", bytes)` where RFC 8785 cannot express it.
        value: the parsed message, for reading; None where it is raw.
    """

    digest: Digest
    value: Json


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """What was asked, and the digest that identifies it.

    The document that is hashed is `before ‖ JCS{"digests", "field"} ‖ after` where there are messages, `before` alone
    where there are none.

    Attributes:
        before: its bytes up to the messages.
        after: its bytes behind the messages.
        field: the top-level field that held the messages; None if none did.
        messages: the messages in order.
        digest: `H("request", document)`.
        blobs: what the digests inside the document stand for.
        raw: names of what is identified by raw bytes, for people.
    """

    before: bytes
    after: bytes
    field: str | None
    messages: tuple[Message, ...]
    digest: Digest
    blobs: tuple[Blob, ...]
    raw: tuple[str, ...] = ()

    def document(self) -> JsonObject:
        """The document that is hashed, parsed; for reading."""
        data = request_document(self.before, self.after, self.field, (message.digest for message in self.messages))
        return cast("JsonObject", parse_hashed(data))


def http_request(*, method: str, path: str, query: str, headers: Iterable[tuple[str, str]], body: bytes) -> Request:
    """The request of an HTTP crossing.

    Args:
        method: as sent.
        path: as sent, percent-encoding untouched, without the query.
        query: as sent, without "?".
        headers: all headers; those of IDENTITY_HEADERS count.
        body: the exact bytes.
    """
    named: dict[str, str] = {}
    for name, value in headers:
        key = name.lower()
        if key in IDENTITY_HEADERS:
            named[key] = f"{named[key]}, {value}" if key in named else value
    parsed = _parse_body(body)
    before = b'{"body":' + parsed.document + b',"headers":' + canonical(named) + b',"messages":'
    after = b',"method":%b,"path":%b,"query":%b}' % (canonical(method), canonical(path), canonical(query))
    if parsed.field is None:
        before, after = before + b"null" + after, b""
    document = request_document(before, after, parsed.field, (message.digest for message in parsed.messages))
    return Request(
        before=before,
        after=after,
        field=parsed.field,
        messages=parsed.messages,
        digest=digest("request", document),
        blobs=parsed.blobs,
        raw=parsed.raw,
    )


def tool_request(*, name: str, arguments: object) -> Request:
    """The request of a tool call.

    Args:
        name: the tool's name.
        arguments: JSON text as the model wrote it, or a value. What has no canonical form is identified by its raw
            bytes: text as it is, a value by its encoding, or by why it has none.
    """
    blobs: tuple[Blob, ...] = ()
    raw: tuple[str, ...] = ()
    try:
        if isinstance(arguments, str):
            value: object = parse_exact(arguments)
        elif is_plain_json(arguments):
            value = arguments
        else:
            raise NotCanonical("a value that JSON would not give back as it is")
        document = canonical({"arguments": {"json": value}, "tool": identity_text(name)})
    except ValueError:
        data = arguments.encode("utf-8", "surrogatepass") if isinstance(arguments, str) else _encoded(arguments)
        blob = Blob(kind="raw", digest=digest("raw", data), data=data)
        blobs, raw = (blob,), ("arguments",)
        document = canonical({"arguments": {"raw": blob.digest}, "tool": identity_text(name)})
    return Request(
        before=document, after=b"", field=None, messages=(), digest=digest("request", document), blobs=blobs, raw=raw
    )


def _encoded(value: object) -> bytes:
    try:
        return encode_value(value)
    except Unreplayable as error:
        return str(error).encode("utf-8")


def stored_request(
    *, before: bytes, after: bytes, field: str | None, digests: Iterable[Digest], read: Callable[[Digest], bytes]
) -> Request:
    """A request as it was stored, with all that its digests stand for.

    Args:
        before: bytes up to the messages.
        after: bytes behind them.
        field: the field that held them, if any.
        digests: the messages' digests.
        read: bytes by digest; KeyError where there are none.

    Raises:
        DamagedError: it is no request of ours, or a message is none.
    """
    names = tuple(digests)
    document = request_document(before, after, field, names)
    blobs = [_message_blob(name, read(name)) for name in names]
    try:
        parsed = _checked(parse_hashed(document))
        values = [parse_hashed(blob.data) if blob.kind == "message" else None for blob in blobs]
    except (ValueError, msgspec.ValidationError) as error:
        raise DamagedError(
            "A recorded request is damaged.",
            expected="the fields of docs/design/identity.md, Requests",
            found=str(error),
            next_step="Restore the file from a copy, or record the run again.",
        ) from error
    blobs.extend(_raw(read(name)) for name in _raw_digests(parsed))
    messages = tuple(Message(digest=name, value=value) for name, value in zip(names, values, strict=True))
    return Request(
        before=before,
        after=after,
        field=field,
        messages=messages,
        digest=digest("request", document),
        blobs=tuple(blobs),
    )


class _BodyDocument(msgspec.Struct, forbid_unknown_fields=True):
    json: Any = msgspec.UNSET
    raw: dict[str, str] | str = msgspec.field(default_factory=dict[str, str])


class _MessagesDocument(msgspec.Struct, forbid_unknown_fields=True):
    field: Literal["messages", "input", "contents"]
    digests: list[str]


class _HttpDocument(msgspec.Struct, forbid_unknown_fields=True):
    method: str
    path: str
    query: str
    headers: dict[str, str]
    body: _BodyDocument | None
    messages: _MessagesDocument | None


class _ToolDocument(msgspec.Struct, forbid_unknown_fields=True):
    tool: str
    arguments: _BodyDocument


def _checked(document: Json) -> JsonObject:
    """A request's document, if it has the fields of one."""
    is_tool = isinstance(document, dict) and "tool" in document
    msgspec.convert(document, _ToolDocument if is_tool else _HttpDocument)
    return cast("JsonObject", document)


def _message_blob(name: Digest, data: bytes) -> Blob:
    return Blob(kind="message" if digest("message", data) == name else "raw", digest=name, data=data)


def _raw_digests(document: JsonObject) -> list[Digest]:
    held = document.get("body", document.get("arguments"))
    raw = held.get("raw") if isinstance(held, dict) else None
    return [Digest(str(item)) for item in (raw.values() if isinstance(raw, dict) else [raw] if raw else [])]


def identity_text(value: str) -> str:
    """`value` as our own documents hold it: itself, or `anchored-raw:<digest>` if it is not valid Unicode."""
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return "anchored-raw:" + digest("raw", value.encode("utf-8", "surrogatepass"))
    return value


@dataclass(frozen=True, kw_only=True, slots=True)
class _Body:
    document: bytes
    field: str | None = None
    messages: tuple[Message, ...] = ()
    blobs: tuple[Blob, ...] = ()
    raw: tuple[str, ...] = ()


def _parse_body(body: bytes) -> _Body:
    if not body:
        return _Body(document=b"null")
    try:
        content = body.decode("utf-8")
        try:
            return _whole(parse_exact(content))
        except NotCanonical:
            return _by_members(content)
    except ValueError:
        blob = _raw(body)
        return _Body(document=canonical({"raw": blob.digest}), blobs=(blob,), raw=("body",))


def _whole(value: Json) -> _Body:
    """A body in which everything has a canonical form; raises NotCanonical if something has none."""
    if not isinstance(value, dict):
        return _Body(document=canonical({"json": value, "raw": {}}))
    name = _message_field(value)
    members = {key: member for key, member in value.items() if key != name}
    document = canonical({"json": members, "raw": {}})
    held = value[name] if name is not None else None
    if name is None or not isinstance(held, list):
        return _Body(document=document)
    messages: list[Message] = []
    blobs: list[Blob] = []
    for item in held:
        blob = _canonical_message(item)
        blobs.append(blob)
        messages.append(Message(digest=blob.digest, value=item))
    return _Body(document=document, field=name, messages=tuple(messages), blobs=tuple(blobs))


def _by_members(content: str) -> _Body:
    """A body in which something has no canonical form: the smallest field or message that needs it is taken raw."""
    spans = member_spans(content)
    names = [span.key for span in spans]
    if content.lstrip()[0] != "{" or len(set(names)) != len(names):
        raise NotCanonical("no object, or one key twice: only the whole body has an identity")
    texts = {span.key: content[span.start : span.end] for span in spans}
    field_name = next((name for name in MESSAGE_FIELDS if texts.get(name, "").startswith("[")), None)
    members: JsonObject = {}
    raw_members: JsonObject = {}
    messages: list[Message] = []
    blobs: list[Blob] = []
    raw: list[str] = []
    for key, member in texts.items():
        canonical(key)
        if key == field_name:
            continue
        try:
            value = parse_exact(member)
            canonical(value)
            members[key] = value
        except NotCanonical:
            blob = _raw(member.encode("utf-8"))
            raw_members[key] = blob.digest
            blobs.append(blob)
            raw.append(key)
    if field_name is not None:
        inner = texts[field_name]
        for number, span in enumerate(member_spans(inner)):
            item = inner[span.start : span.end]
            try:
                value = parse_exact(item)
                blob = _canonical_message(value)
                messages.append(Message(digest=blob.digest, value=value))
            except NotCanonical:
                blob = _raw(item.encode("utf-8"))
                messages.append(Message(digest=blob.digest, value=None))
                raw.append(f"{field_name}/{number}")
            blobs.append(blob)
    return _Body(
        document=canonical({"json": members, "raw": raw_members}),
        field=field_name,
        messages=tuple(messages),
        blobs=tuple(blobs),
        raw=tuple(raw),
    )


def _message_field(value: JsonObject) -> str | None:
    return next((name for name in MESSAGE_FIELDS if isinstance(value.get(name), list)), None)


def _canonical_message(value: Json) -> Blob:
    data = canonical(value)
    return Blob(kind="message", digest=digest("message", data), data=data)


def _raw(data: bytes) -> Blob:
    return Blob(kind="raw", digest=digest("raw", data), data=data)


def request_view(document: JsonObject, read: Callable[[Digest], bytes]) -> JsonObject:
    """A request for reading, with its messages back in their place.

    Args:
        document: the document that its digest stands for.
        read: bytes by digest.

    Returns:
        method, path, query, headers and body of an HTTP request, tool and arguments of a tool call. What is identified
        by raw bytes stands as `{"raw": digest}`.
    """
    if "tool" in document:
        return {"tool": document["tool"], "arguments": _opened(document["arguments"])}
    view = {key: document[key] for key in ("method", "path", "query", "headers")}
    held = document["body"]
    if held is None:
        return view  # no body at all is another thing than a body that is null
    body = _opened(held)
    if isinstance(held, dict) and isinstance(body, dict) and "json" in held:
        body = dict(body)
        body.update({key: {"raw": digest} for key, digest in cast("JsonObject", held["raw"]).items()})
        messages = cast("JsonObject | None", document["messages"])
        if messages is not None:
            digests = cast("list[Digest]", messages["digests"])
            body[str(messages["field"])] = [_message_view(digest, read) for digest in digests]
    return {**view, "body": body}


def _opened(held: Json) -> Json:
    return held["json"] if isinstance(held, dict) and "json" in held else held


def _message_view(message: Digest, read: Callable[[Digest], bytes]) -> Json:
    blob = _message_blob(message, read(message))
    return parse_hashed(blob.data) if blob.kind == "message" else {"raw": message}
