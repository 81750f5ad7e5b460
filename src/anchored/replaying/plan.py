"""The replay plan: everything that decides what an attempt does, bound by one digest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal, cast

import msgspec

from anchored.canonical import Digest, JsonObject, as_digest, jcs_digest
from anchored.errors import DamagedError
from anchored.recording import Anchor
from anchored.replaying.interventions import Intervention, Unchanged, intervention_from

_UNCHANGED = Unchanged()


@dataclass(frozen=True, kw_only=True, slots=True)
class ReplayPlan:
    """What is replayed, up to where, and what is changed there.

    Attributes:
        source: recording digest of the source.
        anchor: where live execution starts; None replays to the end, nothing live.
        intervention: what is changed at the anchor.
        command: the command, if it is not the recorded one.
        effects_allowed: tools without a harmless declared effect may run live.
        declarations: pattern over tool names → effect, as declared for this replay.
        unobserved: hosts that may be reached outside the boundary.
        origins: recorded origin → origin used instead.
        background: patterns of HTTP requests that are answered locally, outside the order.
    """

    source: Digest
    anchor: Anchor | None
    intervention: Intervention = _UNCHANGED
    command: tuple[str, ...] | None = None
    effects_allowed: bool = False
    declarations: tuple[tuple[str, str], ...] = ()
    unobserved: tuple[str, ...] = ()
    origins: tuple[tuple[str, str], ...] = ()
    background: tuple[str, ...] = ()

    def document(self) -> JsonObject:
        anchor = self.anchor
        held: JsonObject | None = None
        if anchor is not None:
            held = {
                "event": anchor.event,
                "position": anchor.position,
                "entry": anchor.entry,
                "prefix": anchor.prefix,
            }
        return {
            "source": self.source,
            "anchor": held,
            "intervention": self.intervention.document(),
            "command": None if self.command is None else list(self.command),
            "effects": "allow" if self.effects_allowed else "refuse",
            "declarations": [[pattern, effect] for pattern, effect in self.declarations],
            "unobserved": list(self.unobserved),
            "origins": [[old, new] for old, new in self.origins],
            "background": list(self.background),
        }

    @property
    def digest(self) -> Digest:
        """`H("plan", JCS(document))`."""
        return jcs_digest("plan", self.document())

    @property
    def declarations_digest(self) -> Digest | None:
        """Digest of the declarations made for this replay; None if there are none."""
        return jcs_digest("declarations", self.document()["declarations"]) if self.declarations else None

    def run_id(self, attempt: int) -> Digest:
        """The id of the run that is attempt `attempt` (from 1) of this plan."""
        return jcs_digest("run", {"source": self.source, "plan": self.digest, "attempt": attempt})


def plan_from(document: JsonObject) -> ReplayPlan:
    """Inverts `ReplayPlan.document`.

    Raises:
        DamagedError: it describes no plan.
    """
    try:
        held = msgspec.convert(document, _PlanDocument)
        anchor = held.anchor
        return ReplayPlan(
            source=as_digest(held.source),
            anchor=None
            if anchor is None
            else Anchor(
                event=as_digest(anchor.event),
                position=anchor.position,
                entry=as_digest(anchor.entry),
                prefix=as_digest(anchor.prefix),
            ),
            intervention=intervention_from(cast("JsonObject", held.intervention)),
            command=None if held.command is None else tuple(held.command),
            effects_allowed=held.effects == "allow",
            declarations=tuple(held.declarations),
            unobserved=tuple(held.unobserved),
            origins=tuple(held.origins),
            background=tuple(held.background),
        )
    except msgspec.ValidationError as error:
        raise DamagedError(
            "The plan of a replay is damaged.",
            expected="the fields of a replay plan",
            found=str(error),
            next_step="Restore the file from a copy.",
        ) from error


class _AnchorDocument(msgspec.Struct, forbid_unknown_fields=True):
    event: str
    position: Annotated[int, msgspec.Meta(ge=0)]
    entry: str
    prefix: str


class _PlanDocument(msgspec.Struct, forbid_unknown_fields=True):
    source: str
    anchor: _AnchorDocument | None
    intervention: dict[str, Any]
    command: list[str] | None
    effects: Literal["allow", "refuse"]
    declarations: list[tuple[str, str]]
    unobserved: list[str]
    origins: list[tuple[str, str]]
    background: list[str]
