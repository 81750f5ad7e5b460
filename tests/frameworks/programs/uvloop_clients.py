"""What a program on uvloop does: `python uvloop_clients.py MODE`. The endpoint is at ANCHORED_TEST_URL."""

import asyncio
import os
import sys
from urllib.parse import urlsplit

import aiohttp
import httpx
import uvloop

URL = os.environ["ANCHORED_TEST_URL"] + "/chat/completions"
PLACE = urlsplit(URL)


def body_of(text):
    return {"model": "scripted-1", "messages": [{"role": "user", "content": text}]}


async def ask(client, text):
    return (await client.post(URL, json=body_of(text))).json()["choices"][0]["message"]["content"]


async def connect():
    _, writer = await asyncio.open_connection(PLACE.hostname, PLACE.port)
    writer.close()


async def look_up():
    await asyncio.get_running_loop().getaddrinfo("somewhere.invalid", 80)


async def start():
    child = await asyncio.create_subprocess_exec(sys.executable, "-I", "-c", "print('out')")
    await child.wait()


async def send():
    loop = asyncio.get_running_loop()
    transport, _ = await loop.create_datagram_endpoint(asyncio.DatagramProtocol, remote_addr=(PLACE.hostname, 9))
    transport.close()


OUTSIDE = {"connect": connect, "look_up": look_up, "start": start, "send": send}


async def main(mode):
    assert type(asyncio.get_running_loop()).__module__.startswith("uvloop")
    async with httpx.AsyncClient() as client, aiohttp.ClientSession() as session:
        print(await ask(client, "first"))
        if mode in OUTSIDE:
            try:
                await OUTSIDE[mode]()
            except OSError as error:
                print("refused", type(error).__name__)
        async with session.post(URL, json=body_of("of aiohttp")) as done:
            print((await done.json())["id"])
        print(*await asyncio.gather(*(ask(client, "racing") for _ in range(5))))


uvloop.run(main(sys.argv[1]))
