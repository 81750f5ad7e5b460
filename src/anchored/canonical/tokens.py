"""JSON text as tokens, its grammar checked without recursion.

Accepts what Python's `json` accepts, NaN and the infinities included, and nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_TOKEN = re.compile(
    r"""[ \t\n\r]*(?:
    (?P<mark>[][{},:]) |
    (?P<text>"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*") |
    (?P<other>-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null|NaN|-?Infinity) |
    (?P<end>\Z)
    )""",
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class Token:
    """A token: one of the marks `{}[],:`, a text in quotes, or another scalar."""

    text: str
    start: int
    end: int


class NotJson(ValueError):
    """The text is no JSON."""


def tokens(text: str) -> Iterator[Token]:
    """The tokens of a JSON text, its grammar checked on the way.

    Raises:
        NotJson: it is no JSON text.
    """
    enclosing: list[str] = []
    expected = "value"
    at = 0
    while True:
        match = _TOKEN.match(text, at)
        kind = match.lastgroup if match else None
        if match is None or kind is None:
            raise NotJson(f"no JSON at character {at}")
        if kind == "end":
            if expected != "end":
                raise NotJson("the text ends too early")
            return
        at = match.end()
        token = Token(match.group(kind), match.start(kind), at)
        expected = _after(token.text if kind == "mark" else kind, expected, enclosing, token)
        yield token


def _after(word: str, expected: str, enclosing: list[str], token: Token) -> str:
    """What may follow a token; raises NotJson if the token may not stand here."""
    if word in ("text", "other") and expected in ("value", "value or ]"):
        return _next(enclosing)
    if word == "text" and expected in ("name", "name or }"):
        return ":"
    if word in ("{", "[") and expected in ("value", "value or ]"):
        enclosing.append(word)
        return "name or }" if word == "{" else "value or ]"
    if word == ":" and expected == ":":
        return "value"
    if word == "," and expected in (", or }", ", or ]"):
        return "name" if expected == ", or }" else "value"
    if word in ("}", "]") and expected.endswith(f"or {word}"):
        enclosing.pop()
        return _next(enclosing)
    raise NotJson(f"{word} at character {token.start}, where {expected} is expected")


def _next(enclosing: list[str]) -> str:
    if not enclosing:
        return "end"
    return ", or }" if enclosing[-1] == "{" else ", or ]"
