"""The gate of a replay: it asks the session, hands out what was recorded, and ends for good at the first difference."""

from __future__ import annotations

import os
import threading
import time
from fnmatch import fnmatchcase
from pathlib import Path
from urllib.parse import urlsplit

from anchored.boundary.crossing import Crossing, Passage, Poisoned
from anchored.boundary.effects import Declarations
from anchored.boundary.ledger import Clock, Ledger
from anchored.boundary.proxies import is_isolated, release_proxies
from anchored.canonical import Json, JsonObject
from anchored.errors import StoreError
from anchored.events import Begin, Blob, Declared, End, Outcome, Request, Result, result_blob
from anchored.library import Journal
from anchored.recording import Event, Recording
from anchored.replaying import (
    SAFE_EFFECTS,
    Asked,
    Diverge,
    Divergence,
    Enter,
    GoLive,
    Intervene,
    Replace,
    ReplayPlan,
    Serve,
    Session,
    Wait,
)

_PORTS = {"http": 80, "https": 443}


class Replayer:
    """Replays one process.

    Args:
        source: the recording.
        plan: what is replayed, up to where, and what changes there.
        journal: where the replay's own log is written.
        clock: nanoseconds since the epoch.
        patience: seconds that a request may wait for its turn.
        watcher: the process that watches this one; without it nothing goes live.
    """

    def __init__(
        self, source: Recording, plan: ReplayPlan, journal: Journal, clock: Clock, *, patience: float, watcher: int
    ) -> None:
        self._source = source
        self._plan = plan
        self._journal = journal
        self._clock = clock
        self._ledger = Ledger(journal, clock)
        self._session = Session(
            source, anchor=plan.anchor.position if plan.anchor else None, intervention=plan.intervention
        )
        self._declarations = Declarations(plan.declarations)
        self._patience = patience
        self._watcher = watcher
        self._turn = threading.Condition(threading.RLock())
        self._poisoned = False
        self._owner: int | None = None
        self._programs: set[str] = set()
        self._origins = _origins(source, plan)

    def declared(self, name: str, function: object) -> Declared:
        return self._declarations.of(name, function)

    def begin(self, crossing: Crossing) -> Passage:
        with self._turn:
            self._check_process(crossing)
            asked, answer = self._answer(crossing)
            if isinstance(answer, Serve):
                return self._serve(asked, crossing, answer.event)
            if isinstance(answer, Enter):
                declared = answer.event.begin.declared
                begin = self._write_begin(asked, crossing, declared=declared, durable=crossing.may_write)
                return Passage(action="enter", begin=begin)
            if isinstance(answer, Replace):
                release_proxies()
                begin = self._write_begin(asked, crossing, declared=crossing.declared, durable=False, replaced=True)
                self._session.sent(begin.position)
                return Passage(action="serve", begin=begin, result=answer.result)
            self._check_live(crossing, asked.parent)
            release_proxies()
            begin = self._write_begin(asked, crossing, declared=crossing.declared, durable=crossing.may_write)
            if isinstance(answer, Intervene):
                self._session.sent(begin.position)
                return Passage(action="live", begin=begin, intervention=answer.intervention)
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
        begin = passage.begin
        if begin is None:
            return
        with self._turn:
            if self._poisoned:
                raise Poisoned
            self._wait_for_end(begin)
            end, blobs = self._ledger.prepare_end(begin, outcome, result)
            divergence = self._session.finish(end)
            if divergence is not None:
                raise self._diverged(divergence)
            try:
                self._ledger.end(begin, end, blobs, result, observation or {}, text=text, sent=sent)
            except StoreError as error:
                raise self.poison("recorder", str(error)) from error
            self._turn.notify_all()

    def chose_speaker(self, actor: str, selection: int | None) -> None:
        with self._turn:
            if selection is not None:
                self._ledger.tracer.chose(actor, selection)

    def last_model_end(self) -> int | None:
        with self._turn:
            return self._ledger.tracer.last_model_end

    def connecting(self, address: str, *, inside: bool) -> None:
        """Refuses every connection before the anchor, and all that comes after a poison."""
        host = address.rsplit(":", 1)[0]
        seen: JsonObject = {"address": address, "process": os.getpid()}
        if self._is_allowed(host, address):
            self.note("unobserved", seen)
            return
        with self._turn:
            if self._session.live and not self._poisoned:
                if not inside:
                    self.note("unobserved", seen)
                return
            if not self._poisoned:
                self.poison(
                    "guard",
                    f"the program connects to {address}, outside the boundary, while it is served",
                    {"address": address},
                )
        raise ConnectionRefusedError(f"anchored: no connection outside the boundary while replaying: {address}")

    def _is_allowed(self, *names: str) -> bool:
        """Whether the user allows what one of these names says outside the boundary."""
        return any(fnmatchcase(name, pattern) for name in names for pattern in self._plan.unobserved)

    def spawning(self, command: str, *, bound: bool, python: bool, inherits: bool) -> None:
        """A child without our environment could do anything, so before the anchor there is none; after a poison none
        at all. Programs in other languages are named, since what they do is not seen; in the prefix of a replay that
        has a network they must inherit the environment, in which a dead proxy stands.
        """
        name = os.path.basename(command)
        known = bound and (python or inherits or is_isolated())
        allowed = known or self._is_allowed(f"program {name}", name)
        with self._turn:
            if not self._poisoned and (allowed or self._session.live):
                if not python and name not in self._programs:
                    self._programs.add(name)
                    self.note("program", {"name": name, "process": os.getpid()})
                return
            if not self._poisoned:
                what = "with an environment of its own" if bound else "without the boundary"
                self.poison("guard", f"the program starts a child {what}: {command}", {"address": f"program {name}"})
        raise PermissionError(f"anchored: no child without the boundary while replaying: {command}")

    def close(self) -> None:
        """Nothing is left to say."""

    def poison(self, cause: str, message: str, details: JsonObject | None = None) -> Poisoned:
        with self._turn:
            self._poisoned = True
            document: JsonObject = {
                "cause": cause,
                "message": message,
                "live": self._session.live,
                "time": str(self._clock()),
                **(details or {}),
            }
            try:
                self._journal.note("poison", document, once=True)
            except StoreError:
                os._exit(1)  # nothing may go on, and nobody can be told why
            self._turn.notify_all()
        return Poisoned()

    def note(self, kind: str, document: JsonObject, *, once: bool = False) -> None:
        with self._turn:
            try:
                self._journal.note(kind, document, once=once)
            except StoreError as error:
                raise self.poison("recorder", str(error)) from error

    def forked(self) -> None:
        self._turn = threading.Condition(threading.RLock())

    def _check_process(self, crossing: Crossing) -> None:
        if self._poisoned:
            raise Poisoned
        process = os.getpid()
        if self._owner is None and self._journal.claim(process):
            self._owner = process
        if self._owner != process:
            raise self.poison(
                "guard", f"{crossing.kind} {crossing.name} from another process than the one that replays"
            )

    def _answer(self, crossing: Crossing) -> tuple[Asked, Serve | Enter | Intervene | Replace | GoLive]:
        """Asks the session until it is this request's turn."""
        deadline = time.monotonic() + self._patience
        while True:
            asked = self._ledger.asked(crossing)
            answer = self._session.ask(asked)
            if isinstance(answer, Wait):
                alone = threading.active_count() == 1
                if not alone and self._turn.wait(max(0.0, deadline - time.monotonic())):
                    if self._poisoned:
                        raise Poisoned
                    continue
                if self._session.concurrent:
                    raise self.poison("order", f"{asked.kind} {asked.name} never had its turn: order not reproducible")
                answer = self._session.give_up(asked)
            if isinstance(answer, Diverge):
                raise self._diverged(answer.divergence)
            return asked, answer

    def _wait_for_end(self, begin: Begin) -> None:
        """Results are released in recorded order: what is delayed is latency, nothing else."""
        deadline = time.monotonic() + self._patience
        while not self._session.end_due(begin.position):
            if not self._turn.wait(max(0.0, deadline - time.monotonic())):
                raise self.poison(
                    "order", f"the end of the event at {begin.position} never had its turn: order not reproducible"
                )
            if self._poisoned:
                raise Poisoned

    def _serve(self, asked: Asked, crossing: Crossing, event: Event) -> Passage:
        result = self._source.result(event)
        if result is None or event.end is None:
            raise self.poison("recorder", f"no result was recorded for the event at {event.position}")
        begin = self._write_begin(asked, crossing, declared=event.begin.declared, durable=False)
        try:
            for position in self._session.covered_by(event.position):
                self._copy(position)
        except StoreError as error:
            raise self.poison("recorder", str(error)) from error
        return Passage(action="serve", begin=begin, result=result, outcome=event.end.outcome)

    def _write_begin(
        self, asked: Asked, crossing: Crossing, *, declared: Declared, durable: bool, replaced: bool = False
    ) -> Begin:
        observation: JsonObject = {**crossing.observation, "replaced": True} if replaced else crossing.observation
        try:
            begin = self._ledger.begin(asked, declared=declared, observation=observation, durable=durable)
        except StoreError as error:
            raise self.poison("recorder", str(error)) from error
        self._turn.notify_all()
        return begin

    def _copy(self, position: int) -> None:
        record = self._source.records[position]
        entry = record.entry
        request: Request | None = None
        blobs: tuple[Blob, ...] = ()
        if isinstance(entry, End):
            event = self._source.log.event_at(entry.begin)
            result = self._source.result(event) if event else None
            blobs = () if result is None else (result_blob(result), *result.contents())
        else:
            request = self._source.contents.request(entry.request)
            blobs = request.blobs
        self._ledger.copy(record, request=request, blobs=blobs)

    def _check_live(self, crossing: Crossing, parent: int | None) -> None:
        """What goes live must be watched, and allowed: tools by their effect, HTTP by its origin.

        HTTP inside a tool that may run live is the tool's own business.
        """
        if not _is_alive(self._watcher):
            raise self.poison("recorder", "the process that watches this replay is gone")
        if crossing.kind == "execute_tool":
            effect = crossing.declared.effect
            if effect not in SAFE_EFFECTS and not self._plan.effects_allowed:
                raise self.poison(
                    "effects",
                    f"the tool {crossing.name!r} would run live with effect {effect or 'undeclared'}",
                    {"tool": crossing.name, "effect": effect},
                )
        elif crossing.kind != "http" or parent is None:
            origin = plain_origin(crossing.origin)
            if origin not in self._origins:
                raise self.poison(
                    "guard",
                    f"the recording never called {origin}; it called {', '.join(sorted(self._origins))}",
                    {"origin": origin, "known": list[Json](sorted(self._origins))},
                )

    def _diverged(self, divergence: Divergence) -> Poisoned:
        return self.poison("divergence", f"diverged at {divergence.position}", {"divergence": divergence.document()})


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    try:
        state = Path(f"/proc/{process}/stat").read_text(encoding="ascii", errors="replace").rpartition(") ")[2][:1]
    except OSError:
        return True  # no such file system here
    return state not in ("Z", "X")


def plain_origin(origin: str) -> str:
    """An origin as run configuration holds it: a loopback address without its port, which is free to change."""
    try:
        parts = urlsplit(origin)
        host, port = parts.hostname or "", parts.port or _PORTS.get(parts.scheme)
    except ValueError:
        return origin
    shown = f"[{host}]" if ":" in host else host
    local = host in ("127.0.0.1", "localhost", "::1")
    return f"{parts.scheme}://{shown}" if local else f"{parts.scheme}://{shown}:{port}"


def _origins(source: Recording, plan: ReplayPlan) -> frozenset[str]:
    """Origins that may be called: the recorded ones, mapped."""
    mapped = {plain_origin(old): plain_origin(new) for old, new in plan.origins}
    recorded = {
        str(source.observation(event.position).get("origin", ""))
        for event in source.log.events
        if event.begin.kind != "execute_tool"
    }
    plain = {plain_origin(origin) for origin in recorded if origin}
    return frozenset(mapped.get(origin, origin) for origin in plain)
