"""The log as it grows: positions, edges, observations; the part that recorder and replayer share."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable

from anchored.boundary.actors import current_parent
from anchored.boundary.crossing import Crossing
from anchored.boundary.lanes import lane_name, task_name
from anchored.boundary.steps import Step, current_step
from anchored.boundary.trace import active_trace
from anchored.canonical import Json, JsonObject
from anchored.events import Begin, Blob, Declared, Edge, End, Outcome, Request, Result, result_blob
from anchored.graph import Tracer
from anchored.library import Journal
from anchored.recording import Record
from anchored.replaying import Asked

Clock = Callable[[], int]
"""Nanoseconds since the epoch; observation only."""


_local = threading.local()
_threads = itertools.count()


def _thread() -> str:
    """This thread's name and its number among those that made crossings, which no two threads share; the task where it
    has no lane.
    """
    number: int | None = getattr(_local, "number", None)
    if number is None:
        number = _local.number = next(_threads)
    return f"{threading.current_thread().name} #{number}{task_name()}"


class Ledger:
    """Numbers entries, finds their edges, and writes them to the journal. Its caller holds a lock."""

    def __init__(self, journal: Journal, clock: Clock) -> None:
        self._journal = journal
        self._clock = clock
        self._size = 0
        self._open: set[int] = set()
        self._steps: dict[int, Step] = {}
        self._trace: Json = None
        self.tracer = Tracer()

    def asked(self, crossing: Crossing) -> Asked:
        """The crossing with its parent, edges and lane as they are now.

        What encloses an event is an event that is still open: a task may outlive the tool that started it, and a signal
        may leave a tool's frame without a trace.
        """
        parent = current_parent()
        return Asked(
            kind=crossing.kind,
            actor=crossing.actor,
            name=crossing.name,
            parent=parent if parent in self._open else None,
            call_id=crossing.call_id,
            request=crossing.request,
            edges=self.edges(crossing),
            origin=crossing.origin,
            lane=lane_name(),
        )

    def edges(self, crossing: Crossing) -> tuple[Edge, ...]:
        """What the crossing depends on, as it is now."""
        found = self.tracer.edges(
            actor=crossing.actor, call_id=crossing.call_id, request=crossing.request, chosen_by=crossing.chosen_by
        )
        step = current_step()
        return found if step is None else tuple(sorted({*found, *step.edges()}))

    def begin(self, asked: Asked, *, declared: Declared, observation: JsonObject, durable: bool) -> Begin:
        """Writes a begin entry at the next position."""
        begin = Begin(
            position=self._size,
            kind=asked.kind,
            actor=asked.actor,
            name=asked.name,
            parent=asked.parent,
            call_id=asked.call_id,
            request=asked.request.digest,
            edges=asked.edges,
            declared=declared,
        )
        seen: JsonObject = {"origin": asked.origin, "lane": asked.lane, **observation}
        trace = active_trace()
        if trace is not None:
            seen["trace"] = trace
            if trace["trace_id"] != self._trace:
                self._trace = trace["trace_id"]
                self._journal.note("trace", trace)
        if asked.request.raw:
            seen["raw"] = list(asked.request.raw)
        self._write(begin, seen, request=asked.request, blobs=asked.request.blobs, durable=durable)
        self._open.add(begin.position)
        step = current_step()
        if step is not None:
            step.begun = True
            self._steps[begin.position] = step
        self.tracer.begun(begin, asked.request)
        return begin

    def prepare_end(self, begin: Begin, outcome: Outcome, result: Result | None) -> tuple[End, tuple[Blob, ...]]:
        """The end entry at the next position, hashed from what the program was handed, and its bytes."""
        blobs = () if result is None else (result_blob(result), *result.contents())
        end = End(
            position=self._size,
            begin=begin.position,
            begin_digest=begin.digest,
            outcome=outcome,
            result=blobs[0].digest if blobs else None,
        )
        return end, blobs

    def end(
        self,
        begin: Begin,
        end: End,
        blobs: tuple[Blob, ...],
        result: Result | None,
        observation: JsonObject,
        *,
        text: str | None,
        sent: Request | None,
    ) -> None:
        """Writes an end entry, and with it the request that went out if that was not the one asked."""
        if sent is not None:
            observation = {**observation, "sent": sent.digest}
            blobs = (*blobs, *sent.blobs)
        self._write(end, observation, request=sent, blobs=blobs, durable=False)
        self._open.discard(begin.position)
        step = self._steps.pop(begin.position, None)
        if step is not None:
            step.last = end.position
        self.tracer.ended(begin, end, result, text)

    def copy(self, record: Record, *, request: Request | None, blobs: tuple[Blob, ...]) -> None:
        """Writes an entry of the source that a served tool covers, unchanged."""
        observation: JsonObject = {**record.observation, "covered": True}
        self._write(record.entry, observation, request=request, blobs=blobs, durable=False)

    def _write(
        self,
        entry: Begin | End,
        observation: JsonObject,
        *,
        request: Request | None,
        blobs: tuple[Blob, ...],
        durable: bool,
    ) -> None:
        seen: JsonObject = {
            **observation,
            "thread": _thread(),
            "time": str(self._clock()),
        }
        self._journal.append(Record(entry=entry, observation=seen), request=request, blobs=blobs, durable=durable)
        self._size += 1

    @property
    def size(self) -> int:
        """Entries so far."""
        return self._size
