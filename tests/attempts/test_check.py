"""The user's check of an answer: passing is said only where the program and the check both say so."""

import sys
from pathlib import Path

import pytest

from anchored.attempts import check_words, run_check
from anchored.errors import UsageError
from anchored.recording import Stop

WELL = Stop(reason="exit", status=0)


def judged(folder: Path, code: str, *, answer: str | None = "right", stop: Stop = WELL) -> tuple[str, str]:
    done = run_check((sys.executable, "-c", code), answer=answer, stop=stop, folder=folder)
    return done.outcome, done.reason


@pytest.mark.parametrize(
    ("code", "outcome"),
    [
        ("import sys; sys.exit(sys.stdin.read() != 'right')", "passing"),
        ("import sys; sys.exit(sys.stdin.read() == 'right')", "failing"),
        ("assert False, 'not right'", "failing"),
        ("import sys; sys.exit('not right')", "failing"),
        ("not_a_name", "undetermined"),
        ("import sys; sys.exit(2)", "undetermined"),
        ("import sys; sys.exit(125)", "undetermined"),
        ("import sys; sys.exit(200)", "undetermined"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "undetermined"),
    ],
)
def test_the_status_of_the_check_decides(tmp_path: Path, code: str, outcome: str) -> None:
    """Law: an unknown word never becomes success. Only 0 and 1 judge, and 1 not where the check itself broke."""
    assert judged(tmp_path, code)[0] == outcome


@pytest.mark.parametrize(
    ("stop", "answer", "outcome"),
    [
        (Stop(reason="exit", status=1), "right", "failing"),
        (Stop(reason="signal", status=9), "right", "failing"),
        (Stop(reason="timeout"), "right", "failing"),
        (Stop(reason="ended", detail="watchdog"), "right", "failing"),
        (WELL, None, "undetermined"),
        (WELL, "", "passing"),
    ],
)
def test_a_program_that_did_not_end_well_does_not_pass(
    tmp_path: Path, stop: Stop, answer: str | None, outcome: str
) -> None:
    """Pains 11: a limit or a crash never maps to success, whatever the text says."""
    assert judged(tmp_path, "", answer=answer, stop=stop)[0] == outcome


def test_it_runs_in_the_programs_folder_and_reads_any_text(tmp_path: Path) -> None:
    (tmp_path / "check.py").write_text(
        "import sys\nsys.exit(sys.stdin.buffer.read() != 'ü\\udc80'.encode('utf-8', 'surrogatepass'))\n"
    )
    words = check_words(f"{sys.executable} check.py", tmp_path)
    assert run_check(words, answer="ü\udc80", stop=WELL, folder=tmp_path).outcome == "passing"


@pytest.mark.parametrize("text", ["", "no-such-command-anywhere", "'unfinished"])
def test_a_command_that_is_none_is_refused_before_anything_runs(tmp_path: Path, text: str) -> None:
    with pytest.raises(UsageError, match="cannot be run"):
        check_words(text, tmp_path)


def test_a_command_that_is_gone_says_nothing_of_the_answer(tmp_path: Path) -> None:
    assert run_check(("gone-command",), answer="x", stop=WELL, folder=tmp_path).outcome == "undetermined"


def test_what_the_check_complained_of_is_told(tmp_path: Path) -> None:
    """A script that is not there is no wrong answer."""
    done = run_check((sys.executable, "nocheck.py"), answer="x", stop=WELL, folder=tmp_path)
    assert done.outcome == "undetermined"
    assert "No such file" in done.reason
