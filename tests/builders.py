"""Invented runs, made the way real ones are: an invented program crosses the boundary's own recorder.

A program is a generator of crossings that is sent their results, and builds later requests from them; it knows nothing
of recording or replay. `recorded` and `record_to` let it run for real (against `World`), `replayed` against a session.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import random
import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar, cast

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from anchored.boundary.actors import Noticed, current_parent, enclosed_by, notice
from anchored.boundary.crossing import Crossing
from anchored.boundary.effects import Declarations
from anchored.boundary.ledger import Ledger
from anchored.boundary.recorder import Recorder
from anchored.canonical import Digest, JsonObject
from anchored.events import (
    Begin,
    Blob,
    Declared,
    Failure,
    HttpResult,
    Kind,
    Outcome,
    Raised,
    Request,
    Result,
    ToolValue,
    decode_value,
    encode_value,
    http_request,
    model_kind,
    model_name,
    model_output,
    result_blob,
    tool_request,
)
from anchored.library import FileJournal, Library, load
from anchored.recording import (
    FORMAT,
    Closing,
    Final,
    Note,
    Opening,
    Record,
    Recording,
    Replayed,
    Stop,
    anchor_on,
    summarize,
)
from anchored.replaying import (
    Answer,
    Diverge,
    Divergence,
    Enter,
    GoLive,
    Intervene,
    Intervention,
    Replace,
    ReplayPlan,
    Serve,
    Session,
    Unchanged,
    Wait,
)
from anchored.testing.mutants import changed_entries

T = TypeVar("T")
RUN = "5eed" * 16
TASK = "Plan a day in Lisbon — ohne Auto, für 3 😀"
ORIGIN = "http://127.0.0.1:8080"
CONFIGURATION: JsonObject = {"command": ["python", "team.py"], "models": ["gpt-invented"], "hash_seed": "7"}


# ---- What a program may do


@dataclass(frozen=True, kw_only=True)
class Call:
    """One crossing.

    `inside` is what the tool itself does when its code runs; it returns the tool's result. A container calls models
    there, so its code runs at replay too.
    """

    kind: Kind
    actor: str | None
    name: str
    request: Request
    call_id: str | None = None
    effect: str | None = None
    path: str = ""
    body: bytes = b""
    wants: str = "text"
    inside: Callable[[], Program] | None = None
    container: bool = False
    made: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What `http_request` or `tool_request` was called with."""

    def again(self, **change: Any) -> Call:
        """The same call with another request."""
        make = tool_request if self.kind == "execute_tool" else http_request
        made = {**self.made, **change}
        return replace(self, request=make(**made), made=made, body=made.get("body", b""), path=made.get("path", ""))

    def crossing(self) -> Crossing:
        return Crossing(
            kind=self.kind,
            actor=self.actor,
            name=self.name,
            call_id=self.call_id,
            request=self.request,
            declared=Declared(effect=self.effect),
            may_write=self.effect not in ("none", "read"),
            origin="" if self.kind == "execute_tool" else ORIGIN,
            observation={"headers": [["user-agent", "invented"]]},
        )


@dataclass(frozen=True, kw_only=True)
class Both:
    """Two calls that overlap: both begin, then the second ends before the first."""

    first: Call
    second: Call


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """A framework's choice of the next speaker, by what the last model call said."""

    actor: str


Step = Call | Both | Chosen
Program = Generator[Step, Any, Any]


def http(
    method: str,
    path: str,
    value: Any = None,
    *,
    actor: str | None = None,
    headers: Iterable[tuple[str, str]] = (),
    body: bytes | None = None,
    query: str = "",
    wants: str = "text",
) -> Call:
    """An HTTP crossing; a model call where its path is one."""
    data = body if body is not None else b"" if value is None else json.dumps(value, ensure_ascii=False).encode()
    kind = model_kind(method, path)
    made: dict[str, Any] = {"method": method, "path": path, "query": query, "headers": list(headers), "body": data}
    return Call(
        kind=kind,
        actor=actor,
        name=f"{method} {path}" if kind == "http" else model_name(data) or "unknown",
        request=http_request(**made),
        made=made,
        path=path,
        body=data,
        wants=wants,
    )


def chat(actor: str, messages: list[Any], *, wants: str = "text", **more: Any) -> Call:
    """A chat completion in OpenAI's format."""
    value = {"model": "gpt-invented", "messages": messages, "temperature": 0.5, **more}
    return http("POST", "/v1/chat/completions", value, actor=actor, wants=wants)


def tool(
    actor: str,
    name: str,
    arguments: str | Mapping[str, Any],
    *,
    call_id: str | None = None,
    effect: str | None = "read",
    inside: Callable[[], Program] | None = None,
    container: bool = False,
) -> Call:
    held: Any = arguments if isinstance(arguments, str) else dict(arguments)
    return Call(
        kind="execute_tool",
        actor=actor,
        name=name,
        request=tool_request(name=name, arguments=held),
        made={"name": name, "arguments": held},
        call_id=call_id,
        effect=effect,
        inside=inside,
        container=container,
    )


def user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


def assistant(text: str) -> dict[str, str]:
    return {"role": "assistant", "content": text}


def text_of(result: Result) -> str:
    """What a result says, as a program reads it."""
    if isinstance(result, ToolValue):
        return str(decode_value(result.value))
    if isinstance(result, Raised):
        return f"{result.error.error_class}: {result.error.message}"
    return model_output(result.body).text


# ---- The world


@dataclass(frozen=True)
class World:
    """What answers live: a pure function of the request and a seed."""

    seed: int = 0

    def __call__(self, call: Call) -> tuple[Result, Outcome]:
        key = f"{self.seed}/{call.path}/{call.name}/{call.actor}/{call.body!r}/{call.request.digest}".encode(
            "utf-8", "replace"
        )
        mark = hashlib.sha256(key).hexdigest()[:8]
        if call.kind == "execute_tool":
            if call.wants == "error":
                arguments = encode_value((f"no {mark}", 7))
                failure = Failure(error_class="builtins.OSError", message=f"no {mark}", arguments=arguments)
                return Raised(error=failure), Outcome.FAILURE
            return ToolValue(value=encode_value(f"tool {call.name} found {mark}")), Outcome.SUCCESS
        if call.wants == "busy":
            headers = (("content-type", "application/json"), ("retry-after", "1"), ("x-request-id", mark))
            return HttpResult(status=429, headers=headers, body=b'{"error": "busy"}'), Outcome.FAILURE
        if call.kind == "http":
            body = f"<p>{mark}</p>".encode()
            return HttpResult(status=200, headers=(("content-type", "text/html"),), body=body), Outcome.SUCCESS
        body = json.dumps(_said(call, f"{call.actor} says {mark}", mark), ensure_ascii=False).encode()
        headers = (("content-type", "application/json"), ("x-request-id", f"req-{mark}"))
        return HttpResult(status=200, headers=headers, body=body), Outcome.SUCCESS


def _said(call: Call, text: str, mark: str) -> JsonObject:
    """A response in the format of the request's path."""
    usage: JsonObject = {"prompt_tokens": 12, "completion_tokens": 7}
    if call.path.endswith("/messages"):
        return {"type": "message", "content": [{"type": "text", "text": text}], "usage": usage}
    if call.path.endswith("/responses"):
        return {"output": [{"type": "message", "content": [{"type": "output_text", "text": text}]}], "usage": usage}
    if call.path.endswith("/embeddings"):
        return {"data": [{"embedding": [0.5, -0.25], "mark": mark}], "usage": usage}
    message: JsonObject = {"role": "assistant", "content": text}
    if call.wants == "tool":
        function: JsonObject = {"name": "search", "arguments": json.dumps({"query": mark})}
        message = {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": f"call_{mark}", "type": "function", "function": function}],
        }
    return {"choices": [{"index": 0, "message": message}], "usage": usage}


# ---- An invented program: five agents, every wire format, every sort of tool


def team(task: str = TASK) -> Program:
    """Plans, searches, reviews, writes. 23 events; the first is a chat, the last too."""
    history: list[Any] = [{"role": "system", "content": "You plan."}, user(task)]

    answer = yield chat("planner", history, wants="tool", tools=[{"type": "function", "function": {"name": "search"}}])
    message = json.loads(answer.body)["choices"][0]["message"]
    (call,) = message["tool_calls"]

    def searching() -> Program:
        page = yield http("GET", "/search", actor="planner", query="q=lisbon")
        return ToolValue(value=encode_value(f"found in the page: {page.body.decode()}")), Outcome.SUCCESS

    found = yield tool(
        "planner", "search", call["function"]["arguments"], call_id=call["id"], effect="read", inside=searching
    )
    history = [*history, message, {"role": "tool", "tool_call_id": call["id"], "content": text_of(found)}]
    plan = text_of((yield chat("planner", history)))
    history = [*history, assistant(plan)]

    yield chat("manager", [user("Who speaks next?"), assistant(plan)])
    yield Chosen(actor="critic")
    first = {"model": "claude-invented", "max_tokens": 64, "messages": [user(plan)]}
    version = [("anthropic-version", "2023-06-01"), ("x-api-key", "never counts")]
    critique = text_of((yield http("POST", "/v1/messages", first, actor="critic", headers=version)))

    def panel() -> Program:
        one = text_of((yield chat("juror", [user(f"Is this good? {critique}")])))
        two = text_of((yield chat("juror", [user(f"Is this good? {critique}"), assistant(one), user("Sure?")])))
        return ToolValue(value=encode_value(("verdict", one, two))), Outcome.SUCCESS

    verdict = yield tool("critic", "panel", {"about": critique, "n": 2}, effect="none", inside=panel, container=True)
    second = {"model": "claude-invented", "max_tokens": 64, "messages": [user(plan), user(text_of(verdict))]}
    critique = text_of((yield http("POST", "/v1/messages", second, actor="critic", headers=version)))

    yield http("GET", "/health", actor=None)
    draft = {"model": "gpt-invented", "input": [user(plan), user(critique)], "instructions": "Write."}
    yield http("POST", "/v1/responses", draft, actor="writer", wants="busy")
    written = text_of((yield http("POST", "/v1/responses", draft, actor="writer")))

    failed = yield replace(tool("writer", "publish", {"text": written}, effect="write"), wants="error")
    numbers = b'{"model": "gpt-invented", "seed": 12345678901234567890, "messages": [{"role": "user", "content": '
    yield http(
        "POST",
        "/v1/chat/completions",
        actor="writer",
        body=numbers + json.dumps(text_of(failed)).encode() + b'}, {"role": "user", "score": NaN}]}',
    )
    vectors, places = yield Both(
        first=http("POST", "/v1/embeddings", {"model": "embed-invented", "input": [written]}, actor="writer"),
        second=tool("writer", "places", {"near": "Lisbon"}, effect="none"),
    )
    mark = json.loads(vectors.body)["data"][0]["mark"]
    history = [*history, user(f"{critique} / {text_of(places)} / {mark}")]
    better = text_of((yield chat("planner", history)))
    history = [*history, assistant(better), user("Shorter.")]
    for round_ in range(3):
        shorter = text_of((yield chat("planner", history)))
        history = [*history, assistant(shorter), user(f"Shorter still, {round_}.")]
    yield tool("planner", "save", {"plan": shorter}, effect="write")
    return text_of((yield chat("planner", history)))


def pair(task: str = TASK) -> Program:
    """The smallest program with a dependency: a reply that the next request holds, and one that it does not."""
    reply = text_of((yield chat("one", [user(task)])))
    yield chat("two", [user("Nothing of it.")])
    return text_of((yield chat("one", [user(task), assistant(reply)])))


# ---- Where a recording is kept


@dataclass
class Memory:
    """A journal that keeps a recording in memory, and is its contents."""

    records: list[Record] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    blobs: dict[Digest, bytes] = field(default_factory=dict)
    requests: dict[Digest, Request] = field(default_factory=dict)
    owner: int | None = None

    def claim(self, process: int) -> bool:
        claimed, self.owner = self.owner is None, self.owner or process
        return claimed

    def append(self, record: Record, *, request: Request | None, blobs: Iterable[Blob], durable: bool) -> None:
        self.records.append(record)
        self.add(request, blobs)

    def add(self, request: Request | None, blobs: Iterable[Blob]) -> None:
        if request is not None:
            self.requests[request.digest] = request
        self.blobs.update((blob.digest, blob.data) for blob in blobs)

    def note(self, kind: str, document: JsonObject, *, once: bool = False) -> None:
        if not once or all(note.kind != kind for note in self.notes):
            self.notes.append(Note(kind=kind, document=document))

    def blob(self, digest: Digest) -> bytes:
        return self.blobs[digest]

    def request(self, digest: Digest) -> Request:
        return self.requests[digest]


def clock() -> Callable[[], int]:
    """An invented clock: one second per look."""
    ticks = itertools.count(1_700_000_000)
    return lambda: next(ticks) * 10**9


def opening(*, task: str | None = TASK, run: str = RUN) -> Opening:
    return Opening(format=FORMAT, run=run, mode="record", task=task, configuration=dict(CONFIGURATION))


def closing_of(recording: Recording, final: str | None) -> Closing:
    """The closing that fits a recording that has none."""
    stop = Stop(reason="exit", status=0, detail="done")
    answer = None if final is None else Final(text=final, source="program")
    summary = summarize(
        log=recording.log,
        task=recording.opening.task,
        state="undeclared",
        configuration=recording.configuration,
        stop=stop,
        final=answer,
    )
    return Closing(
        configuration=dict(recording.configuration),
        stop=stop,
        final=answer,
        state="undeclared",
        size=summary.size,
        head=summary.head,
        recording=summary.recording,
    )


def sealed(memory: Memory, start: Opening, final: str | None) -> Recording:
    """The recording that a journal in memory holds, closed."""
    whole = Recording(opening=start, closing=None, records=memory.records, notes=memory.notes, contents=memory)
    return replace(whole, closing=closing_of(whole, final))


# ---- Running a program


def run(program: Program, cross: Callable[[Step], Any]) -> Any:
    """Runs a program to its end; `cross` does its steps."""
    try:
        step = next(program)
        while True:
            step = program.send(cross(step))
    except StopIteration as stop:
        return stop.value


def _text(result: Result) -> str | None:
    value = decode_value(result.value) if isinstance(result, ToolValue) else None
    return value if isinstance(value, str) else None


def record_with(gate: Recorder, program: Program, world: World) -> Any:
    """Runs a program through a recorder; what it returns."""

    def cross(step: Step) -> Any:
        if isinstance(step, Chosen):
            return gate.chose_speaker(step.actor, noticed.model)
        if isinstance(step, Both):
            passages = [gate.begin(call.crossing()) for call in (step.first, step.second)]
            results = [world(call) for call in (step.first, step.second)]
            for passage, (result, outcome) in reversed(list(zip(passages, results, strict=True))):
                gate.end(passage, outcome=outcome, result=result, text=_text(result))
            return tuple(result for result, _ in results)
        passage = gate.begin(step.crossing())
        with enclosed_by(passage.begin.position if passage.begin else None):
            result, outcome = world(step) if step.inside is None else run(step.inside(), cross)
        gate.end(passage, outcome=outcome, result=result, text=_text(result))
        return result

    noticed = Noticed()
    with noticed.inside():
        return run(program, cross)


def recorded(program: Program, *, world: World | None = None, task: str | None = TASK) -> Recording:
    """A recording in memory."""
    memory = Memory()
    final = record_with(Recorder(memory, clock(), Declarations()), program, world or World())
    return sealed(memory, opening(task=task), final)


def one_event(call: Call, result: Result) -> Recording:
    """A recording of one call, which got this result."""

    def program() -> Program:
        yield call

    outcome = Outcome.FAILURE if isinstance(result, Raised) else Outcome.SUCCESS
    return recorded(program(), world=cast("World", lambda _: (result, outcome)))


def record_to(
    library: Library, name: str, program: Program, *, world: World | None = None, created: int = 1, run_id: str = RUN
) -> Recording:
    """A recording in a store, closed and read back."""
    path = library.create(name, opening(run=run_id), {"mode": "record", "declarations": [], "created": str(created)})
    journal = FileJournal(path)
    gate = Recorder(journal, clock(), Declarations())
    final = record_with(gate, program, world or World())
    gate.note("hello", {"process": 1})
    gate.connecting("198.51.100.7:443", inside=False)
    close_journal(journal)
    library.finish(name, closing_of(load(path), final))
    return load(library.path(name))


def close_journal(journal: FileJournal) -> None:
    """What the end of the recorded process does to its connection."""
    journal._file.close()  # pyright: ignore[reportPrivateUsage]


# ---- Replaying a program


@dataclass
class Driven:
    """What became of a program that ran against a session, as far as it came."""

    session: Session
    recording: Recording
    answers: list[tuple[Call, Answer]]
    sent: list[bytes]
    """Bodies of what went live, with interventions in them."""

    @property
    def divergence(self) -> Divergence | None:
        return self.session.divergence

    @property
    def served(self) -> list[int]:
        return [answer.event.position for _, answer in self.answers if isinstance(answer, (Serve, Enter))]

    @property
    def live(self) -> list[Call]:
        return [call for call, answer in self.answers if isinstance(answer, (GoLive, Intervene))]


class _Stopped(BaseException):
    """The session diverged; the program ends."""


def plan_of(
    source: Recording, *, anchor: int | None = None, intervention: Intervention | None = None, **more: Any
) -> ReplayPlan:
    return ReplayPlan(
        source=source.digest,
        anchor=None if anchor is None else anchor_on(source.log, source.opening.run, anchor),
        intervention=intervention or Unchanged(),
        **more,
    )


def replayed(
    source: Recording,
    program: Program,
    *,
    anchor: int | None = None,
    intervention: Intervention | None = None,
    world: World | None = None,
) -> Driven:
    """Runs a program against a session, as the boundary would if nothing but this program were there."""
    session = Session(source, anchor=anchor, intervention=intervention)
    memory = Memory()
    ledger = Ledger(memory, clock())
    answers: list[tuple[Call, Answer]] = []
    sent: list[bytes] = []
    changed: dict[int, Request] = {}
    live = world or World()

    def begin(call: Call) -> tuple[Begin, Answer, Result | None, Outcome]:
        asked = ledger.asked(call.crossing())
        answer = session.ask(asked)
        answers.append((call, answer))
        if isinstance(answer, Wait):  # no other thread could come first
            answer = session.give_up(asked)
            answers.append((call, answer))
        if isinstance(answer, Diverge):
            raise _Stopped
        if isinstance(answer, (Serve, Enter)):
            event = answer.event
            started = ledger.begin(asked, declared=event.begin.declared, observation={}, durable=False)
            notice(started)
            while (covered := session.copy_due()) is not None:
                _copy(source, ledger, covered)
                session.copied()
            return started, answer, source.result(event), event.outcome
        seen: JsonObject = {"replaced": True} if isinstance(answer, Replace) else {}
        started = ledger.begin(asked, declared=call.crossing().declared, observation=seen, durable=False)
        notice(started)
        body = call.body
        if isinstance(answer, Intervene):
            session.sent(started.position)
            body = answer.intervention.apply(method="POST", path=call.path, body=body)
            changed[started.position] = http_request(method="POST", path=call.path, query="", headers=(), body=body)
        if isinstance(answer, Replace):
            session.sent(started.position)
            return started, answer, answer.result, Outcome.SUCCESS
        sent.append(body)
        return started, answer, None, Outcome.UNKNOWN

    def end(started: Begin, outcome: Outcome, result: Result) -> None:
        finished, blobs = ledger.prepare_end(started, outcome, result)
        if session.finish(finished) is not None:
            raise _Stopped
        ledger.end(started, finished, blobs, result, {}, text=_text(result), sent=changed.pop(started.position, None))

    def cross(step: Step) -> Any:
        if isinstance(step, Chosen):
            return ledger.tracer.chose(step.actor, noticed.model) if noticed.model is not None else None
        if isinstance(step, Both):
            begun = [begin(call) for call in (step.first, step.second)]
            results: list[tuple[Result, Outcome]] = []
            for call, (_, _, result, outcome) in zip((step.first, step.second), begun, strict=True):
                results.append(live(call) if result is None else (result, outcome))
            for (started, *_), (result, outcome) in reversed(list(zip(begun, results, strict=True))):
                end(started, outcome, result)
            return tuple(result for result, _ in results)
        started, answer, result, outcome = begin(step)
        if not isinstance(answer, (Serve, Replace)):
            with enclosed_by(started.position):
                if step.inside is not None:
                    result, outcome = run(step.inside(), cross)
                else:
                    asked = replace(step, body=sent[-1])
                    result, outcome = live(asked)
        assert result is not None
        end(started, outcome, result)
        return result

    assert current_parent() is None
    plan = plan_of(source, anchor=anchor, intervention=intervention)
    final: str | None = None
    noticed = Noticed()
    with suppress(_Stopped), noticed.inside():
        final = run(program, cross)
    start = Opening(
        format=FORMAT,
        run=plan.run_id(1),
        mode="replay",
        task=source.opening.task,
        configuration=dict(CONFIGURATION),
        replayed=Replayed(source=source.digest, plan=dict(plan.document()), attempt=1),
    )
    return Driven(session=session, recording=sealed(memory, start, final), answers=answers, sent=sent)


def _copy(source: Recording, ledger: Ledger, position: int) -> None:
    record = source.records[position]
    entry = record.entry
    if isinstance(entry, Begin):
        request = source.contents.request(entry.request)
        return ledger.copy(record, request=request, blobs=request.blobs)
    event = source.log.event_at(entry.begin)
    assert event is not None
    result = source.result(event)
    assert result is not None
    return ledger.copy(record, request=None, blobs=(result_blob(result), *result.contents()))


# ---- Changing a recording, every digest recomputed


def rebuilt(
    source: Recording,
    *,
    begins: Mapping[int, Mapping[str, Any]] | None = None,
    requests: Mapping[int, Request] | None = None,
    results: Mapping[int, Result] | None = None,
    outcomes: Mapping[int, Outcome] | None = None,
) -> Recording:
    """The recording with other begins, requests, results or outcomes (by position of the begin), hashed anew."""
    memory = Memory()
    changed = changed_entries(source, begins=begins, requests=requests, results=results, outcomes=outcomes)
    for record, request, blobs in changed:
        memory.append(record, request=request, blobs=blobs, durable=False)
    final = source.closing.final.text if source.closing and source.closing.final else None
    return sealed(memory, source.opening, final)


def varied(
    program: Program, edit: Callable[[int, Call], list[Call]], given: Any = None, count: Iterator[int] | None = None
) -> Program:
    """A program that makes other calls in the place of its own.

    Args:
        program: the program.
        edit: the number of a call among those that the program makes, and the call → what is called instead; the
            program is handed the result of the last, or `given` where there is none.
        given: see above.
        count: numbers the calls.
    """
    numbers = count if count is not None else itertools.count()

    def edited(call: Call) -> list[Call]:
        number = next(numbers)
        inside = call.inside
        if inside is not None and call.container:
            call = replace(call, inside=lambda: varied(inside(), edit, given, numbers))
        return edit(number, call)

    result: Any = None
    try:
        step = next(program)
        while True:
            if isinstance(step, Both):
                (first,), (second,) = edited(step.first), edited(step.second)
                result = yield Both(first=first, second=second)
            elif isinstance(step, Chosen):
                result = yield step
            else:
                result = given
                for call in edited(step):
                    result = yield call
            step = program.send(result)
    except StopIteration as stop:
        return stop.value


def asked_positions(recording: Recording) -> list[int]:
    """Positions of the events that a replay asks for, in order: those under a served tool are not among them."""
    covered = {
        inner.position
        for event in recording.log.events
        if event.begin.kind == "execute_tool"
        and all(inner.begin.kind == "http" for inner in recording.log.descendants(event.position))
        for inner in recording.log.descendants(event.position)
    }
    return [event.position for event in recording.log.events if event.position not in covered]


def results_of(recording: Recording) -> dict[int, Result]:
    """Every result by the position of its begin."""
    found = {event.position: recording.result(event) for event in recording.log.events}
    return {position: result for position, result in found.items() if result is not None}


def store(folder: Path) -> Library:
    return Library(folder / "store")


# ---- JSON texts


def spaced(value: Any, chance: random.Random) -> str:
    """A JSON text of `value` with keys in another order, random white space and random escapes."""

    def space() -> str:
        return "".join(chance.choice(" \t\n\r") for _ in range(chance.choice((0, 0, 1, 3))))

    if isinstance(value, dict):
        pairs = list(value.items())
        chance.shuffle(pairs)
        inner = ",".join(f"{space()}{spaced(key, chance)}{space()}:{spaced(item, chance)}" for key, item in pairs)
        return f"{space()}{{{inner or space()}}}{space()}"
    if isinstance(value, list):
        inner = ",".join(spaced(item, chance) for item in value)
        return f"{space()}[{inner or space()}]{space()}"
    return f"{space()}{json.dumps(value, ensure_ascii=chance.random() < 0.5)}{space()}"


def json_values(*, leaves: int = 12) -> SearchStrategy[Any]:
    """JSON values that RFC 8785 can express, floats that it writes as integers beyond 2^53 left out."""
    numbers = st.floats(allow_nan=False, allow_infinity=False)
    scalars = (
        st.none()
        | st.booleans()
        | st.integers(-(2**53) + 1, 2**53 - 1)
        | numbers.filter(lambda number: not 2**53 <= abs(number) < 1e21)
        | st.text(max_size=8)
    )
    return st.recursive(
        scalars,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
        max_leaves=leaves,
    )


def nested(depth: int, inner: str = "") -> str:
    """An array in an array in an array …, as text."""
    return "[" * depth + inner + "]" * depth


def near_the_recursion_limit(call: Callable[[], T], *, free: int) -> T:
    """What `call` returns with only `free` frames left on the stack."""
    frame, used = sys._getframe(), 0
    while frame is not None:
        frame, used = frame.f_back, used + 1

    def deeper(frames: int) -> T:
        return call() if frames <= 0 else deeper(frames - 1)

    try:
        return deeper(sys.getrecursionlimit() - used - free)
    except Exception as error:
        raise error.with_traceback(None) from None
