"""A divergence in words, for a terminal and for a test's report; everything from a trace is escaped."""

from __future__ import annotations

import json

from anchored.canonical import Json, clip, visible
from anchored.replaying.differences import Absent
from anchored.replaying.divergence import Divergence

_WINDOW = 48
_WHAT = {
    "changed": "another request than the recorded one",
    "extra": "a call that was not recorded",
    "missing": "a recorded call that the program never made",
    "result": "a result that was not handed out as recorded",
}


def where(divergence: Divergence) -> str:
    """The place of a divergence and whose call it is, in a few words."""
    if divergence.kind == "extra":
        return f"diverged after the recorded end at {divergence.position}, {visible(divergence.actual_call)}"
    return f"diverged at {divergence.position}, {visible(divergence.recorded_call)}"


def divergence_lines(divergence: Divergence) -> list[str]:
    """How a replay left the recording, in lines; `-` marks what was recorded, `+` what came."""
    lines = [f"  {_WHAT[divergence.kind]}"]
    if divergence.kind != "changed":
        return lines
    if divergence.actual_call != divergence.recorded_call:
        lines += [
            f"  - expected  {visible(divergence.recorded_call)}",
            f"  + came      {visible(divergence.actual_call)}",
        ]
    recorded, actual = difference_lines(divergence.recorded, divergence.actual)
    return [
        *lines,
        f"    field     {visible(divergence.path) or '/'}, the first that differs",
        f"  - recorded  {recorded}",
        f"  + actual    {actual}",
    ]


def difference_lines(recorded: Json | Absent, actual: Json | Absent) -> tuple[str, str]:
    """Both values of a difference; of long texts only what lies around the place where they part."""
    if isinstance(recorded, str) and isinstance(actual, str):
        pairs = enumerate(zip(recorded, actual, strict=False))
        at = next((place for place, (one, other) in pairs if one != other), min(len(recorded), len(actual)))
        return _window(recorded, at), _window(actual, at)
    return _one_side(recorded), _one_side(actual)


def _window(text: str, at: int) -> str:
    start, end = max(0, at - _WINDOW), at + _WINDOW
    before, after = "…" if start else "", "…" if end < len(text) else ""
    return f'{before}"{visible(text[start:end])}"{after}'


def _one_side(value: Json | Absent) -> str:
    return "nothing" if isinstance(value, Absent) else clip(json.dumps(value, ensure_ascii=False), 2 * _WINDOW)
