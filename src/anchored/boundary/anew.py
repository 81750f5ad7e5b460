"""Starting a forked program anew, as a real start, where it turns out that a fork is not the same."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import FunctionType, ModuleType

from anchored.boundary.environment import Reads, Writes
from anchored.boundary.process import current_gate
from anchored.storage import RunFile


def watch_environment(attempt: str, environment: Mapping[str, str], reads: Mapping[str, Reads], *, fresh: bool) -> None:
    """Starts the program anew, and this time really, where it sets a variable that a loaded module has read by now.

    A program that sets `LIBRARY_OPTION` and then imports the library counts on that order. Once it has imported the
    library itself there is nothing amiss. Once something has crossed the boundary there is no way back, and no need:
    what the first crossing needs was loaded by the program by then.

    Args:
        attempt: path of the run file.
        environment: with which the program starts.
        reads: what each module that was loaded ahead has read.
        fresh: the output is a file of this attempt alone, which begins anew as well.
    """
    process = os.getpid()
    loaded = frozenset(sys.modules)

    def written(name: str) -> None:
        gate = current_gate()
        if gate is None or os.getpid() != process:
            return
        early = [module for module, read in reads.items() if read.of(name) and not _is_used(module, loaded)]
        if not early or _has_begun(Path(attempt)):
            return
        gate.note("unforked", {"reason": f"the program sets {name}, which {early[0]} reads when it is loaded"})
        writes.stop()
        for stream in (sys.stdout, sys.stderr):
            with suppress(AttributeError, OSError, ValueError):
                stream.flush()
        if fresh:
            os.ftruncate(1, 0)
            os.lseek(1, 0, os.SEEK_SET)
        with suppress(OSError):
            os.lseek(0, 0, os.SEEK_SET)
        os.execve(sys.executable, sys.orig_argv, environment)

    writes = Writes(written)
    writes.start()


def _is_used(module: str, loaded: frozenset[str]) -> bool:
    """Whether the program itself has imported a module that was loaded ahead: then something of its own holds a part.

    Args:
        module: its name.
        loaded: all modules that were loaded ahead.
    """
    own = [held for name, held in list(sys.modules.items()) if name not in loaded or name == "__main__"]
    for held in own:
        for value in list(getattr(held, "__dict__", {}).values()):
            if isinstance(value, ModuleType):
                name = value.__name__
            elif isinstance(value, type | FunctionType):
                name = value.__module__
            else:
                continue
            if isinstance(name, str) and f"{name}.".startswith(f"{module}."):  # pyright: ignore[reportUnnecessaryIsInstance]
                return True
    return False


def _has_begun(run_file: Path) -> bool:
    file = RunFile.open(run_file)
    try:
        return file.size() > 0
    finally:
        file.close()
