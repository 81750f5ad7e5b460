"""Calls that race, by a plain client: `python racing.py MODE`. Its last line is its result.

Which of them asks first is left to chance; where a result depends on which was answered first, that is the point of the
mode. A line goes to TOOL_LOG for each run of a tool.
"""

import asyncio
import os
import random
import sys
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait

from openai import AsyncOpenAI, OpenAI

import anchored

URL = os.environ["ANCHORED_TEST_URL"]
CHANGE = " Now." if os.environ.get("ANCHORED_TEST_CHANGE") == "prompt" else ""
client = AsyncOpenAI(base_url=URL, api_key="none", max_retries=0)
blocking = OpenAI(base_url=URL, api_key="none", max_retries=0)


def said(response: object) -> str:
    return f"{response.choices[0].message.content}/{response.id[-6:]}"


async def ask(text: str) -> str:
    messages = [{"role": "system", "content": "Answer." + CHANGE}, {"role": "user", "content": text}]
    return said(await client.chat.completions.create(model="scripted-1", messages=messages))


def ask_blocking(text: str) -> str:
    messages = [{"role": "system", "content": "Answer." + CHANGE}, {"role": "user", "content": text}]
    return said(blocking.chat.completions.create(model="scripted-1", messages=messages))


async def soon(text: str) -> str:
    await asyncio.sleep(random.uniform(0, 0.03))
    return await ask(text)


def log(name: str) -> None:
    with open(os.environ["TOOL_LOG"], "a") as file:
        file.write(name + "\n")


@anchored.tool(effect="read")
async def look(city: str) -> str:
    log(city)
    await asyncio.sleep(random.uniform(0, 0.03))
    return f"{city} {random.random()}"


async def different() -> object:
    return await asyncio.gather(*[soon(f"question {number}") for number in range(5)])


async def identical() -> object:
    return await asyncio.gather(*[soon("question") for _ in range(4)])


async def tools() -> object:
    found: list[str] = []

    async def one(city: str) -> None:
        await asyncio.sleep(random.uniform(0, 0.03))
        found.append(await look(city))

    await asyncio.gather(*[one(city) for city in ("Rome", "Oslo", "Rome", "Bern")])
    return [found, await ask(" and ".join(found))]


async def one_by_one() -> object:
    first = await ask("the first question")
    place = await look("Rome")
    return [first, place, await ask(f"after {place}")]


async def first_wins() -> object:
    tasks = [asyncio.create_task(soon(f"question {number}"), name=str(number)) for number in range(3)]
    done, pending = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in pending:
        task.cancel()
    await asyncio.gather(*pending, return_exceptions=True)
    winners = sorted(task.result() for task in done)
    return [winners, await ask(f"after {winners}")]


async def cancelled_before_the_wire() -> object:
    answered = asyncio.Event()

    async def early() -> str:
        answer = await ask("in time")
        answered.set()
        return answer

    async def late() -> str:
        await answered.wait()
        await asyncio.sleep(0.1)
        return await ask("too late")

    tasks = [asyncio.create_task(early()), asyncio.create_task(late())]
    done, pending = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    await asyncio.sleep(random.uniform(0, 0.02))
    for task in pending:
        task.cancel()
    await asyncio.gather(*pending, return_exceptions=True)
    return [sorted(task.result() for task in done), await ask("after")]


async def timed_out() -> object:
    try:
        return await asyncio.wait_for(ask("slow"), timeout=0.1)
    except TimeoutError:
        return ["timed out", await ask("after")]


async def in_turn(guard: asyncio.Lock | asyncio.Semaphore) -> object:
    async def one(number: int) -> str:
        await asyncio.sleep(random.uniform(0, 0.02))
        async with guard:
            return await ask(f"question {number}")

    return await asyncio.gather(*[one(number) for number in range(3)])


async def blocking_in_a_loop() -> object:
    async def one(number: int) -> str:
        await asyncio.sleep(random.uniform(0, 0.02))
        return ask_blocking(f"question {number}")

    return await asyncio.gather(*[one(number) for number in range(3)])


async def streams() -> object:
    async def one(number: int) -> str:
        await asyncio.sleep(random.uniform(0, 0.02))
        messages = [{"role": "user", "content": f"question {number}"}]
        stream = await client.chat.completions.create(model="scripted-1", messages=messages, stream=True)
        return "".join([chunk.choices[0].delta.content or "" async for chunk in stream if chunk.choices])

    return await asyncio.gather(*[one(number) for number in range(3)])


def pooled(workers: int, *, same: bool) -> object:
    def one(number: int) -> str:
        threading.Event().wait(random.uniform(0, 0.02))
        return ask_blocking("question" if same else f"question {number}")

    with ThreadPoolExecutor(workers) as pool:
        return [job.result() for job in [pool.submit(one, number) for number in range(4)]]


def shuffled_pool() -> object:
    """A pool of one, to which several threads submit."""
    answers: dict[int, str] = {}
    with ThreadPoolExecutor(1) as pool:

        def one(number: int) -> None:
            threading.Event().wait(random.uniform(0, 0.02))
            answers[number] = pool.submit(ask_blocking, f"question {number}").result()

        threads = [threading.Thread(target=one, args=(number,)) for number in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return sorted(answers.items())


def first_thread_wins() -> object:
    with ThreadPoolExecutor(3) as pool:
        jobs = [pool.submit(ask_blocking, f"after {number}") for number in (16, 2, 9)]
        done, _ = wait(jobs, return_when=FIRST_COMPLETED)
        first = [jobs.index(job) for job in done]
        return [sorted(first) if len(first) == 1 else "several", [job.result() for job in jobs]]


ASYNC: dict[str, Callable[[], Awaitable[object]]] = {
    "different": different,
    "identical": identical,
    "tools": tools,
    "one_by_one": one_by_one,
    "first_wins": first_wins,
    "cancelled_before_the_wire": cancelled_before_the_wire,
    "timed_out": timed_out,
    "semaphore": lambda: in_turn(asyncio.Semaphore(1)),
    "lock": lambda: in_turn(asyncio.Lock()),
    "blocking_in_a_loop": blocking_in_a_loop,
    "streams": streams,
}
BLOCKING: dict[str, Callable[[], object]] = {
    "threads": lambda: pooled(4, same=False),
    "identical_threads": lambda: pooled(4, same=True),
    "pool_of_one": shuffled_pool,
    "first_thread_wins": first_thread_wins,
}


def main() -> None:
    mode = sys.argv[1]
    result = asyncio.run(ASYNC[mode]()) if mode in ASYNC else BLOCKING[mode]()
    print(result)


if __name__ == "__main__":
    main()
