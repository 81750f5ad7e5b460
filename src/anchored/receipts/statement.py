"""Building a receipt: an in-toto statement of which prefix, anchor, intervention and suffix a replay had."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from anchored.canonical import Digest, Json, JsonObject, canonical, jcs_digest
from anchored.errors import RefusedError
from anchored.recording import Recording, prefix_digest
from anchored.replay import ReplayPlan

STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE = "urn:anchored:replay:v1"
NOT_EVALUATED = "not-evaluated"


@dataclass(frozen=True, kw_only=True, slots=True)
class Counts:
    """Events of a replay by how they were answered.

    Attributes:
        served: from the recording.
        live: for real.
        carried: in flight at the anchor.
        covered: under a served tool.
        containers: tools that ran their own code in the prefix.
        substituted: recorded exceptions whose class could not be rebuilt.
    """

    served: int
    live: int
    carried: int
    covered: int
    containers: int
    substituted: int


def build_receipt(
    *, source: Recording, replay: Recording, plan: ReplayPlan, attempt: int, counts: Counts, unobserved: list[str]
) -> bytes:
    """The receipt of an attempt, as canonical bytes.

    Args:
        source: what was replayed.
        replay: what the attempt recorded; its prefix was rebuilt from what the program asked and was handed.
        plan: what was to be done.
        attempt: number of the attempt at this plan.
        counts: events by how they were answered.
        unobserved: hosts reached outside the boundary.

    Raises:
        RefusedError: the replay's prefix is not the source's; there is no receipt for such an attempt.
    """
    anchor = plan.anchor
    size = len(source.log) if anchor is None else anchor.position
    if not _has_prefix(source, replay, size) or (anchor is None and len(replay.log) != size):
        raise RefusedError(
            "There is no receipt for this replay.",
            expected=f"the first {size} entries of the recording, rebuilt equal",
            found="others",
            next_step="See where it diverged with `anchored show`.",
        )
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
        "intervention": {"kind": plan.intervention.document()["kind"], "digest": plan.intervention.digest},
        "configuration": {"source": source.summary.configuration, "replay": replay.summary.configuration},
        "admission": NOT_EVALUATED,
        "external_state": NOT_EVALUATED,
        "effects": {"allow": plan.effects_allowed, "declarations": plan.declarations_digest},
        "normalisations": list[Json](sorted({f"map-url {old}={new}" for old, new in plan.origins})),
        "unobserved": list[Json](sorted(set(unobserved))),
        "recorder": "in-process",
        "counts": asdict(counts),
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


def _has_prefix(source: Recording, replay: Recording, size: int) -> bool:
    return len(replay.log) >= size and source.log.tree.root(size) == replay.log.tree.root(size)


def _suffix(recording: Recording, size: int, prefix: Digest, plan: ReplayPlan) -> JsonObject:
    entries = [entry.digest for entry in recording.log.entries[size:]]
    anchor = plan.anchor.digest if plan.anchor else None
    return {"digest": suffix_digest(prefix, anchor, entries), "entries": len(entries)}


def _regenerated(source: Recording, replay: Recording, size: int) -> str:
    """`none`: nothing followed the prefix. `verbatim`: the same entries as in the source. `new`: others."""
    one = [entry.digest for entry in replay.log.entries[size:]]
    other = [entry.digest for entry in source.log.entries[size:]]
    return "none" if not one else "verbatim" if one == other else "new"


def _tree(recording: Recording) -> JsonObject:
    return {"recording": recording.digest, "size": len(recording.log), "head": recording.log.head}
