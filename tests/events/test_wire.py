"""What known wire formats say; others are opaque, and nothing in a body makes reading it fail."""

from __future__ import annotations

import json
from typing import Any

import pytest
from builders import json_values
from hypothesis import given, settings
from hypothesis import strategies as st

from anchored.events import (
    ModelOutput,
    answered_calls,
    issued_calls,
    message_text,
    model_kind,
    model_name,
    model_output,
    with_model_text,
)


@pytest.mark.parametrize(
    ("method", "path", "kind"),
    [
        ("POST", "/v1/chat/completions", "chat"),
        ("POST", "/openai/deployments/x/chat/completions", "chat"),
        ("POST", "/v1/responses", "chat"),
        ("POST", "/v1/messages", "chat"),
        ("POST", "/v1/completions", "text_completion"),
        ("POST", "/v1/embeddings", "embeddings"),
        ("POST", "/v1beta/models/g:generateContent", "generate_content"),
        ("POST", "/v1beta/models/g:streamGenerateContent", "generate_content"),
        ("POST", "/v1beta/models/g%3AgenerateContent", "generate_content"),
        ("POST", "/v1beta/models/g:embedContent", "embeddings"),
        ("POST", "/v1/projects/p/locations/l/publishers/anthropic/models/claude@1:streamRawPredict", "chat"),
        ("POST", "/api/chat", "chat"),
        ("GET", "/v1/chat/completions", "http"),
        ("POST", "/v1/messages/count_tokens", "http"),
        ("POST", "/", "http"),
    ],
)
def test_kinds(method: str, path: str, kind: str) -> None:
    assert model_kind(method, path) == kind


@pytest.mark.parametrize(
    ("path", "body", "name"),
    [
        ("/v1/chat/completions", {"model": "m"}, "m"),
        ("/openai/deployments/gpt%2D4/chat/completions", {"messages": []}, "gpt-4"),
        ("/openai/deployments/gpt-4/chat/completions", {"model": "m"}, "m"),
        ("/v1beta/models/gemini-2.5-pro:generateContent", {"contents": []}, "gemini-2.5-pro"),
        ("/v1beta/models/gemini%2Dx%3AstreamGenerateContent", {"contents": []}, "gemini-x"),
        ("/v1/projects/p/publishers/anthropic/models/claude@1:rawPredict", {}, "claude@1"),
        ("/v1/threads/t/messages", {"role": "user"}, None),
        ("/v1/models/m", {}, None),
    ],
)
def test_names(path: str, body: Any, name: str | None) -> None:
    """Issue 4: the model is named in the body, or else in the path."""
    assert model_name(json.dumps(body).encode(), path) == name
    assert model_name(json.dumps(body).encode()) == body.get("model")


def test_chat_completions() -> None:
    calls = [{"id": "c1", "function": {"name": "f"}}, {"id": "c2", "function": {"name": "g"}}]
    body = {
        "choices": [{"message": {"content": "text", "tool_calls": calls}}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 4},
    }
    expected = ModelOutput(
        text="text", call_ids=("c1", "c2"), calls=("f", "g"), arguments=("", ""), input_tokens=3, output_tokens=4
    )
    assert model_output(json.dumps(body).encode()) == expected


def test_responses() -> None:
    output = [
        {"type": "function_call", "call_id": "c1", "id": "item", "name": "f"},
        {"type": "message", "content": [{"type": "output_text", "text": "a"}, {"type": "output_text", "text": "b"}]},
    ]
    assert model_output(json.dumps({"output": output}).encode()) == ModelOutput(
        text="a\nb", call_ids=("c1",), calls=("f",), arguments=("",)
    )


def test_messages() -> None:
    content = [{"type": "text", "text": "a"}, {"type": "tool_use", "id": "c1", "name": "f", "input": {}}]
    body = {"content": content, "usage": {"input_tokens": 3, "output_tokens": True}}
    assert model_output(json.dumps(body).encode()) == ModelOutput(
        text="a", call_ids=("c1",), calls=("f",), arguments=("{}",), input_tokens=3
    )


def test_calls_of_custom_tools_and_thoughts() -> None:
    """What a model thinks is not what it says; tools that the provider runs are not called by the program."""
    custom = {"id": "c1", "type": "custom", "custom": {"name": "f", "input": "free text"}}
    said = model_output(json.dumps({"choices": [{"message": {"content": None, "tool_calls": [custom]}}]}).encode())
    assert (said.call_ids, said.calls, said.arguments) == (("c1",), ("f",), ("free text",))
    output = [
        {"type": "reasoning", "content": [{"type": "reasoning_text", "text": "hm"}]},
        {"type": "web_search_call", "id": "w1", "action": {}},
        {"type": "custom_tool_call", "call_id": "c1", "name": "f", "input": "free text"},
        {"type": "message", "content": [{"type": "output_text", "text": "so"}]},
    ]
    assert model_output(json.dumps({"output": output}).encode()) == ModelOutput(
        text="so", call_ids=("c1",), calls=("f",), arguments=("free text",)
    )


@pytest.mark.parametrize(
    "body",
    [
        {"choices": [{"message": {"role": "assistant", "content": None, "tool_calls": [{"id": "c1"}]}}]},
        {"choices": [{"text": "old"}]},
        {"object": "response", "status": "incomplete", "incomplete_details": {"reason": "x"}, "output": []},
        {"output": [{"type": "function_call", "call_id": "c1", "name": "f"}]},
        {"type": "message", "content": []},
        {"content": [{"type": "tool_use", "id": "c1", "name": "f", "input": {}}], "stop_reason": "tool_use"},
    ],
)
def test_a_replaced_response_says_the_text_alone(body: Any) -> None:
    """Issue 3."""
    replaced = with_model_text(json.dumps(body).encode(), "new")
    assert model_output(replaced) == ModelOutput(text="new")
    assert b'"incomplete"' not in replaced


@pytest.mark.parametrize("body", [b"[" * 100_000, b"{}", b'{"error": {"message": "x"}}', b"", b"\xff"])
def test_other_bodies_have_no_place_for_a_text(body: bytes) -> None:
    with pytest.raises(ValueError, match=r"levels|kind"):
        with_model_text(body, "new")


@given(st.binary(max_size=30) | json_values().map(lambda value: json.dumps(value).encode()))
@settings(max_examples=300, deadline=None)
def test_no_body_makes_reading_fail(body: bytes) -> None:
    """Law 6: these read what the program exchanges, and must never fail it."""
    assert isinstance(model_output(body), ModelOutput)
    assert model_name(body) is None or isinstance(model_name(body), str)


@pytest.mark.parametrize("body", [b"[" * 100_000, b"9" * 5000, b'{"choices": [[1]], "output": 5, "content": [null]}'])
def test_odd_bodies_say_nothing(body: bytes) -> None:
    assert model_output(body) == ModelOutput()
    assert model_name(body) is None


@given(json_values())
@settings(max_examples=200, deadline=None)
def test_no_message_makes_reading_fail(message: Any) -> None:
    """Law 6."""
    assert message_text(message) is None or isinstance(message_text(message), str)
    assert all(isinstance(item, str) for item in (*answered_calls(message), *issued_calls(message)))


def test_messages_of_requests() -> None:
    assert message_text({"role": "user", "content": "a"}) == "a"
    assert message_text({"content": [{"type": "text", "text": "a"}]}) == "a"
    assert message_text({"content": [{"text": "a"}, {"text": "b"}]}) is None
    assert list(answered_calls({"role": "tool", "tool_call_id": "c1"})) == ["c1"]
    assert list(answered_calls({"type": "function_call_output", "call_id": "c2"})) == ["c2"]
    assert list(answered_calls({"type": "function_call", "call_id": "c2"})) == []
    assert list(answered_calls({"role": "user", "content": [{"tool_use_id": "c3"}, {"tool_use_id": "c4"}]})) == [
        "c3",
        "c4",
    ]


def test_items_of_openai_responses() -> None:
    """Issue 4: an answer is tied to its call by id, in any format."""
    for kind in ("function_call", "custom_tool_call", "computer_call"):
        assert list(issued_calls({"type": kind, "id": "item", "call_id": "c1"})) == ["c1"]
        assert list(answered_calls({"type": kind, "id": "item", "call_id": "c1"})) == []
        output = {"type": f"{kind}_output", "call_id": "c1", "output": "seen"}
        assert list(answered_calls(output)) == ["c1"]
        assert list(issued_calls(output)) == []
        assert message_text(output) == "seen"
    said: Any = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "a"}]}
    assert message_text(said) == "a"
    assert [*answered_calls(said), *issued_calls(said)] == []
    assert message_text({"type": "function_call_output", "output": [{"type": "input_text", "text": "a"}]}) == "a"
    assert message_text({"type": "function_call", "arguments": "{}", "call_id": "c1"}) is None


def test_blocks_of_anthropic_messages() -> None:
    """Issue 4: one message answers several calls, and one message issues several."""
    results: list[Any] = [{"type": "tool_result", "tool_use_id": f"c{i}", "content": "one"} for i in range(3)]
    assert list(answered_calls({"role": "user", "content": [*results, {"type": "text", "text": "go on"}]})) == [
        "c0",
        "c1",
        "c2",
    ]
    assert message_text({"role": "user", "content": results}) is None
    assert message_text({"role": "user", "content": results[:1]}) == "one"
    blocks: list[Any] = [{"type": "tool_result", "tool_use_id": "c0", "content": [{"type": "text", "text": "one"}]}]
    assert message_text({"role": "user", "content": blocks}) == "one"
    uses: list[Any] = [{"type": "tool_use", "id": f"c{i}", "name": "f", "input": {}} for i in range(2)]
    searched: list[Any] = [
        {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}},
        {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []},
    ]
    message: Any = {"role": "assistant", "content": [{"type": "text", "text": "I look"}, *searched, *uses]}
    assert list(issued_calls(message)) == ["c0", "c1"]
    assert list(answered_calls(message)) == []
