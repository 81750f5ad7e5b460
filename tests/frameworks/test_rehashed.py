"""A recording that somebody changed, every digest recomputed, served to the real team: nothing goes live."""

import json
import random
from collections import Counter
from dataclasses import replace
from typing import Any

import builders
import pytest

from anchored.events import HttpResult, Outcome, Request, Result, ToolValue, decode_value, encode_value, http_request
from anchored.library import Library
from anchored.recording import Event, Recording
from anchored.testing.mutants import changed_entries, store

from .conftest import Stand

WAYS = ("request", "request", "result", "result", "result", "outcome", "actor", "name")


def other_request(source: Recording, event: Event, chance: random.Random) -> Request:
    """The request with another message, setting or argument."""
    if event.begin.kind == "execute_tool":
        return builders.tool("x", event.begin.name, {"expression": str(chance.random())}).request
    view: Any = source.request(event.begin)
    body = view["body"]
    if chance.random() < 0.5:
        body["temperature"] = chance.random()
    else:
        chance.choice(body["messages"])["content"] = f"other {chance.random()}"
    headers = [(name, value) for name, value in view["headers"].items()] if view["headers"] else []
    return http_request(
        method=view["method"],
        path=view["path"],
        query=view["query"],
        headers=headers,
        body=json.dumps(body).encode(),
    )


def other_result(result: Result | None, chance: random.Random) -> Result:
    """The result with other words in what the agents read."""
    word = f"other {chance.random()}"
    if isinstance(result, ToolValue):
        flag, message = decode_value(result.value)  # pyright: ignore[reportGeneralTypeIssues]
        return ToolValue(value=encode_value((flag, {**message, "content": word})))
    assert isinstance(result, HttpResult)
    body = json.loads(result.body)
    message = body["choices"][0]["message"]
    if message.get("tool_calls"):
        message["tool_calls"][0]["function"]["arguments"] = json.dumps({"query": word, "expression": word})
    else:
        message["content"] = word
    return replace(result, body=json.dumps(body).encode())


def mutated(source: Recording, way: str, event: Event, chance: random.Random) -> Recording:
    at = event.position
    if way == "request":
        return builders.rebuilt(source, requests={at: other_request(source, event, chance)})
    if way == "result":
        return builders.rebuilt(source, results={at: other_result(source.result(event), chance)})
    if way == "outcome":
        return builders.rebuilt(source, outcomes={at: Outcome.ABORT})
    return builders.rebuilt(source, begins={at: {way: f"other-{chance.random()}"}})


@pytest.mark.timeout(900)
def test_rehashed_mutations_never_go_live(stand: Stand, seed: int, thorough: bool, figures: Any) -> None:
    """Issue, Shown: 40 in `make figures`, 5 elsewhere; what is told apart is told before anything goes live.

    Anchored at the last event, so that a mutation that were missed would show as a live call. What nothing shows (the
    last words before the anchor, an outcome that no later request holds) is counted: README says so.
    """
    library = Library(stand.folder / ".anchored")
    source = library.open("first")
    last = source.log.events[-1].position
    counted: Counter[str] = Counter()
    times = 40 if thorough else 5
    for number in range(times):
        chance = random.Random(f"{seed}/{number}")
        way = chance.choice(WAYS)
        event = chance.choice(source.log.events[:-1])
        mutant = mutated(source, way, event, chance)
        mutant = replace(mutant, notes=source.notes)
        name = f"mutant-{number}"
        store(library, name, mutant, changed_entries(mutant))
        what = f"seed {seed}, {number}: {way} of {event.position} ({event.begin.kind} {event.begin.name})"
        calls, tools = stand.calls(), stand.tool_runs()
        pinned = stand.anchored("replay", name, "--expect", source.digest)
        assert pinned.status == 5, what
        done, attempt = stand.replay(name)
        assert (stand.calls(), stand.tool_runs()) == (calls, tools), what
        assert done.status in (0, 3), (what, done.err)
        if done.status == 3:
            assert attempt["verdict"] == "diverged"
            assert attempt["divergence"]["position"] >= event.position, what
            anchored, _ = stand.replay(name, "--at", str(last))
            assert anchored.status == 3, (what, anchored.err)
            assert (stand.calls(), stand.tool_runs()) == (calls, tools), what
        counted["told apart" if done.status == 3 else "held by nothing"] += 1
    assert counted["told apart"] > times // 2
    figures.add(
        "AG2 0.13.3: mutations of a run, every digest recomputed, replayed",
        "test_rehashed_mutations_never_go_live",
        mutations=times,
        refused_where_pinned=times,
        diverged=counted["told apart"],
        held_by_nothing=counted["held by nothing"],
        live_calls=0,
    )
