"""Background HTTP: which requests stand outside the order because they were declared so (telemetry, heartbeats).

A pattern is `HOST[:PORT][/PATH]`, where `*` stands for any characters (`/` too), `?` for one and `[…]` for one of a
set. HOST is compared without regard to case; an IPv6 address stands in brackets. Without a port any port matches, with
one that port alone, except at a loopback address, whose ports are free. PATH is compared as sent, with its case and
without the query; without one every path matches.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from urllib.parse import urlsplit

from anchored.canonical import Json
from anchored.errors import RefusedError, UsageError
from anchored.events import Begin
from anchored.recording import Recording
from anchored.replaying.asked import Asked
from anchored.replaying.policy import containers, covered_positions, lane_of

LOOPBACK = ("127.0.0.1", "localhost", "::1")
"""Hosts whose ports are free to change from run to run."""

_PATTERN = re.compile(r"(?P<host>\[[0-9A-Fa-f:.%*]+\]|[^/:\s]+)(?::(?P<port>[0-9]{1,5}))?(?P<path>/\S*)?")


def check_pattern(pattern: str) -> str:
    """`pattern`, if it is one.

    Raises:
        UsageError: it is none.
    """
    if _PATTERN.fullmatch(pattern) is None:
        raise UsageError(
            "This is no pattern of background requests.",
            expected="HOST[:PORT][/PATH], such as telemetry.example.com/* or 127.0.0.1/heartbeat",
            found=pattern,
            next_step="Leave out the scheme and the query; * stands for any characters.",
        )
    return pattern


def background_pattern(patterns: Iterable[str], *, origin: str, path: str) -> str | None:
    """The first pattern that declares an HTTP request; None if none does.

    Args:
        patterns: as `check_pattern` takes them.
        origin: scheme, host and port.
        path: as sent, without the query.
    """
    if not origin:
        return None
    host, port = _host_and_port(origin)
    return next((pattern for pattern in patterns if _matches(pattern, host, port, path)), None)


def background_name(*, method: str, origin: str, path: str) -> str:
    """What a receipt calls a background request: method, host and path."""
    host, _ = _host_and_port(origin)
    return f"{method} {f'[{host}]' if ':' in host else host}{path}"


def check_not_recorded(source: Recording, patterns: Sequence[str], *, size: int) -> None:
    """Refuses patterns that declare what is an event of the prefix, or the anchor: such an event would never come.

    Args:
        source: the recording.
        patterns: what is declared for the replay.
        size: entries of the prefix.

    Raises:
        RefusedError: with the first such event.
    """
    covered = covered_positions(source.log, containers(source.log)) if patterns else frozenset[int]()
    for event in source.log.events:
        if event.position > size or event.begin.kind != "http" or event.position in covered:
            continue
        origin = str(source.observation(event.position).get("origin", ""))
        path = _path(source, event.begin)
        pattern = background_pattern(patterns, origin=origin, path=path)
        if pattern is not None:
            raise RefusedError(
                "A request is declared as background that this recording holds as an event.",
                expected="patterns of requests that are in no log",
                found=f"{pattern!r}, which matches {event.begin.name} at {event.position}",
                next_step=f"Record again with --background {pattern!r}.",
            )


def likely_background(source: Recording, asked: Asked, expected: int) -> str | None:
    """Host and path of what may be telemetry: HTTP that came in place of another lane's event, or from a lane that asks
    no model and no tool; or HTTP that was recorded in the place where another lane's request came. None elsewhere.

    Args:
        source: the recording.
        asked: the request.
        expected: position of the event whose turn it was; that of the end where there was none.
    """
    event = source.log.event_at(expected) if expected < len(source.log) else None
    elsewhere = event is not None and lane_of(source, expected) != asked.lane
    at_work = {lane_of(source, other.position) for other in source.log.events if other.begin.kind != "http"}
    if asked.kind == "http" and (elsewhere or (at_work and asked.lane not in at_work)):
        return _place(asked.name, asked.origin)
    if event is not None and elsewhere and event.begin.kind == "http":
        return _place(event.begin.name, str(source.observation(expected).get("origin", "")))
    return None


def _place(name: str, origin: str) -> str:
    method, _, path = name.partition(" ")
    return background_name(method=method, origin=origin, path=path).removeprefix(f"{method} ")


def _matches(pattern: str, host: str, port: str, path: str) -> bool:
    found = _PATTERN.fullmatch(pattern)
    if found is None or (found["port"] not in (None, port) and host not in LOOPBACK):
        return False
    wanted = str(found["host"]).lower()
    same = wanted[1:-1] == host if wanted.startswith("[") and wanted.endswith("]") else fnmatchcase(host, wanted)
    return same and fnmatchcase(path, str(found["path"] or "*"))


def _host_and_port(origin: str) -> tuple[str, str]:
    try:
        parts = urlsplit(origin)
        return parts.hostname or "", str(parts.port or "")
    except ValueError:
        return origin, ""


def _path(source: Recording, begin: Begin) -> str:
    held: Json = source.request(begin).get("path")
    return held if isinstance(held, str) else ""
