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
TASK = "How many lamps per kilometre does the Corvane Tunnel have?"
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
    del os.environ["OPENAI_BASE_URL"]
    full_replay(story, log=log)
    with running_endpoint(HERE / "script.py", seed=3, log=log) as endpoint:
        os.environ["OPENAI_BASE_URL"] = endpoint.url
        control, guided = experiment(story)
    del os.environ["OPENAI_BASE_URL"]
    test(story)
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
        "The program is demo/team.py, an ordinary AG2 program. A scripted endpoint on this machine plays the model.\n"
        "demo/check.py reads an answer and says whether it is right.",
    )
    output = story.run(
        *("anchored", "record", "--name", "team", "--task", TASK, "--check", f"{sys.executable} check.py"),
        *("--", sys.executable, "team.py"),
        quiet=True,
        shown=f'anchored record --name team --task "{TASK}" --check "python check.py" -- python team.py',
    )
    print(f"\n  The team says: {output.splitlines()[-1]}")
    outcome = listed()[-1]["outcome"]
    if outcome != "failing":
        sys.exit(f"The demo expected a failing run, and found one that is {outcome}. Choose another seed.")
    print("  That is wrong: it took the figure of 2009, which the survey of 2021 replaced.")
    story.chapter("Look at it", "Every model call and every tool call, in the order in which they happened.")
    story.run("anchored", "show", "team")


def full_replay(story: Story, *, log: Path) -> None:
    calls = len(log.read_text().splitlines())
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
    """Control against guidance from the deciding call; how many of each were right."""
    anchor = deciding_call()
    story.chapter(
        f"Go live at event {anchor}: with nothing changed, and with guidance",
        f"Event {anchor} is where the researcher takes a figure. Up to there the recording is served; from there on the"
        " team is live.\nThe control shows what luck alone gives. In the other arm one message is added to that one"
        " request, and nothing else differs.",
    )
    story.run(
        *("anchored", "replay", "team", "--at", str(anchor), "--guide", GUIDANCE, "--trials", str(TRIALS)),
        *("--receipt", str(OUT / "receipt.json")),
    )
    attempts = listed()[-2 * TRIALS :]
    right = [attempt["outcome"] == "passing" for attempt in attempts]
    return sum(right[::2]), sum(right[1::2])


def deciding_call() -> int:
    """The model call that issued the call of `calculate`: a recorded edge leads there."""
    shown = json.loads(
        subprocess.run([str(ANCHORED), "show", "team", "--json"], stdout=subprocess.PIPE, check=True).stdout
    )
    tool = next(event["position"] for event in shown["events"] if event["name"] == "calculate")
    before = [event["position"] for event in shown["events"] if event["position"] < tool]
    return before[-1]


def listed() -> list[dict[str, str]]:
    """The runs of the store, oldest first."""
    return json.loads(subprocess.run([str(ANCHORED), "list", "--json"], stdout=subprocess.PIPE, check=True).stdout)


def test(story: Story) -> None:
    story.chapter(
        "Make a test of the failing run",
        "A pytest file and a fixture. It takes no key and no network, and fails when the program asks anything else.",
    )
    story.run("anchored", "test", "new", "team", "--into", str(OUT / "tests"), shown="anchored test new team")
    story.run(
        *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(OUT / "tests")),
        shown="pytest demo/out/tests",
    )


def receipt(story: Story) -> None:
    story.chapter(
        "Check the receipt without this package",
        "tools/verify_receipt.py uses the standard library alone and shares no code with anchored.\n"
        "The leaf files hold digests, no content.",
    )
    for which, name in (("source", "team"), ("replay", listed()[-1]["name"])):
        story.run("anchored", "export", name, "--leaves", str(OUT / f"{which}.leaves.json"))
    leaves = ["--source", str(OUT / "source.leaves.json"), "--replay", str(OUT / "replay.leaves.json")]
    story.run(
        *(sys.executable, str(VERIFIER), str(OUT / "receipt.json"), *leaves),
        shown="python tools/verify_receipt.py demo/out/receipt.json"
        " --source demo/out/source.leaves.json --replay demo/out/replay.leaves.json",
    )


if __name__ == "__main__":
    main()
