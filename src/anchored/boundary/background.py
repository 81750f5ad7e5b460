"""Background requests at the boundary: what came of them is noted, and answers them in a replay."""

from __future__ import annotations

import base64
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, cast

from anchored.boundary.actors import give_choice_back
from anchored.boundary.crossing import Background, Crossing, Passage
from anchored.canonical import JsonObject
from anchored.events import HttpResult, Outcome, Result
from anchored.recording import Recording
from anchored.replaying import background_pattern

NOTE = "background"
"""Kind of the notes."""

_MOST_NOTES = 1000
"""Background requests that are noted one by one, and (method, path) pairs of which an answer is kept."""

_LARGEST_BODY = 256 * 1024
"""Bytes; a larger answer is not kept."""

_NOTHING = HttpResult(status=200, headers=(("content-type", "application/json"),), body=b"{}")
"""The answer to what was never answered while recording; clients parse it."""


class Say(Protocol):
    """`Gate.note`."""

    def __call__(self, kind: str, document: JsonObject, *, once: bool = False) -> None: ...


def background_of(crossing: Crossing, patterns: Sequence[str]) -> Background | None:
    """The crossing as a background request; None if it is not declared as one. A model call never is one."""
    if crossing.kind != "http" or not _is_declared(crossing, patterns):
        return None
    give_choice_back(crossing.chosen_by)
    return Background(method=crossing.method, origin=crossing.origin, path=crossing.path)


def misdeclared(crossing: Crossing, patterns: Sequence[str]) -> str | None:
    """The pattern that declares a model call as background; None if none does."""
    if crossing.kind == "http":
        return None
    return background_pattern(patterns, origin=crossing.origin, path=crossing.path)


def _is_declared(crossing: Crossing, patterns: Sequence[str]) -> bool:
    return background_pattern(patterns, origin=crossing.origin, path=crossing.path) is not None


class BackgroundNotes:
    """Notes what came of background requests while recording.

    Each is noted, the first so many of them, with its answer where that is another than the one noted last for its
    method and path. What could not be noted then is noted at the end.
    """

    def __init__(self, say: Say) -> None:
        self._say = say
        self._lock = threading.RLock()
        self._noted = 0
        self._last: dict[tuple[str, str], HttpResult] = {}
        self._untold: dict[tuple[str, str], JsonObject] = {}

    def ended(self, background: Background, result: Result | None, *, whole: bool) -> None:
        """A background request was answered, or broke off. Where it is not `whole` its answer cannot be served."""
        document: JsonObject = {
            "method": background.method,
            "origin": background.origin,
            "path": background.path,
            "status": result.status if isinstance(result, HttpResult) else None,
        }
        key = (background.method, background.path)
        with self._lock:
            if whole and isinstance(result, HttpResult) and self._is_new(key, result):
                document["headers"] = [[name, value] for name, value in result.headers]
                document["body"] = base64.b64encode(result.body).decode("ascii")
            if self._noted >= _MOST_NOTES:
                if "body" in document:
                    self._untold[key] = document
                return
            self._noted += 1
        self._say(NOTE, document)

    def close(self) -> None:
        """Nothing more comes."""
        with self._lock:
            untold = list(self._untold.values())
            self._untold.clear()
        for document in untold:
            self._say(NOTE, document)

    def forked(self) -> None:
        """A lock held in the process that was forked is not held here."""
        self._lock = threading.RLock()
        self._untold = {}

    def _is_new(self, key: tuple[str, str], result: HttpResult) -> bool:
        """Whether an answer is to be kept; what broke off, or is too large, is none."""
        plain = replace(result, closed=False)
        if result.error is not None or len(result.body) > _LARGEST_BODY or self._last.get(key) == plain:
            return False
        if key not in self._last and len(self._last) >= _MOST_NOTES:
            return False
        self._last[key] = plain
        return True


@dataclass(frozen=True, kw_only=True, slots=True)
class _Key:
    method: str
    path: str


class BackgroundAnswers:
    """Answers background requests in a replay: nothing goes out.

    Args:
        source: the recording; what it noted last for a method and path is the answer.
        say: where each kind of request that came is noted, once.
    """

    def __init__(self, source: Recording, say: Say) -> None:
        self._answers = dict(_kept(source.notes_of(NOTE)))
        self._say = say
        self._lock = threading.RLock()
        self._noted: set[Background] = set()

    def answer(self, background: Background) -> Passage:
        """The recorded answer to this method and path, else 200 and an empty JSON object."""
        result = self._answers.get(_Key(method=background.method, path=background.path), _NOTHING)
        if background.method == "HEAD":
            result = replace(result, body=b"")
        with self._lock:
            new = background not in self._noted and len(self._noted) < _MOST_NOTES
            if new:
                self._noted.add(background)
        if new:
            document: JsonObject = {
                "method": background.method,
                "origin": background.origin,
                "path": background.path,
                "status": result.status,
            }
            self._say(NOTE, document)
        return Passage(action="serve", begin=None, result=result, outcome=Outcome.SUCCESS)

    def forked(self) -> None:
        """A lock held in the process that was forked is not held here."""
        self._lock = threading.RLock()


def _kept(notes: Iterable[JsonObject]) -> Iterable[tuple[_Key, HttpResult]]:
    for note in notes:
        if "body" in note:
            headers = cast("list[list[str]]", note["headers"])
            result = HttpResult(
                status=cast("int", note["status"]),
                headers=tuple((name, value) for name, value in headers),
                body=base64.b64decode(str(note["body"])),
            )
            yield _Key(method=str(note["method"]), path=str(note["path"])), result
