"""The search index in an output folder: read, brought up to date, written.

What is known of the index lies in the cache.  It holds only with the files that the
build left whose note names it: an interrupted build may have noted another one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping

import msgspec

from wikisync.decoding import msgpack_decoder
from wikisync.site.addresses import SEARCH_FOLDER
from wikisync.site.cache import Cache
from wikisync.site.fingerprint import program_fingerprint
from wikisync.site.output import Output
from wikisync.site.reading import SearchedBody
from wikisync.site.search import NO_INDEX, DocumentKey, IndexState, Load, update_index
from wikisync.site.search_words import packed_words, unpacked_words

SEARCH_INDEX = SEARCH_FOLDER + "index.js"

_STATES = msgpack_decoder(IndexState)
_BODIES = msgpack_decoder(SearchedBody)


def write_search(
    store: Cache,
    name: bytes,
    output: Output,
    documents: Iterable[DocumentKey],
    load: Load,
) -> Iterator[None]:
    """Bring the search index of a site up to date, in steps.

    Args:
        store: Where the last index is noted.
        name: Under which key.
        output: The site; its index file has the name of the index as its key.
        documents: What the index shall have.
        load: A document with its text.
    """
    noted = store.state(name) or b""
    before = NO_INDEX
    if output.last_key(SEARCH_INDEX) == _name_of(noted):
        before = _STATES.decode(noted)
    state = yield from update_index(
        before, documents, load, _SearchFolder(store, output)
    )
    value = msgspec.msgpack.encode(state)
    if value != noted:
        store.note(name, value)
    output.set_key(SEARCH_INDEX, _name_of(value))


def _name_of(value: bytes) -> bytes:
    """What tells one state from any other, and from one of another program."""
    return hashlib.sha256(program_fingerprint() + value).digest()


class _SearchFolder:
    """The index in an output folder, and words in the cache."""

    def __init__(self, store: Cache, output: Output) -> None:
        self._store = store
        self._output = output

    def keep(self, name: str) -> bool:
        return self._output.keep(SEARCH_FOLDER + name)

    def read(self, name: str) -> bytes | None:
        return self._output.read(SEARCH_FOLDER + name)

    def put(self, name: str, content: bytes) -> None:
        self._output.put(SEARCH_FOLDER + name, content)

    def words(self, key: bytes) -> dict[str, str] | None:
        if self._store.facts("words", key) is None:
            return None
        return unpacked_words(_BODIES.decode(self._store.body("words", key)).words)

    def note_words(self, key: bytes, words: Mapping[str, str]) -> None:
        body = msgspec.msgpack.encode(SearchedBody(packed_words(words), b""))
        self._store.store("words", key, b"", *self._store.bodies.add(body))
