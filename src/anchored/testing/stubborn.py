"""A program that does not take an end for an end: `python -m anchored.testing.stubborn swallow|hang PROGRAM [ARGS]`.

Runs the program and swallows whatever it raises. With `hang` it then stays for ever, as a program does whose worker
threads wait for an answer that does not come.
"""

from __future__ import annotations

import runpy
import sys
import threading
from contextlib import suppress


def main() -> None:
    """Runs the program that the command line names."""
    way = sys.argv[1]
    sys.argv[:] = sys.argv[2:]
    with suppress(BaseException):
        runpy.run_path(sys.argv[0], run_name="__main__")
    if way == "hang":
        threading.Event().wait()


if __name__ == "__main__":
    main()
