"""A store of runs: names, references, the index that can be lost, and files that are damaged or unfinished."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import stat
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from builders import (
    RUN,
    Memory,
    clock,
    close_journal,
    closing_of,
    opening,
    pair,
    plan_of,
    record_to,
    record_with,
    recorded,
    replayed,
    store,
    team,
    text_of,
)
from builders import World as InventedWorld

from anchored.boundary.effects import Declarations
from anchored.boundary.recorder import Recorder
from anchored.canonical import Digest, canonical, digest, parse_own
from anchored.errors import DamagedError, StoreError, UsageError
from anchored.events import Begin, Blob, Outcome, http_request
from anchored.library import FileJournal, Library, leaves, load, read_order
from anchored.recording import Recording, Stop, to_document
from anchored.storage import BlobRow, EntryRow, RequestRow, RunFile, read_run


@pytest.fixture
def library(tmp_path: Path) -> Library:
    return store(tmp_path)


def order(created: int = 1) -> dict[str, Any]:
    return {"mode": "record", "declarations": [], "created": str(created)}


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Library:
    """Three runs: `old` and `mid` of other seeds, `new` the latest. Copy it before changing it."""
    library = store(tmp_path_factory.mktemp("shelf"))
    for created, name in ((300, "new"), (100, "old"), (200, "mid")):
        record_to(library, name, pair(), world=InventedWorld(created), created=created)
    return library


@pytest.fixture
def copied(shelf: Library, tmp_path: Path) -> Library:
    shutil.copytree(shelf.root, tmp_path / "copy")
    for path in (tmp_path / "copy" / "runs").iterdir():
        path.chmod(0o600)
    return Library(tmp_path / "copy")


# ---- Names and folders


@pytest.mark.parametrize(
    "name",
    [
        "",
        ".",
        "..",
        "../x",
        "a/b",
        "a\\b",
        "/etc",
        ".hidden",
        "-x",
        "_x",
        "a b",
        "a\n",
        "a\x00",
        "é",
        "٣",
        "a" * 101,
        "a:b",
        "~",
        "a*",
    ],
)
def test_what_is_no_name_is_refused(library: Library, name: str) -> None:
    """H-08, H-10: whole match, no way out of the folder, nothing that another system reads otherwise."""
    with pytest.raises(UsageError) as caught:
        library.create(name, opening(), order())
    assert "--name" in caught.value.next_step
    assert not library.root.exists()


@pytest.mark.parametrize("name", ["a", "A1", "team-1", "team-1.replay-2", "9", "a" * 100, "a..b"])
def test_names_are_plain(library: Library, name: str) -> None:
    path = library.create(name, opening(), order())
    assert path.parent == library.root / "runs"
    assert library.name_of(name) == name


@pytest.mark.parametrize("name", ["last", "0123456789abcdef", "f" * 64])
def test_no_run_may_be_called_what_means_another(library: Library, name: str) -> None:
    """A run of this name would hide what `last` or a digest prefix means, for good."""
    with pytest.raises(UsageError):
        library.create(name, opening(), order())


def test_a_run_of_the_same_name_is_refused(library: Library) -> None:
    """Nothing is ever written over."""
    record_to(library, "team", pair())
    before = library.path("team").read_bytes()
    with pytest.raises(UsageError) as caught:
        library.create("team", opening(), order())
    assert "already" in caught.value.problem
    assert library.path("team").read_bytes() == before


def test_names_that_are_not_used_are_found(library: Library) -> None:
    assert library.unused_name("my team!.py") == "my-team-.py-1"
    assert library.unused_name("…") == "run-1"
    library.create("team-1", opening(), order())
    library.create("team-2", opening(), order())
    assert library.unused_name("team") == "team-3"
    library.create(library.unused_name("x" * 300), opening(), order())


def test_a_store_is_its_owners_alone_and_no_matter_of_git(library: Library) -> None:
    """Found by --store, ANCHORED_STORE or ./.anchored; 0700; ignores itself in git; files that only the owner reads."""
    mask = os.umask(0)
    try:
        record_to(library, "team", pair())
        library.create("open", opening(), order())
    finally:
        os.umask(mask)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in [library.root, *library.root.rglob("*")]}
    assert (modes["store"], modes["runs"]) == (0o700, 0o700)
    assert (modes["team.sqlite"], modes["open.sqlite"]) == (0o400, 0o600)
    assert (library.root / ".gitignore").read_text() == "*\n"


def test_a_gitignore_of_the_users_own_is_left_alone(library: Library) -> None:
    library.root.mkdir()
    (library.root / ".gitignore").write_text("mine\n")
    library.create("a", opening(), order())
    assert (library.root / ".gitignore").read_text() == "mine\n"


@pytest.mark.parametrize(
    ("given", "environment", "expected"),
    [
        ("given", {"ANCHORED_STORE": "named"}, "given"),
        (None, {"ANCHORED_STORE": "named"}, "named"),
        (None, {"ANCHORED_STORE": ""}, ".anchored"),
        (None, {}, ".anchored"),
        ("", {}, ".anchored"),
    ],
)
def test_the_store_is_found(
    given: str | None,
    environment: dict[str, str],
    expected: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert Library.locate(given, environment).root == tmp_path / expected


def test_a_store_that_cannot_be_made_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError) as caught:
        Library(tmp_path / "file" / "store").create("a", opening(), order())
    assert "--store" in caught.value.next_step


# ---- Reading back


def test_a_stored_run_is_the_run(library: Library, team: Recording) -> None:
    """The store changes nothing: what was recorded in memory and in a file is one recording."""
    stored = record_to(library, "team", team_program())
    assert stored.digest == team.digest
    assert [record.entry for record in stored.records] == [record.entry for record in team.records]
    for event in team.log.events:
        assert stored.result(event) == team.result(event)
        assert stored.request(event.begin) == team.request(event.begin)
        one, other = (held.contents.request(event.begin.request) for held in (stored, team))
        assert (one.digest, one.field) == (other.digest, other.field)
        assert {blob.digest for blob in one.blobs} == {blob.digest for blob in other.blobs}
    assert [note.kind for note in stored.notes] == ["order", "owner", "hello", "unobserved"]
    assert read_order(library.path("team"))["mode"] == "record"


def team_program() -> Any:
    return team()


def test_a_run_that_is_going_on_is_unsealed_with_what_is_pending(library: Library) -> None:
    """A killed live run loads flagged `unsealed`, with what was pending still pending; its outcome is not invented."""
    path = library.create("live", opening(), order())
    journal = FileJournal(path)
    gate = Recorder(journal, clock(), Declarations())
    assert load(path).digest == load(path).digest
    program = pair()
    first = next(program)
    passage = gate.begin(first.crossing())
    result, outcome = InventedWorld()(first)
    gate.end(passage, outcome=outcome, result=result)
    pending = gate.begin(program.send(result).crossing())
    assert pending.begin is not None
    for held in (load(path), library.open("live")):
        assert held.closing is None
        assert [(event.position, event.outcome) for event in held.log.events] == [
            (0, Outcome.SUCCESS),
            (2, Outcome.PENDING),
        ]
        assert held.result(held.log.events[1]) is None
        assert held.summary.stop is None
    (listed,) = library.listed()
    assert listed.row is not None
    assert (listed.row.entries, listed.row.stop) == (3, "unsealed")
    close_journal(journal)
    assert load(path).log.events[1].outcome is Outcome.PENDING


def test_a_live_run_in_the_list_is_looked_at_again(library: Library) -> None:
    path = library.create("live", opening(), order())
    (before,) = library.listed()
    gate = Recorder(journal := FileJournal(path), clock(), Declarations())
    record_with(gate, pair(), InventedWorld())
    (after,) = library.listed()
    assert before.row is not None
    assert after.row is not None
    assert (before.row.entries, after.row.entries) == (0, 6)
    close_journal(journal)


# ---- References


def test_names_digest_prefixes_and_last(shelf: Library) -> None:
    digests = {name: shelf.open(name).digest for name in ("old", "mid", "new")}
    assert len(set(digests.values())) == 3
    for name, whole in digests.items():
        assert shelf.name_of(name) == name
        assert shelf.name_of(whole) == name
        assert shelf.name_of(whole[:8]) == name
        assert shelf.by_digest(whole) == [(name, {item.name: item.row for item in shelf.listed()}[name])]
    assert shelf.name_of("last") == "new"
    assert shelf.open("last").digest == digests["new"]


@pytest.mark.parametrize(
    "reference", ["none", "", "abc", "zzzz", "../old", "old.sqlite", "LAST", "0" * 64, "é", "\x00"]
)
def test_what_means_no_run_is_told_what_would(shelf: Library, reference: str) -> None:
    with pytest.raises(UsageError) as caught:
        shelf.name_of(reference)
    error = caught.value
    assert "No such run" in error.problem
    assert "a name, a digest prefix of at least 4 digits, a trace id, or `last`" in error.expected
    assert "anchored list" in error.next_step
    assert "old" in error.found


def test_three_digits_are_too_few(shelf: Library) -> None:
    whole = shelf.open("old").digest
    with pytest.raises(UsageError):
        shelf.name_of(whole[:3])
    assert shelf.name_of(whole[:4]) == "old"


def test_a_digest_prefix_of_two_recordings_is_ambiguous(copied: Library) -> None:
    """Two runs whose digests begin alike; made so by the index, since nobody can make them so otherwise."""
    with closing(sqlite3.connect(copied.root / "project.db")) as db:
        db.execute("UPDATE run SET digest = 'abcd' || name || substr(digest, 8) WHERE name IN ('old', 'mid')")
        db.commit()
    with pytest.raises(UsageError) as caught:
        copied.name_of("abcd")
    assert "More than one" in caught.value.problem
    assert "old" in caught.value.found
    assert "mid" in caught.value.found


def test_an_exact_copy_is_meant_by_neither_less(copied: Library) -> None:
    """An exact replay has its source's digest; the older one is meant."""
    whole = copied.open("mid").digest
    record_to(copied, "again", pair(), world=InventedWorld(200), created=250, run_id="1" * 64)
    assert copied.name_of(whole[:12]) == "mid"
    assert [name for name, _ in copied.by_digest(whole)] == ["mid", "again"]


def test_an_empty_store_has_no_last_run(library: Library) -> None:
    """Looking makes no store."""
    assert library.listed() == []
    with pytest.raises(UsageError) as caught:
        library.name_of("last")
    assert "there is no store" in caught.value.found
    assert not library.root.exists()
    library.root.mkdir(parents=True)
    with pytest.raises(UsageError) as caught:
        library.name_of("last")
    assert "the store is empty" in caught.value.found


def test_last_is_the_latest_also_within_one_second(library: Library) -> None:
    """By name, `team-10` would stand before `team-9`."""
    for number in (9, 10):
        record_to(library, f"team-{number}", pair(), world=InventedWorld(number), created=5)
    assert library.name_of("last") == "team-10"


def test_a_digest_means_the_recording_that_has_it(copied: Library) -> None:
    """The index is no proof. What is opened by a digest must have it, whatever `project.db` says."""
    with closing(sqlite3.connect(copied.root / "project.db")) as db:
        db.execute("UPDATE run SET digest = ? WHERE name = 'old'", ("feed" * 16,))
        db.commit()
    try:
        recording = copied.open("feedfeed")
    except (UsageError, DamagedError):
        return
    assert recording.digest.startswith("feedfeed")


# ---- The list and its index


def rows(library: Library) -> list[Any]:
    return [item.row for item in library.listed()]


def test_runs_are_listed_oldest_first(shelf: Library) -> None:
    listed = shelf.listed()
    assert [item.name for item in listed] == ["old", "mid", "new"]
    for item in listed:
        assert item.row is not None
        assert (item.row.entries, item.row.stop, item.row.mode, item.row.source) == (6, "exit 0", "record", None)
        assert item.row.digest == shelf.open(item.name).digest


def test_an_index_that_was_deleted_is_made_anew(copied: Library) -> None:
    """It can be lost: the run files say the same."""
    before = rows(copied)
    (copied.root / "project.db").unlink()
    assert [row.name for row in rows(copied)] == ["old", "mid", "new"]
    assert [(row.name, row.digest, row.created) for row in rows(copied)] == [
        (row.name, row.digest, row.created) for row in before
    ]
    assert (copied.root / "project.db").exists()


@pytest.mark.parametrize("garbage", [b"", b"garbage" * 1000, b"SQLite format 3\x00" + b"\x00" * 84])
def test_an_index_that_is_garbage_is_made_anew(copied: Library, garbage: bytes) -> None:
    """It says nothing that the run files do not say, so it stops nobody."""
    (copied.root / "project.db").write_bytes(garbage)
    assert [row.name for row in rows(copied)] == ["old", "mid", "new"]
    assert copied.name_of("last") == "new"


def test_an_index_of_another_shape_is_made_anew(copied: Library) -> None:
    """As above: a version before or after this one wrote it."""
    with closing(sqlite3.connect(copied.root / "project.db")) as db:
        db.execute("DROP TABLE run")
        db.execute("CREATE TABLE run (name TEXT)")
        db.commit()
    assert [row.name for row in rows(copied)] == ["old", "mid", "new"]


def test_the_index_follows_the_files(copied: Library) -> None:
    """Files that came and went without us."""
    copied.path("mid").unlink()
    shutil.copyfile(copied.path("old"), copied.path("copy"))
    assert [row.name for row in rows(copied)] == ["copy", "old", "new"]
    with closing(sqlite3.connect(copied.root / "project.db")) as db:
        assert {name for (name,) in db.execute("SELECT name FROM run")} == {"copy", "old", "new"}


def test_a_damaged_run_is_listed_as_such_and_the_others_are_there(copied: Library) -> None:
    data = copied.path("mid").read_bytes()
    copied.path("mid").write_bytes(data[: len(data) // 2])
    copied.path("none").write_bytes(b"nothing")
    listed = {item.name: item for item in copied.listed()}
    assert set(listed) == {"old", "mid", "new", "none"}
    for name in ("mid", "none"):
        assert listed[name].row is None
        assert isinstance(listed[name].error, DamagedError)
        with pytest.raises(DamagedError):
            copied.open(name)
    assert copied.name_of("last") == "new"


@pytest.mark.parametrize("name", ["²", "٣", "a b", "-", "1", "x1y", "1x", "".join(["9"] * 200)])
def test_a_stray_file_is_listed_whatever_its_name(copied: Library, name: str) -> None:
    """What somebody else put there breaks no list, whatever Python takes for a digit in its name."""
    (copied.root / "runs" / f"{name}.sqlite").write_bytes(b"stray")
    listed = {item.name: item for item in copied.listed()}
    assert set(listed) == {"old", "mid", "new", name}
    assert copied.name_of("last") == "new"


@pytest.mark.parametrize("created", ["soon", "-1", "9" * 5000, str(2**70), 7, None])
def test_a_run_whose_order_is_odd_breaks_no_list(copied: Library, created: Any) -> None:
    """H-09: it is listed, as a run or as a damaged one."""
    try:
        copied.create("odd", opening(), {**order(), "created": created})
    except (DamagedError, StoreError, UsageError):
        return
    listed = {item.name: item for item in copied.listed()}
    assert set(listed) == {"old", "mid", "new", "odd"}
    assert listed["odd"].row is not None or isinstance(listed["odd"].error, DamagedError)


def test_a_file_that_changed_is_read_again(copied: Library) -> None:
    """The index is no proof: a run whose file was touched is verified again before it is listed."""
    assert all(item.row for item in copied.listed())
    with closing(sqlite3.connect(copied.path("mid"))) as db:
        db.execute("UPDATE entry SET observation = x'7b7d' WHERE position = 0")
        db.commit()
    listed = {item.name: item for item in copied.listed()}
    assert isinstance(listed["mid"].error, DamagedError)


def test_replays_are_listed_with_what_they_replay(copied: Library) -> None:
    source = copied.open("mid")
    driven = replayed(source, pair(), anchor=4)
    plan = plan_of(source, anchor=4)
    start = driven.recording.opening
    held: Any = {"mode": "replay", "plan_digest": plan.digest, "created": "900"}
    path = copied.create("mid.replay-1", start, held)
    journal = FileJournal(path)
    for record in driven.recording.records:
        memory: Any = driven.recording.contents
        entry = record.entry
        request = memory.requests.get(getattr(entry, "request", None))
        blobs = _all_blobs(memory)
        journal.append(record, request=request, blobs=blobs, durable=False)
    close_journal(journal)
    copied.finish(
        "mid.replay-1", closing_of(load(path), text_of(driven.recording.result(driven.recording.log.events[-1])))
    )
    row = {item.name: item for item in copied.listed()}["mid.replay-1"].row
    assert row is not None
    assert (row.mode, row.source, row.plan, row.attempt) == ("replay", source.digest, plan.digest, 1)
    assert copied.next_attempt(plan.digest) == 2
    assert copied.next_attempt(plan.digest) == 3, "a number is given once"
    assert copied.next_attempt("0" * 64) == 1


def _all_blobs(memory: Memory) -> list[Any]:
    """Every blob with the kind that its digest is of."""
    kinds: tuple[Any, ...] = ("message", "raw", "body", "result")
    return [
        Blob(kind=kind, digest=name, data=data)
        for name, data in memory.blobs.items()
        for kind in kinds
        if digest(kind, data) == name
    ]


# ---- Files whose rows are as written, but which say what no recorder says


def written(path: Path, *, notes: list[tuple[str, bytes]], finish: bytes | None = None) -> Path:
    file = RunFile.create(path)
    for kind, document in notes:
        file.note(kind, document)
    if finish is not None:
        file.finish(finish)
    file.close()
    return path


OPENING = canonical(to_document(opening()))


@pytest.mark.parametrize(
    "notes",
    [
        [],
        [("order", b"{}")],
        [("order", b"{}"), ("opening", OPENING)],
        [("opening", b"{}")],
        [("opening", b"[]")],
        [("opening", OPENING + b" ")],
        [("opening", OPENING), ("order", b"{}"), ("hello", b"{ }")],
        [("opening", OPENING), ("order", b"{}"), ("hello", b"[]")],
        [("opening", OPENING), ("order", b"{}"), ("hello", b"\xff")],
        [("opening", OPENING), ("order", b"{}"), ("hello", b"[" * 100_000)],
        [("opening", canonical({**to_document(opening()), "unknown": 1}))],
        [("opening", canonical({**to_document(opening()), "format": 99}))],
    ],
)
def test_documents_are_checked_behind_their_digests(tmp_path: Path, notes: list[tuple[str, bytes]]) -> None:
    """H-09: rows that fit together are not enough."""
    with pytest.raises(DamagedError):
        load(written(tmp_path / "x.sqlite", notes=notes))


@pytest.mark.parametrize("document", [b"not json", b"[]", b"{}", b'{"process":"1"}', b"\xff", b"[" * 100_000, b"5"])
def test_the_owners_note_is_checked_like_the_others(tmp_path: Path, document: bytes) -> None:
    """H-09: damaged data is DamagedError, not KeyError, TypeError or JSONDecodeError."""
    path = written(tmp_path / "x.sqlite", notes=[("opening", OPENING), ("order", b"{}"), ("owner", document)])
    with closing(sqlite3.connect(path)) as db:
        db.execute("UPDATE head SET owner = 1")
        db.commit()
    with pytest.raises(DamagedError):
        load(path)


def test_a_second_opening_is_refused(tmp_path: Path) -> None:
    """H-09: nothing in a file is left out in silence."""
    other = canonical(to_document(opening(task="another", run="2" * 64)))
    with pytest.raises(DamagedError):
        load(written(tmp_path / "x.sqlite", notes=[("opening", OPENING), ("order", b"{}"), ("opening", other)]))


@pytest.mark.parametrize("change", ["recording", "size", "head", "stop", "final", "configuration"])
def test_a_closing_that_does_not_fit_the_log_is_refused(library: Library, team: Recording, change: str) -> None:
    """R0-07: written by the store itself, but not what the log says."""
    source = recorded(pair())
    held = to_document(closing_of(source, "final"))
    held[change] = {"recording": "0" * 64, "size": 7, "head": "1" * 64, "stop": {"reason": "timeout"}}.get(change)
    if change == "configuration":
        held[change] = {}
    path = library.create("x", opening(), order())
    record_with(Recorder(journal := FileJournal(path), clock(), Declarations()), pair(), InventedWorld())
    close_journal(journal)
    file = RunFile.open(path)
    file.finish(canonical(held))
    file.close()
    with pytest.raises(DamagedError):
        load(path)


@pytest.mark.parametrize("table", ["blob", "request"])
def test_what_an_entry_names_must_be_there(library: Library, table: str) -> None:
    """Every blob and every request gone, one at a time, with the head's counts made to fit: nothing dangles."""
    record_to(library, "x", pair())
    library.path("x").chmod(0o600)
    with closing(sqlite3.connect(library.path("x"))) as db:
        names = [name for (name,) in db.execute(f"SELECT digest FROM {table}")]
    for name in names:
        target = library.path("y")
        shutil.copyfile(library.path("x"), target)
        with closing(sqlite3.connect(target)) as db:
            db.execute(f"DELETE FROM {table} WHERE digest = ?", (name,))
            db.execute(f"UPDATE head SET {table}s = {table}s - 1")
            db.commit()
        with pytest.raises(DamagedError):
            load(target)


def forged(path: Path, *, message: bytes = b"{}", document: bytes | None = None) -> Path:
    """A run of one begin whose rows fit together, whatever its message or its request's document says."""
    file = RunFile.create(path)
    file.note("opening", OPENING)
    file.note("order", canonical(order()))
    held = BlobRow(kind="message", digest=digest("message", message), data=message)
    asked = http_request(method="POST", path="/x", query="", headers=(), body=b'{"messages": [{}]}')
    row = RequestRow(
        digest=Digest(""),
        before=document if document is not None else asked.before,
        after=b"" if document is not None else asked.after,
        field=None if document is not None else asked.field,
        digests=() if document is not None else (held.digest,),
    )
    row = replace(row, digest=digest("request", row.document()))
    begin = Begin(position=0, kind="chat", actor=None, name="m", parent=None, call_id=None, request=Digest(row.digest))
    data = canonical(begin.document())
    entry = EntryRow(position=0, digest=begin.digest, document=data, observation=b"{}")
    file.append(entry, blobs=[held], request=row)
    file.close()
    return path


def test_a_well_made_file_is_read(tmp_path: Path) -> None:
    assert len(load(forged(tmp_path / "x.sqlite")).log) == 1


@pytest.mark.parametrize(
    "parts",
    [
        {"message": b"not json"},
        {"message": b"\xff"},
        {"document": b"not json"},
        {"document": b"[]"},
        {"document": b"{}"},
        {"document": b'{"body":7,"headers":{},"messages":null,"method":"GET","path":"/","query":""}'},
        {"document": b'{"body":{"raw":"' + b"0" * 64 + b'"},"headers":{},"method":"GET","path":"/","query":""}'},
        {"document": b'{"tool":"t"}'},
    ],
    ids=str,
)
def test_contents_are_checked_behind_their_digests(tmp_path: Path, parts: dict[str, bytes]) -> None:
    """H-09: what is hashed anew but is no message or request is damage, and no other error.

    The command line says 5, damaged data, not 1, an unexpected error.
    """
    with pytest.raises(DamagedError):
        load(forged(tmp_path / "x.sqlite", **parts))


def test_what_a_journal_cannot_write_does_not_reach_the_program(library: Library) -> None:
    """Law 6: an observation that is no valid text is no reason to fail the program."""
    path = library.create("x", opening(), order())
    gate = Recorder(journal := FileJournal(path), clock(), Declarations())
    first = next(pair())
    passage = gate.begin(first.crossing())
    result, outcome = InventedWorld()(first)
    gate.end(passage, outcome=outcome, result=result, observation={"unreplayable": "the value at /\ud800"})
    gate.note("said", {"text": "\ud800"})
    gate.begin(replace(first, name="\ud800").crossing())
    close_journal(journal)
    assert load(path).log.events


def test_a_stop_is_read_back(library: Library) -> None:
    path = library.create("x", opening(), order())
    held = closing_of(load(path), None)
    library.finish("x", held)
    recording = load(library.path("x"))
    assert recording.closing == held
    assert recording.closing is not None
    assert recording.closing.stop == Stop(reason="exit", status=0, detail="done")
    assert read_run(library.path("x")).closed


# ---- Leaves


def test_leaves_hold_digests_alone(team: Recording) -> None:
    """docs/design/identity.md, The leaf file: as canonical JSON, and no content."""
    data = leaves(team)
    document: Any = parse_own(data, what="leaves")
    assert set(document) == {
        "format",
        "recording",
        "task",
        "state",
        "configuration",
        "stop",
        "final",
        "size",
        "head",
        "entries",
    }
    assert document["format"] == "anchored-leaves/v1"
    assert document["entries"] == [entry.digest for entry in team.log.entries]
    assert (document["recording"], document["size"], document["head"]) == (team.digest, 46, team.log.head)
    text = json.dumps(document)
    assert "Lisbon" not in text
    assert "planner" not in text
    assert RUN not in text
