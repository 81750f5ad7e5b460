"""`anchored.toml`: what is understood, and what is refused."""

from pathlib import Path

import pytest

from anchored.attempts import Project, read_project, recorded_environment
from anchored.errors import UsageError


def test_no_file_is_an_empty_project(tmp_path: Path) -> None:
    assert read_project(tmp_path) == Project()


def test_effects_keep_their_order(tmp_path: Path) -> None:
    (tmp_path / "anchored.toml").write_text(
        '[effects]\n"b*" = "read"\n"*" = "write"\n[environment]\nkeep = ["LOCALE"]\n'
    )
    project = read_project(tmp_path)
    assert project.effects == (("b*", "read"), ("*", "write"))
    assert recorded_environment({"LOCALE": "x", "PATH": "/", "TZ": "UTC"}, project.environment) == {
        "LOCALE": "x",
        "TZ": "UTC",
    }


def test_patterns_of_background_requests(tmp_path: Path) -> None:
    (tmp_path / "anchored.toml").write_text('background = ["t.example.com/*", "127.0.0.1/beat"]\n[effects]\n')
    assert read_project(tmp_path).background == ("t.example.com/*", "127.0.0.1/beat")


@pytest.mark.parametrize(
    "text",
    [
        "effects = 3",
        '[effects]\nsearch = "reads"',
        "[effects]\nsearch = 1",
        "[efects]",
        "[environment]\nkeep = 'HOME'",
        "[environment]\nkeep = [1]",
        "[environment]\nkeep = ['PATH']",
        "[environment]\nkeep = ['LD_PRELOAD']",
        "[environment]\nkeep = ['PYTHONPATH']",
        "[effects",
        "background = 't.example.com'",
        "background = [1]",
        "background = ['https://t.example.com']",
        "background = ['']",
    ],
)
def test_bad_files_are_refused_with_what_to_do(tmp_path: Path, text: str) -> None:
    (tmp_path / "anchored.toml").write_text(text)
    with pytest.raises(UsageError) as refused:
        read_project(tmp_path)
    assert str(tmp_path / "anchored.toml") in refused.value.found
    assert refused.value.expected
    assert refused.value.next_step
