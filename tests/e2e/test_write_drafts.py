"""Texts of two writers, and those that no file holds yet, in the page's editor."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from tests.support.author import DRAFTS, GUIDE, Author, held, second_window, writing
from tests.support.browser import lose_first, unchecked_visit
from tests.support.preview import HASH, Desk
from wikisync.core.model import REDIRECTS_PATH

if TYPE_CHECKING:
    from playwright.async_api import Browser, Route

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


# Two writers -----------------------------------------------------------------------


async def test_another_change_of_the_file_is_merged_and_told(author: Author) -> None:
    await author.edit()
    await author.replace("Last words", "My last words.")
    (author.root / "guide.md").write_text(GUIDE.replace("First", "Their first"))
    await author.said("Save merges both texts")
    await author.save()
    await author.said("merged with another change of the file: line 3")
    both = GUIDE.replace("First", "Their first").replace("Last", "My last")
    assert (author.root / "guide.md").read_text() == both
    assert "Their first words." in await author.text()
    await author.page.keyboard.press("Control+z")
    await author.source.get_by_text("Last words.").wait_for()
    assert await author.text() == GUIDE.replace("First", "Their first")


async def test_a_clash_is_shown_and_settled_in_the_page(author: Author) -> None:
    await author.edit()
    await author.replace("Middle words", "Mine in the middle.")
    theirs = GUIDE.replace("Middle words", "Theirs in the middle")
    (author.root / "guide.md").write_text(theirs)
    await author.save()
    clash = author.dialog("Two texts for the same place")
    await clash.get_by_text("Theirs in the middle.").wait_for()
    assert (author.root / "guide.md").read_text() == theirs
    assert await author.button("Use these texts").is_disabled()
    await author.save()  # not another question above this one
    await author.button("Both").click()
    await author.button("Use these texts").click()
    await author.said("Saved.")
    text = (author.root / "guide.md").read_text()
    assert "Mine in the middle." in text
    assert "Theirs in the middle." in text


async def test_what_is_saved_while_a_save_is_on_its_way_is_saved_too(
    author: Author,
) -> None:
    await author.edit()
    asked, answered = await held(author, "save")
    await author.type_at_end("\n\nOne.")
    await author.save()
    await asked.wait()
    await author.page.keyboard.type(" Two.")
    await author.save()
    answered.set()
    saved = author.button("Save (Ctrl+S)").and_(author.page.locator(":disabled"))
    await saved.wait_for()
    text = (author.root / "guide.md").read_text()
    assert text == f"{GUIDE}\n\nOne. Two."


async def test_what_is_typed_before_a_clash_is_told_is_part_of_the_question(
    author: Author,
) -> None:
    await author.edit()
    await author.replace("Middle words", "Mine in the middle.")
    file = author.root / "guide.md"
    file.write_text(GUIDE.replace("Middle words", "Theirs in the middle"))
    asked, answered = await held(author, "save")
    await author.save()
    await asked.wait()
    await author.page.keyboard.type(" And more.")
    answered.set()
    await author.button("Keep mine").click()
    await author.button("Use these texts").click()
    await author.said("Saved.")
    assert "Mine in the middle. And more." in file.read_text()


async def test_escape_takes_no_typed_text_away(author: Author) -> None:
    await author.edit()
    await author.replace("Middle words", "Mine in the middle.")
    file = author.root / "guide.md"
    file.write_text(GUIDE.replace("Middle words", "Theirs in the middle"))
    await author.save()
    await author.page.get_by_label("Text for place 1").click()
    await author.page.keyboard.type("Ours.")
    for _ in range(3):  # Chromium closes a dialog that refuses twice
        await author.page.keyboard.press("Escape")
    await author.button("Use these texts").click()
    await author.said("Saved.")
    assert "Ours." in file.read_text()


async def test_a_box_is_not_ticked_in_a_text_that_is_another_by_then(
    chromium: Browser, desk: Desk
) -> None:
    file = desk.root / "handbook" / "guide.md"
    file.write_text("- [ ] one\n- [ ] two\n")
    async with writing(chromium, desk) as author:
        await author.edit()
        asked, answered = await held(author, "tick")
        await author.page.get_by_role("checkbox").last.click()
        await asked.wait()
        theirs = "- [ ] none\n- [ ] one\n- [ ] two\n"
        file.write_text(theirs)
        await author.said("The file was changed; this is its text.")
        answered.set()
        await author.page.get_by_text("tick it again").wait_for()
        assert await author.text() == theirs
        await author.page.get_by_role("checkbox").nth(2).click()
        await author.source.get_by_text("- [x] two").wait_for()


async def test_a_save_that_is_asked_for_while_a_box_is_ticked_comes_after_it(
    chromium: Browser, desk: Desk
) -> None:
    file = desk.root / "handbook" / "guide.md"
    file.write_text("- [ ] one\n")
    async with writing(chromium, desk) as author:
        await author.edit()
        asked, answered = await held(author, "tick")
        await author.page.get_by_role("checkbox").click()
        await asked.wait()
        await author.save()
        answered.set()
        await author.said("Saved.")
    assert file.read_text() == "- [x] one\n"


async def test_a_question_outlives_what_would_load_its_page_again(
    chromium: Browser, desk: Desk
) -> None:
    picture = desk.root / "handbook" / "uploads" / HASH / "map.svg"
    picture.parent.mkdir(parents=True)
    picture.write_text('<svg xmlns="http://www.w3.org/2000/svg" width="1"/>')
    (desk.root / "handbook" / "guide.md").write_text(f"![map](uploads/{HASH}/map.svg)")
    mark = "%%%% wikisync conflict 1 of 1:"
    conflict = desk.root / "handbook" / "guide.conflict.md"
    conflict.write_text(
        f"# Guide\n{mark} on the wiki %%%%\nTheirs.\n{mark} here %%%%\nMine.\n"
        f"{mark} end %%%%\n"
    )
    async with writing(chromium, desk) as author, second_window(author) as other:
        for one in (author, other):
            await one.page.goto(one.url + "guide.html")
            await one.button("Settle").wait_for()
        await author.button("Settle").click()
        await author.page.get_by_label("Text for place 1").click()
        await author.page.keyboard.type("Ours.\n")
        async with other.page.expect_event("load"):
            picture.write_text('<svg xmlns="http://www.w3.org/2000/svg" width="2"/>')
        await author.button("Use these texts").click()
        await author.page.wait_for_event("load")
    assert conflict.read_text() == "# Guide\nOurs.\n"


async def test_a_conflict_of_the_sync_is_settled_in_the_page(
    chromium: Browser, desk: Desk
) -> None:
    conflict = desk.root / "handbook" / "guide.conflict.md"
    mark = "%%%% wikisync conflict 1 of 1:"
    shown = (
        f"# Guide\n{mark} on the wiki %%%%\nTheirs.\n{mark} here %%%%\nMine.\n"
        f"{mark} end %%%%\n"
    )
    conflict.write_text(shown)
    async with (
        desk.previewing() as reader,
        unchecked_visit(chromium, reader.preview.url) as visit,
    ):
        author = Author(visit.page, reader.preview.url, desk.root / "handbook")
        await author.page.goto(author.url + "guide.html")
        await author.button("Edit").click()
        await author.button("Take the wiki's").click()
        # it is another one by now, and what a person wrote for it is not lost
        conflict.write_text(shown.replace("Mine", "Mine of vim"))
        await author.button("Use these texts").click()
        dialog = author.dialog("The conflict is not settled")
        text = dialog.get_by_role("textbox", name="Your text")
        await text.press("Escape")
        assert await text.input_value() == "# Guide\nTheirs.\n"
        conflict.write_text(shown)
        await lose_first(author.page, "**/-/preview/settle")
        await author.button("Try again").click()
        unknown = author.dialog("The preview does not answer")
        await unknown.wait_for()
        said = await unknown.locator("p").all_inner_texts()
        assert said == ["the preview does not answer", "Your text, to copy:"]
        await author.button("Try again").click()
        await author.said("The conflict is settled")
    assert conflict.read_text() == "# Guide\nTheirs.\n"


async def test_a_conflict_that_is_another_one_by_now_is_asked_about_again(
    chromium: Browser, desk: Desk
) -> None:
    """What was chosen stays where both texts are the same; all of it can be copied."""
    conflict = desk.root / "handbook" / "guide.conflict.md"
    mark = "%%%% wikisync conflict {n} of 2:"
    place = (
        f"{mark} on the wiki %%%%\nTheirs {{n}}.\n{mark} here %%%%\nMine {{n}}.\n"
        f"{mark} end %%%%\n"
    )
    shown = f"# Guide\n{place.format(n=1)}between\n{place.format(n=2)}"
    conflict.write_text(shown)
    async with (
        desk.previewing() as reader,
        unchecked_visit(chromium, reader.preview.url) as visit,
        second_window(
            Author(visit.page, reader.preview.url, desk.root / "handbook")
        ) as other,
    ):
        author = Author(visit.page, other.url, other.root)
        for one in (author, other):
            await one.page.goto(one.url + "guide.html")
            await one.button("Settle").click()
        await other.page.get_by_label("Text for place 1").fill("Other.\n")
        await other.button("Keep mine").last.click()
        await author.page.get_by_label("Text for place 1").fill("Ours.\n")
        await author.page.get_by_label("Text for place 2").fill("Both.\n")
        conflict.write_text(shown.replace("Mine 2", "Mine of vim"))
        await author.button("Use these texts").click()
        await author.button("Try again").click()
        await author.dialog("Two texts").get_by_text("Mine of vim.").wait_for()
        first = author.page.get_by_label("Text for place 1")
        assert await first.input_value() == "Ours.\n"
        assert await author.page.get_by_label("Text for place 2").input_value() == ""
        assert await author.button("Use these texts").is_disabled()
        kept = author.page.get_by_label("Your text", exact=True)
        assert await kept.input_value() == "# Guide\nOurs.\nbetween\nBoth.\n"
        await author.button("Keep mine").last.click()
        await author.button("Use these texts").click()
        await author.page.get_by_text("The conflict is settled").wait_for()
        settled = "# Guide\nOurs.\nbetween\nMine of vim.\n"
        assert conflict.read_text() == settled
        # the other window has a text of its own for what is settled by now
        await other.button("Use these texts").click()
        await other.button("Try again").click()
        gone = other.dialog("The conflict was settled by somebody else")
        kept = gone.get_by_role("textbox", name="Your text")
        assert await kept.input_value() == "# Guide\nOther.\nbetween\nMine 2.\n"
    assert conflict.read_text() == settled


# Texts that no file holds ------------------------------------------------------------


async def test_the_text_of_another_tab_takes_no_place_of_the_own(
    author: Author, other: Author
) -> None:
    await author.edit()
    await other.edit()
    await author.type_at_end("\n\nOf this tab.")
    await other.type_at_end("\n\nOf another tab.")
    await other.page.wait_for_function(DRAFTS)
    await other.page.close()
    # the browser may give the keys in any order
    await author.page.add_init_script(
        "const { keys } = Object; Object.keys = (it) => it === localStorage"
        " ? keys(it).sort((one) => it[one].includes('Of this') ? 1 : -1)"
        " : keys(it)"
    )
    await author.page.reload()
    await author.opened()
    if await author.page.locator("dialog").count():
        await author.button("Take it").click()
        await author.opened()
    await author.source.get_by_text("Of this tab.").wait_for()
    kept = await author.page.evaluate("Object.values(localStorage).join()")
    assert "Of this tab." in kept
    assert "Of another tab." in kept


async def test_a_page_that_is_left_before_its_text_is_back_keeps_it(
    author: Author,
) -> None:
    await author.edit()
    await author.type_at_end("\n\nTyped before.")
    asked, _ = await held(author, "save")
    await author.page.reload()
    await asked.wait()
    # as the browser does when the page is left
    await author.page.evaluate("dispatchEvent(new Event('pagehide'))")
    assert await author.page.evaluate(DRAFTS)


async def test_a_duplicated_tab_has_a_draft_of_its_own(
    author: Author, other: Author
) -> None:
    """The browser gives it what the other one has in its session."""
    await author.page.context.add_init_script(
        "sessionStorage['wikisync-tab'] = 'same';"
        "const { query } = LockManager.prototype;"
        "LockManager.prototype.query = async function () {"
        "  const found = await query.call(this);"
        "  await new Promise((done) => setTimeout(done, 1000));"
        "  return found;"
        "};"
    )
    async with asyncio.TaskGroup() as both:
        for one in (author, other):
            both.create_task(one.edit())
    for one, text in ((author, "One."), (other, "Other.")):
        await one.type_at_end(f"\n\n{text}")
        await one.page.wait_for_function(
            f"() => Object.values(localStorage).some((it) => it.includes('{text}'))"
        )
    kept = await author.page.evaluate("Object.values(localStorage).join()")
    assert "One." in kept
    assert "Other." in kept


async def test_one_who_types_without_a_rest_has_a_draft(author: Author) -> None:
    await author.edit()
    await author.source.click()
    await author.page.evaluate(
        "() => void setInterval(() => document.execCommand('insertText', false,"
        " 'on and on, '), 50)"
    )
    await author.page.wait_for_function(DRAFTS, timeout=5000)


async def test_a_text_that_was_typed_and_undone_is_not_offered_again(
    author: Author,
) -> None:
    await author.edit()
    await author.page.evaluate("window.setTimeout = () => 0")
    await author.type_at_end("x")
    # as the browser does when the page is left
    await author.page.evaluate("dispatchEvent(new Event('pagehide'))")
    await author.page.wait_for_function(DRAFTS)
    await author.page.keyboard.press("Control+z")
    await author.button("Close the editor").click()
    await author.source.wait_for(state="detached")
    assert not await author.page.evaluate(DRAFTS)


async def test_a_save_that_is_answered_after_closing_leaves_no_draft(
    author: Author,
) -> None:
    await author.edit()
    _, answered = await held(author, "save")
    await author.type_at_end("\n\nKept.")
    await author.save()
    await author.said("Saving")
    await author.button("Close the editor").click()
    await author.button("Keep it in this browser").click()
    await author.page.wait_for_function(DRAFTS)
    answered.set()
    await author.page.wait_for_function(f"() => !({DRAFTS})()")
    assert (author.root / "guide.md").read_text().endswith("Kept.")


async def test_what_a_tab_saved_that_ended_before_the_answer_is_not_offered(
    author: Author, other: Author
) -> None:
    await other.edit()
    saved = asyncio.Event()

    async def lose(route: Route) -> None:
        await route.fetch()
        saved.set()

    await other.page.route("**/-/preview/save", lose)
    await other.type_at_end("\n\nSaved and not told.")
    await other.page.wait_for_function(DRAFTS)
    await other.save()
    await saved.wait()
    await other.page.close()
    file = author.root / "guide.md"
    file.write_text(file.read_text().replace("First", "Their first"))
    await author.edit()
    await author.page.wait_for_function(f"() => !({DRAFTS})()")
    assert not await author.page.locator("dialog").count()


async def test_a_page_that_is_loaded_again_waits_for_the_lock_of_its_draft(
    author: Author, other: Author
) -> None:
    await author.edit()
    await author.type_at_end("\n\nTyped before.")
    await author.page.wait_for_function(DRAFTS)
    await other.page.goto(author.url)
    # as a page that is left has it, until the one that is loaded waits for it
    await other.page.evaluate("""() => {
        const key = Object.keys(localStorage).find((one) => one.includes("draft"));
        navigator.locks.request(key, async () => {
            while (!(await navigator.locks.query()).pending.length);
            await new Promise((done) => setTimeout(done, 1500));
        });
    }""")
    await author.page.reload()
    await author.source.get_by_text("Typed before.").wait_for()


async def test_nobody_types_before_the_text_that_would_replace_it_is_back(
    author: Author,
) -> None:
    await author.edit()
    await author.type_at_end("\n\nTyped before.")
    asked, typed = asyncio.Event(), asyncio.Event()

    async def hold(route: Route) -> None:
        asked.set()
        await typed.wait()
        await route.fallback()

    await author.page.route("**/-/preview/save", hold)
    await author.page.reload()
    await asked.wait()
    await author.source.click(force=True)
    await author.page.keyboard.type("Typed too early.")
    assert "too early" not in await author.text()
    typed.set()
    await author.source.get_by_text("Typed before.").wait_for()
    await author.opened()
    await author.type_at_end(" Typed in time.")
    assert (await author.text()).endswith("Typed before. Typed in time.")


async def test_a_deleted_file_is_written_again_when_asked(author: Author) -> None:
    await author.edit()
    await author.type_at_end("\nMy words.")
    (author.root / "guide.md").unlink()
    await author.said("The file of this page is gone")
    await author.save()
    await author.button("Write it again").click()
    await author.said("Saved as a new file.")
    assert "My words." in (author.root / "guide.md").read_text()


@pytest.mark.parametrize(
    "raw",
    [
        "{no json",
        "5",
        '{"version": 9, "words": "x"}',
        '{"text": "x", "base": "", "file": {"toString": 0}}',
    ],
)
async def test_what_is_no_draft_is_offered_as_it_is_and_stays(
    author: Author, raw: str
) -> None:
    await author.edit()
    await author.type_at_end("\n\nTyped before.")
    await author.page.wait_for_function(DRAFTS)
    await author.page.add_init_script(
        "const was = Object.keys(localStorage).find((it) => it.includes('draft'));"
        f"if (!sessionStorage.done) localStorage[was] = {raw!r};"
        "sessionStorage.done = 1;"
    )
    await author.page.reload()
    offered = author.dialog("A text is not in the file")
    assert await offered.locator("pre").inner_text() == raw
    await author.button("Not now").click()
    await author.type_at_end("\n\nTyped on.")
    await author.page.wait_for_function(
        "() => Object.values(localStorage).join().includes('Typed on.')"
    )
    assert raw in await author.page.evaluate("Object.values(localStorage)")


@pytest.mark.parametrize("name", ["guide.md", "manual.md"])
async def test_a_page_that_is_back_is_merged_with_and_not_written_twice(
    chromium: Browser, desk: Desk, name: str
) -> None:
    """Under its own name, or under one that the sync knows to be the same page's."""
    noted = desk.root / "handbook" / REDIRECTS_PATH
    noted.parent.mkdir()
    async with writing(chromium, desk) as author:
        await author.edit()
        await author.type_at_end("\n\nMine.")
        (author.root / "guide.md").unlink()
        await author.said("The file of this page is gone")
        await author.save()
        again = author.button("Write it again")
        await again.wait_for()
        noted.write_text("guide: manual\n")
        (author.root / name).write_text(GUIDE.replace("First", "Their first"))
        site = author.page.context.request
        page = f"{author.url}{name[:-3]}.html"
        async with asyncio.timeout(30):
            while "Their first" not in await (await site.get(page)).text():
                pass
        await again.click()
        await author.said("merged with another change")
    texts = [one.read_text() for one in (desk.root / "handbook").glob("*.md")]
    both = f"{GUIDE.replace('First', 'Their first')}\n\nMine."
    assert texts.count(both) == 1
    assert not [one for one in texts if "Mine." in one and one != both]


async def test_a_dropped_text_is_not_shown_by_an_editor_opened_at_once(
    author: Author,
) -> None:
    await author.edit()
    await author.replace("Middle words.", "Dropped words.")
    await author.shown("Dropped words.")
    free = asyncio.Event()

    async def hold(route: Route) -> None:
        await free.wait()
        await route.continue_()

    await author.page.route("**/guide.html", hold)
    await author.page.get_by_label("Close the editor").click()
    await author.button("Drop it").click()
    await author.button("Edit").click()
    await author.opened()
    await author.shown("Middle words.")
    free.set()
