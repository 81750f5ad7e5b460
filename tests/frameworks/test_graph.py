"""Recorded edges of the demo team, against edges that were written down by hand."""

from .conftest import Stand

SEARCHED = [(7, "call_id"), (9, "call_id"), (13, "call_id"), (15, "call_id"), (19, "call_id"), (21, "call_id")]
EDGES = {
    0: [],
    2: [(1, "speaker_selection")],
    4: [(3, "message")],
    6: [(3, "message"), (5, "speaker_selection")],
    8: [(7, "call_id")],
    10: [(4, "history"), (7, "call_id"), (9, "call_id")],
    12: [(6, "history"), (7, "call_id"), (9, "call_id"), (11, "speaker_selection")],
    14: [(13, "call_id")],
    16: [(10, "history"), (13, "call_id"), (15, "call_id")],
    18: [(12, "history"), (13, "call_id"), (15, "call_id"), (17, "speaker_selection")],
    20: [(19, "call_id")],
    22: [(16, "history"), (19, "call_id"), (21, "call_id")],
    24: [(18, "history"), (19, "call_id"), (21, "call_id"), (23, "speaker_selection")],
    26: [(22, "history"), (25, "message")],
    28: [(3, "message"), *SEARCHED, (25, "message"), (27, "speaker_selection")],
    30: [(26, "history"), (29, "message")],
    32: [(3, "message"), *SEARCHED, (25, "message"), (29, "message"), (31, "speaker_selection")],
}
"""Event → what it depends on. The selector's short answers ("writer") lead nowhere but by speaker selection."""


def test_recorded_edges_of_the_demo_team(stand: Stand) -> None:
    """R4-03: data by call id and by message, control by speaker selection; recorded and inferred kept apart."""
    for position, edges in EDGES.items():
        held = stand.anchored("show", "first", "--event", str(position), "--json").json["edges"]
        recorded = [(edge["from"], edge["kind"]) for edge in held if edge["recorded"]]
        assert sorted(recorded) == sorted(edges), position
