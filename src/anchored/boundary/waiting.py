"""Tasks that wait for their turn without blocking an event loop, and are woken in the order of their turns."""

from __future__ import annotations

import sys
from typing import Any

from anchored.boundary.lanes import in_trio

_TRIO_STEP = 0.002
_LOOK = 0.05
"""Seconds after which a task looks again, woken or not: patience ends while nothing happens."""


class Sleepers:
    """The tasks of this process that wait. Its caller holds a lock, except while it sleeps."""

    def __init__(self) -> None:
        self._waiting: list[tuple[int, Any, Any]] = []

    def lie_down(self, turn: int) -> _Sleeper:
        """A place to sleep for the task whose turn comes when the entry at `turn` is next."""
        if in_trio():
            return _Sleeper(self, None)
        import asyncio

        loop = asyncio.get_running_loop()
        place = (turn, loop, loop.create_future())
        self._waiting.append(place)
        return _Sleeper(self, place)

    def wake(self) -> None:
        """Wakes all, those first whose turn comes first: what ends together in the recording ends together."""
        waiting, self._waiting = sorted(self._waiting, key=lambda place: place[0]), []
        for _, loop, future in waiting:
            if _is_running(loop):
                _set(future)
            elif not loop.is_closed():
                loop.call_soon_threadsafe(_set, future)

    def get_up(self, place: tuple[int, Any, Any]) -> None:
        """Forgets one that woke by itself."""
        self._waiting = [other for other in self._waiting if other is not place]


class _Sleeper:
    def __init__(self, sleepers: Sleepers, place: tuple[int, Any, Any] | None) -> None:
        self._sleepers = sleepers
        self._place = place

    async def sleep(self, seconds: float | None = None) -> None:
        """Until it is woken, for so many seconds, or for a moment."""
        if self._place is None:
            await sys.modules["trio"].sleep(_TRIO_STEP)
            return
        import asyncio

        try:
            await asyncio.wait({self._place[2]}, timeout=_LOOK if seconds is None else min(seconds, _LOOK))
        finally:
            self._sleepers.get_up(self._place)


def _is_running(loop: Any) -> bool:
    asyncio: Any = sys.modules["asyncio.events"]
    return asyncio._get_running_loop() is loop


def _set(future: Any) -> None:
    if not future.done():
        future.set_result(None)
