"""From what the user points at to the event at which an intervention can act."""

from __future__ import annotations

from anchored.errors import AnchorError
from anchored.events import End, Kind, ToolValue
from anchored.recording import Anchor, Log, anchor_on, check_anchor
from anchored.replaying.interventions import Call, EditRequest, Guide, Intervention, ReplaceResult, SwapModel


def resolve_anchor(log: Log, run: str, position: int, intervention: Intervention) -> Anchor:
    """The anchor for an intervention on the event at `position`.

    `none` changes nothing and stays at the event; a replaced result stays there too. What changes a request needs one:
    on a tool event it goes to the model call whose response issued that call id, by a recorded edge only. Guidance
    needs a model call, and does so on other HTTP as well.

    Raises:
        AnchorError: nothing begins there, something is in flight there, no recorded edge leads to a model call, or the
            result is of another kind than the event.
    """
    if isinstance(intervention, Guide):
        position = _model_call(log, position, kinds=("execute_tool", "http", "human_input", "retrieve"))
    elif isinstance(intervention, (EditRequest, SwapModel, Call)):
        position = _model_call(log, position, kinds=("execute_tool", "human_input", "retrieve"))
    check_anchor(log, position)
    if isinstance(intervention, ReplaceResult):
        _check_fits(log, position, intervention)
    return anchor_on(log, run, position)


def _model_call(log: Log, position: int, *, kinds: tuple[Kind, ...]) -> int:
    """The event there or, if it is of one of these kinds, the model call that issued it."""
    event = log.event_of(position)
    if event is None or event.begin.kind not in kinds:
        return position
    for edge in event.begin.edges:
        entry = log.entries[edge.position]
        if edge.kind == "call_id" and isinstance(entry, End):
            return entry.begin
    raise AnchorError(
        f"There is no request that could be changed at the event at {position}.",
        expected="a model call, or a tool call that a recorded edge ties to one",
        found=f"{event.begin.kind} {event.begin.name}",
        next_step="Choose the model call before it; `anchored show` lists them.",
    )


def _check_fits(log: Log, position: int, intervention: ReplaceResult) -> None:
    event = log.event_at(position)
    wants_value = event is not None and event.begin.kind in ("execute_tool", "human_input")
    if wants_value != isinstance(intervention.result, ToolValue):
        raise AnchorError(
            f"This result cannot be that of the event at {position}.",
            expected="the value of a tool" if wants_value else "a response",
            found="a response" if wants_value else "the value of a tool",
            next_step="Make the result for the event at which it is to be put.",
        )
