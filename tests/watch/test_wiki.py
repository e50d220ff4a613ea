"""What a watch does for one wiki, by itself: the hints it asks for."""

import os
import shutil
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.api.faketime import FakeTime
from tests.support.bending import BendingProxy, bending_proxy
from tests.support.quirks import Quirk
from tests.support.service import EmbeddedService
from wikisync.api.client import Client
from wikisync.api.git import GIT_RETRY_S
from wikisync.api.wikis import Wiki
from wikisync.core.messages import Progress
from wikisync.core.model import WikiOwner
from wikisync.errors import FolderError, Halted, StateError
from wikisync.folder.pages import PageFolder
from wikisync.folder.scan import ScannedFolder
from wikisync.service.projects import tables as project_tables
from wikisync.sync.run import cycle
from wikisync.sync.run.parts import FolderMatch
from wikisync.watch import report
from wikisync.watch.triggers import RemoteHint
from wikisync.watch.wiki import WatchedWiki
from wikisync.workspace.configured import find_workspace
from wikisync.workspace.opening import open_workspace
from wikisync.workspace.runner import ScanScope

PROJECT = WikiOwner("project", "docs/handbook")
GROUP = WikiOwner("group", "team")
GUIDE = WikiOwner("project", "docs/guide")


@pytest.fixture
def time() -> FakeTime:
    return FakeTime()


@pytest.fixture
async def client(service: EmbeddedService, time: FakeTime) -> AsyncIterator[Client]:
    await service.add_project(PROJECT.full_path, {"home": "one\n"})
    await service.add_group(GROUP.full_path, {"home": "one\n"})
    async with Client(service.url, service.token, clock=time.clock) as made:
        yield made


@contextmanager
def watched(
    client: Client,
    root: Path,
    owner: WikiOwner,
    *,
    uploads_new: bool = True,
    number: int | None = None,
) -> Iterator[WatchedWiki]:
    (root / "wikisync.toml").write_text(
        f'[service]\nurl = "{client.address}"\n'
        f'[[wiki]]\n{owner.kind} = "{owner.full_path}"\n'
        + (f"id = {number}\n" if number else "")
        + 'folder = "handbook"\n'
    )
    workspace = find_workspace(root)
    with open_workspace(workspace) as opened:
        section = workspace.config.wikis[0]
        yield WatchedWiki(opened, section, client, uploads_new=uploads_new)


def emptied(root: Path) -> None:
    for path in (root / "handbook").iterdir():
        path.unlink()


def unmarked(root: Path) -> None:
    (root / ".wikisync/folder-id").unlink()


@pytest.mark.parametrize("lose", [emptied, unmarked])
async def test_what_guards_a_sync_guards_every_cycle(
    client: Client, tmp_path: Path, lose: Callable[[Path], None]
) -> None:
    """A disk may go away while a watch runs, too."""
    with watched(client, tmp_path, PROJECT) as wiki:
        await wiki.cycle(ScanScope.EVERYTHING)
        wiki._opened.note_adopted()
        lose(tmp_path)
        with pytest.raises(Halted, match="nothing was changed"):
            await wiki.cycle(ScanScope.EVERYTHING)
    assert (await Wiki(client, PROJECT).get_page("home")).content == "one\n"


@pytest.mark.parametrize("lost", ["", "lock"])
async def test_no_cycle_runs_on_a_state_that_another_one_replaced(
    client: Client, tmp_path: Path, lost: str
) -> None:
    """A sync that finds no state or lock makes one, and is the writer from then on."""
    with watched(client, tmp_path, PROJECT) as wiki:
        await wiki.cycle(ScanScope.EVERYTHING)
        (tmp_path / ".wikisync" / lost).rename(tmp_path / "away")
        if lost:
            (tmp_path / "away").unlink()
        (tmp_path / "handbook/home.md").write_text("two\n")
        with (
            watched(client, tmp_path, PROJECT),
            pytest.raises(StateError, match="was removed or replaced"),
        ):
            await wiki.cycle(ScanScope.EVERYTHING)
    assert (await Wiki(client, PROJECT).get_page("home")).content == "one\n"


async def test_another_folder_is_taken_as_it_is_by_the_cycle_that_meets_it(
    client: Client, tmp_path: Path
) -> None:
    """A disk may be replaced by an older copy while a watch runs, too."""
    with watched(client, tmp_path, PROJECT) as wiki:
        await wiki.cycle(ScanScope.EVERYTHING)
        (tmp_path / "handbook").rename(tmp_path / "away")
        (tmp_path / "handbook").mkdir()
        (tmp_path / "handbook/new.md").write_text("new\n")
        await wiki.cycle(ScanScope.EVERYTHING)
        met = wiki.synced.has_other_folder
        await wiki.cycle(ScanScope.EVERYTHING)
        again = wiki.synced.has_other_folder
    assert (met, again) == (True, False)
    assert (tmp_path / "handbook/home.md").read_text() == "one\n"


async def test_absences_count_once_a_shared_or_copied_state_was_noted(
    client: Client, tmp_path: Path
) -> None:
    """Also in the same run, which may be a watch of months."""
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    with watched(client, here, PROJECT) as wiki:
        await wiki.cycle(ScanScope.EVERYTHING)
    for source, root, match in (
        (here, there, FolderMatch.ADOPTED),
        (there, here, FolderMatch.SHARED),
    ):
        shutil.copytree(source, root, dirs_exist_ok=True)
        with watched(client, root, PROJECT) as wiki:
            matches = [wiki._opened.match_of(wiki.section)]
            await wiki.cycle(ScanScope.EVERYTHING)
            wiki._opened.note_adopted()
            matches.append(wiki._opened.match_of(wiki.section))
            emptied(root)
            with pytest.raises(Halted, match="nothing was changed"):
                await wiki.cycle(ScanScope.EVERYTHING)
        assert matches == [match, FolderMatch.SAME]


async def test_what_keeps_a_page_back_comes_with_the_next_step(
    client: Client, tmp_path: Path
) -> None:
    with watched(client, tmp_path, PROJECT) as wiki:
        await wiki.cycle(ScanScope.EVERYTHING)
        (tmp_path / "handbook/home.md").unlink()
        os.mkfifo(tmp_path / "handbook/home.md")
        outcome = await wiki.cycle(ScanScope.EVERYTHING)
    assert outcome.problem.startswith("home.md: is a pipe")
    assert outcome.hint == "rename or remove it to get the page back"


async def rename(service: EmbeddedService, client: Client) -> int:
    """The project moves to ``docs/guide``; gives its id."""
    project = await client.project(PROJECT.full_path)
    columns = {"path": "guide"}
    await service.ask(project_tables.change_project, project.id, columns, {})
    return project.id


@pytest.mark.parametrize("uploads_new", [True, False])
async def test_watch_that_begins_again_writes_nothing_into_another_project(
    service: EmbeddedService, client: Client, tmp_path: Path, *, uploads_new: bool
) -> None:
    """Another team has the path since, and the unit says ``--adopt push``."""
    with watched(client, tmp_path, PROJECT, uploads_new=uploads_new) as wiki:
        await wiki.cycle(ScanScope.EVERYTHING)
    await rename(service, client)
    await service.add_project(PROJECT.full_path, {"payroll": "secret\n"})
    (tmp_path / "handbook/mine.md").write_text("mine\n")
    with watched(client, tmp_path, PROJECT, uploads_new=uploads_new) as wiki:
        for _ in range(2):
            with pytest.raises(Halted, match="is docs/guide; nothing"):
                await wiki.cycle(ScanScope.EVERYTHING)
    assert set(await service.files(PROJECT)) == {"payroll.md"}
    assert not (tmp_path / "handbook/payroll.md").exists()


async def test_running_watch_sees_that_another_project_has_the_path(
    service: EmbeddedService, client: Client, tmp_path: Path
) -> None:
    with watched(client, tmp_path, PROJECT) as wiki:
        await wiki.cycle(ScanScope.EVERYTHING)
        await rename(service, client)
        await service.add_project(PROJECT.full_path, {"payroll": "secret\n"})
        (tmp_path / "handbook/mine.md").write_text("mine\n")
        await wiki.cycle(ScanScope.FOLDER)
        assert set(await service.files(GUIDE)) == {"home.md", "mine.md"}
        with pytest.raises(Halted, match="is another project now"):
            await wiki.cycle(ScanScope.EVERYTHING)
    assert set(await service.files(PROJECT)) == {"payroll.md"}


async def test_running_watch_follows_a_renamed_project_and_tells(
    service: EmbeddedService, client: Client, tmp_path: Path
) -> None:
    with watched(client, tmp_path, PROJECT) as wiki:
        await wiki.cycle(ScanScope.EVERYTHING)
        before = await wiki.hint()
        await rename(service, client)
        await service.add_pages(GUIDE, {"home": "two\n"})
        await wiki.cycle(ScanScope.EVERYTHING)
        (note,) = wiki.synced.notes
        assert wiki.paths == {"docs/handbook", "docs/guide"}
        assert await wiki.hint() not in {before, None}
    assert note.message == "the project docs/handbook is docs/guide now"
    assert (tmp_path / "handbook/home.md").read_text() == "two\n"


async def test_project_that_will_be_removed_needs_a_person(
    service: EmbeddedService, client: Client, tmp_path: Path
) -> None:
    with watched(client, tmp_path, PROJECT) as wiki:
        outcome = await wiki.cycle(ScanScope.EVERYTHING)
        assert not outcome.needs_person
        project = await client.project(PROJECT.full_path)
        await service.ask(project_tables.set_mark, project.id, is_marked=True)
        outcome = await wiki.cycle(ScanScope.EVERYTHING)
    assert (outcome.needs_person, outcome.problem) == (True, "")


async def test_newest_commit_is_a_cheap_hint(
    service: EmbeddedService, client: Client, tmp_path: Path
) -> None:
    with watched(client, tmp_path, PROJECT) as wiki:
        before = await wiki.hint()
        assert before == await wiki.hint()
        await service.add_pages(PROJECT, {"home": "two\n"})
        after = await wiki.hint()
    assert before is not None
    assert after is not None
    assert before.mark != after.mark


async def test_without_git_the_project_tells_and_costs_little_from_then_on(
    service: EmbeddedService, client: Client, tmp_path: Path
) -> None:
    service.quirks = {Quirk.NO_GIT}
    with watched(client, tmp_path, PROJECT) as wiki:
        first = await wiki.hint()
        project = await client.project(PROJECT.full_path)
        assert first == RemoteHint(project.last_activity_at or "")
        assert await wiki.hint() is first, "not changed: no record comes"
        await Wiki(client, PROJECT).edit_page("home", content="two\n")
        after = await wiki.hint()
    assert after is not None
    assert after != first


async def test_git_that_was_refused_is_tried_again_only_after_minutes(
    service: EmbeddedService, client: Client, tmp_path: Path, time: FakeTime
) -> None:
    """A service may take many refusals for an attack, and shut out the machine."""
    service.quirks = {Quirk.NO_GIT}
    with watched(client, tmp_path, GROUP) as wiki:
        assert await wiki.hint() is None
        service.quirks = ()
        time.now += GIT_RETRY_S - 1
        assert await wiki.hint() is None
        time.now += 1
        assert await wiki.hint() is not None


async def test_scan_sees_what_a_program_appends_to_a_file_that_was_replaced(
    service: EmbeddedService, client: Client, tmp_path: Path
) -> None:
    """No event tells of it, and no folder shows it: the file has no name any more."""
    with watched(client, tmp_path, PROJECT) as wiki:
        await wiki.cycle(ScanScope.EVERYTHING)
        with (tmp_path / "handbook/home.md").open("ab", buffering=0) as program:
            await service.add_pages(PROJECT, {"home": "two\n"})
            await wiki.cycle(ScanScope.EVERYTHING)
            await wiki.scan()
            assert not await wiki.scan()
            program.write(b"appended\n")
        assert await wiki.scan()


# -- what a cycle scans ----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Large:
    """A watched wiki behind a proxy."""

    wiki: WatchedWiki
    proxy: BendingProxy
    folder: Path
    client: Client

    async def save(self, text: str) -> None:
        """Save the page ``home``, of which an event comes."""
        (self.folder / "home.md").write_text(text)
        self.wiki.note(ScanScope.FOLDER, ["home.md"])
        await self.wiki.cycle(ScanScope.FOLDER)

    async def on_wiki(self, slug: str = "home") -> str | None:
        """The page's text there."""
        return (await Wiki(self.client, PROJECT).get_page(slug)).content


@pytest.fixture
async def large(
    service: EmbeddedService, time: FakeTime, tmp_path: Path
) -> AsyncIterator[Large]:
    """A watched wiki so large that git is asked what changed, at rest."""
    pages = {"home": "one\n", "plan": "plan\n", "long": "words \n" * 10_000}
    await service.add_project(PROJECT.full_path, pages)
    async with (
        bending_proxy(service.url) as proxy,
        Client(proxy.url, service.token, clock=time.clock) as client,
    ):
        with watched(client, tmp_path, PROJECT) as wiki:
            await wiki.cycle(ScanScope.EVERYTHING)
            await wiki.cycle(ScanScope.EVERYTHING)
            await wiki.scan()
            await wiki.cycle(ScanScope.FOLDER)
            yield Large(wiki, proxy, tmp_path / "handbook", client)


@pytest.fixture
def scans(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A line for each scan of the whole folder."""
    seen: list[str] = []
    scan = PageFolder.rescan

    def counted(folder: PageFolder) -> ScannedFolder:
        seen.append("scan")
        return scan(folder)

    monkeypatch.setattr(PageFolder, "rescan", counted)
    return seen


async def test_own_commit_is_no_reason_to_scan_or_list(
    large: Large, scans: list[str]
) -> None:
    """The hint that follows each save is the commit that the save made."""
    scans.clear()
    for text in ("two\n", "three\n"):
        before = await large.wiki.hint()
        await large.save(text)
        assert await large.on_wiki() == text
        assert await large.wiki.hint() != before
        large.proxy.asked.clear()
        assert (await large.wiki.cycle(ScanScope.WIKI)).is_quiet
        assert {asked.path.partition("?")[0] for asked in large.proxy.asked} == {
            "/docs/handbook.wiki.git/info/refs",
            "/docs/handbook.wiki.git/git-upload-pack",
        }
        large.proxy.asked.clear()
        assert await large.wiki.scan(), "the file is another one than half a minute ago"
        assert (await large.wiki.cycle(ScanScope.FOLDER)).is_quiet
        assert large.proxy.asked == []
        assert not await large.wiki.scan()
    assert scans == []


async def test_commit_of_another_person_takes_a_scan_of_the_folder(
    service: EmbeddedService, large: Large, scans: list[str]
) -> None:
    """Between two of ours, too; and a save that no event reported goes with it."""
    scans.clear()
    await large.save("two\n")
    await service.add_pages(PROJECT, {"plan": "theirs\n"})
    (large.folder / "long.md").write_text("words \n" * 9_999)
    await large.save("three\n")
    assert scans == []
    await large.wiki.cycle(ScanScope.WIKI)
    assert scans
    assert (large.folder / "plan.md").read_text() == "theirs\n"
    assert await large.on_wiki("long") == "words \n" * 9_999


async def test_page_that_somebody_names_is_read_once_whatever_git_says(
    large: Large,
) -> None:
    """News may come before git has what they tell of."""
    await large.wiki.cycle(ScanScope.WIKI)
    for named in (["plan"], []):
        large.proxy.asked.clear()
        large.wiki.note(ScanScope.WIKI, named)
        assert (await large.wiki.cycle(ScanScope.WIKI)).is_quiet
        found = [one.path for one in large.proxy.asked if "/wikis/" in one.path]
        assert [path.rpartition("/")[2].partition("?")[0] for path in found] == named


async def test_scan_names_what_no_event_reported(
    large: Large, scans: list[str]
) -> None:
    scans.clear()
    (large.folder / "home.md").write_text("two\n")
    assert await large.wiki.scan()
    await large.wiki.cycle(ScanScope.FOLDER)
    assert (await large.on_wiki(), scans) == ("two\n", [])
    (large.folder / "new.md").write_text("new\n")
    assert await large.wiki.scan()
    await large.wiki.cycle(ScanScope.FOLDER)
    assert await large.on_wiki("new") == "new\n"
    assert scans


async def test_first_look_after_the_first_cycle_names_what_came_since(
    client: Client, tmp_path: Path, scans: list[str]
) -> None:
    """Else the whole folder would be scanned half a minute after each start."""
    with watched(client, tmp_path, PROJECT) as before:
        await before.cycle(ScanScope.EVERYTHING)
    with watched(client, tmp_path, PROJECT) as wiki:
        await wiki.cycle(ScanScope.EVERYTHING)
        assert not await wiki.scan()
        scans.clear()
        (tmp_path / "handbook/home.md").write_text("two\n")
        assert await wiki.scan()
        assert not (await wiki.cycle(ScanScope.FOLDER)).is_quiet
        assert scans == []


async def test_folder_that_could_not_be_scanned_is_scanned_whole(
    large: Large, scans: list[str]
) -> None:
    """Whatever happened meanwhile, nobody saw it."""
    away = large.folder.with_name("away")
    large.folder.rename(away)
    with pytest.raises(FolderError):
        await large.wiki.scan()
    away.rename(large.folder)
    scans.clear()
    await large.wiki.cycle(ScanScope.WIKI)
    assert scans


async def test_file_that_the_wiki_lacked_comes_with_its_commit(
    service: EmbeddedService, large: Large
) -> None:
    path = f"uploads/{'a' * 32}/picture.png"
    await large.save(f"![p]({path})\n")
    await large.wiki.cycle(ScanScope.EVERYTHING)
    assert not (large.folder / path).exists()
    await service.put_file(PROJECT, path, b"picture")
    await large.wiki.cycle(ScanScope.WIKI)
    assert (large.folder / path).read_bytes() == b"picture"


class _Busy(Progress):
    """Somebody saves a known page as soon as a first new page is sent."""

    def __init__(self, wiki: WatchedWiki, page: Path) -> None:
        self._wiki, self._page = wiki, page

    def advance(self, steps: int = 1) -> None:
        del steps
        if self._page.read_text() == "one\n":
            self._page.write_text("two\n")
            self._wiki.note(ScanScope.FOLDER, [self._page.name])


@pytest.mark.parametrize("are_new", [True, False])
async def test_edit_does_not_wait_for_many_pages(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, are_new: bool
) -> None:
    monkeypatch.setattr(cycle, "SEND_SHARE", 0.0)
    many = [tmp_path / f"handbook/a-{number}.md" for number in range(15)]
    with watched(client, tmp_path, PROJECT) as wiki:
        await wiki.cycle(ScanScope.EVERYTHING)
        for page in many if not are_new else ():
            page.write_text("old\n")
        await wiki.cycle(ScanScope.EVERYTHING)
        for page in many:
            page.write_text("new\n")
        wiki.progress = _Busy(wiki, tmp_path / "handbook/home.md")
        wiki.note(ScanScope.FOLDER, None)
        has_more = (await wiki.cycle(ScanScope.FOLDER)).has_more
        first = wiki.synced.last.pushed
        await wiki.cycle(ScanScope.EVERYTHING)
        sent = wiki.synced.last.names["pushed"]
        is_at_rest = not (await wiki.cycle(ScanScope.EVERYTHING)).has_more
    assert has_more
    assert is_at_rest
    assert 0 < first < 10
    assert len(sent) == 16 - first
    assert "home" in sent[:4]


class _Heard(Progress):
    """The service tells of each page that is sent to it."""

    def __init__(self, wiki: WatchedWiki) -> None:
        self._wiki = wiki

    def advance(self, steps: int = 1) -> None:
        del steps
        self._wiki.note(ScanScope.WIKI, None)


async def test_news_of_what_is_sent_keeps_no_page_waiting(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cycle, "SEND_SHARE", 0.0)
    with watched(client, tmp_path, PROJECT) as wiki:
        await wiki.cycle(ScanScope.EVERYTHING)
        for number in range(15):
            (tmp_path / f"handbook/a-{number}.md").write_text("new\n")
        wiki.progress = _Heard(wiki)
        wiki.note(ScanScope.FOLDER, None)
        await wiki.cycle(ScanScope.FOLDER)
        assert wiki.synced.last.pushed == 15


def test_long_step_says_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    progress = report.LoggedProgress("handbook", said.append)
    progress.start("pages to the wiki", 3)
    progress.advance()
    monkeypatch.setattr(report, "SAY_S", -1.0)
    progress.advance()
    assert said == ["handbook: pages to the wiki: 2 of 3"]


async def test_a_save_asks_the_state_for_little(client: Client, tmp_path: Path) -> None:
    """What a cycle has held in its hands it does not read again: each costs a seek."""
    with watched(client, tmp_path, PROJECT) as wiki:
        await wiki.cycle(ScanScope.EVERYTHING)
        for text in ("two\n", "three\n"):
            (tmp_path / "handbook/home.md").write_text(text)
            asked: list[str] = []
            database = wiki._opened.state._database
            database._connection.set_trace_callback(asked.append)
            wiki.note(ScanScope.FOLDER, ["home.md"])
            assert not (await wiki.cycle(ScanScope.FOLDER)).is_quiet
    selects = [one for one in asked if one.lstrip().startswith("SELECT")]
    assert len(selects) <= 8, selects
    assert sum(one.startswith("BEGIN") for one in asked) <= 3, asked
    synced = wiki._wiki
    assert synced is not None
    assert not synced.remote.bad_front_matter, "what was noted is not held on"
