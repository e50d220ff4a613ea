"""What a build remembers of its output, so that the next one does no more.

It is kept in the cache (``cache``); without it everything is made anew.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import msgspec

from wikisync.decoding import msgpack_decoder
from wikisync.model import Digest, Problem
from wikisync.site.cache import Cache
from wikisync.site.model import BrokenLink
from wikisync.site.output import FileState


class BuildNote(msgspec.Struct, frozen=True):
    """What a build remembers of its output for the next one."""

    inputs: bytes
    """Hash of everything that the site was made from."""
    states: dict[str, FileState]
    """Every file of the output as it was left."""
    keys: dict[str, bytes]
    """Output path to the hash of what the file was made from."""
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


_NOTES = msgpack_decoder(BuildNote)
NO_NOTE = BuildNote(b"", {}, {}, 0, (), ())


def build_note(store: Cache, output: Path) -> BuildNote:
    """The note of the last build to an output; an empty one where there is none."""
    value = store.state(store.key("build", output))
    if value is None:
        return NO_NOTE
    try:
        return _NOTES.decode(value)
    except msgspec.DecodeError:
        return NO_NOTE


def remember_build(store: Cache, output: Path, note: BuildNote) -> None:
    """Keep a note for the next build to an output."""
    store.note(store.key("build", output), msgspec.msgpack.encode(note))


def hash_of(*values: object) -> bytes:
    """A hash of what something is made from, by its ``repr``."""
    return hashlib.sha256(repr(values).encode("utf-8", "surrogatepass")).digest()
