"""The child's side: what stands between the program and its models and tools."""

from anchored.boundary.actors import acting, current_actor
from anchored.boundary.crossing import Crossing, Gate, Passage, Poisoned
from anchored.boundary.effects import Declarations, declared_by, declaring
from anchored.boundary.failures import keep_by
from anchored.boundary.guard import door_open, unbound
from anchored.boundary.process import current_gate, final, use_gate
from anchored.boundary.recorder import Recorder
from anchored.boundary.replayer import Replayer
from anchored.boundary.tools import ToolCall, is_at_work, tool

__all__ = [
    "Crossing",
    "Declarations",
    "Gate",
    "Passage",
    "Poisoned",
    "Recorder",
    "Replayer",
    "ToolCall",
    "acting",
    "current_actor",
    "current_gate",
    "declared_by",
    "declaring",
    "door_open",
    "final",
    "is_at_work",
    "keep_by",
    "tool",
    "unbound",
    "use_gate",
]
