"""However a program is started, it is recorded and replayed exactly, or refused with the reason."""

import importlib.util
import os
import shutil
import sys
import venv
from pathlib import Path

import httpx
import pytest

from anchored.testing import RunningEndpoint

from .conftest import Place, row_of
from .launching import TWO, WAYS, Way
from .matrix import Matrix, Row
from .misbehaving import QUICK
from .refusing import BARE, OTHER_HTTPX, REFUSALS, RESTARTS, UNRECORDED, Refusal, Restart, Unrecorded

ENTERED = "_transport_for_url"
BIN = Path(sys.executable).parent
SITE = next(path for path in sys.path if path.endswith("site-packages"))


def settled(place: Place, way: Way | Unrecorded | Restart) -> None:
    """The folder and the environment as the way needs them."""
    environment = {name: text.replace("{site}", SITE) for name, text in way.environment.items()}
    place.environment = {"PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}", **environment}
    for name, text in way.files.items():
        place.write(name, text)


def other_installations(place: Place, way: Unrecorded | Restart) -> None:
    """The Python or the httpx that the way names."""
    if way.command[:1] == BARE[:1]:
        other_python(place, "bare", complete=False)
    if way.environment == OTHER_HTTPX:
        other_httpx(place)


def other_python(place: Place, name: str, *, complete: bool) -> None:
    """An environment of its own; a complete one has all that this one has."""
    venv.create(place.folder / name, symlinks=True)
    if complete:
        site = next((place.folder / name / "lib").glob("python*")) / "site-packages"
        (site / "more.pth").write_text(f"import site; site.addsitedir({SITE!r})\n")


def other_httpx(place: Place) -> None:
    """An httpx of a version in which the private method that the boundary enters at has another name."""
    package = shutil.copytree(Path(httpx.__file__).parent, place.folder / "other" / "httpx")
    client = package / "_client.py"
    text = client.read_text(encoding="utf-8")
    assert ENTERED in text
    client.write_text(text.replace(ENTERED, "_transport_of"), encoding="utf-8")


@pytest.mark.parametrize("way", [pytest.param(way, id=way.name) for way in WAYS])
def test_a_started_program_is_recorded_and_replayed_exactly(place: Place, matrix: Matrix, way: Way) -> None:
    """A full replay is exact without a call, and from an anchor only what follows it goes live."""
    settled(place, way)
    if way.command[0].startswith("other/"):
        other_python(place, "other", complete=True)
    recorded = place.anchored("record", *way.options, "--name", "way", "--", *way.command, stdin=way.stdin)
    row = Row(expected=way.status, found=recorded.status, verdict="recorded", before=None, live=len(recorded.calls))
    matrix.add("launching", way.name, "record", row)
    assert (recorded.status, len(recorded.calls)) == (way.status, 2), recorded.err
    assert "nothing that was noticed" in recorded.err, recorded.err

    full = place.anchored("replay", *way.options, "way", "--json")
    row = row_of(place, full, expected=0, name="way.replay-1")
    matrix.add("launching", way.name, "replay", row)
    assert (row.found, row.verdict, row.live, row.left) == (0, "exact", 0, 0), (full.err, full.attempt)

    if way.at:
        anchored = place.anchored("replay", *way.options, "way", "--at", "2", "--json")
        row = row_of(place, anchored, expected=0, name="way.replay-2", prefix=recorded.calls[:1])
        matrix.add("launching", way.name, "replay --at 2", row)
        assert (row.found, row.verdict, row.left) == (0, "live", 0), (anchored.err, anchored.attempt)
        assert (row.before, row.live) == (0, 1)


@pytest.mark.parametrize("way", [pytest.param(way, id=way.name) for way in UNRECORDED])
def test_what_cannot_be_recorded_is_said_with_the_reason(place: Place, matrix: Matrix, way: Unrecorded) -> None:
    """The status is 125; a program that shuts the boundary out runs as it would, one that breaks it does not run."""
    settled(place, way)
    other_installations(place, way)
    recorded = place.anchored("record", "--name", "way", "--", *way.command)
    verdict = f"nothing recorded: “{way.says}”"
    row = Row(expected=125, found=recorded.status, verdict=verdict, before=None, live=len(recorded.calls))
    matrix.add("launching", way.name, "record", row)
    assert (recorded.status, len(recorded.calls)) == (125, way.calls), recorded.err
    assert way.says in recorded.err
    assert (place.folder / "ran").exists() == way.ran
    assert place.left("way") == []


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory, endpoint: RunningEndpoint) -> Place:
    """A place with a recording that is replayed in several ways."""
    place = Place(folder=tmp_path_factory.mktemp("shared"), endpoint=endpoint)
    place.write("program.py", TWO)
    done = place.anchored("record", "--name", "way", "--", "{python}", "program.py")
    assert done.status == 0, done.err
    return place


@pytest.mark.parametrize("way", [pytest.param(way, id=way.name) for way in RESTARTS])
def test_a_program_restarted_without_the_boundary_is_no_success(shared: Place, matrix: Matrix, way: Restart) -> None:
    """The replay says why, and makes no call."""
    settled(shared, way)
    other_installations(shared, way)
    command = ["--", *way.command] if way.command else []
    for place in ((), ("--at", "2")):
        done = shared.anchored("replay", "way", *place, "--json", *QUICK, *command)
        row = row_of(shared, done, expected=way.status, name=done.attempt.get("name", "none"))
        matrix.add("launching", way.name, " ".join(("replay", *place)), row)
        assert (row.found, row.live, row.left) == (way.status, way.live, 0), (done.err, done.attempt)
        assert way.reason in done.attempt.get("reason", "") + done.err, (done.err, done.attempt)


@pytest.mark.parametrize("way", [pytest.param(way, id=way.name) for way in REFUSALS])
def test_what_cannot_be_replayed_is_refused_with_the_reason(place: Place, matrix: Matrix, way: Refusal) -> None:
    """The recording says what it did not observe, and the replay makes no call in its place."""
    if way.needs and shutil.which(way.needs) is None and importlib.util.find_spec(way.needs) is None:
        row = Row(expected=way.status, found=None, verdict=f"{way.needs} is not there", before=None, live=None)
        matrix.add("launching", way.name, "replay", row)
        pytest.skip(f"{way.needs} is not there")
    place.write("program.py", way.text)
    recorded = place.anchored("record", "--name", "way", "--", *way.command, stdin=way.stdin)
    verdict = "recorded" + (f": “{way.says}”" if way.says else "")
    row = Row(expected=0, found=recorded.status, verdict=verdict, before=None, live=len(recorded.calls))
    matrix.add("launching", way.name, "record", row)
    assert (recorded.status, len(recorded.calls)) == (0, way.calls), recorded.err
    assert (way.says or "nothing that was noticed") in recorded.err, recorded.err

    done = place.anchored("replay", "way", "--json", *QUICK)
    row = row_of(place, done, expected=way.status, name="way.replay-1")
    matrix.add("launching", way.name, "replay", row)
    assert (row.found, row.live, row.left) == (way.status, way.live, 0), (done.err, done.attempt)
    assert way.reason in done.attempt.get("reason", "") + done.err, (done.err, done.attempt)
