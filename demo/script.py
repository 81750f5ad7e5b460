"""The model that the demo team talks to, as a script with known probabilities.

    python -m anchored.testing demo/script.py --seed 0

The team fails typically: the archive holds a superseded figure before the current one, and the researcher takes the
superseded one three times out of four. It is drawn in one place, the researcher's call that follows the searches.

| the conversation at that call                     | right figure |
|---------------------------------------------------|--------------|
| as the team has it                                | 0.25         |
| holds guidance such as GUIDANCE                   | 0.92         |
| holds other words, such as "Think carefully."     | 0.25         |

Guidance given earlier, to the planner or to the researcher's searches, is passed on in what they say. Given to a choice
of speaker it is lost, and given after the figure was taken it comes too late: the answer is then as it was.

Rules look at who speaks and at what was said, never at counters, so any conversation can be resumed anywhere.
"""

import re

from anchored.testing import ChatRequest, Message, Reply, Rule, Script, Weighted

SEED = 0
"""With this seed the first run of the team, asked its default question, answers wrongly."""

GUIDANCE = "Use the current figure, not the superseded one; check the year."
PHRASES = ("current figure", "superseded", "latest survey", "check the year")
"""Any of these makes a conversation a guided one. Nothing that the team says by itself holds one."""

RIGHT_UNGUIDED = 0.25
RIGHT_GUIDED = 0.92


def speaker(name: str) -> str:
    """How the system message of an agent begins."""
    return f"You are the {name}."


def said(request: ChatRequest) -> list[Message]:
    """What the team said: without system messages, prompts of the framework and guidance, which has no author."""
    team = ("user", "planner", "researcher", "writer")
    return [m for m in request.messages if m.role == "tool" or m.tool_calls or m.name in team]


def last(request: ChatRequest) -> Message:
    """What the team said last."""
    return (said(request) or [request.last])[-1]


def guided(request: ChatRequest) -> bool:
    """Whether somebody says which figure to take."""
    return any(request.contains(phrase) for phrase in PHRASES)


def find(request: ChatRequest, pattern: str) -> list[str]:
    """What a pattern's group matches in the team's conversation, oldest first."""
    return [match for message in said(request) for match in re.findall(pattern, message.text)]


def place(request: ChatRequest) -> str:
    """What the question is about."""
    return (find(request, r"\bthe ([A-Z]\w+ [A-Z]\w+)") or ["Corvane Tunnel"])[0]


def results(request: ChatRequest, tool: str) -> list[str]:
    """The results of a tool until now."""
    calls = {call.id for message in request.messages for call in message.tool_calls if call.name == tool}
    return [message.text for message in request.messages if message.tool_call_id in calls]


def figures(request: ChatRequest) -> list[str]:
    """The counts of lamps that the archive gave, by year of survey."""
    found = {year: lamps for text in results(request, "search_archive") for year, lamps in SURVEY.findall(text)}
    return [found[year] for year in sorted(found)]


def lengths(request: ChatRequest) -> list[str]:
    """The lengths in kilometres that the archive gave."""
    return [length for text in results(request, "search_archive") for length in LENGTH.findall(text)]


SURVEY = re.compile(r"survey of (\d{4}): (\d+) lamps")
LENGTH = re.compile(r"length ([\d.]+) km")


def next_speaker(request: ChatRequest) -> str:
    """The name of the agent whose turn it is after what was said last."""
    message = last(request)
    if reported(request) or message.name == "user":
        return "planner"
    return "writer" if message.text.startswith("Checked:") else "researcher"


def reported(request: ChatRequest) -> bool:
    """Whether the researcher just reported."""
    return last(request).text.startswith("Report:")


def missing(request: ChatRequest) -> list[str]:
    """The searches that are still to be made, in the plan's order."""
    asked = {call.arguments for message in request.messages for call in message.tool_calls}
    order = ["length", "lamps"] if find(request, r"Plan: first the (length)") else ["lamps", "length"]
    return [word for word in order if not any(word in arguments for arguments in asked)]


def plan(first: str, second: str) -> Reply:
    """The plan, with the guidance if there is some."""
    steps = f"Plan: first the {first} of the {{place}}, then its {second}, then divide lamps by kilometres."
    return Reply.text(lambda request: steps.format(place=place(request)) + (f" {GUIDANCE}" if guided(request) else ""))


def take(index: int) -> Reply:
    """Take the oldest figure (0) or the newest (-1), and divide it by the length."""
    return Reply.tools(
        lambda request: [("calculate", {"expression": f"{figures(request)[index]} / {lengths(request)[-1]}"})]
    )


def choice(right: float) -> list[Weighted]:
    """The superseded figure, and the current one with this probability."""
    return [Weighted(weight=1 - right, reply=take(0)), Weighted(weight=right, reply=take(-1))]


def report(request: ChatRequest) -> str:
    """What the researcher found out."""
    computed = results(request, "calculate")
    if not computed:
        return f"Report: the archive does not say how many lamps per kilometre the {place(request)} has."
    return f"Report: {computed[-1]} lamps per kilometre in the {place(request)}."


def answer(before: str, after: str) -> Reply:
    """The final sentence around the figure of the last report."""

    def sentence(request: ChatRequest) -> str:
        found = find(request, r"Report: ([\d.]+) lamps per kilometre")
        if not found:
            return f"It is not known how many lamps per kilometre the {place(request)} has. TERMINATE"
        return f"{before}{found[-1]}{after} TERMINATE".format(place=place(request))

    return Reply.text(sentence)


script = Script(
    rules=[
        Rule(
            name="speaker",
            when=lambda request: request.system.startswith("You are in a role play game."),
            replies=Reply.text(next_speaker),
        ),
        Rule(
            name="check",
            when=lambda request: request.system.startswith(speaker("planner")) and reported(request),
            replies=Reply.text("Checked: the report answers the question. Next is the writer."),
        ),
        Rule(
            name="plan",
            when=lambda request: request.system.startswith(speaker("planner")),
            replies=[
                Weighted(weight=0.5, reply=plan("lamps", "length")),
                Weighted(weight=0.5, reply=plan("length", "lamps")),
            ],
        ),
        Rule(
            name="search",
            when=lambda request: request.system.startswith(speaker("researcher")) and bool(missing(request)),
            replies=Reply.tools(
                lambda request: [("search_archive", {"query": f"{place(request)} {missing(request)[0]}"})],
                content=lambda request: f"Noted: {GUIDANCE}" if guided(request) else "",
            ),
        ),
        Rule(
            name="report",
            when=lambda request: (
                request.system.startswith(speaker("researcher"))
                and bool(results(request, "calculate") or not (figures(request) and lengths(request)))
            ),
            replies=Reply.text(report),
        ),
        Rule(
            name="figure-guided",
            when=lambda request: request.system.startswith(speaker("researcher")) and guided(request),
            replies=choice(RIGHT_GUIDED),
        ),
        Rule(
            name="figure",
            when=lambda request: request.system.startswith(speaker("researcher")),
            replies=choice(RIGHT_UNGUIDED),
        ),
        Rule(
            name="answer",
            when=lambda request: request.system.startswith(speaker("writer")),
            replies=[
                Weighted(weight=0.5, reply=answer("The {place} has ", " lamps per kilometre.")),
                Weighted(weight=0.5, reply=answer("There are ", " lamps per kilometre in the {place}.")),
            ],
        ),
    ]
)
