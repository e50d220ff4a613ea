"""Commits in an answer of git's protocol: which commits each of them follows.

Pure.  An answer to a fetch is a few packets and then a pack (git's documented pack
version 2).  Libgit2 reads packs from files with an index alone, and cannot ask for
commits without their files, so the few commits are read here.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterator, Mapping

from msgspec import Struct

CONTENT_BYTES_MAX = 256 * 1024 * 1024
"""Of all objects of an answer, unpacked."""

SHORT_ID_BYTES = 20
"""An id of the common kind; the other one is longer."""

_COMMIT, _OFFSET_DELTA, _REFERENCE_DELTA = 1, 6, 7
_PACKET_LENGTH = 4
_PACK_HEADER = 12
_PIECE_BYTES = 4096
_COPY_ALL = 0x10000
"""A delta that copies no bytes by its word copies so many."""


class NotAPack(ValueError):
    """An answer that cannot be read as a pack."""


def follows(answer: bytes, commit: str, earlier: str) -> bool:
    """Whether a commit has an earlier one among those before it.

    Args:
        answer: To a fetch of ``commit`` by one who says to have ``earlier``: every
            commit that is not before that one.
        commit: In hexadecimal.
        earlier: In hexadecimal.

    Raises:
        NotAPack: the answer is something else.
    """
    parents = parents_in(answer, id_bytes=len(commit) // 2)
    seen, waiting = {commit}, [commit]
    while waiting:
        for parent in parents.get(waiting.pop(), ()):
            if parent == earlier:
                return True
            if parent not in seen:
                seen.add(parent)
                waiting.append(parent)
    return False


def parents_in(answer: bytes, *, id_bytes: int) -> Mapping[str, tuple[str, ...]]:
    """The commits of an answer, each with its parents.

    Args:
        answer: Packets, then a pack without offset deltas.
        id_bytes: How long an object's id is: 20, or 32.

    Raises:
        NotAPack: the answer is something else.
    """
    commits: dict[bytes, bytes] = {}
    deltas: list[tuple[bytes, bytes]] = []
    for entry in _entries(_pack_of(answer), id_bytes):
        if entry.kind == _COMMIT:
            commits[_id_of(entry.content, id_bytes)] = entry.content
        elif entry.kind == _REFERENCE_DELTA:
            deltas.append((entry.base, entry.content))
    # a delta may stand before what it was made of, and most are of files
    while ready := [one for one in deltas if one[0] in commits]:
        deltas = [one for one in deltas if one[0] not in commits]
        for base, delta in ready:
            content = _patched(commits[base], delta)
            commits[_id_of(content, id_bytes)] = content
    return {name.hex(): tuple(_parents(text)) for name, text in commits.items()}


class _Entry(Struct, frozen=True):
    kind: int
    base: bytes
    """The id of what a delta is to be applied to."""
    content: bytes


def _pack_of(answer: bytes) -> memoryview:
    """What follows the packets, in which the server says what both have."""
    at = 0
    while (head := bytes(answer[at : at + _PACKET_LENGTH])) != b"PACK":
        try:
            length = int(head, 16)
        except ValueError:
            raise NotAPack("no packet") from None
        said = bytes(answer[at + _PACKET_LENGTH : at + length])
        if length and not said.startswith((b"NAK", b"ACK ")):
            raise NotAPack(said.decode("utf-8", "replace"))
        at += max(length, _PACKET_LENGTH)
    return memoryview(answer)[at:]


def _entries(pack: memoryview, id_bytes: int) -> Iterator[_Entry]:
    """Every object of a pack, in order."""
    count, at = int.from_bytes(pack[8:_PACK_HEADER]), _PACK_HEADER
    room = CONTENT_BYTES_MAX
    for _ in range(count):
        kind = int.from_bytes(pack[at : at + 1]) >> 4 & 7
        _, at = _number(pack, at)
        base = b""
        if kind == _OFFSET_DELTA:
            raise NotAPack("an offset delta that nobody asked for")
        if kind == _REFERENCE_DELTA:
            base, at = bytes(pack[at : at + id_bytes]), at + id_bytes
        content, at = _inflated(pack, at)
        room -= len(content)
        if room < 0:
            raise NotAPack("too large")
        yield _Entry(kind, base, content)


def _inflated(pack: memoryview, at: int) -> tuple[bytes, int]:
    """An object's content, and where the next one begins."""
    unpacking, content = zlib.decompressobj(), bytearray()
    while not unpacking.eof:
        piece = pack[at : at + _PIECE_BYTES]
        if not piece or len(content) > CONTENT_BYTES_MAX:
            raise NotAPack("cut, or too large")
        try:
            content += unpacking.decompress(piece)
        except zlib.error as exc:
            raise NotAPack(str(exc)) from exc
        at += len(piece) - len(unpacking.unused_data)
    return bytes(content), at


def _id_of(commit: bytes, id_bytes: int) -> bytes:
    whole = b"commit %d\0%s" % (len(commit), commit)
    kind = "sha1" if id_bytes == SHORT_ID_BYTES else "sha256"
    return hashlib.new(kind, whole, usedforsecurity=False).digest()


def _parents(commit: bytes) -> Iterator[str]:
    for line in commit.partition(b"\n\n")[0].splitlines():
        if line.startswith(b"parent "):
            yield line[len(b"parent ") :].decode("ascii", "replace")


def _patched(base: bytes, delta: bytes) -> bytes:
    """What a delta makes of its base: parts of that, and what it brings itself."""
    _, at = _number(delta, 0)
    _, at = _number(delta, at)
    made = bytearray()
    while at < len(delta):
        word, at = delta[at], at + 1
        if not word & 0x80:
            made += delta[at : at + word]
            at += word
            continue
        place = size = 0
        for bit in range(7):
            if word >> bit & 1:
                if at >= len(delta):
                    raise NotAPack("a delta is cut")
                if bit < 4:
                    place |= delta[at] << 8 * bit
                else:
                    size |= delta[at] << 8 * (bit - 4)
                at += 1
        made += base[place : place + (size or _COPY_ALL)]
    return bytes(made)


def _number(content: bytes | memoryview, at: int) -> tuple[int, int]:
    """A number of seven bits a byte, and where it ends."""
    number = shift = 0
    for byte in content[at:]:
        number |= (byte & 0x7F) << shift
        shift, at = shift + 7, at + 1
        if not byte & 0x80:
            return number, at
    raise NotAPack("cut")
