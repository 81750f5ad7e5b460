"""CrewAI, proved on 1.15.30: crews in every process, standalone agents, flows.

Says who acts; records and serves tools (`crewai_tools`) and what a person says; says in which order tasks follow each
other and what the final answer is; switches the cache of tool results off, which would hide calls. Under a gate there
is no telemetry and no look for a newer version: both call out in the background, and a replay would be refused.

`crewai run` starts the crew by `uv run`, in an environment that it makes anew out of its own: what a replay keeps there
for children is put in, so that the launcher may start it.

Entered at `call` and `acall` of every subclass of `BaseLLM`, `execute_task` and `kickoff` of `Agent`, `execute_sync`,
`execute_async` and `aexecute_sync` of `Task`, `kickoff` of `Crew` and `Flow`, and `CacheHandler.read`. Private and seen
in 1.15.30: `Task._execute_task_async`, `SyncHumanInputProvider._prompt_input` and `_prompt_input_async`,
`ConsoleFormatter._show_version_update_message_if_needed`, `Telemetry._is_telemetry_disabled`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from importlib import import_module
from inspect import isawaitable
from typing import Any

from anchored.adapters.adapter import Adapter, wrap, wrap_everywhere
from anchored.adapters.crewai_tools import enter_tools, outside_tools
from anchored.boundary import HumanInput, Poisoned, Step, acting, current_gate, pass_on_proxies

_Method = Callable[..., Any]
_FROM_AGENT = 5
"""Place of `from_agent` among the arguments of `BaseLLM.call`."""

_depth: ContextVar[int] = ContextVar("anchored_crewai_depth", default=0)
_order: ContextVar[_Order | None] = ContextVar("anchored_crewai_order", default=None)


class _Order:
    """In which order a crew starts its tasks: one that is not asynchronous waits for all before it."""

    def __init__(self) -> None:
        self._last: list[Step] = []
        self._open: list[Step] = []

    def start(self, *, asynchronous: bool) -> Step:
        """The step of the task that starts now."""
        if asynchronous:
            step = Step(after=self._last, kind="task_order")
            self._open.append(step)
            return step
        step = Step(after=self._open or self._last, kind="task_order")
        self._last, self._open = [step], []
        return step


def _role(agent: Any) -> str | None:
    role = getattr(agent, "role", None)
    return role.strip() if isinstance(role, str) else None


@contextmanager
def _as(agent: Any) -> Generator[None]:
    """Inside, this agent acts; without one, who acted before does."""
    role = _role(agent)
    if role is None:
        yield
    else:
        with acting(role):
            yield


def _call(original: _Method) -> _Method:
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        with _as(_asking(args, kwargs)):
            return original(self, *args, **kwargs)

    return call


def _call_async(original: _Method) -> _Method:
    async def acall(self: Any, *args: Any, **kwargs: Any) -> Any:
        with _as(_asking(args, kwargs)):
            return await original(self, *args, **kwargs)

    return acall


def _asking(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return kwargs.get("from_agent", args[_FROM_AGENT] if len(args) > _FROM_AGENT else None)


def _execute(original: _Method) -> _Method:
    def execute_task(self: Any, *args: Any, **kwargs: Any) -> Any:
        with _as(self), outside_tools():
            return original(self, *args, **kwargs)

    return execute_task


def _execute_awaited(original: _Method) -> _Method:
    async def aexecute_task(self: Any, *args: Any, **kwargs: Any) -> Any:
        with _as(self), outside_tools():
            return await original(self, *args, **kwargs)

    return aexecute_task


@contextmanager
def _task(task: Any, agent: Any, *, asynchronous: bool) -> Generator[None]:
    """Inside, a task is worked on, in its place among those of its crew."""
    order = _order.get()
    with ExitStack() as inside:
        inside.enter_context(_as(agent or getattr(task, "agent", None)))
        if order is not None:
            inside.enter_context(order.start(asynchronous=asynchronous).inside())
        yield


def _execute_sync(original: _Method) -> _Method:
    def execute_sync(self: Any, agent: Any = None, *args: Any, **kwargs: Any) -> Any:
        with _task(self, agent, asynchronous=False):
            return original(self, agent, *args, **kwargs)

    return execute_sync


def _execute_async(original: _Method) -> _Method:
    """Starts a thread, which has what is set here."""

    def execute_async(self: Any, agent: Any = None, *args: Any, **kwargs: Any) -> Any:
        with _task(self, agent, asynchronous=True):
            return original(self, agent, *args, **kwargs)

    return execute_async


def _aexecute_sync(original: _Method) -> _Method:
    """Asks for its place when it is called: the task that awaits it starts later."""

    def aexecute_sync(self: Any, agent: Any = None, *args: Any, **kwargs: Any) -> Any:
        order = _order.get()
        step = None if order is None else order.start(asynchronous=self.async_execution is True)

        async def execute() -> Any:
            with ExitStack() as inside:
                inside.enter_context(_as(agent or getattr(self, "agent", None)))
                if step is not None:
                    inside.enter_context(step.inside())
                return await original(self, agent, *args, **kwargs)

        return execute()

    return aexecute_sync


def _in_thread(original: _Method) -> _Method:
    """A replay that ended in a thread of a task must not leave the crew waiting for that task."""

    def _execute_task_async(self: Any, agent: Any, context: Any, tools: Any, future: Any) -> None:
        try:
            original(self, agent, context, tools, future)
        except Poisoned as error:
            future.set_exception(error)

    return _execute_task_async


@contextmanager
def _kickoff(*, crew: bool) -> Generator[Callable[[Any], None]]:
    """Around a run of a crew, an agent or a flow. What it is called with at the end is the final answer of the
    outermost one.
    """
    outermost = _depth.get() == 0
    depth = _depth.set(_depth.get() + 1)
    order = _order.set(_Order()) if crew else None

    def say(result: Any) -> None:
        text = result if isinstance(result, str) else getattr(result, "raw", None)
        gate = current_gate()
        if outermost and gate is not None and isinstance(text, str) and text:
            gate.note("final", {"text": text, "source": "adapter"})

    try:
        yield say
    finally:
        _depth.reset(depth)
        if order is not None:
            _order.reset(order)


def _kicked_off(*, crew: bool) -> Callable[[_Method], _Method]:
    def make(original: _Method) -> _Method:
        def kickoff(self: Any, *args: Any, **kwargs: Any) -> Any:
            with _as(self), _kickoff(crew=crew) as say:
                result = original(self, *args, **kwargs)
                if not isawaitable(result):
                    say(result)
                    return result

            async def kicked_off() -> Any:
                with _as(self), _kickoff(crew=crew) as say:
                    awaited = await result
                    say(awaited)
                    return awaited

            return kicked_off()

        return kickoff

    return make


def _uncached(original: _Method) -> _Method:
    def read(self: Any, *args: Any, **kwargs: Any) -> Any:
        return None if current_gate() is not None else original(self, *args, **kwargs)

    return read


def _never(original: _Method) -> _Method:
    """Looking for a newer version is a call to the world that depends on the day, and no part of the run."""

    def _show_version_update_message_if_needed(self: Any) -> None:
        if current_gate() is None:
            original(self)

    return _show_version_update_message_if_needed


def _prompt(original: _Method) -> _Method:
    def _prompt_input(crew: Any) -> Any:
        gate = current_gate()
        if gate is None:
            return original(crew)
        return HumanInput(gate, name="feedback").read_line(lambda: original(crew))

    return _prompt_input


def _prompt_awaited(original: _Method) -> _Method:
    async def _prompt_input_async(crew: Any) -> Any:
        gate = current_gate()
        if gate is None:
            return await original(crew)
        return await HumanInput(gate, name="feedback").read_line_async(lambda: original(crew))

    return _prompt_input_async


def _wrap_static(owner: Any, name: str, make: Callable[[_Method], _Method]) -> None:
    wrap(owner, name, make)
    setattr(owner, name, staticmethod(getattr(owner, name)))


def _enter(crewai: Any) -> None:
    enter_tools()
    wrap_everywhere(crewai.BaseLLM, {"call": _call, "acall": _call_async})
    wrap(crewai.Agent, "execute_task", _execute)
    wrap(crewai.Agent, "aexecute_task", _execute_awaited)
    wrap(crewai.Task, "execute_sync", _execute_sync)
    wrap(crewai.Task, "execute_async", _execute_async)
    wrap(crewai.Task, "aexecute_sync", _aexecute_sync)
    wrap(crewai.Task, "_execute_task_async", _in_thread)
    for name in ("kickoff", "akickoff"):
        wrap(crewai.Crew, name, _kicked_off(crew=True))
    for owner in (crewai.Agent, crewai.Flow):
        for name in ("kickoff", "kickoff_async"):
            wrap(owner, name, _kicked_off(crew=False))
    wrap(import_module("crewai.agents.cache.cache_handler").CacheHandler, "read", _uncached)
    console = import_module("crewai.events.utils.console_formatter").ConsoleFormatter
    wrap(console, "_show_version_update_message_if_needed", _never)
    asker = import_module("crewai.core.providers.human_input").SyncHumanInputProvider
    _wrap_static(asker, "_prompt_input", _prompt)
    _wrap_static(asker, "_prompt_input_async", _prompt_awaited)


ADAPTER = Adapter(
    name="crewai", distribution="crewai", proved_on=("1.15.30",), enter=_enter, caches=("tool results (CacheHandler)",)
)


def _environment(original: _Method) -> _Method:
    def build_env_with_all_tool_credentials() -> dict[str, Any]:
        made: dict[str, Any] = original()
        return made if current_gate() is None else pass_on_proxies(made)

    return build_env_with_all_tool_credentials


def _silent(original: _Method) -> _Method:
    def _is_telemetry_disabled() -> bool:
        return current_gate() is not None or bool(original())

    return _is_telemetry_disabled


TELEMETRY = Adapter(
    name="crewai_telemetry",
    distribution="crewai-core",
    proved_on=("1.15.30",),
    enter=lambda module: _wrap_static(module.Telemetry, "_is_telemetry_disabled", _silent),
)

LAUNCHER = Adapter(
    name="crewai_run",
    distribution="crewai-core",
    proved_on=("1.15.30",),
    enter=lambda module: wrap(module, "build_env_with_all_tool_credentials", _environment),
)
