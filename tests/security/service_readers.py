"""Attacks by reading: many strangers who ask for what is dear, and hang up."""

import asyncio

import aiohttp

from tests.security.connections import socket_to

SLOW_PAGE = "\n".join(
    [
        ".. |a0| replace:: x",
        *(f".. |a{at}| replace:: |a{at - 1}| |a{at - 1}|" for at in range(1, 26)),
        "\n|a25|\n",
    ]
)
"""A page of reStructuredText that takes longer than any deadline."""


async def ask_and_leave(url: str, path: str, count: int, stay_s: float = 0.2) -> None:
    """Ask for a path so many times at once; leave soon after the question is sent."""

    async def ask() -> None:
        async with socket_to(url) as (_reader, writer):
            writer.write(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
            await writer.drain()
            await asyncio.sleep(stay_s)

    async with asyncio.TaskGroup() as group:
        for _ in range(count):
            group.create_task(ask())


async def ask_and_read_a_little(url: str, path: str, size: int) -> int:
    """Ask for a path, read so many bytes of the answer, and leave.

    Returns:
        The bytes that were read.
    """
    got = 0
    async with socket_to(url) as (reader, writer):
        writer.write(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
        async with asyncio.timeout(60):
            while got < size and (part := await reader.read(65_536)):
                got += len(part)
    return got


async def seconds_of_a_write(url: str, page: str, token: str) -> tuple[int, float]:
    """Write a page; the status, and how long that took."""
    loop = asyncio.get_running_loop()
    async with aiohttp.ClientSession(headers={"PRIVATE-TOKEN": token}) as session:
        begin = loop.time()
        async with session.put(url + page, json={"content": f"{begin}"}) as answer:
            await answer.read()
            return answer.status, loop.time() - begin
