"""The command line: one file per command."""

from __future__ import annotations

import sys

from anchored.cli import diff, export, list_, make_test, record, replay, rm, show, verify
from anchored.cli.app import app
from anchored.cli.console import print_error
from anchored.cli.exits import exit_code
from anchored.errors import AnchoredError


def main() -> None:
    """Runs the command line and ends the process with the status that tells the truth."""
    try:
        app()
    except AnchoredError as error:
        print_error(error)
        sys.exit(exit_code(error))


__all__ = ["diff", "export", "list_", "main", "make_test", "record", "replay", "rm", "show", "verify"]
