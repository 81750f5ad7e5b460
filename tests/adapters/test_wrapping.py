"""What adapters do to the classes of a framework."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import pytest

from anchored.adapters import wrap_everywhere


def marked(original: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self: f"<{original(self)}>"


def test_a_method_is_wrapped_once_in_every_class_that_has_its_own() -> None:
    """A subclass of two subclasses is one class; abstract methods stay; classes to come are wrapped too."""

    class Base(ABC):
        @abstractmethod
        def work(self) -> str: ...

    class Left(Base):
        def work(self) -> str:
            return "left"

    class Right(Base): ...

    class Both(Left, Right):
        def work(self) -> str:
            return "both"

    wrap_everywhere(Base, {"work": marked})

    class Later(Right):
        def work(self) -> str:
            return "later"

    class Heir(Later): ...

    assert [kind().work() for kind in (Left, Both, Later, Heir)] == ["<left>", "<both>", "<later>", "<later>"]
    with pytest.raises(TypeError):
        Base()  # pyright: ignore[reportAbstractUsage]


def test_a_class_that_has_not_what_is_wrapped_is_refused() -> None:
    class Other: ...

    with pytest.raises(AttributeError, match="work"):
        wrap_everywhere(Other, {"work": marked})
