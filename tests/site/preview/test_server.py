"""A preview asked as a browser asks it: real files, a real server on loopback."""

import asyncio
import contextlib
import gc
import re
import socket
import sqlite3
import threading

import aiohttp
import pytest
from yarl import URL

from tests.support.archive import unpack
from tests.support.preview import HASH, WAIT_S, Desk, Reader, Window
from wikisync.core.system.running import beside
from wikisync.errors import ConfigError, SiteError
from wikisync.site.cache import CACHE_NAME
from wikisync.site.preview import following
from wikisync.site.preview import server as preview_module
from wikisync.site.preview import world as preview_world
from wikisync.site.preview.pages import Rendered
from wikisync.site.preview.server import Preview, PreviewOptions, running_preview
from wikisync.site.preview.site import LiveSite
from wikisync.site.preview.windows import Windows
from wikisync.site.preview.world import PreviewInputs

# Pages ------------------------------------------------------------------------------


async def test_pages_lists_and_search_are_there(reader: Reader) -> None:
    assert "Words of the guide" in (await reader.get("guide.html"))[1]
    assert "All pages" in (await reader.get("-/all.html"))[1]
    index = await reader.get("-/search.html")
    assert index[0] == 200
    home = (await reader.get(""))[1]
    style = re.search(r'href="(-/assets/theme\.[^"]+)"', home)
    assert style is not None
    answer = await reader.ask("GET", style[1])
    assert answer.headers["Content-Type"] == "text/css; charset=utf-8"
    assert "immutable" in answer.headers["Cache-Control"]


async def test_pages_are_those_of_a_build(reader: Reader, desk: Desk) -> None:
    """But for the policy, which moves into a header, and what the script needs."""
    from wikisync.site.build import build_site

    build_site(desk.sources, desk.root / "site", desk.options, cache=desk.root / "c")
    built = (desk.root / "site" / "guide.html").read_text()
    shown = (await reader.get("guide.html"))[1]
    own = '<script src="/-/preview/[^>]*></script>|<!--(?:blocks|end)-->'
    shown = re.sub(own, "", shown)
    assert re.sub(r"<meta http-equiv=[^>]*>", "", built) == shown


async def test_an_address_that_leads_nowhere_says_so_with_links_that_work(
    reader: Reader,
) -> None:
    status, text = await reader.get("no/where.html")
    assert status == 404
    assert 'href="../-/assets/' in text


async def test_folders_are_not_listed(reader: Reader) -> None:
    for path in ("uploads/", f"uploads/{HASH}", "-/", "%2e%2e/%2e%2e/etc/passwd"):
        url = URL(reader.preview.url + path, encoded=True)
        async with reader.session.get(url) as answer:
            assert answer.status == 404


# Following saves --------------------------------------------------------------------


async def test_a_save_is_told_to_the_window_that_shows_the_page(
    reader: Reader, window: Window, desk: Desk
) -> None:
    key = (await window.hear())["key"]
    (desk.root / "handbook" / "guide.md").write_text("## Part\n\nOther words.\n")
    news = await window.hear_other_key(key)
    text = (await reader.get("guide.html"))[1]
    assert "Other words" in text
    assert f'data-key="{news["key"]}"' in text


async def test_a_save_is_not_told_to_windows_that_show_another_page(desk: Desk) -> None:
    async with (
        desk.previewing() as reader,
        reader.window("guide.html") as guide,
        reader.window("index.html") as home,
    ):
        key, quiet = (await guide.hear())["key"], await home.hear()
        (desk.root / "handbook" / "guide.md").write_text("## Part\n\nOther words.\n")
        await guide.hear_other_key(key)
        (desk.root / "handbook" / "home.md").write_text("# Welcome\n\nNew.\n")
        # the first it hears is of its own page
        assert (await home.hear())["key"] != quiet["key"]
        assert "New." in (await reader.get(""))[1]


async def test_a_window_that_was_away_is_told_at_once(
    reader: Reader, desk: Desk
) -> None:
    async with reader.window("guide.html") as window:
        key = (await window.hear())["key"]
        (desk.root / "handbook" / "guide.md").write_text("Other words.\n")
        await window.hear_other_key(key)
    async with reader.window("guide.html") as again:
        assert (await again.hear())["key"] != key


async def test_another_configuration_is_taken_over_with_its_folders(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "SETTINGS_LOOK_S", 0.05)
    settings = desk.root / "wikisync.toml"
    settings.write_text("one")
    options = PreviewOptions(settings=settings)
    async with desk.previewing(options) as reader, reader.window() as window:
        key = (await window.hear())["key"]
        other = desk.add("-- home.md --\nThe other wiki.", "docs/other")
        settings.write_text("two")
        key = (await window.hear_other_key(key))["key"]
        async with reader.window("docs/other/-/wikis/index.html") as second:
            key = (await second.hear())["key"]
            (other / "home.md").write_text("Its folder is watched.")
            await second.hear_other_key(key)


async def test_the_search_is_that_of_a_build_and_follows_every_save(
    reader: Reader, window: Window, desk: Desk
) -> None:
    guide = desk.root / "handbook" / "guide.md"
    key = (await window.hear())["key"]
    before = built_search(desk, "one")
    assert await reader.texts(*before) == before
    guide.write_text("An unheardof word.\n")
    await window.hear_other_key(key)
    after = built_search(desk, "two")
    assert "unheardof" in str(after)
    assert await reader.texts(*after) == after
    assert (await reader.get("-/search/t-nothing.js"))[0] == 404


def built_search(desk: Desk, name: str) -> dict[str, str]:
    from wikisync.site.build import build_site

    site = desk.root / name
    build_site(desk.sources, site, desk.options, cache=desk.root / "c")
    files = (site / "-" / "search").iterdir()
    return {f"-/search/{file.name}": file.read_text("utf-8") for file in files}


async def test_the_same_cache_serves_two_previews_at_once(desk: Desk) -> None:
    async with desk.previewing() as one, desk.previewing() as two:
        assert (await one.get(""))[0] == (await two.get(""))[0] == 200


# What goes wrong --------------------------------------------------------------------


async def test_a_configuration_that_is_wrong_from_the_start_is_shown(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "SETTINGS_LOOK_S", 0.05)
    settings = desk.root / "wikisync.toml"

    right = desk.inputs

    def load() -> PreviewInputs:
        if not settings.exists():
            raise ConfigError("wikisync.toml is wrong", problems=("site.titel: no",))
        return right()

    monkeypatch.setattr(desk, "inputs", load)
    options = PreviewOptions(settings=settings)
    async with desk.previewing(options) as reader, reader.window() as window:
        news = await window.hear_until("is_failing", value=True)
        assert "site.titel" in news["problems"][0]["message"]
        status, text = await reader.get("")
        assert status == 500
        assert "wikisync.toml is wrong" in text
        settings.write_text("right")
        await window.hear_until("is_failing", value=False)
        assert (await reader.get(""))[0] == 200


async def test_a_folder_of_templates_that_is_made_later_is_used(desk: Desk) -> None:
    folder = desk.root / "theme"
    desk.set(templates=folder)
    async with desk.previewing() as reader, reader.window() as window:
        key = (await window.hear())["key"]
        unpack("-- templates/page.html --\nours alone\n", folder)
        await window.hear_other_key(key)
        assert "ours alone" in (await reader.get(""))[1]


async def test_a_page_that_is_no_utf8_is_told_with_its_line(
    window: Window, desk: Desk
) -> None:
    guide = desk.root / "handbook" / "guide.md"
    await window.hear()
    guide.write_bytes(b"one\ntwo \xff\n")
    news = await window.hear_until("file", "handbook/guide.md")
    assert [problem["where"] for problem in news["problems"]] == ["handbook/guide.md:2"]
    assert not news["is_failing"]
    guide.write_text("one\n")
    await window.hear_until("problems", [])


async def test_a_folder_that_vanishes_is_told_and_the_site_stays(desk: Desk) -> None:
    folder = desk.root / "handbook"
    async with desk.previewing() as reader, reader.window() as window:
        await window.hear()
        folder.rename(desk.root / "away")
        await window.hear_until("is_failing", value=True)
        assert (await reader.get("guide.html"))[0] == 200
        (desk.root / "away").rename(folder)
        await window.hear_until("is_failing", value=False)


# Conflicts and states ---------------------------------------------------------------


async def test_a_page_in_conflict_is_marked_everywhere(desk: Desk) -> None:
    conflict = desk.root / "handbook" / "guide.conflict.md"
    for name in ("home.plan.md", "home.conflict.plan.md"):
        conflict.with_name(name).write_text("no conflict file\n")
    async with (
        desk.previewing() as reader,
        reader.window("guide.html") as guide,
        reader.window() as home,
    ):
        await guide.hear()
        conflict.write_text("both texts")
        assert (await guide.hear_until("is_conflict", value=True))["file"]
        marks = (await home.hear_until("marks", {"guide.html": "conflict"}))["marks"]
        assert marks
        conflict.unlink()
        await home.hear_until("marks", {})


async def test_a_page_that_comes_beside_its_conflict_file_is_in_conflict(
    desk: Desk,
) -> None:
    """Also in a folder that gets its name with both in it."""
    folder = desk.root / "handbook"
    (folder / "new.conflict.md").write_text("both texts")
    (folder / "v1.0").mkdir()
    for name in ("one.md", "one.conflict.md"):
        (folder / "v1.0" / name).write_text("text")
    async with desk.previewing() as reader, reader.window() as home:
        await home.hear_until("marks", {"v1.0/one.html": "conflict"})
        (folder / "new.md").write_text("mine")
        both = {"v1.0/one.html": "conflict", "new.html": "conflict"}
        await home.hear_until("marks", both)
        (folder / "v1.0").rename(folder / "v2.0")
        moved = {"v2.0/one.html": "conflict", "new.html": "conflict"}
        await home.hear_until("marks", moved)


async def test_much_that_is_read_is_left_alone_by_the_collector(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preview_world, "READ_AT_ONCE_MAX", 0)
    monkeypatch.setattr(preview_module, "READING_NEWS_S", 0.0)
    frozen = asyncio.Event()
    monkeypatch.setattr(gc, "freeze", frozen.set)
    async with desk.previewing(), asyncio.timeout(WAIT_S):
        await frozen.wait()


async def test_one_page_that_is_read_is_no_work_for_the_collector(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preview_world, "READ_AT_ONCE_MAX", 0)
    monkeypatch.setattr(preview_module, "READING_NEWS_S", WAIT_S)
    done = asyncio.Event()
    read_on = LiveSite.read_on

    def read(site: LiveSite) -> bool:
        is_more = read_on(site)
        if not is_more:
            loop.call_soon_threadsafe(done.set)
        return is_more

    loop = asyncio.get_running_loop()
    monkeypatch.setattr(LiveSite, "read_on", read)
    frozen = asyncio.Event()
    monkeypatch.setattr(gc, "freeze", frozen.set)
    async with desk.previewing() as reader, asyncio.timeout(WAIT_S):
        await done.wait()
        await reader.get("guide.html")
        assert not frozen.is_set()


# Its life ---------------------------------------------------------------------------


async def test_a_port_that_is_taken_is_told_with_the_next_step(desk: Desk) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        options = PreviewOptions(port=taken.getsockname()[1])
        with pytest.raises(SiteError, match="is in use") as error:
            async with desk.previewing(options):
                pass
        assert "--port" in str(error.value.hint)


async def test_the_next_port_is_taken_where_none_was_asked_for(desk: Desk) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        options = PreviewOptions(port=port, is_port_wanted=False)
        async with desk.previewing(options) as reader:
            assert int(reader.origin.rpartition(":")[2]) > port


async def test_only_this_machine_is_listened_to(desk: Desk) -> None:
    with pytest.raises(SiteError, match="only run on this machine"):
        async with desk.previewing(PreviewOptions(host="0.0.0.0")):
            pass


async def test_windows_hear_that_the_preview_ends_and_nothing_is_left(
    desk: Desk,
) -> None:
    async with aiohttp.ClientSession() as session:
        async with desk.previewing() as reader:
            connected = await session.ws_connect(
                f"{reader.preview.url}-/preview/events?at=index.html",
                headers={"Origin": reader.origin},
            )
            await connected.receive_json()
        assert (await connected.receive()).type == aiohttp.WSMsgType.CLOSE
        await connected.close()
    names = {thread.name.partition("_")[0] for thread in threading.enumerate()}
    assert not names & {"wikisync-preview", "wikisync-watch"}


async def test_an_error_of_the_program_around_it_comes_out_as_it_is(desk: Desk) -> None:
    with pytest.raises(ConfigError, match="not ours"):
        async with desk.previewing():
            raise ConfigError("not ours")


async def test_it_ends_while_it_still_reads_pages(desk: Desk) -> None:
    folder, cache = desk.root / "handbook", desk.root / "cache"
    for number in range(300):
        (folder / f"page-{number}.md").write_text(f"# Page {number}\n")
    async with (
        running_preview(desk.inputs, cache) as preview,
        aiohttp.ClientSession() as session,
        session.get(preview.url) as answer,
    ):
        assert "Welcome" in await answer.text()
    with contextlib.closing(sqlite3.connect(cache / CACHE_NAME)) as kept:
        assert kept.execute("SELECT count(*) FROM parsed").fetchone()[0] < 300


# Its start --------------------------------------------------------------------------


async def test_a_page_is_shown_before_others_are_read_and_hears_of_their_titles(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preview_world, "READ_AT_ONCE_MAX", 0)
    go_on, read_on = threading.Event(), LiveSite.read_on
    monkeypatch.setattr(LiveSite, "read_on", lambda it: go_on.is_set() and read_on(it))
    other = desk.root / "handbook" / "other.md"
    other.write_text("# Quite another title\n")
    async with desk.previewing() as reader, reader.window("guide.html") as window:
        news = await window.hear()
        assert news["wait"].startswith("read 1 of 3 pages")
        text = (await reader.get("guide.html"))[1]
        assert "Words of the guide" in text
        assert ">other</a>" in text
        go_on.set()
        other.write_text("# Quite another title\n\nOne more line.\n")
        assert (await window.hear_until("wait", ""))["key"] != news["key"]
        assert "Quite another title" in (await reader.get("guide.html"))[1]


async def test_a_page_of_its_own_says_that_the_first_look_takes_long(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preview_module, "START_WAIT_S", 0)
    go_on = threading.Event()

    def load() -> PreviewInputs:
        assert go_on.wait(WAIT_S)
        return desk.inputs()

    async with (
        running_preview(load, desk.root / "cache") as preview,
        aiohttp.ClientSession() as session,
    ):
        async with session.get(preview.url) as answer:
            assert answer.status == 503
            assert "One moment" in await answer.text()
        go_on.set()
        await preview.ready()
        async with session.get(preview.url) as answer:
            assert "Welcome" in await answer.text()


async def test_a_window_hears_something_also_where_nothing_is_new(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or it could not tell a preview that stands still from one without news."""
    monkeypatch.setattr("wikisync.site.preview.windows.WORD_S", 0.05)
    async with desk.previewing() as reader, reader.window() as window:
        assert await window.hear() == await window.hear()


async def test_a_window_hears_something_where_others_have_news_all_the_time(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page beside one that somebody writes said that the preview does not answer."""
    monkeypatch.setattr("wikisync.site.preview.windows.WORD_S", 0.05)

    async def wake(windows: Windows) -> None:
        while True:
            windows.wake()
            await asyncio.sleep(0)

    async with (
        desk.previewing() as reader,
        reader.window() as window,
        beside(wake(reader.preview._windows)),
    ):
        assert await window.hear() == await window.hear()


async def test_a_window_hears_that_the_preview_runs_while_the_site_is_at_work(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page that takes its parser long is no preview that stands still."""
    monkeypatch.setattr("wikisync.site.preview.windows.BEAT_S", 0.05)
    free = threading.Event()
    async with desk.previewing() as reader, reader.window() as window:
        await window.hear()
        reader.preview._thread.submit(free.wait)
        reader.preview._windows.wake()
        try:
            words = [await window.socket.receive_str(timeout=10) for _ in range(3)]
        finally:
            free.set()
    assert words == [""] * 3


async def test_what_is_asked_when_the_preview_ends_is_answered_in_a_sentence(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    begun = threading.Event()

    def answer(site: LiveSite, _path: str) -> Rendered:
        begun.set()
        while True:
            site.refresh(None)

    preview = Preview(desk.inputs, PreviewOptions(), desk.notices.append)
    async with preview.listening(), aiohttp.ClientSession() as session:
        reader = Reader(preview, session)
        async with (
            asyncio.TaskGroup() as tasks,
            preview.at_work(desk.root / "cache"),
            reader.window() as window,
        ):
            await window.hear()
            monkeypatch.setattr(LiveSite, "answer", answer)
            # the second one waits for the thread
            asked = [tasks.create_task(reader.get("")) for _ in range(2)]
            assert await asyncio.to_thread(begun.wait, WAIT_S)
        said = [await reader.get("guide.html"), *(task.result() for task in asked)]
    assert [status for status, _ in said] == [503, 503, 503]
    assert all("the preview ends" in text for _, text in said)
    assert not [one for one in caplog.records if one.exc_info]
