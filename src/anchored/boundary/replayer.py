"""The gate of a replay: it asks the session, hands out what was recorded, and ends for good at the first difference."""

from __future__ import annotations

import os
import threading
import time
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path

from anchored.boundary.actors import notice
from anchored.boundary.ambient import Ambient
from anchored.boundary.background import BackgroundAnswers, background_of, misdeclared
from anchored.boundary.calling import acting
from anchored.boundary.crossing import Crossing, Passage, Poisoned
from anchored.boundary.effects import Declarations
from anchored.boundary.failures import failure_of
from anchored.boundary.lanes import in_event_loop
from anchored.boundary.ledger import Clock, Ledger
from anchored.boundary.live import LiveRules
from anchored.boundary.patience import HOLD, LEAST_PACE, PACE, STREAM_HOLD, RecordedSeconds, Watch, others_at_work
from anchored.boundary.proxies import is_isolated, release_proxies
from anchored.boundary.waiting import Sleepers
from anchored.canonical import JsonObject
from anchored.errors import StoreError
from anchored.events import Begin, Blob, Declared, End, Outcome, Raised, Request, Result, result_blob
from anchored.library import Journal
from anchored.recording import Event, Recording
from anchored.replaying import (
    Ambiguous,
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
    anchor_of,
    likely_background,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Came:
    """What came of an event, to be written when its turn comes."""

    begin: Begin
    outcome: Outcome
    result: Result | None
    observation: JsonObject
    text: str | None
    sent: Request | None


@dataclass(frozen=True, kw_only=True, slots=True)
class _GivenUp:
    """A request that was cancelled while it waited for its turn, as the recorded one was cancelled later."""

    asked: Asked
    crossing: Crossing
    result: Raised


class Replayer:
    """Replays one process.

    Args:
        source: the recording.
        plan: what is replayed, up to where, and what changes there.
        journal: where the replay's own log is written.
        clock: nanoseconds since the epoch.
        patience: seconds that a request may wait for its turn while nothing else gets one.
        watcher: the process that watches this one; without it nothing goes live.
        folder: where the program was started.
        ambient: the times and chances that the program sees, if they were recorded.
    """

    def __init__(
        self,
        source: Recording,
        plan: ReplayPlan,
        journal: Journal,
        clock: Clock,
        *,
        patience: float,
        watcher: int,
        folder: Path,
        ambient: Ambient | None = None,
    ) -> None:
        self._source = source
        self._plan = plan
        self._journal = journal
        self._clock = clock
        self._ledger = Ledger(journal, clock)
        self._session = Session(
            source,
            anchor=plan.anchor.position if plan.anchor else None,
            intervention=acting(plan.intervention, folder),
        )
        self._declarations = Declarations(plan.declarations)
        self._patience = patience
        self._turn = threading.Condition(threading.RLock())
        self._sleepers = Sleepers()
        self._poisoned = False
        self._owner: int | None = None
        self._early: dict[int, _Came] = {}
        self._given_up: dict[int, _GivenUp] = {}
        self._progress = 0
        self._moved = 0.0
        self._programs: set[str] = set()
        self._live = LiveRules(source, plan, watcher)
        self._recorded = RecordedSeconds(source)
        self._background = BackgroundAnswers(source, self.note)
        self._ambient = ambient
        self._own_anchor = anchor_of(source)
        if ambient is not None:
            ambient.tell(self.note)

    @property
    def serving(self) -> bool:
        return self._poisoned or not self._session.live

    def declared(self, name: str, function: object) -> Declared:
        return self._declarations.of(name, function)

    def begin(self, crossing: Crossing) -> Passage:
        background = self._in_background(crossing)
        if background is not None:
            return background
        with self._turn:
            watch = Watch(self._progress)
            while True:
                asked, answer = self._try(crossing)
                if isinstance(answer, Passage):
                    return answer
                limit = self._limit(asked, answer)
                if in_event_loop() or threading.active_count() == 1 or watch.overdue(self._progress, limit):
                    raise self._out_of_patience(asked, answer)
                self._turn.wait(watch.left(limit))

    async def begin_async(self, crossing: Crossing) -> Passage:
        background = self._in_background(crossing)
        if background is not None:
            return background
        watch = Watch(self._progress)
        while True:
            with self._turn:
                asked, answer = self._try(crossing)
                if isinstance(answer, Passage):
                    return answer
                if watch.overdue(self._progress, self._limit(asked, answer)):
                    raise self._out_of_patience(asked, answer)
                sleeper = self._sleepers.lie_down(answer.turn)
            try:
                await sleeper.sleep()
            except BaseException as error:
                if answer.known:
                    self._give_up(asked, crossing, Raised(error=failure_of(error)))
                raise

    def wait(self, passage: Passage) -> None:
        if passage.begin is None:
            return
        with self._turn:
            watch = Watch(self._progress)
            while (left := self._left(passage.begin)) != 0:
                if in_event_loop() or watch.overdue(self._progress, self._patience):
                    raise self._never_ends(passage.begin)
                self._turn.wait(watch.left(self._patience) if left is None else left)

    async def wait_async(self, passage: Passage) -> None:
        if passage.begin is None:
            return
        watch = Watch(self._progress)
        while True:
            with self._turn:
                left = self._left(passage.begin)
                if left == 0:
                    return
                if watch.overdue(self._progress, self._patience):
                    raise self._never_ends(passage.begin)
                sleeper = self._sleepers.lie_down(self._session.end_turn(passage.begin.position))
            await sleeper.sleep(left)

    def hold(self, passage: Passage) -> None:
        if passage.begin is None or in_event_loop() or not self._session.concurrent:
            return
        with self._turn:
            watch = Watch(self._progress)
            while not self._end_due(passage.begin) and not watch.overdue(self._progress, STREAM_HOLD):
                self._turn.wait(watch.left(STREAM_HOLD))

    async def hold_async(self, passage: Passage) -> None:
        if passage.begin is None or not self._session.concurrent:
            return
        watch = Watch(self._progress)
        while True:
            with self._turn:
                if self._end_due(passage.begin) or watch.overdue(self._progress, STREAM_HOLD):
                    return
                sleeper = self._sleepers.lie_down(self._session.end_turn(passage.begin.position))
            await sleeper.sleep()

    async def wait_for_cancellation(self, passage: Passage) -> None:
        begin = passage.begin
        watch = Watch(self._progress)
        limit = self._patience + (0 if begin is None else self._recorded.of(begin.position))
        while begin is not None:
            with self._turn:
                if self._poisoned:
                    raise Poisoned
                if watch.overdue(self._progress, limit):
                    raise self.poison("order", f"the call at {begin.position} was cancelled, and now is not")
                sleeper = self._sleepers.lie_down(self._session.end_turn(begin.position))
            await sleeper.sleep()

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
        came = _Came(begin=begin, outcome=outcome, result=result, observation=observation or {}, text=text, sent=sent)
        with self._turn:
            if not self._end_due(begin):
                self._early[begin.position] = came
                return
            self._write_end(came)
            self._go_on()

    def chose_speaker(self, actor: str, selection: int | None) -> None:
        with self._turn:
            if selection is not None:
                self._ledger.tracer.chose(actor, selection)

    def issuer(self, call_id: str) -> int | None:
        with self._turn:
            return self._ledger.tracer.issuer(call_id)

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
        """The process ends: what the program saw since the last event is said."""
        if self._ambient is not None:
            self._ambient.flush()

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
            self._wake()
        return Poisoned()

    def note(self, kind: str, document: JsonObject, *, once: bool = False) -> None:
        with self._turn:
            try:
                self._journal.note(kind, document, once=once)
            except StoreError as error:
                raise self.poison("recorder", str(error)) from error

    def forked(self) -> None:
        self._turn = threading.Condition(threading.RLock())
        self._sleepers = Sleepers()
        self._background.forked()

    def _in_background(self, crossing: Crossing) -> Passage | None:
        """The answer to what is declared as background, from whichever process and at any time before a poison."""
        patterns = self._plan.background
        background = background_of(crossing, patterns)
        if background is not None:
            with self._turn:
                if self._poisoned:
                    raise Poisoned
            return self._background.answer(background)
        pattern = misdeclared(crossing, patterns)
        if pattern is not None:
            raise self.poison("guard", f"--background {pattern} matches {crossing.kind} {crossing.name}: a model call")
        return None

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

    def _try(self, crossing: Crossing) -> tuple[Asked, Passage | Wait]:
        """The passage, if it is this request's turn."""
        self._check_process(crossing)
        asked = self._ledger.asked(crossing)
        answer = self._session.ask(asked)
        if isinstance(answer, Wait):
            return asked, answer
        if isinstance(answer, Diverge):
            raise self._diverged(answer.divergence, asked)
        if isinstance(answer, Ambiguous):
            places = ", ".join(map(str, answer.positions))
            raise self.poison(
                "order",
                f"{asked.kind} {asked.name} is recorded for several tasks, at {places}, and this is none of them",
            )
        passage = self._passage(asked, crossing, answer)
        notice(passage.begin)
        return asked, passage

    def _passage(
        self, asked: Asked, crossing: Crossing, answer: Serve | Enter | Intervene | Replace | GoLive
    ) -> Passage:
        if isinstance(answer, Serve):
            return self._serve(asked, crossing, answer.event)
        if isinstance(answer, Enter):
            declared = answer.event.begin.declared
            begin = self._write_begin(asked, crossing, declared=declared, durable=crossing.may_write)
            self._go_on()
            return Passage(action="enter", begin=begin)
        if isinstance(answer, Replace):
            self._let_go()
            begin = self._write_begin(asked, crossing, declared=crossing.declared, durable=False, replaced=True)
            self._session.sent(begin.position)
            self._end_given_up()
            return Passage(action="serve", begin=begin, result=answer.result)
        self._check_live(crossing, asked.parent)
        self._let_go()
        begin = self._write_begin(asked, crossing, declared=crossing.declared, durable=crossing.may_write)
        self._end_given_up()
        if isinstance(answer, Intervene):
            self._session.sent(begin.position)
            return Passage(action="live", begin=begin, intervention=answer.intervention)
        return Passage(action="live", begin=begin)

    def _let_go(self) -> None:
        """Live from here on: the user's own proxies, real time and chance."""
        release_proxies()
        if self._ambient is not None:
            self._ambient.go_live()

    def _limit(self, asked: Asked, answer: Wait) -> float:
        waits = answer.known and self._session.overtakes(asked)
        return self._patience if waits else min(HOLD, self._patience)

    def _out_of_patience(self, asked: Asked, answer: Wait) -> Poisoned:
        if answer.known and self._session.overtakes(asked):
            message = f"{asked.kind} {asked.name} never had its turn: order not reproducible"
            return self.poison("order", message, self._telemetry(asked))
        return self._diverged(self._session.give_up(asked).divergence, asked)

    def _end_due(self, begin: Begin) -> bool:
        if self._poisoned:
            raise Poisoned
        return self._session.end_due(begin.position)

    def _left(self, begin: Begin) -> float | None:
        """Seconds until the result of an event may be handed out; None while the turn of its end has not come."""
        if not self._end_due(begin):
            return None
        end = self._session.end_turn(begin.position)
        if self._session.live or end not in self._session.contested:
            return 0
        pace = max(LEAST_PACE, min(PACE, self._recorded.between(end - 1, end)))
        moved = time.monotonic() - self._moved
        if moved < pace:
            return pace - moved
        return LEAST_PACE / 4 if moved < PACE and others_at_work() else 0

    def _never_ends(self, begin: Begin) -> Poisoned:
        return self.poison(
            "order", f"the end of the event at {begin.position} never had its turn: order not reproducible"
        )

    def _wake(self) -> None:
        self._turn.notify_all()
        self._sleepers.wake()

    def _give_up(self, asked: Asked, crossing: Crossing, result: Raised) -> None:
        """The recorded request was cancelled too, only later: it counts as asked, and is written in its turn."""
        with self._turn:
            position = self._session.cancelled_record(asked)
            if position is not None and not self._poisoned:
                self._given_up[position] = _GivenUp(asked=asked, crossing=crossing, result=result)
                self._go_on()

    def _write_end(self, came: _Came) -> None:
        end, blobs = self._ledger.prepare_end(came.begin, came.outcome, came.result)
        divergence = self._session.finish(end)
        if divergence is not None:
            raise self._diverged(divergence)
        try:
            self._ledger.end(came.begin, end, blobs, came.result, came.observation, text=came.text, sent=came.sent)
        except StoreError as error:
            raise self.poison("recorder", str(error)) from error

    def _go_on(self) -> None:
        """Writes what comes next by itself: entries that a served tool covers, and what ended before its turn."""
        self._progress += 1
        self._moved = time.monotonic()
        while not self._session.live:
            place = self._session.cursor
            given_up = self._given_up.pop(place, None)
            if self._session.copy_due() is not None:
                self._copy(place)
                self._session.copied()
            elif given_up is not None:
                self._write_given_up(given_up)
            else:
                entry = self._source.log.entries[place] if place < len(self._source.log) else None
                came = self._early.pop(entry.begin, None) if isinstance(entry, End) else None
                if came is None or not self._session.end_due(came.begin.position):
                    break
                self._write_end(came)
        self._wake()

    def _write_given_up(self, given_up: _GivenUp) -> None:
        asked = replace(given_up.asked, edges=self._ledger.edges(given_up.crossing))
        answer = self._session.ask(asked)
        if isinstance(answer, Diverge):
            raise self._diverged(answer.divergence)
        if isinstance(answer, Serve):
            begin = self._write_begin(asked, given_up.crossing, declared=answer.event.begin.declared, durable=False)
            self._early[begin.position] = _Came(
                begin=begin, outcome=Outcome.ABORT, result=given_up.result, observation={}, text=None, sent=None
            )

    def _end_given_up(self) -> None:
        """What ended early and was in flight at the anchor ends now, behind the anchor's begin."""
        for position in sorted(self._early):
            self._write_end(self._early.pop(position))
        self._go_on()

    def _serve(self, asked: Asked, crossing: Crossing, event: Event) -> Passage:
        result = self._source.result(event)
        if result is None or event.end is None:
            raise self.poison("recorder", f"no result was recorded for the event at {event.position}")
        begin = self._write_begin(asked, crossing, declared=event.begin.declared, durable=False)
        self._go_on()
        return Passage(action="serve", begin=begin, result=result, outcome=event.end.outcome)

    def _write_begin(
        self, asked: Asked, crossing: Crossing, *, declared: Declared, durable: bool, replaced: bool = False
    ) -> Begin:
        observation: JsonObject = {**crossing.observation, "replaced": True} if replaced else crossing.observation
        if self._ambient is not None:
            if not self._session.live and self._ledger.size == self._own_anchor:
                self._ambient.renew()
            self._ambient.flush()
        try:
            begin = self._ledger.begin(asked, declared=declared, observation=observation, durable=durable)
        except StoreError as error:
            raise self.poison("recorder", str(error)) from error
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
        try:
            self._ledger.copy(record, request=request, blobs=blobs)
        except StoreError as error:
            raise self.poison("recorder", str(error)) from error

    def _check_live(self, crossing: Crossing, parent: int | None) -> None:
        refusal = self._live.refusal(crossing, parent)
        if refusal is not None:
            raise self.poison(refusal.cause, refusal.message, refusal.details)

    def _diverged(self, divergence: Divergence, asked: Asked | None = None) -> Poisoned:
        details: JsonObject = {"divergence": divergence.document(), **self._telemetry(asked)}
        return self.poison("divergence", f"diverged at {divergence.position}", details)

    def _telemetry(self, asked: Asked | None) -> JsonObject:
        """What may have to be declared as background, since it came, or came not, in another lane's turn."""
        place = None if asked is None else likely_background(self._source, asked, self._session.cursor)
        return {} if place is None else {"background": place}
