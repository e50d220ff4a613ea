"""What a build remembers of a wiki's pages, so that the next one looks up no more.

It is kept in the cache beside the build's own note (``build_note``), and only a build
that has something to do reads it.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from wikisync.decoding import msgpack_decoder
from wikisync.model import Digest, WikiOwner, digest_of
from wikisync.site.build_note import BuildNote
from wikisync.site.cache import PAGES, Cache
from wikisync.site.facts import IndexedPage


class WikiNote(msgspec.Struct, frozen=True, array_like=True):
    """What a build remembers of one wiki's pages, beside their files."""

    reading: bytes
    """What their facts depend on besides their files (``Indexer.reading_key``)."""
    table: bytes
    """What their links were resolved in (``Indexer.table_key``)."""
    frame: bytes
    """What they all show besides their own (``WikiPages.frame_digest``)."""
    pages: tuple[IndexedPage, ...]


_NOTES = msgpack_decoder(WikiNote)
NO_NOTE = WikiNote(b"", b"", b"", ())


def wiki_note(
    store: Cache, output: Path, owner: WikiOwner, build: BuildNote
) -> WikiNote:
    """What that build noted of a wiki; an empty note where there is none."""
    value = store.state(store.key(PAGES, output, owner.full_path))
    # one of another build may be there, whose end nobody saw
    if value is None or digest_of(value) != build.wikis.get(owner.full_path):
        return NO_NOTE
    try:
        return _NOTES.decode(value)
    except msgspec.DecodeError:
        return NO_NOTE


def encoded_note(note: WikiNote) -> bytes:
    """A note as bytes."""
    return msgspec.msgpack.encode(note)


def decoded_note(packed: bytes) -> WikiNote:
    """A note that ``encoded_note`` gave."""
    return _NOTES.decode(packed)


def remember_wiki(
    store: Cache, output: Path, owner: WikiOwner, packed: bytes
) -> Digest:
    """Keep the encoded note of a wiki for the next build to an output; its digest."""
    store.note(store.key(PAGES, output, owner.full_path), packed)
    return digest_of(packed)
