"""anchored: was a failing multi-agent run repaired, or only resampled?

Programs are recorded and replayed from the command line and need nothing from here. What a program may say of itself:
`@anchored.tool(effect=…)` declares what a tool does to the world, `anchored.final(text)` what the final answer is. The
same as on the command line is done by `record`, `load`, `replay` and `verify`.
"""

from typing import TYPE_CHECKING

from anchored.boundary.process import final
from anchored.boundary.tools import tool

if TYPE_CHECKING:
    from anchored.api import (
        Anchor,
        NotReproduced,
        Recording,
        Replay,
        Run,
        VerifiedReceipt,
        VerifiedRun,
        load,
        record,
        replay,
        verify,
    )

__version__ = "0.1.0"

__all__ = [
    "Anchor",
    "NotReproduced",
    "Recording",
    "Replay",
    "Run",
    "VerifiedReceipt",
    "VerifiedRun",
    "__version__",
    "final",
    "load",
    "record",
    "replay",
    "tool",
    "verify",
]


def __getattr__(name: str) -> object:
    """What is not needed by a program that is recorded is imported when it is first used."""
    if name in __all__:
        from anchored import api

        return getattr(api, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
