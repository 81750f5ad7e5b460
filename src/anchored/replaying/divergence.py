"""A divergence: the first request that is not the recorded one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, cast

from anchored.canonical import Json, JsonObject, storable
from anchored.events import Begin, identity_text
from anchored.replaying.asked import Asked
from anchored.replaying.differences import ABSENT, Absent, Difference, first_difference

DivergenceKind: TypeAlias = Literal["changed", "extra", "missing", "result"]
"""A request that is another than the recorded one; one more than was recorded; one that never came; or a result that
was not handed out as recorded."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Divergence:
    """What differs, where, and how.

    Attributes:
        kind: what sort of divergence.
        position: the place in the log.
        recorded_call: agent, kind and name of the recorded event; empty if there is none.
        actual_call: the same of what the program did.
        path: JSON Pointer to the first differing field; "" where whole events differ.
        recorded: the recorded value there, or ABSENT.
        actual: the actual value there, or ABSENT.
    """

    kind: DivergenceKind
    position: int
    recorded_call: str
    actual_call: str
    path: str
    recorded: Json | Absent
    actual: Json | Absent

    def document(self) -> JsonObject:
        """As stored and as `--json` shows it: an absent value has no key."""
        document: JsonObject = {
            "kind": self.kind,
            "position": self.position,
            "recorded_call": self.recorded_call,
            "actual_call": self.actual_call,
            "path": self.path,
        }
        if not isinstance(self.recorded, Absent):
            document["recorded"] = self.recorded
        if not isinstance(self.actual, Absent):
            document["actual"] = self.actual
        return cast("JsonObject", storable(document))

    @classmethod
    def from_document(cls, document: JsonObject) -> Divergence:
        """Inverts `document`."""
        return cls(
            kind=cast("DivergenceKind", document["kind"]),
            position=cast("int", document["position"]),
            recorded_call=str(document["recorded_call"]),
            actual_call=str(document["actual_call"]),
            path=str(document["path"]),
            recorded=document.get("recorded", ABSENT),
            actual=document.get("actual", ABSENT),
        )


def call_of(entry: Begin | Asked) -> str:
    """Agent, kind and name, as people read them."""
    return f"{entry.actor or 'unknown agent'}: {entry.kind} {entry.name}"


def changed(begin: Begin, recorded: JsonObject, asked: Asked, actual: JsonObject) -> Divergence:
    """The divergence between a recorded request and the one that came in its place.

    Args:
        begin: the recorded begin.
        recorded: its request, for reading.
        asked: what the program asked.
        actual: its request, for reading.
    """
    difference = first_difference(_whole(begin, recorded), _whole(asked, actual))
    if difference is None and begin.request != asked.request.digest:
        difference = Difference(path="/body", recorded=begin.request, actual=asked.request.digest)
    if difference is None:
        difference = Difference(path="/edges", recorded=_edges(begin), actual=_edges(asked))
    return Divergence(
        kind="changed",
        position=begin.position,
        recorded_call=call_of(begin),
        actual_call=call_of(asked),
        path=difference.path,
        recorded=difference.recorded,
        actual=difference.actual,
    )


def _whole(entry: Begin | Asked, request: JsonObject) -> JsonObject:
    """Fields in the order in which people want to hear of them: what and who, the request, where it came from."""
    who = None if entry.actor is None else identity_text(entry.actor)
    call_id = None if entry.call_id is None else identity_text(entry.call_id)
    what: JsonObject = {"kind": entry.kind, "actor": who, "name": identity_text(entry.name)}
    return {**what, **request, "call_id": call_id, "parent": entry.parent}


def _edges(entry: Begin | Asked) -> Json:
    return [{"kind": edge.kind, "position": edge.position} for edge in entry.edges]
