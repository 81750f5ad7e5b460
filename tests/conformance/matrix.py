"""Rows for docs/launching.md: each is written by the test that found it, in a run of `make conformance`."""

from dataclasses import dataclass
from pathlib import Path

TEXT = """# Launching and misbehaving

Made by `make conformance`, which starts real processes against a real endpoint; none of it is typed in.

*Exit* is the status that was expected and the one that was found. *Live before* counts the calls that reached the
endpoint although they belong before the anchor (the whole recording, where there is no anchor), *live* all that reached
it in the attempt, by the endpoint's own log. Where the system allows it, a replay to the end has no network at all;
what holds without that, the rows with `--at` show. *Left* counts processes that were still there two seconds after the
command. *To end* is the time from the divergence or refusal to the end of the program, in seconds; no test asserts it.

## Ways of starting a program

{launching}

## Programs that misbehave while they are replayed

{misbehaving}
"""

HEAD = """| what | command | exit | verdict | live before | live | left | to end |
|---|---|---|---|---|---|---|---|"""

TABLES = ("launching", "misbehaving")


@dataclass(frozen=True, kw_only=True)
class Row:
    """What was expected of one command, and what was found.

    Attributes:
        expected: exit status.
        found: exit status; None where the command could not be tried here.
        verdict: of a replay; what a recording lacks, or why the command could not be tried.
        before: calls that went live before the anchor; None for a recording.
        live: calls that reached the endpoint.
        left: processes that outlive a replay.
        to_end: seconds from the divergence or refusal to the end of the program, where there was one.
    """

    expected: int
    found: int | None
    verdict: str
    before: int | None
    live: int | None
    left: int | None = None
    to_end: str | None = None

    def cells(self) -> list[str]:
        """The row from its third column on."""
        found = "not tried" if self.found is None else f"found {self.found}"
        exits = f"{self.expected}" if self.found == self.expected else f"{self.expected}, {found}"
        rest = [_shown(part) for part in (self.before, self.live, self.left, self.to_end)]
        return [exits, self.verdict.replace("|", "\\|"), *rest]


class Matrix:
    """The rows of both tables, in the order in which they are declared."""

    def __init__(self, **titles: list[str]) -> None:
        self._rows: dict[str, dict[str, dict[str, Row]]] = {
            table: {title: {} for title in titles[table]} for table in TABLES
        }

    def add(self, table: str, title: str, command: str, row: Row) -> None:
        """Adds what was found for a title that was declared."""
        self._rows[table][title][command] = row

    def missing(self) -> list[str]:
        """Titles without a row: not all of the tests ran."""
        return [title for rows in self._rows.values() for title, found in rows.items() if not found]

    def write(self, path: Path) -> None:
        """Writes the page."""
        path.write_text(TEXT.format(**{table: self._table(table) for table in TABLES}), encoding="utf-8")

    def _table(self, table: str) -> str:
        lines = [HEAD]
        for title, found in self._rows[table].items():
            for number, (command, row) in enumerate(found.items()):
                cells = ["" if number else title.replace("|", "\\|"), f"`{command}`", *row.cells()]
                lines.append(f"| {' | '.join(cells)} |")
        return "\n".join(lines)


def _shown(part: int | str | None) -> str:
    return "–" if part is None else str(part)
