"""The run configuration: what is written down about how a program was run, and what a project declares."""

from __future__ import annotations

import os
import subprocess
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from anchored.boundary.effects import EFFECTS
from anchored.boundary.replayer import plain_origin
from anchored.canonical import Json, JsonObject
from anchored.errors import UsageError
from anchored.graph import EDGE_RULES
from anchored.recording import Recording

PROJECT_FILE = "anchored.toml"
_NOBODY: JsonObject = {}

_KEPT = ("LANG", "LC_ALL", "TZ")
"""Environment variables that every recording keeps. Never PATH, LD_* or PYTHON* (but PYTHONHASHSEED, by itself)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Project:
    """What `anchored.toml` says.

    Attributes:
        effects: (pattern over tool names, effect), in the file's order.
        environment: names of further environment variables to keep in recordings.
    """

    effects: tuple[tuple[str, str], ...] = ()
    environment: tuple[str, ...] = ()


def read_project(folder: Path) -> Project:
    """`anchored.toml` of a folder; an empty project if there is none.

    Raises:
        UsageError: the file is no TOML, or holds something that is not known.
    """
    path = folder / PROJECT_FILE
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return Project()
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise _bad_project(path, str(error)) from error
    unknown = set(content) - {"effects", "environment"}
    if unknown:
        raise _bad_project(path, f"unknown table {sorted(unknown)[0]!r}")
    effects = _table(path, content, "effects")
    for pattern, effect in effects.items():
        if effect not in EFFECTS:
            raise _bad_project(path, f"effect {effect!r} of {pattern!r}")
    environment = _table(path, content, "environment").get("keep", [])
    if not isinstance(environment, list) or not all(isinstance(name, str) for name in cast("list[Any]", environment)):
        raise _bad_project(path, f"environment.keep = {environment!r}")
    names = tuple(cast("list[str]", environment))
    for name in names:
        if name == "PATH" or name.startswith(("LD_", "PYTHON")):
            raise _bad_project(path, f"environment.keep names {name}")
    return Project(effects=tuple(effects.items()), environment=names)


def recorded_environment(environment: Mapping[str, str], names: Iterable[str]) -> dict[str, str]:
    """The environment variables that a recording keeps."""
    return {name: environment[name] for name in sorted({*_KEPT, *names}) if name in environment}


def declared_configuration(
    *, command: tuple[str, ...], folder: Path, environment: Mapping[str, str], project: Project, hash_seed: str
) -> JsonObject:
    """What is known of the configuration before the program starts."""
    return {
        "command": list(command),
        "environment": dict(recorded_environment(environment, project.environment)),
        "folder": str(folder),
        "git_head": _git_head(folder),
        "hash_seed": hash_seed,
        "edge_rules": EDGE_RULES,
        "effects": [[pattern, effect] for pattern, effect in project.effects],
    }


def learned_configuration(recording: Recording) -> JsonObject:
    """The whole configuration: what was declared, and what the run showed."""
    process = _owner(recording)
    hello = next((note for note in recording.notes_of("hello") if note.get("process") == process), _NOBODY)
    adapters = {str(note["name"]): f"{note['package']} {note['version']}" for note in recording.notes_of("adapter")}
    caches = sorted({f"{note['framework']}: {note['cache']}" for note in recording.notes_of("cache_off")})
    origins: set[str] = set()
    models: set[str] = set()
    sampling: set[str] = set()
    for event in recording.log.events:
        origin = str(recording.observation(event.position).get("origin", ""))
        if origin:
            origins.add(plain_origin(origin))
        if event.begin.kind not in ("http", "execute_tool"):
            models.add(event.begin.name)
            sampling.add(_sampling(recording.request(event.begin).get("body")))
    return {
        **cast("JsonObject", recording.opening.configuration),
        "python": hello.get("python"),
        "packages": hello.get("packages", {}),
        "adapters": cast("JsonObject", adapters),
        "caches_off": list[Json](caches),
        "origins": list[Json](sorted(origins)),
        "models": list[Json](sorted(models)),
        "sampling": list[Json](sorted(sampling)),
    }


def _owner(recording: Recording) -> object:
    owners = recording.notes_of("owner")
    return owners[0]["process"] if owners else None


def _sampling(body: object) -> str:
    settings = cast("dict[str, object]", body) if isinstance(body, dict) else {}
    names = ("max_completion_tokens", "max_tokens", "seed", "temperature", "top_k", "top_p")
    return ", ".join(f"{name}={settings[name]}" for name in names if name in settings) or "defaults"


def _git_head(folder: Path) -> str | None:
    try:
        done = subprocess.run(
            ["git", "rev-parse", "HEAD"],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=10,
            check=False,
            env={**os.environ, "GIT_OPTIONAL_LOCKS": "0"},
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() or None if done.returncode == 0 else None


def _table(path: Path, content: dict[str, Any], name: str) -> dict[str, Any]:
    table = content.get(name, {})
    if not isinstance(table, dict):
        raise _bad_project(path, f"{name} = {table!r}")
    return cast("dict[str, Any]", table)


def _bad_project(path: Path, found: str) -> UsageError:
    return UsageError(
        f"{PROJECT_FILE} cannot be read.",
        expected='a table [effects] with lines such as "search*" = "read", and [environment] with keep = ["NAME"]',
        found=f"{path}: {found}",
        next_step=f"Correct the file; effects are {', '.join(EFFECTS)}.",
    )
