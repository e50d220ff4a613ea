"""What a push brings, read and counted before git takes any of it.

Git unpacks the objects beside the repository, with little memory and time; only what
passes the limits of a wiki is given to its own ``receive-pack``.
"""

import asyncio
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct

from wikisync.service.committing import GitRefused
from wikisync.service.git_process import GitFailed, GitInput, GitRunner, ignore
from wikisync.service.repository import WikiRepository
from wikisync.service.settings import GitService
from wikisync.service.tree import TreeTooLarge

FLUSH = b"0000"
SIDE_BAND = "side-band-64k"
PUSH_OPTIONS = "push-options"
"""A part of its own behind the branches, which nobody here reads."""
REPORTS = frozenset({"report-status", "report-status-v2"})
_NO_OBJECT = "0" * 40
_LENGTH_CHARS = 4


class Push(Struct, frozen=True):
    """What a push asks for, before its objects."""

    tips: dict[str, str]
    """Full name of a branch or tag to the object it shall name, in hexadecimal."""
    abilities: frozenset[str]
    """What the sender understands."""
    pack_offset: int
    """Where the objects begin in the body."""
    object_count: int | None
    """How many there are, by their own word; None for a push without any."""

    def refusal(self, reason: str) -> bytes:
        """The report that git shows its user: each name, and why it is refused."""
        if not self.abilities & REPORTS:
            return b""
        text = " ".join(reason.split())
        lines = [b"unpack ok\n"]
        lines += [f"ng {name} {text}\n".encode() for name in self.tips]
        report = b"".join(_packet(line) for line in lines) + FLUSH
        has_bands = SIDE_BAND in self.abilities
        return _packet(b"\x01" + report) + FLUSH if has_bands else report


class PushRefused(Exception):
    """A push brings more than is taken; the text says what."""


def read_push(body: Path, limits: GitService) -> Push | None:
    """What the body of a push asks for; None for what only git can make sense of."""
    tips: dict[str, str] = {}
    abilities: frozenset[str] = frozenset()
    with body.open("rb") as file:
        while (packet := _read_packet(file)) != b"":
            if packet is None:
                return None
            line, _, words = packet.partition(b"\0")
            try:
                _old, new, name = line.decode().rstrip("\n").split(" ", 2)
            except ValueError:
                # a shallow clone says so first; of anything else git complains
                if line.startswith(b"shallow "):
                    continue
                return None
            tips[name] = new
            abilities |= frozenset(words.decode("utf-8", "replace").split())
            if len(tips) > limits.references_max:
                break
        if PUSH_OPTIONS in abilities and not _skip_part(file):
            return None
        offset = file.tell()
        header = file.read(12)
    count = int.from_bytes(header[8:12]) if header[:4] == b"PACK" else None
    return Push(tips, abilities, offset, count)


async def check_push(
    push: Push, body: Path, repository: WikiRepository, git: GitRunner, scratch: Path
) -> None:
    """Unpack a push in a scratch folder; PushRefused says what is too much."""
    limits = git.limits
    if len(push.tips) > limits.references_max:
        raise PushRefused(f"it names more than {limits.references_max} branches")
    if push.object_count is None:
        return
    if push.object_count > limits.objects_max:
        raise PushRefused(f"it has more than {limits.objects_max:,} objects")
    objects = scratch / "objects"
    pack = objects / "pack"
    await asyncio.to_thread(pack.mkdir, parents=True)
    options = ("--stdin", "--fix-thin", f"--max-input-size={limits.push_bytes_max}")
    given = GitInput(
        body,
        push.pack_offset,
        objects=objects,
        are_added=True,
        memory_bytes_max=limits.push_memory_bytes_max,
    )
    try:
        await git.run(("index-pack", *options), repository.path, ignore, given)
        listed = GitInput(objects=objects)
        await git.run(_SIZES, repository.path, _Count(limits), listed)
    except GitFailed as error:
        raise PushRefused(f"git cannot unpack it: {error}") from None
    tips = [bytes.fromhex(tip) for tip in push.tips.values() if tip != _NO_OBJECT]
    try:
        await asyncio.to_thread(repository.check_pushed, objects, tips)
    except (TreeTooLarge, GitRefused) as error:
        raise PushRefused(str(error)) from None


_SIZES = (
    "cat-file",
    "--batch-all-objects",
    "--unordered",
    "--batch-check=%(objecttype) %(objectsize)",
)


class _Count:
    """Adds up the sizes of files as git lists them: ``blob 1234``, a line each."""

    def __init__(self, limits: GitService) -> None:
        self._limits = limits
        self._rest = b""
        self._left = limits.files_bytes_max

    async def __call__(self, chunk: bytes) -> None:
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        limits = self._limits
        most = limits.file_bytes_max
        for line in lines:
            kind, _, size = line.partition(b" ")
            if int(size) > most:
                raise PushRefused(f"a file in it has more than {most:,} bytes")
            self._left -= int(size) if kind == b"blob" else 0
        if self._left < 0:
            every = limits.files_bytes_max
            raise PushRefused(f"its files have more than {every:,} bytes in all")


def _skip_part(file: BinaryIO) -> bool:
    """Read to the end of a part; False where there is none."""
    while (packet := _read_packet(file)) != b"":
        if packet is None:
            return False
    return True


def _packet(content: bytes) -> bytes:
    return b"%04x%s" % (len(content) + _LENGTH_CHARS, content)


def _read_packet(file: BinaryIO) -> bytes | None:
    """The next packet; empty for the end of a part, None for what is no packet."""
    try:
        length = int(file.read(_LENGTH_CHARS), 16)
    except ValueError:
        return None
    if length == 0:
        return b""
    if length <= _LENGTH_CHARS:
        return None
    content = file.read(length - _LENGTH_CHARS)
    return content if len(content) == length - _LENGTH_CHARS else None
