"""The conformance suite: whether a framework's runs are recorded and replayed exactly, by real runs of a program.

For whoever writes an adapter (docs/adapters.md). A program that uses the framework is a `Subject`; each method of
`Conformance` tries one thing with it and gives a `Cell` of counts. Nothing here asserts: what must hold is
`Cell.holds`.

The program is run by `anchored.testing.subject_program` with one of its modes as its last argument. It finds the
endpoint's address in ANCHORED_TEST_URL, appends a line to the file that TOOL_LOG names whenever the body of one of its
tools runs, and prints a last line, on standard output or error, that depends on all that its models and tools said and
on which came first where they race. With ANCHORED_TEST_CHANGE set to "prompt", one of its prompts is another.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias, TypeVar, get_args

from anchored.attempts.configuration import Project
from anchored.attempts.forking import ForkServer
from anchored.attempts.record import Unattended, record
from anchored.attempts.replay import Replay, ReplayRequest, replay
from anchored.attempts.watch import Timing
from anchored.errors import AnchoredError, RefusedError, UsageError
from anchored.library import Library
from anchored.recording import Recording
from anchored.replaying import Guide, Intervention, Unchanged, covered_positions
from anchored.replaying.policy import containers
from anchored.testing.mutants import mutations_of, store
from anchored.testing.running import RunningEndpoint

Column: TypeAlias = Literal[
    "record",
    "full replay",
    "control",
    "guided",
    "parallel",
    "nested",
    "stream",
    "async",
    "error",
    "changed request",
    "swallowed divergence",
    "hang",
]
"""What is tried: a column of docs/frameworks.md."""

COLUMNS: tuple[Column, ...] = get_args(Column)

GUIDANCE = "Mind what the guidance says."
_T = TypeVar("_T")
_NOWHERE = "http://127.0.0.1:9/v1"
"""Where nothing listens: a full replay needs no endpoint."""
_TIMING = Timing(grace=0.5, handshake=60, timeout=120)


@dataclass(frozen=True, kw_only=True)
class Subject:
    """A program that stands for a framework.

    Attributes:
        name: the framework and its version, as the table shows it.
        command: a Python, the file of the program, and its arguments without the mode.
        folder: where it runs.
        modes: the modes to be tried for each column; "full replay" is also what control, guided, changed request,
            swallowed divergence and hang are tried with, and its first mode must be one without races.
        environment: what the program needs besides ANCHORED_TEST_URL and TOOL_LOG, such as telemetry off.
        order_refused: modes whose order comes from outside of the boundary (a lock, a pool of one), so that a replay
            may be refused.
    """

    name: str
    command: tuple[str, ...]
    folder: Path
    modes: Mapping[Column, Sequence[str]]
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    order_refused: frozenset[str] = frozenset()

    def modes_of(self, column: Column) -> Sequence[str]:
        """The modes for a column; none where the framework has no such thing."""
        return self.modes.get(column, ())

    @property
    def all_modes(self) -> list[str]:
        """Every mode, once."""
        return list(dict.fromkeys(mode for modes in self.modes.values() for mode in modes))


@dataclass(kw_only=True)
class Cell:
    """What came of one thing that was tried with one subject.

    Attributes:
        subject: its name.
        column: what was tried.
        tried: attempts.
        exact: attempts that did what they must.
        refused: attempts that were refused since their order cannot be reproduced.
        crossed: attempts that were called exact and had another result: never.
        failed: what went wrong with the others, in words.
        slowest: the longest time from a divergence to the program's end, in seconds.
    """

    subject: str
    column: Column
    tried: int = 0
    exact: int = 0
    refused: int = 0
    crossed: int = 0
    failed: list[str] = field(default_factory=list[str])
    slowest: float = 0.0

    @property
    def holds(self) -> bool:
        """Whether all went as it must: exact, or refused where that is allowed, and nothing crossed."""
        return self.tried > 0 and self.crossed == 0 and not self.failed and self.exact + self.refused == self.tried


class Conformance:
    """The suite for one subject.

    Args:
        subject: the program.
        endpoint: the scripted endpoint, whose log counts what went live.
        folder: where recordings and the tools' log are kept.
        server: forks the replays; without it each is started anew.
    """

    def __init__(
        self, subject: Subject, endpoint: RunningEndpoint, folder: Path, *, server: ForkServer | None = None
    ) -> None:
        self._server = server
        self.subject = subject
        self._endpoint = endpoint
        self._library = Library(folder / "store")
        self._tool_log = folder / "tools.log"
        self._recorded: dict[str, list[tuple[str, str]]] = {}
        self._unseen: dict[str, str] = {}
        """What recordings lack, in words, by their names."""

    def try_column(self, column: Column, attempts: int) -> Cell:
        """Tries what a column says, at least `attempts` times, or on every anchor if there are fewer."""
        tries: dict[Column, Callable[[Cell, int], None]] = {
            "record": self._record,
            "control": lambda cell, most: self._anchors(cell, most, None),
            "guided": lambda cell, most: self._anchors(cell, most, GUIDANCE),
            "changed request": self._mutate,
            "swallowed divergence": lambda cell, most: self._diverge(cell, most, "swallow"),
            "hang": lambda cell, most: self._diverge(cell, most, "hang"),
        }
        cell = Cell(subject=self.subject.name, column=column)
        tries.get(column, self._full)(cell, attempts)
        return cell

    def _record(self, cell: Cell, attempts: int) -> None:
        """Every mode, again and again: the program ends as it would unrecorded, and all it asked is in the log.

        The recordings are those that the other columns replay, and as many more as it takes.
        """
        modes = self.subject.all_modes
        for number in range(max(attempts, len(modes))):
            mode = modes[number % len(modes)]
            cell.tried += 1
            try:
                name, _ = self._recording(mode, number // len(modes))
            except AnchoredError as error:
                cell.failed.append(f"{mode}: {error}")
                continue
            if name in self._unseen:
                cell.failed.append(f"{mode}: {self._unseen[name]}")
            else:
                cell.exact += 1

    def _full(self, cell: Cell, attempts: int) -> None:
        """Replays to the end, with no endpoint: the same result, no tool run, twice or more for each recording."""
        modes = self.subject.modes_of(cell.column)
        numbers = range(attempts if modes else 0)
        for number in sorted(numbers, key=lambda number: number % len(modes)):  # one after the other, to be forked
            mode = modes[number % len(modes)]
            name, result = self._recording(mode, number // (5 * len(modes)))
            runs = self._tool_runs()
            attempt = self._replay(cell, mode, name, url=_NOWHERE)
            if attempt is None:
                continue
            inside = _container_tools(self._library.open(name))
            if attempt.verdict.kind != "exact":
                self._fail(cell, mode, attempt)
            elif result not in self._output(attempt):
                cell.crossed += 1
                now = "".join(self._output(attempt)[-1:])
                cell.failed.append(f"{mode}: exact, with another result: {_around(result, now)}")
            elif self._tool_runs() - runs > 0 and not inside:
                cell.failed.append(f"{mode}: a tool ran in the prefix")
            else:
                cell.exact += 1

    def _anchors(self, cell: Cell, attempts: int, guidance: str | None) -> None:
        """Replays from anchors: the prefix exact, then live, and nothing live before the anchor."""
        modes = self.subject.modes_of("full replay")
        places = [(mode, place) for mode in modes for place in self._places(mode, model_calls=guidance is not None)]
        for mode, place in _spread(places, attempts):
            name, _ = self._recording(mode, 0)
            before = len(self._endpoint.calls())
            change: Intervention = Unchanged() if guidance is None else Guide(text=guidance)
            attempt = self._replay(cell, mode, name, at=place, intervention=change)
            if attempt is None:
                continue
            calls = self._endpoint.calls()[before:]
            live = [
                event
                for event in attempt.recording.log.events
                if event.position >= place and event.begin.kind not in ("execute_tool", "human_input")
            ]
            told = [str(attempt.recording.sent(event)).count(guidance) for event in live] if guidance else []
            if attempt.verdict.kind != "live" or attempt.receipt is None:
                self._fail(cell, f"{mode} at {place}", attempt)
            elif len(calls) != len(live):
                cell.failed.append(f"{mode} at {place}: {len(calls)} calls for {len(live)} live events")
            elif guidance is not None and (told[:1] != [1] or any(told[1:])):
                cell.failed.append(f"{mode} at {place}: the guidance was sent {told} times")
            else:
                cell.exact += 1

    def _mutate(self, cell: Cell, attempts: int) -> None:
        """Recordings in which one thing about one request is another: it diverges there, and nothing goes live.

        Anchored at the last event, so that a change that was missed would show as a call.
        """
        mode = self.subject.modes_of("full replay")[0]
        name, _ = self._recording(mode, 0)
        source = self._library.open(name)
        *places, last = self._places(mode, model_calls=False)
        events = [event for event in source.log.events if event.position in places]
        mutations = [mutation for event in events for mutation in mutations_of(source, event)]
        for number, mutation in enumerate(_spread(mutations, attempts)):
            what = f"{mutation.path} at {mutation.position}"
            mutant = f"{name}-mutant-{number}"
            store(self._library, mutant, source, mutation.entries(source))
            calls, runs = len(self._endpoint.calls()), self._tool_runs()
            attempt = self._replay(cell, mode, mutant, at=last)
            if attempt is None:
                continue
            calls, runs = len(self._endpoint.calls()) - calls, self._tool_runs() - runs
            found = attempt.verdict.divergence
            if found is None:
                self._fail(cell, what, attempt)
            elif (found.position, found.path) != (mutation.position, mutation.path):
                cell.failed.append(f"{what}: found as {found.path} at {found.position}")
            elif calls or runs or attempt.receipt is not None:
                cell.failed.append(f"{what}: {calls} calls and {runs} tools after a divergence")
            else:
                cell.exact += 1

    def _diverge(self, cell: Cell, attempts: int, stubborn: str) -> None:
        """A changed prompt, in a program that swallows what comes of it, and goes on or hangs: nothing goes live."""
        mode = self.subject.modes_of("full replay")[0]
        name, _ = self._recording(mode, 0)
        last = self._places(mode, model_calls=False)[-1]
        for number in range(attempts):
            before = len(self._endpoint.calls())
            with self._environment(self._endpoint.url, ANCHORED_TEST_CHANGE="prompt"):
                attempt = self._replay(
                    cell,
                    mode,
                    name,
                    at=last if number % 2 else None,
                    command=self._command(stubborn),
                )
            if attempt is None:
                continue
            calls = len(self._endpoint.calls()) - before
            cell.slowest = max(cell.slowest, attempt.seconds_to_end or 0.0)
            if attempt.verdict.kind != "diverged" or attempt.verdict.divergence is None:
                self._fail(cell, mode, attempt)
            elif calls or attempt.receipt is not None:
                cell.failed.append(f"{mode}: {calls} calls after a divergence, receipt {attempt.receipt is not None}")
            else:
                cell.exact += 1

    def _replay(
        self,
        cell: Cell,
        mode: str,
        name: str,
        *,
        at: int | None = None,
        intervention: Intervention | None = None,
        command: tuple[str, ...] | None = None,
        url: str | None = None,
    ) -> Replay | None:
        """One attempt; None, and counted, if it was refused before it began."""
        cell.tried += 1
        digest = self._library.open(name).digest
        request = ReplayRequest(
            name=name,
            at=at,
            intervention=intervention or Unchanged(),
            command=command,
            effects_allowed=True,
        )
        try:
            with self._environment(url or self._endpoint.url):
                attempt = replay(self._library, request, project=Project(), timing=_TIMING, server=self._server)
        except RefusedError as error:
            if mode in self.subject.order_refused:
                cell.refused += 1
            else:
                cell.failed.append(f"{mode}: {error}")
            return None
        if self._library.open(name).digest != digest:
            cell.failed.append(f"{mode}: the source is another than before")
        return attempt

    def _fail(self, cell: Cell, what: str, attempt: Replay) -> None:
        causes = [note.get("cause") for note in attempt.recording.notes_of("poison")]
        if causes == ["order"] and what.partition(" ")[0] in self.subject.order_refused:
            cell.refused += 1
        else:
            cell.failed.append(f"{what}: " + " · ".join(attempt.words()[:6]))

    def _places(self, mode: str, *, model_calls: bool) -> list[int]:
        """Where an anchor can stand."""
        name, _ = self._recording(mode, 0)
        log = self._library.open(name).log
        covered = covered_positions(log, containers(log))
        kinds = ("chat",) if model_calls else ("chat", "execute_tool", "human_input", "http")
        return [event.position for event in log.events if event.position not in covered and event.begin.kind in kinds]

    def _command(self, way: str) -> tuple[str, ...]:
        python, *program = self.subject.command
        return (python, "-m", "anchored.testing.subject_program", way, *program)

    def _recording(self, mode: str, number: int) -> tuple[str, str]:
        """The name of the recording of this number, and the program's result in it."""
        made = self._recorded.setdefault(mode, [])
        while len(made) <= number:
            made.append(self._new_recording(mode))
        return made[number]

    def _new_recording(self, mode: str) -> tuple[str, str]:
        """Records the program.

        Raises:
            UsageError: it ended otherwise than well.
        """
        before = len(self._endpoint.calls())
        name = f"{mode}-{len(list(self._library.root.glob('runs/*.sqlite')))}"
        output = self._library.root / f"{name}.out"
        like = next((recorded[0] for recorded in self._recorded.values() if recorded), None)
        output.parent.mkdir(parents=True, exist_ok=True)
        with self._environment(self._endpoint.url):
            done = record(
                self._library,
                self._command("run"),
                task=None,
                name=name,
                folder=self.subject.folder,
                timing=_TIMING,
                unattended=Unattended(
                    output=output,
                    stdin=f"{mode}\n".encode(),
                    server=self._server,
                    like=None if like is None else self._library.open(like[0]),
                ),
            )
        said = output.read_text(encoding="utf-8", errors="replace")
        lines = [line for line in said.splitlines() if line.strip()]
        if done.ended.status != 0 or not lines:
            raise UsageError(
                f"{self.subject.name} cannot be recorded in mode {mode}.",
                expected="a program that ends with status 0 and prints its result",
                found=f"status {done.ended.status}; it said: {said[-2000:]}",
                next_step=f"Run it by hand: {' '.join((*self.subject.command, mode))}",
            )
        recording = done.recording
        asked = sum(event.begin.kind not in ("execute_tool", "human_input") for event in recording.log.events)
        calls = len(self._endpoint.calls()) - before
        outside = recording.notes_of("unobserved")
        if asked < calls or outside:
            self._unseen[name] = f"{asked} calls recorded of {calls}; unobserved {outside[:3]}"
        return name, lines[-1]

    @contextmanager
    def _environment(self, url: str, **more: str) -> Generator[None]:
        """Inside, programs find the endpoint there."""
        wanted = {
            **self.subject.environment,
            "ANCHORED_TEST_URL": url,
            "TOOL_LOG": str(self._tool_log),
            "NO_PROXY": "127.0.0.1",
            "PYTHONHASHSEED": "0",  # what differs between recordings is not forked from one process
            **more,
        }
        before = {name: os.environ.get(name) for name in wanted}
        os.environ.update(wanted)
        try:
            yield
        finally:
            for name, value in before.items():
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value

    def _tool_runs(self) -> int:
        return len(self._tool_log.read_bytes().splitlines()) if self._tool_log.exists() else 0

    @staticmethod
    def _output(attempt: Replay) -> list[str]:
        path = attempt.output
        return [] if path is None else path.read_text(encoding="utf-8", errors="replace").splitlines()


def _around(recorded: str, now: str) -> str:
    """Where two results part."""
    same = next((place for place, (one, other) in enumerate(zip(recorded, now, strict=False)) if one != other), 0)
    start = max(0, same - 60)
    return f"…{recorded[start : same + 200]!r} is now …{now[start : same + 200]!r}"


def _container_tools(recording: Recording) -> bool:
    return bool(containers(recording.log))


def _spread(places: Sequence[_T], most: int) -> list[_T]:
    """So many of them, evenly; every one of them where there are no more."""
    most = min(most, len(places))
    return [places[number * len(places) // most] for number in range(most)]
