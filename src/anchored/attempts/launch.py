"""Starting a program with the boundary in it, by environment alone."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from anchored.attempts.forkable import Start
from anchored.attempts.forking import ForkServer
from anchored.attempts.isolate import isolated_command
from anchored.attempts.processes import Process, end_processes
from anchored.boundary.guard import ATTEMPT_VARIABLE, ignored_by
from anchored.boundary.proxies import dead_proxies
from anchored.boundary.stdin import STDIN_VARIABLE, stdin_identity
from anchored.errors import RefusedError, UsageError

_TEST_VARIABLE = "PYTEST_CURRENT_TEST"
"""Which test this process runs. It is none of the program's, which was recorded without it."""

_SITE = Path(__file__).resolve().parent.parent / "boundary" / "site"


@dataclass(frozen=True, kw_only=True, slots=True)
class Launch:
    """How to start a program.

    Attributes:
        command: the program and its arguments.
        folder: where it runs.
        run_file: the file of the attempt.
        hash_seed: PYTHONHASHSEED; None leaves it as it is here.
        environment: variables to set besides those of this process.
        output: where its output goes; None leaves it on this terminal.
        stdin: what it reads on its standard input; None for nothing where it gets a session of its own, else for ours.
        replayed: it is served, and what heeds a proxy finds a dead one.
        own_group: it gets a session of its own, so that all of it can be ended.
        isolated: it gets no network, where the system allows that.
        quiet: its standard output goes to standard error, so that ours is free.
        modules: what it will load, as far as it is known.
    """

    command: tuple[str, ...]
    folder: Path
    run_file: Path
    hash_seed: str | None
    environment: Mapping[str, str]
    output: Path | None
    stdin: bytes | None = None
    replayed: bool = False
    own_group: bool = False
    isolated: bool = False
    quiet: bool = False
    modules: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Child:
    """A running program.

    Attributes:
        process: the process.
        run_file: the file of its attempt.
        own_group: it leads a process group of its own, so that all it started can be ended with it.
        started: how it was started: `forked`, or `spawned` and why.
    """

    process: Process
    run_file: Path
    own_group: bool
    started: str = "spawned"

    def end(self) -> int:
        """Ends the program at once, with all it started where it has a group of its own; its status."""
        if self.own_group:
            self.end_rest()
        else:
            self.process.kill()
        return self.process.wait()

    def end_rest(self) -> None:
        """Ends what a program with a group of its own has started, and the program."""
        if self.own_group:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGKILL)
            end_processes(self.run_file)


def check_command(command: tuple[str, ...], folder: Path) -> None:
    """Whether there is such a program, before anything is written.

    Raises:
        UsageError: there is none.
    """
    program = command[0]
    if shutil.which(str(folder / program) if os.sep in program else program) is None:
        raise _cannot_start(command, "no such program, or it cannot be executed")


def check_boundary(command: tuple[str, ...]) -> None:
    """Whether the boundary can get into a program that is to be replayed.

    Raises:
        RefusedError: its own command line shuts the boundary out, so it would go live.
    """
    option = ignored_by(command)
    if option is not None:
        raise RefusedError(
            "This program would run without the boundary.",
            expected="Python without -I, -E and -S, and `env` without -i",
            found=f"{option} in {' '.join(command)}",
            next_step="Leave the option out, after `--`.",
        )


def _cannot_start(command: tuple[str, ...], found: str) -> UsageError:
    return UsageError(
        "The program cannot be started.",
        expected="a command that can be run, after `--`",
        found=f"{' '.join(command)}: {found}",
        next_step="Check the command and the folder.",
    )


def launch(order: Launch, *, server: ForkServer | None = None) -> Child:
    """Starts the program.

    Args:
        order: how.
        server: forks it, where a fork is what a start would be and the program gets a session of its own.

    Raises:
        UsageError: there is no such program or folder.
    """
    environment = {**os.environ, **order.environment}
    environment.pop(_TEST_VARIABLE, None)
    environment[ATTEMPT_VARIABLE] = str(order.run_file)
    environment["ANCHORED_MODE"] = "replay" if order.replayed else "record"
    environment["ANCHORED_PARENT"] = str(os.getpid())
    if order.hash_seed is not None:
        environment["PYTHONHASHSEED"] = order.hash_seed
    if order.replayed:
        environment.update(dead_proxies(environment))
    earlier = os.environ.get("PYTHONPATH")
    environment["PYTHONPATH"] = f"{_SITE}{os.pathsep}{earlier}" if earlier else str(_SITE)
    words = isolated_command(order.command) if order.isolated else order.command
    started = "spawned"
    with ExitStack() as files:
        given: IO[bytes] | None = None
        if order.stdin is not None:
            given = files.enter_context(tempfile.TemporaryFile())
            given.write(order.stdin)
            given.seek(0)
        stdin: IO[bytes] | int | None = given if given is not None or not order.own_group else subprocess.DEVNULL
        environment[STDIN_VARIABLE] = stdin_identity(stdin)
        try:
            output = None if order.output is None else files.enter_context(order.output.open("wb"))
            if server is not None and order.own_group:
                start = Start(
                    command=order.command,
                    words=words,
                    folder=order.folder,
                    environment=environment,
                    run_file=order.run_file,
                    modules=order.modules,
                    stdin=given,
                    output=output,
                )
                forked, started = server.start(start)
                if forked is not None:
                    return Child(process=forked, run_file=order.run_file, own_group=True, started=started)
            process = subprocess.Popen(
                words,
                cwd=order.folder,
                env=environment,
                stdout=output if output is not None else (sys.stderr if order.quiet else None),
                stderr=None if output is None else subprocess.STDOUT,
                stdin=stdin,
                start_new_session=order.own_group,
                close_fds=order.own_group,  # a recorded program gets what it would have got
            )
        except OSError as error:
            raise _cannot_start(order.command, str(error.strerror)) from error
    return Child(process=process, run_file=order.run_file, own_group=order.own_group, started=started)
