"""The plain SDKs and LiteLLM, no framework: `python cities_plain.py SDK_MODE`.

SDK is `chat`, `responses`, `messages` (anthropic) or `litellm`. The endpoint is ANCHORED_TEST_URL, tools append a line
to TOOL_LOG, the last line of output is the result. An answer is shown with the end of its id, so that two equal ones
cannot be mistaken for each other.
"""

import asyncio
import json
import os
import random
import sys
import time
from concurrent.futures import ThreadPoolExecutor

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

import anchored

SDK, _, MODE = sys.argv[1].partition("_")
URL = os.environ["ANCHORED_TEST_URL"]
CHANGE = " Be brief." if os.environ.get("ANCHORED_TEST_CHANGE") == "prompt" else ""
SHORT = 0.3
"""Seconds after which a call is given up, and made again by the SDK."""
PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
CHAT_TOOL = {"type": "function", "function": {"name": "weather", "parameters": PARAMETERS}}
REPORT = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "degrees": {"type": "integer"}},
    "required": ["city", "degrees"],
    "additionalProperties": False,
}


def shown(text, answer):
    return f"{text} #{answer.id[-6:]}"


def log(line):
    with open(os.environ["TOOL_LOG"], "a", encoding="utf-8") as file:
        file.write(line + "\n")


@anchored.tool(effect="read")
def weather(city):
    log("weather")
    time.sleep(random.random() * 0.05)
    return f"{city} has {random.randrange(10**6)} degrees"


@anchored.tool(effect="read")
async def weather_async(city):
    log("weather")
    await asyncio.sleep(random.random() * 0.05)
    return f"{city} has {random.randrange(10**6)} degrees"


@anchored.tool(effect="none")
def broken(text):
    log("broken")
    raise ValueError(f"{text} broke into {random.randrange(10**6)} pieces")


class Chat:
    """OpenAI chat completions, by the SDK or by LiteLLM."""

    def __init__(self):
        if SDK == "litellm":
            import litellm

            litellm.suppress_debug_info = True
            more = {"api_base": URL, "api_key": "none", "num_retries": 12, "max_retries": 12}
            self.sync = lambda **body: litellm.completion(**more, **body)
            self.later = lambda **body: litellm.acompletion(**more, **body)
        else:
            import openai

            sync = openai.OpenAI(base_url=URL, api_key="none", max_retries=12)
            later = openai.AsyncOpenAI(base_url=URL, api_key="none", max_retries=12)
            self.sync, self.later = sync.chat.completions.create, later.chat.completions.create
        self.model = "openai/scripted-1" if SDK == "litellm" else "scripted-1"

    def body(self, history, tools):
        messages = [{"role": "system", "content": "You report." + CHANGE}, *history]
        return {"model": self.model, "messages": messages, **({"tools": [CHAT_TOOL]} if tools else {})}

    def read(self, answer):
        message = answer.choices[0].message
        calls = [(c.id, json.loads(c.function.arguments)) for c in message.tool_calls or ()]
        return shown(message.content, answer), calls, [message.model_dump(exclude_none=True)]

    def answered(self, results):
        return [{"role": "tool", "tool_call_id": call, "content": text} for call, text in results]

    def structured(self):
        form = {"type": "json_schema", "json_schema": {"name": "report", "schema": REPORT, "strict": True}}
        return self.sync(**self.body([{"role": "user", "content": "A report."}], False), response_format=form)

    def text_of(self, part):
        return part.choices[0].delta.content or "" if part.choices else ""


class Responses:
    def __init__(self):
        import openai

        self.sync = openai.OpenAI(base_url=URL, api_key="none", max_retries=12).responses.create
        self.later = openai.AsyncOpenAI(base_url=URL, api_key="none", max_retries=12).responses.create

    def body(self, history, tools):
        tool = {"type": "function", "name": "weather", "parameters": PARAMETERS, "strict": False}
        more = {"tools": [tool]} if tools else {}
        return {"model": "scripted-1", "instructions": "You report." + CHANGE, "input": history, **more}

    def read(self, answer):
        calls = [(c.call_id, json.loads(c.arguments)) for c in answer.output if c.type == "function_call"]
        return shown(answer.output_text, answer), calls, [item.model_dump(exclude_none=True) for item in answer.output]

    def answered(self, results):
        return [{"type": "function_call_output", "call_id": call, "output": text} for call, text in results]

    def structured(self):
        form = {"format": {"type": "json_schema", "name": "report", "schema": REPORT, "strict": True}}
        return self.sync(**self.body([{"role": "user", "content": "A report."}], False), text=form)

    def text_of(self, part):
        return part.delta if part.type == "response.output_text.delta" else ""


class Messages:
    def __init__(self):
        import anthropic

        settings = {"base_url": URL.removesuffix("/v1"), "api_key": "none", "max_retries": 12}
        self.sync = anthropic.Anthropic(**settings).messages.create
        self.later = anthropic.AsyncAnthropic(**settings).messages.create

    def body(self, history, tools):
        more = {"tools": [{"name": "weather", "input_schema": PARAMETERS}]} if tools else {}
        return {"model": "scripted-1", "max_tokens": 99, "system": "You report." + CHANGE, "messages": history, **more}

    def read(self, answer):
        calls = [(block.id, block.input) for block in answer.content if block.type == "tool_use"]
        text = "".join(block.text for block in answer.content if block.type == "text")
        content = [block.model_dump(exclude_none=True) for block in answer.content]
        return shown(text, answer), calls, [{"role": "assistant", "content": content}]

    def answered(self, results):
        blocks = [{"type": "tool_result", "tool_use_id": call, "content": text} for call, text in results]
        return [{"role": "user", "content": blocks}]

    def structured(self):
        return self.sync(**self.body([{"role": "user", "content": "A report."}], False))

    def text_of(self, part):
        return part.delta.text if part.type == "content_block_delta" else ""


api = {"chat": Chat, "litellm": Chat, "responses": Responses, "messages": Messages}[SDK]()


def turns(question, tools=True, run=weather, **options):
    """Asks until no tool is called; tools run in a pool."""
    history = [{"role": "user", "content": question}]
    while True:
        text, calls, said = api.read(api.sync(**api.body(history, tools), **options))
        if not calls:
            return text
        with ThreadPoolExecutor() as pool:
            results = pool.map(lambda call: (call[0], run(**call[1])), calls)
            history += said + api.answered(results)


async def turns_async(question, tools=True, **options):
    history = [{"role": "user", "content": question}]
    while True:
        text, calls, said = api.read(await api.later(**api.body(history, tools), **options))
        if not calls:
            return text
        values = await asyncio.gather(*(weather_async(**call[1]) for call in calls))
        history += said + api.answered(zip([call[0] for call in calls], values, strict=True))


async def at_once(question, count, tools):
    """Asks the same several times; what comes first is left to chance, and told to the model at the end."""
    came = []

    async def one():
        await asyncio.sleep(random.random() * 0.03)
        came.append(await turns_async(question, tools))

    await asyncio.gather(*(one() for _ in range(count)))
    return await turns_async("They said: " + " / ".join(came), False)


def in_threads(question, count):
    def one(_):
        time.sleep(random.random() * 0.03)
        return turns(question, False)

    with ThreadPoolExecutor(count) as pool:
        return " / ".join(pool.map(one, range(count)))


def stream(question):
    body = api.body([{"role": "user", "content": question}], False)
    return "+".join(api.text_of(part) for part in api.sync(**body, stream=True))


async def stream_async(question):
    body = api.body([{"role": "user", "content": question}], False)
    return "+".join([api.text_of(part) async for part in await api.later(**body, stream=True)])


def tool_error():
    answer = turns("Hello.", False)
    try:
        broken("glass")
    except ValueError as error:
        answer = turns(str(error), False)
    return answer


def main():
    match MODE:
        case "single":
            return turns("How is the weather in Oslo?")
        case "parallel":
            return turns("How is the weather in Oslo, Rome, Lima and Cairo?")
        case "async":
            return asyncio.run(turns_async("How is the weather in Oslo, Rome, Lima and Cairo?"))
        case "nested":
            outer = anchored.tool(effect="none")(lambda city: turns(f"How is the weather in {city}?"))
            return turns("How is the weather in Oslo and Rome?", run=outer)
        case "stream":
            return stream("Hello.")
        case "stream_async":
            return asyncio.run(stream_async("Hello."))
        case "error":
            return turns("This is flaky.", False)
        case "down":
            return turns("Are you down?", False)
        case "timeout":
            return turns("Are you silent?", False, timeout=SHORT)
        case "timeout_async":
            return asyncio.run(turns_async("Are you silent?", False, timeout=SHORT))
        case "tool_error":
            return tool_error()
        case "structured":
            return api.read(api.structured())[0]
        case "gather":
            return asyncio.run(at_once("Roll a die.", 5, False))
        case "gather_parallel":
            return asyncio.run(at_once("How is the weather in Oslo and Rome?", 3, True))
        case "threads":
            return in_threads("Roll a die.", 5)


print(main())
