"""The door for what a person says: asked live, or handed out as it was recorded, with no terminal needed."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from dataclasses import replace

from anchored.boundary.crossing import Gate
from anchored.boundary.tools import ToolCall
from anchored.events import Declared


class HumanInput(ToolCall):
    """One question to a person.

    What `run` or `run_async` is given to ask with is not called where the answer is recorded.

    Args:
        gate: this process's gate.
        name: what is asked for, such as "feedback".
        prompt: the question, as far as it is the same in each run.
        actor: the agent that asks; the current one if None.
    """

    def __init__(self, gate: Gate, *, name: str, prompt: str = "", actor: str | None = None) -> None:
        super().__init__(gate, actor=actor, name=name, arguments={"prompt": prompt})
        self._crossing = replace(self._crossing, kind="human_input", declared=Declared(), may_write=False)

    def read_line(self, function: Callable[[], str]) -> object:
        """`run` for a function that reads one line of standard input."""
        asked: list[bool] = []

        def ask() -> object:
            asked.append(True)
            return function()

        answer = self.run(ask)
        if not asked:
            skip_line()
        return answer

    async def read_line_async(self, function: Callable[[], Awaitable[str]]) -> object:
        """`read_line` for what is awaited."""
        asked: list[bool] = []

        async def ask() -> object:
            asked.append(True)
            return await function()

        answer = await self.run_async(ask)
        if not asked:
            skip_line()
        return answer


def skip_line() -> None:
    """Drops a line of standard input.

    A replay is given the recorded input. What was handed out in place of a line must not be read again, by the program
    that goes on live. A terminal is left alone: nothing was typed.
    """
    if sys.stdin is not None and not sys.stdin.isatty():  # pyright: ignore[reportUnnecessaryComparison]
        sys.stdin.readline()
