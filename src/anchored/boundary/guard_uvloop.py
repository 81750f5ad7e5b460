"""The guard's part for uvloop, whose connections and children are native code that no audit hook sees.

Entered at the public methods of `uvloop.Loop` that reach out (seen in 0.23.0).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from anchored.boundary.guard import check_address, check_child, check_name

_Check = Callable[..., None]


def _connection(protocol_factory: object, host: object = None, port: object = None, **_: object) -> None:
    if host is not None:  # else over a socket that is connected already
        check_address((host, port))


def _unix_connection(protocol_factory: object, path: object = None, **_: object) -> None:
    if path is not None:
        check_address(path)


def _datagrams(protocol_factory: object, local_addr: object = None, remote_addr: object = None, **_: object) -> None:
    if remote_addr is not None:
        check_address(remote_addr)


def _socket(sock: object, address: object) -> None:
    check_address(address)


def _datagram(sock: object, data: object, address: object) -> None:
    check_address(address)


def _name(host: object, port: object, **_: object) -> None:
    check_name(host, port)


def _program(protocol_factory: object, program: object, *words: object, env: object = None, **_: object) -> None:
    check_child("subprocess.Popen", (program, [program, *words], None, env))


def _shell(protocol_factory: object, command: object, *, env: object = None, **_: object) -> None:
    check_child("subprocess.Popen", ("sh", ["sh", "-c", command], None, env))


_CHECKS: dict[str, _Check] = {
    "create_connection": _connection,
    "create_unix_connection": _unix_connection,
    "create_datagram_endpoint": _datagrams,
    "sock_connect": _socket,
    "sock_sendto": _datagram,
    "getaddrinfo": _name,
    "subprocess_exec": _program,
    "subprocess_shell": _shell,
}


def install(uvloop: Any) -> None:
    """Watches what uvloop's loops do from now on."""
    for name, check in _CHECKS.items():
        original = getattr(uvloop.Loop, name, None)
        if original is not None:
            setattr(uvloop.Loop, name, _checked(original, check))


def _checked(original: Callable[..., Any], check: _Check) -> Callable[..., Any]:
    @wraps(original)
    async def checked(self: Any, *args: Any, **kwargs: Any) -> Any:
        check(*args, **kwargs)
        return await original(self, *args, **kwargs)

    return checked
