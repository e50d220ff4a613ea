"""What the default theme does for a reader: code, tables, notes, pictures, folds."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any, Literal

import pytest
import pytest_asyncio

from tests.support.browser import MOBILE, Visit, visiting
from wikisync.core.model import WikiOwner
from wikisync.site.build import build_site
from wikisync.site.model import SiteOptions, WikiSource

if TYPE_CHECKING:
    from playwright.async_api import Browser, Locator

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

SIDEBAR = """\
- [Home](home)
- **Start**
  - [Code](code)
- [Others](home)
  - [Other](other)
- [Third](home)
  - [Last](code)
"""
WIDE_GIF = b"GIF89a" + bytes.fromhex(
    "b80b1e00800000 000000ffffff 2c000000000100010000 0202440100 3b"
)
"""3000 pixels wide."""
ROWS = "".join(f"| {number} | value |\n" for number in range(80))
CODE = f"""\
# Code

A note[^1] and one more[^two], and <sup><a href="#%E0%zz">nonsense</a></sup>.

```sh title="run.sh" linenums="1" hl_lines="2"
# a comment
wikisync export "$CI_SERVER_URL" {"--group docs " * 12} -o public || test $? -eq 3
echo done
```

```py {{1}}
x = 1 # one
```

![A wide picture](uploads/{"a" * 32}/wide.svg)

![A wide photo](uploads/{"a" * 32}/wide.gif)

> [!warning]
> Text.

| number | text |
|--------|------|
{ROWS}
| {" | ".join(f"column {number}" for number in range(30))} |
|{"---|" * 30}
| {" | ".join("value" for number in range(30))} |

[^1]: The first note.
[^two]: The `second` note.
"""
WIDE = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="3000" height="300">'
    '<rect width="3000" height="300" fill="green"/></svg>'
)
BLOCKS = 200
PHONE = {"viewport": MOBILE, "has_touch": True, "is_mobile": True}


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Address of a site of one wiki."""
    folder = tmp_path_factory.mktemp("comforts")
    pages = folder / "wiki"
    (pages / "uploads" / ("a" * 32)).mkdir(parents=True)
    (pages / "uploads" / ("a" * 32) / "wide.svg").write_text(WIDE)
    (pages / "uploads" / ("a" * 32) / "wide.gif").write_bytes(WIDE_GIF)
    (pages / "_sidebar.md").write_text(SIDEBAR)
    (pages / "code.md").write_text(CODE)
    (pages / "many.md").write_text("```\ncode\n```\n\n|a|\n|-|\n|b|\n\n" * BLOCKS)
    for name in ("home", "other"):
        (pages / f"{name}.md").write_text(f"# {name}\n\nText\n")
    source = WikiSource(WikiOwner("project", "docs/odd"), "Odd", folder=pages)
    build_site([source], folder / "site", SiteOptions("Odd"), cache=folder / "cache")
    return (folder / "site").as_uri() + "/"


@pytest_asyncio.fixture(loop_scope="session")
async def visit(chromium: Browser, site: str) -> AsyncIterator[Visit]:
    """A reader of the site."""
    async with visiting(chromium, site) as visit:
        yield visit


async def box_of(place: Locator) -> dict[str, float]:
    box = await place.bounding_box()
    assert box is not None
    return {name: box[name] for name in ("x", "y", "width", "height")}


@pytest.mark.parametrize("settings", [{}, {"color_scheme": "dark"}, PHONE])
async def test_axe_finds_nothing_in_numbered_and_marked_code(
    chromium: Browser, site: str, settings: dict[str, Any]
) -> None:
    async with visiting(chromium, site, **settings) as visit:
        await visit.go("code.html")
        await visit.page.locator(".tools").first.wait_for(state="attached")
        assert await visit.page.locator("figcaption").inner_text() == "run.sh"
        assert await visit.axe() == []


@pytest.mark.parametrize("settings", [{}, PHONE])
async def test_buttons_of_code_hide_no_character_of_it(
    chromium: Browser, site: str, settings: dict[str, Any]
) -> None:
    async with visiting(chromium, site, **settings) as visit:
        await visit.go("code.html")
        for block in await visit.page.locator(".copyable").all():
            await block.hover()
            tools = await box_of(block.locator(".tools"))
            code = await box_of(block.locator("code"))
            assert tools["y"] + tools["height"] <= code["y"]
            assert (
                await block.locator(".tools").evaluate(
                    "async node => { await new Promise(requestAnimationFrame);"
                    " return getComputedStyle(node).opacity }"
                )
                == "1"
            )


async def test_long_line_runs_to_the_edge_until_it_is_wrapped(visit: Visit) -> None:
    await visit.go("code.html")
    block = visit.page.locator(".copyable").first
    overflow = "node => node.scrollWidth - node.clientWidth"
    pre = block.locator("pre")
    assert await pre.evaluate(overflow) > 0
    assert "gradient" in await pre.evaluate("node => getComputedStyle(node).background")
    await block.hover()
    await block.get_by_role("button", name="Wrap").click()
    assert await pre.evaluate(overflow) == 0
    short = visit.page.locator(".copyable").nth(1)
    assert await short.get_by_role("button", name="Wrap").count() == 0


async def test_numbers_of_lines_are_not_copied(visit: Visit) -> None:
    await visit.page.add_init_script(
        "Object.defineProperty(navigator, 'clipboard',"
        " {value: {writeText: async (text) => { window.copied = text }}})"
    )
    await visit.go("code.html")
    block = visit.page.locator(".copyable").first
    await block.hover()
    await block.get_by_role("button", name="Copy").click()
    copied = (await visit.page.evaluate("window.copied")).splitlines()
    assert copied[0] == "# a comment"
    assert copied[1].endswith("|| test $? -eq 3")
    assert copied[2:] == ["echo done"]


async def test_head_of_a_long_table_stays_in_view(visit: Visit) -> None:
    await visit.go("code.html")
    table = visit.page.locator(".table-wrap").first
    await table.locator("tr").nth(60).evaluate("row => row.scrollIntoView()")
    head = await box_of(table.locator("th").first)
    bar = await box_of(visit.page.locator("header.top"))
    assert head["y"] == pytest.approx(bar["height"], abs=2)


async def test_note_is_shown_beside_its_number(visit: Visit) -> None:
    await visit.go("code.html")
    notes = visit.page.locator(".peek")
    assert [await note.text_content() for note in await notes.all()] == [
        "The first note.",
        "The second note.",
    ]
    assert not await notes.first.is_visible()
    await visit.page.locator("article sup a").first.focus()
    assert await notes.first.is_visible()
    assert not await notes.nth(1).is_visible()


@pytest.mark.parametrize(
    ("role", "name", "key"),
    [
        ("button", "A wide picture", "Enter"),
        ("button", "A wide picture", "Space"),
        ("link", "A wide photo", "Enter"),
    ],
)
async def test_picture_opens_in_its_own_size_and_closes(
    visit: Visit, role: Literal["button", "link"], name: str, key: str
) -> None:
    """A photo is a link to its file, too, for readers without script."""
    await visit.go("code.html")
    picture = visit.page.get_by_role(role, name=name)
    await visit.page.locator(f"img.zoom[alt='{name}']").wait_for()
    await picture.focus()
    await visit.page.keyboard.press(key)
    opened = visit.page.locator("dialog img")
    assert (await box_of(opened))["width"] == 3000
    assert await visit.axe() == []
    await visit.page.keyboard.press("Escape")
    await opened.wait_for(state="detached")


async def test_many_blocks_are_measured_together(visit: Visit) -> None:
    """A layout of the page for each kept a page of 1 MB waiting for ten seconds."""
    session = await visit.page.context.new_cdp_session(visit.page)
    await session.send("Performance.enable")
    await visit.go("many.html")
    assert await visit.page.locator(".copyable").count() == BLOCKS
    found = (await session.send("Performance.getMetrics"))["metrics"]
    counts = {one["name"]: one["value"] for one in found}
    assert counts["LayoutCount"] < BLOCKS / 2


async def test_sidebar_folds_and_stays_folded(visit: Visit) -> None:
    await visit.go("index.html")
    link = visit.page.locator(".sidebar").get_by_role("link", name="Code")
    other = visit.page.locator(".sidebar").get_by_role("link", name="Other", exact=True)
    assert await link.is_visible()
    last = visit.page.locator(".sidebar").get_by_role("link", name="Last")
    await visit.page.locator("summary", has_text="Start").click()
    await visit.page.locator("summary[aria-label=Third]").click()
    assert not await link.is_visible()
    await other.click()
    await visit.arrive("other.html")
    assert not await link.is_visible()
    assert not await last.is_visible()
    assert await other.is_visible()
    assert await visit.axe() == []
