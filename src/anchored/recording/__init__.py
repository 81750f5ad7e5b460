"""The log, the recording around it, its Merkle tree, its anchors, and the format's version."""

from anchored.recording.anchor import Anchor, anchor_on, check_anchor, event_id, prefix_digest
from anchored.recording.documents import (
    FORMAT,
    Closing,
    Final,
    Opening,
    Replayed,
    Stop,
    closing_from,
    opening_from,
    replayed_from,
    to_document,
)
from anchored.recording.log import Event, Log
from anchored.recording.merkle import Tree, root, verify_consistency, verify_inclusion
from anchored.recording.recording import (
    Contents,
    Note,
    Observation,
    Program,
    Record,
    Recording,
    Summary,
    check_closing,
    summarize,
)

__all__ = [
    "FORMAT",
    "Anchor",
    "Closing",
    "Contents",
    "Event",
    "Final",
    "Log",
    "Note",
    "Observation",
    "Opening",
    "Program",
    "Record",
    "Recording",
    "Replayed",
    "Stop",
    "Summary",
    "Tree",
    "anchor_on",
    "check_anchor",
    "check_closing",
    "closing_from",
    "event_id",
    "opening_from",
    "prefix_digest",
    "replayed_from",
    "root",
    "summarize",
    "to_document",
    "verify_consistency",
    "verify_inclusion",
]
