"""smolagents, proved on 1.26.0.

Entered at `Tool.__call__` and `MultiStepAgent.__call__` (a managed agent), which tool-calling agents and generated code
alike pass, and, for a call's id and the model's own arguments, at `ToolCallingAgent.process_tool_calls` and
`execute_tool_call`; all public. Private: `MultiStepAgent._run_stream`, the steps of every run, streamed or not.

Code that a CodeAgent generates is no event: it runs again in a replay, since later code goes on with its variables, and
the tools and agents that it calls are served to it. `final_answer` is none either: it gives back what it is given.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing
from contextvars import ContextVar
from typing import Any

from anchored.adapters import Adapter, wrap
from anchored.boundary import ToolCall, acting, current_actor, current_gate, declaring

_asked: ContextVar[tuple[str, Any] | None] = ContextVar("smolagents_call", default=None)
"""Id and arguments of the call that a model asked for, from where they are known to the tool's own call."""


class _CalledName(str):
    """A tool's name on its way to the thread that runs it, which is told nothing else of the call."""

    call_id: str


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
        from smolagents.memory import FinalAnswerStep  # pyright: ignore[reportMissingImports]

        outermost = current_actor() is None
        with closing(original(self, *args, **more)) as steps:
            while True:
                with acting(self.name or self.agent_name):  # not while the consumer has the step
                    step = next(steps, _END)
                if step is _END:
                    return
                gate = current_gate()
                if outermost and gate is not None and isinstance(step, FinalAnswerStep):
                    gate.note("final", {"text": _text(step.output), "source": "adapter"})
                yield step

    return run_stream


_END = object()


def _process_tool_calls(original: Any) -> Any:
    def process_tool_calls(self: Any, *args: Any, **more: Any) -> Generator[Any]:
        from smolagents.memory import ToolCall as Asked  # pyright: ignore[reportMissingImports]

        calls: list[Any] = []
        try:
            for item in original(self, *args, **more):
                if current_gate() is not None and isinstance(item, Asked):
                    calls.append(item)
                    item.name = _CalledName(item.name)
                    item.name.call_id = item.id
                yield item
        finally:
            for item in calls:  # they go into the agent's memory
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
        from smolagents.agent_types import AgentText, handle_agent_output_types
        from smolagents.default_tools import FinalAnswerTool

        def run() -> Any:
            return original(self, *args, sanitize_inputs_outputs=sanitize_inputs_outputs, **more)

        gate = current_gate()
        if gate is None or type(self) is FinalAnswerTool:
            return run()
        call_id, arguments = _asked.get() or (None, {**dict(zip(self.inputs, args)), **more})
        tool = ToolCall(
            gate,
            actor=None,
            name=self.name,
            arguments=arguments,
            call_id=call_id,
            function=self.forward,
            read_text=_text,
            pack=lambda value: value.to_raw() if isinstance(value, AgentText) else value,
            unpack=lambda value: handle_agent_output_types(value, self.output_type)
            if sanitize_inputs_outputs
            else value,
        )
        token = _asked.set(None)  # a tool that this one calls is another
        try:
            return tool.run(run)
        finally:
            _asked.reset(token)

    return call


def _call_agent(original: Any) -> Any:
    def call(self: Any, task: str, **more: Any) -> Any:
        gate = current_gate()
        if gate is None:
            return original(self, task, **more)
        call_id, arguments = _asked.get() or (None, {"task": task, **more})
        tool = ToolCall(
            gate,
            actor=None,
            name=self.name,
            arguments=arguments,
            call_id=call_id,
            function=declaring("none"),  # what it does, its tools do
        )
        token = _asked.set(None)
        try:
            return tool.run(lambda: original(self, task, **more))
        finally:
            _asked.reset(token)

    return call


def _text(value: Any) -> str:
    """What a model reads of it; images and sounds would write themselves into a file."""
    return f"[{type(value).__name__}]" if hasattr(value, "to_string") and not isinstance(value, str) else str(value)


TOOLS = Adapter(name="smolagents", distribution="smolagents", proved_on=("1.26.0",), enter=_enter_tools)
AGENTS = Adapter(name="smolagents", distribution="smolagents", proved_on=("1.26.0",), enter=_enter_agents)
