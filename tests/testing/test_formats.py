"""One script for three APIs: what a rule sees, and how one reply is written in each, without a server."""

import gzip
import json
import zlib
from typing import Any

import pytest

from anchored.errors import UsageError
from anchored.testing import ChatRequest, Reply, RequestError, Rule, RuleFailedError, Script
from anchored.testing.conversation import Json
from anchored.testing.draw import Draw
from anchored.testing.request import parse_chat

CHAT, RESPONSES, MESSAGES = "/v1/chat/completions", "/v1/responses", "/v1/messages"
PATHS = (CHAT, RESPONSES, MESSAGES)

ARGUMENTS = '{"at": 1}'
SAME: dict[str, dict[str, Any]] = {
    CHAT: {
        "messages": [
            {"role": "system", "content": "You are the planner."},
            {"role": "user", "content": [{"type": "text", "text": "Use the"}, {"type": "text", "text": "figure"}]},
            {
                "role": "assistant",
                "content": "I look",
                "tool_calls": [
                    {"id": "c1", "type": "function", "function": {"name": "look", "arguments": ARGUMENTS}},
                    {"id": "c2", "type": "function", "function": {"name": "take", "arguments": "{}"}},
                ],
            },
            {"role": "tool", "tool_call_id": "c1", "content": "one"},
            {"role": "tool", "tool_call_id": "c2", "content": "two"},
        ],
        "tools": [
            {"type": "function", "function": {"name": "look"}},
            {"type": "function", "function": {"name": "take"}},
        ],
    },
    RESPONSES: {
        "instructions": "You are the planner.",
        "input": [
            {
                "role": "user",
                "content": [{"type": "input_text", "text": "Use the"}, {"type": "input_text", "text": "figure"}],
            },
            {"type": "reasoning", "id": "rs_1", "summary": []},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I look"}]},
            {"type": "function_call", "call_id": "c1", "name": "look", "arguments": ARGUMENTS},
            {"type": "function_call", "call_id": "c2", "name": "take", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c1", "output": "one"},
            {"type": "function_call_output", "call_id": "c2", "output": [{"type": "input_text", "text": "two"}]},
        ],
        "tools": [{"type": "function", "name": "look"}, {"type": "function", "name": "take"}],
    },
    MESSAGES: {
        "system": [{"type": "text", "text": "You are the planner."}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Use the"}, {"type": "text", "text": "figure"}]},
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": "I look"},
                    {"type": "tool_use", "id": "c1", "name": "look", "input": {"at": 1}},
                    {"type": "tool_use", "id": "c2", "name": "take", "input": {}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "c1", "content": "one"},
                    {"type": "tool_result", "tool_use_id": "c2", "content": [{"type": "text", "text": "two"}]},
                ],
            },
        ],
        "tools": [{"name": "look", "input_schema": {}}, {"name": "take", "input_schema": {}}],
    },
}


def request(path: str, **more: Json) -> ChatRequest:
    return parse_chat({"model": "m", **SAME[path], **more}, path=path)


def answer(reply: Reply, path: str = CHAT, *, occurrence: int = 0, **more: Json) -> Any:
    script = Script(rules=[Rule(name="always", when=lambda _: True, replies=reply)])
    return script.answer(request(path, **more), seed=3, occurrence=occurrence).response


@pytest.mark.parametrize("path", PATHS)
def test_a_rule_sees_the_same_whichever_api_was_asked(path: str) -> None:
    asked, chat = request(path), request(CHAT)
    assert asked.messages == chat.messages
    assert (asked.system, asked.text, asked.tool_names) == (chat.system, chat.text, ("look", "take"))
    assert (asked.last.role, asked.last.text, asked.last.tool_call_id) == ("tool", "two", "c2")
    assert [call.arguments for call in asked.messages[2].tool_calls] == [ARGUMENTS, "{}"]
    assert asked.contains("use the figure")


def test_a_text_as_input_and_words_beside_a_result() -> None:
    assert [m.role for m in parse_chat({"instructions": "s", "input": "hi"}, path=RESPONSES).messages] == [
        "system",
        "user",
    ]
    content: Json = [{"type": "tool_result", "tool_use_id": "c1", "content": "one"}, {"type": "text", "text": "go on"}]
    said = parse_chat({"messages": [{"role": "user", "content": content}]}, path=MESSAGES)
    assert [(m.role, m.text) for m in said.messages] == [("tool", "one"), ("user", "go on")]


@pytest.mark.parametrize("path", PATHS)
def test_views_never_raise_on_odd_bodies(path: str) -> None:
    for odd in (None, 3, [3], [{"content": {"a": 1}, "type": 5, "role": None}], [{"content": [3, {"type": []}]}]):
        asked = ChatRequest(body={"messages": odd, "input": odd, "system": 1, "tools": [1, {"name": 1}]}, path=path)
        assert (asked.text, asked.system, asked.last.text) == ("", "", "")
        assert all(isinstance(name, str) for name in asked.tool_names)


@pytest.mark.parametrize(
    ("path", "body", "message"),
    [
        (RESPONSES, {"messages": []}, "'input'"),
        (RESPONSES, {"input": [1]}, "'input'"),
        (RESPONSES, {"input": "x", "previous_response_id": "resp_1"}, "keeps no conversations"),
        (MESSAGES, {"input": "x"}, "'messages'"),
    ],
)
def test_what_cannot_be_answered_is_refused(path: str, body: Json, message: str) -> None:
    with pytest.raises(RequestError, match=message):
        parse_chat(body, path=path)


def test_azure_names_the_model_in_the_path() -> None:
    path = "/openai/deployments/gpt-x/chat/completions"
    assert ChatRequest(body={}, path=path).model == "gpt-x"
    assert ChatRequest(body={"model": "m"}, path=path).model == "m"


@pytest.mark.parametrize("path", PATHS)
def test_a_stream_is_a_function_of_seed_request_and_occurrence(path: str) -> None:
    reply = Reply.tools([("look", {"at": 1}), ("look", {"at": 2})], content="I look")
    first = answer(reply, path, stream=True)
    assert first == answer(reply, path, stream=True)
    assert len({answer(reply, path, stream=True, occurrence=i).body for i in range(5)}) == 5
    assert dict(first.headers)["content-type"].startswith("text/event-stream")
    assert b"".join(first.pieces) == first.body
    assert all(piece.endswith(b"\n\n") for piece in first.pieces)


def test_chunks_are_as_openai_sends_them() -> None:
    reply = Reply.tools([("look", ARGUMENTS)], content="two words")
    for usage in (False, True):
        pieces = answer(reply, stream=True, stream_options={"include_usage": usage}).pieces
        assert pieces[-1] == b"data: [DONE]\n\n"
        chunks = [json.loads(piece[6:]) for piece in pieces[:-1]]
        assert len({chunk["id"] for chunk in chunks}) == 1
        assert bool(chunks[-1].get("usage")) is usage
        deltas = [choice["delta"] for chunk in chunks for choice in chunk["choices"]]
        assert deltas[0]["role"] == "assistant"
        assert [delta["content"] for delta in deltas if "content" in delta][1:] == ["two ", "words"]
        calls = [delta["tool_calls"][0] for delta in deltas if "tool_calls" in delta]
        assert calls[0]["id"].startswith("call_")
        assert len(calls) >= 3, "the arguments come in two pieces at least"
        assert "".join(call["function"]["arguments"] for call in calls) == ARGUMENTS
        assert [chunk["choices"][0]["finish_reason"] for chunk in chunks if chunk["choices"]][-1] == "tool_calls"


def test_events_are_named_as_their_apis_name_them() -> None:
    reply = Reply.tools([("look", ARGUMENTS)], content="word")
    named = {
        path: [piece.split(b"\n")[0][7:].decode() for piece in answer(reply, path, stream=True).pieces]
        for path in (RESPONSES, MESSAGES)
    }
    assert list(dict.fromkeys(named[RESPONSES])) == [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.content_part.added",
        "response.output_text.delta",
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.function_call_arguments.delta",
        "response.function_call_arguments.done",
        "response.completed",
    ]
    assert [name for name in named[MESSAGES] if name != "content_block_delta"] == [
        "message_start",
        "ping",
        "content_block_start",
        "content_block_stop",
        "content_block_start",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]


def test_anthropic_cannot_carry_malformed_arguments() -> None:
    with pytest.raises(RuleFailedError, match=r"Reply\.raw"):
        answer(Reply.tools([("look", "{")]), MESSAGES)


def test_errors_are_those_of_the_api_asked() -> None:
    busy = Reply.status(429, retry_after=0.5)
    assert json.loads(answer(busy, MESSAGES, stream=True).body)["error"]["type"] == "rate_limit_error"
    assert json.loads(answer(busy, MESSAGES).body)["type"] == "error"
    assert dict(answer(busy, MESSAGES).headers)["retry-after"] == "0.5"
    assert json.loads(answer(busy, RESPONSES).body)["error"]["code"] is None
    assert json.loads(answer(Reply.status(529), MESSAGES).body)["error"]["type"] == "overloaded_error"


def test_a_delay_is_drawn_with_the_answer() -> None:
    reply = Reply.delayed(Reply.text("late"), seconds=(0.25, 0.5))
    drawn = [answer(reply, occurrence=i).delay for i in range(50)]
    assert all(0.25 <= delay < 0.5 for delay in drawn)
    assert len(set(drawn)) == 50
    assert drawn == [answer(reply, occurrence=i).delay for i in range(50)]
    assert answer(reply).body == answer(Reply.text("late")).body
    twice = Reply.delayed(Reply.delayed(Reply.text("late"), seconds=(1, 1)), seconds=(2, 2))
    assert answer(twice).delay == 3
    assert (answer(Reply.hang(seconds=9)).delay, answer(Reply.hang(seconds=9)).status) == (9, 504)


def test_a_cut_keeps_the_body_and_says_where_it_breaks() -> None:
    cut = answer(Reply.cut(Reply.text("word"), after=10))
    assert (cut.cut, cut.body) == (10, answer(Reply.text("word")).body)
    assert answer(Reply.cut(Reply.text("word"), after=10**6)).cut is None
    assert answer(Reply.cut(Reply.cut(Reply.text("word"), after=5), after=10)).cut == 5


def test_a_gzipped_stream_can_be_read_event_by_event() -> None:
    plain, packed = (
        answer(Reply.text("some words"), stream=True),
        answer(Reply.gzipped(Reply.text("some words")), stream=True),
    )
    assert gzip.decompress(packed.body) == plain.body
    assert dict(packed.headers)["content-encoding"] == "gzip"
    reader = zlib.decompressobj(wbits=31)
    assert [reader.decompress(piece) for piece in packed.pieces[: len(plain.pieces)]] == plain.pieces
    assert packed == answer(Reply.gzipped(Reply.text("some words")), stream=True)


@pytest.mark.parametrize("seconds", [(-1.0, 1.0), (2.0, 1.0), (0.0, float("inf")), (float("nan"), 1.0)])
def test_times_that_are_no_range_are_refused(seconds: tuple[float, float]) -> None:
    with pytest.raises(UsageError, match="delayed"):
        Reply.delayed(Reply.text(""), seconds=seconds)


def test_a_negative_cut_is_refused() -> None:
    with pytest.raises(UsageError, match="cut"):
        Reply.cut(Reply.text(""), after=-1)


def test_vectors_are_those_of_their_texts() -> None:
    from anchored.testing.embeddings import embeddings

    def vectors(seed: int, **body: Any) -> list[Any]:
        draw = Draw(seed=seed, digest="0" * 64, occurrence=seed)
        return [part["embedding"] for part in json.loads(embeddings({"model": "m", **body}, draw).body)["data"]]

    one, two = vectors(1, input=["a", "b"])
    assert vectors(2, input="b") == [two]
    assert one != two
    assert len(vectors(1, input=["a"], dimensions=3)[0]) == 3
    assert sum(part * part for part in one) == pytest.approx(1)
    assert vectors(1, input=[1, 2]) == vectors(1, input=[[1, 2]])
    for wrong in ({"input": "a", "dimensions": 0}, {}, {"input": []}):
        with pytest.raises(RequestError):
            vectors(1, **wrong)
