"""AG2 classic (package `autogen` of the distribution `ag2`), proved on 0.13.3, synchronous.

Says who acts, the internal speaker selector included; records and serves tools where an agent executes them; says who
was chosen to speak; switches the response cache off, which would hide calls.

Entered at `OpenAIWrapper.create`, `ConversableAgent.execute_function`, `a_execute_function` and `initiate_chat`,
`GroupChat.append` and `select_speaker`, and `TerminationEvent`, all public. Private and seen in 0.13.3:
`OpenAIWrapper._config_list`, whose entries override what `create` is given.
"""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Any, cast

from anchored.adapters.adapter import Adapter, wrap
from anchored.boundary import Gate, ToolCall, acting, current_gate
from anchored.events import Outcome

_Method = Callable[..., Any]
_depth: ContextVar[int] = ContextVar("anchored_ag2_chat_depth", default=0)
_group_message: ContextVar[list[str] | None] = ContextVar("anchored_ag2_group_message", default=None)


def _create(original: _Method) -> _Method:
    """Model calls: the acting agent comes with the request; cached responses never answer in a model's place."""

    def create(self: Any, **config: Any) -> Any:
        if current_gate() is None:
            return original(self, **config)
        agent = config.get("agent")
        for settings in (config, *self._config_list):
            settings.pop("cache", None)
            settings.pop("cache_seed", None)
        with acting(getattr(agent, "name", None)):
            return original(self, **config)

    return create


def _call(gate: Gate, agent: Any, func_call: dict[str, Any], call_id: str | None) -> ToolCall:
    name = str(func_call.get("name", ""))
    return ToolCall(
        gate,
        actor=str(agent.name),
        name=name,
        arguments=cast("str | dict[str, object]", func_call.get("arguments", "{}")),
        call_id=call_id,
        function=agent.function_map.get(name),
        judge=_outcome,
        read_text=_text,
    )


def _execute(original: _Method) -> _Method:
    def execute_function(
        self: Any, func_call: dict[str, Any], call_id: str | None = None, verbose: bool = False
    ) -> Any:
        gate = current_gate()
        if gate is None:
            return original(self, func_call, call_id=call_id, verbose=verbose)
        call = _call(gate, self, func_call, call_id)
        return call.run(lambda: original(self, func_call, call_id=call_id, verbose=verbose))

    return execute_function


def _execute_async(original: _Method) -> _Method:
    async def a_execute_function(
        self: Any, func_call: dict[str, Any], call_id: str | None = None, verbose: bool = False
    ) -> Any:
        async def run() -> object:
            return await cast("Awaitable[object]", original(self, func_call, call_id=call_id, verbose=verbose))

        gate = current_gate()
        return await (run() if gate is None else _call(gate, self, func_call, call_id).run_async(run))

    return a_execute_function


def _outcome(value: object) -> Outcome:
    """AG2 hands back `(whether it worked, message)`; a tool that raised has become a text by then."""
    return Outcome.SUCCESS if cast("tuple[bool, Any]", value)[0] is True else Outcome.FAILURE


def _text(value: object) -> str | None:
    content = cast("tuple[bool, dict[str, object]]", value)[1].get("content")
    return content if isinstance(content, str) else None


def _select_speaker(original: _Method) -> _Method:
    """Who speaks next, and by which model call, if a model chose."""

    def select_speaker(self: Any, *args: Any, **kwargs: Any) -> Any:
        gate = current_gate()
        if gate is None:
            return original(self, *args, **kwargs)
        before = gate.last_model_end()
        speaker = original(self, *args, **kwargs)
        after = gate.last_model_end()
        if after != before:
            gate.chose_speaker(str(speaker.name), after)
        return speaker

    return select_speaker


def _append(original: _Method) -> _Method:
    """Every message of a group chat passes here; the last one that has a text is its answer."""

    def append(self: Any, message: Any, speaker: Any) -> Any:
        result = original(self, message, speaker)
        content = cast("dict[str, Any]", message).get("content") if isinstance(message, dict) else message
        held = _group_message.get()
        if held is not None and isinstance(content, str) and content.strip():
            held[:] = [content]
        return result

    return append


def _initiate_chat(original: _Method) -> _Method:
    """The final answer is the last message of a group chat, else the summary, of the outermost chat.

    Selector and nested chats lie inside it. The word TERMINATE is taken out, as AG2's own summary does.
    """

    def initiate_chat(self: Any, *args: Any, **kwargs: Any) -> Any:
        gate = current_gate()
        if gate is None or _depth.get() > 0:
            return original(self, *args, **kwargs)
        depth, messages = _depth.set(1), _group_message.set([])
        try:
            result = original(self, *args, **kwargs)
            said = _group_message.get() or [getattr(result, "summary", None)]
        finally:
            _depth.reset(depth)
            _group_message.reset(messages)
        if isinstance(said[0], str) and said[0]:
            gate.note("final", {"text": said[0].replace("TERMINATE", "").strip(), "source": "adapter"})
        return result

    return initiate_chat


def _terminated(original: _Method) -> _Method:
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        reason, gate = kwargs.get("termination_reason"), current_gate()
        if gate is not None and isinstance(reason, str):
            gate.note("stop_detail", {"text": reason})

    return __init__


def _enter(autogen: Any) -> None:
    wrap(autogen.OpenAIWrapper, "create", _create)
    wrap(autogen.ConversableAgent, "execute_function", _execute)
    wrap(autogen.ConversableAgent, "a_execute_function", _execute_async)
    wrap(autogen.ConversableAgent, "initiate_chat", _initiate_chat)
    wrap(autogen.GroupChat, "append", _append)
    wrap(autogen.GroupChat, "select_speaker", _select_speaker)
    wrap(sys.modules["autogen.events.agent_events"].TerminationEvent, "__init__", _terminated)


ADAPTER = Adapter(name="ag2_classic", distribution="ag2", proved_on=("0.13.3",), enter=_enter, caches=("cache_seed",))
