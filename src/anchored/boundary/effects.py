"""What is declared about a tool's effect, by a decorator in the program or a pattern in the project."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Literal, TypeAlias

from anchored.events import Declared

Effect: TypeAlias = Literal["none", "read", "write"]
EFFECTS = ("none", "read", "write")
EFFECT_ATTRIBUTE = "__anchored_effect__"
"""Where `@anchored.tool` leaves its word on a function; `functools.wraps` carries it along."""


class Declarations:
    """Patterns over tool names, first match wins.

    Args:
        patterns: (pattern, effect) in order, as in `anchored.toml`.
    """

    def __init__(self, patterns: Sequence[tuple[str, str]] = ()) -> None:
        self._patterns = tuple(patterns)

    def of(self, name: str, function: object = None) -> Declared:
        """What is declared of the tool `name`; the project's patterns win over the function's decorator."""
        for pattern, effect in self._patterns:
            if fnmatchcase(name, pattern):
                return Declared(effect=effect)
        return Declared(effect=declared_by(function))


def declared_by(function: object) -> str | None:
    """The effect that `@anchored.tool` declared on a function; None if none did."""
    effect = getattr(function, EFFECT_ATTRIBUTE, None)
    return effect if effect in EFFECTS else None


class _Declaring:
    """Stands for a function that an adapter does not have."""


def declaring(effect: str | None) -> object:
    """What declares an effect in a function's place, where a server's or framework's own word is all there is."""
    stand_in = _Declaring()
    setattr(stand_in, EFFECT_ATTRIBUTE, effect)
    return stand_in
