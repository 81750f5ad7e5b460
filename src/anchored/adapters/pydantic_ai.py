"""Pydantic AI (package `pydantic_ai` of the distribution `pydantic-ai-slim`), proved on 2.68.0.

Says which agent acts; records and serves tools where a toolset calls them, the outermost toolset of several that are
put around each other; says the final output. A tool that asks for approval or defers its call raises, and that is what
is recorded of it.

Entered at `AbstractToolset.call_tool`, which is public, wherever a toolset has its own. Private and seen in 2.68.0:
`_run_context.set_current_run_context`, which is around every model request, and `_output.OutputToolset`, which is no
tool of the program's.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from anchored.adapters.adapter import Adapter, wrap, wrap_everywhere
from anchored.adapters.objects import pack, unpack
from anchored.boundary import ToolCall, acting, current_gate
from anchored.events import Unreplayable

_Method = Callable[..., Any]
_calling: ContextVar[str | None] = ContextVar("anchored_pydantic_ai_calling", default=None)
"""The id of the call that a toolset is at, so that the toolsets inside it record it no second time."""


def _context(original: _Method) -> _Method:
    """Model calls: the acting agent is in the run context."""

    @contextmanager
    def set_current_run_context(run_context: Any) -> Generator[None]:
        with original(run_context), acting(_name(run_context)):
            yield

    return set_current_run_context


def _name(run_context: Any) -> str | None:
    name = getattr(getattr(run_context, "agent", None), "name", None)
    return name if isinstance(name, str) else None


def _call(original: _Method) -> _Method:
    async def call_tool(self: Any, name: str, tool_args: dict[str, Any], ctx: Any, tool: Any) -> Any:
        async def run() -> object:
            token = _calling.set(call_id)
            try:
                return await original(self, name, tool_args, ctx, tool)
            finally:
                _calling.reset(token)

        gate, call_id = current_gate(), ctx.tool_call_id or ""
        if gate is None or _calling.get() == call_id or type(self).__name__ == "OutputToolset":
            return await original(self, name, tool_args, ctx, tool)
        call = ToolCall(
            gate,
            actor=_name(ctx),
            name=name,
            arguments=_arguments(tool_args),
            call_id=ctx.tool_call_id,
            function=_function(tool),
            read_text=_text,
            pack=pack,
            unpack=unpack,
        )
        return await call.run_async(run)

    return call_tool


def _arguments(values: dict[str, Any]) -> dict[str, object]:
    """They were validated by then, and may be objects."""
    try:
        return {name: pack(value) for name, value in values.items()}
    except Unreplayable:
        return dict(values)


def _function(tool: Any) -> Any:
    """The program's own function: toolsets around others keep the tool that they were given as `source_tool`."""
    seen = 0
    while (inner := getattr(tool, "source_tool", None)) is not None and seen < 20:
        tool, seen = inner, seen + 1
    bound: Any = getattr(tool, "call_func", None)
    schema = getattr(bound, "__self__", None)
    return getattr(schema, "function", None)


def _text(value: object) -> str | None:
    said = getattr(value, "return_value", value)
    return said if isinstance(said, str) else None


def _run(original: _Method) -> _Method:
    """A run that is in no other's tool."""

    async def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        outermost = _calling.get() is None
        result = await original(self, *args, **kwargs)
        gate = current_gate()
        if gate is not None and outermost:
            gate.note("final", {"text": str(result.output), "source": "adapter"})
        return result

    return run


def _enter_context(module: Any) -> None:
    wrap(module, "set_current_run_context", _context)


def _enter_toolsets(module: Any) -> None:
    wrap_everywhere(module.AbstractToolset, {"call_tool": _call})


def _enter_agents(module: Any) -> None:
    wrap(module.AbstractAgent, "run", _run)


def _adapter(enter: Callable[[Any], None]) -> Adapter:
    return Adapter(name="pydantic_ai", distribution="pydantic-ai-slim", proved_on=("2.68.0",), enter=enter)


CONTEXT = _adapter(_enter_context)
TOOLSETS = _adapter(_enter_toolsets)
AGENTS = _adapter(_enter_agents)
