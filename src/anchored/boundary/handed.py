"""A response's body on its way to the program, in the doors that hand it out by a reader of the library's own."""

from __future__ import annotations

from collections.abc import Callable

from anchored.boundary.crossing import Crossing, Gate, Passage, Poisoned
from anchored.boundary.failures import end_with_failure, failure_of, is_cancellation, rebuild
from anchored.boundary.http_calls import Headers, outcome_of_error, outcome_of_response, unserved
from anchored.events import Failure, HttpResult, Raised, Request, served_headers

DECODED_OUTSIDE = "an encoded body that the program decodes itself"
"""Why a body cannot be served: its encoding is not, since bodies are kept decoded."""


class Handed:
    """Tells the gate what the program was handed, once.

    Args:
        gate: this process's gate.
        passage: what the gate answered to the request.
        status: status code.
        headers: all headers as received, or those that are served.
        may_write: of the request.
        sent: the request that went out, where an intervention changed it.
        decode: makes the handed body of what passed; joins it by default.
        unreplayable: why this body cannot be served back; None if it can.
    """

    def __init__(
        self,
        gate: Gate,
        passage: Passage,
        *,
        status: int,
        headers: Headers,
        may_write: bool = False,
        sent: Request | None = None,
        decode: Callable[[list[bytes]], bytes] = b"".join,
        unreplayable: str | None = None,
    ) -> None:
        self.gate = gate
        self.passage = passage
        self.ended = False
        self.size = 0
        self._status = status
        self._headers = headers
        self._may_write = may_write
        self._sent = sent
        self._decode = decode
        self.unreplayable = unreplayable
        self._chunks: list[bytes] = []

    def take(self, chunk: bytes) -> None:
        """A part of the body passes."""
        if chunk and not self.ended:
            self._chunks.append(chunk)
            self.size += len(chunk)

    def end(self, *, closed: bool = False, error: Failure | None = None) -> None:
        """The body is read to its end, closed before, or broken off. Raises `Poisoned` if that is not as recorded."""
        if self.ended:
            return
        self.ended = True
        result = HttpResult(
            status=self._status,
            headers=served_headers(self._headers),
            body=self._decode(self._chunks),
            closed=closed,
            error=error,
        )
        observation = unserved(self._headers)
        if self.unreplayable is not None:
            observation["unreplayable"] = self.unreplayable
        self.gate.end(
            self.passage,
            outcome=outcome_of_response(self._status, error, may_write=self._may_write),
            result=result,
            observation=observation,
            sent=self._sent,
        )


def is_encoded(headers: Headers) -> bool:
    """Whether a body came in another form than it is kept in."""
    return any(name.lower() == "content-encoding" and value.lower() != "identity" for name, value in headers)


def read_past(gate: Gate) -> Poisoned:
    """The program reads where it had closed the recorded body."""
    return gate.poison("divergence", "the program reads past where it closed the recorded stream")


def no_response(gate: Gate) -> Poisoned:
    """A recorded result is of another kind than the crossing."""
    return gate.poison("recorder", "a recorded result is no HTTP response")


def redirected(gate: Gate) -> Poisoned:
    """A redirect would lose what was put into the request."""
    return gate.poison("guard", "the changed request was redirected, and would go on without the intervention")


def end_unanswered(
    gate: Gate, passage: Passage, crossing: Crossing, error: BaseException, *, went_out: bool, sent: Request | None
) -> None:
    """A live request got no response."""
    outcome = outcome_of_error(error, may_write=crossing.may_write, sent=went_out)
    gate.end(passage, outcome=outcome, result=Raised(error=failure_of(error)), sent=sent)


def raise_recorded(gate: Gate, passage: Passage, recorded: Failure) -> Exception:
    """The exception to raise in place of a recorded response, when its turn has come."""
    gate.wait(passage)
    error = rebuild(recorded)
    end_with_failure(gate, passage, error)
    return error


async def raise_recorded_async(gate: Gate, passage: Passage, recorded: Failure) -> Exception:
    """`raise_recorded` in an event loop; a call that was cancelled waits to be cancelled again."""
    if is_cancellation(recorded):
        try:
            await gate.wait_for_cancellation(passage)
        except Poisoned:
            raise
        except BaseException as error:
            gate.end(passage, outcome=passage.outcome, result=Raised(error=failure_of(error)))
            raise
    await gate.wait_async(passage)
    error = rebuild(recorded)
    end_with_failure(gate, passage, error)
    return error
