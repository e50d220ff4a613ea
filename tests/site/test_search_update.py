"""The promise of the search index: an update gives the bytes of a clean build."""

import hashlib
import re
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Set
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.site.sites import Studio
from tests.support.archive import tree_bytes
from tests.support.searched import searched
from wikisync.markup.record import Section
from wikisync.site import cache, search, search_terms
from wikisync.site.build import build_site
from wikisync.site.output import Output
from wikisync.site.search_terms import ShardLost, changed_shards, score_of
from wikisync.site.search_words import (
    document_words,
    packed_words,
    scored_words,
    unpacked_words,
)

SEARCH = "-/search/"


class Shelf(search.IndexPlace):
    """An index in memory that is updated again and again."""

    def __init__(self) -> None:
        super().__init__(self._put)
        self.files: dict[str, bytes] = {}
        """As they are now: a test may change them."""
        self.noted: dict[bytes, bytes] = {}
        self.state = search.NO_INDEX
        self.loaded: list[str] = []
        self.whole: dict[str, bytes] = {}
        """Shards that the browser reads in part."""
        self.read_names: list[str] = []
        self.written: list[str] = []
        """Files that are not as they were."""
        self._left: dict[str, bytes] = {}
        self._next: dict[str, bytes] = {}

    def update(self, documents: Mapping[str, search.SearchDocument]) -> None:
        """Bring the index up to date with documents by their addresses."""
        self._next = {}
        self.loaded, self.read_names, self.written = [], [], []
        keys = [
            search.DocumentKey(
                url, one.title, one.wiki, hashlib.sha256(repr(one).encode()).digest()
            )
            for url, one in documents.items()
        ]

        def load(key: search.DocumentKey) -> search.SearchDocument:
            self.loaded.append(key.url)
            one, slug = documents[key.url], key.url.removesuffix(".html")
            words = document_words(one.title, one.text.sections, (), slug)
            self.noted[key.key] = packed_words(words)
            return one

        self.state = search.IndexUpdate(self.state, keys, load, self).write()
        self.files = self._next
        self._left = dict(self._next)

    def keep(self, names: Set[str]) -> set[str]:
        asked = {one for one in names if not search.is_whole(one)}
        same = {one for one in asked if self.files.get(one) == self._left.get(one)}
        same &= self.files.keys()
        self._next |= {name: self.files[name] for name in same}
        return asked - same

    def read(self, name: str) -> bytes | None:
        self.read_names.append(name)
        return (self.whole if search.is_whole(name) else self.files).get(name)

    def _put(self, name: str, content: bytes) -> None:
        if search.is_whole(name):
            self.whole[name] = content
            return
        if self.files.get(name) != content:
            self.written.append(name)
        self._next[name] = content

    def words(self, key: bytes, /) -> dict[str, str] | None:
        if key not in self.noted:
            return None
        return dict(zip(*unpacked_words(self.noted[key]), strict=True))


def document(
    url: str, text: str, title: str = "", wiki: str = ""
) -> search.SearchDocument:
    half = len(text) // 2
    sections = (Section("", "", text[:half]), Section("x", "a b", text))
    return searched(url, title, *sections, wiki=wiki)


@pytest.fixture(scope="module", autouse=True)
def small_shards() -> Iterator[None]:
    """Limits at which a few words split and join shards."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search_terms, "SHARD_BYTES_MAX", 60)
        patch.setattr(search_terms, "KEY_BYTES_MAX", 8)
        patch.setattr(search_terms, "POSTINGS_MAX", 4)
        patch.setattr(search, "HEADINGS_MAX", 1)
        patch.setattr(search, "DOCUMENTS_PER_SHARD", 4)
        patch.setattr(search, "KEY_LIST_BYTES_MAX", 16)
        yield


WORDS = (
    *("s", "sa", "sam", "same", "samet", "sb", "s_", "s9", "a", "an", "ant"),
    *(
        "z" * 31,
        "z" * 32,
        "z" * 33,
        "z" * 40 + "a",
        "zé",
        "naïve",
        "ελληνικά",
        "русский",
    ),
    *("日本", "日本語の本", "日曜", "水", "한국어", "a日", "\U00020000\U00020001"),
)
TEXTS = st.lists(st.sampled_from(WORDS), max_size=30).map(" ".join) | st.tuples(
    st.sampled_from(WORDS), st.integers(90, 300)
).map(lambda pair: f"{pair[0]} " * pair[1])
URLS = [f"{number}.html" for number in range(40)]
CHANGES = st.dictionaries(
    st.sampled_from(URLS),
    st.none()
    | st.builds(
        document,
        st.just(""),
        TEXTS,
        st.sampled_from(["", "same ant", "日本"]),
        st.sampled_from(["", "", "Two"]),
    ),
    max_size=20,
)
"""Address and document; None removes it."""


def edited(
    documents: Mapping[str, search.SearchDocument],
    changes: Mapping[str, search.SearchDocument | None],
) -> dict[str, search.SearchDocument]:
    after = {url: one for url, one in documents.items() if url not in changes}
    for url, one in changes.items():
        if one is not None:
            after[url] = search.SearchDocument(url, one.title, one.text, one.wiki)
    return after


@given(steps=st.lists(CHANGES, min_size=1, max_size=6), data=st.data())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_index_after_any_edits_is_that_of_a_clean_build(
    steps: list[dict[str, search.SearchDocument | None]], data: st.DataObject
) -> None:
    """Whatever happens to its files and to what was noted meanwhile."""
    shelf = Shelf()
    documents: dict[str, search.SearchDocument] = {}
    for changes in steps:
        documents = edited(documents, changes)
        shelf.update(documents)
        assert shelf.files == search.build_shards(documents.values())
        damaged = data.draw(st.sampled_from([*shelf.files, None, None]))
        if damaged is not None:
            shelf.files[damaged] = shelf.files[damaged][:-1]
        if data.draw(st.booleans()) and shelf.noted:
            del shelf.noted[data.draw(st.sampled_from(sorted(shelf.noted)))]


@given(steps=st.lists(CHANGES, min_size=2, max_size=6))
@settings(max_examples=30, deadline=None)
def test_undamaged_index_is_brought_up_to_date_without_the_unchanged(
    steps: list[dict[str, search.SearchDocument | None]],
) -> None:
    """No word of an unchanged document is counted again."""
    shelf = Shelf()
    documents: dict[str, search.SearchDocument] = {}
    for changes in steps:
        documents = edited(documents, changes)
        before = set(shelf.noted)
        shelf.update(documents)
        assert shelf.files == search.build_shards(documents.values())
        assert len(set(shelf.noted) - before) <= len(changes)


def test_words_around_a_part_of_its_own_stay_in_their_order() -> None:
    """Those that were too few for one lie before and after it."""
    texts = ["", "s_", "s " * 90, "s " * 90, "sam", "sb", "sa samet", "sa"]
    titles = ["", "same ant", "", "", "日本", "same ant", "same ant", "same ant"]
    documents = edited(
        {},
        {
            f"{number}.html": document("", text, title)
            for number, (text, title) in enumerate(zip(texts, titles, strict=True))
            if text
        },
    )
    shelf = Shelf()
    shelf.update(documents)
    del documents["7.html"]
    shelf.update(documents)
    assert shelf.files == search.build_shards(documents.values())


def many() -> dict[str, search.SearchDocument]:
    """Documents whose words fill several shards of each kind."""
    return {
        url: document(url, " ".join(WORDS[number % 7 :: 5]), f"title {number}")
        for number, url in enumerate(URLS)
    }


def filled(documents: Mapping[str, search.SearchDocument]) -> Shelf:
    shelf = Shelf()
    shelf.update(documents)
    return shelf


def test_clean_build_loads_each_document_once() -> None:
    documents = many()
    assert sorted(filled(documents).loaded) == sorted(documents)


def test_index_of_the_same_documents_is_kept_unread() -> None:
    documents = many()
    shelf = filled(documents)
    shelf.update(documents)
    assert not shelf.written
    assert not shelf.loaded
    assert not shelf.read_names


def test_one_more_word_reads_and_writes_one_shard_of_each_kind() -> None:
    documents = many()
    shelf = filled(documents)
    one = documents["7.html"]
    first, last = one.text.sections
    more = Section("x", "a b", last.text + " an")
    documents["7.html"] = searched(one.url, one.title, first, more, wiki=one.wiki)
    shelf.update(documents)
    assert sorted(name[0] for name in shelf.written) == ["p", "t"]
    assert len(shelf.read_names) <= 1
    assert len(shelf.loaded) <= search.DOCUMENTS_PER_SHARD
    assert shelf.files == search.build_shards(documents.values())


def test_one_more_word_walks_the_shards_around_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Those of a site of many wikis are tens of thousands."""
    texts: dict[str, str] = {}

    def changed(
        before: Mapping[str, search_terms.TermShard], words: Iterable[str]
    ) -> dict[str, search_terms.TermShard]:
        scores = {word: search_terms.new_scores([score_of(1, "A")]) for word in words}
        put = lambda key, text, _shown: texts.update({key: text})  # noqa: E731
        return changed_shards(before, scores, texts.get, put)

    before = changed({}, (f"{number:04}" for number in range(2000)))
    asked: list[object] = []

    def seen(*of: Any) -> int:
        asked.append(of)
        return bisect_left(*of)

    monkeypatch.setattr(search_terms, "bisect_left", seen)
    now = changed(before, ["0007x"])
    assert len(now.keys() & before.keys()) > 200
    assert len(asked) < 200


def test_moved_heading_rewrites_titles_and_no_term() -> None:
    documents = many()
    shelf = filled(documents)
    one = documents["7.html"]
    sections = reversed(one.text.sections)
    documents["7.html"] = searched(one.url, one.title, *sections, wiki=one.wiki)
    shelf.update(documents)
    assert sorted(name[0] for name in shelf.written) == ["p"]


def test_shard_that_lies_about_its_age_is_not_believed() -> None:
    """Its time and size are those that were left; its text is not."""
    documents = many()
    shelf = filled(documents)
    for files in (shelf.files, shelf.whole):
        for name in [name for name in files if name[:2] in {"t-", "l-"}]:
            lie = re.sub(rb"[A-Z]", b"Z", files[name])
            files[name] = shelf._left[name] = lie
    documents["7.html"] = document("7.html", " ".join(WORDS))
    shelf.update(documents)
    assert shelf.files == search.build_shards(documents.values())


def test_lost_shard_is_told() -> None:
    one = array("I", [score_of(1, "A")])
    put: dict[str, str] = {}
    rest = (lambda _: None), lambda key, text, _: put.update({key: text})
    shards = changed_shards({}, {"same": one}, *rest)
    assert put.keys() == shards.keys() == {"0"}
    with pytest.raises(ShardLost):
        changed_shards(shards, {"sam": one}, *rest)


def test_words_that_are_packed_come_back() -> None:
    for text in ("", "one", "one two two 日本語"):
        words = scored_words("title", "", text, "folder/name")
        assert unpacked_words(packed_words(words)) == (
            [*words],
            "".join(words.values()),
        )
    assert unpacked_words(packed_words({})) == ([], "")


def test_word_that_comes_very_often_counts_as_if_less_often() -> None:
    often, less = (scored_words("", "", "a " * count, "") for count in (300, 255))
    assert often == less != scored_words("", "", "a " * 44, "")


# In a site ------------------------------------------------------------------------


@pytest.fixture
def large(studio: Studio) -> Studio:
    """A site with some documents in each file of the index."""
    pages = (
        f"-- p{number}.md --\n# Page {number}\n{' '.join(WORDS[number % 7 :: 5])}\n"
        for number in range(30)
    )
    studio.start("".join(pages))
    return studio


def edit(studio: Studio, name: str, text: str) -> None:
    (studio.sources[0].folder / name).write_text(text, encoding="utf-8")


@pytest.fixture
def updates(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many documents each update of a site's index began with."""
    counts: list[int] = []
    update = search.IndexUpdate

    def counted(before: search.IndexState, *rest: Any) -> search.IndexUpdate:
        counts.append(len(before.documents))
        return update(before, *rest)

    monkeypatch.setattr(search, "IndexUpdate", counted)
    return counts


def test_edited_site_updates_the_index_that_it_has(
    large: Studio, updates: list[int]
) -> None:
    edit(large, "p7.md", "# Page 7\nother ant words\n")
    large.build()
    assert updates == [30]
    assert large.files() == large.clean_build()


def test_index_of_another_program_is_not_believed(
    large: Studio, updates: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may have split its shards otherwise."""
    monkeypatch.setattr(cache, "program_fingerprint", lambda: b"newer")
    edit(large, "p7.md", "# Page 7\nother ant words\n")
    large.build()
    assert updates == [0]


@pytest.mark.parametrize("kind", ["t", "p", "index"])
@pytest.mark.parametrize("is_edited", [True, False])
def test_damaged_file_of_the_index_is_put_right(
    large: Studio, kind: str, *, is_edited: bool
) -> None:
    """Whether the pages changed meanwhile or not."""
    first, *others = sorted(large.site.glob(f"{SEARCH}{kind}*.js"))
    first.unlink()
    for path in others:
        path.write_bytes(path.read_bytes().replace(b"A", b"B") + b"\n")
    if is_edited:
        edit(large, "p7.md", "# Page 7\nother ant words\n")
    large.build()
    assert large.files() == large.clean_build()


def test_index_noted_by_an_interrupted_build_is_not_believed(
    large: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_args: object) -> None:
        raise KeyboardInterrupt

    edit(large, "p7.md", "# Page 7\nother ant words\n")
    with monkeypatch.context() as patch:
        patch.setattr(Output, "commit", interrupted)
        with pytest.raises(KeyboardInterrupt):
            large.build()
    edit(large, "p8.md", "# Page 8\nother ant words\n")
    large.build()
    assert large.files() == large.clean_build()


def test_two_outputs_of_one_cache_have_an_index_each(
    large: Studio, updates: list[int]
) -> None:
    second, cache = large.root / "second", large.root / "cache"
    for text in ("other ant words", "other words"):
        edit(large, "p7.md", f"# Page 7\n{text}\n")
        large.build()
        build_site(large.sources, second, large.options, cache=cache)
        assert tree_bytes(second) == large.files()
    assert updates == [30, 0, 30, 30]
    assert large.files() == large.clean_build()
