"""What may go live behind an anchor."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from anchored.boundary.crossing import Crossing
from anchored.canonical import Json, JsonObject
from anchored.recording import Recording
from anchored.replaying import SAFE_EFFECTS, ReplayPlan

_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, kw_only=True, slots=True)
class Refusal:
    """Why something may not go live: cause, words and details of the poison."""

    cause: str
    message: str
    details: JsonObject = field(default_factory=dict[str, Json])


class LiveRules:
    """What goes live must be watched, and allowed: tools by their effect, HTTP by its origin.

    Args:
        source: the recording.
        plan: what the user allows.
        watcher: the process that watches this one; without it nothing goes live.
    """

    def __init__(self, source: Recording, plan: ReplayPlan, watcher: int) -> None:
        self._effects_allowed = plan.effects_allowed
        self._watcher = watcher
        self._origins = _origins(source, plan)

    def refusal(self, crossing: Crossing, parent: int | None) -> Refusal | None:
        """Why a crossing inside the event at `parent` may not go live; None if it may.

        HTTP inside a tool that may run live is the tool's own business.
        """
        if not _is_alive(self._watcher):
            return Refusal(cause="recorder", message="the process that watches this replay is gone")
        if crossing.kind == "execute_tool":
            effect = crossing.declared.effect
            if effect not in SAFE_EFFECTS and not self._effects_allowed:
                return Refusal(
                    cause="effects",
                    message=f"the tool {crossing.name!r} would run live with effect {effect or 'undeclared'}",
                    details={"tool": crossing.name, "effect": effect},
                )
        elif crossing.origin and (crossing.kind != "http" or parent is None):
            origin = plain_origin(crossing.origin)
            if origin not in self._origins:
                return Refusal(
                    cause="guard",
                    message=f"the recording never called {origin}; it called {', '.join(sorted(self._origins))}",
                    details={"origin": origin, "known": list[Json](sorted(self._origins))},
                )
        return None


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    try:
        state = Path(f"/proc/{process}/stat").read_text(encoding="ascii", errors="replace").rpartition(") ")[2][:1]
    except OSError:
        return True  # no such file system here
    return state not in ("Z", "X")


def plain_origin(origin: str) -> str:
    """An origin as run configuration holds it: a loopback address without its port, which is free to change."""
    try:
        parts = urlsplit(origin)
        host, port = parts.hostname or "", parts.port or _PORTS.get(parts.scheme)
    except ValueError:
        return origin
    shown = f"[{host}]" if ":" in host else host
    local = host in ("127.0.0.1", "localhost", "::1")
    return f"{parts.scheme}://{shown}" if local else f"{parts.scheme}://{shown}:{port}"


def _origins(source: Recording, plan: ReplayPlan) -> frozenset[str]:
    """Origins that may be called: the recorded ones, mapped."""
    mapped = {plain_origin(old): plain_origin(new) for old, new in plan.origins}
    recorded = {
        str(source.observation(event.position).get("origin", ""))
        for event in source.log.events
        if event.begin.kind != "execute_tool"
    }
    plain = {plain_origin(origin) for origin in recorded if origin}
    return frozenset(mapped.get(origin, origin) for origin in plain)
