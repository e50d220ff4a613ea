"""The git executable as a child process: within a time, within a number, alone.

Only this module runs it, and only for git over HTTP; everything else here
reads and writes repositories by pygit2.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
import shutil
import tempfile
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from wikisync.processes import DEVNULL, PIPE, end_session, start_program_async
from wikisync.service.answers import PlainRefusal
from wikisync.service.places import NoPlace, Places
from wikisync.service.settings import KIB, GitService

log = logging.getLogger(__name__)

CHUNK_BYTES = 64 * KIB
COMPLAINT_BYTES_MAX = 2 * KIB
RETRY_AFTER_S = 10
_PROTOCOL = re.compile(r"version=[0-2]")
# what a repository or the account's own configuration says must not count
_CONFIG = (
    "safe.directory=*",
    "core.hooksPath=/dev/null",
    "gc.auto=0",
    "receive.autogc=false",
    "receive.fsckObjects=true",
    "transfer.hideRefs=refs/wikisync",
    "uploadpack.allowFilter=true",
    "pack.threads=1",
)

Sink = Callable[[bytes], Awaitable[None]]


class GitFailed(Exception):
    """Git did not do what it was asked for; the log says why."""


def find_git() -> str | None:
    """Where the executable is, if there is one."""
    return shutil.which("git")


class GitRunner:
    """Runs git, a few at a time."""

    def __init__(self, limits: GitService) -> None:
        self._limits = limits
        self._places = Places(
            limits.processes_max, limits.waiting_max, limits.waiting_s
        )

    async def run(
        self,
        words: Sequence[str],
        repository: Path,
        sink: Sink,
        *,
        is_stranger: bool = False,
        body: Path | None = None,
        protocol: str = "",
    ) -> None:
        """Run one command on a repository, its output to ``sink``.

        When cancelled, or over its time, the process and all it started are
        killed; git itself leaves each branch as it was or as it shall be.

        Args:
            words: the command, such as ``("upload-pack", "--stateless-rpc")``.
            repository: its folder.
            sink: takes the output in parts, as it comes.
            is_stranger: whether it is for somebody without a token.
            body: file for the command's standard input.
            protocol: the ``Git-Protocol`` header.

        Raises:
            PlainRefusal: 503 when too many run already.
            GitFailed: an error of git, or over the time.
        """
        try:
            async with self._places.taken(is_stranger=is_stranger):
                await self._run_in_time(words, repository, sink, body, protocol)
        except NoPlace:
            retry = {"Retry-After": str(RETRY_AFTER_S)}
            raise PlainRefusal(503, "too many git processes\n", retry) from None

    async def _run_in_time(
        self,
        words: Sequence[str],
        repository: Path,
        sink: Sink,
        body: Path | None,
        protocol: str,
    ) -> None:
        try:
            async with asyncio.timeout(self._limits.seconds_max):
                await self._run(words, repository, sink, body, protocol)
        except TimeoutError:
            log.warning("git %s of %s took too long", words[0], repository.name)
            raise GitFailed from None

    async def _run(
        self,
        words: Sequence[str],
        repository: Path,
        sink: Sink,
        body: Path | None,
        protocol: str,
    ) -> None:
        executable = find_git()
        if executable is None:
            raise GitFailed
        config = [*_CONFIG, f"receive.maxInputSize={self._limits.push_bytes_max}"]
        options = [part for value in config for part in ("-c", value)]
        with _input(body) as source, tempfile.TemporaryFile() as complaints:
            process = await start_program_async(
                [executable, *options, *words, "."],
                # not the service's own, which may be in another repository
                folder=repository,
                stdin=source,
                stdout=PIPE,
                stderr=complaints,
                environment=_environment(executable, protocol),
            )
            try:
                assert process.stdout is not None, "asked for a pipe"
                while chunk := await process.stdout.read(CHUNK_BYTES):
                    await sink(chunk)
                code = await process.wait()
            finally:
                if process.returncode is None:
                    await end_session(process)
            if code != 0:
                log.warning(
                    "git %s of %s ended with %d: %s",
                    words[0],
                    repository.name,
                    code,
                    _complaint(complaints),
                )
                raise GitFailed


@contextmanager
def _input(body: Path | None) -> Iterator[BinaryIO | int]:
    if body is None:
        yield DEVNULL
        return
    with body.open("rb") as source:
        yield source


def _environment(executable: str, protocol: str) -> dict[str, str]:
    environment = {
        "PATH": os.pathsep.join((str(Path(executable).parent), os.defpath)),
        "LC_ALL": "C",
        "HOME": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_TERMINAL_PROMPT": "0",
    }
    if _PROTOCOL.fullmatch(protocol):
        environment["GIT_PROTOCOL"] = protocol
    return environment


def _complaint(complaints: BinaryIO) -> str:
    complaints.seek(0)
    text = complaints.read(COMPLAINT_BYTES_MAX).decode("utf-8", "replace")
    return " ".join(text.split()) or "no reason given"
