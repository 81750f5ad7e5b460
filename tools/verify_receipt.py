#!/usr/bin/env python3
"""Verify a replay receipt from its specification (docs/design/identity.md) alone.

Shares no code with the package and needs nothing but the Python standard library. The steps, in this order, each marked
in the code; 10 to 15 need the leaf files of both recordings:

 1. The receipt is one JSON value within the limits, stored as exactly its canonical bytes (RFC 8785).
 2. The receipt has a statement type and a predicate version that this verifier knows.
 3. The receipt has exactly the specified fields, each of its type and within its range.
 4. The receipt's own digest is that of the statement without it.
 5. The subject, the combined digest and the replay's recording are one digest.
 6. The prefix digest is that of the prefix's size and head.
 7. The anchor, the sizes and the heads are those that the mode allows; what was carried began before the anchor.
 8. Both consistency proofs lead from the prefix to the recordings (RFC 9162, section 2.1.4.2).
 9. The suffixes' counts and digests and `regenerated` agree with each other and with the recordings.
10. The leaf files are canonical, of a known version, with exactly the specified fields.
11. Each recording's size, head, digest and configuration, by its leaf file, are the receipt's.
12. The prefix entries are the same in both recordings and have the receipt's prefix head.
13. The anchor's entry is the source's entry at the anchor's position.
14. Both suffix digests, computed from the entries, are the receipt's.
15. `regenerated`, computed from the entries, is the receipt's.

Exit status: 0 everything checked holds, 2 wrong usage, 5 tampered, damaged or unsupported data.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from typing import Literal, NamedTuple, NoReturn, TypeAlias, cast

Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | bool | None"
Schema: TypeAlias = "dict[str, Schema] | Array | Nullable | Text | Plain"
Level: TypeAlias = Literal["self-consistent", "matches the recordings"]

RECEIPT_LIMIT = 16 * 2**20  # bytes
LEAVES_LIMIT = 512 * 2**20  # bytes
DEPTH_LIMIT = 32
INTEGER_LIMIT = 2**53 - 1
NAME_LIMIT = 256  # characters
NAMES_LIMIT = 1000  # names in a list
EMPTY_HEAD = sha256(b"").hexdigest()
STEPS = {int(number): title for number, title in re.findall(r"(?m)^ ?(\d+)\. (.+)$", __doc__ or "")}

AGAIN = "get the file again from whoever made it; do not repair it by hand"
DISTRUST = "do not rely on this receipt; make a new one from the recordings"
OTHER_FILES = "check that --source and --replay are this receipt's recordings, not swapped; else do not rely on it"
MEANING: dict[Level, str] = {
    "self-consistent": (
        "The receipt agrees with itself. This does not prove that its recordings exist: a receipt altered and rehashed "
        "throughout gets here too, and only leaf files from someone you trust, or a signature, tie it to recordings. "
        "A receipt gives no authority to execute anything."
    ),
    "matches the recordings": (
        "Both recordings, their shared prefix, the anchor's entry and both suffixes are those of the leaf files, which "
        "proves as much as you trust whoever gave you these. What is in no leaf file (the anchor's event id, that the "
        "replay went live at the anchor, and what is listed last) is not proved. "
        "A receipt gives no authority to execute anything."
    ),
}
ABOUT = ("mode", "source", "replay", "anchor", "regenerated")
# In no leaf file: whoever alters these and rehashes the receipt is found out at neither level.
STATED = (
    "plan",
    "intervention",
    "changed",
    "carried",
    "effects",
    "normalisations",
    "unobserved",
    "background",
    "ambient",
    "counts",
)


class Refused(Exception):
    """Tampered, damaged or unsupported data; `step` is the number of the step that failed."""

    def __init__(self, expected: str, found: str, next_step: str) -> None:
        super().__init__(f"expected {expected}; found {found}; next: {next_step}")
        self.expected: str = expected
        self.found: str = found
        self.next_step: str = next_step
        self.step: int | None = None


@dataclass(frozen=True, kw_only=True)
class Report:
    """The level reached, the titles of the steps that led there, and the receipt's predicate as parsed."""

    level: Level
    steps: tuple[str, ...]
    predicate: dict[str, Json]


# ---- Bytes and text


def canonical(value: Json) -> bytes:
    """RFC 8785 for ASCII keys (so that code point order is UTF-16 order) and no floats."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode()


def digest(kind: str, value: Json) -> str:
    """H(kind, JCS(value)), in hexadecimal."""
    return sha256(b"anchored/" + kind.encode() + b"/v1\0" + canonical(value)).hexdigest()


def printable(text: str) -> str:
    """Printable ASCII: control, bidi and all other characters become escapes."""
    return text.encode("unicode_escape").decode("ascii")


def ascii_json(value: object, indent: int | None = None) -> str:
    """JSON in printable ASCII; `json` leaves U+007F alone, which can stand only inside strings."""
    return json.dumps(value, indent=indent).replace("\x7f", "\\u007f")


def shown(value: Json) -> str:
    """A value for a message: short, escaped."""
    if isinstance(value, dict | list):
        return f"an {'object' if isinstance(value, dict) else 'array'} of {len(value)}"
    return ascii_json(value) if not isinstance(value, str) or len(value) <= 80 else ascii_json(value[:80]) + " and more"


def expect(what: str, expected: Json, found: Json, next_step: str = DISTRUST) -> None:
    if found != expected:
        raise Refused(f"{what} {shown(expected)}", shown(found), next_step)


# ---- Parsing


def read_object(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise Refused("each key once in an object", "a duplicate key", AGAIN)
    if not all(map(str.isascii, found)):
        raise Refused("ASCII keys", "another key", AGAIN)
    return found


def read_integer(text: str) -> int:
    if len(text) > 17 or abs(int(text)) > INTEGER_LIMIT:  # the length first: int() is slow on long texts
        raise Refused("integers within 2^53-1 of zero", f"an integer of {len(text)} characters", AGAIN)
    return int(text)


def refuse_number(text: str) -> NoReturn:
    raise Refused("no numbers but integers", shown(text), AGAIN)


def check_depth(raw: bytes, what: str) -> None:
    """Runs before the recursive parser and, up to that one's first error, sees the brackets it will see."""
    depth = 0
    for token in re.finditer(rb'"(?:[^"\\]++|\\.)*+"?+|[][{}]', raw, re.DOTALL):
        start = raw[token.start()]
        depth += (start in b"[{") - (start in b"]}")
        if depth > DEPTH_LIMIT:
            raise Refused(f"{what} at most {DEPTH_LIMIT} deep", f"deeper nesting at byte {token.start()}", AGAIN)


def parse(raw: bytes, limit: int, what: str) -> Json:
    """The value of a file that must be its own canonical bytes."""
    if len(raw) > limit:
        raise Refused(f"{what} of at most {limit} bytes", "more", AGAIN)
    check_depth(raw, what)
    reader = json.JSONDecoder(
        object_pairs_hook=read_object, parse_int=read_integer, parse_float=refuse_number, parse_constant=refuse_number
    )
    try:
        value = cast("Json", reader.decode(raw.decode()))
        again = canonical(value)
    except json.JSONDecodeError as error:
        raise Refused(
            f"{what} as one JSON value", f"{printable(error.msg)}, at character {error.pos}", AGAIN
        ) from error
    except UnicodeDecodeError as error:
        raise Refused(f"{what} in UTF-8", f"another byte at {error.start}", AGAIN) from error
    except UnicodeEncodeError as error:
        raise Refused("texts that are valid Unicode", "a lone surrogate", AGAIN) from error
    if again != raw:
        same = next((i for i, (a, b) in enumerate(zip(raw, again, strict=False)) if a != b), min(len(raw), len(again)))
        raise Refused(f"{what} as its canonical bytes (RFC 8785)", f"a difference at byte {same}", AGAIN)
    return value


# ---- Fields


class Text(NamedTuple):
    expected: str
    pattern: str


class Plain(NamedTuple):
    expected: str
    type: type[int]  # bool and int are told apart
    least: int = 0


class Array(NamedTuple):
    of: Schema
    least: int = 0
    most: int = LEAVES_LIMIT
    ordered: bool = False  # sorted, each once


class Nullable(NamedTuple):
    of: Schema


def one_of(*words: str) -> Text:
    return Text(" or ".join(words), "|".join(map(re.escape, words)))


HASH = Text("64 lowercase hexadecimal digits", "[0-9a-f]{64}")
NAME = Text(f"1 to {NAME_LIMIT} characters", f"(?s:.){{1,{NAME_LIMIT}}}")
COUNT = Plain("an integer, not negative", int)
NUMBER = Plain("an integer from 1", int, least=1)
FLAG = Plain("true or false", bool)
TREE: dict[str, Schema] = {"recording": HASH, "size": COUNT, "head": HASH}
SUFFIX: Schema = {"digest": HASH, "entries": COUNT}
RECEIPT: Schema = {
    "_type": one_of("https://in-toto.io/Statement/v1"),
    "predicateType": one_of("urn:anchored:replay:v1"),
    "subject": Array({"name": one_of("replay"), "digest": {"anchoredRecordingV1": HASH}}, least=1, most=1),
    "predicate": {
        "authority": one_of("none"),
        "mode": one_of("full", "anchored"),
        "source": TREE,
        "replay": TREE,
        "prefix": {"digest": HASH, "size": COUNT, "head": HASH},
        "proofs": {"source": Array(HASH), "replay": Array(HASH)},
        "anchor": Nullable({"digest": HASH, "event": HASH, "position": COUNT, "entry": HASH}),
        "plan": {"digest": HASH, "attempt": NUMBER},
        "intervention": {"kind": NAME, "digest": HASH, "opaque": FLAG},
        "configuration": {"source": HASH, "replay": HASH},
        "changed": Array(NAME, most=NAMES_LIMIT, ordered=True),
        "carried": Array({"event": COUNT, "result": HASH}),
        "admission": one_of("not-evaluated"),
        "external_state": one_of("not-evaluated"),
        "effects": {"allow": FLAG, "declarations": Nullable(HASH)},
        "normalisations": Array(NAME, most=NAMES_LIMIT, ordered=True),
        "unobserved": Array(NAME, most=NAMES_LIMIT, ordered=True),
        "background": Array(NAME, most=NAMES_LIMIT, ordered=True),
        "ambient": Nullable(
            {"kinds": Array(NAME, most=NAMES_LIMIT, ordered=True), "streams": HASH, "incomplete": FLAG}
        ),
        "recorder": one_of("in-process"),
        "counts": dict.fromkeys(
            ("served", "live", "replaced", "carried", "covered", "containers", "substituted"), COUNT
        ),
        "regenerated": one_of("none", "verbatim", "new"),
        "suffix": SUFFIX,
        "source_suffix": SUFFIX,
        "combined": HASH,
        "digest": HASH,
    },
}
DOCUMENTS = ("task", "state", "configuration", "stop", "final")
LEAVES: Schema = {
    **TREE,
    "format": one_of("anchored-leaves/v1"),
    "entries": Array(HASH),
    **dict.fromkeys(DOCUMENTS, Nullable(HASH)),
}


def check(value: Json, schema: Schema, where: str) -> None:
    """Refuse a value that is not exactly what its schema says."""
    if isinstance(schema, Nullable):
        if value is not None:
            check(value, schema.of, where)
    elif isinstance(schema, Text):
        if not isinstance(value, str) or re.fullmatch(schema.pattern, value) is None:
            raise Refused(f"{where} to be {schema.expected}", shown(value), AGAIN)
    elif isinstance(schema, Plain):
        if not isinstance(value, int) or type(value) is not schema.type or value < schema.least:
            raise Refused(f"{where} to be {schema.expected}", shown(value), AGAIN)
    elif isinstance(schema, Array):
        if not isinstance(value, list) or not schema.least <= len(value) <= schema.most:
            raise Refused(f"{where} to be an array of {schema.least} to {schema.most}", shown(value), AGAIN)
        for index, each in enumerate(value):
            check(each, schema.of, f"{where}[{index}]")
        if schema.ordered and value != sorted(set(map(str, value))):
            raise Refused(f"{where} sorted, each once", shown(value), AGAIN)
    elif not isinstance(value, dict):
        raise Refused(f"{where} to be an object", shown(value), AGAIN)
    elif value.keys() != schema.keys():
        unknown = ", ".join(map(shown, sorted(value.keys() - schema.keys())[:5])) or "none"
        missing = ", ".join(sorted(schema.keys() - value.keys())) or "none"
        raise Refused(f"{where} with exactly its fields", f"unknown: {unknown}; missing: {missing}", AGAIN)
    else:
        for name, each in value.items():
            check(each, schema[name], f"{where}.{name}")


def check_version(value: Json, name: str, known: str) -> None:
    """Comes before the fields, because another version has other fields."""
    found = value.get(name) if isinstance(value, dict) else value
    if isinstance(found, str) and found != known and re.fullmatch(re.escape(known[:-1]) + "[1-9][0-9]*", found):
        raise Refused(f"{name} {known}", f"a newer version, unsupported: {shown(found)}", "use that version's verifier")
    if found != known:
        raise Refused(f"{name} {known}", f"unsupported: {shown(found)}", "check that this is the file you meant")


class Document(NamedTuple):
    """A checked value, read by path: the schema has made each cast true."""

    value: Json

    def get(self, path: str) -> Json:
        value = self.value
        for name in path.split("."):
            value = cast("dict[str, Json]", value)[name]
        return value

    def text(self, path: str) -> str:
        return cast("str", self.get(path))

    def number(self, path: str) -> int:
        return cast("int", self.get(path))

    def texts(self, path: str) -> list[str]:
        return cast("list[str]", self.get(path))


# ---- The log (RFC 9162)


def node(left: bytes, right: bytes) -> bytes:
    return sha256(b"\x01" + left + right).digest()


def root(inputs: Iterable[bytes]) -> str:
    """The Merkle tree hash of leaf inputs (section 2.1.1), kept as one perfect subtree per bit of their number."""
    subtrees: list[bytes] = []
    for index, leaf in enumerate(inputs):
        subtree = sha256(b"\x00" + leaf).digest()
        for _ in range((index ^ (index + 1)).bit_length() - 1):
            subtree = node(subtrees.pop(), subtree)
        subtrees.append(subtree)
    while len(subtrees) > 1:
        right = subtrees.pop()
        subtrees.append(node(subtrees.pop(), right))
    return subtrees[0].hex() if subtrees else EMPTY_HEAD


def is_consistent(first: int, first_head: str, second: int, second_head: str, proof: Sequence[str]) -> bool:
    """Section 2.1.4.2, and the two cases that have no proof: an empty first tree and one size."""
    if first in (0, second):
        return not proof and first_head == (second_head if first == second else EMPTY_HEAD)
    if first > second or not proof:
        return False
    path = [bytes.fromhex(each) for each in proof]
    if first & (first - 1) == 0:
        path.insert(0, bytes.fromhex(first_head))
    fn, sn = first - 1, second - 1
    while fn & 1:
        fn, sn = fn >> 1, sn >> 1
    fr = sr = path[0]
    for each in path[1:]:
        if sn == 0:
            return False
        if fn & 1 or fn == sn:
            fr, sr = node(each, fr), node(each, sr)
            while fn and not fn & 1:
                fn, sn = fn >> 1, sn >> 1
        else:
            sr = node(sr, each)
        fn, sn = fn >> 1, sn >> 1
    return sn == 0 and fr.hex() == first_head and sr.hex() == second_head


# ---- Steps


def check_own_digest(statement: Json, predicate: dict[str, Json]) -> None:
    without: Json = {name: value for name, value in predicate.items() if name != "digest"}
    own = digest("receipt", {**cast("dict[str, Json]", statement), "predicate": without})
    expect("the receipt's own digest to be", own, predicate["digest"])


def check_carried(r: Document) -> None:
    carried = [Document(cast("dict[str, Json]", item)) for item in cast("list[Json]", r.get("carried"))]
    places = [-1, *(item.number("event") for item in carried), r.number("prefix.size")]
    if places != sorted(set(places)):
        raise Refused("carried events in order, begun before the anchor", f"{places[1:-1]}", DISTRUST)
    expect("as many carried events as are counted,", len(carried), r.get("counts.carried"))


def check_mode(r: Document) -> None:
    check_carried(r)
    if (r.text("mode") == "full") != (r.get("anchor") is None):
        raise Refused("an anchor in mode anchored and none in mode full", "the contrary", DISTRUST)
    if r.text("mode") == "full":
        for name in ("source", "replay"):
            expect(f"in mode full the {name}'s size to be the prefix's,", r.get("prefix.size"), r.get(f"{name}.size"))
            expect(f"in mode full the {name}'s head to be the prefix's,", r.get("prefix.head"), r.get(f"{name}.head"))
        return
    expect("the anchor's position to be the prefix's size,", r.get("prefix.size"), r.get("anchor.position"))
    if r.number("prefix.size") >= r.number("source.size"):
        raise Refused("an anchor inside the source", "a position at or beyond the source's end", DISTRUST)
    content = {name: r.get(f"anchor.{name}") for name in ("event", "position", "entry")}
    anchor = digest("anchor", {**content, "prefix": r.get("prefix.digest")})
    expect("the anchor's digest to be", anchor, r.get("anchor.digest"))


def check_proof(r: Document, name: str) -> None:
    first, second = r.number("prefix.size"), r.number(f"{name}.size")
    head, proof = r.text(f"{name}.head"), r.texts(f"proofs.{name}")
    if second == 0:
        expect(f"the empty {name}'s head to be", EMPTY_HEAD, head)
    if not is_consistent(first, r.text("prefix.head"), second, head, proof):
        expected = f"a consistency proof from the prefix's {first} entries to the {name}'s {second}"
        raise Refused(expected, f"{len(proof)} hashes that prove no such thing", DISTRUST)


def suffix_digest(r: Document, entries: Sequence[str]) -> str:
    anchor = None if r.get("anchor") is None else r.get("anchor.digest")
    return digest("suffix", {"prefix": r.get("prefix.digest"), "anchor": anchor, "entries": [*entries]})


def check_suffixes(r: Document) -> None:
    """One prefix and one anchor are in both suffix digests: these are equal if and only if the entries are."""
    for name, tree in (("suffix", "replay"), ("source_suffix", "source")):
        expect(f"{name}.entries to be", r.number(f"{tree}.size") - r.number("prefix.size"), r.get(f"{name}.entries"))
        if r.number(f"{name}.entries") == 0:
            expect(f"the empty {name}'s digest to be", suffix_digest(r, []), r.get(f"{name}.digest"))
    same = r.get("suffix") == r.get("source_suffix")
    one_head = r.get("source.head") == r.get("replay.head")
    if len({same, one_head, r.get("suffix.digest") == r.get("source_suffix.digest")}) > 1:
        raise Refused("suffix digests, suffix counts and heads all equal, or none", "only some equal", DISTRUST)
    if r.get("source.recording") == r.get("replay.recording"):
        one = same and r.get("configuration.source") == r.get("configuration.replay")
        expect("source and replay, being one recording, to have one content:", True, one)
    regenerated = "none" if r.number("suffix.entries") == 0 else "verbatim" if same else "new"
    expect("regenerated to be", regenerated, r.get("regenerated"))


def read_leaves(raw: bytes, what: str) -> Document:
    value = parse(raw, LEAVES_LIMIT, what)
    check_version(value, "format", "anchored-leaves/v1")
    check(value, LEAVES, what)
    return Document(value)


def check_recording(r: Document, name: str, leaves: Document) -> None:
    what = f"in the {name}'s leaf file"
    entries = leaves.texts("entries")
    expect(f"size {what} to be", len(entries), leaves.get("size"), AGAIN)
    expect(f"head {what} to be", root(map(bytes.fromhex, entries)), leaves.get("head"), AGAIN)
    content = {each: leaves.get(each) for each in (*DOCUMENTS, "size", "head")}
    expect(f"recording {what} to be", digest("recording", content), leaves.get("recording"), AGAIN)
    for each in ("recording", "size", "head"):
        expect(f"the receipt's {name}.{each} to be, as {what},", leaves.get(each), r.get(f"{name}.{each}"), OTHER_FILES)
    configuration = leaves.get("configuration")
    expect(f"configuration.{name} to be, as {what},", configuration, r.get(f"configuration.{name}"), OTHER_FILES)


def check_prefix_entries(r: Document, source: list[str], replay: list[str]) -> None:
    size = r.number("prefix.size")
    for position, (ours, theirs) in enumerate(zip(source[:size], replay[:size], strict=True)):
        expect(f"the replay's entry at position {position}, which is in the prefix, to be the source's,", ours, theirs)
    expect("the prefix's head to be", root(map(bytes.fromhex, source[:size])), r.get("prefix.head"))


@contextmanager
def step(done: list[str], number: int) -> Generator[None, None, None]:
    try:
        yield
    except Refused as refused:
        refused.step = number
        raise
    done.append(f"{number:2}. {STEPS[number]}")


def verify(receipt: bytes, source: bytes | None, replay: bytes | None) -> Report:
    """Check a receipt, and the leaf files of both its recordings where they are given: both or neither.

    Raises:
        Refused: something does not hold or is not supported.
    """
    done: list[str] = []
    with step(done, 1):
        statement = parse(receipt, RECEIPT_LIMIT, "the receipt")
    with step(done, 2):
        check_version(statement, "_type", "https://in-toto.io/Statement/v1")
        check_version(statement, "predicateType", "urn:anchored:replay:v1")
    with step(done, 3):
        check(statement, RECEIPT, "receipt")
        whole = Document(statement)
        predicate = cast("dict[str, Json]", whole.get("predicate"))
        r = Document(predicate)
        opaque = r.get("intervention.kind") == "call"
        expect("opaque, which a call is and nothing else, to be", opaque, r.get("intervention.opaque"))
    with step(done, 4):
        check_own_digest(statement, predicate)
    with step(done, 5):
        subject = cast("list[Json]", whole.get("subject"))[0]
        combined = r.get("combined")
        expect("the subject to be the combined digest,", combined, Document(subject).get("digest.anchoredRecordingV1"))
        expect("the replay's recording to be the combined digest,", combined, r.get("replay.recording"))
    with step(done, 6):
        prefix = digest("prefix", {"size": r.get("prefix.size"), "head": r.get("prefix.head")})
        expect("the prefix's digest to be", prefix, r.get("prefix.digest"))
    with step(done, 7):
        check_mode(r)
    with step(done, 8):
        check_proof(r, "source")
        check_proof(r, "replay")
    with step(done, 9):
        check_suffixes(r)
    if source is None and replay is None:
        return Report(level="self-consistent", steps=tuple(done), predicate=predicate)
    with step(done, 10):
        if source is None or replay is None:
            raise Refused("the leaf files of both recordings, or of neither", "one", "give both")
        sources, replays = read_leaves(source, "the source's leaf file"), read_leaves(replay, "the replay's leaf file")
    with step(done, 11):
        check_recording(r, "source", sources)
        check_recording(r, "replay", replays)
    size, ours, theirs = r.number("prefix.size"), sources.texts("entries"), replays.texts("entries")
    with step(done, 12):
        check_prefix_entries(r, ours, theirs)
    with step(done, 13):
        if r.get("anchor") is not None:
            expect("the anchor's entry to be", ours[r.number("anchor.position")], r.get("anchor.entry"), OTHER_FILES)
    with step(done, 14):
        expect("the source_suffix's digest to be", suffix_digest(r, ours[size:]), r.get("source_suffix.digest"))
        expect("the suffix's digest to be", suffix_digest(r, theirs[size:]), r.get("suffix.digest"))
    with step(done, 15):
        regenerated = "none" if len(theirs) == size else "verbatim" if ours == theirs else "new"
        expect("regenerated to be", regenerated, r.get("regenerated"))
    return Report(level="matches the recordings", steps=tuple(done), predicate=predicate)


# ---- The command


class Parser(argparse.ArgumentParser):
    """Its messages repeat arguments, which may be names that someone else chose."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.format_usage()}{self.prog}: {printable(message)}\n")


def read(parser: Parser, path: str, limit: int) -> bytes:
    try:
        with open(path, "rb") as stream:
            return stream.read(limit + 1)
    except OSError as error:
        parser.error(f"cannot read {path}: {error.strerror}; give a file that can be read")


def as_text(report: Report) -> str:
    about, stated = ([f"  {name}: {ascii_json(report.predicate[name])}" for name in names] for names in (ABOUT, STATED))
    lines = [*report.steps, f"level: {report.level}", MEANING[report.level], "The receipt is about:", *about]
    return "\n".join([*lines, "It states, and no leaf file could show:", *stated])


def as_json(report: Report) -> str:
    about, stated = ({name: report.predicate[name] for name in names} for names in (ABOUT, STATED))
    said = {"holds": True, "level": report.level, "meaning": MEANING[report.level], "steps": report.steps}
    return ascii_json({**said, "about": about, "stated": stated}, indent=2)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = Parser(prog="verify_receipt.py", description="Verify a replay receipt.", allow_abbrev=False)
    parser.add_argument("receipt", metavar="RECEIPT")
    parser.add_argument("--source", metavar="LEAVES", help="the source's leaf file; needs --replay")
    parser.add_argument("--replay", metavar="LEAVES", help="the replay's leaf file; needs --source")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    given = cast("dict[str, str | None]", vars(parser.parse_args(arguments)))
    if (given["source"] is None) != (given["replay"] is None):
        parser.error("expected both --source and --replay, or neither; found one; give the other too")
    receipt = read(parser, given["receipt"] or "", RECEIPT_LIMIT)
    paths = (given["source"], given["replay"])
    source, replay = (None if path is None else read(parser, path, LEAVES_LIMIT) for path in paths)
    try:
        report = verify(receipt, source, replay)
    except Refused as refused:
        said = {"step": refused.step, "expected": refused.expected, "found": refused.found, "next": refused.next_step}
        if given["json"]:
            print(ascii_json({"holds": False, **said}, indent=2))
        else:
            print("\n".join(["refused", *(f"  {name}: {each}" for name, each in said.items())]), file=sys.stderr)
        return 5
    print(as_json(report) if given["json"] else as_text(report))
    return 0


if __name__ == "__main__":
    sys.exit(main())
