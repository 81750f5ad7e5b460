"""The model of `crewai_crews.py`. With the seed 0 the first answer to the modes `retry` and `sdk_retry` is an error."""

import itertools
import json
import re

from anchored.testing import ChatRequest, Reply, Rule, Script, Weighted

_numbers = itertools.count()


def role(name: str):
    return lambda request: request.messages[0].text.startswith(f"You are {name}.")


def results(request: ChatRequest) -> list[str]:
    return [message.text for message in request.messages if message.role == "tool"]


def told(request: ChatRequest) -> str:
    """The task, as the user's message gives it."""
    return next(message.text for message in request.messages if message.role == "user")


def topic(request: ChatRequest) -> str:
    found = re.search(r"about ([a-z ]+)", told(request))
    return found[1].strip() if found else "nothing"


def step(which, number: int, *calls):
    """The tools that are called when so many results are there."""
    made = lambda request: calls[0](request) if callable(calls[0]) else calls  # noqa: E731
    return Rule(
        name=f"step {next(_numbers)}, after {number} results",
        when=lambda request: which(request) and len(results(request)) == number,
        replies=Reply.delayed(Reply.tools(made), seconds=(0.0, 0.03)),
    )


def about(text: str):
    return lambda request: topic(request) == text


def asks(text: str):
    return lambda request: text in told(request)


def both(*conditions):
    return lambda request: all(condition(request) for condition in conditions)


def tools_are(name: str):
    def holds(request: ChatRequest) -> bool:
        return any(
            item.get("function", {}).get("name") == name
            for item in request.body.get("tools") or []
            if isinstance(item, dict)
        )

    return holds


def delegate(coworker: str):
    given = {"task": f"Find out about lamps for the {coworker}.", "context": "All of it.", "coworker": coworker}
    return ("delegate_work_to_coworker", given)


def close(request: ChatRequest) -> str:
    held = results(request)
    return f"Final: {topic(request)}; " + "; ".join(held) if held else f"Final: {topic(request)}, by {who(request)}."


def who(request: ChatRequest) -> str:
    return request.messages[0].text.split(".")[0].removeprefix("You are ")


def in_text(request: ChatRequest) -> str:
    """Tools called in text: thrice the limited one, then the broken one, then the end."""
    seen = "\n".join(message.text for message in request.messages)
    done = seen.count("\nObservation: ")
    if done < 3:
        given = json.dumps({"query": f"text {done}"})
        return f"Thought: look\nAction: limited_archive\nAction Input: {given}"
    if done == 3:
        return 'Thought: look\nAction: broken_archive\nAction Input: {"query": "text"}'
    return f"Thought: I now know the final answer\nFinal Answer: {seen.splitlines()[-1][:80]} after {done}"


SLOW = [("slow_archive", {"query": f"item {n}", "seconds": s}) for n, s in enumerate((0.06, 0.0, 0.04, 0.02))]
WORDS = [f"{direction} {number}" for direction in ("north", "south", "east", "west") for number in range(5)]

script = Script(
    rules=[
        Rule(name="text", when=lambda request: request.model == "text-1", replies=Reply.text(in_text)),
        Rule(
            name="unlucky",
            when=role("Unlucky"),
            replies=[
                Weighted(weight=0.5, reply=Reply.status(500)),
                Weighted(weight=0.5, reply=Reply.text("Final: it worked at last, for the unlucky one.")),
            ],
        ),
        Rule(
            name="limited",
            when=role("Limited"),
            replies=[
                Weighted(weight=0.5, reply=Reply.status(429, retry_after=0.01)),
                Weighted(weight=0.5, reply=Reply.text("Final: it worked at last, for the limited one.")),
            ],
        ),
        Rule(
            name="oracle",
            when=role("Oracle"),
            replies=[
                Weighted(weight=0.05, reply=Reply.delayed(Reply.text(f"The word is {word}."), seconds=(0.0, 0.06)))
                for word in WORDS
            ],
        ),
        Rule(
            name="reporter",
            when=role("Reporter"),
            replies=Reply.text('{"title": "Lamps of the north", "score": 7}'),
        ),
        step(both(role("Crew Manager"), tools_are("delegate_work_to_coworker")), 0, delegate("Researcher")),
        step(both(role("Crew Manager"), tools_are("delegate_work_to_coworker")), 1, delegate("Writer")),
        step(role("Lead"), 0, delegate("Deputy")),
        step(role("Deputy"), 0, delegate("Researcher")),
        step(about("many"), 0, *SLOW, ("read_only_archive", {"query": "declared"})),
        step(about("errors"), 0, ("broken_archive", {"query": "one"})),
        step(about("errors"), 1, ("failing_archive", {"query": "two"})),
        *(step(about("limits"), n, ("limited_archive", {"query": f"limit {n}"})) for n in range(3)),
        *(step(about("long"), n, ("long_archive", {"query": f"long {n % 2}"})) for n in range(3)),
        step(
            about("long"),
            3,
            lambda request: [
                ("read_a_deferred_tool_result", {"file_path": name, "start_line": 7, "line_count": 1})
                for name in re.findall(r"tool-result-[\w-]+/result\.md", results(request)[0])[:1]
            ],
        ),
        *(step(about("twice"), n, ("search_archive", {"query": "the same"})) for n in range(2)),
        step(about("typed"), 0, ("typed_archive", {"query": "numbers"})),
        step(about("declared"), 0, ("read_only_archive", {"query": "numbers"})),
        step(tools_are("awaited_archive"), 0, lambda request: [("awaited_archive", {"query": topic(request)})]),
        step(tools_are("search_archive"), 0, lambda request: [("search_archive", {"query": topic(request)})]),
        Rule(name="close", when=lambda request: True, replies=Reply.delayed(Reply.text(close), seconds=(0.0, 0.03))),
    ]
)
