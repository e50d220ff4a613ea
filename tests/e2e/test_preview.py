"""The preview as an author sees it while writing, and as another website meets it."""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio
from aiohttp import web

from tests.support.archive import unpack
from tests.support.browser import Visit, lose_first, unchecked_visit, visiting
from tests.support.preview import Desk, StatesOfTest, files_of
from wikisync.site.preview.server import PreviewOptions
from wikisync.site.preview.states import PageStatus, SyncStatus

if TYPE_CHECKING:
    from playwright.async_api import Browser, Route

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

SECTIONS = "\n\n".join(f"## Section {n}\n\n{'Some words. ' * 80}" for n in range(30))
WIKI = f"""\
-- home.md --
# Welcome

{SECTIONS}

The end.
-- guide.md --
Words of the guide.
"""


@asynccontextmanager
async def writing(
    chromium: Browser, desk: Desk, options: PreviewOptions | None = None
) -> AsyncIterator[Visit]:
    """An author's window: it must stay on the preview and cause no error."""
    async with (
        desk.previewing(options) as reader,
        visiting(chromium, reader.preview.url) as visit,
    ):
        yield visit


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    desk = Desk(tmp_path)
    desk.add(WIKI)
    return desk


@pytest_asyncio.fixture(loop_scope="session")
async def visit(chromium: Browser, desk: Desk) -> AsyncIterator[Visit]:
    """The window of the author."""
    async with writing(chromium, desk) as visit:
        yield visit


async def wait_for_text(visit: Visit, text: str) -> None:
    await visit.page.get_by_text(text).first.wait_for()


async def test_the_reader_stays_at_the_text_when_what_is_above_grows(
    visit: Visit, desk: Desk
) -> None:
    home = desk.root / "handbook" / "home.md"
    await visit.go("index.html")
    heading = visit.page.locator("article h2").nth(15)
    await heading.evaluate("(it) => scrollTo(0, it.offsetTop + 40)")
    before = await heading.evaluate("(it) => it.getBoundingClientRect().top")
    home.write_text(home.read_text().replace("# Welcome", "# Hi\n\nMore\n\nMore"))
    await visit.page.get_by_role("heading", name="Hi").wait_for(state="attached")
    after = await heading.evaluate("(it) => it.getBoundingClientRect().top")
    assert after == pytest.approx(before, abs=2)


async def test_a_save_of_the_text_replaces_the_text_alone(
    visit: Visit, desk: Desk
) -> None:
    """Nothing flickers, what was typed elsewhere stays, and code gets its button."""
    guide = desk.root / "handbook" / "guide.md"
    await visit.go("guide.html")
    await visit.page.evaluate("window.isStill = true")
    await visit.page.get_by_role("searchbox").first.fill("words")
    guide.write_text("Other words of the guide.\n\n```python\nx = 1\n```\n")
    await wait_for_text(visit, "Other words")
    await visit.page.get_by_role("button", name="Copy").wait_for()
    guide.write_text("Third words.\n\n```python\nx = 2\n```\n")
    await wait_for_text(visit, "Third words")
    assert await visit.page.get_by_role("button", name="Copy").count() == 1
    guide.write_text("## A heading\n\nFourth words.\n\n### Another\n")
    contents = visit.page.get_by_role("navigation", name="On this page")
    await contents.get_by_role("link", name="A heading").wait_for()
    assert await visit.page.evaluate("window.isStill")
    assert await visit.page.get_by_role("searchbox").first.input_value() == "words"


async def test_a_save_is_shown_though_one_answer_was_lost(
    chromium: Browser, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wikisync.site.preview.windows.WORD_S", 0.05)
    async with writing(chromium, desk) as visit:
        await visit.go("guide.html")
        await lose_first(visit.page, "**/guide.html")
        (desk.root / "handbook" / "guide.md").write_text("Words that came.\n")
        await wait_for_text(visit, "Words that came")
        visit.errors.clear()


async def test_a_page_stays_where_a_preview_that_ends_refuses_the_next(
    chromium: Browser, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reader had a line of JSON in its place, which no later preview brings back."""
    monkeypatch.setattr("wikisync.site.preview.windows.WORD_S", 0.05)
    async with (
        desk.previewing() as reader,
        unchecked_visit(chromium, reader.preview.url) as visit,
    ):
        await visit.go("guide.html")
        await visit.page.evaluate("window.isStill = true")
        await lose_first(visit.page, "**/guide.html", status=503)
        (desk.root / "handbook" / "guide.md").write_text("Words that came.\n")
        await wait_for_text(visit, "Words that came")
        assert await visit.page.evaluate("window.isStill")


async def test_what_stands_beside_the_text_is_brought_up_to_date_too(
    visit: Visit, desk: Desk
) -> None:
    """Without loading the page again: neither for its own title nor for another's."""
    guide = desk.root / "handbook" / "guide.md"
    await visit.go("guide.html")
    await visit.page.evaluate("window.isStill = true")
    guide.write_text("---\ntitle: A new title\n---\nWords of the guide.\n")
    tree = visit.page.get_by_role("navigation", name="Pages", exact=True)
    await tree.get_by_role("link", name="A new title").wait_for()
    assert (await visit.page.title()).startswith("A new title")
    (guide.parent / "other.md").write_text("# Quite another\n")
    await tree.get_by_role("link", name="Quite another").wait_for()
    assert await visit.page.evaluate("window.isStill")


async def test_what_a_reader_opened_in_the_tree_stays_open_while_the_text_changes(
    chromium: Browser, desk: Desk
) -> None:
    unpack("-- guide/part.md --\nA part.\n", desk.root / "handbook")
    guide = desk.root / "handbook" / "guide.md"
    async with writing(chromium, desk) as visit:
        await visit.go("guide.html")
        branch = visit.page.locator("nav details").first
        await branch.evaluate("(it) => { it.open = false; it.isStill = true; }")
        guide.write_text("Other words of the guide.\n")
        await wait_for_text(visit, "Other words")
        assert await branch.evaluate("(it) => it.isStill && !it.open")
        guide.write_text("---\ntitle: A new title\n---\nOther words of the guide.\n")
        await visit.page.get_by_role("heading", name="A new title").wait_for()
        assert not await branch.evaluate("(it) => it.isStill || it.open")


async def test_marks_in_the_tree_stay_when_the_tree_changes(
    chromium: Browser, desk: Desk
) -> None:
    states = StatesOfTest()
    states.set("held", "refused", "home")
    async with writing(chromium, desk, states.options) as visit:
        await visit.go("guide.html")
        tree = visit.page.get_by_role("navigation", name="Pages", exact=True)
        mark = tree.get_by_role("link", name="Welcome").get_by_role("img")
        await mark.wait_for()
        guide = desk.root / "handbook" / "guide.md"
        guide.write_text("---\ntitle: A new title\n---\nWords of the guide.\n")
        await tree.get_by_role("link", name="A new title").wait_for()
        assert await mark.count() == 1


@pytest.mark.parametrize("path", ["guide.html", "none.html"])
async def test_another_frame_is_loaded(
    chromium: Browser, desk: Desk, path: str
) -> None:
    from playwright.async_api import expect

    theme = unpack("-- static/theme.css --\n\n", desk.root / "theme")
    desk.set(templates=theme)
    async with (
        desk.previewing() as reader,
        unchecked_visit(chromium, reader.preview.url) as visit,
    ):
        await visit.go(path)
        (theme / "static" / "theme.css").write_text("h1 { color: rgb(1, 2, 3); }")
        await expect(visit.page.locator("h1")).to_have_css("color", "rgb(1, 2, 3)")


async def test_another_frame_takes_no_followed_link_back(
    chromium: Browser, desk: Desk
) -> None:
    theme = unpack("-- static/theme.css --\n\n", desk.root / "theme")
    desk.set(templates=theme)
    asked, free = asyncio.Event(), asyncio.Event()

    async def hold(route: Route) -> None:
        asked.set()
        await free.wait()
        await route.fallback()

    async with (
        desk.previewing() as reader,
        unchecked_visit(chromium, reader.preview.url) as visit,
    ):
        await visit.go("guide.html")
        await visit.page.route("**/index.html", hold)
        await visit.page.get_by_role("link", name="Welcome").first.click(
            no_wait_after=True
        )
        await asked.wait()
        css = theme / "static" / "theme.css"
        async with visit.page.expect_response("**/live-*.js") as loaded:
            css.write_text("h1 { color: rgb(1, 2, 3); }")
        await (await loaded.value).finished()
        # it has time to do what it would do
        for _ in range(20):
            await reader.get("guide.html")
        free.set()
        await visit.page.wait_for_url("**/index.html")


async def test_a_page_that_comes_takes_the_place_of_its_absence_and_back(
    chromium: Browser, desk: Desk
) -> None:
    later = desk.root / "handbook" / "later.md"
    async with (
        desk.previewing() as reader,
        unchecked_visit(chromium, reader.preview.url) as visit,
    ):
        await visit.go("later.html")
        await visit.page.evaluate("window.isStill = true")
        later.write_text("# It came\n")
        heading = visit.page.get_by_role("heading", name="It came")
        await heading.wait_for()
        later.unlink()
        await heading.wait_for(state="detached")
        later.write_text("# It came again\n")
        await visit.page.get_by_role("heading", name="It came again").wait_for()
        assert await visit.page.evaluate("window.isStill")


async def test_another_picture_under_the_same_name_is_shown(
    chromium: Browser, desk: Desk
) -> None:
    from playwright.async_api import expect

    name = f"uploads/{32 * '0'}/a.svg"
    picture = '<svg xmlns="http://www.w3.org/2000/svg" width="WIDTH" height="9"/>'
    folder = desk.root / "handbook"
    unpack(f"-- {name} --\n{picture.replace('WIDTH', '10')}\n", folder)
    (folder / "guide.md").write_text(f"![a drawing]({name})\n")
    async with writing(chromium, desk) as visit:
        await visit.go("guide.html")
        drawn = visit.page.get_by_alt_text("a drawing")
        await expect(drawn).to_have_js_property("naturalWidth", 10)
        # the page is loaded again for it, with what was typed
        search = visit.page.get_by_role("searchbox").first
        await search.fill("half a w")
        (folder / name).write_text(picture.replace("WIDTH", "20"))
        await expect(drawn).to_have_js_property("naturalWidth", 20)
        await expect(search).to_have_value("half a w")
        await expect(search).to_be_focused()


async def test_a_script_that_says_nothing_of_previews_gets_a_page_of_its_own(
    chromium: Browser, desk: Desk
) -> None:
    script = "document.querySelector('article').append('dressed')"
    theme = unpack(f"-- static/own.js --\n{script}\n", desk.root / "theme")
    desk.set(templates=theme, theme_options={"extra_js": ["own.js"]})
    guide = desk.root / "handbook" / "guide.md"
    async with writing(chromium, desk) as visit:
        await visit.go("guide.html")
        await wait_for_text(visit, "dressed")
        guide.write_text("Other words of the guide.\n")
        await wait_for_text(visit, "Other words")
        await wait_for_text(visit, "dressed")


async def test_an_error_appears_above_the_page_and_goes(
    chromium: Browser, desk: Desk
) -> None:
    theme = unpack("-- templates/404.html --\nnothing\n", desk.root / "theme")
    desk.set(templates=theme)
    template = theme / "templates" / "page.html"
    async with writing(chromium, desk) as visit:
        await visit.go("index.html")
        text = "{% extends '!theme/page.html' %}\n{% block content %}\n{{ wrong }}"
        template.write_text(text + "{% endblock %}")
        alert = visit.page.get_by_role("alert")
        await alert.get_by_text("'wrong' is undefined").wait_for()
        assert f"{template}:3" in await alert.inner_text()
        # the last good page is still there
        assert await visit.page.locator("h1").inner_text() == "Welcome"
        template.write_text("{% extends '!theme/page.html' %}")
        await alert.wait_for(state="hidden")


async def test_an_error_that_was_there_first_ends_with_the_page(
    chromium: Browser, desk: Desk
) -> None:
    theme = unpack("-- templates/page.html --\n{{ wrong }}\n", desk.root / "theme")
    desk.set(templates=theme)
    async with (
        desk.previewing() as reader,
        unchecked_visit(chromium, reader.preview.url) as visit,
    ):
        await visit.go("index.html")
        await visit.page.get_by_role("alert").get_by_text("undefined").wait_for()
        (theme / "templates" / "page.html").unlink()
        await visit.page.get_by_role("heading", name="Welcome").wait_for()


async def test_front_matter_is_complained_about_until_it_is_right(
    visit: Visit, desk: Desk
) -> None:
    guide = desk.root / "handbook" / "guide.md"
    await visit.go("guide.html")
    guide.write_text("---\ntitle: Guide\nno key\n---\nThe guide.\n")
    alert = visit.page.get_by_role("alert")
    await alert.get_by_text("handbook/guide.md:3").wait_for()
    await alert.get_by_role("button", name="Close").click()
    await alert.wait_for(state="hidden")
    guide.write_text("---\ntitle: Guide\n---\nThe guide.\n")
    await visit.page.get_by_role("heading", name="Guide").wait_for()
    assert not await alert.is_visible()


async def test_an_editor_that_does_not_open_is_told(
    chromium: Browser, desk: Desk
) -> None:
    async with (
        desk.previewing() as reader,
        unchecked_visit(chromium, reader.preview.url) as visit,
    ):
        await visit.go("guide.html")
        await visit.page.get_by_role("button", name="Edit").click()
        await visit.page.get_by_role("button", name="More").click()
        await visit.page.get_by_role("button", name="Open in a program").click()
        await visit.page.get_by_text("no editor is known").wait_for()


async def test_conflicts_and_states_are_marked_on_the_page_and_in_the_tree(
    chromium: Browser, desk: Desk
) -> None:
    states = StatesOfTest()
    async with writing(chromium, desk, states.options) as visit:
        await visit.go("index.html")
        tree = visit.page.get_by_role("navigation", name="Pages", exact=True)
        status = visit.page.locator("wikisync-preview").get_by_role("status")
        states.set("held", "refused")
        await tree.get_by_role("img", name="held").wait_for()
        states.set("waiting", "service away since 14:03", "home")
        await status.get_by_text("on its way: service away since 14:03").wait_for()
        states.now = SyncStatus("1 held", PageStatus("synced"))
        await status.get_by_text("in sync", exact=True).wait_for()
        await status.get_by_text("wiki: 1 held", exact=True).wait_for()
        away = "service away since 14:03"
        states.now = SyncStatus(away, PageStatus("away", away))
        await status.get_by_text(away, exact=True).wait_for()
        (desk.root / "handbook" / "home.conflict.md").write_text("both")
        await status.get_by_text("in conflict").wait_for()
        assert await status.get_by_role("button", name="Edit").is_visible()


async def test_the_panel_has_nothing_that_axe_finds_wrong(
    chromium: Browser, desk: Desk
) -> None:
    (desk.root / "handbook" / "guide.md").write_text("---\nno key\n---\nThe guide.\n")
    async with writing(chromium, desk) as visit:
        await visit.go("guide.html")
        await visit.page.get_by_role("alert").get_by_text("guide.md:2").wait_for()
        assert await visit.axe() == []


async def test_a_preview_that_stands_still_is_told(
    chromium: Browser, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wikisync.site.preview.windows.WORD_S", 3600.0)
    async with desk.previewing() as reader:
        context = await chromium.new_context()
        page = await context.new_page()
        await page.clock.install()
        await page.goto(f"{reader.preview.url}guide.html")
        await page.get_by_text("live").wait_for()
        await page.clock.fast_forward(9_500)
        await page.get_by_text("no answer since").wait_for()
        (desk.root / "handbook" / "guide.md").write_text("It goes on.\n")
        await page.get_by_text("live").wait_for()
        await context.close()


async def test_a_preview_that_was_started_again_is_taken_up(
    chromium: Browser, desk: Desk
) -> None:
    """The page of the earlier run is loaded again, with that run's token."""
    async with desk.previewing() as reader:
        port = int(reader.origin.rpartition(":")[2])
        visit_of = unchecked_visit(chromium, reader.preview.url)
        visit = await visit_of.__aenter__()
        await visit.go("guide.html")
        await wait_for_text(visit, "live")
    await wait_for_text(visit, "the preview has ended: start it again")
    await visit.page.get_by_role("button", name="Edit").wait_for(state="hidden")
    (desk.root / "handbook" / "guide.md").write_text("Written meanwhile.")
    async with desk.previewing(PreviewOptions(port=port)):
        await wait_for_text(visit, "Written meanwhile.")
        # before the server ends: a connection that the page makes then is left open
        await visit_of.__aexit__(None, None, None)


# Another website --------------------------------------------------------------------

ATTACK = """
<!doctype html><title>attack</title><script>
const got = {};
const target = "TARGET", guide = '{"at": "guide.html"}';
const tryIt = (name, work) => work().then(
	(it) => (got[name] = it),
	() => (got[name] = "no"),
);
const loads = (name, props) => new Promise((good, bad) => {
	const element = document.createElement(name);
	Object.assign(element, props, { onload: () => good("loaded"), onerror: bad });
	document.documentElement.append(element);
});
const ask = (path, how) => fetch(target + path, how);
const edit = (how) => ask("-/preview/edit", { method: "POST", body: guide, ...how });
const words = "Words of the guide.\\n";
const writes = {
	source: {}, draft: { text: "x" }, save: { text: "x", base: words },
	create: { name: "evil" }, rename: { name: "evil" }, restore: {}, names: {},
	delete: { text: words }, file: { name: "a.png", content: "" },
};
const write = (action, how) => ask(`-/preview/${action}`, {
	method: "POST",
	body: JSON.stringify({ at: "guide.html", ...writes[action] }),
	...how,
});
const json = { "Content-Type": "application/json" };
const listen = () => new Promise((good, bad) => {
	const at = "-/preview/events?at=guide.html";
	const socket = new WebSocket(target.replace("http", "ws") + at);
	socket.onmessage = (event) => good(event.data);
	socket.onclose = bad;
});
window.attack = async () => {
	await Promise.all([
		tryIt("read", () => ask("guide.html").then((it) => it.text())),
		tryIt("opaque", () => ask("", { mode: "no-cors" }).then((it) => it.type)),
		tryIt("script", () => loads("script", { src: target + "SCRIPT" })),
		tryIt("image", () => loads("img", { src: target + "ICON" })),
		tryIt("edit", () => edit({ mode: "no-cors" }).then((it) => it.type)),
		tryIt("json", () => edit({ headers: json }).then((it) => it.status)),
		tryIt("events", listen),
		...Object.keys(writes).flatMap((one) => [
			tryIt(one, () => write(one, { mode: "no-cors" }).then((it) => it.type)),
			tryIt(`${one} 2`, () => write(one, { headers: json }).then((it) => it.ok)),
		]),
	]);
	return got;
};
</script>
"""


@asynccontextmanager
async def another_website(text: str) -> AsyncIterator[str]:
    async def page(_request: web.Request) -> web.Response:
        return web.Response(text=text, content_type="text/html")

    app = web.Application()
    app.router.add_get("/", page)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        yield f"http://localhost:{runner.addresses[0][1]}/"
    finally:
        await runner.cleanup()


async def test_another_website_can_neither_read_nor_do_anything(
    chromium: Browser, desk: Desk
) -> None:
    opened = desk.root / "opened.txt"
    script = "import pathlib, sys; pathlib.Path(sys.argv[1]).write_text(sys.argv[2])"
    editor = (sys.executable, "-c", script, str(opened))
    before = files_of(desk.root / "handbook")
    async with desk.previewing(PreviewOptions(editor=editor)) as reader:
        home = (await reader.get(""))[1]
        text = ATTACK.replace("TARGET", reader.preview.url)
        for word, pattern in (
            ("ICON", r"icon\.\w+\.svg"),
            ("SCRIPT", r"theme\.\w+\.js"),
        ):
            found = re.search(f"-/assets/{pattern}", home)
            assert found is not None
            text = text.replace(word, found[0])
        async with another_website(text) as url:
            context = await chromium.new_context()
            page = await context.new_page()
            await page.goto(url)
            got = await page.evaluate("attack()")
            await context.close()
    # an opaque answer tells nothing; the server refused it all the same
    assert {value for value in got.values() if value != "opaque"} == {"no"}
    assert not opened.exists()
    assert files_of(desk.root / "handbook") == before


async def test_another_website_cannot_show_it_in_a_frame(
    chromium: Browser, desk: Desk
) -> None:
    async with desk.previewing() as reader:
        frame = f'<iframe src="{reader.preview.url}guide.html"></iframe>'
        async with another_website(f"<!doctype html>{frame}") as url:
            context = await chromium.new_context()
            page = await context.new_page()
            await page.goto(url)
            shown = await page.frames[1].content()
            await context.close()
    assert "Words of the guide" not in shown


async def test_an_attachment_that_is_a_page_runs_no_script_of_its_own(
    chromium: Browser, desk: Desk
) -> None:
    name = "uploads/0123456789abcdef0123456789abcdef/evil.html"
    script = "<script>document.title = 'it ran'</script><title>quiet</title>"
    unpack(f"-- {name} --\n{script}", desk.root / "handbook")
    async with (
        desk.previewing() as reader,
        unchecked_visit(chromium, reader.preview.url) as visit,
    ):
        await visit.go(name.replace("evil.html", "evil-html.txt"))
        assert await visit.page.title() != "it ran"
        assert script in await visit.page.inner_text("body")
