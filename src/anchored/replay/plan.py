"""The replay plan: everything that decides what an attempt does, bound by one digest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from anchored.canonical import Digest, JsonObject, jcs_digest
from anchored.errors import DamagedError
from anchored.recording import Anchor
from anchored.replay.interventions import Intervention, Unchanged, intervention_from

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
    """

    source: Digest
    anchor: Anchor | None
    intervention: Intervention = _UNCHANGED
    command: tuple[str, ...] | None = None
    effects_allowed: bool = False
    declarations: tuple[tuple[str, str], ...] = ()
    unobserved: tuple[str, ...] = ()
    origins: tuple[tuple[str, str], ...] = ()

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
        held = cast("dict[str, str | int] | None", document["anchor"])
        command = cast("list[str] | None", document["command"])
        plan = ReplayPlan(
            source=Digest(str(document["source"])),
            anchor=None if held is None else Anchor(**cast("dict[str, object]", held)),  # pyright: ignore[reportArgumentType]
            intervention=intervention_from(cast("JsonObject", document["intervention"])),
            command=None if command is None else tuple(command),
            effects_allowed=document["effects"] == "allow",
            declarations=_pairs(document, "declarations"),
            unobserved=tuple(cast("list[str]", document["unobserved"])),
            origins=_pairs(document, "origins"),
        )
        if plan.document() == document:
            return plan
        found = "other fields"
    except (KeyError, TypeError, ValueError) as error:
        found = f"{type(error).__name__}: {error}"
    raise DamagedError(
        "The plan of a replay is damaged.",
        expected="the fields of a replay plan",
        found=found,
        next_step="Restore the file from a copy.",
    )


def _pairs(document: JsonObject, key: str) -> tuple[tuple[str, str], ...]:
    return tuple((first, second) for first, second in cast("list[list[str]]", document[key]))
