"""Writing in the page: the editor of the preview as a person meets it."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.browser import visiting
from tests.support.preview import Desk
from wikisync.site.preview.server import PreviewOptions

if TYPE_CHECKING:
    from playwright.async_api import Browser, BrowserContext, Locator, Page, Route

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

SECTIONS = "\n\n".join(f"## Section {n}\n\n{'Some words. ' * 40}" for n in range(12))
WIKI = f"""\
-- home.md --
# Welcome

See [the guide](guide) and [a plan](plans/next).
-- guide.md --
# Guide

First words.

Middle words.

Last words.
-- long.md --
# Long

{SECTIONS}
-- team/one.org --
* One

Words.
-- templates/minutes.md --
# Minutes of today
"""
GUIDE = "# Guide\n\nFirst words.\n\nMiddle words.\n\nLast words.\n"


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    desk = Desk(tmp_path)
    desk.add(WIKI)
    return desk


@dataclass
class Author:
    """A person with the editor in a window."""

    page: Page
    url: str
    root: Path

    async def edit(self, at: str = "guide.html") -> None:
        await self.page.goto(self.url + at)
        await self.button("Edit").click()
        await self.source.wait_for()

    def button(self, name: str) -> Locator:
        return self.page.get_by_role("button", name=name, exact=True)

    def dialog(self, name: str) -> Locator:
        return self.page.get_by_role("dialog", name=name)

    @property
    def source(self) -> Locator:
        return self.page.locator(".cm-content")

    async def text(self) -> str:
        lines = await self.page.locator(".cm-line").all_inner_texts()
        return "\n".join("" if line == "\n" else line for line in lines)

    async def type_at_end(self, text: str) -> None:
        await self.source.click()
        await self.page.keyboard.press("Control+End")
        await self.page.keyboard.type(text)

    async def replace(self, old: str, new: str) -> None:
        """Type over words of the source."""
        await self.source.get_by_text(old).first.click()
        await self.page.keyboard.press("Home")
        await self.page.keyboard.press("Shift+End")
        await self.page.keyboard.type(new)

    async def save(self) -> None:
        await self.page.keyboard.press("Control+s")

    async def said(self, text: str) -> None:
        await self.page.locator(".said", has_text=text).wait_for()

    async def shown(self, text: str) -> None:
        await self.page.locator("main").get_by_text(text).first.wait_for()


@asynccontextmanager
async def writing(
    chromium: Browser, desk: Desk, options: PreviewOptions | None = None
) -> AsyncIterator[Author]:
    """An author's window, which must cause no error and ask nobody else."""
    async with (
        desk.previewing(options) as reader,
        visiting(chromium, reader.preview.url) as visit,
    ):
        yield Author(visit.page, reader.preview.url, desk.root / "handbook")


@asynccontextmanager
async def second_window(author: Author) -> AsyncIterator[Author]:
    """Another tab of the same browser."""
    page = await author.page.context.new_page()
    yield Author(page, author.url, author.root)
    await page.close()


# Writing ---------------------------------------------------------------------------


async def test_the_page_follows_the_text_before_it_is_saved(
    chromium: Browser, desk: Desk
) -> None:
    async with writing(chromium, desk) as author:
        await author.edit()
        await author.type_at_end("\n\nUnsaved **words**.")
        await author.page.locator("main strong", has_text="words").wait_for()
        assert (author.root / "guide.md").read_text() == GUIDE
        await author.save()
        await author.said("Saved.")
    text = (desk.root / "handbook" / "guide.md").read_text()
    assert text == f"{GUIDE}\n\nUnsaved **words**."


async def test_of_a_big_page_what_is_typed_is_shown_first(
    chromium: Browser, desk: Desk
) -> None:
    """All of it takes seconds; the blocks around the cursor are rendered alone."""
    paragraphs = "\n\n".join(f"Paragraph {n} has some words." for n in range(4000))
    (desk.root / "handbook" / "guide.md").write_text(f"# Guide\n\n{paragraphs}\n")

    async def only_parts(route: Route) -> None:
        wish = route.request.post_data_json
        await (route.continue_() if wish and wish["parts"] else route.abort())

    async with desk.previewing() as reader:
        page = await chromium.new_page()
        author = Author(page, reader.preview.url, desk.root / "handbook")
        async with page.expect_response("**/-/preview/draft") as answered:
            await author.edit()
        await (await answered.value).finished()
        await page.route("**/-/preview/draft", only_parts)
        line = author.source.get_by_text("Paragraph 3 has", exact=False)
        await line.first.click()
        await page.keyboard.press("End")
        await page.keyboard.type("!\n\nNew **words**.")
        await page.locator("main strong", has_text="words").wait_for()
        texts = await page.locator("article > p").all_inner_texts()
        assert texts[3:6] == [
            "Paragraph 3 has some words.!",
            "New words.",
            "Paragraph 4 has some words.",
        ]
        assert len(texts) == 4001
        await page.close()


async def test_a_page_that_nobody_edits_loads_no_editor(
    chromium: Browser, desk: Desk
) -> None:
    async with writing(chromium, desk) as author:
        asked: list[str] = []
        author.page.on("request", lambda one: asked.append(one.url))
        await author.page.goto(author.url + "guide.html")
        await author.button("Edit").wait_for()
        assert not [url for url in asked if "codemirror" in url or "write" in url]
        await author.button("Edit").click()
        await author.source.wait_for()
        assert [url for url in asked if "codemirror" in url]


async def test_both_sides_scroll_together(chromium: Browser, desk: Desk) -> None:
    async with writing(chromium, desk) as author:
        await author.edit("long.html")
        await author.source.click()
        await author.page.keyboard.press("Control+End")
        await author.page.wait_for_function(
            "() => [...document.querySelectorAll('main h2[id]')].findLast("
            "(one) => one.textContent.includes('Section 11'))"
            ".getBoundingClientRect().top < 850"
        )
        await author.page.locator("main").hover()
        await author.page.mouse.wheel(0, -100_000)
        await author.page.wait_for_function(
            "() => document.querySelector('main').scrollTop === 0"
        )
        await author.source.get_by_text("# Long", exact=True).wait_for()


async def test_keys_format_link_and_go_on_with_lists(
    chromium: Browser, desk: Desk
) -> None:
    async with writing(chromium, desk) as author:
        await author.edit()
        keys = author.page.keyboard
        await author.type_at_end("\n")
        await keys.press("Control+b")
        await keys.type("bold")
        await keys.press("End")
        await keys.type("\n- [x] one\ntwo\n\n1. three\nfour\n\n")
        await keys.press("Control+k")
        await keys.type("text")
        text = await author.text()
    assert text.endswith("**bold**\n- [x] one\n- [ ] two\n1. three\n2. four\n[text]()")


async def test_links_are_completed_with_the_pages_of_the_wiki(
    chromium: Browser, desk: Desk
) -> None:
    async with writing(chromium, desk) as author:
        await author.edit()
        await author.type_at_end("\n")
        await author.page.keyboard.type("[x](team")
        await author.page.get_by_role("option", name="team/one").click()
        assert (await author.text()).endswith("[x](team/one")


async def test_headings_of_other_pages_and_emoji_are_completed(
    chromium: Browser, desk: Desk
) -> None:
    async with writing(chromium, desk) as author:
        await author.edit()
        keys = author.page.keyboard
        await author.type_at_end("\n:tada")
        await author.page.get_by_role("option", name=":tada:").click()
        await keys.type(" [x](long#section-1")
        await author.page.get_by_role("option", name="long#section-11").click()
        assert ":tada: [x](long#section-1" in await author.text()


async def test_what_is_wrong_is_marked_while_writing_and_led_to(
    chromium: Browser, desk: Desk
) -> None:
    async with writing(chromium, desk) as author:
        await author.edit()
        await author.type_at_end("\n\n[x](no/such) and ![y](uploads/none.png)")
        wrong = author.page.get_by_role("list", name="What is wrong in this text")
        await wrong.get_by_text("Line 10: uploads/none.png").wait_for()
        assert await author.page.locator(".hl-broken").count() == 2
        await author.page.keyboard.press("Control+Home")
        await author.button("Line 10: no/such: there is no such page").click()
        await author.page.keyboard.type("! ")
        assert (await author.text()).endswith(
            "\n! [x](no/such) and ![y](uploads/none.png)"
        )
        await author.page.keyboard.press("Control+a")
        await author.page.keyboard.press("Backspace")
        await wrong.wait_for(state="hidden")


async def test_a_box_is_ticked_on_the_page_and_in_the_editor(
    chromium: Browser, desk: Desk
) -> None:
    file = desk.root / "handbook" / "guide.md"
    file.write_text("# Guide\n\n- [ ] one\n- [ ] two\n")
    async with writing(chromium, desk) as author:
        await author.page.goto(author.url + "guide.html")
        two = author.page.get_by_role("checkbox", name="To do: two")
        await two.click()
        await author.page.get_by_role("checkbox", name="Done: two").wait_for()
        assert file.read_text() == "# Guide\n\n- [ ] one\n- [x] two\n"
        await author.button("Edit").click()
        await author.source.wait_for()
        await author.page.get_by_role("checkbox", name="To do: one").click()
        await author.source.get_by_text("- [x] one").wait_for()
        assert file.read_text() == "# Guide\n\n- [ ] one\n- [x] two\n"
        await author.save()
        await author.said("Saved.")
    assert file.read_text() == "# Guide\n\n- [x] one\n- [x] two\n"


async def test_the_editor_opens_at_the_heading_in_view(
    chromium: Browser, desk: Desk
) -> None:
    async with writing(chromium, desk) as author:
        await author.page.goto(author.url + "long.html#section-8")
        await author.page.wait_for_function("scrollY > 0")
        await author.button("Edit").click()
        await author.source.get_by_text("## Section 8", exact=True).wait_for()
        await author.page.keyboard.press("End")
        await author.page.keyboard.type("!")
        await author.source.get_by_text("## Section 8!", exact=True).wait_for()


async def test_a_pasted_picture_is_kept_and_shown(
    chromium: Browser, desk: Desk, tmp_path: Path
) -> None:
    png = base64.b64decode(
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    )
    (tmp_path / "my map.png").write_bytes(png)
    async with writing(chromium, desk) as author:
        await author.edit("team/one.html")
        await author.type_at_end("\n")
        await author.page.locator("input[type=file]").set_input_files(
            tmp_path / "my map.png"
        )
        await author.said("my map.png is in uploads/")
        await author.page.locator("main img[src*='my-map.png']").wait_for()
        assert "[[file:uploads/" in await author.text()
    (kept,) = (desk.root / "handbook" / "uploads").rglob("*.png")
    assert kept.read_bytes() == png


# Two writers -----------------------------------------------------------------------


async def test_another_change_of_the_file_is_merged_and_told(
    chromium: Browser, desk: Desk
) -> None:
    async with writing(chromium, desk) as author:
        await author.edit()
        await author.replace("Last words", "My last words.")
        (author.root / "guide.md").write_text(GUIDE.replace("First", "Their first"))
        await author.said("Save merges both texts")
        await author.save()
        await author.said("merged with another change of the file: line 3")
        both = GUIDE.replace("First", "Their first").replace("Last", "My last")
        assert (author.root / "guide.md").read_text() == both
        assert "Their first words." in await author.text()


async def test_a_clash_is_shown_and_settled_in_the_page(
    chromium: Browser, desk: Desk
) -> None:
    async with writing(chromium, desk) as author:
        await author.edit()
        await author.replace("Middle words", "Mine in the middle.")
        theirs = GUIDE.replace("Middle words", "Theirs in the middle")
        (author.root / "guide.md").write_text(theirs)
        await author.save()
        clash = author.dialog("Two texts for the same place")
        await clash.get_by_text("Theirs in the middle.").wait_for()
        assert (author.root / "guide.md").read_text() == theirs
        assert await author.button("Use these texts").is_disabled()
        await author.button("Both").click()
        await author.button("Use these texts").click()
        await author.said("Saved.")
        text = (author.root / "guide.md").read_text()
    assert "Mine in the middle." in text
    assert "Theirs in the middle." in text


async def test_what_is_saved_while_a_save_is_on_its_way_is_saved_too(
    chromium: Browser, desk: Desk
) -> None:
    async with writing(chromium, desk) as author:
        await author.edit()
        answered, asked = asyncio.Event(), asyncio.Event()

        async def hold(route: Route) -> None:
            if asked.is_set():
                return await route.fallback()
            asked.set()
            answer = await route.fetch()
            await answered.wait()
            return await route.fulfill(response=answer)

        await author.page.route("**/-/preview/save", hold)
        await author.type_at_end("\n\nOne.")
        await author.save()
        await asked.wait()
        await author.page.keyboard.type(" Two.")
        await author.save()
        answered.set()
        saved = author.button("Save (Ctrl+S)").and_(author.page.locator(":disabled"))
        await saved.wait_for()
    text = (desk.root / "handbook" / "guide.md").read_text()
    assert text == f"{GUIDE}\n\nOne. Two."


async def test_two_tabs_lose_nothing_of_each_other(
    chromium: Browser, desk: Desk
) -> None:
    async with writing(chromium, desk) as one, second_window(one) as other:
        await one.edit()
        await other.edit()
        await one.replace("First words", "From the first tab.")
        await other.replace("Last words", "From the second tab.")
        await one.save()
        await one.said("Saved.")
        await other.save()
        await other.said("merged")
        text = (one.root / "guide.md").read_text()
    assert "From the first tab." in text
    assert "From the second tab." in text


async def test_a_conflict_of_the_sync_is_settled_in_the_page(
    chromium: Browser, desk: Desk
) -> None:
    conflict = desk.root / "handbook" / "guide.conflict.md"
    mark = "%%%% wikisync conflict 1 of 1:"
    conflict.write_text(
        f"# Guide\n{mark} on the wiki %%%%\nTheirs.\n{mark} here %%%%\nMine.\n"
        f"{mark} end %%%%\n"
    )
    async with writing(chromium, desk) as author:
        await author.page.goto(author.url + "guide.html")
        await author.button("Edit").click()
        await author.button("Take the wiki's").click()
        await author.button("Use these texts").click()
        await author.said("The conflict is settled")
    assert conflict.read_text() == "# Guide\nTheirs.\n"


# Texts that no file holds ------------------------------------------------------------


async def test_a_text_survives_the_tab_and_the_preview(
    chromium: Browser, desk: Desk
) -> None:
    """The tab is closed and the preview ends before anything was saved."""
    context: BrowserContext = await chromium.new_context()
    async with desk.previewing() as reader:
        port = int(reader.preview.url.rstrip("/").rpartition(":")[2])
        author = Author(
            await context.new_page(), reader.preview.url, desk.root / "handbook"
        )
        await author.edit()
        await author.type_at_end("\n\nNever saved.")
        await author.shown("Never saved.")
        await author.page.close()
    async with desk.previewing(PreviewOptions(port=port)) as reader:
        author = Author(await context.new_page(), reader.preview.url, author.root)
        await author.page.goto(author.url + "guide.html")
        await author.button("Edit").click()
        await author.button("Take it").click()
        await author.said("which is not saved yet")
        await author.save()
        await author.said("Saved.")
        kept = await author.page.evaluate("Object.keys(localStorage).join()")
    await context.close()
    assert "Never saved." in (author.root / "guide.md").read_text()
    assert "wikisync-draft" not in kept


async def test_a_reload_keeps_what_was_typed(chromium: Browser, desk: Desk) -> None:
    async with writing(chromium, desk) as author:
        await author.edit()
        await author.type_at_end("\n\nTyped before.")
        await author.page.reload()
        await author.source.get_by_text("Typed before.").wait_for()
        await author.said("which is not saved yet")


async def test_a_deleted_file_is_written_again_when_asked(
    chromium: Browser, desk: Desk
) -> None:
    async with writing(chromium, desk) as author:
        await author.edit()
        await author.type_at_end("\nMy words.")
        (author.root / "guide.md").unlink()
        await author.said("The file of this page is gone")
        await author.save()
        await author.button("Write it again").click()
        await author.said("Saved as a new file.")
        assert "My words." in (author.root / "guide.md").read_text()


# Pages -----------------------------------------------------------------------------


async def test_a_page_is_created_where_there_is_none(
    chromium: Browser, desk: Desk
) -> None:
    async with desk.previewing() as reader:
        page = await chromium.new_page()
        author = Author(page, reader.preview.url, desk.root / "handbook")
        await page.goto(author.url + "notes.html")
        await author.button("Create").click()
        dialog = author.dialog("Create notes.md")
        await dialog.get_by_label("Begin with").select_option("templates/minutes")
        await dialog.get_by_role("button", name="Create", exact=True).click()
        await author.source.get_by_text("Minutes of today").wait_for()
        await page.close()
    assert (desk.root / "handbook" / "notes.md").read_text() == "# Minutes of today\n"


async def test_a_red_link_creates_its_page_by_keyboard(
    chromium: Browser, desk: Desk
) -> None:
    async with writing(chromium, desk) as author:
        await author.page.goto(author.url + "index.html")
        await author.page.get_by_role("button", name="a plan").focus()
        await author.page.keyboard.press("Enter")
        dialog = author.dialog("Create plans/next.md")
        await dialog.get_by_role("button", name="Create", exact=True).click()
        await author.source.get_by_text("# next").wait_for()
    assert (desk.root / "handbook" / "plans" / "next.md").exists()


async def test_a_page_is_renamed_with_its_links_and_followed(
    chromium: Browser, desk: Desk
) -> None:
    async with writing(chromium, desk) as author:
        await author.edit()
        await author.button("More: new page, rename, delete").click()
        await author.button("Rename…").click()
        await author.page.get_by_label("New name").fill("manual/first")
        await author.button("Next").click()
        await author.page.get_by_text("home.md: 1 link").wait_for()
        await author.button("Rename").click()
        await author.page.wait_for_url("**/manual/first.html")
        await author.source.get_by_text("First words").wait_for()
    home = (desk.root / "handbook" / "home.md").read_text()
    assert "[the guide](manual/first)" in home


async def test_a_page_is_deleted_and_restored(chromium: Browser, desk: Desk) -> None:
    async with desk.previewing() as reader:
        page = await chromium.new_page()
        author = Author(page, reader.preview.url, desk.root / "handbook")
        await author.edit()
        await author.type_at_end("\nNot saved yet.")
        await author.button("More: new page, rename, delete").click()
        await author.button("Delete…").click()
        await author.button("Delete").click()
        await author.button("Create").click()
        assert not (author.root / "guide.md").exists()
        await author.button("Restore the deleted page").click()
        await author.source.get_by_text("First words").wait_for()
        await page.close()
    assert (desk.root / "handbook" / "guide.md").read_text() == (
        f"{GUIDE}\nNot saved yet."
    )


async def test_an_editor_that_cannot_be_loaded_is_told(
    chromium: Browser, desk: Desk
) -> None:
    async with desk.previewing() as reader:
        page = await chromium.new_page()
        author = Author(page, reader.preview.url, desk.root / "handbook")
        await page.goto(author.url + "guide.html")
        await page.route("**/write-*.js", lambda route: route.abort())
        await author.button("Edit").click()
        await page.get_by_text("the editor cannot be loaded").wait_for()
        await page.unroute("**/write-*.js")
        await author.button("Edit").click()
        await author.source.wait_for()
        await page.close()


async def test_a_read_only_preview_offers_no_editor(
    chromium: Browser, desk: Desk
) -> None:
    async with writing(chromium, desk, PreviewOptions(is_read_only=True)) as author:
        await author.page.goto(author.url + "guide.html")
        await author.page.get_by_text("live").wait_for()
        assert await author.button("Edit").count() == 0


# Everybody -------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [(1280, 800), (390, 844)])
async def test_the_editor_is_accessible(
    chromium: Browser, desk: Desk, scheme: str, size: tuple[int, int]
) -> None:
    width, height = size
    async with (
        desk.previewing() as reader,
        visiting(
            chromium,
            reader.preview.url,
            color_scheme=scheme,
            viewport={"width": width, "height": height},
        ) as visit,
    ):
        author = Author(visit.page, reader.preview.url, desk.root / "handbook")
        await author.edit()
        await author.type_at_end(
            "\n\n## A heading\n\n- one `code` [link](home) [none](none)\n"
        )
        await author.page.get_by_text("Line 12: none").wait_for()
        await author.page.keyboard.press("Control+f")
        assert await visit.axe() == []
        await author.page.keyboard.press("Escape")
        await author.button("More: new page, rename, delete").click()
        assert await visit.axe() == []


async def test_the_editor_is_left_by_keyboard(chromium: Browser, desk: Desk) -> None:
    async with writing(chromium, desk) as author:
        await author.edit()
        await author.source.click()
        await author.page.keyboard.press("Tab")
        inside = "document.activeElement.shadowRoot?.activeElement?.className ?? ''"
        assert "cm-content" not in await author.page.evaluate(inside)
        await author.button("Close the editor").click()
        assert await author.page.locator("main").get_by_text("First words").count() == 1
        assert (
            await author.page.evaluate("document.querySelectorAll('[inert]').length")
            == 0
        )
