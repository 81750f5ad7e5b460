"""An endpoint for the length of a `with` block, in a process of its own."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from anchored.errors import AnchoredError
from anchored.testing.log import Call, read_calls

START_SECONDS = 30.0
END_SECONDS = 10.0
POLL_SECONDS = 0.01


class EndpointError(AnchoredError):
    """The endpoint's process did not start, or ended before it was told to."""


@dataclass(frozen=True, kw_only=True)
class RunningEndpoint:
    """An endpoint that accepts requests."""

    url: str
    """The base URL up to `/v1`, for OPENAI_BASE_URL."""
    pid: int
    log: Path
    log_start: int
    """Where in the log file this endpoint's lines begin, in bytes."""

    @property
    def root(self) -> str:
        """The URL without `/v1`, for ANTHROPIC_BASE_URL and AZURE_OPENAI_ENDPOINT."""
        return self.url.removesuffix("/v1")

    def calls(self) -> list[Call]:
        """What it was asked until now, in order of arrival."""
        return read_calls(self.log, start=self.log_start)


@contextmanager
def running_endpoint(
    script: str | Path, *, seed: int = 0, log: Path | None = None, stop_after: float = 3600.0
) -> Generator[RunningEndpoint]:
    """Start an endpoint, give it out, and end its process.

    Args:
        script: `SCRIPT.py` or `SCRIPT.py:name`.
        seed: decides all draws, together with the requests.
        log: file that gets one line per request; it is appended to. Without it a temporary file is used.
        stop_after: seconds after which the process ends by itself, should nobody be left to end it.

    Raises:
        EndpointError: it did not start, or broke off while the block ran.
    """
    with tempfile.TemporaryDirectory(prefix="anchored-endpoint-") as folder:
        place = Path(folder)
        log = place / "calls.jsonl" if log is None else log
        log_start = log.stat().st_size if log.exists() else 0
        command = [sys.executable, "-m", "anchored.testing", str(script)]
        command += ["--seed", str(seed), "--log", str(log), "--ready", str(place / "ready")]
        command += ["--stop-after", str(stop_after)]
        with (place / "stderr").open("wb") as errors:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors)
        try:
            url = _wait_ready(process, place)
            yield RunningEndpoint(url=url, pid=process.pid, log=log, log_start=log_start)
            if process.poll() is not None:
                raise _ended(process, place, expected="a process that runs to the end of the block")
        finally:
            _end(process)


def _wait_ready(process: subprocess.Popen[bytes], place: Path) -> str:
    deadline = time.monotonic() + START_SECONDS
    ready = place / "ready"
    while not ready.exists():
        if process.poll() is not None:
            raise _ended(process, place, expected="a process that listens")
        if time.monotonic() > deadline:
            raise EndpointError(
                "The scripted endpoint did not start.",
                expected=f"a process that listens within {START_SECONDS:g} s",
                found="one that does not; it said: " + _said(place),
                next_step="Start 'python -m anchored.testing' by hand and look.",
            )
        time.sleep(POLL_SECONDS)
    return ready.read_text(encoding="utf-8").strip()


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        _ = process.wait(END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        _ = process.wait()


def _ended(process: subprocess.Popen[bytes], place: Path, *, expected: str) -> EndpointError:
    return EndpointError(
        "The scripted endpoint ended early.",
        expected=expected,
        found=f"exit status {process.returncode}; it said: " + _said(place),
        next_step="Correct what it names, or start 'python -m anchored.testing' by hand and look.",
    )


def _said(place: Path) -> str:
    return (place / "stderr").read_text(encoding="utf-8", errors="replace").strip()[-2000:] or "nothing"
