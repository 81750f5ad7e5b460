"""A result that is put in at the anchor: what it is made of, where it fits, when it acts."""

import json
from typing import Any

import builders
import pytest

from anchored.errors import AnchorError, DamagedError, UsageError
from anchored.events import Failure, HttpResult, Raised, ToolValue, decode_value, encode_value, model_output
from anchored.recording import Recording
from anchored.replaying import (
    Asked,
    GoLive,
    Guide,
    Replace,
    ReplaceResult,
    Session,
    intervention_from,
    resolve_anchor,
    text_replacement,
    whole_replacement,
)

CHAT = {
    "id": "c1",
    "choices": [
        {
            "index": 0,
            "finish_reason": "tool_calls",
            "message": {"role": "assistant", "content": None, "tool_calls": [{"id": "t1"}], "refusal": None},
        }
    ],
    "usage": {"prompt_tokens": 3},
}
TEXT_COMPLETION = {"choices": [{"text": "old", "finish_reason": "length"}]}
RESPONSES = {"id": "r1", "output": [{"type": "function_call", "call_id": "t1", "name": "look", "arguments": "{}"}]}
MESSAGES = {"role": "assistant", "stop_reason": "tool_use", "content": [{"type": "tool_use", "id": "t1"}]}


def tool_event(value: object) -> Recording:
    """A recording of one tool call that returned, or raised, this."""
    if isinstance(value, Exception):
        result = Raised(error=Failure(error_class="builtins.ValueError", message=str(value), arguments=None))
        return builders.one_event(builders.tool("one", "look", {}), result)
    return builders.one_event(builders.tool("one", "look", {}), ToolValue(value=encode_value(value)))


def model_event(body: bytes) -> Recording:
    """A recording of one model call with this response."""
    headers = (("content-type", "application/json"),)
    return builders.one_event(
        builders.chat("one", [builders.user("go")]), HttpResult(status=200, headers=headers, body=body)
    )


def asked(recording: Recording) -> Asked:
    """The recording's first event, asked once more."""
    begin = recording.log.events[0].begin
    request = recording.contents.request(begin.request)
    return Asked(
        kind=begin.kind, actor=begin.actor, name=begin.name, parent=None, call_id=begin.call_id, request=request
    )


def of_kind(recording: Recording, *, tool: bool) -> list[int]:
    """Positions of the events of which a result of such a kind was recorded."""
    kind = ToolValue if tool else HttpResult
    return [event.position for event in recording.log.events if isinstance(recording.result(event), kind)]


@pytest.mark.parametrize(
    ("value", "text", "made"),
    [
        ("old", "new", "new"),
        ((True, {"role": "tool", "content": "old"}), "new", (True, {"role": "tool", "content": "new"})),
        ((False, {"name": "t", "content": "Error: old"}), "new", (True, {"name": "t", "content": "new"})),
    ],
)
def test_the_text_of_a_tools_value_is_replaced(value: object, text: str, made: object) -> None:
    """Issue, ReplaceResult: the rest of the value stays, and a failed pair counts as a success."""
    recording = tool_event(value)
    result = text_replacement(recording, 0, text).result
    assert isinstance(result, ToolValue)
    assert decode_value(result.value) == made


@pytest.mark.parametrize("value", [3, ["old"], None, (1, {"content": "x"}), (True, {"content": 3}), (True,)])
def test_a_value_without_a_text_is_refused(value: object) -> None:
    with pytest.raises(UsageError, match=r"\.json"):
        text_replacement(tool_event(value), 0, "new")


@pytest.mark.parametrize("body", [CHAT, TEXT_COMPLETION, RESPONSES, MESSAGES])
def test_what_a_model_says_is_replaced(body: dict[str, Any]) -> None:
    """In each known wire format: the text is the new one, no tool is called, what else was said of it stays."""
    recording = model_event(json.dumps(body).encode())
    result = text_replacement(recording, 0, "new ü").result
    assert isinstance(result, HttpResult)
    assert result.status == 200
    said = model_output(result.body)
    assert (said.text, said.calls) == ("new ü", ())
    made = json.loads(result.body)
    assert {name: part for name, part in made.items() if name in ("id", "usage", "role")} == {
        name: part for name, part in body.items() if name in ("id", "usage", "role")
    }


@pytest.mark.parametrize("body", [b"data: {}\n\n", b"{}", b"[]", b'{"choices": []}', b"\xff"])
def test_a_response_in_no_known_format_is_refused(body: bytes) -> None:
    with pytest.raises(UsageError, match="no place for a text"):
        text_replacement(model_event(body), 0, "new")


def test_a_whole_result_is_taken_as_it_is() -> None:
    """Bytes of a response as they stand in the file; a tool's value in the types of JSON."""
    body = b'{"choices":   []}'
    response = whole_replacement(model_event(b"{}"), 0, body).result
    assert isinstance(response, HttpResult)
    assert response.body == body
    value = whole_replacement(tool_event("old"), 0, b'{"a": [1, null, 2.5]}').result
    assert isinstance(value, ToolValue)
    assert decode_value(value.value) == {"a": [1, None, 2.5]}
    with pytest.raises(UsageError, match="JSON in UTF-8"):
        whole_replacement(tool_event("old"), 0, b"{")
    with pytest.raises(AnchorError):
        whole_replacement(tool_event("old"), 1, b"1")


def test_a_result_fits_its_event(team: Recording) -> None:
    """A response is none of a tool, and the other way round; both stay at the event they are given."""
    value = ReplaceResult(result=ToolValue(value=encode_value("new")))
    response = ReplaceResult(result=HttpResult(status=200, headers=(), body=b"{}"))
    tools = [at for at in of_kind(team, tool=True) if team.log.quiescent(at)]
    calls = [at for at in of_kind(team, tool=False) if team.log.quiescent(at)]
    assert tools
    assert calls
    for fits, other, places in ((value, response, tools), (response, value, calls)):
        for at in places:
            assert resolve_anchor(team.log, team.opening.run, at, fits).position == at
            with pytest.raises(AnchorError, match="cannot be that of the event"):
                resolve_anchor(team.log, team.opening.run, at, other)


@pytest.mark.parametrize(
    "intervention",
    [
        ReplaceResult(result=ToolValue(value=encode_value({"a": (1, b"\x00")}))),
        ReplaceResult(result=HttpResult(status=503, headers=(("retry-after", "1"),), body=b"\xff\x00")),
    ],
)
def test_interventions_are_read_back_and_damaged_ones_refused(intervention: ReplaceResult) -> None:
    """`intervention_from` inverts `document`; H-02: every field is in the digest."""
    document = intervention.document()
    assert intervention_from(document) == intervention
    for name in document:
        with pytest.raises(DamagedError):
            intervention_from({key: value for key, value in document.items() if key != name})
        with pytest.raises(DamagedError):
            intervention_from({**document, name: ["x"]})
    with pytest.raises(DamagedError):
        intervention_from({**document, "more": 1})


def test_the_anchors_tool_is_given_the_result_once() -> None:
    """A model that calls the tool again with the same arguments gets the tool, not the result once more."""
    recording = tool_event("old")
    result = ToolValue(value=encode_value("new"))
    session = Session(recording, anchor=0, intervention=ReplaceResult(result=result))
    again = asked(recording)
    assert session.ask(again) == Replace(result=result)
    assert session.live
    assert session.ask(again) == GoLive()


def test_a_client_that_repeats_its_request_is_given_the_result_until_it_succeeds() -> None:
    """Design, Interventions: it applies to every send of the anchor's request until one succeeds."""
    recording = model_event(b"{}")
    result = HttpResult(status=503, headers=(), body=b"{}")
    session = Session(recording, anchor=0, intervention=ReplaceResult(result=result))
    again = asked(recording)
    assert [session.ask(again) for _ in range(3)] == [Replace(result=result)] * 3


def test_guidance_and_raised_results_have_no_text_to_replace() -> None:
    """What raised has no value: its whole result must be given."""
    recording = tool_event(ValueError("no"))
    assert isinstance(recording.result(recording.log.events[0]), Raised)
    with pytest.raises(UsageError, match="raised an exception"):
        text_replacement(recording, 0, "new")
    assert isinstance(whole_replacement(recording, 0, b'"new"').result, ToolValue)
    assert Guide(text="x").digest != ReplaceResult(result=ToolValue(value=encode_value("x"))).digest
