"""Search as a reader uses it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

import pytest
from msgspec.structs import replace

from tests.e2e.conftest import sample_wikis
from tests.site.sites import wiki_source
from tests.support.archive import unpack
from tests.support.browser import SEARCH_BYTES, Visit, serving_folder, visiting
from tests.support.searched import searched
from tests.support.searching import (
    NOT_ALL,
    SEARCH,
    document,
    hits,
    hits_in,
    write_search_site,
)
from wikisync.markup.record import Section
from wikisync.site import search_terms
from wikisync.site.build import build_site
from wikisync.site.model import SiteOptions
from wikisync.site.search import SearchDocument
from wikisync.site.search_words import document_words, packed_words

if TYPE_CHECKING:
    from playwright.async_api import Browser, Route

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

HANDBOOK = "docs/handbook/-/wikis/"


@pytest.mark.parametrize("key", ["/", "Control+k"])
async def test_box_in_the_header_leads_to_the_heading(
    chromium: Browser, base: str, key: str
) -> None:
    async with visiting(chromium, base) as visit:
        await visit.go("index.html")
        await visit.page.keyboard.press(key)
        await visit.page.keyboard.type("markdown quotes")
        await visit.page.locator(".hits a").first.wait_for()
        for key in ("ArrowDown", "ArrowDown", "Enter"):
            await visit.page.keyboard.press(key)
        await visit.page.wait_for_url("**/formats/markdown.html#*")


async def test_hits_close_with_escape(visit: Visit) -> None:
    await visit.go("index.html")
    await visit.page.fill(".search input", "export")
    await visit.page.locator(".hits a").first.wait_for()
    await visit.page.keyboard.press("ArrowDown")
    await visit.page.keyboard.press("Escape")
    assert not await visit.page.locator(".hits").is_visible()
    # the keyboard goes on where the query is
    field = visit.page.locator(".search input").first
    assert await field.evaluate("node => node === document.activeElement")


async def test_box_leads_to_the_search_page_and_on_without_script(
    chromium: Browser, base: str
) -> None:
    async with visiting(chromium, base, java_script_enabled=False) as visit:
        await visit.go("index.html")
        await visit.page.fill(".search input", "export")
        await visit.page.keyboard.press("Enter")
        await visit.page.wait_for_url(f"{visit.base}{SEARCH}?q=export")
        await visit.page.locator("noscript a").click()
        await visit.arrive("-/all.html")


async def test_page_that_is_not_found_offers_a_search(visit: Visit) -> None:
    await visit.go("404.html")
    await visit.page.fill("main [name=q]", "export")
    await visit.page.keyboard.press("Enter")
    await visit.page.wait_for_url(f"{visit.base}{SEARCH}?q=export")


async def test_search_in_one_wiki_finds_nothing_of_others(visit: Visit) -> None:
    await visit.go(f"{SEARCH}?q=wiki")
    await visit.page.locator("#siteHits small", has_text="Handbook").first.wait_for()
    await visit.page.select_option("select[name=wiki]", label="Docs")
    await visit.page.locator("#siteHits small", has_text="Handbook").first.wait_for(
        state="detached"
    )
    assert await visit.page.locator("#siteHits a").count() > 0


@pytest.mark.parametrize("query", ["xyzzyplugh", "\U0001f600", "(*"])
async def test_what_is_nowhere_or_no_word_is_answered(visit: Visit, query: str) -> None:
    await visit.go(f"{SEARCH}?q={query}")
    await visit.page.get_by_text(NOT_ALL).wait_for()
    assert await visit.page.locator("#siteHits a").count() == 0


async def test_query_that_no_page_has_all_of_gives_those_with_the_most(
    chromium: Browser, tmp_path: Path
) -> None:
    texts = {"a": "resolve", "b": "resolve edits", "c": "two edits resolve"}
    documents = [document(f"{name}.html", text) for name, text in texts.items()]
    base = write_search_site(tmp_path, documents)
    async with visiting(chromium, base) as visit:
        found = await hits_in(visit, "edits resolve absent", is_partial=True)
        assert sorted(found) == ["b.html", "c.html"]
        await visit.page.get_by_text(NOT_ALL).wait_for()
        assert (await hits_in(visit, "two edits resolve"))[0] == "c.html"


async def test_words_of_how_to_queries_find_the_page_about_it(
    chromium: Browser, tmp_path: Path
) -> None:
    """Nouns of a verb, other forms, and names of settings."""
    texts = {
        "deployment": ("Deployment", "to a host"),
        "filter": ("Filtering", "lists"),
        "required": ("Required", "SECRET_KEY is text"),
        "vpn": ("Keys", "a key that is no secret, and one more secret for a key"),
    }
    documents = [
        document(f"{it}.html", text, title) for it, (title, text) in texts.items()
    ]
    base = write_search_site(tmp_path, documents)
    async with visiting(chromium, base) as visit:
        assert (await hits_in(visit, "deploy"))[0] == "deployment.html"
        assert (await hits_in(visit, "filtered"))[0] == "filter.html"
        assert "required.html" in await hits_in(visit, "secret key")


@pytest.mark.parametrize(
    ("query", "word"),
    [
        ("instalation", "installation"),
        ("installlation", "installation"),
        ("instalkation", "installation"),
        ("intsallation", "installation"),
        ("guide instalation", "installation"),
        ("instalations", "installation"),
        ("ketle", "kettles"),
    ],
)
async def test_word_with_a_slip_finds_the_word_that_was_meant(
    chromium: Browser, tmp_path: Path, query: str, word: str
) -> None:
    texts = {
        "meant": "guide: the installation of kettles, an installation ends",
        "rare": "a guide, no installatuon",
        "other": "guide inspiration",
    }
    documents = [document(f"{name}.html", text) for name, text in texts.items()]
    base = write_search_site(tmp_path, documents)
    async with visiting(chromium, base) as visit:
        assert await hits_in(visit, query) == ["meant.html"]
        marks = await visit.page.locator("#siteHits p mark").all_inner_texts()
        assert word in marks


async def test_short_word_and_one_that_is_there_are_taken_as_they_are(
    chromium: Browser, tmp_path: Path
) -> None:
    texts = ["form cart", "forms formula hooks", *["look for parts"] * 30]
    documents = [document(f"{number}.html", text) for number, text in enumerate(texts)]
    base = write_search_site(tmp_path, documents)
    async with visiting(chromium, base) as visit:
        assert await hits_in(visit, "formula") == ["1.html"]
        assert await hits_in(visit, "hooks") == ["1.html"]
        assert await hits_in(visit, "cart") == ["0.html"]
        assert await hits_in(visit, "frm", is_partial=True) == []


async def test_missing_index_says_what_to_copy(
    chromium: Browser, tmp_path: Path
) -> None:
    base = write_search_site(tmp_path, [document("a.html", "x")])
    (tmp_path / "-/search/index.js").unlink()
    async with visiting(chromium, base) as visit:
        await visit.page.goto(f"{base}{SEARCH}?q=x")
        await visit.page.get_by_text("could not be loaded").wait_for()
        visit.errors.clear()  # the browser itself complains of the missing file


async def test_every_word_is_found_in_an_index_of_many_levels(
    chromium: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Small shards split by many letters: words that begin others, whole scripts."""
    monkeypatch.setattr(search_terms, "SHARD_BYTES_MAX", 40)
    words = ["a", "abc", "abcd", "abce", "b_", "日本", "日曜"]
    base = write_search_site(
        tmp_path, [document(f"{word}.html", word) for word in words]
    )
    async with visiting(chromium, base) as visit:
        found = {word: await hits_in(visit, f"{word} {word}") for word in words}
        begun = await hits_in(visit, "abc")
    assert [word for word in words if f"{word}.html" not in found[word]] == []
    assert set(begun) == {"abc.html", "abcd.html", "abce.html"}


async def test_more_results_are_shown_on_demand(
    chromium: Browser, tmp_path: Path
) -> None:
    documents = [document(f"{n}.html", "same") for n in range(25)]
    base = write_search_site(tmp_path, documents)
    async with visiting(chromium, base) as visit:
        await visit.page.goto(f"{base}{SEARCH}?q=same")
        await visit.page.get_by_text("25 pages found").wait_for()
        items = visit.page.locator("#siteHits li")
        assert await items.count() == 10
        await visit.page.get_by_role("button", name="More results").click()
        await items.nth(19).wait_for()
        assert await items.count() == 20


async def test_title_with_markup_stays_text(chromium: Browser, tmp_path: Path) -> None:
    title = "<img src=x onerror=alert(1)> snapshot"
    base = write_search_site(tmp_path, [document("a.html", "snapshot", title=title)])
    async with visiting(chromium, base) as visit:
        await visit.page.goto(f"{base}{SEARCH}?q=snapshot")
        link = visit.page.locator("#siteHits a")
        assert (await link.inner_text()).strip() == title


def ranked_document() -> SearchDocument:
    """A page whose second section has more of the words, far from its beginning."""
    return searched(
        "a.html",
        "Page",
        Section("", "", "alpha alone"),
        Section("there", "There", "long " * 60 + "alpha and beta close together"),
    )


async def test_snippet_shows_the_words_of_the_best_section(
    chromium: Browser, tmp_path: Path
) -> None:
    base = write_search_site(tmp_path, [ranked_document()])
    async with visiting(chromium, base) as visit:
        assert await hits_in(visit, "alpha beta") == ["a.html", "a.html#there"]
        snippet = visit.page.locator("#siteHits p")
        assert await snippet.locator("mark").all_text_contents() == ["alpha", "beta"]
        assert (await snippet.text_content() or "").startswith("… ")


async def test_browser_that_cannot_unpack_texts_shows_how_pages_begin(
    chromium: Browser, tmp_path: Path
) -> None:
    base = write_search_site(tmp_path, [ranked_document()])
    async with visiting(chromium, base) as visit:
        await visit.page.add_init_script("delete window.DecompressionStream")
        assert await hits_in(visit, "alpha beta") == ["a.html"]
        assert await visit.page.locator("#siteHits p").text_content() == "alpha alone"


QUERIES = Path(__file__).parent / "queries"
ASK_ALL = """async queries => {
    const form = document.querySelector(".search-page"), all = [];
    for (const query of queries) {
        form.q.value = query;
        await form.oninput();
        const links = [...document.querySelectorAll("#siteHits > li > a")];
        all.push(links.slice(0, 3).map((link) => link.href));
    }
    return all;
}"""


@pytest.mark.parametrize(("column", "least"), [(0, 98), (1, 90)])
async def test_right_page_is_among_the_first_three(
    chromium: Browser, tmp_path: Path, column: int, least: int
) -> None:
    """Of 100 queries over two wikis, as people write them, and with a slip in each."""
    workshop = unpack(
        (QUERIES / "workshop.txt").read_text(encoding="utf-8"), tmp_path / "workshop"
    )
    handbook = next(one for one in sample_wikis() if one.title == "Handbook")
    source = wiki_source(workshop, "docs/workshop")
    build_site(
        [handbook, source],
        tmp_path / "site",
        SiteOptions("Docs"),
        cache=tmp_path / "cache",
    )
    rows = [
        (wiki, *line.split("\t"))
        for wiki in ("handbook", "workshop")
        for line in (QUERIES / f"{wiki}.tsv").read_text(encoding="utf-8").splitlines()
    ]
    base = (tmp_path / "site").as_uri() + "/"
    async with visiting(chromium, base) as visit:
        await visit.page.goto(f"{base}{SEARCH}")
        found = await visit.page.evaluate(ASK_ALL, [row[1 + column] for row in rows])
    missed = [
        row[1 + column]
        for row, urls in zip(rows, found, strict=True)
        if not {
            f"{base}docs/{row[0]}/-/wikis/{page}.html" for page in row[3].split(",")
        }
        & {unquote(url) for url in urls}
    ]
    assert len(rows) == 100
    assert len(rows) - len(missed) >= least, missed


async def test_first_hit_answers_what_people_ask_in_their_own_words(
    visit: Visit,
) -> None:
    text = (QUERIES / "guide.tsv").read_text(encoding="utf-8")
    answers = dict(line.split("\t") for line in text.splitlines())
    found = {
        query: (await hits_in(visit, query, is_partial=True))[0] for query in answers
    }
    pages = {
        query: url.partition("#")[0].removeprefix(HANDBOOK).removesuffix(".html")
        for query, url in found.items()
    }
    assert pages == answers


async def test_hit_names_each_heading_that_has_the_words(
    chromium: Browser, tmp_path: Path
) -> None:
    page = searched(
        "a.html",
        "Service",
        Section("", "", "wiki"),
        Section("start", "Start a backup", "text"),
        Section("other", "Other things", "text"),
        Section("restore", "Restore a backup", "the backup comes back"),
    )
    base = write_search_site(tmp_path, [page])
    assert await hits(chromium, base, "backup") == [
        *("a.html", "a.html#restore", "a.html#start")
    ]


async def test_hits_of_the_wiki_that_is_read_come_first(
    chromium: Browser, tmp_path: Path
) -> None:
    """Those of others follow, also where they fit better."""
    one = searched("a.html", "Backup", Section("", "", "backup"), wiki="One")
    two = searched("b.html", "Page", Section("", "", "some backup"), wiki="Two")
    base = write_search_site(tmp_path, [one, two])
    assert await hits(chromium, base, "backup") == ["a.html", "b.html"]
    async with visiting(chromium, base) as visit:
        assert await near_hits(visit, "backup", 2) == ["b.html", "a.html"]


async def test_pages_of_the_wiki_that_is_read_rank_as_if_it_were_alone(
    chromium: Browser, tmp_path: Path
) -> None:
    """Words that are common elsewhere may be rare in it; a page may lack one."""
    one = [
        searched(f"{n}.html", f"n{n}", Section("", "", "https tar"), wiki="One")
        for n in range(40)
    ]
    texts = {"Https": "collector", "Collector": "https"}
    texts["Odd"] = "word " * 900 + "collector tar"
    two = [
        searched(f"{title}.html", title, Section("", "", text), wiki="Two")
        for title, text in texts.items()
    ]
    for n in range(10):
        text = ("collector", "tar")[n % 2]
        two.append(searched(f"2-{n}.html", f"{n}", Section("", "", text), wiki="Two"))
    base = write_search_site(tmp_path, [*one, *two])
    async with visiting(chromium, base) as visit:
        found = await near_hits(visit, "https collector", 2)
        assert found == ["Https.html", "Collector.html"]
        found = await near_hits(visit, "tar collector", 2)
        assert found == ["Collector.html", "Odd.html"]


async def near_hits(visit: Visit, query: str, count: int) -> list[str]:
    """The first hits for a reader of the wiki Two."""
    await visit.page.goto(f"{visit.base}{SEARCH}?q={quote(query)}&near=Two")
    links = visit.page.locator("#siteHits a")
    await links.nth(count - 1).wait_for()
    hrefs = await links.evaluate_all("links => links.map(link => link.href)")
    return [unquote(href).removeprefix(visit.base) for href in hrefs[:count]]


async def test_search_for_a_tag_finds_its_pages_alone(
    chromium: Browser, tmp_path: Path
) -> None:
    words = document_words("B", (), ["How To"])
    pages = [
        document("a.html", "how to", "A"),
        replace(document("b.html", "", "B"), words=packed_words(words)),
    ]
    base = write_search_site(tmp_path, pages)
    assert await hits(chromium, base, "tag:how-to") == ["b.html"]
    assert await hits(chromium, base, 'b tag:"How to"') == ["b.html"]


async def test_phrase_in_quotes_is_found_in_this_order(
    chromium: Browser, tmp_path: Path
) -> None:
    pages = [
        document("a.html", "the wiki of a group"),
        document("b.html", "a group, and its wiki"),
    ]
    base = write_search_site(tmp_path, pages)
    async with visiting(chromium, base) as visit:
        assert await hits_in(visit, '"Group wiki"', is_partial=True) == []
    assert await hits(chromium, base, '"a group" wiki "THE wiki"') == ["a.html"]
    assert set(await hits(chromium, base, "group wiki")) == {"a.html", "b.html"}


async def test_phrase_is_looked_for_in_as_many_pages_as_bytes_allow(
    chromium: Browser, tmp_path: Path
) -> None:
    """One in the title needs no text; the reader asks for the rest.

    On the web only parts of files are loaded.
    """
    filler = " ".join(f"{number * 7919 % 99991:x}" for number in range(1500))
    pages = [document(f"{n}.html", f"big {filler} dog", "Big dog") for n in range(60)]
    pages += [document(f"p{n}.html", f"a dog, {filler} big") for n in range(40)]
    pages.append(document("z.html", f"{filler} the dog is big"))
    pages += [document(f"c{n}.html", f"the cat is big {filler}") for n in range(9)]
    write_search_site(tmp_path, pages)
    async with (
        serving_folder(tmp_path, "/on/the/web/") as base,
        visiting(chromium, base) as visit,
    ):
        assert len(await hits_in(visit, '"big dog"')) == 10
        assert await hits_in(visit, '"cat is big"')
        assert 10_000 < await visit.page.evaluate(SEARCH_BYTES) < 30_000
        assert await hits_in(visit, '"dog is big"', is_partial=True) == []
        assert 10_000 < await visit.page.evaluate(SEARCH_BYTES) < 30_000
        read = visit.page.get_by_text("pages that fit best; the others were not read.")
        before = await read.inner_text()
        await visit.page.get_by_role("button", name="More").click()
        await read.and_(visit.page.get_by_text(before)).wait_for(state="detached")
        assert int((await read.inner_text()).split()[5]) > int(before.split()[5])
        # a word that is nowhere, here or with a slip: no page is read
        assert await hits_in(visit, '"dog is bigg"', is_partial=True) == []
        assert await visit.page.evaluate(SEARCH_BYTES) < 7_000


async def test_part_that_is_not_what_was_asked_for_is_read_with_its_file(
    chromium: Browser, tmp_path: Path
) -> None:
    """A server may give less than that, and a site may have been replaced."""

    async def cut(route: Route) -> None:
        if route.request.headers.get("range", "bytes=0-").startswith("bytes=0-"):
            await route.fallback()
        else:
            await route.fulfill(status=206, body="[1")

    write_search_site(tmp_path, [document("a.html", "a snapshot", title="Größe")])
    async with (
        serving_folder(tmp_path, "/on/the/web/") as base,
        visiting(chromium, base) as visit,
    ):
        await visit.page.route("**/p-*.js", cut)
        assert await hits_in(visit, "snapshot") == ["a.html"]


async def test_words_are_marked_on_the_page_until_they_are_cleared(
    visit: Visit,
) -> None:
    await visit.go("index.html")
    await visit.page.fill(".search input", "markdown footnote")
    await visit.page.locator(".hits a").first.click()
    await visit.page.wait_for_url("**/formats/markdown.html*")
    marks = visit.page.locator("article mark")
    assert "footnote" in " ".join(await marks.all_inner_texts()).lower()
    await visit.page.get_by_role("button", name="Clear the marks").click()
    assert await marks.count() == 0
    await visit.page.reload()
    assert await marks.count() == 0
