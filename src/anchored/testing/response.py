"""What the endpoint sends, and how: bytes, pauses and breaks."""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise

from anchored.testing.conversation import Json
from anchored.testing.draw import Draw
from anchored.testing.request import Format

ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "invalid_request_error",
    429: "rate_limit_error",
}

GZIP = 31
"""zlib's word for a window of 32 KiB in gzip's wrapping, which it writes without a time."""


@dataclass(frozen=True, kw_only=True)
class Response:
    """An HTTP response."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
    """All of it, also if the connection is to break before its end."""
    breaks: tuple[int, ...] | None = None
    """Of a stream: where in the body its events end. Each is sent by itself, and no length is announced."""
    delay: float = 0.0
    """Seconds that the server waits before the first byte; other requests are answered meanwhile."""
    cut: int | None = None
    """How many bytes of the body are sent before the server closes the connection; None: all, and it stays open."""

    @property
    def pieces(self) -> list[bytes]:
        """The body as it is to be sent, piece by piece."""
        ends = (*(self.breaks or ()), len(self.body))
        return [self.body[start:end] for start, end in pairwise((0, *ends)) if end > start]

    def gzipped(self) -> Response:
        """The same with its body compressed; what a stream sent at once can be decompressed at once."""
        packer = zlib.compressobj(wbits=GZIP)
        packed = [packer.compress(piece) + packer.flush(zlib.Z_SYNC_FLUSH) for piece in self.pieces]
        packed.append(packer.flush())
        return replace(
            self,
            headers=(*self.headers, ("content-encoding", "gzip")),
            body=b"".join(packed),
            breaks=None if self.breaks is None else tuple(accumulate(map(len, packed))),
        )


def json_response(
    status: int,
    value: Json,
    *,
    draw: Draw,
    headers: tuple[tuple[str, str], ...] = (),
    form: Format | None = None,
) -> Response:
    """A response with a JSON body. All beyond ASCII is escaped, so that lone surrogates can be sent."""
    body = json.dumps(value, separators=(",", ":")).encode()
    return Response(status=status, headers=common_headers(draw, "application/json", form=form) + headers, body=body)


def stream_response(events: Sequence[bytes], *, draw: Draw, form: Format | None = None) -> Response:
    """A response of server-sent events, each of which ends with its empty line."""
    return Response(
        status=200,
        headers=common_headers(draw, "text/event-stream; charset=utf-8", form=form),
        body=b"".join(events),
        breaks=tuple(accumulate(map(len, events))),
    )


def error_response(
    status: int,
    message: str,
    *,
    kind: str | None,
    draw: Draw,
    headers: tuple[tuple[str, str], ...] = (),
    form: Format | None = None,
) -> Response:
    """An error body as the API sends it that is asked; `kind` becomes OpenAI's `code`, which Anthropic has not."""
    error_type = ERROR_TYPES.get(status, "server_error" if status >= 500 else "invalid_request_error")
    if form == "messages":
        anthropic_type = {404: "not_found_error", 529: "overloaded_error"}.get(status, error_type)
        anthropic_type = "api_error" if anthropic_type == "server_error" else anthropic_type
        error: dict[str, Json] = {"type": anthropic_type, "message": message}
        value: Json = {"type": "error", "error": error, "request_id": _request_id(draw)}
    else:
        value = {"error": {"message": message, "type": error_type, "param": None, "code": kind}}
    return json_response(status, value, draw=draw, headers=headers, form=form)


def common_headers(draw: Draw, content_type: str, *, form: Format | None = None) -> tuple[tuple[str, str], ...]:
    """The headers of every answer."""
    name = "request-id" if form == "messages" else "x-request-id"
    return (("content-type", content_type), (name, _request_id(draw)))


def event(data: Json, *, name: str | None = None) -> bytes:
    """One server-sent event."""
    head = b"" if name is None else b"event: %s\n" % name.encode()
    return head + b"data: %s\n\n" % json.dumps(data, separators=(",", ":")).encode()


def _request_id(draw: Draw) -> str:
    return "req_" + draw.text("request-id", length=32)
