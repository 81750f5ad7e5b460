"""Several attempts side by side: the control, where nothing was changed, against the intervention."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from anchored.attempts import Replay, checked
from anchored.canonical import clip
from anchored.cli.console import out, print_table
from anchored.cli.reading import event_line, final_text
from anchored.recording import Recording

_SAYING = 48


@dataclass(frozen=True, kw_only=True, slots=True)
class Trial:
    """One attempt and the arm that it belongs to.

    Attributes:
        arm: control, or what was done to the anchor: guided, replaced, edited, swapped, called.
        replay: the attempt.
    """

    arm: str
    replay: Replay


def print_trials(source: Recording, trials: Sequence[Trial]) -> None:
    """A line for each attempt, and what the arms came to."""
    arms = sorted({trial.arm for trial in trials}, key=lambda arm: arm != "control")
    columns = ("arm", "attempt", "verdict", "outcome", "first difference", "live tokens", "seconds", "answer")
    rows = [_row(source, trial) for arm in arms for trial in trials if trial.arm == arm]
    print_table(out(), columns, rows, right=["live tokens", "seconds"], shrink=["answer", "first difference"])
    before = checked(source)
    said = f"{before.outcome}: " if before else ""
    out().print(f"the recording: {said}{clip(final_text(source), 100) or 'no answer'}")
    for arm in arms:
        out().print(_sum(arm, [trial.replay for trial in trials if trial.arm == arm]))


def live_tokens(attempt: Replay) -> int:
    """Tokens of the model calls that went live."""
    start = attempt.plan.anchor.position if attempt.plan.anchor else len(attempt.recording.log)
    events = [event for event in attempt.recording.log.events if event.position >= start]
    return sum(event_line(attempt.recording, event).tokens or 0 for event in events)


def _row(source: Recording, trial: Trial) -> tuple[str, ...]:
    attempt = trial.replay
    return (
        trial.arm,
        attempt.name,
        attempt.verdict.kind,
        attempt.check.outcome if attempt.check else "–",
        first_difference(source, attempt),
        str(live_tokens(attempt)),
        f"{attempt.seconds:.1f}",
        clip(final_text(attempt.recording), 100) or "none",
    )


def first_difference(source: Recording, attempt: Replay) -> str:
    """The first event at which other words were said than in the recording, by the attempt's own position.

    Words, not bytes: no two live responses have the same ids.
    """
    ones, others = (_said(recording) for recording in (source, attempt.recording))
    for (_, one), (position, other) in zip(ones, others, strict=False):
        if one != other:
            return f"{position} {clip(other[-1], _SAYING)}"
    if len(ones) == len(others):
        return "none"
    return f"{others[len(ones)][0]} goes on" if len(others) > len(ones) else f"ends before {ones[len(others)][0]}"


def _said(recording: Recording) -> list[tuple[int, tuple[str, ...]]]:
    """Of each event its position, who called what, and what came of it."""
    return [
        (
            event.position,
            (event.begin.actor or "", event.begin.kind, event.begin.name, event_line(recording, event).says),
        )
        for event in recording.log.events
    ]


def _sum(arm: str, attempts: Sequence[Replay]) -> str:
    """How often the arm passed, or what it answered; what it cost."""
    judged = [attempt.check.outcome for attempt in attempts if attempt.check]
    if judged:
        said = f"passing {judged.count('passing')} of {len(attempts)}"
        unclear = judged.count("undetermined")
        said += f", undetermined {unclear}" if unclear else ""
    else:
        answers = Counter(final_text(attempt.recording) for attempt in attempts)
        said = " · ".join(f"{count} × {clip(answer, 60) or 'none'}" for answer, count in answers.most_common())
    tokens = sum(live_tokens(attempt) for attempt in attempts)
    seconds = sum(attempt.seconds for attempt in attempts)
    return f"{arm + ':':<10} {said}; {tokens} live tokens, {seconds:.1f} s"
