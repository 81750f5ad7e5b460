"""The independent verifier against receipts and leaf files built here, by other code, from docs/design/identity.md.

Digests are invented from a seed, which a failing test prints; another is taken from RECEIPT_SEED.
"""

from __future__ import annotations

import ast
import copy
import hashlib
import importlib.util
import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple, TypeAlias, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

Object: TypeAlias = dict[str, Any]
Place: TypeAlias = tuple[str | int, ...]

TOOL = Path(__file__).parents[2] / "tools" / "verify_receipt.py"
SEED = int(os.environ.get("RECEIPT_SEED", "9162"))
EMPTY_ROOT = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
DOCUMENTS = ("task", "state", "configuration", "stop", "final")


def load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("verify_receipt", TOOL)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


tool = load()


@pytest.fixture(autouse=True)
def _printed_seed() -> None:  # pyright: ignore[reportUnusedFunction]
    print(f"RECEIPT_SEED={SEED}")


# ---- The builder


def jcs(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode("utf-8")


def h(kind: str, value: Any) -> str:
    return hashlib.sha256(f"anchored/{kind}/v1".encode() + b"\x00" + jcs(value)).hexdigest()


def split(n: int) -> int:
    """The largest power of two smaller than n."""
    k = 1
    while k * 2 < n:
        k *= 2
    return k


def mth(leaves: list[bytes]) -> bytes:
    """RFC 9162, section 2.1.1, word for word."""
    if not leaves:
        return hashlib.sha256().digest()
    if len(leaves) == 1:
        return hashlib.sha256(b"\x00" + leaves[0]).digest()
    k = split(len(leaves))
    return hashlib.sha256(b"\x01" + mth(leaves[:k]) + mth(leaves[k:])).digest()


def subproof(m: int, leaves: list[bytes], whole: bool) -> list[bytes]:
    """RFC 9162, section 2.1.4.1, word for word."""
    n = len(leaves)
    if m == n:
        return [] if whole else [mth(leaves)]
    k = split(n)
    if m <= k:
        return [*subproof(m, leaves[:k], whole), mth(leaves[k:])]
    return [*subproof(m - k, leaves[k:], False), mth(leaves[:k])]


def proof(m: int, leaves: list[bytes]) -> list[str]:
    return [each.hex() for each in subproof(m, leaves, True)] if 0 < m < len(leaves) else []


def unhex(entries: list[str]) -> list[bytes]:
    return [bytes.fromhex(each) for each in entries]


class Case(NamedTuple):
    receipt: Object
    source: Object
    replay: Object

    @property
    def files(self) -> tuple[bytes, bytes, bytes]:
        return jcs(self.receipt), jcs(self.source), jcs(self.replay)


class Builder:
    def __init__(self, salt: object) -> None:
        self.random = random.Random(f"{SEED} {salt}")

    def digest(self) -> str:
        return self.random.randbytes(32).hex()

    def digests(self, count: int) -> list[str]:
        return [self.digest() for _ in range(count)]

    def leaves(self, entries: list[str]) -> Object:
        documents: Object = {name: self.digest() for name in DOCUMENTS}
        documents |= dict.fromkeys(self.random.sample(("task", "state", "stop", "final"), 2))
        covered = {**documents, "size": len(entries), "head": mth(unhex(entries)).hex()}
        return {"format": "anchored-leaves/v1", "recording": h("recording", covered), **covered, "entries": entries}

    def receipt(
        self,
        source: Object,
        replay: Object,
        size: int,
        *,
        full: bool = False,
        head: str | None = None,
        position: int | None = None,
    ) -> Object:
        """A receipt over two leaf files. What does not follow from them is invented; `head` and `position` are lies."""
        ours, theirs = source["entries"], replay["entries"]
        prefix: Object = {"size": size, "head": head or mth(unhex(ours[:size])).hex()}
        prefix["digest"] = h("prefix", prefix)
        anchor: Object | None = None
        if not full:
            anchor = {"event": self.digest(), "position": position or size, "entry": ours[size]}
            anchor["digest"] = h("anchor", {**anchor, "prefix": prefix["digest"]})

        def suffix(entries: list[str]) -> Object:
            body = {"prefix": prefix["digest"], "anchor": anchor and anchor["digest"], "entries": entries[size:]}
            return {"digest": h("suffix", body), "entries": len(entries) - size}

        carried = [{"event": 1, "result": self.digest()}] if size > 1 and not full else []
        predicate: Object = {
            "authority": "none",
            "mode": "full" if full else "anchored",
            "source": {name: source[name] for name in ("recording", "size", "head")},
            "replay": {name: replay[name] for name in ("recording", "size", "head")},
            "prefix": prefix,
            "proofs": {"source": proof(size, unhex(ours)), "replay": proof(size, unhex(theirs))},
            "anchor": anchor,
            "plan": {"digest": self.digest(), "attempt": 1},
            "intervention": {"kind": "guidance", "digest": self.digest(), "opaque": False},
            "configuration": {"source": source["configuration"], "replay": replay["configuration"]},
            "admission": "not-evaluated",
            "external_state": "not-evaluated",
            "effects": {"allow": False, "declarations": self.random.choice([None, self.digest()])},
            "changed": ["file team.py", "package openai"],
            "carried": carried,
            "normalisations": ["uuid", "zeit-\u00fcber"],
            "unobserved": ["api.example.org"],
            "background": ["POST telemetry.example.org/v1/traces"],
            "ambient": {"kinds": ["time", "uuid"], "streams": self.digest(), "incomplete": False},
            "recorder": "in-process",
            "counts": {
                "served": 3,
                "live": 2,
                "replaced": 0,
                "carried": len(carried),
                "covered": 1,
                "containers": 0,
                "substituted": 0,
            },
            "regenerated": "none" if len(theirs) == size else "verbatim" if ours == theirs else "new",
            "suffix": suffix(theirs),
            "source_suffix": suffix(ours),
            "combined": replay["recording"],
        }
        return sealed(
            {
                "_type": "https://in-toto.io/Statement/v1",
                "predicateType": "urn:anchored:replay:v1",
                "subject": [{"name": "replay", "digest": {"anchoredRecordingV1": replay["recording"]}}],
                "predicate": predicate,
            }
        )

    def case(self, source: int, size: int, replay: int, *, full: bool = False, verbatim: bool = False) -> Case:
        """An anchored (or full) replay of `source` entries with `size` of them as prefix and `replay` in the end."""
        ours = self.leaves(self.digests(source))
        entries: list[str] = ours["entries"]
        theirs = self.leaves(entries[:] if verbatim or full else entries[:size] + self.digests(replay - size))
        return Case(self.receipt(ours, theirs, size, full=full), ours, theirs)


def sealed(statement: Object) -> Object:
    """The statement with its own digest made anew, as a forger would."""
    found = copy.deepcopy(statement)
    if isinstance(found["predicate"], dict):
        predicate = cast("Object", found["predicate"])
        _ = predicate.pop("digest", None)
        predicate["digest"] = h("receipt", found)
    return found


def good() -> Case:
    return Builder("good").case(9, 5, 11)


GOOD = {
    "new": good(),
    "verbatim": Builder("verbatim").case(7, 3, 7, verbatim=True),
    "none": Builder("none").case(7, 4, 4),
    "empty prefix": Builder("empty prefix").case(6, 0, 3),
    "all empty but the source": Builder("nothing").case(1, 0, 0),
    "full": Builder("full").case(8, 8, 8, full=True),
    "full and empty": Builder("full and empty").case(0, 0, 0, full=True),
}
_, twin, _ = Builder("twin").case(4, 4, 4, full=True)
GOOD["full, and the source again"] = Case(Builder("twin receipt").receipt(twin, twin, 4, full=True), twin, twin)


# ---- Ways to look at a receipt


def keys(value: Any) -> list[Any]:
    """The keys of an object, the indexes of an array."""
    if isinstance(value, dict):
        return [*cast("Object", value)]
    return [*range(len(cast("list[Any]", value)))] if isinstance(value, list) else []


def places(value: Any, at: Place = ()) -> Iterator[Place]:
    """The place of every value in a document, the document itself first."""
    yield at
    for key in keys(value):
        yield from places(value[key], (*at, key))


def get(value: Any, place: Place) -> Any:
    for name in place:
        value = value[name]
    return value


def put(document: Object, place: Place, value: Any) -> Object:
    found = copy.deepcopy(document)
    get(found, place[:-1])[place[-1]] = value
    return found


def leaf_places(document: Object) -> list[Place]:
    return [place for place in places(document) if not isinstance(get(document, place), dict | list)]


def dotted(place: Place) -> str:
    return ".".join(map(str, place)).removeprefix("predicate.")


def other_values(value: Any) -> list[Any]:
    """Values of the right type that are not this one."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1, value - 1, 2**53 - 1]
    if isinstance(value, str):
        digit = "0" if value[:1] != "0" else "1"
        return [
            digit + value[1:],
            value[:-1] + ("0" if value[-1:] != "0" else "1"),
            "none" if value != "none" else "new",
        ]
    return ["0" * 64]


def wrong_values(value: Any) -> list[Any]:
    """Values that no field of this one's type may have."""
    common: list[Any] = [[value], {"value": value}, {}]
    if isinstance(value, bool):
        return [*common, 0, 1, "true", None]
    if isinstance(value, int):
        return [*common, True, False, str(value), None, -1, -value - 1, 2**53, 10**400, float(value), 0.5]
    if isinstance(value, str):
        return [*common, 0, True, None, "", value + "\ud800", "x" * 257]
    return [*common, 0, False, ""]


def wrong_digests(value: str) -> list[Any]:
    tail = [value[:-1], value + "0", value + "\n", " " + value, "\n" + value, "0x" + value[2:]]
    return [*tail, value[:-1] + "g", value[:-1] + "\u0660", "A" * 64, value[:32].upper() + "F" + value[33:]]


def skipped(*_: object) -> None:
    """Stands in for a step, to reach a later one that finds the same fault by other means."""


def is_digest(value: Any) -> bool:
    return isinstance(value, str) and len(value) == 64


def refused(receipt: bytes, source: bytes | None = None, replay: bytes | None = None) -> Any:
    """The refusal, which must say what was expected, what was found and what to do."""
    with pytest.raises(tool.Refused) as caught:
        tool.verify(receipt, source, replay)
    error: Any = caught.value
    for text in (error.expected, error.found, error.next_step, str(error)):
        assert text
        assert text.isascii()
        assert text.isprintable()
    assert len(str(error)) < 1500
    return error


# ---- What is accepted


@pytest.mark.parametrize("name", GOOD)
def test_good_receipts_reach_the_level_of_their_evidence(name: str) -> None:
    """R0-09, R0-10: accepted without leaf files as self-consistent, with them as matching the recordings."""
    receipt, source, replay = GOOD[name].files
    alone = tool.verify(receipt, None, None)
    assert alone.level == "self-consistent"
    assert len(alone.steps) == 9
    both = tool.verify(receipt, source, replay)
    assert both.level == "matches the recordings"
    assert both.steps == tuple(f"{number:2}. {tool.STEPS[number]}" for number in range(1, 16))
    assert both.predicate == GOOD[name].receipt["predicate"]


@pytest.mark.parametrize("size", range(1, 41))
def test_every_prefix_of_every_tree(size: int) -> None:
    """R0-09: sources of 1 to 40 entries, every prefix, replays of any size from the prefix's to 40."""
    for prefix in range(size):
        builder = Builder(f"tree {size} {prefix}")
        for replay in {prefix, prefix + 1, size, builder.random.randint(prefix, 40), 40}:
            assert tool.verify(*builder.case(size, prefix, replay).files).level == "matches the recordings"
        assert tool.verify(*builder.case(size, prefix, size, verbatim=True).files).level == "matches the recordings"
    assert tool.verify(*Builder(size).case(size, size, size, full=True).files).level == "matches the recordings"


def test_the_steps_are_those_of_the_docstring() -> None:
    assert list(tool.STEPS) == list(range(1, 16))
    source = TOOL.read_text(encoding="utf-8")
    assert [source.count(f"with step(done, {number}):") for number in tool.STEPS] == [1] * 15


def test_it_needs_the_standard_library_alone() -> None:
    tree = ast.parse(TOOL.read_text(encoding="utf-8"))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    names = {alias.name for node in imports if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module or "." for node in imports if isinstance(node, ast.ImportFrom)}
    assert {name.partition(".")[0] for name in names} <= sys.stdlib_module_names


# ---- Bytes


RAW = GOOD["new"].files[0]
WHOLE = [
    (RAW + b"\n", "canonical"),
    (b" " + RAW, "canonical"),
    (b"\xef\xbb\xbf" + RAW, "JSON"),
    (RAW[:-1], "JSON"),
    (RAW[: len(RAW) // 2], "JSON"),
    (b"", "JSON"),
    (RAW + RAW, "JSON"),
    (RAW + b"\x00", "JSON"),
    (b"[" * 33 + b"]" * 33, "deep"),
    (b"[" * 1_000_000, "deep"),
    (b'{"a":' * 1_000_000, "deep"),
    (b'["\\"",' + b"[" * 32, "deep"),
    (b'"' + b'\\"' * 1_000_000, "JSON"),  # quadratic in a careless scanner
    (b" " * (16 * 2**20 + 1), "at most 16777216 bytes"),
]
PARTS = [
    (b":", b": ", "canonical"),
    ("\u00fc".encode(), b"\\u00fc", "canonical"),
    (b"anchored", b"\\u0061nchored", "canonical"),
    ("\u00fc".encode(), b"\xfc", "UTF-8"),
    ("\u00fc".encode(), b"\xed\xa0\x80", "UTF-8"),
    ("\u00fc".encode(), b"\\ud800", "Unicode"),
    ("\u00fc".encode(), b"\\x", "JSON"),
    ("\u00fc".encode(), b"\x1b", "JSON"),
    (b'"attempt":1', b'"attempt":1,"attempt":1', "each key once"),
    (b'"name":"replay"', b'"name":"replay","name":"replay"', "each key once"),
    (b'"attempt":1', b'"attempt":1.0', "integers"),
    (b'"attempt":1', b'"attempt":1e0', "integers"),
    (b'"attempt":1', b'"attempt":NaN', "integers"),
    (b'"attempt":1', b'"attempt":-Infinity', "integers"),
    (b'"attempt":1', b'"attempt":01', "JSON"),
    (b'"attempt":1', b'"attempt":9007199254740992', "2^53"),
    (b'"attempt":1', b'"attempt":-9007199254740992', "2^53"),
    (b'"attempt":1', b'"attempt":' + b"9" * 100_000, "2^53"),
    (b'"containers":0', b'"containers":-0', "canonical"),
    (b'"attempt":1', b'"attempt":1,"\xc3\xbc":1', "ASCII keys"),
]


@pytest.mark.parametrize("at", range(len(WHOLE) + len(PARTS)))
def test_other_bytes_are_refused(at: int) -> None:
    """H-06, H-07: one value has one file; limits hold before the recursive parser runs."""
    cases = [*WHOLE, *((RAW.replace(old, new, 1), expected) for old, new, expected in PARTS)]
    changed, expected = cases[at]
    assert changed != RAW
    error = refused(changed)
    assert expected in error.expected
    assert error.step == 1


def test_another_key_order_is_refused() -> None:
    """The receipt is its canonical bytes, so one with its keys the other way round is another file."""
    receipt = GOOD["new"].receipt
    reordered = json.dumps(dict(reversed(receipt.items())), ensure_ascii=False, separators=(",", ":")).encode()
    assert json.loads(reordered) == receipt
    assert "canonical" in refused(reordered).expected


def test_a_difference_in_bytes_or_fields_is_named() -> None:
    """The messages are for whoever has to find the fault."""
    assert refused(RAW + b"\n").found == f"a difference at byte {len(RAW)}"
    assert refused(b"{ " + RAW[1:]).found == "a difference at byte 1"
    predicate = {name: value for name, value in GOOD["new"].receipt["predicate"].items() if name != "mode"}
    error = refused(jcs({**GOOD["new"].receipt, "predicate": {**predicate, "mood": 1}}))
    assert error.found == 'unknown: "mood"; missing: mode'


def test_the_limits_themselves_are_allowed() -> None:
    assert refused(b"[" * 32 + b"]" * 32).step == 2
    for value in (2**53 - 1, 1 - 2**53):
        assert tool.parse(jcs([value]), 100, "it") == [value]
        assert tool.parse(jcs([value]), len(jcs([value])), "it") == [value]
    altered = sealed(put(GOOD["new"].receipt, ("predicate", "counts", "live"), 2**53 - 1))
    assert tool.verify(jcs(altered), None, None).level == "self-consistent"


@pytest.mark.parametrize(("kind", "opaque"), [("call", False), ("guide", True), ("none", 0), ("call", None)])
def test_a_call_is_opaque_and_nothing_else(kind: str, opaque: object) -> None:
    """Issue, Call: a receipt that hides it is refused, rehashed or not."""
    receipt = put(GOOD["new"].receipt, ("predicate", "intervention", "kind"), kind)
    assert refused(jcs(sealed(put(receipt, ("predicate", "intervention", "opaque"), opaque)))).step == 3
    right = sealed(put(receipt, ("predicate", "intervention", "opaque"), kind == "call"))
    assert tool.verify(jcs(right), None, None).level == "self-consistent"


def test_brackets_inside_texts_do_not_count_as_nesting() -> None:
    receipt = sealed(put(GOOD["new"].receipt, ("predicate", "intervention", "kind"), '\\"' + "[{" * 100))
    assert tool.verify(jcs(receipt), None, None).level == "self-consistent"


def test_canonical_bytes_are_those_of_rfc_8785() -> None:
    """Section 3.2.2.2: two-letter escapes where there are any, lower-case hexadecimal, nothing else escaped."""
    value: Object = {
        "b": '\b\t\n\f\r"\\/\x00\x1f\x7f\u20ac\U0001f600',
        "a": [True, False, None, -1, 2**53 - 1],
        "B": {},
    }
    expected = '{"B":{},"a":[true,false,null,-1,9007199254740991],"b":"\\b\\t\\n\\f\\r\\"\\\\/\\u0000\\u001f\x7f€😀"}'
    assert tool.canonical(value) == expected.encode()


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_are_refused_and_nothing_else_is_raised(raw: bytes) -> None:
    _ = refused(raw)
    _ = refused(GOOD["new"].files[0], raw, raw)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_any_one_byte_changed_is_refused(data: st.DataObject) -> None:
    """R0-11: whichever byte of the receipt or of a leaf file it is."""
    files = list(GOOD["new"].files)
    which = data.draw(st.integers(0, 2))
    at = data.draw(st.integers(0, len(files[which]) - 1))
    byte = data.draw(st.integers(0, 255).filter(lambda byte: byte != files[which][at]))
    files[which] = files[which][:at] + bytes([byte]) + files[which][at + 1 :]
    _ = refused(*files)


# ---- Fields


@pytest.mark.parametrize("name", GOOD)
def test_any_value_altered_without_rehash_is_refused(name: str) -> None:
    """R0-09, R0-11: every value at any level, changed for another of its type."""
    receipt = GOOD[name].receipt
    for place in leaf_places(receipt):
        for other in other_values(get(receipt, place)):
            _ = refused(jcs(put(receipt, place, other)))


@pytest.mark.parametrize("name", GOOD)
def test_any_value_of_a_wrong_type_is_refused_even_if_rehashed(name: str) -> None:
    """H-08, H-17: a bool is no integer, an array no digest, a digest is matched whole, authority is always none."""
    receipt = GOOD[name].receipt
    for place in leaf_places(receipt):
        value = get(receipt, place)
        for wrong in [*wrong_values(value), *(wrong_digests(value) if is_digest(value) else [])]:
            if wrong is None and place[-1] == "declarations":
                continue
            altered = put(receipt, place, wrong)
            if isinstance(wrong, str) and "\ud800" in wrong:
                escaped = json.dumps(altered, sort_keys=True, separators=(",", ":")).encode()
                assert refused(escaped).step == 1
                continue
            if place != ("predicate", "digest"):
                altered = sealed(altered)
            assert refused(jcs(altered)).step in {1, 2, 3}, (dotted(place), wrong)


@pytest.mark.parametrize("authority", ["", "None", "none ", "execute", "replay", None, False, [], ["none"]])
def test_authority_is_none_and_nothing_else(authority: Any) -> None:
    """H-17, R0-10: a receipt that claims any authority is refused, whatever its digests say."""
    altered = sealed(put(GOOD["new"].receipt, ("predicate", "authority"), authority))
    assert "authority" in refused(jcs(altered)).expected


@pytest.mark.parametrize("name", GOOD)
def test_fields_added_or_missing_at_any_level_are_refused_even_if_rehashed(name: str) -> None:
    """H-09: the field sets are exact everywhere; an empty array or object does not stand for a full one."""
    receipt = GOOD[name].receipt
    for place in places(receipt):
        value = get(receipt, place)
        if isinstance(value, dict):
            for key in keys(value):
                altered = copy.deepcopy(receipt)
                del get(altered, place)[key]
                if (*place, key) != ("predicate", "digest"):
                    altered = sealed(altered) if "predicate" in altered else altered
                assert refused(jcs(altered)).step in {2, 3}
            for key in ("", "extra", "digest ", "__class__", "\x1b[31m"):
                added = copy.deepcopy(receipt)
                get(added, place)[key] = None
                assert refused(jcs(sealed(added))).step == 3
        if isinstance(value, dict | list) and place:
            others: list[Any] = [{}, [], None, "", 0]
            for other in others:
                if other != value and (place, other) not in NONE_TOO:
                    hard = place[:2] not in {
                        ("predicate", n)
                        for n in (
                            "ambient",
                            "background",
                            "carried",
                            "changed",
                            "normalisations",
                            "proofs",
                            "unobserved",
                        )
                    }
                    error = refused(jcs(sealed(put(receipt, place, other)))) if hard or other != [] else None
                    assert error is None or error.step == 3


NONE_TOO = [(("predicate", name), None) for name in ("anchor", "ambient")]
"""Where null stands for what a replay does not have."""


def test_items_added_to_any_array() -> None:
    """A second subject, a proof that is longer or shorter: refused even if rehashed."""
    for receipt in (GOOD["new"].receipt, GOOD["full"].receipt, GOOD["empty prefix"].receipt):
        subject = receipt["subject"][0]
        assert refused(jcs(sealed({**receipt, "subject": [subject, subject]}))).step == 3
        for name in ("source", "replay"):
            at = ("predicate", "proofs", name)
            hashes: list[str] = get(receipt, at)
            longer = [[*hashes, "0" * 64], ["0" * 64, *hashes], [*hashes, *hashes, "1" * 64]]
            shorter = [hashes[:-1], hashes[1:], []] if hashes else []
            for other in [*longer, *shorter, hashes[::-1] if len(hashes) > 1 else ["0" * 64]]:
                assert refused(jcs(sealed(put(receipt, at, other)))).step == 8


@pytest.mark.parametrize("name", ["changed", "normalisations", "unobserved", "background"])
def test_lists_of_names_are_bounded(name: str) -> None:
    at = ("predicate", name)
    """Sorted, each once, so that one replay has one receipt."""
    for fine in ([], [f"{number:0256}" for number in range(1000)]):
        assert tool.verify(jcs(sealed(put(GOOD["new"].receipt, at, fine))), None, None).level == "self-consistent"
    for wrong in (
        [f"{number:04}" for number in range(1001)],
        ["a", "a"],
        ["b", "a"],
        ["x" * 257],
        [""],
        [1],
        [None],
        [["x"]],
        {"x": "x"},
        "x",
    ):
        assert refused(jcs(sealed(put(GOOD["new"].receipt, at, wrong)))).step == 3


@pytest.mark.parametrize(
    ("name", "value", "newer"),
    [
        ("predicateType", "urn:anchored:replay:v2", True),
        ("predicateType", "urn:anchored:replay:v10", True),
        ("predicateType", "urn:anchored:replay:v0", False),
        ("predicateType", "urn:anchored:replay:v1\n", False),
        ("predicateType", "https://slsa.dev/provenance/v1", False),
        ("predicateType", ["urn:anchored:replay:v1"], False),
        ("_type", "https://in-toto.io/Statement/v2", True),
        ("_type", "https://in-toto.io/Statement/v0.1", False),
    ],
)
def test_another_version_is_refused_as_unsupported(name: str, value: Any, newer: bool) -> None:
    """Before its fields are looked at, since another version may have others."""
    for receipt in (sealed(put(GOOD["new"].receipt, (name,), value)), {**GOOD["new"].receipt, name: value, "more": 1}):
        error = refused(jcs(receipt))
        assert error.step == 2
        assert "unsupported" in error.found
        assert ("newer" in error.found) == newer


# ---- Altered and rehashed

FREE = {
    "plan.digest",
    "plan.attempt",
    "intervention.kind",
    "intervention.digest",
    "effects.allow",
    "effects.declarations",
    "changed.0",
    "changed.1",
    "normalisations.0",
    "normalisations.1",
    "unobserved.0",
    "background.0",
    "ambient.kinds.0",
    "ambient.kinds.1",
    "ambient.streams",
    "ambient.incomplete",
    *(f"counts.{name}" for name in ("served", "live", "replaced", "covered", "containers", "substituted")),
    "carried.0.event",
    "carried.0.result",
}
TIED = {"source.recording", "configuration.source", "configuration.replay", "suffix.digest", "source_suffix.digest"}


def test_what_one_altered_and_rehashed_value_can_reach() -> None:
    """R0-10, R0-11: a forger who rehashes is self-consistent where nothing else in the receipt depends on the value.

    Leaf files find out the forged recordings and suffixes. They do not hold plan, intervention, effects, names and
    counts, so these can be forged at both levels; the report says so, and only a signature would help.
    """
    receipt, source, replay = GOOD["new"]
    alone: set[str] = set()
    with_leaves: set[str] = set()
    for place in leaf_places(receipt):
        if place == ("predicate", "digest"):
            continue
        for other in other_values(get(receipt, place)):
            altered = jcs(sealed(put(receipt, place, other)))
            for reached, leaves in ((alone, (None, None)), (with_leaves, (jcs(source), jcs(replay)))):
                try:
                    tool.verify(altered, *leaves)
                except tool.Refused:
                    continue
                reached.add(dotted(place))
    assert alone == FREE | TIED
    assert with_leaves == FREE
    assert {name.partition(".")[0] for name in with_leaves} == set(tool.STATED)


def test_a_receipt_forged_throughout_is_self_consistent_and_no_more() -> None:
    """R0-11: invented recordings make a receipt that agrees with itself; the real leaf files refuse it."""
    case = GOOD["new"]
    forged = Builder("forged").case(9, 5, 11)
    report = tool.verify(jcs(forged.receipt), None, None)
    assert report.level == "self-consistent"
    assert "altered and rehashed" in tool.MEANING[report.level]
    assert refused(jcs(forged.receipt), jcs(case.source), jcs(case.replay)).step == 11
    assert refused(jcs(forged.receipt), jcs(forged.source), jcs(case.replay)).step == 11
    assert refused(jcs(forged.receipt), jcs(case.source), jcs(forged.replay)).step == 11


@pytest.mark.parametrize("carried", [[], [(99, 0)], [(-1, 0)], [(1, 0), (1, 0)], [(2, 0), (1, 0)]])
def test_what_was_carried_began_before_the_anchor_and_is_counted(carried: list[tuple[int, int]]) -> None:
    """Issue 4: in order, each once, as many as are counted."""
    receipt, *_ = GOOD["new"]
    held = [{"event": place, "result": "0" * 64} for place, _ in carried]
    altered = put(receipt, ("predicate", "carried"), held)
    altered = altered if not carried else put(altered, ("predicate", "counts", "carried"), len(carried))
    assert refused(jcs(sealed(altered))).step in (3, 7)


def test_a_forged_size_needs_the_leaf_files_to_be_found_out() -> None:
    """No root holds its tree's size: a proof to 9 entries is one to 10 too. The recording digest holds it."""
    receipt, source, replay = GOOD["new"]
    altered = put(receipt, ("predicate", "source", "size"), 10)
    altered = sealed(put(altered, ("predicate", "source_suffix", "entries"), 5))
    assert tool.verify(jcs(altered), None, None).level == "self-consistent"
    assert refused(jcs(altered), jcs(source), jcs(replay)).step == 11


@pytest.mark.parametrize("position", range(9))
def test_a_moved_anchor_is_another_receipt(position: int) -> None:
    """R0-13: the anchor cannot move without changing the receipt, nor past what the recordings share."""
    _, source, replay = GOOD["new"]
    moved = Builder("anchor").receipt(source, replay, position)
    there = Builder("anchor").receipt(source, replay, 5)
    if position == 5:
        assert moved == there
    elif position < 5:
        assert tool.verify(jcs(moved), jcs(source), jcs(replay)).level == "matches the recordings"
        for name in ("anchor", "prefix", "suffix", "source_suffix", "digest"):
            assert moved["predicate"][name] != there["predicate"][name]
    else:
        _ = refused(jcs(moved), jcs(source), jcs(replay))


@pytest.mark.parametrize("name", ["event", "position", "entry", "digest"])
def test_an_anchor_altered_and_rehashed_is_refused(name: str) -> None:
    """R0-13: with the receipt's own digest made anew, the anchor's or the suffix's still says otherwise."""
    place = ("predicate", "anchor", name)
    for other in other_values(get(GOOD["new"].receipt, place))[:2]:
        assert refused(jcs(sealed(put(GOOD["new"].receipt, place, other)))).step == 7


def test_an_anchor_on_another_entry_is_refused_by_the_source() -> None:
    """R0-13: all digests made anew for an entry that is not at the anchor's position."""
    _, source, replay = GOOD["new"]
    for entry in (source["entries"][4], source["entries"][6], replay["entries"][5], "0" * 64):
        lying = copy.deepcopy(source)
        lying["entries"][5] = entry
        receipt = Builder("entry").receipt(lying, replay, 5)
        true = Builder("entry").receipt(source, replay, 5)
        receipt["predicate"]["proofs"] = true["predicate"]["proofs"]
        forged = sealed(receipt)
        assert tool.verify(jcs(forged), None, None).level == "self-consistent"
        assert refused(jcs(forged), jcs(source), jcs(replay)).step == 13


def test_kinds_are_told_apart() -> None:
    """H-01: one content under another kind has another digest, so no digest stands for another."""
    predicate = GOOD["new"].receipt["predicate"]
    kinds = ("prefix", "anchor", "suffix", "recording", "receipt", "entry")
    assert len({tool.digest(kind, {}) for kind in kinds}) == len(kinds)
    assert tool.digest("prefix", {}) == hashlib.sha256(b"anchored/prefix/v1\x00{}").hexdigest()
    covered = {"size": predicate["prefix"]["size"], "head": predicate["prefix"]["head"]}
    for kind in ("suffix", "recording", "entry", "prefix/v1\x00"):
        altered = sealed(put(GOOD["new"].receipt, ("predicate", "prefix", "digest"), h(kind, covered)))
        assert refused(jcs(altered)).step == 6


def test_an_empty_prefix_and_an_empty_suffix_have_different_digests() -> None:
    """H-01."""
    predicate = GOOD["all empty but the source"].receipt["predicate"]
    assert predicate["prefix"]["head"] == EMPTY_ROOT
    assert predicate["prefix"]["digest"] != predicate["suffix"]["digest"]


@pytest.mark.parametrize(
    ("name", "changes", "step"),
    [
        ("new", {"combined": "0" * 64}, 5),
        ("new", {"replay.recording": "0" * 64}, 5),
        ("new", {"prefix.digest": "0" * 64}, 6),
        ("new", {"mode": "full"}, 7),
        ("new", {"anchor": None}, 7),
        ("new", {"anchor": None, "mode": "full"}, 7),
        ("full", {"mode": "anchored"}, 7),
        ("full", {"source.size": 9}, 7),
        ("full", {"source.head": "0" * 64}, 7),
        ("full", {"replay.size": 9}, 7),
        ("full", {"replay.head": "0" * 64}, 7),
        ("full and empty", {"source.head": "0" * 64}, 7),
        ("new", {"source.size": 5}, 7),
        ("new", {"source.size": 4}, 7),
        ("new", {"source.size": 10}, 9),
        ("new", {"source.size": 17}, 8),
        ("new", {"replay.size": 4}, 8),
        ("new", {"source.head": "0" * 64}, 8),
        ("all empty but the source", {"replay.head": "0" * 64}, 8),
        ("none", {"replay.head": "0" * 64}, 8),
        ("new", {"suffix.entries": 7}, 9),
        ("new", {"source_suffix.entries": 3}, 9),
        ("new", {"regenerated": "none"}, 9),
        ("new", {"regenerated": "verbatim"}, 9),
        ("none", {"regenerated": "new"}, 9),
        ("none", {"regenerated": "verbatim"}, 9),
        ("none", {"suffix.digest": "0" * 64}, 9),
        ("verbatim", {"regenerated": "new"}, 9),
        ("verbatim", {"regenerated": "none"}, 9),
        ("verbatim", {"suffix.digest": "0" * 64, "regenerated": "new"}, 9),
        ("full", {"regenerated": "new"}, 9),
        ("full", {"suffix.digest": "0" * 64}, 9),
        ("full", {"suffix.digest": "0" * 64, "source_suffix.digest": "0" * 64}, 9),
    ],
)
def test_each_invariant_holds_even_if_rehashed(name: str, changes: Object, step: int) -> None:
    """R0-09, R0-11: the specification's last paragraph, one by one; the step that refuses is the one meant to."""
    altered = GOOD[name].receipt
    for path, value in changes.items():
        altered = put(altered, ("predicate", *path.split(".")), value)
    assert refused(jcs(sealed(altered))).step == step


def test_an_empty_tree_has_one_head() -> None:
    """RFC 9162 has no proof from or to an empty tree, so the head itself must be the empty tree's."""
    _, source, replay = GOOD["empty prefix"]
    assert refused(jcs(Builder("head").receipt(source, replay, 0, head="0" * 64))).step == 8
    nothing = {**GOOD["full and empty"].source, "head": "0" * 64}
    assert refused(jcs(Builder("head").receipt(nothing, nothing, 0, full=True, head="0" * 64))).step == 8


def test_the_anchor_stands_where_the_prefix_ends() -> None:
    """R0-13: an anchor elsewhere, with every digest over it made anew."""
    _, source, replay = GOOD["new"]
    for position in (1, 4, 6, 8, 9, 2**53 - 1):
        assert refused(jcs(Builder("position").receipt(source, replay, 5, position=position))).step == 7


def test_one_recording_has_one_content() -> None:
    """A recording digest that stands for source and replay, although size, head or configuration differ."""
    for name in ("new", "none", "verbatim", "full"):
        altered = copy.deepcopy(GOOD[name].receipt)
        recording = altered["predicate"]["source"]["recording"]
        altered["predicate"]["replay"]["recording"] = altered["predicate"]["combined"] = recording
        altered["subject"][0]["digest"]["anchoredRecordingV1"] = recording
        assert refused(jcs(sealed(altered))).step == 9


# ---- Leaf files


def test_one_leaf_file_is_not_enough() -> None:
    receipt, source, replay = GOOD["new"].files
    _ = refused(receipt, source, None)
    _ = refused(receipt, None, replay)


def test_swapped_leaf_files_are_refused() -> None:
    for name in ("new", "verbatim", "none", "full"):
        receipt, source, replay = GOOD[name].files
        error = refused(receipt, replay, source)
        assert error.step == 11
        assert "swapped" in error.next_step


@pytest.mark.parametrize("which", [1, 2])
def test_any_value_altered_in_a_leaf_file_is_refused(which: int) -> None:
    """R0-11: without and with the head and recording digest made anew."""
    for case in GOOD.values():
        leaves = case[which]
        for place in leaf_places(leaves):
            others: list[Any] = [*other_values(get(leaves, place)), True, [], "0" * 63, "0" * 64 + "\n", -1, 0.5]
            for other in others:
                files = list(case.files)
                altered = put(leaves, place, other)
                files[which] = jcs(altered)
                _ = refused(*files)
                if place[0] in {"entries", *DOCUMENTS} and (other is None or is_digest(other)):
                    altered["head"] = mth(unhex(altered["entries"])).hex()
                    covered = {name: altered[name] for name in (*DOCUMENTS, "size", "head")}
                    files[which] = jcs({**altered, "recording": h("recording", covered)})
                    assert refused(*files).step == 11


def wrong_leaves(leaves: Object) -> list[tuple[Any, int]]:
    """Wrong contents of a leaf file, and the step that refuses each."""
    entries: list[str] = leaves["entries"]
    newer = {**leaves, "format": "anchored-leaves/v2"}
    return [
        ({**leaves, "extra": None}, 10),
        ({name: value for name, value in leaves.items() if name != "task"}, 10),
        ({name: value for name, value in leaves.items() if name != "format"}, 10),
        (newer, 10),
        ({**newer, "extra": 1}, 10),
        ({**leaves, "format": "leaves"}, 10),
        ({**leaves, "entries": {}}, 10),
        ({**leaves, "entries": [*entries, entries]}, 10),
        (entries, 10),
        ({**leaves, "entries": entries[:-1]}, 11),
        ({**leaves, "entries": [*entries, "0" * 64]}, 11),
        ({**leaves, "entries": entries[::-1]}, 11),
        ({**leaves, "entries": entries[:-1], "size": len(entries) - 1}, 11),
        ({**leaves, "entries": [], "size": 0, "head": EMPTY_ROOT}, 11),
        (Builder("stranger").leaves(entries), 11),
    ]


@pytest.mark.parametrize("which", [1, 2])
def test_a_wrong_leaf_file_is_refused(which: int) -> None:
    """H-09; another version is refused as unsupported before its fields are looked at."""
    for wrong, step in wrong_leaves(GOOD["new"][which]):
        files = list(GOOD["new"].files)
        files[which] = jcs(wrong)
        error = refused(*files)
        assert error.step == step
        if b"anchored-leaves/v2" in files[which]:
            assert "a newer version, unsupported" in error.found


def test_leaf_files_are_canonical_and_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    receipt, source, replay = GOOD["new"].files
    for wrong in (source + b"\n", b" " + source, source[:-1], b"[" * 100_000, json.dumps(GOOD["new"].source).encode()):
        assert refused(receipt, wrong, replay).step == 10
    monkeypatch.setattr(tool, "LEAVES_LIMIT", len(replay))
    assert tool.verify(receipt, source, replay).level == "matches the recordings"
    monkeypatch.setattr(tool, "LEAVES_LIMIT", len(replay) - 1)
    assert "at most" in refused(receipt, source, replay).expected


@pytest.mark.parametrize("position", range(5))
def test_a_replay_whose_prefix_is_not_the_sources_is_refused(position: int) -> None:
    """R0-11, falsifier F1: a receipt made for a replay with another prefix holds at no level."""
    builder = Builder(position)
    source = builder.leaves(builder.digests(9))
    entries: list[str] = [*source["entries"][:5], *builder.digests(6)]
    entries[position] = builder.digest()
    replay = builder.leaves(entries)
    receipt = builder.receipt(source, replay, 5)
    assert refused(jcs(receipt)).step == 8
    with pytest.MonkeyPatch.context() as patch:  # as if SHA-256 were broken
        patch.setattr(tool, "check_proof", skipped)
        error = refused(jcs(receipt), jcs(source), jcs(replay))
    assert error.step == 12
    assert f"position {position}" in error.expected


def test_suffix_digests_and_regenerated_are_those_of_the_entries() -> None:
    """R0-09: forged where the receipt alone cannot show it, found out by the entries."""
    receipt, source, replay = GOOD["new"]
    for name in ("suffix", "source_suffix"):
        altered = sealed(put(receipt, ("predicate", name, "digest"), "0" * 64))
        assert tool.verify(jcs(altered), None, None).level == "self-consistent"
        assert refused(jcs(altered), jcs(source), jcs(replay)).step == 14
    altered = jcs(sealed(put(GOOD["verbatim"].receipt, ("predicate", "regenerated"), "new")))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tool, "check_suffixes", skipped)
        assert refused(altered, *GOOD["verbatim"].files[1:]).step == 15


def test_the_size_is_the_number_of_entries() -> None:
    """A leaf file, and a receipt over it, that claim one entry more than there is; every digest is made anew."""
    _, source, replay = GOOD["new"]
    lying = {**source, "size": 10}
    lying["recording"] = h("recording", {name: lying[name] for name in (*DOCUMENTS, "size", "head")})
    receipt = Builder("size").receipt(lying, replay, 5)
    receipt = sealed(put(receipt, ("predicate", "source_suffix", "entries"), 5))
    assert tool.verify(jcs(receipt), None, None).level == "self-consistent"
    assert refused(jcs(receipt), jcs(lying), jcs(replay)).step == 11


def test_the_prefix_head_is_that_of_the_entries() -> None:
    """R0-11: computed from the leaf files too, not only proved consistent."""
    _, source, replay = GOOD["new"]
    receipt = Builder("prefix head").receipt(source, replay, 5, head="0" * 64)
    assert refused(jcs(receipt)).step == 8
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tool, "check_proof", skipped)
        assert refused(jcs(receipt), jcs(source), jcs(replay)).step == 12


@pytest.mark.parametrize("which", ["source", "replay"])
def test_the_configuration_is_the_recordings(which: str) -> None:
    """H-02: the receipt's configuration digests are those that the recording digests cover."""
    receipt, source, replay = GOOD["new"]
    altered = sealed(put(receipt, ("predicate", "configuration", which), "0" * 64))
    assert tool.verify(jcs(altered), None, None).level == "self-consistent"
    assert refused(jcs(altered), jcs(source), jcs(replay)).step == 11


# ---- RFC 9162

# The reference inputs and results of Certificate Transparency implementations.
INPUTS = [
    bytes.fromhex(each)
    for each in (
        "",
        "00",
        "10",
        "2021",
        "3031",
        "40414243",
        "5051525354555657",
        "606162636465666768696a6b6c6d6e6f",
    )
]
ROOTS = [
    EMPTY_ROOT,
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
]
PROOFS = {
    (1, 1): [],
    (1, 8): [
        "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
        "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
        "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4",
    ],
    (6, 8): [
        "0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a",
        "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    ],
    (2, 5): [
        "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
        "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
    ],
}


@pytest.mark.parametrize("size", range(9))
def test_known_roots(size: int) -> None:
    assert tool.root(INPUTS[:size]) == ROOTS[size] == mth(INPUTS[:size]).hex()


@pytest.mark.parametrize(("first", "second"), PROOFS)
def test_known_proofs(first: int, second: int) -> None:
    known = PROOFS[first, second]
    assert proof(first, INPUTS[:second]) == known
    assert tool.is_consistent(first, ROOTS[first], second, ROOTS[second], known)


def test_roots_of_every_size() -> None:
    leaves = unhex(Builder("roots").digests(130))
    for size in range(131):
        assert tool.root(leaves[:size]) == mth(leaves[:size]).hex()


@pytest.mark.parametrize("second", range(41))
def test_consistency_of_every_pair_of_sizes(second: int) -> None:
    """R0-11: true proofs verify; no hash altered, left out, added or moved, and no other size or head, does."""
    builder = Builder(f"proof {second}")
    leaves = unhex(builder.digests(second))
    head, other = mth(leaves).hex(), builder.digest()
    for first in range(second + 1):
        first_head, path = mth(leaves[:first]).hex(), proof(first, leaves)
        assert tool.is_consistent(first, first_head, second, head, path)
        assert not tool.is_consistent(first, other, second, head, path)
        assert not tool.is_consistent(first, first_head, second, other, path) or first == 0
        assert not tool.is_consistent(first, first_head, second, head, [*path, other])
        assert not tool.is_consistent(first, first_head, second, head, [other, *path])
        if 0 < first < second:
            assert not tool.is_consistent(second, head, first, first_head, path)
            assert not tool.is_consistent(first + 1, first_head, second, head, path)
        for at, each in enumerate(path):
            flipped = f"{int(each, 16) ^ 1 << builder.random.randrange(256):064x}"
            assert not tool.is_consistent(first, first_head, second, head, [*path[:at], flipped, *path[at + 1 :]])
            assert not tool.is_consistent(first, first_head, second, head, path[:at] + path[at + 1 :])
            assert not tool.is_consistent(first, first_head, second, head, [*path[:at], other, *path[at:]])


# ---- The command


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-I", "-S", TOOL, *arguments], capture_output=True, encoding="utf-8", check=False
    )


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    paths = [tmp_path / name for name in ("receipt", "source", "replay")]
    for path, raw in zip(paths, GOOD["new"].files, strict=True):
        _ = path.write_bytes(raw)
    return paths


def test_the_command_says_what_it_checked_and_what_that_proves(files: list[Path]) -> None:
    """R0-10, H-17: either level says that the receipt gives no authority."""
    receipt, source, replay = files
    alone, both = run(receipt), run(receipt, "--source", source, "--replay", replay)
    for done, level, steps in ((alone, "self-consistent", 9), (both, "matches the recordings", 15)):
        assert (done.returncode, done.stderr) == (0, "")
        lines = done.stdout.splitlines()
        assert [line.split(".")[0].strip() for line in lines[:steps]] == [str(n) for n in range(1, steps + 1)]
        assert lines[steps] == f"level: {level}"
        assert "not prove" in lines[steps + 1]
        assert "no authority to execute" in lines[steps + 1]


def test_the_command_in_json(files: list[Path]) -> None:
    receipt, source, replay = files
    done = run(receipt, "--json", "--source", source, "--replay", replay)
    found = json.loads(done.stdout)
    assert (done.returncode, found["holds"], found["level"]) == (0, True, "matches the recordings")
    assert len(found["steps"]) == 15
    shown = {**found["about"], **found["stated"]}
    assert shown == {name: GOOD["new"].receipt["predicate"][name] for name in shown}
    assert set(found["stated"]) == {name.partition(".")[0] for name in FREE}
    done = run(source, "--json")
    found = json.loads(done.stdout)
    assert (done.returncode, done.stderr, found["holds"], found["step"]) == (5, "", False, 2)
    assert all(found[name] for name in ("expected", "found", "next"))


def test_the_command_refuses_with_5(files: list[Path]) -> None:
    receipt, source, replay = files
    _ = receipt.write_bytes(receipt.read_bytes() + b"\n")
    done = run(receipt)
    assert (done.returncode, done.stdout) == (5, "")
    assert all(f"  {name}: " in done.stderr for name in ("step", "expected", "found", "next"))
    _ = receipt.write_bytes(GOOD["new"].files[0])
    assert run(receipt, "--source", replay, "--replay", source).returncode == 5


def test_a_receipt_over_the_limit_is_not_read_whole(files: list[Path]) -> None:
    with files[0].open("wb") as stream:
        _ = stream.truncate(2**40)
    assert run(files[0]).returncode == 5


def test_wrong_usage_is_2(files: list[Path]) -> None:
    receipt, source, replay = files
    missing = files[0].parent / "missing\x1b[31m\u202e"
    wrong: list[list[str | Path]] = [
        [],
        [receipt, "--source", source],
        [receipt, "--replay", replay],
        [receipt, "--source", "", "--replay", replay],
        [receipt, "--source", missing, "--replay", replay],
        [receipt, "--sou", source, "--rep", replay],
        [missing],
        [receipt.parent],
        [receipt, missing],
        [receipt, "--public-key", source],
    ]
    for arguments in wrong:
        done = run(*arguments)
        assert (done.returncode, done.stdout) == (2, ""), arguments
        assert done.stderr.replace("\n", "").isascii()
        assert done.stderr.replace("\n", "").isprintable()


def test_nothing_from_a_receipt_reaches_the_terminal_unescaped(files: list[Path]) -> None:
    """Terminal sequences, line breaks, DEL, C1 controls, bidi and zero-width characters, in values and in keys."""
    nasty = "\x1b[2J\x1b]0;x\x07\r\n\x7f\x9b31m\u202e\u2066\u200b\u2028\ufeff\U000e0001\u00fc"
    receipt = GOOD["new"].receipt
    for place in ("changed", "normalisations", "unobserved", "background"):
        receipt = put(receipt, ("predicate", place), [nasty])
    receipt = put(receipt, ("predicate", "intervention", "kind"), nasty)
    bad = [put(receipt, ("predicate", "mode"), nasty), {**receipt, nasty[:10]: 1}, {**receipt, "predicateType": nasty}]
    for each, code in ((receipt, 0), *((each, 5) for each in bad)):
        _ = files[0].write_bytes(jcs(sealed(each)))
        for arguments in ([files[0]], [files[0], "--json"]):
            done = run(*arguments)
            assert done.returncode == code
            said = (done.stdout + done.stderr).replace("\n", "")
            assert said.isascii()
            assert said.isprintable()
            assert "\\u001b[2J" in said or "\\\\u001b[2J" in said
