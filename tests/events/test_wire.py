"""What known wire formats say; others are opaque, and nothing in a body makes reading it fail."""

from __future__ import annotations

import json
from typing import Any

import pytest
from builders import json_values
from hypothesis import given, settings
from hypothesis import strategies as st

from anchored.events import ModelOutput, answered_calls, message_text, model_kind, model_name, model_output


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
        ("GET", "/v1/chat/completions", "http"),
        ("POST", "/v1/messages/count_tokens", "http"),
        ("POST", "/", "http"),
    ],
)
def test_kinds(method: str, path: str, kind: str) -> None:
    assert model_kind(method, path) == kind


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
    assert all(isinstance(item, str) for item in answered_calls(message))


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
