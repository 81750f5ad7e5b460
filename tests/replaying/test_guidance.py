"""Guidance: one message appended, and not another byte touched; refused where nobody would read it."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from builders import json_values, nested, spaced, user
from hypothesis import given, settings
from hypothesis import strategies as st

from anchored.errors import DamagedError, RefusedError
from anchored.replaying import Guide, Unchanged, intervention_from

CHAT = "/v1/chat/completions"
GUIDE = Guide(text='Say "no" — ü 😀\n\\ {"messages": []}')


def guided(body: bytes | str, *, path: str = CHAT, guide: Guide = GUIDE) -> bytes:
    data = body.encode() if isinstance(body, str) else body
    return guide.apply(method="POST", path=path, body=data)


def assert_only_appended(body: bytes, sent: bytes, guide: Guide = GUIDE) -> None:
    """All bytes before and after stand as they stood; what was put between is the message, and a comma if needed."""
    added = len(sent) - len(body)
    places = [
        place
        for place in range(len(body) + 1)
        if sent[:place] == body[:place] and sent[place + added :] == body[place:]
    ]
    assert places
    texts = [sent[place : place + added].decode("utf-8", "replace") for place in places]
    message = json.dumps({"role": "user", "content": guide.text}, ensure_ascii=False)
    assert any(text in (message, "," + message) for text in texts)


@given(
    st.dictionaries(st.text(max_size=5), json_values(leaves=5), max_size=4),
    st.lists(json_values(leaves=4), max_size=4),
    st.text(max_size=12),
    st.sampled_from([(CHAT, "messages"), ("/v1/messages", "messages"), ("/v1/responses", "input")]),
    st.integers(0, 2**32),
)
@settings(max_examples=250, deadline=None)
def test_the_message_is_appended_and_nothing_else(
    body: dict[str, Any], messages: list[Any], text: str, wire: tuple[str, str], seed: int
) -> None:
    """Property, over odd white space, key orders, escapes, and fields of all sorts around the messages."""
    path, field = wire
    value = {**body, field: messages}
    data = spaced(value, random.Random(seed)).encode()
    guide = Guide(text=text)
    sent = guided(data, path=path, guide=guide)
    assert_only_appended(data, sent, guide)
    assert json.loads(sent) == {**value, field: [*messages, user(text)]}


@pytest.mark.parametrize(
    "body",
    [
        '{"messages":[]}',
        '{"messages":[ \n\t]}',
        '{"messages" : [ {"role": "user"} \r\n ] , "model":"m"}',
        '{"model": "m", "messages": [{"role": "user", "content": "]}"}]}',
        '{"messages": [12345678901234567890, 1.0, 1e400, NaN, "\\ud800"]}',
        '{"seed": 12345678901234567890, "messages": [{"a": 1, "a": 2}]}',
        '{"\\u006dessages": [1]}',
        '{"a": {"messages": [0]}, "b": [{"messages": []}], "messages": [1]}',
        ' \n{"messages":[[],[[]]]}\n ',
        '{"messages": [1.50, 0.10, 1E5, -0]}',
        '{"metadata": {"x": "é\\u00e9"}, "messages": ["\\/"]}',
    ],
)
def test_odd_bodies_keep_their_bytes(body: str) -> None:
    """64-bit integers, NaN, duplicate keys inside, lone surrogates: what we cannot express, we do not touch."""
    sent = guided(body)
    assert_only_appended(body.encode(), sent)
    assert repr(json.loads(sent)["messages"][:-1]) == repr(json.loads(body)["messages"])
    assert json.loads(sent)["messages"][-1] == user(GUIDE.text)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", CHAT),
        ("PUT", CHAT),
        ("POST", "/v1/completions"),
        ("POST", "/v1/embeddings"),
        ("POST", "/v1beta/models/g:generateContent"),
        ("POST", "/anything"),
        ("POST", CHAT + "/"),
        ("POST", ""),
    ],
)
def test_unknown_formats_are_refused(method: str, path: str) -> None:
    """Design, Interventions: appended in known wire formats; elsewhere refused."""
    with pytest.raises(RefusedError) as caught:
        GUIDE.apply(method=method, path=path, body=b'{"messages": [], "input": [], "contents": []}')
    assert path in caught.value.found


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b'[{"messages": []}]',
        b"{}",
        b'{"message": []}',
        b'{"messages": "text"}',
        b'{"messages": {}}',
        b'{"messages": null}',
        b'{"input": []}',
        b'{"a": {"messages": []}}',
        b'{"messages": [1',
        b'{"messages": [1]',
        b'{"messages": [1,]}',
        b"messages=[]",
        b"\xff\xfe{}",
        '{"messages": []}'.encode("utf-16"),
        b'\xef\xbb\xbf{"messages": []}',
    ],
)
def test_bodies_without_messages_are_refused(body: bytes) -> None:
    with pytest.raises(RefusedError):
        guided(body)


@pytest.mark.parametrize("body", [b'{"input": "text"}', b'{"messages": []}', b'{"input": {}}'])
def test_responses_without_a_list_of_input_are_refused(body: bytes) -> None:
    with pytest.raises(RefusedError):
        guided(body, path="/v1/responses")


@pytest.mark.parametrize(
    "body",
    [
        '{"messages": [1], "messages": [2]}',
        '{"messages": [1], "\\u006dessages": [2]}',
        '{"messages": [1], "model": "m", "messages": "text"}',
    ],
)
def test_guidance_is_refused_where_a_reader_would_not_see_it(body: str) -> None:
    """Of two fields of one name readers take the last.

    In the first, the receipt would tell of an intervention that never reached the model.
    """
    try:
        sent = guided(body)
    except RefusedError:
        return
    assert json.loads(sent)["messages"] == [*json.loads(body)["messages"], user(GUIDE.text)]


@pytest.mark.parametrize("body", ['{"messages": []} and more', '{"messages": [] "a": 1}', '{"messages"; []}'])
def test_what_is_no_json_is_refused(body: str) -> None:
    """What a reader would not parse is not changed and sent."""
    with pytest.raises(RefusedError):
        guided(body)


def test_text_that_cannot_be_sent_is_refused() -> None:
    with pytest.raises(RefusedError):
        guided('{"messages": []}', guide=Guide(text="\ud800"))


def test_a_deeply_nested_message_is_refused_or_guided() -> None:
    """H-07: no RecursionError."""
    body = f'{{"messages": [{nested(100_000)}]}}'.encode()
    try:
        sent = guided(body)
    except RefusedError:
        return
    assert sent.startswith(body[:-2])
    assert sent.endswith(body[-2:])


# ---- Its document


@given(st.text())
def test_reading_inverts_writing(text: str) -> None:
    """`intervention_from` inverts `document`."""
    for intervention in (Guide(text=text), Unchanged()):
        assert intervention_from(intervention.document()) == intervention


def test_every_intervention_has_its_digest() -> None:
    """R0-26: the receipt tells which."""
    held = [Unchanged(), Guide(text=""), Guide(text="a"), Guide(text="a "), Guide(text="none")]
    assert len({intervention.digest for intervention in held}) == len(held)


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"kind": "none", "text": ""},
        {"kind": "guide"},
        {"kind": "guide", "text": None},
        {"kind": "guide", "text": ["a"]},
        {"kind": "guide", "text": "a", "more": 1},
        {"kind": "Guide", "text": "a"},
        {"kind": "swap", "model": "m"},
        {"kind": None},
        {"text": "a"},
    ],
)
def test_what_describes_no_intervention_is_refused(document: Any) -> None:
    """H-09."""
    with pytest.raises(DamagedError):
        intervention_from(document)
