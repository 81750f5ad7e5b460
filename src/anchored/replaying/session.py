"""The state machine of a replay. It does no I/O: the boundary asks, the session answers, the boundary acts."""

from __future__ import annotations

from dataclasses import replace

from anchored.canonical import Digest
from anchored.events import Begin, End, Outcome, request_view
from anchored.recording import Event, Recording
from anchored.replaying.answers import Answer, Diverge, Enter, GoLive, Intervene, Replace, Serve, Wait
from anchored.replaying.asked import Asked
from anchored.replaying.differences import ABSENT
from anchored.replaying.divergence import Divergence, call_of, changed
from anchored.replaying.interventions import Guide, Intervention, ReplaceResult, Unchanged
from anchored.replaying.policy import containers, covered_positions, pieces


class Session:
    """One attempt at replaying a recording.

    Args:
        source: the recording.
        anchor: position of the anchor's begin; None replays to the end, nothing live.
        intervention: what is changed at the anchor.

    The prefix is the entries before the anchor, served in recorded order only. The first divergence is final.
    """

    def __init__(self, source: Recording, *, anchor: int | None, intervention: Intervention | None = None) -> None:
        self._source = source
        self._log = source.log
        self._anchor = anchor
        self._intervention = intervention or Unchanged()
        self._size = len(self._log) if anchor is None else anchor
        self._containers = containers(self._log)
        self._covered = covered_positions(self._log, self._containers)
        self._pieces = pieces(self._covered)
        self._done = bytearray(self._size)
        self._cursor = 0
        self._divergence: Divergence | None = None
        self._live = False
        self._anchor_request: Digest | None = None
        self._sent: set[int] = set()

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
        """Whether every entry of the prefix was served or matched."""
        return self._cursor >= self._size

    @property
    def concurrent(self) -> bool:
        """Whether events overlap in the recording, so that a request may rightly come before its turn."""
        return any(
            other.position not in self._ancestors(event.begin)
            for event in self._log.events
            for other in self._log.pending_at(event.position)
        )

    def covered_by(self, position: int) -> list[int]:
        """Positions of the entries that the served tool at `position` covers, in order."""
        return self._pieces.get(position, [])

    def ask(self, asked: Asked) -> Answer:
        """What to do about a crossing that the program is about to make."""
        if self._divergence is not None:
            return Diverge(divergence=self._divergence)
        if self._live:
            return self._again(asked)
        if self.consumed:
            return self._beyond_prefix(asked)
        expected = self._next_begin()
        if expected is not None and expected.position == self._cursor and self._matches(expected, asked):
            return self._serve(expected, asked)
        return Wait(position=self._cursor) if self._later(asked) else self._diverge(expected, asked)

    def end_due(self, position: int) -> bool:
        """Whether the end of the event at `position` is next in recorded order, or lies outside the prefix."""
        event = self._log.event_at(position)
        if event is None or event.end is None or event.end.position >= self._size:
            return True
        return self._cursor == event.end.position

    def finish(self, end: End) -> Divergence | None:
        """An end was rebuilt from what the program was handed; a divergence if it is not the recorded one."""
        if self._live or self._divergence is not None or end.position >= self._size:
            if end.begin in self._sent and end.outcome is Outcome.SUCCESS:
                self._anchor_request = None
            return self._divergence
        recorded = self._log.entries[end.position]
        if recorded.digest != end.digest:
            self._divergence = self._other_result(recorded, end)
            return self._divergence
        self._take(end.position)
        return None

    def sent(self, position: int) -> None:
        """The event that begins at `position` had the intervention."""
        self._sent.add(position)

    def give_up(self, asked: Asked) -> Diverge:
        """The request that waits can never have its turn: it came in place of the next recorded one."""
        return self._diverge(self._next_begin(), asked)

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

    def _serve(self, expected: Begin, asked: Asked) -> Answer:
        if self.carried(expected, asked).digest != expected.digest:
            return self._diverge(expected, asked)
        event = self._event_at(expected.position)
        self._take(expected.position)
        if expected.position in self._containers:
            return Enter(event=event)
        for inner in self.covered_by(expected.position):
            if inner < self._size:
                self._take(inner)
        return Serve(event=event)

    def _beyond_prefix(self, asked: Asked) -> Answer:
        event = None if self._anchor is None else self._log.event_at(self._anchor)
        if event is None:
            return self._diverge(None, asked)
        if self.carried(event.begin, asked).digest != event.begin.digest:
            ahead = not self._matches(event.begin, asked) and self._later(asked)
            return Wait(position=event.position) if ahead else self._diverge(event.begin, asked)
        self._live = True
        if asked.kind != "execute_tool":  # a client repeats a request; a tool that is called again is another event
            self._anchor_request = asked.request.digest
        return self._acting()

    def _again(self, asked: Asked) -> Answer:
        """A client that repeats the anchor's request before it succeeded is given the intervention again."""
        return self._acting() if asked.request.digest == self._anchor_request else GoLive()

    def _acting(self) -> Answer:
        """What the intervention makes of the anchor's request."""
        if isinstance(self._intervention, Guide):
            return Intervene(intervention=self._intervention)
        if isinstance(self._intervention, ReplaceResult):
            return Replace(result=self._intervention.result)
        return GoLive()

    def _take(self, position: int) -> None:
        self._done[position] = 1
        while self._cursor < self._size and self._done[self._cursor]:
            self._cursor += 1

    def _next_begin(self) -> Begin | None:
        """The next begin that the program must ask for: in the prefix, else at the anchor."""
        for position in range(self._cursor, self._size):
            entry = self._log.entries[position]
            if isinstance(entry, Begin) and not self._done[position] and position not in self._covered:
                return entry
        event = None if self._anchor is None else self._log.event_at(self._anchor)
        return event.begin if event else None

    def _later(self, asked: Asked) -> bool:
        """Whether the request is recorded later, behind the anchor too: a thread may be ahead of its turn."""
        return any(
            self._matches(event.begin, asked)
            for event in self._log.events
            if event.position >= self._cursor and not (event.position < self._size and self._done[event.position])
        )

    def _matches(self, begin: Begin, asked: Asked) -> bool:
        """Whether it is the recorded request, edges aside: those depend on the moment at which it is asked."""
        rebuilt = replace(self.carried(begin, asked), edges=begin.edges)
        return rebuilt.digest == begin.digest

    def _ancestors(self, begin: Begin) -> set[int]:
        found: set[int] = set()
        while begin.parent is not None:
            found.add(begin.parent)
            begin = self._event_at(begin.parent).begin
        return found

    def _event_at(self, position: int) -> Event:
        event = self._log.event_at(position)
        if event is None:
            raise KeyError(position)
        return event

    def _diverge(self, expected: Begin | None, asked: Asked) -> Diverge:
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
