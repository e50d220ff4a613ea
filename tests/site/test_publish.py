"""Publishing: a reader meets the old site or the new one, and nothing between."""

import asyncio
import errno
import logging
import os
import signal
import sys
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.site.sites import Studio
from tests.support.archive import tree_bytes, unpack
from tests.support.waiting import until
from wikisync.core.system.libc import NotSupported, swap_paths
from wikisync.errors import SiteError
from wikisync.site import publish as publish_module
from wikisync.site.publish import (
    AfterCommand,
    Published,
    make_linked_copy,
    publish,
    run_after,
    versions_folder,
)

WIKI = """\
-- home.md --
# Welcome

[guide](guide)
-- guide.md --
Words of the guide.
"""


class Press:
    """A studio whose site is published."""

    def __init__(self, studio: Studio) -> None:
        self.studio = studio
        self.folder = studio.add(WIKI)
        self.site = studio.site

    def publish(self, **how: Any) -> Published:
        return asyncio.run(
            publish(
                self.studio.sources,
                self.site,
                self.studio.options,
                cache=self.studio.root / "cache",
                **how,
            )
        )

    def write(self, text: str) -> None:
        (self.folder / "guide.md").write_text(text)

    def shown(self) -> str:
        return (self.site / "guide.html").read_text()

    def versions(self) -> list[str]:
        """Earlier versions, the oldest first."""
        folder = versions_folder(self.site)
        return sorted(path.name for path in folder.iterdir() if path.name.isdigit())

    def break_theme(self) -> Path:
        theme = unpack(
            "-- templates/404.html --\n{{ wrong }}\n", self.studio.root / "t"
        )
        self.studio.set(templates=theme)
        return theme


@pytest.fixture
def press(studio: Studio) -> Press:
    return Press(studio)


def test_the_first_version_is_a_plain_folder(press: Press) -> None:
    published = press.publish()
    assert published.is_switched
    assert press.site.is_dir()
    assert not press.site.is_symlink()
    assert tree_bytes(press.site) == press.studio.clean_build()
    assert press.versions() == []


def test_a_new_version_takes_the_place_of_the_last(press: Press) -> None:
    press.publish()
    old = press.site.stat().st_ino
    press.write("Other words.")
    published = press.publish()
    assert published.is_switched
    assert 0 < published.report.written < 10
    assert press.site.stat().st_ino != old
    assert tree_bytes(press.site) == press.studio.clean_build()
    earlier = versions_folder(press.site) / "00000001"
    assert "Words of the guide" in (earlier / "guide.html").read_text()


def test_nothing_new_leaves_the_site_alone(press: Press) -> None:
    press.publish()
    before = press.site.stat().st_ino
    published = press.publish()
    assert not published.is_switched
    assert press.site.stat().st_ino == before
    assert press.versions() == []


def test_a_build_that_fails_leaves_the_last_good_site(press: Press) -> None:
    press.publish()
    good = tree_bytes(press.site)
    press.write("Other words.")
    theme = press.break_theme()
    with pytest.raises(SiteError, match="wrong"):
        press.publish()
    assert tree_bytes(press.site) == good
    assert press.versions() == []
    (theme / "templates" / "404.html").unlink()
    assert press.publish().is_switched
    assert "Other words" in press.shown()


def test_old_versions_go(press: Press) -> None:
    press.publish(keep=2)
    for number in range(5):
        press.write(f"Text {number}.")
        press.publish(keep=2)
    assert press.versions() == ["00000004", "00000005"]
    press.write("The last.")
    press.publish(keep=0)
    assert press.versions() == []
    assert "The last" in press.shown()


def test_files_of_others_stay_in_every_version(press: Press) -> None:
    press.publish()
    (press.site / "CNAME").write_text("wiki.example.com")
    (press.site / "link").symlink_to("CNAME")
    press.write("Other words.")
    press.publish()
    assert (press.site / "CNAME").read_text() == "wiki.example.com"
    assert (press.site / "link").is_symlink()


def test_a_link_is_turned_to_the_new_version(press: Press) -> None:
    press.publish()
    version = versions_folder(press.site) / "00000001"
    press.site.rename(version)
    press.site.symlink_to(version)
    press.write("Other words.")
    press.publish(keep=0)
    assert press.site.is_symlink()
    assert not press.site.readlink().is_absolute()
    assert "Other words" in press.shown()
    assert press.versions() == ["00000002"]


def test_a_reader_never_meets_half_a_site(press: Press) -> None:
    """Every look finds both pages, and in one look both of the same version."""
    press.publish()
    stop = threading.Event()
    looks: Counter[tuple[bytes, bytes]] = Counter()

    def read() -> None:
        # without a pause the publisher, which shares the interpreter, would starve
        while not stop.wait(0.001):
            # an open folder is one version, whatever its name means later
            folder = os.open(press.site, os.O_RDONLY)
            try:
                pair = page(folder, "index.html"), page(folder, "guide.html")
            finally:
                os.close(folder)
            looks[version_of(pair[0]), version_of(pair[1])] += 1

    def page(folder: int, name: str) -> bytes:
        descriptor = os.open(name, os.O_RDONLY, dir_fd=folder)
        try:
            return os.read(descriptor, 1 << 20)
        finally:
            os.close(descriptor)

    reader = threading.Thread(target=read)
    reader.start()
    try:
        for number in range(10):
            (press.folder / "home.md").write_text(f"# Version {number}\n")
            press.write(f"Version {number}")
            press.publish(keep=20)
    finally:
        stop.set()
        reader.join()
    assert looks.total() > 10
    assert all(one == other for one, other in looks)


def version_of(content: bytes) -> bytes:
    article = content.partition(b"<article>")[2].partition(b"</article>")[0]
    return article.partition(b"Version ")[2][:1]


def test_what_is_no_site_of_ours_is_not_replaced(press: Press) -> None:
    press.site.mkdir()
    (press.site / "diary.txt").write_text("mine")
    with pytest.raises(SiteError, match="not a wikisync site"):
        press.publish()
    assert tree_bytes(press.site) == {"diary.txt": b"mine"}


def test_an_output_inside_a_wiki_is_refused(press: Press) -> None:
    press.site = press.folder / "site"
    with pytest.raises(SiteError, match="is inside the folder of the wiki"):
        press.publish()
    assert not versions_folder(press.site).exists()


def test_the_version_that_is_one_too_many_becomes_the_next(
    press: Press, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its files need not be linked again, but for those that changed."""
    for number in range(3):
        press.write(f"Text {number}.")
        press.publish()
    linked: list[str] = []

    def link(source: str, target: Path, **how: Any) -> None:
        linked.append(Path(target).name)
        real_link(source, target, **how)

    real_link = os.link
    monkeypatch.setattr(os, "link", link)
    press.write("The last.")
    press.publish()
    assert tree_bytes(press.site) == press.studio.clean_build()
    assert "guide.html" in linked
    assert not {"404.html", "home.html", "index.html"} & set(linked)
    assert press.versions() == ["00000003"]


def test_no_version_is_left_that_holds_a_page_that_is_gone(press: Press) -> None:
    (press.folder / "secret.md").write_text("a secret word")
    press.publish(keep=0)
    (press.folder / "secret.md").unlink()
    press.publish(keep=0)
    left = tree_bytes(versions_folder(press.site))
    assert any(path.endswith("guide.html") for path in left)
    assert not any(b"secret word" in content for content in left.values())


EFFECTS = ("link", "rename", "mkdir", "rmdir", "unlink", "replace", "symlink")


@pytest.mark.parametrize("is_link", [False, True], ids=["folder", "link"])
def test_an_end_at_any_step_leaves_a_whole_site_that_the_next_call_brings_up_to_date(
    press: Press, monkeypatch: pytest.MonkeyPatch, *, is_link: bool
) -> None:
    """The process ends before the n-th step, for n = 1, 2, 3 until a run is clean."""
    press.studio.show_all()
    press.studio.set(has_report=False)
    for text in ("one", "two", "three"):
        press.write(text)
        press.publish()
    if is_link:
        version = versions_folder(press.site) / "00000009"
        press.site.rename(version)
        press.site.symlink_to(version)
    steps = 0
    is_clean = False
    (press.folder / "page-0.md").write_text("page 0")
    clean: dict[int, dict[str, bytes]] = {}
    while not is_clean:
        steps += 1
        before = tree_bytes(press.site)
        # the same nine worlds over and over: each is built cleanly once
        world = steps % 9
        press.write(f"text {world}")
        (press.folder / f"page-{world % 3}.md").write_text(f"page {world}")
        (press.folder / f"page-{(world + 1) % 3}.md").unlink(missing_ok=True)
        if world not in clean:
            clean[world] = press.studio.clean_build()
        after = clean[world]
        with monkeypatch.context() as patched:
            is_clean = ends_before(patched, steps, press)
        assert tree_bytes(press.site) in (before, after)
        press.publish()
        assert tree_bytes(press.site) == after
        assert len(press.versions()) == 1 + is_link
    assert steps > 20


class Ended(BaseException):
    """The process ends."""


def ends_before(patched: pytest.MonkeyPatch, step: int, press: Press) -> bool:
    """Publish, and end before a step that changes the disk; True if none was left.

    After the end nothing is done any more, as little as a dead process does.
    """
    left = [step]

    def ending(name: str) -> Callable[..., Any]:
        real = getattr(os, name)

        def effect(*given: Any, **how: Any) -> Any:
            left[0] -= 1
            if left[0] <= 0:
                raise Ended
            return real(*given, **how)

        return effect

    for name in EFFECTS:
        patched.setattr(os, name, ending(name))
    real_swap = swap_paths

    def swap(one: Path, other: Path) -> None:
        left[0] -= 1
        if left[0] <= 0:
            raise Ended
        real_swap(one, other)

    patched.setattr(publish_module, "swap_paths", swap)
    try:
        press.publish()
    except Ended:
        return False
    return True


def test_files_of_a_disk_without_links_are_copied(
    press: Press, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cannot(*_: Any, **__: Any) -> None:
        raise OSError(errno.EPERM, "no links")

    monkeypatch.setattr(os, "link", cannot)
    for number in range(4):
        press.write(f"Text {number}.")
        press.publish()
    assert tree_bytes(press.site) == press.studio.clean_build()
    earlier = versions_folder(press.site) / "00000003"
    assert "Text 2" in (earlier / "guide.html").read_text()
    assert not (earlier / "404.html").samefile(press.site / "404.html")


def test_a_folder_that_became_a_file_is_copied_so(tmp_path: Path) -> None:
    source = unpack("-- a --\nfile\n-- b/c --\nnested\n", tmp_path / "source")
    copy = unpack("-- a/x --\nold\n-- b --\nold\n-- d/e --\nold\n", tmp_path / "copy")
    (copy / "link").symlink_to(source)
    assert make_linked_copy(source, copy)
    assert tree_bytes(copy) == tree_bytes(source)
    assert not (copy / "link").is_symlink()
    assert (copy / "b" / "c").samefile(source / "b" / "c")


def test_folders_keep_the_rights_that_a_person_gave_them(press: Press) -> None:
    """A web server may read a site from then on, whatever the versions before had."""
    before = os.umask(0o077)
    try:
        for number in range(4):
            press.write(f"Text {number}.")
            press.publish()
        press.site.chmod(0o755)
        (press.site / "-").chmod(0o755)
        press.write("The last text.")
        press.publish()
    finally:
        os.umask(before)
    assert (press.site.stat().st_mode & 0o777) == 0o755
    assert ((press.site / "-").stat().st_mode & 0o777) == 0o755


def test_a_disk_that_cannot_exchange_is_told(
    press: Press, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cannot(_one: Path, _other: Path) -> None:
        raise NotSupported(errno.EINVAL, "Invalid argument")

    monkeypatch.setattr(publish_module, "swap_paths", cannot)
    press.publish()
    press.write("Other words.")
    published = press.publish()
    assert [problem.code for problem in published.problems] == ["not-at-once"]
    assert "Other words" in press.shown()
    assert press.versions() == ["00000001"]
    # interrupted between the two steps, the old site comes back
    press.site.rename(versions_folder(press.site) / "old")
    assert not press.publish().is_switched
    assert "Other words" in press.shown()
    # interrupted after them, the new one stays
    (versions_folder(press.site) / "00000001").rename(
        versions_folder(press.site) / "old"
    )
    press.write("Still other words.")
    press.publish()
    assert "Still other words" in press.shown()
    assert not (versions_folder(press.site) / "old").exists()


# The command that follows -----------------------------------------------------------


def after(folder: Path, script: str, **how: Any) -> AfterCommand:
    command = (sys.executable, "-c", script)
    return AfterCommand(command, folder, {"PATH": os.environ["PATH"]}, **how)


async def publish_with(press: Press, command: AfterCommand) -> Published:
    return await publish(
        press.studio.sources,
        press.site,
        press.studio.options,
        cache=press.studio.root / "cache",
        after=command,
    )


async def test_a_command_follows_a_new_version_and_only_that(
    press: Press, caplog: pytest.LogCaptureFixture
) -> None:
    script = "import os; print('sent', os.environ['WIKISYNC_SITE'], os.getcwd())"
    command = after(press.studio.root, script)
    caplog.set_level(logging.INFO, "wikisync.site.publish")
    assert (await publish_with(press, command)).problems == ()
    assert f"after: sent {press.site} {press.studio.root}" in caplog.messages
    caplog.clear()
    assert not (await publish_with(press, command)).is_switched
    assert not [line for line in caplog.messages if "sent" in line]


async def test_a_command_that_failed_is_run_again(press: Press) -> None:
    flag = press.studio.root / "network"
    script = (
        "import os, sys; sys.exit(0 if os.path.exists('network') else 'no network')"
    )
    command = after(press.studio.root, script)
    (problem,) = (await publish_with(press, command)).problems
    assert problem.code == "after-failed"
    assert problem.message.endswith("ended with exit code 1: no network")
    assert press.site.is_dir()
    flag.touch()
    published = await publish_with(press, command)
    assert (published.is_switched, published.problems) == (False, ())
    flag.unlink()
    assert (await publish_with(press, command)).problems == ()


async def test_a_command_that_takes_too_long_is_ended_with_its_children(
    tmp_path: Path,
) -> None:
    script = (
        "import os, subprocess, sys, time\n"
        "sleep = [sys.executable, '-c', 'import time; time.sleep(600)']\n"
        "open('pid', 'w').write(str(subprocess.Popen(sleep).pid))\n"
        "time.sleep(600)"
    )
    (problem,) = await run_after(after(tmp_path, script, seconds_max=1.0), tmp_path)
    assert "took more than 1 s" in problem.message
    pid = (tmp_path / "pid").read_text()
    await until(lambda: not is_running(pid))


@pytest.mark.parametrize("is_ending", [True, False])
async def test_what_a_command_leaves_running_is_not_waited_for(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, *, is_ending: bool
) -> None:
    """As the shared connection of an ssh, which holds the output for minutes."""
    (tmp_path / "left.py").write_text(
        "import os, time\n"
        "try:\n"
        "    while True: os.write(1, bytes(65536))\n"
        "except OSError: time.sleep(600)\n"
    )
    script = (
        "import subprocess, sys, time\n"
        "words = [sys.executable, 'left.py']\n"
        "left = subprocess.Popen(words, start_new_session=True)\n"
        "open('pid', 'w').write(str(left.pid))\n"
        f"time.sleep({0 if is_ending else 600})"
    )
    command = after(tmp_path, script, seconds_max=600.0 if is_ending else 1.0)
    try:
        async with asyncio.timeout(60):
            problems = await run_after(command, tmp_path)
        pid = (tmp_path / "pid").read_text()
        assert is_running(pid)
    finally:
        os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)
    assert [one.code for one in problems] == ([] if is_ending else ["after-failed"])
    assert not [one for one in caplog.records if one.name == "asyncio"]


async def test_a_command_is_killed_when_its_waiter_is_cancelled(tmp_path: Path) -> None:
    script = (
        "import os, time; open('pid', 'w').write(str(os.getpid())); time.sleep(600)"
    )
    command = after(tmp_path, script)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(run_after(command, tmp_path))
        pid = tmp_path / "pid"
        await until(lambda: pid.exists() and bool(pid.read_text()))
        task.cancel()
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


def is_running(pid: str) -> bool:
    """Whether a process does anything still; one that nobody waited for does not."""
    try:
        status = Path("/proc", pid, "stat").read_text()
    except FileNotFoundError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


async def test_a_command_that_is_not_there_is_a_problem(tmp_path: Path) -> None:
    command = AfterCommand(("no-such-command",), tmp_path, {})
    (problem,) = await run_after(command, tmp_path)
    assert problem.subject == "no-such-command"
    assert "cannot be started" in problem.message


async def test_a_command_that_says_too_much_is_cut(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publish_module, "AFTER_LINES_MAX", 10)
    caplog.set_level(logging.INFO, "wikisync.site.publish")
    script = "print('x' * 100_000); [print('line', n) for n in range(50)]"
    assert await run_after(after(tmp_path, script), tmp_path) == ()
    assert len(caplog.messages) == 11
    assert max(map(len, caplog.messages)) < 600
    assert caplog.messages[-1] == "after: 41 more lines"
