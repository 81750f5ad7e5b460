"""Ways of starting that cannot be recorded or replayed, and what is said of them."""

from dataclasses import dataclass, field

from .launching import HEAD, PYTHON, TWO

PROGRAM = {"program.py": "open('ran', 'w').close()\n" + TWO}
FILE = (PYTHON, "program.py")
SHUT_OUT = "No boundary was put into this program"
CHILD = "child without boundary"
OUTSIDE = "connection to 127.0.0.1:"


@dataclass(frozen=True, kw_only=True)
class Unrecorded:
    """A way of starting a program that cannot be recorded.

    Attributes:
        name: the row's title.
        says: what the recording says.
        command: what is recorded.
        files: what stands in the folder, by name.
        environment: variables.
        calls: that the program makes all the same.
        ran: whether it ran at all.
    """

    name: str
    says: str = SHUT_OUT
    command: tuple[str, ...] = FILE
    files: dict[str, str] = field(default_factory=lambda: PROGRAM)
    environment: dict[str, str] = field(default_factory=dict)
    calls: int = 2
    ran: bool = True


@dataclass(frozen=True, kw_only=True)
class Restart:
    """A program that was recorded as `python file`, and is replayed in another way.

    Attributes:
        name: the row's title.
        reason: what stands in the replay's reason.
        command: what is replayed; the recorded command if there is none.
        files: what stands in the folder besides, by name.
        environment: variables while replaying.
        status: exit status of the replay.
        live: calls that it makes; other than 0 where that is a documented limit.
    """

    name: str
    reason: str = "without a boundary"
    command: tuple[str, ...] = ()
    files: dict[str, str] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    status: int = 1
    live: int = 0


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """A program that is recorded, and whose recording cannot be replayed.

    Attributes:
        name: the row's title.
        text: the program.
        says: what the recording says that it did not observe; "" where there is nothing to say.
        reason: what stands in the replay's reason.
        command: what is recorded.
        stdin: what the recorded program is given.
        calls: that it makes.
        status: exit status of the replay.
        live: calls that the replay makes; other than 0 where that is a documented limit.
        needs: a program or module that must be there.
    """

    name: str
    text: str
    says: str
    reason: str
    command: tuple[str, ...] = FILE
    stdin: str = ""
    calls: int = 3
    status: int = 4
    live: int = 0
    needs: str = ""


SHELL = ("sh", "-c", "exec '{python}' -I program.py")
CLEAN = ("env", "-i", "OPENAI_BASE_URL={url}", PYTHON, "program.py")
BARE = ("bare/bin/python", "program.py")
SITE = {"PYTHONPATH": "{site}"}
"""-S finds no packages by itself."""
OTHER_HTTPX = {"PYTHONPATH": "other"}
HIDING = {"hiding/wrapt.py": ""}
HIDDEN = {"PYTHONPATH": "hiding"}
NOT_PUT = "could not be put into the program's Python"

UNRECORDED = (
    *(
        Unrecorded(name=f"`python -{letter} file`", command=(PYTHON, f"-{letter}", "program.py"), environment=SITE)
        for letter in "IES"
    ),
    Unrecorded(name="`sh -c 'exec python -I file'`", command=SHELL),
    Unrecorded(name="`env -i python file`", command=CLEAN),
    Unrecorded(name="a Python without `anchored`", command=BARE, calls=0, ran=False, says="install `anchored`"),
    Unrecorded(
        name="an `httpx` into which the boundary does not fit",
        says="The boundary does not fit this httpx",
        files={"program.py": TWO.replace("httpx\n", "httpx\nopen('ran', 'w').close()\n", 1)},
        environment=OTHER_HTTPX,
        calls=0,
        ran=False,
    ),
    Unrecorded(
        name="a module that hides one the boundary needs",
        says="the boundary cannot be put into",
        files={**HIDING, **PROGRAM},
        environment=HIDDEN,
        calls=0,
        ran=False,
    ),
)

RESTARTS = (
    *(
        Restart(
            name=f"recorded as `python file`, then `python -{letter} file`",
            command=(PYTHON, f"-{letter}", "program.py"),
            environment=SITE,
            status=4,
            reason="without the boundary",
        )
        for letter in "IES"
    ),
    Restart(
        name="recorded as `python file`, then `sh -c 'exec python -I file'`", command=SHELL, status=4, reason="-I in sh"
    ),
    Restart(
        name="recorded as `python file`, then `timeout 60 python -E file`",
        command=("timeout", "60", PYTHON, "-E", "program.py"),
        status=4,
        reason="-E in timeout",
    ),
    Restart(
        name="recorded as `python file`, then a script that hides `python -I file`",
        command=("sh", "hidden.sh"),
        files={"hidden.sh": "'{python}' -I program.py\n"},
    ),
    Restart(
        name="recorded as `python file`, then `env -u PYTHONPATH python file`",
        command=("env", "-u", "PYTHONPATH", *FILE),
        status=4,
        reason="PYTHONPATH in env",
    ),
    Restart(
        name="recorded as `python file`, then `env -i python file`",
        command=CLEAN,
        status=4,
        reason="-i in env",
    ),
    Restart(name="recorded as `python file`, then a Python without `anchored`", command=BARE, reason=NOT_PUT),
    Restart(
        name="recorded, then with an `httpx` into which the boundary does not fit",
        environment=OTHER_HTTPX,
        reason=NOT_PUT,
    ),
    Restart(
        name="recorded, then with a module that hides one the boundary needs",
        files=HIDING,
        environment=HIDDEN,
        reason=NOT_PUT,
    ),
    Restart(
        name="recorded as `python file`, then `setsid python file`, which returns at once",
        command=("setsid", *FILE),
    ),
)


def program(name: str, body: str, says: str, reason: str, **changes: object) -> Refusal:
    """A program of one file whose text goes on after the head."""
    given = {"name": name, "text": HEAD + body, "says": says, "reason": reason, **changes}
    return Refusal(**given)


def client(name: str, way: str, *, needs: str = "") -> Refusal:
    """A client that has no door."""
    body = f"print(ask('one'))\ntry:\n    {way}\nexcept Exception as error:\n    print(error)\nprint(post('two'))\n"
    return program(f"a call by {name}", IMPORTS + body, OUTSIDE, "outside the boundary", needs=needs)


IMPORTS = """
import http.client, json, socket, subprocess

asked = json.dumps({"model": "scripted-1", "messages": [{"role": "user", "content": "aside"}]}).encode()
host, _, port = BASE.partition("//")[2].partition("/")[0].partition(":")


def by_hand():
    with socket.create_connection((host, int(port))) as connection:
        head = f"POST /v1/chat/completions HTTP/1.0\\r\\nContent-Length: {len(asked)}\\r\\n\\r\\n"
        connection.sendall(head.encode() + asked)
        while connection.recv(4096):
            pass


def by_lines():
    connection = http.client.HTTPConnection(host, int(port))
    connection.putrequest("POST", "/v1/chat/completions")
    connection.putheader("Content-Length", len(asked))
    connection.endheaders(asked)
    connection.getresponse().read()


"""

ASIDE = "sys.argv[1:] or subprocess.run([sys.executable, {options}__file__, 'aside'], env={environment})\n"
CHILDREN = (
    "import subprocess\nask(sys.argv[1] if sys.argv[1:] else 'one')\n" + ASIDE + "sys.argv[1:] or print(post('two'))\n"
)

INSIDE = (
    program(
        "a child with a clean environment that asks",
        CHILDREN.format(options="", environment="{'OPENAI_BASE_URL': BASE}"),
        CHILD,
        "a child without the boundary",
    ),
    program(
        "a child with `python -I` that asks",
        CHILDREN.format(options="'-I', ", environment="None"),
        CHILD,
        "a child without the boundary",
    ),
    program(
        "a second process with the boundary that asks",
        CHILDREN.format(options="", environment="None"),
        "chat scripted-1 from process",
        "from another process",
    ),
    program(
        "a fork that asks, and then the process itself",
        "if os.fork() == 0:\n    ask('one')\n    os._exit(0)\nos.wait()\nask('two')\n",
        "chat scripted-1 from process",
        "from another process",
        calls=2,
    ),
    program(
        "two threads of unknown origin with the same request",
        "import _thread, threading\nfor _ in range(2):\n    done = threading.Event()\n"
        "    _thread.start_new_thread(lambda: (ask('same'), done.set()), ())\n    done.wait()\n",
        "",
        "identical, and of several threads",
        calls=2,
    ),
    program(
        "closes all descriptors, the recorder's among them",
        "ask('one')\nclient.close()\nos.closerange(3, 99)\nclient = httpx.Client()\nask('two')\n",
        "all from entry 2 on",
        "incomplete from 2",
        calls=2,
    ),
)

CLIENTS = (
    client("`http.client`, by `putrequest`", "by_lines()"),
    client("a socket", "by_hand()"),
    program(
        "`python -I` in the text of a shell command",
        IMPORTS + "ask('one')\nos.system(f\"{sys.executable} -I -c 'print(1)'\")\nask('two')\n",
        CHILD,
        "a child without the boundary",
        calls=2,
    ),
    program(
        "a call by a child that is no Python: not seen, and in the replay in vain",
        IMPORTS + "ask('one')\nsubprocess.run(['curl', '-s', BASE + '/models'], capture_output=True)\nask('two')\n",
        "programs:     curl",
        "exact",
        status=0,
        needs="curl",
    ),
)

REFUSALS = (*INSIDE, *CLIENTS)
