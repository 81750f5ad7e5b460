"""A short program for each framework, for overhead.py: `python turns.py FRAMEWORK ORDERS`.

A turn is a question, which the model answers by calling a tool, and the answer that it then gives: two model calls and
a tool call. ORDERS is a pipe; for each number that comes, so many turns are made, and a line is printed: `turns`,
seconds of wall clock and seconds of this process's processors, per call.
"""

import asyncio
import os
import sys
import tempfile
import time
import warnings

os.environ |= {
    "CREWAI_DISABLE_TELEMETRY": "true",
    "CREWAI_DISABLE_TRACKING": "true",
    "CREWAI_DISABLE_VERSION_CHECK": "true",
    "CREWAI_TESTING": "true",
    "CREWAI_TRACING_ENABLED": "false",
    "CREWAI_STORAGE_DIR": tempfile.gettempdir(),
    "LANGSMITH_TRACING": "false",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "OPENAI_AGENTS_DISABLE_TRACING": "1",
    "OTEL_SDK_DISABLED": "true",
}
warnings.simplefilter("ignore")

import anchored

URL = os.environ["OPENAI_BASE_URL"]
MODEL = "scripted-1"
QUESTION = "How many live in Oslo?"
SYSTEM = "You know places."
PARAMETERS = {"type": "object", "properties": {"place": {"type": "string"}}, "required": ["place"]}
CALLS = 3
"""In a turn: two of the model, one of the tool."""


def look_up(place: str) -> str:
    """Looks a place up."""
    return f"{place} has {len(place) * 100000} people."


def ag2_classic():
    from autogen import ConversableAgent, UserProxyAgent

    entry = {"model": MODEL, "base_url": URL, "api_key": "none", "price": [0, 0]}
    settings = {"config_list": [entry], "temperature": None, "cache_seed": None}
    helper = ConversableAgent("helper", SYSTEM, llm_config=settings, human_input_mode="NEVER")
    user = UserProxyAgent(
        "user",
        is_termination_msg=lambda message: not message.get("tool_calls") and not message.get("tool_responses"),
        code_execution_config=False,
        human_input_mode="NEVER",
        default_auto_reply="",
    )
    helper.register_for_llm(description="Looks a place up.")(look_up)
    user.register_for_execution()(look_up)
    return lambda: user.initiate_chat(helper, message=QUESTION, silent=True).summary


def ag2():
    from ag2 import Agent, tool
    from ag2.config import OpenAIConfig

    helper = Agent(
        "helper", SYSTEM, config=OpenAIConfig(model=MODEL, base_url=URL, api_key="none"), tools=[tool(look_up)]
    )

    async def turn():
        return (await helper.ask(QUESTION)).body

    return turn


def autogen():
    from autogen_agentchat.agents import AssistantAgent
    from autogen_core import CancellationToken
    from autogen_ext.models.openai import OpenAIChatCompletionClient

    able = dict.fromkeys(("vision", "json_output", "structured_output"), False)
    info = {**able, "function_calling": True, "family": "gpt-4o"}
    client = OpenAIChatCompletionClient(model=MODEL, base_url=URL, api_key="none", model_info=info)
    helper = AssistantAgent("helper", client, system_message=SYSTEM, tools=[look_up], reflect_on_tool_use=True)

    async def turn():
        await helper.on_reset(CancellationToken())
        return (await helper.run(task=QUESTION)).messages[-1].to_text()

    return turn


def crewai():
    from crewai import LLM, Agent, Crew, Task
    from crewai.tools import tool

    model = LLM(model="openai/gpt-4o-mini", base_url=URL, api_key="none")
    helper = Agent(role="Helper", goal="Know places.", backstory=SYSTEM, llm=model, tools=[tool("look_up")(look_up)])
    task = Task(description=QUESTION, expected_output="A number.", agent=helper)
    crew = Crew(agents=[helper], tasks=[task])
    return lambda: str(crew.kickoff())


def openai_agents():
    from agents import Agent, OpenAIResponsesModel, Runner, function_tool
    from openai import AsyncOpenAI

    model = OpenAIResponsesModel(MODEL, AsyncOpenAI(base_url=URL, api_key="none"))
    helper = Agent(name="Helper", instructions=SYSTEM, model=model, tools=[function_tool(look_up)])

    async def turn():
        return (await Runner.run(helper, QUESTION)).final_output

    return turn


def langgraph():
    from langchain_core.tools import tool
    from langchain_openai import ChatOpenAI
    from langgraph.prebuilt import create_react_agent

    model = ChatOpenAI(model=MODEL, base_url=URL, api_key="none")
    helper = create_react_agent(model, [tool(look_up)], prompt=SYSTEM)
    return lambda: helper.invoke({"messages": [("user", QUESTION)]})["messages"][-1].content


def pydantic_ai():
    from pydantic_ai import Agent
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    model = OpenAIChatModel(MODEL, provider=OpenAIProvider(base_url=URL, api_key="none"))
    helper = Agent(model, name="helper", instructions=SYSTEM, tools=[look_up])

    async def turn():
        return (await helper.run(QUESTION)).output

    return turn


def completions(create):
    """Turns of a function that makes chat completions as OpenAI does."""
    run = anchored.tool(effect="read")(look_up)
    tools = [{"type": "function", "function": {"name": "look_up", "parameters": PARAMETERS}}]

    def turn():
        messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": QUESTION}]
        said = create(messages=messages, tools=tools).choices[0].message
        messages.append(said.model_dump(exclude_none=True))
        messages += [
            {"role": "tool", "tool_call_id": call.id, "content": run(place="Oslo")} for call in said.tool_calls
        ]
        return create(messages=messages, tools=tools).choices[0].message.content

    return turn


def openai():
    from openai import OpenAI

    create = OpenAI(base_url=URL, api_key="none").chat.completions.create
    return completions(lambda **body: create(model=MODEL, **body))


def litellm():
    import litellm as library

    library.suppress_debug_info = True
    settings = {"model": f"openai/{MODEL}", "api_base": URL, "api_key": "none"}
    return completions(lambda **body: library.completion(**settings, **body))


def anthropic():
    import anthropic as library

    run = anchored.tool(effect="read")(look_up)
    create = library.Anthropic(base_url=URL.removesuffix("/v1"), api_key="none").messages.create
    options = {"model": MODEL, "max_tokens": 99, "system": SYSTEM}
    options["tools"] = [{"name": "look_up", "input_schema": PARAMETERS}]

    def turn():
        messages = [{"role": "user", "content": QUESTION}]
        said = create(messages=messages, **options).content
        messages.append({"role": "assistant", "content": [block.model_dump(exclude_none=True) for block in said]})
        calls = [block.id for block in said if block.type == "tool_use"]
        results = [{"type": "tool_result", "tool_use_id": call, "content": run(place="Oslo")} for call in calls]
        messages.append({"role": "user", "content": results})
        return create(messages=messages, **options).content[0].text

    return turn


FRAMEWORKS = (ag2_classic, ag2, autogen, crewai, openai_agents, langgraph, pydantic_ai, openai, anthropic, litellm)


def main():
    turn = {made.__name__: made for made in FRAMEWORKS}[sys.argv[1]]()
    with open(sys.argv[2], encoding="ascii") as orders, asyncio.Runner() as runner:
        once = (lambda: runner.run(turn())) if asyncio.iscoroutinefunction(turn) else turn
        for order in orders:
            number = int(order)
            wall, processors = time.perf_counter(), time.process_time()
            answers = [once() for _ in range(number)]
            wall, processors = time.perf_counter() - wall, time.process_time() - processors
            if set(answers) != {"Many."}:
                sys.exit(f"other answers than expected: {set(answers)}")
            print("turns", wall / number / CALLS, processors / number / CALLS, flush=True)


main()
