"""Issue 4: a streamed response says what the same response says unstreamed, in every known format, also when cut."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anchored.events import ModelOutput, model_output, with_model_text
from anchored.testing import ChatRequest, Reply
from anchored.testing.draw import Draw

CHAT, RESPONSES, MESSAGES = "/v1/chat/completions", "/v1/responses", "/v1/messages"
PATHS = (CHAT, RESPONSES, MESSAGES)

TEXTS = st.text(st.characters(codec="utf-8"), max_size=40)
ARGUMENTS = st.dictionaries(TEXTS, TEXTS | st.integers(-9, 9) | st.lists(st.booleans(), max_size=2), max_size=3)
CALLS = st.lists(st.tuples(st.sampled_from(["look", "take"]), ARGUMENTS), max_size=3)


@st.composite
def replies(draw: st.DrawFn) -> Reply:
    text, calls = draw(TEXTS), draw(CALLS)
    return Reply.tools(calls, content=text or None) if calls else Reply.text(text)


def answered(reply: Reply, path: str, **more: Any) -> bytes:
    conversation = [{"role": "user", "content": "go"}]
    body = {"model": "m", "input" if path == RESPONSES else "messages": conversation, **more}
    draw = Draw(seed=1, digest="0" * 64, occurrence=0)
    return reply.response(ChatRequest(body=body, path=path), draw).body


def streamed(reply: Reply, path: str) -> bytes:
    return answered(reply, path, stream=True, stream_options={"include_usage": True})


@pytest.mark.parametrize("path", PATHS)
@given(reply=replies())
@settings(max_examples=150, deadline=None)
def test_a_stream_says_what_the_unstreamed_response_says(path: str, reply: Reply) -> None:
    whole = model_output(answered(reply, path))
    assert whole.output_tokens is not None
    assert model_output(streamed(reply, path)) == whole


@pytest.mark.parametrize("path", PATHS)
@given(reply=replies(), data=st.data())
@settings(max_examples=150, deadline=None)
def test_a_cut_stream_says_the_beginning(path: str, reply: Reply, data: st.DataObject) -> None:
    """Law 6, and a program may close a stream anywhere."""
    stream = streamed(reply, path)
    whole = model_output(stream)
    cut = model_output(stream[: data.draw(st.integers(0, len(stream)))])
    assert whole.text.startswith(cut.text)
    assert whole.call_ids[: len(cut.call_ids)] == cut.call_ids
    assert whole.calls[: len(cut.calls)] == cut.calls
    assert len(cut.arguments) == len(cut.calls)
    assert whole.arguments[: max(0, len(cut.arguments) - 1)] == cut.arguments[:-1]


@pytest.mark.parametrize("path", PATHS)
def test_a_cut_before_the_last_event_loses_nothing_said(path: str) -> None:
    """The response that `response.completed` holds is not needed."""
    reply = Reply.tools([("look", {"at": "é"}), ("look", {})], content="I look")
    stream = streamed(reply, path)
    last = {CHAT: b"data: [DONE]", RESPONSES: b"event: response.completed", MESSAGES: b"event: message_stop"}[path]
    cut, whole = model_output(stream[: stream.rindex(last)]), model_output(stream)
    assert (cut.text, cut.call_ids, cut.calls, cut.arguments) == (
        whole.text,
        whole.call_ids,
        whole.calls,
        whole.arguments,
    )
    assert whole.calls == ("look", "look")


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("ending", [b"\r\n", b"\r"])
def test_all_line_endings_and_a_mark_are_read(path: str, ending: bytes) -> None:
    """WHATWG HTML 9.2.5."""
    stream = streamed(Reply.tools([("look", {"at": "é"})], content="I look"), path)
    assert model_output(b"\xef\xbb\xbf: comment\n\n".replace(b"\n", ending) + stream.replace(b"\n", ending)) == (
        model_output(stream)
    )


@pytest.mark.parametrize("path", PATHS)
@given(reply=replies(), text=TEXTS, data=st.data())
@settings(max_examples=80, deadline=None)
def test_a_replaced_stream_says_the_text_alone(path: str, reply: Reply, text: str, data: st.DataObject) -> None:
    """Issue 3: a result with another text, of a stream as well, whole or cut."""
    stream = streamed(reply, path)
    first = stream.index(b"\n\n") + 2
    replaced = with_model_text(stream[: data.draw(st.integers(first, len(stream)))], text)
    said = model_output(replaced)
    assert (said.text, said.call_ids, said.calls) == (text, (), ())
    assert replaced.startswith(stream[:5])
    last = {CHAT: b"data: [DONE]", RESPONSES: b"event: response.completed", MESSAGES: b"event: message_stop"}[path]
    assert replaced.rstrip().split(b"\n\n")[-1].startswith(last)


def test_a_replaced_stream_keeps_id_model_and_usage() -> None:
    for path in PATHS:
        stream = streamed(Reply.text("one two"), path)
        replaced = with_model_text(stream, "three")
        assert json.loads(answered(Reply.text("one two"), path))["id"].encode() in replaced
        assert model_output(replaced).input_tokens == model_output(stream).input_tokens is not None


def events(*values: Any) -> bytes:
    return b"".join(b"data: %s\n\n" % json.dumps(value).encode() for value in values)


def chunk(**delta: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta}]}


def test_what_other_providers_send() -> None:
    """Several calls under one index, no index, no finish; Azure's first chunk without choices; other choices."""
    calls = [{"index": 0, "id": f"c{i}", "function": {"name": f"f{i}", "arguments": "{}"}} for i in range(2)]
    stream = events(
        {"choices": [], "prompt_filter_results": []},
        chunk(content="a"),
        {"choices": [{"index": 1, "delta": {"content": "no"}}]},
        chunk(tool_calls=[calls[0]]),
        chunk(tool_calls=[calls[1]]),
        {"error": {"message": "overloaded"}},
    )
    assert model_output(stream) == ModelOutput(
        text="a", call_ids=("c0", "c1"), calls=("f0", "f1"), arguments=("{}", "{}")
    )
    assert model_output(events({"choices": [{"text": "a"}]}, {"choices": [{"text": "b"}]})).text == "ab"
    begun = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "a"}}
    more = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "b"}}
    assert model_output(events({"type": "message_start", "message": {}}, begun, more)).text == "ab"
    item = {"type": "message", "content": [{"type": "output_text", "text": "a"}]}
    done = {"type": "response.output_item.done", "output_index": 0, "item": item}
    assert model_output(events(done, {"type": "response.completed", "response": {"output": []}})).text == "a"


ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["type", "id", "text"]), inner),
    max_leaves=4,
)
FIELDS = ["choices", "delta", "response", "item", "index", "output_index", "content_block", "message", "usage", "type"]
TYPES = ["message_start", "content_block_start", "content_block_delta", "message_delta"]
TYPES += ["response.completed", "response.output_item.added", "response.output_item.done", "response.output_text.delta"]


@given(
    st.lists(
        st.fixed_dictionaries({}, optional={name: ODD for name in FIELDS if name != "type"})
        | st.fixed_dictionaries({"type": st.sampled_from(TYPES)}, optional={n: ODD for n in FIELDS if n != "type"})
        | st.builds(
            lambda held: {"choices": [held]}, st.dictionaries(st.sampled_from(["delta", "index", "text"]), ODD)
        ),
        max_size=4,
    )
)
@settings(max_examples=400, deadline=None)
def test_no_stream_makes_reading_fail(values: list[Any]) -> None:
    """Law 6."""
    body = events(*values)
    assert isinstance(model_output(body), ModelOutput)
    try:
        assert model_output(with_model_text(body, "new")).text == "new"
    except ValueError:
        assert model_output(body) == ModelOutput()


@pytest.mark.parametrize(
    "body", [b"data: " + b"[" * 100_000 + b"\n\n", b"data: " + b"9" * 5000 + b"\n\n", b"data: 1\n\ndata\n\n: \n\n", b""]
)
def test_odd_streams_say_nothing(body: bytes) -> None:
    assert model_output(body) == ModelOutput()
    with pytest.raises(ValueError, match="known kind"):
        with_model_text(body, "x")


@pytest.mark.parametrize("path", PATHS)
def test_reading_is_linear(path: str) -> None:
    """Nothing is copied anew with each event; if it were, the timeout of all tests would end this one."""
    count = 200_000
    grown: dict[str, Any] = {
        CHAT: [{"choices": [{"delta": {"content": "a"}}], f"key {i}": i} for i in range(count)],
        RESPONSES: [{"type": "response.output_item.added", "output_index": 0, "item": {}}]
        + [{"type": "response.output_text.delta", "delta": "a", f"key {i}": i} for i in range(count)],
        MESSAGES: [{"type": "content_block_start", "content_block": {"type": "text"}}]
        + [{"type": "content_block_delta", "delta": {"type": "text_delta", "text": "a"}} for _ in range(count)]
        + [{"type": "message_delta", "delta": {f"key {i}": i}, "usage": {f"key {i}": i}} for i in range(count)],
    }
    assert model_output(events(*grown[path])).text == "a" * count
