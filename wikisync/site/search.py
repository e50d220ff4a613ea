"""The search index: from documents to files, and from the files that there are.  Pure.

Every file is a classic script that calls ``wikisync_search(name, value)``, so
that it loads from ``file://``, where a page may not read JSON.  The reader's
browser (``static/find.js`` of the theme) loads only what a query needs:

``index.js``
    number of documents, the wikis, and by kind of shard the files of their keys.
``k-<kind><key>.js``
    keys of the shards of words that are near each other.
``t-<key>.js``
    words and where they occur; what the browser reads of them is at most 4 KB, unless
    it is one word (``search_terms``).
``r-<key>.js``
    the words of more than one text, each once more from its end behind ``_``, for those
    that are misspelt.
``p-<n>.js``
    the documents of 32 slots: which are there, and the bytes of all that follows; of
    each its title, address, headings, beginning, kilobytes of its texts and day of the
    last change; then of each its texts, for snippets, packed (``search_words``).  On
    the web the browser reads only the parts that it needs.
``w-<key>.js``
    which documents are in one wiki, in a site of several.

All of a shard that is shown in part lies beside the index, for updates (``l-<key>``).

A document's number is a slot that follows from its address, not its place in a
sorted list: one more page does not renumber the others, and the same documents
always give the same bytes.  All slots change when their number doubles.

There is one way to make an index: ``IndexUpdate``.  A clean build is the update of an
index of nothing.
"""

import contextlib
import hashlib
from array import array
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Set
from functools import cache
from itertools import chain
from typing import Any
from urllib.parse import unquote

import msgspec
from msgspec import Struct

from wikisync.core.decoding import msgpack_decoder
from wikisync.site import search_terms
from wikisync.site.addresses import quoted
from wikisync.site.search_words import (
    DocumentText,
    document_words,
    json_bytes,
    unpacked_words,
)
from wikisync.site.titles import TITLE_CHARS_MAX, shortened

DOCUMENTS_PER_SHARD = 32
"""Places for them; a third is taken."""
KEY_LIST_BYTES_MAX = 1024
HEADINGS_MAX = 16
"""Of a document, beside its title; the others are beside its texts."""

_SLOTS_MIN = 16


class SearchDocument(Struct, frozen=True):
    """One page as the search sees it."""

    url: str
    """Output path from the top of the site, unique among the documents."""
    title: str
    text: DocumentText
    wiki: str = ""
    """Title of its wiki; the same for all in a site of one wiki."""
    words: bytes = b""
    """Its scored words, packed; empty: they are those of its title and its text."""
    changed: str = ""
    """The day of its last change, as ``2026-11-21``; empty where it is not known."""


class SearchedBody(Struct, frozen=True, array_like=True):
    """What the search takes from a page, as the cache has it."""

    words: bytes
    text: bytes
    """Its packed ``DocumentText``."""


class DocumentKey(Struct, frozen=True, array_like=True, gc=False):
    """A document without its text."""

    url: str
    title: str
    wiki: str
    key: bytes
    """Another one when its title or a text changes; its words lie under it."""
    changed: str = ""
    tags: tuple[str, ...] = ()


class IndexState(Struct, frozen=True, array_like=True):
    """What an update has to know of the index that is there."""

    documents: Mapping[int, DocumentKey]
    """By slot, in rising order."""
    terms: Mapping[str, search_terms.TermShard]
    """By key."""
    ends: Mapping[str, search_terms.TermShard]
    """Of words that may be meant, from both ends."""


NO_INDEX = IndexState({}, {}, {})
_BODIES = msgpack_decoder(SearchedBody)
_TEXTS = msgpack_decoder(DocumentText)


def search_document(key: DocumentKey, body: bytes) -> SearchDocument:
    """A document from its packed ``SearchedBody``."""
    found = _BODIES.decode(body)
    text, words = _TEXTS.decode(found.text), found.words
    return SearchDocument(key.url, key.title, text, key.wiki, words, key.changed)


class IndexPlace:
    """Where files and whole shards of an index lie, and words; here nothing yet."""

    def __init__(self, put: Callable[[str, bytes], None]) -> None:
        self.put = put

    def keep(self, names: Set[str]) -> Collection[str]:
        """Keep files that are as the last update left them; the names of the others."""
        return names

    def read(self, _name: str) -> bytes | None:
        """A file as it is now; None where there is none."""
        return None

    def words(self, _key: bytes, /) -> dict[str, str] | None:
        """The scored words of a document; None where they are not known any more."""
        return None


WordScores = defaultdict[str, search_terms.Scores]
"""By word, the changed scores of documents, added in the rising order of their numbers:
some hundred a page, each of four bytes."""
Load = Callable[[DocumentKey], SearchDocument]
"""A document with its text."""


def build_shards(documents: Iterable[SearchDocument]) -> Mapping[str, bytes]:
    """File name, below the site's search folder, to content; sorted by name."""
    texts = {document.url: document for document in documents}
    files: dict[str, bytes] = {}
    keys = [
        DocumentKey(url, document.title, document.wiki, b"", document.changed)
        for url, document in texts.items()
    ]
    place = IndexPlace(files.__setitem__)
    IndexUpdate(NO_INDEX, keys, lambda key: texts[key.url], place).write()
    return {name: files[name] for name in sorted(files) if not is_whole(name)}


class IndexUpdate:
    """From the index of some documents to that of those that there are now."""

    def __init__(
        self,
        before: IndexState,
        documents: Iterable[DocumentKey],
        load: Load,
        place: IndexPlace,
    ) -> None:
        self._before = before
        self._now = _placed(before.documents, documents)
        self._load = load
        self._place = place
        old, now = before.documents, self._now
        self._changed = {slot for slot, one in now.items() if old.get(slot) != one}
        self._changed |= old.keys() - now.keys()
        both = ((old.get(slot), now.get(slot)) for slot in self._changed)
        self._moved = {one.wiki for one in chain.from_iterable(both) if one}
        """Wikis whose documents may have other slots."""
        self._wikis = _members(now)
        self._has_many = len(self._wikis) > 1
        self._is_known = True
        """Whether the scores that documents had before are known."""

    def write(self) -> IndexState:
        """Keep or put every file of the index; what the next update has to know."""
        scores = WordScores(search_terms.new_scores)
        self._update_documents(scores)
        wikis = [[one, _wiki_name(one)] for one in self._wikis if self._has_many]
        index: dict[str, object] = {"count": len(self._now), "wikis": wikis}
        terms, ends = self._update_terms(scores)
        for title, slots in self._wikis.items() if self._has_many else ():
            name = _wiki_name(title)
            if title in self._moved or self._place.keep({f"{name}.js"}):
                text = search_terms.packed_slots(slots)
                self._place.put(f"{name}.js", _script(name, text))
        for kind, shards in {"t": terms, "r": ends}.items():
            lists = search_terms.leaves_of_keys(shards, KEY_LIST_BYTES_MAX)
            for key, keys in lists.items():
                name = f"k-{kind}{key}"
                self._place.put(f"{name}.js", _script(name, " ".join(keys)))
            index[kind] = " ".join(lists)
        self._place.put("index.js", _script("index", index))
        return IndexState(self._now, terms, ends)

    def _update_documents(self, scores: WordScores) -> None:
        """Titles and texts; a few documents at a time, for one site has gigabytes."""
        now, changed, size = self._now, self._changed, DOCUMENTS_PER_SHARD
        stale = {slot // size for slot in changed}
        names = {f"p-{number}.js": number for number in {one // size for one in now}}
        kept = {name for name, number in names.items() if number not in stale}
        old_wikis = {one.wiki for one in self._before.documents.values()}
        is_other = self._has_many != (len(old_wikis) > 1)
        lost = kept if is_other else self._place.keep(kept)
        stale |= {names[name] for name in lost}
        for number in sorted(stale):
            loaded = cache(lambda slot: self._load(now[slot]))
            every = range(number * size, (number + 1) * size)
            if here := {slot: loaded(slot) for slot in every if slot in now}:
                self._place.put(f"p-{number}.js", self._documents(number, here))
            for slot in filter(changed.__contains__, every):
                self._rescore(slot, loaded, scores)

    def _documents(self, number: int, documents: Mapping[int, SearchDocument]) -> bytes:
        """The file of the documents of some slots."""
        shown = [json_bytes(self._titles(one)) for one in documents.values()]
        texts = [
            json_bytes([one.text.texts, *_headings(one)[HEADINGS_MAX:]])
            for one in documents.values()
        ]
        places = [slot % DOCUMENTS_PER_SHARD for slot in documents]
        sizes = [*map(len, shown), *map(len, texts)]
        parts = b",".join([json_bytes(places), json_bytes(sizes), *shown, *texts])
        return b'wikisync_search("p-%d",[%s])\n' % (number, parts)

    def _titles(self, document: SearchDocument) -> object:
        wiki, text = document.wiki if self._has_many else "", document.text
        url, changed = quoted(document.url), document.changed
        head = [document.title, url, wiki, _headings(document)[:HEADINGS_MAX]]
        return [*head, text.lead, len(text.texts) // 1024 + 1, *filter(None, [changed])]

    def _rescore(
        self, slot: int, loaded: Callable[[int], SearchDocument], scores: WordScores
    ) -> None:
        """Note which words have another score in a document, or have it no more."""
        old, new = self._before.documents.get(slot), self._now.get(slot)
        words, letters = self._words(loaded(slot)) if new else ((), ())
        before = self._place.words(old.key) if old else {}
        if before is None:
            self._is_known = False
            return
        if before:
            now = dict(zip(words, letters, strict=True))
            gone = dict.fromkeys(before.keys() - now.keys(), "")
            changed = dict(now.items() - before.items()) | gone
            words, letters = changed, changed.values()
        first = search_terms.score_of(slot, "")
        codes = {letter: first + rank for letter, rank in search_terms.RANKS.items()}
        # hundreds a page: no step of a loop for each
        added = map(codes.__getitem__, letters)
        deque(map(array.append, map(scores.__getitem__, words), added), 0)

    def _words(self, document: SearchDocument) -> tuple[Iterable[str], Iterable[str]]:
        """The words of a document, and the letter of each."""
        if document.words:
            return unpacked_words(document.words)
        slug = document.url.removesuffix(".html")
        words = document_words(document.title, document.text.sections, (), slug)
        return words, words.values()

    def _update_terms(
        self, scores: WordScores
    ) -> tuple[dict[str, search_terms.TermShard], dict[str, search_terms.TermShard]]:
        """Shards of terms: those that change, or all where one cannot be trusted."""
        if self._is_known:
            with contextlib.suppress(search_terms.ShardLost):
                return self._changed_terms(scores)
        self._before = NO_INDEX
        all_scores = WordScores(search_terms.new_scores)
        for slot in self._now:
            self._rescore(slot, lambda slot: self._load(self._now[slot]), all_scores)
        return self._changed_terms(all_scores)

    def _changed_terms(
        self, scores: WordScores
    ) -> tuple[dict[str, search_terms.TermShard], dict[str, search_terms.TermShard]]:
        """Keep or put every shard of terms, and of their ends."""
        ends: dict[str, search_terms.Scores] = {}
        terms = self._changed_shards("t", self._before.terms, scores, ends)
        return terms, self._changed_shards("r", self._before.ends, ends)

    def _changed_shards(
        self,
        kind: str,
        shards_before: Mapping[str, search_terms.TermShard],
        scores: dict[str, search_terms.Scores],
        ends: dict[str, search_terms.Scores] | None = None,
    ) -> dict[str, search_terms.TermShard]:
        """Keep or put every shard of a kind.

        Raises:
            ShardLost: One is not as it was left.
        """

        def text_of(key: str) -> str | None:
            """What a shard holds; None if it is not as ours are."""
            kind_of_all = "l" if shards_before[key].is_cut else kind
            value = value_of(self._place.read(f"{kind_of_all}-{key}.js") or b"")
            return value if isinstance(value, str) else None

        changed = set()

        def put(key: str, text: str, shown: str) -> None:
            name = f"{kind}-{key}"
            self._place.put(f"{name}.js", _script(name, shown))
            if shown != text:
                self._place.put(f"l-{key}.js", _script(f"l-{key}", text))
            changed.add(key)

        shards = search_terms.changed_shards(shards_before, scores, text_of, put, ends)
        kept = shards.keys() - changed
        names = {f"{kind}-{key}.js" for key in kept}
        names |= {f"l-{key}.js" for key in kept if shards[key].is_cut}
        if lost := self._place.keep(names):
            raise search_terms.ShardLost(min(lost))
        return shards


def _headings(document: SearchDocument) -> list[list[str]]:
    return [
        [id_, shortened(heading, TITLE_CHARS_MAX)]
        for id_, heading in document.text.headings
    ]


def _placed(
    before: Mapping[int, DocumentKey], documents: Iterable[DocumentKey]
) -> dict[int, DocumentKey]:
    """Documents by their slots, in rising order."""
    by_url = {document.url: document for document in documents}
    if len(by_url) == len(before):
        with contextlib.suppress(KeyError):
            return {slot: by_url[one.url] for slot, one in before.items()}
    return {slot: by_url[url] for slot, url in assign_slots(by_url).items()}


def assign_slots(urls: Iterable[str]) -> dict[int, str]:
    """Addresses by their number, in rising order.

    A number is the hash of the address modulo a power of two of at least twice
    the count, or the next free one.  So it depends on nothing but the set of
    addresses, and a new page moves only the few that collide with it.
    """
    hashed = sorted([(_hash(url), url) for url in urls])
    size = max(_SLOTS_MIN, 1 << (2 * len(hashed) - 1).bit_length())
    taken: dict[int, str] = {}
    for number, url in hashed:
        slot = number % size
        while slot in taken:
            slot = (slot + 1) % size
        taken[slot] = url
    return dict(sorted(taken.items()))


def _members(documents: Mapping[int, DocumentKey]) -> dict[str, list[int]]:
    """The slots of each wiki, in the order of their titles."""
    members: defaultdict[str, list[int]] = defaultdict(list)
    for slot, document in documents.items():
        members[document.wiki].append(slot)
    return dict(sorted(members.items()))


def _wiki_name(title: str) -> str:
    return f"w-{_hash(title):x}"


def read_documents(shards: Iterable[object]) -> Iterator[SearchDocument]:
    """The documents of an index, from the values of its ``p-`` files.

    Of long sections only the beginning is there.  What does not have the shape that
    ``build_shards`` gives is left out: the files may have been edited.
    """
    for value in shards:
        if isinstance(value, list):
            count = len(value) // 2 - 1
            for entry, rest in zip(value[2:], value[2 + count :], strict=False):
                with contextlib.suppress(TypeError, ValueError):
                    yield _read_document(entry, rest)


def _read_document(entry: Any, rest: Any) -> SearchDocument:
    """A document from its values; raises where they do not have that shape."""
    title, url, wiki, headings, lead, _size, *changed = entry
    packed, *more = rest
    pairs = tuple((id_, heading) for id_, heading in [*headings, *more])
    text = DocumentText(pairs, str(packed), str(lead))
    _ = text.sections  # raises where a section has no text
    return SearchDocument(unquote(url), title, text, wiki, changed="".join(changed))


def value_of(script: bytes) -> object:
    """What a file calls its function with; None if it is none of ours."""
    _, _, value = script.partition(b",")
    try:
        return msgspec.json.decode(value.rstrip().removesuffix(b")"))
    except msgspec.DecodeError:
        return None


def is_whole(name: str) -> bool:
    """Whether it is a shard that the browser reads in part."""
    return name.startswith("l-")


def _script(name: str, value: object) -> bytes:
    return b'wikisync_search("%s",%s)\n' % (name.encode(), json_bytes(value))


def _hash(text: str) -> int:
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:6])
