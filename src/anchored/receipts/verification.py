"""Verifying a receipt, alone and against the recordings that it speaks of."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import msgspec

from anchored.canonical import Digest, JsonObject, as_digest, jcs_digest, parse_own
from anchored.errors import DamagedError, RefusedError, UnsupportedError
from anchored.receipts.statement import (
    LONGEST_NAME,
    MOST_NAMES,
    NOT_EVALUATED,
    PREDICATE_TYPE,
    STATEMENT_TYPE,
    build_receipt,
    suffix_digest,
)
from anchored.recording import Recording, verify_consistency
from anchored.replaying import first_difference

SELF_CONSISTENT = "self-consistent"
MATCHES_RECORDINGS = "matches the recordings"


@dataclass(frozen=True, kw_only=True)
class Checked:
    """What was checked of a receipt.

    Attributes:
        level: `self-consistent` or `matches the recordings`.
        steps: what was checked, in order.
        predicate: the receipt's statement, for reading.
    """

    level: str
    steps: list[str] = field(default_factory=list[str])
    predicate: JsonObject


class _Strict(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Every field is there, and no other."""


class _Tree(_Strict, frozen=True):
    recording: str
    size: int
    head: str


class _Prefix(_Strict, frozen=True):
    digest: str
    size: int
    head: str


class _Anchor(_Strict, frozen=True):
    digest: str
    event: str
    position: int
    entry: str


class _Proofs(_Strict, frozen=True):
    source: list[str]
    replay: list[str]


class _Plan(_Strict, frozen=True):
    digest: str
    attempt: int


class _Kind(_Strict, frozen=True):
    kind: str
    digest: str
    opaque: bool


class _Pair(_Strict, frozen=True):
    source: str
    replay: str


class _Effects(_Strict, frozen=True):
    allow: bool
    declarations: str | None


class _Counts(_Strict, frozen=True):
    served: int
    live: int
    replaced: int
    carried: int
    covered: int
    containers: int
    substituted: int


class _Carried(_Strict, frozen=True):
    event: int
    result: str


class _Ambient(_Strict, frozen=True):
    kinds: list[str]
    streams: str
    incomplete: bool


class _Suffix(_Strict, frozen=True):
    digest: str
    entries: int


class _Predicate(_Strict, frozen=True):
    authority: str
    mode: str
    source: _Tree
    replay: _Tree
    prefix: _Prefix
    proofs: _Proofs
    anchor: _Anchor | None
    plan: _Plan
    intervention: _Kind
    configuration: _Pair
    changed: list[str]
    carried: list[_Carried]
    admission: str
    external_state: str
    effects: _Effects
    normalisations: list[str]
    unobserved: list[str]
    background: list[str]
    ambient: _Ambient | None
    recorder: str
    counts: _Counts
    regenerated: str
    suffix: _Suffix
    source_suffix: _Suffix
    combined: str
    digest: str


class _Subject(_Strict, frozen=True):
    name: str
    digest: dict[str, str]


class _Statement(_Strict, frozen=True, rename={"type": "_type"}):
    type: str
    predicateType: str
    subject: list[_Subject]
    predicate: _Predicate


def verify_receipt(receipt: bytes, *, source: Recording | None = None, replay: Recording | None = None) -> Checked:
    """Checks a receipt.

    1. Bytes: exactly the canonical form of one statement of this version.
    2. Fields: each of its kind, none missing, none unknown; authority is none.
    3. Digest: the receipt's own.
    4. Prefix and anchor: their digests are those of what they name.
    5. Proofs: the prefix is one of the source's and of the replay's log.
    6. Sums: sizes, suffix counts, mode and regeneration fit together.
    7. With recordings: the receipt that they have is this one, byte for byte.

    Args:
        receipt: the file's bytes.
        source: the recording that was replayed.
        replay: the recording of the replay.

    Raises:
        DamagedError: with the first check that fails.
        UnsupportedError: a newer version wrote it.
    """
    document = parse_own(receipt, what="The receipt")  # 1
    statement = _statement(document)  # 2
    predicate = statement.predicate
    steps = ["canonical bytes", "fields of version 1, authority none"]
    _check(predicate.digest == _own_digest(document), "the receipt's own digest")  # 3
    _check_prefix(predicate)  # 4
    _check_proofs(predicate)  # 5
    _check_sums(statement)  # 6
    steps += ["own digest", "prefix and anchor digests", "consistency proofs", "sizes, mode and regeneration"]
    level = SELF_CONSISTENT
    if source is not None and replay is not None:  # 7
        _check_recordings(document, source, replay)
        steps.append("built anew from both recordings, and equal")
        level = MATCHES_RECORDINGS
    held: Any = document["predicate"]
    return Checked(level=level, steps=steps, predicate=held)


def _statement(document: JsonObject) -> _Statement:
    kind = document.get("predicateType")
    if isinstance(kind, str) and kind.startswith("urn:anchored:replay:v") and kind != PREDICATE_TYPE:
        raise UnsupportedError(
            "This receipt is of another version.",
            expected=PREDICATE_TYPE,
            found=kind[:80],
            next_step="Install the version of `anchored` that knows it.",
        )
    try:
        statement = msgspec.convert(document, _Statement)
    except msgspec.ValidationError as error:
        raise _bad("the fields of a receipt", str(error)) from error
    predicate = statement.predicate
    _check(statement.type == STATEMENT_TYPE and kind == PREDICATE_TYPE, "the statement's type")
    _check(predicate.authority == "none", "authority none")
    _check(predicate.admission == NOT_EVALUATED and predicate.external_state == NOT_EVALUATED, "not-evaluated parts")
    _check(predicate.recorder == "in-process", "an in-process recorder")
    for digest in _digests(predicate):
        as_digest(digest)
    counts = msgspec.structs.astuple(predicate.counts)
    sizes = (predicate.source.size, predicate.replay.size, predicate.prefix.size, predicate.suffix.entries)
    _check(min(*counts, *sizes, predicate.source_suffix.entries) >= 0, "counts of at least 0")
    _check(predicate.plan.attempt >= 1, "an attempt from 1")
    places = [-1, *(item.event for item in predicate.carried), predicate.prefix.size]
    _check(places == sorted(set(places)), "carried events in order, begun before the anchor")
    _check(len(predicate.carried) == predicate.counts.carried, "as many carried events as are counted")
    kinds = predicate.ambient.kinds if predicate.ambient else []
    for names in (predicate.changed, predicate.normalisations, predicate.unobserved, predicate.background, kinds):
        _check(names == sorted(set(names)), "names sorted, each once")
        _check(len(names) <= MOST_NAMES and all(_is_name(name) for name in names), "names within their limits")
    _check(_is_name(predicate.intervention.kind), "a kind of intervention")
    _check(predicate.intervention.opaque == (predicate.intervention.kind == "call"), "opaque for a call, and no other")
    return statement


def _is_name(text: str) -> bool:
    return 1 <= len(text) <= LONGEST_NAME


def _digests(predicate: _Predicate) -> list[str]:
    anchor = predicate.anchor
    declarations = predicate.effects.declarations
    return [
        *(part for tree in (predicate.source, predicate.replay) for part in (tree.recording, tree.head)),
        predicate.prefix.digest,
        predicate.prefix.head,
        *predicate.proofs.source,
        *predicate.proofs.replay,
        *((anchor.digest, anchor.event, anchor.entry) if anchor else ()),
        predicate.plan.digest,
        predicate.intervention.digest,
        predicate.configuration.source,
        predicate.configuration.replay,
        *([declarations] if declarations is not None else []),
        *(item.result for item in predicate.carried),
        *([predicate.ambient.streams] if predicate.ambient else []),
        predicate.suffix.digest,
        predicate.source_suffix.digest,
        predicate.combined,
        predicate.digest,
    ]


def _own_digest(document: JsonObject) -> Digest:
    held: Any = document["predicate"]
    predicate = {key: value for key, value in held.items() if key != "digest"}
    return jcs_digest("receipt", {**document, "predicate": predicate})


def _check_prefix(predicate: _Predicate) -> None:
    prefix, anchor = predicate.prefix, predicate.anchor
    _check(prefix.digest == jcs_digest("prefix", {"size": prefix.size, "head": prefix.head}), "the prefix digest")
    if anchor is not None:
        held: JsonObject = {
            "event": anchor.event,
            "position": anchor.position,
            "entry": anchor.entry,
            "prefix": prefix.digest,
        }
        _check(anchor.digest == jcs_digest("anchor", held), "the anchor digest")


def _check_proofs(predicate: _Predicate) -> None:
    prefix = predicate.prefix
    for name, tree, proof in (
        ("source", predicate.source, predicate.proofs.source),
        ("replay", predicate.replay, predicate.proofs.replay),
    ):
        holds = verify_consistency(
            first=prefix.size,
            first_head=Digest(prefix.head),
            second=tree.size,
            second_head=Digest(tree.head),
            proof=proof,
        )
        _check(holds, f"a proof that the prefix begins the log of the {name}")


def _check_sums(statement: _Statement) -> None:
    predicate = statement.predicate
    subject = [item.name == "replay" and item.digest for item in statement.subject]
    recording = predicate.replay.recording
    _check(
        subject == [{"anchoredRecordingV1": recording}] and predicate.combined == recording, "one subject, the replay"
    )
    size = predicate.prefix.size
    if predicate.mode == "anchored":
        anchor = predicate.anchor
        _check(
            anchor is not None and anchor.position == size < predicate.source.size, "an anchor where the prefix ends"
        )
    else:
        _check(predicate.mode == "full" and predicate.anchor is None, "mode full without an anchor, or mode anchored")
        _check(predicate.source.size == size == predicate.replay.size, "one size in mode full")
    _check(predicate.suffix.entries == predicate.replay.size - size, "the suffix's count")
    _check(predicate.source_suffix.entries == predicate.source.size - size, "the source suffix's count")
    anchor_digest = None if predicate.anchor is None else Digest(predicate.anchor.digest)
    nothing = suffix_digest(Digest(predicate.prefix.digest), anchor_digest, [])
    for suffix in (predicate.suffix, predicate.source_suffix):
        _check((suffix.digest == nothing) == (suffix.entries == 0), "the digest of an empty suffix, and of no other")
    if predicate.source.recording == predicate.replay.recording:
        _check(predicate.configuration.source == predicate.configuration.replay, "one configuration of one recording")
    words = {
        "none": predicate.suffix.entries == 0,
        "verbatim": predicate.suffix == predicate.source_suffix and predicate.suffix.entries > 0,
        "new": predicate.suffix.digest != predicate.source_suffix.digest and predicate.suffix.entries > 0,
    }
    _check(words.get(predicate.regenerated, False), "regenerated as the suffixes say")


def _check_recordings(document: JsonObject, source: Recording, replay: Recording) -> None:
    """The receipt that these recordings have, built anew, is this one."""
    try:
        rebuilt = parse_own(build_receipt(source, replay), what="The receipt that the recordings have")
    except RefusedError as error:
        raise _bad(error.expected, error.found) from error
    difference = first_difference(rebuilt, document)
    if difference is not None:
        raise _bad(f"{difference.recorded} at {difference.path}", f"{difference.actual}")


def _check(holds: bool, what: str) -> None:
    if not holds:
        raise _bad(what, "something else")


def _bad(expected: str, found: str) -> DamagedError:
    return DamagedError(
        "The receipt does not hold.",
        expected=expected,
        found=found,
        next_step="Do not rely on it; replay again to get a new one.",
    )
