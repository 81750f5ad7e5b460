"""Recorded edges, found while events happen. They are part of an event's identity, so the rules have a version."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from anchored.canonical import Digest
from anchored.events import (
    Begin,
    Edge,
    End,
    HttpResult,
    Message,
    Outcome,
    Request,
    Result,
    answered_calls,
    issued_calls,
    message_text,
    model_output,
)

EDGE_RULES = 2
"""Version of the rules below; kept in the run configuration, since a replay must find the same edges."""

MINIMUM_TEXT = 12
"""Shorter texts ("yes", an agent's name) say nothing about where they came from."""


@dataclass(frozen=True, slots=True)
class _Traced:
    """One message of an actor's last request, and the entries that produced it, if any did."""

    digest: Digest
    sources: tuple[Edge, ...]


class Tracer:
    """Follows events in log order and tells what each new one depends on.

    Rules, version 2. A tool call depends on the end of the one model call that issued its call id. A request depends,
    for each message that the actor's last request did not hold in the same place, on the end of the one event that
    produced it: each tool call that the message answers by id, else the model call that issued the calls which the
    message repeats, else the event whose output text the message is; of a progress ledger of Magentic-One that is also
    the instruction in it. Streamed responses count as if they had come whole. What it keeps of its actor's last request
    it depends on through that request (`history`), if anything kept was produced by an event. The first event of an
    agent that a speaker selection chose depends on that selection. Where two events could be meant there is no recorded
    edge.
    """

    def __init__(self) -> None:
        self._issuers: defaultdict[str, list[int]] = defaultdict(list)
        self._answers: defaultdict[str, list[int]] = defaultdict(list)
        self._texts: defaultdict[str, list[int]] = defaultdict(list)
        self._last: dict[str | None, tuple[int, list[_Traced]]] = {}
        self._chosen: dict[str, int] = {}
        self._model_ends: dict[int, int] = {}

    def issuer(self, call_id: str) -> int | None:
        """Position of the begin of the one model call that issued this call id; None if none did, or several."""
        return _only(self._issuers.get(call_id))

    def chose(self, actor: str, selection: int) -> None:
        """The framework chose `actor` to speak next, by what the model call that began at `selection` said."""
        self._chosen[actor] = selection

    def edges(
        self, *, actor: str | None, call_id: str | None, request: Request, chosen_by: int | None = None
    ) -> tuple[Edge, ...]:
        """What an event that is about to begin depends on, sorted; changes nothing.

        Args:
            actor: who acts.
            call_id: of a tool call.
            request: what is asked.
            chosen_by: begin of the model call that chose the actor, where the adapter knows it.
        """
        found: set[Edge] = set()
        if call_id is not None and (issuer := _only(self._issuers.get(call_id))) is not None:
            found.add(Edge(position=self._model_ends[issuer], kind="call_id"))
        for choice in (self._chosen.get(actor or ""), chosen_by):
            if choice in self._model_ends:
                found.add(Edge(position=self._model_ends[choice], kind="speaker_selection"))
        begun, held = self._last.get(actor, (0, []))
        kept = _kept(held, request.messages)
        if any(traced.sources for traced in held[:kept]):
            found.add(Edge(position=begun, kind="history"))
        for message in request.messages[kept:]:
            found.update(self._sources(message))
        return tuple(sorted(found))

    def begun(self, begin: Begin, request: Request) -> None:
        """An event begins; call it after `edges`."""
        if begin.actor is not None:
            self._chosen.pop(begin.actor, None)
        if request.messages:
            _, held = self._last.get(begin.actor, (0, []))
            kept = _kept(held, request.messages)
            traced = held[:kept] + [_Traced(item.digest, self._sources(item)) for item in request.messages[kept:]]
            self._last[begin.actor] = (begin.position, traced)

    def ended(self, begin: Begin, end: End, result: Result | None, text: str | None) -> None:
        """An event ended.

        Args:
            begin: its begin.
            end: its end.
            result: its result, if it was kept.
            text: what a tool's value says, where it is a text.
        """
        if begin.kind == "execute_tool":
            if begin.call_id is not None:
                self._answers[begin.call_id].append(end.position)
        elif begin.kind not in ("http", "human_input"):
            self._model_ends[begin.position] = end.position
            if isinstance(result, HttpResult) and end.outcome is Outcome.SUCCESS:
                output = model_output(result.body)
                text = output.text
                for call_id in dict.fromkeys(output.call_ids):
                    self._issuers[call_id].append(begin.position)
        if text is not None and len(text) >= MINIMUM_TEXT:
            self._texts[text].append(end.position)
        instruction = _instruction(text)
        if instruction is not None and len(instruction) >= MINIMUM_TEXT:
            self._texts[instruction].append(end.position)

    def _sources(self, message: Message) -> tuple[Edge, ...]:
        answers = [_only(self._answers.get(call_id)) for call_id in answered_calls(message.value)]
        answered = tuple(Edge(position=answer, kind="call_id") for answer in answers if answer is not None)
        if answered:
            return answered
        for call_id in issued_calls(message.value):
            issuer = _only(self._issuers.get(call_id))
            if issuer is not None:
                return (Edge(position=self._model_ends[issuer], kind="call_id"),)
        text = message_text(message.value)
        producer = _only(self._texts.get(text)) if text is not None else None
        return () if producer is None else (Edge(position=producer, kind="message"),)


def _instruction(text: str | None) -> str | None:
    """Of a progress ledger of Magentic-One, a JSON object in a code block or without one, what its next agent gets."""
    if text is None or '"instruction_or_question"' not in text:
        return None
    try:
        ledger = json.loads(text[text.index("{") : text.rindex("}") + 1])
        answer: object = ledger["instruction_or_question"]["answer"]
    except (ValueError, LookupError, TypeError, RecursionError):
        return None
    return answer if isinstance(answer, str) else None


def _only(positions: Sequence[int] | None) -> int | None:
    return positions[0] if positions is not None and len(positions) == 1 else None


def _kept(held: Sequence[_Traced], messages: Sequence[Message]) -> int:
    count = 0
    for traced, message in zip(held, messages, strict=False):
        if traced.digest != message.digest:
            break
        count += 1
    return count
