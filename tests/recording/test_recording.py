"""The recording around the log: its digest covers every part, its documents are strict, its closing must fit."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import msgspec
import pytest
from builders import Memory, closing_of, rebuilt, recorded, results_of, sealed
from builders import team as team_program

from anchored.canonical import canonical, digest, jcs_digest
from anchored.errors import DamagedError, UnsupportedError
from anchored.events import HttpResult, Outcome, http_request
from anchored.recording import (
    FORMAT,
    Closing,
    Final,
    Log,
    Opening,
    Recording,
    Replayed,
    Stop,
    Summary,
    check_closing,
    closing_from,
    opening_from,
    replayed_from,
    summarize,
    to_document,
)

STOP = Stop(reason="exit", status=0, detail="done")
FINAL = Final(text="the answer", source="adapter")


def summary_of(**change: Any) -> Summary:
    held: dict[str, Any] = {
        "log": Log([]),
        "task": "a task",
        "state": digest("tree", b""),
        "configuration": {"a": 1},
        "stop": STOP,
        "final": FINAL,
    }
    return summarize(**{**held, **change})


@pytest.mark.parametrize(
    "change",
    [
        {"task": "another"},
        {"task": ""},
        {"task": None},
        {"state": digest("tree", b"x")},
        {"state": "undeclared"},
        {"configuration": {"a": 2}},
        {"configuration": {}},
        {"configuration": {"a": 1, "b": None}},
        {"stop": None},
        {"stop": Stop(reason="exit", status=1, detail="done")},
        {"stop": Stop(reason="signal", status=0, detail="done")},
        {"stop": Stop(reason="exit", status=None, detail="done")},
        {"stop": Stop(reason="exit", status=0)},
        {"final": None},
        {"final": Final(text="", source="adapter")},
        {"final": Final(text="the answer", source="inferred")},
    ],
    ids=str,
)
def test_the_recording_digest_covers_every_document(change: dict[str, Any]) -> None:
    """R0-07, R0-26: task, state, configuration, stop reason and final answer."""
    assert summary_of(**change).recording != summary_of().recording


@pytest.mark.parametrize("change", [{"configuration": {"b": 2, "a": 1}}, {"configuration": {"a": 1, "b": 2}}], ids=str)
def test_the_order_of_a_configuration_does_not_matter(change: dict[str, Any]) -> None:
    """R0-01."""
    assert summary_of(**change).recording == summary_of(configuration={"a": 1, "b": 2.0}).recording


def test_the_recording_digest_is_that_of_the_page(team: Recording) -> None:
    """docs/design/identity.md, The log."""
    closing = team.closing
    assert closing is not None
    assert closing.final is not None
    held = {
        "task": jcs_digest("task", team.opening.task),
        "state": None,
        "configuration": jcs_digest("configuration", closing.configuration),
        "stop": jcs_digest("stop", {"reason": "exit", "status": 0, "detail": "done"}),
        "final": jcs_digest("final", {"text": closing.final.text, "source": "program"}),
        "size": len(team.log),
        "head": team.log.head,
    }
    assert team.digest == jcs_digest("recording", held) == closing.recording


def test_the_recording_digest_covers_every_entry(team: Recording) -> None:
    """R0-07: one request or one result, anywhere, hashed anew all the way up."""
    seen = {team.digest}
    for position, result in results_of(team).items():
        request = http_request(method="POST", path="/other", query="", headers=(), body=b"")
        seen.add(rebuilt(team, requests={position: request}).digest)
        seen.add(rebuilt(team, outcomes={position: Outcome.UNKNOWN}).digest)
        if isinstance(result, HttpResult):
            seen.add(rebuilt(team, results={position: replace(result, body=result.body + b" ")}).digest)
    assert len(seen) == 1 + 2 * len(team.log.events) + sum(
        isinstance(result, HttpResult) for result in results_of(team).values()
    )
    assert rebuilt(team).digest == team.digest


def test_observations_notes_and_ids_are_outside_the_digest(team: Recording) -> None:
    """Identity laws 3 and 5: times, lanes, notes and the run's id."""
    other = replace(
        team,
        records=[replace(record, observation={"time": "0"}) for record in team.records],
        notes=[],
        opening=msgspec.structs.replace(team.opening, run="another run"),
    )
    assert other.digest == team.digest
    assert recorded(team_program()).digest == team.digest


def test_an_open_recording_is_another_than_a_closed_one(team: Recording) -> None:
    """A killed run is `unsealed`: no stop, no final answer."""
    unsealed = replace(team, closing=None)
    assert unsealed.digest != team.digest
    assert unsealed.summary.stop is None
    assert unsealed.summary.final is None


@pytest.mark.parametrize("field", ["size", "head", "recording", "configuration", "stop", "final", "state"])
def test_a_closing_that_does_not_fit_is_refused(team: Recording, field: str) -> None:
    """R0-07: any field of the closing changed, and not hashed anew."""
    closing = closing_of(team, "the answer")
    check_closing(replace(team, closing=closing))
    other: dict[str, Any] = {
        "size": closing.size + 1,
        "head": digest("x", b""),
        "recording": digest("x", b""),
        "configuration": {},
        "stop": Stop(reason="timeout"),
        "final": None,
        "state": digest("tree", b""),
    }
    with pytest.raises(DamagedError):
        check_closing(replace(team, closing=msgspec.structs.replace(closing, **{field: other[field]})))


def test_a_task_that_was_changed_does_not_fit_the_closing(team: Recording) -> None:
    """R0-07: the task stands in the opening and is held by the closing's digest."""
    with pytest.raises(DamagedError):
        check_closing(replace(team, opening=msgspec.structs.replace(team.opening, task="another")))


@pytest.mark.parametrize("text", ["\ud800", "a\udfffb"])
def test_a_final_answer_need_not_be_valid_text(text: str) -> None:
    """Law 6: a model may say "\\ud800"; it is then the inferred answer, and the recording can be closed."""
    one = summary_of(final=Final(text=text, source="inferred"))
    assert one.recording != summary_of(final=Final(text="?", source="inferred")).recording


def test_a_task_and_a_stop_need_not_be_valid_text() -> None:
    """Law 6: an argument that is no UTF-8 comes with surrogates; so may a framework's own words."""
    assert summary_of(task="\udcff").recording != summary_of().recording
    stop = Stop(reason="exit", status=0, detail="\ud800")
    assert summary_of(stop=stop).recording != summary_of().recording


# ---- Documents

OPENING = Opening(
    format=FORMAT,
    run="r",
    mode="replay",
    task="t",
    configuration={"a": 1},
    replayed=Replayed(source="s", plan={"p": []}, attempt=2),
)
CLOSING = Closing(configuration={"a": [1]}, stop=STOP, final=FINAL, state="undeclared", size=3, head="h", recording="r")


def test_reading_inverts_writing() -> None:
    """`opening_from`, `closing_from` and `replayed_from` invert `to_document`, through canonical bytes."""
    for value, read in ((OPENING, opening_from), (CLOSING, closing_from), (OPENING.replayed, replayed_from)):
        assert value is not None
        document: Any = json.loads(canonical(to_document(value)))
        assert read(document) == value
    plain = msgspec.structs.replace(OPENING, mode="record", replayed=None, task=None)
    assert opening_from(to_document(plain)) == plain


def _places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    pairs = value.items() if isinstance(value, dict) else ()
    return [path for key, item in pairs for path in ((*at, key), *_places(item, (*at, key)))]


FREE = ("configuration", "plan")


@pytest.mark.parametrize("value", [OPENING, CLOSING], ids=["opening", "closing"])
def test_documents_with_other_fields_are_refused(value: Any) -> None:
    """H-06, H-09: unknown, missing and wrong kinds of field, at every depth; a boolean is no number."""
    read: Any = opening_from if value is OPENING else closing_from
    optional = {("task",), ("replayed",), ("final",), ("stop", "status"), ("stop", "detail")}
    for path in _places(to_document(value)):
        if any(part in FREE for part in path[:-1]):
            continue
        for edit in ("unknown", "missing", "list", "true", "object", "null"):
            document: Any = json.loads(json.dumps(to_document(value)))
            at = document
            for key in path[:-1]:
                at = at[key]
            if edit == "unknown":
                at["unknown"] = 1
            elif edit == "missing":
                del at[path[-1]]
            else:
                at[path[-1]] = {"list": ["x"], "true": True, "object": {"x": 1}, "null": None}[edit]
            if (edit in ("missing", "null") and path in optional and path != ("replayed",)) or (
                edit == "object" and path[-1] in FREE
            ):
                continue
            if edit == "missing" and path == ("task",):
                continue
            with pytest.raises(DamagedError):
                read(document)


@pytest.mark.parametrize("version", [0, -1, "1", None, True, [1]])
def test_an_older_or_broken_version_is_damage(version: Any) -> None:
    """Style 4: a version is read, never guessed at."""
    with pytest.raises(DamagedError) as caught:
        opening_from({**to_document(OPENING), "format": version})
    assert not isinstance(caught.value, UnsupportedError)


@pytest.mark.parametrize("version", [FORMAT + 1, 99])
def test_a_newer_version_is_refused_as_such(version: int) -> None:
    """Style 4: before its fields are looked at."""
    with pytest.raises(UnsupportedError) as caught:
        opening_from({"format": version, "of": "the future"})
    assert "newer" in caught.value.next_step


@pytest.mark.parametrize("change", [{"mode": "record"}, {"replayed": None}, {"mode": "rerun"}])
def test_only_a_replay_says_what_it_replays(change: dict[str, Any]) -> None:
    with pytest.raises(DamagedError):
        opening_from({**to_document(OPENING), **change})


def test_an_opening_without_a_task_field_is_damaged() -> None:
    """H-09: a field that is missing is not a field that is null."""
    document = to_document(OPENING)
    del document["task"]
    with pytest.raises(DamagedError):
        opening_from(document)


# ---- Reading


def test_requests_and_results_can_be_read(team: Recording) -> None:
    first = team.log.events[0]
    shown: Any = team.request(first.begin)
    assert shown["path"] == "/v1/chat/completions"
    assert shown["body"]["messages"][1]["content"] == team.opening.task
    assert isinstance(team.result(first), HttpResult)
    assert team.observation(0)["origin"] == "http://127.0.0.1:8080"
    raw = next(event for event in team.log.events if team.observation(event.position).get("raw"))
    body: Any = team.request(raw.begin)["body"]
    assert body["seed"] == {"raw": digest("raw", b"12345678901234567890")}
    assert body["messages"][1] == {"raw": digest("raw", b'{"role": "user", "score": NaN}')}


def test_an_event_without_a_kept_result_has_none(team: Recording) -> None:
    memory = Memory()
    first = team.log.events[0]
    assert first.end is not None
    memory.append(team.records[0], request=None, blobs=(), durable=False)
    memory.append(
        replace(team.records[1], entry=replace(first.end, result=None)), request=None, blobs=(), durable=False
    )
    recording = sealed(memory, team.opening, None)
    assert recording.result(recording.log.events[0]) is None
    memory.records.pop()
    pending = sealed(memory, team.opening, None)
    assert pending.result(pending.log.events[0]) is None
