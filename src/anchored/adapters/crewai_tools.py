"""CrewAI's tools: recorded and served where an agent runs them.

Entered at `run` and `arun` of `BaseTool`, of `Tool` and their subclasses, at `invoke` and `ainvoke`
of `CrewStructuredTool` (where the model writes its calls as text), and at the two places that run native tool calls,
which know the call id. Private and seen in 1.15.30: `BaseTool._validate_kwargs` and `_claim_usage`,
`CrewStructuredTool._parse_args` and `_increment_usage_count`, `AgentExecutor._execute_single_native_tool_call`,
`ToolResultArtifactStore._artifact_ids` and `token_urlsafe` as `utilities.tool_result_artifacts` has it.

A served tool counts as used, as one that runs does, so that `max_usage_count` is the same afterwards.

A result that is too long for the model is kept in a file whose name is drawn anew in each run, and told to the model.
Under a gate the name is made from the result, or no such run could be replayed.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from hashlib import sha256
from importlib import import_module
from typing import Any, cast

from anchored.adapters.adapter import wrap, wrap_everywhere
from anchored.adapters.objects import pack, unpack
from anchored.boundary import ToolCall, current_gate, tool
from anchored.events import Outcome

_Method = Callable[..., Any]
_call_id: ContextVar[str | None] = ContextVar("anchored_crewai_call_id", default=None)
_running: ContextVar[object] = ContextVar("anchored_crewai_running", default=None)
"""The tool whose `run` is at work here, so that a method it inherits makes no second event."""

_artifact: ContextVar[str | None] = ContextVar("anchored_crewai_artifact", default=None)
"""What names the file that is being made of a long result."""


@contextmanager
def outside_tools() -> Generator[None]:
    """Inside, no tool is at work yet: a delegated task may come to the very tool that delegates."""
    token = _running.set(None)
    try:
        yield
    finally:
        _running.reset(token)


@tool(effect="none")
def _delegates() -> None:
    """What CrewAI's own delegation tools do to the world by themselves: they only give another agent a task."""


def enter_tools() -> None:
    """Puts the door for tools into CrewAI. Raises AttributeError where it does not fit."""
    base = import_module("crewai.tools.base_tool")
    structured = import_module("crewai.tools.structured_tool").CrewStructuredTool
    native = import_module("crewai.utilities.agent_utils")
    wrap_everywhere(base.BaseTool, {"run": _run, "arun": _run_async})
    wrap(structured, "invoke", _invoke)
    wrap(structured, "ainvoke", _invoke_async)
    wrap(import_module("crewai.agents.agent_executor").AgentExecutor, "_execute_single_native_tool_call", _native_call)
    artifacts = import_module("crewai.utilities.tool_result_artifacts")
    wrap(artifacts.ToolResultArtifactStore, "store", _store)
    wrap(artifacts, "token_urlsafe", _token)
    for importer in (native, import_module("crewai.agents.step_executor")):
        wrap(importer, "execute_single_native_tool_call", _native_function)


def _run(original: _Method) -> _Method:
    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        call = None if _running.get() is self else _tool_call(self, _arguments(args, kwargs))
        if call is None:
            return original(self, *args, **kwargs)
        use = _Use(self, lambda: original(self, *args, **kwargs))
        try:
            return call.run(use.run)
        finally:
            use.count(lambda: _claim(self, args, kwargs))

    return run


def _run_async(original: _Method) -> _Method:
    async def arun(self: Any, *args: Any, **kwargs: Any) -> Any:
        call = None if _running.get() is self else _tool_call(self, _arguments(args, kwargs))
        if call is None:
            return await original(self, *args, **kwargs)
        use = _Use(self, lambda: original(self, *args, **kwargs))
        try:
            return await call.run_async(use.run_async)
        finally:
            use.count(lambda: _claim(self, args, kwargs))

    return arun


def _invoke(original: _Method) -> _Method:
    def invoke(self: Any, input: Any, *args: Any, **kwargs: Any) -> Any:
        call = _tool_call(self, input)
        if call is None:
            return original(self, input, *args, **kwargs)
        use = _Use(self, lambda: original(self, input, *args, **kwargs))
        try:
            return call.run(use.run)
        finally:
            use.count(lambda: _count(self, input))

    return invoke


def _invoke_async(original: _Method) -> _Method:
    async def ainvoke(self: Any, input: Any, *args: Any, **kwargs: Any) -> Any:
        call = _tool_call(self, input)
        if call is None:
            return await original(self, input, *args, **kwargs)
        use = _Use(self, lambda: original(self, input, *args, **kwargs))
        try:
            return await call.run_async(use.run_async)
        finally:
            use.count(lambda: _count(self, input))

    return ainvoke


class _Use:
    """One use of a tool: whether it ran, and what is done if it did not."""

    def __init__(self, used: object, function: Callable[[], Any]) -> None:
        self._used = used
        self._function = function
        self._ran = False

    def run(self) -> object:
        token = self._start()
        try:
            return self._function()
        finally:
            _running.reset(token)

    async def run_async(self) -> object:
        token = self._start()
        try:
            return await cast("Awaitable[object]", self._function())
        finally:
            _running.reset(token)

    def count(self, count: Callable[[], None]) -> None:
        """Counts the use of a tool that was served."""
        if not self._ran:
            count()

    def _start(self) -> Any:
        self._ran = True
        return _running.set(self._used)


def _claim(used: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Counts a use as `BaseTool.run` does: if the arguments are right, and the limit is not reached."""
    with suppress(Exception):
        if not args:
            used._validate_kwargs(kwargs)
        used._claim_usage()


def _count(used: Any, given: Any) -> None:
    """Counts a use as `CrewStructuredTool.invoke` does."""
    with suppress(Exception):
        used._parse_args(given)
        if not used.has_reached_max_usage_count():
            used._increment_usage_count()


def _arguments(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, object]:
    return {"args": list(args), **kwargs} if args else dict(kwargs)


def _tool_call(used: Any, arguments: object) -> ToolCall | None:
    gate = current_gate()
    if gate is None:
        return None
    return ToolCall(
        gate,
        actor=None,
        name=import_module("crewai.utilities.string_utils").sanitize_tool_name(used.name),
        arguments=cast("str | dict[str, object]", arguments),
        call_id=_call_id.get(),
        function=_function_of(used),
        judge=lambda value: Outcome.FAILURE if _is_failure(value) else Outcome.SUCCESS,
        read_text=_text,
        pack=pack,
        unpack=unpack,
    )


def _function_of(used: Any) -> object:
    """The function behind a tool, for what is declared of it."""
    origin = getattr(used, "_original_tool", None) or used
    kind: Any = type(origin)  # pyright: ignore[reportUnknownVariableType]
    if kind.__module__.startswith("crewai.tools.agent_tools.") and kind.__name__ in (
        "DelegateWorkTool",
        "AskQuestionTool",
    ):
        return _delegates
    return getattr(origin, "func", None) or kind._run


def _is_failure(value: object) -> bool:
    return isinstance(value, import_module("crewai.tools.tool_failure").ToolFailure)


def _text(value: object) -> str | None:
    if _is_failure(value):
        return cast("Any", value).as_agent_message()
    return value if isinstance(value, str) else None


def _native_call(original: _Method) -> _Method:
    def _execute_single_native_tool_call(self: Any, tool_call: Any) -> Any:
        with _called(tool_call):
            return original(self, tool_call)

    return _execute_single_native_tool_call


def _native_function(original: _Method) -> _Method:
    def execute_single_native_tool_call(tool_call: Any, *args: Any, **kwargs: Any) -> Any:
        with _called(tool_call):
            return original(tool_call, *args, **kwargs)

    return execute_single_native_tool_call


@contextmanager
def _called(tool_call: Any) -> Generator[None]:
    """Inside, a tool runs for a native tool call."""
    info = import_module("crewai.utilities.agent_utils").extract_tool_call_info(tool_call)
    token = _call_id.set(str(info[0]) if info else None)
    try:
        yield
    finally:
        _call_id.reset(token)


def _store(original: _Method) -> _Method:
    def store(self: Any, content: str, *args: Any, **kwargs: Any) -> Any:
        if current_gate() is None:
            return original(self, content, *args, **kwargs)
        number = len(self._artifact_ids)  # the same result may come twice
        named = sha256(f"{number} {content}".encode("utf-8", "surrogatepass")).hexdigest()
        token = _artifact.set(named)
        try:
            return original(self, content, *args, **kwargs)
        finally:
            _artifact.reset(token)

    return store


def _token(original: _Method) -> _Method:
    def token_urlsafe(size: int | None = None) -> str:
        named = _artifact.get()
        return original(size) if named is None else named[:22]

    return token_urlsafe
