"""The caller's OpenTelemetry trace, where one is active, so that a dashboard leads to the recording."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping

from anchored.canonical import JsonObject

_TRACEPARENT = re.compile(r"00-(?P<trace>[0-9a-f]{32})-(?P<span>[0-9a-f]{16})-[0-9a-f]{2}")
_NONE = "0" * 32


def active_trace() -> JsonObject | None:
    """Trace and span that are active here: {"trace_id", "span_id"}, in hexadecimal as W3C writes them; None if none is.

    Asks the OpenTelemetry API only if the program has imported it.
    """
    api = sys.modules.get("opentelemetry.trace")
    if api is None:
        return None
    try:
        context = api.get_current_span().get_span_context()
        if not context.is_valid:
            return None
        trace, span = f"{context.trace_id:032x}", f"{context.span_id:016x}"
        return {"trace_id": trace, "span_id": span} if len(trace) == 32 and len(span) == 16 else None
    except Exception:  # the program's own tracer may be of any kind
        return None


def given_trace(environment: Mapping[str, str]) -> JsonObject | None:
    """The trace that the caller handed down in TRACEPARENT (W3C Trace Context); None if there is none."""
    held = _TRACEPARENT.fullmatch(environment.get("TRACEPARENT", ""))
    if held is None or held["trace"] == _NONE:
        return None
    return {"trace_id": held["trace"], "span_id": held["span"]}
