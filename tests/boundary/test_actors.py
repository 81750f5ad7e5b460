"""Who acts and what is noticed: in tasks, in threads, and in generators, which share their consumer's context."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

from anchored.boundary import Noticed, acting, chosen_by, current_actor, stepwise
from anchored.boundary.actors import notice, take_choice
from anchored.canonical import Digest
from anchored.events import Begin, Kind


def begin(position: int, kind: Kind = "chat") -> Begin:
    digest = Digest("0" * 64)
    return Begin(position=position, kind=kind, actor=None, name="n", parent=None, call_id=None, request=digest)


def test_a_generator_acts_only_while_it_runs() -> None:
    """What it sets must not last while it rests, nor be reset in another task's context."""

    async def speak() -> AsyncGenerator[str | None]:
        try:
            yield current_actor()
            yield current_actor()
        finally:
            closed.append(current_actor())

    async def listen() -> None:
        stream = stepwise(speak(), lambda: acting("speaker"))
        with acting("listener"):
            seen.append(await anext(stream))
            seen.append(current_actor())
            await asyncio.create_task(stream.aclose())
            seen.append(current_actor())

    seen: list[str | None] = []
    closed: list[str | None] = []
    asyncio.run(listen())
    assert (seen, closed) == (["speaker", "listener", "listener"], ["speaker"])


def test_work_notices_what_its_own_tasks_begin_and_nothing_beside_it() -> None:
    async def work(noticed: Noticed, *begins: Begin) -> None:
        with noticed.inside():
            for each in begins:
                await asyncio.create_task(later(each))

    async def later(each: Begin) -> None:
        await asyncio.sleep(0)
        notice(each)

    async def both() -> tuple[Noticed, Noticed, Noticed]:
        whole = Noticed()
        with whole.inside():
            one, other = Noticed(), Noticed()
            await asyncio.gather(
                work(one, begin(0), begin(2, "execute_tool"), begin(3, "http")), work(other, begin(1, "execute_tool"))
            )
        return whole, one, other

    whole, one, other = asyncio.run(both())
    assert (one.last, one.model) == (2, 0)
    assert (other.last, other.model) == (1, None)
    assert (whole.last, whole.model) == (2, 0)


def test_the_first_event_after_a_choice_takes_it() -> None:
    with chosen_by(4):
        with chosen_by(None):
            assert take_choice() == 4
        assert take_choice() is None
    assert take_choice() is None
