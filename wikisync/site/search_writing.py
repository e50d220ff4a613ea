"""The search index in an output folder: read, brought up to date, written."""

from collections.abc import Collection, Generator, Iterable, Mapping, Set

import msgspec

from wikisync.core.decoding import msgpack_decoder
from wikisync.site.addresses import SEARCH_FOLDER
from wikisync.site.cache import Cache
from wikisync.site.output import Output
from wikisync.site.reading import SearchedBody
from wikisync.site.search import NO_INDEX, DocumentKey, IndexState, IndexUpdate, Load
from wikisync.site.search_words import packed_words, unpacked_words

_STATES = msgpack_decoder(IndexState)
_BODIES = msgpack_decoder(SearchedBody)


def write_search(
    store: Cache,
    output: Output,
    noted: bytes,
    documents: Iterable[DocumentKey],
    load: Load,
) -> Generator[None, None, bytes]:
    """Bring the search index of a site up to date, in steps; what to note of it."""
    before = _STATES.decode(noted) if noted else NO_INDEX
    place = _SearchFolder(store, output)
    update = IndexUpdate(before, documents, load, place)
    return msgspec.msgpack.encode((yield from update.steps()))


class _SearchFolder:
    """The index in an output folder, and words in the cache."""

    def __init__(self, store: Cache, output: Output) -> None:
        self._store = store
        self._output = output

    def keep(self, names: Set[str]) -> Collection[str]:
        paths = {SEARCH_FOLDER + name: b"" for name in names}
        lost = self._output.keep_all(paths)
        return [path.removeprefix(SEARCH_FOLDER) for path in lost]

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
