"""Writing in the page: the editor of the preview as a person meets it."""

from __future__ import annotations

import base64
import re
import sys
from typing import TYPE_CHECKING

import pytest

from tests.support.author import GUIDE, Author, writing
from tests.support.browser import unchecked_visit
from tests.support.preview import Desk
from wikisync.site.preview.server import PreviewOptions

if TYPE_CHECKING:
    from playwright.async_api import Browser

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


CLIENT_BYTES = 10_085
"""Of the script that a page loads, and had before there was an editor."""


# Writing ---------------------------------------------------------------------------


async def test_the_page_follows_the_text_before_it_is_saved(author: Author) -> None:
    await author.edit()
    await author.type_at_end("\n\nUnsaved **words**.")
    await author.page.locator("main strong", has_text="words").wait_for()
    assert (author.root / "guide.md").read_text() == GUIDE
    await author.save()
    await author.said("Saved.")
    text = (author.root / "guide.md").read_text()
    assert text == f"{GUIDE}\n\nUnsaved **words**."


async def test_a_page_that_nobody_edits_loads_no_editor(author: Author) -> None:
    asked: list[str] = []
    author.page.on("request", lambda one: asked.append(one.url))
    async with author.page.expect_response("**/client-*.js") as answered:
        await author.page.goto(author.url + "guide.html")
    await author.button("Edit").wait_for()
    answer = await answered.value
    tag = await author.page.locator("script[data-run]").evaluate(
        "(it) => it.outerHTML.length"
    )
    assert 0 < len(text := await answer.body()) + tag <= CLIENT_BYTES
    # what is sent is packed
    sizes = await answer.request.sizes()
    assert sizes["responseBodySize"] < len(text) / 2
    assert [url for url in asked if "/-/preview/" in url] == [answer.url]
    await author.button("Edit").click()
    await author.opened()
    assert [url for url in asked if "codemirror" in url]


async def test_both_sides_scroll_together(author: Author) -> None:
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


async def test_keys_format_link_and_go_on_with_lists(author: Author) -> None:
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


@pytest.mark.parametrize(
    ("name", "opening", "text"),
    [
        ("x.md", "[x](", "**bold** _sloped_\n## Head\n[x](team/one"),
        ("x.adoc", "link:", "*bold* _sloped_\n== Head\nlink:team/one"),
        ("x.org", "[[", "*bold* /sloped/\n** Head\n[[team/one"),
        ("x.rdoc", "{x}[", "<b>bold</b> <em>sloped</em>\n== Head\n{x}[team/one"),
    ],
)
async def test_the_toolbar_and_completion_write_as_the_page_is_written(
    chromium: Browser, desk: Desk, name: str, opening: str, text: str
) -> None:
    (desk.root / "handbook" / name).write_text("")
    async with writing(chromium, desk) as author:
        await author.edit("x.html")
        keys = author.page.keyboard
        await author.button("Bold (Ctrl+B)").click()
        await keys.type("bold")
        await keys.press("End")
        await keys.type(" ")
        await keys.press("Control+i")
        await keys.type("sloped")
        await author.page.locator("main :is(strong, b)", has_text="bold").wait_for()
        await keys.press("End")
        await keys.press("Enter")
        await author.button("Heading").click()
        await keys.type(f"Head\n{opening}team")
        await author.page.get_by_role("option", name="team/one").click()
        assert await author.text() == text


async def test_tab_moves_items_of_a_list_and_goes_through_a_table(
    author: Author,
) -> None:
    await author.edit()
    keys = author.page.keyboard
    await author.type_at_end("\n\n- one\ntwo")
    await keys.press("Tab")
    await keys.type("\nthree")
    await keys.press("Shift+Tab")
    await keys.type("\n\n| a | b |")
    await keys.press("Home")
    await keys.press("Tab")
    await keys.press("Tab")
    await keys.type("c ")
    text = await author.text()
    assert text.endswith("- one\n  - two\n- three\n| a | c b |")


async def test_a_page_is_written_on_a_phone(author: Author) -> None:
    await author.page.set_viewport_size({"width": 390, "height": 700})
    await author.edit()
    await author.type_at_end("\n\nWritten on the way.")
    await author.button("Show the page").click()
    await author.source.wait_for(state="hidden")
    words = author.page.locator("main").get_by_text("Written on the way.")
    await words.scroll_into_view_if_needed()
    await words.click(trial=True)
    await author.button("Show the text").click()
    await author.button("Save (Ctrl+S)").click()
    await author.said("Saved.")
    text = (author.root / "guide.md").read_text()
    assert text.endswith("Written on the way.")


async def test_on_a_phone_with_large_letters_what_is_found_is_seen(
    author: Author,
) -> None:
    page = author.page
    await page.set_viewport_size({"width": 390, "height": 844})
    (author.root / "guide.md").write_text("[one](none) [two](nothing)\n")
    await page.goto(author.url + "guide.html")
    await page.evaluate("document.documentElement.style.fontSize = '200%'")
    await author.button("Edit").click()
    await author.opened()
    await author.source.focus()
    await page.keyboard.press("Control+f")
    await page.locator(".cm-search").wait_for()
    line = "(it) => parseFloat(getComputedStyle(it).lineHeight)"
    height = await author.source.evaluate(line)
    box = await page.locator(".cm-scroller").bounding_box()
    assert box is not None
    assert box["height"] > 3 * height


async def test_headings_of_other_pages_and_emoji_are_completed(author: Author) -> None:
    await author.edit()
    keys = author.page.keyboard
    await author.type_at_end("\n:tada")
    await author.page.get_by_role("option", name=":tada:").click()
    await keys.type(" [x](long#section-1")
    await author.page.get_by_role("option", name="long#section-11").click()
    assert ":tada: [x](long#section-1" in await author.text()


async def test_what_comes_while_somebody_writes_is_completed(author: Author) -> None:
    offered = author.page.locator(".cm-tooltip-autocomplete li")
    await author.edit()
    await author.type_at_end("\n[x](te")
    await offered.filter(has_text="team/one").wait_for()
    await author.page.keyboard.press("Escape")
    async with author.page.expect_response("**/-/preview/source"):
        (author.root / "tender.md").write_text("# A tender\n")
    await author.type_at_end(" [y](ten")
    await offered.filter(has_text="A tender").wait_for()
    await author.page.keyboard.press("Escape")
    await author.page.locator("input[type=file]").set_input_files(
        {"name": "tent.png", "mimeType": "image/png", "buffer": b"png"}
    )
    await author.said("tent.png is in uploads/")
    await author.type_at_end(" [z](tent")
    await offered.filter(has_text="tent.png").wait_for()


async def test_what_is_wrong_is_marked_while_writing_and_led_to(author: Author) -> None:
    await author.edit()
    await author.type_at_end("\n\n[x](no/such) and ![y](uploads/none.png)")
    wrong = author.page.get_by_role("list", name="What is wrong in this text")
    await wrong.get_by_text("Line 10: uploads/none.png").wait_for()
    assert await author.page.locator(".hl-broken").count() == 2
    await author.page.keyboard.press("Control+Home")
    await author.button("Line 10: no/such: there is no such page").click()
    await author.page.keyboard.type("! ")
    assert (await author.text()).endswith("\n! [x](no/such) and ![y](uploads/none.png)")
    await author.page.keyboard.press("Control+a")
    await author.page.keyboard.press("Backspace")
    await wrong.wait_for(state="hidden")


@pytest.mark.parametrize(
    ("name", "link"),
    [
        ("x.md", "[x](no/such)"),
        ("x.adoc", "link:no/such[x]"),
        ("y.adoc", "xref:nosuch[x]"),
        ("x.org", "[[no/such][x]]"),
        ("x.rdoc", "{x}[link:no/such]"),
    ],
)
async def test_a_broken_link_is_marked_in_the_words_of_each_format(
    chromium: Browser, desk: Desk, name: str, link: str
) -> None:
    (desk.root / "handbook" / name).write_text(f"Words.\n\nSee {link}.\n")
    async with writing(chromium, desk) as author:
        await author.edit(f"{name[0]}.html")
        await author.page.locator(".hl-broken", has_text=link).wait_for()
        wrong = author.page.get_by_role("list", name="What is wrong in this text")
        await wrong.get_by_role("button", name="Line 3: ").click()
        await author.page.keyboard.type("! ")
        assert f"! See {link}" in await author.text()


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
        await author.opened()
        await author.page.get_by_role("checkbox", name="To do: one").click()
        await author.source.get_by_text("- [x] one").wait_for()
        assert file.read_text() == "# Guide\n\n- [ ] one\n- [x] two\n"
        await author.save()
        await author.said("Saved.")
    assert file.read_text() == "# Guide\n\n- [x] one\n- [x] two\n"


async def test_boxes_ticked_at_once_are_all_ticked_and_nothing_typed_is_lost(
    chromium: Browser, desk: Desk
) -> None:
    text = "# Guide\n\n- [ ] one\n- [ ] two\n"
    (desk.root / "handbook" / "guide.md").write_text(text)
    async with writing(chromium, desk) as author:
        await author.edit()
        await author.page.get_by_role("checkbox").nth(1).wait_for()
        await author.page.evaluate(
            "() => document.querySelectorAll('main input[type=checkbox]')"
            ".forEach((one) => one.click())"
        )
        await author.type_at_end("Typed.")
        await author.source.get_by_text("- [x] one").wait_for()
        await author.source.get_by_text("- [x] two").wait_for()
        assert "Typed." in await author.text()


async def test_the_editor_opens_at_the_heading_in_view(author: Author) -> None:
    await author.page.goto(author.url + "long.html#section-8")
    await author.page.wait_for_function("scrollY > 0")
    await author.button("Edit").click()
    await author.opened()
    await author.source.get_by_text("## Section 8", exact=True).wait_for()
    await author.page.keyboard.press("End")
    await author.page.keyboard.type("!")
    await author.source.get_by_text("## Section 8!", exact=True).wait_for()


PNG = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAA"
    "AABJRU5ErkJggg=="
)
GIVE = """([kind, name, png, size]) => {
    const bytes = Uint8Array.from(atob(png), (one) => one.charCodeAt(0));
    const data = new DataTransfer();
    const content = [size ? new Uint8Array(size) : bytes];
    data.items.add(new File(content, name, { type: "image/png" }));
    const { shadowRoot } = document.querySelector("wikisync-preview");
    const text = shadowRoot.querySelector(".cm-content");
    const { left, top } = text.getBoundingClientRect();
    const how = { bubbles: true, cancelable: true };
    text.dispatchEvent(kind === "paste"
        ? new ClipboardEvent(kind, { ...how, clipboardData: data })
        : new DragEvent(kind, {
            ...how, dataTransfer: data, clientX: left + 9, clientY: top + 15,
        }));
}"""


async def test_a_picture_is_pasted_and_dropped_and_one_too_large_is_refused(
    author: Author,
) -> None:
    await author.edit("team/one.html")
    await author.type_at_end("\n")
    await author.page.evaluate(GIVE, ["paste", "my map.png", PNG, 0])
    await author.said("my map.png is in uploads/")
    await author.page.locator("main img[src*='my-map.png']").wait_for()
    assert "\n[[file:uploads/" in await author.text()
    await author.page.evaluate(GIVE, ["drop", "plan.png", PNG, 0])
    await author.said("plan.png is in uploads/")
    assert (await author.text()).startswith("[[file:uploads/")
    await author.page.evaluate(GIVE, ["paste", "huge.png", "", (32 << 20) + 1])
    await author.said("huge.png has more than 32 MiB")
    kept = sorted((author.root / "uploads").rglob("*.png"))
    assert [one.name for one in kept] == ["my-map.png", "plan.png"]
    assert {one.read_bytes() for one in kept} == {base64.b64decode(PNG)}


async def test_each_refused_file_is_named_also_where_others_are_added(
    chromium: Browser, desk: Desk
) -> None:
    give = """([names, texts]) => {
        const clipboardData = new DataTransfer();
        for (const [type, text] of texts) clipboardData.setData(type, text);
        for (const name of names) clipboardData.items.add(new File(["x"], name));
        const { shadowRoot } = document.querySelector("wikisync-preview");
        const event = { clipboardData, bubbles: true, cancelable: true };
        const text = shadowRoot.querySelector(".cm-content");
        text.dispatchEvent(new ClipboardEvent("paste", event));
    }"""
    long = "x" * 300
    async with (
        desk.previewing() as reader,
        unchecked_visit(chromium, reader.preview.url) as visit,
    ):
        author = Author(visit.page, reader.preview.url, desk.root / "handbook")
        await author.edit()
        await author.type_at_end("\n")
        names = ["one.png", f"{long}1.png", ".hidden", f"{long}2.png", "two.png"]
        await author.page.evaluate(give, [names, []])
        await author.said("1.png was not added: ")
        await author.said("2.png was not added: ")
        assert "[.hidden](uploads/" in await author.text()
        # what an office program copies: the text, and a picture of it
        texts = [["text/plain", "Some cells"], ["text/html", "<p>Some cells</p>"]]
        await author.page.evaluate(give, [["image.png"], texts])
        await author.source.get_by_text("Some cells").wait_for()
        assert "image.png" not in await author.text()
        # the text goes in, then the picture; the name of a copied file does not
        plain = [["text/plain", "Seen today"]]
        await author.page.evaluate(give, [["shot.png"], plain])
        await author.said("shot.png is in uploads/")
        assert "Seen today\n[shot](uploads/" in await author.text()
        copied = [["text/plain", "file:///home/ann/my%20plan.png"]]
        await author.page.evaluate(give, [["my plan.png"], copied])
        await author.said("my plan.png is in uploads/")
        assert "[my plan](uploads/" in await author.text()
        assert "/home/ann" not in await author.text()


# Pages -----------------------------------------------------------------------------


async def test_a_red_link_creates_its_page_by_keyboard(author: Author) -> None:
    await author.page.goto(author.url + "index.html")
    link = author.page.get_by_role("button", name="a plan")
    await link.focus()
    await author.page.keyboard.press("Enter")
    dialog = author.dialog("Create plans/next.md")
    await dialog.wait_for()
    await author.page.keyboard.press("Escape")
    await author.button("Edit").wait_for()
    assert await link.evaluate("(it) => it === document.activeElement")
    await author.page.keyboard.press("Enter")
    await dialog.get_by_role("button", name="Create", exact=True).click()
    await author.source.get_by_text("# next").wait_for()
    templates = author.root / "templates"
    async with author.page.expect_response("**/-/preview/source"):
        (templates / "diary.md").write_text("# Diary of today\n")
        (author.root / "plans" / "next.md").write_text("# next\n\nOther.\n")
    await author.button("More: new page, rename, delete").click()
    await author.button("New page…").click()
    name = author.page.get_by_label("Name, with the folder")
    assert re.fullmatch(
        r"plans/\d{4}-\d\d-\d\d",
        await name.evaluate("(it) => it.list.options[0].value"),
    )
    await name.fill("plans/last")
    begin = author.page.get_by_label("Begin with")
    await begin.select_option("templates/diary")
    await author.button("Create").click()
    await author.source.get_by_text("# Diary of today").wait_for()
    plans = (author.root / "plans").iterdir()
    assert sorted(one.name for one in plans) == ["last.md", "next.md"]


async def test_a_red_link_creates_its_page_in_a_site_of_another_language(
    chromium: Browser, desk: Desk
) -> None:
    desk.set(lang="fr")
    async with writing(chromium, desk) as author:
        await author.page.goto(author.url)
        link = author.page.get_by_role("button", name="a plan")
        assert "cette page n’existe pas" in (await link.get_attribute("title") or "")
        await link.click()
        await author.dialog("Create plans/next.md").wait_for()


async def test_a_page_is_renamed_with_its_links_and_followed(
    author: Author, other: Author
) -> None:
    await other.page.goto(other.url + "guide.html")
    await author.edit()
    await author.button("More: new page, rename, delete").click()
    await author.button("Rename…").click()
    await author.page.get_by_label("New name").fill("manual/first")
    await author.button("Next").click()
    await author.page.get_by_text("home.md: 1 link").wait_for()
    await author.button("Rename").click()
    await author.page.wait_for_url("**/manual/first.html")
    await author.source.get_by_text("First words").wait_for()
    await author.page.locator("main .backlinks a", has_text="Welcome").wait_for()
    await other.page.wait_for_url("**/manual/first.html")
    await other.shown("First words")
    home = (author.root / "home.md").read_text()
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
        await page.route("**/desk-*.js", lambda route: route.abort())
        await page.set_viewport_size({"width": 390, "height": 700})
        await page.get_by_title("What waits in the wiki").click()
        answer = page.get_by_role("alert")
        await answer.get_by_text("the preview does not answer").wait_for()
        said, note = [
            await one.bounding_box() for one in (answer, page.locator(".dock > .bar"))
        ]
        assert said
        assert note
        assert said["y"] + said["height"] <= note["y"]
        await author.button("Edit").click()
        await page.get_by_text("the editor cannot be loaded").wait_for()
        # what comes before either
        await page.route("**/live-*.js", lambda route: route.abort())
        await page.reload()
        await author.button("Edit").click()
        await page.get_by_text("the preview does not answer").wait_for()
        await page.unroute("**/live-*.js")
        await page.unroute("**/write-*.js")
        await page.unroute("**/desk-*.js")
        await author.button("Edit").click()
        await author.opened()
        await page.close()


@pytest.mark.parametrize(
    "refusing",
    [
        # as Chromium does where site data are not allowed
        (
            "for (const name of ['localStorage', 'sessionStorage'])"
            " Object.defineProperty(window, name,"
            " { get() { throw new DOMException('Denied', 'SecurityError'); } });"
        ),
        # and where there is no room left
        "sessionStorage.setItem('all', 'x'.repeat(5 * 2 ** 20 - 10));",
        (
            "LockManager.prototype.request = async () => {"
            " throw new DOMException('Denied', 'SecurityError'); };"
        ),
    ],
    ids=["storage", "no room", "locks"],
)
async def test_a_browser_that_may_keep_nothing_is_told(
    chromium: Browser, desk: Desk, refusing: str
) -> None:
    page = await chromium.new_page()
    await page.add_init_script(refusing)
    async with desk.previewing() as reader:
        author = Author(page, reader.preview.url, desk.root / "handbook")
        await page.goto(author.url + "guide.html")
        await author.button("Edit").click()
        answer = page.get_by_role("alert")
        await answer.get_by_text("allow its site data (cookies)").wait_for()
        await author.shown("First words.")
        await page.close()


async def test_a_text_from_right_to_left_is_written_so(author: Author) -> None:
    text = "---\ntitle: a\n---\n# \u05d0\u05d1\n"
    (author.root / "guide.md").write_text(text)
    await author.edit()
    await author.type_at_end("\u05d2\u05d3")
    direction = "(it) => getComputedStyle(it).direction"
    assert await author.source.evaluate(direction) == "rtl"
    # the next place to the left is the one behind the first letter
    await author.page.keyboard.press("Home")
    await author.page.keyboard.press("ArrowLeft")
    await author.page.keyboard.type("\u05d4")
    assert await author.text() == f"{text}\u05d2\u05d4\u05d3"
    await author.edit("index.html")
    assert await author.source.evaluate(direction) == "ltr"


async def test_each_line_has_the_direction_of_its_letters(author: Author) -> None:
    (author.root / "guide.md").write_text("# Guide\n\nFirst words.\n")
    await author.edit()
    await author.type_at_end("\u05d0\u05d1 end.\n12\nMore")
    lines = """() => {
        const { shadowRoot } = document.querySelector("wikisync-preview");
        return [...shadowRoot.querySelectorAll(".cm-line")].map(
            (it) => getComputedStyle(it).direction);
    }"""
    left, right = "ltr", "rtl"
    directions = [left, left, left, right, left, left]
    assert await author.page.evaluate(lines) == directions
    cursor = """() => {
        const { shadowRoot } = document.querySelector("wikisync-preview");
        const at = shadowRoot.querySelector(".cm-cursor-primary");
        const line = shadowRoot.querySelector(".cm-line[dir=rtl]");
        const box = line.getBoundingClientRect();
        return (at.getBoundingClientRect().x - box.x) / box.width > 0.9;
    }"""
    await author.page.keyboard.press("ArrowUp")
    await author.page.keyboard.press("ArrowUp")
    await author.page.keyboard.press("Home")
    await author.page.wait_for_function(cursor)
    await author.page.keyboard.press("ArrowLeft")
    await author.page.keyboard.type("\u05d4")
    assert (await author.text()).endswith("\u05d0\u05d4\u05d1 end.\n12\nMore")


async def test_a_page_stays_and_says_why_while_no_preview_answers(
    chromium: Browser, desk: Desk
) -> None:
    page = await chromium.new_page()
    async with desk.previewing() as reader:
        author = Author(page, reader.preview.url, desk.root / "handbook")
        await author.edit()
    ended = page.get_by_text("the preview has ended: start it again")
    await ended.wait_for()
    async with page.expect_event("requestfailed", lambda it: it.url == page.url):
        await author.button("Close the editor").click()
    await author.button("Edit").wait_for(state="hidden")
    await ended.wait_for()
    await author.shown("First words.")
    await page.close()


async def test_a_change_is_shown_though_a_script_could_not_be_loaded_at_once(
    chromium: Browser, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wikisync.site.preview.windows.WORD_S", 0.05)
    async with desk.previewing() as reader:
        page = await chromium.new_page()
        await page.route("**/live-*.js", lambda route: route.abort())
        await page.goto(f"{reader.preview.url}guide.html")
        async with page.expect_event(
            "requestfailed", lambda request: "/live-" in request.url
        ):
            (desk.root / "handbook" / "guide.md").write_text("New words.\n")
        await page.unroute("**/live-*.js")
        await page.locator("main").get_by_text("New words.").wait_for()
        await page.close()


async def test_a_read_only_preview_offers_no_editor(
    chromium: Browser, desk: Desk
) -> None:
    async with writing(chromium, desk, PreviewOptions(is_read_only=True)) as author:
        await author.page.goto(author.url + "guide.html")
        await author.page.get_by_text("live").wait_for()
        assert await author.button("Edit").count() == 0


# Everybody -------------------------------------------------------------------------


async def test_a_page_is_written_in_a_program_of_ones_own(
    chromium: Browser, desk: Desk
) -> None:
    """Without a service; what it saves is in the editor of the page at once."""
    script = "import sys; open(sys.argv[1], 'a').write('\\nOf a program.\\n')"
    options = PreviewOptions(editor=(sys.executable, "-c", script))
    async with writing(chromium, desk, options) as author:
        await author.edit()
        await author.button("More: new page, rename, delete").click()
        await author.button("Open in a program").click()
        await author.source.get_by_text("Of a program.").wait_for()
        await author.shown("Of a program.")
        await author.type_at_end("Mine.")
        await author.save()
        await author.said("Saved.")
    text = (author.root / "guide.md").read_text()
    assert text == f"{GUIDE}\nOf a program.\nMine."


async def test_the_editor_is_left_by_keyboard(author: Author) -> None:
    await author.edit()
    await author.source.click()
    await author.page.keyboard.press("Tab")
    inside = "document.activeElement.shadowRoot?.activeElement"
    name = f"{inside}?.className ?? ''"
    assert "cm-content" not in await author.page.evaluate(name)
    await author.button("Close the editor").click()
    assert await author.page.locator("main").get_by_text("First words").count() == 1
    assert await author.page.evaluate(f"{inside}.textContent") == "Edit"
    assert (
        await author.page.evaluate("document.querySelectorAll('[inert]').length") == 0
    )
