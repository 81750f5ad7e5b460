"""The one shape of an adapter."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from importlib.metadata import PackageNotFoundError, version
from types import ModuleType
from typing import Any, TypeAlias, cast

from anchored.boundary import Gate
from anchored.errors import InstallError

Make: TypeAlias = Callable[[Callable[..., Any]], Callable[..., Any]]
"""Makes of a method what replaces it."""


@dataclass(frozen=True, kw_only=True)
class Adapter:
    """What is put into a framework when one of its modules is imported.

    An entry point of the group `anchored.adapters` names it: the entry's name is the module whose import it waits for,
    its object is the adapter. It stays in the process; without a gate, what it has put in changes nothing.

    Attributes:
        name: as `--without` takes it and recordings show it.
        distribution: the package whose version counts.
        proved_on: the versions on which it passes the conformance suite; on others it says so once.
        enter: wraps what the imported module holds. Raises AttributeError where it does not.
        caches: response caches that it switches off, since a hit would hide a call.
    """

    name: str
    distribution: str
    proved_on: tuple[str, ...]
    enter: Callable[[ModuleType], None]
    caches: tuple[str, ...] = ()

    def install(self, module: ModuleType) -> Callable[[Gate], None]:
        """Puts the adapter into an imported module; what to say of it to each new gate.

        Raises:
            InstallError: it is another framework of this name, or lacks what the adapter enters.
        """
        found = _version(self.distribution)
        if found not in self.proved_on:
            proved = ", ".join(self.proved_on)
            sys.stderr.write(
                f"anchored: the adapter {self.name} is proved on {self.distribution} {proved}, not {found}.\n"
            )
        try:
            self.enter(module)
        except (AttributeError, KeyError, ImportError) as error:
            raise InstallError(
                f"The adapter {self.name} does not fit this `{module.__name__}`.",
                expected=f"{self.distribution} {', '.join(self.proved_on)}",
                found=f"{self.distribution} {found}: {error}",
                next_step=f"Install a version it is proved on, or leave it out: --without {self.name}.",
            ) from error

        def announce(gate: Gate) -> None:
            gate.note("adapter", {"name": self.name, "package": self.distribution, "version": found})
            for cache in self.caches:
                gate.note("cache_off", {"framework": self.distribution, "cache": cache})

        return announce


def wrap(owner: Any, name: str, make: Make) -> None:
    """Replaces `owner.name` by what `make` makes of it.

    Raises:
        AttributeError: there is none.
    """
    original = getattr(owner, name)
    setattr(owner, name, wraps(original)(make(original)))


def wrap_everywhere(base: Any, makers: Mapping[str, Make]) -> None:
    """`wrap` for methods of a class, wherever a subclass has its own, one that is still to be defined included.

    Abstract ones are left alone. A method that calls the one it replaces passes both wrappers.

    Raises:
        AttributeError: neither the class nor a subclass has one of that name, not even an abstract one.
    """
    known: set[str] = set()

    def enter(owner: Any) -> None:
        known.update(name for name in makers if hasattr(owner, name))
        for name, make in makers.items():
            own: object = owner.__dict__.get(name)
            if own is not None and not getattr(own, "__isabstractmethod__", False):
                wrap(owner, name, make)

    own_hook: Any = base.__dict__.get("__init_subclass__")

    def __init_subclass__(cls: Any, **options: Any) -> None:
        if own_hook is None:
            cast("Any", super(base, cls)).__init_subclass__(**options)  # pyright: ignore[reportUnknownMemberType]
        else:
            own_hook.__get__(None, cls)(**options)
        enter(cls)

    left: list[Any] = [base]
    seen: set[Any] = {base}
    while left:
        owner = left.pop()
        enter(owner)
        new = set[Any](type.__subclasses__(owner)) - seen  # a class may come by several of its parents
        left += new
        seen |= new
    for name in makers:
        if name not in known:
            raise AttributeError(f"no method {name} in {base.__name__} and its subclasses")
    base.__init_subclass__ = classmethod(__init_subclass__)


def _version(distribution: str) -> str:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return "of unknown version"
