"""Runs before the program. Puts the boundary in, then runs the `sitecustomize` that would have run without it."""

import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))


def _put_in_boundary():
    attempt = os.environ.get("ANCHORED_ATTEMPT")
    if not attempt:
        return
    fork = os.environ.pop("ANCHORED_FORK", None)
    try:
        if fork:
            from anchored.boundary.fork_server import serve

            serve(fork)  # returns in the process of each attempt
            return
        from pathlib import Path

        from anchored.boundary.start import start

        start(Path(attempt))
    except BaseException as error:
        if os.environ.get("ANCHORED_MODE") == "record" and str(os.getppid()) != os.environ.get("ANCHORED_PARENT"):
            return  # some other Python that the recorded program starts: it gets what it would have got
        reason = (
            "this Python has no `anchored`" if isinstance(error, ImportError) else f"{type(error).__name__}: {error}"
        )
        sys.stderr.write(
            f"anchored: the boundary cannot be put into {sys.executable}: {reason}\n"
            "anchored: install `anchored` into the environment that runs the program. Nothing was run.\n"
        )
        sys.stderr.flush()
        os._exit(125)


def _run_the_other_one():
    import importlib.machinery
    import importlib.util

    sys.path[:] = [place for place in sys.path if os.path.abspath(place or ".") != _HERE]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", sys.path)
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


_put_in_boundary()
_run_the_other_one()
