"""RFC 8785, by the `rfc8785` package."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

import rfc8785

from anchored.canonical.digest import Digest, digest
from anchored.canonical.limits import check_limits
from anchored.errors import LimitExceeded


class NotCanonical(ValueError):
    """The value has no RFC 8785 form: NaN, infinity, an integer beyond 2^53, a lone surrogate, too deep, no JSON."""


def canonical(value: object) -> bytes:
    """RFC 8785 bytes of a JSON value.

    Raises:
        NotCanonical: RFC 8785 cannot express it.
    """
    try:
        check_limits(value)
        return rfc8785.dumps(cast("Any", value))
    except (rfc8785.CanonicalizationError, LimitExceeded, UnicodeError, RecursionError) as error:
        raise NotCanonical(str(error)) from error


def jcs_digest(kind: str, value: object) -> Digest:
    """`H(kind, JCS(value))`."""
    return digest(kind, canonical(value))


def request_document(before: bytes, after: bytes, field: str | None, digests: Iterable[str]) -> bytes:
    """What is hashed for a request: `before ‖ JCS{"digests", "field"} ‖ after`, or `before` without a field."""
    if field is None:
        return before
    return before + canonical({"digests": list(digests), "field": field}) + after
