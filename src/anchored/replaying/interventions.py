"""What is changed at the anchor. `none` is an intervention too, and is the control."""

from __future__ import annotations

import base64
import json
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Protocol, TypeAlias

import msgspec

from anchored.canonical import Digest, JsonObject, as_digest, jcs_digest, member_spans
from anchored.errors import DamagedError, RefusedError
from anchored.events import HttpResult, ToolValue, decode_value, model_kind
from anchored.replaying.patch import PatchError, apply_patch, parse_patch


class RequestChange(Protocol):
    """Something that changes a copy of the anchor's request."""

    def apply(self, *, method: str, path: str, body: bytes) -> bytes:
        """The body that goes out in place of `body`.

        Raises:
            RefusedError: this request cannot be changed so. Its problem says why, in one line.
        """
        ...


class _Documented(ABC):
    """What an intervention is in a plan."""

    __slots__ = ()

    @abstractmethod
    def document(self) -> JsonObject:
        """All of it, as the plan holds it."""

    @property
    def digest(self) -> Digest:
        """`H("intervention", JCS(document))`."""
        return jcs_digest("intervention", self.document())


@dataclass(frozen=True, kw_only=True, slots=True)
class Unchanged(_Documented):
    """Nothing is changed: the control."""

    def document(self) -> JsonObject:
        return {"kind": "none"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Guide(_Documented):
    """One user message is appended to the model call at the anchor.

    Attributes:
        text: the message.
    """

    text: str

    def document(self) -> JsonObject:
        return {"kind": "guide", "text": self.text}

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
class EditRequest(_Documented):
    """A JSON Patch (RFC 6902) is applied to the JSON body of the request at the anchor.

    Attributes:
        patch: the patch, as JSON text. What it adds goes out as it stands there.

    Raises:
        PatchError: it is no patch, or an empty one.
    """

    patch: str

    def __post_init__(self) -> None:
        if not parse_patch(self.patch):
            raise PatchError("the patch has no operation: it changes nothing")

    def document(self) -> JsonObject:
        return {"kind": "edit_request", "patch": self.patch}

    def apply(self, *, method: str, path: str, body: bytes) -> bytes:
        """The body with the patch applied; what no operation names keeps its bytes.

        Raises:
            RefusedError: it is no JSON, has nothing where an operation needs something, or a `test` fails.
        """
        try:
            return apply_patch(body.decode("utf-8"), parse_patch(self.patch)).encode("utf-8")
        except ValueError as error:  # PatchError, and what is no UTF-8
            raise RefusedError(
                f"The request cannot be edited: {error}",
                expected="a JSON body to which each operation of the patch applies",
                found=f"{method} {path}",
                next_step="Correct the patch; `anchored show RUN --event E --full` shows the request.",
            ) from error


@dataclass(frozen=True, kw_only=True, slots=True)
class SwapModel(_Documented):
    """Another model is asked at the anchor.

    Attributes:
        model: its name.
    """

    model: str

    def document(self) -> JsonObject:
        return {"kind": "swap_model", "model": self.model}

    def apply(self, *, method: str, path: str, body: bytes) -> bytes:
        """The body with this model in its member `model`; every other byte stays as it was.

        Raises:
            RefusedError: it has no such member, or not as a text.
        """
        try:
            content = body.decode("utf-8")
            spans = [span for span in member_spans(content) if span.key == "model"]
            if len(spans) == 1 and content.startswith('"', spans[0].start):
                name = json.dumps(self.model, ensure_ascii=False)
                return (content[: spans[0].start] + name + content[spans[0].end :]).encode("utf-8")
        except ValueError:
            pass
        raise RefusedError(
            "The model of this request cannot be swapped: its body names none.",
            expected="a JSON body with one member `model`, a text",
            found=f"{method} {path}",
            next_step="Choose an anchor on a model call that names its model in the body.",
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Call(_Documented):
    """A function of the user's changes the request at the anchor.

    What it does follows from no document, so it is marked opaque. It is called where the program runs, by the
    boundary, and only if its module's file is still the one that the plan names.

    Attributes:
        target: "module:function", the module as the program's folder has it.
        source: `H("call-source", bytes of that module's file)`. What the module imports is not in it.

    Raises:
        ValueError: the target is of another form.
    """

    target: str
    source: Digest

    def __post_init__(self) -> None:
        module, _, name = self.target.partition(":")
        parts = (*module.split("."), *name.split("."))
        if module == "__main__" or not all(part.isidentifier() for part in parts):
            raise ValueError(f"{self.target!r} is not module:function")

    def document(self) -> JsonObject:
        return {"kind": "call", "target": self.target, "source": self.source, "opaque": True}


@dataclass(frozen=True, kw_only=True, slots=True)
class ReplaceResult(_Documented):
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


Intervention: TypeAlias = Unchanged | Guide | EditRequest | SwapModel | Call | ReplaceResult

Acting: TypeAlias = Unchanged | ReplaceResult | RequestChange
"""What acts in the program's process; a `Call` does once the boundary has bound it to its function."""


class _Strict(msgspec.Struct, forbid_unknown_fields=True):
    pass


class _Nothing(_Strict, tag="none", tag_field="kind"):
    pass


class _Guided(_Strict, tag="guide", tag_field="kind"):
    text: str


class _Edited(_Strict, tag="edit_request", tag_field="kind"):
    patch: str


class _Swapped(_Strict, tag="swap_model", tag_field="kind"):
    model: str


class _Called(_Strict, tag="call", tag_field="kind"):
    target: str
    source: str
    opaque: bool


class _ReplacedValue(_Strict):
    kind: Literal["replace_result"]
    value: str


class _ReplacedResponse(_Strict):
    kind: Literal["replace_result"]
    status: Annotated[int, msgspec.Meta(ge=100, le=599)]
    headers: list[tuple[str, str]]
    body: str


def intervention_from(document: JsonObject) -> Intervention:
    """Inverts `document` of an intervention.

    Raises:
        DamagedError: it describes none.
    """
    if document.get("kind") == "replace_result":
        return ReplaceResult(result=_replacement(document))
    try:
        held = msgspec.convert(document, _Nothing | _Guided | _Edited | _Swapped | _Called)
        if isinstance(held, _Guided):
            return Guide(text=held.text)
        if isinstance(held, _Edited):
            return EditRequest(patch=held.patch)
        if isinstance(held, _Swapped):
            return SwapModel(model=held.model)
        if isinstance(held, _Called):
            if not held.opaque:
                raise ValueError("a call that is not opaque")
            return Call(target=held.target, source=as_digest(held.source))
        return Unchanged()
    except ValueError as error:  # msgspec's errors, and those of patches and targets, are of this kind
        raise DamagedError(
            "The intervention of a replay is damaged.",
            expected="a kind of intervention with exactly its fields",
            found=f"{error}: {document}"[:200],
            next_step="Restore the file from a copy.",
        ) from error


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
