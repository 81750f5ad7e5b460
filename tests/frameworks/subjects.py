"""The programs that stand for frameworks, and which of their modes is tried for what."""

from __future__ import annotations

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
    """A subject, and the script of its endpoint."""

    subject: Subject
    script: Path

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
    environment: dict[str, str] | None = None,
) -> Stood:
    return Stood(
        subject=Subject(
            name=name,
            command=(str(python), str(PROGRAMS / program)),
            folder=PROGRAMS,
            modes=modes,  # pyright: ignore[reportArgumentType]
            environment={**SILENT, **(environment or {})},
            order_refused=ORDER_FROM_OUTSIDE,
        ),
        script=PROGRAMS / script,
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
SUBJECTS = [
    stood("AG2 0.13.3", OPENAI2, "ag2_classic_teams.py", "ag2_script.py", AG2_CLASSIC),
    stood("AG2 1.2.1", OPENAI3, "ag2_agents.py", "ag2_script.py", AG2),
    stood("AutoGen 0.7.5, openai 2", OPENAI2, "autogen_teams.py", "autogen_script.py", AUTOGEN),
    stood("AutoGen 0.7.5, openai 3", OPENAI3, "autogen_teams.py", "autogen_script.py", AUTOGEN),
    stood("CrewAI 1.15.30", OPENAI2, "crewai_crews.py", "crewai_script.py", CREWAI, PLACES),
    stood("OpenAI Agents 0.24.0", OPENAI3, "cities_openai_agents.py", "cities_script.py", OPENAI_AGENTS),
    stood("LangGraph 1.2.24", OPENAI3, "cities_langgraph.py", "cities_script.py", LANGGRAPH),
    stood("Pydantic AI 2.68.0", OPENAI3, "cities_pydantic_ai.py", "cities_script.py", PYDANTIC_AI),
    stood("smolagents 1.26.0", OPENAI3, "cities_smolagents.py", "smolagents_script.py", SMOLAGENTS),
    stood("plain calls that race, openai 2", OPENAI2, "racing.py", "racing_script.py", RACING),
    stood("plain calls that race, openai 3", OPENAI3, "racing.py", "racing_script.py", RACING),
]
