"""Tools of AutoGen: the calls that pass a workbench, and their results as plain data.

Private and seen in 0.7.5: `StaticWorkbench._tools` and `_override_name_to_original`, `FunctionTool._func`, which tell
the function behind a tool, and so what is declared of it.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator
from contextlib import aclosing, contextmanager
from contextvars import ContextVar
from typing import Any, cast

from anchored.adapters.adapter import wrap_everywhere
from anchored.adapters.objects import pack, unpack
from anchored.boundary import POISON_TEXT, Gate, Poisoned, ToolCall, current_gate, stepwise
from anchored.events import Outcome, Unreplayable

_Method = Callable[..., Any]
_Key = tuple[int, str, str | None]
_calls: ContextVar[_Key | None] = ContextVar("anchored_autogen_call", default=None)
"""The call whose own code runs: a workbench that asks the class it inherits from is recorded once."""


def wrap_workbenches(tools: Any) -> None:
    """Puts the door into every workbench of `autogen_core.tools` and its subclasses.

    Raises:
        AttributeError: there is none.
    """
    wrap_everywhere(tools.Workbench, {"call_tool": _call_tool, "call_tool_stream": _call_tool_stream})


def _call_tool(original: _Method) -> _Method:
    async def call_tool(
        self: Any,
        name: str,
        arguments: Any = None,
        cancellation_token: Any = None,
        call_id: str | None = None,
        **options: Any,
    ) -> Any:
        gate = current_gate()
        key = (id(self), name, call_id)
        if gate is None or _calls.get() == key:
            return await original(self, name, arguments, cancellation_token, call_id, **options)

        async def run() -> object:
            with _inside(key):
                return await original(self, name, arguments, cancellation_token, call_id, **options)

        call = _tool_call(gate, self, name, arguments, cancellation_token, call_id, stream=False)
        try:
            return await call.run_async(run)
        except Poisoned:
            return _poisoned(name)

    return call_tool


def _call_tool_stream(original: _Method) -> _Method:
    def call_tool_stream(
        self: Any,
        name: str,
        arguments: Any = None,
        cancellation_token: Any = None,
        call_id: str | None = None,
        **options: Any,
    ) -> Any:
        gate = current_gate()
        key = (id(self), name, call_id)

        def run() -> Any:
            return original(self, name, arguments, cancellation_token, call_id, **options)

        if gate is None or _calls.get() == key:
            return run()
        call = _tool_call(gate, self, name, arguments, cancellation_token, call_id, stream=True)
        return _streamed(call, name, lambda: stepwise(run(), lambda: _inside(key)))

    return call_tool_stream


async def _streamed(call: ToolCall, name: str, run: Callable[[], AsyncGenerator[object]]) -> AsyncGenerator[object]:
    try:
        async with aclosing(call.run_stream(run, is_value=_is_result)) as items:
            async for item in items:
                yield item
    except Poisoned:
        yield _poisoned(name)


@contextmanager
def _inside(key: _Key) -> Generator[None]:
    token = _calls.set(key)
    try:
        yield
    finally:
        _calls.reset(token)


def _tool_call(
    gate: Gate,
    workbench: Any,
    name: str,
    arguments: Any,
    cancellation_token: Any,
    call_id: str | None,
    *,
    stream: bool,
) -> ToolCall:
    def cancellable(wait: Coroutine[object, object, None]) -> Awaitable[None]:
        """A token cancels the futures that are linked to it, as the tool's own would be."""
        return wait if cancellation_token is None else cancellation_token.link_future(asyncio.ensure_future(wait))

    def result(value: object) -> Any:
        return cast("list[object]", value)[-1] if stream else value

    return ToolCall(
        gate,
        actor=None,
        name=name,
        arguments=dict(arguments or {}),
        call_id=call_id,
        function=_function(workbench, name),
        judge=lambda value: Outcome.FAILURE if result(value).is_error else Outcome.SUCCESS,
        read_text=lambda value: _single_text(result(value)),
        pack=(lambda value: _pack(cast("list[object]", value))) if stream else (lambda value: _pack([value])),
        unpack=_unpack if stream else (lambda data: _unpack(data)[-1]),
        cancellable=cancellable,
    )


def _function(workbench: Any, name: str) -> object:
    """The function behind a tool of a static workbench; None where there is none."""
    original = getattr(workbench, "_override_name_to_original", {}).get(name, name)
    for tool in getattr(workbench, "_tools", ()):
        if getattr(tool, "name", None) == original:
            return getattr(tool, "_func", None)
    return None


def _is_result(item: object) -> bool:
    return isinstance(item, _core("ToolResult"))


def _core(name: str) -> Any:
    return getattr(sys.modules["autogen_core.tools"], name)


def _poisoned(name: str) -> Any:
    return _core("ToolResult")(name=name, result=[_core("TextResultContent")(content=POISON_TEXT)], is_error=True)


def _single_text(result: Any) -> str | None:
    """The text of a result that is one text."""
    parts = result.result
    if len(parts) == 1 and type(parts[0]) is _core("TextResultContent"):
        return cast("str", parts[0].content)
    return None


def _pack(items: list[object]) -> object:
    """A result, and what was handed out before it, as a pair (whether it worked, message).

    The message holds `name` and `content`, a text; or `result`, the parts, where they are not one text. It holds
    `handed` where other things were handed out. `_unpack` inverts it.

    Raises:
        Unreplayable: no result ends the list, or a part of it cannot be rebuilt equal.
    """
    result: Any = items[-1] if items else None
    if type(result) is not _core("ToolResult"):
        raise Unreplayable("", type(result).__qualname__)
    text = _single_text(result)
    content = {"result": result.model_dump(mode="json")["result"]} if text is None else {"content": text}
    message: dict[str, object] = {"name": result.name, **content}
    if len(items) > 1:
        message["handed"] = pack(items[:-1])
    packed = (not result.is_error, message)
    if text is None and _unpack(packed)[-1] != result:
        raise Unreplayable("/result", type(result).__qualname__)
    return packed


def _unpack(data: object) -> list[object]:
    """Everything that was handed out, the result last. A text alone is a result that worked.

    Raises:
        ValueError, TypeError, KeyError: it was packed by something else.
    """
    worked, message = cast("tuple[bool, dict[str, Any]]", (True, {"content": data}) if isinstance(data, str) else data)
    parts = message["result"] if "result" in message else [{"type": "TextResultContent", "content": message["content"]}]
    result = {"name": message.get("name", ""), "result": parts, "is_error": not worked}
    handed = cast("list[object]", unpack(message.get("handed", [])))
    return [*handed, _core("ToolResult").model_validate(result)]
