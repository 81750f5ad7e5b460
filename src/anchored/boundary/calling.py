"""A `Call` in the program's process: the function is imported when the anchor is reached, and changes the request."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from types import ModuleType
from typing import cast

from anchored.boundary.failures import failure_of
from anchored.canonical import Json, JsonObject, clip, digest, parse_exact
from anchored.errors import RefusedError, UsageError
from anchored.replaying import Acting, Call, Intervention


def call_from(target: str, folder: Path) -> Call:
    """The call of a function, its module's file digested as it is now. Nothing is imported.

    Args:
        target: "module:function", the module as the program's folder has it.
        folder: where the program runs.

    Raises:
        UsageError: it is of another form, or the folder has no such module.
    """
    try:
        call = Call(target=target, source=digest("call-source", b""))
    except ValueError as error:
        raise UsageError(
            "The function cannot be meant.",
            expected="module:function",
            found=repr(target),
            next_step="For example --call changes:shorten, with a function `shorten` in changes.py.",
        ) from error
    file = _file(call, folder)
    if file is None:
        raise UsageError(
            "The function's module is not in the program's folder.",
            expected=f"a module {call.target.partition(':')[0]} in {folder}",
            found="no such file",
            next_step="Put it there: the source of what is called is bound by the plan.",
        )
    return Call(target=target, source=digest("call-source", file.read_bytes()))


def acting(intervention: Intervention, folder: Path) -> Acting:
    """The intervention as it acts in this process."""
    return BoundCall(call=intervention, folder=folder) if isinstance(intervention, Call) else intervention


@dataclass(frozen=True, kw_only=True, slots=True)
class BoundCall:
    """A call that can be made.

    Attributes:
        call: what is called.
        folder: where the program was started, which has the module.
    """

    call: Call
    folder: Path

    def apply(self, *, method: str, path: str, body: bytes) -> bytes:
        """The body that the function makes; the very bytes if it changes nothing.

        Raises:
            RefusedError: the module's source is another one, the function is not there, it raises, or what it returns
                is no body.
        """
        doing = "is given a body that is no JSON"
        try:
            request: JsonObject = {"method": method, "path": path, "body": parse_exact(body.decode("utf-8"))}
            before = _encoded(request["body"])
            doing = "cannot be imported"
            with _importing_from(self.folder):
                function = self._function()
                doing = "failed"
                returned = function(request)
            if returned is not None and not isinstance(returned, dict):
                raise self._refused("returned neither a dict nor None", type(returned).__name__)
            doing = "made a body that is no JSON"
            after = _encoded(request.get("body") if returned is None else cast("JsonObject", returned))
            return body if after == before else after
        except RefusedError:
            raise
        except BaseException as error:  # the program would swallow it, or end by it, and nobody would know why
            failure = failure_of(error)
            said = clip(f"{failure.error_class.removeprefix('builtins.')}: {failure.message}", 200)
            raise self._refused(f"{doing}: {said}", failure.error_class) from error

    def _function(self) -> Callable[[JsonObject], object]:
        file = _file(self.call, self.folder)
        found = "none" if file is None else digest("call-source", file.read_bytes())
        if file is None or found != self.call.source:
            raise self._refused("has another source than when this replay was planned", found)
        name, _, function = self.call.target.partition(":")
        module = _module(name, file)
        held = getattr(module, "__file__", None)
        if held is None or not os.path.samefile(held, file):
            raise self._refused("is imported from elsewhere than the program's folder", str(held))
        return cast("Callable[[JsonObject], object]", attrgetter(function)(module))

    def _refused(self, what: str, found: str) -> RefusedError:
        return RefusedError(
            f"The function {self.call.target} {what}",
            expected="a function of a dict (method, path, body) that returns the changed body, or changes it in place",
            found=found,
            next_step="Correct the function, and replay again.",
        )


def _module(name: str, file: Path) -> ModuleType:
    """The module; the program itself where it is that file, since to import it would run it a second time."""
    main = sys.modules.get("__main__")
    held = getattr(main, "__file__", None)
    if main is not None and held is not None and os.path.exists(held) and os.path.samefile(held, file):
        return main
    return import_module(name)


def _file(call: Call, folder: Path) -> Path | None:
    """The file of a call's module in the program's folder; None if there is none."""
    place = folder.joinpath(*call.target.partition(":")[0].split("."))
    candidates = (place / "__init__.py", place.with_name(place.name + ".py"))
    return next((path for path in candidates if path.is_file()), None)


def _encoded(value: Json) -> bytes:
    """As clients write a body: compact, and text as it is."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode("utf-8")


@contextmanager
def _importing_from(folder: Path) -> Generator[None]:
    """Modules of the folder come first meanwhile, however the program was started."""
    place = str(folder)
    sys.path.insert(0, place)
    try:
        yield
    finally:
        if place in sys.path:
            sys.path.remove(place)
