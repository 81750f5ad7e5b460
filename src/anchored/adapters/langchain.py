"""LangChain and LangGraph (distributions `langchain-core` and `langgraph`), proved on 1.8.3 and 1.2.24.

Says who acts: the node of a graph, after those that its graph is in (`team/writer/agent`). Records and serves tools
where they are run, by a ToolNode or directly, with their callbacks; says the final output of the outermost graph;
switches the caches of models and nodes off, which would hide calls.

Entered at `BaseTool.run` and `arun`, `BaseCache.lookup` and `alookup` of langchain-core, `Pregel.invoke` and
`ainvoke`, and `BaseCache.get` and `aget` of langgraph, all public. Private and seen in 1.8.3 and 1.2.24:
`BaseTool._filter_injected_args`, and `pregel._retry.run_with_retry` and `arun_with_retry`, which run a node.
"""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

from anchored.adapters.adapter import Adapter, wrap, wrap_everywhere
from anchored.adapters.objects import pack, unpack
from anchored.boundary import Gate, ToolCall, acting, current_gate
from anchored.events import Outcome, Unreplayable

_Method = Callable[..., Any]
_inner: ContextVar[bool] = ContextVar("anchored_langgraph_inner", default=False)
"""Whether this code is inside a graph's run, so that a graph in it is no outermost one."""


@dataclass(frozen=True, kw_only=True)
class BubbledUp:
    """What a tool raised to stop or leave its graph (an interrupt, a command for the parent): no failure."""

    kind: str
    arguments: tuple[Any, ...]
    attributes: dict[str, Any]

    @classmethod
    def of(cls, error: BaseException) -> BubbledUp:
        return cls(kind=type(error).__name__, arguments=error.args, attributes=dict(vars(error)))

    def error(self) -> BaseException:
        """The same exception again."""
        kind: Any = getattr(sys.modules["langgraph.errors"], self.kind)
        error: BaseException = kind.__new__(kind, *self.arguments)
        vars(error).update(self.attributes)
        return error


def _run(original: _Method) -> _Method:
    def run(self: Any, tool_input: Any, *args: Any, **kwargs: Any) -> Any:
        gate = current_gate()
        if gate is None:
            return original(self, tool_input, *args, **kwargs)
        ran = _Ran()

        def function() -> object:
            with ran:
                ran.value = original(self, tool_input, *args, **kwargs)
            return ran.value

        try:
            value = _call(gate, self, tool_input, kwargs).run(function)
        except Exception as error:
            if ran.began:
                raise
            return original(_stand_in(self, error=error), tool_input, *args, **kwargs)
        if ran.began:
            return ran.handed_on()
        return original(_stand_in(self, value=value), tool_input, *args, **kwargs)

    return run


def _arun(original: _Method) -> _Method:
    async def arun(self: Any, tool_input: Any, *args: Any, **kwargs: Any) -> Any:
        gate = current_gate()
        if gate is None:
            return await original(self, tool_input, *args, **kwargs)
        ran = _Ran()

        async def function() -> object:
            with ran:
                ran.value = await cast("Awaitable[object]", original(self, tool_input, *args, **kwargs))
            return ran.value

        try:
            value = await _call(gate, self, tool_input, kwargs).run_async(function)
        except Exception as error:
            if ran.began:
                raise
            return await original(_stand_in(self, error=error), tool_input, *args, **kwargs)
        if ran.began:
            return ran.handed_on()
        return await original(_stand_in(self, value=value), tool_input, *args, **kwargs)

    return arun


class _Ran:
    """Whether a tool's own code ran, and what came of it."""

    def __init__(self) -> None:
        self.began = False
        self.value: object = None
        self._error: BaseException | None = None

    def __enter__(self) -> None:
        self.began = True

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> bool:
        errors: Any = sys.modules.get("langgraph.errors")
        if error is None or errors is None or not isinstance(error, errors.GraphBubbleUp):
            return False
        self._error, self.value = error, BubbledUp.of(error)
        return True

    def handed_on(self) -> object:
        """The value for the program. Raises what the tool raised to leave its graph."""
        if self._error is not None:
            raise self._error
        return self.value


def _call(gate: Gate, tool: Any, tool_input: Any, settings: dict[str, Any]) -> ToolCall:
    kind = cast("Any", type(tool))
    return ToolCall(
        gate,
        actor=None,
        name=str(tool.name),
        arguments=_arguments(tool, tool_input),
        call_id=settings.get("tool_call_id"),
        function=getattr(tool, "func", None) or getattr(tool, "coroutine", None) or kind._run,
        judge=_outcome,
        read_text=_text,
        pack=pack,
        unpack=unpack,
    )


def _arguments(tool: Any, tool_input: Any) -> dict[str, object]:
    """What the model wrote; what the framework puts in (state, store, runtime) is left out."""
    if isinstance(tool_input, str):
        return {"tool_input": tool_input}
    given = cast("dict[str, object]", tool._filter_injected_args(tool_input))
    try:
        return cast("dict[str, object]", pack(given))
    except Unreplayable:
        return given


def _outcome(value: object) -> Outcome:
    return Outcome.FAILURE if getattr(value, "status", None) == "error" else Outcome.SUCCESS


def _text(value: object) -> str | None:
    content = getattr(value, "content", value)
    return content if isinstance(content, str) else None


def _stand_in(tool: Any, *, value: object = None, error: BaseException | None = None) -> Any:
    """A tool that hands out what was recorded of another, so that its callbacks are called as ever."""
    if isinstance(value, BubbledUp):
        error = value.error()
    return _served_class()(
        name=tool.name,
        description=tool.description,
        callbacks=tool.callbacks,
        tags=tool.tags,
        metadata=tool.metadata,
        verbose=tool.verbose,
    ).serving(tool, value, error)


@cache
def _served_class() -> Any:
    base: Any = sys.modules["langchain_core.tools.base"].BaseTool

    class Served(base):
        _tool: Any = None
        _value: object = None
        _error: BaseException | None = None

        def serving(self, tool: Any, value: object, error: BaseException | None) -> Any:
            self._tool, self._value, self._error = tool, value, error
            return self

        def _filter_injected_args(self, tool_input: Any) -> Any:
            return self._tool._filter_injected_args(tool_input)

        def _to_args_and_kwargs(self, tool_input: Any, tool_call_id: Any) -> Any:
            return (), {}

        def _run(self) -> object:
            if self._error is not None:
                raise self._error
            return self._value

        async def _arun(self) -> object:
            return self._run()

    return Served


def _node(original: _Method) -> _Method:
    def run_with_retry(task: Any, *args: Any, **kwargs: Any) -> Any:
        with acting(_path(task)):
            return original(task, *args, **kwargs)

    return run_with_retry


def _node_async(original: _Method) -> _Method:
    async def arun_with_retry(task: Any, *args: Any, **kwargs: Any) -> Any:
        with acting(_path(task)):
            return await original(task, *args, **kwargs)

    return arun_with_retry


def _path(task: Any) -> str:
    """The node's name after those that enclose it; ids and counters, which differ from run to run, are left out."""
    place = cast("str", task.config.get("metadata", {}).get("langgraph_checkpoint_ns") or task.name)
    names = [part.partition(":")[0] for part in place.split("|")]
    return "/".join(name for name in names if not name.isdigit())


def _invoke(original: _Method) -> _Method:
    def invoke(self: Any, *args: Any, **kwargs: Any) -> Any:
        with _run_of_graph() as say:
            return say(original(self, *args, **kwargs))

    return invoke


def _ainvoke(original: _Method) -> _Method:
    async def ainvoke(self: Any, *args: Any, **kwargs: Any) -> Any:
        with _run_of_graph() as say:
            return say(await original(self, *args, **kwargs))

    return ainvoke


@contextmanager
def _run_of_graph() -> Generator[Callable[[Any], Any]]:
    """Around a graph's run. What it gives says the final answer, the last message of an outermost graph."""
    outermost, token = not _inner.get(), _inner.set(True)

    def say(output: object) -> Any:
        gate = current_gate()
        messages: Any = cast("dict[str, Any]", output).get("messages") if isinstance(output, dict) else None
        text = _text(cast("list[object]", messages)[-1]) if isinstance(messages, list) and messages else None
        if gate is not None and outermost and text:
            gate.note("final", {"text": text, "source": "adapter"})
        return cast("Any", output)

    try:
        yield say
    finally:
        _inner.reset(token)


def _miss(original: _Method) -> _Method:
    """A look into a cache of models' answers."""

    def lookup(self: Any, *args: Any, **kwargs: Any) -> Any:
        return original(self, *args, **kwargs) if current_gate() is None else None

    return lookup


def _miss_async(original: _Method) -> _Method:
    async def alookup(self: Any, *args: Any, **kwargs: Any) -> Any:
        return await original(self, *args, **kwargs) if current_gate() is None else None

    return alookup


def _miss_node(original: _Method) -> _Method:
    """A look into a cache of what nodes wrote."""

    def get(self: Any, *args: Any, **kwargs: Any) -> Any:
        return original(self, *args, **kwargs) if current_gate() is None else {}

    return get


def _miss_node_async(original: _Method) -> _Method:
    async def aget(self: Any, *args: Any, **kwargs: Any) -> Any:
        return await original(self, *args, **kwargs) if current_gate() is None else {}

    return aget


def _enter_tools(module: Any) -> None:
    wrap(module.BaseTool, "run", _run)
    wrap(module.BaseTool, "arun", _arun)


def _enter_caches(module: Any) -> None:
    wrap_everywhere(module.BaseCache, {"lookup": _miss, "alookup": _miss_async})


def _enter_nodes(module: Any) -> None:
    wrap(module, "run_with_retry", _node)
    wrap(module, "arun_with_retry", _node_async)


def _enter_graphs(module: Any) -> None:
    wrap(module.Pregel, "invoke", _invoke)
    wrap(module.Pregel, "ainvoke", _ainvoke)


def _enter_node_caches(module: Any) -> None:
    wrap_everywhere(module.BaseCache, {"get": _miss_node, "aget": _miss_node_async})


def _core(enter: Callable[[Any], None], *caches: str) -> Adapter:
    return Adapter(
        name="langchain", distribution="langchain-core", proved_on=("1.8.3",), enter=enter, caches=tuple(caches)
    )


def _graph(enter: Callable[[Any], None], *caches: str) -> Adapter:
    return Adapter(name="langgraph", distribution="langgraph", proved_on=("1.2.24",), enter=enter, caches=tuple(caches))


TOOLS = _core(_enter_tools)
CACHES = _core(_enter_caches, "BaseCache of langchain_core")
NODES = _graph(_enter_nodes)
GRAPHS = _graph(_enter_graphs)
NODE_CACHES = _graph(_enter_node_caches, "BaseCache of langgraph")
