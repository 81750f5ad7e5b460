"""The real SDKs read what the endpoint sends, streamed or not, and what replaces a stream.

Each program runs in one of the environments that `make stands` makes; without them these tests are skipped.
"""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from anchored.events import with_model_text
from anchored.testing import ChatRequest, Reply, RunningEndpoint, running_endpoint
from anchored.testing.draw import Draw

ROOT = Path(__file__).parents[2]

SCRIPT = """
from anchored.testing import Reply, Rule, Script

def says(word):
    return lambda request: request.contains(word)

def result(request):
    return f"{request.system}: {request.last.text} for {request.last.tool_call_id}"

SCRIPT_OF_REPLACED
script = Script(rules=[
    *replaced,
    Rule(name="result", when=lambda request: request.last.role == "tool", replies=Reply.text(result)),
    Rule(name="tools", when=lambda request: request.contains("tools") and "look" in request.tool_names,
         replies=Reply.tools([("look", {"at": "é"}), ("look", {"at": 2})], content="I look twice")),
    Rule(name="zip", when=says("zip"), replies=Reply.gzipped(Reply.text("some packed words"))),
    Rule(name="busy", when=says("busy"), replies=Reply.status(429, retry_after=0.01)),
    Rule(name="cut", when=says("cut"), replies=Reply.cut(Reply.text("never whole"), after=40)),
    Rule(name="hang", when=says("hang"), replies=Reply.hang()),
])
"""

CHAT = """
import sys, openai
root = sys.argv[1]
client = openai.OpenAI(base_url=root + "/v1", api_key="none", max_retries=0)
tools = [{"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}]
def ask(text):
    messages = [{"role": "system", "content": "sys"}, {"role": "user", "content": text}]
    return dict(model="m", messages=messages, tools=tools)
plain = client.chat.completions.create(**ask("tools"))
with client.chat.completions.stream(**ask("tools"), stream_options={"include_usage": True}) as stream:
    streamed = stream.get_final_completion()
for answer in (plain, streamed):
    message = answer.choices[0].message
    assert (message.content, answer.choices[0].finish_reason) == ("I look twice", "tool_calls")
    assert [call.function.arguments for call in message.tool_calls] == ['{"at": "\\\\u00e9"}', '{"at": 2}']
    assert answer.usage.total_tokens == plain.usage.total_tokens > 0
answers = [{"role": "tool", "tool_call_id": call.id, "content": "seen"} for call in message.tool_calls]
again = ask("tools")
again["messages"] += [message.model_dump(include={"role", "content", "tool_calls"}), *answers]
assert client.chat.completions.create(**again).choices[0].message.content == "sys: seen for " + message.tool_calls[1].id
chunks = client.chat.completions.create(**ask("zip"), stream=True)
assert "".join(c.choices[0].delta.content or "" for c in chunks) == "some packed words"
chunks = client.chat.completions.create(**ask("other text"), stream=True)
assert "".join(c.choices[0].delta.content or "" for c in chunks) == "replaced text"
azure = openai.AzureOpenAI(azure_endpoint=root, api_key="none", api_version="1")
assert azure.chat.completions.create(**{**ask("zip"), "model": "deployed"}).model == "deployed"
errors = [("busy", openai.RateLimitError), ("cut", openai.APIConnectionError), ("hang", openai.APITimeoutError)]
for text, error in errors:
    try:
        client.with_options(timeout=0.5).chat.completions.create(**ask(text))
    except error as caught:
        assert type(caught) is error, repr(caught)
    else:
        raise SystemExit(text + " raised nothing")
try:
    list(client.chat.completions.create(**ask("cut"), stream=True))
except Exception as caught:
    assert "RemoteProtocolError" in repr((caught, caught.__cause__)), repr(caught)
else:
    raise SystemExit("a cut stream raised nothing")
vectors = client.embeddings.create(model="m", input=["a", "b"]).data
assert vectors[0].embedding == client.embeddings.create(model="m", input="a", encoding_format="float").data[0].embedding
assert len(vectors) == 2 and len(vectors[1].embedding) == 8
"""

RESPONSES = """
import sys, openai
client = openai.OpenAI(base_url=sys.argv[1] + "/v1", api_key="none", max_retries=0)
tools = [{"type": "function", "name": "look", "parameters": {"type": "object", "properties": {}}, "strict": False}]
ask = dict(model="m", instructions="sys", tools=tools)
plain = client.responses.create(**ask, input="tools")
with client.responses.stream(**ask, input="tools") as stream:
    kinds = [event.type for event in stream]
    streamed = stream.get_final_response()
assert kinds[0] == "response.created" and kinds[-1] == "response.completed"
for answer in (plain, streamed):
    assert answer.output_text == "I look twice" and answer.status == "completed"
    calls = [item for item in answer.output if item.type == "function_call"]
    assert [call.arguments for call in calls] == ['{"at": "\\\\u00e9"}', '{"at": 2}']
    assert answer.usage.total_tokens == plain.usage.total_tokens > 0
again = [{"role": "user", "content": "tools"}, *(item.model_dump(exclude_none=True) for item in plain.output)]
calls = [item for item in plain.output if item.type == "function_call"]
again += [{"type": "function_call_output", "call_id": call.call_id, "output": "seen"} for call in calls]
assert client.responses.create(**ask, input=again).output_text == "sys: seen for " + calls[1].call_id
with client.responses.stream(**ask, input="other text") as stream:
    assert stream.get_final_response().output_text == "replaced text"
try:
    client.responses.create(**ask, input="busy")
except openai.RateLimitError as caught:
    assert caught.response.headers["retry-after"] == "0.01"
else:
    raise SystemExit("busy raised nothing")
"""

MESSAGES = """
import sys, anthropic
client = anthropic.Anthropic(base_url=sys.argv[1], api_key="none", max_retries=0)
tools = [{"name": "look", "input_schema": {"type": "object"}}]
def ask(text):
    return dict(model="m", max_tokens=9, system="sys", tools=tools, messages=[{"role": "user", "content": text}])
plain = client.messages.create(**ask("tools"))
with client.messages.stream(**ask("tools")) as stream:
    streamed = stream.get_final_message()
for answer in (plain, streamed):
    assert answer.stop_reason == "tool_use" and answer.content[0].text == "I look twice"
    assert [block.input for block in answer.content[1:]] == [{"at": "\\u00e9"}, {"at": 2}]
    assert answer.usage.output_tokens == plain.usage.output_tokens > 0
results = [{"type": "tool_result", "tool_use_id": block.id, "content": "seen"} for block in plain.content[1:]]
again = ask("tools")
said = [block.model_dump(include={"type", "text", "id", "name", "input"}) for block in plain.content]
again["messages"] += [{"role": "assistant", "content": said}, {"role": "user", "content": results}]
assert client.messages.create(**again).content[0].text == "sys: seen for " + plain.content[2].id
with client.messages.stream(**ask("other text")) as stream:
    assert stream.get_final_text() == "replaced text"
with client.messages.stream(**ask("zip")) as stream:
    assert stream.get_final_text() == "some packed words"
for text, error in [("busy", anthropic.RateLimitError), ("nothing", anthropic.BadRequestError)]:
    try:
        client.messages.create(**ask(text))
    except error as caught:
        assert caught.body["type"] == "error" and caught.request_id.startswith("req_")
    else:
        raise SystemExit(text + " raised nothing")
"""

AGENTS = """
import asyncio, sys, openai, agents
agents.set_tracing_disabled(True)
@agents.function_tool
def look(at: str) -> str:
    "Looks."
    return "seen"
client = openai.AsyncOpenAI(base_url=sys.argv[1] + "/v1", api_key="none", max_retries=0)
async def main():
    for model in (agents.OpenAIResponsesModel("m", client), agents.OpenAIChatCompletionsModel("m", client)):
        agent = agents.Agent(name="a", instructions="sys", model=model, tools=[look])
        whole = await agents.Runner.run(agent, "tools")
        stream = agents.Runner.run_streamed(agent, "tools")
        async for _ in stream.stream_events():
            pass
        for output in (whole.final_output, stream.final_output):
            assert output.startswith("sys: "), output
            assert " for call_" in output, output
asyncio.run(main())
"""


def replaced_rule(path: str) -> str:
    """A rule that serves what `with_model_text` makes of a stream with tool calls."""
    body = {"model": "m", "messages": [], "input": "x", "stream": True}
    draw = Draw(seed=1, digest="0" * 64, occurrence=0)
    reply = Reply.tools([("look", {"at": 1})], content="first")
    stream = with_model_text(reply.response(ChatRequest(body=body, path=path), draw).body, "replaced text")
    return (
        f"Rule(name={path!r}, when=lambda r: r.path == {path!r} and r.contains('other text'), "
        f"replies=Reply.raw({stream!r}, content_type='text/event-stream')),"
    )


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningEndpoint]:
    pytest.importorskip("uvicorn", reason="needs the extra 'testing'")
    path = tmp_path_factory.mktemp("sdks") / "script.py"
    replaced = "".join(map(replaced_rule, ("/v1/chat/completions", "/v1/responses", "/v1/messages")))
    path.write_text(SCRIPT.replace("SCRIPT_OF_REPLACED", f"replaced = [{replaced}]"), encoding="utf-8")
    with running_endpoint(path, seed=5) as endpoint:
        yield endpoint


@pytest.mark.parametrize(
    ("stand", "program"),
    [
        pytest.param(stand, program, id=f"{stand}-{name}")
        for stand in ("openai2", "openai3")
        for name, program in (("chat", CHAT), ("responses", RESPONSES), ("messages", MESSAGES), ("agents", AGENTS))
        if (stand, name) != ("openai2", "agents")
    ],
)
def test_an_sdk_reads_the_answers(endpoint: RunningEndpoint, stand: str, program: str) -> None:
    """Issue 4: every format that the frameworks speak, at once and in streams."""
    python = ROOT / f".venv-{stand}" / "bin" / "python"
    if not python.exists():
        pytest.skip(f"needs .venv-{stand}: make stands")
    environment = {**os.environ, "NO_PROXY": "127.0.0.1", "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(
        [python, "-c", program, endpoint.root],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr[-3000:]
