"""The run configuration: what is written down about how a program was run, and what a project declares."""

from __future__ import annotations

import base64
import os
import re
import subprocess
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from anchored.boundary.effects import EFFECTS
from anchored.boundary.live import plain_origin
from anchored.boundary.start import WITHOUT_VARIABLE
from anchored.canonical import Json, JsonObject, digest
from anchored.errors import UsageError
from anchored.graph import EDGE_RULES
from anchored.recording import Recording
from anchored.replaying import check_pattern

PROJECT_FILE = "anchored.toml"
_NOBODY: JsonObject = {}

_KEPT = ("LANG", "LC_ALL", "TZ", WITHOUT_VARIABLE)
"""Environment variables that every recording keeps. Never PATH, LD_* or PYTHON* (but PYTHONHASHSEED, by itself)."""

_ENDPOINTS = ("_BASE_URL", "_API_BASE", "_ENDPOINT")
"""Endings of variables that say where a model is. Kept too, for the path in them; what is set at a replay wins."""

_KEYS = ("_API_KEY", "_API_TOKEN")
"""Endings of variables that hold a key. Only their names are kept."""

_PLAIN_URL = re.compile(r"https?://[^@?#\s]+")
_NO_KEY = "sk-anchored-replays-need-no-key"


@dataclass(frozen=True, kw_only=True, slots=True)
class Project:
    """What `anchored.toml` says.

    Attributes:
        effects: (pattern over tool names, effect), in the file's order.
        environment: names of further environment variables to keep in recordings.
        background: patterns of HTTP requests that are no events.
    """

    effects: tuple[tuple[str, str], ...] = ()
    environment: tuple[str, ...] = ()
    background: tuple[str, ...] = ()


def current_folder() -> Path:
    """The folder of this process.

    Raises:
        UsageError: it was removed.
    """
    try:
        return Path.cwd()
    except FileNotFoundError as error:
        raise UsageError(
            "The current folder is gone.",
            expected="a folder in which the program runs",
            found="one that was removed",
            next_step="Change to another folder.",
        ) from error


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
    unknown = set(content) - {"background", "effects", "environment"}
    if unknown:
        raise _bad_project(path, f"unknown table {sorted(unknown)[0]!r}")
    effects = _table(path, content, "effects")
    for pattern, effect in effects.items():
        if effect not in EFFECTS:
            raise _bad_project(path, f"effect {effect!r} of {pattern!r}")
    names = _texts(path, "environment.keep", _table(path, content, "environment").get("keep", []))
    for name in names:
        if _is_never_kept(name):
            raise _bad_project(path, f"environment.keep names {name}")
    background = _texts(path, "background", content.get("background", []))
    try:
        patterns = tuple(map(check_pattern, background))
    except UsageError as error:
        raise _bad_project(path, f"background = {error.found!r}") from error
    return Project(effects=tuple(effects.items()), environment=names, background=patterns)


def _is_never_kept(name: str) -> bool:
    return name == "PATH" or name.startswith(("LD_", "PYTHON"))


def recorded_environment(environment: Mapping[str, str], names: Iterable[str]) -> dict[str, str]:
    """The environment variables that a recording keeps."""
    endpoints = {name for name in environment if name.endswith(_ENDPOINTS) and _PLAIN_URL.fullmatch(environment[name])}
    return {name: environment[name] for name in sorted({*_KEPT, *names, *endpoints}) if name in environment}


def restored_environment(
    source: Recording, environment: Mapping[str, str], *, live: bool, declared: Sequence[str] | None = None
) -> dict[str, str]:
    """What to set for a replay, besides what is set now.

    Kept variables are restored; one that says where a model is only where none is set. A key that was set then and is
    not now gets a stand-in if nothing can go live, since clients refuse to start without one.

    Args:
        source: the recording.
        environment: what is set now.
        live: whether something may go live. Where nothing may, no key of the user's is needed, and of a recording of
            another place none is given.
        declared: where the recording is of another place, the names that this project keeps: nothing else is taken from
            it but the locale and the time zone, and where nothing goes live, where the model was.
    """
    configuration = source.opening.configuration
    kept = cast("dict[str, str]", configuration["environment"])
    restored = {
        name: value
        for name, value in kept.items()
        if not (_is_never_kept(name) or (name.endswith(_ENDPOINTS) and environment.get(name)))
        and (declared is None or name in (*_KEPT, *declared) or (name.endswith(_ENDPOINTS) and not live))
    }
    restored.setdefault(WITHOUT_VARIABLE, "")  # what is left out is the recording's choice
    if not live:
        names = missing_keys(source, environment) if declared is None else _key_names(source)
        restored.update(dict.fromkeys(names, _NO_KEY))
    return restored


def _key_names(source: Recording) -> list[str]:
    held = cast("list[str]", source.opening.configuration["keys"])
    return [name for name in held if name.endswith(_KEYS) and not _is_never_kept(name)]


def missing_keys(source: Recording, environment: Mapping[str, str]) -> list[str]:
    """Names of variables that held a key when the run was recorded and are not set now."""
    return [name for name in _key_names(source) if not environment.get(name)]


def declared_configuration(
    *,
    command: tuple[str, ...] | None,
    folder: Path,
    environment: Mapping[str, str],
    project: Project,
    hash_seed: str | None,
    ambient: bool = False,
) -> JsonObject:
    """What is known of the configuration before the program starts."""
    return {
        "command": None if command is None else list(command),
        "environment": dict(recorded_environment(environment, project.environment)),
        "keys": list[Json](sorted(name for name in environment if name.endswith(_KEYS) and environment[name])),
        "folder": str(folder),
        "git_head": git_head(folder),
        "hash_seed": hash_seed,
        "edge_rules": EDGE_RULES,
        "effects": [[pattern, effect] for pattern, effect in project.effects],
        "background": list(project.background),
        "ambient": ambient,
    }


def learned_configuration(recording: Recording) -> JsonObject:
    """The whole configuration: what was declared, and what the run showed."""
    process = _owner(recording)
    hellos = recording.notes_of("hello")
    hello = next((note for note in hellos if note.get("process") == process), hellos[0] if hellos else _NOBODY)
    adapters = {str(note["name"]): f"{note['package']} {note['version']}" for note in recording.notes_of("adapter")}
    caches = sorted({f"{note['framework']}: {note['cache']}" for note in recording.notes_of("cache_off")})
    origins: set[str] = set()
    models: set[str] = set()
    sampling: set[str] = set()
    for event in recording.log.events:
        origin = str(recording.observation(event.position).get("origin", ""))
        if origin:
            origins.add(plain_origin(origin))
        if event.begin.kind not in ("http", "execute_tool", "human_input", "retrieve"):
            models.add(event.begin.name)
            sampling.add(_sampling(recording.request(event.begin).get("body")))
    return {
        **cast("JsonObject", recording.opening.configuration),
        "python": hello.get("python"),
        "files": dict(recording.program.files),
        "packages": dict(recording.program.packages),
        "stdin": digest("stdin", given) if (given := standard_input(recording)) else None,
        "adapters": cast("JsonObject", adapters),
        "caches_off": list[Json](caches),
        "origins": list[Json](sorted(origins)),
        "models": list[Json](sorted(models)),
        "sampling": list[Json](sorted(sampling)),
    }


def all_patterns(*given: Iterable[str]) -> tuple[str, ...]:
    """Patterns of background requests from several places: each once, in order.

    Raises:
        UsageError: one is none.
    """
    return tuple(dict.fromkeys(check_pattern(pattern) for patterns in given for pattern in patterns))


def standard_input(recording: Recording) -> bytes:
    """What the program read on its standard input, as far as it was seen."""
    return b"".join(base64.b64decode(str(note["data"])) for note in recording.notes_of("stdin"))


def _owner(recording: Recording) -> object:
    owners = recording.notes_of("owner")
    return owners[0]["process"] if owners else None


def _sampling(body: object) -> str:
    settings = cast("dict[str, object]", body) if isinstance(body, dict) else {}
    names = ("max_completion_tokens", "max_tokens", "seed", "temperature", "top_k", "top_p")
    return ", ".join(f"{name}={settings[name]}" for name in names if name in settings) or "defaults"


def git_head(folder: Path) -> str | None:
    """The commit that is checked out there; None where there is none."""
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


def _texts(path: Path, name: str, held: object) -> tuple[str, ...]:
    items = cast("list[object]", held) if isinstance(held, list) else [held]
    if not isinstance(held, list) or not all(isinstance(item, str) for item in items):
        raise _bad_project(path, f"{name} = {held!r}")
    return tuple(map(str, items))


def _bad_project(path: Path, found: str) -> UsageError:
    return UsageError(
        f"{PROJECT_FILE} cannot be read.",
        expected=(
            'a table [effects] with lines such as "search*" = "read", [environment] with keep = ["NAME"], and above '
            'both background = ["HOST/PATH"]'
        ),
        found=f"{path}: {found}",
        next_step=f"Correct the file; effects are {', '.join(EFFECTS)}.",
    )
