"""AG2 classic (package `autogen` of the distribution `ag2`), proved on 0.13.3: synchronous, asynchronous, in threads.

Says who acts, the internal speaker selector included; records and serves tools where an agent executes them; says who
was chosen to speak, and what a person says; switches the response cache off, which would hide calls.

Entered at `OpenAIWrapper.create`, `execute_function`, `a_execute_function`, `initiate_chat` and `a_initiate_chat` of
`ConversableAgent`, `get_human_input` and `a_get_human_input` of it and of all its subclasses, `GroupChat.append`,
`select_speaker` and `a_select_speaker`, and `TerminationEvent`, all public. `run`, `run_iter`, group chats by pattern
and nested chats all come to these. Private and seen in 0.13.3: `OpenAIWrapper._config_list`, whose entries override
what `create` is given, and `_human_input` of an agent, which keeps the answers.

An executed tool is announced by two events on the agent's stream; they come for a served one too. What is raised in a
tool that AG2 runs in a thread of its own ends that thread, and AG2 raises `KeyError('value')` instead.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, cast

from anchored.adapters.adapter import Adapter, wrap, wrap_everywhere
from anchored.adapters.objects import pack, unpack
from anchored.boundary import Gate, HumanInput, Noticed, ToolCall, acting, current_gate
from anchored.events import Outcome

_Method = Callable[..., Any]
_depth: ContextVar[int] = ContextVar("anchored_ag2_chat_depth", default=0)
_asking: ContextVar[bool] = ContextVar("anchored_ag2_asking", default=False)
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
        pack=pack,
        unpack=unpack,
    )


def _execute(original: _Method) -> _Method:
    def execute_function(
        self: Any, func_call: dict[str, Any], call_id: str | None = None, verbose: bool = False
    ) -> Any:
        gate = current_gate()
        ran: list[bool] = []

        def run() -> object:
            ran.append(True)
            return original(self, func_call, call_id=call_id, verbose=verbose)

        if gate is None:
            return run()
        value = _call(gate, self, func_call, call_id).run(run)
        if not ran:
            _announce(self, func_call, call_id, value)
        return value

    return execute_function


def _execute_async(original: _Method) -> _Method:
    async def a_execute_function(
        self: Any, func_call: dict[str, Any], call_id: str | None = None, verbose: bool = False
    ) -> Any:
        gate = current_gate()
        ran: list[bool] = []

        async def run() -> object:
            ran.append(True)
            return await cast("Awaitable[object]", original(self, func_call, call_id=call_id, verbose=verbose))

        if gate is None:
            return await run()
        value = await _call(gate, self, func_call, call_id).run_async(run)
        if not ran:
            _announce(self, func_call, call_id, value)
        return value

    return a_execute_function


def _announce(agent: Any, func_call: dict[str, Any], call_id: str | None, value: object) -> None:
    """Sends what AG2 would have sent if it had run the tool that was served."""
    succeeded, said = cast("tuple[bool, dict[str, Any]]", value)
    name = func_call.get("name", "")
    arguments: object = {}
    stream = sys.modules["autogen.io.base"].IOStream.get_default()
    events: Any = sys.modules["autogen.events.agent_events"]
    if name in agent.function_map:
        try:
            arguments = json.loads(agent._format_json_str(func_call.get("arguments", "{}")))
        except json.JSONDecodeError:
            arguments = None
        else:
            stream.send(
                events.ExecuteFunctionEvent(func_name=name, call_id=call_id, arguments=arguments, recipient=agent)
            )
    stream.send(
        events.ExecutedFunctionEvent(
            func_name=name,
            call_id=call_id,
            arguments=arguments,
            content=said["content"],
            recipient=agent,
            is_exec_success=succeeded,
        )
    )


def _outcome(value: object) -> Outcome:
    """AG2 hands back `(whether it worked, message)`; a tool that raised has become a text by then."""
    return Outcome.SUCCESS if cast("tuple[bool, Any]", value)[0] is True else Outcome.FAILURE


def _text(value: object) -> str | None:
    content = cast("tuple[bool, dict[str, object]]", value)[1].get("content")
    return content if isinstance(content, str) else None


def _select_speaker(original: _Method) -> _Method:
    def select_speaker(self: Any, *args: Any, **kwargs: Any) -> Any:
        with _selecting() as chose:
            speaker = original(self, *args, **kwargs)
            chose(speaker)
        return speaker

    return select_speaker


def _select_speaker_async(original: _Method) -> _Method:
    async def a_select_speaker(self: Any, *args: Any, **kwargs: Any) -> Any:
        with _selecting() as chose:
            speaker = await original(self, *args, **kwargs)
            chose(speaker)
        return speaker

    return a_select_speaker


@contextmanager
def _selecting() -> Generator[Callable[[Any], None]]:
    """Who speaks next, and by which model call, if a model chose."""
    gate = current_gate()
    noticed = Noticed()

    def chose(speaker: Any) -> None:
        if gate is not None:
            gate.chose_speaker(str(speaker.name), noticed.model)

    with noticed.inside():
        yield chose


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
    def initiate_chat(self: Any, *args: Any, **kwargs: Any) -> Any:
        with _chatting() as ended:
            result = original(self, *args, **kwargs)
            ended(result)
        return result

    return initiate_chat


def _initiate_chat_async(original: _Method) -> _Method:
    async def a_initiate_chat(self: Any, *args: Any, **kwargs: Any) -> Any:
        with _chatting() as ended:
            result = await original(self, *args, **kwargs)
            ended(result)
        return result

    return a_initiate_chat


@contextmanager
def _chatting() -> Generator[Callable[[Any], None]]:
    """The final answer is the last message of a group chat, else the summary, of the outermost chat.

    Selector and nested chats lie inside it. The word TERMINATE is taken out, as AG2's own summary does.
    """
    gate = current_gate()
    outermost = _depth.get() == 0
    messages: list[str] = []

    def ended(result: Any) -> None:
        said = messages[0] if messages else getattr(result, "summary", None)
        if gate is not None and outermost and isinstance(said, str) and said:
            gate.note("final", {"text": said.replace("TERMINATE", "").strip(), "source": "adapter"})

    depth, held = _depth.set(_depth.get() + 1), _group_message.set(messages if outermost else _group_message.get())
    try:
        yield ended
    finally:
        _depth.reset(depth)
        _group_message.reset(held)


def _get_human_input(original: _Method) -> _Method:
    def get_human_input(self: Any, prompt: str, *args: Any, **kwargs: Any) -> Any:
        gate = current_gate()
        if gate is None or _asking.get():
            return original(self, prompt, *args, **kwargs)
        held = len(self._human_input)

        def ask() -> Any:
            with _one_question():
                return _with_kept(original(self, prompt, *args, **kwargs), self._human_input[held:])

        question = _question(gate, self, prompt)
        return _answer(self, held, question.read_line(ask) if _on_console(kwargs) else question.run(ask))

    return get_human_input


def _get_human_input_async(original: _Method) -> _Method:
    async def a_get_human_input(self: Any, prompt: str, *args: Any, **kwargs: Any) -> Any:
        gate = current_gate()
        if gate is None or _asking.get():
            return await original(self, prompt, *args, **kwargs)
        held = len(self._human_input)

        async def ask() -> Any:
            with _one_question():
                return _with_kept(await original(self, prompt, *args, **kwargs), self._human_input[held:])

        question = _question(gate, self, prompt)
        return _answer(
            self, held, await (question.read_line_async(ask) if _on_console(kwargs) else question.run_async(ask))
        )

    return a_get_human_input


def _with_kept(answer: Any, kept: list[Any]) -> Any:
    """The answer alone where the agent keeps just that; else both."""
    return answer if kept == [answer] else (answer, kept)


def _answer(agent: Any, held: int, said: Any) -> Any:
    """The answer, which the agent keeps as it kept it when it asked."""
    answer, kept = cast("tuple[Any, list[Any]]", said) if isinstance(said, tuple) else (said, [said])
    agent._human_input[held:] = kept
    return answer


def _question(gate: Gate, agent: Any, prompt: str) -> HumanInput:
    return HumanInput(gate, name="human_input", prompt=str(prompt), actor=str(agent.name))


@contextmanager
def _one_question() -> Generator[None]:
    """Inside, an agent's own way to ask may ask its class's, which is no second question."""
    token = _asking.set(True)
    try:
        yield
    finally:
        _asking.reset(token)


def _on_console(options: dict[str, Any]) -> bool:
    stream = options.get("iostream") or sys.modules["autogen.io.base"].IOStream.get_default()
    return type(stream).__name__ == "IOConsole"


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
    wrap(autogen.ConversableAgent, "a_initiate_chat", _initiate_chat_async)
    asking = {"get_human_input": _get_human_input, "a_get_human_input": _get_human_input_async}
    wrap_everywhere(autogen.ConversableAgent, asking)
    wrap(autogen.GroupChat, "append", _append)
    wrap(autogen.GroupChat, "select_speaker", _select_speaker)
    wrap(autogen.GroupChat, "a_select_speaker", _select_speaker_async)
    wrap(sys.modules["autogen.events.agent_events"].TerminationEvent, "__init__", _terminated)


ADAPTER = Adapter(name="ag2_classic", distribution="ag2", proved_on=("0.13.3",), enter=_enter, caches=("cache_seed",))
