"""From what the user gives to an intervention."""

from __future__ import annotations

from pathlib import Path

from anchored.errors import UsageError
from anchored.recording import Recording
from anchored.replaying import (
    Guide,
    Intervention,
    ReplaceResult,
    Unchanged,
    text_replacement,
    whole_replacement,
)


def choose_intervention(
    source: Recording, position: int | None, *, guide: str | None, set_result: Path | None
) -> Intervention:
    """Guidance, a result out of a file, or nothing.

    Args:
        source: the recording.
        position: the anchor; None for a replay to the end.
        guide: a message.
        set_result: a file with a result; `.json` is the whole result, any other its text.

    Raises:
        UsageError: both are given, or no anchor, or the file cannot be used.
    """
    check_intervention(anchored=position is not None, guide=guide, set_result=set_result)
    if set_result is not None and position is not None:
        return _read_replacement(source, position, set_result)
    return Unchanged() if guide is None else Guide(text=guide)


def check_intervention(*, anchored: bool, guide: str | None, set_result: Path | None) -> None:
    """Whether what is given is one intervention, and has an anchor.

    Raises:
        UsageError: it is not.
    """
    if not anchored and (guide is not None or set_result is not None):
        raise _unusable("--guide or --set-result without --at")
    if guide is not None and set_result is not None:
        raise _unusable("--guide and --set-result")
    if guide == "":
        raise _unusable("an empty text")


def _read_replacement(source: Recording, position: int, path: Path) -> ReplaceResult:
    try:
        content = path.read_bytes()
        if path.suffix == ".json":
            return whole_replacement(source, position, content)
        return text_replacement(source, position, content.decode("utf-8").removesuffix("\n"))
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            "The file with the result cannot be read.",
            expected="a text in UTF-8, or JSON in a file that ends in .json",
            found=f"{path}: {error.strerror if isinstance(error, OSError) else error}",
            next_step="Correct the file.",
        ) from error


def _unusable(found: str) -> UsageError:
    return UsageError(
        "An intervention needs an anchor, and there is one at a time.",
        expected="--at E with --guide TEXT, or --at E with --set-result FILE",
        found=found,
        next_step="See `anchored show RUN` for the events that can be anchored.",
    )
