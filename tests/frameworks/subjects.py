"""The programs that stand for frameworks, and which of their modes is tried for what."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from anchored.testing.conformance import Subject

from .programs.crewai_quiet import PLACES, QUIET

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = Path(__file__).with_name("programs")
OPENAI2 = ROOT / ".venv-openai2" / "bin" / "python"
OPENAI3 = ROOT / ".venv-openai3" / "bin" / "python"
ORDER_FROM_OUTSIDE = frozenset({"semaphore", "lock", "pool_of_one", "blocking_in_a_loop"})


@dataclass(frozen=True, kw_only=True)
class Stood:
    """A subject, the script of its endpoint, and the program of its tool server, which listens at MCP_PORT.

    Attributes:
        sampled: whether `make test` tries it; not what has tests of its own, or is as its neighbour.
    """

    subject: Subject
    script: Path
    server: Path | None = None
    sampled: bool = True

    @property
    def python(self) -> Path:
        """The interpreter of its environment."""
        return Path(self.subject.command[0])


SILENT = {"OPENAI_API_KEY": "none", "OPENAI_AGENTS_DISABLE_TRACING": "1", "LANGSMITH_TRACING": "false", **QUIET}
"""Set outside: a program that sets what its framework reads when it is loaded cannot be forked."""


def stood(
    name: str,
    python: Path,
    program: str,
    script: str,
    modes: dict[str, tuple[str, ...]],
    *,
    environment: Mapping[str, str] | None = None,
    server: str | None = None,
    sampled: bool = True,
) -> Stood:
    """A subject; `program` is a file of `programs`, with arguments that come before the mode."""
    file, *arguments = program.split()
    return Stood(
        subject=Subject(
            name=name,
            command=(str(python), str(PROGRAMS / file), *arguments),
            folder=PROGRAMS,
            modes=modes,  # pyright: ignore[reportArgumentType]
            environment={**SILENT, **(environment or {})},
            order_refused=ORDER_FROM_OUTSIDE,
        ),
        script=PROGRAMS / script,
        server=None if server is None else PROGRAMS / server,
        sampled=sampled,
    )


RACING = {
    "full replay": ("one_by_one",),
    "parallel": (
        "different",
        "identical",
        "tools",
        "first_wins",
        "cancelled_before_the_wire",
        "threads",
        "identical_threads",
        "first_thread_wins",
        "semaphore",
        "lock",
        "pool_of_one",
        "blocking_in_a_loop",
    ),
    "stream": ("streams",),
    "async": ("different",),
    "error": ("timed_out",),
}
CREWAI = {
    "full replay": ("sequential",),
    "parallel": ("parallel", "async_tasks", "kickoff_async", "identical"),
    "nested": ("delegation", "hierarchical"),
    "stream": ("stream", "crew_stream"),
    "async": ("akickoff",),
    "error": ("tool_error", "retry", "sdk_retry"),
}
AUTOGEN = {
    "full replay": ("selector", "magentic", "round_robin"),
    "parallel": ("parallel_tools", "graph_shared", "graph_separate", "twins"),
    "nested": ("agent_tool", "team_tool"),
    "stream": ("streamed",),
    "async": ("round_robin", "magentic"),
    "error": ("tool_error", "cancelled_tool", "limited", "failing"),
}
AG2 = {
    "full replay": ("single", "hub"),
    "parallel": ("parallel", "identical"),
    "nested": ("nested", "subtasks"),
    "stream": ("stream",),
    "async": ("discussion", "workflow"),
    "error": ("429", "500", "tool-error"),
}
AG2_CLASSIC = {
    "full replay": ("single", "group"),
    "parallel": ("parallel", "threads", "identical"),
    "nested": ("nested", "nested-async"),
    "stream": ("stream", "stream-async"),
    "async": ("single-async", "group-async"),
    "error": ("429", "tool-error", "tool-error-async"),
}
OPENAI_AGENTS = {
    "full replay": ("single", "handoff", "chat_single"),
    "parallel": ("parallel", "gather", "gather_parallel"),
    "nested": ("nested", "nested_parallel"),
    "stream": ("stream", "stream_nested"),
    "async": ("chat_parallel",),
    "error": ("error", "tool_error"),
}
LANGGRAPH = {
    "full replay": ("single", "async_single"),
    "parallel": ("parallel", "async_parallel", "gather", "async_gather"),
    "nested": ("nested", "nested_parallel", "subgraph"),
    "stream": ("stream", "async_stream"),
    "async": ("async_nested",),
    "error": ("error", "tool_error"),
}
PYDANTIC_AI = {
    "full replay": ("single", "structured"),
    "parallel": ("parallel", "gather", "gather_parallel"),
    "nested": ("nested", "nested_parallel"),
    "stream": ("stream",),
    "error": ("error", "tool_error"),
}
SMOLAGENTS = {
    "full replay": ("single", "code", "planning", "object", "values"),
    "parallel": ("parallel", "twins", "gather", "gather_parallel", "alternating"),
    "nested": ("nested", "nested_parallel", "nested_code", "team", "container"),
    "stream": ("stream", "stream_code"),
    "error": ("error", "tool_error", "tool_error_parallel", "code_error", "swallowed"),
}
OPENAI = {
    "full replay": ("chat_single", "responses_single"),
    "parallel": ("chat_gather_parallel", "chat_threads", "responses_gather_parallel"),
    "nested": ("chat_nested", "responses_nested"),
    "stream": ("chat_stream", "responses_stream_async"),
    "async": ("chat_async", "responses_async"),
    "error": ("chat_error", "chat_timeout", "responses_down", "responses_tool_error"),
}
ANTHROPIC = {
    "full replay": ("messages_single",),
    "parallel": ("messages_gather_parallel", "messages_threads"),
    "nested": ("messages_nested",),
    "stream": ("messages_stream", "messages_stream_async"),
    "async": ("messages_async",),
    "error": ("messages_error", "messages_down", "messages_timeout_async"),
}
LITELLM = {
    "full replay": ("litellm_single",),
    "parallel": ("litellm_gather_parallel",),
    "nested": ("litellm_nested",),
    "stream": ("litellm_stream_async",),
    "async": ("litellm_async",),
    "error": ("litellm_error", "litellm_timeout"),
}
HTTPX = {
    "full replay": ("whole",),
    "parallel": ("racing", "async"),
    "stream": ("streamed", "between", "early", "cutstream"),
    "async": ("async_streamed",),
    "error": ("retried", "timeout", "async_timeout", "cut"),
}
AIOHTTP = {
    "full replay": ("whole",),
    "parallel": ("racing",),
    "stream": ("streamed", "between", "early", "cutstream"),
    "error": ("retried", "timeout", "refused", "cut"),
}
REQUESTS = {
    "full replay": ("whole",),
    "parallel": ("racing",),
    "stream": ("streamed", "between", "early", "cutstream"),
    "error": ("retried", "timeout", "refused", "cut"),
}
MCP = {
    "full replay": ("stdio", "http"),
    "parallel": ("stdio_parallel", "http_parallel"),
    "nested": ("stdio_nested", "http_nested"),
    "error": ("stdio_error", "http_error"),
}
SUBJECTS = [
    stood("AG2 0.13.3", OPENAI2, "ag2_classic_teams.py", "ag2_script.py", AG2_CLASSIC),
    stood("AG2 1.2.1", OPENAI3, "ag2_agents.py", "ag2_script.py", AG2),
    stood("AutoGen 0.7.5, openai 2", OPENAI2, "autogen_teams.py", "autogen_script.py", AUTOGEN),
    stood("AutoGen 0.7.5, openai 3", OPENAI3, "autogen_teams.py", "autogen_script.py", AUTOGEN),
    stood("CrewAI 1.15.30", OPENAI2, "crewai_crews.py", "crewai_script.py", CREWAI, environment=PLACES),
    stood("OpenAI Agents 0.24.0", OPENAI3, "cities_openai_agents.py", "cities_script.py", OPENAI_AGENTS),
    stood("LangGraph 1.2.24", OPENAI3, "cities_langgraph.py", "cities_script.py", LANGGRAPH),
    stood("Pydantic AI 2.68.0", OPENAI3, "cities_pydantic_ai.py", "cities_script.py", PYDANTIC_AI),
    stood("smolagents 1.26.0", OPENAI3, "cities_smolagents.py", "smolagents_script.py", SMOLAGENTS),
    stood("openai 2.54.0", OPENAI2, "cities_plain.py", "cities_script.py", OPENAI, sampled=False),
    stood("openai 3.57.0", OPENAI3, "cities_plain.py", "cities_script.py", OPENAI),
    stood("anthropic 0.125.0", OPENAI2, "cities_plain.py", "cities_script.py", ANTHROPIC, sampled=False),
    stood("anthropic 2.14.0", OPENAI3, "cities_plain.py", "cities_script.py", ANTHROPIC),
    stood("LiteLLM 1.110.2", OPENAI3, "cities_plain.py", "cities_script.py", LITELLM, sampled=False),
    *(
        stood(name, python, "mcp_clients.py", "http_clients_script.py", MCP, server="mcp_server.py", sampled=False)
        for name, python in (("MCP sessions, mcp 1.30.0", OPENAI2), ("MCP sessions, mcp 2.3.0", OPENAI3))
    ),
    *(
        stood(name, OPENAI3, f"http_clients.py {name.split()[0]}", "http_clients_script.py", modes, sampled=False)
        for name, modes in (
            ("httpx 0.28.1", HTTPX),
            ("httpx2 2.16.2", HTTPX),
            ("aiohttp 3.14.5", AIOHTTP),
            ("requests 2.34.2", REQUESTS),
        )
    ),
    stood("plain calls that race, openai 2", OPENAI2, "racing.py", "racing_script.py", RACING),
    stood("plain calls that race, openai 3", OPENAI3, "racing.py", "racing_script.py", RACING),
]
