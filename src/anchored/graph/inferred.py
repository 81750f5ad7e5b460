"""Inferred edges: likely, in no digest, and never used where a recorded edge is asked for."""

from __future__ import annotations

from dataclasses import dataclass

from anchored.events import End, HttpResult, message_text, model_output
from anchored.graph.tracer import MINIMUM_TEXT
from anchored.recording import Recording

INFERENCE_RULES = 1
"""Version of the rules of `inferred_edges`."""


@dataclass(frozen=True, kw_only=True, slots=True, order=True)
class InferredEdge:
    """A likely dependency.

    Attributes:
        later: position of the begin that depends.
        earlier: position of the end that it depends on.
        rule: `embedded` (its output stands inside a message) or `repeated_call_id` (the latest issuer of the id).
    """

    later: int
    earlier: int
    rule: str


def inferred_edges(recording: Recording) -> list[InferredEdge]:
    """Edges that no rule records but that the content suggests, sorted.

    Looks for each model output of at least MINIMUM_TEXT characters inside the messages of later requests, and for call
    ids that several responses issued. O(outputs × messages); for reading, not for replay.
    """
    outputs: list[tuple[int, str]] = []
    issuers: dict[str, list[int]] = {}
    found: set[InferredEdge] = set()
    seen_messages: set[tuple[str | None, str]] = set()
    for entry in recording.log.entries:
        if isinstance(entry, End):
            event = recording.log.event_at(entry.begin)
            result = recording.result(event) if event else None
            if event and event.begin.kind not in ("execute_tool", "http") and isinstance(result, HttpResult):
                output = model_output(result.body)
                if len(output.text) >= MINIMUM_TEXT:
                    outputs.append((entry.position, output.text))
                for call_id in output.call_ids:
                    issuers.setdefault(call_id, []).append(entry.position)
            continue
        recorded = {edge.position for edge in entry.edges}
        issued = issuers.get(entry.call_id or "", [])
        if len(issued) > 1 and issued[-1] not in recorded:
            found.add(InferredEdge(later=entry.position, earlier=issued[-1], rule="repeated_call_id"))
        if entry.kind in ("execute_tool", "human_input", "http"):
            continue
        body = recording.request(entry).get("body")
        held = body.get("messages", body.get("input")) if isinstance(body, dict) else None
        for message in held if isinstance(held, list) else []:
            text = message_text(message)
            if text is None or (entry.actor, text) in seen_messages:
                continue
            seen_messages.add((entry.actor, text))
            for position, output in outputs:
                if position not in recorded and output in text and output != text:
                    found.add(InferredEdge(later=entry.position, earlier=position, rule="embedded"))
    return sorted(found)
