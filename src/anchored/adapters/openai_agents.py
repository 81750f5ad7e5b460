"""OpenAI Agents SDK (package `agents` of the distribution `openai-agents`), proved on 0.24.0.

Says which agent acts, and for each handoff by which model call; records and serves function tools, those of MCP
servers and agents that are used as tools among them (the latter enclose what their agents ask); says the final output.

`agents.run_internal` has no public door for this. Entered there, as seen in 0.24.0: `run_loop.run_single_turn` and
`run_single_turn_streamed`, `tool_execution._invoke_function_tool_with_metadata`, where tools meet their timeouts and
their errors have become texts, and `turn_resolution.execute_handoffs`. A handoff runs its own code in a replay.
"""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Any, cast

from anchored.adapters.adapter import Adapter, wrap
from anchored.adapters.objects import pack, unpack
from anchored.boundary import ToolCall, acting, current_gate
from anchored.events import Outcome

_Method = Callable[..., Any]
_inner: ContextVar[bool] = ContextVar("anchored_agents_inner", default=False)
"""Whether this code is inside an agent's turn, so that a run in it is no outermost one."""


def _turn(original: _Method) -> _Method:
    """One turn of an agent: its model call, then its tools or a handoff."""

    async def turn(*args: Any, **kwargs: Any) -> Any:
        gate = current_gate()
        if gate is None:
            return await original(*args, **kwargs)
        bindings = kwargs.get("bindings") or args[1]
        outermost, token = not _inner.get(), _inner.set(True)
        try:
            with acting(str(bindings.public_agent.name)):
                result = await original(*args, **kwargs)
        finally:
            _inner.reset(token)
        step = result.next_step
        if outermost and type(step).__name__ == "NextStepFinalOutput":
            gate.note("final", {"text": str(step.output), "source": "adapter"})
        return result

    return turn


def _invoke(original: _Method) -> _Method:
    """One call of a function tool."""

    async def invoke(*, function_tool: Any, context: Any, arguments: str) -> Any:
        def run() -> Awaitable[object]:
            return original(function_tool=function_tool, context=context, arguments=arguments)

        gate = current_gate()
        if gate is None:
            return await run()
        agent = context.agent
        call = ToolCall(
            gate,
            actor=None if agent is None else str(agent.name),
            name=str(function_tool.name),
            arguments=arguments,
            call_id=context.tool_call_id,
            function=_function(function_tool),
            judge=_outcome,
            read_text=_text,
            pack=pack,
            unpack=unpack,
        )
        return await call.run_async(run)

    return invoke


def _function(tool: Any) -> object:
    """The program's own function in a tool; the tool's own way to be called where it was made without one."""
    try:
        return tool.__wrapped__
    except AttributeError:
        return tool.on_invoke_tool


def _outcome(value: object) -> Outcome:
    """A tool that raised or ran out of time has become a text by then."""
    return Outcome.FAILURE if cast("Any", value).is_sdk_generated_error else Outcome.SUCCESS


def _text(value: object) -> str | None:
    output = cast("Any", value).output
    return output if isinstance(output, str) else None


def _handoff(original: _Method) -> _Method:
    async def execute_handoffs(**kwargs: Any) -> Any:
        gate = current_gate()
        result = await original(**kwargs)
        agent = getattr(result.next_step, "new_agent", None)
        if gate is not None and agent is not None:
            gate.chose_speaker(str(agent.name), gate.issuer(kwargs["run_handoffs"][0].tool_call.call_id))
        return result

    return execute_handoffs


def _enter(run_loop: Any) -> None:
    wrap(run_loop, "run_single_turn", _turn)
    wrap(run_loop, "run_single_turn_streamed", _turn)
    wrap(sys.modules["agents.run_internal.tool_execution"], "_invoke_function_tool_with_metadata", _invoke)
    wrap(sys.modules["agents.run_internal.turn_resolution"], "execute_handoffs", _handoff)


ADAPTER = Adapter(name="openai_agents", distribution="openai-agents", proved_on=("0.24.0",), enter=_enter)
