"""Is the demo team's answer right?

    python demo/team.py | tail -n 1 | python demo/check.py

Reads the answer on stdin; exit status 0 if it is right, 1 if not.
"""

import re
import sys

RIGHT = "300"
"""1860 lamps, the current count, on 6.2 km. The superseded count of 1240 gives 200."""


def correct(answer: str) -> bool:
    """Whether an answer to the default question names the right figure and no other."""
    figures = re.findall(r"([\d.]+) lamps per kilometre", answer)
    return bool(figures) and all(figure == RIGHT for figure in figures)


if __name__ == "__main__":
    sys.exit(0 if correct(sys.stdin.read()) else 1)
