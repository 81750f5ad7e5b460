"""How long things wait while a run is replayed, and how far apart they came when it was recorded. All in seconds."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from pathlib import Path

from anchored.recording import Recording

HOLD = 0.5
"""Without progress, for a request that is not recorded, since it may be cancelled yet, and for one that is recorded
later where nothing overlaps in the recording."""

STREAM_HOLD = 0.1
"""Without progress, for a stream that is held back as a whole."""

PACE = 0.1
"""At most between two results of calls that overlap: as far apart as they came when recorded, or this far, so that
whoever acts on the first of them acts before the second comes."""

LEAST_PACE = 0.02
"""At least between two such results, and as long as other threads are at work on the first: here things may be slower
than when it was recorded."""

_TASKS = Path("/proc/self/task")

_BUSY = 0.1
"""Share of the processor above which this process is at work, and so may still come to what is waited for."""
_MOST = 10
"""How many times as long as asked a process may be at work."""
_LOOK = 0.05


class Watch:
    """How long nothing has gone on: no entry was written, and the process was not at work either."""

    def __init__(self, progress: int) -> None:
        self._progress = progress
        self._since = time.monotonic()
        self._worked = time.process_time()

    def overdue(self, progress: int, limit: float) -> bool:
        """Whether it is so long, `progress` being another number whenever something has gone on."""
        if progress != self._progress:
            self._progress, self._since, self._worked = progress, time.monotonic(), time.process_time()
        waited = time.monotonic() - self._since
        at_work = time.process_time() - self._worked > _BUSY * waited
        return waited >= (_MOST * limit if at_work else limit)

    def left(self, limit: float) -> float:
        """When to look again."""
        return max(_LOOK, self._since + limit - time.monotonic())


class RecordedSeconds:
    """How far apart entries were recorded."""

    def __init__(self, source: Recording) -> None:
        self._source = source

    def of(self, position: int) -> float:
        """How long the event that begins at `position` took."""
        event = self._source.log.event_at(position)
        return 0.0 if event is None or event.end is None else self.between(position, event.end.position)

    def between(self, first: int, second: int) -> float:
        """How far apart two entries were."""
        times = (self._source.observation(place).get("time") for place in (second, first))
        end, begin = (int(time) if isinstance(time, str) and time.isdecimal() else 0 for time in times)
        return max(0.0, (end - begin) / 1e9)


def others_at_work() -> bool:
    """Whether another thread of this process could run now, as far as the system tells."""
    own = str(threading.get_native_id())
    with suppress(OSError):
        for task in _TASKS.iterdir():
            with suppress(OSError):
                state = (task / "stat").read_bytes().rpartition(b")")[2].split(None, 1)[0]
                if state == b"R" and task.name != own:
                    return True
    return False
