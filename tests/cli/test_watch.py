"""``wikisync watch`` as a process, against the embedded service."""

import asyncio
import os
import re
import shutil
import signal
import time
from collections.abc import AsyncIterator
from contextlib import ExitStack
from pathlib import Path

import aiohttp
import pytest

from tests.support.agreed import agree_to
from tests.support.bending import bending_proxy
from tests.support.preview import Window
from tests.support.service import EmbeddedService, embedded_service
from tests.support.watching import OWNER, WAIT_S, WatchProcess, make_workspace, watching
from wikisync.cli.main import main
from wikisync.errors import FolderError
from wikisync.folder.workspace import holder_of, locked
from wikisync.workspace.sentences import parse_time
from wikisync.workspace.status import notes_of_watch

pytestmark = pytest.mark.slow

QUICK = "[sync]\npoll_interval_s = 1\n"
PREVIEW = "[preview]\nport = 0\n"


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[EmbeddedService]:
    async with embedded_service(tmp_path) as running:
        await running.add_project(OWNER.full_path, {"home": "one\n"})
        yield running


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Where the workspace is."""
    return tmp_path / "ws"


@pytest.fixture
async def watch(service: EmbeddedService, root: Path) -> AsyncIterator[WatchProcess]:
    """A watch that has nothing to do."""
    async with watching(service, root) as running:
        await running.in_sync()
        yield running


def reload(watch: WatchProcess, text: str) -> None:
    (watch.root / "wikisync.toml").write_text(text)
    watch.signal(signal.SIGHUP)


async def run_beside(watch: WatchProcess, *words: str) -> int:
    """Run another command while the watch runs; its exit code."""
    return await asyncio.to_thread(main, [*words, "-C", str(watch.root)])


async def test_edits_travel_both_ways_and_lines_name_time_wiki_and_pages(
    service: EmbeddedService, root: Path
) -> None:
    """A terminal that was left open shows when it happened, and to what."""
    await service.add_pages(OWNER, dict.fromkeys("abcde", "text\n"))
    began = int(time.time())
    async with watching(service, root, more=QUICK) as watch:
        await watch.in_sync()
        pulled = next(line for line in watch.lines if "6 pulled" in line)
        holder = str(holder_of(root / ".wikisync"))
        assert f"`wikisync watch` is running (pid {watch.process.pid} on" in holder
        watch.save("home", "two\n")
        await watch.said("1 pushed")
        assert await watch.wiki_text("home") == "two\n"
        pushed = next(line for line in watch.lines if "1 pushed" in line)
        await service.add_pages(OWNER, {"home": "three\n"})
        await watch.until(lambda: watch.text("home") == "three\n")
    assert pulled[19:] == " handbook: 6 pulled (a, b, c and 3 more)"
    assert pushed[19:] == " handbook: 1 pushed (home)"
    times = [parse_time(line[:19]) for line in watch.lines]
    assert began <= times[0] <= times[-1] <= time.time()


async def test_folder_whose_disk_is_back_is_synced_at_once(
    watch: WatchProcess, tmp_path: Path
) -> None:
    """A disk that is not mounted leaves an empty folder; its wiki waited 5 minutes."""
    away = tmp_path / "away"
    watch.folder.rename(away)
    watch.folder.mkdir()
    await watch.said("is empty but had 1 pages")
    watch.folder.rmdir()
    away.rename(watch.folder)
    watch.save("home", "two\n")
    await watch.said("in sync", times=2)
    assert await watch.wiki_text("home") == "two\n"


async def test_watch_waits_for_a_sync_and_a_signal_ends_it_cleanly(
    service: EmbeddedService, root: Path, tmp_path: Path
) -> None:
    waiting = "waiting for another wikisync to finish: process"
    with locked(root / ".wikisync", "it"):
        async with watching(service, root) as watch:
            await watch.said(waiting)
            watch.signal(signal.SIGTERM)
            assert await watch.ended() == 0
            assert watch.lines[-1].endswith(" stopped")
    with ExitStack() as lock:
        lock.enter_context(locked(tmp_path / "other/.wikisync", "it"))
        async with watching(service, tmp_path / "other") as watch:
            await watch.said(waiting)
            lock.close()
            await watch.in_sync()
            watch.signal(signal.SIGTERM)
            assert await watch.ended() == 0
            assert watch.lines[-1].endswith(" stopped")
            assert watch.health["condition"] == "stopped"
    with locked(root / ".wikisync", "it", is_watch=True):
        async with watching(service, root) as watch:
            assert await watch.ended() == 1


async def test_signal_ends_it_though_the_service_hangs(
    service: EmbeddedService, root: Path
) -> None:
    """In the middle of a write, which is never broken off without need."""
    async with (
        bending_proxy(service.url) as proxy,
        watching(service, root, url=proxy.url) as watch,
    ):
        await watch.in_sync()
        write = proxy.bend(method="PUT", hangs=True)
        watch.save("home", "two\n")
        await asyncio.wait_for(write.has_met.wait(), WAIT_S)
        watch.signal(signal.SIGTERM)
        assert await watch.ended() == 0


async def test_signal_ends_it_while_a_program_makes_the_token(
    service: EmbeddedService, root: Path, tmp_path: Path
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    wiki = f'[[wiki]]\nproject = "{OWNER.full_path}"\n'
    more = f'token_command = ["cat", "{pipe}"]\n{wiki}'
    unset = {"WIKISYNC_TOKEN": ""}
    started = watching(service, root, more=more, project=None, environment=unset)
    async with started as watch:
        # the pipe is open, so that the program reads it
        with await asyncio.to_thread(pipe.open, "w"):
            watch.signal(signal.SIGINT)
            assert await watch.ended() == 0
        assert watch.lines[-1].endswith(" stopped")


# -- the configuration read anew ---------------------------------------------------


async def test_configuration_not_agreed_to_is_not_taken(watch: WatchProcess) -> None:
    before = (watch.root / "wikisync.toml").read_text()
    stays = "the previous configuration stays in use"
    reload(watch, f"{before}[sycn]\n")
    await watch.said('did you mean "sync"?')
    await watch.said(stays)
    reload(watch, f'{before}[sync]\nattention_command = ["touch", "ran"]\n')
    await watch.said(stays, times=2)
    assert any("wikisync init --trust" in line for line in watch.lines)
    watch.save("home", "two\n")
    await watch.said("1 pushed")
    agree_to(watch.root)
    watch.signal(signal.SIGHUP)
    await watch.said("reloading the configuration")


async def test_configuration_that_cannot_begin_gives_way_to_the_one_of_before(
    watch: WatchProcess, service: EmbeddedService
) -> None:
    before = (watch.root / "wikisync.toml").read_text()
    taken = service.url.rpartition(":")[2]
    reload(watch, f'{before}[sync]\nlisten = "127.0.0.1:{taken}"\n')
    await watch.said("cannot listen")
    await watch.said("watching", times=2)
    watch.save("home", "two\n")
    await watch.said("1 pushed")
    await service.add_project("docs/other", {"start": "other\n"})
    reload(watch, f'{before}[[wiki]]\nproject = "docs/other"\n')
    await watch.said("other: in sync")
    assert (watch.root / "other" / "start.md").read_text() == "other\n"


async def test_wrong_configuration_at_the_start_is_an_error_of_usage(
    service: EmbeddedService, root: Path
) -> None:
    make_workspace(root, service.url, more="[sycn]\n")
    assert await asyncio.to_thread(main, ["watch", "-C", str(root)]) == 2


@pytest.mark.parametrize("is_asked", [True, False])
async def test_new_token_is_taken_at_the_signal_or_when_its_file_is_right(
    service: EmbeddedService, root: Path, tmp_path: Path, is_asked: bool
) -> None:
    """An editor may empty the file first."""
    token = await service.add_user("ann", is_admin=True)
    place = tmp_path / "token"
    place.touch(0o600)
    place.write_text(token)
    async with watching(service, root, "--token-file", str(place)) as watch:
        await watch.in_sync()
        await service.revoke(token)
        watch.save("home", "two\n")
        await watch.said("refused:")
        if not is_asked:
            place.write_text("")
            await watch.said("the previous configuration stays in use")
        place.write_text(await service.add_user("ben", is_admin=True))
        if is_asked:
            watch.signal(signal.SIGHUP)
        await watch.said("1 pushed")


async def test_start_without_the_service_waits_for_it(
    service: EmbeddedService, root: Path
) -> None:
    async with watching(service, root, url="http://127.0.0.1:1") as watch:
        await watch.said("offline:")
        await watch.until(lambda: watch.health.get("condition") == "offline")
        assert not watch.health["is_healthy"]
        watch.signal(signal.SIGTERM)
        assert await watch.ended() == 0


# -- open in an editor -------------------------------------------------------------


@pytest.mark.parametrize("edited", [False, True])
async def test_page_that_an_editor_closes_is_carried_over_at_once(
    service: EmbeddedService, root: Path, *, edited: bool
) -> None:
    await service.add_pages(OWNER, {"home": "first\n\nlast\n"})
    async with watching(service, root, more=QUICK) as watch:
        await watch.in_sync()
        lock = watch.folder / ".home.md.swp"
        lock.write_text("open\n")
        await service.add_pages(OWNER, {"home": "first there\n\nlast\n"})
        await watch.said("handbook: open in an editor: home (close it in the editor")

        def is_open_after(cycles: int) -> bool:
            said = watch.health  # once: a slow cycle says "syncing" in between
            is_open = said["condition"] == "open in an editor" and said["is_healthy"]
            return is_open and int(said["wikis"][0]["cycles"]) > cycles

        await watch.until(lambda: is_open_after(0))
        if edited:
            watch.save("home", "first\n\nlast here\n")
            cycles = watch.health["wikis"][0]["cycles"]
            await watch.until(lambda: is_open_after(cycles))
        lock.unlink()
        text = f"first there\n\nlast{' here' * edited}\n"
        await watch.until(lambda: watch.text("home") == text)

        async def is_there() -> bool:
            return await watch.wiki_text("home") == text

        await watch.until(is_there)
        await watch.said("handbook: in sync", 2)


async def test_conflict_file_that_an_editor_closes_is_taken_at_once(
    service: EmbeddedService, watch: WatchProcess
) -> None:
    """No poll and no walk comes in between: the lock file that goes is the hint."""
    conflict = watch.folder / "home.conflict.md"
    await service.add_pages(OWNER, {"home": "theirs\n"})
    watch.save("home", "mine\n")
    await watch.until(conflict.exists)
    lock = watch.folder / ".home.conflict.md.swp"
    lock.write_text("open\n")
    conflict.write_text("ours\n")
    attention = watch.root / "WIKISYNC-ATTENTION.md"
    await watch.until(
        lambda: attention.exists() and str(lock.name) in attention.read_text()
    )
    assert watch.text("home") == "mine\n"
    lock.unlink()
    await watch.until(lambda: watch.text("home") == "ours\n")
    await watch.until(lambda: not attention.exists())
    assert not conflict.exists()


async def test_watch_whose_state_is_removed_begins_anew_and_holds_the_new_one(
    watch: WatchProcess,
) -> None:
    """``git clean`` does that; a sync beside it would be a second writer."""
    shutil.rmtree(watch.root / ".wikisync")
    await watch.said("in sync", 2)
    watch.save("home", "two\n")
    await watch.said("1 pushed")
    assert "1 pushed" in watch.log
    with pytest.raises(FolderError, match="watch` is running"):
        locked(watch.root / ".wikisync", "it").__enter__()


async def test_watch_whose_state_and_configuration_are_replaced_waits_for_a_right_one(
    watch: WatchProcess,
) -> None:
    """A checkout writes one file after the other, and a person mends the last."""
    configuration = watch.root / "wikisync.toml"
    before = configuration.read_text()
    configuration.write_text(f"{before}[sycn]\n")
    shutil.rmtree(watch.root / ".wikisync")
    await watch.said("the previous configuration stays in use")
    configuration.write_text(before)
    await watch.said("in sync", times=2)
    watch.save("home", "two\n")
    await watch.said("1 pushed")


# -- other commands beside it ------------------------------------------------------


async def test_what_another_command_notes_is_carried_out_within_seconds(
    service: EmbeddedService, root: Path
) -> None:
    long = "".join(f"line {number} of a page\n" for number in range(100))
    await service.add_pages(OWNER, {"long": long})
    async with watching(service, root) as watch:
        await watch.in_sync()
        watch.save("long", "short\n")
        await watch.said("needs a person")
        assert await run_beside(watch, "--quiet", "approve", "handbook:1") == 0

        async def is_there() -> bool:
            return await watch.wiki_text("long") == "short\n"

        await watch.until(is_there)


async def test_touched_file_asks_for_a_scan_and_an_undo_takes_it_back(
    service: EmbeddedService, watch: WatchProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WIKISYNC_TOKEN", service.token)
    await service.add_pages(OWNER, {"home": "two\n", "new": "new\n"})
    (watch.root / ".wikisync" / "ask").touch()
    await watch.said("2 pulled")
    assert watch.text("home") == "two\n"

    async def is_back() -> bool:
        texts = [await watch.wiki_text(slug) for slug in ("home", "new")]
        return texts == ["one\n", None] and watch.text("new") is None

    assert await run_beside(watch, "--quiet", "undo", "-y") == 0
    await watch.until(is_back)
    assert watch.text("home") == "one\n"


async def test_a_rename_by_hand_is_told_with_its_links(watch: WatchProcess) -> None:
    watch.save("start", "[home](home) and [[home]]\n")
    await watch.said("1 pushed")
    (watch.folder / "home.md").rename(watch.folder / "first.md")
    step = "2 links lead to the old name; to change them, run: wikisync mv"
    await watch.said(step)
    await watch.until(lambda: any(step in one for one in watch.health["renamed"]))
    told = notes_of_watch(watch.health, time.time())
    assert any(step in one for one in told)
    assert await run_beside(watch, "mv", "handbook/home", "handbook/first") == 0
    await watch.until(lambda: not watch.health["renamed"])


async def test_bad_front_matter_is_told_for_each_change(watch: WatchProcess) -> None:
    bad = "---\ntitle: [a\n---\n"
    told = "handbook/home:2: invalid front matter"
    watch.save("home", f"{bad}one\n")
    await watch.said(told)
    watch.save("home", f"{bad}two\n")
    await watch.said(told, times=2)
    watch.save("home", "two\n")
    await watch.said("1 pushed (home)", times=3)
    assert sum(told in line for line in watch.lines) == 2


# -- the site and the preview ------------------------------------------------------


async def test_published_site_follows_each_change_and_the_command_has_no_token(
    service: EmbeddedService, root: Path
) -> None:
    """Also a picture beside its page, of which no cycle has anything to do."""
    more = (
        "[site]\npublish = true\n"
        'after = ["sh", "-c", "echo $WIKISYNC_SITE $WIKISYNC_TOKEN > after"]\n'
    )
    page = root / "site" / "index.html"

    def is_shown() -> bool:
        return bool(list(root.glob("site/-/files/*/red.png")))

    async with watching(service, root, more=more) as watch:
        await watch.until((root / "after").exists)
        await watch.until(lambda: (root / "after").read_text() == f"{root / 'site'}\n")
        watch.save("home", "two words ![red](red.png)\n")
        await watch.until(lambda: "two words" in page.read_text())
        assert "missing-media" in page.read_text()
        picture = watch.folder / "red.png"
        picture.write_text("red")
        await watch.until(is_shown)
        picture.unlink()
        await watch.until(lambda: not is_shown())


async def test_build_that_fails_is_told_and_delays_no_save(
    service: EmbeddedService, root: Path
) -> None:
    more = '[site]\ntheme = "no-such"\n'
    async with watching(service, root, "--site", more=more) as watch:
        await watch.said("the last good site is kept")
        watch.save("home", "two\n")
        await watch.said("1 pushed")
        assert sum("last good site" in line for line in watch.lines) == 1
        await watch.until(lambda: "no-such" in str(watch.health["site_problem"]))


async def test_preview_in_the_same_process_shows_that_a_save_was_pushed(
    service: EmbeddedService, root: Path
) -> None:
    await service.add_pages(OWNER, {"guide": "one\n"})
    async with (
        watching(service, root, "--preview", more=PREVIEW) as watch,
        aiohttp.ClientSession() as session,
    ):
        await watch.in_sync()
        await watch.said("preview: ")
        (line,) = (line for line in watch.lines if "preview: " in line)
        place = r"[-\d]{10} [:\d]{8} preview: http://127\.0\.0\.1:\d+/"
        assert re.fullmatch(place, line)
        url = line.rpartition(" ")[2]
        events = f"{url}-/preview/events"
        headers = {"Origin": url.rstrip("/")}
        # until the first look is over there is no page to be told of
        async with session.ws_connect(
            events, params={"at": "guide.html"}, headers=headers
        ) as socket:
            window = Window(socket)
            shown = await window.hear_until("state", "synced")
            watch.save("guide", "two\n")
            await watch.said("1 pushed (guide)")
            news = await window.hear_other_key(shown["key"])
            if news["state"] != "synced":
                await window.hear_until("state", "synced")
            assert await watch.wiki_text("guide") == "two\n"
        assert watch.out == []
        watch.signal(signal.SIGINT)
        assert await watch.ended() == 0
        assert watch.lines[-1].endswith(" stopped")
