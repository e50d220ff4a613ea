"""What a build remembers of a wiki's pages, so that the next one looks up no more.

It is kept in the cache beside the build's own note (``build_note``), and only a build
that has something to do reads it.  The pages lie in parts, each of some dozens by a
hash of their slugs: a build writes those in which a page changed.
"""

from __future__ import annotations

import zlib
from collections import defaultdict
from collections.abc import Collection
from pathlib import Path

import msgspec

from wikisync.decoding import msgpack_decoder
from wikisync.model import Digest, Slug, WikiOwner, digest_of
from wikisync.site.build_note import BuildNote
from wikisync.site.cache import PAGES, Cache
from wikisync.site.facts import IndexedPage

PAGES_PER_PART = 64
"""At most so many on average, and half as many at least."""


class WikiNote(msgspec.Struct, frozen=True, array_like=True):
    """What a build remembers of one wiki's pages, beside their files."""

    reading: bytes
    """What their facts depend on besides their files (``Indexer.reading_key``)."""
    table: bytes
    """What their links were resolved in (``Indexer.table_key``)."""
    frame: bytes
    """What they all show besides their own (``WikiPages.frame_digest``)."""
    pages: tuple[IndexedPage, ...]


class _Head(msgspec.Struct, frozen=True, array_like=True):
    """A note whose pages lie elsewhere."""

    reading: bytes
    table: bytes
    frame: bytes
    parts: tuple[Digest, ...]
    """Of the rows with the pages, by their numbers."""


_Part = tuple[IndexedPage, ...]
_NOTES = msgpack_decoder(WikiNote)
_HEADS = msgpack_decoder(_Head)
_PARTS = msgpack_decoder(_Part)
NO_NOTE = WikiNote(b"", b"", b"", ())
_NO_HEAD = _Head(b"", b"", b"", ())


def wiki_note(
    store: Cache, output: Path, owner: WikiOwner, build: BuildNote
) -> WikiNote:
    """What that build noted of a wiki, in any order; nothing where that is gone."""
    head = _head(store, output, owner, build)
    pages: list[IndexedPage] = []
    for number, digest in enumerate(head.parts):
        value = store.state(_key(store, output, owner, number))
        # one of another build may be there, whose end nobody saw
        if value is None or digest_of(value) != digest:
            return NO_NOTE
        try:
            pages += _PARTS.decode(value)
        except msgspec.DecodeError:
            return NO_NOTE
    return WikiNote(head.reading, head.table, head.frame, tuple(pages))


def encoded_note(note: WikiNote) -> bytes:
    """A note as bytes."""
    return msgspec.msgpack.encode(note)


def decoded_note(packed: bytes) -> WikiNote:
    """A note that ``encoded_note`` gave."""
    return _NOTES.decode(packed)


def remember_wiki(
    store: Cache,
    output: Path,
    owner: WikiOwner,
    note: WikiNote,
    build: BuildNote,
    changed: Collection[Slug] | None,
) -> Digest:
    """Keep the note of a wiki for the next build to an output; its digest.

    Args:
        store: Where it is kept.
        output: The output.
        owner: Whose wiki it is.
        note: What there is to know.
        build: The note of the last build.
        changed: The pages that this build knows otherwise than the last one noted
            them, and those that are gone; None: all.
    """
    count = _part_count(len(note.pages))
    parts = list(_head(store, output, owner, build).parts)
    if changed is None or len(parts) != count:
        parts, stale = [Digest("")] * count, set(range(count))
    else:
        stale = {_part(slug, count) for slug in changed}
    pages: defaultdict[int, list[IndexedPage]] = defaultdict(list)
    for page in note.pages if stale else ():
        pages[_part(page.slug, count)].append(page)
    for number in stale:
        value = msgspec.msgpack.encode(pages[number])
        store.note(_key(store, output, owner, number), value)
        parts[number] = digest_of(value)
    head = _Head(note.reading, note.table, note.frame, tuple(parts))
    packed = msgspec.msgpack.encode(head)
    store.note(_key(store, output, owner), packed)
    return digest_of(packed)


def _head(store: Cache, output: Path, owner: WikiOwner, build: BuildNote) -> _Head:
    value = store.state(_key(store, output, owner))
    if value is None or digest_of(value) != build.wikis.get(owner.full_path):
        return _NO_HEAD
    try:
        return _HEADS.decode(value)
    except msgspec.DecodeError:
        return _NO_HEAD


def _key(
    store: Cache, output: Path, owner: WikiOwner, part: int | None = None
) -> bytes:
    number = "" if part is None else f"\0{part}"
    return store.key(PAGES, output, f"{owner.full_path}{number}")


def _part_count(pages: int) -> int:
    """A power of two: another page seldom moves those that are there."""
    return 1 << max((pages - 1) // PAGES_PER_PART, 0).bit_length()


def _part(slug: Slug, count: int) -> int:
    return zlib.crc32(slug.encode()) % count
