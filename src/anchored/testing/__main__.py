"""`python -m anchored.testing SCRIPT.py --seed N --port 0 --log FILE --ready FILE`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from anchored.errors import AnchoredError, InstallError
from anchored.testing.loading import script_folder


def main(argv: list[str] | None = None) -> int:
    """Serve until told to end. Exit status: 0 ended as told, 1 a package is missing, 2 wrong usage."""
    arguments = _parser().parse_args(argv)
    # Modules next to the script can be imported from it, as if Python had been started with the script.
    sys.path.insert(0, str(script_folder(arguments.script)))
    try:
        try:
            from anchored.testing.serving import Settings, serve
        except ModuleNotFoundError as error:
            raise InstallError(
                "The scripted endpoint cannot run.",
                expected="the packages starlette and uvicorn",
                found=f"no module {error.name}",
                next_step="Install them: pip install 'anchored[testing]'.",
            ) from error
        serve(
            Settings(
                script=arguments.script,
                seed=arguments.seed,
                port=arguments.port,
                log=arguments.log,
                ready=arguments.ready,
                stop_after=arguments.stop_after,
            )
        )
    except AnchoredError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1 if isinstance(error, InstallError) else 2
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m anchored.testing",
        description="A scripted, seeded endpoint on this machine, for tests: speaks as OpenAI's and Anthropic's do.",
    )
    _ = parser.add_argument("script", metavar="SCRIPT.py[:NAME]", help="Python file with a Script, by default 'script'")
    _ = parser.add_argument("--seed", type=int, default=0, help="decides all draws, together with the requests")
    _ = parser.add_argument("--port", type=int, default=0, help="0 takes any free one")
    _ = parser.add_argument("--log", type=Path, metavar="FILE", help="append one JSON line per request")
    _ = parser.add_argument("--ready", type=Path, metavar="FILE", help="gets the base URL once requests are accepted")
    _ = parser.add_argument("--stop-after", type=float, default=3600.0, metavar="SECONDS", help="end by itself")
    return parser


if __name__ == "__main__":
    sys.exit(main())
