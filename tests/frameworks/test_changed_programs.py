"""A program that is no longer the recorded one diverges at the right event with the right path."""

import sys
from typing import Any

import pytest

from .conftest import Stand

TAKE_NOTE = '    note("search_archive", {"query": query})'


@pytest.mark.parametrize(
    ("changes", "position", "path", "kind"),
    [
        pytest.param(
            [("You are the researcher. Look", "You are the researcher! Look")],
            6,
            "/body/messages/0/content",
            "changed",
            id="prompt",
        ),
        pytest.param(
            [("    user = UserProxyAgent(", "    change_arguments(researcher)\n    user = UserProxyAgent(")],
            14,
            "/arguments/query",
            "changed",
            id="tool-arguments",
        ),
        pytest.param(
            [("    user = UserProxyAgent(", "    planner.generate_reply(HELLO)\n    user = UserProxyAgent(")],
            0,
            "/actor",
            "changed",
            id="one-call-more-at-the-start",
        ),
        pytest.param(
            [("    last = chat.messages[-1]", "    planner.generate_reply(HELLO)\n    last = chat.messages[-1]")],
            34,
            "",
            "extra",
            id="one-call-more-at-the-end",
        ),
        pytest.param([("ROUNDS = 20", "ROUNDS = 9")], 26, "", "missing", id="fewer-calls"),
        pytest.param(
            [("    user = UserProxyAgent(", "    swap_tools(researcher)\n    user = UserProxyAgent(")],
            8,
            "/name",
            "changed",
            id="another-tool",
        ),
    ],
)
def test_changed_program_diverges(
    stand: Stand,
    changes: list[tuple[str, str]],
    position: int,
    path: str,
    kind: str,
    request: pytest.FixtureRequest,
    figures: Any,
) -> None:
    """R4-08, R4-09, R0-11: at the first event that differs, exit 3, nothing live."""
    extra = [("def ask(", HELPERS + "\n\ndef ask(")]
    name = stand.program(f"changed-{request.node.callspec.id}.py", *changes, *extra)
    calls, tools = stand.calls(), stand.tool_runs()
    done, attempt = stand.replay("first", "--", sys.executable, name)
    assert done.status == 3, (done.err, attempt)
    assert attempt["verdict"] == "diverged"
    assert attempt["receipt"] is None
    assert attempt["divergence"]["position"] == position, attempt
    assert attempt["divergence"]["path"] == path, attempt
    assert attempt["divergence"]["kind"] == kind
    assert (stand.calls(), stand.tool_runs()) == (calls, tools)
    figures.add(
        f"Changed program, {request.node.callspec.id.replace('-', ' ')}",
        "test_changed_program_diverges",
        exit=done.status,
        diverged_at=position,
        field=f"`{path}`" if path else kind,
        live_calls=0,
    )


HELPERS = '''
HELLO = [{"role": "user", "content": "Say hello."}]


def change_arguments(agent):
    """The second search asks for something else."""
    original = agent.execute_function

    def execute_function(func_call, **more):
        if "lamps" in func_call["arguments"] or "length" in func_call["arguments"]:
            seen.append(func_call)
        if len(seen) == 2:
            func_call = {**func_call, "arguments": json.dumps({"query": "Ostrel Bridge"})}
        return original(func_call, **more)

    seen = []
    agent.execute_function = execute_function


def swap_tools(agent):
    """What was a search becomes a computation."""
    original = agent.execute_function
    agent.execute_function = lambda call, **more: original({**call, "name": "calculate"}, **more)
'''


def test_two_calls_swapped(stand: Stand, tmp_path_factory: pytest.TempPathFactory) -> None:
    """R4-09: a request that matches a later record is never served early."""
    folder = stand.folder
    (folder / "pair.py").write_text(PAIR, encoding="utf-8")
    assert stand.record("pair", "pair.py", "planner", "writer").status == 0
    calls = stand.calls()
    done, attempt = stand.replay("pair", "--", sys.executable, "pair.py", "writer", "planner")
    assert done.status == 3, (done.err, attempt)
    assert attempt["divergence"]["position"] == 0
    assert attempt["divergence"]["path"] == "/body/messages/0/content"
    assert "recorded" in stand.anchored("show", attempt["name"]).out
    assert stand.calls() == calls
    done, attempt = stand.replay("pair", "--", sys.executable, "pair.py", "planner", "writer")
    assert done.status == 0, done.err


PAIR = """
import os, sys
import openai

client = openai.OpenAI(base_url=os.environ["OPENAI_BASE_URL"], api_key="none")
for name in sys.argv[1:]:
    system = {"role": "system", "content": f"You are the {name}."}
    messages = [system, {"role": "user", "content": "the Corvane Tunnel"}]
    print(client.chat.completions.create(model="scripted-1", messages=messages).choices[0].message.content)
"""


def test_swallowed_divergence_is_not_done(stand: Stand) -> None:
    """Fail closed: a program that catches everything and ends with 0 has not replayed."""
    name = stand.program(
        "swallows.py",
        ("You are the writer. Answer", "You are the writer! Answer"),
        ("    print(ask(arguments.question, rounds=arguments.rounds))", SWALLOW),
    )
    calls, tools = stand.calls(), stand.tool_runs()
    for arguments in ((), ("--at", "32")):
        done, attempt = stand.replay("first", *arguments, "--", sys.executable, name)
        assert done.status == 3, (done.err, attempt)
        assert attempt["divergence"]["position"] == 32
        assert attempt["receipt"] is None
    assert (stand.calls(), stand.tool_runs()) == (calls, tools)


SWALLOW = """
    for _ in range(3):
        try:
            print(ask(arguments.question, rounds=arguments.rounds))
        except BaseException:
            print("all is well")
    raise SystemExit(0)
"""


def test_divergence_is_shown_as_people_want_it(stand: Stand) -> None:
    """Event, agent, call, field, both values, only what lies around the difference."""
    name = stand.program("prompt.py", ("then write TERMINATE.", "then write TERMINATE and stop."))
    done = stand.anchored("replay", "first", "--", sys.executable, name)
    assert done.status == 3
    assert "diverged at 32, writer: chat scripted-1" in done.err
    assert "/body/messages/0/content" in done.err
    assert 'then write TERMINATE."' in done.err
    assert 'then write TERMINATE and stop."' in done.err


def test_live_tool_without_a_declared_effect_is_refused(stand: Stand) -> None:
    """Nothing says that the tool is harmless: exit 4, its name, and the lines to paste."""
    undeclared = stand.folder / "anchored.toml"
    kept = undeclared.read_text()
    try:
        undeclared.unlink()
        tools = stand.tool_runs()
        done = stand.anchored("replay", "first", "--at", "18")
        assert done.status == 4, done.err
        assert "'calculate' would run live with effect undeclared" in done.err
        assert '[effects]\n    "calculate" = "read"' in done.err
        assert stand.tool_runs() == tools
        allowed, attempt = stand.replay("first", "--at", "18", "--effects", "allow")
        assert allowed.status == 0, (allowed.err, attempt)
        assert stand.tool_runs() == tools + 1
    finally:
        undeclared.write_text(kept)
