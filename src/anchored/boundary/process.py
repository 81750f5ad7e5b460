"""The one gate of this process. It does not depend on context variables: executor threads lose those."""

from __future__ import annotations

from anchored.boundary.crossing import Gate

_gates: list[Gate] = []


def use_gate(gate: Gate | None) -> None:
    """Makes `gate` the gate of this process, or takes it away."""
    _gates[:] = [] if gate is None else [gate]


def current_gate() -> Gate | None:
    """The gate of this process; None where nothing is recorded or replayed."""
    return _gates[0] if _gates else None


def final(text: str) -> None:
    """Says what the program's final answer is. Does nothing where nothing is recorded or replayed."""
    gate = current_gate()
    if gate is not None:
        gate.note("final", {"text": text if isinstance(text, str) else repr(text), "source": "program"})  # pyright: ignore[reportUnnecessaryIsInstance]
