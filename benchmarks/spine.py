"""What recording and replaying cost, against the same program unrecorded, in one run.

    .venv/bin/python benchmarks/spine.py [--calls N] [--rounds R]

A plain `openai` client makes N short calls, then N calls that resend a growing conversation, against the scripted
endpoint on this machine. Seconds are wall-clock inside the program, around the calls. Compare ratios, not seconds.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from anchored.testing import running_endpoint

SCRIPT = """
from anchored.testing import Reply, Rule, Script
script = Script(rules=[Rule(name="all", when=lambda request: True, replies=Reply.text("a short answer"))])
"""

PROGRAM = """
import os, sys, time
import openai

calls, growing = int(sys.argv[1]), sys.argv[2] == "growing"
client = openai.OpenAI(base_url=os.environ["OPENAI_BASE_URL"], api_key="none")
messages = [{"role": "user", "content": "x" * 200}]
client.chat.completions.create(model="scripted-1", messages=messages)
started = time.perf_counter()
for number in range(calls):
    asked = messages if growing else [{"role": "user", "content": f"step {number}"}]
    answer = client.chat.completions.create(model="scripted-1", messages=asked).choices[0].message.content
    messages = [*messages, {"role": "assistant", "content": answer}, {"role": "user", "content": f"step {number}"}]
print((time.perf_counter() - started) / calls)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--calls", type=int, default=150)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    anchored = str(Path(sys.executable).with_name("anchored"))
    rows: dict[str, dict[str, list[float]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "script.py").write_text(SCRIPT)
        (place / "program.py").write_text(PROGRAM)
        with running_endpoint(place / "script.py", log=place / "log.jsonl") as endpoint:
            environment = {**os.environ, "OPENAI_BASE_URL": endpoint.url, "NO_PROXY": "127.0.0.1"}
            for shape in ("short", "growing"):
                program = [sys.executable, "program.py", str(options.calls), shape]
                for number in range(options.rounds):
                    name = f"{shape}-{number}"
                    ways = {
                        "unrecorded": program,
                        "recorded": [anchored, "record", "--name", name, "--", *program],
                        "replayed": [anchored, "replay", name, "--show-output"],
                    }
                    for way, command in ways.items():
                        done = subprocess.run(
                            command, cwd=place, env=environment, capture_output=True, text=True, check=True
                        )
                        rows.setdefault(shape, {}).setdefault(way, []).append(float(done.stdout.split()[-1]))
                print_row(shape, rows[shape], place / ".anchored" / "runs" / f"{shape}-0.sqlite", options.calls)


def print_row(shape: str, ways: dict[str, list[float]], file: Path, calls: int) -> None:
    base = statistics.median(ways["unrecorded"])
    document: dict[str, object] = {"calls": calls, "shape": shape, "file_bytes_per_call": file.stat().st_size // calls}
    for way, seconds in ways.items():
        middle = statistics.median(seconds)
        document[way] = {"us_per_call": round(middle * 1e6), "ratio": round(middle / base, 3)}
    print(json.dumps(document))


if __name__ == "__main__":
    main()
