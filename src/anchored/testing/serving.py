"""The endpoint as a process: bind, tell where, serve, end."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from anchored.errors import UsageError
from anchored.testing.endpoint import TRANSPORT, Endpoint
from anchored.testing.loading import load_script

HOST = "127.0.0.1"
"""The endpoint has no authentication, so it is never bound beyond this machine."""

GRACE = 2
"""Seconds that open requests get when the endpoint is told to end."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How an endpoint is run."""

    script: str
    """`SCRIPT.py` or `SCRIPT.py:name`."""
    seed: int
    port: int
    """0 for any free one."""
    log: Path | None
    """Lines are appended."""
    ready: Path | None
    """Gets the base URL once requests are accepted; removed before."""
    stop_after: float
    """Seconds after which the endpoint ends by itself, so that none is left behind."""


class _Protocol(H11Protocol):
    """Lets the endpoint close a connection in the midst of an answer."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        super().connection_made(transport)
        self.app_state = {**self.app_state, TRANSPORT: transport}


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, settings: Settings, endpoint: Endpoint) -> None:
        super().__init__(config)
        self._settings = settings
        self._endpoint = endpoint

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        asyncio.get_running_loop().call_later(self._settings.stop_after, self._stop)
        port: int = self.servers[0].sockets[0].getsockname()[1]
        url = f"http://{HOST}:{port}/v1"
        if self._settings.ready is not None:
            _write_whole(self._settings.ready, url)
        print(url, flush=True)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._endpoint.stop()
        await super().shutdown(sockets)

    def _stop(self) -> None:
        print(f"The scripted endpoint ends by itself after {self._settings.stop_after:g} s.", file=sys.stderr)
        self.should_exit = True


def serve(settings: Settings) -> None:
    """Serve until SIGTERM, SIGINT or the end of time; returns normally in each case.

    Raises:
        ScriptError: the script cannot be loaded.
        UsageError: the port or a file cannot be had.
    """
    _ = signal.signal(signal.SIGTERM, _end)
    script = load_script(settings.script)
    try:
        if settings.ready is not None:
            settings.ready.unlink(missing_ok=True)
        log = None if settings.log is None else settings.log.open("a", encoding="utf-8")
    except OSError as error:
        raise UsageError(
            "The endpoint cannot write its files.",
            expected="log and ready file in folders that exist and can be written",
            found=str(error),
            next_step="Make the folder, or name other files.",
        ) from error
    endpoint = Endpoint(script, seed=settings.seed, log=log)
    config = uvicorn.Config(
        endpoint,
        http=_Protocol,
        host=HOST,
        port=settings.port,
        lifespan="off",
        ws="none",
        log_level="warning",
        access_log=False,
        server_header=False,
        date_header=False,
        timeout_graceful_shutdown=GRACE,
    )
    server = _Server(config, settings, endpoint)
    try:
        server.run()
    except KeyboardInterrupt:
        return
    except SystemExit as error:
        if server.started or error.code == 0:
            return
        raise UsageError(
            "The endpoint cannot listen.",
            expected=f"a free port of {HOST}",
            found=f"port {settings.port} is taken or not allowed",
            next_step="Use --port 0, which takes any free one.",
        ) from error
    finally:
        if log is not None:
            log.close()


def _end(signum: int, frame: FrameType | None) -> None:
    """Uvicorn passes a signal on after it has shut down; this makes it a normal end."""
    raise SystemExit(0)


def _write_whole(path: Path, text: str) -> None:
    part = path.with_name(path.name + ".part")
    _ = part.write_text(text + "\n", encoding="utf-8")
    os.replace(part, path)
