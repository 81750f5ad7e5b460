"""The program gets the same bytes recorded, replayed and unrecorded, whatever they are."""

import json
import sys
from pathlib import Path

import pytest

from anchored.testing import running_endpoint

from .conftest import Done, Stand

ODD = {
    "big-integer": b'{"id": 9223372036854775807, "choices": []}',
    "not-a-number": b'{"score": NaN, "low": -Infinity, "huge": 1e400}',
    "lone-surrogate": b'{"text": "\\ud800 alone"}',
    "duplicate-keys": b'{"a": 1, "a": 2}',
    "no-json": b"\xff\xfe\x00 not even text",
    "empty": b"",
    "spaces": b' {"a" :1 ,\n"b": [ ] } ',
}

SCRIPT = """
from anchored.testing import Reply, Rule, Script
ODD = {odd!r}
script = Script(rules=[
    Rule(name=name, when=lambda request, name=name: request.last.text == name, replies=Reply.raw(body))
    for name, body in ODD.items()
] + [
    Rule(name="error", when=lambda request: request.last.text == "error", replies=Reply.status(429, retry_after=1)),
    Rule(name="rest", when=lambda request: True, replies=Reply.text("fine")),
])
"""

PROGRAM = """
import os, sys
import httpx

with httpx.Client() as client:
    for name in {names!r}:
        body = '{{"model": "scripted-1", "seed": 12345678901234567890, "x": NaN,' \
            ' "messages": [{{"role": "user", "content": "%s"}}, {{"odd": "\\\\udfff"}}, {{"role": "user", "content": "%s"}}]}}' % (name, name)
        answer = client.post(
            os.environ["OPENAI_BASE_URL"] + "/chat/completions", content=body, headers={{"content-type": "application/json"}}
        )
        kept = ("content-type", "x-request-id", "retry-after", "x-should-retry")
        print(name, answer.status_code, [(key, answer.headers.get(key)) for key in kept], answer.content)
"""  # noqa: E501


@pytest.fixture(scope="module")
def odd_stand(tmp_path_factory: pytest.TempPathFactory) -> Stand:
    folder = tmp_path_factory.mktemp("odd")
    (folder / "script.py").write_text(SCRIPT.format(odd=ODD))
    (folder / "program.py").write_text(PROGRAM.format(names=[*ODD, "error", "plain"]))
    return Stand(folder=folder, endpoint=None)  # type: ignore[arg-type]


def test_same_bytes_recorded_replayed_and_unrecorded(odd_stand: Stand) -> None:
    """Law 6: a 64-bit id, a NaN, a lone surrogate and what is no JSON at all, in requests and in responses."""
    outputs: dict[str, Done] = {}
    for way in ("unrecorded", "recorded"):
        log = odd_stand.folder / f"{way}.jsonl"
        with running_endpoint(odd_stand.folder / "script.py", seed=3, log=log) as endpoint:
            odd_stand.endpoint = endpoint
            if way == "unrecorded":
                outputs[way] = odd_stand.run(sys.executable, "program.py")
            else:
                outputs[way] = odd_stand.record("odd", "program.py")
            assert outputs[way].status == 0, outputs[way].err
            assert len(endpoint.calls()) == len(ODD) + 2
    assert outputs["recorded"].out == outputs["unrecorded"].out
    done = odd_stand.anchored("replay", "odd", "--show-output")
    assert done.status == 0, done.err
    assert done.out == outputs["unrecorded"].out
    for name, body in ODD.items():
        assert repr(body) in done.out, name


def test_what_is_raw_is_marked(odd_stand: Stand) -> None:
    """Identity 6: the smallest field or message that RFC 8785 cannot express is raw, the rest is not."""
    done = odd_stand.anchored("show", "odd", "--event", "0", "--json")
    request = done.json["request"]
    assert set(request["body"]["seed"]) == {"raw"}
    assert set(request["body"]["x"]) == {"raw"}
    assert request["body"]["model"] == "scripted-1"
    assert [set(message) == {"raw"} for message in request["body"]["messages"]] == [False, True, False]
    assert json.loads(done.out)["begin"]["kind"] == "chat"


def test_changed_raw_field_diverges(odd_stand: Stand) -> None:
    """Even where no canonical form exists, a change is a divergence at its field."""
    program = (odd_stand.folder / "program.py").read_text()
    (odd_stand.folder / "other.py").write_text(program.replace("12345678901234567890", "12345678901234567891"))
    done, attempt = odd_stand.replay("odd", "--", sys.executable, "other.py")
    assert done.status == 3, done.err
    assert attempt["divergence"]["position"] == 0
    assert attempt["divergence"]["path"] == "/body/seed/raw"


def test_recorded_errors_are_served_as_they_were(tmp_path: Path) -> None:
    """A refused connection and a 500 are outcomes; a replay raises and returns the same."""
    (tmp_path / "script.py").write_text(SCRIPT.format(odd={}))
    (tmp_path / "program.py").write_text(ERRORS)
    with running_endpoint(tmp_path / "script.py", log=tmp_path / "log.jsonl") as endpoint:
        stand = Stand(folder=tmp_path, endpoint=endpoint)
        recorded = stand.record("errors", "program.py")
        assert recorded.status == 3, recorded.err
    events = stand.show("errors")["events"]
    assert [event["outcome"] for event in events] == ["failure", "failure", "success"]
    done = stand.anchored("replay", "errors", "--show-output")
    assert done.status == 0, done.err
    assert done.out == recorded.out
    assert "ConnectError" in done.out


ERRORS = """
import os
import httpx

body = {"model": "scripted-1", "messages": [{"role": "user", "content": "error"}]}
with httpx.Client() as client:
    try:
        client.post("http://127.0.0.1:1/v1/chat/completions", json=body)
    except httpx.HTTPError as error:
        print(type(error).__name__, error)
    url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
    print(client.post(url, json=body).status_code)
    body["messages"][0]["content"] = "anything"
    print(client.post(url, json=body).json()["choices"][0]["message"]["content"])
raise SystemExit(3)
"""
