"""What the assistant says in one answer, before it is written in a format, and what the formats share."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from anchored.testing.conversation import Json, ToolCall
from anchored.testing.draw import Draw

FIRST_CREATED = 1_700_000_000

PIECE = 16
"""Characters of a call's arguments in one event of a stream, at most."""

_WORD = re.compile(r"\S+\s*|\s+")


@dataclass(frozen=True, kw_only=True)
class Said:
    """A text, calls of tools, or both."""

    text: str | None
    """None is sent as null where the format has it; an empty text is none elsewhere."""
    calls: tuple[ToolCall, ...] | None
    """Their ids are without a prefix, which is the format's. None where no tools were meant to be called."""


def created(draw: Draw) -> int:
    """A time from the draw, in seconds since 1970."""
    return FIRST_CREATED + draw.number("created", below=10_000_000)


def tokens(value: Json) -> int:
    """About four characters to a token: no tokenizer, but it grows with the text as a real count does."""
    return -(-len(json.dumps(value)) // 4)


def words(text: str) -> list[str]:
    """A text in the pieces in which it is streamed."""
    return _WORD.findall(text)


def halves(arguments: str) -> list[str]:
    """A call's arguments in at least two pieces, as far as they have two characters."""
    size = max(1, min(PIECE, -(-len(arguments) // 2)))
    return [arguments[start : start + size] for start in range(0, len(arguments), size)]
