"""Pydantic AI in named modes: `python cities_pydantic_ai.py MODE`; `responses_MODE` asks the responses API.

The endpoint is ANCHORED_TEST_URL, tools append a line to TOOL_LOG, the last line of output is the result.
"""

import asyncio
import os
import random
import sys
from datetime import date

from openai import AsyncOpenAI
from pydantic import BaseModel
from pydantic_ai import (
    Agent,
    DeferredToolRequests,
    DeferredToolResults,
    FunctionToolResultEvent,
    ModelRetry,
    NativeOutput,
    RunContext,
    ToolReturn,
)
from pydantic_ai.exceptions import ApprovalRequired
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.toolsets import FunctionToolset

import anchored

MODE = sys.argv[1]
CHANGE = " Be brief." if os.environ.get("ANCHORED_TEST_CHANGE") == "prompt" else ""
client = AsyncOpenAI(base_url=os.environ["ANCHORED_TEST_URL"], api_key="none", max_retries=12)
Model = OpenAIResponsesModel if MODE.startswith("responses_") else OpenAIChatModel
model = Model("scripted-1", provider=OpenAIProvider(openai_client=client))
finished = []


def log(line):
    with open(os.environ["TOOL_LOG"], "a", encoding="utf-8") as file:
        file.write(line + "\n")


class Report(BaseModel):
    city: str
    degrees: int


class Forecast(BaseModel):
    city: str
    day: date
    number: int


@anchored.tool(effect="read")
async def weather(city: str) -> str:
    log("weather")
    await asyncio.sleep(random.random() * 0.05)
    return f"{city} has {random.randrange(10**6)} degrees"


@anchored.tool(effect="read")
def forecast(city: str) -> ToolReturn:
    log("forecast")
    value = Forecast(city=city, day=date(2026, 1, 2), number=random.randrange(10**6))
    return ToolReturn(return_value=value, metadata={"seen": {date(2026, 1, 1)}})


@anchored.tool(effect="none")
def broken(ctx: RunContext, text: str) -> str:
    log("broken")
    if ctx.retry == 0:
        raise ModelRetry(f"{text} broke into {random.randrange(10**6)} pieces")
    return "whole"


@anchored.tool(effect="none")
def needs_approval(ctx: RunContext, text: str) -> str:
    log("needs approval")
    if not ctx.tool_call_approved:
        raise ApprovalRequired(metadata={"number": 7})
    return f"{text} at {random.randrange(10**6)}"


def agent(name="reporter", instructions="You report the weather.", tools=(weather,), **more):
    return Agent(model, name=name, instructions=instructions + CHANGE, tools=list(tools), **more)


async def watch(ctx, events):
    async for event in events:
        if isinstance(event, FunctionToolResultEvent):
            finished.append(str(event.part.content))


async def run(who, question):
    return str((await who.run(question)).output)


async def watched(who, question):
    return str((await who.run(question, event_stream_handler=watch)).output)


def experts():
    expert = agent("expert", "You know the weather.")

    async def ask_expert(question: str) -> str:
        return (await expert.run(question)).output

    return agent("chief", "You ask experts.", (ask_expert,))


async def at_once(who, question, count):
    return " / ".join(await asyncio.gather(*(run(who, question) for _ in range(count))))


async def approved():
    toolset = FunctionToolset([])
    toolset.add_function(needs_approval, name="broken")
    who = agent(tools=(), toolsets=[toolset], output_type=[str, DeferredToolRequests])
    first = await who.run("Use the broken tool.")
    calls = first.output.approvals
    results = DeferredToolResults(approvals={call.tool_call_id: True for call in calls})
    second = await who.run(message_history=first.all_messages(), deferred_tool_results=results)
    return f"{[call.args for call in calls]} {first.output.metadata} {second.output}"


async def main(mode):
    match mode:
        case "single":
            return await run(agent(), "How is the weather in Oslo?")
        case "parallel":
            return await run(agent(), "How is the weather in Oslo, Rome, Lima and Cairo?")
        case "watched":
            return await watched(agent(), "How is the weather in Oslo, Rome, Lima and Cairo?")
        case "prefixed":
            toolset = FunctionToolset([weather]).prefixed("city").renamed({"weather": "city_weather"})
            return await run(agent(tools=(), toolsets=[toolset]), "How is the weather in Oslo?")
        case "nested":
            return await run(experts(), "Ask one expert.")
        case "nested_parallel":
            return await run(experts(), "Ask both experts.")
        case "stream":
            async with agent().run_stream("How is the weather in Rome and Lima?") as result:
                parts = [part async for part in result.stream_text(debounce_by=None)]
            return f"{len(parts)} {parts[-1]}"
        case "error":
            return await run(agent(), "This is flaky.")
        case "tool_error":
            return await run(agent(tools=(broken,), retries=3), "Use the broken tool.")
        case "object":
            done = await agent(tools=(forecast,)).run("What is the forecast?")
            return f"{done.output} {[part.metadata for part in done.all_messages()[-2].parts]}"
        case "approval":
            return await approved()
        case "structured":
            return await run(agent(tools=(), output_type=Report), "A report, please.")
        case "structured_native":
            return await run(agent(tools=(), output_type=NativeOutput(Report)), "A report, please.")
        case "gather":
            return await at_once(agent(tools=()), "Roll a die.", 5)
        case "gather_parallel":
            return await at_once(agent(), "How is the weather in Oslo and Rome?", 3)


if MODE == "sync":
    result = agent().run_sync("How is the weather in Oslo?").output
else:
    result = asyncio.run(main(MODE.removeprefix("responses_")))
print(result, finished)
