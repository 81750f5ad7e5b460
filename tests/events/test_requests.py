"""What identifies a request, and what does not (R0-01; docs/design/identity.md, Requests)."""

from __future__ import annotations

import copy
import hashlib
import json
import random
from collections.abc import Iterable
from typing import Any

import pytest
from builders import json_values, near_the_recursion_limit, nested, spaced
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from anchored.canonical import Digest, canonical, digest
from anchored.events import (
    IDENTITY_HEADERS,
    MESSAGE_FIELDS,
    Request,
    http_request,
    request_view,
    stored_request,
    tool_request,
)
from anchored.events.values import is_plain_json

TRANSPORT = [
    ("Host", "api.example.com"),
    ("Authorization", "Bearer sk-never"),
    ("x-api-key", "never"),
    ("Content-Length", "17"),
    ("Content-Type", "application/json"),
    ("User-Agent", "anything/1"),
    ("X-Stainless-Retry-Count", "3"),
    ("Cookie", "a=b"),
]
BODY: dict[str, Any] = {
    "model": "m",
    "temperature": 0.5,
    "seed": 7,
    "stream": False,
    "stop": None,
    "tools": [{"type": "function", "function": {"name": "f", "parameters": {}}}],
    "messages": [
        {"role": "system", "content": "s"},
        {"role": "user", "content": [{"type": "text", "text": "u"}]},
        {"role": "tool", "tool_call_id": "c1", "content": "t"},
    ],
}


def post(body: bytes | str, *, headers: Iterable[tuple[str, str]] = (), **more: str) -> Request:
    data = body.encode() if isinstance(body, str) else body
    line = {"method": "POST", "path": "/v1/chat/completions", "query": "", **more}
    return http_request(headers=headers, body=data, **line)


def reading(request: Request) -> dict[Digest, bytes]:
    return {blob.digest: blob.data for blob in request.blobs}


def view(request: Request) -> dict[str, Any]:
    return request_view(request.document(), reading(request).__getitem__)


bodies = st.dictionaries(st.text(max_size=6), json_values(leaves=6), max_size=5)
conversations = st.builds(
    lambda body, field, messages: {**body, field: messages},
    bodies,
    st.sampled_from(MESSAGE_FIELDS),
    st.lists(json_values(leaves=6), max_size=4),
)


# ---- What does not matter


@given(conversations | bodies | json_values(), st.integers(0, 2**32))
@settings(max_examples=120, deadline=None)
def test_key_order_space_and_escapes_do_not_matter(body: Any, seed: int) -> None:
    """R0-01, R0-24: the same value in other bytes is the same request."""
    one = post(json.dumps(body, ensure_ascii=False))
    other = post(spaced(body, random.Random(seed)))
    assert one.digest == other.digest
    assert one.raw == other.raw == ()
    assert [message.digest for message in one.messages] == [message.digest for message in other.messages]


def test_header_case_order_and_transport_do_not_matter() -> None:
    """R0-01: of all headers three count, whatever their case and order."""
    body = json.dumps(BODY)
    named = [("anthropic-version", "2023-06-01"), ("anthropic-beta", "tools"), ("openai-beta", "v2")]
    expected = post(body, headers=named).digest
    assert post(body, headers=[*TRANSPORT, *((name.title(), value) for name, value in named)]).digest == expected
    assert post(body, headers=[*reversed(named), *TRANSPORT]).digest == expected
    assert post(body, headers=TRANSPORT).digest == post(body).digest != expected
    assert sorted(name for name, _ in named) == sorted(IDENTITY_HEADERS)


# ---- What does


def places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Paths to all values inside a value, itself left out."""
    found: list[tuple[Any, ...]] = []
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in pairs:
        found.append((*at, key))
        found.extend(places(item, (*at, key)))
    return found


def changed(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    copied = copy.deepcopy(value)
    at = copied
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = new(at[path[-1]])
    return copied


@pytest.mark.parametrize("path", places(BODY), ids=lambda path: "/".join(map(str, path)))
def test_any_value_of_the_body_matters(path: tuple[Any, ...]) -> None:
    """R0-01, R0-07: every value, at every depth."""
    for new in (lambda old: [old], lambda old: {"a": old}, lambda _: "other", lambda _: 8.25):
        assert post(json.dumps(changed(BODY, path, new))).digest != post(json.dumps(BODY)).digest


@given(conversations, conversations)
@settings(max_examples=150, deadline=None)
def test_digests_are_equal_exactly_if_canonical_bodies_are(one: Any, other: Any) -> None:
    """Law: equal request digests ⇔ equal canonical requests."""
    assert (post(json.dumps(one)).digest == post(json.dumps(other)).digest) == (canonical(one) == canonical(other))


@given(conversations, st.data())
@settings(max_examples=120, deadline=None)
def test_a_changed_value_is_another_request(body: Any, data: st.DataObject) -> None:
    """R0-01, R0-07."""
    path = data.draw(st.sampled_from(places(body)))
    new = data.draw(json_values(leaves=3))
    other = changed(body, path, lambda _: new)
    if canonical(other) != canonical(body):
        assert post(json.dumps(other)).digest != post(json.dumps(body)).digest


@pytest.mark.parametrize(
    "edit",
    [
        lambda messages: messages[1:],
        lambda messages: messages[:-1],
        lambda messages: [messages[1], messages[0], messages[2]],
        lambda messages: [*messages, messages[-1]],
        lambda messages: [],
        lambda messages: [messages],
    ],
    ids=["first gone", "last gone", "swapped", "doubled", "empty", "wrapped"],
)
def test_the_order_and_number_of_messages_matter(edit: Any) -> None:
    """R0-07: insert, delete, reorder, truncate, append, within one request."""
    assert post(json.dumps({**BODY, "messages": edit(BODY["messages"])})).digest != post(json.dumps(BODY)).digest


def test_line_and_identity_headers_matter() -> None:
    """R0-01."""
    body = json.dumps(BODY)
    variants = [
        post(body),
        post(body, method="PUT"),
        post(body, method="post"),
        post(body, path="/v1/chat/completions/"),
        post(body, path="/V1/chat/completions"),
        post(body, path="/v1/chat%2Fcompletions"),
        post(body, path="/v1/chat%2fcompletions"),
        post(body, query="a=1"),
        post(body, query="a=1&"),
        post(body, query="b=2&a=1"),
        post(body, query="a=1&b=2"),
        *(post(body, headers=[(name, value)]) for name in IDENTITY_HEADERS for value in ("", "1", " 1")),
    ]
    assert len({request.digest for request in variants}) == len(variants)


def test_every_one_of_repeated_identity_headers_matters() -> None:
    """R0-01: of two `anthropic-beta` lines neither can be changed unseen."""
    one = post(b"", headers=[("anthropic-beta", "a"), ("anthropic-beta", "b")])
    other = post(b"", headers=[("anthropic-beta", "x"), ("anthropic-beta", "b")])
    assert one.digest != other.digest


def test_equal_messages_under_another_name_are_another_request() -> None:
    """The field's name is part of what is hashed."""
    digests = {post(json.dumps({"model": "m", field: BODY["messages"]})).digest for field in MESSAGE_FIELDS}
    assert len(digests) == len(MESSAGE_FIELDS)


def test_the_first_array_of_the_fixed_names_holds_the_messages() -> None:
    """Fixed, so that an independent verifier agrees: the order is that of the list, not that of the body."""
    both = post('{"contents": [3], "input": [2], "messages": [1]}')
    assert (both.field, both.document()["body"]) == ("messages", {"json": {"contents": [3], "input": [2]}, "raw": {}})
    text = post('{"messages": "none", "input": [2], "contents": [3]}')
    assert text.field == "input"
    assert post('{"messages": {"0": 1}}').field is None
    assert post("[1]").field is None


def test_no_two_sorts_of_body_are_mistaken_for_each_other() -> None:
    """A body that looks like our own markers is not what they mark."""
    raw = digest("raw", b"\xff")
    message = canonical({"role": "user"})
    texts: list[bytes] = [
        b"",
        b"null",
        b"{}",
        b"[]",
        b'""',
        b"0",
        b"false",
        b"\xff",
        b"{",
        json.dumps({"raw": raw}).encode(),
        json.dumps({"json": None, "raw": {}}).encode(),
        json.dumps({"json": {"raw": raw}}).encode(),
        b'{"messages": []}',
        b'{"messages": null}',
        json.dumps({"messages": {"field": "messages", "digests": []}}).encode(),
        json.dumps({"messages": [digest("message", message)]}).encode(),
        b'{"messages": [{"role": "user"}]}',
        json.dumps({"messages": [{"raw": raw}]}).encode(),
        b'{"messages": [NaN]}',
        json.dumps({"messages": [{"raw": digest("raw", b"NaN")}]}).encode(),
        b'{"a": NaN}',
        json.dumps({"a": {"raw": digest("raw", b"NaN")}}).encode(),
        json.dumps({"json": {}, "raw": {"a": digest("raw", b"NaN")}}).encode(),
    ]
    assert len({post(text).digest for text in texts}) == len(texts)


def test_a_request_is_hashed_as_the_page_says() -> None:
    """docs/design/identity.md, Requests, written out by other code."""

    def h(kind: str, value: Any) -> str:
        text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
        return hashlib.sha256(f"anchored/{kind}/v1".encode() + b"\0" + text).hexdigest()

    held = {key: value for key, value in BODY.items() if key != "messages"}
    request = post(json.dumps(BODY), headers=[*TRANSPORT, ("Anthropic-Version", "1")], query="a=%20b")
    assert request.digest == h(
        "request",
        {
            "method": "POST",
            "path": "/v1/chat/completions",
            "query": "a=%20b",
            "headers": {"anthropic-version": "1"},
            "body": {"json": held, "raw": {}},
            "messages": {"field": "messages", "digests": [h("message", message) for message in BODY["messages"]]},
        },
    )
    assert post(b"", method="GET").digest == h(
        "request",
        {
            "method": "GET",
            "path": "/v1/chat/completions",
            "query": "",
            "headers": {},
            "body": None,
            "messages": None,
        },
    )


# ---- What RFC 8785 cannot express

INEXPRESSIBLE = {
    "big integer": "12345678901234567890",
    "2^53": "9007199254740992",
    "NaN": "NaN",
    "infinity": "-Infinity",
    "overflow": "1e400",
    "lone surrogate": '"\\ud800"',
    "surrogate key": '{"\\udfff": 1}',
    "duplicate": '{"a": 1, "a": 2}',
    "equal duplicate": '{"a": 1, "a": 1}',
    "inside": '[{"b": [0, {"c": NaN}]}]',
    "beyond the depth": nested(300, "1"),
}


@pytest.mark.parametrize("part", INEXPRESSIBLE.values(), ids=INEXPRESSIBLE)
def test_a_field_is_the_smallest_raw_part(part: str) -> None:
    """Law 6: one field is identified by its bytes, all others and the messages stay what they are."""
    request = post(f'{{"model": "m", "odd": {part}, "messages": [{{"role": "user"}}]}}')
    assert request.raw == ("odd",)
    assert request.document()["body"] == {"json": {"model": "m"}, "raw": {"odd": digest("raw", part.encode())}}
    assert [message.value for message in request.messages] == [{"role": "user"}]
    assert reading(request)[digest("raw", part.encode())] == part.encode()


@pytest.mark.parametrize("part", INEXPRESSIBLE.values(), ids=INEXPRESSIBLE)
def test_a_message_is_the_smallest_raw_part(part: str) -> None:
    """Law 6."""
    request = post(f'{{"model": "m", "messages": [{{"role": "user"}}, {part} , {{"content": {part}}}]}}')
    assert request.raw == ("messages/1", "messages/2")
    assert request.document()["body"] == {"json": {"model": "m"}, "raw": {}}
    assert [message.digest for message in request.messages] == [
        digest("message", canonical({"role": "user"})),
        digest("raw", part.encode()),
        digest("raw", f'{{"content": {part}}}'.encode()),
    ]
    assert [message.value for message in request.messages] == [{"role": "user"}, None, None]


@pytest.mark.parametrize("part", INEXPRESSIBLE.values(), ids=INEXPRESSIBLE)
def test_raw_parts_are_equal_exactly_if_their_bytes_are(part: str) -> None:
    """Law 6: around a raw part space and order do not matter; inside it every byte does."""
    first = post(f'{{"a": 1, "odd": {part}, "messages": [{part}]}}')
    same = post(f'\n{{"messages" :[ {part}\t],\r\n"odd":   {part} ,"a":1.0}} ')
    assert first.digest == same.digest
    inner = part.replace(":", ": ", 1) if ":" in part else part.replace("1", "1.0", 1) if "1" in part else part + "0"
    for other in (
        f'{{"a": 1, "odd": {inner}, "messages": [{part}]}}',
        f'{{"a": 1, "odd": {part}, "messages": [{inner}]}}',
        f'{{"a": 1, "even": {part}, "messages": [{part}]}}',
        f'{{"a": 2, "odd": {part}, "messages": [{part}]}}',
        f'{{"a": 1, "odd": {part}, "input": [{part}]}}',
    ):
        assert post(other).digest != first.digest


@pytest.mark.parametrize(
    "body",
    [
        b'{"a": 1, "a": 2}',
        b'{"a": 1, "a": 1}',
        b'{"messages": [], "messages": []}',
        b'{"a": 1, "\\u0061": NaN}',
        b'{"\\ud800": 1}',
        b"\xff\xfe",
        b'{"a": "\xff"}',
        b"not json",
        b"a=1&b=2",
        b"\xef\xbb\xbf{}",
        b"{} {}",
        b"   ",
        b"NaN",
        b"[NaN]",
        b"12345678901234567890",
        b'"\\ud800"',
        '{"a": 1}'.encode("utf-16"),
    ],
)
def test_the_whole_body_is_raw_where_nothing_smaller_will_do(body: bytes) -> None:
    """Law 6: two fields of one name have no order to be told apart by; what is no JSON has no fields."""
    request = post(body)
    assert request.raw == ("body",)
    assert request.document()["body"] == {"raw": digest("raw", body)}
    assert request.document()["messages"] is None
    assert reading(request) == {digest("raw", body): body}
    assert post(body + b" ").digest != request.digest


@pytest.mark.parametrize(
    "part", [nested(100_000, "1"), "9" * 5000, "[" + "1" * 4301 + "]"], ids=["10^5 levels", "5,000 digits", "4,301"]
)
def test_parts_that_python_cannot_parse_are_the_smallest_raw_parts_too(part: str) -> None:
    """Law 6, H-07: too deep to parse, or more digits than `int()` takes.

    The bound on digits is a setting of the process (PYTHONINTMAXSTRDIGITS), so a digest must not depend on it.
    """
    field = post(f'{{"model": "m", "odd": {part}, "messages": [{{"role": "user"}}]}}')
    message = post(f'{{"model": "m", "messages": [{{"role": "user"}}, {part}]}}')
    assert (field.raw, message.raw) == (("odd",), ("messages/1",))


def test_a_request_has_one_digest_however_deep_its_caller_stands() -> None:
    """H-07: 500 levels are a raw field, whatever the free stack."""
    body = f'{{"model": "m", "odd": {nested(500, "1")}}}'
    assert near_the_recursion_limit(lambda: post(body), free=300).digest == post(body).digest
    within = f'{{"model": "m", "odd": {nested(150, "1")}}}'
    assert near_the_recursion_limit(lambda: post(within), free=60).digest == post(within).digest
    assert post(within).raw == ()


@pytest.mark.parametrize(
    "other",
    [
        '{"a": {"x": 1, "x": 2}, "b"; 3}',
        '{"a": {"x": 1, "x": 2}, "b" : 3} and more',
        '{"a": {"x": 1, "x": 2}, "b": 3]',
        '{"a": {"x": 1, "x": 2} "b": 3}',
        '{"a": {"x": 1, "x": 2}, "b": 3,}',
    ],
)
def test_what_is_no_json_is_raw_even_behind_a_duplicate_key(other: str) -> None:
    """Law: equal digests ⇔ equal requests. A parser that stops at the inner duplicate key sees nothing behind it."""
    good = post('{"a": {"x": 1, "x": 2}, "b": 3}')
    assert post(other).digest != good.digest
    assert post(other).raw == ("body",)


# ---- Back again


@given(conversations | bodies | st.lists(json_values(), max_size=3))
@settings(max_examples=120, deadline=None)
def test_the_view_inverts_the_request(body: Any) -> None:
    """`request_view` shows the body that was sent, its messages back in their place."""
    shown = view(post(json.dumps(body), query="q=1", headers=[("OpenAI-Beta", "x"), *TRANSPORT]))
    assert canonical(shown["body"]) == canonical(body)
    assert (shown["method"], shown["path"], shown["query"]) == ("POST", "/v1/chat/completions", "q=1")
    assert shown["headers"] == {"openai-beta": "x"}


def test_the_view_shows_raw_parts_as_digests() -> None:
    shown = view(post('{"a": 1, "odd": NaN, "messages": [{"role": "user"}, NaN]}'))
    raw = {"raw": digest("raw", b"NaN")}
    assert shown["body"] == {"a": 1, "odd": raw, "messages": [{"role": "user"}, raw]}
    assert view(post(b"\xff"))["body"] == {"raw": digest("raw", b"\xff")}
    assert view(post(b"null"))["body"] is None
    assert "body" not in view(post(b""))
    assert view(tool_request(name="t", arguments='{"a": [1]}')) == {"tool": "t", "arguments": {"a": [1]}}


@given(
    st.builds(lambda body: json.dumps(body).encode(), conversations | bodies | json_values())
    | st.binary(max_size=20)
    | st.sampled_from([f'{{"odd": {part}, "messages": [{part}, 1]}}'.encode() for part in INEXPRESSIBLE.values()])
)
@settings(max_examples=150, deadline=None)
def test_a_stored_request_is_the_request(body: bytes) -> None:
    """`stored_request` inverts storing: equal document, digest, messages and bytes behind them."""
    request = post(body)
    stored = stored_request(
        before=request.before,
        after=request.after,
        field=request.field,
        digests=[message.digest for message in request.messages],
        read=reading(request).__getitem__,
    )
    assert stored.digest == request.digest
    assert stored.document() == request.document()
    assert [item.digest for item in stored.messages] == [item.digest for item in request.messages]
    assert canonical([item.value for item in stored.messages]) == canonical([item.value for item in request.messages])
    assert {blob.digest: (blob.kind, blob.data) for blob in stored.blobs} == {
        blob.digest: (blob.kind, blob.data) for blob in request.blobs
    }
    assert all(digest(blob.kind, blob.data) == blob.digest for blob in request.blobs)


def test_a_stored_request_without_its_bytes_is_refused() -> None:
    request = post(json.dumps(BODY))
    with pytest.raises(KeyError):
        stored_request(
            before=request.before,
            after=request.after,
            field=request.field,
            digests=[message.digest for message in request.messages],
            read={}.__getitem__,
        )


# ---- Tool calls


@given(st.dictionaries(st.text(max_size=6), json_values(), max_size=4), st.integers(0, 2**32))
@settings(max_examples=120, deadline=None)
def test_arguments_are_the_value_of_their_text(arguments: dict[str, Any], seed: int) -> None:
    """R0-01: arguments as JSON text, in any spelling, and as a value that JSON gives back are one request."""
    assume(is_plain_json(arguments))
    text = spaced(arguments, random.Random(seed))
    request = tool_request(name="t", arguments=text)
    assert request.digest == tool_request(name="t", arguments=arguments).digest
    assert request.raw == ()
    assert canonical(view(request)["arguments"]) == canonical(arguments)
    assert tool_request(name="u", arguments=text).digest != request.digest
    assert tool_request(name="t", arguments={**arguments, "one more": 1}).digest != request.digest


@pytest.mark.parametrize(
    "text", ["", "{", '{"a": NaN}', '{"a": 1, "a": 2}', '{"a": 12345678901234567890}', '{"a": "\\ud800"}', "\ud800"]
)
def test_arguments_without_a_value_are_identified_by_their_bytes(text: str) -> None:
    """Law 6."""
    request = tool_request(name="t", arguments=text)
    data = text.encode("utf-8", "surrogatepass")
    assert request.raw == ("arguments",)
    assert request.document() == {"tool": "t", "arguments": {"raw": digest("raw", data)}}
    assert reading(request) == {digest("raw", data): data}
    assert tool_request(name="t", arguments=text + " ").digest != request.digest


def test_a_tool_call_is_hashed_as_the_page_says() -> None:
    """docs/design/identity.md, Requests: a value of the arguments is no marker."""
    text = b'anchored/request/v1\0{"arguments":{"json":{"a":1}},"tool":"t"}'
    assert tool_request(name="t", arguments={"a": 1}).digest == hashlib.sha256(text).hexdigest()
    marker = tool_request(name="t", arguments={"raw": digest("raw", b"{")})
    assert marker.digest != tool_request(name="t", arguments="{").digest


def test_a_tools_name_need_not_be_valid_text() -> None:
    """Law 6: text that is not valid Unicode stands as the digest of its bytes."""
    one, other = (tool_request(name=name, arguments={}) for name in ("\ud800", "\ud801"))
    assert one.digest != other.digest
    assert one.document()["tool"] == "anchored-raw:" + digest("raw", b"\xed\xa0\x80")


class _Unspeakable:
    def __repr__(self) -> str:
        raise RuntimeError("no words")


def test_arguments_that_are_no_json_values_never_fail() -> None:
    """Law 6: recording never changes what the program gets, whatever a tool is called with."""
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    for arguments in ({"x": deep}, {"x": _Unspeakable()}):
        assert tool_request(name="t", arguments=arguments).raw == ("arguments",)
