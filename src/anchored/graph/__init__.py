"""Who depended on what: edges recorded with each event, and edges inferred afterwards, kept apart."""

from anchored.graph.inferred import INFERENCE_RULES, InferredEdge, inferred_edges
from anchored.graph.tracer import EDGE_RULES, Tracer

__all__ = ["EDGE_RULES", "INFERENCE_RULES", "InferredEdge", "Tracer", "inferred_edges"]
