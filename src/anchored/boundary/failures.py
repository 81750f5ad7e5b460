"""Exceptions the program saw: kept as data, and raised again as what they were, without importing anything by name."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from typing import Any, cast

from anchored.boundary.crossing import Gate, Passage
from anchored.canonical import JsonObject
from anchored.events import Failure, Raised, decode_value, encode_value


class RecordedToolError(Exception):
    """Stands for a recorded exception whose class is not loaded here or cannot be rebuilt equal."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(f"{failure.error_class}: {failure.message}")
        self.failure = failure


_CANCELLATIONS = frozenset({"asyncio.exceptions.CancelledError", "trio.Cancelled"})
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")
"""Where a live object is in memory, which its arguments' texts may say."""

_KEPT: dict[str, tuple[Callable[[Any], object], Callable[[Any], Exception]]] = {}
"""How the exceptions of a library are taken apart and put together, by class name."""


def keep_by(kind: type[Exception], take: Callable[[Any], object], make: Callable[[Any], Exception]) -> None:
    """Lets exceptions of one class, whose arguments hold live objects, be kept and raised again as what they were.

    Args:
        kind: exactly this class.
        take: plain data that says what an exception is. Raises where there is none.
        make: the exception that such data says; inverts `take`.
    """
    _KEPT[f"{kind.__module__}.{kind.__qualname__}"] = take, make


def failure_parts(error: Exception) -> tuple[str, str, bytes | None]:
    """An exception that another one holds, as plain data. `error_of_parts` inverts it."""
    failure = failure_of(error)
    return failure.error_class, failure.message, failure.arguments


def error_of_parts(parts: tuple[str, str, bytes | None]) -> Exception:
    """The exception that `failure_parts` gave, or one that stands for it."""
    return rebuild(Failure(error_class=parts[0], message=parts[1], arguments=parts[2]))


def is_cancellation(failure: Failure) -> bool:
    """Whether the program gave the call up."""
    return failure.error_class in _CANCELLATIONS


def failure_of(error: BaseException) -> Failure:
    """What is kept of an exception; of one that stands for a recorded one, the recorded; of a cancellation that it is
    one, since some libraries put addresses into its message.
    """
    if isinstance(error, RecordedToolError):
        return error.failure
    kind = type(error)
    name = f"{kind.__module__}.{kind.__qualname__}"
    if name in _CANCELLATIONS:
        return Failure(error_class=name, message="", arguments=None)
    try:
        message = str(error)
    except Exception:  # the program's own `__str__` may raise
        message = ""
    if name in _KEPT:
        message = _ADDRESS.sub("", message)
    try:
        arguments = encode_value(_parts(error, name))
    except Exception:  # and so may what tells how to rebuild it
        arguments = None
    return Failure(error_class=name, message=message, arguments=arguments)


def _parts(error: BaseException, name: str) -> tuple[object, object]:
    """What an exception can be rebuilt from: the arguments of its class, and its attributes."""
    kept = _KEPT.get(name)
    if kept is not None:
        return kept[0](error), None
    made: Any = error.__reduce__()
    if made[0] is not type(error):
        raise TypeError("made by something else than its class")
    return made[1], made[2] if len(made) > 2 else None


def rebuild(failure: Failure) -> Exception:
    """The exception that a failure describes, if its class is loaded, is an Exception and rebuilds equal.

    Otherwise a RecordedToolError that says what it was.
    """
    kind = _loaded_class(failure.error_class)
    if kind is not None and failure.arguments is not None:
        try:
            arguments, state = cast(
                "tuple[tuple[object, ...], dict[str, object] | None]", decode_value(failure.arguments)
            )
            kept = _KEPT.get(failure.error_class)
            error = kind(*arguments) if kept is None else kept[1](arguments)
            if state is not None:
                error.__setstate__(state)
        except Exception:  # any constructor may refuse; the fallback below says what it was
            error = None
        if error is not None and failure_of(error) == failure:
            return error
    return RecordedToolError(failure)


def end_with_failure(gate: Gate, passage: Passage, error: Exception) -> None:
    """Ends a served event with the exception that the program is about to get, and says so if it is a stand-in."""
    observation: JsonObject = {"substituted": True} if isinstance(error, RecordedToolError) else {}
    gate.end(passage, outcome=passage.outcome, result=Raised(error=failure_of(error)), observation=observation)


def _loaded_class(name: str) -> type[Exception] | None:
    parts = name.split(".")
    for cut in range(len(parts) - 1, 0, -1):
        found: object = sys.modules.get(".".join(parts[:cut]))
        if found is None:
            continue
        for part in parts[cut:]:
            found = getattr(found, part, None)
        return found if isinstance(found, type) and issubclass(found, Exception) else None
    return None
