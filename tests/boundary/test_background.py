"""Patterns of background requests: what they match, and what is no pattern (design: The boundary)."""

import pytest

from anchored.errors import UsageError
from anchored.replaying import background_name, background_pattern, check_pattern


@pytest.mark.parametrize(
    ("pattern", "origin", "path", "matches"),
    [
        ("t.example.com/*", "https://t.example.com:443", "/v1/traces", True),
        ("t.example.com", "https://t.example.com:443", "/", True),
        ("T.Example.com/v1", "https://t.example.com:443", "/v1", True),
        ("t.example.com/V1", "https://t.example.com:443", "/v1", False),
        ("t.example.com/v1", "https://t.example.com:443", "/v1/traces", False),
        ("t.example.com:443/v1", "https://t.example.com:443", "/v1", True),
        ("t.example.com:8443/v1", "https://t.example.com:443", "/v1", False),
        ("*.example.com/beat", "https://a.b.example.com:443", "/beat", True),
        ("*.example.com/beat", "https://example.com:443", "/beat", False),
        ("example.com/beat", "https://example.com.evil.org:443", "/beat", False),
        ("127.0.0.1/beat", "http://127.0.0.1:8123", "/beat", True),
        ("127.0.0.1:9/beat", "http://127.0.0.1:8123", "/beat", True),
        ("127.0.0.1/beat", "http://127.0.0.10:8123", "/beat", False),
        ("[::1]/beat", "http://[::1]:8123", "/beat", True),
        ("*", "", "", False),
    ],
)
def test_what_a_pattern_matches(pattern: str, origin: str, path: str, matches: bool) -> None:
    """Host without regard to case, path with; ports of loopback addresses are free; tools have no origin."""
    assert background_pattern([check_pattern(pattern)], origin=origin, path=path) == (pattern if matches else None)


@pytest.mark.parametrize("pattern", ["", "/beat", "https://t.example.com/x", "a b/c", "t.example.com:x/y", "h/a b"])
def test_what_is_no_pattern_is_refused(pattern: str) -> None:
    with pytest.raises(UsageError):
        check_pattern(pattern)


def test_a_name_on_the_receipt_has_no_port() -> None:
    """Ports change from run to run, and one replay has one receipt."""
    assert background_name(method="POST", origin="http://127.0.0.1:81", path="/beat") == "POST 127.0.0.1/beat"
    assert background_name(method="GET", origin="http://[::1]:81", path="/beat") == "GET [::1]/beat"
