"""Receipts: what they bind, that they verify, and that no altered one does (R0-07 to R0-13, R0-26, H-02, H-04)."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from builders import (
    Driven,
    Memory,
    Program,
    World,
    chat,
    pair,
    plan_of,
    rebuilt,
    recorded,
    replayed,
    results_of,
    sealed,
    team,
    user,
)

from anchored.canonical import canonical, digest, jcs_digest, parse_own
from anchored.errors import DamagedError, RefusedError, UnsupportedError
from anchored.events import HttpResult
from anchored.library import leaves
from anchored.receipts import PREDICATE_TYPE, Counts, build_receipt, verify_receipt
from anchored.recording import Note, Recording, Replayed, event_id, prefix_digest
from anchored.replaying import Call, Guide, ReplaceResult, ReplayPlan, SwapModel, changed_since

TOOL = Path(__file__).parents[2] / "tools" / "verify_receipt.py"
ANCHOR = 18
UNOBSERVED = ["b.example.com:443", "a.example.com:443"]
SOURCE = recorded(team())
MAPPED = (("https://api.example.com", "https://proxy.example.com"),)


@dataclass(frozen=True, kw_only=True)
class Case:
    """A replay and its receipt."""

    plan: ReplayPlan
    replay: Recording
    receipt: bytes

    @property
    def statement(self) -> Any:
        return json.loads(self.receipt)


def counts_of(replay: Recording, plan: ReplayPlan) -> Counts:
    """How the events of a replay of the team were answered, by their names."""
    size = len(SOURCE.log) if plan.anchor is None else plan.anchor.position
    before = [event.begin.name for event in replay.log.events if event.position < size]
    covered, inside = before.count("GET /search"), before.count("panel")
    return Counts(
        served=len(before) - covered - inside,
        live=len(replay.log.events) - len(before),
        replaced=0,
        carried=0,
        covered=covered,
        containers=inside,
        substituted=0,
    )


def told(replay: Recording, plan: ReplayPlan, attempt: int = 1) -> Recording:
    """The replay with an opening and notes as an attempt at this plan leaves them."""
    opening = msgspec.structs.replace(
        replay.opening,
        run=plan.run_id(attempt),
        replayed=Replayed(source=plan.source, plan=dict(plan.document()), attempt=attempt),
    )
    notes = [Note(kind="unobserved", document={"address": address, "process": 1}) for address in UNOBSERVED]
    for origin in ("https://t.example.com:443", "http://127.0.0.1:80", "http://127.0.0.1:81"):
        beat: dict[str, Any] = {"method": "POST", "origin": origin, "path": "/beat", "status": 200}
        notes.append(Note(kind="background", document=beat))
    return replace(replay, opening=opening, notes=notes)


def case(driven: Driven, plan: ReplayPlan) -> Case:
    replay = told(driven.recording, plan)
    return Case(plan=plan, replay=replay, receipt=build_receipt(SOURCE, replay))


def _cases() -> dict[str, Case]:
    guide = Guide(text="Mind the weather.")
    anchored = plan_of(SOURCE, anchor=ANCHOR)
    guided = plan_of(
        SOURCE,
        anchor=ANCHOR,
        intervention=guide,
        effects_allowed=True,
        declarations=(("save", "none"),),
        unobserved=("a.example.com",),
        origins=MAPPED,
    )
    same = replayed(SOURCE, team(), anchor=ANCHOR)
    memory = same.recording.contents
    assert isinstance(memory, Memory)
    empty = sealed(replace(memory, records=memory.records[:ANCHOR]), same.recording.opening, None)
    return {
        "full": case(replayed(SOURCE, team()), plan_of(SOURCE)),
        "new": case(replayed(SOURCE, team(), anchor=ANCHOR, intervention=guide, world=World(5)), guided),
        "control": case(replayed(SOURCE, team(), anchor=ANCHOR, world=World(6)), anchored),
        "verbatim": case(same, anchored),
        "none": case(replace(same, recording=empty), anchored),
        "from the start": case(replayed(SOURCE, team(), anchor=0, world=World(5)), plan_of(SOURCE, anchor=0)),
    }


CASES = _cases()
KINDS = list(CASES)


@pytest.fixture(params=KINDS)
def held(request: pytest.FixtureRequest) -> Case:
    return CASES[request.param]


def check(receipt: bytes, replay: Recording, source: Recording = SOURCE) -> str:
    return verify_receipt(receipt, source=source, replay=replay).level


def own_digest(statement: Any) -> str:
    predicate = {key: value for key, value in statement["predicate"].items() if key != "digest"}
    return jcs_digest("receipt", {**statement, "predicate": predicate})


def rehashed(statement: Any) -> bytes:
    """The statement with its own digest computed anew."""
    statement["predicate"]["digest"] = own_digest(statement)
    return canonical(statement)


# ---- What a receipt is


def test_receipts_verify_at_both_levels(held: Case) -> None:
    alone = verify_receipt(held.receipt)
    assert alone.level == "self-consistent"
    both = verify_receipt(held.receipt, source=SOURCE, replay=held.replay)
    assert both.level == "matches the recordings"
    assert both.predicate == held.statement["predicate"]
    assert both.steps[: len(alone.steps)] == alone.steps


def test_a_receipt_is_checked_against_both_recordings_or_alone(held: Case) -> None:
    """One recording is not enough to match both."""
    assert verify_receipt(held.receipt, source=SOURCE).level == "self-consistent"
    assert verify_receipt(held.receipt, replay=held.replay).level == "self-consistent"


def test_the_independent_verifier_agrees(held: Case, tmp_path: Path) -> None:
    """Law: it shares no code with us, and reads the page alone."""
    names = {"receipt": held.receipt, "source": leaves(SOURCE), "replay": leaves(held.replay)}
    for name, data in names.items():
        (tmp_path / name).write_bytes(data)
    for arguments in ((), ("--source", str(tmp_path / "source"), "--replay", str(tmp_path / "replay"))):
        done = subprocess.run(
            [sys.executable, str(TOOL), str(tmp_path / "receipt"), *arguments],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("name", "mode", "regenerated", "suffix"),
    [
        ("full", "full", "none", 0),
        ("new", "anchored", "new", 28),
        ("control", "anchored", "new", 28),
        ("verbatim", "anchored", "verbatim", 28),
        ("none", "anchored", "none", 0),
        ("from the start", "anchored", "new", 46),
    ],
)
def test_what_was_regenerated_is_told(name: str, mode: str, regenerated: str, suffix: int) -> None:
    """H-04: a verbatim or empty suffix is flagged, so that nobody takes it for a repair."""
    predicate = CASES[name].statement["predicate"]
    assert (predicate["mode"], predicate["regenerated"]) == (mode, regenerated)
    assert predicate["suffix"]["entries"] == suffix
    assert (predicate["suffix"] == predicate["source_suffix"]) == (name in ("full", "verbatim"))


def test_a_receipt_binds_what_it_must(held: Case) -> None:
    """R0-09, R0-26, H-02: prefix, anchor, suffixes, combined digest; plan, intervention, configurations; itself."""
    statement, plan = held.statement, held.plan
    predicate: Any = statement["predicate"]
    size = len(SOURCE.log) if plan.anchor is None else plan.anchor.position
    assert statement["predicateType"] == PREDICATE_TYPE
    assert statement["subject"] == [{"name": "replay", "digest": {"anchoredRecordingV1": held.replay.digest}}]
    assert predicate["combined"] == held.replay.digest
    assert predicate["source"] == {"recording": SOURCE.digest, "size": 46, "head": SOURCE.log.head}
    assert predicate["prefix"]["digest"] == prefix_digest(SOURCE.log, size) == prefix_digest(held.replay.log, size)
    assert predicate["prefix"]["size"] == size
    assert predicate["plan"] == {"digest": plan.digest, "attempt": 1}
    assert predicate["intervention"]["digest"] == plan.intervention.digest
    assert predicate["digest"] == own_digest(statement)
    if plan.anchor is not None:
        assert predicate["anchor"]["digest"] == plan.anchor.digest
        assert predicate["anchor"]["event"] == event_id(SOURCE.opening.run, size)
        assert predicate["anchor"]["entry"] == SOURCE.log.entries[size].digest
    anchor = plan.anchor.digest if plan.anchor else None
    for key, recording in (("suffix", held.replay), ("source_suffix", SOURCE)):
        entries = [entry.digest for entry in recording.log.entries[size:]]
        document = {"prefix": predicate["prefix"]["digest"], "anchor": anchor, "entries": entries}
        assert predicate[key] == {"digest": jcs_digest("suffix", document), "entries": len(entries)}


def test_a_receipt_is_deterministic(held: Case) -> None:
    """R0-09, R0-24: the same recordings, the same bytes; a second attempt with the same log differs by its number."""
    assert build_receipt(SOURCE, held.replay) == held.receipt
    notes = [*held.replay.notes, *reversed(held.replay.notes)]
    assert build_receipt(SOURCE, replace(held.replay, notes=notes)) == held.receipt
    again = json.loads(build_receipt(SOURCE, told(held.replay, held.plan, 2)))
    first = held.statement
    assert again["predicate"]["plan"]["attempt"] == 2
    for statement in (again, first):
        del statement["predicate"]["plan"], statement["predicate"]["digest"]
    assert again == first


def test_a_receipt_holds_no_content_and_no_times(held: Case) -> None:
    """Design, Receipts: strings, integers and booleans only."""
    text = held.receipt.decode()
    for word in ("Lisbon", "planner", "weather", "search", "http://127", "1700000"):
        assert word not in text
    assert canonical(parse_own(held.receipt, what="a receipt")) == held.receipt

    def scalars(value: Any) -> Iterator[Any]:
        if isinstance(value, dict):
            for item in value.values():
                yield from scalars(item)
        elif isinstance(value, list):
            for item in value:
                yield from scalars(item)
        else:
            yield value

    assert {type(value) for value in scalars(held.statement)} <= {str, int, bool, type(None)}


def test_what_was_declared_is_told() -> None:
    """Design, Receipts: normalisations, effects, unobserved hosts and background requests."""
    predicate: Any = CASES["new"].statement["predicate"]
    assert predicate["normalisations"] == ["map-url https://api.example.com=https://proxy.example.com"]
    assert predicate["unobserved"] == ["a.example.com:443", "b.example.com:443"]
    assert predicate["background"] == ["POST 127.0.0.1/beat", "POST t.example.com/beat"]
    assert predicate["effects"] == {"allow": True, "declarations": CASES["new"].plan.declarations_digest}
    assert predicate["intervention"]["kind"] == "guide"
    assert predicate["counts"] == asdict(counts_of(CASES["new"].replay, CASES["new"].plan))
    assert predicate["counts"] == {
        "served": 7,
        "replaced": 0,
        "live": 14,
        "carried": 0,
        "covered": 1,
        "containers": 1,
        "substituted": 0,
    }


def test_moving_the_anchor_changes_the_receipt() -> None:
    """R0-13, falsifier F3: of one and the same log, with every anchor that it could have had."""
    log = replayed(SOURCE, team(), anchor=ANCHOR, world=World(6)).recording
    plans = [plan_of(SOURCE, anchor=place) for place in SOURCE.log.quiescent_positions() if place <= ANCHOR]
    receipts = [build_receipt(SOURCE, told(log, plan)) for plan in plans]
    for key in ("anchor", "prefix", "suffix", "source_suffix", "plan", "digest"):
        assert len({json.dumps(json.loads(receipt)["predicate"][key]) for receipt in receipts}) == len(plans) == 7


# ---- No receipt without the prefix


def refused(replay: Recording, source: Recording = SOURCE) -> bool:
    try:
        build_receipt(source, replay)
    except RefusedError:
        return True
    return False


def test_a_replay_of_another_prefix_gets_no_receipt() -> None:
    """R0-03, R0-11, F1: one entry of the prefix changed, whichever, and hashed anew: there is no receipt."""
    replay = CASES["control"].replay
    for position, result in results_of(replay).items():
        if position >= ANCHOR:
            continue
        if isinstance(result, HttpResult):
            assert refused(rebuilt(replay, results={position: replace(result, body=result.body + b" ")})), position
        assert refused(rebuilt(replay, begins={position: {"name": "other"}})), position
    assert not refused(rebuilt(replay, begins={ANCHOR + 2: {"name": "other"}}))


def test_a_replay_that_ended_early_or_went_on_gets_no_receipt() -> None:
    """R0-07: truncate, append."""
    for name, sizes in (("full", (0, 10, 45)), ("control", (0, 10, 17))):
        held = CASES[name]
        for size in sizes:
            assert refused(replace(held.replay, records=held.replay.records[:size], closing=None)), (name, size)

    def longer() -> Program:
        yield from team()
        yield chat("planner", [user("one more")])

    assert refused(told(recorded(longer()), plan_of(SOURCE)))
    assert not refused(told(recorded(team()), plan_of(SOURCE)))
    assert refused(told(replayed(SOURCE, team(), anchor=44, world=World(3)).recording, plan_of(SOURCE)))


def test_a_receipt_is_of_the_source_that_the_plan_names() -> None:
    """H-02: a plan pins its source by digest; another that begins the same is another."""
    assert refused(CASES["control"].replay, rebuilt(SOURCE, begins={44: {"name": "other"}}))
    other = rebuilt(SOURCE, begins={44: {"name": "other"}})
    assert refused(told(CASES["control"].replay, plan_of(other, anchor=ANCHOR)))
    named = msgspec.structs.replace(CASES["control"].replay.opening.replayed, source=other.digest)
    opening = msgspec.structs.replace(CASES["control"].replay.opening, replayed=named)
    assert refused(replace(CASES["control"].replay, opening=opening))


def test_a_recording_is_no_replay() -> None:
    """A fresh run that happens to be equal was never held to the prefix."""
    assert refused(recorded(team()))
    assert refused(SOURCE)


@pytest.mark.parametrize("run", [SOURCE.opening.run, "f" * 64, ""])
def test_regenerated_events_have_ids_of_their_own(run: str) -> None:
    """R0-08, R0-12, H-04, F2: the run id, and so every event id, is that of source, plan and attempt."""
    held = CASES["control"]
    assert refused(replace(held.replay, opening=msgspec.structs.replace(held.replay.opening, run=run)))


def test_no_id_of_a_replay_is_one_of_the_sources(held: Case) -> None:
    """R0-08, R0-12, F2: by every event of both."""
    ids = [{event_id(item.opening.run, event.position) for event in item.log.events} for item in (SOURCE, held.replay)]
    assert not ids[0] & ids[1]
    assert len(ids[0] | ids[1]) == len(SOURCE.log.events) + len(held.replay.log.events)


@pytest.mark.parametrize(
    "change",
    [
        {"event": event_id("another run", ANCHOR)},
        {"event": event_id(SOURCE.opening.run, 20)},
        {"entry": SOURCE.log.entries[20].digest},
        {"prefix": prefix_digest(SOURCE.log, 10)},
        {"position": 20},
        {"position": 17},
        {"position": 46},
        {"position": 10**6},
    ],
    ids=lambda change: next(iter(change)),
)
def test_an_anchor_that_is_not_the_sources_gets_no_receipt(change: dict[str, Any]) -> None:
    """R0-06: id not in the trace, step mismatch, entry or prefix of another event, an end, outside of the log."""
    held = CASES["control"]
    assert held.plan.anchor is not None
    plan = replace(held.plan, anchor=replace(held.plan.anchor, **change))
    assert refused(told(held.replay, plan))


@pytest.mark.parametrize("attempt", [0, -1])
def test_an_attempt_is_counted_from_one(attempt: int) -> None:
    held = CASES["control"]
    assert refused(told(held.replay, held.plan, attempt))


def test_a_damaged_plan_is_damage(held: Case) -> None:
    """H-09."""
    named = msgspec.structs.replace(held.replay.opening.replayed, plan={**held.plan.document(), "more": 1})
    opening = msgspec.structs.replace(held.replay.opening, replayed=named)
    with pytest.raises(DamagedError):
        build_receipt(SOURCE, replace(held.replay, opening=opening))


# ---- Altered receipts


def places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path for key, item in pairs for path in ((*at, key), *places(item, (*at, key)))]


def reached(statement: Any, path: tuple[Any, ...]) -> tuple[Any, Any]:
    for key in path[:-1]:
        statement = statement[key]
    return statement, path[-1]


def others(value: Any) -> list[Any]:
    """Other values for one field: near ones of the same type, and other types."""
    if isinstance(value, bool):
        return [not value, 1, "true", None]
    if isinstance(value, int):
        return [value + 1, value - 1, value + 1000, -1, value == 1, str(value), None, [value], value + 0.5]
    if isinstance(value, str):
        flipped = value[:-1] + ("0" if value[-1:] != "0" else "1")
        return [flipped, value + "\n", value.upper(), "", value[:-1], None, [value], 7, digest("other", b"")]
    if isinstance(value, list):
        return [[*value, "0" * 64], value[1:], [*value, *value], [None], {}, None]
    if value is None:
        return ["0" * 64, {}, 0, False]
    return [None, {}, [], "x", {**value, "unknown": 1}, dict(list(value.items())[1:])]


def alterations(statement: Any) -> Iterator[tuple[str, Any]]:
    """The statement with one field altered, dropped or added, whatever and wherever."""
    for path in places(statement):
        original, key = reached(statement, path)
        for value in others(original[key]):
            if type(value) is type(original[key]) and value == original[key]:
                continue
            altered = copy.deepcopy(statement)
            at, key = reached(altered, path)
            at[key] = value
            yield f"{'/'.join(map(str, path))} = {str(value)[:80]!r}", altered
        altered = copy.deepcopy(statement)
        at, key = reached(altered, path)
        del at[key]
        yield f"{'/'.join(map(str, path))} dropped", altered
        if isinstance(original, dict):
            altered = copy.deepcopy(statement)
            reached(altered, path)[0]["unknown"] = 1
            yield f"{'/'.join(map(str, path[:-1]))} with an unknown field", altered


def accepted(attempt: Callable[[], object]) -> bool:
    try:
        attempt()
    except DamagedError:
        return False
    return True


def test_no_altered_receipt_verifies(held: Case) -> None:
    """R0-07, H-09, H-02: any single field, not hashed anew; any other byte."""
    count = 0
    for what, altered in alterations(held.statement):
        count += 1
        assert not accepted(lambda altered=altered: verify_receipt(canonical(altered))), what
    assert count > 300
    for data in (
        held.receipt + b"\n",
        b" " + held.receipt,
        held.receipt[:-1],
        held.receipt.replace(b'":', b'": ', 1),
        json.dumps(held.statement).encode(),
        b"",
        b"[]",
        b"{}",
    ):
        assert not accepted(lambda data=data: verify_receipt(data))


FREE = (
    "plan",
    "intervention",
    "changed",
    "effects",
    "normalisations",
    "unobserved",
    "background",
    "ambient",
    "counts",
    "configuration",
    "digest",
)
"""What nothing else in a receipt speaks of: alone, these can be any of their kind."""


def contradictions(held: Case) -> Iterator[tuple[str, Any]]:
    """Statements with one value altered that another part of the receipt speaks of too."""
    statement = held.statement
    predicate: Any = statement["predicate"]
    alone = {("source", "recording")}
    if predicate["regenerated"] != "verbatim":
        alone |= {("suffix", "digest"), ("source_suffix", "digest")}
    if predicate["prefix"]["size"] == 0:  # an empty prefix begins every log
        alone |= {("source", "head"), ("replay", "head")}
    for path in places(predicate):
        original, key = reached(predicate, path)
        if path[0] in FREE or path in alone:
            continue
        for value in others(original[key]):
            if type(value) is type(original[key]) and value == original[key]:
                continue
            altered = copy.deepcopy(statement)
            at, key = reached(altered["predicate"], path)
            at[key] = value
            yield f"{'/'.join(map(str, path))} = {str(value)[:80]!r}", altered


def test_an_altered_and_rehashed_receipt_contradicts_itself(held: Case) -> None:
    """H-02, R0-09: alone, whatever two parts of a receipt speak of must agree."""
    count = 0
    for what, altered in contradictions(held):
        count += 1
        data = rehashed(altered)
        assert not accepted(lambda data=data: verify_receipt(data)), what
    assert count > 150


@pytest.mark.parametrize(
    "path",
    [
        ("source", "recording"),
        ("plan", "digest"),
        ("intervention", "digest"),
        ("configuration", "source"),
        ("configuration", "replay"),
        ("effects", "declarations"),
        ("suffix", "digest"),
        ("source_suffix", "digest"),
        ("anchor", "event"),
    ],
    ids="/".join,
)
@pytest.mark.parametrize(
    "edit", [str.upper, lambda text: text + "\n", lambda text: text[:-1], lambda text: "g" + text[1:]]
)
def test_a_digest_in_a_receipt_is_a_whole_one(path: tuple[str, ...], edit: Callable[[str], str]) -> None:
    """H-08: also where nothing else speaks of it."""
    statement = CASES["new"].statement
    at, key = reached(statement["predicate"], path)
    at[key] = edit(at[key])
    data = deeply_rehashed(statement, None)
    assert not accepted(lambda: verify_receipt(data))


def test_no_altered_and_rehashed_receipt_matches_the_recordings(held: Case) -> None:
    """R0-07, R0-11, H-02: the receipt's own digest computed anew after each alteration, of any field at all."""
    count = 0
    for what, altered in alterations(held.statement):
        if what.startswith("predicate/digest") or not isinstance(altered.get("predicate"), dict):
            continue
        count += 1
        data = rehashed(altered)
        assert not accepted(lambda data=data: check(data, held.replay)), what
    assert count > 300


def deeply_rehashed(statement: Any, source: Recording | None = SOURCE, replay: Recording | None = None) -> bytes:
    """Prefix, anchor and suffix digests computed anew too, the suffixes' from the recordings."""
    predicate = statement["predicate"]
    prefix = predicate["prefix"]
    prefix["digest"] = jcs_digest("prefix", {"size": prefix["size"], "head": prefix["head"]})
    anchor = predicate["anchor"]
    if anchor is not None:
        keys = {key: anchor[key] for key in ("event", "position", "entry")}
        anchor["digest"] = jcs_digest("anchor", {**keys, "prefix": prefix["digest"]})
    for key, recording in (("suffix", replay), ("source_suffix", source)):
        if recording is not None:
            entries = [entry.digest for entry in recording.log.entries[prefix["size"] :]]
            document = {"prefix": prefix["digest"], "anchor": anchor and anchor["digest"], "entries": entries}
            predicate[key] = {"digest": jcs_digest("suffix", document), "entries": len(entries)}
    return rehashed(statement)


@pytest.mark.parametrize("name", [name for name in KINDS if name != "full"])
@pytest.mark.parametrize("field", ["position", "entry", "prefix head", "prefix size"])
def test_an_anchor_forged_throughout_does_not_match(name: str, field: str) -> None:
    """R0-13, R0-02: every digest that covers it computed anew."""
    held = CASES[name]
    statement = held.statement
    predicate: Any = statement["predicate"]
    if field == "position":
        predicate["anchor"]["position"] += 2
    elif field == "entry":
        predicate["anchor"]["entry"] = SOURCE.log.entries[20].digest
    elif field == "prefix head":
        predicate["prefix"]["head"] = SOURCE.log.tree.root(20)
    else:
        predicate["prefix"]["size"] += 2
    data = deeply_rehashed(statement, replay=held.replay)
    assert not accepted(lambda: check(data, held.replay))


def test_an_event_id_forged_throughout_does_not_match() -> None:
    """R0-02, R0-06: with the recordings at hand the id is that of the source's run."""
    held = CASES["control"]
    statement = held.statement
    statement["predicate"]["anchor"]["event"] = event_id("another run", ANCHOR)
    data = deeply_rehashed(statement, replay=held.replay)
    assert not accepted(lambda: check(data, held.replay))


def test_an_anchor_that_was_moved_throughout_does_not_match() -> None:
    """R0-13, F3: the replay was anchored at 18, as its own opening says; both logs share the first ten entries too."""
    held = CASES["control"]
    moved = plan_of(SOURCE, anchor=10)
    anchor = moved.anchor
    assert anchor is not None
    statement = held.statement
    predicate: Any = statement["predicate"]
    predicate["anchor"] = {"digest": "", "event": anchor.event, "position": 10, "entry": anchor.entry}
    predicate["prefix"] = {"digest": "", "size": 10, "head": SOURCE.log.tree.root(10)}
    predicate["proofs"] = {
        "source": SOURCE.log.tree.consistency_proof(10),
        "replay": held.replay.log.tree.consistency_proof(10),
    }
    data = deeply_rehashed(statement, replay=held.replay)
    assert verify_receipt(data).level == "self-consistent"
    assert not accepted(lambda: check(data, held.replay))


@pytest.mark.parametrize(
    ("name", "path", "value"),
    [
        ("new", "intervention", CASES["control"].statement["predicate"]["intervention"]),
        ("new", "plan", CASES["control"].statement["predicate"]["plan"]),
        ("new", "effects", {"allow": False, "declarations": None}),
        ("new", "normalisations", []),
        ("new", "unobserved", []),
        ("new", "background", []),
        ("new", "ambient", {"kinds": ["time"], "streams": "0" * 64, "incomplete": False}),
        (
            "control",
            "counts",
            asdict(Counts(served=9, live=0, replaced=0, carried=0, covered=1, containers=1, substituted=0)),
        ),
        ("control", "intervention", CASES["new"].statement["predicate"]["intervention"]),
    ],
    ids=lambda item: item if isinstance(item, str) else "",
)
def test_what_the_replay_was_told_cannot_be_forged(name: str, path: str, value: Any) -> None:
    """H-02: a receipt of a guided replay cannot be turned into one of a control, nor an open one into a closed one."""
    held = CASES[name]
    statement = held.statement
    assert statement["predicate"][path] != value
    statement["predicate"][path] = value
    data = rehashed(statement)
    assert not accepted(lambda: check(data, held.replay))


def test_other_recordings_do_not_match(held: Case) -> None:
    """R0-26: not the source for the replay, not another replay, not one with a single later entry changed."""
    other = rebuilt(held.replay, begins={2: {"name": "other"}}) if len(held.replay.log) > 2 else held.replay
    assert not accepted(lambda: verify_receipt(held.receipt, source=held.replay, replay=SOURCE)) or (
        held.replay.digest == SOURCE.digest
    )
    assert not accepted(lambda: check(held.receipt, other))
    assert not accepted(lambda: check(held.receipt, held.replay, rebuilt(SOURCE, begins={44: {"name": "other"}})))
    assert not accepted(lambda: check(held.receipt, recorded(pair())))
    for name, unlike in CASES.items():
        if unlike.replay.digest != held.replay.digest:
            assert not accepted(lambda unlike=unlike: check(held.receipt, unlike.replay)), name


# ---- Authority and versions


@pytest.mark.parametrize("authority", ["full", "None", "", "none ", "none\n", None, True, False, ["none"], {"none": 1}])
def test_no_receipt_has_authority(held: Case, authority: Any) -> None:
    """R0-10, H-17: authority is none, on every receipt; any other value is refused, hashed anew or not."""
    assert held.statement["predicate"]["authority"] == "none"
    statement = held.statement
    statement["predicate"]["authority"] = authority
    assert not accepted(lambda: verify_receipt(canonical(statement)))
    assert not accepted(lambda: verify_receipt(rehashed(statement)))
    del statement["predicate"]["authority"]
    assert not accepted(lambda: verify_receipt(rehashed(statement)))


@pytest.mark.parametrize("kind", ["urn:anchored:replay:v2", "urn:anchored:replay:v10", "urn:anchored:replay:v1.1"])
def test_a_newer_receipt_is_refused_as_such(kind: str) -> None:
    """Style 4."""
    statement = {**CASES["full"].statement, "predicateType": kind}
    with pytest.raises(UnsupportedError):
        verify_receipt(rehashed(statement))


@pytest.mark.parametrize("kind", ["urn:other", "https://in-toto.io/attestation/v1", "", None, 7])
def test_another_statement_is_refused(kind: Any) -> None:
    statement = {**CASES["full"].statement, "predicateType": kind}
    assert not accepted(lambda: verify_receipt(rehashed(statement)))
    statement = {**CASES["full"].statement, "_type": kind}
    assert not accepted(lambda: verify_receipt(rehashed(statement)))


def test_a_replay_whose_anchor_never_began_is_told() -> None:
    """Case `none`: the prefix was served and nothing followed; the receipt says so and matches its recording."""
    held = CASES["none"]
    assert len(held.replay.log) == ANCHOR
    assert held.statement["predicate"]["regenerated"] == "none"
    assert check(held.receipt, held.replay) == "matches the recordings"


def test_a_result_that_was_put_in_is_counted_apart() -> None:
    """R0-09: what was put in was neither served nor live."""
    result = ReplaceResult(result=HttpResult(status=200, headers=(), body=b'{"choices": []}'))
    driven = replayed(SOURCE, team(), anchor=ANCHOR, intervention=result, world=World(5))
    one = case(driven, plan_of(SOURCE, anchor=ANCHOR, intervention=result))
    counts = one.statement["predicate"]["counts"]
    assert counts["replaced"] == 1
    assert counts["live"] == len(driven.live)
    assert one.statement["predicate"]["intervention"]["kind"] == "replace_result"
    assert verify_receipt(one.receipt, source=SOURCE, replay=one.replay).level == "matches the recordings"


def test_a_call_is_marked_opaque_and_nothing_of_it_is_told() -> None:
    """Issue, Call: what it did follows from no document, and the receipt says so; name and source stay in the plan."""
    call = Call(target="secret_changes:shorten", source=digest("call-source", b"def shorten(request): ..."))
    driven = replayed(SOURCE, team(), anchor=ANCHOR, intervention=SwapModel(model="other"), world=World(5))
    for intervention, opaque in ((call, True), (SwapModel(model="other"), False)):
        one = case(driven, plan_of(SOURCE, anchor=ANCHOR, intervention=intervention))
        told = one.statement["predicate"]["intervention"]
        assert told == {"kind": intervention.document()["kind"], "digest": intervention.digest, "opaque": opaque}
        assert b"shorten" not in one.receipt
        assert b"other" not in one.receipt
        assert verify_receipt(one.receipt, source=SOURCE, replay=one.replay).level == "matches the recordings"
        altered = copy.deepcopy(one.statement)
        altered["predicate"]["intervention"]["opaque"] = not opaque
        with pytest.raises(DamagedError, match="opaque"):
            verify_receipt(rehashed(altered))


def test_what_changed_since_the_recording_is_told() -> None:
    """Issue, configuration: files and packages by name; what both do not know is not compared."""
    was: dict[str, Any] = {"files": {"a.py": "1", "b.py": "2", "c.py": "3"}, "packages": {"openai": "1.0"}}
    now: dict[str, Any] = {"files": {"a.py": "1", "b.py": "4"}, "packages": {"openai": "2.0"}}
    source = replace(SOURCE, notes=[*SOURCE.notes, Note(kind="loaded", document=was)])
    replay = CASES["full"].replay
    assert CASES["full"].statement["predicate"]["changed"] == []
    looked = replace(replay, notes=[*replay.notes, Note(kind="loaded", document=now)])
    receipt = json.loads(build_receipt(source, looked))
    assert receipt["predicate"]["changed"] == ["file b.py", "file c.py", "package openai"]
    changed = changed_since(source, looked)
    assert [(part.recorded, part.now) for part in changed] == [("2", "4"), ("3", "none"), ("1.0", "2.0")]
