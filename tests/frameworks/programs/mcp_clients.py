"""A program that calls a tool server and asks a model: `python mcp_clients.py TRANSPORT[_WAY]`.

TRANSPORT is `stdio` or `http`, WAY one of WAYS; without it the session is used in all simple ways. The endpoint is at
ANCHORED_TEST_URL; the server's port, for http, in MCP_PORT. The last line is an answer, and the digest of all before.
"""

import asyncio
import hashlib
import logging
import os
import random
import sys
from contextlib import AsyncExitStack
from datetime import timedelta
from importlib.metadata import version
from pathlib import Path

import httpx
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

import anchored
from anchored.boundary import ToolCall, current_gate

CHANGE = " Now." if os.environ.get("ANCHORED_TEST_CHANGE") == "prompt" else ""
logging.disable()  # of a late answer, the session tells or not, behind the last line
URL = os.environ["ANCHORED_TEST_URL"] + "/chat/completions"
SERVER = str(Path(__file__).with_name("mcp_server.py"))


async def ask(client, text):
    body = {"model": "scripted-1", "messages": [{"role": "user", "content": text + CHANGE}]}
    answer = (await client.post(URL, json=body)).json()
    return answer["choices"][0]["message"]["content"] + " #" + answer["id"][-6:]


def transport(mode):
    if mode == "stdio":
        environment = {**os.environ, "TOOL_LOG": os.environ["TOOL_LOG"]}
        return stdio_client(StdioServerParameters(command=sys.executable, args=[SERVER, "stdio"], env=environment))
    return streamable_http_client(f"http://127.0.0.1:{os.environ['MCP_PORT']}/mcp")


def shown(result):
    return result.model_dump_json(by_alias=True, exclude_none=True)


async def by_framework(session, arguments):
    """A framework's own tool call, known to the boundary, that reaches the server in a task of its own."""
    asked, gate = asyncio.Queue(), current_gate()

    async def serve():
        given, answer = await asked.get()
        answer.set_result(await session.call_tool("look", given))

    async def reach():
        answer = asyncio.get_running_loop().create_future()
        await asked.put((arguments, answer))
        return shown(await answer)

    task = asyncio.create_task(serve())
    try:
        if gate is None:
            return await reach()
        return await ToolCall(gate, actor="a framework", name="lamps_look", arguments=arguments).run_async(reach)
    finally:
        task.cancel()


SAID = []


def tell(*parts):
    SAID.append(" ".join(map(str, parts)))
    print(SAID[-1])


async def simple(session, client):
    tools = (await session.list_tools()).tools
    tell([tool.name for tool in tools])
    first = await ask(client, "which of " + ", ".join(tool.name for tool in tools))
    looked = shown(await session.call_tool("look", {"name": "the lamp"}))
    tell(looked)
    tell(await ask(client, f"{first} {looked}"))
    tell(shown(await session.call_tool("switch", {"name": "the lamp", "on": True})))
    tell(shown(await session.call_tool("broken", {"name": "that lamp"})))
    tell(await by_framework(session, {"name": "lamp 0"}))
    both = await asyncio.gather(*(session.call_tool("look", {"name": f"lamp {number}"}) for number in (1, 2)))
    tell(*map(shown, both))
    return await ask(client, " ".join(map(shown, both)))


async def parallel(session, client):
    """Tools and questions at once, equal ones among them; the order in which tools came is asked about.

    Not that of tools and questions: a client takes longer to hand out an answer than a session does.
    """
    came = []

    async def one(name):
        await asyncio.sleep(random.random() * 0.03)
        came.append(shown(await session.call_tool("roll", {"name": name})))

    async def question():
        await asyncio.sleep(random.random() * 0.03)
        return await ask(client, "racing")

    rolls = map(one, ("die", "die", "dice", "die"))
    *_, first, second = await asyncio.gather(*rolls, question(), question())
    tell(*came, first, second)
    return await ask(client, "They said " + " ".join(came))


async def nested(session, client):
    """A tool of the program that asks the server and the model."""

    @anchored.tool(effect="none")
    async def plan(name):
        looked = shown(await session.call_tool("look", {"name": name}))
        return await ask(client, f"{name} is {looked}")

    plans = await asyncio.gather(plan("lamp 1"), plan("lamp 2"))
    return await ask(client, " ".join(plans))


async def error(session, client):
    """A tool that fails, one that is not there, and one that takes too long."""
    tell(shown(await session.call_tool("broken", {"name": "that lamp"})))
    for name, limit in (("nothing", 20), ("wait", 0.5)):
        try:
            tell(shown(await session.call_tool(name, {"name": "die"}, read_timeout_seconds=seconds(limit))))
        except Exception as raised:
            tell(type(raised).__name__, raised)
    return await ask(client, SAID[-1])


def seconds(number):
    """As this version of the library wants it."""
    return timedelta(seconds=number) if version("mcp").startswith("1.") else number


WAYS = {"": simple, "parallel": parallel, "nested": nested, "error": error}


async def main(mode):
    kind, _, way = mode.partition("_")
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(httpx.AsyncClient())
        streams = await stack.enter_async_context(transport(kind))
        session = await stack.enter_async_context(ClientSession(*streams[:2]))
        await session.initialize()
        answer = await WAYS[way](session, client)
        print(answer, hashlib.sha256("\n".join(SAID).encode()).hexdigest()[:12])


asyncio.run(main(sys.argv[1]))
