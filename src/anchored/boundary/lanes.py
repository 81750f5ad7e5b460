"""Lanes: which task or thread this is, by how it was started, so that identical requests can be told apart.

A lane is named by what it runs, by its number among those of that name which its starter has started, and by its
starter's lane. It does not depend on the clock, on ids, or on what others start. What is started is seen at
`BaseEventLoop.create_task` (of uvloop too), `run_coroutine_threadsafe`, `ThreadPoolExecutor.submit` and `Thread.start`,
all public. Nothing is changed in what they start: contexts stay as they are.

A thread does not inherit context variables. So what encloses its starter is kept with it, for `boundary.actors` and the
guard.
"""

from __future__ import annotations

import functools
import hashlib
import sys
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from contextvars import Context
from dataclasses import dataclass, field
from functools import wraps
from types import ModuleType
from typing import Any, cast
from weakref import WeakKeyDictionary

import wrapt

_LONGEST_NAME = 80


@dataclass(eq=False, slots=True, weakref_slot=True)
class Lane:
    """One task or thread.

    Attributes:
        name: what tells it from all others of the run.
        inherited: what its starter had in each context variable that a thread is to inherit, by name.
        started: how many lanes of each name it has started.
    """

    name: str
    inherited: dict[str, object]
    started: Counter[str] = field(default_factory=Counter[str])

    def child(self, what: object) -> Lane:
        """The lane of what is started now."""
        name = _name_of(what)[:_LONGEST_NAME]
        number = self.started[name]
        self.started[name] += 1
        path = hashlib.sha256(f"{self.name}/{name}#{number}".encode("utf-8", "backslashreplace")).hexdigest()[:16]
        return Lane(f"{name}#{number}@{path}", {key: read() for key, read in _inherited.items()})


_main = Lane("main", {})
_tasks: WeakKeyDictionary[Any, Lane] = WeakKeyDictionary()
"""Lanes of coroutines that run as tasks."""
_threads: WeakKeyDictionary[threading.Thread, Lane] = WeakKeyDictionary()
_local = threading.local()
_inherited: dict[str, Callable[[], object]] = {}


def inherit(name: str, read: Callable[[], object]) -> None:
    """Lets threads inherit what `read` gives where they are started; `inherited` tells it there."""
    _inherited[name] = read


def inherited(name: str) -> object:
    """What this thread's starter had; None if it had nothing, or is not known."""
    lane = _thread_lane()
    return None if lane is None else lane.inherited.get(name)


def current_lane() -> Lane | None:
    """The lane that this code runs in; None where it is not known how it was started."""
    if in_trio():
        return None
    task = _current_task()
    return _thread_lane() if task is None else _tasks.get(task.get_coro())


def lane_name() -> str | None:
    """The current lane's name."""
    lane = current_lane()
    return None if lane is None else lane.name


def in_trio() -> bool:
    """Whether a trio run is going on in this thread."""
    trio = sys.modules.get("trio")
    return trio is not None and bool(trio.lowlevel.in_trio_run())


def in_event_loop() -> bool:
    """Whether this thread runs an event loop, which must not be blocked."""
    asyncio = sys.modules.get("asyncio.events")
    return (asyncio is not None and asyncio._get_running_loop() is not None) or in_trio()


def task_name() -> str:
    """What tells tasks of one thread apart where they have no lane; empty outside of such tasks."""
    if in_trio():
        return f" trio {id(sys.modules['trio'].lowlevel.current_task()):x}"
    return ""


def _current_task() -> Any:
    asyncio = sys.modules.get("asyncio.tasks")
    try:
        return None if asyncio is None else asyncio.current_task()
    except RuntimeError:
        return None


def _thread_lane() -> Lane | None:
    job = cast("Lane | None", getattr(_local, "job", None))
    if job is not None:
        return job
    thread = threading.current_thread()
    return _main if thread is threading.main_thread() else _threads.get(thread)


def _started(what: object) -> Lane:
    lane = current_lane()
    return (_main if lane is None else lane).child(what)


def _name_of(what: object) -> str:
    """The qualified name of a coroutine or function, of what is wrapped in it if it is a partial or a context's run."""
    while isinstance(what, functools.partial):
        held = cast("functools.partial[object]", what)
        run = isinstance(getattr(held.func, "__self__", None), Context)
        what = held.args[0] if run and held.args else held.func
    name = getattr(what, "__qualname__", None)
    return name if isinstance(name, str) else type(what).__qualname__


class _Job:
    """A function in the lane of its submission."""

    def __init__(self, function: Callable[..., object], lane: Lane) -> None:
        self._function = function
        self._lane = lane

    def __call__(self, *args: object, **kwargs: object) -> object:
        before = getattr(_local, "job", None)
        _local.job = self._lane
        try:
            return self._function(*args, **kwargs)
        finally:
            _local.job = before


def watch_lanes() -> None:
    """Follows from now on what is started in this process."""
    start = threading.Thread.start

    @wraps(start)
    def started(self: threading.Thread) -> None:
        _threads[self] = _started(getattr(self, "_target", None) or type(self).run)
        start(self)

    threading.Thread.start = started
    for module, install in _WHEN_IMPORTED.items():
        wrapt.register_post_import_hook(install, module)


def _watch_loop(owner: Any) -> None:
    create = owner.create_task

    @wraps(create)
    def create_task(self: Any, coro: Any, **kwargs: Any) -> Any:
        with suppress(TypeError):  # no coroutine, or one that cannot be referred to: the loop will say what it thinks
            if coro not in _tasks:
                _tasks[coro] = _started(coro)
        return create(self, coro, **kwargs)

    owner.create_task = create_task


def _watch_threadsafe(tasks: Any) -> None:
    run = tasks.run_coroutine_threadsafe

    @wraps(run)
    def run_coroutine_threadsafe(coro: Any, loop: Any) -> Any:
        with suppress(TypeError):
            _tasks[coro] = _started(coro)
        return run(coro, loop)

    tasks.run_coroutine_threadsafe = run_coroutine_threadsafe
    package: Any = sys.modules.get("asyncio")
    if package is not None and getattr(package, "run_coroutine_threadsafe", None) is run:
        package.run_coroutine_threadsafe = run_coroutine_threadsafe


def _watch_executor(module: ModuleType) -> None:
    submit = module.ThreadPoolExecutor.submit

    @wraps(submit)
    def submitted(self: Any, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
        what = args[0] if isinstance(getattr(fn, "__self__", None), Context) and args else fn
        return submit(self, _Job(fn, _started(what)), *args, **kwargs)

    module.ThreadPoolExecutor.submit = submitted


_WHEN_IMPORTED: dict[str, Callable[[Any], None]] = {
    "asyncio.base_events": lambda module: _watch_loop(module.BaseEventLoop),
    "asyncio.tasks": _watch_threadsafe,
    "concurrent.futures.thread": _watch_executor,
    "uvloop": lambda module: _watch_loop(module.Loop),
}
