"""OpenAI Agents SDK in named modes: `python cities_openai_agents.py MODE`; `chat_MODE` asks chat completions.

The endpoint is ANCHORED_TEST_URL, tools append a line to TOOL_LOG, the last line of output is the result.
"""

import asyncio
import os
import random
import sys

os.environ["OPENAI_AGENTS_DISABLE_TRACING"] = "1"

from agents import (
    Agent,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    RunHooks,
    Runner,
    ToolOutputText,
    function_tool,
)
from openai import AsyncOpenAI
from pydantic import BaseModel

import anchored

MODE = sys.argv[1]
CHANGE = " Be brief." if os.environ.get("ANCHORED_TEST_CHANGE") == "prompt" else ""
client = AsyncOpenAI(base_url=os.environ["ANCHORED_TEST_URL"], api_key="none", max_retries=12)
Model = OpenAIChatCompletionsModel if MODE.startswith("chat_") else OpenAIResponsesModel
model = Model("scripted-1", client)
finished = []


def log(line):
    with open(os.environ["TOOL_LOG"], "a", encoding="utf-8") as file:
        file.write(line + "\n")


class Report(BaseModel):
    city: str
    degrees: int


class Order(RunHooks):
    """Which tools ended first."""

    async def on_tool_end(self, context, agent, tool, result):
        finished.append(f"{agent.name}:{tool.name}:{context.tool_arguments}")


@function_tool
@anchored.tool(effect="read")
async def weather(city: str) -> str:
    log("weather")
    await asyncio.sleep(random.random() * 0.05)
    return f"{city} has {random.randrange(10**6)} degrees"


@function_tool
@anchored.tool(effect="read")
def forecast(city: str) -> ToolOutputText:
    log("forecast")
    return ToolOutputText(text=f"Rain in {city} at {random.randrange(10**6)}")


@function_tool
@anchored.tool(effect="none")
def broken(text: str) -> str:
    log("broken")
    raise ValueError(f"{text} broke into {random.randrange(10**6)} pieces")


def agent(name="Reporter", instructions="You report the weather.", tools=(weather,), **more):
    return Agent(name=name, instructions=instructions + CHANGE, model=model, tools=list(tools), **more)


async def run(question, who):
    return str((await Runner.run(who, question, hooks=Order())).final_output)


async def streamed(question, who):
    result = Runner.run_streamed(who, question, hooks=Order())
    seen = [event.type async for event in result.stream_events()]
    return f"{len(seen)} events, {result.final_output}"


def experts():
    expert = agent("Expert", "You know the weather.")
    tool = expert.as_tool("ask_expert", "Asks an expert.")
    return agent("Chief", "You ask experts.", (tool,))


def handing_over():
    return agent("Front desk", "You hand over.", (), handoffs=[agent("Specialist", "You are a specialist.", ())])


async def at_once(question, who, count):
    return " / ".join(await asyncio.gather(*(run(question, who) for _ in range(count))))


async def main(mode):
    match mode:
        case "single":
            return await run("How is the weather in Oslo?", agent())
        case "parallel":
            return await run("How is the weather in Oslo, Rome, Lima and Cairo?", agent())
        case "nested":
            return await run("Ask one expert.", experts())
        case "nested_parallel":
            return await run("Ask both experts.", experts())
        case "handoff":
            return await run("Who knows the weather?", handing_over())
        case "stream":
            return await streamed("How is the weather in Rome and Lima?", agent())
        case "stream_nested":
            return await streamed("Ask one expert.", experts())
        case "stream_handoff":
            return await streamed("Who knows the weather?", handing_over())
        case "error":
            return await run("This is flaky.", agent())
        case "tool_error":
            return await run("Use the broken tool.", agent(tools=(broken,)))
        case "object":
            return await run("What is the forecast?", agent(tools=(forecast,)))
        case "structured":
            return await run("A report, please.", agent(tools=(), output_type=Report))
        case "gather":
            return await at_once("Roll a die.", agent(tools=()), 5)
        case "gather_parallel":
            return await at_once("How is the weather in Oslo and Rome?", agent(), 3)


if MODE == "sync":
    result = Runner.run_sync(agent(), "How is the weather in Oslo?").final_output
else:
    result = asyncio.run(main(MODE.removeprefix("chat_")))
print(result, finished)
