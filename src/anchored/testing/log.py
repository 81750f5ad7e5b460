"""The endpoint's log: one JSON line for each request, in order of arrival."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class Call:
    """One request that the endpoint got."""

    n: int
    """Its number since the endpoint's start, from 0. Nothing in the answer depends on it."""
    path: str
    digest: str
    """SHA-256 of path and parsed body."""
    occurrence: int
    """How many times this very request came before, from 0."""
    rule: str | None
    """The rule that answered; none for errors and for the list of models."""
    reply: int | None
    """The number of the reply drawn among the rule's replies, from 0."""
    status: int
    """The HTTP status answered."""


def read_calls(log: Path, *, start: int = 0) -> list[Call]:
    """The calls in a log file from a byte offset on; a line that is still being written is left out."""
    with log.open("rb") as file:
        file.seek(start)
        lines = file.read().split(b"\n")[:-1]
    return [Call(**json.loads(line)) for line in lines]
