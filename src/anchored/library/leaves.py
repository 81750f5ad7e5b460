"""The leaf file: a recording without its content, for the independent verifier."""

from __future__ import annotations

from anchored.canonical import canonical
from anchored.recording import Recording

LEAVES_FORMAT = "anchored-leaves/v1"


def leaves(recording: Recording) -> bytes:
    """The leaf file of a recording (docs/design/identity.md): digests alone, as canonical JSON."""
    return canonical(
        {
            "format": LEAVES_FORMAT,
            "recording": recording.digest,
            **recording.summary.document(),
            "entries": [entry.digest for entry in recording.log.entries],
        }
    )
