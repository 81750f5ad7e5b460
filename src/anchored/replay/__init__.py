"""Replay as a pure session: match, intervene, go live, diverge."""

from anchored.replay.anchors import resolve_anchor
from anchored.replay.answers import Answer, Diverge, Enter, GoLive, Intervene, Serve, Wait
from anchored.replay.asked import Asked
from anchored.replay.comparison import Step, compare, parting
from anchored.replay.differences import ABSENT, Absent, Difference, first_difference
from anchored.replay.divergence import Divergence
from anchored.replay.interventions import Guide, Intervention, Unchanged, intervention_from
from anchored.replay.plan import ReplayPlan, plan_from
from anchored.replay.policy import CONTAINER_KINDS, SAFE_EFFECTS, check_replayable, containers, covered_positions
from anchored.replay.session import Session

__all__ = [
    "ABSENT",
    "CONTAINER_KINDS",
    "SAFE_EFFECTS",
    "Absent",
    "Answer",
    "Asked",
    "Difference",
    "Diverge",
    "Divergence",
    "Enter",
    "GoLive",
    "Guide",
    "Intervene",
    "Intervention",
    "ReplayPlan",
    "Serve",
    "Session",
    "Step",
    "Unchanged",
    "Wait",
    "check_replayable",
    "compare",
    "containers",
    "covered_positions",
    "first_difference",
    "intervention_from",
    "parting",
    "plan_from",
    "resolve_anchor",
]
