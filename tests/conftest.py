"""What the tests of the core share: invented runs, as the module `builders`, and the costly ones made once."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

import pytest

_SPEC = importlib.util.spec_from_file_location("builders", Path(__file__).with_name("builders.py"))
assert _SPEC is not None
assert _SPEC.loader is not None
builders = sys.modules["builders"] = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(builders)


@pytest.fixture(scope="session")
def seed() -> int:
    """Of all seeded tests; another is taken from ANCHORED_TEST_SEED. A failing test prints what it drew."""
    return int(os.environ.get("ANCHORED_TEST_SEED", "20268"))


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
