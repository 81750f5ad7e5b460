"""The times, random numbers and ids that a program saw, as a recording keeps them: streams of values in notes."""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple, TypeAlias, cast

from anchored.canonical import Digest, Json, JsonObject, jcs_digest
from anchored.recording import Recording

AMBIENT = "ambient"
"""Kind of the notes that hold values."""

AMBIENT_INCOMPLETE = "ambient_incomplete"
"""Kind of the note that names the first stream of a replay in which a recorded value was lacking."""


class Stream(NamedTuple):
    """Who asks for what. The Nth value of a stream is for its Nth asking.

    Attributes:
        lane: the task or thread, by how it was started; empty where that is not known.
        function: what is asked, such as "time.time".
        module: where the code that asks stands.
        parent: position of the begin of the event that encloses the asking; None outside of events. A tool that is
            served does not ask, and so must not share a stream with what is around it.
    """

    lane: str
    function: str
    module: str
    parent: int | None


Streams: TypeAlias = dict[Stream, list[str]]


def ambient_note(process: int, streams: Streams, first: dict[Stream, int]) -> JsonObject:
    """A note with further values of some streams of a process; `first` numbers the first of each."""
    held: list[Json] = [[*stream, first[stream], " ".join(values)] for stream, values in streams.items()]
    return {"process": process, "streams": held}


def recorded_ambient(recording: Recording) -> Streams:
    """The streams of the process that owns the log. Inverts `ambient_note`."""
    owner = owner_of(recording)
    parts: defaultdict[Stream, list[tuple[int, str]]] = defaultdict(list)
    for note in recording.notes_of(AMBIENT):
        if note["process"] == owner:
            for lane, function, module, parent, first, values in cast("list[list[object]]", note["streams"]):
                stream = Stream(str(lane), str(function), str(module), cast("int | None", parent))
                parts[stream].append((cast("int", first), str(values)))
    return {
        stream: [value for _, values in sorted(held) for value in values.split()]
        for stream, held in sorted(parts.items(), key=lambda item: str(item[0]))
    }


def ambient_digest(streams: Streams) -> Digest:
    """`H("ambient", JCS[[lane, function, module, parent, values], …])`, values with a space between them."""
    return jcs_digest("ambient", [[*stream, " ".join(values)] for stream, values in streams.items()])


def ambient_kinds(streams: Streams) -> list[str]:
    """What the streams hold, such as random, time, urandom, uuid: sorted, each once."""
    return sorted({_KINDS.get(stream.function.partition(".")[0], "urandom") for stream in streams})


def is_ambient(recording: Recording) -> bool:
    """Whether the run was recorded with `--ambient`, or is a replay of such a run."""
    return recording.opening.configuration.get(AMBIENT) is True


def is_incomplete(replay: Recording) -> bool:
    """Whether the process that owns the log was given real values in the prefix for lack of recorded ones."""
    owner = owner_of(replay)
    return any(note["process"] == owner for note in replay.notes_of(AMBIENT_INCOMPLETE))


def anchor_of(recording: Recording) -> Json:
    """Position of the anchor that a recording, being a replay itself, went live at; None elsewhere."""
    replayed = recording.opening.replayed
    anchor = None if replayed is None else cast("JsonObject | None", replayed.plan["anchor"])
    return None if anchor is None else anchor["position"]


def owner_of(recording: Recording) -> Json:
    """The process that owns the log; None if none does."""
    owners = recording.notes_of("owner")
    return owners[0]["process"] if owners else None


_KINDS = {"time": "time", "datetime": "time", "uuid": "uuid", "random": "random"}
