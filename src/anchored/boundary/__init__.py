"""The child's side: what stands between the program and its models and tools."""

from anchored.boundary.actors import Noticed, acting, chosen_by, current_actor, stepwise
from anchored.boundary.crossing import POISON_TEXT, Crossing, Gate, Passage, Poisoned
from anchored.boundary.effects import Declarations, declared_by, declaring
from anchored.boundary.failures import failure_of, keep_by, rebuild
from anchored.boundary.guard import door_open, unbound
from anchored.boundary.human import HumanInput
from anchored.boundary.process import current_gate, final, use_gate
from anchored.boundary.proxies import pass_on_proxies
from anchored.boundary.recorder import Recorder
from anchored.boundary.replayer import Replayer
from anchored.boundary.steps import Step, current_step
from anchored.boundary.tools import ToolCall, is_at_work, tool

__all__ = [
    "POISON_TEXT",
    "Crossing",
    "Declarations",
    "Gate",
    "HumanInput",
    "Noticed",
    "Passage",
    "Poisoned",
    "Recorder",
    "Replayer",
    "Step",
    "ToolCall",
    "acting",
    "chosen_by",
    "current_actor",
    "current_gate",
    "current_step",
    "declared_by",
    "declaring",
    "door_open",
    "failure_of",
    "final",
    "is_at_work",
    "keep_by",
    "pass_on_proxies",
    "rebuild",
    "stepwise",
    "tool",
    "unbound",
    "use_gate",
]
