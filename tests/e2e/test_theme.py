"""The default theme around odd sites: thousands of pages, other scripts, any logo."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from tests.support.archive import unpack
from tests.support.browser import MOBILE, Visit, unchecked_visit, visiting
from wikisync.cli.main import main
from wikisync.core.model import WikiOwner
from wikisync.errors import ExitCode
from wikisync.site.build import build_site
from wikisync.site.model import SiteOptions, WikiSource

if TYPE_CHECKING:
    from playwright.async_api import Browser

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

PAGES = 500
COLUMNS = 40
PAPER = {"width": 718, "height": 1047}
"""A4 without its margins, CSS pixels."""
BAR_HEIGHT = 57
"""Of the header with its line, CSS pixels."""
TARGET_MIN = 24
"""Of WCAG 2.2, CSS pixels."""
SCRIPTS = Path(__file__).with_name("scripts.txt")
"""Pages of scripts that run from right to left."""


def wide_page() -> str:
    """A table of many columns and rows, what is folded, and a long line of code."""
    row = "|" + "|".join(f"value{number}" for number in range(COLUMNS)) + "|\n"
    rule = "|" + "---|" * COLUMNS + "\n"
    fold = "\n<details><summary>Folded</summary>\n\nHidden\n\n</details>\n"
    return f"# Wide\n\n{row}{rule}{row * 60}{fold}\n```\n{'x = 1; ' * 60}\n```\n"


def long_page() -> str:
    """Many headings."""
    parts = [f"## Part {number}\n\n{'Words. ' * 90}\n\n" for number in range(90)]
    return "# Long\n\n" + "".join(parts)


@pytest.fixture(scope="session")
def odd_site(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Address of a site in English with pages that are not."""
    folder = tmp_path_factory.mktemp("odd")
    pages = unpack(SCRIPTS.read_text(encoding="utf-8"), folder / "wiki")
    (pages / "many").mkdir()
    (pages / "wide.md").write_text(wide_page())
    (pages / "long.md").write_text(long_page())
    for number in range(PAGES):
        page = f"# Page {number}\n\n[home](home) and [wide](wide)\n"
        (pages / f"many/page-{number}.md").write_text(page)
    return built(folder, pages, SiteOptions("Odd"))


@pytest_asyncio.fixture(loop_scope="session")
async def visit(chromium: Browser, odd_site: str) -> AsyncIterator[Visit]:
    """A reader of the odd site."""
    async with visiting(chromium, odd_site) as visit:
        yield visit


def built(folder: Path, pages: Path, options: SiteOptions) -> str:
    """Address of the site of one folder."""
    source = WikiSource(WikiOwner("project", "docs/odd"), "Odd", folder=pages)
    build_site([source], folder / "site", options, cache=folder / "cache")
    return (folder / "site").as_uri() + "/"


async def is_in_view(visit: Visit, entry: str, box: str) -> bool:
    """Whether an entry lies inside the visible part of its list."""
    entry_box, list_box = await visit.box(entry), await visit.box(box)
    top, bottom = list_box["y"], list_box["y"] + list_box["height"]
    return top <= entry_box["y"] and entry_box["y"] + entry_box["height"] <= bottom


async def test_tree_opens_at_the_page_and_the_window_at_its_top(visit: Visit) -> None:
    await visit.go("many/page-250.html")
    assert await is_in_view(visit, ".site-nav [aria-current]", ".site-nav")
    assert await visit.page.evaluate("scrollY") == 0


async def test_deep_tree_leaves_its_entries_room(
    chromium: Browser, tmp_path: Path
) -> None:
    names = [f"level-{number}" for number in range(12)]
    text = "".join(f"-- {'/'.join(names[: n + 1])}.md --\nx\n" for n in range(12))
    base = built(tmp_path, unpack(text, tmp_path / "wiki"), SiteOptions("Deep"))
    async with visiting(chromium, base) as visit:
        await visit.go("/".join(names) + ".html")
        entry, tree = await visit.box("[aria-current]"), await visit.box(".site-nav")
    assert entry["width"] > tree["width"] / 2


async def test_menu_of_a_phone_opens_at_the_page(
    chromium: Browser, odd_site: str
) -> None:
    async with visiting(chromium, odd_site, viewport=MOBILE) as visit:
        await visit.go("many/page-250.html")
        await visit.page.locator("label[for=siteNav]").click()
        assert await is_in_view(visit, ".site-nav [aria-current]", ".site-nav")


async def test_contents_follow_the_text_and_leave_it_where_it_is(visit: Visit) -> None:
    await visit.go("long.html#part-80")
    here = visit.page.locator(".contents .here", has_text="Part 80")
    await here.wait_for()
    assert await is_in_view(visit, ".contents .here", ".contents")
    top = "document.getElementById('part-80').getBoundingClientRect().top"
    assert 0 < await visit.page.evaluate(top) < 130


@pytest.mark.parametrize(
    ("link", "first"), [("pages before", "Page 0"), ("more pages", "Page 275")]
)
async def test_pages_that_the_tree_leaves_out_are_listed_where_it_leads(
    visit: Visit, link: str, first: str
) -> None:
    await visit.go("many/page-250.html")
    await visit.page.locator(".site-nav").get_by_role("link", name=link).click()
    assert visit.place().startswith("-/all.html#many/page-")
    entry = visit.page.locator(":target")
    assert (await entry.inner_text()).split("Many")[0].strip() == first
    assert await entry.evaluate("it => it.getBoundingClientRect().top < innerHeight")


@pytest.mark.parametrize("path", ["arabic.html", "hebrew.html"])
async def test_page_of_a_right_to_left_script_runs_from_right_to_left(
    visit: Visit, path: str
) -> None:
    """In a site whose own words run from left to right."""
    parts = {
        "table": "rtl",
        "article ul": "rtl",
        ":is(.task-list-item, .checklist li)": "rtl",
        "blockquote, .quoteblock": "rtl",
        ":is(.markdown-alert, .admonitionblock)": "rtl",
        ":is(.markdown-alert p, .admonitionblock td)": "rtl",
        ".contents ol": "rtl",
        "pre": "ltr",
        ".site-nav": "ltr",
        ".pager": "ltr",
    }
    await visit.go(path)
    direction = "node => getComputedStyle(node).direction"
    found = {
        part: await visit.page.locator(part).first.evaluate(direction) for part in parts
    }
    assert found == parts
    cells = await visit.page.locator("table tr:last-child td").all()
    first, second = [await cell.bounding_box() for cell in cells[:2]]
    assert first is not None
    assert second is not None
    assert first["x"] > second["x"]


async def test_title_of_a_note_begins_at_the_side_where_its_text_begins(
    visit: Visit,
) -> None:
    await visit.go("arabic.html")
    right = """node => {
        const range = document.createRange()
        range.selectNodeContents(node)
        return range.getBoundingClientRect().right
    }"""
    title, text = await visit.page.locator(".markdown-alert p").all()
    ends = [await one.evaluate(right) for one in (title, text)]
    # the icon stands before the title
    icon = await title.evaluate(
        "node => { const icon = getComputedStyle(node, '::before');"
        " return parseFloat(icon.width) + parseFloat(icon.marginInlineEnd) }"
    )
    assert icon > 16
    assert ends[0] + icon == pytest.approx(ends[1], abs=2)


async def test_words_to_search_for_have_room_on_a_phone(
    chromium: Browser, file_base: str
) -> None:
    async with visiting(chromium, file_base, viewport=MOBILE) as visit:
        await visit.go("-/search.html")
        box = (
            await visit.page.get_by_role("main").get_by_role("searchbox").bounding_box()
        )
        assert box is not None
        assert box["width"] > MOBILE["width"] / 2


async def test_wide_table_is_printed_whole(chromium: Browser, odd_site: str) -> None:
    async with visiting(chromium, odd_site, viewport=PAPER) as visit:
        await visit.page.emulate_media(media="print")
        await visit.go("wide.html")
        ends = await visit.page.locator("th, td, pre").evaluate_all(
            "nodes => nodes.map(node => node.getBoundingClientRect().right)"
        )
        assert max(ends) <= PAPER["width"]
        assert await visit.page.evaluate("document.body.scrollWidth") <= PAPER["width"]
        # the table does not wait for a page of its own
        kept = "node => getComputedStyle(node).breakInside"
        assert await visit.page.locator("table").evaluate(kept) == "auto"
        assert await visit.page.locator("tr").first.evaluate(kept) == "avoid"
        folded = visit.page.get_by_text("Hidden")
        assert await folded.evaluate("node => node.checkVisibility()")


async def test_links_and_keys_of_a_table_are_printed_as_their_text_is(
    chromium: Browser, sample_site: Path
) -> None:
    handbook = "docs/handbook/-/wikis/"
    async with visiting(chromium, sample_site.as_uri() + "/", viewport=PAPER) as visit:
        await visit.page.emulate_media(media="print")
        await visit.go(f"{handbook}index.html")
        size = "node => getComputedStyle(node).fontSize"
        link = visit.page.locator("td > a").first
        assert await link.evaluate(size) == await link.locator("..").evaluate(size)
        await visit.go(f"{handbook}reference/configuration.html")
        key = visit.page.locator("td > code", has_text="token_command").first
        assert await key.evaluate("node => node.getClientRects().length") == 1


@pytest.mark.parametrize("box", ["#siteNav", "#siteToc"])
async def test_enter_opens_a_menu_of_a_phone(
    chromium: Browser, sample_site: Path, box: str
) -> None:
    async with visiting(chromium, sample_site.as_uri() + "/", viewport=MOBILE) as visit:
        await visit.go("docs/handbook/-/wikis/formats/markdown.html")
        await visit.page.locator(box).focus()
        await visit.page.keyboard.press("Enter")
        assert await visit.page.locator(box).is_checked()


async def test_on_paper_notes_have_a_frame_and_heads_stay_where_they_belong(
    chromium: Browser, sample_site: Path
) -> None:
    """Printers leave backgrounds out."""
    async with visiting(chromium, sample_site.as_uri() + "/") as visit:
        await visit.go("docs/handbook/-/wikis/formats/markdown.html")
        note = visit.page.locator(".markdown-alert").first
        frame = "node => getComputedStyle(node).borderTopWidth"
        assert await note.evaluate(frame) == "0px"
        await visit.page.emulate_media(media="print")
        assert await note.evaluate(frame) == "1px"
        after = await visit.page.locator("article :is(h2, h3)").evaluate_all(
            "nodes => nodes.map(node => getComputedStyle(node).breakAfter)"
        )
        assert set(after) == {"avoid"}
        # of a table that was scrolled to, the head would be printed among its rows
        head = visit.page.locator(".fits thead th").first
        assert await head.evaluate("node => getComputedStyle(node).top") == "auto"


SMALL_TARGETS = """least => [...document.querySelectorAll(
    "a[href], button, input:enabled, select, summary, label"
)].filter(node => {
    const box = node.getBoundingClientRect();
    const isSeen = node.checkVisibility({visibilityProperty: true})
        && getComputedStyle(node).clipPath === "none" && box.width && box.height;
    // a link in a sentence is as tall as its line
    const isInLine = getComputedStyle(node).display === "inline";
    const isInText = isInLine && node.closest("article");
    return isSeen && !isInText && Math.min(box.width, box.height) < least;
}).map(node => node.outerHTML.slice(0, 200))"""


@pytest.mark.parametrize("viewport", [{"width": 1360, "height": 850}, MOBILE])
async def test_every_target_is_large_enough(
    chromium: Browser, file_base: str, viewport: dict[str, int]
) -> None:
    """What is pressed with a finger, but links in a sentence: WCAG 2.2, 2.5.8."""
    paths = (
        "index.html",
        "docs/handbook/-/wikis/formats/markdown.html",
        "docs/handbook/-/wikis/formats/asciidoc.html",
        "docs/-/wikis/decisions.html",
        "-/all/docs/handbook.html",
        "-/report.html",
        "-/search.html?q=wiki",
        "404.html",
    )
    async with visiting(chromium, file_base, viewport=viewport) as visit:
        small = []
        for path in paths:
            await visit.go(path)
            small += await visit.page.evaluate(SMALL_TARGETS, TARGET_MIN)
        assert small == []


LOGOS = {
    "wide": '<svg xmlns="http://www.w3.org/2000/svg" width="2000" height="300"/>',
    "tiny": '<svg xmlns="http://www.w3.org/2000/svg" width="10" height="10"/>',
    "tall": '<svg xmlns="http://www.w3.org/2000/svg" width="100" height="2000"/>',
    "boxed": '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 3"/>',
    "no-size": '<svg xmlns="http://www.w3.org/2000/svg"/>',
}


@pytest.mark.parametrize("logo", LOGOS)
@pytest.mark.parametrize("width", [1360, 390])
async def test_logo_of_any_size_stays_in_the_header(
    chromium: Browser, tmp_path: Path, logo: str, width: int
) -> None:
    (tmp_path / "wiki").mkdir()
    (tmp_path / "wiki/home.md").write_text("# Home\n")
    (tmp_path / "theme/static").mkdir(parents=True)
    (tmp_path / "theme/static/logo.svg").write_text(LOGOS[logo])
    options = SiteOptions(
        "A title", theme_options={"logo": "logo.svg"}, templates=tmp_path / "theme"
    )
    site = built(tmp_path, tmp_path / "wiki", options)
    viewport = {"width": width, "height": 700}
    async with visiting(chromium, site, viewport=viewport) as visit:
        await visit.go("index.html")
        bar = await visit.box(".top")
        picture = await visit.box(".brand img")
        title = await visit.box(".brand a")
        assert bar["height"] == BAR_HEIGHT
        assert (picture["height"], picture["width"] < width / 4) == (28, True)
        assert picture["x"] + picture["width"] <= title["x"]
        assert title["width"] > 50
        assert await visit.page.evaluate("document.body.scrollWidth") == width


@pytest.mark.parametrize("extends", ["default", "plain"])
async def test_theme_that_is_begun_looks_right(
    chromium: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, extends: str
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    ours, pages, site = tmp_path / "ours", tmp_path / "pages", tmp_path / "site"
    pages.mkdir()
    (pages / "home.md").write_text("# Home\n\nText.\n")
    assert main(["theme", "new", str(ours), "--extends", extends]) == ExitCode.DONE
    words = ["build", str(pages), "-o", str(site), "--theme", str(ours)]
    assert main([*words, "--theme-option", "banner=Closed"]) == ExitCode.DONE
    for settings in ({}, {"viewport": MOBILE}, {"color_scheme": "dark"}):
        async with visiting(chromium, site.as_uri() + "/", **settings) as visit:
            await visit.go("index.html")
            banner = await visit.page.get_by_text("Closed").bounding_box()
            footer = await visit.box(".bottom p")
            assert banner is not None
            assert banner["x"] == footer["x"]
            assert await visit.axe() == []


async def test_media_of_other_hosts_are_asked_for_with_and_without_tls(
    chromium: Browser, tmp_path: Path
) -> None:
    """A wiki on plain http takes pictures from hosts beside it."""
    names = [f"{way}://media.example.com/a" for way in ("http", "https")]
    addresses = [f"{name}.{kind}" for name in names for kind in ("mp4", "png")]
    text = "-- home.md --\n" + "".join(f"![a]({one})\n" for one in addresses)
    base = built(tmp_path, unpack(text, tmp_path / "wiki"), SiteOptions("Media"))
    async with unchecked_visit(chromium, base) as visit:
        await visit.go("index.html")
        await visit.page.wait_for_load_state("networkidle")
        assert sorted(visit.outside) == addresses


async def test_plain_theme_names_the_way_to_a_page_above_its_title(
    chromium: Browser, tmp_path: Path
) -> None:
    pages = unpack("-- home.md --\n# A\n-- b.md --\n# B\n", tmp_path / "wiki")
    base = built(tmp_path, pages, SiteOptions("Plain", theme="plain"))
    async with visiting(chromium, base) as visit:
        await visit.go("index.html")
        assert await visit.page.inner_text(".pager a") == "Next\nB"


async def test_plain_theme_keeps_a_logo_small_and_prints_a_wide_table_whole(
    chromium: Browser, tmp_path: Path
) -> None:
    (tmp_path / "wiki").mkdir()
    (tmp_path / "wiki/home.md").write_text(wide_page())
    (tmp_path / "theme/static").mkdir(parents=True)
    (tmp_path / "theme/static/logo.svg").write_text(LOGOS["wide"])
    options = SiteOptions(
        "A title",
        theme="plain",
        theme_options={"logo": "logo.svg"},
        templates=tmp_path / "theme",
    )
    site = built(tmp_path, tmp_path / "wiki", options)
    async with visiting(chromium, site, viewport=PAPER) as visit:
        await visit.go("index.html")
        logo = await visit.box(".brand img")
        assert (logo["height"], logo["width"] < PAPER["width"] / 2) == (28, True)
        await visit.page.emulate_media(media="print")
        assert await visit.page.evaluate("document.body.scrollWidth") <= PAPER["width"]


@pytest.mark.parametrize("direction", ["ltr", "rtl"])
async def test_sign_of_the_search_key_stands_at_the_end_of_its_box(
    chromium: Browser, sample_site: Path, rtl_site: Path, direction: str
) -> None:
    site = rtl_site if direction == "rtl" else sample_site
    async with visiting(chromium, site.as_uri() + "/") as visit:
        await visit.go("index.html")
        icon = await visit.box(".search svg")
        key = await visit.box(".search kbd")
        assert (key["x"] > icon["x"] + 100) == (direction == "ltr")
        assert abs(key["x"] - icon["x"]) > 100
