"""Which modules a program will load, by what its recording says it is made of."""

from __future__ import annotations

from anchored.recording import Recording

_MODULES: dict[str, tuple[str, ...]] = {
    "ag2": ("autogen", "ag2"),
    "autogen-agentchat": ("autogen_agentchat.agents", "autogen_agentchat.conditions", "autogen_agentchat.teams"),
    "autogen-core": ("autogen_core",),
    "autogen-ext": ("autogen_ext.models.openai",),
    "crewai": ("crewai",),
    "langgraph": ("langgraph.graph", "langgraph.prebuilt"),
    "langchain-core": ("langchain_core.messages", "langchain_core.tools"),
    "langchain-openai": ("langchain_openai",),
    "openai-agents": ("agents",),
    "pydantic-ai-slim": ("pydantic_ai", "pydantic_ai.models.openai"),
    "litellm": ("litellm",),
    "mcp": ("mcp",),
    "anthropic": ("anthropic", "anthropic.resources"),
    "openai": ("openai", "openai.resources"),
    "httpx2": ("httpx2", "httpcore2"),
    "httpx": ("httpx", "httpcore"),
    "pydantic": ("pydantic",),
}
"""What to load of each package that takes long, those first which load the others. A name that is not there is left
out: two major versions of `ag2` have modules of two names. An SDK loads its resources at the first call."""


def modules_of(source: Recording) -> tuple[str, ...]:
    """What a program will load that takes long; no module of its own, and none that it did not load when recorded."""
    used = source.program.packages
    return tuple(module for package, modules in _MODULES.items() if package in used for module in modules)
