"""The git executable as a child process: within a time, within a number, alone."""

import asyncio
import logging
import os
import re
import shutil
import tempfile
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from msgspec import Struct

from wikisync.core.system import processes
from wikisync.service.answers import PlainRefusal
from wikisync.service.settings import KIB, GitService
from wikisync.service.slots import NoSlot, Slots

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
    # nothing is done with them, but git pushes none to who does not take them
    "receive.advertisePushOptions=true",
    "transfer.hideRefs=refs/wikisync",
    "uploadpack.allowFilter=true",
    "pack.threads=1",
    "http.followRedirects=false",
    # one file, whose size is limited
    "fetch.unpackLimit=1",
)

Sink = Callable[[bytes], Awaitable[None]]


class GitFailed(Exception):
    """Git did not do what it was asked for; the text says why, for the log."""


class GitInput(Struct, frozen=True):
    """What a command is given besides its words."""

    body: Path | None = None
    """File for its standard input."""
    offset: int = 0
    """Where in the file it begins."""
    protocol: str = ""
    """The ``Git-Protocol`` header."""
    objects: Path | None = None
    """Folder of objects instead of the repository's own."""
    are_added: bool = False
    """The folder's objects are there besides the repository's, for reading."""
    is_stranger: bool = False
    """Somebody without a token asks."""
    memory_bytes_max: int | None = None
    """Of the command, and of each that it starts."""
    file_bytes_max: int | None = None
    """Of each file that it writes."""
    header: str = ""
    """Of its requests to another server: the login."""


NOTHING = GitInput()


async def ignore(_chunk: bytes) -> None:
    """A sink for what is not read."""


class GitRunner:
    """Runs git, a few at a time."""

    def __init__(self, limits: GitService) -> None:
        self.limits = limits
        self._slots = Slots(limits.processes_max, limits.waiting_max, limits.waiting_s)
        self._was_missed = False

    def is_there(self) -> bool:
        """Whether there is git; that there is none is said once."""
        if shutil.which("git") is not None:
            return True
        if not self._was_missed:
            log.warning("nothing can be cloned: there is no git executable on the PATH")
        self._was_missed = True
        return False

    async def run(
        self,
        words: Sequence[str],
        repository: Path,
        sink: Sink,
        given: GitInput = NOTHING,
    ) -> None:
        """Run one command on a repository, its output to ``sink``.

        Cancelled, or over its time, it is killed with all it started.  PlainRefusal
        (503) when too many run already, GitFailed for all else.
        """
        try:
            async with (
                self._slots.taken(is_stranger=given.is_stranger),
                asyncio.timeout(self.limits.seconds_max),
            ):
                await self._run(words, repository, sink, given)
        except TimeoutError:
            log.warning("git %s of %s took too long", words[0], repository.name)
            raise GitFailed("it took too long") from None
        except NoSlot:
            retry = {"Retry-After": str(RETRY_AFTER_S)}
            raise PlainRefusal(503, "too many git processes\n", retry) from None

    async def _run(
        self, words: Sequence[str], repository: Path, sink: Sink, given: GitInput
    ) -> None:
        executable = shutil.which("git")
        if executable is None:
            raise GitFailed("there is no git")
        config = [*_CONFIG, f"receive.maxInputSize={self.limits.push_bytes_max}"]
        options = [part for value in config for part in ("-c", value)]
        command = [executable, *options, *words]
        command = processes.with_limits(
            command, memory=given.memory_bytes_max, file=given.file_bytes_max
        )
        with _input(given) as source, tempfile.TemporaryFile() as complaints:
            process = await processes.start_program_async(
                command,
                # not the service's own, which may be in another repository
                folder=repository,
                stdin=source,
                stdout=processes.PIPE,
                stderr=complaints,
                environment=_environment(executable, repository, given),
            )
            try:
                assert process.stdout is not None, "asked for a pipe"
                while chunk := await process.stdout.read(CHUNK_BYTES):
                    await sink(chunk)
                code = await process.wait()
            finally:
                if process.returncode is None:
                    await processes.end_session(process)
            if code != 0:
                complaints.seek(0)
                text = complaints.read(COMPLAINT_BYTES_MAX).decode("utf-8", "replace")
                why = " ".join(text.split()) or "no reason given"
                ended = words[0], repository.name, code, why
                log.warning("git %s of %s ended with %d: %s", *ended)
                raise GitFailed(why)


@contextmanager
def _input(given: GitInput) -> Iterator[IO[bytes] | int]:
    if given.body is None:
        yield processes.DEVNULL
        return
    # the command reads from where the descriptor is, so nothing may be read ahead
    with given.body.open("rb", buffering=0) as source:
        source.seek(given.offset)
        yield source


def _environment(executable: str, repository: Path, given: GitInput) -> dict[str, str]:
    environment = {
        "PATH": os.pathsep.join((str(Path(executable).parent), os.defpath)),
        "LC_ALL": "C",
        "HOME": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_TERMINAL_PROMPT": "0",
    }
    if _PROTOCOL.fullmatch(given.protocol):
        environment["GIT_PROTOCOL"] = given.protocol
    if given.header:
        # arguments of a process are seen by everyone on the machine
        environment["GIT_CONFIG_COUNT"] = "1"
        environment["GIT_CONFIG_KEY_0"] = "http.extraHeader"
        environment["GIT_CONFIG_VALUE_0"] = given.header
    if given.objects is not None:
        environment["GIT_OBJECT_DIRECTORY"] = str(given.objects.resolve())
    if given.are_added:
        own = str(repository.resolve() / "objects")
        environment["GIT_ALTERNATE_OBJECT_DIRECTORIES"] = own
    return environment
