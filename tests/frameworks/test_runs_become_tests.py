"""`anchored test new`: a failing run of the real team becomes a test that pytest runs."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import builders
import msgspec
import pytest

from anchored.library import Library
from anchored.testing import running_endpoint
from anchored.testing.mutants import changed_entries, store

from .conftest import COMMAND, DEMO, Done, Stand, make_stand


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Stand]:
    """A folder with the team and a failing run `team`, whose check is kept."""
    for name in ("check.py", "script.py"):
        (tmp_path / name).write_bytes((DEMO / name).read_bytes())
    with running_endpoint(DEMO / "script.py", seed=0, log=tmp_path / "endpoint.jsonl") as endpoint:
        stand = make_stand(tmp_path, endpoint)
        check = ("--check", f"{sys.executable} check.py")
        done = stand.anchored("record", "--name", "team", *check, "--", sys.executable, "team.py")
        assert done.status == 0, done.err
        yield stand


def pytest_in(stand: Stand, *arguments: str, bare: bool = True) -> Done:
    """pytest in the project; `bare` takes the endpoint away."""
    less = ("env", "-u", "OPENAI_BASE_URL", "-u", "OPENAI_API_KEY") if bare else ()
    return stand.run(*less, sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-ra", *arguments)


def test_a_failing_run_becomes_a_test(project: Stand) -> None:
    """Issue: full replay exact, no key, no network; the difference is printed as people like it."""
    made = project.anchored("test", "new", "team")
    assert made.status == 0, made.err
    assert "next: pytest tests/test_team.py" in made.err
    fixture = project.folder / "tests" / "recordings" / "team.sqlite"
    assert fixture.stat().st_size < 200_000
    calls = project.calls()
    passed = pytest_in(project)
    assert passed.status == 0, passed.out
    assert "1 passed" in passed.out
    assert project.calls() == calls
    project.program("team.py", ("then write TERMINATE", "then write TERMINATE and stop"))
    failed = pytest_in(project)
    assert failed.status == 1
    assert "diverged at 32, writer: chat scripted-1" in failed.out
    assert "- recorded  …" in failed.out
    assert 'write TERMINATE and stop."' in failed.out
    assert "changed since the recording: team.py" in failed.out
    assert "in require_exact" not in failed.out, "the trace ends in the test's own line"
    assert project.calls() == calls


def test_it_moves_with_its_project(project: Stand, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Another machine has another folder and another Python; the test finds both by itself."""
    assert project.anchored("test", "new", "team", "--into", "checks/replays").status == 0
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "project"
    subprocess.run(["cp", "-r", str(project.folder), str(elsewhere)], check=True)
    for name in ("team.py", ".anchored"):
        subprocess.run(["rm", "-r", str(project.folder / name)], check=True)
    moved = Stand(folder=elsewhere, endpoint=project.endpoint)
    done = pytest_in(moved, "checks")
    assert done.status == 0, done.out
    text = (elsewhere / "checks" / "replays" / "test_team.py").read_text()
    assert str(project.folder) not in text
    assert "FOLDER = HERE.parent.parent" in text


def test_a_test_that_goes_live_takes_a_model_and_judges_the_answer(project: Stand) -> None:
    """Issue: with --at the prefix is exact and the declared predicate holds of the suffix."""
    (project.folder / "right.txt").write_text("300")
    (project.folder / "wrong.txt").write_text("301")
    new = ("test", "new", "team", "--at", "20", "--set-result")
    assert project.anchored(*new, "right.txt").status == 0
    skipped = pytest_in(project)
    assert skipped.status == 0
    assert "takes a model: OPENAI_BASE_URL" in skipped.out
    passed = pytest_in(project, bare=False)
    assert (passed.status, "1 passed" in passed.out) == (0, True), passed.out
    assert project.anchored(*new, "wrong.txt").status == 2, "there is one already"
    assert project.anchored(*new, "wrong.txt", "--force").status == 0
    failed = pytest_in(project, bare=False)
    assert failed.status == 1
    assert "the answer does not hold: " in failed.out
    matched = project.anchored(*new, "wrong.txt", "--force", "--expect-answer", r"30\d lamps")
    assert matched.status == 0, matched.err
    assert pytest_in(project, bare=False).status == 0


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("team", "--check", "true"), "together with --at"),
        (("team", "--expect-answer", "x"), "together with --at"),
        (("team", "--at", "18", "--expect-answer", "("), "regular expression"),
        (("team", "--guide", "x"), "without --at"),
        (("team", "--at", "1000"), "No anchor can be put there"),
        (("gone",), "No such run"),
    ],
)
def test_what_makes_no_test_is_refused_and_leaves_nothing(
    stand: Stand, tmp_path: Path, arguments: tuple[str, ...], says: str
) -> None:
    name = "first" if arguments[0] == "team" else arguments[0]
    done = stand.anchored("test", "new", name, *arguments[1:], "--into", str(tmp_path / "tests"))
    assert done.status == 2, done.err
    assert says in done.err
    assert not (tmp_path / "tests").exists()


def test_a_live_test_without_a_predicate_is_refused(stand: Stand, tmp_path: Path) -> None:
    done = stand.anchored("test", "new", "first", "--at", "18", "--into", str(tmp_path / "tests"))
    assert done.status == 2
    assert "which answers are right" in done.err
    assert not (tmp_path / "tests").exists()


def test_the_fixture_is_the_run(stand: Stand, tmp_path: Path) -> None:
    """Nothing is lost or made anew on the way: the digest is the run's."""
    assert stand.anchored("test", "new", "first", "--into", str(tmp_path)).status == 0
    digest = stand.show("first")["digest"]
    command = "import anchored, pathlib, sys; print(anchored.load(pathlib.Path(sys.argv[1])).digest)"
    done = subprocess.run(
        [COMMAND.with_name("python"), "-c", command, str(tmp_path / "recordings" / "first.sqlite")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == digest


@pytest.mark.parametrize(
    "command",
    [
        ["python", "-m", "anchored.boundary.program", 'x",command=[__import__("os").system("touch PWNED")],#'],
        ["python", 'a"+str(__import__("os").system("touch PWNED"))+".py'],
    ],
)
def test_what_was_recorded_becomes_no_code(stand: Stand, tmp_path: Path, command: list[str]) -> None:
    """A recording is data: names and words of its command stand in the test as texts, or not at all."""
    source = Library(stand.folder / ".anchored").open("first")
    configuration = {**source.opening.configuration, "command": command, "folder": str(tmp_path / 'a"+str(1)+"')}
    opening = msgspec.structs.replace(source.opening, configuration=configuration)
    library = builders.store(tmp_path / "other")
    store(library, "crafted", replace(source, opening=opening), changed_entries(source))
    into = tmp_path / "tests"
    made = stand.anchored("test", "new", "crafted", "--store", str(library.root), "--into", str(into))
    if made.status == 0:
        text = (into / "test_crafted.py").read_text()
        called = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
        names = {ast.unparse(node.func) for node in called}
        assert names == {"anchored.replay", "replay.require_exact", "Path"}
    else:
        assert made.status == 2, made.err


def test_a_run_that_was_not_closed_makes_no_test(stand: Stand, tmp_path: Path) -> None:
    """A copy of it would lack what is in its journal, and a test of nothing passes always."""
    library = builders.store(tmp_path / "killed")
    library.create("killed", builders.opening(), {"mode": "record"})
    done = stand.anchored("test", "new", "killed", "--store", str(library.root), "--into", str(tmp_path / "tests"))
    assert done.status == 2
    assert "was not closed" in done.err
    assert not (tmp_path / "tests").exists()
