"""Replay as a pure session: match, intervene, go live, diverge."""

from anchored.replaying.ambient import (
    AMBIENT,
    AMBIENT_INCOMPLETE,
    Stream,
    Streams,
    ambient_digest,
    ambient_kinds,
    ambient_note,
    anchor_of,
    is_ambient,
    is_incomplete,
    recorded_ambient,
)
from anchored.replaying.anchors import resolve_anchor
from anchored.replaying.answers import Ambiguous, Answer, Diverge, Enter, GoLive, Intervene, Replace, Serve, Wait
from anchored.replaying.asked import Asked
from anchored.replaying.background import (
    background_name,
    background_pattern,
    check_not_recorded,
    check_pattern,
    likely_background,
)
from anchored.replaying.changed import Changed, changed_since
from anchored.replaying.comparison import Step, compare, parting
from anchored.replaying.differences import ABSENT, Absent, Difference, first_difference
from anchored.replaying.divergence import Divergence
from anchored.replaying.interventions import (
    Acting,
    Call,
    EditRequest,
    Guide,
    Intervention,
    ReplaceResult,
    RequestChange,
    SwapModel,
    Unchanged,
    intervention_from,
)
from anchored.replaying.patch import PatchError
from anchored.replaying.plan import ReplayPlan, plan_from
from anchored.replaying.policy import (
    CONTAINER_KINDS,
    SAFE_EFFECTS,
    check_replayable,
    containers,
    covered_positions,
    why_unreplayable,
)
from anchored.replaying.replacement import text_replacement, whole_replacement
from anchored.replaying.session import Session
from anchored.replaying.words import difference_lines, divergence_lines, where

__all__ = [
    "ABSENT",
    "AMBIENT",
    "AMBIENT_INCOMPLETE",
    "CONTAINER_KINDS",
    "SAFE_EFFECTS",
    "Absent",
    "Acting",
    "Ambiguous",
    "Answer",
    "Asked",
    "Call",
    "Changed",
    "Difference",
    "Diverge",
    "Divergence",
    "EditRequest",
    "Enter",
    "GoLive",
    "Guide",
    "Intervene",
    "Intervention",
    "PatchError",
    "Replace",
    "ReplaceResult",
    "ReplayPlan",
    "RequestChange",
    "Serve",
    "Session",
    "Step",
    "Stream",
    "Streams",
    "SwapModel",
    "Unchanged",
    "Wait",
    "ambient_digest",
    "ambient_kinds",
    "ambient_note",
    "anchor_of",
    "background_name",
    "background_pattern",
    "changed_since",
    "check_not_recorded",
    "check_pattern",
    "check_replayable",
    "compare",
    "containers",
    "covered_positions",
    "difference_lines",
    "divergence_lines",
    "first_difference",
    "intervention_from",
    "is_ambient",
    "is_incomplete",
    "likely_background",
    "parting",
    "plan_from",
    "recorded_ambient",
    "resolve_anchor",
    "text_replacement",
    "where",
    "whole_replacement",
    "why_unreplayable",
]
