"""What programs and tests use from Python: the names, the examples, recording inside a process, replaying it."""

import base64
import doctest
import importlib
import json
import pkgutil
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import builders
import msgspec
import pytest

import anchored
from anchored.errors import AnchorError, DamagedError, RefusedError, UsageError
from anchored.recording import Note, Recording
from anchored.testing import mutants

LOOKUP = """
import anchored

@anchored.tool(effect="read")
def population(place):
    with open("tools.log", "a") as log:
        log.write("population\\n")
    return {"Corvane": 8400}[place]

@anchored.tool(effect="none")
def density(people, area):
    with open("tools.log", "a") as log:
        log.write("density\\n")
    return f"{people // area} per square kilometre"

def main():
    anchored.final(density(population("Corvane"), 200))

if __name__ == "__main__":
    main()
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a program `lookup.py` and its run `lookup`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ANCHORED_STORE", raising=False)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "lookup", raising=False)
    (tmp_path / "lookup.py").write_text(LOOKUP)
    command = [
        Path(sys.executable).with_name("anchored"),
        "record",
        "--name",
        "lookup",
        "--",
        sys.executable,
        "lookup.py",
    ]
    subprocess.run(command, check=True, capture_output=True)
    return tmp_path


def runs(folder: Path) -> list[str]:
    log = folder / "tools.log"
    return log.read_text().split() if log.exists() else []


def test_public_names() -> None:
    """A name that is added or taken away is a decision: it stands here."""
    assert sorted(anchored.__all__) == [
        "Anchor",
        "NotReproduced",
        "Recording",
        "Replay",
        "Run",
        "VerifiedReceipt",
        "VerifiedRun",
        "__version__",
        "final",
        "load",
        "record",
        "replay",
        "tool",
        "verify",
    ]
    for name in anchored.__all__:
        assert getattr(anchored, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        anchored.nothing  # noqa: B018 # pyright: ignore[reportAttributeAccessIssue]


def test_the_rooms_hide_no_public_name() -> None:
    """A room of the same name would take a function's place as soon as it is imported."""
    for module in pkgutil.iter_modules(anchored.__path__):
        importlib.import_module(f"anchored.{module.name}") if module.name != "__main__" else None
        assert module.name not in anchored.__all__
    assert callable(anchored.replay)


def test_a_recorded_program_imports_no_more_than_it_needs() -> None:
    """`import anchored` in a program is quick: what replays is imported when it is asked for."""
    code = "import sys, anchored; anchored.tool; print('anchored.attempts' in sys.modules, 'typer' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]


def modules_with_examples() -> list[str]:
    """Every module of the package whose docstrings hold examples."""
    found: list[str] = []
    for info in pkgutil.walk_packages(anchored.__path__, "anchored."):
        if info.name.endswith("__main__") or ".site" in info.name:
            continue
        module = importlib.import_module(info.name)
        if any(test.examples for test in doctest.DocTestFinder(exclude_empty=True).find(module)):
            found.append(info.name)
    return found


def test_every_docstring_example_runs(folder: Path) -> None:
    names = modules_with_examples()
    assert {"anchored.api", "anchored.boundary.tools"} <= set(names)
    for name in names:
        done = doctest.testmod(importlib.import_module(name))
        assert done.failed == 0, name
        assert done.attempted > 0


def test_the_readmes_example_is_of_this_version() -> None:
    """The README's block in Python names only what there is."""
    text = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    block = text.partition("## From Python")[2].partition("```python\n")[2].partition("```")[0]
    compile(block, "README.md", "exec")
    for name in ("record", "load", "replay", "verify"):
        assert f"anchored.{name}(" in block
    assert "run.recording.anchor_at(" in block
    assert "attempt.require_exact()" in block


def test_a_block_is_recorded_and_replayed_in_a_process_of_its_own(folder: Path) -> None:
    """Issue, From Python: an in-process recording replays by "module:function", with no tool run."""
    import lookup  # pyright: ignore[reportMissingImports]

    with anchored.record(name="block", task="How dense is Corvane?", program="lookup:main") as run:
        assert run.name == "block"
        with pytest.raises(UsageError, match="no recording of this block"):
            _ = run.recording
        lookup.main()
    lookup.main()
    before = runs(folder)
    assert before == ["population", "density"] * 3
    assert isinstance(run.recording, Recording)
    assert [event.begin.name for event in run.recording.log.events] == ["population", "density"]
    assert run.recording.opening.task == "How dense is Corvane?"
    assert run.recording.closing is not None
    assert run.recording.closing.final is not None
    assert run.recording.closing.final.text == "42 per square kilometre"
    assert anchored.load("block").digest == run.recording.digest
    for replay in (anchored.replay("block"), anchored.replay("lookup", program="lookup:main")):
        replay.require_exact()
        assert replay.answer == "42 per square kilometre"
    assert runs(folder) == before
    at = anchored.replay(run.recording, at=run.recording.anchor_at(2))
    assert (at.verdict.kind, runs(folder)) == ("live", [*before, "density"])
    shown = subprocess.run(
        [Path(sys.executable).with_name("anchored"), "replay", "block", "--json"], capture_output=True, check=True
    )
    assert json.loads(shown.stdout)[0]["verdict"] == "exact"


def test_blocks_one_after_the_other_and_in_one_another(folder: Path) -> None:
    """Each has its own run; one inside another records nothing of its own, and says so."""
    import lookup  # pyright: ignore[reportMissingImports]

    for number in range(2):
        with anchored.record(program="lookup:main") as run:
            assert run.name == f"block-{number + 1}"
            with anchored.record(name="inner") as inner:
                lookup.main()
            assert inner.name is None
            with pytest.raises(UsageError, match="from outside"):
                _ = inner.recording
    assert anchored.load("block-1").digest == anchored.load("block-2").digest
    with pytest.raises(UsageError, match="No such run"):
        anchored.load("inner")


def test_a_program_with_a_block_of_its_own_is_replayed_from_outside(folder: Path) -> None:
    """The block stands aside where `anchored replay` has started the program."""
    (folder / "own.py").write_text(
        "import sys, anchored, lookup\n"
        "def main():\n"
        "    with anchored.record(name='own', program='own:main') as run:\n"
        "        lookup.main()\n"
        "    print(run.name)\n"
        "if __name__ == '__main__':\n"
        "    main()\n"
    )
    done = subprocess.run([sys.executable, "own.py"], capture_output=True, text=True, check=True)
    assert done.stdout == "own\n"
    before = runs(folder)
    replay = anchored.replay("own")
    replay.require_exact()
    assert replay.output is not None
    assert replay.output.read_text() == "None\n"
    assert runs(folder) == before


def test_an_exception_leaves_the_block_and_is_its_end(folder: Path) -> None:
    import lookup  # pyright: ignore[reportMissingImports]

    with pytest.raises(KeyError), anchored.record(name="raises") as run:
        lookup.population("Nowhere")
    closing = run.recording.closing
    assert closing is not None
    assert closing.stop.words == "exit 1"
    assert run.recording.log.events[0].outcome.value == "failure"
    with pytest.raises(UsageError, match="recorded inside a program"):
        anchored.replay("raises")


def test_a_changed_program_is_not_exact(folder: Path) -> None:
    text = (folder / "lookup.py").read_text()
    (folder / "lookup.py").write_text(text.replace("200))", "300))"))
    before = runs(folder)
    replay = anchored.replay("lookup")
    assert replay.verdict.kind == "diverged"
    with pytest.raises(anchored.NotReproduced) as error:
        replay.require_exact()
    assert "diverged at 2" in str(error.value)
    assert "+ actual" in str(error.value)
    assert "changed since the recording: lookup.py" in str(error.value)
    assert replay.receipt is None
    assert runs(folder) == before


def test_interventions_and_wrong_use(folder: Path) -> None:
    (folder / "people.json").write_text("4200")
    before = runs(folder)
    replay = anchored.replay("lookup", at=0, set_result="people.json", check="python3 -c 'import sys; sys.exit(1)'")
    assert replay.answer == "21 per square kilometre"
    assert replay.check is not None
    assert replay.check.outcome == "failing"
    assert runs(folder) == [*before, "density"]
    with pytest.raises(UsageError, match="one program"):
        anchored.replay("lookup", program="lookup:main", command=["true"])
    with pytest.raises(UsageError, match="without --at"):
        anchored.replay("lookup", guide="x")
    with pytest.raises(AnchorError):
        anchored.load("lookup").anchor_at(1)
    with pytest.raises(AnchorError, match="another recording"):
        anchored.replay("lookup", at=anchored.load(replay.name).anchor_at(2))


def test_verifying_runs_and_receipts(folder: Path) -> None:
    run = anchored.verify("lookup")
    assert isinstance(run, anchored.VerifiedRun)
    assert (run.entries, run.sealed) == (4, True)
    receipt = anchored.replay("lookup").receipt
    assert receipt is not None
    checked: Any = anchored.verify(receipt)
    assert (checked.level, checked.recordings) == ("matches the recordings", ("lookup", "lookup.replay-1"))
    assert anchored.verify(receipt, expect=checked.digest).steps[-1] == "the digest that was expected"
    alone: Any = anchored.verify(receipt, store=folder / "empty")
    assert alone.level == "self-consistent"
    with pytest.raises(DamagedError):
        anchored.verify(receipt.replace(b'"live":0', b'"live":1'))
    with pytest.raises(DamagedError, match="not what was expected"):
        anchored.verify("lookup", expect="0" * 64)


def test_a_run_file_outside_of_a_store(folder: Path) -> None:
    """Of a fixture nothing is kept, and it may be read-only; its command and its check are data, not orders."""
    place = folder / "fixtures" / "a look'up ü.sqlite"
    place.parent.mkdir()
    place.write_bytes((folder / ".anchored" / "runs" / "lookup.sqlite").read_bytes())
    place.chmod(0o444)
    replay = anchored.replay(place, program="lookup:main")
    replay.require_exact()
    assert anchored.load(place).digest == anchored.load("lookup").digest
    assert [path.name for path in place.parent.iterdir()] == [place.name]
    assert len(list((folder / ".anchored" / "runs").glob("*.sqlite"))) == 1
    with pytest.raises(UsageError, match="data, not orders"):
        anchored.replay(place)


def test_of_a_run_file_only_what_is_declared_here_is_restored(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Design, Attempts: a recording of another place names no check to run, no variable, and no host for a key."""
    (folder / "anchored.toml").write_text('[environment]\nkeep = ["OURS", "THEIRS"]\n')
    (folder / "shows.py").write_text(
        "import os, anchored, lookup\nlookup.main()\n"
        "print({name: os.environ.get(name) for name in ('OURS', 'THEIRS', 'TZ', 'SOME_BASE_URL', 'SOME_API_KEY')})\n"
    )
    variables = {
        "OURS": "1",
        "THEIRS": "2",
        "TZ": "UTC",
        "SOME_BASE_URL": "http://198.51.100.7/v1",
        "SOME_API_KEY": "x",
    }
    with monkeypatch.context() as set_here:
        for name, value in variables.items():
            set_here.setenv(name, value)
        check = ("--check", "touch checked")
        command = [Path(sys.executable).with_name("anchored"), "record", "--name", "shows", *check]
        subprocess.run([*command, "--", sys.executable, "shows.py"], check=True, capture_output=True)
    (folder / "checked").unlink()
    (folder / "anchored.toml").write_text('[environment]\nkeep = ["OURS"]\n')
    place = folder / "elsewhere.sqlite"
    place.write_bytes((folder / ".anchored" / "runs" / "shows.sqlite").read_bytes())
    for run, at, theirs, url, key in (
        ("shows", None, "2", variables["SOME_BASE_URL"], "sk-anchored-replays-need-no-key"),
        ("shows", 2, "2", variables["SOME_BASE_URL"], None),
        (place, None, None, variables["SOME_BASE_URL"], "sk-anchored-replays-need-no-key"),
        (place, 2, None, None, None),
    ):
        replay = anchored.replay(run, at=at, command=[sys.executable, "shows.py"])
        replay.require_exact()
        shown = {"OURS": "1", "THEIRS": theirs, "TZ": "UTC", "SOME_BASE_URL": url, "SOME_API_KEY": key}
        assert replay.tail[-1] == str(shown), (run, at)
        assert (folder / "checked").exists() == (run == "shows")
        (folder / "checked").unlink(missing_ok=True)


def test_blocks_at_the_same_time_are_refused(folder: Path) -> None:
    """A second block would take the first one's calls or lose its own: neither is complete, so it is refused."""
    began, done = threading.Event(), threading.Event()

    def other() -> None:
        began.wait(10)
        try:
            with anchored.record(name="second"):
                pass
        except UsageError as error:
            found.append(error.problem)
        done.set()

    found: list[str] = []
    thread = threading.Thread(target=other)
    thread.start()
    with anchored.record(name="one") as run:
        began.set()
        done.wait(10)
    thread.join()
    assert found == ["Another block records in this process."]
    assert run.recording.closing is not None
    with anchored.record(name="after") as run:
        pass
    assert run.name == "after"


def test_a_fork_that_leaves_the_block_does_not_end_the_run(folder: Path) -> None:
    (folder / "forks.py").write_text(
        "import os, sys, anchored, lookup\n"
        "with anchored.record(name='forks') as run:\n"
        "    lookup.population('Corvane')\n"
        "    child = os.fork()\n"
        "    if child == 0:\n"
        "        sys.exit(3)\n"
        "    os.waitpid(child, 0)\n"
        "    lookup.main()\n"
    )
    subprocess.run([sys.executable, "forks.py"], check=True, capture_output=True)
    recording = anchored.load("forks")
    assert [event.begin.name for event in recording.log.events] == ["population", "population", "density"]
    assert recording.closing is not None
    assert recording.closing.stop.words == "exit 0"


def test_a_crafted_run_file_sets_nothing_and_runs_nothing(folder: Path) -> None:
    """Names that are no key's are not set, and a program on standard input is not taken out of it."""
    source = anchored.load("lookup")
    configuration: dict[str, Any] = {**source.opening.configuration, "keys": ["LD_PRELOAD", "PYTHONOPTIMIZE", "A_KEY"]}
    opening = msgspec.structs.replace(source.opening, configuration=configuration)
    memory = builders.rebuilt(source).contents
    crafted = replace(builders.sealed(memory, opening, None), notes=source.notes)
    library = builders.store(folder / "other")
    note = Note(kind="stdin", document={"data": base64.b64encode(b"open('PWNED', 'w')").decode(), "process": 1})
    crafted = replace(crafted, notes=[*source.notes, note])
    mutants.store(library, "crafted", crafted, mutants.changed_entries(crafted))
    place = library.path("crafted")
    with pytest.raises(RefusedError, match="out of a run file"):
        anchored.replay(place, command=[sys.executable, "-"])
    (folder / "shows.py").write_text(
        "import os, lookup\nlookup.main()\nprint([n for n in os.environ if n in ('LD_PRELOAD', 'PYTHONOPTIMIZE')])\n"
    )
    replay = anchored.replay(place, command=[sys.executable, "shows.py"])
    assert replay.tail[-1] == "[]"
    assert not (folder / "PWNED").exists()
