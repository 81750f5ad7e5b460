"""Times, random numbers and ids that the program sees: kept while recording, given again in a prefix, then real."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Protocol

from anchored.boundary.actors import current_parent
from anchored.boundary.lanes import lane_name
from anchored.canonical import JsonObject
from anchored.replaying import AMBIENT, AMBIENT_INCOMPLETE, Stream, Streams, ambient_note

_CHUNK = 1000
"""Values that one note holds at most."""

_MOST = 1_000_000
"""Values that are kept of one process."""


class _Say(Protocol):
    """`Gate.note`."""

    def __call__(self, kind: str, document: JsonObject, *, once: bool = False) -> None: ...


class Ambient:
    """The values of one process, stream by stream.

    Args:
        served: the recorded values, in a replay; None while recording.
    """

    def __init__(self, served: Streams | None = None) -> None:
        self._served = served
        self._live = served is None
        self._lock = threading.RLock()
        self._say: _Say | None = None
        self._when_live: Callable[[], None] | None = None
        self._reset()

    def _reset(self) -> None:
        self._asked: dict[Stream, int] = {}
        self._kept: Streams = {}
        self._first: dict[Stream, int] = {}
        self._left = _MOST
        self._waiting = 0
        self._lacking: Stream | None = None
        self._lack_told = False

    def take(self, function: str, module: str, real: Callable[[], str]) -> str:
        """The next value of this lane's stream: recorded before the anchor, where there is one, else real.

        Args:
            function: what is asked.
            module: where the code that asks stands.
            real: makes a real value; text without spaces.
        """
        stream = Stream(lane_name() or "", function, module, current_parent())
        with self._lock:
            number = self._asked.get(stream, 0)
            self._asked[stream] = number + 1
            value = None if self._live else self._recorded(stream, number)
            if value is None:
                value = real()
            self._keep(stream, number, value)
            full = self._waiting >= _CHUNK
        if full:
            self.flush()
        return value

    def tell(self, say: _Say) -> None:
        """Where notes go from now on."""
        self._say = say

    def when_live(self, call: Callable[[], None]) -> None:
        """Calls `call` where an anchor is reached."""
        self._when_live = call

    def go_live(self) -> None:
        """The anchor is reached: real values from now on."""
        with self._lock:
            reached, self._live = not self._live, True
        if reached:
            self.renew()

    def renew(self) -> None:
        """Generators that seeded themselves get other seeds: at the anchor, or at that of a replayed replay."""
        if self._when_live is not None:
            self._when_live()

    def flush(self) -> None:
        """Notes what was not noted yet. Outside of the lock, since a gate has its own."""
        if self._say is None:
            return
        with self._lock:
            kept, first = self._kept, self._first
            self._kept, self._first, self._waiting = {}, {}, 0
            lacking = None if self._lack_told else self._lacking
            self._lack_told = self._lack_told or lacking is not None
        if kept:
            self._say(AMBIENT, ambient_note(os.getpid(), kept, first))
        if lacking is not None:
            self._say(AMBIENT_INCOMPLETE, {"process": os.getpid(), "stream": list(lacking)})

    def forked(self) -> None:
        """This process is a fork: it has streams of its own."""
        self._lock = threading.RLock()
        self._reset()

    def _recorded(self, stream: Stream, number: int) -> str | None:
        values = (self._served or {}).get(stream, [])
        if number < len(values):
            return values[number]
        if self._lacking is None:
            self._lacking = stream
        return None

    def _keep(self, stream: Stream, number: int, value: str) -> None:
        if self._left:
            self._left -= 1
            self._waiting += 1
            self._first.setdefault(stream, number)
            self._kept.setdefault(stream, []).append(value)
