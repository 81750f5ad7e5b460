"""Replay as a pure session: match, intervene, go live, diverge."""

from anchored.replaying.anchors import resolve_anchor
from anchored.replaying.answers import Answer, Diverge, Enter, GoLive, Intervene, Serve, Wait
from anchored.replaying.asked import Asked
from anchored.replaying.comparison import Step, compare, parting
from anchored.replaying.differences import ABSENT, Absent, Difference, first_difference
from anchored.replaying.divergence import Divergence
from anchored.replaying.interventions import Guide, Intervention, Unchanged, intervention_from
from anchored.replaying.plan import ReplayPlan, plan_from
from anchored.replaying.policy import CONTAINER_KINDS, SAFE_EFFECTS, check_replayable, containers, covered_positions
from anchored.replaying.session import Session

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
