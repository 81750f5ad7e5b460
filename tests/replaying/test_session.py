"""The session of a replay: what is served, what waits, where it goes live, and that it never does after a difference.

R0-03 and R0-11: nothing is answered with GoLive or Intervene before the whole prefix was asked for as recorded.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from builders import (
    TASK,
    Both,
    Call,
    Chosen,
    Driven,
    Memory,
    Program,
    Step,
    World,
    asked_positions,
    chat,
    clock,
    http,
    pair,
    recorded,
    replayed,
    results_of,
    team,
    text_of,
    tool,
    user,
    varied,
)

from anchored.boundary.ledger import Ledger
from anchored.canonical import canonical, digest, parse_own
from anchored.events import HttpResult, Outcome, ToolValue, encode_value, entry_from_document
from anchored.recording import Recording
from anchored.replaying import (
    ABSENT,
    Asked,
    Diverge,
    Divergence,
    Enter,
    GoLive,
    Guide,
    Intervene,
    Serve,
    Session,
    Wait,
)
from anchored.replaying.divergence import call_of

TEAM = recorded(team())
ASKED = asked_positions(TEAM)
QUIESCENT = TEAM.log.quiescent_positions()
CALLS: dict[int, Call] = {}


def _collect(number: int, call: Call) -> list[Call]:
    CALLS[ASKED[number]] = call
    return [call]


replayed(TEAM, varied(team(), _collect))
CONTAINERS = [event.position for event in TEAM.log.events if event.begin.name == "panel"]
GUIDANCE = Guide(text="Mind the 😀 weather.")


def at(position: int, edit: Callable[[Call], Call | list[Call]]) -> Program:
    """The team with one call changed."""

    def change(number: int, call: Call) -> list[Call]:
        if ASKED[number] != position:
            return [call]
        changed = edit(call)
        return changed if isinstance(changed, list) else [changed]

    return varied(team(), change, given=results_of(TEAM)[position])


def assert_stopped_at(driven: Driven, position: int) -> Divergence:
    """Everything before was served, the rest was not, nothing went live, and nothing ever will."""
    divergence = driven.divergence
    assert divergence is not None
    assert divergence.position == position
    assert driven.served == [other for other in ASKED if other < position]
    assert driven.live == driven.sent == []
    assert not driven.session.live
    assert isinstance(driven.answers[-1][1], Diverge)
    for call in (CALLS[0], CALLS[ASKED[-1]], CALLS[position]):
        assert driven.session.ask(ask(call)) == Diverge(divergence=divergence)
    assert not driven.session.live
    return divergence


def ask(call: Call, *, parent: int | None = None, **fields: Any) -> Asked:
    crossing = call.crossing()
    held = {"actor": crossing.actor, "name": crossing.name, "kind": crossing.kind, "call_id": crossing.call_id}
    return Asked(parent=parent, request=crossing.request, **{**held, **fields})


# ---- The same requests


def test_the_same_program_is_served_everything_in_order() -> None:
    """R0-24: exact prefix acceptance. Law: a full replay of an unchanged program is exact."""

    def nobody(call: Call) -> Any:
        raise AssertionError(f"{call.name} went live")

    driven = replayed(TEAM, team(), world=nobody)
    assert driven.served == ASKED
    assert [type(answer) for _, answer in driven.answers] == [
        Enter if position in CONTAINERS else Serve for position in ASKED
    ]
    assert driven.session.consumed
    assert driven.divergence is None
    assert driven.live == driven.sent == []
    assert driven.recording.digest == TEAM.digest
    assert [entry.digest for entry in driven.recording.log.entries] == [entry.digest for entry in TEAM.log.entries]
    assert driven.session.missing_after(len(driven.recording.log)) is None


def test_other_transport_headers_and_key_order_are_the_same_requests() -> None:
    """R0-01: what does not identify a request makes no difference to a replay."""

    def rewritten(_: int, call: Call) -> list[Call]:
        if call.kind == "execute_tool":
            held = call.made["arguments"]
            value = json.loads(held) if isinstance(held, str) else held
            return [call.again(arguments=json.dumps(dict(reversed(value.items())), indent=2))]
        headers = [*((name.upper(), value) for name, value in call.made["headers"]), ("X-Trace", "7")]
        body = call.body.replace(b'{"model"', b'{\n  "model"', 1)
        return [call.again(headers=headers, body=body)]

    driven = replayed(TEAM, varied(team(), rewritten))
    assert driven.divergence is None
    assert driven.recording.digest == TEAM.digest


@pytest.mark.parametrize("anchor", QUIESCENT)
def test_it_goes_live_exactly_at_the_anchor(anchor: int) -> None:
    """R0-02, R0-03: at every quiescent anchor; the prefix is served, the anchor's request is the first to go out."""
    driven = replayed(TEAM, team(), anchor=anchor, world=World(7))
    assert driven.divergence is None
    assert driven.session.live
    assert driven.served == [position for position in ASKED if position < anchor]
    first = driven.answers[len(driven.served)]
    assert first == (CALLS[anchor], GoLive()) or (first[0].request, first[1]) == (CALLS[anchor].request, GoLive())
    assert all(isinstance(answer, GoLive) for _, answer in driven.answers[len(driven.served) :])
    log = driven.recording.log
    assert log.tree.root(anchor) == TEAM.log.tree.root(anchor)
    assert log.entries[anchor].digest == TEAM.log.entries[anchor].digest
    assert driven.recording.digest != TEAM.digest


@pytest.mark.parametrize("anchor", QUIESCENT)
def test_an_unchanged_world_gives_the_same_suffix(anchor: int) -> None:
    """The control's control: if live answers are the recorded ones, so is the whole log."""
    driven = replayed(TEAM, team(), anchor=anchor)
    assert driven.recording.digest == TEAM.digest
    assert driven.session.live


def test_nothing_is_live_before_the_prefix_is_asked_for() -> None:
    """R0-03: with the last anchor of all, until the very request."""
    driven = replayed(TEAM, itertools_stop(team(), 5), anchor=QUIESCENT[-1])
    assert not driven.session.live
    assert not driven.session.consumed
    assert driven.live == []
    missing = driven.session.missing_after(len(driven.recording.log))
    assert missing is not None
    assert (missing.kind, missing.position) == ("missing", ASKED[5])


def itertools_stop(program: Program, steps: int) -> Program:
    """A program that ends early: after so many calls."""
    result: Any = None
    step: Step = next(program)
    done = 0
    while done < steps:
        result = yield step
        done += not isinstance(step, Chosen)
        step = program.send(result)


# ---- Changed requests


def changed_body(edit: Callable[[Any], Any]) -> Callable[[Call], Call]:
    def change(call: Call) -> Call:
        value = json.loads(call.body)
        edit(value)
        return call.again(body=json.dumps(value, ensure_ascii=False).encode())

    return change


def put(*path: Any, value: Any) -> Callable[[Call], Call]:
    def edit(body: Any) -> None:
        for key in path[:-1]:
            body = body[key]
        body[path[-1]] = value

    return changed_body(edit)


def messages_of(call: Call) -> tuple[str, list[Any]]:
    body = json.loads(call.body)
    field = "input" if "input" in body else "messages"
    return field, body[field]


Change = tuple[str, Callable[[Call], Call], str, Any]
"""Name, the change, the path that is told, and the actual value there (... for any)."""


def changes_of(position: int) -> list[Change]:
    """Every sort of change that a call can have."""
    call = CALLS[position]
    found: list[Change] = [
        ("actor", lambda held: replace(held, actor="somebody"), "/actor", "somebody"),
        ("no actor", lambda held: replace(held, actor="nobody" if held.actor is None else None), "/actor", ...),
        ("name", lambda held: replace(held, name="other"), "/name", "other"),
        ("call id", lambda held: replace(held, call_id="call_other"), "/call_id", "call_other"),
    ]
    if call.kind == "execute_tool":
        found.append(("tool", lambda held: replace(held.again(name="t"), name="t"), "/name", "t"))
        held = call.made["arguments"]
        value = json.loads(held) if isinstance(held, str) else dict(held)
        key = sorted(value)[-1]
        found.append(("argument", lambda held: held.again(arguments={**value, key: [0]}), f"/arguments/{key}", [0]))
        found.append(("one more", lambda held: held.again(arguments={**value, "zz": 0}), "/arguments/zz", 0))
        less = {name: value[name] for name in value if name != key}
        found.append(("one less", lambda held: held.again(arguments=less), f"/arguments/{key}", ABSENT))
        found.append(("no json", lambda held: held.again(arguments="{"), f"/arguments/{min(value)}", ABSENT))
        return found
    found += [
        ("kind", lambda held: replace(held, kind="retrieve"), "/kind", "retrieve"),
        ("method", lambda held: held.again(method="PUT"), "/method", "PUT"),
        ("path", lambda held: held.again(path=held.path + "x"), "/path", call.path + "x"),
        ("query", lambda held: held.again(query="v=2"), "/query", "v=2"),
        (
            "header",
            lambda held: held.again(headers=[*held.made["headers"], ("openai-beta", "x")]),
            "/headers/openai-beta",
            "x",
        ),
    ]
    if not call.body:
        return [*found, ("a body", lambda held: held.again(body=b'{"a": 1}'), "/body", {"a": 1})]
    found += [
        ("model", put("model", value="other"), "/body/model", "other"),
        ("one more field", put("a/b~c", value=None), "/body/a~1b~0c", None),
        ("no body", lambda held: held.again(body=b""), "/body", ABSENT),
    ]
    if b"NaN" in call.body:
        return found
    field, messages = messages_of(call)
    last = len(messages) - 1
    found.append(("message more", put(field, value=[*messages, user("x")]), f"/body/{field}/{last + 1}", user("x")))
    found.append(("message less", put(field, value=messages[:-1]), f"/body/{field}/{last}", ABSENT))
    if isinstance(messages[last], dict):
        found.append(("message", put(field, last, "content", value="x"), f"/body/{field}/{last}/content", "x"))
        found.append(("message field", put(field, last, "name", value="x"), f"/body/{field}/{last}/name", "x"))
    if "temperature" in json.loads(call.body):
        found.append(("number", put("temperature", value=0.75), "/body/temperature", 0.75))
        found.append(("boolean", put("temperature", value=True), "/body/temperature", True))
    return found


CHANGES = [
    pytest.param(position, *change[1:], id=f"{position}-{change[0]}")
    for position in ASKED
    for change in changes_of(position)
]


@pytest.mark.parametrize(("position", "edit", "path", "actual"), CHANGES)
def test_a_changed_request_diverges_there(position: int, edit: Callable[[Call], Call], path: str, actual: Any) -> None:
    """R0-07, R0-03: at that event, with the place and both values, before anything goes live."""
    driven = replayed(TEAM, at(position, edit))
    divergence = assert_stopped_at(driven, position)
    assert (divergence.kind, divergence.path) == ("changed", path)
    assert divergence.recorded != divergence.actual or type(divergence.recorded) is not type(divergence.actual)
    if actual is not ...:
        assert divergence.actual == actual
    begin = TEAM.log.entries[position]
    assert divergence.recorded_call == call_of(begin)
    assert divergence.recorded_call.split(": ")[1].split(" ")[0] == CALLS[position].kind
    assert Divergence.from_document(parse_own(canonical(divergence.document()), what="a divergence")) == divergence


@pytest.mark.parametrize("position", ASKED)
def test_a_change_before_or_at_the_anchor_never_goes_live(position: int) -> None:
    """R0-11, falsifier F1: for every event and every quiescent anchor; behind the anchor a change is no divergence."""
    for anchor in QUIESCENT:
        driven = replayed(TEAM, at(position, lambda call: replace(call, name="other")), anchor=anchor)
        if position <= anchor:
            assert_stopped_at(driven, position)
        else:
            assert driven.divergence is None
            assert driven.session.live
            assert driven.recording.log.tree.root(anchor) == TEAM.log.tree.root(anchor)


@pytest.mark.parametrize("position", [position for position in QUIESCENT if CALLS[position].body])
def test_an_intervention_comes_after_the_unmodified_request_matched(position: int) -> None:
    """Design, Interventions: a changed request at the anchor diverges, guidance or not."""
    driven = replayed(TEAM, at(position, put("model", value="x")), anchor=position, intervention=GUIDANCE)
    assert assert_stopped_at(driven, position).path == "/body/model"


def test_the_parent_and_the_edges_are_part_of_a_request() -> None:
    """Who encloses a call, and what it is known to depend on."""

    def outside(call: Call) -> Call:
        return replace(call, inside=lambda: moved(call))

    def moved(call: Call) -> Program:
        assert call.inside is not None
        inner = call.inside()
        first = next(inner)
        assert isinstance(first, Call)
        yield Call(
            kind="execute_tool",
            actor=first.actor,
            name="more",
            request=first.request,
            inside=None,
        )

    driven = replayed(TEAM, at(12, outside))
    assert assert_stopped_at(driven, 13).path == "/kind"

    def without_choice(program: Program) -> Program:
        step = next(program)
        while True:
            result = None
            if not isinstance(step, Chosen):
                result = yield step
            step = program.send(result)

    divergence = assert_stopped_at(replayed(TEAM, without_choice(team())), 10)
    assert divergence.path == "/edges"
    assert {"kind": "speaker_selection", "position": 9} in divergence.recorded
    assert {"kind": "speaker_selection", "position": 9} not in divergence.actual

    session = Session(TEAM, anchor=None)
    divergence = session.ask(ask(CALLS[0], parent=5))
    assert isinstance(divergence, Diverge)
    assert (divergence.divergence.path, divergence.divergence.actual) == ("/parent", 5)


# ---- Extra, missing, swapped


EXTRA = chat("planner", [user("one more")])


@pytest.mark.parametrize("position", [position for position in ASKED if position not in (30, 31)])
def test_an_extra_request_diverges_there(position: int) -> None:
    """R0-07: insert. It came in place of the recorded one, with or without an anchor."""
    for anchor in (None, QUIESCENT[-1]):
        driven = replayed(TEAM, at(position, lambda call: [EXTRA, call]), anchor=anchor)
        assert assert_stopped_at(driven, position).kind == "changed"


def test_an_extra_request_at_the_end_is_told_as_such() -> None:
    """R0-07: append."""
    driven = replayed(TEAM, at(ASKED[-1], lambda call: [call, EXTRA]))
    divergence = driven.divergence
    assert divergence is not None
    assert (divergence.kind, divergence.position, divergence.recorded_call) == ("extra", len(TEAM.log), "")
    assert divergence.actual == divergence.actual_call == "planner: chat gpt-invented"
    assert divergence.recorded is ABSENT
    assert driven.served == ASKED
    assert driven.live == []


@pytest.mark.parametrize("position", [position for position in ASKED[:-1] if position not in (22, 30, 31)])
def test_a_missing_request_diverges_there(position: int) -> None:
    """R0-07: delete. The next one comes in its place, from the lane that should have asked for it."""
    for anchor in (None, QUIESCENT[-1]):
        driven = replayed(TEAM, at(position, lambda _: []), anchor=anchor)
        divergence = driven.divergence
        assert divergence is not None
        assert driven.live == []
        assert not driven.session.live
        if position == 15:  # the container ends where its second call is due
            assert (divergence.kind, divergence.position) == ("result", 15)
        else:
            assert_stopped_at(driven, position)


def test_of_two_equal_requests_in_a_row_the_second_is_missed() -> None:
    """A retry that did not happen."""
    driven = replayed(TEAM, at(22, lambda _: []))
    divergence = driven.divergence
    assert divergence is not None
    assert divergence.position in (22, 24)
    assert driven.live == []


@pytest.mark.parametrize("count", range(len(ASKED)))
def test_a_program_that_ends_early_misses_the_next_event(count: int) -> None:
    """R0-07: truncate. Nothing diverged, but the prefix was not consumed, and that is told."""
    if 31 in ASKED[: count + 1] and ASKED[count] == 31:
        return
    steps = [position for position in ASKED if position not in (13, 15, 31)]
    driven = replayed(TEAM, itertools_stop(team(), min(count, len(steps) - 1)))
    assert driven.divergence is None
    assert not driven.session.consumed
    missing = driven.session.missing_after(len(driven.recording.log))
    assert missing is not None
    expected = steps[min(count, len(steps) - 1)]
    assert (missing.kind, missing.position, missing.actual) == ("missing", expected, ABSENT)
    assert missing.recorded == missing.recorded_call != ""


def letters(*names: str) -> Program:
    for name in names:
        yield http("GET", f"/{name}")


@pytest.mark.parametrize("order", [order for order in itertools.permutations("abc") if order != ("a", "b", "c")])
def test_swapped_requests_diverge_at_the_first_that_is_not_there(order: tuple[str, ...]) -> None:
    """R0-07: reorder. Records are served in recorded order only."""
    source = recorded(letters("a", "b", "c"))
    driven = replayed(source, letters(*order))
    first = next(place for place in range(3) if order[place] != "abc"[place])
    assert driven.served == [2 * place for place in range(first)]
    divergence = driven.divergence
    assert divergence is not None
    assert (divergence.position, divergence.path) == (2 * first, "/name")
    assert divergence.actual == f"GET /{order[first]}"
    assert not any(isinstance(answer, Wait) for _, answer in driven.answers), "one lane does one thing after the other"


# ---- Waiting


def overlapping() -> Program:
    yield Both(first=http("GET", "/a"), second=http("GET", "/b"))
    yield http("GET", "/c")


def test_a_request_that_comes_early_waits_for_its_turn() -> None:
    """Design, Order: it matches a later unserved record, so it is not served early and diverges nothing."""
    source = recorded(overlapping())
    session = Session(source, anchor=4)
    a, b, c = (ask(http("GET", f"/{name}")) for name in "abc")
    assert session.concurrent
    assert session.ask(b) == Wait(position=0, turn=1)
    assert session.ask(c) == Wait(position=0, turn=4)
    assert isinstance(session.ask(a), Serve)
    assert session.ask(c) == Wait(position=1, turn=4)
    assert isinstance(session.ask(b), Serve)
    assert session.ask(c) == Wait(position=2, turn=4)
    assert session.divergence is None
    assert not session.consumed
    assert (session.end_due(1), session.end_due(0)) == (True, False)
    assert session.finish(ended(source, 2)) is None
    assert session.end_due(0)
    assert session.finish(ended(source, 3)) is None
    assert session.consumed
    assert session.ask(c) == GoLive()


def ended(source: Recording, position: int) -> Any:
    return source.log.entries[position]


def test_a_request_that_matches_nothing_does_not_wait() -> None:
    source = recorded(overlapping())
    session = Session(source, anchor=None)
    assert session.ask(ask(http("GET", "/b"))) == Wait(position=0, turn=1)
    assert isinstance(session.ask(ask(http("GET", "/z"))), Diverge)
    assert isinstance(session.ask(ask(http("GET", "/a"))), Diverge)


def test_a_served_request_is_not_served_again() -> None:
    """A client that repeats what was not repeated when recorded."""
    session = Session(recorded(letters("a", "b")), anchor=None)
    assert isinstance(session.ask(ask(http("GET", "/a"))), Serve)
    assert isinstance(session.ask(ask(http("GET", "/a"))), Diverge)


def test_giving_up_is_a_divergence_at_what_was_due() -> None:
    session = Session(recorded(letters("a", "b")), anchor=None)
    assert session.ask(ask(http("GET", "/b"))) == Wait(position=0, turn=2)
    given = session.give_up(ask(http("GET", "/b")))
    assert (given.divergence.position, given.divergence.path) == (0, "/name")
    assert session.ask(ask(http("GET", "/a"))) == given


@pytest.mark.parametrize(
    ("program", "concurrent"), [(letters("a", "b"), False), (overlapping(), True), (pair(), False)]
)
def test_it_knows_whether_events_overlap(program: Program, concurrent: bool) -> None:
    assert Session(recorded(program), anchor=None).concurrent is concurrent


def test_both_of_two_results_that_overlap_are_told_apart() -> None:
    """R0-07: the last of several is too, though nothing is in flight any more when it comes."""
    source = recorded(overlapping())
    assert [type(source.log.entries[place]).__name__ for place in range(6)] == ["Begin"] * 2 + ["End"] * 2 + [
        "Begin",
        "End",
    ]
    assert Session(source, anchor=None).contested == {2, 3}


def test_nesting_is_no_overlap() -> None:
    """A container is open while its calls are made; they are its own."""

    def outer() -> Program:
        def inner() -> Program:
            yield chat("b", [user("x")])
            return ToolValue(value=encode_value(1)), Outcome.SUCCESS

        yield tool("a", "t", {}, effect="none", inside=inner, container=True)

    assert not Session(recorded(outer()), anchor=None).concurrent
    assert Session(TEAM, anchor=None).concurrent
    assert Session(TEAM, anchor=30).concurrent, "what overlaps behind the anchor may come first"


# ---- Results


def results_session(source: Recording) -> tuple[Session, Ledger]:
    return Session(source, anchor=None), Ledger(Memory(), clock())


@pytest.mark.parametrize("change", ["body", "status", "headers", "closed", "outcome", "none"])
def test_a_result_that_was_not_handed_out_as_recorded_diverges(change: str) -> None:
    """Receipts: a replayer sabotaged by one byte must yield no receipt. Ends are rebuilt from what was handed."""
    source = recorded(pair())
    session, ledger = results_session(source)
    first = next(pair())
    assert isinstance(first, Call)
    asked = ledger.asked(first.crossing())
    answer = session.ask(asked)
    assert isinstance(answer, Serve)
    begin = ledger.begin(asked, declared=answer.event.begin.declared, observation={}, durable=False)
    result: Any = source.result(answer.event)
    outcome = answer.event.outcome
    if change == "outcome":
        outcome = Outcome.UNKNOWN
    elif change == "none":
        result = None
    else:
        result = replace(
            result,
            **{
                "body": {"body": result.body[:-1]},
                "status": {"status": 201},
                "headers": {"headers": ()},
                "closed": {"closed": True},
            }[change],
        )
    end, _ = ledger.prepare_end(begin, outcome, result)
    divergence = session.finish(end)
    assert divergence is not None
    assert (divergence.kind, divergence.position, divergence.path) == ("result", 1, "/result")
    assert session.divergence == divergence
    assert isinstance(session.ask(asked), Diverge)


def test_a_result_at_another_place_diverges() -> None:
    """An end where a begin was recorded."""

    def lonely(number: int, call: Call) -> list[Call]:
        return [replace(call, inside=nothing) if call.inside else call]

    def nothing() -> Program:
        return ToolValue(value=encode_value("nothing")), Outcome.SUCCESS
        yield

    driven = replayed(TEAM, varied(team(), lonely))
    divergence = driven.divergence
    assert divergence is not None
    assert (divergence.kind, divergence.position) == ("result", 13)
    assert driven.live == []


def test_what_a_served_tool_covers_is_not_asked_for() -> None:
    """Design, Nesting: HTTP under a served leaf tool is covered by its result and copied unchanged."""
    driven = replayed(TEAM, team())
    assert 3 not in driven.served
    covered = [driven.recording.observation(position).get("covered") for position in (2, 3, 4, 5)]
    assert covered == [None, True, True, None]


# ---- Interventions


@pytest.mark.parametrize(
    "anchor", [position for position in QUIESCENT if CALLS[position].path == "/v1/chat/completions"]
)
def test_guidance_goes_out_at_the_anchor_and_nowhere_else(anchor: int) -> None:
    """The recorded begin is that of the unmodified request; what goes out is a copy with one message more."""
    driven = replayed(TEAM, team(), anchor=anchor, intervention=GUIDANCE, world=World(3))
    assert driven.divergence is None
    kinds = [type(answer) for _, answer in driven.answers]
    place = len([position for position in ASKED if position < anchor])
    assert kinds[place] is Intervene
    assert set(kinds[place + 1 :]) <= {GoLive}
    assert driven.recording.log.entries[anchor].digest == TEAM.log.entries[anchor].digest
    sent = driven.sent[0]
    assert sent == GUIDANCE.apply(method="POST", path=CALLS[anchor].path, body=CALLS[anchor].body)
    assert all(GUIDANCE.text.encode() not in body for body in driven.sent[1:])
    event = driven.recording.log.event_at(anchor)
    assert event is not None
    out: Any = driven.recording.sent(event)
    assert out["body"]["messages"][-1] == {"role": "user", "content": GUIDANCE.text}
    if anchor + 2 < len(driven.recording.log):
        later = driven.recording.log.event_at(anchor + 2)
        assert later is None or driven.recording.sent(later) is None


def stubborn(task: str = TASK) -> Program:
    """A client that repeats a request until it succeeds, and asks the same once more."""
    yield chat("one", [user("before")])
    tries = 0
    while True:
        result = yield chat("one", [user(task)])
        tries += 1
        if result.status == 200 or tries == 5:
            break
    yield chat("one", [user(task)])


class Busy:
    """Answers so many times with an error first."""

    def __init__(self, failures: int, outcome: Outcome) -> None:
        self.left = failures
        self.outcome = outcome

    def __call__(self, call: Call) -> tuple[Any, Outcome]:
        self.left -= 1
        if self.left >= 0:
            return HttpResult(status=503, headers=(), body=b"busy"), self.outcome
        return World()(call)


@pytest.mark.parametrize("failures", [0, 1, 3])
@pytest.mark.parametrize("outcome", [Outcome.FAILURE, Outcome.UNKNOWN, Outcome.ABORT])
def test_every_send_of_the_anchors_request_is_guided_until_one_succeeded(failures: int, outcome: Outcome) -> None:
    """Design, Retries: an intervention applies to every send of the anchor's request until one succeeded."""
    source = recorded(stubborn())
    busy: Any = Busy(failures, outcome)
    driven = replayed(source, stubborn(), anchor=2, intervention=GUIDANCE, world=busy)
    kinds = [type(answer) for _, answer in driven.answers]
    assert kinds == [Serve, *[Intervene] * (failures + 1), GoLive]
    assert [GUIDANCE.text.encode() in body for body in driven.sent] == [True] * (failures + 1) + [False]


def test_another_request_in_between_is_not_guided() -> None:
    def program() -> Program:
        yield chat("one", [user("before")])
        yield chat("one", [user("anchor")])
        yield chat("one", [user("other")])
        yield chat("one", [user("anchor")])

    source = recorded(program())
    busy: Any = Busy(2, Outcome.FAILURE)
    driven = replayed(source, program(), anchor=2, intervention=GUIDANCE, world=busy)
    assert [type(answer) for _, answer in driven.answers] == [Serve, Intervene, GoLive, Intervene]


def test_the_control_changes_nothing() -> None:
    """Intervention `none`: nothing but what the program asked goes out."""
    driven = replayed(TEAM, team(), anchor=18, world=World(1))
    assert driven.sent == [call.body for call in driven.live]


# ---- What is told of a divergence


@pytest.mark.parametrize(
    ("recorded_body", "actual_body"),
    [(b'{"n": 1e16}', b'{"n": 2e16}'), (b'{"n": 1e16}', b'{"n": 1}'), (b'{"n": 1}', b'{"m": 1e20, "n": 1}')],
)
def test_a_divergence_of_large_numbers_can_be_stored(recorded_body: bytes, actual_body: bytes) -> None:
    """RFC 8785 writes 1e16 as 10000000000000000; read back as an integer, it could not be written again.

    Then the poison's note could not be stored, and NotCanonical would get to the program in place of it.
    """
    divergence = told(recorded_body, actual_body)
    document = divergence.document()
    assert Divergence.from_document(parse_own(canonical(document), what="x")).path == divergence.path


@pytest.mark.parametrize("change", [{"name": "\ud800"}, {"actor": "\ud800"}, {"call_id": "\ud800"}])
def test_a_divergence_of_invalid_text_can_be_stored(change: dict[str, str]) -> None:
    """Law 6: a model, agent or call may be named by what is no valid Unicode; its entry can be written."""
    session = Session(recorded(letters("a")), anchor=None)
    answer = session.ask(ask(http("GET", "/a"), **change))
    assert isinstance(answer, Diverge)
    assert canonical(answer.divergence.document())


@pytest.mark.parametrize("field", ["name", "actor", "call_id"])
def test_invalid_text_that_is_equal_is_not_told_as_the_difference(field: str) -> None:
    """Recorded it is `anchored-raw:…`, asked it is the text itself; they are one, and the body is what differs."""

    def program(body: bytes) -> Program:
        yield replace(http("POST", "/a", body=body), **{field: "\ud800"})

    made = recorded(program(b'{"a": 1}'))
    records = [replace(record, entry=entry_from_document(record.entry.document())) for record in made.records]
    source = replace(made, records=records)  # as a store gives it back
    assert source.digest == made.digest
    driven = replayed(source, program(b'{"a": 2}'))
    assert driven.divergence is not None
    assert driven.divergence.path == "/body/a"


def told(recorded_body: bytes, actual_body: bytes) -> Divergence:
    def program(body: bytes) -> Program:
        yield http("POST", "/a", body=body)

    driven = replayed(recorded(program(recorded_body)), program(actual_body))
    assert driven.divergence is not None
    return driven.divergence


@pytest.mark.parametrize(
    ("recorded_body", "actual_body", "path"),
    [
        (b'{"a": [1, 2]}', b'{"a": [1, 3]}', "/body/a/1"),
        (b'{"a": 1}', b'{"a": true}', "/body/a"),
        (b'{"a": NaN}', b'{"a": 1}', "/body/a"),
        (b'{"a": NaN}', b'{"a": Infinity}', "/body/a/raw"),
        (b"text", b"other", "/body/raw"),
        (b"", b"text", "/body"),
        (b"[1]", b'{"a": 1}', "/body"),
    ],
)
def test_the_place_that_is_told(recorded_body: bytes, actual_body: bytes, path: str) -> None:
    assert told(recorded_body, actual_body).path == path


@pytest.mark.parametrize(
    ("recorded_body", "actual_body"),
    [
        (b"", b"null"),
        (b"null", b""),
        (b"\xff", json.dumps({"raw": digest("raw", b"\xff")}).encode()),
        (b'{"a": NaN}', json.dumps({"a": {"raw": digest("raw", b"NaN")}}).encode()),
    ],
)
def test_bodies_that_look_alike_are_told_apart(recorded_body: bytes, actual_body: bytes) -> None:
    """What is shown of them may be equal; what identifies them is not."""
    divergence = told(recorded_body, actual_body)
    assert divergence.path.startswith("/body")
    assert divergence.recorded != divergence.actual


def test_pending_events_can_be_replayed_up_to(team: Recording) -> None:
    """A killed run: live execution starts where it was killed."""
    cut = replace(team, closing=None, records=team.records[:-1])
    driven = replayed(cut, team_program(), anchor=44)
    assert driven.session.live
    assert driven.divergence is None


def team_program() -> Program:
    return team()


def test_texts_are_read(team: Recording) -> None:
    """The builders' own check: the program reads what it is handed."""
    result = team.result(team.log.events[0])
    assert result is not None
    assert text_of(result) == ""
