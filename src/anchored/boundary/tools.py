"""The door for tools: one call of a tool, recorded or served."""

from __future__ import annotations

import inspect
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator
from contextlib import aclosing, contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import ParamSpec, TypeAlias, TypeVar, cast

from anchored.boundary.actors import Noticed, current_actor, enclosed_by, stepwise, take_choice
from anchored.boundary.crossing import Crossing, Gate, Passage, Poisoned
from anchored.boundary.effects import EFFECT_ATTRIBUTE, EFFECTS, Effect
from anchored.boundary.failures import end_with_failure, failure_of, is_cancellation, rebuild
from anchored.boundary.lanes import inherit, inherited
from anchored.boundary.process import current_gate
from anchored.canonical import JsonObject
from anchored.events import (
    Kind,
    Outcome,
    Raised,
    ToolValue,
    Unreplayable,
    decode_value,
    encode_value,
    tool_request,
)
from anchored.replaying import SAFE_EFFECTS

Judge: TypeAlias = Callable[[object], Outcome]
"""Says of a tool's value whether the tool did what was asked."""

_P = ParamSpec("_P")
_R = TypeVar("_R")
_Names: TypeAlias = tuple[str | None, ...]
_INSIDE: ContextVar[_Names] = ContextVar("anchored_inside_tool")
"""Names of the tool that an adapter is running and of its function: its own decorator records it no second time."""


def _inside() -> _Names:
    """Those names here; frameworks run functions in threads, which have them from where they were started."""
    try:
        return _INSIDE.get()
    except LookupError:
        return cast("_Names", inherited("inside_tool") or ())


inherit("inside_tool", _inside)
_at_work: list[tuple[str, object]] = []
"""Name and arguments of each tool that runs now, in any task or thread; not of what goes to a tool server itself."""


def is_at_work(name: str, arguments: dict[str, object]) -> bool:
    """Whether the framework's own call of a tool server's tool runs now: its event stands for what goes to the server.

    A framework may put the server's name before the tool's, and may call the server in another task.
    """
    return any(called.endswith(name) and given == arguments for called, given in list(_at_work))


def _by_name(arguments: str | dict[str, object]) -> object:
    if not isinstance(arguments, str):
        return arguments
    try:
        return json.loads(arguments)
    except ValueError:
        return arguments


class ToolCall:
    """One call of a tool.

    Args:
        gate: this process's gate.
        actor: the acting agent; the current one if None.
        name: the tool's name.
        arguments: JSON text as the model wrote it, or the arguments by name.
        call_id: the framework's id of the call.
        function: the function behind the tool, for what its decorator declares.
        judge: outcome of a value; success by default.
        read_text: the text that a value hands to the model; the value itself if it is a str.
        pack: the plain data that is recorded of a value. Raises Unreplayable if there is none.
        unpack: the value again; inverts `pack`.
        cancellable: wraps a wait that the program may cancel by means of its own, where it does not cancel the task.
        kind: what kind of crossing; not every request to a tool server runs a tool.
        to_server: it is the request to a tool server itself. An equal one at the same time is an event of its own.
    """

    def __init__(
        self,
        gate: Gate,
        *,
        actor: str | None,
        name: str,
        arguments: str | dict[str, object],
        call_id: str | None = None,
        function: object = None,
        judge: Judge = lambda _: Outcome.SUCCESS,
        read_text: Callable[[object], str | None] = lambda value: value if isinstance(value, str) else None,
        pack: Callable[[object], object] = lambda value: value,
        unpack: Callable[[object], object] = lambda value: value,
        cancellable: Callable[[Coroutine[object, object, None]], Awaitable[None]] = lambda wait: wait,
        kind: Kind = "execute_tool",
        to_server: bool = False,
    ) -> None:
        self._gate = gate
        self._to_server = to_server
        self._pack = pack
        self._unpack = unpack
        self._judge = judge
        self._read_text = read_text
        self._cancellable = cancellable
        self._arguments = _by_name(arguments)
        self._function = getattr(function, "__name__", None)
        declared = gate.declared(name, function)
        request = tool_request(name=name, arguments=arguments)
        observation: JsonObject = {}
        if request.raw and not isinstance(arguments, str):
            try:
                encode_value(arguments)
            except Unreplayable as error:
                observation["unreplayable"] = f"arguments: {error}"
        self._crossing = Crossing(
            kind=kind,
            actor=actor if actor is not None else current_actor(),
            name=name,
            call_id=call_id,
            request=request,
            declared=declared,
            may_write=declared.effect not in SAFE_EFFECTS,
            observation=observation,
            chosen_by=take_choice(),
        )

    def run(self, function: Callable[[], object]) -> object:
        """The tool's value: recorded, or what `function` returns now. Raises what the tool raised."""
        passage = self._gate.begin(self._crossing)
        if passage.action == "serve":
            self._gate.wait(passage)
            return self._serve(passage)
        try:
            with self._running(passage):
                value = function()
        except Exception as error:
            self._gate.wait(passage)
            self._raised(passage, error)
            raise
        except BaseException as error:
            self._gave_up(passage, error)
            raise
        self._gate.wait(passage)
        return self._returned(passage, value)

    async def run_async(self, function: Callable[[], Awaitable[object]]) -> object:
        """`run` for a tool that is awaited."""
        passage = await self._gate.begin_async(self._crossing)
        if passage.action == "serve":
            await self._wait_to_serve(passage)
            return self._serve(passage)
        try:
            with self._running(passage):
                value = await function()
        except Exception as error:
            await self._gate.wait_async(passage)
            self._raised(passage, error)
            raise
        except BaseException as error:
            self._gave_up(passage, error)
            raise
        await self._gate.wait_async(passage)
        return self._returned(passage, value)

    async def run_stream(
        self, function: Callable[[], AsyncGenerator[object]], *, is_value: Callable[[object], bool]
    ) -> AsyncGenerator[object]:
        """`run_async` for a tool that hands out other things before its value, which comes last.

        They go to the program as they come, and are recorded with the value, in one list; so `pack`, `unpack`, `judge`
        and `read_text` get a list. Of a tool that encloses model calls or tools the list has the value alone: its own
        code runs in a replay, and hands out the rest again.
        """
        passage = await self._gate.begin_async(self._crossing)
        if passage.action == "serve":
            await self._wait_to_serve(passage)
            for item in cast("list[object]", self._serve(passage)):
                yield item
            return
        handed: list[object] = []
        noticed = Noticed()

        @contextmanager
        def around() -> Generator[None]:
            with self._running(passage), noticed.inside():
                yield

        try:
            async with aclosing(stepwise(function(), around)) as stream:
                async for item in stream:
                    handed.append(item)
                    if not is_value(item):
                        yield item
        except Exception as error:
            await self._gate.wait_async(passage)
            self._raised(passage, error)
            raise
        except BaseException as error:
            self._gave_up(passage, error)
            raise
        if noticed.last is not None:
            handed = [item for item in handed if is_value(item)]
        await self._gate.wait_async(passage)
        self._returned(passage, handed)
        for item in handed:
            if is_value(item):
                yield item

    async def _wait_to_serve(self, passage: Passage) -> None:
        """Until the recorded end has its turn; a call that was cancelled waits to be cancelled again."""
        if not isinstance(passage.result, Raised) or not is_cancellation(passage.result.error):
            await self._gate.wait_async(passage)
            return
        try:
            await self._cancellable(self._gate.wait_for_cancellation(passage))
        except BaseException as error:
            self._gave_up(passage, error)
            raise

    @contextmanager
    def _running(self, passage: Passage) -> Generator[None]:
        """Around the tool's own code: what it does is enclosed by its event."""
        token = _INSIDE.set((self._function, self._crossing.name))
        call = (self._crossing.name, self._arguments)
        if not self._to_server:
            _at_work.append(call)
        try:
            with enclosed_by(passage.begin.position if passage.begin else None):
                yield
        finally:
            if not self._to_server:
                _at_work.remove(call)
            _INSIDE.reset(token)

    def _serve(self, passage: Passage) -> object:
        result = passage.result
        if isinstance(result, Raised):
            error = rebuild(result.error)
            end_with_failure(self._gate, passage, error)
            raise error
        if not isinstance(result, ToolValue):
            raise self._gate.poison("recorder", "a tool's recorded result is no tool's value")
        try:
            value = self._unpack(decode_value(result.value))
        except Exception as error:  # the value may come from a user's file, the code from a framework
            raise self._gate.poison(
                "guard", f"a result does not fit the tool {self._crossing.name!r}: {error}"
            ) from error
        return self._returned(passage, value)

    def _returned(self, passage: Passage, value: object) -> object:
        """Hashes the value that the program is handed, whether it is live or served."""
        observation: JsonObject = {}
        try:
            result = ToolValue(value=encode_value(self._pack(value)))
        except Unreplayable as error:
            result = None
            observation["unreplayable"] = str(error)
        self._gate.end(
            passage,
            outcome=self._judge(value),
            result=result,
            observation=observation,
            text=self._read_text(value),
        )
        return value

    def _raised(self, passage: Passage, error: Exception) -> None:
        self._gate.end(passage, outcome=Outcome.FAILURE, result=Raised(error=failure_of(error)))

    def _gave_up(self, passage: Passage, error: BaseException) -> None:
        """The program is ended, or gave the call up."""
        if not isinstance(error, Poisoned):
            self._gate.end(passage, outcome=Outcome.ABORT, result=Raised(error=failure_of(error)))


def tool(*, effect: Effect) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """Declares what a tool does to the world, and makes a call of it an event.

    Under a framework with an adapter the framework's tool call is the event, and this only declares. Without
    `anchored record` or `replay` the function runs as it is.

    Args:
        effect: `none` (computes), `read` (looks at the world), `write` (changes it).

    Example:
        >>> @tool(effect="none")
        ... def double(number: int) -> int:
        ...     return 2 * number
        >>> double(21)
        42
    """
    if effect not in EFFECTS:
        raise ValueError(f"effect must be one of {', '.join(EFFECTS)}, not {effect!r}")

    def declare(function: Callable[_P, _R]) -> Callable[_P, _R]:
        name = getattr(function, "__name__", type(function).__name__)
        if inspect.iscoroutinefunction(function):
            return cast("Callable[_P, _R]", _awaited(function, name, effect))

        @wraps(function)
        def observed(*args: _P.args, **kwargs: _P.kwargs) -> _R:
            gate = current_gate()
            bound = None if gate is None else _bound(function, args, kwargs)
            if gate is None or bound is None or {name, observed.__name__} & set(_inside()):
                token = _INSIDE.set(())
                try:
                    return function(*args, **kwargs)
                finally:
                    _INSIDE.reset(token)
            call = ToolCall(gate, actor=None, name=name, arguments=bound, function=observed)
            return cast("_R", call.run(lambda: function(*args, **kwargs)))

        setattr(observed, EFFECT_ATTRIBUTE, effect)
        return observed

    return declare


def _awaited(function: Callable[..., Awaitable[object]], name: str, effect: Effect) -> Callable[..., Awaitable[object]]:
    """The same for a coroutine function."""

    @wraps(function)
    async def observed(*args: object, **kwargs: object) -> object:
        gate = current_gate()
        bound = None if gate is None else _bound(function, args, kwargs)
        if gate is None or bound is None or {name, observed.__name__} & set(_inside()):
            token = _INSIDE.set(())
            try:
                return await function(*args, **kwargs)
            finally:
                _INSIDE.reset(token)
        call = ToolCall(gate, actor=None, name=name, arguments=bound, function=observed)
        return await call.run_async(lambda: function(*args, **kwargs))

    setattr(observed, EFFECT_ATTRIBUTE, effect)
    return observed


def _bound(
    function: Callable[..., object], args: tuple[object, ...], kwargs: dict[str, object]
) -> dict[str, object] | None:
    """The arguments by name; None where they do not fit, which the function itself will say in its own words."""
    try:
        return dict(inspect.signature(function).bind(*args, **kwargs).arguments)
    except TypeError:
        return None
    except ValueError:  # a built-in that does not tell
        return {"args": list(args), "kwargs": dict(kwargs)}
