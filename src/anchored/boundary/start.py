"""Start-up inside the child: read what to do, put the boundary in, say hello. Anything that fails ends the process."""

from __future__ import annotations

import atexit
import os
import sys
import time
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import cast

import wrapt

from anchored.boundary.ambient import Ambient
from anchored.boundary.crossing import Gate
from anchored.boundary.effects import Declarations
from anchored.boundary.guard import install_guard
from anchored.boundary.lanes import watch_lanes
from anchored.boundary.loaded import as_now, loaded
from anchored.boundary.process import current_gate, use_gate
from anchored.boundary.proxies import restore_proxies
from anchored.boundary.recorder import Recorder
from anchored.boundary.replayer import Replayer
from anchored.boundary.stdin import watch_stdin
from anchored.canonical import JsonObject
from anchored.errors import DamagedError
from anchored.library import FileJournal, Journal, load, read_order
from anchored.replaying import is_ambient, plan_from, recorded_ambient

INSTALL_FAILED = 125
"""Exit status of a process into which the boundary could not be put."""

ADAPTERS = "anchored.adapters"
"""Entry point group: an entry's name is the module whose import it waits for; its object's
`install` takes that module, and gives what to say of it to a gate."""

WITHOUT_VARIABLE = "ANCHORED_WITHOUT"
"""Environment variable with the names of adapters that are left out, between commas."""

_put_in: list[bool] = []
_entered: set[str] = set()
"""Modules that have their door or adapter."""

_announcements: list[Callable[[Gate], None]] = []
"""What the installed adapters say of themselves to each new gate."""

_TRANSPORTS = {
    "aiohttp": "anchored.boundary.transport_aiohttp",
    "http.client": "anchored.boundary.transport_stdlib",
    "httpx": "anchored.boundary.transport_httpx",
    "httpx2": "anchored.boundary.transport_httpx",
    "urllib3": "anchored.boundary.transport_urllib3",
    "uvloop": "anchored.boundary.guard_uvloop",
}


def start(path: Path) -> None:
    """Puts the boundary into this process for the attempt whose run file is `path`.

    1. Read the order.  2. Make the gate.  3. Wait for transports and frameworks.  4. Watch connections and standard
    input.  5. Say hello.
    """
    restore_proxies()
    order = read_order(path)  # 1
    journal = FileJournal(path)
    gate = _gate(order, journal)  # 2
    atexit.register(gate.close)
    put_in(gate, journal, failed=abort)  # 3, 4, 5
    watch_stdin(gate)


def put_in(gate: Gate, journal: Journal, *, failed: Callable[[str], None]) -> None:
    """Makes `gate` the gate of this process and says hello. The doors are put in once and stay.

    Args:
        gate: the gate.
        journal: where hello is said.
        failed: called with the reason where a door does not fit a module that is imported.
    """
    use_gate(gate)
    if _put_in:
        for announce in _announcements:
            announce(gate)
    put_doors_in(failed)
    journal.note(
        "hello",
        {
            "process": os.getpid(),
            "parent": os.getppid(),
            "python": ".".join(str(part) for part in sys.version_info[:3]),
            "time": str(time.time_ns()),
        },
    )


def put_doors_in(failed: Callable[[str], None]) -> None:
    """Puts the doors in, if they are not there. Without a gate they are open."""
    if not _put_in:
        watch_lanes()
        _await_imports(failed)
        install_guard()
        os.register_at_fork(after_in_child=_forked)
        _put_in.append(True)


def _forked() -> None:
    gate = current_gate()
    if gate is not None:
        gate.forked()


def _gate(order: JsonObject, journal: FileJournal) -> Gate:
    folder = Path(str(order["folder"]))
    if order["mode"] == "record":
        patterns = cast("list[list[str]]", order["declarations"])
        declarations = Declarations([(pattern, effect) for pattern, effect in patterns])
        started = Path.cwd()
        background = cast("list[str]", order.get("background", []))
        return Recorder(
            journal,
            time.time_ns,
            declarations,
            background=background,
            look=lambda: loaded(folder, started),
            ambient=_seen(Ambient()) if order.get("ambient") is True else None,
        )
    source = load(Path(str(order["source"])))
    journal.note("loaded", as_now(folder, source.program.files, source.program.packages), once=True)
    plan = plan_from(cast("JsonObject", order["plan"]))
    if source.digest != plan.source:
        raise DamagedError(
            "The recording is not the one that this replay was planned for.",
            expected=plan.source,
            found=source.digest,
            next_step="Replay again; somebody changes the store at the same time.",
        )
    patience = cast("int", order["patience_ms"]) / 1000
    watcher = cast("int", order["watcher"])
    ambient = _seen(Ambient(recorded_ambient(source))) if is_ambient(source) else None
    clock = time.time_ns
    return Replayer(source, plan, journal, clock, patience=patience, watcher=watcher, folder=folder, ambient=ambient)


def _seen(ambient: Ambient) -> Ambient:
    """Its values are what the program sees from now on. Only then are the doors loaded that this needs."""
    from anchored.boundary.ambient_doors import install_ambient

    install_ambient(ambient)
    return ambient


def _await_imports(failed: Callable[[str], None]) -> None:
    """Installs each door and adapter when its module is imported, or now if it is."""
    for module, door in _TRANSPORTS.items():
        _when_imported(module, lambda imported, door=door: import_module(door).install(imported), failed)
    for entry in entry_points(group=ADAPTERS):
        _when_imported(entry.name, lambda module, entry=entry: _install_adapter(entry, module), failed)


def _install_adapter(entry: EntryPoint, module: ModuleType) -> None:
    adapter = entry.load()
    if adapter.name in os.environ.get(WITHOUT_VARIABLE, "").split(","):
        return
    announce = cast("Callable[[Gate], None]", adapter.install(module))
    _announcements.append(announce)
    gate = current_gate()
    if gate is not None:
        announce(gate)


def _when_imported(module: str, install: Callable[[ModuleType], None], failed: Callable[[str], None]) -> None:
    def hook(imported: ModuleType) -> None:
        if module in _entered:
            return
        try:
            install(imported)
        except BaseException as error:  # a boundary that is half there is none
            failed(f"cannot install into {module}: {error}")
        _entered.add(module)

    wrapt.register_post_import_hook(hook, module)


def abort(reason: str) -> None:
    """Ends this process at once: without a boundary it would go live."""
    gate = current_gate()
    if gate is not None:
        gate.note("install_failed", {"reason": reason, "process": os.getpid()})
    sys.stderr.write(f"anchored: {reason}\nanchored: this process ends, so that nothing goes live unobserved.\n")
    sys.stderr.flush()
    os._exit(INSTALL_FAILED)
