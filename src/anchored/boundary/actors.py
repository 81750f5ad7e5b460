"""Who acts, and inside which event, in this thread or task."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

_ACTOR: ContextVar[str | None] = ContextVar("anchored_actor", default=None)
_PARENT: ContextVar[int | None] = ContextVar("anchored_parent", default=None)


def current_actor() -> str | None:
    """The acting agent, as the adapter last said; None if none did."""
    return _ACTOR.get()


def current_parent() -> int | None:
    """Position of the enclosing event's begin; None outside of one."""
    return _PARENT.get()


@contextmanager
def acting(actor: str | None) -> Generator[None]:
    """Inside, `actor` acts."""
    token = _ACTOR.set(actor)
    try:
        yield
    finally:
        _ACTOR.reset(token)


@contextmanager
def enclosed_by(position: int | None) -> Generator[None]:
    """Inside, events are enclosed by the event that began at `position`."""
    token = _PARENT.set(position)
    try:
        yield
    finally:
        _PARENT.reset(token)
