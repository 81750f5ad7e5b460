"""Building a receipt: an in-toto statement of which prefix, anchor, intervention and suffix a replay had."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import cast

from anchored.canonical import Digest, Json, JsonObject, canonical, jcs_digest
from anchored.errors import RefusedError
from anchored.receipts.counts import carried, count
from anchored.recording import Recording, anchor_on, prefix_digest
from anchored.replaying import (
    Call,
    ReplayPlan,
    ambient_digest,
    ambient_kinds,
    background_name,
    changed_since,
    is_ambient,
    is_incomplete,
    plan_from,
    recorded_ambient,
)

STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE = "urn:anchored:replay:v1"
NOT_EVALUATED = "not-evaluated"
LONGEST_NAME = 256
MOST_NAMES = 1000


def build_receipt(source: Recording, replay: Recording) -> bytes:
    """The receipt of a replay, as canonical bytes: a function of the two recordings and of nothing else.

    Args:
        source: what was replayed.
        replay: what the attempt recorded; its prefix was rebuilt from what the program asked and was handed.

    Raises:
        RefusedError: there is no receipt for such a pair: it is no replay of that source, its prefix is another, or its
            ids are not its own.
    """
    replayed = replay.opening.replayed
    if replayed is None:
        raise _refused("a replay", "a recording")
    plan, attempt = plan_from(cast("JsonObject", replayed.plan)), replayed.attempt
    anchor = plan.anchor
    size = len(source.log) if anchor is None else anchor.position
    _check_pair(source, replay, plan, attempt)
    if not _has_prefix(source, replay, size) or (anchor is None and len(replay.log) != size):
        raise _refused(f"the first {size} entries of the recording, rebuilt equal", "others")
    prefix = prefix_digest(source.log, size)
    suffix = _suffix(replay, size, prefix, plan)
    source_suffix = _suffix(source, size, prefix, plan)
    predicate: JsonObject = {
        "authority": "none",
        "mode": "full" if anchor is None else "anchored",
        "source": _tree(source),
        "replay": _tree(replay),
        "prefix": {"digest": prefix, "size": size, "head": source.log.tree.root(size)},
        "proofs": {
            "source": list[Json](source.log.tree.consistency_proof(size)),
            "replay": list[Json](replay.log.tree.consistency_proof(size)),
        },
        "anchor": None
        if anchor is None
        else {"digest": anchor.digest, "event": anchor.event, "position": anchor.position, "entry": anchor.entry},
        "plan": {"digest": plan.digest, "attempt": attempt},
        "intervention": {
            "kind": plan.intervention.document()["kind"],
            "digest": plan.intervention.digest,
            "opaque": isinstance(plan.intervention, Call),
        },
        "configuration": {"source": source.summary.configuration, "replay": replay.summary.configuration},
        "changed": _names(part.what for part in changed_since(source, replay)),
        "carried": [
            {"event": event.position, "result": event.end.result if event.end else None}
            for event in carried(source, replay, size)
        ],
        "admission": NOT_EVALUATED,
        "external_state": NOT_EVALUATED,
        "effects": {"allow": plan.effects_allowed, "declarations": plan.declarations_digest},
        "normalisations": _names(f"map-url {old}={new}" for old, new in plan.origins),
        "unobserved": _names(_unobserved(replay)),
        "background": _names(_background(replay)),
        "ambient": _ambient(source, replay),
        "recorder": "in-process",
        "counts": asdict(count(source, replay, size)),
        "regenerated": _regenerated(source, replay, size),
        "suffix": suffix,
        "source_suffix": source_suffix,
        "combined": replay.digest,
    }
    statement: JsonObject = {
        "_type": STATEMENT_TYPE,
        "predicateType": PREDICATE_TYPE,
        "subject": [{"name": "replay", "digest": {"anchoredRecordingV1": replay.digest}}],
        "predicate": predicate,
    }
    predicate["digest"] = jcs_digest("receipt", statement)
    return canonical(statement)


def suffix_digest(prefix: Digest, anchor: Digest | None, entries: list[Digest]) -> Digest:
    """`H("suffix", JCS{prefix, anchor, entries})`."""
    return jcs_digest("suffix", {"prefix": prefix, "anchor": anchor, "entries": list[Json](entries)})


def _check_pair(source: Recording, replay: Recording, plan: ReplayPlan, attempt: int) -> None:
    """The replay names this source, and its anchor and ids are what the plan and the source make them."""
    named = replay.opening.replayed
    if plan.source != source.digest or named is None or named.source != source.digest:
        raise _refused(f"a replay of {source.digest}", f"one of {plan.source}")
    if attempt < 1 or replay.opening.run != plan.run_id(attempt) or replay.opening.run == source.opening.run:
        raise _refused("the run id of this plan and attempt", replay.opening.run)
    anchor = plan.anchor
    if anchor is not None and (
        source.log.event_at(anchor.position) is None
        or anchor != anchor_on(source.log, source.opening.run, anchor.position)
    ):
        raise _refused("an anchor of the source", f"another at {anchor.position}")


def _refused(expected: str, found: str) -> RefusedError:
    return RefusedError(
        "There is no receipt for this replay.",
        expected=expected,
        found=found,
        next_step="See where it diverged with `anchored show`.",
    )


def _has_prefix(source: Recording, replay: Recording, size: int) -> bool:
    return len(replay.log) >= size and source.log.tree.root(size) == replay.log.tree.root(size)


def _suffix(recording: Recording, size: int, prefix: Digest, plan: ReplayPlan) -> JsonObject:
    entries = [entry.digest for entry in recording.log.entries[size:]]
    anchor = plan.anchor.digest if plan.anchor else None
    return {"digest": suffix_digest(prefix, anchor, entries), "entries": len(entries)}


def _names(names: Iterable[str]) -> list[Json]:
    """Names as a receipt lists them: sorted, each once, none longer than the limit, the first so many."""
    return list[Json](sorted({name[:LONGEST_NAME] for name in names})[:MOST_NAMES])


def _unobserved(replay: Recording) -> set[str]:
    """What was reached outside the boundary, and programs in other languages, of which nothing is seen."""
    reached = {str(note["address"]) for note in replay.notes_of("unobserved")}
    return reached | {f"program {note['name']}" for note in replay.notes_of("program")}


def _background(replay: Recording) -> set[str]:
    """What was declared as background, came, and was answered locally."""
    return {
        background_name(method=str(note["method"]), origin=str(note["origin"]), path=str(note["path"]))
        for note in replay.notes_of("background")
    }


def _ambient(source: Recording, replay: Recording) -> JsonObject | None:
    """Which recorded times and chances the prefix was given; None for a run that was recorded without."""
    if not is_ambient(source):
        return None
    streams = recorded_ambient(source)
    return {
        "kinds": list[Json](ambient_kinds(streams)),
        "streams": ambient_digest(streams),
        "incomplete": is_incomplete(replay),
    }


def _regenerated(source: Recording, replay: Recording, size: int) -> str:
    """`none`: nothing followed the prefix. `verbatim`: the same entries as in the source. `new`: others."""
    one = [entry.digest for entry in replay.log.entries[size:]]
    other = [entry.digest for entry in source.log.entries[size:]]
    return "none" if not one else "verbatim" if one == other else "new"


def _tree(recording: Recording) -> JsonObject:
    return {"recording": recording.digest, "size": len(recording.log), "head": recording.log.head}
