"""Appending to a run file and reading it back: a codec, compared with plain lists; one owner; an end (issue 4b)."""

from __future__ import annotations

import itertools
import json
import os
import sqlite3
import stat
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, precondition, rule

from anchored.canonical import Digest, canonical, digest
from anchored.errors import StoreError
from anchored.storage import BlobRow, EntryRow, RequestRow, RunFile, read_run


def entry(position: int, mark: object = "") -> EntryRow:
    document = canonical({"position": position, "mark": str(mark)})
    return EntryRow(position=position, digest=digest("entry", document), document=document, observation=b'{"time":"1"}')


def blob(number: int) -> BlobRow:
    data = str(number).encode()
    return BlobRow(kind="message", digest=digest("message", data), data=data)


def request(*numbers: int, field: str | None = "messages", mark: str = "m") -> RequestRow:
    before, after = (b'{"a":', b',"b":"%s"}' % mark.encode()) if field else (b'{"a":"%s"}' % mark.encode(), b"")
    digests = tuple(blob(number).digest for number in numbers) if field else ()
    row = RequestRow(digest=Digest(""), before=before, after=after, field=field, digests=digests)
    return RequestRow(
        digest=digest("request", row.document()), before=before, after=after, field=field, digests=digests
    )


@pytest.fixture
def run(tmp_path: Path) -> Iterator[RunFile]:
    file = RunFile.create(tmp_path / "run.sqlite")
    yield file
    file.close()


# ---- Append and read


@given(
    st.lists(
        st.tuples(
            st.binary(max_size=20),
            st.none() | st.tuples(st.lists(st.integers(0, 5), max_size=6), st.sampled_from(["m", "n"])),
            st.lists(st.tuples(st.sampled_from(["body", "result", "raw"]), st.binary(max_size=9)), max_size=2),
            st.booleans(),
        ),
        max_size=12,
    ),
    st.lists(st.tuples(st.text(max_size=6), st.binary(max_size=9)), max_size=4),
)
@settings(max_examples=60, deadline=None)
def test_reading_inverts_appending(appended: list[Any], notes: list[tuple[str, bytes]]) -> None:
    """`read_run` gives back every row as it was appended, whatever shares a prefix with whatever."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.sqlite"
        file = RunFile.create(path)
        entries: list[EntryRow] = []
        blobs: dict[str, bytes] = {}
        requests: dict[str, RequestRow] = {}
        for position, (observation, asked, held, durable) in enumerate(appended):
            document = canonical({"position": position})
            row = EntryRow(
                position=position, digest=digest("entry", document), document=document, observation=observation
            )
            parts = [BlobRow(kind=kind, digest=digest(kind, data), data=data) for kind, data in held]
            wanted = None
            if asked is not None:
                wanted = request(*asked[0], mark=asked[1])
                parts += [blob(number) for number in asked[0]]
                requests[wanted.digest] = wanted
            file.append(row, blobs=parts, request=wanted, durable=durable)
            entries.append(row)
            blobs |= {part.digest: part.data for part in parts}
        for kind, document in notes:
            file.note(f"n{kind}", document)
        stored = read_run(path)
        file.close()
        assert read_run(path) == stored
    assert list(stored.entries) == entries
    assert stored.blobs == blobs
    assert stored.requests == requests
    assert [(note.number, note.kind, note.document) for note in stored.notes] == [
        (number, f"n{kind}", document) for number, (kind, document) in enumerate(notes)
    ]
    assert (stored.owner, stored.closed) == (None, False)


def test_a_request_stores_what_it_adds_to_the_one_that_it_shares_most_with(run: RunFile) -> None:
    """Histories are resent: storage grows with what is new, also where several agents take turns."""
    for position in range(40):
        talk = range(100 * (position % 2), 100 * (position % 2) + position // 2 + 1)
        run.append(entry(position), request=request(*talk), blobs=map(blob, talk))
    with closing(sqlite3.connect(run.path)) as db:
        added = [json.loads(text) for (text,) in db.execute("SELECT added FROM request")]
    assert sorted(map(len, added)) == [1] * 40
    assert len(read_run(run.path).requests) == 40


def test_an_edited_history_is_stored_too(run: RunFile) -> None:
    """Histories are not append-only: shortened, changed in the middle, replaced."""
    talks = [(1, 2, 3, 4), (1, 2), (1, 9, 3, 4), (), (5,), (1, 2, 3, 4, 5), (4, 3, 2, 1)]
    for position, talk in enumerate(talks):
        run.append(entry(position), request=request(*talk), blobs=map(blob, talk))
    assert {row.digests for row in read_run(run.path).requests.values()} == {request(*talk).digests for talk in talks}


def test_equal_requests_and_blobs_are_stored_once(run: RunFile) -> None:
    for position in range(3):
        run.append(entry(position), request=request(1, 2), blobs=[blob(1), blob(2), blob(1)])
    stored = read_run(run.path)
    assert (len(stored.entries), len(stored.requests), len(stored.blobs)) == (3, 1, 2)


def test_a_closed_connection_is_taken_up_again(run: RunFile) -> None:
    """The parent makes the file, the child appends to it, the parent closes it."""
    run.append(entry(0), request=request(1), blobs=[blob(1)])
    run.close()
    for position in range(1, 4):
        again = RunFile.open(run.path)
        assert again.size() == position
        again.append(entry(position), request=request(1, position + 1), blobs=[blob(1), blob(position + 1)])
        again.close()
    assert len(read_run(run.path).entries) == 4


def test_an_entry_out_of_its_place_is_refused(run: RunFile) -> None:
    """R0-05: its position is the log's size. A gap once stored would damage the whole file."""
    run.append(entry(0))
    for position in (0, 2, 7, -1):
        with pytest.raises(StoreError):
            run.append(entry(position, "other"))
    run.append(entry(1))
    assert [row.position for row in read_run(run.path).entries] == [0, 1]


def test_what_failed_leaves_nothing_behind(run: RunFile) -> None:
    """A request that was rolled back is no base for later ones."""
    run.append(entry(0), request=request(1), blobs=[blob(1)])
    with pytest.raises(StoreError):
        run.append(entry(0, "other"), request=request(1, 2, 3), blobs=map(blob, (1, 2, 3)))
    run.append(entry(1), request=request(1, 2, 3, 4), blobs=map(blob, (1, 2, 3, 4)))
    assert set(read_run(run.path).requests) == {request(1).digest, request(1, 2, 3, 4).digest}


def test_a_full_disk_leaves_nothing_behind(run: RunFile) -> None:
    """What failed in the middle of a transaction is in no later row: no base, no count, no chain value."""
    run.append(entry(0), request=request(1), blobs=[blob(1)])
    db = run._db  # pyright: ignore[reportPrivateUsage]
    pages = db.execute("PRAGMA page_count").fetchone()[0]
    db.execute(f"PRAGMA max_page_count = {pages + 1}")
    large = replace(entry(1), observation=b"x" * 100_000)
    with pytest.raises(StoreError):
        run.append(large, request=request(1, 2, 3), blobs=map(blob, (1, 2, 3)))
    db.execute("PRAGMA max_page_count = 1000000")
    run.append(entry(1), request=request(1, 2, 3, 4), blobs=map(blob, (1, 2, 3, 4)))
    run.append(entry(2), request=request(1, 2, 3), blobs=map(blob, (1, 2, 3)))
    stored = read_run(run.path)
    assert set(stored.requests) == {request(*numbers).digest for numbers in ((1,), (1, 2, 3, 4), (1, 2, 3))}
    assert len(stored.entries) == 3


class Store(RuleBasedStateMachine):
    """Style: a store is checked against a reference store, here plain lists, by a state machine."""

    talks = Bundle("talks")

    @initialize()
    def make(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "run.sqlite"
        self.file = RunFile.create(self.path)
        self.entries: list[EntryRow] = []
        self.requests: dict[str, RequestRow] = {}
        self.blobs: dict[str, bytes] = {}
        self.notes: list[tuple[str, bytes]] = []
        self.owner: int | None = None
        self.closed = False

    @rule(target=talks, numbers=st.lists(st.integers(0, 9), max_size=4))
    def talk(self, numbers: list[int]) -> tuple[int, ...]:
        return tuple(numbers)

    @rule(target=talks, before=talks, more=st.lists(st.integers(0, 9), max_size=2), keep=st.integers(0, 6))
    def go_on(self, before: tuple[int, ...], more: list[int], keep: int) -> tuple[int, ...]:
        return (*before[:keep], *more)

    @precondition(lambda self: not self.closed)
    @rule(talk=talks, mark=st.sampled_from("mn"), durable=st.booleans())
    def append(self, talk: tuple[int, ...], mark: str, durable: bool) -> None:
        row, asked = entry(len(self.entries)), request(*talk, mark=mark)
        self.file.append(row, request=asked, blobs=map(blob, talk), durable=durable)
        self.entries.append(row)
        self.requests[asked.digest] = asked
        self.blobs |= {blob(number).digest: blob(number).data for number in talk}

    @precondition(lambda self: not self.closed)
    @rule()
    def append_an_end(self) -> None:
        self.file.append(entry(len(self.entries)))
        self.entries.append(entry(len(self.entries)))

    @precondition(lambda self: not self.closed)
    @rule(kind=st.sampled_from(["hello", "poison"]), once=st.booleans(), data=st.binary(max_size=3))
    def note(self, kind: str, once: bool, data: bytes) -> None:
        (self.file.note_once if once else self.file.note)(kind, data)
        if not once or all(held != kind for held, _ in self.notes):
            self.notes.append((kind, data))

    @precondition(lambda self: not self.closed)
    @rule(process=st.integers(1, 3))
    def claim(self, process: int) -> None:
        assert self.file.claim(process) == (self.owner is None)
        if self.owner is None:
            self.owner = process
            self.notes.append(("owner", canonical({"process": process})))

    @precondition(lambda self: not self.closed)
    @rule()
    def reopen(self) -> None:
        self.file.close()
        self.file = RunFile.open(self.path)

    @precondition(lambda self: not self.closed and self.entries)
    @rule()
    def finish(self) -> None:
        self.file.finish(b"{}")
        self.notes.append(("closing", b"{}"))
        self.closed = True

    @invariant()
    def what_is_read_is_what_was_written(self) -> None:
        stored = read_run(self.path)
        assert list(stored.entries) == self.entries
        assert stored.requests == self.requests
        assert stored.blobs == self.blobs
        assert [(note.kind, note.document) for note in stored.notes] == self.notes
        assert (stored.owner, stored.closed) == (self.owner, self.closed)

    def teardown(self) -> None:
        if hasattr(self, "file"):
            self.file.close()
            self.folder.cleanup()


Store.TestCase.settings = settings(max_examples=25, stateful_step_count=20, deadline=None)
TestStore = Store.TestCase


# ---- Making, owning, ending


def test_a_run_is_made_once_for_its_owner_alone(tmp_path: Path) -> None:
    run = RunFile.create(tmp_path / "deep" / "run.sqlite")
    assert stat.S_IMODE(run.path.stat().st_mode) == 0o600
    with pytest.raises(StoreError) as caught:
        RunFile.create(run.path)
    assert "--name" in caught.value.next_step
    run.close()


def test_a_file_that_is_not_there_is_not_opened(tmp_path: Path) -> None:
    with pytest.raises(StoreError):
        RunFile.open(tmp_path / "none.sqlite")
    assert not (tmp_path / "none.sqlite").exists()


CLAIM = """
import json, os, sys
from pathlib import Path
from anchored.storage import RunFile
run = RunFile.open(Path(sys.argv[1]))
print(json.dumps([run.claim(os.getpid()), run.claim(os.getpid())]))
run.note("hello", b"{}")
run.close()
"""


def test_a_second_process_cannot_claim_the_log(run: RunFile) -> None:
    """Two recorders on one run are refused; the second may still say something outside the log."""
    assert run.claim(os.getpid())
    assert not run.claim(os.getpid())
    done = subprocess.run([sys.executable, "-c", CLAIM, str(run.path)], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [False, False]
    stored = read_run(run.path)
    assert stored.owner == os.getpid()
    assert [note.kind for note in stored.notes] == ["owner", "hello"]


def test_of_many_that_claim_at_once_one_becomes_the_owner(tmp_path: Path) -> None:
    RunFile.create(tmp_path / "run.sqlite").close()
    files = [RunFile.open(tmp_path / "run.sqlite") for _ in range(6)]
    won: list[int] = []
    ready = threading.Barrier(6)

    def claim(number: int) -> None:
        ready.wait()
        if files[number].claim(number + 1):
            won.append(number + 1)

    threads = [threading.Thread(target=claim, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [read_run(tmp_path / "run.sqlite").owner] == won
    for file in files:
        file.close()


def test_notes_of_many_connections_are_all_kept(tmp_path: Path) -> None:
    """Other processes only add notes: none is lost, none is there twice."""
    RunFile.create(tmp_path / "run.sqlite").close()
    counter = itertools.count()

    def speak() -> None:
        file = RunFile.open(tmp_path / "run.sqlite")
        for _ in range(10):
            file.note("said", str(next(counter)).encode())
        file.close()

    threads = [threading.Thread(target=speak) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    notes = read_run(tmp_path / "run.sqlite").notes
    assert [note.number for note in notes] == list(range(40))
    assert sorted(int(note.document) for note in notes) == list(range(40))


def test_a_finished_run_is_one_file_that_nobody_may_write(run: RunFile) -> None:
    """What is immutable is a file; reading it leaves nothing beside it."""
    run.append(entry(0))
    run.finish(b"{}")
    run.close()
    assert stat.S_IMODE(run.path.stat().st_mode) == 0o400
    before = run.path.read_bytes()
    assert read_run(run.path).closed
    assert [path.name for path in run.path.parent.iterdir()] == ["run.sqlite"]
    assert run.path.read_bytes() == before


def test_a_run_is_finished_while_another_process_has_it_open(run: RunFile) -> None:
    """A process of the run that outlives its parent keeps the file open; the run is closed all the same."""
    run.append(entry(0))
    with closing(sqlite3.connect(run.path)) as reader:
        reader.execute("SELECT * FROM head").fetchall()
        run.finish(b"{}")
    assert read_run(run.path).closed
    assert stat.S_IMODE(run.path.stat().st_mode) == 0o400


@pytest.mark.parametrize("again", [False, True], ids=["same connection", "opened again"])
def test_nothing_is_added_after_the_closing(run: RunFile, again: bool) -> None:
    """A process that still runs must not be able to damage what was closed."""
    run.append(entry(0))
    late = RunFile.open(run.path) if again else run
    if again:
        late.close()
    run.finish(b"{}")
    stored = read_run(run.path)
    if again:
        late = RunFile.open(run.path)
    for act in (
        lambda: late.append(entry(1)),
        lambda: late.note("late", b"{}"),
        lambda: late.note_once("later", b"{}"),
        lambda: late.claim(5),
        lambda: late.finish(b"{}"),
    ):
        with pytest.raises(StoreError):
            act()
    late.close()
    assert read_run(run.path) == stored


def test_a_live_run_can_be_watched(run: RunFile) -> None:
    """The parent looks at notes and size while the child writes."""
    run.note("hello", b"1")
    run.note("hello", b"2")
    run.note("other", b"3")
    run.append(entry(0))
    watcher = RunFile.open(run.path)
    assert watcher.notes("hello") == [b"1", b"2"]
    assert watcher.notes("none") == []
    assert watcher.size() == 1
    watcher.close()


def test_a_forked_process_can_go_on_noting(run: RunFile) -> None:
    """SQLite connections do not survive a fork; the file does."""
    run.note("parent", b"1")
    child = os.fork()
    if child == 0:
        try:
            run.note("child", b"2")
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    run.note("parent", b"3")
    run.append(entry(0))
    assert [note.kind for note in read_run(run.path).notes] == ["parent", "child", "parent"]


def test_text_that_cannot_be_stored_is_no_reason_to_lose_the_run(run: RunFile) -> None:
    """What one call cannot write, the next one can: the transaction is rolled back whole."""
    run.append(entry(0))
    with pytest.raises((StoreError, ValueError)):
        run.note("\ud800", b"{}")
    bad = BlobRow(kind="\ud800", digest=digest("message", b""), data=b"")
    with pytest.raises((StoreError, ValueError)):
        run.append(entry(1), blobs=[blob(1), bad])
    run.append(entry(1), blobs=[blob(2)])
    stored = read_run(run.path)
    assert len(stored.entries) == 2
    assert set(stored.blobs) == {blob(2).digest}
