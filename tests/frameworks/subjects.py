"""The programs that stand for frameworks, and which of their modes is tried for what."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from anchored.testing.conformance import Subject

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = Path(__file__).with_name("programs")
OPENAI2 = ROOT / ".venv-openai2" / "bin" / "python"
OPENAI3 = ROOT / ".venv-openai3" / "bin" / "python"
ORDER_FROM_OUTSIDE = frozenset({"semaphore", "lock", "pool_of_one", "blocking_in_a_loop"})


@dataclass(frozen=True, kw_only=True)
class Stood:
    """A subject, and the script of its endpoint."""

    subject: Subject
    script: Path

    @property
    def python(self) -> Path:
        """The interpreter of its environment."""
        return Path(self.subject.command[0])


def stood(name: str, python: Path, program: str, script: str, modes: dict[str, tuple[str, ...]]) -> Stood:
    return Stood(
        subject=Subject(
            name=name,
            command=(str(python), str(PROGRAMS / program)),
            folder=PROGRAMS,
            modes=modes,  # pyright: ignore[reportArgumentType]
            environment={"OPENAI_API_KEY": "none"},
            order_refused=ORDER_FROM_OUTSIDE,
        ),
        script=PROGRAMS / script,
    )


RACING = {
    "full replay": ("tools",),
    "parallel": (
        "different",
        "identical",
        "tools",
        "first_wins",
        "cancelled_before_the_wire",
        "threads",
        "identical_threads",
        "first_thread_wins",
        "semaphore",
        "lock",
        "pool_of_one",
        "blocking_in_a_loop",
    ),
    "stream": ("streams",),
    "async": ("different",),
    "error": ("timed_out",),
}
SUBJECTS = [
    stood("racing calls, openai 2", OPENAI2, "racing.py", "racing_script.py", RACING),
    stood("racing calls, openai 3", OPENAI3, "racing.py", "racing_script.py", RACING),
]
