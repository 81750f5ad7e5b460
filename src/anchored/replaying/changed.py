"""What is no longer as it was when a run was recorded: the program's files, its packages, its Python, its commit."""

from __future__ import annotations

from dataclasses import dataclass

from anchored.recording import Recording


@dataclass(frozen=True, kw_only=True, slots=True)
class Changed:
    """One part of the run configuration that a replay did not find as it was.

    Attributes:
        what: `file PATH`, `package NAME`, `python` or `git head`.
        recorded: as it was: a version, or a digest.
        now: as it is; "none" if it is gone.
    """

    what: str
    recorded: str
    now: str


def changed_since(source: Recording, replay: Recording) -> list[Changed]:
    """What a replay did not find as it was when its source was recorded, by name.

    Compared is what a replay cannot restore. Where one of the two does not know a part, nothing is said of it: a
    package may come from a place that the program adds later.
    """
    if not replay.notes_of("loaded"):  # nothing ran
        return []
    before, after = source.program, replay.program
    pairs: list[tuple[str, object, object]] = [
        *((f"file {name}", one, after.files.get(name)) for name, one in before.files.items()),
        *((f"package {name}", one, after.packages.get(name, one)) for name, one in before.packages.items()),
        ("git head", source.configuration.get("git_head"), replay.configuration.get("git_head")),
        ("python", source.configuration.get("python"), replay.configuration.get("python")),
    ]
    return [
        Changed(what=what, recorded=str(one), now="none" if other is None else str(other))
        for what, one, other in sorted(pairs, key=lambda pair: pair[0])
        if one is not None and one != other
    ]
