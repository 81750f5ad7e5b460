"""The gate while recording: everything passes, everything is written down, nothing is changed."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager

from anchored.boundary.actors import notice
from anchored.boundary.ambient import Ambient
from anchored.boundary.background import BackgroundNotes, background_of, misdeclared
from anchored.boundary.crossing import Crossing, Passage, Poisoned
from anchored.boundary.effects import Declarations
from anchored.boundary.guard import calling_client
from anchored.boundary.ledger import Clock, Ledger
from anchored.canonical import JsonObject
from anchored.errors import StoreError
from anchored.events import Begin, Declared, Outcome, Request, Result
from anchored.library import Journal


class Recorder:
    """Records one process. If the store fails, the program goes on and the recording says from where it lacks entries.

    Args:
        journal: where to write.
        clock: nanoseconds since the epoch.
        declarations: the project's word on tools' effects.
        background: patterns of HTTP requests that are no events.
        look: tells what the program is made of; asked at its first crossing and at its end, if given.
        ambient: the times and chances that the program sees, if they are recorded.
    """

    def __init__(
        self,
        journal: Journal,
        clock: Clock,
        declarations: Declarations,
        *,
        background: Sequence[str] = (),
        look: Callable[[], JsonObject] | None = None,
        ambient: Ambient | None = None,
    ) -> None:
        self._journal = journal
        self._declarations = declarations
        self._look = look
        self._ambient = ambient
        if ambient is not None:
            ambient.tell(self.note)
        self._background = tuple(background)
        self._background_notes = BackgroundNotes(self.note)
        self._ledger = Ledger(journal, clock)
        self._lock = threading.RLock()
        self._owner: int | None = None
        self._lost: JsonObject | None = None
        self._told = True
        self._seen: set[str] = set()

    @property
    def serving(self) -> bool:
        return False

    def declared(self, name: str, function: object) -> Declared:
        return self._declarations.of(name, function)

    def begin(self, crossing: Crossing) -> Passage:
        background = background_of(crossing, self._background)
        if background is not None:
            return Passage(action="live", begin=None, background=background)
        pattern = misdeclared(crossing, self._background)
        if pattern is not None:
            seen: JsonObject = {"pattern": pattern, "name": crossing.name}
            self._note_new("background_refused", seen, f"background {pattern}")
        if self._ambient is not None:
            self._ambient.flush()
        with self._lock:
            begin: Begin | None = None
            with self._harmless():
                if self._at_work() and self._owns(crossing):
                    begin = self._ledger.begin(
                        self._ledger.asked(crossing),
                        declared=crossing.declared,
                        observation=crossing.observation,
                        durable=crossing.may_write,
                    )
            notice(begin)
            return Passage(action="live", begin=begin)

    async def begin_async(self, crossing: Crossing) -> Passage:
        return self.begin(crossing)

    def wait(self, passage: Passage) -> None:
        """What is live has no turn."""

    async def wait_async(self, passage: Passage) -> None:
        """What is live has no turn."""

    def hold(self, passage: Passage) -> None:
        """What is live has no turn."""

    async def hold_async(self, passage: Passage) -> None:
        """What is live has no turn."""

    async def wait_for_cancellation(self, passage: Passage) -> None:
        raise AssertionError("nothing is served while recording")

    def end(
        self,
        passage: Passage,
        *,
        outcome: Outcome,
        result: Result | None,
        observation: JsonObject | None = None,
        text: str | None = None,
        sent: Request | None = None,
    ) -> None:
        begin = passage.begin
        if passage.background is not None:
            self._background_notes.ended(passage.background, result, whole="unreplayable" not in (observation or {}))
            return
        with self._lock, self._harmless():
            if begin is not None and self._at_work() and self._owner == os.getpid():
                end, blobs = self._ledger.prepare_end(begin, outcome, result)
                self._ledger.end(begin, end, blobs, result, observation or {}, text=text, sent=sent)

    def chose_speaker(self, actor: str, selection: int | None) -> None:
        with self._lock:
            if selection is not None:
                self._ledger.tracer.chose(actor, selection)

    def issuer(self, call_id: str) -> int | None:
        with self._lock:
            return self._ledger.tracer.issuer(call_id)

    def connecting(self, address: str, *, inside: bool) -> None:
        if not inside and address not in self._seen:
            seen: JsonObject = {"address": address, "by": calling_client(), "process": os.getpid()}
            self._note_new("unobserved", seen, address)

    def poison(self, cause: str, message: str, details: JsonObject | None = None) -> Poisoned:
        raise AssertionError(f"a recording cannot be poisoned: {cause}: {message}")

    def note(self, kind: str, document: JsonObject, *, once: bool = False) -> None:
        with self._lock, self._harmless():
            self._journal.note(kind, document, once=once)

    def spawning(self, command: str, *, bound: bool, python: bool, inherits: bool) -> None:
        name = os.path.basename(command)
        if not bound:
            seen: JsonObject = {"address": f"child without boundary: {command}", "process": os.getpid()}
            self._note_new("unobserved", seen, command)
        elif not python:
            self._note_new("program", {"name": name, "process": os.getpid()}, f"program {name}")

    def close(self) -> None:
        """The process ends: what could not be said until now is tried once more."""
        self._background_notes.close()
        if self._ambient is not None:
            self._ambient.flush()
        with self._lock:
            self._tell()
            if self._owner == os.getpid():
                self._note_program()

    def forked(self) -> None:
        self._lock = threading.RLock()
        self._background_notes.forked()

    def _owns(self, crossing: Crossing) -> bool:
        """The process that makes the first crossing owns the log; what others ask is noted as foreign."""
        process = os.getpid()
        if self._owner is None and self._journal.claim(process):
            self._owner = process
            self._note_program()
        if self._owner == process:
            return True
        foreign: JsonObject = {"kind": crossing.kind, "name": crossing.name, "process": process}
        self.note("foreign", foreign)
        return False

    def _note_program(self) -> None:
        if self._look is None:
            return
        try:
            seen = self._look()
        except Exception:  # modules are the program's own, and may do anything when looked at
            return
        self.note("loaded", seen)

    def _note_new(self, kind: str, document: JsonObject, key: str) -> None:
        with self._lock:
            if key not in self._seen and self._lost is None:
                self._seen.add(key)
                self.note(kind, document)

    @contextmanager
    def _harmless(self) -> Generator[None]:
        """Whatever fails in here is the recorder's loss, not the program's: it goes on, and the recording says so.

        An exception that is not ours, such as one raised by a signal handler of the program, goes on its way; what was
        being written then is uncertain, so recording stops all the same.
        """
        try:
            yield
        except (StoreError, RecursionError) as error:
            self._give_up(error.found if isinstance(error, StoreError) else "the program's stack was full")
        except BaseException as error:
            self._give_up(f"interrupted by {type(error).__name__}")
            raise

    def _at_work(self) -> bool:
        self._tell()
        return self._lost is None

    def _give_up(self, reason: str) -> None:
        if self._lost is None:
            self._lost = {"position": self._ledger.size, "reason": reason}
            self._told = False
            self._tell()

    def _tell(self) -> None:
        """Says from where on the log lacks entries; tried again at each crossing until it is said."""
        if self._lost is None or self._told:
            return
        try:
            self._journal.note("incomplete", self._lost, once=True)
            self._told = True
        except (StoreError, RecursionError):
            self._told = self._journal.lost(self._lost)
