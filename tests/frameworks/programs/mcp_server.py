"""A tool server: `python mcp_server.py TRANSPORT [PORT]`. Each run of a tool appends a line to TOOL_LOG."""

import asyncio
import os
import random
import sys

LOG = os.environ["TOOL_LOG"]


def note(line):
    with open(LOG, "a", encoding="utf-8") as file:
        file.write(line + "\n")


note("server started")  # before what takes long, since a program may end soon

try:
    from mcp.server.mcpserver import MCPServer as Server
except ImportError:
    from mcp.server.fastmcp import FastMCP as Server
from mcp.types import ToolAnnotations


def hints(**said):
    names = {"read_only": "readOnlyHint", "destructive": "destructiveHint", "idempotent": "idempotentHint"}
    return ToolAnnotations.model_validate({names[name]: value for name, value in said.items()})


transport, port = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 0
try:
    server = Server("lamps", port=port) if port else Server("lamps")
    options = {}
except TypeError:
    server = Server("lamps")
    options = {"port": port}


@server.tool(annotations=hints(read_only=True))
def look(name: str) -> str:
    """Looks at a lamp."""
    note(f"look {name}")
    return f"{name} is {'on' if os.path.exists(LOG) else 'off'} by {os.getpid()}"


@server.tool(annotations=hints(read_only=False, idempotent=True))
def switch(name: str, on: bool) -> dict:
    """Switches a lamp."""
    note(f"switch {name}")
    return {"name": name, "on": on, "by": os.getpid()}


@server.tool(annotations=hints(read_only=True))
async def roll(name: str) -> str:
    """Rolls a die, which takes a while."""
    note(f"roll {name}")
    await asyncio.sleep(random.random() * 0.05)
    return f"{name} shows {random.randrange(10**6)}"


@server.tool(annotations=hints(read_only=True))
async def wait(name: str) -> str:
    """Takes too long."""
    note(f"wait {name}")
    await asyncio.sleep(30)
    return name


@server.tool()
def broken(name: str) -> str:
    """Fails."""
    note(f"broken {name}")
    raise ValueError(f"no lamp {name} by {os.getpid()}")


server.run(transport, **(options if transport != "stdio" else {}))
