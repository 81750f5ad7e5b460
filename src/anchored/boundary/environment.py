"""What a process reads of its environment variables, and what it sets, as Python code does it."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from typing import Any

_ENVIRONMENT: Any = type(os.environ)


class Reads:
    """The variables that were read while it watched.

    What C code reads, or Python through `os.environb`, is not seen.
    """

    def __init__(self) -> None:
        self._names: set[str] = set()
        self._all = False

    def of(self, name: str) -> bool:
        """Whether it was read, by its name or with all the others."""
        return self._all or name in self._names

    @contextmanager
    def watched(self) -> Generator[None]:
        """Inside, reads are seen."""
        one, every = _ENVIRONMENT.__getitem__, _ENVIRONMENT.__iter__

        def read(environment: Any, name: str) -> str:
            self._names.add(name)
            return one(environment, name)

        def read_all(environment: Any) -> Iterator[str]:
            self._all = True
            return every(environment)

        _ENVIRONMENT.__getitem__, _ENVIRONMENT.__iter__ = read, read_all
        try:
            yield
        finally:
            _ENVIRONMENT.__getitem__, _ENVIRONMENT.__iter__ = one, every


class Writes:
    """Calls a function before a variable gets another value than it has."""

    def __init__(self, written: Callable[[str], None]) -> None:
        self._written = written
        self._set = _ENVIRONMENT.__setitem__
        self._delete = _ENVIRONMENT.__delitem__

    def start(self) -> None:
        """From here on."""

        def write(environment: Any, name: str, value: str) -> None:
            if environment.get(name) != value:
                self._written(name)
            self._set(environment, name, value)

        def delete(environment: Any, name: str) -> None:
            if name in environment:
                self._written(name)
            self._delete(environment, name)

        _ENVIRONMENT.__setitem__, _ENVIRONMENT.__delitem__ = write, delete

    def stop(self) -> None:
        """No more."""
        _ENVIRONMENT.__setitem__, _ENVIRONMENT.__delitem__ = self._set, self._delete
