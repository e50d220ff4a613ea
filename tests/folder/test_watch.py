"""Hints about changes: real folders, real events, real walks."""

import asyncio
import os
import resource
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from watchfiles._rust_notify import WatchfilesRustInternalError

from wikisync.core.model import Problem
from wikisync.folder import watch
from wikisync.folder.watch import (
    EVERYTHING,
    EventSource,
    FolderHint,
    is_watched,
    open_events,
    watch_folders,
)

WAIT_S = 10
TRIES_MAX = 100
UNSHARED = ("unshare", "--user", "--map-root-user")


class Watcher:
    """Hints of some folders as a test asks for them."""

    def __init__(self, hints: AsyncGenerator[FolderHint, None]) -> None:
        self._hints = hints

    async def next(self) -> FolderHint:
        async with asyncio.timeout(WAIT_S):
            return await anext(self._hints)

    async def until(self, path: Path) -> set[str]:
        """Everything told of until a path is, or everything may have changed."""
        told: set[str] = set()
        while str(path) not in told:
            hint = await self.next()
            assert not hint.is_everything
            told |= hint.paths
        return told

    async def until_everything(self) -> None:
        while not (await self.next()).is_everything:
            pass


@asynccontextmanager
async def watching(*roots: Path, **how: Any) -> AsyncIterator[Watcher]:
    """Folders that are watched: the first hint has come."""
    async with aclosing(watch_folders(roots, **how)) as hints:
        watcher = Watcher(hints)
        assert await watcher.next() == EVERYTHING
        yield watcher


def open_ones() -> int:
    """How many descriptors this process has open."""
    return len(list(Path("/proc/self/fd").iterdir()))


def watching_threads() -> list[str]:
    """The threads of watches, which have names of ours."""
    names = [thread.name for thread in threading.enumerate()]
    return [name for name in names if name.startswith("wikisync-watch")]


def wait_until(is_so: Callable[[], bool]) -> None:
    """Wait for something that another thread does, but not for ever."""
    deadline = time.monotonic() + WAIT_S
    while not is_so() and time.monotonic() < deadline:
        time.sleep(0.01)


def no_events(_roots: Sequence[str]) -> EventSource:
    """A system whose watches are used up, as watchfiles tells of it."""
    raise WatchfilesRustInternalError("OS file watch limit reached.")


async def test_a_save_is_told_at_once(tmp_path: Path) -> None:
    """Eleven milliseconds on an idle machine, and for one of many on a busy one."""
    page = tmp_path / "home.md"
    took: list[float] = []
    async with watching(tmp_path) as watcher:
        while min(took, default=1.0) >= 0.08 and len(took) < TRIES_MAX:
            started = time.perf_counter()
            page.write_text(f"{started}")
            await watcher.until(page)
            took.append(time.perf_counter() - started)
    assert min(took) < 0.08


async def test_all_folders_are_watched_and_those_made_later(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    for folder in (one, two):
        folder.mkdir()
    async with watching(one, two) as watcher:
        (two / "page.md").write_text("text")
        await watcher.until(two / "page.md")
        (one / "deep").mkdir()
        await watcher.until(one / "deep")
        (one / "deep" / "page.md").write_text("text")
        await watcher.until(one / "deep" / "page.md")


async def test_an_editor_that_renames_its_file_is_heard(tmp_path: Path) -> None:
    page, new = tmp_path / "home.md", tmp_path / ".home.md.new"
    page.write_text("old")
    async with watching(tmp_path) as watcher:
        new.write_text("new")
        new.replace(page)
        assert await watcher.until(page) == {str(page)}


async def test_what_editors_and_wikisync_leave_is_not_told(tmp_path: Path) -> None:
    (tmp_path / ".wikisync").mkdir()
    async with watching(tmp_path) as watcher:
        for name in ("home.md~", ".home.md.swp", "4913", "#home.md#"):
            (tmp_path / name).write_text("by-product")
        (tmp_path / ".wikisync" / "state.db").write_text("ours")
        (tmp_path / "home.conflict.md").write_text("ours")
        (tmp_path / "home.md").write_text("text")
        told = await watcher.until(tmp_path / "home.md")
    assert told == {str(tmp_path / "home.md")}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("home.md", True),
        ("folder/page.org", True),
        ("uploads/0123/picture.png", True),
        (".wikisync/state.db", False),
        (".git/index", False),
        ("folder/.hidden/page.md", False),
        (".attachments/p 1.png", True),
        (".tool/main.js", False),
        (".git/p.png", False),
        ("page.md~", False),
        ("page.conflict.md", False),
    ],
)
def test_only_pages_and_attachments_are_of_interest(path: str, expected: bool) -> None:
    assert is_watched(path) is expected


async def test_the_caller_may_choose_what_is_told(tmp_path: Path) -> None:
    async with watching(tmp_path, is_wanted=lambda path: "conflict" in path) as watcher:
        (tmp_path / "home.md").write_text("text")
        (tmp_path / "home.conflict.md").write_text("text")
        told = await watcher.until(tmp_path / "home.conflict.md")
    assert told == {str(tmp_path / "home.conflict.md")}


@pytest.mark.parametrize("events", [open_events, no_events])
async def test_a_root_is_waited_for_until_it_is_made_and_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, events: watch.OpenEvents
) -> None:
    monkeypatch.setattr(watch, "SCAN_INTERVAL_S", 0.01)
    root = tmp_path / "wiki"
    async with watching(root, events=events) as watcher:
        for _ in range(2):
            root.mkdir()
            await watcher.until_everything()
            (root / "home.md").write_text("text")
            await watcher.until(root / "home.md")
            shutil.rmtree(root)
            await watcher.until_everything()


@pytest.mark.parametrize("events", [open_events, no_events])
async def test_a_root_that_another_folder_takes_the_place_of_is_watched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, events: watch.OpenEvents
) -> None:
    """Inode numbers are given again: only an open folder can be told from its heir."""
    monkeypatch.setattr(watch, "SCAN_INTERVAL_S", 0.01)
    root, other = tmp_path / "wiki", tmp_path / "other"
    root.mkdir()
    other.mkdir()
    async with watching(root, events=events) as watcher:
        root.rename(tmp_path / "old")
        other.rename(root)
        await watcher.until_everything()
        (root / "home.md").write_text("text")
        await watcher.until(root / "home.md")


async def test_many_changes_at_once_are_told_as_everything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "PATHS_MAX", 20)
    async with watching(tmp_path) as watcher:
        for number in range(200):
            (tmp_path / f"page-{number}.md").write_text("text")
        await watcher.until_everything()


async def test_without_watches_folders_are_scanned_through_with_a_notice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "SCAN_INTERVAL_S", 0.01)
    page = tmp_path / "folder" / "home.md"
    page.parent.mkdir()
    page.write_text("old")
    notices: list[Problem] = []
    async with watching(tmp_path, events=no_events, notice=notices.append) as watcher:
        page.write_text("longer than before")
        assert await watcher.until(page) == {str(page)}
        (tmp_path / "new.md").write_text("text")
        (tmp_path / "new.md~").write_text("by-product")
        assert await watcher.until(tmp_path / "new.md") == {str(tmp_path / "new.md")}
        page.unlink()
        assert await watcher.until(page) == {str(page)}
    assert [notice.code for notice in notices] == ["watch-limit"]
    assert notices[0].message == (
        "OS file watch limit reached; they are scanned instead, small ones every 2"
        " seconds and large ones less often"
    )
    assert notices[0].hint == (
        "raise the limit: sysctl fs.inotify.max_user_watches=524288"
    )


async def test_events_are_tried_again_and_the_notice_is_given_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "RETRY_INTERVAL_S", 0.05)
    monkeypatch.setattr(watch, "SCAN_INTERVAL_S", 0.01)
    notices: list[Problem] = []
    tries: list[Sequence[str]] = []

    def third_time(roots: Sequence[str]) -> EventSource:
        tries.append(roots)
        return open_events(roots) if len(tries) > 2 else no_events(roots)

    how = {"notice": notices.append, "events": third_time}
    async with watching(tmp_path, **how) as watcher:
        await watcher.until_everything()
        await watcher.until_everything()
        (tmp_path / "home.md").write_text("text")
        await watcher.until(tmp_path / "home.md")
    assert len(tries) == 3
    assert len(notices) == 1


async def test_a_watch_that_breaks_is_opened_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder made below when no watch is left breaks the watch of all others."""
    monkeypatch.setattr(watch, "ROOTS_INTERVAL_S", 0.05)
    opened: list[EventSource] = []

    class Breaking:
        def watch(self, *_: object) -> set[tuple[int, str]] | str:
            raise WatchfilesRustInternalError("error in underlying watcher")

        def close(self) -> None:
            pass

    def second_time(roots: Sequence[str]) -> EventSource:
        opened.append(open_events(roots) if opened else Breaking())
        return opened[-1]

    async with watching(tmp_path, events=second_time) as watcher:
        await watcher.until_everything()
        (tmp_path / "home.md").write_text("text")
        await watcher.until(tmp_path / "home.md")


async def test_nothing_is_left_behind_when_the_hints_end(tmp_path: Path) -> None:
    before = open_ones()
    async with watching(tmp_path):
        await asyncio.to_thread(wait_until, lambda: bool(watching_threads()))
        assert watching_threads()
    # watchfiles' own thread closes the last of them when it ends, and so may those
    # of an earlier test that were still open above
    await asyncio.to_thread(wait_until, lambda: open_ones() <= before)
    assert open_ones() <= before
    assert not watching_threads()


async def test_many_roots_are_watched_with_few_descriptors(tmp_path: Path) -> None:
    """Hundreds of wikis met the limit of a shell, and none was carried over."""
    roots = [tmp_path / f"wiki-{number}" for number in range(40)]
    for root in roots:
        root.mkdir()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    before = open_ones()
    last = max(int(name) for name in os.listdir("/proc/self/fd"))  # noqa: PTH208 - names
    resource.setrlimit(resource.RLIMIT_NOFILE, (last + 20, hard))
    try:
        async with watching(*roots) as watcher:
            assert open_ones() - before < 20
            (roots[-1] / "home.md").write_text("home")
            await watcher.until(roots[-1] / "home.md")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


async def test_a_waiting_watch_can_be_cancelled(tmp_path: Path) -> None:
    async def wait() -> None:
        async with watching(tmp_path) as watcher:
            started.set()
            await watcher.next()

    started = asyncio.Event()
    before = time.monotonic()
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(wait())
        await started.wait()
        task.cancel()
    assert task.cancelled()
    assert time.monotonic() - before < 5


@pytest.mark.parametrize("are_made_later", [False, True])
def test_a_system_without_watches_left_is_survived(
    tmp_path: Path, *, are_made_later: bool
) -> None:
    """The real limit, in a user namespace of its own where the system gives one."""
    script = (
        "import asyncio, sys; from pathlib import Path\n"
        "from wikisync.folder import watch\n"
        "watch.SCAN_INTERVAL_S = 0.01\n"
        "async def main():\n"
        "    root, later = Path(sys.argv[1]), int(sys.argv[2])\n"
        "    hints = watch.watch_folders([root],\n"
        "        notice=lambda problem: print(problem.code))\n"
        "    async with asyncio.timeout(20):\n"
        "        await anext(hints)\n"
        "        for number in range(later):\n"
        "            (root / f'folder-{number}').mkdir()\n"
        "        while later and not (await anext(hints)).is_everything:\n"
        "            pass\n"
        "        page = root / 'folder-7' / 'page.md'\n"
        "        page.write_text('text')\n"
        "        print(*(await anext(hints)).paths)\n"
        "    await hints.aclose()\n"
        "asyncio.run(main())\n"
    )
    for number in range(0 if are_made_later else 8):
        (tmp_path / f"folder-{number}").mkdir()
    command = 'echo 4 > /proc/sys/user/max_inotify_watches && exec "$0" -c "$@"'
    made = str(8 * are_made_later)
    run = subprocess.run(
        [*UNSHARED, "sh", "-c", command, sys.executable, script, str(tmp_path), made],
        capture_output=True,
        text=True,
        check=False,
    )
    if "unshare" in run.stderr or "max_inotify_watches" in run.stderr:
        pytest.skip("this system gives no user namespace with limits of its own")
    page = str(tmp_path / "folder-7" / "page.md")
    assert run.stdout.split() == ["watch-limit", page], run.stderr


class StillEvents:
    """Folders in which nothing happens; keeps how often each was looked at."""

    def __init__(self) -> None:
        self.steps_ms: asyncio.Queue[int] = asyncio.Queue()
        self.timeouts_ms: list[int] = []
        self._loop = asyncio.get_running_loop()

    def watch(
        self, _debounce_ms: int, step_ms: int, timeout_ms: int, stop: threading.Event, /
    ) -> str:
        self.timeouts_ms.append(timeout_ms)
        self._loop.call_soon_threadsafe(self.steps_ms.put_nowait, step_ms)
        stop.wait(0.01)
        return "timeout"

    def close(self) -> None:
        pass


@pytest.mark.parametrize(("rests", "step_ms"), [(True, 80), (False, 10)])
async def test_quiet_folder_is_scanned_less_often_unless_a_person_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rests: bool, step_ms: int
) -> None:
    monkeypatch.setattr(watch, "IDLE_AFTER_S", 0.2)
    still = StillEvents()
    async with aclosing(
        watch_folders([tmp_path], rests=rests, events=lambda _: still)
    ) as hints:
        assert await anext(hints) == EVERYTHING
        async with asyncio.TaskGroup() as group:
            following = group.create_task(anext(hints))
            assert await still.steps_ms.get() == 10
            steps = [await still.steps_ms.get() for _ in range(30)]
            following.cancel()
    assert steps[-1] == step_ms
    # the roots themselves, of which no event tells
    assert (still.timeouts_ms[0], still.timeouts_ms[-1]) == (1000, 3000)
