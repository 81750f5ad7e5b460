"""Programs that end otherwise than the recorded one, ask in another order, or misbehave around an anchor."""

from .launching import HEAD
from .misbehaving import QUICK, SOURCES, Misbehaviour


def ends(name: str, body: str, **changes: object) -> Misbehaviour:
    """Does not get as far as the recording."""
    return Misbehaviour(**{"name": name, "body": body, "says": "missing", **changes})


STOPS = (
    # In the middle the prefix is not reproduced, whatever ended the program: 3. At the end it is: a crash then is 7.
    ends("`sys.exit(0)` in the middle", "ask('one')\nsys.exit(0)\n", ended=0),
    ends("`os._exit(0)` in the middle", "ask('one')\nos._exit(0)\n", ended=0),
    ends("an exception in the middle", "ask('one')\nraise ValueError('now')\n"),
    ends("a segmentation fault in the middle", "import ctypes\nask('one')\nctypes.string_at(0)\n"),
    ends("SIGKILL to itself in the middle", "ask('one')\nos.kill(os.getpid(), 9)\n"),
    ends("asks once less", "ask('one')\nask('two')\n"),
    ends("asks nothing", "pass\n"),
    ends(
        "a segmentation fault at the end",
        "for word in ('one', 'two', 'three'):\n    ask(word)\nimport ctypes\nctypes.string_at(0)\n",
        status=7,
        verdict="crashed",
        says="signal 11",
    ),
    ends(
        "an exception at the end",
        "for word in ('one', 'two', 'three'):\n    ask(word)\nraise ValueError('now')\n",
        status=7,
        verdict="crashed",
        says="status 1",
    ),
    ends(
        "a crash that the recording had too",
        source="crash",
        body="",
        status=0,
        verdict="exact",
        says="",
        stored=1,
    ),
    ends(
        "hangs in the middle; `--timeout 2`",
        "ask('one')\ntime.sleep(1000)\n",
        options=("--timeout", "2"),
        status=7,
        verdict="crashed",
        says="--timeout",
    ),
    ends(
        "hangs at the end; `--timeout 2`",
        "for word in ('one', 'two', 'three'):\n    ask(word)\ntime.sleep(1000)\n",
        options=("--timeout", "2"),
        status=7,
        verdict="crashed",
        says="--timeout",
    ),
    ends(
        "removes its run file in the middle",
        "ask('one')\nos.remove(os.environ['ANCHORED_ATTEMPT'])\nask('two')\nask('three')\n",
        status=1,
        verdict=None,
        says="",
    ),
    ends(
        "no Python",
        command=("true",),
        body="",
        status=1,
        verdict="failed",
        says="without a boundary",
    ),
    ends(
        "no Python, and it hangs; `--handshake 0.5`",
        command=("sleep", "1000"),
        body="",
        options=("--handshake", "0.5"),
        status=1,
        verdict="failed",
        says="did not say hello",
    ),
)

ORDERS = (
    Misbehaviour(
        name="asks once more at the end",
        body="for word in ('one', 'two', 'three', 'four'):\n    post(word)\n",
        says="extra",
    ),
    Misbehaviour(name="asks in another order", body="for word in ('two', 'one', 'three'):\n    post(word)\n"),
    Misbehaviour(
        name="one thread of four asks something else, the others wait",
        source="pool",
        body=SOURCES["pool"].removeprefix(HEAD).replace("number 2", "another"),
    ),
    Misbehaviour(
        name="asks one after the other, from the last on, what was asked in four threads",
        source="pool",
        options=(*QUICK, "--patience", "0.5"),
        body="ask('first')\nfor number in (3, 2, 1, 0):\n    post(f'number {number}')\npost('last')\n",
        status=4,
        verdict="refused",
        says="order",
    ),
)

AT = (*QUICK, "--at", "4")

ANCHORED = (
    Misbehaviour(name="nothing; `--at 4`", options=AT, status=0, verdict="live", says="", live=1),
    Misbehaviour(
        name="diverges before the anchor and asks on; `--at 4`",
        body="for word in ('one', 'other', 'two', 'three'):\n    post(word)\n",
        options=AT,
    ),
    ends("ends before the anchor; `--at 4`", "ask('one')\nask('two')\n", options=AT),
    Misbehaviour(
        name="asks something else at the anchor; `--at 4`",
        body="for word in ('one', 'two', 'other', 'three'):\n    post(word)\n",
        options=AT,
    ),
    Misbehaviour(
        name="raises behind the anchor; `--at 4`",
        body="for word in ('one', 'two', 'three'):\n    ask(word)\nraise ValueError('now')\n",
        options=AT,
        status=7,
        verdict="crashed",
        says="status 1",
        live=1,
    ),
    Misbehaviour(
        name="hangs behind the anchor; `--at 4 --timeout 2`",
        body="for word in ('one', 'two', 'three'):\n    ask(word)\ntime.sleep(1000)\n",
        options=(*AT, "--timeout", "2"),
        status=7,
        verdict="crashed",
        says="--timeout",
        live=1,
    ),
    Misbehaviour(
        name="a tool that writes behind the anchor, swallowed, then asks; `--at 4`",
        body="""
import anchored


@anchored.tool(effect="write")
def write():
    open('written', 'w').close()


for word in ('one', 'two', 'three'):
    ask(word)
try:
    write()
except BaseException:
    pass
while True:
    post('four')
""",
        options=AT,
        status=4,
        verdict="refused",
        says="effect write",
        live=1,
        leaves={"written": False},
    ),
    Misbehaviour(
        name="a connection outside the boundary before the anchor, swallowed; `--at 4`",
        body="""
import socket
ask('one')
try:
    socket.create_connection(BASE.partition('//')[2].partition('/')[0].split(':'))
except OSError:
    pass
for word in ('two', 'three'):
    post(word)
""",
        options=AT,
        status=4,
        verdict="refused",
        says="outside the boundary",
    ),
)

ENDINGS = (*STOPS, *ORDERS, *ANCHORED)
