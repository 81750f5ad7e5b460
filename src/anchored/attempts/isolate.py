"""`python isolate.py COMMAND …` runs a command without any network, where the system allows that; else as it is.

A replay to the end makes no call, so it needs none. On Linux the command gets a network of its own in which only the
loopback is, empty: whatever escapes the boundary (another language, a Python without site) reaches nobody.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import signal
import socket
import struct
import sys
from collections.abc import Sequence
from pathlib import Path

_NEW_USER = 0x10000000  # CLONE_NEWUSER and CLONE_NEWNET of <linux/sched.h>
_NEW_NET = 0x40000000
_SET_FLAGS = 0x8914  # SIOCSIFFLAGS of <linux/sockios.h>
_UP = 0x1


def isolated_command(command: Sequence[str]) -> tuple[str, ...]:
    """The command that runs another without a network."""
    return (sys.executable, "-I", "-S", str(Path(__file__).resolve()), *command)


def isolate() -> None:
    """Leaves this process without a network.

    Raises:
        OSError: the system does not allow it, or is no Linux.
    """
    if not sys.platform.startswith("linux"):
        raise OSError("no Linux")
    user, group = os.geteuid(), os.getegid()
    library = ctypes.CDLL(None, use_errno=True)
    if library.unshare(_NEW_NET) != 0:
        if user == 0 or library.unshare(_NEW_USER | _NEW_NET) != 0:  # root would lose its power over others' files
            raise OSError(ctypes.get_errno(), "unshare")
        Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1", encoding="ascii")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1", encoding="ascii")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        fcntl.ioctl(control, _SET_FLAGS, struct.pack("16sh", b"lo", _UP))


def _works() -> bool:
    """Whether all of it can be done: half of it would leave the program as another user. Tried in a child."""
    try:
        child = os.fork()
        if child == 0:
            try:
                isolate()
            except OSError:
                os._exit(1)
            os._exit(0)
        return os.waitpid(child, 0)[1] == 0
    except OSError:
        return False


def main() -> None:
    """Becomes the command."""
    if _works():  # elsewhere the guard, the dead proxy and the watchdog stand all the same
        isolate()
        os.environ["ANCHORED_ISOLATED"] = "1"
    for name in ("SIGPIPE", "SIGXFSZ"):  # Python ignores these, and what is ignored stays so for the program
        signal.signal(getattr(signal, name), signal.SIG_DFL)
    try:
        os.execvp(sys.argv[1], sys.argv[1:])
    except OSError as error:
        sys.stderr.write(f"anchored: {sys.argv[1]}: {error.strerror}\n")
        sys.exit(127)


if __name__ == "__main__":
    main()
