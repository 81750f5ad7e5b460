"""The endpoint as a process: what it answers, what it logs, how it starts and ends."""

import json
import os
import random
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

import httpx
import pytest

from anchored.testing import ChatRequest, EndpointError, RunningEndpoint, load_script, running_endpoint

pytestmark = pytest.mark.skipif(
    find_spec("starlette") is None or find_spec("uvicorn") is None, reason="needs the extra 'testing'"
)

SCRIPT = r"""
from anchored.testing import Reply, Rule, Script, Weighted

def says(word):
    return lambda request: request.contains(word)

script = Script(
    models=["scripted-1", "scripted-2"],
    rules=[
        Rule(name="coin", when=says("coin"), replies=[
            Weighted(weight=0.75, reply=Reply.text("tails")),
            Weighted(weight=0.25, reply=Reply.text("heads")),
        ]),
        Rule(name="tools", when=says("tools"), replies=Reply.tools([("look", {"at": "é"}), ("look", {"at": 2})])),
        Rule(name="busy", when=says("busy"), replies=Reply.status(429, retry_after=0.5)),
        Rule(name="down", when=says("down"), replies=Reply.status(503, message="gone")),
        Rule(name="nan", when=says("nan"), replies=Reply.raw(b'{"a":NaN,"b":18446744073709551617,"c":"\\ud800"')),
        Rule(name="bytes", when=says("bytes"), replies=Reply.raw(bytes(range(256)), code=201, content_type="x/y")),
        Rule(name="hang", when=says("hang"), replies=Reply.hang()),
        Rule(name="late", when=says("late"), replies=Reply.delayed(
            Reply.tools(lambda request: [("look", {"at": 1})]), seconds=(0.0, 0.1))),
        Rule(name="cut", when=says("cut"), replies=Reply.cut(Reply.text("a b c"), after=100)),
        Rule(name="zip", when=says("zip"), replies=Reply.gzipped(Reply.text("a b c"))),
        Rule(name="broken", when=says("broken"), replies=Reply.text(lambda request: str(1 / 0))),
    ],
)
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "script.py"
    path.write_text(SCRIPT, encoding="utf-8")
    return path


@pytest.fixture
def endpoint(script: Path) -> Iterator[RunningEndpoint]:
    with running_endpoint(script, seed=5) as endpoint:
        yield endpoint


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningEndpoint]:
    """For tests that look at one answer each."""
    path = tmp_path_factory.mktemp("shared") / "script.py"
    path.write_text(SCRIPT, encoding="utf-8")
    with running_endpoint(path, seed=5) as endpoint:
        yield endpoint


def http(method: str, url: str, *, json: object = None, content: bytes | None = None) -> httpx.Response:
    """One request on a connection of its own, past any proxy."""
    with httpx.Client(trust_env=False, verify=False) as client:
        return client.request(method, url, json=json, content=content)


def chat(text: str, **more: object) -> dict[str, object]:
    return {"model": "scripted-1", "messages": [{"role": "user", "content": text}], **more}


def post(endpoint: RunningEndpoint, body: object) -> httpx.Response:
    return http("POST", f"{endpoint.url}/chat/completions", json=body)


def ask(endpoint: RunningEndpoint, text: str) -> httpx.Response:
    return post(endpoint, chat(text))


def exact(response: httpx.Response) -> tuple[int, list[tuple[str, str]], bytes]:
    """All that a client can see, so that nothing unscripted hides in a header."""
    return response.status_code, response.headers.multi_items(), response.content


def test_two_processes_give_the_same_bytes(script: Path) -> None:
    questions = ["coin", "coin", "tools", "busy", "nan", "coin 2", "no rule", "coin"]
    runs: list[list[tuple[int, list[tuple[str, str]], bytes]]] = []
    for seed in (5, 5, 6):
        with running_endpoint(script, seed=seed) as endpoint:
            runs.append([exact(ask(endpoint, question)) for question in questions])
    assert runs[0] == runs[1]
    assert all(one != other for one, other in zip(runs[0], runs[2], strict=True))


def test_order_of_arrival_does_not_count(script: Path) -> None:
    seed = secrets.randbits(32)
    print("seed", seed)
    questions = [f"coin {i}" for i in range(5)] * 4
    runs: list[dict[tuple[str, int], tuple[int, list[tuple[str, str]], bytes]]] = []
    for run in range(2):
        order = random.Random(seed + run).sample(questions, len(questions))
        with running_endpoint(script, seed=9) as endpoint:
            answers = [exact(ask(endpoint, question)) for question in order]
            runs.append({(c.digest, c.occurrence): a for c, a in zip(endpoint.calls(), answers, strict=True)})
    assert runs[0] == runs[1]


def test_racing_clients_get_the_same_answers_among_them(script: Path) -> None:
    runs: list[list[tuple[int, list[tuple[str, str]], bytes]]] = []
    for workers in (1, 8):
        with running_endpoint(script) as endpoint, ThreadPoolExecutor(workers) as pool:
            runs.append(sorted(pool.map(lambda text: exact(ask(endpoint, text)), ["coin", "tools"] * 16)))
            assert sorted(call.n for call in endpoint.calls()) == list(range(32))
    assert runs[0] == runs[1]


def test_occurrence_counts_equal_requests_only(endpoint: RunningEndpoint) -> None:
    ask(endpoint, "coin")
    ask(endpoint, "coin 2")
    ask(endpoint, "coin")
    swapped = b'{ "messages":[{"content":"coin", "role":"user"}], "model":"scripted-1"}'
    http("POST", f"{endpoint.url}/chat/completions", content=swapped)
    post(endpoint, chat("coin", temperature=0))
    assert [call.occurrence for call in endpoint.calls()] == [0, 0, 1, 2, 0]


def test_served_answers_are_those_of_the_pure_function(endpoint: RunningEndpoint, script: Path) -> None:
    request = ChatRequest(body=json.loads(json.dumps(chat("coin"))))
    pure = load_script(script)
    for occurrence in range(60):
        answer = pure.answer(request, seed=5, occurrence=occurrence)
        served = ask(endpoint, "coin")
        assert served.content == answer.response.body
        assert set(answer.response.headers) <= set(served.headers.multi_items())
        assert endpoint.calls()[-1].reply == answer.reply


def test_log_has_a_line_for_every_request_before_it_is_answered(script: Path, tmp_path: Path) -> None:
    log = tmp_path / "calls.jsonl"
    with running_endpoint(script, log=log) as endpoint:
        for number, question in enumerate(["coin", "no rule", "busy"], start=1):
            ask(endpoint, question)
            assert len(log.read_text().splitlines()) == number
        http("GET", f"{endpoint.url}/models")
        http("GET", f"{endpoint.url}/elsewhere")
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert all(list(line) == ["n", "path", "digest", "occurrence", "rule", "reply", "status"] for line in lines)
    assert [(line["n"], line["rule"], line["status"]) for line in lines] == [
        (0, "coin", 200),
        (1, None, 400),
        (2, "busy", 429),
        (3, None, 200),
        (4, None, 404),
    ]
    with running_endpoint(script, log=log) as endpoint:
        assert endpoint.calls() == []
        ask(endpoint, "coin")
        assert [call.n for call in endpoint.calls()] == [0]
    assert len(log.read_text().splitlines()) == 6


def test_raw_replies_are_exact(shared: RunningEndpoint) -> None:
    odd = ask(shared, "nan")
    assert odd.content == b'{"a":NaN,"b":18446744073709551617,"c":"\\ud800"'
    assert odd.headers["content-type"] == "application/json"
    other = ask(shared, "bytes")
    assert (other.status_code, other.content) == (201, bytes(range(256)))
    assert other.headers["content-type"] == "x/y"


def test_requests_beyond_plain_json_are_understood(endpoint: RunningEndpoint) -> None:
    bodies = [b'{"messages":[{"role":"user","content":"coin"}],"x":%s}' % x for x in (b"NaN", b"1" * 40, b'"\\ud800"')]
    for body in bodies:
        assert http("POST", f"{endpoint.url}/chat/completions", content=body).status_code == 200
    assert len({call.digest for call in endpoint.calls()}) == len(bodies)


@pytest.mark.parametrize(
    ("body", "kind", "message"),
    [
        (json.dumps(chat("something else")), "no_rule", "something else"),
        (json.dumps(chat("broken")), "rule_failed", "ZeroDivisionError"),
        (json.dumps(chat("coin", n=2)), "unsupported_request", "one choice"),
        ("{oops", "unsupported_request", "cannot be read"),
        ("[" * 100_000, "unsupported_request", "cannot be read"),
        ("", "unsupported_request", "no chat request"),
        ("[]", "unsupported_request", "no chat request"),
        ('{"model": "m"}', "unsupported_request", "'messages'"),
        ('{"messages": [1]}', "unsupported_request", "'messages'"),
    ],
)
def test_what_cannot_be_answered_is_refused_for_good(
    shared: RunningEndpoint, body: str, kind: str, message: str
) -> None:
    response = http("POST", f"{shared.url}/chat/completions", content=body.encode())
    assert response.status_code == 400
    assert response.headers["x-should-retry"] == "false"
    error = response.json()["error"]
    assert error["code"] == kind
    assert error["type"] == "invalid_request_error"
    assert message in error["message"]
    assert (shared.calls()[-1].status, shared.calls()[-1].rule) == (400, None)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/chat/completions"),
        ("POST", "/models"),
        ("POST", "/completions"),
        ("DELETE", "/../x"),
        ("PROPFIND", "/"),
    ],
)
def test_other_paths_are_not_there(shared: RunningEndpoint, method: str, path: str) -> None:
    response = http(method, shared.url + path)
    assert response.status_code == 404
    assert response.headers["content-type"] == "application/json"
    assert response.json()["error"]["code"] == "not_found"


def test_error_replies(shared: RunningEndpoint) -> None:
    busy, down = ask(shared, "busy"), ask(shared, "down")
    assert (busy.status_code, busy.headers["retry-after"]) == (429, "0.5")
    assert busy.json()["error"]["type"] == "rate_limit_error"
    assert (down.status_code, down.json()["error"]["message"]) == (503, "gone")
    assert "retry-after" not in down.headers


def test_no_header_comes_from_a_clock(shared: RunningEndpoint) -> None:
    assert set(ask(shared, "coin").headers) == {"content-type", "content-length", "x-request-id"}


@pytest.mark.parametrize("stream", [False, True])
def test_a_cut_closes_the_connection_in_the_midst_of_the_body(
    endpoint: RunningEndpoint, script: Path, stream: bool
) -> None:
    body = json.loads(json.dumps(chat("cut", stream=stream)))
    whole = load_script(script).answer(ChatRequest(body=body), seed=5).response.body
    got: list[bytes] = []
    with httpx.Client(trust_env=False) as client:
        with client.stream("POST", f"{endpoint.url}/chat/completions", json=body) as response:
            assert response.status_code == 200
            with pytest.raises(httpx.RemoteProtocolError):
                for piece in response.iter_raw():
                    got.append(piece)
        assert b"".join(got) == whole[:100]
        client.get(f"{endpoint.url}/models").raise_for_status()


@pytest.mark.parametrize("stream", [False, True])
def test_a_gzipped_answer_is_unpacked_by_its_client(shared: RunningEndpoint, stream: bool) -> None:
    answer = post(shared, chat("zip", stream=stream))
    assert answer.headers["content-encoding"] == "gzip"
    assert ("content-length" in answer.headers) is not stream
    assert answer.text.endswith("data: [DONE]\n\n") if stream else answer.json()["choices"]


def test_requests_overlap_while_one_waits(endpoint: RunningEndpoint) -> None:
    """Issue 4: races happen only if the endpoint lets them."""
    with httpx.Client(trust_env=False, timeout=0.5) as client, pytest.raises(httpx.ReadTimeout):
        client.post(f"{endpoint.url}/chat/completions", json=chat("hang"))
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: ask(endpoint, "late").json()["id"], range(16)))
    assert len(set(answers)) == 16, "identical requests at one time are occurrences of their own"
    calls = [call for call in endpoint.calls() if call.rule == "late"]
    assert [call.occurrence for call in calls] == list(range(16))


def test_delayed_answers_are_those_of_the_pure_function(endpoint: RunningEndpoint, script: Path) -> None:
    request, pure = ChatRequest(body=json.loads(json.dumps(chat("late")))), load_script(script)
    with ThreadPoolExecutor(8) as pool:
        served = set(pool.map(lambda _: ask(endpoint, "late").content, range(16)))
    assert served == {pure.answer(request, seed=5, occurrence=i).response.body for i in range(16)}


def test_the_end_waits_for_nobody_who_hangs(script: Path, tmp_path: Path) -> None:
    """It ends as told, without a word, and the client sees its connection closed."""
    log = tmp_path / "log"
    process = start(str(script), "--log", str(log))
    assert process.stdout is not None
    url = process.stdout.readline().strip()
    with ThreadPoolExecutor(2) as pool:
        hanging = [pool.submit(http, "POST", f"{url}/chat/completions", json=chat("hang")) for _ in range(2)]
        while len(log.read_bytes().splitlines()) < 2:
            time.sleep(0.01)
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=20)
        for future in hanging:
            with pytest.raises(httpx.RemoteProtocolError):
                future.result(20)
    assert (process.returncode, out, err) == (0, "", "")


def test_all_three_formats_and_azure_are_served(endpoint: RunningEndpoint) -> None:
    bodies = {
        "/v1/chat/completions": chat("coin"),
        "/openai/deployments/d/chat/completions": chat("coin"),
        "/v1/responses": {"model": "m", "input": "coin"},
        "/v1/messages": chat("coin", max_tokens=5),
    }
    for path, body in bodies.items():
        for stream in (False, True):
            answer = http("POST", endpoint.root + path, json={**body, "stream": stream})
            assert answer.status_code == 200
            assert "tails" in answer.text or "heads" in answer.text
            assert answer.headers["content-type"].startswith("text/event-stream" if stream else "application/json")
            assert ("request-id" in answer.headers) is (path == "/v1/messages")
    assert {call.rule for call in endpoint.calls()} == {"coin"}
    assert http("POST", f"{endpoint.url}/embeddings", json={"model": "m", "input": "a"}).json()["data"]
    assert http("POST", f"{endpoint.url}/messages", content=b"{oops").json()["error"]["type"] == "invalid_request_error"


@pytest.mark.skipif(find_spec("openai") is None, reason="needs openai")
def test_openai_client_reads_the_answers(endpoint: RunningEndpoint) -> None:
    """In a process of its own: what the SDK warns of on import is not ours."""
    program = """
import sys, openai
client = openai.OpenAI(base_url=sys.argv[1], api_key="none")
ask = lambda text: client.chat.completions.with_raw_response.create(
    model="scripted-1", messages=[{"role": "user", "content": text}])
raw = ask("coin"); answer = raw.parse()
assert raw.request_id == answer._request_id and raw.request_id.startswith("req_")
assert answer.object == "chat.completion" and answer.model == "scripted-1" and answer.id.startswith("chatcmpl-")
assert answer.choices[0].message.content in ("heads", "tails") and answer.choices[0].finish_reason == "stop"
assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens > 0
choice = ask("tools").parse().choices[0]
assert choice.finish_reason == "tool_calls" and choice.message.content is None
assert [call.function.arguments for call in choice.message.tool_calls] == ['{"at": "\\\\u00e9"}', '{"at": 2}']
assert len({call.id for call in choice.message.tool_calls}) == 2
assert [model.id for model in client.models.list()] == ["scripted-1", "scripted-2"]
for text, error in [("busy", openai.RateLimitError), ("nothing", openai.BadRequestError)]:
    try:
        ask(text)
    except error as caught:
        assert caught.body["message"]
    else:
        raise SystemExit(f"{text} raised nothing")
"""
    done = subprocess.run([sys.executable, "-c", program, endpoint.url], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    rules = [call.rule for call in endpoint.calls()]
    assert rules == ["coin", "tools", None, "busy", "busy", "busy", None], "429 is retried, a missing rule is not"


def test_end_is_clean(script: Path) -> None:
    with running_endpoint(script) as endpoint, httpx.Client(trust_env=False) as client:
        client.get(f"{endpoint.url}/models").raise_for_status()  # its connection stays open over the end
        url, pid = endpoint.url, endpoint.pid
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    with pytest.raises(httpx.ConnectError):
        http("GET", f"{url}/models")


def test_process_is_ended_when_the_block_fails(script: Path) -> None:
    pid = 0
    with pytest.raises(ZeroDivisionError), running_endpoint(script) as endpoint:
        pid = endpoint.pid
        _ = 1 / 0
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def start(*arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "anchored.testing", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGINT])
def test_command_line(script: Path, tmp_path: Path, signum: signal.Signals) -> None:
    ready, log = tmp_path / "ready", tmp_path / "log"
    ready.write_text("http://127.0.0.1:1/v1\n")  # left by an earlier start: it must not be believed
    process = start(f"{script}:script", "--seed", "5", "--port", "0", "--log", str(log), "--ready", str(ready))
    assert process.stdout is not None
    url = process.stdout.readline().strip()
    assert ready.read_text() == url + "\n"
    assert not list(tmp_path.glob("*.part"))
    assert url.startswith("http://127.0.0.1:")
    answer = http("POST", f"{url}/chat/completions", json=chat("coin"))
    assert answer.status_code == 200
    process.send_signal(signum)
    out, err = process.communicate(timeout=20)
    assert (process.returncode, out, err) == (0, "", "")
    assert len(log.read_text().splitlines()) == 1


def test_it_stops_by_itself(script: Path) -> None:
    began = time.monotonic()
    process = start(str(script), "--stop-after", "0.3")
    out, err = process.communicate(timeout=20)
    assert process.returncode == 0
    assert out.startswith("http://127.0.0.1:")
    assert "0.3 s" in err
    assert time.monotonic() - began < 20


def test_an_early_end_is_an_error(script: Path) -> None:
    with pytest.raises(EndpointError, match="ended early"), running_endpoint(script, stop_after=0.1):
        time.sleep(2)


def test_a_start_that_fails_says_why(tmp_path: Path) -> None:
    with pytest.raises(EndpointError, match=r"no file .*missing\.py"), running_endpoint(tmp_path / "missing.py"):
        pass


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["{script}:nothing"], "no such name"),
        (["{script}", "--log", "{folder}/no/such/log"], "No such file"),
        (["{script}", "--port", "{taken}"], "--port 0"),
    ],
)
def test_errors_of_the_command_line(
    shared: RunningEndpoint, script: Path, tmp_path: Path, arguments: list[str], message: str
) -> None:
    taken = shared.url.removesuffix("/v1").rpartition(":")[2]
    process = start(*(part.format(script=script, folder=tmp_path, taken=taken) for part in arguments))
    out, err = process.communicate(timeout=20)
    assert (process.returncode, out) == (2, "")
    assert message in err
    assert all(word in err for word in ("expected:", "found:", "next:"))
    assert "Traceback" not in err


def test_scripts_may_import_their_neighbours(tmp_path: Path) -> None:
    (tmp_path / "neighbour.py").write_text("WORD = 'near'\n")
    (tmp_path / "script.py").write_text(
        "from neighbour import WORD\nfrom anchored.testing import Reply, Rule, Script\n"
        "script = Script(rules=[Rule(name=WORD, when=lambda _: True, replies=Reply.text(WORD))])\n"
    )
    with running_endpoint(tmp_path / "script.py") as endpoint:
        assert ask(endpoint, "x").json()["choices"][0]["message"]["content"] == "near"


def test_scripts_need_no_server_packages() -> None:
    """Rules can be tested where the extra is not installed."""
    program = "import sys, anchored.testing; sys.exit(bool({'starlette', 'uvicorn'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
