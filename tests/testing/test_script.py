"""Scripts without a server: views, rules, weights, and the function from (seed, request, occurrence) to an answer."""

import json
import math
import secrets
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import pytest

from anchored.testing import (
    ChatRequest,
    Json,
    NoRuleError,
    Reply,
    Rule,
    RuleFailedError,
    Script,
    ScriptError,
    Weighted,
    load_script,
)


def ask(text: str, **more: Json) -> ChatRequest:
    return ChatRequest(body={"model": "m", "messages": [{"role": "user", "content": text}], **more})


def always(replies: Reply | list[Weighted]) -> Script:
    return Script(rules=[Rule(name="always", when=lambda _: True, replies=replies)])


def body(script: Script, request: ChatRequest, *, seed: int = 0, occurrence: int = 0) -> dict:
    return json.loads(script.answer(request, seed=seed, occurrence=occurrence).response.body)


def binomial_range(n: int, p: float, *, miss: float) -> tuple[int, int]:
    """The counts that a binomial variable keeps within, but for `miss` on either side."""

    def log_mass(k: int) -> float:
        return (
            math.lgamma(n + 1)
            - math.lgamma(k + 1)
            - math.lgamma(n - k + 1)
            + k * math.log(p)
            + (n - k) * math.log1p(-p)
        )

    mass = [math.exp(log_mass(k)) for k in range(n + 1)]
    low, below = 0, mass[0]
    while below < miss:
        low += 1
        below += mass[low]
    high, above = n, mass[n]
    while above < miss:
        high -= 1
        above += mass[high]
    return low, high


@pytest.mark.parametrize("weights", [(0.75, 0.25), (0.08, 0.92), (0.5, 0.3, 0.2), (0.001, 0.999)])
@pytest.mark.parametrize("over", ["occurrences", "requests", "seeds"])
def test_weights_are_the_probabilities(weights: tuple[float, ...], over: str) -> None:
    script = always([Weighted(weight=weight, reply=Reply.text(str(i))) for i, weight in enumerate(weights)])
    seed, n = secrets.randbits(32), 2000
    print("seed", seed)

    def reply(i: int) -> int:
        request = ask(f"question {i}" if over == "requests" else "question")
        return script.answer(
            request, seed=seed + i if over == "seeds" else seed, occurrence=i if over == "occurrences" else 0
        ).reply

    drawn = [reply(i) for i in range(n)]
    for index, weight in enumerate(weights):
        low, high = binomial_range(n, weight, miss=1e-9)
        assert low <= drawn.count(index) <= high


def test_draws_of_successive_occurrences_are_independent() -> None:
    """Pairs are as often equal as independence says; a drifting generator would fail here, not above."""
    script = always([Weighted(weight=0.5, reply=Reply.text("a")), Weighted(weight=0.5, reply=Reply.text("b"))])
    seed, n = secrets.randbits(32), 2000
    print("seed", seed)
    drawn = [script.answer(ask("x"), seed=seed, occurrence=i).reply for i in range(n + 1)]
    low, high = binomial_range(n, 0.5, miss=1e-9)
    assert low <= sum(a == b for a, b in pairwise(drawn)) <= high


def test_answer_is_a_function_of_seed_request_and_occurrence() -> None:
    script = always(Reply.tools([("f", {"a": 1}), ("f", {"a": 1})]))
    first = script.answer(ask("x"), seed=1, occurrence=0)
    assert first == script.answer(ask("x"), seed=1, occurrence=0)
    ids: set[str] = set()
    for seed, text, occurrence in [(1, "x", 0), (2, "x", 0), (1, "y", 0), (1, "x", 1)]:
        answer = body(script, ask(text), seed=seed, occurrence=occurrence)
        ids |= {answer["id"], *(call["id"] for call in answer["choices"][0]["message"]["tool_calls"])}
    assert len(ids) == 4 * 3


def test_digest_takes_any_order_of_keys_and_any_json() -> None:
    one = ChatRequest(body={"model": "m", "messages": [{"role": "user", "content": "x"}]})
    two = ChatRequest(body={"messages": [{"content": "x", "role": "user"}], "model": "m"})
    assert one.digest == two.digest != ask("y").digest
    odd = [
        ask("x", v=value).digest for value in (float("nan"), float("inf"), 2**64, 2**64 + 1, "\ud800", None, 1, True)
    ]
    assert len(set(odd)) == len(odd)


def test_views() -> None:
    request = ChatRequest(
        body={
            "model": "m",
            "messages": [
                {"role": "system", "content": "You are the planner."},
                {"role": "user", "name": "user", "content": [{"type": "text", "text": "Use the"}, {"type": "image"}]},
                {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{"}}],
                },
                {"role": "tool", "tool_call_id": "c1", "content": "CURRENT\n  figure"},
            ],
            "tools": [{"type": "function", "function": {"name": "f"}}, {"type": "other"}],
        }
    )
    assert request.model == "m"
    assert request.system == "You are the planner."
    assert request.last.text == "CURRENT\n  figure"
    assert request.last.tool_call_id == "c1"
    assert request.messages[1].name == "user"
    assert [(call.id, call.name, call.arguments) for call in request.messages[2].tool_calls] == [("c1", "f", "{")]
    assert request.tool_names == ("f",)
    assert request.contains("use  the current Figure")
    assert not request.contains("superseded")


def test_views_never_raise_on_odd_bodies() -> None:
    for messages in (None, 3, [3], [{"content": {"a": 1}, "tool_calls": [{"function": 1}, 2], "role": None}]):
        request = ChatRequest(body={"messages": messages, "tools": [1, {"function": []}], "model": 5})
        assert (request.text, request.system, request.model, request.tool_names) == ("", "", "", ())
        assert request.last.text == ""
        assert request.last.tool_calls == ()


def test_first_rule_wins() -> None:
    script = Script(
        rules=[
            Rule(name="hello", when=lambda request: request.contains("hello"), replies=Reply.text("1")),
            Rule(name="rest", when=lambda _: True, replies=Reply.text(lambda request: request.last.text.upper())),
        ]
    )
    assert script.answer(ask("oh, Hello"), seed=0).rule == "hello"
    assert script.rule(ask("bye")).name == "rest"
    assert body(script, ask("bye"))["choices"][0]["message"]["content"] == "BYE"


def test_tool_arguments_may_be_malformed_and_calls_may_come_from_the_request() -> None:
    calls = body(always(Reply.tools([("f", '{"a": ')], content="so")), ask("x"))["choices"][0]
    assert calls["finish_reason"] == "tool_calls"
    assert calls["message"]["content"] == "so"
    assert calls["message"]["tool_calls"][0]["function"] == {"name": "f", "arguments": '{"a": '}
    made = body(always(Reply.tools(lambda request: [(request.last.text, {})])), ask("g"))["choices"][0]["message"]
    assert made["content"] is None
    assert made["tool_calls"][0]["function"]["name"] == "g"


def test_lone_surrogates_can_be_answered() -> None:
    assert body(always(Reply.text("\ud800")), ask("x"))["choices"][0]["message"]["content"] == "\ud800"


@pytest.mark.parametrize("weights", [(0.5, 0.25), (0.75, 0.3), (), (1.5, -0.5), (float("nan"), 1.0), (0.0, 1.0)])
def test_weights_that_are_no_distribution_are_refused(weights: tuple[float, ...]) -> None:
    with pytest.raises(ScriptError, match="'pick'") as caught:
        Rule(name="pick", when=bool, replies=[Weighted(weight=weight, reply=Reply.text("")) for weight in weights])
    assert caught.value.next_step


def test_weights_count_as_they_are_written() -> None:
    assert sum(Weighted(weight=0.1, reply=Reply.text("")).probability for _ in range(10)) == 1
    assert Weighted(weight=Fraction(1, 3), reply=Reply.text("")).probability == Fraction(1, 3)
    thirds = [Weighted(weight=1 / 3, reply=Reply.text(str(i))) for i in range(3)]
    assert len(Rule(name="thirds", when=bool, replies=thirds).choices) == 3


def test_names_of_rules_are_their_own() -> None:
    rule = Rule(name="same", when=bool, replies=Reply.text(""))
    with pytest.raises(ScriptError, match="'same'"):
        Script(rules=[rule, rule])


def test_no_rule_says_which_request_had_none() -> None:
    script = Script(rules=[Rule(name="only", when=lambda _: False, replies=Reply.text(""))])
    with pytest.raises(NoRuleError, match="what is the depth") as caught:
        script.answer(ask("what is the depth?"), seed=0)
    assert "'only'" in caught.value.expected


def test_a_failing_function_is_the_rules_fault() -> None:
    broken = Script(rules=[Rule(name="broken", when=lambda request: request.missing, replies=Reply.text(""))])
    with pytest.raises(RuleFailedError, match=r"'broken'[\s\S]*condition"):
        broken.answer(ask("x"), seed=0)
    with pytest.raises(RuleFailedError, match="ZeroDivisionError"):
        always(Reply.text(lambda _: str(1 / 0))).answer(ask("x"), seed=0)


SOURCE = """
from dataclasses import dataclass
from anchored.testing import Reply, Rule, Script

@dataclass(frozen=True)
class Table:
    figure: int

script = Script(rules=[Rule(name="figure", when=lambda _: True, replies=Reply.text(str(Table(3).figure)))])
other = Script(rules=[])
number = 3
"""


def test_load_script(tmp_path: Path) -> None:
    path = tmp_path / "script.py"
    path.write_text(SOURCE)
    assert load_script(path).answer(ask("x"), seed=0).rule == "figure"
    assert load_script(f"{path}:other").rules == ()


@pytest.mark.parametrize(
    ("name", "source", "message"),
    [
        ("no/such.py", None, "no file"),
        ("script.py:nothing", SOURCE, "no such name"),
        ("script.py:number", SOURCE, "a int"),
        ("script.py", "1 / 0", "ZeroDivisionError"),
        ("script.py", "def", "SyntaxError"),
        ("script.txt", SOURCE, "script.txt"),
    ],
)
def test_scripts_that_cannot_be_loaded(tmp_path: Path, name: str, source: str | None, message: str) -> None:
    if source is not None:
        (tmp_path / name.partition(":")[0]).write_text(source)
    with pytest.raises(ScriptError, match=message):
        load_script(tmp_path / name)
