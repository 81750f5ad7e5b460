"""What the boundary sees around a program: its files and packages, its input, its trace, options that shut it out."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from anchored.boundary.guard import ignored_by, reads_program
from anchored.boundary.loaded import as_now, loaded
from anchored.boundary.program import program_command, program_target
from anchored.boundary.proxies import dead_proxies, restore_proxies
from anchored.boundary.trace import active_trace, given_trace
from anchored.errors import UsageError


@pytest.mark.parametrize(
    ("command", "option"),
    [
        ("python -I team.py", "-I"),
        ("python3.11 -E team.py", "-E"),
        ("/usr/bin/python3 -uS team.py", "-S"),
        ("python -W error -I team.py", "-I"),
        ("python -Werror -X dev -bIE team.py", "-I"),
        ("pypy3 -E -m team", "-E"),
        ("python --check-hash-based-pycs always -S team.py", "-S"),
        ("python team.py -I", None),
        ("python -m team -E", None),
        ("python -c pass -S", None),
        ("python -cS", None),
        ("python -mE", None),
        ("python -X importtime team.py", None),
        ("python -WI team.py", None),
        ("python -u -- -I", None),
        ("python - -I", None),
        ("team -I", None),
        ("env -i python team.py", "-i"),
        ("/usr/bin/env - A=1 python3 team.py", "-"),
        ("env A=1 python -E team.py", "-E"),
        ("env A=1 python team.py -i", None),
        ("env -u B A=1 python team.py", None),
        ("env -u PYTHONPATH python team.py", "PYTHONPATH"),
        ("env PYTHONPATH=. python team.py", "PYTHONPATH=."),
        ("env -0i python team.py", "-0i"),
        ("timeout 30 python -I team.py", "-I"),
        ("nice python3 -u team.py -I", None),
        ("python", None),
    ],
)
def test_options_that_shut_the_boundary_out(command: str, option: str | None) -> None:
    """-I and -E ignore PYTHONPATH, -S runs no sitecustomize; what follows the program is the program's own."""
    assert ignored_by(command.split()) == option


@pytest.mark.parametrize(
    ("command", "reads"),
    [
        ("python", True),
        ("python -", True),
        ("python -u -X dev - more", True),
        ("python -W error", True),
        ("python team.py", False),
        ("python -m team", False),
        ("python -c pass", False),
        ("python -V", False),
        ("python -u team.py -", False),
        ("python -i", False),
        ("python --version", False),
        ("python --help-all", False),
    ],
)
def test_a_program_on_standard_input_is_known_by_its_command_line(command: str, reads: bool) -> None:
    """Then, and only then, all of standard input is the program's text."""
    assert reads_program(command.split()) == reads


@pytest.mark.parametrize(
    ("text", "option"),
    [
        ("exec python -I team.py", "-I"),
        ("cd x && '/opt/my python/bin/python3' -u -E team.py", "-E"),
        ("python team.py -I", None),
        ("echo -I", None),
    ],
)
def test_what_a_shell_command_hides(text: str, option: str | None) -> None:
    assert ignored_by(["sh", "-c", text]) == option


def test_no_command_is_no_python() -> None:
    assert ignored_by([]) is None


def test_files_and_packages_of_a_program(tmp_path: Path) -> None:
    """Its own modules and the files that its command line names; of installed packages the versions; no standard
    library, nothing of this package."""
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "__init__.py").write_text("")
    (tmp_path / "inner" / "part.py").write_text("x = 1\n")
    (tmp_path / "data.txt").write_text("data")
    (tmp_path / "team.py").write_text(
        "import json, sys\nfrom pathlib import Path\nimport wrapt, inner.part\n"
        "from anchored.boundary.loaded import loaded\n"
        "print(json.dumps(loaded(Path.cwd(), Path.cwd())))\n"
    )
    done = subprocess.run(
        [sys.executable, "team.py", "data.txt"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    found = json.loads(done.stdout)
    assert set(found["files"]) == {"data.txt", "inner/__init__.py", "inner/part.py", "team.py"}
    assert "wrapt" in found["packages"]
    assert "json" not in found["packages"]
    again = as_now(tmp_path, found["files"], found["packages"])
    assert again == found
    (tmp_path / "inner" / "part.py").write_text("x = 2\n")
    (tmp_path / "data.txt").unlink()
    now = as_now(tmp_path, found["files"], [*found["packages"], "no-such-package"])
    assert {name for name in found["files"] if now["files"].get(name) != found["files"][name]} == {
        "data.txt",
        "inner/part.py",
    }
    assert now["packages"] == found["packages"]


def test_odd_modules_are_looked_at_without_harm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Odd:
        __file__ = "/odd.py"

        def __getattr__(self, name: str) -> object:
            raise RuntimeError(name)

    monkeypatch.setitem(sys.modules, "odd_module", Odd())
    monkeypatch.setitem(sys.modules, "none_module", None)
    assert "odd_module" not in loaded(tmp_path, tmp_path)["packages"]


def test_the_dead_proxy_is_taken_out_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """`restore_proxies` inverts `dead_proxies`; without the boundary every proxied way leads nowhere."""
    for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HTTPS_PROXY", "http://user:secret@proxy:3128")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    before = dict(os.environ)
    dead = dead_proxies(os.environ)
    assert {dead[name] for name in ("http_proxy", "HTTPS_PROXY", "ALL_PROXY")} == {"http://127.0.0.1:9"}
    assert dead["NO_PROXY"] == dead["no_proxy"] == ""
    for name, value in dead.items():
        monkeypatch.setenv(name, value)
    restore_proxies()
    assert dict(os.environ) == before
    restore_proxies()
    assert dict(os.environ) == before


TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


@pytest.mark.parametrize(
    ("header", "found"),
    [
        (f"00-{TRACE}-{SPAN}-01", {"trace_id": TRACE, "span_id": SPAN}),
        (f"00-{'0' * 32}-{SPAN}-01", None),
        (f"00-{TRACE}-{SPAN}-01\n", None),
        (f"00-{TRACE.upper()}-{SPAN}-01", None),
        ("", None),
    ],
)
def test_the_trace_that_the_caller_hands_down(header: str, found: object) -> None:
    """W3C Trace Context."""
    assert given_trace({"TRACEPARENT": header}) == found
    assert given_trace({}) is None


def test_the_trace_that_is_active() -> None:
    """Asked of the real OpenTelemetry."""
    from opentelemetry.sdk.trace import TracerProvider

    tracer = TracerProvider().get_tracer("tests")
    assert active_trace() is None
    with tracer.start_as_current_span("outer") as span:
        context = span.get_span_context()
        assert active_trace() == {"trace_id": f"{context.trace_id:032x}", "span_id": f"{context.span_id:016x}"}
    assert active_trace() is None


def test_a_function_as_a_program() -> None:
    """`program_target` inverts `program_command`."""
    assert program_target(program_command("team.inner:Team.main")) == "team.inner:Team.main"
    assert program_target(["python", "team.py"]) is None
    for wrong in ("team", "team:", ":main", "team:main()", "team/x:main", "team:main:x", ""):
        with pytest.raises(UsageError, match="module:function"):
            program_command(wrong)
