"""AG2 classic in its ways to run: `python ag2_classic_teams.py MODE`, or several with a + between.

Talks to the endpoint at ANCHORED_TEST_URL, which runs ag2_script.py. Each run of a tool's own code is a line in the
file TOOL_LOG, if that is set. The last line of standard output is the result, as JSON. With ANCHORED_TEST_CHANGE set to
"prompt" the task is another.
"""

import asyncio
import inspect
import json
import os
import random
import sys
import time
from collections.abc import Callable
from typing import Any

from autogen import ConversableAgent, GroupChat, GroupChatManager, UserProxyAgent
from autogen.agentchat import initiate_group_chat
from autogen.agentchat.group import AgentTarget, ContextVariables, ReplyResult
from autogen.agentchat.group.patterns import DefaultPattern

import anchored

CITY = "Bergen" if os.environ.get("ANCHORED_TEST_CHANGE") == "prompt" else "Oslo"


def model(**options: Any) -> dict[str, Any]:
    entry = {
        "model": "scripted-1",
        "base_url": os.environ["ANCHORED_TEST_URL"],
        "api_key": "none",
        "price": [0, 0],
        "max_retries": 8,
        **options,
    }
    return {"config_list": [entry], "temperature": None}


def agent(name: str, *tools: Callable[..., Any], **options: Any) -> ConversableAgent:
    made = ConversableAgent(name, f"You are the {name}.", llm_config=model(**options), human_input_mode="NEVER")
    for tool in tools:
        made.register_for_llm(description=tool.__doc__)(tool)
    return made


def user(*tools: Callable[..., Any], **options: Any) -> UserProxyAgent:
    options = {"human_input_mode": "NEVER", "default_auto_reply": "", **options}
    made = UserProxyAgent("user", is_termination_msg=over, code_execution_config=False, **options)
    for tool in tools:
        made.register_for_execution()(tool)
    return made


def over(message: dict[str, Any]) -> bool:
    return not message.get("tool_calls") and not message.get("tool_responses")


def ran(name: str) -> None:
    if log := os.environ.get("TOOL_LOG"):
        with open(log, "a", encoding="utf-8") as file:
            file.write(name + "\n")


def look_up(place: str) -> str:
    """Looks a place up."""
    ran("look_up")
    return f"{place} has {len(place) * 100000} people, seen by {os.getpid()} at {time.time_ns()}"


async def slow(number: int) -> str:
    """Takes its time."""
    ran("slow")
    await asyncio.sleep(random.uniform(0, 0.1))
    return f"slow {number} done, {random.randrange(10**9)}"


def threaded(number: int) -> str:
    """Takes its time."""
    ran("threaded")
    time.sleep(random.uniform(0, 0.02))
    return f"threaded {number} done, {random.randrange(10**9)}"


def broken(place: str) -> str:
    """Fails."""
    ran("broken")
    raise LookupError(f"{place} is not on the map of {time.time_ns()}")


async def broken_later(place: str) -> str:
    """Fails after a while."""
    await asyncio.sleep(0.01)
    return broken(place)


broken_later.__name__ = "broken"


async def _look_up_later(place: str) -> str:
    """Looks a place up, and is declared."""
    return look_up(place)


_look_up_later.__name__ = "look_up"
declared = anchored.tool(effect="none")(_look_up_later)


def _promised(place: str) -> Any:
    return declared(place)


_promised.__name__ = "look_up"


def promise() -> object:
    """A function that is no coroutine function, but gives something to wait for."""
    asking = user()
    asking.register_function({"look_up": _promised})
    helper = agent("researcher", look_up)
    return _said(asking.initiate_chat(helper, message=f"Look at {CITY}.", silent=True))


def chat(name: str, *tools: Callable[..., Any], task: str = "Look at", **options: Any) -> object:
    result = user(*tools).initiate_chat(agent(name, *tools, **options), message=f"{task} {CITY}.", silent=True)
    return _said(result)


async def chat_later(name: str, *tools: Callable[..., Any], task: str = "Look at", **options: Any) -> object:
    result = await user(*tools).a_initiate_chat(agent(name, *tools, **options), message=f"{task} {CITY}.", silent=True)
    return _said(result)


def _said(result: Any) -> list[str]:
    return [str(message["content"]) for message in result.chat_history] + [str(result.summary)]


def team() -> tuple[UserProxyAgent, GroupChatManager]:
    researcher, writer = agent("researcher", look_up), agent("writer")
    for one in (researcher, writer):
        one.description = f"The {one.name}."
    asking = user(look_up)
    group = GroupChat([asking, researcher, writer], messages=[], max_round=8, speaker_selection_method="auto")
    return asking, GroupChatManager(
        group, llm_config=model(), is_termination_msg=lambda m: "TERMINATE" in str(m.get("content"))
    )


def group() -> object:
    asking, manager = team()
    return _said(asking.initiate_chat(manager, message=f"Speak of {CITY}.", silent=True))


async def group_later() -> object:
    asking, manager = team()
    return _said(await asking.a_initiate_chat(manager, message=f"Speak of {CITY}.", silent=True))


async def identical() -> object:
    return await asyncio.gather(*(chat_later("twin", slow, task="Do it for") for _ in range(4)))


def in_thread() -> object:
    response = user(look_up).run(agent("researcher", look_up), message=f"Look at {CITY}.", max_turns=4)
    kinds = [type(event).__name__ for event in response.events]
    return [[str(message["content"]) for message in response.messages], response.summary, kinds]


async def in_task() -> object:
    response = await user(slow).a_run(agent("worker", slow, threaded), message=f"Look at {CITY}.", max_turns=4)
    kinds = sorted([type(event).__name__ async for event in response.events])
    return [await response.summary, kinds]


def nested() -> object:
    helper, asking = agent("helper", look_up), user(look_up)
    main = ConversableAgent("main", "You are the main.", llm_config=False, human_input_mode="NEVER")
    inner = user(look_up)
    main.register_nested_chats(
        [{"sender": inner, "recipient": helper, "summary_method": "last_msg", "max_turns": 3, "silent": True}],
        trigger=asking,
    )
    return _said(asking.initiate_chat(main, message=f"Have {CITY} looked at.", max_turns=1, silent=True))


async def nested_later() -> object:
    helper, asking = agent("helper", look_up), user(look_up)
    main = ConversableAgent("main", "You are the main.", llm_config=False, human_input_mode="NEVER")
    main.register_nested_chats(
        [
            {
                "sender": user(look_up),
                "recipient": helper,
                "summary_method": "last_msg",
                "max_turns": 3,
                "silent": True,
                "chat_id": 1,
            }
        ],
        trigger=asking,
        use_async=True,
    )
    return _said(await asking.a_initiate_chat(main, message=f"Have {CITY} looked at.", max_turns=1, silent=True))


def to_writer(reason: str, context_variables: ContextVariables) -> ReplyResult:
    """Hands over to the writer."""
    ran("to_writer")
    context_variables["reason"] = f"{reason}, at {time.time_ns()}"
    return ReplyResult(
        message=context_variables["reason"], target=AgentTarget(_agents["writer"]), context_variables=context_variables
    )


_agents: dict[str, ConversableAgent] = {}


def pattern() -> object:
    for name in ("planner", "writer"):
        functions = [to_writer] if name == "planner" else []
        _agents[name] = ConversableAgent(name, f"You are the {name}.", llm_config=model(), functions=functions)
    result, variables, last = initiate_group_chat(
        DefaultPattern(initial_agent=_agents["planner"], agents=list(_agents.values())),
        messages=f"Speak of {CITY}.",
        max_rounds=6,
    )
    return [_said(result), variables.to_dict(), last.name]


def limited() -> object:
    return [chat("limited", task=f"{number}") for number in range(3)]


class Person(UserProxyAgent):
    """Asks in a way of its own, and then in its class's."""

    def get_human_input(self, prompt: str, **options: Any) -> str:
        """Adds something to what was typed."""
        ran("person")
        return f"{super().get_human_input(prompt, **options)} {time.time_ns()}"


def human() -> object:
    asking = Person("user", human_input_mode="ALWAYS", code_execution_config=False)
    result = asking.initiate_chat(agent("helper"), message=f"Look at {CITY}.", max_turns=3, silent=True)
    return [_said(result), result.human_input, sys.stdin.readline()]


async def human_later() -> object:
    asking = user(human_input_mode="ALWAYS")
    result = await asking.a_initiate_chat(agent("helper"), message=f"Look at {CITY}.", max_turns=3, silent=True)
    return [_said(result), result.human_input, sys.stdin.readline()]


MODES: dict[str, Callable[[], Any]] = {
    "single": lambda: chat("researcher", look_up),
    "single-async": lambda: chat_later("researcher", look_up),
    "stream": lambda: chat("researcher", look_up, stream=True),
    "stream-async": lambda: chat_later("researcher", look_up, stream=True),
    "group": group,
    "group-async": group_later,
    "parallel": lambda: chat_later("worker", slow, threaded),
    "threads": lambda: chat("worker", slow, threaded),
    "identical": identical,
    "429": limited,
    "tool-error": lambda: chat("breaker", broken),
    "tool-error-async": lambda: chat_later("breaker", broken_later),
    "tool-error-thread": lambda: chat("breaker", broken_later),
    "declared": lambda: chat("researcher", declared),
    "declared-async": lambda: chat_later("researcher", declared),
    "promise": promise,
    "run": in_thread,
    "run-async": in_task,
    "nested": nested,
    "nested-async": nested_later,
    "pattern": pattern,
    "human": human,
    "human-async": human_later,
}


def main(mode: str) -> object:
    made = MODES[mode]()
    return asyncio.run(made) if inspect.iscoroutine(made) else made


if __name__ == "__main__":
    results = [main(mode) for mode in sys.argv[1].split("+")]
    print("\n" + json.dumps(results, ensure_ascii=False))
