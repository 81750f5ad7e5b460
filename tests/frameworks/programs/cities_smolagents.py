"""smolagents in named modes: `python cities_smolagents.py MODE[+MODE…]`.

The endpoint is ANCHORED_TEST_URL, tools append a line to TOOL_LOG, the last line of output is the result.
"""

import os
import random
import sys
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import ClassVar

warnings.filterwarnings("ignore", message="Function .* has decorators other than @tool")

from smolagents import CodeAgent, LogLevel, OpenAIModel, Tool, ToolCallingAgent, ToolOutput, tool

import anchored

CHANGE = " Be brief." if os.environ.get("ANCHORED_TEST_CHANGE") == "prompt" else ""
model = OpenAIModel(
    "scripted-1", api_base=os.environ["ANCHORED_TEST_URL"], api_key="none", client_kwargs={"max_retries": 12}
)
finished = []


def log(line):
    with open(os.environ["TOOL_LOG"], "a", encoding="utf-8") as file:
        file.write(line + "\n")


@tool
@anchored.tool(effect="read")
def weather(city: str) -> str:
    """Looks the weather up.

    Args:
        city: where
    """
    log("weather")
    time.sleep(random.random() * 0.05)
    return f"{city} has {random.randrange(10**6)} degrees"


@tool
@anchored.tool(effect="none")
def roll() -> int:
    """Rolls a die."""
    log("roll")
    time.sleep(random.random() * 0.05)
    return random.randrange(10**6)


@tool
@anchored.tool(effect="none")
def broken(text: str) -> str:
    """Breaks.

    Args:
        text: what
    """
    log("broken")
    time.sleep(random.random() * 0.05)
    raise ValueError(f"{text} broke into {random.randrange(10**6)} pieces")


class Forecast(Tool):
    name = "forecast"
    description = "A forecast."
    inputs: ClassVar = {"city": {"type": "string", "description": "where"}}
    output_type = "object"

    def setup(self):
        log("setup")
        super().setup()

    @anchored.tool(effect="read")
    def forecast(self, city):
        log("forecast")
        return {"city": city, "rain": random.random()}

    forward = forecast


@tool
@anchored.tool(effect="none")
def report(city: str) -> str:
    """Reports, by another tool.

    Args:
        city: where
    """
    return "Reported: " + weather(city)


@dataclass
class Measured:
    names: tuple
    sizes: dict
    number: float


@tool
@anchored.tool(effect="none")
def measure(names: list, sizes: dict) -> object:
    """Measures.

    Args:
        names: what
        sizes: how
    """
    log("measure")
    return Measured(tuple(names), sizes, random.random())


def agent(name=None, tools=(weather,), kind=ToolCallingAgent, **more):
    description = name and "It knows the weather."
    settings = {"instructions": "You report." + CHANGE, "verbosity_level": LogLevel.OFF, "max_steps": 4}
    return kind(tools=list(tools), model=model, name=name, description=description, **settings, **more)


def coder(name=None, tools=(weather, broken), **more):
    return agent(name, tools, CodeAgent, **more)


def streamed(question, who):
    kinds = []
    for step in who.run(question, stream=True):
        kinds.append(type(step).__name__)
        if isinstance(step, ToolOutput):
            finished.append(step.observation)
    return f"{len(kinds)} steps, {step.output}"


def alternating(question, count):
    """Several streamed runs in one thread, a step of each by turns."""
    runs = [agent(f"agent_{number}").run(question, stream=True) for number in range(count)]
    said = []
    while runs:
        for run in list(runs):
            step = next(run, None)
            if step is None:
                runs.remove(run)
            said.append(getattr(step, "output", "") or "")
    return " ".join(map(str, said))


def at_once(question, count):
    with ThreadPoolExecutor(count) as pool:
        agents = [agent(f"agent_{number}") for number in range(count)]
        return " / ".join(pool.map(lambda who: who.run(question), agents))


def main(mode):
    match mode:
        case "single":
            return agent().run("How is the weather in Oslo?")
        case "parallel":
            return streamed("How is the weather in Oslo, Rome, Lima and Cairo?", agent())
        case "twins":
            return streamed("Roll three dice.", agent(tools=(roll,)))
        case "code":
            return coder().run("How is the weather in Oslo, Rome and Lima?")
        case "code_error":
            return coder().run("Use the broken tool.")
        case "swallowed":
            return coder().run("Do it carefully.")
        case "planning":
            return agent(planning_interval=1).run("How is the weather in Oslo?")
        case "nested":
            return agent("chief", (), managed_agents=[agent("expert")]).run("Ask the expert.")
        case "nested_parallel":
            return agent("chief", (), managed_agents=[agent("expert"), agent("scout")]).run("Ask both of them.")
        case "team":
            return agent("chief", (), managed_agents=[coder("expert")]).run("Ask the expert.")
        case "nested_code":
            return coder("chief", (), managed_agents=[coder("expert")]).run("Ask the expert.")
        case "stream":
            return streamed("How is the weather in Rome and Lima?", agent(stream_outputs=True))
        case "stream_code":
            return streamed("How is the weather in Rome and Lima?", coder(stream_outputs=True))
        case "alternating":
            return alternating("How is the weather in Oslo and Rome?", 3)
        case "error":
            return agent(tools=()).run("This is flaky.")
        case "tool_error":
            return agent(tools=(broken,)).run("Use the broken tool.")
        case "tool_error_parallel":
            return agent(tools=(broken, weather)).run("Use both tools.")
        case "object":
            return agent(tools=(Forecast(),)).run("What is the forecast?")
        case "container":
            return agent(tools=(report,)).run("Write a report.")
        case "values":
            return coder(tools=(measure,)).run("Please measure.")
        case "gather":
            return at_once("Roll a die.", 5)
        case "gather_parallel":
            return at_once("How is the weather in Oslo and Rome?", 3)


print(*map(main, sys.argv[1].split("+")), finished)
