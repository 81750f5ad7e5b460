"""`anchored diff` on real runs: a control that went another way, a guided replay, and a run against itself."""

from pathlib import Path

from anchored.testing import running_endpoint

from .conftest import DEMO, Stand, make_stand


def test_a_replay_is_compared_with_its_source(stand: Stand) -> None:
    """The first step that differs is the anchor's; later requests differ by what came of it."""
    _, attempt = stand.replay("first", "--at", "18", "--guide", "Use the current figure, not the superseded one.")
    done = stand.anchored("diff", "first", attempt["name"], "--json")
    assert done.status == 0, done.err
    steps = done.json["steps"]
    assert done.json["parting"] == next(place for place, step in enumerate(steps) if step["first"] == 18)
    assert steps[done.json["parting"]]["kind"] == "result"
    changed = next(step for step in steps if step["kind"] == "changed")
    assert changed["first"] == 20
    assert changed["difference"]["path"] == "/arguments/expression"
    assert (changed["difference"]["first"], changed["difference"]["second"]) == ("1240 / 6.2", "1860 / 6.2")
    shown = stand.anchored("diff", "first", attempt["name"]).out
    assert "the same up to the event at 18" in shown
    assert '- calls calculate {"expression": "1240 / 6.2"}' in shown
    assert '+ calls calculate {"expression": "1860 / 6.2"}' in shown
    assert "+ answer" in shown


def test_a_run_is_the_same_as_itself(stand: Stand) -> None:
    done = stand.anchored("diff", "first", "first")
    assert done.status == 0
    assert done.out.startswith("the same: 17 events")


def test_runs_of_other_lengths(tmp_path: Path) -> None:
    """A run that gave up early lacks events at its end; nothing else is said to differ."""
    for name, arguments in (("long", ()), ("short", ("--rounds", "5"))):
        with running_endpoint(DEMO / "script.py", seed=0, log=tmp_path / f"{name}.jsonl") as endpoint:
            stand = make_stand(tmp_path, endpoint)
            assert stand.record(name, "team.py", *arguments).status == 0
    steps = stand.anchored("diff", "long", "short", "--json").json["steps"]
    kinds = [step["kind"] for step in steps]
    assert set(kinds) == {"same", "left"}
    assert kinds.index("left") == kinds.count("same"), "what is missing is at the end"


def test_removing_runs(stand: Stand) -> None:
    """A source that replays refer to stays, unless they go too; the rest of the store is untouched."""
    program = stand.program("tiny.py", ("ROUNDS = 20", "ROUNDS = 2"))
    assert stand.record("tiny", program).status == 0
    _, attempt = stand.replay("tiny", "--at", "2", "--guide", "Hello.")
    refused = stand.anchored("rm", "tiny")
    assert refused.status == 2
    assert attempt["name"] in refused.err
    assert stand.anchored("rm", "tiny", "--replays").status == 0
    names = stand.anchored("list").out
    assert "tiny" not in names
    assert "first" in names
    assert not list((stand.folder / ".anchored" / "runs").glob("tiny*"))
