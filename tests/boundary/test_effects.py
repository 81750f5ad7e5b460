"""Declarations of effects, and the decorator outside of any recording."""

import asyncio
import inspect

import pytest

from anchored import tool
from anchored.boundary import Declarations, declared_by


def test_patterns_win_over_decorators_and_the_first_wins() -> None:
    @tool(effect="write")
    def search(query: str) -> str:
        return query

    declarations = Declarations([("search*", "read"), ("*", "none")])
    assert declarations.of("search", search).effect == "read"
    assert declarations.of("other").effect == "none"
    assert Declarations().of("search", search).effect == "write"
    assert Declarations().of("other").effect is None


def test_a_decorated_function_is_itself_where_nothing_is_recorded() -> None:
    @tool(effect="none")
    def double(number: int, *, plus: int = 0) -> int:
        """Twice."""
        return 2 * number + plus

    assert double(3, plus=1) == 7
    assert double.__doc__ == "Twice."
    assert list(inspect.signature(double).parameters) == ["number", "plus"]
    assert declared_by(double) == "none"


def test_a_coroutine_function_stays_one() -> None:
    @tool(effect="read")
    async def later(text: str) -> str:
        return text

    assert inspect.iscoroutinefunction(later)
    assert declared_by(later) == "read"
    assert asyncio.run(later("x")) == "x"


def test_unknown_effects_are_refused() -> None:
    with pytest.raises(ValueError, match="effect must be one of"):
        tool(effect="reads")  # type: ignore[arg-type]
