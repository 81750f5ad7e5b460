"""Figures for docs/figures.md: each is written by the test that made it, in a run of `make figures`."""

from pathlib import Path

TEXT = """# Figures

Made by `make figures`, which runs the tests named in the last column; none is typed in. *Live before* counts calls that
reached the endpoint and tools that ran before the anchor, by the endpoint's log and by a file that the tools append to.

| what | figures | test |
|---|---|---|
{rows}

Seeds of sampled tests are printed when they run; other samples give other rows, not other verdicts.
"""


class Figures:
    """Rows of the page."""

    def __init__(self) -> None:
        self._rows: dict[str, str] = {}

    def add(self, what: str, test: str, **figures: int | str) -> None:
        """Adds a row: names with their figures, in order."""
        shown = ", ".join(f"{name.replace('_', ' ')} {figure}" for name, figure in figures.items())
        self._rows[what] = f"| {what} | {shown} | `{test}` |"

    def write(self, path: Path) -> None:
        """Writes the page."""
        path.write_text(TEXT.format(rows="\n".join(self._rows[what] for what in sorted(self._rows))), encoding="utf-8")
