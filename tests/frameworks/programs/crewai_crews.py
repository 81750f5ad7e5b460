"""CrewAI in every way it runs, one mode at a time: `python crewai_crews.py MODE`. The last line is the result.

The endpoint's URL comes in ANCHORED_TEST_URL, the file to which tools append in TOOL_LOG; ANCHORED_TEST_CHANGE=prompt
makes a prompt another. `crewai_script.py` is the model.
"""

import os
import sys

from crewai_quiet import HOME, PLACES, QUIET

CHATTY = "ANCHORED_TEST_CHATTY" in os.environ
"""Whether CrewAI prints and calls out as it likes."""

os.makedirs(HOME, exist_ok=True)
os.environ.update({} if CHATTY else QUIET, **PLACES)

import asyncio
import json
import tempfile
import time
from typing import Any

import httpx
from crewai import LLM, Agent, BaseLLM, Crew, Process, Task
from crewai.events.event_bus import crewai_event_bus
from crewai.flow.flow import Flow, listen, start
from crewai.tools import BaseTool, tool
from crewai.tools.agent_tools.agent_tools import AgentTools
from crewai.tools.tool_failure import ToolFailure
from pydantic import BaseModel

import anchored

URL = os.environ["ANCHORED_TEST_URL"]
CHANGE = " Now." if os.environ.get("ANCHORED_TEST_CHANGE") == "prompt" else ""


def log(line: str) -> None:
    with open(os.environ["TOOL_LOG"], "a", encoding="utf-8") as file:
        file.write(line + "\n")


class Found(BaseModel):
    query: str
    numbers: list[int]


class Report(BaseModel):
    title: str
    score: int


class Search(BaseTool):
    name: str = "Search archive"
    description: str = "Looks a thing up in the archive."

    def _run(self, query: str) -> str:
        log(f"search {query}")
        return f"The archive says of {query}: {len(query)} pages."


class Limited(Search):
    name: str = "Limited archive"
    max_usage_count: int | None = 2


class Typed(BaseTool):
    name: str = "Typed archive"
    description: str = "Gives numbers."
    result_schema: type[BaseModel] | None = Found

    def _run(self, query: str) -> Found:
        log(f"typed {query}")
        return Found(query=query, numbers=[1, 2, 3])


@tool("Slow archive")
def slow(query: str, seconds: float) -> str:
    """Looks a thing up, slowly."""
    log(f"slow {query}")
    time.sleep(seconds)
    return f"slowly found {query}"


@tool("Broken archive")
def broken(query: str) -> str:
    """Raises."""
    log(f"broken {query}")
    raise ValueError(f"no shelf for {query}")


@tool("Failing archive")
def failing(query: str) -> Any:
    """Reports a failure."""
    log(f"failing {query}")
    return ToolFailure(message=f"closed today for {query}", code="closed", details={"until": 9})


@tool("Read only archive")
@anchored.tool(effect="read")
def declared(query: str) -> str:
    """Looks a thing up, and is declared."""
    log(f"declared {query}")
    return f"declared {query}"


@tool("Long archive")
def long(query: str) -> str:
    """Gives more than the model can be told."""
    log(f"long {query}")
    return "A line of the archive.\n" * 9_000


@tool("Awaited archive")
async def awaited(query: str) -> str:
    """Looks a thing up, asynchronously."""
    log(f"awaited {query}")
    await asyncio.sleep(0.01)
    return f"awaited {query}"


class TextLLM(BaseLLM):
    """A model of the user's own, whose tools are called in text."""

    def call(self, messages: Any, *args: Any, **kwargs: Any) -> str:
        body = {"model": self.model, "messages": [{k: m[k] for k in ("role", "content")} for m in messages]}
        answer = httpx.post(URL + "/chat/completions", json=body)
        return str(answer.json()["choices"][0]["message"]["content"])

    def supports_function_calling(self) -> bool:
        return False

    def supports_stop_words(self) -> bool:
        return False


def llm(**options: Any) -> LLM:
    return LLM(model="openai/gpt-4o-mini", base_url=URL, api_key="none", **options)


def agent(role: str, *, tools: list[Any] | None = None, model: Any = None, **options: Any) -> Agent:
    return Agent(
        role=role,
        goal=f"Do what the {role} does.",
        backstory=f"A careful {role}.",
        llm=model or llm(),
        tools=tools or [],
        verbose=CHATTY,
        **options,
    )


def task(who: Agent | None, text: str, **options: Any) -> Task:
    return Task(description=text, expected_output="A sentence." + CHANGE, agent=who, **options)


def crew(tasks: list[Task], *, agents: list[Agent] | None = None, **options: Any) -> Crew:
    held = agents if agents is not None else list({id(t.agent): t.agent for t in tasks}.values())
    return Crew(agents=held, tasks=tasks, verbose=CHATTY, **options)


def with_tool(*tools: Any, topic: str, model: Any = None, **options: Any) -> Crew:
    worker = agent("Researcher", tools=list(tools), model=model)
    return crew([task(worker, f"Find out about {topic}.")], **options)


def sequential() -> Any:
    researcher, writer = agent("Researcher", tools=[Search()]), agent("Writer")
    return crew([task(researcher, "Find out about lamps."), task(writer, "Write about it.")]).kickoff()


def hierarchical() -> Any:
    workers = [agent("Researcher", tools=[Search()]), agent("Writer")]
    made = crew(
        [task(None, "Find out about lamps and delegate.")],
        agents=workers,
        process=Process.hierarchical,
        manager_llm=llm(),
    )
    return made.kickoff()


def delegation() -> Any:
    first = agent("Lead", allow_delegation=True)
    third = agent("Researcher", tools=[Search()])
    second = agent("Deputy", tools=AgentTools(agents=[third]).tools())
    return crew([task(first, "Find out about lamps, by the Deputy.")], agents=[first, second, third]).kickoff()


def parallel() -> Any:
    return with_tool(slow, declared, topic="many").kickoff()


def async_tasks() -> Any:
    workers = [agent(role, tools=[Search()]) for role in ("Researcher", "Historian", "Geographer")]
    asked = [
        task(who, f"Find out about {what}.", async_execution=True) for who, what in zip(workers, THINGS, strict=True)
    ]
    return crew([*asked, task(agent("Writer"), "Write about it.", context=asked)]).kickoff()


THINGS = ("lamps", "chairs", "tables")


def kickoff_async() -> Any:
    async def both() -> list[Any]:
        crews = [with_tool(Search(), topic=topic) for topic in ("lamps", "chairs")]
        return await asyncio.gather(*(made.kickoff_async() for made in crews))

    return " | ".join(str(result) for result in asyncio.run(both()))


def akickoff() -> Any:
    async def both() -> list[Any]:
        crews = [with_tool(awaited, topic=f"awaited {topic}") for topic in ("lamps", "chairs")]
        return await asyncio.gather(*(made.akickoff() for made in crews))

    return " | ".join(str(result) for result in asyncio.run(both()))


def structured() -> Any:
    return crew([task(agent("Reporter"), "Report on lamps.", output_pydantic=Report)]).kickoff().pydantic


def stream() -> Any:
    return with_tool(Search(), topic="lamps", model=llm(stream=True)).kickoff()


def crew_stream() -> Any:
    streaming = with_tool(Search(), topic="lamps", stream=True).kickoff()
    chunks = [chunk.content for chunk in streaming]
    return f"{len(chunks)} {streaming.result}"


def tool_error() -> Any:
    return with_tool(broken, failing, topic="errors").kickoff()


def usage() -> Any:
    limited = Limited()
    made = with_tool(limited, topic="limits").kickoff()
    return f"{made} {limited.current_usage_count}"


def text_tools() -> Any:
    limited = Limited()
    made = with_tool(limited, broken, topic="in text", model=TextLLM(model="text-1")).kickoff()
    return f"{made} {limited.current_usage_count}"


def typed() -> Any:
    return with_tool(Typed(), topic="typed").kickoff()


def deferred() -> Any:
    return with_tool(long, topic="long").kickoff()


def cache() -> Any:
    return with_tool(Search(), topic="twice", cache=True).kickoff()


def retry() -> Any:
    return crew([task(agent("Unlucky", model=llm(max_retries=0)), "Try it.")]).kickoff()


def sdk_retry() -> Any:
    return crew([task(agent("Limited"), "Try it.")]).kickoff()


def human() -> Any:
    if os.environ.get("ANCHORED_MODE") != "replay":  # nobody is there to be asked again
        with tempfile.TemporaryFile() as said:
            said.write(b"Make it shorter, please.\n\n")
            said.seek(0)
            os.dup2(said.fileno(), 0)
    return crew([task(agent("Writer"), "Write about lamps.", human_input=True)]).kickoff()


def identical() -> Any:
    workers = [agent("Oracle") for _ in range(3)]
    asked = [task(who, "Say a word.", async_execution=True) for who in workers[:2]]
    made = crew([*asked, task(workers[2], "Say all words.", context=asked)]).kickoff()
    return [output.raw for output in made.tasks_output]


def standalone() -> Any:
    return agent("Researcher", tools=[Search()]).kickoff("Find out about lamps.").raw


def flow() -> Any:
    class Twice(Flow):
        @start()
        def first(self) -> str:
            return str(with_tool(Search(), topic="lamps").kickoff())

        @listen(first)
        def second(self, found: str) -> str:
            return f"{found} {with_tool(declared, topic='declared').kickoff()}"

    return Twice().kickoff()


MODES = {
    made.__name__: made
    for made in (
        sequential,
        hierarchical,
        delegation,
        parallel,
        async_tasks,
        kickoff_async,
        akickoff,
        structured,
        stream,
        crew_stream,
        tool_error,
        usage,
        text_tools,
        typed,
        deferred,
        cache,
        retry,
        sdk_retry,
        human,
        identical,
        standalone,
        flow,
    )
}

if __name__ == "__main__":
    result = MODES[sys.argv[1]]()
    crewai_event_bus.flush()  # its listeners print from threads of their own
    print()
    print(json.dumps(str(result)), flush=True)
