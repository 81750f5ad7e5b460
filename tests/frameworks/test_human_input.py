"""The door for human input, driven by a program of no framework."""

import sys
from collections.abc import Iterator

import pytest

from anchored.testing import running_endpoint

from .conftest import COMMAND, Stand

SCRIPT = """
from anchored.testing import Reply, Rule, Script
echo = Reply.text(lambda request: "about " + request.last.text)
script = Script(rules=[Rule(name="all", when=lambda request: True, replies=echo)])
"""

PROGRAM = """
import os
import httpx
from anchored.boundary import HumanInput, current_gate


def ask(text):
    body = {"model": "scripted-1", "messages": [{"role": "user", "content": text}]}
    answer = httpx.post(os.environ["OPENAI_BASE_URL"] + "/chat/completions", json=body)
    return answer.json()["choices"][0]["message"]["content"]


def person(question):
    gate = current_gate()
    return input() if gate is None else HumanInput(gate, name="person", prompt=question).read_line(input)


print(ask(person("which lamp?")))
print(ask(person("which chair?")))
try:
    person("which table?")
except EOFError:
    print("nobody")
"""


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stand]:
    """The program, recorded with two answers."""
    folder = tmp_path_factory.mktemp("human")
    (folder / "script.py").write_text(SCRIPT)
    (folder / "asks.py").write_text(PROGRAM)
    (folder / "answers").write_text("the blue lamp\nthe tall chair\n")
    with running_endpoint(folder / "script.py", log=folder / "endpoint.jsonl") as endpoint:
        stand = Stand(folder=folder, endpoint=endpoint)
        done = stand.run(
            "sh",
            "-c",
            f"{COMMAND} record --name asks -- {sys.executable} asks.py < answers",
        )
        assert done.status == 0, done.err
        assert done.out.splitlines() == ["about the blue lamp", "about the tall chair", "nobody"]
        yield stand


def test_a_persons_answers_are_events_and_are_handed_out_without_a_terminal(asked: Stand) -> None:
    """Issue 4: human input is recorded as such, and a replay asks nobody; that nobody answered is handed out too."""
    events = asked.show("asks")["events"]
    assert [(event["kind"], event["name"]) for event in events] == [
        ("human_input", "person"),
        ("chat", "scripted-1"),
        ("human_input", "person"),
        ("chat", "scripted-1"),
        ("human_input", "person"),
    ]
    assert [event["outcome"] for event in events] == ["success", "success", "success", "success", "failure"]
    edges = asked.anchored("show", "asks", "--event", "2", "--json").json["edges"]
    assert edges == [{"from": 1, "kind": "message", "recorded": True}]
    calls = asked.calls()
    done = asked.anchored("replay", "asks", "--show-output")
    assert done.status == 0, done.err
    assert done.out.splitlines() == ["about the blue lamp", "about the tall chair", "nobody"]
    assert asked.calls() == calls


@pytest.mark.parametrize("anchor", [2, 4])
def test_who_goes_on_live_reads_on_where_the_recorded_person_stopped(asked: Stand, anchor: int) -> None:
    """The input that was handed out is not read again after the anchor."""
    done = asked.anchored("replay", "asks", "--at", str(anchor), "--show-output")
    assert done.status == 0, done.err
    assert done.out.splitlines() == ["about the blue lamp", "about the tall chair", "nobody"]


def test_another_answer_can_be_put_in_a_persons_place(asked: Stand) -> None:
    """An intervention on what a person said: the person is not asked, and the line is not read."""
    (asked.folder / "said.txt").write_text("the red stool\n")
    done = asked.anchored("replay", "asks", "--at", "4", "--set-result", "said.txt", "--show-output")
    assert done.status == 0, done.err
    assert done.out.splitlines() == ["about the blue lamp", "about the red stool", "nobody"]


def test_another_question_diverges(asked: Stand) -> None:
    """What is asked of a person is part of the request."""
    (asked.folder / "other.py").write_text(PROGRAM.replace("which chair?", "which bench?"))
    calls = asked.calls()
    done = asked.anchored("replay", "asks", "--", sys.executable, "other.py")
    assert done.status == 3, done.err
    assert asked.calls() == calls
