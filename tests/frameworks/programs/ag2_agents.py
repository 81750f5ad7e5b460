"""AG2 1.x in its ways to run: `python ag2_agents.py MODE`, or several with a + between.

Talks to the endpoint at ANCHORED_TEST_URL, which runs ag2_script.py. Each run of a tool's own code is a line in the
file TOOL_LOG, if that is set. The last line of standard output is the result, as JSON. With ANCHORED_TEST_CHANGE set to
"prompt" the task is another.
"""

import asyncio
import json
import os
import random
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from ag2 import Agent, Context, MemoryStream, TaskConfig, ToolResult, tool
from ag2.config import OpenAIConfig, OpenAIResponsesConfig
from ag2.events import HumanInputRequest, HumanMessage, ModelMessageChunk, ToolCallEvent
from ag2.knowledge import MemoryKnowledgeStore
from ag2.middleware import BaseMiddleware, Middleware, approval_required
from ag2.network import Handoff, Hub, HubClient, LocalLink, TransitionGraph
from ag2.network.transitions import AgentTarget, FromSpeaker, TerminateTarget, Transition

import anchored

CITY = "Bergen" if os.environ.get("ANCHORED_TEST_CHANGE") == "prompt" else "Oslo"
PATIENCE = float(os.environ.get("HUB_PATIENCE", "8"))
"""Seconds for which a conversation may stand still."""


def config(*, streaming: bool = False, retries: int = 8) -> OpenAIConfig:
    return OpenAIConfig(
        model="scripted-1",
        base_url=os.environ["ANCHORED_TEST_URL"],
        api_key="none",
        streaming=streaming,
        max_retries=retries,
    )


def agent(name: str, *tools: Any, streaming: bool = False, **options: Any) -> Agent:
    return Agent(name, f"You are the {name}.", config=config(streaming=streaming), tools=tools, **options)


def ran(name: str) -> None:
    if log := os.environ.get("TOOL_LOG"):
        with open(log, "a", encoding="utf-8") as file:
            file.write(name + "\n")


@tool
def look_up(place: str) -> str:
    """Looks a place up."""
    ran("look_up")
    return f"{place} has {len(place) * 100000} people, seen by {os.getpid()} at {time.time_ns()}"


@tool
async def slow(number: int) -> str:
    """Takes its time."""
    ran("slow")
    await asyncio.sleep(random.uniform(0, 0.1))
    return f"slow {number} done, {random.randrange(10**9)}"


@tool
def threaded(number: int) -> str:
    """Takes its time in a thread."""
    ran("threaded")
    time.sleep(random.uniform(0, 0.1))
    return f"threaded {number} done, {random.randrange(10**9)}"


@tool
def broken(place: str) -> str:
    """Fails."""
    ran("broken")
    raise LookupError(f"{place} is not on the map of {time.time_ns()}")


@dataclass
class Thing:
    """Something that a tool gives as it is."""

    name: str
    sizes: dict[str, float]


@tool
def things() -> Any:
    """Gives several things."""
    ran("things")
    return ToolResult("one", Thing("lamp", {"height": 1.5}), {"at": time.time_ns()}, metadata={"seen": True})


@tool
def ends(place: str) -> ToolResult:
    """Gives the last word."""
    ran("ends")
    return ToolResult(f"{place} it is, says {time.time_ns()}", final=True)


@tool
@anchored.tool(effect="none")
async def declared(number: int) -> str:
    """Is declared."""
    ran("declared")
    return f"declared {number}, {random.randrange(10**9)}"


@tool
async def ask_someone(what: str, context: Context) -> str:
    """Asks a person."""
    ran("ask_someone")
    return f"{await context.input(what, timeout=20)}, they said, at {time.time_ns()}"


@tool
def to_writer(reason: str) -> Handoff:
    """Hands over to the writer."""
    ran("to_writer")
    return Handoff(target="writer", reason=reason)


async def single() -> object:
    reply = await agent("researcher", look_up).ask(f"Look at {CITY}.")
    again = await reply.ask("And what else?")
    return [reply.body, again.body]


async def parallel() -> object:
    reply = await agent("worker", slow, threaded).ask(f"Do the four things for {CITY}.")
    order = [str(event) for event in await reply.history.get_events() if "done, " in repr(event)]
    return [reply.body, order]


async def streamed() -> object:
    chunks: list[str] = []
    stream = MemoryStream()
    stream.where(ModelMessageChunk).subscribe(lambda event: chunks.append(event.content))
    reply = await agent("researcher", look_up, streaming=True).ask(f"Look at {CITY}.", stream=stream)
    return [reply.body, "".join(chunks)]


async def responses() -> object:
    model = OpenAIResponsesConfig(model="scripted-1", base_url=os.environ["ANCHORED_TEST_URL"], api_key="none")
    reply = await Agent("researcher", "You are the researcher.", config=model, tools=[look_up]).ask(f"Look at {CITY}.")
    return reply.body


async def limited() -> object:
    limited = agent("limited")
    return [(await limited.ask(f"{CITY} {number}")).body for number in range(3)]


async def failing() -> object:
    try:
        await Agent("failing", "You are the failing.", config=config(retries=1)).ask(f"Look at {CITY}.")
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "no failure"


async def tool_error() -> object:
    return (await agent("breaker", broken).ask(f"Break {CITY}.")).body


async def values() -> object:
    reply = await agent("collector", things).ask(f"Collect {CITY}.")
    parts = [repr(event.result.parts) for event in await reply.history.get_events() if hasattr(event, "parent_id")]
    return [reply.body, parts]


async def final_tool() -> object:
    return (await agent("ender", ends).ask(f"End {CITY}.")).body


async def identical() -> object:
    agents = [agent("twin", slow) for _ in range(4)]
    replies = await asyncio.gather(*(one.ask(f"Do it for {CITY}.") for one in agents))
    return [reply.body for reply in replies]


async def nested() -> object:
    helper = agent("helper", look_up)
    return (await agent("main", helper.as_tool(description="Helps."), slow).ask(f"Have {CITY} looked at.")).body


async def subtasks() -> object:
    return (await agent("divider", slow, tasks=TaskConfig(prompt=["You are the twin."])).ask(f"Divide {CITY}.")).body


class Editor(BaseMiddleware):
    """Changes what the model wrote, and what the tool gave."""

    async def on_tool_execution(self, call_next: Any, event: ToolCallEvent, context: Context) -> Any:
        event.serialized_arguments = {"place": event.serialized_arguments["place"].upper()}
        return await call_next(event, context)


async def middleware() -> object:
    return (await agent("researcher", look_up, middleware=[Middleware(Editor)]).ask(f"Look at {CITY}.")).body


async def human() -> object:
    def answer(request: HumanInputRequest) -> str:
        ran("person")
        return f"{request.content} In the north, at {time.time_ns()}"

    async def answer_later(request: HumanInputRequest, context: Context) -> HumanMessage:
        return HumanMessage(answer(request))

    asked = await agent("asker", ask_someone, hitl_hook=answer).ask(f"Ask about {CITY}.")
    again = await agent("asker", ask_someone, hitl_hook=answer_later).ask(f"Ask again about {CITY}.")
    approved = approval_required("Look? (y/n)")
    carefully = look_up.with_middleware(approved)
    looked = await agent("researcher", carefully, hitl_hook=lambda request: "y").ask(f"Look at {CITY}.")
    return [asked.body, again.body, looked.body]


async def _channel(kind: str, names: list[str], tools: dict[str, list[Any]], **options: Any) -> object:
    hub = await Hub.open(MemoryKnowledgeStore(), ttl_sweep_interval=0, expectation_sweep_interval=0)
    client = HubClient(LocalLink(hub), hub=hub)
    starter = await client.register(agent("starter"), attach_plugin=False)
    members = [await client.register(agent(name, *tools.get(name, [])), attach_plugin=False) for name in names]
    if graph := options.pop("graph", None):
        ids = {member.passport.name: member.agent_id for member in [starter, *members]}
        options["knobs"] = {"graph": graph(ids).to_dict()}
    channel = await starter.open(type=kind, target=names, **options)
    await channel.send(f"Speak of {CITY}.")
    said: list[str] = []
    for _ in range(int(PATIENCE / 0.05)):
        wal = await client.read_wal(channel.channel_id)
        said = [
            str(envelope.event_data.get("text", envelope.event_data.get("body")))
            for envelope in wal
            if _speaks(envelope)
        ]
        last = next((place for place, text in enumerate(said) if "TERMINATE" in text), None)
        if last is not None:
            said = said[: last + 1]  # what has come since depends on when we looked
            await asyncio.sleep(0.5)  # the next turn begins, and is given up
            break
        await asyncio.sleep(0.05)
    await client.close()
    await hub.close()
    return said


def _speaks(envelope: Any) -> bool:
    return envelope.event_type in ("ag2.msg.text", "ag2.packet")


async def hub() -> object:
    return await _channel("conversation", ["talker"], {"talker": [look_up]})


async def discussion() -> object:
    return await _channel("discussion", ["researcher", "writer"], {"researcher": [look_up]})


async def workflow() -> object:
    def graph(ids: dict[str, str]) -> TransitionGraph:
        return TransitionGraph(
            initial_speaker=ids["starter"],
            transitions=[
                Transition(when=FromSpeaker(ids["starter"]), then=AgentTarget(ids["planner"])),
                Transition(when=FromSpeaker(ids["researcher"]), then=AgentTarget(ids["writer"])),
            ],
            default_target=TerminateTarget(reason="done"),
            max_turns=8,
        )

    return await _channel("workflow", ["planner", "researcher", "writer"], {"planner": [to_writer]}, graph=graph)


MODES: dict[str, Callable[[], Awaitable[object]]] = {
    "single": single,
    "parallel": parallel,
    "stream": streamed,
    "responses": responses,
    "429": limited,
    "500": failing,
    "tool-error": tool_error,
    "values": values,
    "final-tool": final_tool,
    "identical": identical,
    "nested": nested,
    "subtasks": subtasks,
    "middleware": middleware,
    "human": human,
    "hub": hub,
    "discussion": discussion,
    "workflow": workflow,
}


async def main(modes: list[str]) -> list[object]:
    return [await MODES[mode]() for mode in modes]


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(sys.argv[1].split("+"))), ensure_ascii=False))
