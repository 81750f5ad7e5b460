"""Pieces of a program's work that come one after the other because the framework says so, such as tasks."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from contextvars import ContextVar
from typing import cast

from anchored.boundary.lanes import inherit, inherited
from anchored.events import Edge

_STEP: ContextVar[Step | None] = ContextVar("anchored_step", default=None)


class Step:
    """One piece of work, in whichever tasks and threads it is done.

    Its first event depends on the last event of each step before it. Which one that is, is asked only when the event
    begins: by then all that is recorded before it has ended.

    Args:
        after: the steps that were over before this one started.
        kind: the kind of these edges.

    Attributes:
        begun: whether its first event has begun.
        last: position of the end of its latest event; None before the first.
    """

    def __init__(self, *, after: Iterable[Step], kind: str) -> None:
        self._after = tuple(after)
        self._kind = kind
        self.begun = False
        self.last: int | None = None

    @contextmanager
    def inside(self) -> Generator[None]:
        """Inside, events belong to this step."""
        token = _STEP.set(self)
        try:
            yield
        finally:
            _STEP.reset(token)

    def edges(self) -> tuple[Edge, ...]:
        """What the step's next event depends on by the order of steps."""
        if self.begun:
            return ()
        return tuple(Edge(position=step.last, kind=self._kind) for step in self._after if step.last is not None)


def current_step() -> Step | None:
    """The step that this thread or task works on; None outside of one."""
    return _STEP.get() or cast("Step | None", inherited("step"))


inherit("step", current_step)
