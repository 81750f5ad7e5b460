"""Text from anywhere, made safe to show to people."""

from __future__ import annotations

import unicodedata


def visible(text: str, *, lines: bool = False) -> str:
    """Text from a trace with control, bidi and other invisible characters written out.

    Args:
        text: anything.
        lines: keep line breaks.
    """
    return "".join(
        character if _harmless(character) or (lines and character == "\n") else _escaped(character)
        for character in text
    )


def _harmless(character: str) -> bool:
    return character == " " or (character.isprintable() and unicodedata.category(character) not in ("Cf", "Cs", "Co"))


def _escaped(character: str) -> str:
    return (
        character.encode("unicode_escape").decode("ascii")
        if ord(character) < 0xD800 or ord(character) > 0xDFFF
        else f"\\u{ord(character):04x}"
    )


def clip(text: str, width: int) -> str:
    """Text in one line of at most `width` characters."""
    line = visible(text)
    return line if len(line) <= width else line[: width - 1] + "…"
