"""Vectors for texts. No rule is asked: one text always has one vector, whatever the seed."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import struct

from anchored.testing.conversation import Json, text_of
from anchored.testing.draw import Draw
from anchored.testing.request import RequestError, parse_object
from anchored.testing.response import Response, json_response
from anchored.testing.said import tokens

DIMENSIONS = 8
"""The length of a vector, if none is asked for."""

MOST_DIMENSIONS = 4096


def embeddings(value: Json, draw: Draw) -> Response:
    """A vector of length 1 for each input, by its hash; equal inputs have equal vectors, others are unrelated.

    Raises:
        RequestError: the body asks for no embeddings.
    """
    body = parse_object(value)
    dimensions = body.get("dimensions", DIMENSIONS)
    if not isinstance(dimensions, int) or not 0 < dimensions <= MOST_DIMENSIONS:
        raise RequestError(
            "The scripted endpoint has no such vectors.",
            expected=f"'dimensions' absent or a whole number from 1 to {MOST_DIMENSIONS}",
            found=f"'dimensions': {dimensions!r}",
            next_step="Ask for shorter vectors.",
        )
    given = body.get("input")
    if not isinstance(given, (str, list)) or not given:
        raise RequestError(
            "The body is no request for embeddings.",
            expected="a text, or a list of texts or tokens, in 'input'",
            found="nothing" if given is None else type(given).__name__,
            next_step="Send what is to be embedded in 'input'.",
        )
    inputs: list[Json] = given if isinstance(given, list) and not isinstance(given[0], int) else [given]
    packed = body.get("encoding_format") == "base64"
    data: list[Json] = [
        {"object": "embedding", "index": index, "embedding": _embedding(entry, dimensions, packed=packed)}
        for index, entry in enumerate(inputs)
    ]
    count = tokens(given)
    usage: Json = {"prompt_tokens": count, "total_tokens": count}
    answer: Json = {"object": "list", "data": data, "model": text_of(body.get("model")), "usage": usage}
    return json_response(200, answer, draw=draw, form="embeddings")


def _embedding(entry: Json, dimensions: int, *, packed: bool) -> Json:
    stream = hashlib.shake_256(json.dumps(entry).encode()).digest(2 * dimensions)
    whole = [number * 2 + 1 for number in struct.unpack(f"<{dimensions}h", stream)]  # odd, so never all zero
    length = math.sqrt(sum(number * number for number in whole))
    floats = struct.pack(f"<{dimensions}f", *(number / length for number in whole))
    return base64.b64encode(floats).decode("ascii") if packed else list(struct.unpack(f"<{dimensions}f", floats))
