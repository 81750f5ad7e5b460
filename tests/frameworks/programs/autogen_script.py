"""What the models of autogen_teams.py say. Answers differ from one occurrence of a request to the next."""

import json

from anchored.testing import ChatRequest, Reply, Rule, Script, Weighted

_CALLS = [("slow", {"number": 0}), ("threaded", {"number": 1}), ("slow", {"number": 2}), ("threaded", {"number": 3})]
_LEDGER = "Recall we are working on the following request"


def by(name: str):
    return lambda request: request.system.startswith(f"You are the {name}.")


def first(name: str, tool: str):
    """The agent has the tool and has not used it yet."""
    return lambda request: by(name)(request) and tool in request.tool_names and request.last.role != "tool"


def drawn(text: str, *, count: int = 4, seconds: float = 0.08) -> list[Weighted]:
    """One of several texts, after a while."""
    replies = [Reply.delayed(Reply.text(f"{text} ({number})"), seconds=(0.0, seconds)) for number in range(count)]
    return [Weighted(weight=1 / count, reply=reply) for reply in replies]


def asks(prompt: str):
    return lambda request: prompt in request.last.text


def ledger(request: ChatRequest) -> str:
    """Magentic-One's progress ledger: stalls once, then the researcher, then the writer, then done."""
    replanned = request.contains("Facts, second edition")
    found, written = request.contains("found that"), request.contains("written:")
    speaker = "writer" if found else "researcher"
    values = {
        "is_request_satisfied": written,
        "is_in_loop": False,
        "is_progress_being_made": replanned,
        "next_speaker": speaker,
        "instruction_or_question": f"Dear {speaker}, do what the {'second' if replanned else 'first'} plan says.",
    }
    return json.dumps({key: {"reason": "it is so", "answer": value} for key, value in values.items()})


def chosen(request: ChatRequest) -> str:
    return "writer" if request.contains("found that") or request.contains("people, seen by") else "researcher"


script = Script(
    rules=[
        Rule(
            name="facts", when=asks("Below I will present you a request"), replies=Reply.text("Facts, first edition.")
        ),
        Rule(name="plan", when=asks("Fantastic. To address this request"), replies=Reply.text("Plan, first edition.")),
        Rule(
            name="facts2",
            when=asks("As a reminder, we are working to solve"),
            replies=Reply.text("Facts, second edition."),
        ),
        Rule(
            name="plan2",
            when=asks("Please briefly explain what went wrong"),
            replies=Reply.text("Plan, second edition."),
        ),
        Rule(
            name="second ledger",
            when=lambda r: asks(_LEDGER)(r) and r.contains("Facts, second edition"),
            replies=Reply.text(ledger),
        ),
        Rule(
            name="ledger",
            when=asks(_LEDGER),
            replies=[
                Weighted(weight=0.5, reply=Reply.text('{"is_request_satisfied": ')),
                Weighted(weight=0.5, reply=Reply.text(ledger)),
            ],
        ),
        Rule(
            name="answer",
            when=asks("We are working on the following task"),
            replies=Reply.text("The final answer of all."),
        ),
        Rule(
            name="selector",
            when=lambda r: r.system.startswith("You are in a role play game"),
            replies=Reply.text(chosen),
        ),
        Rule(
            name="look_up",
            when=lambda r: by("researcher")(r) and "look_up" in r.tool_names and not r.contains("people, seen by"),
            replies=Reply.tools([("look_up", {"place": "Oslo"})]),
        ),
        Rule(
            name="helper calls",
            when=first("helper", "look_up"),
            replies=Reply.tools([("look_up", {"place": "Bergen"})]),
        ),
        Rule(
            name="main calls",
            when=first("main", "helper"),
            replies=Reply.tools([("helper", {"task": "Look at Bergen."})]),
        ),
        Rule(name="four", when=first("worker", "slow"), replies=Reply.tools(_CALLS)),
        Rule(
            name="twin calls",
            when=first("twin", "slow"),
            replies=[
                Weighted(weight=0.25, reply=Reply.delayed(Reply.tools([("slow", {"number": n})]), seconds=(0.0, 0.08)))
                for n in range(4)
            ],
        ),
        Rule(name="break", when=first("breaker", "broken"), replies=Reply.tools([("broken", {"place": "Oslo"})])),
        Rule(name="count", when=first("counter", "counting"), replies=Reply.tools([("counting", {"number": 3})])),
        Rule(name="parts call", when=first("parts", "parts"), replies=Reply.tools([("parts", {})])),
        Rule(
            name="hand over",
            when=first("planner", "transfer_to_writer"),
            replies=Reply.tools([("transfer_to_writer", {})]),
        ),
        Rule(name="sleep", when=by("sleeper"), replies=Reply.hang()),
        Rule(
            name="limited",
            when=by("limited"),
            replies=[
                Weighted(weight=0.2, reply=Reply.text("At last something.")),
                Weighted(weight=0.8, reply=Reply.status(429, retry_after=0.05)),
            ],
        ),
        Rule(name="failing", when=by("failing"), replies=Reply.status(500)),
        Rule(name="typed", when=by("typed"), replies=Reply.text('{"city": "Oslo", "people": 700000}')),
        Rule(name="researcher", when=by("researcher"), replies=drawn("The researcher found that it is large")),
        Rule(
            name="writer",
            when=lambda r: by("writer")(r) and r.contains("Find out"),
            replies=drawn("The writer has written: a large town. THE END"),
        ),
        Rule(name="writer else", when=by("writer"), replies=drawn("The writer has written a page")),
        Rule(name="planner", when=by("planner"), replies=drawn("The planner has a plan for it")),
        Rule(name="rest", when=lambda _: True, replies=drawn("Something longer is said")),
    ]
)
