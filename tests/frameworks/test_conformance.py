"""Issue 4: every framework, exactly. Each cell of docs/frameworks.md is one of these tests.

`make conformance` tries each cell 20 times or more; `make test` tries two cells of most subjects twice.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import asdict, replace
from typing import cast

import pytest

from anchored.attempts.forking import ForkServer
from anchored.testing import running_endpoint
from anchored.testing.conformance import COLUMNS, Column, Conformance

from .conftest import running_tools
from .subjects import SUBJECTS, Stood

ATTEMPTS = int(os.environ.get("ANCHORED_CONFORMANCE", "0"))
SAMPLE = ("parallel", "changed request", "swallowed divergence")
ALWAYS = ("record", "control", "guided", "changed request", "swallowed divergence", "hang")
CELLS = [
    (stood, column)
    for stood in SUBJECTS
    if ATTEMPTS or stood.sampled
    for column in (COLUMNS if ATTEMPTS else SAMPLE)
    if column in (*stood.subject.modes, *ALWAYS)
]


@pytest.fixture(scope="module")
def conformance(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[Stood], Conformance]]:
    """One suite for each subject, with an endpoint of its own, that keeps its recordings for all its cells."""
    made: dict[str, Conformance] = {}
    with ExitStack() as endpoints, ForkServer(most=6) as server:

        def give(stood: Stood) -> Conformance:
            name = stood.subject.name
            if name not in made:
                folder = tmp_path_factory.mktemp("subject")
                endpoint = endpoints.enter_context(running_endpoint(stood.script, log=folder / "endpoint.jsonl"))
                subject = stood.subject
                if stood.server is not None:
                    port = endpoints.enter_context(running_tools(stood.python, stood.server, folder / "tools.log"))
                    subject = replace(subject, environment={**subject.environment, "MCP_PORT": str(port)})
                made[name] = Conformance(subject, endpoint, folder, server=server)
            return made[name]

        yield give


@pytest.mark.timeout(1200)
@pytest.mark.parametrize(
    ("stood", "column"),
    [pytest.param(stood, column, id=f"{stood.subject.name}-{column}".replace(" ", "_")) for stood, column in CELLS],
)
def test_cell(
    stood: Stood,
    column: str,
    conformance: Callable[[Stood], Conformance],
    record_property: Callable[[str, object], None],
) -> None:
    """All attempts did what they must, or were refused where that is allowed; none crossed."""
    if not stood.python.exists():
        pytest.skip(f"{stood.python.parent.parent.name} is not there: make stands")
    cell = conformance(stood).try_column(cast("Column", column), ATTEMPTS or 2)
    record_property("cell", json.dumps(asdict(cell)))
    assert cell.holds, "\n".join([f"{cell.exact} exact, {cell.refused} refused, {cell.crossed} crossed", *cell.failed])
