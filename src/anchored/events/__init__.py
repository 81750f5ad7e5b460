"""What crossed the boundary: requests, results, outcomes, and the entries they leave in the log."""

from anchored.events.entries import Begin, Declared, Edge, EdgeKind, End, Entry, Kind, entry_from_document
from anchored.events.messages import answered_calls, issued_calls, message_text
from anchored.events.outcome import Outcome, parse_outcome
from anchored.events.requests import (
    IDENTITY_HEADERS,
    MESSAGE_FIELDS,
    Blob,
    Message,
    Request,
    http_request,
    identity_text,
    request_view,
    stored_request,
    tool_request,
)
from anchored.events.results import (
    SERVED_HEADERS,
    Failure,
    HttpResult,
    Raised,
    Result,
    ToolValue,
    result_blob,
    result_from_blobs,
    served_headers,
)
from anchored.events.texts import value_text, value_with_text
from anchored.events.values import Unreplayable, decode_value, encode_value
from anchored.events.wire import ModelOutput, model_kind, model_name, model_output, with_model_text

__all__ = [
    "IDENTITY_HEADERS",
    "MESSAGE_FIELDS",
    "SERVED_HEADERS",
    "Begin",
    "Blob",
    "Declared",
    "Edge",
    "EdgeKind",
    "End",
    "Entry",
    "Failure",
    "HttpResult",
    "Kind",
    "Message",
    "ModelOutput",
    "Outcome",
    "Raised",
    "Request",
    "Result",
    "ToolValue",
    "Unreplayable",
    "answered_calls",
    "decode_value",
    "encode_value",
    "entry_from_document",
    "http_request",
    "identity_text",
    "issued_calls",
    "message_text",
    "model_kind",
    "model_name",
    "model_output",
    "parse_outcome",
    "request_view",
    "result_blob",
    "result_from_blobs",
    "served_headers",
    "stored_request",
    "tool_request",
    "value_text",
    "value_with_text",
    "with_model_text",
]
