"""``wikisync sync``: edits both ways, first syncs, deletions, many wikis."""

import asyncio
import fcntl
import os
import pty
import shutil
import sys
import termios
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.support.bending import bending_proxy
from tests.support.commands import Run
from tests.support.quirks import Quirk
from tests.support.service import EmbeddedService
from tests.support.watching import make_workspace
from tests.support.workspaces import FILES, PAGES, Cloned
from wikisync.api.client import Client
from wikisync.core.messages import Progress
from wikisync.core.model import WikiOwner
from wikisync.errors import Unavailable
from wikisync.sync.run.parts import CycleOptions
from wikisync.watch.wiki import WatchedWiki
from wikisync.workspace.configured import find_workspace
from wikisync.workspace.opening import Synced, WikiCycles, open_workspace
from wikisync.workspace.runner import Runner, ScanScope

# -- the usual ---------------------------------------------------------------------


async def test_first_sync_after_a_clone_is_quiet(cloned: Cloned) -> None:
    before = cloned.files()
    ran = await cloned.run("sync")
    assert (ran.code, ran.out) == (0, "handbook: 4 pages, nothing to do\n")
    assert ran.err == ""
    assert cloned.files() == before
    assert await cloned.wiki() == FILES


async def test_edits_travel_both_ways(cloned: Cloned) -> None:
    cloned.write("guide.md", "edited here\n")
    await cloned.edit({"team/people": "Ann, Bo\n"})
    ran = await cloned.run("sync")
    assert (ran.code, ran.out) == (0, "handbook: 4 pages, 1 pulled, 1 pushed\n")
    assert (await cloned.wiki())["guide.md"] == "edited here\n"
    assert cloned.read("team/people.md") == "Ann, Bo\n"


async def test_clash_is_held_with_a_file_and_the_way_out(cloned: Cloned) -> None:
    ran = await cloned.clash()
    ran.ended(3, "handbook/guide: edited here and on the wiki")
    assert "wikisync resolve handbook/guide --both" in ran.err
    assert cloned.read("guide.md") == "mine\n"
    assert "theirs" in cloned.read("guide.conflict.md")
    assert "handbook/guide" in cloned.attention


async def test_dry_run_prints_the_plan_and_changes_nothing(cloned: Cloned) -> None:
    cloned.write("guide.md", "mine\n")
    cloned.write("new.md", "new\n")
    before = cloned.files()
    ran = await cloned.run("sync", "--dry-run")
    assert ran.code == 0
    assert ran.out == "update  guide on the wiki\ncreate  new on the wiki\n"
    assert cloned.files() == before
    assert await cloned.wiki() == FILES


@pytest.mark.parametrize(
    ("flag", "here", "there"),
    [("--pull", "mine\n", "a guide\n"), ("--push", "mine\n", "mine\n")],
)
async def test_one_way_writes_only_that_way(
    cloned: Cloned, flag: str, here: str, there: str
) -> None:
    cloned.write("guide.md", "mine\n")
    await cloned.edit({"home": "theirs\n"})
    await cloned.run("sync", flag)
    assert cloned.read("guide.md") == here
    assert (await cloned.wiki())["guide.md"] == there
    assert (cloned.read("home.md") == "theirs\n") == (flag == "--pull")


async def test_both_ways_at_once_excluded_is_a_usage_error(cloned: Cloned) -> None:
    ran = await cloned.run("sync", "--pull", "--push")
    ran.ended(2, "--pull and --push cannot be used together")


@pytest.mark.parametrize(
    "name",
    ["handbook/guide.md", "handbook/guide", "guide", "handbook/guide.conflict.md"],
)
async def test_page_is_named_by_its_file_or_slug(cloned: Cloned, name: str) -> None:
    cloned.write("guide.md", "mine\n")
    cloned.write("home.md", "mine, too\n")
    assert (await cloned.run("sync", name)).code == 0
    assert await cloned.wiki() == FILES | {"guide.md": "mine\n"}


@pytest.mark.parametrize("name", ["handbook/team/", "handbook/team", "team/"])
async def test_a_folder_names_the_pages_below(cloned: Cloned, name: str) -> None:
    cloned.write("Team Room/one.md", "one\n")
    await cloned.run("sync")
    for file in ("home.md", "team/rules.md", "Team Room/one.md"):
        cloned.write(file, "mine\n")
    await cloned.edit({"guide": "theirs\n", "team/new": "theirs\n"})
    compared = await cloned.run("diff", name)
    assert compared.out.count("\n+++ ") == 2
    assert (await cloned.run("diff", "--base", name)).out.count("\n+++ ") == 1
    ran = await cloned.run("sync", name)
    assert (ran.code, ran.out) == (0, "handbook: 6 pages, 1 pulled, 1 pushed\n")
    assert cloned.read("team/new.md") == "theirs\n"
    logged = (await cloned.run("log", name)).out
    assert ("team/rules" in logged, "home" in logged) == (True, False)
    renamed = await cloned.run("sync", "handbook/Team Room/")
    assert renamed.out == "handbook: 6 pages, 1 pushed\n"
    cloned.write("Team Room/one.md", "again\n")
    renamed = await cloned.run("sync", cloned.folder / "Team Room/one.md")
    assert renamed.out == "handbook: 6 pages, 1 pushed\n"
    assert (await cloned.run("sync", "handbook")).out.endswith(", 1 pushed\n")


async def test_current_folder_is_named_with_a_dot(
    cloned: Cloned, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And not with an empty name."""
    cloned.write("team/rules.md", "mine\n")
    cloned.write("home.md", "mine\n")
    monkeypatch.chdir(cloned.root)
    assert (await cloned.run("sync", "")).code == 2
    for folder in (cloned.folder / "team", cloned.root):
        monkeypatch.chdir(folder)
        ran = await cloned.run("sync", ".")
        assert ran.out == "handbook: 4 pages, 1 pushed\n"


@pytest.mark.parametrize("name", ["handbook/gide", "handbook/teams/"])
async def test_name_of_nothing_holds_no_page_back(cloned: Cloned, name: str) -> None:
    cloned.write("guide.md", "mine\n")
    ran = await cloned.run("sync", name, "guide")
    ran.ended(2, f"{name}: there is no such page, here or on the wiki")
    assert (await cloned.wiki())["guide.md"] == "mine\n"


async def test_json_has_the_same_keys_for_every_wiki(cloned: Cloned) -> None:
    await cloned.run("pause")
    paused = await cloned.run("sync", "--json")
    await cloned.run("resume")
    ran = await cloned.run("sync", "--json")
    (one,), (other,) = paused.json["wikis"], ran.json["wikis"]
    assert one.keys() == other.keys()
    assert (one["paused"], one["pages"]) == ("", None)
    assert (other["paused"], other["pages"], other["error"]) == (None, 4, None)


async def test_pages_are_counted_after_what_was_done(cloned: Cloned) -> None:
    cloned.write("new.md", "new\n")
    cloned.write("another.md", "another\n")
    (cloned.folder / "guide.md").rename(cloned.folder / "manual.md")
    ran = await cloned.run("sync")
    assert ran.out == "handbook: 6 pages, 2 pushed, 1 renamed\n"
    assert ran.err == ""


async def test_links_to_the_old_name_of_a_page_are_counted(cloned: Cloned) -> None:
    cloned.write("home.md", "[guide](guide), [[guide]] and [Ann](team/people)\n")
    await cloned.run("sync")
    (cloned.folder / "guide.md").rename(cloned.folder / "manual.md")
    ran = await cloned.run("sync")
    assert ran.err == (
        "handbook/guide: renamed to manual; 2 links lead to the old name; to change"
        " them, run: wikisync mv handbook/guide handbook/manual\n"
    )
    assert (await cloned.run("sync")).err == ""


async def test_of_many_renamed_pages_the_links_to_some_are_counted(
    cloned: Cloned,
) -> None:
    (cloned.folder / "team").rename(cloned.folder / "staff")
    for name in ("home", "guide"):
        (cloned.folder / f"{name}.md").rename(cloned.folder / f"{name}-2.md")
    ran = await cloned.run("sync", "--json")
    (wiki,) = ran.json["wikis"]
    assert wiki["renamed"] == 4
    (note,) = wiki["notes"]
    assert note["message"] == "1 more page renamed"
    assert note["hint"].endswith("run: wikisync mv OLD NEW")


async def test_bad_front_matter_is_sent_and_told_once_for_a_change(
    cloned: Cloned,
) -> None:
    """The wiki takes the text; status says so until the page has another one."""
    bad = "---\ntitle: [a\n---\nwords\n"
    cloned.write("guide.md", bad)
    ran = await cloned.run("sync")
    assert (ran.code, ran.out) == (0, "handbook: 4 pages, 1 pushed\n")
    assert ran.err.startswith("handbook/guide:2: invalid front matter: ")
    assert "in 'title: [a'; the block is shown as code; write key: value" in ran.err
    assert (await cloned.wiki())["guide.md"] == bad
    assert (await cloned.run("sync")).err == ""
    waits = "guide: sent as it is: line 2: invalid front matter"
    assert waits in (await cloned.run("status")).out
    cloned.write("guide.md", f"{bad}more\n")
    ran = await cloned.run("sync", "--json")
    (note,) = ran.json["wikis"][0]["notes"]
    assert (note["code"], note["subject"]) == ("front-matter-wrong", "guide:2")
    cloned.write("guide.md", bad.replace("[a", "a"))
    assert (await cloned.run("sync")).err == ""
    assert "front matter" not in (await cloned.run("status")).out
    assert waits.partition(": ")[2] in (await cloned.run("log")).out


async def test_bad_front_matter_is_told_of_the_file_whatever_its_page_is_called(
    cloned: Cloned,
) -> None:
    """The service calls the page ``My-Page``."""
    for text in ("a", "b"):
        cloned.write("My Page.md", f"---\ntitle: [{text}\n---\n")
        told = (await cloned.run("sync")).err
        assert told.startswith("handbook/My Page:2: invalid front matter: ")
    assert "My-Page: sent as it is: line 2: " in (await cloned.run("status")).out


async def test_of_many_pages_with_bad_front_matter_the_rest_is_counted(
    cloned: Cloned,
) -> None:
    for number in range(22):
        cloned.write(f"new-{number}.md", "---\ntitle: [a\n---\n")
    told = (await cloned.run("sync")).err.splitlines()
    assert len(told) == 21
    assert told[-1] == (
        "handbook: 2 more pages were sent with bad front matter; to list them, run:"
        " wikisync check handbook"
    )
    assert (await cloned.run("sync")).err == ""


async def test_links_are_not_spoken_of_where_none_was_renamed(cloned: Cloned) -> None:
    cloned.service.quirks = {Quirk.MAINTENANCE}
    (cloned.folder / "guide.md").rename(cloned.folder / "manual.md")
    ran = await cloned.run("sync")
    assert "page guide" in ran.err
    assert "pages were renamed" not in ran.err


# -- the first sync ----------------------------------------------------------------


PICTURE = "uploads/" + "0123456789abcdef" * 2 + "/p.png"


@pytest.fixture
async def first(service: EmbeddedService, run: Run, tmp_path: Path) -> Cloned:
    """A folder and a wiki that have never met."""
    pages = {"home": f"![p]({PICTURE})\n", "same": "same\n", "guide": "a guide\n"}
    await service.add_project("docs/handbook", pages)
    quick = "[sync]\nsettle_ms = 50\n"
    root = make_workspace(tmp_path / "wikis", service.url, more=quick)
    found = Cloned(service, root, run)
    found.write("same.md", "same\n")
    found.write("here.md", "only here\n")
    return found


async def test_first_sync_leaves_new_pages_here_until_asked(first: Cloned) -> None:
    dry = await first.run("sync", "--dry-run")
    assert "create  home\n" in dry.out
    assert "skip    here: only here" in dry.out
    ran = await first.run("sync")
    ran.ended(0, "only in handbook: 1 page (here); they are not uploaded")
    assert first.read("guide.md") == "a guide\n"
    first.write("later.md", "written after the first sync\n")
    (await first.run("sync")).ended(0, "handbook/here: only here")
    assert "later.md" in await first.wiki()
    assert "here.md" not in await first.wiki()


@pytest.mark.parametrize("words", [("--adopt", "push"), ("handbook/here.md",)])
async def test_page_left_here_goes_to_the_wiki_when_asked_for(
    first: Cloned, words: tuple[str, ...]
) -> None:
    await first.run("sync", "--adopt", "hold")
    await first.run("sync", *words)
    assert (await first.wiki())["here.md"] == "only here\n"
    first.write("here.md", "edited\n")
    await first.run("sync")
    assert (await first.wiki())["here.md"] == "edited\n"


LESS = [
    ("--pull",),
    ("--push",),
    ("handbook/home.md",),
    ("--adopt", "push", "--pull"),
    ("--adopt", "push", "handbook/home.md"),
]


@pytest.mark.parametrize(
    "syncs", [[("--adopt", "hold"), *LESS], *([one] for one in LESS)], ids=str
)
async def test_page_left_here_stays_here_after_a_sync_of_less(
    first: Cloned, syncs: list[tuple[str, ...]]
) -> None:
    """Also where a sync of less was the first one of all."""
    for one in (*syncs, ()):
        await first.run("sync", *one)
        assert "here.md" not in await first.wiki()


# -- deletions ---------------------------------------------------------------------


async def test_deleted_file_waits_and_the_person_reads_it(cloned: Cloned) -> None:
    (cloned.folder / "guide.md").unlink()
    ran = await cloned.run("sync")
    ran.ended(0, "handbook/guide: its file is missing here; waiting")
    assert "wikisync sync --wait" in ran.err
    assert "guide.md" in await cloned.wiki()


# -- a person is asked -------------------------------------------------------------


@pytest.mark.parametrize(
    ("typed", "code", "is_there"),
    [(b"y\n", 0, True), (b"n\n", 0, False), (b"\x03", 130, False)],
)
async def test_first_sync_asks_on_a_terminal(
    first: Cloned, typed: bytes, code: int, is_there: bool
) -> None:
    """One Ctrl-C is enough, though a loop runs."""
    ours, theirs = pty.openpty()
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "wikisync", "sync", "-C", str(first.root)),
        stdin=theirs,
        stdout=asyncio.subprocess.PIPE,
        stderr=theirs,
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(theirs, termios.TIOCSCTTY, 0),
    )
    os.close(theirs)
    seen = b""
    while b"[y/N]" not in seen:
        seen += await asyncio.to_thread(os.read, ours, 1024)
    await wait_until_it_reads(process.pid)
    os.write(ours, typed)
    await process.communicate()
    os.close(ours)
    assert b"only in handbook: 1 page (here); upload them to the wiki?" in seen
    assert process.returncode == code
    assert ("here.md" in await first.wiki()) == is_there


async def wait_until_it_reads(pid: int) -> None:
    """Return when a process waits for its standard input, as far as Linux tells.

    A Ctrl-C in the instant before would be lost on any Python: the signal is noted,
    and the read that then begins knows nothing of it.
    """
    reads = {"0", "63"}  # the call's number on x86-64 and on ARM
    async with asyncio.timeout(30):
        while True:
            try:
                call = Path(f"/proc/{pid}/syscall").read_text().split()
            except OSError:
                return
            if call[0] in reads and call[1] == "0x0":
                return
            await asyncio.sleep(0)


# -- several wikis -----------------------------------------------------------------


async def test_trouble_with_one_wiki_does_not_stop_the_others(
    service: EmbeddedService, run: Run, tmp_path: Path
) -> None:
    """They are shown in the order of the configuration; a dead token is told once."""
    await service.add_group("docs", wiki=False)
    for name in ("w0", "w1", "w2"):
        await service.add_project(f"docs/{name}", {"home": f"{name}\n"})
    root = tmp_path / "wikis"
    await run("clone", service.url, "--group", "docs", "--all", root)
    shutil.rmtree(root / "w1")
    (root / "w2/home.md").write_text("mine\n")
    ran = await run("sync", "-C", root)
    assert ran.code == 1
    assert ran.out == "w0: 1 page, nothing to do\nw2: 1 page, 1 pushed\n"
    assert f"the folder {root / 'w1'} does not exist" in ran.err
    assert ran.err.count("error:") == 1
    files = await service.files(WikiOwner("project", "docs/w2"))
    assert files["home.md"] == b"mine\n"
    shutil.copytree(root / "w0", root / "w1")
    service.quirks = {Quirk.TOKEN_REVOKED}
    ran = await run("sync", "-C", root)
    assert (ran.code, ran.err.count("error:")) == (1, 1)


# -- a sync of less ----------------------------------------------------------------


async def test_what_only_the_first_of_two_cycles_meets_is_told(cloned: Cloned) -> None:
    """A merge makes another cycle, which knows nothing of the conflict that is over."""
    await cloned.clash()
    text = cloned.read("guide.conflict.md")
    cloned.write("guide.conflict.md", f"{text}a thought\n")
    cloned.write("guide.md", "theirs\n")
    cloned.write("home.md", PAGES["home"].replace("one", "one of mine"))
    await cloned.edit({"home": PAGES["home"].replace("three", "three of theirs")})
    ran = await cloned.run("sync")
    assert "1 merged" in ran.out
    assert ran.err.count("its conflict is over") == 1


# -- what a first sync leaves stays known, however it ends -------------------------

LEFT = "  here: only here; a first sync uploads it only on request\n"


@dataclass
class Midway(Progress):
    """Progress that does something when a step of the cycle begins."""

    step: str
    act: Callable[[], None]
    done: list[str] = field(default_factory=list)

    def start(self, label: str, total: int | None) -> None:
        del total
        if label == self.step and label not in self.done:
            self.done.append(label)
            self.act()

    def advance(self, steps: int = 1) -> None:
        """Nothing is shown."""


async def synced(first: Cloned, progress: Midway) -> Synced:
    """A first sync that nobody asked to put pages on the wiki."""
    workspace = find_workspace(first.root)
    service = first.service
    async with Client(service.url, service.token) as client:
        with open_workspace(workspace) as opened:
            section, asked = workspace.config.wikis[0], CycleOptions()
            work = WikiCycles(opened, section, client, asked)
            work.progress = progress
            runner = Runner([work], client)
            await runner.run_to_rest()
    work.synced.failure = runner.wikis[work.name].failure
    return work.synced


def away() -> None:
    raise Unavailable("the service went away")


@pytest.mark.parametrize("words", [("status",), ("status", "--offline")])
async def test_sync_that_failed_midway_still_knows_what_it_left(
    first: Cloned, words: tuple[str, ...]
) -> None:
    """Status said that the next sync puts the page on the wiki, and it did."""
    failed = await synced(first, Midway("attachments", away))
    assert failed.failure is not None
    assert "home.md" in first.files()
    ran = await first.run(*words)
    assert ran.code == 0
    assert LEFT in ran.out
    await first.run("sync")
    assert "here.md" not in await first.wiki()


async def test_page_is_left_in_every_round_of_the_first_sync(first: Cloned) -> None:
    """A page that is saved meanwhile makes another round at once."""
    assert LEFT in (await first.run("status", "--offline")).out
    progress = Midway("pages", lambda: first.write("guide.md", "mine\n"))
    done = await synced(first, progress)
    assert len(done.results) == 2
    assert "here.md" not in await first.wiki()
    assert LEFT in (await first.run("status")).out


async def test_watch_leaves_the_same_in_every_cycle(first: Cloned) -> None:
    workspace = find_workspace(first.root)
    section, service = workspace.config.wikis[0], first.service
    async with Client(service.url, service.token) as client:
        with open_workspace(workspace) as opened:
            watched = WatchedWiki(opened, section, client)
            await watched.cycle(ScanScope.EVERYTHING)
            await watched.cycle(ScanScope.EVERYTHING)
            assert opened.known(section).memory.left_out == frozenset({"here"})
    assert "here.md" not in await first.wiki()


async def test_first_page_after_a_sync_of_nothing_is_uploaded(
    service: EmbeddedService, run: Run, tmp_path: Path
) -> None:
    """Only what was here at the first sync has to be asked for."""
    await service.add_project("docs/empty")
    root = tmp_path / "wikis"
    await run("clone", service.url, root, "--project", "docs/empty")
    (root / "empty" / "home.md").write_text("mine\n")

    ran = await run("sync", "-C", root)

    assert "1 pushed" in ran.out, ran.err
    assert await service.files(WikiOwner("project", "docs/empty")) == {
        "home.md": b"mine\n"
    }


async def test_first_sync_of_an_empty_folder_reads_no_page(first: Cloned) -> None:
    """All texts came with the list."""
    for name in ("here.md", "same.md"):
        (first.folder / name).unlink()
    async with bending_proxy(first.service.url) as proxy:
        first.configure(first.service.url, str(proxy.url))
        ran = await first.run("sync")

        assert ran.code == 0
        assert first.read("guide.md") == "a guide\n"
        assert not proxy.requests("/wikis/[a-z]+$")
        assert len(proxy.requests("with_content=true")) == 1
