"""A script file becomes a script. The file is Python and is run: name only files that you trust."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

from anchored.testing.script import Script, ScriptError

MODULE = "anchored_scripted_endpoint"
"""The name under which a script file's module is known while it is run, so that dataclasses in it work."""


def load_script(source: str | Path) -> Script:
    """Run `FILE.py` and take its `script`, or another name of it given as `FILE.py:name`.

    Raises:
        ScriptError: there is no such file or name, the file raises, or the name holds no Script.
    """
    path, name = _split(str(source))
    if not path.is_file():
        raise ScriptError(
            "The script cannot be loaded.",
            expected="a Python file",
            found=f"no file {path}",
            next_step="Name it as SCRIPT.py or SCRIPT.py:name.",
        )
    value = _run(path).get(name)
    if not isinstance(value, Script):
        raise ScriptError(
            "The script cannot be loaded.",
            expected=f"an anchored.testing.Script named {name!r} in {path}",
            found="no such name" if value is None else f"a {type(value).__name__}",
            next_step=f"Write {name} = Script(rules=[…]) in it, or name another as {path.name}:NAME.",
        )
    return value


def script_folder(source: str | Path) -> Path:
    """The folder that a script file stands in."""
    return _split(str(source))[0].absolute().parent


def _split(source: str) -> tuple[Path, str]:
    head, colon, tail = source.rpartition(":")
    return (Path(head), tail) if colon and tail.isidentifier() else (Path(source), "script")


def _run(path: Path) -> dict[str, object]:
    spec = importlib.util.spec_from_file_location(MODULE, path)
    if spec is None or spec.loader is None:
        raise ScriptError(
            "The script cannot be loaded.",
            expected="a file whose name ends in .py",
            found=path.name,
            next_step="Rename it.",
        )
    module = importlib.util.module_from_spec(spec)
    sys.modules[MODULE] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise ScriptError(
            "The script cannot be loaded.",
            expected=f"{path} to run",
            found=f"{type(error).__name__}: {error}",
            next_step=f"Run it as 'python {path}' and correct it.",
        ) from error
    return vars(module)
