"""A recording: task, initial state, run configuration, log, stop reason, final answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol, cast

from anchored.canonical import Digest, Json, JsonObject, jcs_digest, storable
from anchored.errors import DamagedError
from anchored.events import Begin, Entry, Request, Result, request_view, result_from_blobs
from anchored.recording.anchor import Anchor, anchor_on, check_anchor
from anchored.recording.documents import Closing, Final, Opening, Stop, to_document
from anchored.recording.log import Event, Log

Observation = JsonObject
"""What was seen of an entry and is in no digest: time, lane, thread, origin, other headers."""


class Contents(Protocol):
    """Bytes by digest, verified by whoever provides them."""

    def blob(self, digest: Digest) -> bytes:
        """Bytes of a message, body, result or raw part; KeyError if there are none."""
        ...

    def request(self, digest: Digest) -> Request:
        """The request that a digest stands for; KeyError if there is none."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Record:
    """An entry and what was observed of it.

    Attributes:
        entry: what the digest covers.
        observation: what it does not cover; `lane` is null until lanes are recorded.
    """

    entry: Entry
    observation: Observation


@dataclass(frozen=True, kw_only=True, slots=True)
class Note:
    """Something said about a run outside its log: a hello, a poison, a connection that was not observed, …"""

    kind: str
    document: JsonObject


@dataclass(frozen=True, kw_only=True, slots=True)
class Program:
    """What a program is made of, as it was seen.

    Attributes:
        files: SHA-256 of the bytes by path, relative to the folder in which the program was started.
        packages: version by name.
    """

    files: dict[str, str]
    packages: dict[str, str]


@dataclass(frozen=True, kw_only=True, slots=True)
class Summary:
    """What a recording digest is made of, each part as the digest of its document or null."""

    task: Digest | None
    state: Digest | None
    configuration: Digest
    stop: Digest | None
    final: Digest | None
    size: int
    head: Digest

    @property
    def recording(self) -> Digest:
        """`H("recording", JCS{task, state, configuration, stop, final, size, head})`."""
        return jcs_digest("recording", self.document())

    def document(self) -> JsonObject:
        return {
            "task": self.task,
            "state": self.state,
            "configuration": self.configuration,
            "stop": self.stop,
            "final": self.final,
            "size": self.size,
            "head": self.head,
        }


def summarize(
    *, log: Log, task: str | None, state: str, configuration: JsonObject, stop: Stop | None, final: Final | None
) -> Summary:
    """The parts of a recording digest."""
    return Summary(
        task=None if task is None else jcs_digest("task", storable(task)),
        state=None if state == "undeclared" else jcs_digest("state", state),
        configuration=jcs_digest("configuration", storable(configuration)),
        stop=None if stop is None else jcs_digest("stop", storable(to_document(stop))),
        final=None if final is None else jcs_digest("final", storable(to_document(final))),
        size=len(log),
        head=log.head,
    )


@dataclass(frozen=True, kw_only=True)
class Recording:
    """A whole run as it was read.

    Attributes:
        opening: what was known when it started.
        closing: what was known when it ended; None for a run that is going on or was killed (`unsealed`).
        records: the log with its observations.
        notes: what was said outside the log, in order, opening and closing left out.
        contents: the bytes that the digests stand for.
    """

    opening: Opening
    closing: Closing | None
    records: Sequence[Record]
    notes: Sequence[Note]
    contents: Contents = field(repr=False)

    @cached_property
    def log(self) -> Log:
        """The log, checked."""
        return Log([record.entry for record in self.records])

    @cached_property
    def summary(self) -> Summary:
        """The parts of the recording digest."""
        return summarize(
            log=self.log,
            task=self.opening.task,
            state=self.closing.state if self.closing else "undeclared",
            configuration=self.configuration,
            stop=self.closing.stop if self.closing else None,
            final=self.closing.final if self.closing else None,
        )

    @property
    def traces(self) -> list[str]:
        """Ids of the OpenTelemetry traces in which it ran, each once, in order."""
        return list(dict.fromkeys(str(note.get("trace_id")) for note in self.notes_of("trace")))

    @property
    def program(self) -> Program:
        """What the program is made of; of a file that was seen twice, as it was first."""
        files: dict[str, str] = {}
        packages: dict[str, str] = {}
        for note in reversed(self.notes_of("loaded")):
            files.update(cast("dict[str, str]", note["files"]))
            packages.update(cast("dict[str, str]", note["packages"]))
        return Program(files=dict(sorted(files.items())), packages=dict(sorted(packages.items())))

    @property
    def configuration(self) -> JsonObject:
        """The run configuration, as far as it is known."""
        return cast("JsonObject", self.closing.configuration if self.closing else self.opening.configuration)

    @property
    def digest(self) -> Digest:
        """The recording digest."""
        return self.summary.recording

    def anchor_at(self, position: int) -> Anchor:
        """The anchor on the event that begins at `position`.

        Raises:
            AnchorError: none begins there, or another event is in flight there; with the nearest that can serve.
        """
        check_anchor(self.log, position)
        return anchor_on(self.log, self.opening.run, position)

    def notes_of(self, kind: str) -> list[JsonObject]:
        """Documents of all notes of a kind, in order."""
        return [note.document for note in self.notes if note.kind == kind]

    def observation(self, position: int) -> Observation:
        """What was observed of the entry at `position`."""
        return self.records[position].observation

    def request(self, begin: Begin) -> JsonObject:
        """The request of a begin, for reading: parts that are identified by raw bytes stand as `{"raw": digest}`."""
        return request_view(self.contents.request(begin.request).document(), self.contents.blob)

    def sent(self, event: Event) -> JsonObject | None:
        """The request that really went out, for reading, where an intervention changed it; None elsewhere."""
        held = None if event.end is None else self.observation(event.end.position).get("sent")
        if not isinstance(held, str):
            return None
        return request_view(self.contents.request(Digest(held)).document(), self.contents.blob)

    def result(self, event: Event) -> Result | None:
        """The result of an event; None where there is none or it could not be kept."""
        if event.end is None or event.end.result is None:
            return None
        return result_from_blobs(event.end.result, self.contents.blob)


def check_closing(recording: Recording) -> None:
    """Raises `DamagedError` unless the closing states the size, head and digest that the log has."""
    closing = recording.closing
    if closing is None:
        return
    stated: list[Json] = [closing.size, closing.head, closing.recording]
    actual: list[Json] = [len(recording.log), recording.log.head, recording.digest]
    if stated != actual:
        raise DamagedError(
            "The closing of the recording does not fit its log.",
            expected=f"size, head and digest {stated}",
            found=f"{actual}",
            next_step="Restore the file from a copy, or record the run again.",
        )
