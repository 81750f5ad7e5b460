"""What is changed at the anchor. `none` is an intervention too, and is the control."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from anchored.canonical import Digest, JsonObject, jcs_digest, member_spans
from anchored.errors import DamagedError, RefusedError
from anchored.events import model_kind


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


Intervention: TypeAlias = Unchanged | Guide


def intervention_from(document: JsonObject) -> Intervention:
    """Inverts `document` of an intervention.

    Raises:
        DamagedError: it describes none.
    """
    if document == {"kind": "none"}:
        return Unchanged()
    if document.get("kind") == "guide" and isinstance(document.get("text"), str) and len(document) == 2:
        return Guide(text=cast("str", document["text"]))
    raise DamagedError(
        "The intervention of a replay is damaged.",
        expected="kind none, or kind guide with a text",
        found=str(document)[:200],
        next_step="Restore the file from a copy.",
    )
