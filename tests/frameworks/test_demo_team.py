"""The demo team as it is, without a recorder: a real AG2 program against the scripted endpoint.

It is the system that R0-23 asks for: a rerun repairs it now and then by luck alone, with a probability that is known.
"""

import importlib.util
import json
import math
import os
import secrets
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest

from anchored.testing import ChatRequest, Json, RunningEndpoint, load_script, running_endpoint

DEMO = Path(__file__).parents[2] / "demo"
QUESTION = "How many lamps per kilometre does the Corvane Tunnel have?"
OLD = "Corvane Tunnel, survey of 2009: 1240 lamps counted, all sodium. Replaced by the survey of 2021."
NEW = "Corvane Tunnel, survey of 2021: 1860 lamps counted, after the refit to LED."
LENGTH = "Corvane Tunnel, building record: length 6.2 km, two tubes, opened in 1974."
PLACEBO = "Think carefully and answer well."

needs_ag2 = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("autogen", "starlette", "uvicorn")),
    reason="needs the extras 'ag2' and 'testing'",
)


def module(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"demo_{name}", DEMO / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


SCRIPT = load_script(DEMO / "script.py")
PARAMETERS = module("script")
CHECK = module("check")


@dataclass(frozen=True, kw_only=True)
class TeamRun:
    answer: str
    rules: list[str | None]
    digests: list[str]
    tools: list[dict[str, Json]]


def run_team(endpoint: RunningEndpoint, folder: Path, *arguments: str) -> TeamRun:
    tool_log = folder / "tools.jsonl"
    tool_log.unlink(missing_ok=True)
    before = len(endpoint.calls())
    done = subprocess.run(
        [sys.executable, str(DEMO / "team.py"), *arguments],
        env={**os.environ, "OPENAI_BASE_URL": endpoint.url, "TOOL_LOG": str(tool_log), "NO_PROXY": "127.0.0.1"},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    calls = endpoint.calls()[before:]
    assert all(call.status == 200 for call in calls)
    tools = tool_log.read_text().splitlines() if tool_log.exists() else []
    return TeamRun(
        answer=done.stdout.splitlines()[-1],
        rules=[call.rule for call in calls],
        digests=[call.digest for call in calls],
        tools=[json.loads(line) for line in tools],
    )


@needs_ag2
def test_first_run_fails_and_is_the_same_in_every_start(tmp_path: Path) -> None:
    runs: list[TeamRun] = []
    for _ in range(2):
        with running_endpoint(DEMO / "script.py", seed=PARAMETERS.SEED) as endpoint:
            runs.append(run_team(endpoint, tmp_path))
    assert runs[0] == runs[1]
    run = runs[0]
    assert "200 lamps per kilometre" in run.answer
    assert not CHECK.correct(run.answer)
    agents = ["plan", "search", "search", "figure", "report", "check", "answer"]
    assert run.rules == [rule for agent in agents for rule in ("speaker", agent)]
    assert [tool["tool"] for tool in run.tools] == ["search_archive", "search_archive", "calculate"]
    assert 20 <= 2 * (len(run.rules) + len(run.tools)) <= 60
    assert [path.name for path in tmp_path.iterdir()] == ["tools.jsonl"], "no cache is left behind"


@needs_ag2
def test_reruns_are_new_draws_that_sometimes_succeed(tmp_path: Path) -> None:
    """R0-23: nothing is changed, and a run is "repaired" all the same."""
    with running_endpoint(DEMO / "script.py", seed=PARAMETERS.SEED) as endpoint:
        runs = [run_team(endpoint, tmp_path) for _ in range(3)]
    right = [CHECK.correct(run.answer) for run in runs]
    assert not right[0]
    assert any(right), "another SEED is needed: the framework's requests have changed, and with them the draws"
    decisions = {run.digests[run.rules.index("figure")] for run in runs}
    assert len(decisions) == len(runs), "call ids are new in each run, so each decision is a draw of its own"


@needs_ag2
def test_guided_run_succeeds(tmp_path: Path) -> None:
    with running_endpoint(DEMO / "script.py", seed=PARAMETERS.SEED) as endpoint:
        run = run_team(endpoint, tmp_path, f"{QUESTION} {PARAMETERS.GUIDANCE}")
    assert "figure-guided" in run.rules
    assert CHECK.correct(run.answer)


@needs_ag2
def test_rounds_and_other_questions(tmp_path: Path) -> None:
    with running_endpoint(DEMO / "script.py", seed=PARAMETERS.SEED) as endpoint:
        short = run_team(endpoint, tmp_path, "--rounds", "3")
        other = run_team(endpoint, tmp_path, "How many lamps per kilometre does the Ostrel Bridge have?")
        unknown = run_team(endpoint, tmp_path, "How many lamps per kilometre does the Lower Quay have?")
    assert (short.answer, short.rules) == ("No answer.", ["speaker", "plan", "speaker", "search"])
    assert "257.5 lamps per kilometre" in other.answer
    assert "not known" in unknown.answer


@needs_ag2
def test_team_without_an_endpoint_says_what_is_missing() -> None:
    environment = {name: value for name, value in os.environ.items() if name != "OPENAI_BASE_URL"}
    command = [sys.executable, str(DEMO / "team.py")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "OPENAI_BASE_URL" in done.stderr


@needs_ag2
def test_calculate_computes_and_nothing_else() -> None:
    """In a process of its own, so that what the framework warns of on import does not count here."""
    program = "import json, sys, team; print(json.dumps([team.calculate(text) for text in sys.argv[1:]]))"
    exact = {"1240 / 6.2": "200", "1860 / 6.2": "300", "0.1 + 0.2": "0.3", "-(2 - 5) * 1000": "3000", "1/3": "0.333333"}
    refused = ["1 / 0", "9 ** 9", "__import__('os')", "True + 1", "1 +", "1e400", "1e300 * 1e300", "(" * 500]
    done = subprocess.run(
        [sys.executable, "-c", program, *exact, *refused],
        env={**os.environ, "PYTHONPATH": str(DEMO)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    results = json.loads(done.stdout)
    assert results[: len(exact)] == list(exact.values())
    assert all(result.startswith("Cannot be computed") for result in results[len(exact) :])


# The rules alone, without the framework.


def message(name: str, text: str) -> dict[str, Json]:
    return {"role": "user", "name": name, "content": text}


def tool(number: int, name: str, arguments: dict[str, Json], result: str) -> list[Json]:
    """A tool call and its result, as AG2 sends them."""
    call: Json = {
        "id": f"call_{number}",
        "type": "function",
        "function": {"name": name, "arguments": json.dumps(arguments)},
    }
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"call_{number}", "content": result},
    ]


def request(system: str, messages: list[Json], *, guidance: str = "") -> ChatRequest:
    said = [{"role": "user", "content": guidance}] if guidance else []
    return ChatRequest(body={"messages": [{"role": "system", "content": system}, *messages, *said]})


RESEARCHER = "You are the researcher. …"
SELECTOR = "You are in a role play game. …"
SEARCHED: list[Json] = [
    message("user", QUESTION),
    message(
        "planner", "Plan: first the lamps of the Corvane Tunnel, then its length, then divide lamps by kilometres."
    ),
    *tool(1, "search_archive", {"query": "Corvane Tunnel lamps"}, f"{OLD}\n{NEW}"),
    *tool(2, "search_archive", {"query": "Corvane Tunnel length"}, LENGTH),
]
COMPUTED: list[Json] = [*SEARCHED, *tool(3, "calculate", {"expression": "1240 / 6.2"}, "200")]
REPORTED: list[Json] = [*COMPUTED, message("researcher", "Report: 200 lamps per kilometre in the Corvane Tunnel.")]


def reply(asked: ChatRequest, *, seed: int = 0, occurrence: int = 0) -> dict[str, Json]:
    body = json.loads(SCRIPT.answer(asked, seed=seed, occurrence=occurrence).response.body)
    return body["choices"][0]["message"]


@pytest.mark.parametrize(
    ("guidance", "right"),
    [
        ("", "RIGHT_UNGUIDED"),
        (PLACEBO, "RIGHT_UNGUIDED"),
        (PARAMETERS.GUIDANCE, "RIGHT_GUIDED"),
        ("Please check  the YEAR of each survey.", "RIGHT_GUIDED"),
    ],
)
def test_figure_is_drawn_with_the_known_probability(guidance: str, right: str) -> None:
    seed, n, p = secrets.randbits(32), 1500, getattr(PARAMETERS, right)
    print("seed", seed)
    asked = request(RESEARCHER, SEARCHED, guidance=guidance)
    calls = [reply(asked, seed=seed, occurrence=i)["tool_calls"] for i in range(n)]
    taken = [json.loads(call["function"]["arguments"])["expression"] for (call,) in calls]
    assert set(taken) == {"1240 / 6.2", "1860 / 6.2"}
    # Hoeffding's bound, 1963: farther off than this with a probability of 10^-9.
    assert abs(taken.count("1860 / 6.2") / n - p) < math.sqrt(math.log(2e9) / (2 * n))


def test_guidance_is_passed_on_by_planner_and_researcher() -> None:
    for system, messages in [("You are the planner. …", SEARCHED[:1]), (RESEARCHER, SEARCHED[:2])]:
        assert "current figure" in str(reply(request(system, messages, guidance=PARAMETERS.GUIDANCE))["content"])
        assert "current figure" not in str(reply(request(system, messages))["content"])
        assert "current figure" not in str(reply(request(system, messages, guidance=PLACEBO))["content"])


@pytest.mark.parametrize(
    ("messages", "speaker"),
    [
        (SEARCHED[:1], "planner"),
        (SEARCHED[:2], "researcher"),
        (SEARCHED[:3], "researcher"),
        (SEARCHED[:4], "researcher"),
        (COMPUTED, "researcher"),
        (REPORTED, "planner"),
        ([*REPORTED, message("planner", "Checked: the report answers the question.")], "writer"),
    ],
)
def test_guidance_does_not_confuse_the_choice_of_speaker(messages: list[Json], speaker: str) -> None:
    prompt: Json = {"role": "system", "name": "checking_agent", "content": "Read the above conversation. …"}
    for guidance in ("", PARAMETERS.GUIDANCE, PLACEBO):
        assert reply(request(SELECTOR, [*messages, prompt], guidance=guidance))["content"] == speaker


def test_guidance_after_the_figure_was_taken_is_too_late() -> None:
    for seed in range(20):
        late = reply(request(RESEARCHER, COMPUTED, guidance=PARAMETERS.GUIDANCE), seed=seed)
        assert late["content"] == "Report: 200 lamps per kilometre in the Corvane Tunnel."
        answer = reply(request("You are the writer. …", REPORTED, guidance=PARAMETERS.GUIDANCE), seed=seed)
        assert not CHECK.correct(str(answer["content"]))


def test_a_corrected_search_result_repairs_for_certain() -> None:
    """What an intervention on the tool's result can do that guidance cannot."""
    corrected = [*SEARCHED[:2], *tool(1, "search_archive", {"query": "Corvane Tunnel lamps"}, NEW), *SEARCHED[4:]]
    for seed in range(20):
        (call,) = reply(request(RESEARCHER, corrected), seed=seed)["tool_calls"]
        assert json.loads(call["function"]["arguments"]) == {"expression": "1860 / 6.2"}


@pytest.mark.parametrize(
    ("answer", "right"),
    [
        ("The Corvane Tunnel has 300 lamps per kilometre.", True),
        ("There are 300 lamps per kilometre in the Corvane Tunnel.\n", True),
        ("The Corvane Tunnel has 200 lamps per kilometre.", False),
        ("200 lamps per kilometre, or 300 lamps per kilometre.", False),
        ("3000 lamps per kilometre", False),
        ("It is not known how many lamps per kilometre the Corvane Tunnel has.", False),
        ("No answer.", False),
        ("", False),
    ],
)
def test_check(answer: str, right: bool) -> None:
    assert CHECK.correct(answer) is right
    done = subprocess.run([sys.executable, str(DEMO / "check.py")], input=answer, text=True, check=False)
    assert done.returncode == (0 if right else 1)
