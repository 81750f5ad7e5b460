"""A function of the user's that changes the request (issue, Call): what it is given, what it makes, what is refused."""

import json
import sys
from pathlib import Path

import pytest

from anchored.boundary.calling import BoundCall, acting, call_from
from anchored.errors import RefusedError, UsageError
from anchored.replaying import Unchanged

BODY = b'{"model": "m", "seed": 12345678901234567890, "messages": [{"role": "user", "content": "\\u00e9"}]}'


@pytest.fixture(autouse=True)
def _modules_are_forgotten():
    """Each test writes its own `changes`."""
    before, path = set(sys.modules), list(sys.path)
    yield
    for name in set(sys.modules) - before:
        del sys.modules[name]
    assert sys.path == path, "the program's own path is left alone"


def call(folder: Path, source: str, *, target: str = "changes:change") -> BoundCall:
    (folder / "changes.py").write_text(source)
    bound = acting(call_from(target, folder), folder)
    assert isinstance(bound, BoundCall)
    return bound


def applied(bound: BoundCall, body: bytes = BODY) -> bytes:
    return bound.apply(method="POST", path="/v1/chat/completions", body=body)


@pytest.mark.parametrize(
    "source",
    [
        "def change(request):\n    request['body']['model'] = 'n'",
        "def change(request):\n    return {**request['body'], 'model': 'n'}",
        "def change(request):\n    request['body'] = {**request['body'], 'model': 'n'}",
        "class Changes:\n    @staticmethod\n    def change(request):\n        request['body']['model'] = 'n'",
        "def change(request):\n"
        "    assert (request['method'], request['path']) == ('POST', '/v1/chat/completions')\n"
        "    request['body'].update(model='n')",
    ],
)
def test_a_function_changes_the_body(tmp_path: Path, source: str) -> None:
    """In place or by what it returns; written as clients write a body, 64-bit integers whole."""
    target = "changes:Changes.change" if "class" in source else "changes:change"
    sent = applied(call(tmp_path, source, target=target))
    assert sent == json.dumps({**json.loads(BODY), "model": "n"}, ensure_ascii=False, separators=(",", ":")).encode()


@pytest.mark.parametrize("source", ["return None", "return request['body']", "return dict(request['body'])"])
def test_a_function_that_changes_nothing_sends_the_very_bytes(tmp_path: Path, source: str) -> None:
    assert applied(call(tmp_path, f"def change(request):\n    {source}")) == BODY


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("def change(request):\n    raise ValueError('too long a history')", "failed: ValueError: too long a history"),
        ("def change(request):\n    raise SystemExit(3)", "failed: SystemExit: 3"),
        ("def change(request):\n    raise KeyboardInterrupt", "failed: KeyboardInterrupt"),
        ("class E(Exception):\n    def __str__(self):\n        raise E\ndef change(request):\n    raise E", "failed: "),
        ("def change():\n    pass", "failed: TypeError"),
        ("def change(request):\n    return change(request)", "failed: RecursionError"),
        ("def change(request):\n    return 'text'", "returned neither a dict nor None"),
        ("def change(request):\n    return [1]", "returned neither a dict nor None"),
        ("def change(request):\n    return {'a': {1}}", "made a body that is no JSON: TypeError"),
        ("def change(request):\n    return {'a': float('nan')}", "made a body that is no JSON: ValueError"),
        (
            "def change(request):\n    request['body']['a'] = '\\ud800'",
            "made a body that is no JSON: UnicodeEncodeError",
        ),
        ("raise RuntimeError('not here')", "cannot be imported: RuntimeError: not here"),
        ("def change(request) return", "cannot be imported: SyntaxError"),
        ("def other(request):\n    pass", "cannot be imported: AttributeError"),
    ],
)
def test_what_cannot_be_called_is_refused_with_its_own_message(tmp_path: Path, source: str, says: str) -> None:
    """Whatever it raises: the program would swallow it, and nobody would know why."""
    with pytest.raises(RefusedError) as caught:
        applied(call(tmp_path, source))
    assert says in caught.value.problem
    assert "changes:change" in caught.value.problem
    assert "\n" not in caught.value.problem


@pytest.mark.parametrize("body", [b"", b"model=m", b"\xff", b'{"a": NaN}', b'{"a": 1, "a": 2}'])
def test_a_body_that_a_dict_cannot_hold_is_refused(tmp_path: Path, body: bytes) -> None:
    """Identity 6: what would come out as another request is not sent."""
    with pytest.raises(RefusedError, match="no JSON"):
        applied(call(tmp_path, "def change(request):\n    request['body'] = {}"), body)


def test_a_changed_source_is_refused_and_not_imported(tmp_path: Path) -> None:
    """The plan binds the source: another one never runs."""
    bound = call(tmp_path, "def change(request):\n    pass")
    (tmp_path / "changes.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\ndef change(request):\n    pass")
    with pytest.raises(RefusedError, match="another source"):
        applied(bound)
    (tmp_path / "changes.py").unlink()
    with pytest.raises(RefusedError, match="another source"):
        applied(bound)
    assert not (tmp_path / "ran").exists()


def test_a_module_from_elsewhere_is_refused(tmp_path: Path) -> None:
    """A module of that name that is loaded already is not the file that the plan names."""
    (tmp_path / "json.py").write_text("def loads(request):\n    pass")
    bound = acting(call_from("json:loads", tmp_path), tmp_path)
    assert isinstance(bound, BoundCall)
    with pytest.raises(RefusedError, match="elsewhere"):
        applied(bound)


def test_a_module_in_a_package_is_found(tmp_path: Path) -> None:
    (tmp_path / "team" / "changes").mkdir(parents=True)
    (tmp_path / "team" / "changes" / "__init__.py").write_text("from . import more\nchange = more.change")
    (tmp_path / "team" / "changes" / "more.py").write_text("def change(request):\n    return {'ok': 1}")
    for target in ("team.changes:change", "team.changes.more:change"):
        bound = acting(call_from(target, tmp_path), tmp_path)
        assert isinstance(bound, BoundCall)
        assert applied(bound) == b'{"ok":1}'


@pytest.mark.parametrize(
    ("target", "says"),
    [
        ("changes", "module:function"),
        ("changes:", "module:function"),
        (":change", "module:function"),
        ("../changes:change", "module:function"),
        ("changes.py:change", "in the program's folder"),
        ("changes:a b", "module:function"),
        ("__main__:change", "module:function"),
        ("gone:change", "in the program's folder"),
        ("json:loads", "in the program's folder"),
    ],
)
def test_what_no_function_can_be_meant_by_is_wrong_usage(tmp_path: Path, target: str, says: str) -> None:
    """Before anything starts; a module of the standard library or of a package is not the program's."""
    (tmp_path / "changes.py").write_text("raise RuntimeError('the parent imports nothing')")
    call_from("changes:change", tmp_path)
    with pytest.raises(UsageError) as caught:
        call_from(target, tmp_path)
    assert says in str(caught.value)


def test_other_interventions_act_as_they_are(tmp_path: Path) -> None:
    assert acting(Unchanged(), tmp_path) == Unchanged()
