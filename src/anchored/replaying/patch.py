"""JSON Patch (RFC 6902) on JSON text: what an operation does not name keeps its very characters.

A value that is added stands as the patch has it, one that is moved or copied as the document has it. So big integers,
`1.50`, escapes and the order of members come through, which a parsed copy would lose.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal, TypeAlias, cast

from anchored.canonical import Span, clip, member_spans

_OPS = ("add", "remove", "replace", "move", "copy", "test")
_WITH_VALUE = ("add", "replace", "test")
_WITH_FROM = ("move", "copy")
_INDEX = re.compile(r"0|[1-9][0-9]{0,8}")
_ESCAPE = re.compile(r"~[01]")
_WHITE_SPACE = " \t\n\r"

Op: TypeAlias = Literal["add", "remove", "replace", "move", "copy", "test"]
Pointer: TypeAlias = tuple[str, ...]
"""Reference tokens of a JSON Pointer (RFC 6901), unescaped; empty for the whole document."""


class PatchError(ValueError):
    """It is no patch, or cannot be applied to this document."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Operation:
    """One operation.

    Attributes:
        op: what it does.
        path: where.
        source: `from` of `move` and `copy`; empty otherwise.
        value: JSON text of `add`, `replace` and `test`; empty otherwise.
    """

    op: Op
    path: Pointer
    source: Pointer = ()
    value: str = ""


def parse_patch(text: str) -> tuple[Operation, ...]:
    """The operations of a patch. Members that RFC 6902 does not know are ignored, as it says (section 4).

    Raises:
        PatchError: it is no patch.
    """
    try:
        if not text.lstrip(_WHITE_SPACE).startswith("["):
            raise PatchError("no array")
        elements = [text[span.start : span.end] for span in member_spans(text)]
    except ValueError as error:
        raise PatchError(f"the patch is no JSON array: {error}") from error
    return tuple(_operation(number, element) for number, element in enumerate(elements, start=1))


def apply_patch(text: str, operations: tuple[Operation, ...]) -> str:
    """A JSON text after all operations, in order.

    Raises:
        PatchError: one of them cannot be applied, or a `test` fails.
    """
    try:
        member_spans(text)
    except ValueError as error:
        raise PatchError(f"what is to be changed is no JSON: {error}") from error
    for number, operation in enumerate(operations, start=1):
        try:
            text = _apply(text, operation)
        except (ValueError, ArithmeticError, RecursionError) as error:
            where = clip(_shown(operation.path), 80)
            raise PatchError(f"operation {number}, {operation.op} {where}: {error}") from error
    return text


def _operation(number: int, text: str) -> Operation:
    members: dict[str, str] = {}
    for span in member_spans(text) if text.startswith("{") else ():
        if span.key in members and span.key in ("op", "path", "from", "value"):
            raise PatchError(f"operation {number} has {span.key!r} twice")
        members[span.key] = text[span.start : span.end]
    try:
        op = _text(members, "op")
        if op not in _OPS:
            raise PatchError(f"op is none of {', '.join(_OPS)}")
        path = _pointer(_text(members, "path"))
        source = _pointer(_text(members, "from")) if op in _WITH_FROM else ()
        if op in _WITH_VALUE and "value" not in members:
            raise PatchError("value is missing")
        if op == "move" and path != source and path[: len(source)] == source:
            raise PatchError("a value cannot be moved into itself")
    except PatchError as error:
        raise PatchError(f"operation {number}: {error}") from error
    value = members["value"] if op in _WITH_VALUE else ""
    return Operation(op=op, path=path, source=source, value=value)


def _text(members: dict[str, str], name: str) -> str:
    if name not in members:
        raise PatchError(f"{name} is missing")
    value: object = json.loads(members[name]) if members[name].startswith('"') else None
    if not isinstance(value, str):
        raise PatchError(f"{name} is no text")
    return value


def _pointer(text: str) -> Pointer:
    if text and not text.startswith("/"):
        raise PatchError(f"{clip(text, 80)!r} is no JSON Pointer: it does not begin with /")
    tokens = text.split("/")[1:]
    if any("~" in _ESCAPE.sub("", token) for token in tokens):
        raise PatchError(f"{clip(text, 80)!r} is no JSON Pointer: ~ stands only in ~0 and ~1")
    return tuple(token.replace("~1", "/").replace("~0", "~") for token in tokens)


def _shown(path: Pointer) -> str:
    return "".join("/" + token.replace("~", "~0").replace("/", "~1") for token in path) or '""'


def _apply(text: str, operation: Operation) -> str:
    match operation.op:
        case "add":
            return _add(text, operation.path, operation.value)
        case "remove":
            return _remove(text, operation.path)
        case "replace":
            return _put(text, _find(text, operation.path), operation.value)
        case "move":
            moved = _at(text, operation.source)
            if operation.source == operation.path:
                return text
            return _add(_remove(text, operation.source), operation.path, moved)
        case "copy":
            return _add(text, operation.path, _at(text, operation.source))
        case "test":
            if not _equal(_at(text, operation.path), operation.value):
                raise PatchError("the value there is another one")
            return text


def _find(text: str, path: Pointer) -> Span:
    """Where the value is that a pointer names."""
    start, end = len(text) - len(text.lstrip(_WHITE_SPACE)), len(text.rstrip(_WHITE_SPACE))
    for depth, token in enumerate(path):
        inner = text[start:end]
        members = member_spans(inner)
        place = _place(inner, members, token)
        if place is None or place == len(members):
            raise PatchError(f"there is nothing at {clip(_shown(path[: depth + 1]), 80)}")
        start, end = start + members[place].start, start + members[place].end
    return Span(key="", start=start, end=end)


def _place(text: str, members: list[Span], token: str) -> int | None:
    """Which member of a container a token names; None if an object lacks it, their number for the end of an array."""
    if text.startswith("["):
        if token == "-":
            return len(members)
        if not _INDEX.fullmatch(token) or int(token) > len(members):
            raise PatchError(f"{clip(token, 40)!r} is no index of an array of {len(members)}")
        return int(token)
    if not text.startswith("{"):
        raise PatchError(f"{clip(token, 40)!r} is looked for in a value that is no object and no array")
    places = [place for place, span in enumerate(members) if span.key == token]
    if len(places) > 1:
        raise PatchError(f"an object holds {clip(token, 40)!r} twice")
    return places[0] if places else None


def _at(text: str, path: Pointer) -> str:
    span = _find(text, path)
    return text[span.start : span.end]


def _put(text: str, span: Span, value: str) -> str:
    return text[: span.start] + value + text[span.end :]


def _add(text: str, path: Pointer, value: str) -> str:
    if not path:
        return _put(text, _find(text, ()), value)
    outer = _find(text, path[:-1])
    inner = text[outer.start : outer.end]
    members = member_spans(inner)
    place = _place(inner, members, path[-1])
    if place is not None and place < len(members):
        member = members[place]
        if inner.startswith("{"):
            return _put(text, outer, _put(inner, member, value))
        return _put(text, outer, inner[: member.start] + value + "," + inner[member.start :])
    name = json.dumps(path[-1], ensure_ascii=False) + ":" if inner.startswith("{") else ""
    end = members[-1].end if members else len(inner) - 1
    return _put(text, outer, inner[:end] + ("," if members else "") + name + value + inner[end:])


def _remove(text: str, path: Pointer) -> str:
    if not path:
        raise PatchError("the whole document cannot be taken away")
    outer = _find(text, path[:-1])
    inner = text[outer.start : outer.end]
    members = member_spans(inner)
    place = _place(inner, members, path[-1])
    if place is None or place == len(members):
        raise PatchError("there is nothing there")
    if place > 0:
        start, end = members[place - 1].end, members[place].end  # with the comma before it
    else:
        start, end = 1, members[0].end if len(members) == 1 else inner.index(",", members[0].end) + 1
    return _put(text, outer, inner[:start] + inner[end:])


def _equal(one: str, other: str) -> bool:
    """Equality of RFC 6902 § 4.6: numbers by value, objects whatever their order."""
    return _same(*(json.loads(text, parse_int=Decimal, parse_float=Decimal) for text in (one, other)))


def _same(one: Any, other: Any) -> bool:
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        left, right = cast("dict[str, Any]", one), cast("dict[str, Any]", other)
        return left.keys() == right.keys() and all(_same(value, right[key]) for key, value in left.items())
    if isinstance(one, list):
        ones, others = cast("list[Any]", one), cast("list[Any]", other)
        return len(ones) == len(others) and all(map(_same, ones, others))
    return bool(one == other)
