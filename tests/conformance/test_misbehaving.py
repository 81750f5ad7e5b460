"""Whatever a program does once it is no longer the recorded one: it ends, nothing goes live, and it is no success."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from anchored.testing import Call, RunningEndpoint, running_endpoint

from .conftest import Place, row_of
from .ending import ENDINGS
from .launching import HEAD
from .matrix import Matrix, Row
from .misbehaving import DIVERGENCES, PATIENT, QUICK, SOURCES, Misbehaviour
from .teams import TEAMS, ChangedTeam

DEMO = Path(__file__).parents[2] / "demo"


class Recordings:
    """Recordings that several replays share, made when the first of them needs it."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self._calls: dict[str, list[Call]] = {}

    def made(self, name: str, *, status: int) -> list[Call]:
        """The calls of a recording, which is there afterwards."""
        if name not in self._calls:
            self.place.write(f"{name}.py", SOURCES[name])
            done = self.place.anchored("record", "--name", name, "--", "{python}", f"{name}.py")
            assert done.status == status, done.err
            self._calls[name] = done.calls
        return self._calls[name]


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory, endpoint: RunningEndpoint) -> Recordings:
    return Recordings(Place(folder=tmp_path_factory.mktemp("misbehaving"), endpoint=endpoint))


@pytest.mark.parametrize("row", [pytest.param(row, id=row.name) for row in (*DIVERGENCES, *ENDINGS)])
def test_a_program_that_misbehaves_ends_without_a_call(
    recordings: Recordings, matrix: Matrix, row: Misbehaviour
) -> None:
    """The exit status says it, the endpoint saw nothing that belongs before the anchor, and no process is left."""
    if row.needs and shutil.which(row.needs) is None:
        untried = Row(expected=row.status, found=None, verdict=f"{row.needs} is not there", before=None, live=None)
        matrix.add("misbehaving", row.name, "replay", untried)
        pytest.skip(f"{row.needs} is not there")
    place = recordings.place
    recorded = recordings.made(row.source, status=row.stored)
    command = list(row.command)
    if row.body:
        place.write("changed.py", HEAD + row.body)
        command = command or ["{python}", "changed.py"]
    attempts = len(list(Path(place.folder, ".anchored", "runs").glob(f"{row.source}.replay-*.sqlite")))
    done = place.anchored("replay", row.source, "--json", *row.options, *(["--", *command] if command else []))
    attempt = done.attempt
    name = attempt.get("name", f"{row.source}.replay-{attempts + 1}")
    found = row_of(place, done, expected=row.status, name=name, prefix=recorded[:2] if row.live else None)
    matrix.add("misbehaving", row.name, "replay", found)
    assert (done.status, attempt.get("verdict")) == (row.status, row.verdict), (done.err, attempt)
    assert (found.before, found.live, found.left) == (0, row.live, 0)
    said = place.folder / ".anchored" / "runs" / f"{attempt.get('name')}.out"
    assert not said.exists() or b"AssertionError" not in said.read_bytes(), "it did not come to misbehave"
    kind = (attempt.get("divergence") or {}).get("kind", "")
    assert row.says == kind or row.says in attempt.get("reason", ""), attempt
    if row.ended is not None:
        assert place.ended(attempt["name"]) == ("exit", row.ended)
    for name, there in row.leaves.items():
        assert (place.folder / name).exists() == there, name


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """The demo's team, recorded as `team`."""
    folder = tmp_path_factory.mktemp("team")
    shutil.copy(DEMO / "anchored.toml", folder)
    with running_endpoint(DEMO / "script.py", seed=0, log=folder / "endpoint.jsonl") as endpoint:
        place = Place(folder=folder, endpoint=endpoint)
        place.write("team.py", (DEMO / "team.py").read_text(encoding="utf-8"))
        done = place.anchored("record", "--name", "team", "--", "{python}", "team.py")
        assert done.status == 0, done.err
        yield place


@pytest.mark.parametrize("row", [pytest.param(row, id=row.name) for row in TEAMS])
def test_a_team_that_misbehaves_ends_without_a_call(team: Place, matrix: Matrix, row: ChangedTeam) -> None:
    """As above, in a real framework that has its own ways of catching what is raised."""
    text = (DEMO / "team.py").read_text(encoding="utf-8")
    for old, new in row.changes:
        assert old in text, old
        text = text.replace(old, new)
    team.write("changed.py", text)
    done = team.anchored(
        "replay", "team", "--json", *(QUICK if row.ended is None else PATIENT), "--", "{python}", "changed.py"
    )
    attempt = done.attempt
    found = row_of(team, done, expected=3, name=attempt["name"])
    matrix.add("misbehaving", row.name, "replay", found)
    assert (done.status, attempt["verdict"]) == (3, "diverged"), (done.err, attempt)
    assert attempt["divergence"]["position"] == row.position, attempt
    assert (found.live, found.left) == (0, 0)
    if row.ended is not None:
        assert team.ended(attempt["name"]) == ("exit", row.ended)
