"""What the models of ag2_agents.py and ag2_classic_teams.py say. Answers differ between occurrences of a request."""

from anchored.testing import ChatRequest, Reply, Rule, Script, Weighted

_FOUR = [("slow", {"number": 0}), ("threaded", {"number": 1}), ("slow", {"number": 2}), ("threaded", {"number": 3})]


def by(name: str):
    return lambda request: f"You are the {name}." in request.system


def first(name: str, tool: str):
    """The agent has the tool and has not used it yet."""
    return lambda request: (
        by(name)(request) and tool in request.tool_names and all(message.role != "tool" for message in request.messages)
    )


def drawn(text: str, *, count: int = 4, seconds: float = 0.08) -> list[Weighted]:
    """One of several texts, after a while."""
    replies = [Reply.delayed(Reply.text(f"{text} ({number})"), seconds=(0.0, seconds)) for number in range(count)]
    return [Weighted(weight=1 / count, reply=reply) for reply in replies]


def drawn_call(tool: str) -> list[Weighted]:
    """The tool with one of several arguments, after a while."""
    calls = [Reply.tools([(tool, {"number": number})]) for number in range(4)]
    return [Weighted(weight=0.25, reply=Reply.delayed(call, seconds=(0.0, 0.08))) for call in calls]


def once_in_two(reply: Reply, *, otherwise: Reply) -> list[Weighted]:
    return [Weighted(weight=0.5, reply=reply), Weighted(weight=0.5, reply=otherwise)]


def chosen(request: ChatRequest) -> str:
    return "writer" if request.contains("researcher found that") else "researcher"


script = Script(
    rules=[
        Rule(
            name="too late",
            when=lambda request: request.contains("TERMINATE"),
            replies=Reply.delayed(Reply.text("Is it over?"), seconds=(2.0, 2.0)),
        ),
        Rule(
            name="selector",
            when=lambda r: r.system.startswith("You are in a role play game"),
            replies=Reply.text(chosen),
        ),
        Rule(
            name="look up", when=first("researcher", "look_up"), replies=Reply.tools([("look_up", {"place": "Oslo"})])
        ),
        Rule(name="helper", when=first("helper", "look_up"), replies=Reply.tools([("look_up", {"place": "Bergen"})])),
        Rule(
            name="main",
            when=first("main", "task_helper"),
            replies=Reply.tools([("task_helper", {"objective": "Look at Bergen."})]),
        ),
        Rule(
            name="divide",
            when=first("divider", "run_subtasks"),
            replies=Reply.tools([("run_subtasks", {"tasks": ["Count one.", "Count one.", "Count two."]})]),
        ),
        Rule(name="four", when=first("worker", "slow"), replies=Reply.tools(_FOUR)),
        Rule(name="twins", when=first("twin", "slow"), replies=drawn_call("slow")),
        Rule(name="break", when=first("breaker", "broken"), replies=Reply.tools([("broken", {"place": "Oslo"})])),
        Rule(name="end", when=first("ender", "ends"), replies=Reply.tools([("ends", {"place": "Oslo"})])),
        Rule(
            name="ask", when=first("asker", "ask_someone"), replies=Reply.tools([("ask_someone", {"what": "Where?"})])
        ),
        Rule(name="things", when=first("collector", "things"), replies=Reply.tools([("things", {})])),
        Rule(
            name="hand over",
            when=first("planner", "to_writer"),
            replies=Reply.tools([("to_writer", {"reason": "it is to be written"})]),
        ),
        Rule(
            name="limited",
            when=by("limited"),
            replies=once_in_two(Reply.status(429, retry_after=0.05), otherwise=Reply.text("At last something.")),
        ),
        Rule(name="failing", when=by("failing"), replies=Reply.status(500)),
        Rule(
            name="look around", when=first("talker", "look_up"), replies=Reply.tools([("look_up", {"place": "Oslo"})])
        ),
        Rule(name="over", when=by("starter"), replies=drawn("That will do. TERMINATE")),
        Rule(name="talker", when=by("talker"), replies=drawn("The talker goes on to say so")),
        Rule(name="researcher", when=by("researcher"), replies=drawn("The researcher found that it is large")),
        Rule(name="writer", when=by("writer"), replies=drawn("The writer has written a page. TERMINATE")),
        Rule(name="rest", when=lambda _: True, replies=drawn("Something longer is said of it")),
    ]
)
