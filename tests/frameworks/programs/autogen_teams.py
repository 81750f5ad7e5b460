"""AutoGen AgentChat in its ways to run: `python autogen_teams.py MODE`.

Talks to the endpoint at ANCHORED_TEST_URL, which runs autogen_script.py. Each run of a tool's own code is a line in the
file TOOL_LOG, if that is set. The last line of standard output is the result, as JSON.
"""

import asyncio
import json
import os
import random
import sys
import time
import warnings
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from typing import Any

from autogen_agentchat.agents import AssistantAgent, BaseChatAgent, SocietyOfMindAgent, UserProxyAgent
from autogen_agentchat.base import Response, TaskResult
from autogen_agentchat.conditions import ExternalTermination, MaxMessageTermination, TextMentionTermination
from autogen_agentchat.messages import BaseChatMessage, TextMessage
from autogen_agentchat.teams import (
    DiGraphBuilder,
    GraphFlow,
    MagenticOneGroupChat,
    RoundRobinGroupChat,
    SelectorGroupChat,
    Swarm,
)
from autogen_agentchat.tools import AgentTool, TeamTool
from autogen_core import CancellationToken
from autogen_core.models import UserMessage
from autogen_core.tools import BaseStreamTool, TextResultContent, ToolResult, ToolSchema, Workbench
from autogen_ext.models.openai import OpenAIChatCompletionClient
from pydantic import BaseModel

warnings.filterwarnings("ignore")
CITY = os.environ.get("CITY", "Bergen" if os.environ.get("ANCHORED_TEST_CHANGE") == "prompt" else "Oslo")
"""Stands in every task; another one makes another run."""


def client(*, structured: bool = False, retries: int = 3, timeout: float = 30.0) -> OpenAIChatCompletionClient:
    return OpenAIChatCompletionClient(
        model="scripted-1",
        base_url=os.environ["ANCHORED_TEST_URL"],
        api_key="none",
        max_retries=retries,
        timeout=timeout,
        model_info={
            "vision": False,
            "function_calling": True,
            "json_output": True,
            "family": "gpt-4o",
            "structured_output": structured,
        },
    )


def agent(name: str, model: OpenAIChatCompletionClient, **options: Any) -> AssistantAgent:
    system = f"You are the {name}."
    return AssistantAgent(name, model, description=f"The {name} of the team.", system_message=system, **options)


def ran(tool: str) -> None:
    if log := os.environ.get("TOOL_LOG"):
        with open(log, "a", encoding="utf-8") as file:
            file.write(tool + "\n")


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
    """Takes its time in a thread."""
    ran("threaded")
    time.sleep(random.uniform(0, 0.1))
    return f"threaded {number} done, {random.randrange(10**9)}"


def broken(place: str) -> str:
    """Fails."""
    ran("broken")
    raise ValueError(f"no such place: {place}, attempt {random.randrange(10**9)}")


async def endless(place: str) -> str:
    """Never ends."""
    ran("endless")
    await asyncio.sleep(3600)
    return place


def said(result: TaskResult) -> object:
    return {"said": [[m.source, m.to_text()] for m in result.messages], "stop": result.stop_reason}


async def round_robin() -> object:
    model = client()
    team = RoundRobinGroupChat(
        [agent("planner", model), agent("writer", model)], termination_condition=MaxMessageTermination(5)
    )
    return said(await team.run(task=f"Write about {CITY}."))


async def selector() -> object:
    model = client()
    researcher = agent("researcher", model, tools=[look_up], max_tool_iterations=2)
    team = SelectorGroupChat(
        [researcher, agent("writer", model)],
        model_client=client(),
        termination_condition=TextMentionTermination("THE END"),
    )
    return said(await team.run(task=f"Find out about {CITY}."))


async def magentic(*, structured: bool = False) -> object:
    model = client(structured=structured)
    team = MagenticOneGroupChat(
        [agent("researcher", model, tools=[look_up], reflect_on_tool_use=True), agent("writer", model)],
        model_client=model,
        max_stalls=1,
    )
    return said(await team.run(task=f"Find out about {CITY}."))


async def graph(*, shared: bool) -> object:
    one = client()
    names = ("splitter", "left", "right", "joiner")
    splitter, left, right, joiner = (agent(name, one if shared else client()) for name in names)
    builder = DiGraphBuilder()
    for node in (splitter, left, right, joiner):
        builder.add_node(node)
    builder.add_edge(splitter, left).add_edge(splitter, right).add_edge(left, joiner).add_edge(right, joiner)
    team = GraphFlow([splitter, left, right, joiner], graph=builder.build())
    return said(await team.run(task=f"Write about {CITY}."))


async def agent_tool() -> object:
    helper = agent("helper", client(), tools=[look_up], reflect_on_tool_use=True)
    main = agent("main", client(), tools=[AgentTool(helper, return_value_as_last_message=True)], max_tool_iterations=3)
    return said(await main.run(task=f"Ask the helper about {CITY}."))


async def team_tool() -> object:
    model = client()
    inner = RoundRobinGroupChat([agent("planner", model), agent("writer", model)], max_turns=2)
    tool = TeamTool(inner, "helper", "Asks a team.")
    main = agent("main", client(), tools=[tool], reflect_on_tool_use=True)
    heard = [item async for item in main.run_stream(task=f"Ask the helper about {CITY}.")]
    assert isinstance(heard[-1], TaskResult)
    return said(heard[-1])


async def parallel_tools() -> object:
    return said(
        await agent("worker", client(), tools=[slow, threaded], reflect_on_tool_use=True).run(
            task=f"Four times {CITY}."
        )
    )


async def streamed() -> object:
    model = client()
    researcher = agent("researcher", model, tools=[look_up], reflect_on_tool_use=True, model_client_stream=True)
    team = RoundRobinGroupChat([researcher, agent("writer", model, model_client_stream=True)], max_turns=2)
    heard = [item async for item in team.run_stream(task=f"Find out about {CITY}.")]
    assert isinstance(heard[-1], TaskResult)
    return {"items": [type(item).__name__ for item in heard], "result": said(heard[-1])}


async def tool_error() -> object:
    worker = agent("breaker", client(), tools=[broken], reflect_on_tool_use=True)
    return said(await worker.run(task=f"Break {CITY}."))


async def cancelled(waits: str) -> object:
    """A model call that never answers is cancelled, then the program goes on."""
    token = CancellationToken()
    asyncio.get_running_loop().call_later(0.5, token.cancel)
    try:
        await agent("sleeper", client()).run(task=f"{waits} {CITY}.", cancellation_token=token)
    except asyncio.CancelledError:
        return said(await agent("planner", client()).run(task=f"Write about {CITY}."))
    raise AssertionError("nothing was cancelled")


async def cancelled_tool() -> object:
    """A tool that never ends is cancelled by the token alone."""
    token = CancellationToken()
    asyncio.get_running_loop().call_later(0.5, token.cancel)
    bench = agent("sleeper", client(), tools=[endless])._workbench[0]
    try:
        await bench.call_tool("endless", {"place": CITY}, token, "call_1")
    except asyncio.CancelledError:
        return said(await agent("planner", client()).run(task=f"Write about {CITY}."))
    raise AssertionError("nothing was cancelled")


async def direct_tool() -> object:
    """The program calls a tool itself, and goes on with what it gets, an error too."""
    bench = agent("worker", client(), tools=[look_up])._workbench[0]
    result = await bench.call_tool("look_up", {"place": CITY}, CancellationToken(), "call_1")
    return [result.is_error, said(await agent("planner", client()).run(task=f"Write about {result.to_text()}."))]


async def terminated() -> object:
    """Stopped from outside when the writer has spoken."""
    model, stop = client(), ExternalTermination()
    team = RoundRobinGroupChat(
        [agent("planner", model), agent("writer", model)], termination_condition=stop | MaxMessageTermination(12)
    )
    heard: list[Any] = []
    async for item in team.run_stream(task=f"Write about {CITY}."):
        heard.append(item)
        if getattr(item, "source", None) == "writer":
            stop.set()
    return said(heard[-1])


async def twins() -> object:
    """Two agents that nothing tells apart, with identical requests and different answers."""
    runs = [
        agent("twin", client(), tools=[slow], reflect_on_tool_use=True).run(task=f"{CITY}, draw.") for _ in range(2)
    ]
    return [said(result) for result in await asyncio.gather(*runs)]


async def twin_teams() -> object:
    """Two teams that nothing tells apart, whose speakers are chosen by a model."""
    models = [client(), client()]
    teams = [
        SelectorGroupChat(
            [agent("researcher", model, tools=[look_up], max_tool_iterations=2), agent("writer", model)],
            model_client=model,
            termination_condition=TextMentionTermination("THE END"),
        )
        for model in models
    ]
    return [
        said(result) for result in await asyncio.gather(*(team.run(task=f"Find out about {CITY}.") for team in teams))
    ]


async def limited() -> object:
    """Too many requests, until the client has asked often enough."""
    return said(await agent("limited", client(retries=30)).run(task=f"Write about {CITY}."))


async def failing() -> object:
    """A server error that nobody retries."""
    try:
        team = RoundRobinGroupChat([agent("failing", client(retries=0))], max_turns=1)
        return said(await team.run(task=f"Write about {CITY}."))
    except Exception as error:
        return {"raised": type(error).__name__, "says": str(error).partition("\n")[0]}


class Steps(BaseModel):
    number: int


class Counting(BaseStreamTool[Steps, TextMessage, Steps]):
    """Tells of each step before it has a value."""

    def __init__(self) -> None:
        super().__init__(Steps, Steps, "counting", "Counts.")

    async def run(self, args: Steps, cancellation_token: CancellationToken) -> Steps:
        return args

    async def run_stream(
        self, args: Steps, cancellation_token: CancellationToken
    ) -> AsyncGenerator[TextMessage | Steps, None]:
        ran("counting")
        for step in range(args.number):
            yield TextMessage(content=f"step {step}, {random.randrange(10**9)}", source="counting")
        yield Steps(number=random.randrange(10**9))


async def stream_tool() -> object:
    worker = agent("counter", client(), tools=[Counting()], reflect_on_tool_use=True, model_client_stream=True)
    heard = [item async for item in worker.run_stream(task=f"Count for {CITY}.")]
    return said(heard[-1])


class Bench(Workbench):
    """A workbench of the program's own, whose results have several parts."""

    async def list_tools(self) -> list[ToolSchema]:
        return [{"name": "parts", "description": "Gives parts.", "parameters": {"type": "object", "properties": {}}}]

    async def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        cancellation_token: CancellationToken | None = None,
        call_id: str | None = None,
    ) -> ToolResult:
        ran("parts")
        texts = ("one", str(random.randrange(10**9)))
        return ToolResult(name=name, result=[TextResultContent(content=text) for text in texts])

    async def start(self) -> None: ...
    async def stop(self) -> None: ...
    async def reset(self) -> None: ...
    async def save_state(self) -> Mapping[str, Any]:
        return {}

    async def load_state(self, state: Mapping[str, Any]) -> None: ...


class NamedBench(Bench):
    """Asks the class it inherits from."""

    async def call_tool(self, *args: Any, **options: Any) -> ToolResult:
        return await super().call_tool(*args, **options)


async def workbench() -> object:
    return said(await agent("parts", client(), workbench=NamedBench(), reflect_on_tool_use=True).run(task=CITY))


async def swarm() -> object:
    model = client()
    team = Swarm(
        [agent("planner", model, handoffs=["writer"]), agent("writer", model)],
        termination_condition=MaxMessageTermination(6) | TextMentionTermination("written"),
    )
    return said(await team.run(task=f"Hand over {CITY}."))


async def society() -> object:
    model = client()
    inner = RoundRobinGroupChat([agent("planner", model), agent("writer", model)], max_turns=2)
    outer = RoundRobinGroupChat([SocietyOfMindAgent("society", inner, model), agent("reviewer", model)], max_turns=2)
    return said(await outer.run(task=f"Write about {CITY}."))


class Answer(BaseModel):
    city: str
    people: int


async def typed() -> object:
    """The answer's form is a class."""
    return said(await agent("typed", client(structured=True), output_content_type=Answer).run(task=CITY))


class Own(BaseChatAgent):
    """An agent of the program's own, which asks its model itself."""

    def __init__(self, name: str, model: OpenAIChatCompletionClient) -> None:
        super().__init__(name, "of its own")
        self._model = model

    @property
    def produced_message_types(self) -> Any:
        return (TextMessage,)

    async def on_messages(self, messages: Any, cancellation_token: CancellationToken) -> Response:
        asked = [UserMessage(content=m.to_text(), source=m.source) for m in messages if isinstance(m, BaseChatMessage)]
        answer = await self._model.create(asked, cancellation_token=cancellation_token)
        return Response(chat_message=TextMessage(content=str(answer.content), source=self.name))

    async def on_reset(self, cancellation_token: CancellationToken) -> None: ...


async def own_agent() -> object:
    answer = await Own("own", client()).on_messages([TextMessage(content=CITY, source="user")], CancellationToken())
    return [answer.chat_message.to_model_text(), said(await Own("other", client()).run(task=f"{CITY} again"))]


async def human() -> object:
    model = client()
    asked = UserProxyAgent("human", input_func=lambda prompt: f"{input(prompt)} at {time.time_ns()}")
    team = RoundRobinGroupChat([agent("planner", model), asked, agent("writer", model)], max_turns=3)
    return said(await team.run(task=f"Write about {CITY}."))


MODES: dict[str, Callable[[], Awaitable[object]]] = {
    "round_robin": round_robin,
    "selector": selector,
    "magentic": magentic,
    "magentic_structured": lambda: magentic(structured=True),
    "graph_shared": lambda: graph(shared=True),
    "graph_separate": lambda: graph(shared=False),
    "agent_tool": agent_tool,
    "team_tool": team_tool,
    "parallel_tools": parallel_tools,
    "streamed": streamed,
    "tool_error": tool_error,
    "cancelled": lambda: cancelled("Sleep about"),
    "cancelled_tool": cancelled_tool,
    "direct_tool": direct_tool,
    "terminated": terminated,
    "twins": twins,
    "twin_teams": twin_teams,
    "limited": limited,
    "failing": failing,
    "stream_tool": stream_tool,
    "workbench": workbench,
    "swarm": swarm,
    "society": society,
    "typed": typed,
    "own_agent": own_agent,
    "human": human,
}

if __name__ == "__main__":
    print(json.dumps(asyncio.run(MODES[sys.argv[1]]())))
