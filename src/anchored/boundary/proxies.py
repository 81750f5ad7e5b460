"""A dead proxy in the environment of a replay, which only the installed boundary takes out.

A Python that gets no boundary (started with -I by some wrapper, say) finds no way out by it, nor does a program in
another language that honours these variables.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping

_HELD = "ANCHORED_PROXIES"
"""Environment variable with what the others were, as JSON."""

ISOLATED = "ANCHORED_ISOLATED"
"""Environment variable that is set where a replay has no network."""

_held_back: list[bool] = []
_DEAD = "http://127.0.0.1:9"
_NAMES = ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
_EXCEPTIONS = ("no_proxy", "NO_PROXY")


def dead_proxies(environment: Mapping[str, str]) -> dict[str, str]:
    """What to set in a replay's environment besides what is there."""
    held = {name: environment[name] for name in (*_NAMES, *_EXCEPTIONS) if name in environment}
    return {_HELD: json.dumps(held), **dict.fromkeys(_NAMES, _DEAD), **dict.fromkeys(_EXCEPTIONS, "")}


def is_isolated() -> bool:
    """Whether this process was started without a network."""
    return ISOLATED in os.environ


def restore_proxies() -> None:
    """Gives this process the proxies that the user has set, or none. Inverts `dead_proxies`.

    Python sees them in `os.environ`. What reads the environment past Python still finds the dead one, and so do the
    children that inherit it, until `release_proxies`; a Python among them finds what was held too.
    """
    held = os.environ.pop(_HELD, None)
    if held is None:
        return
    before: dict[str, str] = json.loads(held)
    dead = {name: os.environ.pop(name, "") for name in (*_NAMES, *_EXCEPTIONS)}
    os.environ.update(before)
    for name, value in (*dead.items(), (_HELD, held)):
        os.putenv(name, value)
    _held_back.append(True)


def pass_on_proxies(environment: dict[str, str]) -> dict[str, str]:
    """An environment for a child that is made of `os.environ`, with the dead proxies as long as others inherit them."""
    return {**environment, **dead_proxies(environment)} if _held_back else environment


def passes_on_proxies(environment: Mapping[object, object]) -> bool:
    """Whether an environment for a child has the dead proxies."""
    return environment.get(_HELD) is not None and all(environment.get(name) == _DEAD for name in _NAMES)


def release_proxies() -> None:
    """From here on children and native code may go where Python may: the replay is live."""
    if not _held_back:
        return
    _held_back.clear()
    for name in (*_NAMES, *_EXCEPTIONS, _HELD):
        value = os.environ.get(name)
        if value is None:
            os.unsetenv(name)
        else:
            os.putenv(name, value)
