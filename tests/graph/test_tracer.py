"""Recorded edges: found as events happen, only where one event alone can be meant; version 2 of the rules."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from builders import assistant, chat, recorded, text_of, tool, user

from anchored.canonical import digest
from anchored.events import Begin, Edge, End, HttpResult, Outcome, Request, Result, ToolValue, encode_value
from anchored.graph import EDGE_RULES, INFERENCE_RULES, Tracer, inferred_edges
from anchored.recording import Recording

LONG = "a text of twelve characters or more"
OTHER = "another text of twelve characters"


class Story:
    """A log of begins and ends as a recorder would make it."""

    def __init__(self) -> None:
        self.tracer = Tracer()
        self.positions = itertools.count()

    def begin(
        self,
        request: Request,
        *,
        actor: str | None = "a",
        kind: Any = "chat",
        call_id: str | None = None,
        chosen_by: int | None = None,
    ) -> Begin:
        edges = self.tracer.edges(actor=actor, call_id=call_id, request=request, chosen_by=chosen_by)
        assert edges == self.tracer.edges(actor=actor, call_id=call_id, request=request, chosen_by=chosen_by)
        begin = Begin(
            position=next(self.positions),
            kind=kind,
            actor=actor,
            name="n",
            parent=None,
            call_id=call_id,
            request=request.digest,
            edges=edges,
        )
        self.tracer.begun(begin, request)
        return begin

    def end(
        self, begin: Begin, result: Result | None, *, outcome: Outcome = Outcome.SUCCESS, text: str | None = None
    ) -> int:
        position = next(self.positions)
        end = End(
            position=position,
            begin=begin.position,
            begin_digest=begin.digest,
            outcome=outcome,
            result=digest("result", b""),
        )
        self.tracer.ended(begin, end, result, text)
        return position

    def says(self, request: Request, text: str = "", *call_ids: str, **more: Any) -> int:
        """A whole model call."""
        calls = [{"id": call_id, "function": {"name": "f"}} for call_id in call_ids]
        body = json.dumps({"choices": [{"message": {"content": text, "tool_calls": calls}}]}).encode()
        outcome = more.pop("outcome", Outcome.SUCCESS)
        return self.end(self.begin(request, **more), HttpResult(status=200, headers=(), body=body), outcome=outcome)

    def runs(self, call_id: str | None, text: str = "", **more: Any) -> tuple[Begin, int]:
        """A whole tool call."""
        begin = self.begin(ask_tool(), kind="execute_tool", call_id=call_id, **more)
        return begin, self.end(begin, ToolValue(value=encode_value(text)), text=text)


def ask(*messages: Any) -> Request:
    return chat("a", list(messages)).request


def ask_tool() -> Request:
    return tool("a", "f", {}).request


def edges(begin: Begin) -> list[tuple[int, str]]:
    return [(edge.position, edge.kind) for edge in begin.edges]


def test_a_tool_call_depends_on_the_response_that_issued_its_id() -> None:
    story = Story()
    issued = story.says(ask(user("q")), "", "c1", "c2")
    begin, _ = story.runs("c2")
    assert edges(begin) == [(issued, "call_id")]
    assert edges(story.begin(ask_tool(), kind="execute_tool", call_id="c3")) == []
    assert edges(story.begin(ask_tool(), kind="execute_tool")) == []


def test_an_id_that_was_issued_twice_shows_nothing() -> None:
    """Where two events could be meant there is no recorded edge."""
    story = Story()
    story.says(ask(user("q")), "", "c1")
    story.says(ask(user("r")), "", "c1")
    assert edges(story.begin(ask_tool(), kind="execute_tool", call_id="c1")) == []


def test_a_response_that_repeats_an_id_issued_it_once() -> None:
    story = Story()
    issued = story.says(ask(user("q")), "", "c1", "c1")
    assert edges(story.begin(ask_tool(), kind="execute_tool", call_id="c1")) == [(issued, "call_id")]


def test_only_a_successful_response_issues_ids_and_texts() -> None:
    story = Story()
    story.says(ask(user("q")), LONG, "c1", outcome=Outcome.FAILURE)
    assert edges(story.begin(ask_tool(), kind="execute_tool", call_id="c1")) == []
    assert edges(story.begin(ask(user(LONG)))) == []


def test_a_request_depends_on_the_tool_calls_that_it_answers() -> None:
    story = Story()
    story.says(ask(user("q")), "", "c1", "c2")
    _, one = story.runs("c1", "short")
    _, two = story.runs("c2", "short")
    answers = [{"role": "tool", "tool_call_id": name, "content": "short"} for name in ("c2", "c1")]
    assert edges(story.begin(ask(user("q"), *answers))) == [(one, "call_id"), (two, "call_id")]


@pytest.mark.parametrize(
    "message",
    [
        {"role": "assistant", "tool_calls": [{"id": "c1", "function": {"name": "f"}}]},
        {"type": "function_call", "call_id": "c1", "name": "f"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "f"}]},
    ],
)
def test_a_request_depends_on_the_response_whose_calls_it_repeats(message: Any) -> None:
    story = Story()
    issued = story.says(ask(user("q")), "", "c1")
    assert edges(story.begin(ask(message), actor="b")) == [(issued, "call_id")]
    story.says(ask(user("r")), "", "c1")
    assert edges(story.begin(ask(message), actor="c")) == []


def test_a_request_depends_on_the_event_whose_text_it_holds() -> None:
    story = Story()
    said = story.says(ask(user("q")), LONG)
    begin = story.begin(ask(user(LONG)), actor="b")
    assert edges(begin) == [(said, "message")]
    _, found = story.runs(None, OTHER)
    assert edges(story.begin(ask(assistant(OTHER)), actor="c")) == [(found, "message")]


def test_short_texts_and_texts_said_twice_show_nothing() -> None:
    story = Story()
    story.says(ask(user("q")), "yes")
    assert edges(story.begin(ask(user("yes")), actor="b")) == []
    story.says(ask(user("r")), LONG)
    story.says(ask(user("s")), LONG)
    assert edges(story.begin(ask(user(LONG)), actor="c")) == []


def test_a_kept_history_is_one_edge_to_the_request_before() -> None:
    story = Story()
    said = story.says(ask(user("q")), LONG)
    second = story.begin(ask(user("q"), assistant(LONG)))
    assert edges(second) == [(said, "message")]
    again = story.end(
        second, HttpResult(status=200, headers=(), body=json.dumps({"content": [{"text": OTHER}]}).encode())
    )
    third = story.begin(ask(user("q"), assistant(LONG), assistant(OTHER)))
    assert edges(third) == [(second.position, "history"), (again, "message")]


def test_a_history_of_nothing_but_own_words_is_no_edge() -> None:
    story = Story()
    story.says(ask(user("q")), "short")
    assert edges(story.begin(ask(user("q"), user("more")))) == []


def test_each_actor_has_a_history_of_its_own() -> None:
    story = Story()
    said = story.says(ask(user("q")), LONG)
    story.begin(ask(user(LONG)), actor="b")
    begin = story.begin(ask(user(LONG), user("x")), actor="c")
    assert edges(begin) == [(said, "message")]


def test_a_changed_history_is_read_anew() -> None:
    """Histories are not append-only: what stands in another place depends on its own source again."""
    story = Story()
    said = story.says(ask(user("q")), LONG)
    story.begin(ask(user("q"), assistant(LONG)))
    assert edges(story.begin(ask(user("summary"), assistant(LONG)))) == [(said, "message")]


def test_a_chosen_speaker_depends_on_the_choice_once() -> None:
    story = Story()
    chosen = story.says(ask(user("who?")), "critic")
    story.tracer.chose("critic", 0)
    assert edges(story.begin(ask(user("q")), actor="writer")) == []
    assert edges(story.begin(ask(user("q")), actor="critic")) == [(chosen, "speaker_selection")]
    assert edges(story.begin(ask(user("q")), actor="critic")) == []


def test_an_event_depends_on_the_model_call_by_which_its_agent_was_chosen() -> None:
    """R4-03: where teams run side by side, the choice comes with the event, never by an agent's name."""
    story = Story()
    one, other = story.begin(ask(user("q")), actor="manager"), story.begin(ask(user("q")), actor="manager")
    assert edges(story.begin(ask(user("r")), actor="b", chosen_by=one.position)) == [], "nothing was said yet"
    body = json.dumps({"choices": [{"message": {"content": "b"}}]}).encode()
    ends = [story.end(begin, HttpResult(status=200, headers=(), body=body)) for begin in (other, one)]
    assert edges(story.begin(ask(user("r")), actor="b", chosen_by=one.position)) == [(ends[1], "speaker_selection")]
    assert edges(story.begin(ask(user("r")), actor="b", chosen_by=other.position)) == [(ends[0], "speaker_selection")]
    assert edges(story.begin(ask(user("r")), actor="b")) == []


@pytest.mark.parametrize("around", ["{}", "```json\n{}\n```", "Here it is: {}"])
def test_the_instruction_in_a_ledger_leads_to_the_agent_that_gets_it(around: str) -> None:
    """R4-03: of Magentic-One's ledger the next agent gets `instruction_or_question.answer`, and nothing else."""
    story = Story()
    ledger = json.dumps({"instruction_or_question": {"reason": "", "answer": LONG}, "next_speaker": {"answer": "b"}})
    said = story.says(ask(user("q")), around.replace("{}", ledger))
    assert edges(story.begin(ask(user(LONG)), actor="b")) == [(said, "message")]


@pytest.mark.parametrize("answer", ["3", "null", '"short"', '{"a": 1}'])
def test_a_ledger_without_an_instruction_leads_nowhere(answer: str) -> None:
    story = Story()
    for text in (
        f'{{"instruction_or_question": {{"answer": {answer}}}}}',
        '{"instruction_or_question": ',
        '"instruction_or_question"',
    ):
        story.says(ask(user("q")), text)
    assert edges(story.begin(ask(user(LONG)), actor="b")) == []


def test_http_is_no_source() -> None:
    story = Story()
    begin = story.begin(ask(), kind="http")
    story.end(begin, HttpResult(status=200, headers=(), body=b""), text=None)
    story.tracer.chose("b", begin.position)
    assert edges(story.begin(ask(user("q")), actor="b")) == []


@pytest.mark.parametrize("value", [5, None, "text", {}, [], {"content": 5}, {"content": [5]}, {"tool_call_id": []}])
def test_odd_messages_have_no_source(value: Any) -> None:
    story = Story()
    story.says(ask(user("q")), LONG, "c1")
    assert edges(story.begin(ask(value))) == []


def test_edges_point_backwards_and_are_sorted(team: Recording) -> None:
    """What `Log` demands is what the tracer makes, over a whole run."""
    kinds: set[str] = set()
    for event in team.log.events:
        found = list(event.begin.edges)
        assert found == sorted(set(found))
        assert all(edge.position < event.position for edge in found)
        kinds.update(edge.kind for edge in found)
    assert kinds == {"call_id", "message", "history", "speaker_selection"}
    assert Edge(position=1, kind="call_id") in team.log.events[1].begin.edges


def test_the_rules_have_versions() -> None:
    """A replay must find the same edges; change these numbers with the rules."""
    assert (EDGE_RULES, INFERENCE_RULES) == (2, 1)


def embedding():
    """A reply that stands inside a longer message, and one that is a message."""
    first = text_of((yield chat("one", [user("Say something long enough, please.")])))
    yield chat("two", [user(f"They said: {first}")])
    yield chat("three", [user(first)])


def test_inferred_edges_are_kept_apart_from_recorded_ones() -> None:
    """They are in no digest; a message that holds an output inside is likely, one that is the output is recorded."""
    recording = recorded(embedding())
    assert [(edge.later, edge.earlier, edge.rule) for edge in inferred_edges(recording)] == [(2, 1, "embedded")]
    assert [edges(event.begin) for event in recording.log.events] == [[], [], [(1, "message")]]


def test_inference_reads_whole_runs(team: Recording) -> None:
    found = inferred_edges(team)
    assert found == sorted(set(found))
    for edge in found:
        assert edge.earlier < edge.later
        event = team.log.event_at(edge.later)
        assert event is not None
        assert edge.earlier not in {recorded.position for recorded in event.begin.edges}


def test_what_a_person_said_chooses_no_speaker() -> None:
    """Human input is no model call, and its text is a source as any other."""
    story = Story()
    asked = story.begin(ask_tool(), kind="human_input")
    said = story.end(asked, ToolValue(value=encode_value(LONG)), text=LONG)
    story.tracer.chose("b", asked.position)
    assert edges(story.begin(ask(user("q")), actor="b")) == []
    assert edges(story.begin(ask(user(LONG)))) == [(said, "message")]
