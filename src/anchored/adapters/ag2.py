"""AG2 1.x (package `ag2`), proved on 1.2.1: agents alone, with subagents, and in the channels of a Hub.

Says who acts and what the final answer is; records and serves tools where AG2 runs them, and what a person says.

Entered at `__call__` of every subclass of `LLMClient`, of `FunctionTool` and, when the MCP toolkit is imported, of its
`_MCPProxyTool` (private, seen in 1.2.1); at `AgentReply`, of which each finished turn makes one; and at `wrap_hitl`,
through which agents and plugins take each function that asks a person. Private and seen in 1.2.1: `__ag2_agent__`
among the dependencies of a context, which is the acting agent. `BaseMiddleware`, the documented door, is none for us:
its program has to give it to each agent, it stands outside of a tool's own middleware, and it shows in what an agent
tells of itself.

AG2 numbers some things anew in each run, and leaves them out of requests: a subtask's agent is called `subtask-` and
eight digits, and is `subtask` here; a call for which the model gave no id has a random one, and none here.

A tool's result is kept as the event that AG2 makes of it, which for a tool that raised holds the traceback's text.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Awaitable, Callable
from functools import wraps
from types import ModuleType
from typing import Any, cast

from anchored.adapters.adapter import Adapter, wrap, wrap_everywhere
from anchored.adapters.objects import pack, unpack
from anchored.boundary import Gate, HumanInput, ToolCall, acting, current_gate
from anchored.events import Outcome

_Method = Callable[..., Any]
_AGENT = "__ag2_agent__"
_SUBTASK = re.compile("subtask-[0-9a-f]{8}")
_OWN_ID = re.compile("[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
_RECORDED = "__anchored_recorded__"


def _actor(context: Any) -> str | None:
    agent = getattr(context, "dependencies", {}).get(_AGENT)
    name = getattr(agent, "name", None)
    if not isinstance(name, str):
        return None
    return "subtask" if _SUBTASK.fullmatch(name) else name


def _ask_model(original: _Method) -> _Method:
    async def __call__(self: Any, messages: Any, context: Any, *args: Any, **kwargs: Any) -> Any:
        if current_gate() is None:
            return await original(self, messages, context, *args, **kwargs)
        with acting(_actor(context)):
            return await original(self, messages, context, *args, **kwargs)

    return __call__


def _run_tool(original: _Method) -> _Method:
    async def __call__(self: Any, event: Any, context: Any) -> Any:
        gate = current_gate()
        if gate is None:
            return await original(self, event, context)
        actor = _actor(context)

        async def run() -> object:
            with acting(actor):
                return await cast("Awaitable[object]", original(self, event, context))

        return await _call(gate, self, event, actor).run_async(run)

    return __call__


def _call(gate: Gate, tool: Any, event: Any, actor: str | None) -> ToolCall:
    return ToolCall(
        gate,
        actor=actor,
        name=str(tool.name),
        arguments=_arguments(event),
        call_id=None if _OWN_ID.fullmatch(event.id) else event.id,
        function=getattr(getattr(tool, "model", None), "call", None),
        judge=_outcome,
        read_text=_text,
        pack=pack,
        unpack=unpack,
    )


def _arguments(event: Any) -> str | dict[str, object]:
    """As the model wrote them; by name where a middleware has changed them since."""
    text = str(event.arguments)
    try:
        held = event.serialized_arguments
        as_written = type(event)(event.name, id=event.id, arguments=text).serialized_arguments
    except ValueError:
        return text
    return text if held == as_written else cast("dict[str, object]", held)


def _outcome(value: object) -> Outcome:
    return Outcome.FAILURE if hasattr(value, "error") else Outcome.SUCCESS


def _text(value: object) -> str | None:
    parts = getattr(getattr(value, "result", None), "parts", [])
    content = getattr(parts[0], "content", None) if len(parts) == 1 else None
    return content if isinstance(content, str) else None


def _replied(original: _Method) -> _Method:
    """The final answer is what the turn said that ended last; turns inside of others end before those do."""

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        gate, body = current_gate(), self.body
        if gate is not None and isinstance(body, str) and body:
            gate.note("final", {"text": body, "source": "adapter"})

    return __init__


def _wrap_hitl(original: _Method) -> _Method:
    """What asks a person for an agent; a middleware may do that outside of tools and model calls."""

    def wrap_hitl(func: Any) -> Any:
        made = original(func if hasattr(func, _RECORDED) else _recorded(func))

        def make_hook(middlewares: Any) -> Any:
            hook = made(middlewares)

            @wraps(hook)
            async def asking(event: Any, context: Any) -> None:
                with acting(_actor(context)):
                    await hook(event, context)

            return asking

        return make_hook

    return wrap_hitl


def _recorded(function: Any) -> Any:
    """A function that asks a person, recorded or served. AG2 passes it what its signature asks for."""
    if sys.modules["ag2.utils"].is_coroutine_callable(function):

        @wraps(function)
        async def ask_later(*args: Any, **kwargs: Any) -> Any:
            gate = current_gate()
            if gate is None:
                return await function(*args, **kwargs)
            live: list[Any] = []

            async def asked() -> object:
                live.append(await function(*args, **kwargs))
                return _plain(live[0])

            said = await _question(gate, args, kwargs).run_async(asked)
            return live[0] if live else _answer(said)

        setattr(ask_later, _RECORDED, True)
        return ask_later

    @wraps(function)
    def ask(*args: Any, **kwargs: Any) -> Any:
        gate = current_gate()
        if gate is None:
            return function(*args, **kwargs)
        live: list[Any] = []

        def asked() -> object:
            live.append(function(*args, **kwargs))
            return _plain(live[0])

        said = _question(gate, args, kwargs).run(asked)
        return live[0] if live else _answer(said)

    setattr(ask, _RECORDED, True)
    return ask


def _question(gate: Gate, args: tuple[Any, ...], kwargs: dict[str, Any]) -> HumanInput:
    """AG2 hands the request to the function first, and the context if it asks for that."""
    request = next((value for value in (*args, *kwargs.values()) if hasattr(value, "content")), None)
    return HumanInput(gate, name="human_input", prompt=str(getattr(request, "content", "")))


def _plain(answer: Any) -> object:
    """A message as a tuple of its text; AG2 ties it to the request, whose id is another in each run."""
    return (answer.content,) if type(answer).__name__ == "HumanMessage" else answer


def _answer(said: Any) -> Any:
    """Inverts `_plain`: AG2 checks the answer against what the function says it returns."""
    return sys.modules["ag2.events"].HumanMessage(*said) if isinstance(said, tuple) else said


def _enter(agent: ModuleType) -> None:
    wrap_everywhere(sys.modules["ag2.config.client"].LLMClient, {"__call__": _ask_model})
    wrap(sys.modules["ag2.tools.final.function_tool"].FunctionTool, "__call__", _run_tool)
    wrap(agent.AgentReply, "__init__", _replied)
    for module in (agent, sys.modules["ag2.plugin"]):
        wrap(module, "wrap_hitl", _wrap_hitl)


def _enter_mcp(toolkit: ModuleType) -> None:
    wrap(toolkit._MCPProxyTool, "__call__", _run_tool)


ADAPTER = Adapter(name="ag2", distribution="ag2", proved_on=("1.2.1",), enter=_enter)
MCP_TOOLKIT = Adapter(name="ag2_mcp", distribution="ag2", proved_on=("1.2.1",), enter=_enter_mcp)
