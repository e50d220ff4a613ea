"""What a build remembers of its output, so that the next one does no more.

It is kept in the cache (``cache``); without it everything is made anew.
"""

from __future__ import annotations

from itertools import count
from pathlib import Path

import msgspec
from msgspec.structs import replace

from wikisync.decoding import msgpack_decoder
from wikisync.model import Digest, Problem, digest_of
from wikisync.site.cache import Cache
from wikisync.site.file_table import FileState, FileTable
from wikisync.site.model import BrokenLink


class BuildNote(msgspec.Struct, frozen=True):
    """What a build remembers of its output for the next one."""

    inputs: bytes
    """Hash of everything that the site was made from."""
    pages: int
    problems: tuple[Problem, ...]
    broken_links: tuple[BrokenLink, ...]
    linked: tuple[tuple[int, str, str], ...] = ()
    """Loose files that pages link to: number of the wiki, path, and digest, which is
    empty for one that could not be read."""
    retry_at: float = 0.0
    """When the first page that went over a limit may be tried again; 0: there is
    no such page."""
    wikis: dict[str, Digest] = {}
    """Full path of each wiki's owner to the digest of its ``WikiNote``."""
    manifest: FileState | None = None
    """That of the output as it was left."""
    files: tuple[Digest, ...] = ()
    """Of the parts in which its other files are noted."""


_NOTES = msgpack_decoder(BuildNote)
_PARTS = msgpack_decoder(dict[str, bytes])
NO_NOTE = BuildNote(b"", 0, (), ())
PART_FILES = 4000
"""Noted in one row: what is written at once takes some copies of it in memory."""


def build_note(store: Cache, output: Path) -> BuildNote:
    """The note of the last build to an output; an empty one where there is none."""
    value = store.state(store.key("build", output))
    if value is None:
        return NO_NOTE
    try:
        return _NOTES.decode(value)
    except msgspec.DecodeError:
        return NO_NOTE


def noted_files(store: Cache, output: Path, note: BuildNote) -> FileTable:
    """The files of an output as a build left them; none where a part is lost."""
    packed: dict[str, bytes] = {}
    for number, digest in enumerate(note.files):
        value = store.state(_part_key(store, output, number))
        if value is None or digest_of(value) != digest:
            return FileTable()
        packed |= _PARTS.decode(value)
    return FileTable(packed, note.manifest)


def remember_build(
    store: Cache, output: Path, note: BuildNote, files: FileTable
) -> None:
    """Keep a note, and the files of the output, for the next build to it."""
    digests = []
    for number, part in enumerate(files.parts(PART_FILES)):
        value = msgspec.msgpack.encode(part)
        digests.append(digest_of(value))
        key = _part_key(store, output, number)
        if store.state(key) != value:
            store.note(key, value)
    for number in count(len(digests)):
        if not store.drop(_part_key(store, output, number)):
            break
    note = replace(note, files=tuple(digests), manifest=files.manifest)
    store.note(store.key("build", output), msgspec.msgpack.encode(note))


def _part_key(store: Cache, output: Path, number: int) -> bytes:
    return store.key("files", output, str(number))
