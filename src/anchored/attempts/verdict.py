"""The verdict on a replay: read from the two recordings, never from what the program returned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, cast

from anchored.attempts.watch import Ended
from anchored.boundary.start import INSTALL_FAILED
from anchored.canonical import JsonObject
from anchored.recording import Recording
from anchored.replaying import Divergence, ReplayPlan, Session

VerdictKind: TypeAlias = Literal["exact", "live", "diverged", "refused", "failed", "crashed"]
"""`exact`: replayed to the end as recorded. `live`: the prefix was exact and live execution followed to its end.
`diverged`, `refused` (guard, effects, order), `failed` (recorder, no handshake), `crashed` (crashed, hung or ran out of
time where the recording did not)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """What became of an attempt.

    Attributes:
        kind: see VerdictKind.
        reason: in one sentence.
        divergence: the first difference, where there is one.
        details: what a refusal was about.
        prefix_exact: every entry of the prefix was rebuilt equal and the anchor, if any, was reached.
    """

    kind: VerdictKind
    reason: str
    prefix_exact: bool
    divergence: Divergence | None = None
    details: JsonObject | None = None

    def document(self) -> JsonObject:
        """As it is kept with the replay."""
        return {"kind": self.kind, "reason": self.reason, "prefix_exact": self.prefix_exact}

    @property
    def holds(self) -> bool:
        """Whether the attempt did what was asked."""
        return self.kind in ("exact", "live")


def judge(source: Recording, replay: Recording, plan: ReplayPlan, ended: Ended) -> Verdict:
    """Judges an attempt.

    1. Without a hello, or with a door that does not fit, nothing was observed.
    2. A poison decides by its cause.
    3. The prefix in the replay's log must be the source's, entry by entry, and the anchor must have begun.
    4. The program must have ended as the recording's did; after an anchor, without a crash.

    Args:
        source: what was replayed.
        replay: what the attempt recorded.
        plan: what was to be done.
        ended: how the program ended.
    """
    if not ended.hello or replay.notes_of("install_failed"):  # 1
        return Verdict(kind="failed", reason=_without_hello(ended), prefix_exact=False)
    size = len(source.log) if plan.anchor is None else plan.anchor.position
    exact = _same_prefix(source, replay, size)
    reached = len(replay.log) > size if plan.anchor is not None else len(replay.log) == size
    poison = next(iter(replay.notes_of("poison")), None)
    if poison is not None:  # 2
        return _poisoned(poison, prefix_exact=exact and plan.anchor is not None and reached)
    if not (exact and reached):  # 3
        missing = _missing(source, replay, plan)
        where = missing.position if missing else len(replay.log)
        return Verdict(
            kind="diverged" if ended.by == "itself" else "crashed",
            reason=f"{_ending(ended)} before the recorded event at {where}",
            divergence=missing if ended.by == "itself" else None,
            prefix_exact=False,
        )
    outside = sorted({str(note["address"]) for note in replay.notes_of("unobserved")})
    crash = _crash(source, ended)  # 4
    if crash is not None:
        return Verdict(kind="crashed", reason=crash, prefix_exact=True)
    if plan.anchor is None:
        reached = f"; reached outside the boundary: {', '.join(outside)}" if outside else ", nothing went live"
        return Verdict(
            kind="exact",
            reason=f"exact: every request was the recorded one{reached}{_other_end(source, ended)}",
            prefix_exact=True,
        )
    reached = f"; reached outside the boundary: {', '.join(outside)}" if outside else ""
    return Verdict(kind="live", reason=f"prefix exact, then live to the end{reached}", prefix_exact=True)


def _without_hello(ended: Ended) -> str:
    if ended.by == "handshake":
        return "the boundary did not say hello in time, and the program was ended"
    if ended.status == INSTALL_FAILED or ended.hello:
        return "the boundary could not be put into the program's Python"
    return "the program ended without a boundary: it runs no Python, or Python with -I, -E or -S, or went on behind it"


def _same_prefix(source: Recording, replay: Recording, size: int) -> bool:
    return len(replay.log) >= size and all(
        one.digest == other.digest
        for one, other in zip(source.log.entries[:size], replay.log.entries[:size], strict=True)
    )


def _poisoned(poison: JsonObject, *, prefix_exact: bool) -> Verdict:
    cause = poison.get("cause")
    held = poison.get("divergence")
    kinds: dict[object, VerdictKind] = {
        "divergence": "diverged",
        "guard": "refused",
        "effects": "refused",
        "order": "refused",
    }
    return Verdict(
        kind=kinds.get(cause, "failed"),
        reason=str(poison.get("message")),
        divergence=Divergence.from_document(cast("JsonObject", held)) if held is not None else None,
        details=poison,
        prefix_exact=prefix_exact,
    )


def _missing(source: Recording, replay: Recording, plan: ReplayPlan) -> Divergence | None:
    """The first recorded event that never came."""
    session = Session(source, anchor=plan.anchor.position if plan.anchor else None)
    return session.missing_after(len(replay.log))


def _crash(source: Recording, ended: Ended) -> str | None:
    """Why the program's end is a crash that the recording did not have; None if it is none."""
    stop = source.closing.stop if source.closing else None
    recorded = None if stop is None or stop.status is None else stop.status if stop.reason == "exit" else -stop.status
    if ended.by == "itself" and ended.status in (0, recorded):
        return None
    before = "an unknown end" if recorded is None else _status(recorded)
    return f"{_ending(ended)}; the recording ended with {before}"


def _other_end(source: Recording, ended: Ended) -> str:
    """What is to be said where the program ended well and the recording did not."""
    stop = source.closing.stop if source.closing else None
    if ended.status != 0 or stop is None or (stop.reason == "exit" and stop.status == 0):
        return ""
    return f"; it ended with status 0, the recording with {stop.words}"


def said(kind: str, reason: str) -> str:
    """A verdict in words: its kind where the reason does not begin with it."""
    return reason if reason.startswith((f"{kind}:", "prefix exact", f"{kind} at")) else f"{kind}: {reason}"


def _ending(ended: Ended) -> str:
    if ended.by == "timeout":
        return "the program ran out of time (--timeout)"
    if ended.signal is not None:
        return f"the replay was ended by signal {ended.signal}"
    return f"the program ended with {_status(ended.status)}"


def _status(status: int) -> str:
    return f"status {status}" if status >= 0 else f"signal {-status}"
