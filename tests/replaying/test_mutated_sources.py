"""500 recordings changed with every digest recomputed, and the program that made the original (R0-07, R0-11; issue 5b).

No digest inside such a file is wrong, so only two things can tell: the program, and a digest from outside.

- A changed request diverges at that event; under a served tool nobody asks for it.
- A changed result diverges at the first later request that holds what was changed, or where an enclosing tool whose
  code runs hands out another result; never, if nothing holds it. Then the replay is an exact one of that recording.
- Pinned by its digest (--expect, and a plan's source) each of them is refused.

What holds a result is found by looking for a mark, eight digits that stand in one result alone, in the bytes of later
requests: no session, no program.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from dataclasses import replace
from typing import Any

from builders import Call, World, asked_positions, plan_of, rebuilt, recorded, replayed, results_of, team, varied

from anchored.canonical import canonical
from anchored.events import Begin, HttpResult, Outcome, Raised, Request, Result, ToolValue, decode_value, encode_value
from anchored.recording import Recording

TIMES = 560


def marks_of(result: Result) -> list[str]:
    """What the world put into a result."""
    text = result.body.decode() if isinstance(result, HttpResult) else ""
    if isinstance(result, ToolValue):
        text = json.dumps(decode_value(result.value))
    if isinstance(result, Raised):
        text = result.error.message
    found = [text[place : place + 8] for place in range(len(text) - 7)]
    return [mark for mark in dict.fromkeys(found) if all(digit in "0123456789abcdef" for digit in mark)]


def other_result(result: Result, mark: str, new: str) -> Result:
    """The result with another mark, wherever it stands."""
    if isinstance(result, HttpResult):
        return replace(result, body=result.body.replace(mark.encode(), new.encode()))
    if isinstance(result, Raised):
        return Raised(error=replace(result.error, message=result.error.message.replace(mark, new)))

    def renamed(value: Any) -> Any:
        return tuple(map(renamed, value)) if isinstance(value, tuple) else value.replace(mark, new)

    return ToolValue(value=encode_value(renamed(decode_value(result.value))))


def unread_change(result: Result, chance: random.Random) -> Result | None:
    """A change of something that no program of this test reads."""
    if isinstance(result, HttpResult):
        usage = result.body.replace(b'"prompt_tokens": 12', b'"prompt_tokens": 13')
        return chance.choice(
            [
                replace(result, body=result.body + b" "),
                replace(result, headers=(*result.headers, ("retry-after", "9"))),
                replace(result, closed=True),
                replace(result, body=usage) if usage != result.body else replace(result, headers=()),
            ]
        )
    if isinstance(result, Raised):
        return Raised(error=replace(result.error, arguments=None))
    return None


def held_in(request: Request, begin: Begin, mark: str) -> bool:
    texts = [request.before, request.after, *(blob.data for blob in request.blobs), (begin.call_id or "").encode()]
    return any(mark.encode() in text for text in texts)


def expected_place(source: Recording, position: int, mark: str, asked: set[int]) -> int | None:
    """Where the program shows that it was handed another mark."""
    event = source.log.event_at(position)
    assert event is not None
    assert event.end is not None
    results = results_of(source)
    for entry in source.log.entries[event.end.position + 1 :]:
        if isinstance(entry, Begin):
            if entry.position in asked and held_in(source.contents.request(entry.request), entry, mark):
                return entry.position
            continue
        runs = any(inner.begin.kind != "http" for inner in source.log.descendants(entry.begin))
        if runs and mark in json.dumps(str(results[entry.begin])):
            return entry.position
    return None


def other_request(call: Call, chance: random.Random) -> Request:
    """The call with one change in what is asked."""
    if call.kind == "execute_tool":
        held = call.made["arguments"]
        value = json.loads(held) if isinstance(held, str) else dict(held)
        key = chance.choice(sorted(value))
        return chance.choice(
            [
                call.again(arguments={**value, key: "other"}),
                call.again(arguments={**value, "more": 1}),
                call.again(arguments="{not json"),
                call.again(name="other"),
            ]
        ).request
    changes: list[dict[str, Any]] = [
        {"method": "PATCH"},
        {"path": call.path + "/"},
        {"query": "a=1"},
        {"headers": [*call.made["headers"], ("anthropic-beta", "x")]},
        {"body": call.body + b"x"},
    ]
    if call.body and b"NaN" not in call.body:
        body = json.loads(call.body)
        field = "input" if "input" in body else "messages"
        changes += [
            {"body": canonical({**body, "model": "other"})},
            {"body": canonical({**body, "seed": 1})},
            {"body": canonical({**body, field: body[field][1:]})},
            {"body": canonical({**body, field: [*body[field], body[field][0]]})},
            {"body": canonical({**body, field: [{"role": "user", "content": "other"}, *body[field][1:]]})},
        ]
    return call.again(**chance.choice(changes)).request


def test_mutations_with_every_digest_recomputed(seed: int, figures: Any) -> None:
    """R0-07, R0-11, F1: see above. Prints the seed and counts how each was told."""
    counted: Counter[str] = Counter()
    sources: dict[int, tuple[Recording, dict[int, Call], list[int]]] = {}
    seen: set[str] = set()
    pinned = live = 0
    for number in range(TIMES):
        chance = random.Random(f"{seed}/{number}")
        variant = number % 4
        if variant not in sources:
            made = recorded(team(), world=World(seed + variant))
            calls: dict[int, Call] = {}
            places = asked_positions(made)
            replayed(made, varied(team(), lambda index, call, c=calls, p=places: [c.setdefault(p[index], call)]))
            sources[variant] = made, calls, places
        source, calls, places = sources[variant]
        asked = set(places)
        event = chance.choice(source.log.events)
        position = event.position
        result = source.result(event)
        assert result is not None
        assert event.end is not None
        containers = {place for place, call in calls.items() if call.name == "panel"}
        way = chance.choice(["request", "request", "result", "result", "result", "unread", "outcome", "covered"])
        marks = marks_of(result)
        expected: int | None = None
        if way == "request" and position in asked:
            request = other_request(calls[position], chance)
            mutant = rebuilt(source, requests={position: request})
            expected = position
        elif way == "result" and marks:
            mark = chance.choice(marks)
            new = f"{chance.randrange(16**8):08x}"
            mutant = rebuilt(source, results={position: other_result(result, mark, new)})
            expected = expected_place(source, position, mark, asked) if position in asked else None
            if position in containers:
                expected = event.end.position  # its own code hands out the original
        elif way == "unread" and (changed := unread_change(result, chance)) is not None:
            mutant = rebuilt(source, results={position: changed})
        elif way == "outcome":
            mutant = rebuilt(source, outcomes={position: Outcome.ABORT})
            if event.begin.kind != "execute_tool":
                continue  # what a model call that failed issued is no edge any more: see the test below
            expected = event.end.position if position in containers else None
        else:
            mutant = rebuilt(source, begins={3: {"name": f"GET /other{number}"}})
            way = "covered"
        what = f"seed {seed}, {number}: {way} of {position} ({event.begin.kind} {event.begin.name}), variant {variant}"
        assert mutant.digest != source.digest, what
        seen.add(mutant.digest)
        driven = replayed(mutant, team(), world=nobody)
        divergence = driven.divergence
        assert (None if divergence is None else divergence.position) == expected, f"{what}: {divergence}"
        assert driven.live == [], what
        assert driven.served == [place for place in places if expected is None or place < expected], what
        if divergence is None:
            assert driven.session.consumed, what
            assert driven.recording.log.head == mutant.log.head, what
        else:
            assert divergence.kind in ("changed", "result"), what
        pinned += plan_of(source).source not in (mutant.digest, driven.recording.digest)
        live += len(driven.live)
        counted[f"{way}: {'never' if expected is None else 'there' if expected == position else 'later'}"] += 1
    print(f"seed {seed}: {dict(counted)}")
    figures.add(
        "mutations of a recording, every digest recomputed, replayed",
        "tests/replaying/test_mutated_sources.py::test_mutations_with_every_digest_recomputed",
        mutations=counted.total(),
        refused_where_pinned=pinned,
        diverged_at_the_changed_request=counted["request: there"],
        diverged_where_the_changed_result_is_held=counted["result: later"] + counted["outcome: later"],
        held_by_nothing=sum(times for key, times in counted.items() if key.endswith("never")),
        live=live,
        seed=seed,
    )
    assert counted.total() == pinned >= 500
    assert live == 0
    assert min(counted[key] for key in ("request: there", "result: later", "result: never", "unread: never")) >= 30
    assert len(seen) > 300


def nobody(call: Call) -> Any:
    raise AssertionError(f"{call.name} went live")


def test_an_outcome_that_was_changed_shows_where_edges_are_found_anew() -> None:
    """A response that failed issues no call ids and no text, so what depends on it has other edges."""
    source = recorded(team())
    mutant = rebuilt(source, outcomes={0: Outcome.FAILURE})
    driven = replayed(mutant, team(), world=nobody)
    assert driven.divergence is not None
    assert (driven.divergence.position, driven.divergence.path) == (2, "/edges")
    assert driven.live == []


def test_a_mutated_source_replayed_to_an_anchor_shows_before_it_goes_live(seed: int) -> None:
    """R0-03: with an anchor behind the change, and every request of the prefix changed in turn."""
    source = recorded(team())
    chance = random.Random(seed)
    calls: dict[int, Call] = {}
    places = asked_positions(source)
    replayed(source, varied(team(), lambda index, call: [calls.setdefault(places[index], call)]))
    for position in places:
        mutant = rebuilt(source, requests={position: other_request(calls[position], chance)})
        for anchor in [place for place in mutant.log.quiescent_positions() if place >= position][:3]:
            driven = replayed(mutant, team(), anchor=anchor, world=nobody)
            assert driven.divergence is not None, f"seed {seed}, {position}, anchor {anchor}"
            assert driven.divergence.position == position
            assert driven.live == []
            assert not driven.session.live
