"""``wikisync watch`` as a process, against the embedded service."""

import asyncio
import re
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
from tests.support.watching import OWNER, WAIT_S, WatchProcess, watching
from wikisync.cli.main import main
from wikisync.folder.workspace import holder_of, locked
from wikisync.workspace.sentences import parse_time
from wikisync.workspace.status import notes_of_watch

pytestmark = pytest.mark.slow


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[EmbeddedService]:
    async with embedded_service(tmp_path) as running:
        await running.add_project(OWNER.full_path, {"home": "one\n"})
        yield running


async def test_save_is_on_the_wiki_and_its_line_names_time_wiki_and_pages(
    service: EmbeddedService, tmp_path: Path
) -> None:
    """A terminal that was left open shows when it happened, and to what."""
    pages = dict.fromkeys(("a", "b", "c", "d", "e"), "text\n")
    await service.add_pages(OWNER, pages)
    began = int(time.time())
    async with watching(service, tmp_path / "ws") as watch:
        await watch.in_sync()
        pulled = next(line for line in watch.lines if "6 pulled" in line)
        holder = holder_of(tmp_path / "ws/.wikisync")
        assert f"`wikisync watch` is running (pid {watch.process.pid} on" in str(holder)
        watch.save("home", "two\n")
        await watch.said("1 pushed")
        assert await watch.wiki_text("home") == "two\n"
        pushed = next(line for line in watch.lines if "1 pushed" in line)
    assert pulled[19:] == " handbook: 6 pulled (a, b, c and 3 more)"
    assert pushed[19:] == " handbook: 1 pushed (home)"
    times = [parse_time(line[:19]) for line in watch.lines]
    assert began <= times[0] <= times[-1] <= time.time()


async def test_edit_on_the_wiki_is_here_with_the_next_hint(
    service: EmbeddedService, tmp_path: Path
) -> None:
    quick = "[sync]\npoll_interval_s = 1\n"
    async with watching(service, tmp_path / "ws", more=quick) as watch:
        await watch.in_sync()
        await service.add_pages(OWNER, {"home": "two\n"})
        await watch.until(lambda: watch.text("home") == "two\n")


async def test_watch_waits_for_a_sync_that_is_running(
    service: EmbeddedService, tmp_path: Path
) -> None:
    private = tmp_path / "ws/.wikisync"
    with locked(private, "it"):
        async with watching(service, tmp_path / "ws") as watch:
            await watch.said("waiting for another wikisync to finish: process")
            watch.signal(signal.SIGTERM)
            assert await watch.ended() == 0
            assert watch.lines[-1].endswith(" stopped")
        lock = ExitStack()
        lock.enter_context(locked(tmp_path / "other/.wikisync", "it"))
        async with watching(service, tmp_path / "other") as watch:
            await watch.said("waiting for another wikisync to finish: process")
            lock.close()
            await watch.in_sync()
    with locked(private, "it", is_watch=True):
        async with watching(service, tmp_path / "ws") as watch:
            assert await watch.ended() == 1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_signal_ends_it_cleanly(
    service: EmbeddedService, tmp_path: Path, number: signal.Signals
) -> None:
    async with watching(service, tmp_path / "ws") as watch:
        await watch.in_sync()
        watch.signal(number)
        assert await watch.ended() == 0
        assert watch.lines[-1].endswith(" stopped")
        assert watch.health["condition"] == "stopped"


async def test_signal_ends_it_though_the_service_hangs(
    service: EmbeddedService, tmp_path: Path
) -> None:
    """In the middle of a write, which is never broken off without need."""
    async with (
        bending_proxy(service.url) as proxy,
        watching(service, tmp_path / "ws", url=proxy.url) as watch,
    ):
        await watch.in_sync()
        write = proxy.bend(method="PUT", hangs=True)
        watch.save("home", "two\n")
        await asyncio.wait_for(write.has_met.wait(), WAIT_S)
        watch.signal(signal.SIGTERM)
        assert await watch.ended() == 0


async def test_reload_reads_the_configuration_anew(
    service: EmbeddedService, tmp_path: Path
) -> None:
    await service.add_project("docs/other", {"start": "other\n"})
    async with watching(service, tmp_path / "ws") as watch:
        await watch.in_sync()
        config = watch.root / "wikisync.toml"
        config.write_text(config.read_text() + '[[wiki]]\nproject = "docs/other"\n')
        watch.signal(signal.SIGHUP)
        await watch.said("other: in sync")
        assert (watch.root / "other" / "start.md").read_text() == "other\n"


async def test_wrong_configuration_is_told_and_the_one_of_before_kept(
    service: EmbeddedService, tmp_path: Path
) -> None:
    async with watching(service, tmp_path / "ws") as watch:
        await watch.in_sync()
        config = watch.root / "wikisync.toml"
        config.write_text(config.read_text() + "[sycn]\n")
        watch.signal(signal.SIGHUP)
        await watch.said('did you mean "sync"?')
        await watch.said("the previous configuration stays in use")
        watch.save("home", "two\n")
        await watch.said("1 pushed")


async def test_configuration_that_cannot_begin_gives_way_to_the_one_of_before(
    service: EmbeddedService, tmp_path: Path
) -> None:
    async with watching(service, tmp_path / "ws") as watch:
        await watch.in_sync()
        config = watch.root / "wikisync.toml"
        taken = service.url.rpartition(":")[2]
        config.write_text(
            config.read_text() + f'[sync]\nlisten = "127.0.0.1:{taken}"\n'
        )
        watch.signal(signal.SIGHUP)
        await watch.said("cannot listen")
        await watch.said("watching", times=2)
        watch.save("home", "two\n")
        await watch.said("1 pushed")


async def test_wrong_configuration_at_the_start_is_an_error_of_usage(
    service: EmbeddedService, tmp_path: Path
) -> None:
    async with watching(service, tmp_path / "ws", more="[sycn]\n") as watch:
        assert await watch.ended() == 2


async def test_start_without_the_service_waits_for_it(
    service: EmbeddedService, tmp_path: Path
) -> None:
    nobody = "http://127.0.0.1:1"
    async with watching(service, tmp_path / "ws", url=nobody) as watch:
        await watch.said("offline:")
        await watch.until(lambda: watch.health.get("condition") == "offline")
        assert not watch.health["is_healthy"]
        watch.signal(signal.SIGTERM)
        assert await watch.ended() == 0


@pytest.mark.parametrize("edited", [False, True])
async def test_page_that_an_editor_closes_is_carried_over_at_once(
    service: EmbeddedService, tmp_path: Path, *, edited: bool
) -> None:
    await service.add_pages(OWNER, {"home": "first\n\nlast\n"})
    quick = "[sync]\npoll_interval_s = 1\n"
    async with watching(service, tmp_path / "ws", more=quick) as watch:
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
    service: EmbeddedService, tmp_path: Path
) -> None:
    """No poll and no walk comes in between: the lock file that goes is the hint."""
    await service.add_pages(OWNER, {"home": "first\n"})
    async with watching(service, tmp_path / "ws") as watch:
        await watch.in_sync()
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


async def test_new_token_is_taken_at_the_signal(
    service: EmbeddedService, tmp_path: Path
) -> None:
    token = await service.add_user("ann", is_admin=True)
    place = tmp_path / "token"
    place.write_text(token)
    place.chmod(0o600)
    words = ("--token-file", str(place))
    async with watching(service, tmp_path / "ws", *words) as watch:
        await watch.in_sync()
        await service.revoke(token)
        watch.save("home", "two\n")
        await watch.said("refused:")
        place.write_text(await service.add_user("ben", is_admin=True))
        watch.signal(signal.SIGHUP)
        await watch.said("1 pushed")


async def test_touched_file_asks_for_a_scan_everything(
    service: EmbeddedService, tmp_path: Path
) -> None:
    async with watching(service, tmp_path / "ws") as watch:
        await watch.in_sync()
        await service.add_pages(OWNER, {"home": "two\n"})
        (watch.root / ".wikisync" / "ask").touch()
        await watch.until(lambda: watch.text("home") == "two\n")


async def test_what_another_command_notes_is_carried_out_within_seconds(
    service: EmbeddedService, tmp_path: Path
) -> None:
    long = "".join(f"line {number} of a page\n" for number in range(100))
    await service.add_pages(OWNER, {"long": long})
    async with watching(service, tmp_path / "ws") as watch:
        await watch.in_sync()
        watch.save("long", "short\n")
        await watch.said("needs a person")
        code = await asyncio.to_thread(
            main, ["--quiet", "approve", "-C", str(watch.root), "handbook:1"]
        )
        assert code == 0

        async def is_there() -> bool:
            return await watch.wiki_text("long") == "short\n"

        await watch.until(is_there)


async def test_a_watch_takes_its_last_sync_back_when_a_person_says_so(
    service: EmbeddedService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WIKISYNC_TOKEN", service.token)
    async with watching(service, tmp_path / "ws") as watch:
        await watch.in_sync()
        before = watch.text("home")
        assert before
        await service.add_pages(OWNER, {"home": "two\n", "new": "new\n"})
        (watch.root / ".wikisync" / "ask").touch()
        await watch.said("2 pulled")
        words = ["--quiet", "undo", "-y", "-C", str(watch.root)]

        async def is_back() -> bool:
            texts = [await watch.wiki_text(slug) for slug in ("home", "new")]
            return texts == [before, None] and watch.text("new") is None

        assert await asyncio.to_thread(main, words) == 0
        await watch.until(is_back)
        assert watch.text("home") == before


def site_text(watch: WatchProcess) -> str:
    try:
        return (watch.root / "site" / "index.html").read_text()
    except OSError:
        return ""


async def test_published_site_follows_each_change(
    service: EmbeddedService, tmp_path: Path
) -> None:
    async with watching(service, tmp_path / "ws", "--site") as watch:
        await watch.until(
            lambda: "one" in site_text(watch) or bool(list(watch.root.glob("site/**")))
        )
        watch.save("home", "two words\n")
        await watch.until(
            lambda: any(
                "two words" in page.read_text()
                for page in watch.root.glob("site/**/*.html")
            )
        )


async def test_published_site_follows_a_picture_beside_its_page(
    service: EmbeddedService, tmp_path: Path
) -> None:
    """No page changes, so that no cycle has anything to do."""

    def is_shown() -> bool:
        return bool(list(watch.root.glob("site/-/files/*/red.png")))

    async with watching(service, tmp_path / "ws", "--site") as watch:
        await watch.in_sync()
        watch.save("home", "![red](red.png)\n")
        await watch.until(lambda: "missing-media" in site_text(watch))
        picture = watch.folder / "red.png"
        picture.write_text("red")
        await watch.until(is_shown)
        picture.unlink()
        await watch.until(lambda: not is_shown())


async def test_command_after_the_site_runs_in_the_workspace_without_the_token(
    service: EmbeddedService, tmp_path: Path
) -> None:
    more = (
        "[site]\npublish = true\n"
        'after = ["sh", "-c", "echo $WIKISYNC_SITE $WIKISYNC_TOKEN > after"]\n'
    )
    root = tmp_path / "ws"
    async with watching(service, root, more=more) as watch:
        await watch.until((root / "after").exists)
        await watch.until(lambda: (root / "after").read_text() == f"{root / 'site'}\n")


async def test_build_that_fails_is_told_and_delays_no_save(
    service: EmbeddedService, tmp_path: Path
) -> None:
    more = '[site]\ntheme = "no-such"\n'
    async with watching(service, tmp_path / "ws", "--site", more=more) as watch:
        await watch.said("the last good site is kept")
        watch.save("home", "two\n")
        await watch.said("1 pushed")
        assert sum("last good site" in line for line in watch.lines) == 1
        await watch.until(lambda: "no-such" in str(watch.health["site_problem"]))


async def test_preview_in_the_same_process_answers(
    service: EmbeddedService, tmp_path: Path
) -> None:
    more = "[preview]\nport = 0\n"
    async with watching(service, tmp_path / "ws", "--preview", more=more) as watch:
        await watch.in_sync()
        (line,) = (line for line in watch.lines if "preview: " in line)
        assert re.fullmatch(
            r"[-\d]{10} [:\d]{8} preview: http://127\.0\.0\.1:\d+/", line
        )
        assert watch.out == []
        watch.signal(signal.SIGTERM)
        assert await watch.ended() == 0


async def test_preview_shows_that_a_save_was_pushed(
    service: EmbeddedService, tmp_path: Path
) -> None:
    await service.add_pages(OWNER, {"guide": "one\n"})
    more = "[preview]\nport = 0\n"
    async with (
        watching(service, tmp_path / "ws", "--preview", more=more) as watch,
        aiohttp.ClientSession() as session,
    ):
        await watch.in_sync()
        await watch.said("preview: ")
        (line,) = (line for line in watch.lines if "preview: " in line)
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


async def test_command_that_nobody_agreed_to_is_not_taken_by_a_reload(
    service: EmbeddedService, tmp_path: Path
) -> None:
    async with watching(service, tmp_path / "ws") as watch:
        await watch.in_sync()
        config = watch.root / "wikisync.toml"
        more = '[sync]\nattention_command = ["touch", "ran"]\n'
        config.write_text(config.read_text() + more)
        watch.signal(signal.SIGHUP)
        await watch.said("the previous configuration stays in use")
        assert any("wikisync init --trust" in line for line in watch.lines)
        agree_to(watch.root)
        watch.signal(signal.SIGHUP)
        await watch.said("reloading the configuration")


async def test_a_rename_by_hand_is_told_with_the_links_to_the_old_name(
    service: EmbeddedService, tmp_path: Path
) -> None:
    async with watching(service, tmp_path / "wikis") as watch:
        await watch.in_sync()
        watch.save("start", "[home](home) and [[home]]\n")
        await watch.said("1 pushed")
        (watch.folder / "home.md").rename(watch.folder / "first.md")
        step = "2 links lead to the old name; to change them, run: wikisync mv"
        await watch.said(step)
        await watch.until(lambda: any(step in one for one in watch.health["renamed"]))
        told = notes_of_watch(watch.health, time.time())
        assert any(step in one for one in told)
        names = ("handbook/home", "handbook/first")
        assert await asyncio.to_thread(main, ["mv", *names, "-C", str(watch.root)]) == 0
        await watch.until(lambda: not watch.health["renamed"])
