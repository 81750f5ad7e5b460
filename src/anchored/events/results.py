"""Results and their identity: the exact bytes that the program was handed (docs/design/identity.md)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

import msgspec

from anchored.canonical import Digest, JsonObject, as_digest, canonical, digest, parse_own
from anchored.errors import DamagedError
from anchored.events.requests import Blob, identity_text

SERVED_HEADERS = (
    "content-type",
    "location",
    "request-id",
    "retry-after",
    "retry-after-ms",
    "x-request-id",
    "x-should-retry",
)
"""The response headers that are identified and served. All others are kept as observation and never served."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Failure:
    """An exception that the program saw.

    Attributes:
        error_class: module and qualified name, such as "httpx.ConnectError".
        message: `str(error)`.
        arguments: what it is rebuilt from, its arguments and attributes, as `encode_value` writes the pair; None where
            they cannot be encoded.
    """

    error_class: str
    message: str
    arguments: bytes | None

    def document(self) -> JsonObject:
        held = None if self.arguments is None else digest("body", self.arguments)
        return {"arguments": held, "class": identity_text(self.error_class), "message": identity_text(self.message)}

    def blobs(self) -> tuple[Blob, ...]:
        return () if self.arguments is None else (_body_blob(self.arguments),)


@dataclass(frozen=True, kw_only=True, slots=True)
class HttpResult:
    """An HTTP response as handed to the program.

    Attributes:
        status: status code.
        headers: (name in lower case, value) pairs of SERVED_HEADERS, in the order received.
        body: bytes after content decoding, as far as the program read them.
        closed: the program stopped reading before the end.
        error: what broke the body off, if anything did.
    """

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
    closed: bool = False
    error: Failure | None = None

    def document(self) -> JsonObject:
        document: JsonObject = {
            "status": self.status,
            "headers": [[name, identity_text(value)] for name, value in self.headers],
            "body": digest("body", self.body),
            "closed": self.closed,
        }
        if self.error is not None:
            document["error"] = self.error.document()
        return document

    def contents(self) -> tuple[Blob, ...]:
        return (_body_blob(self.body), *(self.error.blobs() if self.error else ()))


@dataclass(frozen=True, kw_only=True, slots=True)
class Raised:
    """An exception in place of a response or value."""

    error: Failure

    def document(self) -> JsonObject:
        return {"error": self.error.document()}

    def contents(self) -> tuple[Blob, ...]:
        return self.error.blobs()


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolValue:
    """A tool's value, as `encode_value` writes it."""

    value: bytes

    def document(self) -> JsonObject:
        return {"value": digest("body", self.value)}

    def contents(self) -> tuple[Blob, ...]:
        return (_body_blob(self.value),)


Result: TypeAlias = HttpResult | Raised | ToolValue


def result_blob(result: Result) -> Blob:
    """The result's document, whose digest identifies it."""
    data = canonical(result.document())
    return Blob(kind="result", digest=digest("result", data), data=data)


def served_headers(headers: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Those of `headers` that are identified and served."""
    return tuple((name.lower(), value) for name, value in headers if name.lower() in SERVED_HEADERS)


def result_from_blobs(result: Digest, read: Callable[[Digest], bytes]) -> Result:
    """The result that a digest stands for; inverts `result_blob` together with `contents`.

    Args:
        result: the result's digest.
        read: bytes by digest; verified by whoever provides it.
    """
    document = parse_own(read(result), what="A recorded result")
    try:
        if "value" in document:
            return ToolValue(value=read(as_digest(msgspec.convert(document, _ValueDocument).value)))
        if "status" not in document:
            return Raised(error=_failure(msgspec.convert(document, _RaisedDocument).error, read))
        held = msgspec.convert(document, _HttpDocument)
        return HttpResult(
            status=held.status,
            headers=tuple(held.headers),
            body=read(as_digest(held.body)),
            closed=held.closed,
            error=None if isinstance(held.error, msgspec.UnsetType) else _failure(held.error, read),
        )
    except (KeyError, msgspec.ValidationError) as error:
        raise DamagedError(
            "A recorded result is damaged.",
            expected="the fields of docs/design/identity.md, Results, and the bytes behind their digests",
            found=f"{type(error).__name__}: {error}",
            next_step="Restore the file from a copy, or record the run again.",
        ) from error


class _ErrorDocument(msgspec.Struct, forbid_unknown_fields=True, rename={"error_class": "class"}):
    error_class: str
    message: str
    arguments: str | None


class _RaisedDocument(msgspec.Struct, forbid_unknown_fields=True):
    error: _ErrorDocument


class _ValueDocument(msgspec.Struct, forbid_unknown_fields=True):
    value: str


class _HttpDocument(msgspec.Struct, forbid_unknown_fields=True):
    status: int
    headers: list[tuple[str, str]]
    body: str
    closed: bool
    error: _ErrorDocument | msgspec.UnsetType = msgspec.UNSET


def _failure(held: _ErrorDocument, read: Callable[[Digest], bytes]) -> Failure:
    return Failure(
        error_class=held.error_class,
        message=held.message,
        arguments=None if held.arguments is None else read(as_digest(held.arguments)),
    )


def _body_blob(data: bytes) -> Blob:
    return Blob(kind="body", digest=digest("body", data), data=data)
