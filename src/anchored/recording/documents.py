"""The documents around the log. This file owns the format: its version, its fields, and their check on reading."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias, TypeVar, cast

import msgspec

from anchored.canonical import Json, JsonObject
from anchored.errors import DamagedError, UnsupportedError

FORMAT = 1
"""Version of the format that this package writes."""

Mode: TypeAlias = Literal["record", "replay"]


class Replayed(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a replay replays.

    Attributes:
        source: the source's recording digest.
        plan: the replay plan's document.
        attempt: its number among the attempts of this plan, from 1.
    """

    source: str
    plan: dict[str, Any]
    attempt: int


class Opening(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is known when a run starts.

    Attributes:
        format: version of the format.
        run: the run's id; event ids derive from it.
        mode: record or replay.
        task: the task as the user stated it, if stated.
        configuration: what was configured before the start.
        replayed: what is replayed, in mode replay.
    """

    format: int
    run: str
    mode: Mode
    task: str | None
    configuration: dict[str, Any]
    replayed: Replayed | None = None


class Stop(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Why the run stopped.

    Attributes:
        reason: exit (the program ended by itself), signal, timeout, or ended (by the watchdog, after a refusal).
        status: exit status for exit, signal number for signal.
        detail: the framework's own words, such as "Maximum rounds (12) reached"; empty if it gave none.
    """

    reason: Literal["exit", "signal", "timeout", "ended"]
    status: int | None = None
    detail: str = ""

    @property
    def words(self) -> str:
        """The reason and its number, as people read them."""
        named = {"exit": f"exit {self.status}", "signal": f"signal {self.status}", "timeout": "time limit"}
        return named.get(self.reason, f"ended: {self.detail}")


class Final(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The final answer.

    Attributes:
        text: the answer.
        source: who says so: the adapter, the program, or `inferred` from the last successful model text.
    """

    text: str
    source: Literal["adapter", "program", "inferred"]


class Closing(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is known when a run has ended.

    Attributes:
        configuration: the whole run configuration, with what was learned while running.
        stop: why it stopped.
        final: the final answer, if there is one.
        state: tree digest of the declared state, or "undeclared".
        size: entries of the log.
        head: root of the log.
        recording: the recording digest.
    """

    configuration: dict[str, Any]
    stop: Stop
    final: Final | None
    state: str
    size: int
    head: str
    recording: str


_T = TypeVar("_T")


def to_document(value: msgspec.Struct) -> JsonObject:
    """The JSON object that is stored for a document."""
    return cast("JsonObject", msgspec.to_builtins(value))


def opening_from(document: JsonObject) -> Opening:
    """Inverts `to_document` for an opening.

    Raises:
        UnsupportedError: a newer version wrote it.
        DamagedError: it is not an opening.
    """
    version = document.get("format")
    if isinstance(version, int) and not isinstance(version, bool) and version > FORMAT:
        raise UnsupportedError(
            "This recording was written by a newer version.",
            expected=f"format {FORMAT} or older",
            found=f"format {version}",
            next_step="Install a newer `anchored`.",
        )
    opening = _convert(document, Opening, "The opening of the recording")
    if opening.format != FORMAT or (opening.mode == "replay") != (opening.replayed is not None):
        raise _damaged("The opening of the recording", f"format {opening.format}, mode {opening.mode}")
    return opening


def closing_from(document: JsonObject) -> Closing:
    """Inverts `to_document` for a closing."""
    return _convert(document, Closing, "The closing of the recording")


def replayed_from(document: Json) -> Replayed:
    """Inverts `to_document` for what a replay replays."""
    return _convert(cast("JsonObject", document), Replayed, "The statement of what is replayed")


def _convert(document: JsonObject, kind: type[_T], what: str) -> _T:
    try:
        return msgspec.convert(document, kind)
    except msgspec.ValidationError as error:
        raise _damaged(what, str(error)) from error


def _damaged(what: str, found: str) -> DamagedError:
    return DamagedError(
        f"{what} is damaged.",
        expected=f"the fields of format {FORMAT}",
        found=found,
        next_step="Restore the file from a copy, or record the run again.",
    )
