"""`anchored test new`: a run becomes a test of pytest and a fixture."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, cast

import typer

from anchored.attempts import check_intervention, check_words, checked, choose_intervention, unobserved
from anchored.boundary.guard import is_python
from anchored.boundary.program import program_target
from anchored.canonical import clip, visible
from anchored.cli.app import GuideText, Run, SetResult, Store, app, library
from anchored.cli.console import err, short_path
from anchored.cli.reading import final_text, position_of
from anchored.errors import UsageError
from anchored.recording import Recording
from anchored.replaying import resolve_anchor
from anchored.storage import check_writable, write_file

test_app = typer.Typer(no_args_is_help=True, help="Turn a run into a test that pytest runs.")
app.add_typer(test_app, name="test")

_FULL = '''"""{about}

The program runs again and is served what was recorded; nothing goes live, so it takes no key and no network. It fails,
with the difference, when the program no longer makes the recorded requests.

Made by `anchored test new`; it is yours to change.
"""

{imports}

HERE = Path(__file__).parent
RECORDING = HERE / "recordings" / "{run}.sqlite"
FOLDER = {folder}


def test_{name}() -> None:
    replay = anchored.replay(
        RECORDING,
        {start},
        folder=FOLDER,
    )
    replay.require_exact()
'''

_FROM = '''"""{about}

The program is served what was recorded before event {at}, and is live from there: it takes a model. The prefix must be
the recorded one, and the answer must be one that `holds`.

Made by `anchored test new`; it is yours to change.
"""

{imports}

HERE = Path(__file__).parent
RECORDING = HERE / "recordings" / "{run}.sqlite"
FOLDER = {folder}
NEEDS = {needs}


{predicate}


@pytest.mark.skipif(not all(os.environ.get(name) for name in NEEDS), reason=f"takes a model: {{', '.join(NEEDS)}}")
def test_{name}_from_{at}() -> None:
    replay = anchored.replay(
        {arguments},
    )
    replay.require_exact()
    assert holds(replay.answer or ""), f"the answer does not hold: {{replay.answer}}"
'''


@test_app.command("new")
def test_new_command(
    run: Run,
    *,
    at: Annotated[
        str | None, typer.Option("--at", metavar="E", help="Go live at this event; the test then takes a model.")
    ] = None,
    guide: GuideText = None,
    set_result: SetResult = None,
    check: Annotated[
        str | None,
        typer.Option("--check", metavar="CMD", help="With --at: judges the answer [default: RUN's]."),
    ] = None,
    expect_answer: Annotated[
        str | None,
        typer.Option("--expect-answer", metavar="REGEX", help="With --at: what the answer must match, in its place."),
    ] = None,
    into: Annotated[Path, typer.Option("--into", metavar="FOLDER", help="Where the test is put.")] = Path("tests"),
    force: Annotated[bool, typer.Option("--force", help="Replace a test of this name.")] = False,
    store: Store = None,
) -> None:
    """Write a pytest file and a fixture that replay a run.

    Without --at: the whole run, exact, without a key or a network. With --at: the exact prefix, then live, and an
    answer that is right.
    """
    shelf = library(store)
    check_intervention(anchored=at is not None, guide=guide, set_result=set_result)
    name = shelf.name_of(run, recorded=True)
    source = shelf.open(name)
    if source.closing is None:
        raise UsageError(
            "A run that was not closed makes no test.",
            expected="a run that was recorded to its end",
            found=f"{name}: its recorder was killed, or is still at work",
            next_step="Record it again.",
        )
    folder = Path(str(source.configuration["folder"]))
    module = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_").lower()
    content = _Test(source, name, module, into.absolute(), folder)
    fixture = None
    if at is None:
        if check is not None or expect_answer is not None:
            raise UsageError(
                "A test of the whole run judges no answer: every request and result is the recorded one.",
                expected="--check or --expect-answer together with --at",
                found="no --at",
                next_step="Leave it out, or choose an event with `anchored show RUN`.",
            )
        text, suffix = content.full(), ""
    else:
        position = position_of(source, at)
        intervention = choose_intervention(source, position, guide=guide, set_result=set_result)
        anchor = resolve_anchor(source.log, source.opening.run, position, intervention)
        fixture = (
            None
            if set_result is None
            else f"{module}_result_{anchor.position}{'.json' if set_result.suffix == '.json' else '.txt'}"
        )
        said = checked(source)
        words = check_words(check, folder) if check is not None else said.command if said else None
        suffix = f"_from_{anchor.position}"
        text = content.live_from(
            anchor.position, guide=guide, fixture=fixture, check=words, expect_answer=_pattern(expect_answer)
        )
    test_file = into / f"test_{module}{suffix}.py"
    recording_file = into / "recordings" / f"{name}.sqlite"
    if test_file.exists() and not force:
        raise UsageError(
            "There is a test of this name already.",
            expected="a new file",
            found=str(test_file),
            next_step="Rename it, or replace it with --force.",
        )
    content_of_run = shelf.path(name).read_bytes()
    if recording_file.exists() and not force and recording_file.read_bytes() != content_of_run:
        raise UsageError(
            "There is a recording of this name already, and it is another.",
            expected="a new file",
            found=str(recording_file),
            next_step="Rename it with its test, or replace it with --force.",
        )
    _make_folder(recording_file.parent)
    check_writable(test_file)
    write_file(recording_file, content_of_run, mode=0o644)
    if set_result is not None and fixture is not None:
        write_file(recording_file.parent / fixture, set_result.read_bytes(), mode=0o644)
    write_file(test_file, text.encode("utf-8"), mode=0o644)
    console = err()
    size = recording_file.stat().st_size // 1024
    console.print(f"wrote {short_path(test_file)} and {short_path(recording_file)} ({size} kB)")
    for missed in unobserved(source):
        console.print(f"  note: this run cannot be served back as a whole: {visible(missed)}", style="bold")
    console.print("  the fixture holds prompts, results and answers in clear: look before you commit it")
    console.print(f"next: pytest {short_path(test_file)}")


class _Test:
    """The text of a test.

    Args:
        source: the recording.
        name: its name in the store.
        module: the same as a Python name.
        into: the test's folder, absolute.
        folder: the program's folder.
    """

    def __init__(self, source: Recording, name: str, module: str, into: Path, folder: Path) -> None:
        self._source = source
        self._name = name
        self._module = module
        self._into = into
        self._folder = folder

    def full(self) -> str:
        imports = ["sys"] if "sys.executable" in self._start() else []
        return _FULL.format(
            about=self._about("replayed to its end"),
            run=self._name,
            imports=_imports(imports),
            folder=self._relative_folder(),
            name=self._module,
            start=self._start(),
        )

    def live_from(
        self,
        at: int,
        *,
        guide: str | None,
        fixture: str | None,
        check: Sequence[str] | None,
        expect_answer: str | None,
    ) -> str:
        arguments = ["RECORDING", f"at={at}"]
        if guide is not None:
            arguments.append(f"guide={_quoted(guide)}")
        if fixture is not None:
            arguments.append(f"set_result=RECORDING.with_name({_quoted(fixture)})")
        arguments += [self._start(), "folder=FOLDER"]
        imports = ["os"]
        changed = "guided there" if guide is not None else "with a result put in there" if fixture else "unchanged"
        if expect_answer is not None:
            imports.append("re")
            predicate = f"    return re.search({_quoted(expect_answer)}, answer) is not None"
        elif check is not None:
            imports.append("subprocess")
            words = self._words(check)
            predicate = f"    return subprocess.run({words}, cwd=FOLDER, input=answer, text=True).returncode == 0"
        else:
            raise UsageError(
                "A test that goes live needs to know which answers are right.",
                expected="--check CMD, --expect-answer REGEX, or a recording made with --check",
                found="none of them",
                next_step='For example --expect-answer "300 lamps".',
            )
        if "sys.executable" in self._start() + predicate:
            imports.append("sys")
        return _FROM.format(
            about=self._about(f"live from event {at}, {changed}"),
            run=self._name,
            imports=_imports(imports, third_party=("pytest",)),
            folder=self._relative_folder(),
            needs=f"[{', '.join(_quoted(name) for name in self._needs())}]",
            predicate=f'def holds(answer: str) -> bool:\n    """Whether an answer is right."""\n{predicate}',
            name=self._module,
            at=at,
            arguments=",\n        ".join(arguments),
        )

    def _about(self, how: str) -> str:
        made = self._source.notes_of("order")[0].get("created")
        day = datetime.fromtimestamp(int(str(made)) / 1e9, tz=UTC).date()
        answer = clip(final_text(self._source), 60).replace('"', "'").replace("\\", "/")
        return f"The run `{self._name}` of {day}, {how}." + (f"\n\nIts answer was: {answer}" if answer else "")

    def _start(self) -> str:
        """How the program is started, as an argument of `anchored.replay`."""
        command = cast("list[str] | None", self._source.opening.configuration["command"])
        if command is None:
            raise UsageError(
                "This run was recorded inside a program, and no command is known that makes it again.",
                expected='a recording made with anchored.record(program="module:function")',
                found="none",
                next_step="Record it again with program=…",
            )
        target = program_target(command)
        return f"program={_quoted(target)}" if target is not None else f"command={self._words(command)}"

    def _words(self, command: Sequence[str]) -> str:
        """A command as Python source: this Python for the one that was recorded, paths from the program's folder."""
        words = [
            "sys.executable" if place == 0 and is_python(word) else _quoted(self._from_folder(word))
            for place, word in enumerate(command)
        ]
        return f"[{', '.join(words)}]"

    def _from_folder(self, word: str) -> str:
        inside = os.path.isabs(word) and Path(word).is_relative_to(self._folder)
        inner = os.path.relpath(word, self._folder) if inside else word
        return inner if os.sep in inner or not inside else os.path.join(os.curdir, inner)

    def _relative_folder(self) -> str:
        steps = Path(os.path.relpath(self._folder, self._into)).parts
        up = sum(1 for step in steps if step == "..")
        rest = "".join(f" / {_quoted(step)}" for step in steps[up:] if step != ".")
        return "HERE" + ".parent" * up + rest

    def _needs(self) -> list[str]:
        configuration = self._source.opening.configuration
        endpoints = [name for name in configuration["environment"] if name.endswith(("_URL", "_BASE", "_ENDPOINT"))]
        return sorted({*cast("list[str]", configuration["keys"]), *endpoints})


def _quoted(text: str) -> str:
    """A text as Python source."""
    return json.dumps(text) if text.isascii() else repr(text)


def _imports(names: Sequence[str], *, third_party: Sequence[str] = ()) -> str:
    standard = [*(f"import {name}" for name in sorted(names)), "from pathlib import Path"]
    others = [f"import {name}" for name in sorted((*third_party, "anchored"))]
    return "\n".join([*standard, "", *others])


def _pattern(text: str | None) -> str | None:
    try:
        if text is not None:
            re.compile(text)
    except re.error as error:
        raise UsageError(
            "--expect-answer takes a regular expression.",
            expected='for example "300 lamps"',
            found=f"{text}: {error}",
            next_step="Correct it; a backslash takes a special sign as it is.",
        ) from error
    return text


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            "The test's folder cannot be made.",
            expected="a place that can be written",
            found=f"{folder}: {error.strerror}",
            next_step="Choose another with --into.",
        ) from error
