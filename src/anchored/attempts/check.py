"""The user's check: a command that reads an answer and says by its exit status whether it is right."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias, cast

from anchored.canonical import JsonObject
from anchored.errors import UsageError
from anchored.recording import Recording, Stop

OutcomeWord: TypeAlias = Literal["passing", "failing", "undetermined"]

_JUDGED: dict[int, OutcomeWord] = {0: "passing", 1: "failing"}
"""What a check says by its status. Any other says that it could not judge: a script that is not there ends with 2."""

_TIMEOUT = 60.0
_LONGEST = 200


@dataclass(frozen=True, kw_only=True, slots=True)
class Checked:
    """What a check said of a run.

    Attributes:
        command: the check's words.
        outcome: passing (the program and the check ended with 0), failing (the program ended otherwise, or the check
            with 1), or undetermined (the check could not judge, or there was no answer for it).
        reason: in a few words.
    """

    command: tuple[str, ...]
    outcome: OutcomeWord
    reason: str

    def document(self) -> JsonObject:
        """As it is kept with the run."""
        return {"command": list(self.command), "outcome": self.outcome, "reason": self.reason}


def check_words(text: str, folder: Path) -> tuple[str, ...]:
    """The words of a `--check` command, which is run without a shell.

    Raises:
        UsageError: there is no such command.
    """
    try:
        words = tuple(shlex.split(text))
    except ValueError as error:
        raise _no_check(text, str(error)) from error
    if not words or shutil.which(str(folder / words[0]) if os.sep in words[0] else words[0]) is None:
        raise _no_check(text, "no such command")
    return words


def run_check(command: tuple[str, ...], *, answer: str | None, stop: Stop, folder: Path) -> Checked:
    """Runs a check.

    Args:
        command: the check's words.
        answer: the final answer, for its standard input; None if there is none.
        stop: how the program ended.
        folder: where it runs.
    """
    if stop.reason != "exit" or stop.status != 0:
        return Checked(command=command, outcome="failing", reason=f"the program ended with {stop.words}")
    if answer is None:
        return Checked(command=command, outcome="undetermined", reason="the run has no answer; anchored.final says one")
    try:
        with tempfile.TemporaryFile() as complaints:  # no pipe, which a child of the check could hold open
            done = subprocess.run(
                command,
                cwd=folder,
                input=answer.encode("utf-8", "surrogatepass"),
                stdout=subprocess.DEVNULL,
                stderr=complaints,
                timeout=_TIMEOUT,
                check=False,
            )
            complaints.seek(0)
            said = complaints.read().decode("utf-8", "replace")
    except subprocess.TimeoutExpired:
        return Checked(command=command, outcome="undetermined", reason=f"the check took more than {_TIMEOUT:.0f} s")
    except OSError as error:
        return Checked(command=command, outcome="undetermined", reason=f"the check cannot be run: {error.strerror}")
    reason = f"the check ended with {done.returncode}"
    complaint = said.strip().rpartition("\n")[2]
    if done.returncode != 0 and complaint:
        reason += f": {complaint[:_LONGEST]}"
    broken = "Traceback (most recent call last)" in said and "\nAssertionError" not in said
    outcome = "undetermined" if broken and done.returncode != 0 else _JUDGED.get(done.returncode, "undetermined")
    return Checked(command=command, outcome=outcome, reason=reason)


def checked(recording: Recording) -> Checked | None:
    """What a run's check said; None if it had none."""
    said = recording.notes_of("check")
    if not said:
        return None
    note = said[-1]
    outcome = note.get("outcome")
    return Checked(
        command=tuple(str(word) for word in cast("list[object]", note["command"])),
        outcome=outcome if outcome in ("passing", "failing") else "undetermined",
        reason=str(note.get("reason")),
    )


def _no_check(text: str, found: str) -> UsageError:
    return UsageError(
        "The check cannot be run.",
        expected="a command that reads the answer on standard input and ends with 0 if it is right, 1 if not",
        found=f"{text}: {found}",
        next_step='For example --check "python check.py"; a pipe needs a shell of its own: "sh -c \'…\'".',
    )
