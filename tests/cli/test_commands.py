"""The command line as users meet it: help, errors, escapes, and a README that tells the truth."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from anchored.canonical import clip, visible

COMMAND = Path(sys.executable).with_name("anchored")
ROOT = Path(__file__).parents[2]
COMMANDS = ("record", "list", "show", "diff", "verify", "replay", "test new", "export", "rm")


def anchored(*arguments: str, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(COMMAND), *arguments], cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_is_documented(command: str) -> None:
    """docs/commands.md names each option that --help knows, and no other."""
    done = anchored(*command.split(), "--help")
    assert done.returncode == 0
    known = set(re.findall(r"--[a-z][a-z-]+", done.stdout)) - {"--help", "--json", "--store"}
    text = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    row = next(line for line in text.splitlines() if line.startswith(f"| `{command}"))
    assert set(re.findall(r"--[a-z][a-z-]+", row)) == known


def test_readme_uses_only_commands_and_options_that_exist() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    used = re.findall(r"^(?:\$ )?anchored (test new|\w+)(.*)$", text, re.MULTILINE)
    assert {command for command, _ in used} == set(COMMANDS)
    for command, rest in used:
        known = anchored(*command.split(), "--help").stdout
        options = re.findall(r"--[a-z][a-z-]+", rest.partition("#")[0].partition(" -- ")[0])
        assert all(option in known for option in options), (command, rest)


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        (["show", "nothing"], 2, "No such run"),
        (["verify", "nothing"], 2, "No such run"),
        (["replay", "nothing"], 2, "No such run"),
        (["export", "nothing", "--leaves", "x"], 2, "No such run"),
        (["diff", "nothing", "last"], 2, "No such run"),
        (["rm", "nothing"], 2, "No such run"),
        (["record"], 2, "COMMAND"),
        (["record", "--", "no-such-program-anywhere"], 2, "cannot be started"),
        (["record", "--name", "../x", "--", "true"], 2, "cannot have this name"),
        (["verify", "x", "--expect", "abc"], 2, "whole digest"),
        (["replay", "x", "--guide", "y"], 2, "needs an anchor"),
        (["frobnicate"], 2, "frobnicate"),
    ],
)
def test_wrong_usage(tmp_path: Path, arguments: list[str], status: int, says: str) -> None:
    """Exit 2, and the error says what to do; nothing is left half-written."""
    done = anchored(*arguments, folder=tmp_path)
    assert done.returncode == status, done.stderr
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_an_empty_store_says_what_to_do(tmp_path: Path) -> None:
    done = anchored("list", folder=tmp_path)
    assert done.returncode == 0
    assert "anchored record -- python team.py" in done.stderr
    assert not list(tmp_path.iterdir()), "reading makes no store"


def test_a_program_that_is_no_python_is_not_recorded(tmp_path: Path) -> None:
    done = anchored("record", "--", "true", folder=tmp_path)
    assert done.returncode == 125
    assert "nothing was recorded" in done.stderr


def test_damaged_runs_are_listed_as_such(tmp_path: Path) -> None:
    assert anchored("record", "--name", "one", "--", sys.executable, "-c", "", folder=tmp_path).returncode == 0
    path = tmp_path / ".anchored" / "runs" / "one.sqlite"
    path.chmod(0o600)
    path.write_bytes(path.read_bytes()[:5000])
    listed = anchored("list", folder=tmp_path)
    assert listed.returncode == 5
    assert "damaged" in listed.stdout
    verified = anchored("verify", "one", folder=tmp_path)
    assert verified.returncode == 5
    assert "expected" in verified.stderr


def test_programs_own_status_is_passed_on(tmp_path: Path) -> None:
    assert anchored("record", "--", sys.executable, "-c", "raise SystemExit(7)", folder=tmp_path).returncode == 7
    killed = "import os, signal; os.kill(os.getpid(), signal.SIGTERM)"
    assert anchored("record", "--", sys.executable, "-c", killed, folder=tmp_path).returncode == 143
    timed = anchored(
        "record", "--timeout", "1", "--", sys.executable, "-c", "import time; time.sleep(60)", folder=tmp_path
    )
    assert timed.returncode == 137
    assert "time limit" in timed.stderr


@pytest.mark.parametrize(
    "text", ["\x1b[31mred", "a\u202eb", "\u200bzero", "\x07", "line\nline", "\ud800", "[bold]x[/]"]
)
def test_nothing_from_a_trace_reaches_the_terminal_raw(text: str) -> None:
    shown = visible(text)
    assert shown.isprintable()
    assert "\x1b" not in shown
    assert len(clip(text * 100, 40)) == 40
    assert visible("grün – 漢字") == "grün – 漢字"
