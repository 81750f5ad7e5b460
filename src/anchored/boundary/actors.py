"""Who acts, inside which event, and by whose choice, in this thread or task. A thread has it from its starter."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import TypeVar, cast

from anchored.boundary.lanes import inherit, inherited
from anchored.events import Begin

_ACTOR: ContextVar[str | None] = ContextVar("anchored_actor", default=None)
_PARENT: ContextVar[int | None] = ContextVar("anchored_parent", default=None)
_NOTICED: ContextVar[Noticed | None] = ContextVar("anchored_noticed", default=None)
_CHOICE: ContextVar[list[int]] = ContextVar("anchored_choice")
_Item = TypeVar("_Item")
_OUTSIDE = frozenset({"http", "human_input"})
"""Kinds that are neither a model's work nor a tool's."""


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


class Noticed:
    """What begins in one piece of the program's work, whichever tasks and threads it takes.

    Attributes:
        last: position of the latest begin of a model call or tool; None before the first.
        model: position of the latest begin of a model call.
    """

    def __init__(self) -> None:
        self.last: int | None = None
        self.model: int | None = None
        self._outer = _current_notice()

    @contextmanager
    def inside(self) -> Generator[None]:
        """Inside, events are noticed. It may be entered again and again, as a generator's steps are."""
        token = _NOTICED.set(self)
        try:
            yield
        finally:
            _NOTICED.reset(token)

    def see(self, begin: Begin) -> None:
        """An event begins; whatever encloses this work notices it too."""
        noticed: Noticed | None = self
        while noticed is not None:
            noticed.last = begin.position
            noticed.model = noticed.model if begin.kind == "execute_tool" else begin.position
            noticed = noticed._outer


def notice(begin: Begin | None) -> None:
    """An event begins in this thread or task."""
    noticed = _current_notice()
    if noticed is not None and begin is not None and begin.kind not in _OUTSIDE:
        noticed.see(begin)


def _current_notice() -> Noticed | None:
    return _NOTICED.get() or cast("Noticed | None", inherited("noticed"))


@contextmanager
def chosen_by(event: int | None) -> Generator[None]:
    """Inside, the first event is there because of what the event that began at `event` said; None changes nothing."""
    if event is None:
        yield
        return
    token = _CHOICE.set([event])
    try:
        yield
    finally:
        _CHOICE.reset(token)


def take_choice() -> int | None:
    """The begin of the event by which an agent was chosen, for the first event that asks."""
    held = _CHOICE.get([])
    return held.pop() if held else None


def give_choice_back(event: int | None) -> None:
    """What asked was no event: the choice that `take_choice` gave is for the next that asks."""
    if event is not None:
        _CHOICE.get([]).append(event)


async def stepwise(
    stream: AsyncGenerator[_Item], around: Callable[[], AbstractContextManager[None]]
) -> AsyncGenerator[_Item]:
    """The items of an async generator, each step of it inside `around()`.

    A generator shares its consumer's context variables, so what is set while it runs must not last while it rests.
    """
    try:
        while True:
            with around():
                try:
                    item = await anext(stream)
                except StopAsyncIteration:
                    return
            yield item
    finally:
        with around():
            await stream.aclose()


inherit("actor", current_actor)
inherit("parent", current_parent)
inherit("noticed", _current_notice)
