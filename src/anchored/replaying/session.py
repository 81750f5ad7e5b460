"""The state machine of a replay. It does no I/O: the boundary asks, the session answers, the boundary acts."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

from anchored.canonical import Digest
from anchored.events import Begin, Declared, End, Outcome, request_view
from anchored.recording import Event, Recording
from anchored.replaying.answers import Ambiguous, Answer, Diverge, Enter, GoLive, Intervene, Replace, Serve, Wait
from anchored.replaying.asked import Asked
from anchored.replaying.differences import ABSENT
from anchored.replaying.divergence import Divergence, call_of, changed
from anchored.replaying.interventions import Acting, ReplaceResult, Unchanged
from anchored.replaying.policy import containers, contested, covered_positions, lane_of


class Session:
    """One attempt at replaying a recording.

    Args:
        source: the recording.
        anchor: position of the anchor's begin; None replays to the end, nothing live.
        intervention: what is changed at the anchor.

    The prefix is the entries before the anchor, taken in recorded order only: a begin is served, an end is released and
    an entry that a served tool covers is copied when it is the next one. The first divergence is final.
    """

    def __init__(self, source: Recording, *, anchor: int | None, intervention: Acting | None = None) -> None:
        self._source = source
        self._log = source.log
        self._anchor = anchor
        self._intervention = intervention or Unchanged()
        self._size = len(self._log) if anchor is None else anchor
        self._containers = containers(self._log)
        self._covered = covered_positions(self._log, self._containers)
        self._cursor = 0
        self._divergence: Divergence | None = None
        self._live = False
        self._anchor_asked: tuple[Digest, str | None] | None = None
        self._sent: set[int] = set()
        self._records: defaultdict[Digest, list[int]] = defaultdict(list)
        for event in self._log.events:
            if event.position not in self._covered:
                self._records[_likeness(event.begin)].append(event.position)
        self._contested = contested(self._log)

    @property
    def divergence(self) -> Divergence | None:
        """The first divergence, if there was one."""
        return self._divergence

    @property
    def live(self) -> bool:
        """Whether the anchor was reached."""
        return self._live

    @property
    def consumed(self) -> bool:
        """Whether every entry of the prefix was taken."""
        return self._cursor >= self._size

    @property
    def cursor(self) -> int:
        """Position of the entry that comes next."""
        return self._cursor

    @property
    def concurrent(self) -> bool:
        """Whether events overlap in the recording, so that a request may rightly come before its turn."""
        return bool(self._contested)

    @property
    def contested(self) -> frozenset[int]:
        """Positions of the recorded ends at which another event was in flight."""
        return self._contested

    def overtakes(self, asked: Asked) -> bool:
        """Whether a request that is recorded later may rightly come before its turn: events overlap in the recording,
        or the next one is of another lane.
        """
        expected = self._next_begin()
        turn = None if expected is None else lane_of(self._source, expected.position)
        return bool(self._contested) or (None not in (turn, asked.lane) and turn != asked.lane)

    def copy_due(self) -> int | None:
        """Position of the entry that comes next, if a served tool covers it: its record is to be copied."""
        return self._cursor if self._cursor < self._size and self._cursor in self._covered else None

    def copied(self) -> None:
        """The entry that comes next was copied."""
        self._cursor += 1

    def ask(self, asked: Asked) -> Answer:
        """What to do about a crossing that the program is about to make."""
        if self._divergence is not None:
            return Diverge(divergence=self._divergence)
        if self._live:
            return self._again(asked)
        mine = self._mine(asked)
        if isinstance(mine, Ambiguous):
            return mine
        if mine is None:
            return self._unknown(asked)
        if mine == self._cursor:
            return self._reach(asked) if mine == self._anchor else self._serve(asked)
        return self._diverge(asked) if self._out_of_turn(asked) else Wait(position=self._cursor, turn=mine)

    def cancelled_record(self, asked: Asked) -> int | None:
        """Position of the record that a request stands for, if that was cancelled; None otherwise."""
        mine = None if self._live else self._mine(asked)
        if not isinstance(mine, int) or self._event_at(mine).outcome is not Outcome.ABORT:
            return None
        return mine

    def end_due(self, position: int) -> bool:
        """Whether the end of the event that begins at `position` comes next.

        What was in flight at the anchor ends when the anchor has begun, and what begins behind it ends as it comes.
        """
        event = self._log.event_at(position) if position < self._size else None
        if event is None or event.end is None or event.end.position >= self._size:
            return self._live or event is None
        return self._cursor == event.end.position

    def end_turn(self, position: int) -> int:
        """Position of the recorded end of the event that begins at `position`; of what has none, behind all others."""
        event = self._log.event_at(position) if position < self._size else None
        return len(self._log) if event is None or event.end is None else event.end.position

    def finish(self, end: End) -> Divergence | None:
        """An end was rebuilt from what the program was handed; a divergence if it is not the recorded one."""
        if self._divergence is not None:
            return self._divergence
        if self._live:
            if end.begin in self._sent and end.outcome is Outcome.SUCCESS:
                self._anchor_asked = None
            return self._check_carried(end)
        recorded = self._log.entries[end.position]
        if recorded.digest != end.digest:
            self._divergence = self._other_result(recorded, end)
            return self._divergence
        self._cursor += 1
        return None

    def sent(self, position: int) -> None:
        """The event that begins at `position` had the intervention."""
        self._sent.add(position)

    def give_up(self, asked: Asked) -> Diverge:
        """The request that waits can never have its turn: it came in place of a recorded one."""
        return self._diverge(asked)

    def missing_after(self, size: int) -> Divergence | None:
        """The first recorded event that a replay whose log has `size` entries never asked for; None if all came."""
        for event in self._log.events:
            if event.position >= size and event.position not in self._covered and self._due(event.position):
                return Divergence(
                    kind="missing",
                    position=event.position,
                    recorded_call=call_of(event.begin),
                    actual_call="",
                    path="",
                    recorded=call_of(event.begin),
                    actual=ABSENT,
                )
        return None

    def _due(self, position: int) -> bool:
        return position < self._size or position == self._anchor

    def carried(self, begin: Begin, asked: Asked) -> Begin:
        """The begin entry rebuilt from what was asked, at the record's position and with its declarations."""
        return Begin(
            position=begin.position,
            kind=asked.kind,
            actor=asked.actor,
            name=asked.name,
            parent=asked.parent,
            call_id=asked.call_id,
            request=asked.request.digest,
            edges=asked.edges,
            declared=begin.declared,
        )

    def _mine(self, asked: Asked) -> int | Ambiguous | None:
        """The record that a request stands for, at or behind the cursor; edges aside, which depend on the moment.

        The Nth identical request of one lane is the Nth record of that lane. A record of another lane is another's.
        """
        records = self._records.get(_likeness(self.carried(_ANY, asked)), [])
        left = [position for position in records if position >= self._cursor]
        lanes = {lane_of(self._source, position) for position in records}
        if len(lanes) < 2 or None in lanes:
            return left[0] if left else None
        if asked.lane in lanes:
            return next((position for position in left if lane_of(self._source, position) == asked.lane), None)
        return Ambiguous(positions=tuple(left)) if left else None

    def _serve(self, asked: Asked) -> Answer:
        event = self._event_at(self._cursor)
        if self.carried(event.begin, asked).digest != event.begin.digest:
            return self._diverge(asked)
        self._cursor += 1
        return Enter(event=event) if event.position in self._containers else Serve(event=event)

    def _reach(self, asked: Asked) -> Answer:
        begin = self._event_at(self._cursor).begin
        if self.carried(begin, asked).digest != begin.digest:
            return self._diverge(asked)
        self._live = True
        if asked.kind not in _NEVER_REPEATED:
            self._anchor_asked = (asked.request.digest, asked.lane)
        return self._acting()

    def _again(self, asked: Asked) -> Answer:
        """A client that repeats the anchor's request before it succeeded is given the intervention again."""
        return self._acting() if (asked.request.digest, asked.lane) == self._anchor_asked else GoLive()

    def _acting(self) -> Answer:
        """What the intervention makes of the anchor's request."""
        if isinstance(self._intervention, Unchanged):
            return GoLive()
        if isinstance(self._intervention, ReplaceResult):
            return Replace(result=self._intervention.result)
        return Intervene(intervention=self._intervention)

    def _unknown(self, asked: Asked) -> Answer:
        """A request that is not recorded: final, unless another lane than the next in turn asks it."""
        expected = self._next_begin()
        turn = None if expected is None else lane_of(self._source, expected.position)
        if asked.lane is None or asked.lane == turn:
            return self._diverge(asked)
        return Wait(position=self._cursor, turn=len(self._log), known=False)

    def _out_of_turn(self, asked: Asked) -> bool:
        """Whether a record before the request's own is of the same lane, which does one thing after the other."""
        expected = self._next_begin()
        return (
            asked.lane is not None
            and expected is not None
            and lane_of(self._source, expected.position) == asked.lane
            and _likeness(expected) != _likeness(self.carried(_ANY, asked))
        )

    def _next_begin(self) -> Begin | None:
        """The next begin that the program must ask for: in the prefix, else at the anchor."""
        for position in range(self._cursor, self._size):
            entry = self._log.entries[position]
            if isinstance(entry, Begin) and position not in self._covered:
                return entry
        event = None if self._anchor is None else self._log.event_at(self._anchor)
        return event.begin if event else None

    def _closest(self, asked: Asked) -> Begin | None:
        """The record in whose place a request came: the next one; where others overlap it, the one of the same lane,
        else of the same agent.
        """
        first = self._next_begin()
        if first is None or asked.lane is None or lane_of(self._source, first.position) == asked.lane:
            return first
        event = self._event_at(first.position)
        stop = len(self._log) if event.end is None else event.end.position
        stop = min(stop, self._size + (self._anchor is not None))
        overlapping = [
            entry
            for entry in self._log.entries[first.position : stop]
            if isinstance(entry, Begin) and entry.position not in self._covered
        ]
        for begin in overlapping:
            if lane_of(self._source, begin.position) == asked.lane:
                return begin
        alike = [begin for begin in overlapping if (begin.kind, begin.actor) == (asked.kind, asked.actor)]
        return alike[0] if alike else first

    def _event_at(self, position: int) -> Event:
        event = self._log.event_at(position)
        if event is None:
            raise KeyError(position)
        return event

    def _diverge(self, asked: Asked) -> Diverge:
        expected = self._closest(asked)
        if expected is None:
            divergence = Divergence(
                kind="extra",
                position=self._size,
                recorded_call="",
                actual_call=call_of(asked),
                path="",
                recorded=ABSENT,
                actual=call_of(asked),
            )
        else:
            blobs = {blob.digest: blob.data for blob in asked.request.blobs}
            actual = request_view(asked.request.document(), blobs.__getitem__)
            divergence = changed(expected, self._source.request(expected), asked, actual)
        self._divergence = divergence
        return Diverge(divergence=divergence)

    def _check_carried(self, end: End) -> Divergence | None:
        """What was in flight at the anchor gets its recorded outcome, unless the program itself gave it up."""
        event = self._log.event_at(end.begin) if end.begin < self._size else None
        if event is None or event.end is None or event.position in self._containers or end.outcome is Outcome.ABORT:
            return None
        if (event.end.outcome, event.end.result) != (end.outcome, end.result):
            self._divergence = self._other_result(event.end, end)
        return self._divergence

    def _other_result(self, recorded: Begin | End, end: End) -> Divergence:
        event = self._log.event_at(end.begin)
        return Divergence(
            kind="result",
            position=end.position,
            recorded_call=call_of(event.begin) if event else "",
            actual_call=call_of(event.begin) if event else "",
            path="/result",
            recorded=recorded.digest,
            actual=end.digest,
        )


_NEVER_REPEATED = ("execute_tool", "human_input")
"""A client repeats a request; a tool that is called again, or a person that is asked again, is another event."""

_ANY = Begin(position=0, kind="http", actor=None, name="", parent=None, call_id=None, request=Digest("0" * 64))


def _likeness(begin: Begin) -> Digest:
    """Equal for records of the same request, wherever they stand and whatever led to them."""
    return replace(begin, position=0, edges=(), declared=Declared()).digest
