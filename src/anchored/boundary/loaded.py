"""What a program is made of: its own source files by digest, and the packages that it uses by version."""

from __future__ import annotations

import hashlib
import os
import re
import stat
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from pathlib import Path

from anchored.canonical import JsonObject

_MOST_FILES = 500
_LARGEST = 10_000_000
_OWN = Path(__file__).resolve().parents[1]
_INSTALLED = ("site-packages", "dist-packages")
_OTHERWISE_NAMED = {
    "agents": ("openai-agents",),
    "autogen": ("ag2", "autogen", "pyautogen"),
    "pydantic_ai": ("pydantic-ai", "pydantic-ai-slim"),
}
"""Packages of modules of another name, where the module is a framework."""

_VERSIONED = re.compile(r"(?P<name>.+?)-(?P<version>[^-]+)\.(dist|egg)-info")


def loaded(folder: Path, started: Path) -> JsonObject:
    """Files and packages of this process as it is now.

    Files are the modules that come from no installed package, and the files that the command line names. Packages are
    those whose name a loaded module has.

    Args:
        folder: where the run was started; paths are relative to it.
        started: where this process was started.

    Returns:
        {"files": {path: SHA-256 of its bytes}, "packages": {name: version}}
    """
    files: dict[str, str] = {}
    used: set[str] = set()
    for path in _named_files(started):
        _add(files, path, folder)
    outside = (*_standard_library(), str(_OWN) + os.sep)
    for name, file in _module_files():
        top = name.partition(".")[0]
        if any(part in _INSTALLED for part in Path(file).parts):
            used.update(_OTHERWISE_NAMED.get(top, (_plain(top),)))
        elif not file.startswith(outside) and len(files) < _MOST_FILES:
            _add(files, Path(file), folder)
    versions = _versions()
    packages = {name: versions[name] for name in sorted(used & versions.keys())}
    return {"files": dict(sorted(files.items())), "packages": dict(packages)}


def as_now(folder: Path, files: Iterable[str], packages: Iterable[str]) -> JsonObject:
    """What these files and packages are now, in the form of `loaded`; those that are gone are left out."""
    found: dict[str, str] = {}
    for name in files:
        _add(found, folder / name, folder)
    versions = _versions()
    return {"files": dict(found), "packages": {name: versions[name] for name in packages if name in versions}}


def _module_files() -> Iterator[tuple[str, str]]:
    for name, module in list(sys.modules.items()):
        file: object = getattr(module, "__dict__", {}).get("__file__")  # asks no module's own `__getattr__`
        if isinstance(file, str) and os.path.isabs(file):
            yield name, file


def _named_files(started: Path) -> Iterator[Path]:
    for word in sys.orig_argv[1:]:
        yield started / word


def _add(files: dict[str, str], path: Path, folder: Path) -> None:
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode) or status.st_size > _LARGEST:
            return
        content = path.read_bytes()
    except (OSError, ValueError):
        return
    files[os.path.relpath(path, folder)] = hashlib.sha256(content).hexdigest()


def _standard_library() -> tuple[str, ...]:
    return tuple(sysconfig.get_path(name) + os.sep for name in ("stdlib", "platstdlib"))


def _versions() -> dict[str, str]:
    """Version by name of what is installed, read off the folders' names: reading each one's metadata takes too long."""
    found: dict[str, str] = {}
    for place in sys.path:
        try:
            names = os.listdir(place or ".")
        except OSError:
            continue
        for name in names:
            held = _VERSIONED.fullmatch(name)
            if held:
                found.setdefault(_plain(held["name"]), held["version"])
    return found


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
