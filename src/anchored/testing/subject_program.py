"""A subject's program, in a mode: `python -m anchored.testing.subject_program run|swallow|hang PROGRAM [ARGS]`.

The mode is the first line of standard input, and becomes the program's last argument. So all modes of a program are
started by one command, and can be forked from one process. With `swallow` the program does not take an end for an end:
whatever it raises is swallowed. With `hang` it then stays for ever, as one does whose worker threads wait for an answer
that does not come.
"""

from __future__ import annotations

import runpy
import sys
import threading
from contextlib import nullcontext, suppress


def main() -> None:
    """Runs the program that the command line names."""
    way = sys.argv[1]
    sys.argv[:] = [*sys.argv[2:], sys.stdin.readline().strip()]
    with nullcontext() if way == "run" else suppress(BaseException):
        runpy.run_path(sys.argv[0], run_name="__main__")
    if way == "hang":
        threading.Event().wait()


if __name__ == "__main__":
    main()
