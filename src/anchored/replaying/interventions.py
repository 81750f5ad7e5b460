"""What is changed at the anchor. `none` is an intervention too, and is the control."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeAlias, cast

import msgspec

from anchored.canonical import Digest, JsonObject, jcs_digest, member_spans
from anchored.errors import DamagedError, RefusedError
from anchored.events import HttpResult, ToolValue, decode_value, model_kind


@dataclass(frozen=True, kw_only=True, slots=True)
class Unchanged:
    """Nothing is changed: the control."""

    def document(self) -> JsonObject:
        return {"kind": "none"}

    @property
    def digest(self) -> Digest:
        """`H("intervention", JCS(document))`."""
        return jcs_digest("intervention", self.document())


@dataclass(frozen=True, kw_only=True, slots=True)
class Guide:
    """One user message is appended to the model call at the anchor.

    Attributes:
        text: the message.
    """

    text: str

    def document(self) -> JsonObject:
        return {"kind": "guide", "text": self.text}

    @property
    def digest(self) -> Digest:
        """`H("intervention", JCS(document))`."""
        return jcs_digest("intervention", self.document())

    def apply(self, *, method: str, path: str, body: bytes) -> bytes:
        """The body with the message appended; every other byte stays as it was.

        Raises:
            RefusedError: no known wire format that holds messages.
        """
        message: dict[str, Any] = {"role": "user", "content": self.text}
        field = "input" if path.endswith("/responses") else "messages"
        if model_kind(method, path) == "chat":
            try:
                content = body.decode("utf-8")
                (span,) = [span for span in member_spans(content) if span.key == field]
                items = content[span.start : span.end]
                if items.startswith("["):
                    comma = "," if member_spans(items) else ""
                    addition = comma + json.dumps(message, ensure_ascii=False)
                    return (content[: span.end - 1] + addition + content[span.end - 1 :]).encode("utf-8")
            except ValueError:
                pass
        raise RefusedError(
            "Guidance cannot be put into this request.",
            expected=f"a chat request with an array of messages under {field!r}",
            found=f"{method} {path}",
            next_step="Choose an anchor on a model call in the OpenAI or Anthropic format.",
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class ReplaceResult:
    """The event at the anchor is given this result in place of what it would have got. It is not carried out.

    Attributes:
        result: what the program is handed.
    """

    result: HttpResult | ToolValue

    def document(self) -> JsonObject:
        result = self.result
        if isinstance(result, ToolValue):
            return {"kind": "replace_result", "value": result.value.decode("ascii")}
        return {
            "kind": "replace_result",
            "status": result.status,
            "headers": [[name, value] for name, value in result.headers],
            "body": base64.b64encode(result.body).decode("ascii"),
        }

    @property
    def digest(self) -> Digest:
        """`H("intervention", JCS(document))`."""
        return jcs_digest("intervention", self.document())


Intervention: TypeAlias = Unchanged | Guide | ReplaceResult


class _ReplacedValue(msgspec.Struct, forbid_unknown_fields=True):
    kind: Literal["replace_result"]
    value: str


class _ReplacedResponse(msgspec.Struct, forbid_unknown_fields=True):
    kind: Literal["replace_result"]
    status: Annotated[int, msgspec.Meta(ge=100, le=599)]
    headers: list[tuple[str, str]]
    body: str


def intervention_from(document: JsonObject) -> Intervention:
    """Inverts `document` of an intervention.

    Raises:
        DamagedError: it describes none.
    """
    if document == {"kind": "none"}:
        return Unchanged()
    if document.get("kind") == "guide" and isinstance(document.get("text"), str) and len(document) == 2:
        return Guide(text=cast("str", document["text"]))
    if document.get("kind") == "replace_result":
        return ReplaceResult(result=_replacement(document))
    raise DamagedError(
        "The intervention of a replay is damaged.",
        expected="kind none, kind guide with a text, or kind replace_result with a value or a response",
        found=str(document)[:200],
        next_step="Restore the file from a copy.",
    )


def _replacement(document: JsonObject) -> HttpResult | ToolValue:
    try:
        if "value" in document:
            value = msgspec.convert(document, _ReplacedValue).value.encode("ascii")
            decode_value(value)
            return ToolValue(value=value)
        held = msgspec.convert(document, _ReplacedResponse)
        body = base64.b64decode(held.body, validate=True)
        return HttpResult(status=held.status, headers=tuple(held.headers), body=body)
    except ValueError as error:  # msgspec's and base64's errors are of this kind
        raise DamagedError(
            "The replaced result of a replay is damaged.",
            expected="an encoded value, or status, headers and body in base64",
            found=str(error)[:200],
            next_step="Restore the file from a copy.",
        ) from error
