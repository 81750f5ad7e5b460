"""What the tests of the core share: invented runs, as the module `builders`, and the costly ones made once."""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from xdist.scheduler import LoadFileScheduling


class _Together(LoadFileScheduling):
    """What is made once is made in one process: for a file, for a subject's cells, for the matrix of launches."""

    def _split_scope(self, nodeid: str) -> str:
        if nodeid.startswith("tests/conformance/"):
            return "tests/conformance"
        return nodeid.rpartition("-")[0] if "::test_cell[" in nodeid else super()._split_scope(nodeid)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadFileScheduling | None:
    """Groups tests by what they share; the marks of `--dist loadgroup` are lost in this pytest."""
    return _Together(config, log) if config.getoption("dist") == "loadfile" else None


def _load(name: str) -> ModuleType:
    """A module beside this file, importable by its name from every test."""
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


builders = _load("builders")


_cells: list[dict[str, Any]] = []


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Collects the cells that conformance tests found, from whichever process they ran in."""
    if report.when == "call":
        _cells.extend(json.loads(str(value)) for name, value in report.user_properties if name == "cell")


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Writes them to the page that ANCHORED_FRAMEWORKS names, if it names one."""
    path = os.environ.get("ANCHORED_FRAMEWORKS")
    if path and _cells and not hasattr(session.config, "workerinput"):
        _load("frameworks_page").write(Path(path), _cells)


@pytest.fixture(scope="session")
def figures() -> Iterator[Any]:
    """Where tests leave their figures; written to the file that ANCHORED_FIGURES names, if it names one."""
    made = _load("figures").Figures()
    yield made
    if path := os.environ.get("ANCHORED_FIGURES"):
        made.write(Path(path))


@pytest.fixture(scope="session")
def seed() -> int:
    """Of all seeded tests; another is taken from ANCHORED_TEST_SEED. A failing test prints what it drew."""
    return int(os.environ.get("ANCHORED_TEST_SEED", "20268"))


@pytest.fixture(scope="session")
def thorough() -> bool:
    """Whether to try everything, as `make figures` does, and not a sample of it."""
    return os.environ.get("ANCHORED_THOROUGH") == "1"


@pytest.fixture(scope="session")
def team():
    """An invented run of five agents, in memory. Do not change it."""
    return builders.recorded(builders.team())


@pytest.fixture(scope="session")
def stored_team(tmp_path_factory: pytest.TempPathFactory):
    """The same run in a store: (library, name). Do not change it; copy the file."""
    library = builders.store(tmp_path_factory.mktemp("stored"))
    builders.record_to(library, "team", builders.team())
    return library, "team"
