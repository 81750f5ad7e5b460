"""The gate while recording: everything passes, everything is written down, nothing is changed."""

from __future__ import annotations

import os
import sys
import threading

from anchored.boundary.crossing import Crossing, Passage, Poisoned
from anchored.boundary.effects import Declarations
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
    """

    def __init__(self, journal: Journal, clock: Clock, declarations: Declarations) -> None:
        self._journal = journal
        self._declarations = declarations
        self._ledger = Ledger(journal, clock)
        self._lock = threading.RLock()
        self._owner: int | None = None
        self._broken = False
        self._seen: set[str] = set()

    def declared(self, name: str, function: object) -> Declared:
        return self._declarations.of(name, function)

    def begin(self, crossing: Crossing) -> Passage:
        with self._lock:
            if self._broken or not self._owns(crossing):
                return Passage(action="live", begin=None)
            try:
                begin = self._ledger.begin(
                    self._ledger.asked(crossing),
                    declared=crossing.declared,
                    observation=crossing.observation,
                    durable=crossing.may_write,
                )
            except StoreError as error:
                self._give_up(error)
                return Passage(action="live", begin=None)
            return Passage(action="live", begin=begin)

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
        begin: Begin | None = passage.begin
        with self._lock:
            if begin is None or self._broken or self._owner != os.getpid():
                return
            try:
                end, blobs = self._ledger.prepare_end(begin, outcome, result)
                self._ledger.end(begin, end, blobs, result, observation or {}, text=text, sent=sent)
            except StoreError as error:
                self._give_up(error)

    def chose_speaker(self, actor: str, selection: int | None) -> None:
        with self._lock:
            if selection is not None:
                self._ledger.tracer.chose(actor, selection)

    def last_model_end(self) -> int | None:
        with self._lock:
            return self._ledger.tracer.last_model_end

    def connecting(self, address: str, *, inside: bool) -> None:
        if not inside:
            self._note_new("unobserved", {"address": address, "process": os.getpid()}, address)

    def poison(self, cause: str, message: str, details: JsonObject | None = None) -> Poisoned:
        raise AssertionError(f"a recording cannot be poisoned: {cause}: {message}")

    def note(self, kind: str, document: JsonObject, *, once: bool = False) -> None:
        with self._lock:
            try:
                self._journal.note(kind, document, once=once)
            except StoreError as error:
                self._give_up(error)

    def forked(self) -> None:
        self._lock = threading.RLock()

    def _owns(self, crossing: Crossing) -> bool:
        """The process that makes the first crossing owns the log; what others ask is noted as foreign."""
        process = os.getpid()
        if self._owner is None and self._journal.claim(process):
            self._owner = process
        if self._owner == process:
            return True
        foreign: JsonObject = {"kind": crossing.kind, "name": crossing.name, "process": process}
        self.note("foreign", foreign)
        return False

    def _note_new(self, kind: str, document: JsonObject, key: str) -> None:
        with self._lock:
            if key not in self._seen and not self._broken:
                self._seen.add(key)
                self.note(kind, document)

    def _give_up(self, error: StoreError) -> None:
        """The program goes on. The note may fail as well; then the log simply ends here, unsealed."""
        self._broken = True
        size = self._ledger.size
        print(f"anchored: recording stopped at entry {size}; the program goes on.\n{error}", file=sys.stderr)
        try:
            self._journal.note("incomplete", {"position": size, "reason": error.found}, once=True)
        except StoreError:
            return
