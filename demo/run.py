"""The whole story on a real AG2 team, without a key: record a failing run, replay it, change one thing, get a receipt.

    make demo

It runs the commands that you would run, shows them, and leaves its results in demo/out.
"""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from anchored.testing import running_endpoint

HERE = Path(__file__).resolve().parent
OUT = HERE / "out"
STORE = OUT / "store"
ANCHORED = Path(sys.executable).with_name("anchored")
VERIFIER = HERE.parent / "tools" / "verify_receipt.py"
TRIALS = 3
GUIDANCE = "Use the current figure, not the superseded one; check the year."


class Story:
    """Says what happens, runs the commands, and stops at the first that does not do what it should."""

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._color = sys.stdout.isatty() and "NO_COLOR" not in os.environ
        self._chapter = 0

    def chapter(self, title: str, text: str) -> None:
        self._chapter += 1
        heading = f"{self._chapter}. {title}"
        print(f"\n\033[1m{heading}\033[0m" if self._color else f"\n{heading}", flush=True)
        print(text, flush=True)

    def run(self, *command: str, quiet: bool = False, shown: str | None = None) -> str:
        print(f"\n$ {shown or ' '.join(word if ' ' not in word else repr(word) for word in command)}", flush=True)
        program = [str(ANCHORED), *command[1:]] if command[0] == "anchored" else list(command)
        done = subprocess.run(program, cwd=HERE, stdout=subprocess.PIPE, text=True, check=False)
        if done.stdout and not quiet:
            print("\n".join(f"  {line}" for line in done.stdout.splitlines()), flush=True)
        if done.returncode != 0:
            print(done.stdout)
            sys.exit(f"The demo expected status 0 and found {done.returncode}. See the lines above.")
        return done.stdout

    def seconds(self) -> float:
        return time.monotonic() - self._started


def main() -> None:
    """Tells the story."""
    if OUT.exists():
        shutil.rmtree(OUT)
    OUT.mkdir()
    os.environ.update(
        ANCHORED_STORE=str(STORE),
        TOOL_LOG=str(OUT / "tools.jsonl"),
        NO_PROXY="127.0.0.1,localhost",
        OPENAI_API_KEY="none",
    )
    story = Story()
    print("A research team of three AG2 agents gives a wrong answer. Was it bad luck, and what would repair it?")
    log = OUT / "endpoint.jsonl"
    with running_endpoint(HERE / "script.py", seed=0, log=log) as endpoint:
        record(story, endpoint.url)
    full_replay(story, calls=len(log.read_text().splitlines()), log=log)
    with running_endpoint(HERE / "script.py", seed=3, log=log) as endpoint:
        os.environ["OPENAI_BASE_URL"] = endpoint.url
        control, guided = experiment(story)
    receipt(story)
    print(f"\nWithout a change {control} of {TRIALS} replays were right, with the guidance {guided} of {TRIALS}.")
    print("The prefix was the same in all of them, byte for byte: only the suffix differs. So few trials show")
    print("how the stand works and prove nothing: the script's true rates are 25% and 92%.")
    print(f"Done in {story.seconds():.0f} seconds. All of it is in demo/out; look around with:")
    print("  ANCHORED_STORE=demo/out/store .venv/bin/anchored list")


def record(story: Story, url: str) -> None:
    os.environ["OPENAI_BASE_URL"] = url
    story.chapter(
        "Record a failing run",
        "The program is demo/team.py, an ordinary AG2 program. A scripted endpoint on this machine plays the model.",
    )
    team = [sys.executable, "team.py"]
    task = "How many lamps per kilometre does the Corvane Tunnel have?"
    command = ("anchored", "record", "--name", "team", "--task", task, "--", *team)
    output = story.run(*command, quiet=True, shown=f'anchored record --name team --task "{task}" -- python team.py')
    answer = output.splitlines()[-1]
    print(f"\n  The team says: {answer}")
    check = subprocess.run([sys.executable, str(HERE / "check.py")], input=answer, text=True, check=False)
    if check.returncode == 0:
        sys.exit("The demo expected a failing run, and found a right answer. Choose another seed for the endpoint.")
    print("  That is wrong: it took the figure of 2009, which the survey of 2021 replaced.")
    story.chapter("Look at it", "Every model call and every tool call, in the order in which they happened.")
    story.run("anchored", "show", "team")


def full_replay(story: Story, *, calls: int, log: Path) -> None:
    story.chapter(
        "Replay it to the end, with the endpoint shut down",
        "The program runs again. Each request is compared with the recorded one before its recorded result is served.",
    )
    story.run("anchored", "replay", "team")
    made = len(log.read_text().splitlines()) - calls
    print(f"\n  Calls that reached the endpoint: {made}.")
    if made:
        sys.exit("The demo expected no call in a full replay.")


def experiment(story: Story) -> tuple[int, int]:
    anchor = deciding_call()
    story.chapter(
        f"Go live at event {anchor}, with nothing changed: the control",
        f"Event {anchor} is where the researcher takes a figure. Up to there the recording is served; from there on the"
        " team is live.\nWhat luck alone gives is what a repair must be compared with.",
    )
    story.run("anchored", "replay", "team", "--at", str(anchor), "--trials", str(TRIALS))
    story.chapter(
        "The same with guidance at the anchor", "One message is added to that one request. Nothing else differs."
    )
    story.run(
        *("anchored", "replay", "team", "--at", str(anchor), "--guide", GUIDANCE, "--trials", str(TRIALS)),
        *("--receipt", str(OUT / "receipt.json")),
    )
    listed = json.loads(subprocess.run([str(ANCHORED), "list", "--json"], stdout=subprocess.PIPE, check=True).stdout)
    replays = [item["name"] for item in listed if item["mode"] == "replay"]
    right = [answered_right(name) for name in replays[-2 * TRIALS :]]
    return sum(right[:TRIALS]), sum(right[TRIALS:])


def deciding_call() -> int:
    """The model call that issued the call of `calculate`: a recorded edge leads there."""
    shown = json.loads(
        subprocess.run([str(ANCHORED), "show", "team", "--json"], stdout=subprocess.PIPE, check=True).stdout
    )
    tool = next(event["position"] for event in shown["events"] if event["name"] == "calculate")
    before = [event["position"] for event in shown["events"] if event["position"] < tool]
    return before[-1]


def answered_right(name: str) -> bool:
    shown = json.loads(
        subprocess.run([str(ANCHORED), "show", name, "--json"], stdout=subprocess.PIPE, check=True).stdout
    )
    check = [sys.executable, str(HERE / "check.py")]
    done = subprocess.run(check, input=shown["final"]["text"], text=True, check=False, stdout=subprocess.DEVNULL)
    return done.returncode == 0


def receipt(story: Story) -> None:
    story.chapter(
        "Check the receipt without this package",
        "tools/verify_receipt.py uses the standard library alone and shares no code with anchored.\n"
        "The leaf files hold digests, no content.",
    )
    guided = json.loads(subprocess.run([str(ANCHORED), "list", "--json"], stdout=subprocess.PIPE, check=True).stdout)[
        -1
    ]
    for which, name in (("source", "team"), ("replay", guided["name"])):
        story.run("anchored", "export", name, "--leaves", str(OUT / f"{which}.leaves.json"))
    leaves = ["--source", str(OUT / "source.leaves.json"), "--replay", str(OUT / "replay.leaves.json")]
    story.run(
        *(sys.executable, str(VERIFIER), str(OUT / "receipt.json"), *leaves),
        shown="python tools/verify_receipt.py demo/out/receipt.json"
        " --source demo/out/source.leaves.json --replay demo/out/replay.leaves.json",
    )


if __name__ == "__main__":
    main()
