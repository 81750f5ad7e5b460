"""The ways in which HTTP clients are used: `python http_clients.py CLIENT MODE[,MODE…]`.

CLIENT is `httpx`, `httpx2`, `aiohttp`, `requests`, `urllib3`, `urllib` or `http.client`. The endpoint's URL is in
ANCHORED_TEST_URL, with `/v1`. What the program got, byte by byte, is printed; the last line is the answer to a question
that is asked after it, and the digest of all that was printed. REDIRECT_URL answers with a redirect to the endpoint, if
it is set.
"""

import asyncio
import hashlib
import http.client
import importlib
import json
import os
import random
import sys
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

URL = os.environ["ANCHORED_TEST_URL"] + "/chat/completions"
NOWHERE = "http://127.0.0.1:1/v1/chat/completions"
REDIRECTS = False if "REDIRECT_URL" not in os.environ else None
CHANGE = " now" if os.environ.get("ANCHORED_TEST_CHANGE") == "prompt" else ""
EARLY = 3
"""Parts of a stream that are read before it is closed."""


def body_of(text, stream=False):
    body = {"model": "scripted-1", "messages": [{"role": "user", "content": text + CHANGE}]}
    return json.dumps({**body, "stream": True} if stream else body).encode()


HEADERS = {"content-type": "application/json", "accept-encoding": "gzip"}


PLAIN = {"content-type": "application/json"}


TOLD = []


def told(*parts):
    """Prints what the program got; of bytes their number and digest."""
    line = " ".join(f"{len(p)} {hashlib.sha256(p).hexdigest()[:12]}" if isinstance(p, bytes) else str(p) for p in parts)
    TOLD.append(line)
    print(line)


def end(answer):
    print(answer, hashlib.sha256("\n".join(TOLD).encode()).hexdigest()[:12])


def failed(error):
    """Prints an exception and all that it holds."""
    seen = []
    while error is not None and len(seen) < 5:
        seen.append(f"{type(error).__module__}.{type(error).__name__}: {error} {getattr(error, 'errno', '')}")
        error = error.args[-1] if error.args and isinstance(error.args[-1], Exception) else None
    told(*(line.partition(" at 0x")[0] for line in seen))


def answer_of(data):
    """The text, and the end of the answer's id, so that two equal texts cannot be mistaken for each other."""
    answer = json.loads(data)
    return answer["choices"][0]["message"]["content"] + " #" + answer["id"][-6:]


RACING = ["racing", "racing", "racing", "racing one", "racing two", "racing three"]


class Httpx:
    """`httpx` or `httpx2`, which takes its place."""

    def __init__(self, library):
        self.library = importlib.import_module(library)
        self.client = self.library.Client(timeout=20, follow_redirects=True)

    def whole(self, text, url=URL, timeout=20):
        done = self.client.post(url, content=body_of(text), headers=HEADERS, timeout=timeout)
        return done.status_code, done.content

    def parts(self, text, stream=True):
        with self.client.stream("POST", URL, content=body_of(text, stream), headers=HEADERS) as done:
            yield from done.iter_lines() if stream else done.iter_bytes(64)

    def ask(self, text):
        return answer_of(self.whole(text)[1])

    def do_async(self):
        asyncio.run(self._async(self._race))

    def do_async_streamed(self):
        asyncio.run(self._async(self._streamed))

    def do_async_timeout(self):
        asyncio.run(self._async(self._timeout))

    async def _async(self, way):
        async with self.library.AsyncClient(timeout=20) as session:
            await way(session)

    async def _ask(self, session, text):
        return answer_of((await session.post(URL, content=body_of(text), headers=HEADERS)).content)

    async def _race(self, session):
        await race(lambda text: self._ask(session, text))

    async def _streamed(self, session):
        """Two streams at once, one of which is left early."""

        async def one(text, most):
            got = []
            async with session.stream("POST", URL, content=body_of(text, True), headers=HEADERS) as done:
                async for part in done.aiter_lines():
                    got.append(part)
                    if len(got) == most:
                        break
            return "\n".join(got).encode()

        told(*await asyncio.gather(one("streamed", -1), one("early", EARLY), one("streamed", -1)))

    async def _timeout(self, session):
        try:
            await asyncio.wait_for(self._ask(session, "timeout"), 0.3)
        except TimeoutError as error:
            failed(error)
        try:
            await session.post(URL, content=body_of("timeout"), headers=HEADERS, timeout=0.3)
        except self.library.TimeoutException as error:
            failed(error)


async def race(ask):
    """Asks at once, by chance one before another; what came first is told, and asked about."""
    came = []

    async def one(text):
        await asyncio.sleep(random.random() * 0.03)
        came.append(await ask(text))

    await asyncio.gather(*map(one, RACING))
    told(*came)
    told(await ask("between " + " ".join(came)))


class Requests:
    def __init__(self):
        import requests

        self.requests = requests
        self.session = requests.Session()

    def whole(self, text, url=URL, timeout=20):
        done = self.session.post(url, data=body_of(text), headers=HEADERS, timeout=timeout)
        return done.status_code, done.content

    def parts(self, text, stream=True):
        done = self.session.post(URL, data=body_of(text, stream), headers=HEADERS, stream=True, timeout=20)
        with done:
            yield from done.iter_lines(chunk_size=1 if stream else 64)

    def ask(self, text):
        return answer_of(self.requests.post(URL, data=body_of(text), headers=HEADERS, timeout=20).content)


class Urllib3:
    def __init__(self):
        import urllib3

        self.urllib3 = urllib3
        self.pool = urllib3.PoolManager(maxsize=10, retries=False)

    def whole(self, text, url=URL, timeout=20):
        done = self.pool.request("POST", url, body=body_of(text), headers=HEADERS, timeout=timeout, retries=REDIRECTS)
        return done.status, done.data

    def parts(self, text, stream=True):
        done = self.pool.request("POST", URL, body=body_of(text, stream), headers=HEADERS, preload_content=False)
        try:
            yield from done.stream(64)
        finally:
            done.close()

    def ask(self, text):
        return answer_of(self.whole(text)[1])

    def do_retried(self):
        """The library's own retries."""
        often = self.urllib3.Retry(
            total=20, status_forcelist=[429], allowed_methods=None, respect_retry_after_header=False
        )
        done = self.pool.request("POST", URL, body=body_of("retried"), headers=HEADERS, retries=often)
        told(done.status, done.data, len(done.retries.history))

    def do_refused(self):
        often = self.urllib3.Retry(total=2)
        try:
            self.pool.request("POST", NOWHERE, body=body_of("refused"), headers=HEADERS, retries=often)
        except self.urllib3.exceptions.MaxRetryError as error:
            failed(error)


class Urllib:
    """`urllib.request`."""

    def open(self, text, url=URL, timeout=20, stream=False):
        asked = urllib.request.Request(url, data=body_of(text, stream), headers=PLAIN)
        return urllib.request.urlopen(asked, timeout=timeout)

    def whole(self, text, url=URL, timeout=20):
        try:
            with self.open(text, url, timeout) as done:
                return done.status, done.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()

    def parts(self, text, stream=True):
        with self.open(text, stream=stream) as done:
            if stream:
                yield from done
            while part := done.read(64):
                yield part

    def ask(self, text):
        return answer_of(self.whole(text)[1])


class HttpClient(Urllib):
    """`http.client`, one connection for each request."""

    def whole(self, text, url=URL, timeout=20):
        parts = urlsplit(url)
        connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=timeout)
        try:
            connection.request("POST", parts.path, body_of(text), PLAIN)
            done = connection.getresponse()
            return done.status, done.read()
        finally:
            connection.close()


def run(client, mode):
    if hasattr(client, f"do_{mode}"):
        getattr(client, f"do_{mode}")()
    elif mode == "whole":
        told(*client.whole("whole"))
    elif mode == "streamed":
        for part in client.parts("streamed"):
            told(part)
    elif mode == "early":
        parts = client.parts("early")
        for _ in range(EARLY):
            told(next(parts))
        parts.close()
    elif mode == "between":
        for number, part in enumerate(client.parts("between")):
            told(part)
            if number == EARLY:
                told(client.ask("between the parts"))
    elif mode in ("cut", "cutstream"):
        try:
            if mode == "cut":
                told(*client.whole("cut"))
            else:
                for part in client.parts("cut"):
                    told(part)
        except Exception as error:
            failed(error)
    elif mode in ("refused", "timeout"):
        try:
            told(*client.whole(mode, NOWHERE if mode == "refused" else URL, 0.3))
        except Exception as error:
            failed(error)
    elif mode == "retried":
        for _ in range(20):
            status, data = client.whole("retried")
            told(status, data)
            if status == 200:
                break
    elif mode == "gzip":
        told(*client.whole("gzip"))
        told(b"".join(client.parts("gzip", stream=False)))
    elif mode == "redirect":
        told(*client.whole("redirect", os.environ["REDIRECT_URL"]))
    elif mode == "racing":

        def one(text):
            time.sleep(random.random() * 0.03)
            return client.ask(text)

        with ThreadPoolExecutor(len(RACING)) as pool:
            told(*pool.map(one, RACING))
    else:
        raise SystemExit(f"no mode {mode}")
    end(client.ask(f"the end of {mode}"))


async def whole(session, text, url=URL, **kwargs):
    async with session.post(url, data=body_of(text), headers=HEADERS, **kwargs) as done:
        return done.status, await done.read()


async def ask(session, text):
    return answer_of((await whole(session, text))[1])


async def run_aiohttp(mode):
    import aiohttp

    async with aiohttp.ClientSession() as session:
        if mode == "whole":
            told(*await whole(session, "whole"))
            async with session.post(URL, data=body_of("text"), headers=HEADERS) as done:
                told(await done.text(), (await done.json())["object"], done.headers["content-type"])
            done = await session.get(os.environ["ANCHORED_TEST_URL"] + "/models")
            told(done.status, done.reason, len(await done.content.readexactly(10)), done.content.at_eof())
            told(await done.content.read(7), await done.content.readany())
            done.close()
        elif mode in ("streamed", "cutstream", "between"):
            readers = {
                "lines": lambda content: content,
                "chunked": lambda content: content.iter_chunked(50),
                "any": lambda content: content.iter_any(),
                "chunks": lambda content: content.iter_chunks(),
            }
            for name, reader in readers.items():
                text = "cut off" if mode == "cutstream" else f"{mode} {name}"
                number, got = 0, b""
                try:
                    async with session.post(URL, data=body_of(text, True), headers=HEADERS) as done:
                        async for part in reader(done.content):
                            got += part if isinstance(part, bytes) else part[0]
                            number += 1
                            if mode == "between" and number == EARLY:
                                told(await ask(session, f"between {name}"))
                except aiohttp.ClientError as error:
                    failed(error)
                told(name, got)
        elif mode == "early":
            async with session.post(URL, data=body_of("early", True), headers=HEADERS) as done:
                for _ in range(EARLY):
                    told(await done.content.readline())
            done = await session.post(URL, data=body_of("released"), headers=HEADERS)
            done.release()
            told(done.status)
            done = await session.post(URL, data=body_of("dropped"), headers=HEADERS)
            told(done.status)
            del done
        elif mode == "cut":
            try:
                told(*await whole(session, "cut"))
            except aiohttp.ClientError as error:
                failed(error)
        elif mode == "refused":
            try:
                await whole(session, "refused", NOWHERE)
            except aiohttp.ClientConnectorError as error:
                failed(error)
                told(error.host, error.port, error.os_error.errno)
        elif mode == "timeout":
            limits = (
                aiohttp.ClientTimeout(sock_read=0.3),
                aiohttp.ClientTimeout(total=0.3),
            )
            for limit in limits:
                try:
                    await whole(session, "timeout", timeout=limit)
                except TimeoutError as error:
                    failed(error)
            try:
                await asyncio.wait_for(whole(session, "timeout"), 0.3)
            except TimeoutError as error:
                failed(error)
        elif mode == "retried":
            for _ in range(20):
                async with session.post(URL, data=body_of("retried"), headers=HEADERS, raise_for_status=False) as done:
                    told(done.status, await done.read())
                    try:
                        done.raise_for_status()
                    except aiohttp.ClientResponseError as error:
                        told(error.status, error.message)
                        continue
                    break
        elif mode == "gzip":
            told(*await whole(session, "gzip"))
            async with session.post(URL, data=body_of("gzip stream", True), headers=HEADERS) as done:
                async for part in done.content.iter_any():
                    told(len(part) > 0)
                    break
        elif mode == "redirect":
            told(*await whole(session, "redirect", os.environ["REDIRECT_URL"]))
        elif mode == "racing":
            await race(lambda text: ask(session, text))
        else:
            raise SystemExit(f"no mode {mode}")
        end(await ask(session, f"the end of {mode}"))


CLIENTS = {
    "httpx": lambda: Httpx("httpx"),
    "httpx2": lambda: Httpx("httpx2"),
    "requests": Requests,
    "urllib3": Urllib3,
    "urllib": Urllib,
    "http.client": HttpClient,
}
name, ways = sys.argv[1:]
for way in ways.split(","):
    if name == "aiohttp":
        asyncio.run(run_aiohttp(way))
    else:
        run(CLIENTS[name](), way)
