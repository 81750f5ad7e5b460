"""How long things wait while a run is replayed."""

import sys
import threading
import time

import pytest

from anchored.boundary.patience import others_at_work


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the states of threads are read from /proc")
def test_another_thread_that_computes_is_seen_and_one_that_waits_is_not() -> None:
    """R0-07: the next of several results waits while a thread acts on the one before it."""
    over = threading.Event()
    waiting = threading.Thread(target=over.wait)
    waiting.start()
    time.sleep(0.05)
    assert not any([others_at_work() for _ in range(20)][1:])

    def compute() -> None:
        while not over.is_set():
            sum(range(1000))

    computing = threading.Thread(target=compute)
    computing.start()
    try:
        assert any(others_at_work() for _ in range(200))
    finally:
        over.set()
        waiting.join()
        computing.join()
