"""Attacks on the token: a service that sends requests, and git, somewhere else.

Real commands with ``-vv`` ask it; the token must be in no request to another server, no
output, no file and no argument of any process.
"""

import asyncio
import os
import sys
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from tests.security.proof import Row
from tests.support.git_http import asking_server, redirecting_proxy, redirecting_server
from tests.support.service import EmbeddedService, embedded_service

COMMANDS = {
    "export": "export {url} --project docs/book -o out",
    "export as Markdown": "export {url} --group docs -o out2",
    "clone": "clone {url} cloned --project docs/book",
    "status": "status -C cloned",
    "sync": "sync -C cloned",
    "diff": "diff -C cloned",
    "doctor": "doctor -C cloned",
    "check": "check cloned",
    "build": "build cloned --publish",
    "init": "init made --url {url} --project docs/book --yes",
    "page list": "page list {url} --project docs/book",
    "page get": "page get {url} home --project docs/book",
    "project list": "project list {url}",
    "project show": "project show {url} docs/book",
}
PICTURE = "uploads/" + "ab" * 16 + "/p.png"
SOUND = "sound"
"""The service without anybody in between."""
COMMAND_S = 60.0


async def tokens(root: Path) -> Row:
    """Every command against a sound service and four that redirect."""
    row = Row("commands with -vv and a redirecting service", COMMAND_S)
    sent: list[str] = []
    async with embedded_service(root) as service, asking_server(sent) as other:
        await service.add_project("docs/book", {"home": f"![x]({PICTURE})"})
        await service.add_group("docs", {"home": "x"})
        async with _ways(service, other) as ways:
            for way, url in ways.items():
                place = root / way
                place.mkdir()
                for name, words in COMMANDS.items():
                    what = f"{name}, {way}"
                    await _run(row, what, words.format(url=url), place, service.token)
                    seen = [one for one in sent if one]
                    row.through += [f"{what}: sent elsewhere {one}" for one in seen]
                    sent.clear()
    return row


@asynccontextmanager
async def _ways(
    service: EmbeddedService, other: str
) -> AsyncIterator[Mapping[str, str]]:
    async with (
        redirecting_server(other) as all_of_it,
        redirecting_server(other.replace("127.0.0.1", "localhost")) as to_a_name,
        redirecting_proxy(service.url) as git,
        redirecting_proxy(service.url) as login,
    ):
        git.goal = login.goal = other
        login.only_with_login = True
        yield {
            SOUND: service.url,
            "all-redirected": all_of_it,
            "redirected-to-a-name": to_a_name,
            "git-redirected": git.url,
            "git-redirected-with-login": login.url,
        }


async def _run(row: Row, what: str, words: str, place: Path, token: str) -> None:
    environment = {
        **os.environ,
        "WIKISYNC_TOKEN": token,
        "XDG_CACHE_HOME": str(place / "cache"),
        "HOME": str(place),
    }
    command = [str(Path(sys.executable).with_name("wikisync")), "-vv", *words.split()]
    began = time.monotonic()
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=place,
        env=environment,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    arguments: set[str] = set()
    async with asyncio.TaskGroup() as group:
        looking = group.create_task(_look_at_arguments(token, arguments))
        try:
            async with asyncio.timeout(2 * COMMAND_S):
                output, _ = await process.communicate()
        except TimeoutError:
            process.kill()
            output = b""
        looking.cancel()
    took = time.monotonic() - began
    secret = token.encode()
    leaks = [
        *(["in its output"] if secret in output else []),
        *(["with a traceback"] if b"Traceback" in output else []),
        *(f"in the arguments {one}" for one in arguments),
        *(f"in {path}" for path in _files_with(place, secret)),
    ]
    # a command that fails where nothing is wrong shows nothing
    if place.name == SOUND and process.returncode not in {0, 3}:
        leaks.append(f"ended with {process.returncode}")
    row.note(f"{what}: {leaks}", took, is_held=not leaks)


async def _look_at_arguments(token: str, found: set[str]) -> None:
    """Read the arguments of all processes again and again."""
    while Path("/proc/self").exists():
        for place in Path("/proc").glob("[0-9]*/cmdline"):
            with suppress(OSError):
                line = place.read_bytes()
                if token.encode() in line:
                    found.add(repr(line))
        await asyncio.sleep(0.05)


def _files_with(place: Path, secret: bytes) -> list[Path]:
    return [
        path
        for path in place.rglob("*")
        if path.is_file() and not path.is_symlink() and secret in path.read_bytes()
    ]
