"""What is to be started, and whether it can be forked, as far as that is seen from outside."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from anchored.boundary.fork_server import LONGEST_PATH
from anchored.boundary.guard import ATTEMPT_VARIABLE, is_python, reads_program
from anchored.boundary.stdin import STDIN_VARIABLE


@dataclass(frozen=True, kw_only=True, slots=True)
class Start:
    """What `launch` would start, to the last descriptor.

    Attributes:
        command: the program and its arguments, as the user gave them.
        words: what is executed for it: the command, with what stands before it.
        folder: where it runs.
        environment: all its variables.
        run_file: the file of the attempt.
        modules: what the program will load, as far as it is known.
        stdin: its standard input; None for nothing.
        output: where output and errors go; None leaves them on this terminal.
    """

    command: tuple[str, ...]
    words: tuple[str, ...]
    folder: Path
    environment: Mapping[str, str]
    run_file: Path
    modules: tuple[str, ...]
    stdin: IO[bytes] | None
    output: IO[bytes] | None


def unfit(start: Start) -> str | None:
    """Why a program cannot be forked, as far as that is seen from here."""
    if not sys.platform.startswith("linux"):
        return "forking is known to be exact on Linux only"
    if not start.environment.get("PYTHONHASHSEED", "").isdigit():
        return "without PYTHONHASHSEED each start hashes differently"
    if not is_python(start.command[0]) and not _is_python_script(start):
        return f"{start.command[0]} is no Python, and no script of one"
    if is_python(start.command[0]) and reads_program(start.command):
        return "Python reads the program from standard input"
    if len(os.fsencode(start.run_file)) > LONGEST_PATH:
        return "the path of the run file is too long"
    return None


def _is_python_script(start: Start) -> bool:
    """Whether a command is a script that the system gives to a Python, such as pip makes for packages."""
    program = start.command[0]
    if os.sep in program:
        program = str(start.folder / program)
    path = shutil.which(program, path=start.environment.get("PATH"))
    if path is None:
        return False
    try:
        with open(path, "rb") as file:
            first = file.readline(512)
        words = shlex.split(first[2:].decode()) if first.startswith(b"#!") else []
    except (OSError, ValueError):
        return False
    if words and os.path.basename(words[0]) == "env":
        words = words[1:]
    return bool(words) and is_python(words[0])


def key_of(start: Start) -> str:
    """What two starts must have in common to be forked from one process."""
    variables = {
        name: value
        for name, value in sorted(start.environment.items())
        if name not in (ATTEMPT_VARIABLE, STDIN_VARIABLE)
    }
    kinds = [start.stdin is not None, start.output is not None]
    return json.dumps([start.words, str(start.folder), variables, start.modules, kinds])
