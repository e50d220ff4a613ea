"""A page that gets another name while it is in the page's editor."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest

from tests.support.author import DRAFTS, GUIDE, Author, held, second_window, writing
from tests.support.browser import lose_first, unchecked_visit
from tests.support.preview import Desk
from wikisync.site.preview.server import PreviewOptions

if TYPE_CHECKING:
    from playwright.async_api import Browser, BrowserContext, Locator, WebSocketRoute

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


async def test_a_question_outlives_a_rename_and_a_picture_that_comes_meanwhile(
    author: Author,
) -> None:
    await author.edit()
    uploaded, answered = await held(author, "file")
    await author.page.locator("input[type=file]").set_input_files(
        {"name": "map.png", "mimeType": "image/png", "buffer": b"png"}
    )
    await uploaded.wait()
    await author.replace("Middle words", "Mine in the middle.")
    theirs = GUIDE.replace("Middle words", "Theirs in the middle")
    (author.root / "guide.md").write_text(theirs)
    await author.save()
    await author.page.get_by_label("Text for place 1").click()
    await author.page.keyboard.type("Ours.")
    (author.root / "guide.md").rename(author.root / "manual.md")
    await author.page.wait_for_url("**/manual.html")
    answered.set()
    await author.source.get_by_text("map.png").wait_for()
    await author.button("Use these texts").click()
    await author.said("Saved.")
    text = (author.root / "manual.md").read_text()
    assert "Ours." in text
    assert "![map](uploads/" in text


async def test_a_text_goes_with_the_page_that_is_renamed_meanwhile(
    author: Author, other: Author
) -> None:
    """In an open editor, and in a tab that was closed before."""
    for one in (author, other):
        await one.edit()
    await other.type_at_end("\n\nOf the closed tab.")
    await other.page.wait_for_function(DRAFTS)
    await other.page.close()
    await author.type_at_end("\n\nNot saved.")
    renamed = author.root / "team" / "manual.md"
    (author.root / "guide.md").rename(renamed)
    await author.page.wait_for_url("**/team/manual.html")
    await author.source.get_by_text("Not saved.").wait_for()
    await author.opened()
    await author.save()
    await author.said("Saved.")
    assert renamed.read_text() == f"{GUIDE}\n\nNot saved."
    await author.button("Close the editor").click()
    await author.button("Edit").click()
    await author.button("Take it").click()
    await author.source.get_by_text("Of the closed tab.").wait_for()


async def test_a_page_that_is_renamed_twice_at_once_is_followed(
    chromium: Browser, desk: Desk
) -> None:
    """The second time before the window hears of its new address.

    What it asks of the name between may be answered 404, which a console shows.
    """
    async with (
        desk.previewing() as reader,
        unchecked_visit(chromium, reader.preview.url) as visit,
    ):
        author = Author(visit.page, reader.preview.url, desk.root / "handbook")
        await author.edit()
        await author.type_at_end("\n\nNot saved.")
        manual, book = author.root / "manual.md", author.root / "book.md"

        async def hold(socket: WebSocketRoute) -> None:
            manual.rename(book)
            asking = author.page.context.request
            while not (await asking.get(f"{author.url}book.html")).ok:
                pass
            socket.connect_to_server()

        await author.page.route_web_socket("**/events?at=manual.html", hold)
        (author.root / "guide.md").rename(manual)
        await author.page.wait_for_url("**/book.html")
        await author.source.get_by_text("Not saved.").wait_for()


async def test_why_a_rename_was_refused_is_still_read_when_the_page_is_followed(
    chromium: Browser, desk: Desk
) -> None:
    """Two windows want another name for it at once: both follow the first."""
    why = "guide.md was renamed in the meantime"
    async with (
        desk.previewing() as reader,
        unchecked_visit(chromium, reader.preview.url) as visit,
    ):
        author = Author(visit.page, reader.preview.url, desk.root / "handbook")
        async with second_window(author) as other:
            for one, name in ((other, "second"), (author, "first")):
                await one.edit()
                await one.button("More: new page, rename, delete").click()
                await one.button("Rename…").click()
                await one.page.get_by_label("New name").fill(name)
                await one.button("Next").click()
                await one.button("Rename").wait_for()
            asked, answered = await held(other, "source")
            # as the server answers while the other rename is under way
            refused = json.dumps({"where": "", "message": why, "hint": ""})
            await other.page.route(
                "**/-/preview/rename",
                lambda route: route.fulfill(status=409, body=refused),
            )
            await author.button("Rename").click()
            await asked.wait()
            await other.button("Rename").click()
            await other.said(why)
            answered.set()
            await other.page.wait_for_url("**/first.html")
            await other.said("The page has another name: first.md.")
            await other.said(why)


async def test_who_types_on_while_the_page_is_renamed_loses_no_word(
    author: Author, other: Author
) -> None:
    for one in (author, other):
        await one.edit()
    await author.type_at_end("\n\n")
    words = [f"word{number}" for number in range(60)]
    for number, word in enumerate(words):
        await author.page.keyboard.type(f"{word} ", delay=10)
        if number == 5:
            (author.root / "guide.md").rename(author.root / "manual.md")
    for one in (author, other):
        await one.page.wait_for_url("**/manual.html")
        # of the live text of the other tab nobody is asked
        assert not await one.page.locator("dialog").count()
    await author.save()
    await author.said("Saved.")
    await author.button("Close the editor").click()
    await author.page.wait_for_function(f"() => !({DRAFTS})()")
    text = (author.root / "manual.md").read_text()
    assert text == f"{GUIDE}\n\n{' '.join(words)} "


async def test_an_address_in_another_unicode_form_is_no_other_name(
    chromium: Browser, desk: Desk
) -> None:
    file = desk.root / "handbook" / "Über.md"
    file.write_text(GUIDE)
    async with writing(chromium, desk) as author:
        await author.edit(unicodedata.normalize("NFD", "Über.html"))
        await author.type_at_end("\n\nMine.")
        file.write_text(GUIDE.replace("First", "Their first"))
        # a window that is loaded again says so in other words
        await author.said("Save merges both texts")
        await author.save()
        await author.said("merged with another change")
        assert "Mine." in file.read_text()


async def kept(author: Author) -> None:
    """Close the editor with a text that is not saved."""
    await author.button("Close the editor").click()
    await author.button("Keep it in this browser").click()
    await author.source.wait_for(state="detached")


async def test_a_draft_is_of_the_page_that_is_there_and_of_no_earlier_one(
    author: Author,
) -> None:
    """Another page gets the name of one that was renamed; the browser gives the keys
    in any order."""
    await author.page.goto(author.url + "guide.html")
    (author.root / "guide.md").rename(author.root / "manual.md")
    await author.page.wait_for_url("**/manual.html")
    await author.button("Edit").click()
    await author.opened()
    await author.type_at_end("\n\nOf the manual.")
    await kept(author)
    (author.root / "guide.md").write_text("# New\n")
    await author.page.locator("nav a", has_text="New").first.wait_for()
    await author.edit()
    await author.type_at_end("\nOf the new guide.")
    await kept(author)
    await author.page.add_init_script(
        "const { keys } = Object; Object.keys = (it) => it === localStorage"
        " ? keys(it).sort((one) => it[one].includes('new guide') ? -1 : 1)"
        " : keys(it)"
    )
    await author.edit("manual.html")
    assert await author.text() == f"{GUIDE}\n\nOf the manual."
    texts = await author.page.evaluate("Object.values(localStorage).join()")
    assert "Of the manual." in texts
    assert "Of the new guide." in texts


async def test_a_draft_stays_with_its_file_where_its_page_lies_elsewhere(
    chromium: Browser, desk: Desk
) -> None:
    """A second wiki in the preview gives every page another address."""
    context: BrowserContext = await chromium.new_context()
    async with desk.previewing() as reader:
        port = int(reader.preview.url.rstrip("/").rpartition(":")[2])
        page = await context.new_page()
        author = Author(page, reader.preview.url, desk.root / "handbook")
        await author.edit()
        await author.type_at_end("\n\nNever saved.")
        await kept(author)
        # it would load itself again as soon as the next preview answers
        await page.goto("about:blank")
    desk.add("-- home.md --\n# Other\n", "docs/other")
    async with desk.previewing(PreviewOptions(port=port)):
        await author.edit("docs/handbook/-/wikis/guide.html")
        await author.source.get_by_text("Never saved.").wait_for()
    await context.close()


@asynccontextmanager
async def left_behind(
    chromium: Browser, desk: Desk, text: str, name: str = "manual.md"
) -> AsyncIterator[Author]:
    """A text of a closed tab; its file got another name, and this text, unseen."""
    context: BrowserContext = await chromium.new_context()
    await context.grant_permissions(["clipboard-read", "clipboard-write"])
    async with desk.previewing() as reader:
        port = int(reader.preview.url.rstrip("/").rpartition(":")[2])
        author = Author(
            await context.new_page(), reader.preview.url, desk.root / "handbook"
        )
        await author.edit()
        await author.type_at_end("\n\nNever saved.")
        await author.page.wait_for_function(DRAFTS)
        await author.page.close()
    (author.root / "guide.md").unlink()
    (author.root / name).write_text(text)
    async with desk.previewing(PreviewOptions(port=port)) as reader:
        yield Author(await context.new_page(), reader.preview.url, author.root)
    await context.close()


async def change(author: Author, old: str, new: str) -> None:
    """Change what the browser keeps of texts that no file holds."""
    await author.page.evaluate(
        "(change) => { for (const [key, text] of Object.entries(localStorage))"
        " localStorage[key] = text.replace(...change); }",
        [old, new],
    )


OTHER_WIKI = ('"wiki":"', '"wiki":"x')
"""The preview of another wiki has had the same address."""


async def refused(author: Author, button: str) -> None:
    """Press a button that makes a page, and the server does not."""
    await lose_first(author.page, "**/-/preview/create")
    await (
        author.page.locator("dialog")
        .get_by_role("button", name=button, exact=True)
        .click()
    )
    await author.page.get_by_text("the preview does not answer").first.wait_for()
    assert await author.page.evaluate(DRAFTS)


async def open_state(author: Author) -> Locator:
    await author.page.get_by_title("What waits in the wiki").click()
    await author.button("Drop it").wait_for()
    return author.dialog("State of the wiki")


async def test_a_text_is_offered_where_its_file_was_renamed_unseen(
    chromium: Browser, desk: Desk
) -> None:
    async with left_behind(chromium, desk, GUIDE) as author:
        await author.page.goto(author.url)
        await change(author, *OTHER_WIKI)
        await author.edit("manual.html")
        assert not await author.page.locator("dialog").count()
        await author.button("Close the editor").click()
        await change(author, *reversed(OTHER_WIKI))
        await author.edit("manual.html")
        await author.dialog("A text of guide.md").get_by_text("Never saved.").wait_for()
        await author.button("Take it").click()
        await author.opened()
        await author.save()
        await author.said("Saved.")
        assert (author.root / "manual.md").read_text() == f"{GUIDE}\n\nNever saved."
        assert not await author.page.evaluate(DRAFTS)


async def test_a_text_whose_page_is_gone_is_found_in_the_state_of_the_wiki(
    chromium: Browser, desk: Desk
) -> None:
    now = GUIDE.replace("First", "Their first")
    async with left_behind(chromium, desk, now) as author:
        await author.page.goto(author.url + "manual.html")
        state = await open_state(author)
        await state.get_by_text("A text of guide.md").click()
        await state.get_by_text("Never saved.").wait_for()
        await author.button("Copy").click()
        await author.button("Copied").wait_for()
        copied = await author.page.evaluate("navigator.clipboard.readText()")
        assert copied == f"{GUIDE}\n\nNever saved."
        assert await author.button("Write it again").is_visible()
        await author.button("Cancel").click()
        await change(author, *OTHER_WIKI)
        state = await open_state(author)
        await state.get_by_text("of another wiki (").wait_for()
        assert not await author.button("Write it again").count()
        assert not await author.button("Put it into this page").count()
        await author.button("Cancel").click()
        await change(author, *reversed(OTHER_WIKI))
        await open_state(author)
        await author.button("Put it into this page").click()
        await author.said("Save merges both")
        await author.save()
        await author.said("merged with another change")
        assert (author.root / "manual.md").read_text() == f"{now}\n\nNever saved."
        assert not await author.page.evaluate(DRAFTS)


@pytest.mark.parametrize("act", ["Drop it", "Write it again"])
async def test_what_was_typed_while_a_text_was_looked_at_is_not_removed(
    chromium: Browser, desk: Desk, act: str
) -> None:
    """Its tab may be opened again meanwhile, and closed."""
    async with left_behind(chromium, desk, "# Another\n") as author:
        await author.page.goto(author.url + "manual.html")
        await open_state(author)
        if act == "Write it again":
            await refused(author, act)
            await open_state(author)
        await change(author, "Never saved.", "Never saved. And more.")
        await author.button(act).click()
        if act == "Write it again":
            await author.page.wait_for_url("**/guide.html")
            text = (author.root / "guide.md").read_text()
            assert text == f"{GUIDE}\n\nNever saved."
        state = await open_state(author)
        await state.get_by_text("A text of guide.md").click()
        await state.get_by_text("Never saved. And more.").wait_for()
        await author.button("Drop it").click()
        await author.page.wait_for_function(f"() => !({DRAFTS})()")


async def test_a_page_that_has_its_address_in_another_format_is_not_made_twice(
    chromium: Browser, desk: Desk
) -> None:
    async with left_behind(chromium, desk, "* Guide\n", "guide.org") as author:
        await author.page.goto(author.url)
        state = await open_state(author)
        assert await state.get_by_role("link", name="Open the page").count()
        assert not await author.button("Write it again").count()


async def test_a_text_is_offered_where_its_page_was(
    chromium: Browser, desk: Desk
) -> None:
    async with left_behind(chromium, desk, "# Another\n") as author:
        await author.page.goto(author.url + "guide.html")
        await change(author, *OTHER_WIKI)
        await author.button("Create").click()
        begin = author.page.get_by_label("Begin with")
        await begin.wait_for()
        assert await begin.locator("option").all_inner_texts() == [
            "an empty page",
            "templates/minutes",
        ]
        await author.button("Cancel").click()
        await change(author, *reversed(OTHER_WIKI))
        await author.button("Create").click()
        await refused(author, "Create")
        await author.button("Create").click()
        dialog = author.dialog("Create guide.md")
        begin = dialog.get_by_label("Begin with")
        assert "guide.md" in await begin.locator("option:checked").inner_text()
        await dialog.get_by_role("button", name="Create", exact=True).click()
        await author.source.get_by_text("Never saved.").wait_for()
        assert (author.root / "guide.md").read_text() == f"{GUIDE}\n\nNever saved."
        assert not await author.page.evaluate(DRAFTS)


async def test_a_text_of_a_page_that_is_there_is_not_offered_in_its_twin(
    chromium: Browser, desk: Desk
) -> None:
    (desk.root / "handbook" / "twin.md").write_text(GUIDE)
    async with writing(chromium, desk) as author:
        await author.edit()
        await author.type_at_end("\n\nOf the guide.")
        await kept(author)
        await author.edit("twin.html")
        assert not await author.page.locator("dialog").count()
