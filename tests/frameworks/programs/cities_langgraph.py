"""LangGraph with langchain-openai in named modes: `python cities_langgraph.py MODE`.

`responses_MODE` asks the responses API, `async_MODE` runs in an event loop. The endpoint is ANCHORED_TEST_URL, tools
append a line to TOOL_LOG, the last line of output is the result.
"""

import asyncio
import operator
import os
import random
import sys
import time
import warnings
from typing import Annotated, TypedDict

os.environ["LANGSMITH_TRACING"] = "false"
warnings.simplefilter("ignore")

from langchain_core.caches import InMemoryCache
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.globals import set_llm_cache
from langchain_core.messages import ToolMessage
from langchain_core.tools import InjectedToolCallId, tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, create_react_agent, tools_condition
from langgraph.types import Command, Send, interrupt
from pydantic import BaseModel

import anchored

MODE = sys.argv[1]
CHANGE = " Be brief." if os.environ.get("ANCHORED_TEST_CHANGE") == "prompt" else ""
ASYNC = "async_" in MODE
model = ChatOpenAI(
    model="scripted-1",
    base_url=os.environ["ANCHORED_TEST_URL"],
    api_key="none",
    max_retries=12,
    use_responses_api="responses_" in MODE,
)
finished = []


def log(line):
    with open(os.environ["TOOL_LOG"], "a", encoding="utf-8") as file:
        file.write(line + "\n")


class Report(BaseModel):
    city: str
    degrees: int


class Order(BaseCallbackHandler):
    """Which tools began and ended, as callbacks hear it; the ends in their order."""

    def __init__(self):
        self.begun = []

    def on_tool_start(self, serialized, input_str, **more):
        self.begun.append(f"{serialized['name']} {input_str}")

    def on_tool_end(self, output, **more):
        finished.append(str(getattr(output, "content", output)))

    def on_tool_error(self, error, **more):
        finished.append(repr(error))


@tool
@anchored.tool(effect="read")
def weather(city: str) -> str:
    """How is the weather?"""
    log("weather")
    time.sleep(random.random() * 0.05)
    return f"{city} has {random.randrange(10**6)} degrees"


@tool("weather")
@anchored.tool(effect="read")
async def weather_async(city: str) -> str:
    """How is the weather?"""
    log("weather")
    await asyncio.sleep(random.random() * 0.05)
    return f"{city} has {random.randrange(10**6)} degrees"


@tool
@anchored.tool(effect="none")
def broken(text: str) -> str:
    """Breaks."""
    log("broken")
    raise ValueError(f"{text} broke into {random.randrange(10**6)} pieces")


@tool
@anchored.tool(effect="read")
def forecast(city: str, tool_call_id: Annotated[str, InjectedToolCallId]) -> Command:
    """Hands an object to the graph."""
    log("forecast")
    text = f"Rain in {city} at {random.randrange(10**6)}"
    return Command(update={"messages": [ToolMessage(text, tool_call_id=tool_call_id, artifact={"at": (1, 2)})]})


@tool("broken")
@anchored.tool(effect="read")
def asks_back(text: str) -> str:
    """Stops the graph for a human."""
    log("asks back")
    return f"the human said {interrupt('May I?')} at {random.randrange(10**6)}"


def agent(tools=None, *, handle=True, name=None, **more):
    tools = [weather_async if ASYNC else weather] if tools is None else tools
    node = ToolNode(tools, handle_tool_errors=handle)
    return create_react_agent(model, node, prompt="You report the weather." + CHANGE, name=name, **more)


order = Order()


async def run(graph, question, **config):
    given = {"messages": [("user", question)]} if isinstance(question, str) else question
    settings = {"callbacks": [order], **config}
    done = await graph.ainvoke(given, settings) if ASYNC else graph.invoke(given, settings)
    return done


def said(done):
    return " | ".join(f"{message.type}: {message.text}" for message in done["messages"])


def experts():
    expert = agent(name="expert")

    @tool
    def ask_expert(question: str) -> str:
        """Asks an expert."""
        return expert.invoke({"messages": [("user", question)]})["messages"][-1].text

    @tool("ask_expert")
    async def ask_expert_async(question: str) -> str:
        """Asks an expert."""
        return (await expert.ainvoke({"messages": [("user", question)]}))["messages"][-1].text

    return agent([ask_expert_async if ASYNC else ask_expert], name="chief")


def team():
    """A graph with a graph in a node, and a node of its own."""
    graph = StateGraph(MessagesState)
    graph.add_node("reporter", agent())
    graph.add_node("editor", lambda state: {"messages": [model.invoke("Edit this: " + state["messages"][-1].text)]})
    graph.add_edge(START, "reporter")
    graph.add_edge("reporter", "editor")
    graph.add_edge("editor", END)
    return graph.compile()


class Rolls(TypedDict):
    rolls: Annotated[list[str], operator.add]


def rolling(count):
    """Identical requests at the same time, by a fan-out."""

    def roll(state):
        return {"rolls": [f"{state['number']} {model.invoke('Roll a die.' + CHANGE).text}"]}

    async def roll_async(state):
        return {"rolls": [f"{state['number']} {(await model.ainvoke('Roll a die.' + CHANGE)).text}"]}

    graph = StateGraph(Rolls)
    graph.add_node("roll", roll_async if ASYNC else roll)
    graph.add_conditional_edges(START, lambda state: [Send("roll", {"number": number}) for number in range(count)])
    return graph.compile()


def own_graph():
    graph = StateGraph(MessagesState)
    graph.add_node("thinker", lambda state: {"messages": [model.bind_tools([weather]).invoke(state["messages"])]})
    graph.add_node("tools", ToolNode([weather]))
    graph.add_edge(START, "thinker")
    graph.add_conditional_edges("thinker", tools_condition)
    graph.add_edge("tools", "thinker")
    return graph.compile()


async def streamed(graph, question):
    given = {"messages": [("user", question)]}
    if ASYNC:
        events = [event async for event in graph.astream_events(given, version="v2")]
        kinds = [event["event"] for event in events]
        tools = [event["name"] for event in events if event["event"] == "on_tool_end"]
        return f"{kinds.count('on_chat_model_stream')} {tools} {said(events[-1]['data']['output'])}"
    parts = []
    for message, about in graph.stream(given, stream_mode="messages"):
        parts.append(f"{about['langgraph_node']}:{message.text}")
    return "".join(parts)


async def main(mode):
    match mode:
        case "single":
            return said(await run(agent(), "How is the weather in Oslo?"))
        case "own":
            return said(await run(own_graph(), "How is the weather in Oslo?"))
        case "parallel":
            return said(await run(agent(), "How is the weather in Oslo, Rome, Lima and Cairo?"))
        case "nested":
            return said(await run(experts(), "Ask one expert."))
        case "nested_parallel":
            return said(await run(experts(), "Ask both experts."))
        case "subgraph":
            return said(await run(team(), "How is the weather in Rome?"))
        case "stream":
            return await streamed(agent(), "How is the weather in Rome and Lima?")
        case "error":
            return said(await run(agent(), "This is flaky."))
        case "tool_error":
            return said(await run(agent([broken]), "Use the broken tool."))
        case "tool_raises":
            try:
                return said(await run(agent([broken], handle=False), "Use the broken tool."))
            except ValueError as error:
                return repr(error)
        case "object":
            done = await run(agent([forecast]), "What is the forecast?")
            return f"{said(done)} {done['messages'][-2].artifact}"
        case "interrupt":
            graph = agent([asks_back], checkpointer=InMemorySaver())
            thread = {"configurable": {"thread_id": "one"}}
            stopped = await run(graph, "Use the broken tool.", **thread)
            return f"{stopped['__interrupt__'][0].value} {said(await run(graph, Command(resume='yes'), **thread))}"
        case "structured":
            asked = model.with_structured_output(Report)
            return str(await asked.ainvoke("A report." + CHANGE) if ASYNC else asked.invoke("A report." + CHANGE))
        case "gather":
            return str(sorted((await run(rolling(5), {"rolls": []}))["rolls"]))
        case "cache":
            set_llm_cache(InMemoryCache())
            return " / ".join([model.invoke("Roll a die." + CHANGE).text for _ in range(4)])


result = asyncio.run(main(MODE.removeprefix("responses_").removeprefix("async_")))
print(result, finished, sorted(order.begun))
