"""A program that calls a tool server and asks a model: `python mcp_clients.py MODE`, stdio or http.

The endpoint is at ANCHORED_TEST_URL; the server's port, for http, in MCP_PORT.
"""

import asyncio
import os
import sys
from contextlib import AsyncExitStack
from pathlib import Path

import httpx
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from anchored.boundary import ToolCall, current_gate

URL = os.environ["ANCHORED_TEST_URL"] + "/chat/completions"
SERVER = str(Path(__file__).with_name("mcp_server.py"))


async def ask(client, text):
    body = {"model": "scripted-1", "messages": [{"role": "user", "content": text}]}
    done = await client.post(URL, json=body)
    return done.json()["choices"][0]["message"]["content"]


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


async def main(mode):
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(httpx.AsyncClient())
        streams = await stack.enter_async_context(transport(mode))
        session = await stack.enter_async_context(ClientSession(*streams[:2]))
        await session.initialize()
        tools = (await session.list_tools()).tools
        print([tool.name for tool in tools])
        first = await ask(client, "which of " + ", ".join(tool.name for tool in tools))
        looked = shown(await session.call_tool("look", {"name": "the lamp"}))
        print(looked)
        print(await ask(client, f"{first} {looked}"))
        print(shown(await session.call_tool("switch", {"name": "the lamp", "on": True})))
        print(shown(await session.call_tool("broken", {"name": "that lamp"})))
        print(await by_framework(session, {"name": "lamp 0"}))
        both = await asyncio.gather(*(session.call_tool("look", {"name": f"lamp {number}"}) for number in (1, 2)))
        print(*map(shown, both))
        print(await ask(client, " ".join(map(shown, both))))


asyncio.run(main(sys.argv[1]))
