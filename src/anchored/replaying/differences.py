"""The first place where two JSON values differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from anchored.canonical import Json


class Absent:
    """Stands for a value that is not there; the one instance is `ABSENT`."""

    def __repr__(self) -> str:
        return "nothing"


ABSENT: Final = Absent()


@dataclass(frozen=True, kw_only=True, slots=True)
class Difference:
    """Where two values part.

    Attributes:
        path: JSON Pointer (RFC 6901) to the place.
        recorded: the value there in the first; ABSENT if there is none.
        actual: the value there in the second; ABSENT if there is none.
    """

    path: str
    recorded: Json | Absent
    actual: Json | Absent


def first_difference(recorded: Json, actual: Json) -> Difference | None:
    """The first difference in document order: keys as the first has them, arrays by index. None if they are equal.

    Numbers are compared as RFC 8785 sees them (1 and 1.0 are equal), true and 1 are not.
    """
    stack: list[Difference] = [Difference(path="", recorded=recorded, actual=actual)]
    while stack:
        at = stack.pop()
        children = _children(at)
        if children is None:
            if not _equal(at.recorded, at.actual):
                return at
            continue
        stack.extend(reversed(children))
    return None


def _children(at: Difference) -> list[Difference] | None:
    one, other = at.recorded, at.actual
    if isinstance(one, dict) and isinstance(other, dict):
        return [
            Difference(path=f"{at.path}/{_escaped(key)}", recorded=one.get(key, ABSENT), actual=other.get(key, ABSENT))
            for key in (*one, *(key for key in other if key not in one))
        ]
    if isinstance(one, list) and isinstance(other, list):
        return [
            Difference(
                path=f"{at.path}/{number}",
                recorded=one[number] if number < len(one) else ABSENT,
                actual=other[number] if number < len(other) else ABSENT,
            )
            for number in range(max(len(one), len(other)))
        ]
    return None


def _equal(one: Json | Absent, other: Json | Absent) -> bool:
    return isinstance(one, bool) == isinstance(other, bool) and one == other


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")
