"""Objects that tools give ↔ plain data."""

import sys
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from enum import Enum
from uuid import UUID

import pytest
from autogen.agentchat.group import AgentNameTarget, ContextVariables, ReplyResult

from anchored.adapters.objects import pack, unpack
from anchored.events import Unreplayable, decode_value, encode_value


class Colour(Enum):
    RED = "red"


@dataclass
class Lamp:
    colour: Colour
    sizes: dict[str, tuple[float, ...]]
    faults: list[Exception] = field(default_factory=list)


@dataclass
class Counted:
    """Its constructor does something."""

    count: int

    def __post_init__(self) -> None:
        self.count += 1


@pytest.mark.parametrize(
    "value",
    [
        None,
        [1, (2.5, b"x"), {"a": {"b"}}],
        (True, {"content": Lamp(Colour.RED, {"height": (1.5,)})}),
        Counted(1),
        ["anchored.object", "dataclass", "this:Zen", {}],
        {"at": [datetime(2026, 1, 2, 3, 4, tzinfo=UTC), timedelta(days=1), Decimal("1.50"), UUID(int=7)]},
        ReplyResult(message="m", target=AgentNameTarget("writer"), context_variables=ContextVariables({"n": [1]})),
    ],
)
def test_unpack_inverts_pack(value: object) -> None:
    """Codecs: equal in type and value, through the bytes that are recorded."""
    assert unpack(decode_value(encode_value(pack(value)))) == value


def test_exceptions_are_rebuilt_as_what_they_were() -> None:
    again = unpack(decode_value(encode_value(pack(Lamp(Colour.RED, {}, [KeyError("value")])))))
    assert isinstance(again, Lamp)
    assert [(type(fault), fault.args) for fault in again.faults] == [(KeyError, ("value",))]


more = Counted(1)
vars(more)["other"] = "no field"
endless: list[object] = []
endless.append(endless)


@pytest.mark.parametrize("value", [more, endless, {Colour.RED: 1}, [object()], Colour])
def test_what_cannot_be_rebuilt_is_refused(value: object) -> None:
    """Identity 6: a value that would come back as another is unreplayable, with the reason."""
    with pytest.raises(Unreplayable):
        encode_value(pack(value))


def test_nothing_is_imported_by_a_recorded_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """Identity 7: a class that is not loaded is none; its module is not imported."""
    monkeypatch.delitem(sys.modules, "this", raising=False)
    with pytest.raises(ValueError, match="this:Zen"):
        unpack(["anchored.object", "dataclass", "this:Zen", {}])
    assert "this" not in sys.modules
