"""Big pages in the editor: the browser leaves out what is not in view."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.support.author import Author, writing
from tests.support.preview import Desk

if TYPE_CHECKING:
    from playwright.async_api import Browser, Route

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

LEFT_OUT = """() => [...document.querySelectorAll("main *")].filter(
    (it) => getComputedStyle(it).contentVisibility === "auto").length"""
"""How many elements the browser may leave out while they are not in view."""


async def test_of_a_big_page_what_is_typed_is_shown_first(
    chromium: Browser, desk: Desk
) -> None:
    """All of it takes seconds; the blocks around the cursor are rendered alone."""
    paragraphs = "\n\n".join(f"Paragraph {n} has some words." for n in range(4000))
    text = f"# Guide\n\n## Words\n\n{paragraphs}\n"
    (desk.root / "handbook" / "guide.md").write_text(text)
    drafts: list[dict[str, Any]] = []

    async def only_parts(route: Route) -> None:
        wish = route.request.post_data_json
        if wish and wish["is_whole"]:
            return await route.abort()
        answer = await route.fetch()
        drafts.append((await answer.json())[0])
        return await route.fulfill(response=answer)

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
        await author.shown("New words.")
        texts = await page.locator("article p").all_inner_texts()
        assert texts[3:6] == [
            "Paragraph 3 has some words.!",
            "New words.",
            "Paragraph 4 has some words.",
        ]
        assert len(texts) == 4001
        # the browser looks at each of them in each frame
        assert await page.evaluate(LEFT_OUT) < 100
        assert not any(draft["html"] for draft in drafts)
        # as a script of the theme may: all of the page is shown anew
        await page.evaluate("document.querySelector('wikisync-part > p').remove()")
        await page.keyboard.type(" Again.")
        await author.shown("New words. Again.")
        assert any(draft["html"] for draft in drafts)
        assert await page.evaluate(LEFT_OUT) < 100
        assert await page.locator("wikisync-part > p").count() == 4001
        assert await page.locator("wikisync-part :is(h1, h2)").count() == 0
        await author.button("Close the editor").click()
        await author.button("Drop it").click()
        await page.locator("article > p", has_text="Paragraph 3 has").first.wait_for()
        assert await page.locator("article > p").count() == 4000
        await page.close()


async def test_a_big_page_has_the_lines_of_one_that_is_read(
    chromium: Browser, desk: Desk
) -> None:
    words = "\n\n".join(["Some words. " * 40] * 300)
    (desk.root / "handbook" / "guide.md").write_text(f"# Guide\n\n{words}\n")
    width = "document.querySelector('article p').offsetWidth"
    async with writing(chromium, desk) as author:
        await author.page.set_viewport_size({"width": 1900, "height": 900})
        await author.page.goto(author.url + "guide.html")
        read = await author.page.evaluate(width)
        await author.edit()
        await author.page.locator("wikisync-part > p").first.wait_for()
        assert await author.page.evaluate(width) == read


async def test_text_beside_the_blocks_of_a_big_page_stays_in_its_place(
    chromium: Browser, desk: Desk
) -> None:
    words = "\n\n".join(["Some words. " * 40] * 300)
    loose = "<div>box</div> LOOSE <em>EM</em> TAIL"
    (desk.root / "handbook" / "guide.md").write_text(f"{loose}\n\n{words}\n")
    async with writing(chromium, desk) as author:
        await author.edit()
        shown = await author.page.locator("article").text_content()
    assert "box LOOSE EM TAIL" in (shown or "")


async def test_a_very_long_line_has_one_direction(
    chromium: Browser, desk: Desk
) -> None:
    """Chromium needs a second to lay out 700 KB of which each line may have its own."""
    long = "كلمات " * 20_000
    (desk.root / "handbook" / "guide.md").write_text(f"# Guide\n\nShort.\n\n{long}\n")
    look = """() => [...document.querySelectorAll("article p")].map((it) => {
        const { unicodeBidi, direction } = getComputedStyle(it);
        return `${unicodeBidi} ${direction}`; })"""
    async with writing(chromium, desk) as author:
        await author.edit()
        assert await author.page.evaluate(look) == ["plaintext ltr", "isolate rtl"]
        await author.source.get_by_text("كلمات").first.click()
        await author.page.keyboard.press("Control+End")
        await author.page.keyboard.type("New words.")
        await author.shown("New words.")
        assert await author.page.evaluate(look) == ["plaintext ltr", "isolate rtl"]
