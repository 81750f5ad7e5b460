"""AutoGen AgentChat (`autogen-agentchat`, `autogen-core`), proved on 0.7.5, on openai 2 and openai 3.

Says who acts: the agent whose message handler runs, without the team's suffix, managers and Magentic-One's orchestrator
included; outside of a team, the agent that is run. Records and serves tools at every workbench. Says by which model
call a speaker was chosen, what a person said, and what the outermost run answered and why it stopped.

Entered in `autogen_core` at `MessageHandlerContext.populate_context`, in `autogen_core.tools` at `Workbench.call_tool`
and `StreamWorkbench.call_tool_stream`, in `autogen_agentchat.agents` at `BaseChatAgent.on_messages`,
`on_messages_stream`, `run` and `run_stream`, in `autogen_agentchat.teams` at `BaseGroupChat.run` and `run_stream`, each
with all subclasses. Private and seen in 0.7.5: `BaseGroupChatManager.publish_message`,
`ChatAgentContainer.handle_request` and `MagenticOneOrchestrator._prepare_final_answer` in their private modules;
`UserProxyAgent._get_input`.

Nothing is raised in a tool: AutoGen hangs for ever on that. A poisoned session hands out an error there, and the next
model call ends the run.
"""

from __future__ import annotations

import re
import sys
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import aclosing, contextmanager
from contextvars import ContextVar
from types import ModuleType
from typing import Any, cast

from anchored.adapters.adapter import Adapter, wrap, wrap_everywhere
from anchored.adapters.autogen_tools import wrap_workbenches
from anchored.boundary import POISON_TEXT, Gate, Noticed, Poisoned, acting, chosen_by, current_gate, stepwise
from anchored.boundary.human import HumanInput

_Method = Callable[..., Any]
_TEAM = re.compile(r"(.+)_[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
"""A participant's agent type: its name and the team's id."""

_MAX_ROUNDS = "Max rounds reached."
"""Why Magentic-One makes its final answer where no ledger said so."""

_handler: ContextVar[Noticed | None] = ContextVar("anchored_autogen_handler", default=None)
_running: ContextVar[bool] = ContextVar("anchored_autogen_running", default=False)
_choices: dict[str, int] = {}
"""Agent type, which a team's id makes unique → begin of the model call by which it was asked to speak."""


def _populate_context(original: _Method) -> _Method:
    """A message handler runs: who acts, and which model calls it makes."""

    @contextmanager
    def populate_context(ctx: Any) -> Generator[None]:
        with original(ctx):
            if current_gate() is None:
                yield
                return
            noticed = Noticed()
            token = _handler.set(noticed)
            try:
                with acting(_agent_name(str(ctx.type))), noticed.inside():
                    yield
            finally:
                _handler.reset(token)

    return populate_context


def _agent_name(kind: str) -> str:
    team = _TEAM.fullmatch(kind)
    return team[1] if team else kind


def _publish_message(original: _Method) -> _Method:
    """A manager asks an agent to speak: by the latest model call of its handler, if it made one."""

    async def publish_message(self: Any, message: Any, topic_id: Any, **options: Any) -> Any:
        noticed = _handler.get()
        if type(message).__name__ == "GroupChatRequestPublish" and noticed is not None and noticed.model is not None:
            _choices[str(topic_id.type)] = noticed.model
        return await original(self, message, topic_id, **options)

    return publish_message


def _handle_request(original: _Method) -> _Method:
    async def handle_request(self: Any, message: Any, ctx: Any) -> Any:
        with chosen_by(_choices.pop(str(self.id.type), None)):
            return await original(self, message, ctx)

    return handle_request


def _prepare_final_answer(original: _Method) -> _Method:
    """The ledger that says the request is satisfied chooses the orchestrator itself, for the final answer."""

    async def _prepare_final_answer(self: Any, reason: Any, cancellation_token: Any) -> Any:
        noticed = _handler.get()
        ledger = None if noticed is None or reason == _MAX_ROUNDS else noticed.model
        with chosen_by(ledger):
            return await original(self, reason, cancellation_token)

    return _prepare_final_answer


def _on_messages(original: _Method) -> _Method:
    async def on_messages(self: Any, *args: Any, **options: Any) -> Any:
        with acting(str(self.name)):
            return await original(self, *args, **options)

    return on_messages


def _on_messages_stream(original: _Method) -> _Method:
    def on_messages_stream(self: Any, *args: Any, **options: Any) -> Any:
        stream = original(self, *args, **options)
        return stream if current_gate() is None else stepwise(stream, lambda: acting(str(self.name)))

    return on_messages_stream


def _get_input(original: _Method) -> _Method:
    """What a person says. AutoGen's own way to ask reads a line of standard input; of another it is not known."""

    async def _get_input(self: Any, prompt: str, cancellation_token: Any) -> Any:
        gate = current_gate()

        async def ask() -> str:
            return await original(self, prompt, cancellation_token)

        if gate is None:
            return await ask()
        question = HumanInput(gate, name="input", prompt=prompt, actor=str(self.name))
        reads = self.input_func is _module("autogen_agentchat.agents._user_proxy_agent").cancellable_input
        try:
            return await (question.read_line_async(ask) if reads else question.run_async(ask))
        except Poisoned as poisoned:  # a participant that raises anything but an Exception hangs
            raise RuntimeError(POISON_TEXT) from poisoned

    return _get_input


def _run(original: _Method) -> _Method:
    async def run(self: Any, *args: Any, **options: Any) -> Any:
        gate = current_gate()
        if gate is None or _running.get():
            return await original(self, *args, **options)
        noticed = Noticed()
        with _outermost(noticed):
            result = await original(self, *args, **options)
        _say(gate, result, noticed)
        return result

    return run


def _run_stream(original: _Method) -> _Method:
    def run_stream(self: Any, *args: Any, **options: Any) -> Any:
        stream = original(self, *args, **options)
        gate = current_gate()
        return stream if gate is None or _running.get() else _observed(gate, stream)

    return run_stream


async def _observed(gate: Gate, stream: AsyncGenerator[object]) -> AsyncGenerator[object]:
    noticed = Noticed()
    kind = sys.modules["autogen_agentchat.base"].TaskResult
    async with aclosing(stepwise(stream, lambda: _outermost(noticed))) as items:
        async for item in items:
            if isinstance(item, kind):
                _say(gate, item, noticed)
            yield item


@contextmanager
def _outermost(noticed: Noticed) -> Generator[None]:
    """Runs inside are part of this one, and say nothing of their own."""
    token = _running.set(True)
    try:
        with noticed.inside():
            yield
    finally:
        _running.reset(token)


def _say(gate: Gate, result: Any, noticed: Noticed) -> None:
    """The final answer and the reason to stop; of runs side by side, those of the one that made the last event."""
    after = -1 if noticed.last is None else noticed.last
    text = _answer(result)
    if text is not None:
        gate.note("final", {"text": text, "source": "adapter", "after": after})
    if isinstance(result.stop_reason, str):
        gate.note("stop_detail", {"text": result.stop_reason, "after": after})


def _answer(result: Any) -> str | None:
    """The last message that somebody else than the user says to the others."""
    kind = sys.modules["autogen_agentchat.messages"].BaseChatMessage
    for message in reversed(cast("list[Any]", result.messages)):
        if isinstance(message, kind) and message.source != "user":
            text = str(message.to_text())
            if text.strip():
                return text
    return None


def _enter_core(core: Any) -> None:
    wrap(core.MessageHandlerContext, "populate_context", _populate_context)


def _enter_agents(agents: Any) -> None:
    wrap_everywhere(
        agents.BaseChatAgent,
        {
            "on_messages": _on_messages,
            "on_messages_stream": _on_messages_stream,
            "run": _run,
            "run_stream": _run_stream,
        },
    )
    wrap(agents.UserProxyAgent, "_get_input", _get_input)


def _enter_teams(teams: Any) -> None:
    wrap_everywhere(teams.BaseGroupChat, {"run": _run, "run_stream": _run_stream})
    inside = "autogen_agentchat.teams._group_chat"
    wrap(_module(f"{inside}._base_group_chat_manager").BaseGroupChatManager, "publish_message", _publish_message)
    wrap(_module(f"{inside}._chat_agent_container").ChatAgentContainer, "handle_request", _handle_request)
    orchestrator = _module(f"{inside}._magentic_one._magentic_one_orchestrator").MagenticOneOrchestrator
    wrap(orchestrator, "_prepare_final_answer", _prepare_final_answer)


def _module(name: str) -> Any:
    return sys.modules[name]


def _adapter(distribution: str, enter: Callable[[ModuleType], None]) -> Adapter:
    return Adapter(name="autogen_agentchat", distribution=distribution, proved_on=("0.7.5",), enter=enter)


CORE = _adapter("autogen-core", _enter_core)
TOOLS = _adapter("autogen-core", wrap_workbenches)
AGENTS = _adapter("autogen-agentchat", _enter_agents)
TEAMS = _adapter("autogen-agentchat", _enter_teams)
