"""The demo's AG2 team, changed so that it diverges and does not end as it should."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class ChangedTeam:
    """The demo's AG2 team with some of its text changed, replayed against the unchanged one.

    Attributes:
        name: the row's title.
        changes: what is replaced by what.
        position: where it diverges.
        ended: status with which it ends by itself, where it does.
    """

    name: str
    changes: tuple[tuple[str, str], ...]
    position: int
    ended: int | None = None


PROMPT = ("You are the writer. Answer", "You are the writer! Answer")
ARGUMENTS = (
    "    user = UserProxyAgent(",
    """    original = researcher.execute_function
    researcher.execute_function = lambda call, **more: original({**call, "arguments": '{"query": "x"}'}, **more)
    user = UserProxyAgent(""",
)
PRINTS = "    print(ask(arguments.question, rounds=arguments.rounds))"
SWALLOWS = """
    for _ in range(3):
        try:
            print(ask(arguments.question, rounds=arguments.rounds))
        except {what}:
            print("all is well")
    raise SystemExit(0)
"""
THREAD = """
    import threading
    done = threading.Event()
    threading.Thread(target=lambda: done.set() if ask(arguments.question) else None, daemon=True).start()
    done.wait()
"""

TEAMS = (
    ChangedTeam(
        name="AG2: another prompt, swallowed by `except Exception`; exit 0",
        changes=(PROMPT, (PRINTS, SWALLOWS.format(what="Exception"))),
        position=32,
        ended=0,
    ),
    ChangedTeam(
        name="AG2: other arguments of a tool, swallowed by `except BaseException`; exit 0",
        changes=(ARGUMENTS, (PRINTS, SWALLOWS.format(what="BaseException"))),
        position=8,
        ended=0,
    ),
    ChangedTeam(
        name="AG2: other arguments of a tool in a thread that the main one waits for",
        changes=(ARGUMENTS, (PRINTS, THREAD)),
        position=8,
    ),
    ChangedTeam(
        name="AG2: other arguments of a tool in the thread of `agent.run`",
        changes=(
            ARGUMENTS,
            ("user.initiate_chat(manager, message=question)", "user.run(manager, message=question).process()"),
        ),
        position=8,
    ),
)
