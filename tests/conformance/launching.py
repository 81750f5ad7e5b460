"""Ways of starting a program: each is recorded and replayed exactly."""

from dataclasses import dataclass, field

HEAD = """
import os, sys, time
import httpx

BASE = os.environ["OPENAI_BASE_URL"]
client = httpx.Client()


def post(text):
    body = {"model": "scripted-1", "messages": [{"role": "user", "content": text}]}
    return client.post(BASE + "/chat/completions", json=body)


def ask(text):
    return post(text).json()["choices"][0]["message"]["content"]


"""
TWO = HEAD + "print(ask('one'))\nprint(ask('two'))\n"
PYTHON = "{python}"
PIPED = TWO.replace("'", '"')


@dataclass(frozen=True, kw_only=True)
class Way:
    """A way of starting a program that asks its model twice.

    Attributes:
        name: the row's title.
        command: what stands after `--`; {python} is this environment's.
        files: what stands in the folder, by name; what begins with #! can be executed.
        environment: variables that are set while recording and while replaying.
        stdin: what the recorded program is given.
        options: options of the command, such as the store.
        status: how the program ends.
        at: it is replayed from an anchor as well.
    """

    name: str
    command: tuple[str, ...] = (PYTHON, "program.py")
    files: dict[str, str] = field(default_factory=lambda: {"program.py": TWO})
    environment: dict[str, str] = field(default_factory=dict)
    stdin: str = ""
    options: tuple[str, ...] = ()
    status: int = 0
    at: bool = False


def program(name: str, body: str, *, status: int = 0, at: bool = False, **environment: str) -> Way:
    """`python file`, whose text goes on after the head."""
    return Way(
        name=f"`python file`, {name}",
        files={"program.py": HEAD + body},
        status=status,
        at=at,
        environment=environment,
    )


def options(*given: str) -> Way:
    """`python`, options, and a program in a file."""
    return Way(name=f"`python {' '.join(given)} file`", command=(PYTHON, *given, "program.py"))


FILES = {"team/__init__.py": "", "team/asking.py": HEAD, "team/main.py": "from .asking import ask\n"}
PACKAGE = {**FILES, "team/main.py": FILES["team/main.py"] + "print(ask('one'))\nprint(ask('two'))\n"}
COMMANDS = {
    **FILES,
    "team/main.py": FILES["team/main.py"] + "def main():\n    print(ask('one'))\n    print(ask('two'))\n",
}
BIN = {"PATH": "bin:/usr/local/bin:/usr/bin:/bin"}
ENTRY = "#!{python}\nimport sys\nfrom team.main import main\nif __name__ == '__main__':\n    sys.exit(main())\n"

INTERPRETER = (
    Way(name="`python file`", at=True),
    Way(name="`python -m module`", command=(PYTHON, "-m", "program")),
    Way(name="`python -m package.module`", command=(PYTHON, "-m", "team.main"), files=PACKAGE),
    Way(
        name="`python folder` with a `__main__`",
        command=(PYTHON, "."),
        files={"__main__.py": TWO},
    ),
    Way(name="`python -c text`", command=(PYTHON, "-c", TWO), files={}),
    Way(
        name="`python -m pytest file`",
        command=(PYTHON, "-m", "pytest", "-q", "-s", "-p", "no:cacheprovider", "test_asks.py"),
        files={"test_asks.py": HEAD + "def test_asks():\n    assert ask('one')\n    assert ask('two')\n"},
    ),
    Way(name="`python -m cProfile file`", command=(PYTHON, "-m", "cProfile", "-o", "kept", "program.py")),
    options("-O"),
    options("-u"),
    options("-X", "dev"),
    options("-W", "error", "-bb", "-P", "-s", "-B", "-X", "utf8"),
)

COMMAND_LINES = (
    Way(name="an executable file, by its path", command=("./tool",), files={"tool": f"#!{PYTHON}\n{TWO}"}),
    Way(
        name="a console script of a package, found on PATH",
        command=("team",),
        files={**COMMANDS, "bin/team": ENTRY},
        at=True,
        environment={**BIN, "PYTHONPATH": "."},
    ),
    Way(
        name="`uv run python file`",
        command=("uv", "run", "--no-project", "--offline", "--python", PYTHON, "python", "program.py"),
        environment={"UV_CACHE_DIR": "uv-cache", "UV_PYTHON_DOWNLOADS": "never"},
        at=True,
    ),
    Way(
        name="a shell script that execs Python",
        command=("sh", "run.sh"),
        files={"program.py": TWO, "run.sh": "exec '{python}' program.py\n"},
    ),
    Way(
        name="a shell script that runs Python and ends with its status",
        command=("sh", "run.sh"),
        files={"program.py": TWO + "sys.exit(3)\n", "run.sh": "'{python}' program.py\nended=$?\nexit $ended\n"},
        status=3,
    ),
    Way(name="`env VAR=x python file`", command=("env", "VAR=x", PYTHON, "program.py")),
    Way(name="`timeout 60 python file`", command=("timeout", "60", PYTHON, "program.py")),
    Way(name="`sh -c 'python file | cat'`", command=("sh", "-c", "'{python}' program.py | cat")),
    Way(
        name="a file and a folder with spaces and accents, odd arguments",
        command=(PYTHON, "ein ü/prög ram.py", "", "--", "--json", "a\nb", "ß"),
        files={"ein ü/prög ram.py": HEAD + "print(ask(repr(sys.argv[1:])))\nprint(ask('two'))\n"},
    ),
)

PROXIES = "sorted(pair for pair in os.environ.items() if 'proxy' in pair[0].lower())"

SURROUNDINGS = (
    Way(
        name="`python file`, which changes folder at once; `--store` is relative",
        files={"program.py": "import os\nos.chdir('/')\n" + TWO},
        options=("--store", "kept"),
        at=True,
    ),
    Way(
        name="`python file`, which changes folder at once; ANCHORED_STORE is relative",
        files={"program.py": "import os\nos.chdir('/')\n" + TWO},
        environment={"ANCHORED_STORE": "kept"},
    ),
    Way(
        name="`python file`, which reads standard input by lines, then to the end",
        files={"program.py": HEAD + "print(ask(input()))\nprint(ask(sys.stdin.read()))\n"},
        at=True,
        stdin="one\ntwo\nthree ü\n",
    ),
    Way(
        name="`python file`, which reads standard input as bytes",
        files={
            "program.py": HEAD + "data = sys.stdin.buffer.read()\nprint(ask(repr(data[:5])))\nprint(ask(repr(data)))\n"
        },
        stdin="one\ntwo\nthree ü\n",
    ),
    Way(
        name="`sh -c 'cat | python file'`, which reads standard input",
        command=("sh", "-c", "cat | '{python}' program.py"),
        files={"program.py": HEAD + "for line in sys.stdin:\n    print(ask(line))\n"},
        stdin="one\ntwo\n",
    ),
    Way(
        name="`python file` with a `sitecustomize` of its own",
        files={
            "own/sitecustomize.py": "import os\nos.environ['SEEN'] = 'yes'\n",
            "program.py": HEAD + "print(ask('one ' + os.environ['SEEN']))\nprint(ask('two'))\n",
        },
        environment={"PYTHONPATH": "own"},
    ),
    Way(
        name="`python file` with a proxy in its environment, of which it asks",
        files={"program.py": HEAD + f"print(ask(str({PROXIES})))\nprint(ask('two'))\n"},
        environment={"HTTP_PROXY": "http://127.0.0.1:1", "no_proxy": "127.0.0.1"},
        at=True,
    ),
    Way(
        name="`python file` under LC_ALL=C and PYTHONWARNINGS=error, asking in other scripts",
        files={
            "program.py": HEAD + "ask('ü 日本')\nask('two \\udcff')\n"
            if False
            else HEAD + "ask('ü 日本')\nask('two')\n"
        },
        environment={"LC_ALL": "C", "PYTHONWARNINGS": "error", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    ),
    Way(
        name="`python file` of another environment that has `anchored`",
        command=("other/bin/python", "program.py"),
        at=True,
    ),
)

SETS = "words = {'lamp', 'bridge', 'tunnel', 'archive', 'survey', 'record'}\n"
EXEC = "os.environ['PYTHONHASHSEED'] = '0'\n    os.execv(sys.executable, [sys.executable, *sys.argv])\n"

HASHES = (
    program("started with PYTHONHASHSEED", SETS + "print(ask(str(words)))\nprint(ask('two'))\n", PYTHONHASHSEED="7"),
    program("the order of a set, without a seed", SETS + "ask(str(words))\nask('two')\n", at=True),
    program(
        "which starts itself again with PYTHONHASHSEED=0",
        f"if os.environ.get('PYTHONHASHSEED') != '0':\n    {EXEC}{SETS}print(ask(str(words)))\nprint(ask('two'))\n",
    ),
    program(
        "which starts itself again if PYTHONHASHSEED is not set",
        f"if 'PYTHONHASHSEED' not in os.environ:\n    {EXEC}{SETS}print(ask(str(words)))\nprint(ask('two'))\n",
    ),
)

WORK = "def work():\n    ask('one')\n    ask('two')\n\n\n"
PROCESSES = """
import multiprocessing
if __name__ == "__main__":
    process = multiprocessing.get_context("{how}").Process(target=work)
    process.start()
    process.join()
    sys.exit(process.exitcode)
"""

CHILDREN = (
    Way(name="`python -`: the program itself on standard input", command=(PYTHON, "-"), files={}, stdin=TWO, at=True),
    Way(name="`python` in a shell, from a pipe", command=("sh", "-c", f"printf %s '{PIPED}' | {PYTHON}"), files={}),
    Way(
        name="a launcher in Python that starts the program as a child",
        command=(PYTHON, "launcher.py"),
        files={
            "program.py": TWO + "sys.exit(3)\n",
            "launcher.py": "import subprocess, sys\n"
            "sys.exit(subprocess.run([sys.executable, 'program.py']).returncode)\n",
        },
        at=True,
        status=3,
    ),
    *(
        program(f"`multiprocessing` by {how}: only the child asks", WORK + PROCESSES.format(how=how), at=True)
        for how in ("spawn", "fork", "forkserver")
    ),
    program(
        "a pool of one process: only the child asks",
        WORK
        + "from concurrent.futures import ProcessPoolExecutor\nif __name__ == '__main__':\n"
        + "    with ProcessPoolExecutor(1) as pool:\n        pool.submit(work).result()\n",
    ),
    program(
        "`os.fork`: only the child asks",
        WORK
        + "child = os.fork()\nif child == 0:\n    work()\n    os._exit(3)\n"
        + "sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n",
        status=3,
        at=True,
    ),
)

ENDS = (
    program("which ends with status 3", WORK + "work()\nsys.exit(3)\n", status=3),
    program("which raises at the end", WORK + "work()\nraise ValueError('as recorded')\n", status=1),
    program("`os._exit(0)` at the end", WORK + "work()\nos._exit(0)\n"),
    program("SIGKILL to itself at the end", WORK + "work()\nos.kill(os.getpid(), 9)\n", status=137),
    program(
        "a daemon thread asks",
        WORK + "import threading\nthread = threading.Thread(target=work, daemon=True)\nthread.start()\nthread.join()\n",
    ),
    program(
        "`asyncio.to_thread` asks",
        WORK + "import asyncio\n\n\nasync def main():\n    await asyncio.to_thread(work)\n\n\nasyncio.run(main())\n",
        at=True,
    ),
    program("asked in an `atexit` handler", WORK + "import atexit\natexit.register(work)\n"),
    program(
        "asked in a non-daemon thread after the main one",
        WORK + "import threading\nthreading.Timer(0.3, work).start()\n",
    ),
    program("which closes standard output", WORK + "sys.stdout.close()\nos.close(2)\nwork()\n"),
)

WAYS = (*INTERPRETER, *COMMAND_LINES, *SURROUNDINGS, *HASHES, *CHILDREN, *ENDS)
