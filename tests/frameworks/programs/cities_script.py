"""The endpoint's script for the programs that ask for the weather of cities; see `cities_*.py`.

It looks at the last message alone, in whichever format it came, so that every framework can be asked the same.
"""

import json
import re

from anchored.testing import ChatRequest, Reply, Rule, Script, Weighted

CITIES = ("Oslo", "Rome", "Lima", "Cairo", "Quito")


def asked(request: ChatRequest) -> str:
    return request.last.text if request.last.role == "user" else ""


def cities(request: ChatRequest):
    found = [city for city in CITIES if city in asked(request)]
    return [("weather", {"city": city}) for city in found]


def told(request: ChatRequest) -> str:
    """What the last tools said, in the order in which the request has it."""
    said = []
    for message in reversed(request.messages):
        if message.role != "tool":
            break
        said.append(message.text)
    return "Tools said: " + " | ".join(reversed(said))


def offers(name: str, phrase: str):
    return lambda request: name in request.tool_names and phrase in asked(request)


def parameter(request: ChatRequest, name: str) -> str:
    """The one parameter of a tool, whose name the frameworks choose."""
    return re.search(
        r'"properties": ?\{"(\w+)"', json.dumps(request.body["tools"])[json.dumps(request.body["tools"]).index(name) :]
    )[1]


def expert_call(request: ChatRequest):
    return [("ask_expert", {parameter(request, "ask_expert"): "Expert, how is the weather in Quito?"})]


def two_expert_calls(request: ChatRequest):
    name = parameter(request, "ask_expert")
    return [("ask_expert", {name: f"Expert, how is the weather in {city}?"}) for city in ("Cairo", "Lima")]


def wants_json(request: ChatRequest) -> bool:
    form = request.body.get("response_format") or (request.body.get("text") or {}).get("format") or {}
    return form.get("type") == "json_schema"


REPORT = {"city": "Oslo", "degrees": 7}
slow = (0.0, 0.06)

script = Script(
    rules=[
        Rule(
            name="flaky",
            when=lambda request: "flaky" in asked(request),
            replies=[
                Weighted(weight=0.5, reply=Reply.status(429, retry_after=0.02)),
                Weighted(weight=0.5, reply=Reply.text("It went well after all.")),
            ],
        ),
        Rule(
            name="down",
            when=lambda request: "Are you down?" in asked(request),
            replies=[
                Weighted(weight=0.5, reply=Reply.status(500, retry_after=0.02)),
                Weighted(weight=0.5, reply=Reply.text("Up again.")),
            ],
        ),
        Rule(
            name="silent",
            when=lambda request: "Are you silent?" in asked(request),
            replies=[
                Weighted(weight=0.5, reply=Reply.hang(seconds=30)),
                Weighted(weight=0.5, reply=Reply.text("Not always.")),
            ],
        ),
        Rule(
            name="die",
            when=lambda request: "Roll a die" in asked(request),
            replies=[
                Weighted(weight=1 / 4, reply=Reply.delayed(Reply.text(f"It shows {number}."), seconds=slow))
                for number in range(1, 5)
            ],
        ),
        Rule(
            name="specialist",
            when=lambda request: "specialist" in request.system,
            replies=Reply.text("The specialist says that the weather is always changing."),
        ),
        Rule(
            name="hand over",
            when=lambda request: any("transfer" in name for name in request.tool_names) and bool(asked(request)),
            replies=Reply.tools(lambda request: [(next(n for n in request.tool_names if "transfer" in n), {})]),
        ),
        Rule(
            name="output tool",
            when=lambda request: "final_result" in request.tool_names,
            replies=Reply.tools([("final_result", REPORT)]),
        ),
        Rule(name="told", when=lambda request: request.last.role == "tool", replies=Reply.text(told)),
        Rule(name="expert", when=offers("ask_expert", "one expert"), replies=Reply.tools(expert_call)),
        Rule(name="experts", when=offers("ask_expert", "both experts"), replies=Reply.tools(two_expert_calls)),
        Rule(name="broken", when=offers("broken", "broken"), replies=Reply.tools([("broken", {"text": "glass"})])),
        Rule(
            name="forecast", when=offers("forecast", "forecast"), replies=Reply.tools([("forecast", {"city": "Oslo"})])
        ),
        Rule(
            name="weather",
            when=lambda request: "weather" in request.tool_names and bool(cities(request)),
            replies=Reply.tools(cities),
        ),
        Rule(name="json", when=wants_json, replies=Reply.text(json.dumps(REPORT))),
        Rule(
            name="anything",
            when=lambda request: True,
            replies=Reply.text(lambda request: "You said: " + request.last.text + " and that is all there is to say."),
        ),
    ]
)
