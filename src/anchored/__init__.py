"""anchored: was a failing multi-agent run repaired, or only resampled?

Programs are recorded and replayed from the command line and need nothing from here. What a program may say of itself:
`@anchored.tool(effect=…)` declares what a tool does to the world, `anchored.final(text)` what the final answer is.
"""

from anchored.boundary.process import final
from anchored.boundary.tools import tool

__version__ = "0.1.0"

__all__ = ["__version__", "final", "tool"]
