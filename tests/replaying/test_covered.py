"""HTTP under a served tool, where other events fall between: exact, or refused, but never something else (fail closed).

Recorded with threads: what a tool does overlaps with what others do, or goes on after the tool has returned.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from builders import (
    CONFIGURATION,
    TASK,
    Call,
    World,
    clock,
    close_journal,
    closing_of,
    http,
    opening,
    plan_of,
    store,
    tool,
)

from anchored.boundary.actors import enclosed_by
from anchored.boundary.crossing import Passage, Poisoned
from anchored.boundary.effects import Declarations
from anchored.boundary.recorder import Recorder
from anchored.boundary.replayer import Replayer
from anchored.errors import RefusedError
from anchored.library import FileJournal, Library, load
from anchored.recording import FORMAT, Opening, Recording, Replayed
from anchored.replaying import check_replayable

TOOL = tool("a", "fetch", {}, effect="read")
OTHER = http("GET", "/other")
INNER = http("GET", "/inner")

Act = Callable[[Call], Passage]


def recorded_so(library: Library, order: list[str]) -> Recording:
    """A run whose tool, whose HTTP and another call begin and end in this order."""
    path = library.create("source", opening(), {"mode": "record", "declarations": [], "created": "1"})
    gate = Recorder(journal := FileJournal(path), clock(), Declarations())
    calls = {"tool": TOOL, "other": OTHER, "inner": INNER}
    begun: dict[str, Passage] = {}
    for step in order:
        name, _, ending = step.partition(" ")
        if ending:
            result, outcome = World()(calls[name])
            gate.end(begun[name], outcome=outcome, result=result)
            continue
        outer = begun["tool"].begin if name == "inner" else None
        with enclosed_by(outer.position if outer else None):
            begun[name] = gate.begin(calls[name].crossing())
    close_journal(journal)
    library.finish("source", closing_of(load(path), None))
    return load(library.path("source"))


@pytest.mark.parametrize(
    "order",
    [
        ["tool", "inner", "inner ends", "tool ends", "other", "other ends"],
        ["tool", "inner", "inner ends", "other", "tool ends", "other ends"],
        ["tool", "other", "inner", "inner ends", "other ends", "tool ends"],
        ["tool", "inner", "other", "inner ends", "tool ends", "other ends"],
        ["tool", "inner", "other", "other ends", "inner ends", "tool ends"],
        ["other", "tool", "inner", "other ends", "inner ends", "tool ends"],
        ["tool", "inner", "tool ends", "inner ends", "other", "other ends"],
        ["tool", "inner", "tool ends", "other", "inner ends", "other ends"],
    ],
    ids=" ".join,
)
def test_what_a_served_tool_covers_is_copied_in_its_place_or_refused(tmp_path: Path, order: list[str]) -> None:
    """What a served tool covers is copied in one piece, or the recording is refused before anything starts.

    Design, Order and Nesting: refused as order not reproducible, or poisoned; no error that a program could swallow.
    """
    library = store(tmp_path)
    source = recorded_so(library, order)
    try:
        check_replayable(source, size=len(source.log), anchored=False, effects_allowed=False)
    except RefusedError:
        return
    plan = plan_of(source)
    start = Opening(
        format=FORMAT,
        run=plan.run_id(1),
        mode="replay",
        task=TASK,
        configuration=dict(CONFIGURATION),
        replayed=Replayed(source=source.digest, plan=dict(plan.document()), attempt=1),
    )
    path = library.create("replay", start, {"mode": "replay", "created": "2"})
    journal = FileJournal(path)
    gate = Replayer(source, plan, journal, clock(), patience=0.2, watcher=os.getpid(), folder=tmp_path)
    begun: dict[str, Passage] = {}
    try:
        for step in order:
            name, _, ending = step.partition(" ")
            if name == "inner":
                continue
            if ending:
                passage = begun[name]
                gate.end(passage, outcome=passage.outcome, result=passage.result)
            else:
                begun[name] = gate.begin({"tool": TOOL, "other": OTHER}[name].crossing())
                assert begun[name].action == "serve"
    except Poisoned:
        assert load(path).notes_of("poison")
        return
    finally:
        close_journal(journal)
    assert load(path).log.head == source.log.head
    assert replace(load(path), closing=source.closing).log.entries == source.log.entries
