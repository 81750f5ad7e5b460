"""What changes the request at the anchor (issue, EditRequest, SwapModel, Call): bytes, documents, anchors, refusals."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from builders import RUN, json_values, recorded, spaced, team
from hypothesis import given, settings
from hypothesis import strategies as st

from anchored.canonical import canonical, digest, parse_own
from anchored.errors import AnchorError, DamagedError, RefusedError
from anchored.replaying import (
    Asked,
    Call,
    EditRequest,
    Guide,
    Intervene,
    Intervention,
    PatchError,
    Session,
    SwapModel,
    Unchanged,
    intervention_from,
    resolve_anchor,
)

COLDER = '[{"op": "replace", "path": "/temperature", "value": 0.10}]'
SOURCE = digest("call-source", b"def change(request): ...")
CHANGES: list[Intervention] = [
    EditRequest(patch=COLDER),
    SwapModel(model="other-2"),
    Call(target="changes:shorten", source=SOURCE),
]
PATHS = [
    "/v1/chat/completions",
    "/v1/responses",
    "/v1/messages",
    "/v1/completions",
    "/v1/embeddings",
    "/v1beta/models/g:generateContent",
    "/lookup",
]


@pytest.mark.parametrize("path", PATHS)
def test_an_edit_works_in_every_format_and_keeps_all_other_bytes(path: str) -> None:
    """Elsewhere than guidance, which knows formats, an edit knows JSON alone."""
    body = b'{ "seed": 12345678901234567890,"temperature" : 1.50, "s": "\\u00e9", "messages":[ ] }\n'
    sent = EditRequest(patch=COLDER).apply(method="POST", path=path, body=body)
    assert sent == body.replace(b"1.50", b"0.10")


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b'{"model": "m"}', "operation 1, replace /temperature: there is nothing at /temperature"),
        (b'{"temperature": 1, "temperature": 2}', "holds 'temperature' twice"),
        (b"", "no JSON"),
        (b"temperature=1", "no JSON"),
        (b"\xff", "utf-8"),
        (b'\xef\xbb\xbf{"temperature": 1}', "no JSON"),
    ],
)
def test_a_request_that_an_edit_does_not_fit_is_refused(body: bytes, says: str) -> None:
    """The problem alone says why: it is what a poisoned replay is told by."""
    with pytest.raises(RefusedError) as caught:
        EditRequest(patch=COLDER).apply(method="POST", path="/v1/chat/completions", body=body)
    assert says in caught.value.problem
    assert "\n" not in caught.value.problem


@pytest.mark.parametrize("patch", ["", "{}", "[]", " [ ] ", "[1]", '[{"op": "spam", "path": ""}]'])
def test_what_is_no_patch_is_no_edit(patch: str) -> None:
    """An empty patch changes nothing: that is the control, under another name."""
    with pytest.raises(PatchError):
        EditRequest(patch=patch)


@given(
    st.dictionaries(st.text(max_size=5).filter(lambda key: key != "model"), json_values(leaves=4), max_size=3),
    st.text(max_size=8),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    st.integers(0, 2**32),
)
@settings(max_examples=200, deadline=None)
def test_another_model_and_not_another_byte(body: dict[str, Any], old: str, new: str, seed: int) -> None:
    """Property, over odd white space, key orders and escapes."""
    data = spaced({**body, "model": old}, random.Random(seed)).encode()
    sent = SwapModel(model=new).apply(method="POST", path="/v1/chat/completions", body=data)
    name = json.dumps(new, ensure_ascii=False).encode()
    assert json.loads(sent) == {**json.loads(data), "model": new}
    assert any(
        sent.startswith(data[:place] + name) and data.endswith(sent[place + len(name) :]) for place in range(len(data))
    )


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{}",
        b"[]",
        b'["model"]',
        b'{"model": 1}',
        b'{"model": null}',
        b'{"model": {"name": "m"}}',
        b'{"a": {"model": "m"}}',
        b'{"model": "m", "model": "n"}',
        b'{"model": "m"',
        b"model=m",
        b"\xff",
    ],
)
def test_a_body_that_names_no_model_is_refused(body: bytes) -> None:
    with pytest.raises(RefusedError, match="names none"):
        SwapModel(model="other").apply(method="POST", path="/v1/chat/completions", body=body)


# ---- Documents


@pytest.mark.parametrize("change", CHANGES)
def test_changes_are_read_back_and_damaged_ones_refused(change: Intervention) -> None:
    """`intervention_from` inverts `document`, through canonical bytes; H-09: every field counts."""
    document = parse_own(canonical(change.document()), what="an intervention")
    assert intervention_from(document) == change
    for name in document:
        with pytest.raises(DamagedError):
            intervention_from({key: value for key, value in document.items() if key != name})
        for other in (["x"], None, 1, {}):
            with pytest.raises(DamagedError):
                intervention_from({**document, name: other})
    with pytest.raises(DamagedError):
        intervention_from({**document, "more": 1})


@pytest.mark.parametrize(
    "document",
    [
        {"kind": "edit_request", "patch": "[]"},
        {"kind": "edit_request", "patch": '[{"op": "spam", "path": ""}]'},
        {"kind": "edit_request", "patch": [{"op": "remove", "path": "/a"}]},
        {"kind": "call", "target": "os", "source": SOURCE, "opaque": True},
        {"kind": "call", "target": "os:", "source": SOURCE, "opaque": True},
        {"kind": "call", "target": "../os:system", "source": SOURCE, "opaque": True},
        {"kind": "call", "target": "__main__:main", "source": SOURCE, "opaque": True},
        {"kind": "call", "target": "os:system", "source": SOURCE.upper(), "opaque": True},
        {"kind": "call", "target": "os:system", "source": SOURCE, "opaque": False},
    ],
    ids=str,
)
def test_hostile_documents_are_damaged(document: dict[str, Any]) -> None:
    """H-09; and a call that hides that it is opaque is none."""
    with pytest.raises(DamagedError):
        intervention_from(document)


def test_every_change_has_its_digest() -> None:
    """R0-26, H-02: the receipt tells which, the source of a function included."""
    held = [
        *CHANGES,
        Unchanged(),
        Guide(text="other-2"),
        EditRequest(patch=COLDER + " "),
        SwapModel(model="other-3"),
        Call(target="changes:other", source=SOURCE),
        Call(target="changes:shorten", source=digest("call-source", b"")),
    ]
    assert len({intervention.digest for intervention in held}) == len(held)


# ---- Anchors and the session

TEAM = recorded(team())


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_on_a_tool_call_goes_to_the_call_that_issued_it(change: Intervention) -> None:
    """Design, Interventions: by a recorded edge only, never guessed; on a model call it stays."""
    assert resolve_anchor(TEAM.log, RUN, 2, change).position == 0
    assert resolve_anchor(TEAM.log, RUN, 6, change).position == 6
    tools = [
        event.position for event in TEAM.log.events if event.begin.kind == "execute_tool" and not event.begin.edges
    ]
    assert tools
    for position in tools:
        with pytest.raises(AnchorError) as caught:
            resolve_anchor(TEAM.log, RUN, position, change)
        assert "recorded edge" in caught.value.expected


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_stays_at_http_that_is_no_model_call(change: Intervention) -> None:
    """It has a body too; guidance has no place in it."""
    places = [
        event.position
        for event in TEAM.log.events
        if event.begin.kind == "http" and event.begin.parent is None and TEAM.log.quiescent(event.position)
    ]
    assert places
    for position in places:
        assert resolve_anchor(TEAM.log, RUN, position, change).position == position
        with pytest.raises(AnchorError):
            resolve_anchor(TEAM.log, RUN, position, Guide(text="x"))


def test_a_client_that_repeats_its_request_has_it_changed_until_it_succeeds() -> None:
    """Design, Interventions: it applies to every send of the anchor's request until one succeeds."""
    event = TEAM.log.events[0]
    begin = event.begin
    change = SwapModel(model="other")
    session = Session(TEAM, anchor=0, intervention=change)
    again = Asked(
        kind=begin.kind,
        actor=begin.actor,
        name=begin.name,
        parent=None,
        call_id=None,
        request=TEAM.contents.request(begin.request),
    )
    assert [session.ask(again) for _ in range(3)] == [Intervene(intervention=change)] * 3
