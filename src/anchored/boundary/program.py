"""A program out of a function: `python -m anchored.boundary.program module:function` calls it.

What was recorded inside a process is replayed so.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from operator import attrgetter

from anchored.errors import UsageError

_RUNNER = ("-m", "anchored.boundary.program")


def program_command(target: str) -> tuple[str, ...]:
    """The command that calls a function in a process of its own.

    Args:
        target: "module:function", the module as the program's folder has it; the function takes no arguments.

    Raises:
        UsageError: it is of another form.
    """
    module, _, name = target.partition(":")
    if (
        module == "__main__"
        or not module
        or not name
        or not all(part.isidentifier() for part in (*module.split("."), *name.split(".")))
    ):
        raise UsageError(
            "The program cannot be meant.",
            expected="module:function, the module by the name under which another program imports it",
            found=repr(target),
            next_step='For example program="team:main".',
        )
    return (sys.executable, *_RUNNER, target)


def program_target(command: Sequence[str]) -> str | None:
    """The "module:function" that a command calls; None if it is another command. Inverts `program_command`."""
    if tuple(command[1:-1]) != _RUNNER:
        return None
    program_command(command[-1])  # refuses what is no such target
    return command[-1]


def main() -> None:
    """Calls the function that the command line names."""
    target = sys.argv[1]
    sys.argv[:] = [target]
    module, _, name = target.partition(":")
    attrgetter(name)(import_module(module))()


if __name__ == "__main__":
    main()
