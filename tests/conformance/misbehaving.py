"""Programs that misbehave while they are replayed, and what comes of it."""

from dataclasses import dataclass, field

from .launching import HEAD

PYTHON = "{python}"
QUICK = ("--grace", "0.5")
PATIENT = ("--grace", "20")
"""For what ends by itself."""

SOURCES = {
    "three": HEAD + "for word in ('one', 'two', 'three'):\n    print(ask(word))\n",
    "crash": HEAD + "ask('one')\nask('two')\nraise SystemExit(1)\n",
    "tool": HEAD
    + """
import anchored


@anchored.tool(effect="none")
def look(what):
    return "seen " + what


ask("one")
look("lamp")
ask("two")
""",
    "pool": HEAD
    + """
from concurrent.futures import ThreadPoolExecutor


class Slow(httpx.HTTPTransport):
    def handle_request(self, request):
        time.sleep(0.3)
        return super().handle_request(request)


client = httpx.Client(transport=Slow())
ask("first")
with ThreadPoolExecutor(4) as pool:
    list(pool.map(ask, ["number 0", "number 1", "number 2", "number 3"]))
ask("last")
""",
}
"""Programs that are recorded once each, by name."""

OTHER = "ask('one')\nanswer = post('other')\nassert answer.status_code == 403, answer\n"
"""The second request is not the recorded one: the session is over, and the program knows no more than that."""


@dataclass(frozen=True, kw_only=True)
class Misbehaviour:
    """A program that is replayed against a recording of another.

    Attributes:
        name: the row's title.
        body: what stands after the head of the program; "" runs `command` or the recorded one.
        source: the recording.
        options: of the replay.
        status: expected exit status.
        verdict: expected verdict; None where the attempt comes to none.
        says: what stands in the reason, or is the kind of the divergence.
        live: calls that go live behind the anchor.
        leaves: files that the program made, or had no time to make.
        command: what stands after `--`, where it is not `python changed.py`, the program with that body.
        stored: status with which the recording ends.
        ended: status with which the program ends by itself, where the row says so.
        needs: a program that must be there.
    """

    name: str
    body: str = ""
    source: str = "three"
    options: tuple[str, ...] = QUICK
    status: int = 3
    verdict: str | None = "diverged"
    says: str = "changed"
    live: int = 0
    leaves: dict[str, bool] = field(default_factory=dict)
    command: tuple[str, ...] = ()
    stored: int = 0
    ended: int | None = None
    needs: str = ""


def after(name: str, body: str, *options: str, **leaves: bool) -> Misbehaviour:
    """Misbehaves once the second request was another than the recorded one."""
    return Misbehaviour(name=name, body=OTHER + body, options=options or QUICK, leaves=leaves)


SWALLOWED = (
    Misbehaviour(
        name="the divergence is swallowed by `except Exception`; exit 0",
        body="""
for word in ('one', 'other', 'three'):
    try:
        ask(word)
    except Exception:
        pass
""",
        options=PATIENT,
        ended=0,
    ),
    Misbehaviour(
        name="the divergence of a tool call is swallowed by `except BaseException`; exit 0",
        source="tool",
        body=SOURCES["tool"].removeprefix(HEAD).partition("ask(")[0]
        + """
ask("one")
try:
    look("bridge")
except BaseException as error:
    assert not isinstance(error, Exception)
assert post("two").status_code == 403
""",
        options=PATIENT,
        ended=0,
    ),
    after("a client that repeats whatever comes back, 50 times at once", "for _ in range(50):\n    post('other')\n"),
    after(
        "a client that repeats whatever comes back, with pauses",
        "for _ in range(50):\n    post('two')\n    time.sleep(0.2)\n",
    ),
    after("a client that never stops asking", "while True:\n    post('two')\n"),
    Misbehaviour(
        name="goes on with the recorded requests; exit 0",
        body=OTHER + "for word in ('two', 'three'):\n    post(word)\n",
        options=PATIENT,
        ended=0,
    ),
)

HANGS = (
    after("an endless loop", "while True:\n    pass\n"),
    after(
        "a join on a thread that waits for ever",
        "import threading\nthread = threading.Thread(target=threading.Event().wait)\nthread.start()\nthread.join()\n",
    ),
    after("`Event().wait()`", "import threading\nthreading.Event().wait()\n"),
    after("an event loop that never ends", "import asyncio\nasyncio.new_event_loop().run_forever()\n"),
    after(
        "a thread that never ends after the main one has",
        "import threading\nthreading.Thread(target=threading.Event().wait).start()\n",
    ),
    after(
        "SIGTERM, SIGINT and SIGHUP ignored, and sleep",
        "import signal\nfor number in (1, 2, 15):\n    signal.signal(number, signal.SIG_IGN)\ntime.sleep(1000)\n",
    ),
    after("SIGSTOP to itself", "os.kill(os.getpid(), 19)\n"),
    after(
        "a lock that it waits for and holds itself",
        "import threading\nlock = threading.Lock()\nlock.acquire()\nlock.acquire()\n",
    ),
    after(
        "its own deadline, by `signal.alarm`, before the grace is over",
        "import signal\nsignal.alarm(1)\ntime.sleep(1000)\n",
        *PATIENT,
    ),
    after(
        "its own deadline, by a thread that calls `os._exit(9)`, before the grace is over",
        "import threading\nthreading.Timer(1, os._exit, [9]).start()\ntime.sleep(1000)\n",
        *PATIENT,
    ),
    after(
        "cleans up for a second; `--grace 0.2`",
        "time.sleep(1)\nopen('cleaned_short', 'w').close()\n",
        "--grace",
        "0.2",
        cleaned_short=False,
    ),
    after(
        "cleans up for a second; `--grace 20`",
        "time.sleep(1)\nopen('cleaned_long', 'w').close()\n",
        *PATIENT,
        cleaned_long=True,
    ),
)

AGAIN = """
text = open(__file__).read().partition("ask('one')")[0]
again = [sys.executable, "-c", text + "post('two')"]
"""
CHILD = "import subprocess\nsubprocess.Popen(['sleep', '1000']{more})\n"

PROCESSES = (
    after("leaves a child running, and goes on", CHILD.format(more="") + "time.sleep(1000)\n"),
    after("leaves a child running, and ends", CHILD.format(more=""), *PATIENT),
    after(
        "leaves a child running in a session of its own, and goes on",
        CHILD.format(more=", start_new_session=True") + "time.sleep(1000)\n",
    ),
    after(
        "leaves a child running in a session of its own, and ends",
        CHILD.format(more=", start_new_session=True"),
        *PATIENT,
    ),
    after(
        "leaves a child running in a process group of its own, and goes on",
        CHILD.format(more=", process_group=0") + "time.sleep(1000)\n",
    ),
    after(
        "its fork goes on asking, and it ends", "if os.fork() == 0:\n    while True:\n        post('two')\n", *PATIENT
    ),
    after("starts another Python that asks", AGAIN + "import subprocess\nsubprocess.run(again)\n", *PATIENT),
    after("starts itself again in its own place, and asks", AGAIN + "os.execv(again[0], again)\n", *PATIENT),
    after(
        "takes the boundary out of its environment and starts another Python that asks",
        AGAIN + "import subprocess\nos.environ.pop('ANCHORED_ATTEMPT')\nsubprocess.run(again)\n",
        *PATIENT,
    ),
    Misbehaviour(
        name="an endless loop in the child of a shell",
        body=OTHER + "while True:\n    pass\n",
        command=("sh", "-c", "'{python}' changed.py; exit 0"),
    ),
    Misbehaviour(
        name="an endless loop in the child of a shell that gives it a process group of its own",
        body=OTHER + "while True:\n    pass\n",
        command=("bash", "-c", "set -m; '{python}' changed.py; exit 0"),
        needs="bash",
    ),
    Misbehaviour(
        name="starts curl, which asks",
        body=OTHER + "import subprocess\nsubprocess.run(['curl', '-s', BASE + '/models'])\n",
        options=PATIENT,
        needs="curl",
    ),
)

OUTPUTS = (
    after("closes standard output", "sys.stdout.close()\nos.close(1)\npost('two')\n"),
    after("writes 10 MB to standard output", "for _ in range(10_000):\n    print('x' * 999)\n"),
    after("asks in an `atexit` handler", "import atexit\natexit.register(post, 'two')\n"),
    after("asks in a `finally`", "try:\n    sys.exit(0)\nfinally:\n    post('two')\n"),
    after("asks in a `__del__`", "class Last:\n    def __del__(self):\n        post('two')\n\n\nlast = Last()\n"),
    after(
        "asks with other clients",
        """
import asyncio, socket, urllib.request
address = tuple(BASE.partition('//')[2].partition('/')[0].split(':'))


async def later():
    async with httpx.AsyncClient() as other:
        await other.get(BASE + '/models')


for way in (lambda: urllib.request.urlopen(BASE + '/models'), lambda: asyncio.run(later()),
            lambda: socket.create_connection(address)):
    try:
        way()
        print('through')
    except Exception as error:
        print(type(error))
""",
    ),
)

DIVERGENCES = (*SWALLOWED, *HANGS, *PROCESSES, *OUTPUTS)
