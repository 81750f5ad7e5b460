"""Value → RFC 8785 bytes → digest, with domains and limits."""

from anchored.canonical.digest import EMPTY_TREE_HEAD, Digest, as_digest, digest
from anchored.canonical.jcs import NotCanonical, canonical, jcs_digest, request_document, storable
from anchored.canonical.json import Json, JsonObject
from anchored.canonical.limits import LIMITS, Limits, check_limits
from anchored.canonical.parse import Span, member_spans, parse_exact, parse_hashed, parse_own
from anchored.canonical.tokens import NotJson
from anchored.canonical.visible import clip, visible

__all__ = [
    "EMPTY_TREE_HEAD",
    "LIMITS",
    "Digest",
    "Json",
    "JsonObject",
    "Limits",
    "NotCanonical",
    "NotJson",
    "Span",
    "as_digest",
    "canonical",
    "check_limits",
    "clip",
    "digest",
    "jcs_digest",
    "member_spans",
    "parse_exact",
    "parse_hashed",
    "parse_own",
    "request_document",
    "storable",
    "visible",
]
