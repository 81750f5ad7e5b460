"""What a door (a transport, a tool adapter) says to the gate, and what the gate answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from anchored.canonical import JsonObject
from anchored.events import Begin, Declared, Kind, Outcome, Request, Result
from anchored.replaying import RequestChange

POISON_TEXT = "anchored ended this replay"
"""Constant, since a difference in the text would be read by the agents."""


class Poisoned(BaseException):
    """Nothing crosses the boundary any more. No `Exception`: a framework that swallows those lets it through."""

    def __init__(self) -> None:
        super().__init__(POISON_TEXT)


@dataclass(frozen=True, kw_only=True, slots=True)
class Crossing:
    """What a door is about to do.

    Attributes:
        kind: what kind of crossing.
        actor: the acting agent, if known.
        name: model, tool, or method and path.
        call_id: the framework's id of the tool call.
        request: what is asked.
        declared: effect and its details, as declared in the program or project.
        may_write: it may change the world, so its begin is on the disk before it goes out.
        origin: scheme, host and port for HTTP; empty for tools.
        method: of an HTTP request; empty for tools.
        path: of an HTTP request as sent, without the query; empty for tools.
        observation: what is kept outside of identity.
        chosen_by: begin of the event by which the actor was chosen, where this is the first event after the choice.
    """

    kind: Kind
    actor: str | None
    name: str
    call_id: str | None
    request: Request
    declared: Declared
    may_write: bool
    origin: str = ""
    method: str = ""
    path: str = ""
    observation: JsonObject
    chosen_by: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Background:
    """An HTTP request that is declared as background, and is no event of the log.

    Attributes:
        method: in upper case.
        origin: scheme, host and port.
        path: as sent, without the query.
    """

    method: str
    origin: str
    path: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Passage:
    """How a crossing goes on.

    Attributes:
        action: `live` (do it), `serve` (hand out `result`), or `enter` (a container: run its code, serve what it asks).
        begin: its begin entry; None where nothing is recorded (background, another process, or a store that failed).
        result: what to hand out, for `serve`.
        outcome: the recorded outcome, for `serve`.
        intervention: what to change in a copy of the request, for `live` at the anchor.
        background: what is live and no event, while recording.
    """

    action: Literal["live", "serve", "enter"]
    begin: Begin | None
    result: Result | None = None
    outcome: Outcome = Outcome.UNKNOWN
    intervention: RequestChange | None = None
    background: Background | None = None


class Gate(Protocol):
    """The one thing that every door asks, and that every door tells what came of it."""

    @property
    def serving(self) -> bool:
        """Whether crossings are served, or refused, and nothing is live."""
        ...

    def declared(self, name: str, function: object) -> Declared:
        """What is declared of a tool's effect."""
        ...

    def begin(self, crossing: Crossing) -> Passage:
        """Before a crossing. Raises `Poisoned` if it must not happen."""
        ...

    async def begin_async(self, crossing: Crossing) -> Passage:
        """`begin` for what runs in an event loop, which it never blocks."""
        ...

    def wait(self, passage: Passage) -> None:
        """Before the program is handed what came of it: waits for the turn of its end. Raises `Poisoned` if that never
        comes.
        """
        ...

    async def wait_async(self, passage: Passage) -> None:
        """`wait` for what runs in an event loop."""
        ...

    def hold(self, passage: Passage) -> None:
        """`wait` for a body that is read bit by bit: not for long, since what is done with a bit may come first."""
        ...

    async def hold_async(self, passage: Passage) -> None:
        """`hold` for what runs in an event loop."""
        ...

    async def wait_for_cancellation(self, passage: Passage) -> None:
        """Waits to be cancelled, as the recorded call was. Returns only by that, or with `Poisoned`."""
        ...

    def end(
        self,
        passage: Passage,
        *,
        outcome: Outcome,
        result: Result | None,
        observation: JsonObject | None = None,
        text: str | None = None,
        sent: Request | None = None,
    ) -> None:
        """After it, with exactly what the program was handed. Never waits: what ends before its turn, since it was
        cancelled or closed, is written when its turn comes.

        Args:
            passage: what `begin` answered.
            outcome: what came of it.
            result: what the program was handed; None if it cannot be kept.
            observation: what is kept outside of identity.
            text: a tool's text, where its value is one.
            sent: the request that went out, where an intervention changed it.

        Raises `Poisoned` if the result is not what was recorded.
        """
        ...

    def chose_speaker(self, actor: str, selection: int | None) -> None:
        """The framework chose who speaks next, by what the model call that began at `selection` said."""
        ...

    def issuer(self, call_id: str) -> int | None:
        """Position of the begin of the one model call that issued this call id; None if none did, or several."""
        ...

    def connecting(self, address: str, *, inside: bool) -> None:
        """A connection is about to be made; `inside` if a door of ours makes it. Raises OSError if it must not be."""
        ...

    def poison(self, cause: str, message: str, details: JsonObject | None = None) -> Poisoned:
        """Ends the session for good; the exception to raise."""
        ...

    def note(self, kind: str, document: JsonObject, *, once: bool = False) -> None:
        """Says something about the run outside its log."""
        ...

    def spawning(self, command: str, *, bound: bool, python: bool, inherits: bool) -> None:
        """A child process is about to start. Raises OSError if it must not.

        Args:
            command: its executable.
            bound: it gets the environment by which the boundary comes, and no option that shuts it out.
            python: it is a Python; in another program there can be no boundary.
            inherits: it gets this process's own environment, or one that passes the dead proxies on.
        """
        ...

    def close(self) -> None:
        """This process ends."""
        ...

    def forked(self) -> None:
        """This process is a fork of the one that the gate was made in: locks held there are not held here."""
        ...
