"""The search index in an output folder: read, brought up to date, written."""

from collections.abc import Collection, Generator, Iterable, Set

import msgspec

from wikisync.core.decoding import msgpack_decoder
from wikisync.site.addresses import SEARCH_FOLDER
from wikisync.site.cache import Cache
from wikisync.site.last_build import LastBuild
from wikisync.site.output import Output
from wikisync.site.reading import SearchedBody
from wikisync.site.search import (
    NO_INDEX,
    DocumentKey,
    IndexState,
    IndexUpdate,
    Load,
    is_whole,
)
from wikisync.site.search_words import unpacked_words

_STATES = msgpack_decoder(IndexState)
_BODIES = msgpack_decoder(SearchedBody)


def write_search(
    store: Cache,
    output: Output,
    last: LastBuild,
    documents: Iterable[DocumentKey],
    load: Load,
) -> Generator[None, None, bytes]:
    """Bring the search index of a site up to date, in steps; what to note of it."""
    before = _STATES.decode(last.search) if last.search else NO_INDEX
    place = _SearchFolder(store, output, last.site)
    update = IndexUpdate(before, documents, load, place)
    state = yield from update.steps()
    place.forget_others(
        {f"l-{key}.js" for key, one in state.terms.items() if one.is_cut}
    )
    return msgspec.msgpack.encode(state)


class _SearchFolder:
    """The index in an output folder, and what only updates need in the cache."""

    def __init__(self, store: Cache, output: Output, site: int) -> None:
        self._store = store
        self._output = output
        self._site = site

    def keep(self, names: Set[str]) -> Collection[str]:
        # a shard in the cache is looked at when it is read
        paths = {SEARCH_FOLDER + name: b"" for name in names if not is_whole(name)}
        lost = self._output.keep_all(paths)
        return [path.removeprefix(SEARCH_FOLDER) for path in lost]

    def read(self, name: str) -> bytes | None:
        if not is_whole(name):
            return self._output.read(SEARCH_FOLDER + name)
        found = self._store.rows(
            "SELECT value FROM shard WHERE site = ? AND name = ?", self._site, name
        )
        return found[0][0] if found else None

    def put(self, name: str, content: bytes) -> None:
        if is_whole(name):
            row = self._site, name, content
            self._store.put_rows("REPLACE INTO shard VALUES (?, ?, ?)", [row])
        else:
            self._output.put(SEARCH_FOLDER + name, content)

    def forget_others(self, names: Set[str]) -> None:
        """Let go of whole shards that have none of these names."""
        at = "FROM shard WHERE site = ?"
        known = {name for (name,) in self._store.rows(f"SELECT name {at}", self._site)}
        gone = [(self._site, name) for name in known - names]
        self._store.put_rows(f"DELETE {at} AND name = ?", gone)

    def words(self, key: bytes) -> dict[str, str] | None:
        if self._store.facts("words", key) is None:
            return None
        return unpacked_words(_BODIES.decode(self._store.body("words", key)).words)
