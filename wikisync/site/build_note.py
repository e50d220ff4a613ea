"""What a build remembers of its output, so that the next one does no more.

It is kept in the cache (``cache``); without it everything is made anew.
"""

from __future__ import annotations

import hashlib

import msgspec

from wikisync.decoding import msgpack_decoder
from wikisync.model import Problem
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


_NOTES = msgpack_decoder(BuildNote)
NO_NOTE = BuildNote(b"", {}, {}, 0, (), ())


def decoded_note(value: bytes | None) -> BuildNote:
    """The note of the last build; an empty one where none can be read."""
    if value is None:
        return NO_NOTE
    try:
        return _NOTES.decode(value)
    except msgspec.DecodeError:
        return NO_NOTE


def hash_of(*values: object) -> bytes:
    """A hash of what something is made from, by its ``repr``."""
    return hashlib.sha256(repr(values).encode("utf-8", "surrogatepass")).digest()
