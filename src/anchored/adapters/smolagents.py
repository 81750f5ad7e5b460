"""smolagents, proved on 1.26.0: ToolCallingAgent, CodeAgent with its local executor, managed agents.

Entered at `Tool.__call__` and `MultiStepAgent.__call__` (a managed agent), which tool calling and generated code pass
alike, and, since only they know a call's id, at `ToolCallingAgent.process_tool_calls` and `execute_tool_call`; all
public. Private and seen in 1.26.0: `MultiStepAgent._run_stream`, the steps of every run, streamed or not.

Code that a CodeAgent generates is no event. It runs again in a replay, since later code goes on with its variables, and
the tools and agents that it calls are served to it. `final_answer` is none either: it gives back what it is given.
Requests have tool results as text of the user, without ids, so the order of an agent's steps is an edge (`step_order`).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from contextvars import ContextVar
from importlib import import_module
from typing import Any, cast

from anchored.adapters.adapter import Adapter, wrap
from anchored.adapters.objects import pack, unpack
from anchored.boundary import Gate, Step, ToolCall, acting, current_actor, current_gate, current_step, declaring

_END: Any = object()
_asked: ContextVar[tuple[str, object] | None] = ContextVar("anchored_smolagents_asked", default=None)
"""Id and arguments of the tool call that a model asked for, on their way to the tool."""


class _CalledName(str):
    """A tool's name on its way to the thread that runs it, which is told nothing else of the call."""

    call_id: str


class _Turn(Step):
    """One step of an agent: a model call, and the tools it leads to. Threads that are started in it inherit it."""

    def __init__(self, after: Sequence[Step] = ()) -> None:
        super().__init__(after=after, kind="step_order")
        self.tools: list[Step] = []

    def tool(self, *, call_id: str | None) -> Step:
        """Its next tool: in generated code it may depend on the one before; else the call id says on what."""
        step = Step(after=(self, *self.tools[-1:]) if call_id is None else (), kind="step_order")
        self.tools.append(step)
        return step


def _enter_tools(tools: Any) -> None:
    wrap(tools.Tool, "__call__", _call_tool)
    wrap(tools.PipelineTool, "__call__", _call_tool)


def _enter_agents(agents: Any) -> None:
    wrap(agents.MultiStepAgent, "__call__", _call_agent)
    wrap(agents.MultiStepAgent, "_run_stream", _run_stream)
    wrap(agents.ToolCallingAgent, "process_tool_calls", _process_tool_calls)
    wrap(agents.ToolCallingAgent, "execute_tool_call", _execute_tool_call)


def _run_stream(original: Any) -> Any:
    def run_stream(self: Any, *args: Any, **more: Any) -> Generator[Any]:
        steps, gate = original(self, *args, **more), current_gate()
        return steps if gate is None else _act(self.name or self.agent_name, steps, gate)

    return run_stream


def _act(actor: str, steps: Generator[Any], gate: Gate) -> Generator[Any]:
    """An agent's run. The agent acts while it makes a step, not while the consumer has it."""
    outermost, turn = current_actor() is None, _Turn()
    with closing(steps):
        while True:
            with acting(actor), turn.inside():
                step = next(steps, _END)
            kind = type(step).__name__
            if step is _END:
                return
            if kind in ("ActionStep", "PlanningStep"):
                turn = _Turn(turn.tools or (turn,))
            elif kind == "FinalAnswerStep" and outermost:
                gate.note("final", {"text": _text(step.output), "source": "adapter"})
            yield step


def _process_tool_calls(original: Any) -> Any:
    def process_tool_calls(self: Any, *args: Any, **more: Any) -> Generator[Any]:
        calls: list[Any] = []
        try:
            for item in original(self, *args, **more):
                if type(item).__name__ == "ToolCall" and current_gate() is not None:  # before any of them runs
                    calls.append(item)
                    item.name = _CalledName(item.name)
                    item.name.call_id = item.id
                yield item
        finally:
            for item in calls:  # they stay in the agent's memory
                item.name = str(item.name)

    return process_tool_calls


def _execute_tool_call(original: Any) -> Any:
    def execute_tool_call(self: Any, tool_name: str, arguments: Any) -> Any:
        if not isinstance(tool_name, _CalledName):
            return original(self, tool_name, arguments)
        token = _asked.set((tool_name.call_id, arguments))
        try:
            return original(self, str(tool_name), arguments)
        finally:
            _asked.reset(token)

    return execute_tool_call


def _call_tool(original: Any) -> Any:
    def call(self: Any, *args: Any, sanitize_inputs_outputs: bool = False, **more: Any) -> Any:
        def run() -> Any:
            return original(self, *args, sanitize_inputs_outputs=sanitize_inputs_outputs, **more)

        gate = current_gate()
        if gate is None or type(self).__name__ == "FinalAnswerTool":
            return run()
        by_name = {**dict(zip(self.inputs, args, strict=False)), **more}

        def restore(data: object) -> Any:
            value = unpack(data)
            if not sanitize_inputs_outputs:
                return value
            return import_module("smolagents.agent_types").handle_agent_output_types(value, self.output_type)

        return _run(gate, self.name, by_name, run, function=self.forward, pack=_pack, unpack=restore)

    return call


def _call_agent(original: Any) -> Any:
    def call(self: Any, task: str, **more: Any) -> Any:
        gate = current_gate()
        if gate is None:
            return original(self, task, **more)
        function = declaring("none")  # what its tools do is declared for each of them
        return _run(gate, self.name, {"task": task, **more}, lambda: original(self, task, **more), function=function)

    return call


def _run(gate: Gate, name: str, by_name: dict[str, object], run: Callable[[], Any], **more: Any) -> Any:
    call_id, asked = _asked.get() or (None, None)
    turn = current_step()
    tool = ToolCall(
        gate,
        actor=None,
        name=name,
        arguments=cast("dict[str, object]", asked) if isinstance(asked, dict) else by_name,
        call_id=call_id,
        read_text=_text,
        **more,
    )
    token = _asked.set(None)  # what this tool calls is another call
    try:
        if not isinstance(turn, _Turn):
            return tool.run(run)
        with turn.tool(call_id=call_id).inside():
            return tool.run(run)
    finally:
        _asked.reset(token)


def _pack(value: Any) -> object:
    return pack(value.to_raw() if type(value).__name__ == "AgentText" else value)


def _text(value: Any) -> str:
    """What a model gets to read of a value; an image or a sound would write itself into a file."""
    return f"[{type(value).__name__}]" if type(value).__name__ in ("AgentImage", "AgentAudio") else str(value)


TOOLS = Adapter(name="smolagents", distribution="smolagents", proved_on=("1.26.0",), enter=_enter_tools)
AGENTS = Adapter(name="smolagents", distribution="smolagents", proved_on=("1.26.0",), enter=_enter_agents)
