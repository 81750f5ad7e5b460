"""The endpoint's script for `cities_smolagents.py`.

smolagents sends what tools gave as text of the user, so a rule looks at what the last message begins with. Agents that
call tools must call one, `final_answer` in the end; agents that write code answer with code.
"""

from anchored.testing import ChatRequest, Reply, Rule, Script, Weighted

CITIES = ("Oslo", "Rome", "Lima", "Cairo", "Quito")
slow = (0.0, 0.06)


def asked(request: ChatRequest) -> str:
    """The end of the last message; what was observed is in it alone where anything was."""
    return request.last.text


def observed(request: ChatRequest) -> bool:
    return "Observation:" in asked(request) or "Error:" in asked(request)


def told(request: ChatRequest) -> str:
    text = asked(request)
    start = max(text.rfind("Observation:"), text.rfind("Error:"))
    return "Told: " + " ".join(text[start:].split())


def cities(request: ChatRequest) -> list[str]:
    return [city for city in CITIES if city in asked(request)]


def code(*lines: str) -> str:
    return "Thought: I write code.\n<code>\n" + "\n".join(lines) + "\n</code>"


def writes_code(phrase: str):
    return lambda request: not request.tool_names and phrase in asked(request)


def calls(name: str, phrase: str):
    return lambda request: name in request.tool_names and phrase in asked(request)


def weather_code(request: ChatRequest) -> str:
    return code(
        "said = []", f"for city in {cities(request)!r}:", "    said.append(weather(city))", "print(' | '.join(said))"
    )


def ask(name: str, city: str):
    return (name, {"task": f"How is the weather in {city}?"})


script = Script(
    rules=[
        Rule(
            name="flaky",
            when=lambda request: "flaky" in asked(request),
            replies=[
                Weighted(weight=0.5, reply=Reply.status(429, retry_after=0.02)),
                Weighted(weight=0.5, reply=Reply.tools([("final_answer", {"answer": "It went well after all."})])),
            ],
        ),
        Rule(
            name="die",
            when=lambda request: "Roll a die" in asked(request),
            replies=[
                Weighted(
                    weight=1 / 4,
                    reply=Reply.delayed(Reply.tools([("final_answer", {"answer": f"It shows {n}."})]), seconds=slow),
                )
                for n in range(1, 5)
            ],
        ),
        Rule(
            name="plan",
            when=lambda request: not request.tool_names and "<end_plan>" in asked(request),
            replies=Reply.text("1. Ask for the weather.\n<end_plan>"),
        ),
        Rule(
            name="planned",
            when=calls("weather", "carry out this plan"),
            replies=Reply.tools(
                lambda request: (
                    [("final_answer", {"answer": f"Planned {len(request.messages)} messages."})]
                    if any(message.text.startswith("Observation:") for message in request.messages)
                    else [("weather", {"city": "Oslo"})]
                )
            ),
        ),
        Rule(
            name="told, code",
            when=lambda request: observed(request) and not request.tool_names,
            replies=Reply.text(lambda request: code(f"final_answer({told(request)!r})")),
        ),
        Rule(
            name="told",
            when=observed,
            replies=Reply.tools(lambda request: [("final_answer", {"answer": told(request)})]),
        ),
        Rule(
            name="code with values",
            when=writes_code("measure"),
            replies=Reply.text(
                code(
                    "found = measure(['a', 'b'], {'size': (1, 2.5)})",
                    "again = measure(list(found.names), found.sizes)",
                    "print(found, again.sizes == found.sizes, found.number == again.number)",
                )
            ),
        ),
        Rule(
            name="careful code",
            when=writes_code("carefully"),
            replies=Reply.text(
                code("try:", "    broken('glass')", "except Exception as error:", "    print('caught', error)")
            ),
        ),
        Rule(name="broken code", when=writes_code("broken"), replies=Reply.text(code("broken(text='glass')"))),
        Rule(
            name="chief code",
            when=writes_code("Ask the expert"),
            replies=Reply.text(code("print(expert('How is the weather in Quito?'))")),
        ),
        Rule(name="weather code", when=writes_code("weather"), replies=Reply.text(weather_code)),
        Rule(name="expert", when=calls("expert", "Ask the expert"), replies=Reply.tools([ask("expert", "Quito")])),
        Rule(
            name="both experts",
            when=calls("scout", "Ask both"),
            replies=Reply.tools([ask("expert", "Cairo"), ask("scout", "Lima")]),
        ),
        Rule(name="broken", when=calls("broken", "broken"), replies=Reply.tools([("broken", {"text": "glass"})])),
        Rule(
            name="broken and whole",
            when=calls("broken", "both tools"),
            replies=Reply.tools([("broken", {"text": "glass"}), ("weather", {"city": "Oslo"})]),
        ),
        Rule(name="report", when=calls("report", "report"), replies=Reply.tools([("report", {"city": "Oslo"})])),
        Rule(name="dice", when=calls("roll", "dice"), replies=Reply.tools([("roll", {})] * 3)),
        Rule(
            name="forecast", when=calls("forecast", "forecast"), replies=Reply.tools([("forecast", {"city": "Oslo"})])
        ),
        Rule(
            name="weather",
            when=lambda request: "weather" in request.tool_names and bool(cities(request)),
            replies=Reply.tools(lambda request: [("weather", {"city": city}) for city in cities(request)]),
        ),
        Rule(
            name="anything, code",
            when=lambda request: not request.tool_names,
            replies=Reply.text(lambda request: code(f"final_answer({asked(request)!r})")),
        ),
        Rule(
            name="anything",
            when=lambda request: True,
            replies=Reply.tools(lambda request: [("final_answer", {"answer": asked(request)})]),
        ),
    ]
)
