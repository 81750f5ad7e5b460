"""Who acts, and inside which event, in this thread or task. A thread has both from where it was started."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import cast

from anchored.boundary.lanes import inherit, inherited

_ACTOR: ContextVar[str | None] = ContextVar("anchored_actor", default=None)
_PARENT: ContextVar[int | None] = ContextVar("anchored_parent", default=None)


def current_actor() -> str | None:
    """The acting agent, as the adapter last said; None if none did."""
    actor = _ACTOR.get()
    return actor if actor is not None else cast("str | None", inherited("actor"))


def current_parent() -> int | None:
    """Position of the enclosing event's begin; None outside of one."""
    parent = _PARENT.get()
    return parent if parent is not None else cast("int | None", inherited("parent"))


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


inherit("actor", current_actor)
inherit("parent", current_parent)
