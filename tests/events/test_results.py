"""Results: the exact bytes that the program was handed, and what identifies them."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anchored.canonical import Digest, canonical, digest
from anchored.errors import DamagedError
from anchored.events import (
    SERVED_HEADERS,
    Blob,
    Failure,
    HttpResult,
    Raised,
    Result,
    ToolValue,
    encode_value,
    result_blob,
    result_from_blobs,
    served_headers,
)

failures = st.builds(
    Failure,
    error_class=st.sampled_from(["builtins.ValueError", "httpx.ConnectError", "a.b.C"]),
    message=st.text(max_size=10),
    arguments=st.none() | st.binary(max_size=10),
)
results = (
    st.builds(ToolValue, value=st.binary(max_size=20))
    | st.builds(Raised, error=failures)
    | st.builds(
        HttpResult,
        status=st.integers(100, 599),
        headers=st.lists(st.tuples(st.sampled_from(SERVED_HEADERS), st.text(max_size=8)), max_size=4).map(tuple),
        body=st.binary(max_size=20),
        closed=st.booleans(),
        error=st.none() | failures,
    )
)


def reading(result: Result) -> dict[Digest, bytes]:
    blobs: tuple[Blob, ...] = (result_blob(result), *result.contents())
    assert all(digest(blob.kind, blob.data) == blob.digest for blob in blobs)
    return {blob.digest: blob.data for blob in blobs}


@given(results)
@settings(max_examples=300, deadline=None)
def test_reading_inverts_writing(result: Result) -> None:
    """`result_from_blobs` inverts `result_blob` with `contents`."""
    assert result_from_blobs(result_blob(result).digest, reading(result).__getitem__) == result


@given(results, results)
@settings(max_examples=300, deadline=None)
def test_digests_are_equal_exactly_if_what_was_handed_is(one: Result, other: Result) -> None:
    """Law: equal result digests ⇔ equal handed bytes."""
    assert (result_blob(one).digest == result_blob(other).digest) == (one == other)


def test_every_part_of_a_result_matters() -> None:
    """R0-07, for one result; the headers' order is part of what was handed."""
    failure = Failure(error_class="a.B", message="m", arguments=b"x")
    first = HttpResult(status=200, headers=(("content-type", "a"), ("retry-after", "1")), body=b"b", error=failure)
    held: list[Result] = [
        first,
        replace(first, status=201),
        replace(first, headers=first.headers[:1]),
        replace(first, headers=first.headers[::-1]),
        replace(first, headers=(*first.headers, first.headers[0])),
        replace(first, headers=(("content-type", "a "), first.headers[1])),
        replace(first, body=b"c"),
        replace(first, body=b""),
        replace(first, closed=True),
        replace(first, error=None),
        *(
            replace(first, error=replace(failure, **change))
            for change in ({"error_class": "a.C"}, {"message": ""}, {"arguments": None}, {"arguments": b""})
        ),
        Raised(error=failure),
        Raised(error=replace(failure, arguments=None)),
        ToolValue(value=b"b"),
        ToolValue(value=b"c"),
    ]
    assert len({result_blob(result).digest for result in held}) == len(held)


def test_a_result_is_hashed_as_the_page_says() -> None:
    """docs/design/identity.md, Results, written out by other code."""

    def h(kind: str, data: bytes) -> str:
        return hashlib.sha256(f"anchored/{kind}/v1".encode() + b"\0" + data).hexdigest()

    def jcs(value: Any) -> bytes:
        return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()

    error = {"class": "a.B", "message": "m", "arguments": h("body", b"x")}
    failure = Failure(error_class="a.B", message="m", arguments=b"x")
    document = {"status": 200, "headers": [["content-type", "a"]], "body": h("body", b"b"), "closed": False}
    http = HttpResult(status=200, headers=(("content-type", "a"),), body=b"b")
    assert result_blob(http).digest == h("result", jcs(document))
    assert result_blob(replace(http, error=failure)).digest == h("result", jcs({**document, "error": error}))
    assert result_blob(Raised(error=failure)).digest == h("result", jcs({"error": error}))
    assert result_blob(ToolValue(value=b"v")).digest == h("result", jcs({"value": h("body", b"v")}))


def test_the_served_headers_are_the_listed_ones_in_the_order_received() -> None:
    """What is outside identity does not reach the program at replay."""
    received = [
        ("Date", "now"),
        ("X-Request-Id", "2"),
        ("Content-Type", "text/plain"),
        ("Content-Encoding", "gzip"),
        ("content-type", "text/html"),
        ("Retry-After-Ms", "5"),
        ("Set-Cookie", "a=b"),
        ("X-Should-Retry", "true"),
        ("Location", "/"),
        ("Request-Id", "1"),
        ("Retry-After", "1"),
        ("Content-Length", "3"),
        ("Transfer-Encoding", "chunked"),
    ]
    assert served_headers(received) == (
        ("x-request-id", "2"),
        ("content-type", "text/plain"),
        ("content-type", "text/html"),
        ("retry-after-ms", "5"),
        ("x-should-retry", "true"),
        ("location", "/"),
        ("request-id", "1"),
        ("retry-after", "1"),
    )
    assert set(SERVED_HEADERS) == {
        "content-type",
        "retry-after",
        "retry-after-ms",
        "x-should-retry",
        "location",
        "x-request-id",
        "request-id",
    }


def test_an_error_text_need_not_be_valid() -> None:
    """Law 6: it stands as the digest of its bytes, and two such texts are told apart."""
    held = [
        Raised(error=Failure(error_class="a.B", message=text, arguments=None)) for text in ("\ud800", "\ud801", "?")
    ]
    digests = [result_blob(result).digest for result in held]
    assert len(set(digests)) == len(held)
    back = result_from_blobs(digests[0], reading(held[0]).__getitem__)
    assert isinstance(back, Raised)
    assert back.error.message == "anchored-raw:" + digest("raw", b"\xed\xa0\x80")
    assert result_blob(back).digest == digests[0]


BODY = digest("body", b"b")
GOOD: dict[str, Any] = {"status": 200, "headers": [["content-type", "a"]], "body": BODY, "closed": False}
ERROR: dict[str, Any] = {"class": "a.B", "message": "m", "arguments": BODY}


def back(document: Any) -> Result:
    data = canonical(document)
    blobs = {digest("result", data): data, BODY: b"b"}
    return result_from_blobs(digest("result", data), blobs.__getitem__)


def test_the_good_documents_are_read() -> None:
    for document in (GOOD, {**GOOD, "error": ERROR}, {"error": ERROR}, {"value": BODY}):
        assert result_blob(back(document)).digest == digest("result", canonical(document))


@pytest.mark.parametrize(
    "document",
    [
        {},
        [],
        {"status": 200},
        {key: value for key, value in GOOD.items() if key != "closed"},
        {key: value for key, value in GOOD.items() if key != "headers"},
        {**GOOD, "body": digest("body", b"not there")},
        {**GOOD, "status": None},
        {**GOOD, "headers": [["content-type"]]},
        {**GOOD, "headers": 5},
        {**GOOD, "error": "text"},
        {**GOOD, "error": {"class": "a.B"}},
        {"value": "nothing"},
        {"value": None},
        {"error": None},
    ],
)
def test_a_damaged_result_is_refused(document: Any) -> None:
    with pytest.raises(DamagedError):
        back(document)


@pytest.mark.parametrize(
    "document",
    [
        {**GOOD, "unknown": 1},
        {"value": BODY, "status": 200},
        {"error": ERROR, "closed": False},
        {"error": {**ERROR, "unknown": 1}},
        {**GOOD, "status": "200"},
        {**GOOD, "status": True},
        {**GOOD, "closed": 1},
        {**GOOD, "closed": "true"},
        {**GOOD, "headers": ["ab"]},
        {**GOOD, "headers": [["content-type", 1]]},
        {**GOOD, "error": None},
        {"error": {**ERROR, "message": 5}},
        {"error": {**ERROR, "class": None}},
    ],
)
def test_a_result_with_other_fields_is_refused(document: Any) -> None:
    """H-09: read, such a document would become a result with another digest, at which every replay diverges."""
    with pytest.raises(DamagedError):
        back(document)


def test_values_of_tools_are_results() -> None:
    value = ToolValue(value=encode_value(("a", 1)))
    assert result_from_blobs(result_blob(value).digest, reading(value).__getitem__) == value
