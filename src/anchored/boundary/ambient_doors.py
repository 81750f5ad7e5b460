"""The doors through which a program sees time, chance and new ids, where it was recorded with `--ambient`.

Entered before the program is loaded: functions of `time`, `os.urandom` (and by it `uuid.uuid4`, `secrets` and
`SystemRandom`) and `uuid.uuid1` are replaced in their modules; `datetime.now` and `utcnow` in the type itself, so that
the type stays the one that C code and other libraries know. `time.monotonic`, by which event loops and timeouts go, is
left alone, and so is all that the boundary, the event loops, threads and logging ask for themselves. What C code asks
for (pydantic-core, orjson, ssl) is not seen.

Touched inside, seen in CPython 3.11 to 3.13: `random._inst`, `random._urandom`, the dictionary of the type `datetime`.
"""

from __future__ import annotations

import ctypes
import datetime
import gc
import hashlib
import os
import random
import sys
import time
import warnings
from collections.abc import Callable
from functools import update_wrapper
from types import ModuleType
from typing import Any, TypeAlias, cast
from weakref import WeakKeyDictionary

import wrapt

from anchored.boundary.actors import current_parent
from anchored.boundary.ambient import Ambient
from anchored.boundary.guard import inside_door
from anchored.boundary.lanes import Lane, current_lane
from anchored.errors import InstallError

_LARGEST = 4096
"""Random bytes that are kept of one call; who asks for more at once gets real ones."""

_SEED = 32
"""Bytes of a seed."""

_THROUGH = frozenset({__name__, "datetime", "random", "secrets", "uuid"})
"""Modules that ask in the name of whoever calls them."""

_ALONE = frozenset(
    {"anchored", "anyio", "asyncio", "concurrent", "importlib", "logging", "multiprocessing", "selectors", "sniffio"}
    | {"threading", "trio", "uvloop", "wrapt"}
)
"""Packages that get real values always: ours, and what keeps time for itself."""

_Made: TypeAlias = Callable[[Callable[..., Any], int, tuple[Any, ...]], object]
"""Makes what a call returns of the function that was there, nanoseconds since the epoch, and its arguments."""

_SECOND = 10**9
_urandom = os.urandom
_time_ns = time.time_ns


def install_ambient(ambient: Ambient) -> None:
    """Lets this process's program see the values of `ambient` from now on.

    Raises:
        InstallError: this Python has another inside.
    """
    _replace_time(ambient)
    _replace_datetime(ambient)

    def urandom(size: int, /) -> bytes:
        return _random_bytes(ambient, size)

    bytes_door = _Door(urandom, _urandom)
    os.urandom = cast("Any", bytes_door)
    inside: Any = random
    inside._urandom = bytes_door
    _replace_random(ambient)
    wrapt.register_post_import_hook(lambda module: _replace_uuid1(ambient, module), "uuid")


class _Door:
    """A function in a module's place. No Python function: as a class attribute one would be bound to instances."""

    def __init__(self, call: Callable[..., Any], original: Callable[..., Any]) -> None:
        self._call = call
        update_wrapper(cast("Any", self), original)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._call(*args, **kwargs)

    def __reduce__(self) -> str:
        return str(getattr(self, "__name__", ""))


def _asker() -> str | None:
    """The module that asks; None where it is to get a real value."""
    frame = sys._getframe(2)  # pyright: ignore[reportPrivateUsage]
    while frame is not None:
        name = str(frame.f_globals.get("__name__", ""))
        if name not in _THROUGH:
            return None if name.partition(".")[0] in _ALONE or inside_door() else name
        frame = frame.f_back
    return None


def _now(ambient: Ambient, function: str) -> int | None:
    """Nanoseconds since the epoch, as this asking is to see them; None for real ones."""
    module = _asker()
    return None if module is None else int(ambient.take(function, module, lambda: str(_time_ns())))


def _replace_time(ambient: Ambient) -> None:
    """`time`, `time_ns`, and what takes the current time where none is given."""
    local_before = time.localtime

    def replace(name: str, made: _Made, *, arguments: int = 0, none_is_now: bool = False) -> None:
        """A call with so many arguments is for the current time, and `made` makes its value of that."""
        original = getattr(time, name)

        def call(*args: Any) -> Any:
            asks_now = len(args) == arguments or (none_is_now and args == (None,))
            nanoseconds = _now(ambient, f"time.{name}") if asks_now else None
            return original(*args) if nanoseconds is None else made(original, nanoseconds, args)

        setattr(time, name, _Door(call, original))

    def of_seconds(original: Callable[..., Any], nanoseconds: int, args: tuple[Any, ...]) -> Any:
        return original(nanoseconds // _SECOND)

    def of_local(original: Callable[..., Any], nanoseconds: int, args: tuple[Any, ...]) -> Any:
        return original(*args, local_before(nanoseconds // _SECOND))

    replace("time", lambda original, nanoseconds, args: nanoseconds / 1e9)
    replace("time_ns", lambda original, nanoseconds, args: nanoseconds)
    for name in ("ctime", "gmtime", "localtime"):
        replace(name, of_seconds, none_is_now=True)
    replace("asctime", of_local)
    replace("strftime", of_local, arguments=1)


def _replace_datetime(ambient: Ambient) -> None:
    """`now` and `utcnow`, in the type's own dictionary. `today` asks `time.time`."""
    kind = datetime.datetime
    inside: list[Any] = gc.get_referents(kind.__dict__)
    names: dict[str, Any] | None = next((part for part in inside if part.__class__ is dict), None)
    if names is None or "now" not in names or "utcnow" not in names:
        raise InstallError(
            "--ambient does not fit this Python.",
            expected="the dictionary of the type datetime, as in CPython 3.11 to 3.13",
            found=sys.version.split()[0],
            next_step="Record without --ambient, or with one of those.",
        )
    now_before, utcnow_before = names["now"], names["utcnow"]

    def now(cls: Any, tz: Any = None) -> Any:
        nanoseconds = _now(ambient, "datetime.now")
        if nanoseconds is None:
            return now_before.__get__(None, cls)(tz)
        return cls.fromtimestamp(nanoseconds // 1000 / 1e6, tz)

    def utcnow(cls: Any) -> Any:
        nanoseconds = _now(ambient, "datetime.utcnow")
        if nanoseconds is None:
            return utcnow_before.__get__(None, cls)()
        if sys.version_info >= (3, 12):
            warnings.warn(_UTCNOW, DeprecationWarning, stacklevel=2)
        return cls.fromtimestamp(nanoseconds // 1000 / 1e6, datetime.UTC).replace(tzinfo=None)

    names["now"], names["utcnow"] = classmethod(now), classmethod(utcnow)
    modified = ctypes.pythonapi.PyType_Modified
    modified.argtypes = [ctypes.py_object]
    modified.restype = None
    modified(kind)


_UTCNOW = (
    "datetime.datetime.utcnow() is deprecated and scheduled for removal in a future version. Use timezone-aware "
    "objects to represent datetimes in UTC: datetime.datetime.now(datetime.UTC)."
)


def _random_bytes(ambient: Ambient, size: int) -> bytes:
    module = _asker() if isinstance(size, int) and 0 < size <= _LARGEST else None  # pyright: ignore[reportUnnecessaryIsInstance]
    if module is None:
        return _urandom(size)
    return bytes.fromhex(ambient.take(f"os.urandom({size})", module, lambda: _urandom(size).hex()))


def _seed(ambient: Ambient, function: str, module: str) -> int:
    return int(ambient.take(function, module, lambda: _urandom(_SEED).hex()), 16)


def _derived(base: int, *of: object) -> int:
    """A seed that follows from another one and from what it is for."""
    text = "/".join(map(str, (base, *of))).encode("utf-8", "backslashreplace")
    return int.from_bytes(hashlib.sha512(text).digest())


def _replace_random(ambient: Ambient) -> None:
    """Generators that seed themselves get recorded seeds; of the module's own, each lane has its own."""
    seed_before: Callable[..., None] = random.Random.seed

    def seed(self: random.Random, a: Any = None, version: int = 2) -> None:
        module = _asker() if a is None else None
        if module is not None:
            a = seeded[self] = _seed(ambient, "random.seed", module)
        else:
            seeded.pop(self, None)
        seed_before(self, a, version)

    seeded: WeakKeyDictionary[random.Random, int] = WeakKeyDictionary()
    random.Random.seed = update_wrapper(seed, seed_before)
    inside: Any = random
    before = inside._inst
    shared = _Shared(ambient)
    for name, function in list(vars(random).items()):
        if getattr(function, "__self__", None) is before:
            setattr(random, name, getattr(shared, name))
    inside._inst = shared

    def renew() -> None:
        base = _seed(ambient, "random.anchor", "random")
        shared.renew(base)
        for generator, old in list(seeded.items()):
            seeded[generator] = new = _derived(base, old)
            seed_before(generator, new)

    ambient.when_live(renew)

    def forked() -> None:
        ambient.forked()
        shared.seed()

    os.register_at_fork(after_in_child=forked)


class _Shared(random.Random):
    """What the functions of the module `random` draw from.

    Threads race, so until the program seeds it each lane draws from a generator of its own, and so does what an event
    encloses, since a tool that is served draws nothing. Once the program has seeded it, it is one for all, as ever.
    """

    _ready = False

    def __init__(self, ambient: Ambient) -> None:
        self._ambient = ambient
        self._lanes: WeakKeyDictionary[Lane, dict[object, random.Random]] = WeakKeyDictionary()
        self._unknown: dict[object, random.Random] = {}
        self._base: int | None = None
        self._one = random.Random(0)
        self._ready = True
        super().__init__(0)
        self.seed()

    def seed(self, a: Any = None, version: int = 2) -> None:
        if a is not None:
            self._base = None
            self._one.seed(a, version)
        else:
            self._base = 0
            self.renew(_seed(self._ambient, "random.seed", "random"))

    def renew(self, base: int) -> None:
        """Other chance from now on, unless the program has seeded it."""
        if self._base is not None:
            self._lanes, self._unknown = WeakKeyDictionary(), {}
            self._base = base

    def _mine(self) -> random.Random:
        base = self._base
        if base is None:
            return self._one
        lane = current_lane()
        held = self._unknown if lane is None else self._lanes.setdefault(lane, {})
        place = "door" if inside_door() else current_parent()
        found = held.get(place)
        if found is None:
            found = held[place] = random.Random(_derived(base, lane.name if lane else "", place))
        return found

    def random(self) -> float:
        return self._mine().random()

    def getrandbits(self, k: int, /) -> int:
        return self._mine().getrandbits(k)

    def getstate(self) -> Any:
        return self._mine().getstate()

    def setstate(self, state: Any) -> None:
        self._mine().setstate(state)

    @property
    def gauss_next(self) -> float | None:
        """What `gauss` has left over for its next call."""
        return cast("Any", self._mine()).gauss_next

    @gauss_next.setter
    def gauss_next(self, value: float | None) -> None:
        if self._ready:
            cast("Any", self._mine()).gauss_next = value

    def __reduce__(self) -> Any:
        return self._mine().__reduce__()


def _replace_uuid1(ambient: Ambient, module: ModuleType) -> None:
    original: Callable[..., Any] = module.uuid1

    def uuid1(node: Any = None, clock_seq: Any = None) -> Any:
        asker = _asker() if node is clock_seq is None else None
        if asker is None:
            return original(node, clock_seq)
        return module.UUID(hex=ambient.take("uuid.uuid1", asker, lambda: original().hex))

    cast("Any", module).uuid1 = update_wrapper(uuid1, original)
