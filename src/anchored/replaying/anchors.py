"""From what the user points at to the event at which an intervention can act."""

from __future__ import annotations

from anchored.errors import AnchorError
from anchored.events import End
from anchored.recording import Anchor, Log, anchor_on
from anchored.replaying.interventions import Guide, Intervention
from anchored.replaying.policy import check_anchor


def resolve_anchor(log: Log, run: str, position: int, intervention: Intervention) -> Anchor:
    """The anchor for an intervention on the event at `position`.

    `none` changes nothing and stays at the event. Guidance needs a model call: on a tool event it goes to the model
    call whose response issued that call id, by a recorded edge only.

    Raises:
        AnchorError: nothing begins there, something is in flight there, or no recorded edge leads to a model call.
    """
    if isinstance(intervention, Guide):
        position = _model_call(log, position)
    check_anchor(log, position)
    return anchor_on(log, run, position)


def _model_call(log: Log, position: int) -> int:
    event = log.event_of(position)
    if event is None or event.begin.kind not in ("execute_tool", "http"):
        return position
    for edge in event.begin.edges:
        entry = log.entries[edge.position]
        if edge.kind == "call_id" and isinstance(entry, End):
            return entry.begin
    raise AnchorError(
        f"Guidance cannot act on the event at {position}.",
        expected="a model call, or a tool call that a recorded edge ties to one",
        found=f"{event.begin.kind} {event.begin.name}",
        next_step="Choose the model call before it; `anchored show` lists them.",
    )
