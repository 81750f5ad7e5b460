"""The stored file, changed in 800 ways without hashing anew: reading it always refuses (R0-07, R0-11; issue 4a).

Every mutation is drawn from a seed, which is printed; ANCHORED_TEST_SEED draws others.
"""

from __future__ import annotations

import random
import shutil
import sqlite3
from collections import Counter
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from anchored.errors import AnchoredError, DamagedError, StoreError, UnsupportedError
from anchored.library import Library, load
from anchored.recording import Recording
from anchored.storage import read_run

COLUMNS = {
    "head": ("size", "chain", "blobs", "requests", "notes", "owner", "closed"),
    "entry": ("position", "digest", "document", "observation", "chain"),
    "blob": ("digest", "kind", "data"),
    "request": ("digest", "before", "after", "field", "base", "keep", "added", "row"),
    "note": ("number", "kind", "document", "digest"),
}
KEYS = {"head": "id", "entry": "position", "blob": "digest", "request": "digest", "note": "number"}
Mutation = Callable[[sqlite3.Connection, random.Random], str]


def rows(db: sqlite3.Connection, table: str) -> list[tuple[Any, ...]]:
    return db.execute(f"SELECT {', '.join(COLUMNS[table])} FROM {table} ORDER BY {KEYS[table]}").fetchall()


def contents(db: sqlite3.Connection) -> list[Any]:
    """All that a reader is to verify."""
    schema = db.execute("SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY name").fetchall()
    pragmas = [db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("user_version", "application_id")]
    held: list[Any] = []
    with suppress(sqlite3.OperationalError):  # a table or column is gone, as the schema shows
        held.extend(rows(db, table) for table in COLUMNS)
    return [schema, pragmas, held]


def other(value: Any, chance: random.Random, pool: list[Any]) -> Any:
    """Another value of the same type, near or far; sometimes that of another row."""
    if chance.random() < 0.3 and pool:
        return chance.choice(pool)
    if value is None:
        return chance.choice(["messages", "0" * 64, 1, 4242])
    if isinstance(value, int):
        return chance.choice([value + 1, value - 1, 0, 1, -1, value ^ (1 << chance.randrange(8)), 2**62, -(2**62)])
    if isinstance(value, bytes):
        if not value:
            return b"\x00"
        place = chance.randrange(len(value))
        flipped = value[:place] + bytes([value[place] ^ (1 << chance.randrange(8))]) + value[place + 1 :]
        return chance.choice([flipped, value[:-1], value[1:], value + b" ", value[:place], b"", value + value])
    place = chance.randrange(len(value) + 1)
    replaced = value[:place] + chance.choice("0123456789abcdef") + value[place + 1 :]
    return chance.choice([replaced, value.upper(), value[:-1], value + "\n", value[:place] + value[place + 1 :], ""])


def change_field(db: sqlite3.Connection, chance: random.Random) -> str:
    return change_column(chance.choice(list(COLUMNS)), None)(db, chance)


def change_column(table: str, column: str | None) -> Mutation:
    def change(db: sqlite3.Connection, chance: random.Random) -> str:
        name = column or chance.choice(COLUMNS[table])
        key = KEYS[table]
        held = db.execute(f"SELECT {key}, {name} FROM {table}").fetchall()
        place, value = chance.choice(held)
        pool = [item for _, item in held if item != value]
        nullable = (table, name) in (("head", "owner"), ("request", "field"), ("request", "base"))
        new = None if nullable and chance.random() < 0.3 else other(value, chance, pool)
        db.execute(f"UPDATE {table} SET {name} = ? WHERE {key} = ?", (new, place))
        return f"{table}.{name} of {place!r}: {str(value)[:60]!r} → {str(new)[:60]!r}"

    return change


def insert(db: sqlite3.Connection, chance: random.Random) -> str:
    """A copy of a row, or of the values of several, under a key that is free."""
    table = chance.choice(["entry", "blob", "request", "note", "entry", "note"])
    columns = COLUMNS[table]
    held = rows(db, table)
    row = [chance.choice(held)[place] for place in range(len(columns))] if chance.random() < 0.5 else None
    values = row or list(chance.choice(held))
    place = columns.index(KEYS[table])
    last = held[-1][place]
    keys = [last + 1, last + 2, -1] if isinstance(last, int) else [chance.randbytes(32).hex(), ""]
    values[place] = chance.choice(keys)
    db.execute(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})", values)
    return f"a row more in {table}: {str(values)[:100]}"


def insert_before(db: sqlite3.Connection, chance: random.Random) -> str:
    """A row in the middle, those behind it moved on by one."""
    table = chance.choice(["entry", "note"])
    key = KEYS[table]
    held = rows(db, table)
    place = chance.randrange(len(held))
    db.execute(f"UPDATE {table} SET {key} = -{key} - 2 WHERE {key} >= ?", (place,))
    db.execute(f"UPDATE {table} SET {key} = -{key} - 1 WHERE {key} < 0")
    values = list(chance.choice(held))
    values[COLUMNS[table].index(key)] = place
    marks = ", ".join("?" * len(values))
    db.execute(f"INSERT INTO {table} ({', '.join(COLUMNS[table])}) VALUES ({marks})", values)
    return f"a row in {table} before {place}"


def delete(db: sqlite3.Connection, chance: random.Random) -> str:
    table = chance.choice(["entry", "blob", "request", "note", "head"])
    key = KEYS[table]
    place = chance.choice(db.execute(f"SELECT {key} FROM {table}").fetchall())[0]
    db.execute(f"DELETE FROM {table} WHERE {key} = ?", (place,))
    return f"{table} {place!r} deleted"


def delete_and_close_up(db: sqlite3.Connection, chance: random.Random) -> str:
    """A row gone, those behind it moved up, and perhaps the head's count with them."""
    table, count = chance.choice([("entry", "size"), ("note", "notes")])
    key = KEYS[table]
    place = chance.randrange(len(rows(db, table)))
    db.execute(f"DELETE FROM {table} WHERE {key} = ?", (place,))
    db.execute(f"UPDATE {table} SET {key} = -{key} WHERE {key} > ?", (place,))
    db.execute(f"UPDATE {table} SET {key} = -{key} - 1 WHERE {key} < 0")
    if chance.random() < 0.7:
        db.execute(f"UPDATE head SET {count} = {count} - 1")
    return f"{table} {place} deleted and closed up"


def swap(db: sqlite3.Connection, chance: random.Random) -> str:
    """Two rows of a table with each other's content, or with one column of it."""
    table = chance.choice(["entry", "blob", "request", "note"])
    key = KEYS[table]
    one, two = chance.sample([row[0] for row in db.execute(f"SELECT {key} FROM {table}")], 2)
    names = [name for name in COLUMNS[table] if name != key]
    if chance.random() < 0.5:
        names = [chance.choice(names)]
    held = {
        item: db.execute(f"SELECT {', '.join(names)} FROM {table} WHERE {key} = ?", (item,)).fetchone()
        for item in (one, two)
    }
    marks = ", ".join(f"{name} = ?" for name in names)
    for place, source in ((one, two), (two, one)):
        db.execute(f"UPDATE {table} SET {marks} WHERE {key} = ?", (*held[source], place))
    return f"{', '.join(names)} of {table} {one!r} and {two!r} swapped"


def truncate_log(db: sqlite3.Connection, chance: random.Random) -> str:
    """The last entries gone, and the head's count and chain set to what remains, as far as one knows how."""
    size = len(rows(db, "entry"))
    keep = chance.randrange(size)
    db.execute("DELETE FROM entry WHERE position >= ?", (keep,))
    if chance.random() < 0.5:
        chain = db.execute("SELECT chain FROM entry WHERE position = ?", (keep - 1,)).fetchone()
        db.execute("UPDATE head SET size = ?, chain = coalesce(?, chain)", (keep, chain[0] if chain else None))
    return f"{size - keep} last entries gone"


def empty_table(db: sqlite3.Connection, chance: random.Random) -> str:
    table = chance.choice(list(COLUMNS))
    db.execute(f"DELETE FROM {table}")
    return f"all of {table} deleted"


def change_head(db: sqlite3.Connection, chance: random.Random) -> str:
    return change_column("head", None)(db, chance)


def flip_closed(db: sqlite3.Connection, chance: random.Random) -> str:
    value = chance.choice([0, 2, -1, 256])
    db.execute("UPDATE head SET closed = ?", (value,))
    if value == 0 and chance.random() < 0.5:
        db.execute("DELETE FROM note WHERE kind = 'closing'")
    return f"closed = {value}"


def change_pragma(db: sqlite3.Connection, chance: random.Random) -> str:
    name = chance.choice(["user_version", "application_id"])
    value = chance.choice([0, 2, 7, -1, 2**31 - 1, chance.randrange(3, 2**31)])
    db.execute(f"PRAGMA {name} = {value}")
    return f"PRAGMA {name} = {value}"


SCHEMAS = (
    "CREATE TABLE other (a)",
    "CREATE TABLE entries AS SELECT * FROM entry",
    "CREATE VIEW look AS SELECT * FROM entry",
    "CREATE INDEX quick ON entry (digest)",
    "CREATE TRIGGER late AFTER INSERT ON note BEGIN DELETE FROM entry; END",
    "CREATE TEMP TABLE x (a); CREATE TABLE y (a)",
    "DROP TABLE blob",
    "DROP TABLE request",
    "DROP TABLE note",
    "DROP TABLE head",
    "DROP TABLE entry",
    "ALTER TABLE note ADD COLUMN more TEXT",
    "ALTER TABLE entry RENAME COLUMN chain TO links",
    "ALTER TABLE blob RENAME TO blobs",
    "CREATE TABLE note2 (number INTEGER PRIMARY KEY); DROP TABLE note; ALTER TABLE note2 RENAME TO note",
)


def change_schema(db: sqlite3.Connection, chance: random.Random) -> str:
    sql = chance.choice(SCHEMAS)
    db.executescript(sql)
    return sql


WAYS: dict[str, tuple[int, Mutation]] = {
    **{f"{table}.{column}": (8, change_column(table, column)) for table, names in COLUMNS.items() for column in names},
    "field": (200, change_field),
    "head": (20, change_head),
    "insert": (100, insert),
    "insert before": (20, insert_before),
    "delete": (50, delete),
    "delete and close up": (20, delete_and_close_up),
    "swap": (100, swap),
    "truncate log": (20, truncate_log),
    "empty": (10, empty_table),
    "closed": (8, flip_closed),
    "pragma": (20, change_pragma),
    "schema": (30, change_schema),
}


def mutated(source: Path, target: Path, mutation: Mutation, chance: random.Random) -> str | None:
    """A copy with one mutation in it; what it was, or None if it changed nothing."""
    shutil.copyfile(source, target)
    with closing(sqlite3.connect(target, isolation_level=None)) as db:
        db.execute("PRAGMA synchronous = OFF")
        before = contents(db)
        db.execute("BEGIN")
        try:
            what = mutation(db, chance)
        except (sqlite3.IntegrityError, OverflowError, IndexError):
            return None
        with suppress(sqlite3.OperationalError):  # executescript committed already
            db.execute("COMMIT")
        return what if contents(db) != before else None


@pytest.fixture(scope="module")
def run_path(stored_team: tuple[Library, str]) -> Path:
    library, name = stored_team
    return library.path(name)


def same(one: Recording, other: Recording) -> bool:
    return (one.opening, one.closing, list(one.records), list(one.notes), one.digest) == (
        other.opening,
        other.closing,
        list(other.records),
        list(other.notes),
        other.digest,
    )


def test_a_copy_loads_equal(run_path: Path, tmp_path: Path) -> None:
    """The other side: what was not changed is read, and is what was written."""
    shutil.copyfile(run_path, tmp_path / "copy.sqlite")
    copy = load(tmp_path / "copy.sqlite")
    original = load(run_path)
    assert same(copy, original)
    assert len(copy.log) >= 30
    assert copy.closing is not None
    assert read_run(tmp_path / "copy.sqlite") == read_run(run_path)
    assert any(row.digests and row.field for row in read_run(run_path).requests.values())


def test_no_mutation_of_the_stored_file_is_read(run_path: Path, tmp_path: Path, seed: int, figures: Any) -> None:
    """R0-07, R0-11: single fields of every column of every table, inserts, deletions, swaps, truncations, schema."""
    counted: Counter[str] = Counter()
    accepted: list[str] = []
    for way, (times, mutation) in WAYS.items():
        number = 0
        while counted[way] < times:
            number += 1
            assert number < 60 * times, f"{way} finds nothing to change"
            chance = random.Random(f"{seed}/{way}/{number}")
            target = tmp_path / "mutated.sqlite"
            what = mutated(run_path, target, mutation, chance)
            if what is None:
                continue
            counted[way] += 1
            # A log cut short, with a head that says so, is a log; the closing and the references say otherwise.
            for read in (load,) if way == "truncate log" else (read_run, load):
                try:
                    read(target)
                    told = "was read"
                except DamagedError:
                    continue
                except Exception as error:
                    told = f"{type(error).__name__}: {error}"
                accepted.append(f"seed {seed}, {way} {number}, {read.__name__}: {what} ({told})")
    print(f"seed {seed}: {counted.total()} mutations")
    figures.add(
        "mutations of a stored run, without hashing anew",
        "tests/storage/test_mutations.py::test_no_mutation_of_the_stored_file_is_read",
        entries=len(load(run_path).log),
        mutations=counted.total(),
        read=len(accepted),
        seed=seed,
    )
    assert not accepted, "\n".join(accepted)
    assert counted.total() >= 500


def test_no_truncated_file_is_read(run_path: Path, tmp_path: Path, seed: int) -> None:
    """R0-07: cut anywhere, at page boundaries too; StoreError only where SQLite cannot open it at all."""
    chance = random.Random(seed)
    data = run_path.read_bytes()
    pages = range(0, len(data), 4096)
    lengths = {0, 1, 15, 16, 99, 100, 511, 512, len(data) - 1, *chance.sample(pages, 15)}
    lengths |= {chance.randrange(len(data)) for _ in range(40)}
    for length in sorted(lengths):
        target = tmp_path / "cut.sqlite"
        target.write_bytes(data[:length])
        with pytest.raises((DamagedError, StoreError)):
            load(target)
            pytest.fail(f"seed {seed}: cut to {length} of {len(data)} bytes")


def test_flipped_bytes_are_refused_or_lie_outside_what_is_read(run_path: Path, tmp_path: Path, seed: int) -> None:
    """R0-07: one bit of the file, anywhere. Free space may differ; what is read may not, and no other error comes.

    A bit flipped in a text makes it invalid UTF-8; one flipped in a row's header makes NULL of what cannot be null.
    """
    chance = random.Random(seed)
    original = load(run_path)
    data = run_path.read_bytes()
    seen: Counter[str] = Counter()
    wrong: list[str] = []
    for number in range(150):
        place, bit = chance.randrange(len(data)), chance.randrange(8)
        target = tmp_path / f"flipped{number % 2}.sqlite"
        target.write_bytes(data[:place] + bytes([data[place] ^ (1 << bit)]) + data[place + 1 :])
        try:
            recording = load(target)
            seen["read"] += 1
            if not same(recording, original):
                wrong.append(f"seed {seed}: byte {place} bit {bit} read as another recording")
        except AnchoredError:
            seen["refused"] += 1
        except Exception as error:
            wrong.append(f"seed {seed}: byte {place} bit {bit}: {type(error).__name__}: {error}")
        for rest in tmp_path.glob("flipped*"):
            rest.unlink()
    print(seen)
    assert not wrong, "\n".join(wrong)
    assert seen["refused"] > 40


def edit(run_path: Path, tmp_path: Path, *statements: str) -> Path:
    target = tmp_path / "edited.sqlite"
    shutil.copyfile(run_path, target)
    with closing(sqlite3.connect(target, isolation_level=None)) as db:
        for statement in statements:
            db.execute(statement)
    return target


@pytest.mark.parametrize(
    ("table", "column"),
    [
        ("head", "chain"),
        ("entry", "digest"),
        ("entry", "chain"),
        ("blob", "kind"),
        ("request", "field"),
        ("request", "base"),
        ("request", "added"),
        ("request", "row"),
        ("note", "kind"),
        ("note", "digest"),
    ],
)
def test_text_that_is_no_utf8_is_damage(run_path: Path, tmp_path: Path, table: str, column: str) -> None:
    """R0-07: Python's own OperationalError for it has no `sqlite_errorcode`."""
    key = KEYS[table]
    statement = f"UPDATE {table} SET {column} = CAST(x'ff' AS TEXT) WHERE {key} = (SELECT max({key}) FROM {table})"
    with pytest.raises(DamagedError):
        load(edit(run_path, tmp_path, statement))


@pytest.mark.parametrize("text", ["[" * 100_000, "[" + "9" * 5000 + "]", "null", "{}", '"a"', "[1]", "[[]]", ""])
def test_what_a_request_adds_is_a_list_of_digests(run_path: Path, tmp_path: Path, text: str) -> None:
    """H-07, H-08."""
    with pytest.raises(DamagedError):
        load(edit(run_path, tmp_path, f"UPDATE request SET added = '{text}'"))


@pytest.mark.parametrize(
    "statement", ["CREATE TABLE sqliteX (a)", "CREATE VIEW sqlite1 AS SELECT 1", "CREATE TABLE SQLITE9 (a)", "ANALYZE"]
)
def test_no_table_hides_behind_its_name(run_path: Path, tmp_path: Path, statement: str) -> None:
    """In `LIKE 'sqlite_%'` the underscore stands for any character, and sqlite_stat1 is a table too."""
    with pytest.raises(DamagedError):
        load(edit(run_path, tmp_path, statement))


def test_the_heads_id_is_read(run_path: Path, tmp_path: Path) -> None:
    """Law 8: every stored byte is verified, the one that a constraint fixes too."""
    with pytest.raises(DamagedError):
        load(edit(run_path, tmp_path, "PRAGMA ignore_check_constraints = 1", "UPDATE head SET id = 7"))


def test_a_newer_schema_is_refused_as_such(run_path: Path, tmp_path: Path) -> None:
    """Style 4: newer refused, and the reader is told."""
    with pytest.raises(UnsupportedError) as caught:
        load(edit(run_path, tmp_path, "PRAGMA user_version = 2"))
    assert "newer" in caught.value.next_step


@pytest.mark.parametrize("data", [b"", b"text", b"SQLite format 3\x00", b"\x00" * 5000])
def test_what_is_no_run_is_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "x.sqlite").write_bytes(data)
    with pytest.raises(DamagedError):
        load(tmp_path / "x.sqlite")


def test_what_is_not_there_or_is_a_folder_is_a_store_error(tmp_path: Path) -> None:
    for path in (tmp_path / "none.sqlite", tmp_path):
        with pytest.raises(StoreError):
            load(path)


def test_another_sqlite_file_is_refused(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "x.sqlite")) as db:
        db.execute("CREATE TABLE entry (a)")
        db.commit()
    with pytest.raises(DamagedError):
        load(tmp_path / "x.sqlite")
