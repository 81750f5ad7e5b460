"""Exceptions as data: raised again as what they were, without importing anything by name (identity 7)."""

import sys

import pytest

from anchored.boundary.failures import RecordedToolError, failure_of, keep_by, rebuild


class Plain(Exception):
    pass


class Stubborn(Exception):
    def __init__(self) -> None:
        super().__init__("made without arguments")


@pytest.mark.parametrize("error", [KeyError("value"), ValueError(), OSError(2, "gone"), Plain("a", 1, (2.5, None))])
def test_loaded_classes_are_rebuilt_equal(error: Exception) -> None:
    again = rebuild(failure_of(error))
    assert type(again) is type(error)
    assert again.args == error.args
    assert str(again) == str(error)


@pytest.mark.parametrize("error", [Stubborn(), Plain(object()), SystemExit(3), KeyboardInterrupt()])
def test_what_cannot_be_rebuilt_stands_in_and_says_what_it_was(error: BaseException) -> None:
    failure = failure_of(error)
    again = rebuild(failure)
    assert isinstance(again, RecordedToolError)
    assert type(error).__qualname__ in str(again)
    assert failure_of(again) == failure, "a stand-in is recorded as what it stands for"


def test_nothing_is_imported_by_name() -> None:
    failure = failure_of(ValueError("x"))
    named = type(failure)(error_class="turtledemo.clock.Gone", message="x", arguments=failure.arguments)
    assert isinstance(rebuild(named), RecordedToolError)
    assert "turtledemo" not in sys.modules


@pytest.mark.parametrize("name", ["os.system", "builtins.eval", "anchored.errors", "", ".", "builtins.object"])
def test_only_exceptions_are_built(name: str) -> None:
    failure = failure_of(ValueError("true"))
    named = type(failure)(error_class=name, message="true", arguments=failure.arguments)
    assert isinstance(rebuild(named), RecordedToolError)


class Holding(Exception):
    """As clients make them: it holds a live object, whose address is in its text."""

    def __init__(self, held: object, code: int) -> None:
        super().__init__(held, code)
        self.code = code


def test_a_library_says_how_its_exceptions_are_kept() -> None:
    """Issue 4: errors of aiohttp and urllib3, which hold connections, are raised again as their classes."""
    assert isinstance(rebuild(failure_of(Holding(object(), 7))), RecordedToolError)
    keep_by(Holding, lambda error: [error.code], lambda parts: Holding(object(), parts[0]))
    failure = failure_of(Holding(object(), 7))
    again = rebuild(failure)
    assert type(again) is Holding
    assert again.code == 7
    assert " at 0x" not in failure.message
    assert failure_of(again) == failure
