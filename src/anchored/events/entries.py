"""Begin and end entries: what the log holds, and what their digests cover (docs/design/identity.md)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias, cast, get_args

from anchored.canonical import Digest, Json, JsonObject, as_digest, jcs_digest
from anchored.errors import DamagedError
from anchored.events.outcome import Outcome
from anchored.events.requests import identity_text

Kind: TypeAlias = Literal[
    "chat", "text_completion", "embeddings", "generate_content", "execute_tool", "retrieve", "human_input", "http"
]
"""What kind of crossing: OpenTelemetry GenAI operation names where they exist, `http` otherwise."""

EdgeKind: TypeAlias = str
"""What shows a recorded edge: `call_id`, one call id in both; `message`, one message in both; `history`, an earlier
request whose messages are kept; `speaker_selection`, the framework's choice. An adapter may have words of its own."""

_KINDS: tuple[str, ...] = get_args(Kind)
_EDGE_KIND = re.compile(r"[a-z][a-z_]{0,39}")


@dataclass(frozen=True, kw_only=True, slots=True, order=True)
class Edge:
    """A dependency on an earlier entry, recorded with the event.

    Attributes:
        position: the earlier entry that this one depends on.
        kind: what shows it.
    """

    position: int
    kind: EdgeKind


@dataclass(frozen=True, kw_only=True, slots=True)
class Declared:
    """What was declared of an event's effect when it was recorded; None where nothing was.

    Attributes:
        effect: "none", "read" or "write".
        idempotency_token: the token that names one effect.
        reads: digest of what it read.
        writes: digest of what it wrote.
    """

    effect: str | None = None
    idempotency_token: str | None = None
    reads: str | None = None
    writes: str | None = None


@dataclass(frozen=True, kw_only=True)
class Begin:
    """What was asked.

    Attributes:
        position: its place in the log, from 0.
        kind: what kind of crossing.
        actor: the agent that acts; None where no adapter says.
        name: the model or the tool; method and path for `http`.
        parent: position of the enclosing event's begin.
        call_id: the framework's id of the tool call.
        request: the request's digest.
        edges: recorded dependencies, sorted.
        declared: effect and its details, as declared when recorded.
    """

    position: int
    kind: Kind
    actor: str | None
    name: str
    parent: int | None
    call_id: str | None
    request: Digest
    edges: tuple[Edge, ...] = ()
    declared: Declared = Declared()

    def document(self) -> JsonObject:
        edges: list[Json] = [{"kind": edge.kind, "position": edge.position} for edge in self.edges]
        return {
            "entry": "begin",
            "position": self.position,
            "kind": self.kind,
            "actor": _optional(self.actor),
            "name": identity_text(self.name),
            "parent": self.parent,
            "call_id": _optional(self.call_id),
            "request": self.request,
            "edges": edges,
            "effect": self.declared.effect,
            "idempotency_token": _optional(self.declared.idempotency_token),
            "reads": self.declared.reads,
            "writes": self.declared.writes,
        }

    @cached_property
    def digest(self) -> Digest:
        return jcs_digest("entry", self.document())


@dataclass(frozen=True, kw_only=True)
class End:
    """What came of it.

    Attributes:
        position: its place in the log.
        begin: position of the begin that it ends.
        begin_digest: that begin's digest, so that the end covers all that the begin covers.
        outcome: success, failure, abort or unknown.
        result: the result's digest; None where the result could not be kept.
    """

    position: int
    begin: int
    begin_digest: Digest
    outcome: Outcome
    result: Digest | None

    def document(self) -> JsonObject:
        return {
            "entry": "end",
            "position": self.position,
            "begin": {"position": self.begin, "digest": self.begin_digest},
            "outcome": self.outcome.value,
            "result": self.result,
        }

    @cached_property
    def digest(self) -> Digest:
        return jcs_digest("entry", self.document())


Entry: TypeAlias = Begin | End


def entry_from_document(document: JsonObject) -> Entry:
    """The entry that a document describes; inverts `Begin.document` and `End.document`.

    Raises:
        DamagedError: a field is missing, unknown, or of the wrong kind.
    """
    try:
        entry = _end(document) if document.get("entry") == "end" else _begin(document)
    except (KeyError, TypeError, ValueError) as error:
        raise _damaged(f"{type(error).__name__}: {error}") from error
    if entry.document() != document:
        raise _damaged("fields that no entry has")
    return entry


def _begin(document: JsonObject) -> Begin:
    edges = cast("list[JsonObject]", document["edges"])
    return Begin(
        position=_position(document["position"]),
        kind=cast("Kind", _one_of(document["kind"], _KINDS)),
        actor=_text_or_none(document["actor"]),
        name=_text(document["name"]),
        parent=None if document["parent"] is None else _position(document["parent"]),
        call_id=_text_or_none(document["call_id"]),
        request=as_digest(document["request"]),
        edges=tuple(Edge(position=_position(edge["position"]), kind=_edge_kind(edge["kind"])) for edge in edges),
        declared=Declared(
            effect=_text_or_none(document["effect"]),
            idempotency_token=_text_or_none(document["idempotency_token"]),
            reads=_text_or_none(document["reads"]),
            writes=_text_or_none(document["writes"]),
        ),
    )


def _end(document: JsonObject) -> End:
    begin = cast("JsonObject", document["begin"])
    return End(
        position=_position(document["position"]),
        begin=_position(begin["position"]),
        begin_digest=as_digest(begin["digest"]),
        outcome=_ended(document["outcome"]),
        result=None if document["result"] is None else as_digest(document["result"]),
    )


def _ended(value: Json) -> Outcome:
    outcome = Outcome(_text(value))
    if outcome in (Outcome.PLANNED, Outcome.PENDING):
        raise ValueError(f"{outcome} is no outcome of an event that has ended")
    return outcome


def _position(value: Json) -> int:
    if type(value) is not int or value < 0:
        raise ValueError(f"{value!r} is no position")
    return value


def _edge_kind(value: Json) -> EdgeKind:
    if not isinstance(value, str) or not _EDGE_KIND.fullmatch(value):
        raise ValueError(f"{value!r} is no kind of edge")
    return value


def _one_of(value: Json, words: tuple[str, ...]) -> str:
    if value not in words:
        raise ValueError(f"{value!r} is none of {', '.join(words)}")
    return str(value)


def _text(value: Json) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value


def _text_or_none(value: Json) -> str | None:
    return None if value is None else _text(value)


def _optional(value: str | None) -> str | None:
    return None if value is None else identity_text(value)


def _damaged(found: str) -> DamagedError:
    return DamagedError(
        "An entry of the log is damaged.",
        expected="the fields of docs/design/identity.md, Entries",
        found=found,
        next_step="Restore the file from a copy, or record the run again.",
    )
