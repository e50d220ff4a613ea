"""Indexing a wiki again after an edit: what is the same is not looked at again."""

from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from tests.site.sites import wiki_source
from tests.support.archive import unpack
from wikisync.core.messages import Progress
from wikisync.core.model import Slug
from wikisync.markup.record import MarkupOptions
from wikisync.site.attempts import Attempts
from wikisync.site.cache import Cache, open_cache
from wikisync.site.crosslinks import WikiTable, service_address
from wikisync.site.facts import IndexedWiki
from wikisync.site.frame import site_addresses
from wikisync.site.index import Indexer
from wikisync.site.model import SiteOptions
from wikisync.site.sources import ScannedWiki, scan_wiki

WIKI = """\
-- home.md --
See [the part](guide#part) and [other](other).
-- guide.md --
## Part

Text.
-- other.md --
::include{file=guide.md}
-- wish.md --
I wish there were [more](Later) about [home](home) and ![a map](/uploads/a/map.png).
"""


class Bench:
    """A wiki of three pages, indexed as often as one likes by one indexer."""

    def __init__(self, folder: Path, cache: Cache) -> None:
        self.folder = unpack(WIKI, folder)
        self._cache = cache
        self._source = wiki_source(self.folder)
        self._indexer = self._new_indexer()
        self.last = self._indexer.index(0, self._scan())

    def with_other_names(self) -> IndexedWiki:
        """The wiki indexed after files came or went, likewise."""
        self._indexer = self._new_indexer()
        return self.again()

    def _new_indexer(self) -> Indexer:
        addresses = site_addresses([self._scan()], SiteOptions("Docs"))
        table = WikiTable([service_address(self._source)], addresses)
        return Indexer(self._cache, table, Progress(), MarkupOptions(), Attempts())

    def again(self) -> IndexedWiki:
        """The wiki indexed with what is known of it, and from the cache alone."""
        scanned = self._scan()
        found = self._indexer.index(0, scanned, self.last.pages)
        assert found == self._indexer.index(0, scanned)
        return found

    def chosen(self, *slugs: Slug) -> IndexedWiki:
        """The wiki indexed with these pages read now, of those that changed."""
        return self._indexer.index(0, self._scan(), self.last.pages, slugs)

    def is_kept(self, now: IndexedWiki, slug: str) -> bool:
        return now.pages[Slug(slug)] is self.last.pages[Slug(slug)]

    def _scan(self) -> ScannedWiki:
        return scan_wiki(self._source, self._cache)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    with open_cache(tmp_path / "cache") as cache:
        yield Bench(tmp_path / "wiki", cache)


def test_an_edit_leaves_other_pages_as_they_were(bench: Bench) -> None:
    (bench.folder / "guide.md").write_text("## Part\n\nOther text.\n")
    now = bench.again()
    assert bench.is_kept(now, "home")
    assert not bench.is_kept(now, "guide")


def test_an_edit_reaches_the_page_that_includes_it(bench: Bench) -> None:
    before = bench.last.pages[Slug("other")].finished.view_digest
    (bench.folder / "guide.md").write_text("## Part\n\nOther text.\n")
    assert bench.again().pages[Slug("other")].finished.view_digest != before


def test_a_page_with_a_problem_is_looked_at_again(bench: Bench) -> None:
    """A file that could not be read may be readable, and look the same."""
    (bench.folder / "guide.md").write_bytes(b"\xff")
    bench.last = bench.again()
    assert not bench.is_kept(bench.again(), "guide")


def test_a_page_that_comes_or_goes_costs_those_that_name_it(bench: Bench) -> None:
    """Names are looked up as the service does: whatever case they are in."""
    page = bench.folder / "later.md"
    page.write_text("Here it is.\n")
    now = bench.with_other_names()
    assert bench.is_kept(now, "home")
    assert bench.is_kept(now, "guide")
    assert now.pages[Slug("wish")].finished.targets == ("later", "home")
    bench.last = now
    page.unlink()
    now = bench.with_other_names()
    assert bench.is_kept(now, "home")
    assert now.pages[Slug("wish")].finished.targets == ("home",)


def test_a_file_of_the_project_is_found_when_the_wiki_has_it(bench: Bench) -> None:
    unpack("-- uploads/a/map.png --\n", bench.folder)
    now = bench.with_other_names()
    assert now.pages[Slug("wish")].finished.attachments == ("uploads/a/map.png",)


def test_a_page_that_nobody_chose_stays_unread(bench: Bench) -> None:
    (bench.folder / "guide.md").write_text("# Guide\n")
    guide = bench.chosen().pages[Slug("guide")]
    assert not guide.is_read
    assert guide.parsed.title == "guide"
    assert bench.chosen(Slug("guide")).pages[Slug("guide")].parsed.title == "Guide"
    assert bench.chosen().pages[Slug("guide")].is_read


class Ahead(Indexer):
    """Tells when a page of the second wiki was parsed."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.is_parsed = Event()

    def _attempts_at(self, pages: Any, *given: Any) -> Any:
        made = super()._attempts_at(pages, *given)
        if pages[-1].slug == "second":
            self.is_parsed.set()
        return made


def test_pages_of_the_next_wiki_are_parsed_before_it_is_indexed(tmp_path: Path) -> None:
    """A page that the wiki before it has too is parsed twice, and is there once."""
    same = "-- home.md --\nThe same.\n"
    folders = [tmp_path / "a", tmp_path / "b"]
    unpack(f"{same}-- first.md --\n", folders[0])
    unpack(f"{same}-- second.md --\n[a link](home)\n", folders[1])
    with open_cache(tmp_path / "cache") as cache:
        sources = [wiki_source(one, one.name) for one in folders]
        scanned = [scan_wiki(one, cache) for one in sources]
        addresses = site_addresses(scanned, SiteOptions("Docs"))
        table = WikiTable([service_address(one) for one in sources], addresses)
        indexer = Ahead(cache, table, Progress(), MarkupOptions(), Attempts())
        with indexer.reading_ahead(dict(enumerate(scanned))):
            assert list(indexer.index(0, scanned[0]).pages) == ["first", "home"]
            assert indexer.is_parsed.wait(60)
            (folders[1] / "second.md").unlink()
            second = indexer.index(1, scanned[1])
        assert second.pages[Slug("second")].finished.targets == ("home",)
        assert second == indexer.index(1, scanned[1])


def test_what_is_known_of_all_pages_of_a_wiki_is_asked_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[object, ...]] = []

    def rows(cache: Cache, statement: str, *keys: object) -> list[Any]:
        if " parsed " in statement:
            asked.append(keys)
        return ask(cache, statement, *keys)

    ask = Cache.rows
    folder = unpack(WIKI, tmp_path / "wiki")
    with open_cache(tmp_path / "cache") as cache:
        source = wiki_source(folder)
        scanned = scan_wiki(source, cache)
        table = WikiTable(
            [service_address(source)], site_addresses([scanned], SiteOptions("Docs"))
        )
        indexer = Indexer(cache, table, Progress(), MarkupOptions(), Attempts())
        monkeypatch.setattr(Cache, "rows", rows)
        with indexer.reading_ahead({0: scanned}):
            indexer.index(0, scanned)
    # once to parse them ahead, once to find those that came meanwhile
    assert [len(keys) for keys in asked] == [4, 4]
