"""`--ambient`: a program that puts times, random numbers and new ids into its prompts, with threads and asyncio.

Without it such a program diverges at its first prompt; with it every replay is exact, and real again behind an anchor.
"""

import json
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from anchored.testing import running_endpoint

from .conftest import Stand
from .test_background import receipt
from .test_boundary import HEAD, SCRIPT

PROGRAM = """
import asyncio, random, secrets, threading, time, uuid
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime
from time import time as now


@anchored.tool(effect="read")
def look(what):
    return f"{what} at {now()}, {random.random()}, {[time.time_ns() for _ in range(3)][-1]}"


def said(who):
    return (
        f"{who}: {now()} {time.time_ns()} {datetime.now()} {datetime.now(UTC)} {date.today()} {time.strftime('%X')} "
        f"{uuid.uuid4()} {uuid.uuid1()} {random.random()} {random.choice('abc')} {secrets.token_hex(4)} "
        f"{random.Random().random()}"
    )


def worker(number):
    for turn in range(2):
        ask(said(f"thread {number} turn {turn}"))


async def task(number):
    async with httpx.AsyncClient() as using:
        for turn in range(2):
            await asyncio.sleep(random.random() * 0.01)
            messages = [{"role": "user", "content": said(f"task {number} turn {turn}")}]
            await using.post(BASE + "/chat/completions", json={"model": "scripted-1", "messages": messages})


async def tasks():
    await asyncio.gather(*(task(number) for number in range(3)))


ask(said("first"))
ask(look("weather") + said("after a tool"))
with ThreadPoolExecutor(3) as pool:
    list(pool.map(worker, range(3)))
asyncio.run(tasks())
for _ in range(int(os.environ.get("MORE", "0"))):
    time.time()
print("said at", repr(now()), ask(said("last")))
"""


@pytest.fixture(scope="module")
def ambient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stand]:
    folder = tmp_path_factory.mktemp("ambient")
    (folder / "script.py").write_text(SCRIPT)
    (folder / "telling.py").write_text(HEAD + PROGRAM)
    with running_endpoint(folder / "script.py", log=folder / "endpoint.jsonl") as endpoint:
        stand = Stand(folder=folder, endpoint=endpoint)
        for name, options in (("with", ("--ambient",)), ("without", ())):
            done = stand.anchored("record", "--name", name, *options, "--", sys.executable, "telling.py")
            assert done.status == 0, done.err
        yield stand


def said_at(stand: Stand, attempt: dict[str, Any]) -> float:
    output = (stand.folder / ".anchored" / "runs" / f"{attempt['name']}.out").read_text()
    found = re.search(r"said at ([0-9.]+)", output)
    assert found is not None, output
    return float(found[1])


def test_every_replay_is_exact(ambient: Stand, thorough: bool) -> None:
    """20 of 20 where everything is tried."""
    calls = ambient.calls()
    recorded = time.time()
    for _ in range(20 if thorough else 4):
        done, attempt = ambient.replay("with")
        assert (done.status, attempt["verdict"]) == (0, "exact"), done.err
        assert said_at(ambient, attempt) < recorded, "the recorded time"
    assert ambient.calls() == calls
    held = receipt(attempt, ambient)["ambient"]
    assert held["kinds"] == ["random", "time", "urandom", "uuid"]
    assert not held["incomplete"]


def test_without_it_the_first_prompt_diverges(ambient: Stand) -> None:
    done, attempt = ambient.replay("without")
    assert (done.status, attempt["verdict"]) == (3, "diverged")
    assert attempt["divergence"]["position"] == 0


def test_behind_an_anchor_time_and_chance_are_real(ambient: Stand) -> None:
    """Two controls see the clock of today and draw differently; both verifiers agree with their receipts."""
    started = time.time()
    prompts: list[str] = []
    done = ambient.anchored("replay", "with", "--at", "6", "--trials", "2", "--json")
    assert done.status == 0, done.err
    for attempt in done.json:
        assert attempt["verdict"] == "live"
        assert said_at(ambient, attempt) >= started
        events = ambient.anchored("show", attempt["name"], "--json", "--full").json["events"]
        prompts.append(json.dumps(events[-1]))
        assert receipt(attempt, ambient)["ambient"]["kinds"] == ["random", "time", "urandom", "uuid"]
        verified = ambient.anchored("verify", attempt["receipt"], "--json")
        assert verified.status == 0, verified.err
        tool = Path(__file__).parents[2] / "tools" / "verify_receipt.py"
        independent = ambient.run(sys.executable, str(tool), attempt["receipt"])
        assert independent.status == 0, independent.err
    assert prompts[0] != prompts[1]


def test_a_replay_can_be_replayed(ambient: Stand) -> None:
    """It keeps what its program saw: recorded values first, then real ones. Anchored where no thread draws meanwhile,
    since for one that does the renewal may come on either side (decisions.md).
    """
    done, attempt = ambient.replay("with", "--at", "4")
    assert done.status == 0, done.err
    done, again = ambient.replay(attempt["name"])
    assert (done.status, again["verdict"]) == (0, "exact"), done.err
    assert said_at(ambient, again) == said_at(ambient, attempt)


def test_what_asks_more_often_than_recorded_gets_real_values_and_the_receipt_says_so(ambient: Stand) -> None:
    """Requirement 1: no refusal; `incomplete` on the receipt and on the screen. The values of other streams stand."""
    text = (ambient.folder / "telling.py").read_text()
    assert "time.time()" in text
    (ambient.folder / "more.py").write_text("import time\n\n\ndef look():\n    return time.time()\n")
    (ambient.folder / "asking.py").write_text(
        HEAD + "import more\nfor _ in range(int(os.environ.get('MORE', '1'))):\n    more.look()\nprint(ask('one'))\n"
    )
    done = ambient.anchored("record", "--name", "asking", "--ambient", "--", sys.executable, "asking.py")
    assert done.status == 0, done.err
    done, attempt = ambient.replay("asking", MORE="3")
    assert (done.status, attempt["verdict"]) == (0, "exact"), done.err
    assert receipt(attempt, ambient)["ambient"]["incomplete"] is True
    assert "ambient: incomplete" in ambient.anchored("replay", "asking", MORE="3").err
    done, attempt = ambient.replay("asking", MORE="1")
    assert receipt(attempt, ambient)["ambient"]["incomplete"] is False


def test_without_the_option_nothing_is_replaced(ambient: Stand) -> None:
    (ambient.folder / "looking.py").write_text(
        HEAD + "import time, random, datetime\n"
        "print(type(time.time).__name__, type(random._inst).__name__, type(vars(datetime.datetime)['now']).__name__,\n"
        "      'anchored.boundary.ambient_doors' in sys.modules, ask('one'))\n"
    )
    done = ambient.record("looking", "looking.py")
    assert done.out.startswith("builtin_function_or_method Random classmethod_descriptor False"), done.out
    done, attempt = ambient.replay("looking")
    assert receipt(attempt, ambient)["ambient"] is None


def test_a_team_of_a_framework_is_exact_with_it(stand: Stand) -> None:
    """AG2: its tools, its replies and its ids, which are the same with the option as without."""
    done = stand.anchored("record", "--name", "ambient-team", "--ambient", "--", sys.executable, "team.py")
    assert done.status == 0, done.err
    done, attempt = stand.replay("ambient-team")
    assert (done.status, attempt["verdict"]) == (0, "exact"), done.err
    done, attempt = stand.replay("ambient-team", "--at", "18")
    assert (done.status, attempt["verdict"]) == (0, "live"), done.err
