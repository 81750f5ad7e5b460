"""The child's side: what stands between the program and its models and tools."""

from anchored.boundary.actors import acting, current_actor
from anchored.boundary.crossing import Crossing, Gate, Passage, Poisoned
from anchored.boundary.effects import Declarations, declared_by
from anchored.boundary.failures import failure_of, rebuild
from anchored.boundary.process import current_gate, final, use_gate
from anchored.boundary.recorder import Recorder
from anchored.boundary.replayer import Replayer
from anchored.boundary.tools import ToolCall, tool

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
    "failure_of",
    "final",
    "rebuild",
    "tool",
    "use_gate",
]
