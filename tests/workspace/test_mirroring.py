"""Copies of wikis: which wikis are asked, and what a copy is told to hold."""

import asyncio
import contextlib
import hashlib
import os
import sqlite3
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from pathlib import Path

import msgspec
import pytest

from tests.support.bending import BendingProxy
from tests.support.git import clone, needs_git, run_git
from tests.support.quirks import Quirk
from tests.support.service import EmbeddedService, embedded_service
from wikisync.api.client import Client
from wikisync.api.git import AttachmentSource
from wikisync.api.replica import WikiReplica
from wikisync.api.settings import ClientSettings
from wikisync.api.wikis import Wiki
from wikisync.core import model
from wikisync.core.messages import Progress
from wikisync.core.model import REDIRECTS_PATH
from wikisync.errors import FolderError, Unavailable
from wikisync.service.projects import tables as project_tables
from wikisync.site import mirror as mirrors
from wikisync.site.build import build_site
from wikisync.site.cache import open_cache
from wikisync.site.mirror import (
    FILES,
    NOTHING,
    STORE,
    Mirror,
    Noted,
    name_of,
    open_mirror,
)
from wikisync.site.model import BuildReport, SiteOptions, WikiSource
from wikisync.site.sources import WikiFiles, scan_wiki
from wikisync.workspace.discovery import Selection
from wikisync.workspace.exporting import pull
from wikisync.workspace.keeping import Keeping
from wikisync.workspace.mirroring import CHECK_S, Mirroring, mirror_wiki
from wikisync.workspace.pulled import Pulled

OWNER = model.WikiOwner("project", "docs/handbook")
GROUP = model.WikiOwner("group", "docs")
HOME, PLAN = model.Slug("home"), model.Slug("plan")
PICTURE = "uploads/" + "0123456789abcdef" * 2 + "/p.png"


class Desk:
    """A service behind a proxy, and a mirror of its wikis."""

    def __init__(
        self, service: EmbeddedService, proxy: BendingProxy, mirror: Mirror
    ) -> None:
        self.service, self.proxy, self.mirror = service, proxy, mirror
        self.passed_s = 0.0
        self.ids = {OWNER: 1}

    def noted(
        self, owner: model.WikiOwner = OWNER, mirror: Mirror | None = None
    ) -> Noted:
        """What the store notes of a wiki."""
        name = name_of(self.proxy.url.rstrip("/"), owner.kind, self.ids[owner])
        return (mirror or self.mirror).noted(name)

    async def pull(
        self,
        *,
        verify: bool = False,
        allows: bool = False,
        settings: ClientSettings | None = None,
    ) -> Pulled:
        """Read what is due; the requests from before are forgotten."""
        self.proxy.asked.clear()
        client = Client(
            self.proxy.url, self.service.token, settings=settings or ClientSettings()
        )
        mirroring = Mirroring(
            client,
            self.mirror,
            allow_emptying=allows,
            verify=verify,
            now=lambda: 1_800_000_000.0 + self.passed_s,
        )
        chosen, keeping = Selection(is_all=True), Keeping((), str(client.address))
        return await pull(client, chosen, mirroring, keeping, Progress())

    def texts(self, owner: model.WikiOwner = OWNER) -> dict[model.Slug, str]:
        """What the copy of a wiki holds."""
        noted = self.noted(owner)
        files = WikiFiles(self.mirror.folder, noted.number)
        found = {}
        for slug, page in self.mirror.copy(noted).pages.items():
            text = files.read(page.path, page.digest)
            assert text is not None
            found[slug] = text.decode()
        return found

    def files(self) -> dict[str, bytes]:
        """The files of the copy, by their paths in the wiki."""
        noted = self.noted()
        reader = WikiFiles(self.mirror.folder, noted.number)
        return {
            path: reader.read(path, file.digest) or b"gone"
            for path, file in self.mirror.copy(noted).files.items()
        }

    def asked(self) -> list[str]:
        """The requests about pages of wikis or their repositories."""
        return [one.path for one in self.proxy.requests(r"/wikis|\.wiki\.git")]


@pytest.fixture
def mirror(tmp_path: Path) -> Iterator[Mirror]:
    (tmp_path / "cache").mkdir()
    with open_mirror(tmp_path / "cache") as opened:
        yield opened


@pytest.fixture
async def desk(
    service: EmbeddedService,
    proxy: BendingProxy,
    mirror: Mirror,
    monkeypatch: pytest.MonkeyPatch,
) -> Desk:
    """One wiki of a project and, above it, one of a group, both read once."""
    monkeypatch.setattr("wikisync.api.client.spread", lambda: 0.0)
    group = await service.add_group("docs", {"home": "of the group\n"})
    await service.add_project(
        "docs/handbook", {"home": "welcome\n", "plan": "a plan\n"}
    )
    desk = Desk(service, proxy, mirror)
    desk.ids[GROUP] = group
    await desk.pull()
    assert desk.texts() == {HOME: "welcome\n", PLAN: "a plan\n"}
    return desk


# -- the history -------------------------------------------------------------------


@needs_git
async def test_push_tells_who_changed_which_page_when(
    desk: Desk, tmp_path: Path
) -> None:
    clone_ = await clone(desk.service.git_url(OWNER), tmp_path / "clone")
    (clone_ / "home.md").write_text("welcome all\n")
    (clone_ / "plan.md").rename(clone_ / "goal.md")
    await run_git("add", "--all", folder=clone_)
    words = ("--author=Ada <ada@example.com>", "--date=2026-01-02T03:04:05+02:00")
    await run_git("commit", "-q", "-m", "edit", *words, folder=clone_)
    assert (await run_git("push", "-q", folder=clone_)).code == 0
    await desk.pull()
    rows = desk.mirror.versions(desk.noted()).rows
    assert [(row.kind, row.slug, row.was) for row in rows] == [
        *(("renamed", "goal", "plan"), ("edited", "home", "home")),
        *(("created", "home", ""), ("created", "plan", "")),
    ]
    assert (rows[0].author, rows[0].at) == ("Ada", 1_767_315_845)


async def test_git_is_asked_for_a_history_only_after_a_change(desk: Desk) -> None:
    desk.passed_s = CHECK_S
    await desk.pull()
    assert not desk.proxy.requests(r"upload-pack$")
    await desk.service.add_pages(OWNER, {"home": "new words\n"})
    await desk.pull()
    assert desk.proxy.requests(r"handbook.*/git-upload-pack$")


async def test_history_that_could_not_be_kept_is_read_the_next_time(desk: Desk) -> None:
    """The pages are not noted without it: they would look as if nothing was new."""
    await desk.service.add_pages(OWNER, {"home": "new words\n"})
    with contextlib.closing(sqlite3.connect(desk.mirror.folder / STORE)) as store:
        store.execute(
            "CREATE TRIGGER full BEFORE INSERT ON history"
            " BEGIN SELECT RAISE(ABORT, 'full'); END"
        )
        with pytest.raises(sqlite3.DatabaseError, match="full"):
            await desk.pull()
        store.execute("DROP TRIGGER full")
    await desk.pull()
    (row, *_) = desk.mirror.versions(desk.noted()).rows
    assert (row.kind, row.slug) == ("edited", "home")


async def test_without_git_the_history_is_what_exports_saw(desk: Desk) -> None:
    """Nobody made these changes, as far as is known, and not before it was seen."""
    known = desk.mirror.versions(desk.noted())
    desk.service.quirks = {Quirk.NO_GIT}
    await desk.service.add_pages(OWNER, {"home": "new words\n", "more": "more\n"})
    desk.passed_s = 60.0
    await desk.pull()
    seen = desk.mirror.versions(desk.noted())
    assert [(row.kind, row.slug, row.author) for row in seen.rows[:2]] == [
        ("edited", "home", ""),
        ("created", "more", ""),
    ]
    assert {row.at for row in seen.rows[:2]} == {1_800_000_060}
    assert seen.rows[2:] == known.rows
    desk.service.quirks = ()
    await desk.service.add_pages(OWNER, {"home": "newest\n"})
    await desk.pull()
    assert all(row.commit for row in desk.mirror.versions(desk.noted()).rows)


# -- who is asked ------------------------------------------------------------------


async def test_project_without_activity_is_not_asked(desk: Desk) -> None:
    await desk.pull()
    assert desk.asked()
    assert all("/groups/" in path or "/docs.wiki" in path for path in desk.asked())


async def test_edit_is_copied_and_nothing_else(desk: Desk) -> None:
    await desk.service.add_pages(OWNER, {"home": "new words\n"})
    pulled = await desk.pull()
    assert desk.texts() == {HOME: "new words\n", PLAN: "a plan\n"}
    assert [one.written for one in pulled.wikis] == [0, 1]


async def test_edit_in_the_wiki_of_a_group_is_seen(desk: Desk) -> None:
    """Nothing tells of the activity of groups."""
    await desk.service.add_pages(GROUP, {"home": "new words\n"})
    await desk.pull()
    assert desk.texts(GROUP) == {HOME: "new words\n"}


@pytest.mark.parametrize(("verify", "passed_s"), [(True, 0.0), (False, CHECK_S)])
async def test_edit_that_is_no_activity_is_found_by_asking_all(
    desk: Desk, verify: bool, passed_s: float
) -> None:
    desk.service.quirks = {Quirk.ACTIVITY_STANDS_STILL}
    await desk.service.add_pages(OWNER, {"home": "new words\n"})
    await desk.pull()
    assert desk.texts()[HOME] == "welcome\n"
    desk.passed_s = passed_s
    await desk.pull(verify=verify)
    assert desk.texts()[HOME] == "new words\n"


async def test_service_that_hid_an_edit_is_not_believed_for_a_day(desk: Desk) -> None:
    desk.service.quirks = {Quirk.ACTIVITY_STANDS_STILL}
    await desk.service.add_pages(OWNER, {"home": "hidden\n"})
    await desk.pull(verify=True)
    await desk.service.add_pages(OWNER, {"home": "hidden, too\n"})
    await desk.pull()
    assert desk.texts()[HOME] == "hidden, too\n"


async def test_hidden_edit_is_copied_although_its_project_does_not_answer(
    desk: Desk,
) -> None:
    desk.service.quirks = {Quirk.ACTIVITY_STANDS_STILL}
    await desk.service.add_pages(OWNER, {"home": "hidden\n"})
    with desk.proxy.bend(r"/projects/1$", status=500, body=b"") as rule:
        pulled = await desk.pull(verify=True)
    assert rule.has_met.is_set()
    assert not pulled.failed
    assert desk.texts()[HOME] == "hidden\n"


async def test_edit_while_the_wiki_is_read_is_seen_the_next_time(desk: Desk) -> None:
    """What is noted is the activity as it was listed before the texts were read."""
    await desk.service.add_pages(OWNER, {"home": "new words\n"})
    with desk.proxy.bend("/projects/1/wikis", delay_s=0.2) as rule:
        async with asyncio.TaskGroup() as group:
            group.create_task(desk.pull())
            await rule.has_met.wait()
            await desk.service.add_pages(OWNER, {"home": "newer words\n"})
    await desk.pull()
    assert desk.texts()[HOME] == "newer words\n"


async def test_renamed_project_keeps_its_copy(desk: Desk) -> None:
    number = desk.noted().number
    columns = {"path": "guide"}
    await desk.service.ask(project_tables.change_project, 1, columns, {})
    pulled = await desk.pull()
    assert [one.wiki.owner.full_path for one in pulled.wikis] == ["docs", "docs/guide"]
    assert [one.wiki.copy for one in pulled.wikis][1] == number
    assert pulled.wikis[1].written == 0


async def test_same_id_on_another_service_is_another_wiki(
    desk: Desk, tmp_path: Path
) -> None:
    """One cache may be named for both."""
    async with embedded_service(tmp_path / "other") as other:
        await other.add_project("docs/handbook", {"home": "elsewhere\n"})
        client = Client(other.url, other.token)
        chosen = Selection(projects=("docs/handbook",))
        mirroring = Mirroring(client, desk.mirror)
        keeping = Keeping((), str(client.address))
        pulled = await pull(client, chosen, mirroring, keeping, Progress())
    assert pulled.wikis[0].wiki.copy != desk.noted().number
    assert desk.texts()[HOME] == "welcome\n"


# -- what a copy is told to hold ---------------------------------------------------


async def test_page_that_only_the_list_lacks_stays(desk: Desk) -> None:
    await desk.service.add_pages(OWNER, {"home": "new words\n"})
    desk.proxy.bend(r"/projects/1/wikis\?", body=_without_plan, count=1)
    await desk.pull()
    assert desk.texts() == {HOME: "new words\n", PLAN: "a plan\n"}


def _without_plan(body: bytes) -> bytes:
    pages = msgspec.json.decode(body)
    return msgspec.json.encode([page for page in pages if page["slug"] != "plan"])


async def test_page_that_is_gone_leaves_the_copy(desk: Desk) -> None:
    await desk.service.remove_file(OWNER, "plan.md")
    pulled = await desk.pull()
    assert desk.texts() == {HOME: "welcome\n"}
    assert pulled.wikis[1].removed == 1


async def test_wiki_that_lost_all_pages_is_held_until_a_yes(desk: Desk) -> None:
    for name in ("home.md", "plan.md"):
        await desk.service.remove_file(OWNER, name)
    pulled = await desk.pull()
    [halted] = pulled.halted
    assert halted.message.startswith("2 of 2 pages (home, plan) are missing")
    assert desk.texts() == {HOME: "welcome\n", PLAN: "a plan\n"}
    await desk.pull(allows=True)
    assert desk.texts() == {}


async def test_page_that_cannot_be_read_stays_as_it_was_and_is_asked_for_again(
    desk: Desk,
) -> None:
    """A text of more than a mebibyte is read by itself."""
    long = "words " * 200_000
    await desk.service.add_pages(OWNER, {"home": long, "plan": "new plan\n"})
    with desk.proxy.bend(r"/wikis/home", status=404, body=b"{}"):
        pulled = await desk.pull()
    assert desk.texts() == {HOME: "welcome\n", PLAN: "new plan\n"}
    assert [one.code for one in pulled.wikis[1].wiki.problems] == ["page-unreadable"]
    await desk.pull()
    assert desk.texts()[HOME] == long


async def test_wiki_whose_list_is_too_large_is_read_page_by_page(desk: Desk) -> None:
    pages = {f"page-{number}": "words " * 600 for number in range(20)}
    await desk.service.add_pages(OWNER, pages)
    settings = ClientSettings(answer_bytes_max=20_000)
    await desk.pull(settings=settings)
    assert len(desk.texts()) == 22
    await desk.service.add_pages(OWNER, {"home": "new words\n"})
    await desk.pull(settings=settings)
    assert desk.texts()[HOME] == "new words\n"


async def test_file_that_no_page_mentions_any_more_leaves_the_store(desk: Desk) -> None:
    await desk.service.put_file(OWNER, PICTURE, b"\x89PNG picture")
    await desk.service.add_pages(OWNER, {"home": f"![p]({PICTURE})\n"})
    await desk.pull()
    assert desk.files() == {PICTURE: b"\x89PNG picture"}
    await desk.service.add_pages(OWNER, {"home": "no picture\n"})
    await desk.pull()
    desk.mirror.sweep()
    assert desk.files() == {}
    assert not [*(desk.mirror.folder / FILES).iterdir()]


@needs_git
async def test_file_beside_the_pages_follows_the_wiki(desk: Desk) -> None:
    await desk.service.put_file(OWNER, "pictures/map.png", b"\x89PNG one")
    await desk.service.add_pages(OWNER, {"home": "![m](pictures/map.png)\n"})
    await desk.pull()
    assert desk.files() == {"pictures/map.png": b"\x89PNG one"}
    await desk.service.put_file(OWNER, "pictures/map.png", b"\x89PNG two")
    with desk.proxy.bend("map.png", status=500, body=b""):
        await desk.pull()
    assert desk.files() == {"pictures/map.png": b"\x89PNG one"}
    await desk.pull()
    assert desk.files() == {"pictures/map.png": b"\x89PNG two"}
    await desk.service.remove_file(OWNER, "pictures/map.png")
    await desk.pull()
    assert desk.files() == {}


@needs_git
async def test_redirects_of_a_rename_come_with_the_copy(desk: Desk) -> None:
    async with Client(desk.service.url, desk.service.token) as client:
        wiki = Wiki(client, OWNER, desk.ids[OWNER])
        title, text = "later/plan", "p\n"
        await wiki.edit_page(
            PLAN, title=title, content=text, format=model.Format.MARKDOWN
        )
    await desk.pull()
    number = desk.noted().number
    folder = desk.mirror.folder
    source = WikiSource(OWNER, "Handbook", folder=folder, copy=number)
    with open_cache(folder / "site") as cache:
        scanned = scan_wiki(source, cache)
    assert scanned.redirects == {"plan": "later/plan"}
    assert scanned.loose.named(REDIRECTS_PATH) is None
    await desk.service.add_pages(OWNER, {"plan": "another\n"})
    await desk.pull()
    assert desk.files() == {REDIRECTS_PATH: desk.files()[REDIRECTS_PATH]}


async def test_file_that_was_missing_is_asked_for_without_activity(desk: Desk) -> None:
    await desk.service.add_pages(OWNER, {"home": f"![p]({PICTURE})\n"})
    pulled = await desk.pull()
    assert [one.code for one in pulled.wikis[1].wiki.problems] == ["attachment-missing"]
    desk.service.quirks = {Quirk.ACTIVITY_STANDS_STILL}
    await desk.service.put_file(OWNER, PICTURE, b"\x89PNG picture")
    await desk.pull()
    assert desk.files() == {PICTURE: b"\x89PNG picture"}


async def test_pages_that_a_build_let_go_of_are_read_again(desk: Desk) -> None:
    """Those of a thousand wikis would be most of its memory."""
    await desk.service.add_pages(OWNER, {"templates/note": "a note\n"})
    await desk.pull()
    folder, number = desk.mirror.folder, desk.noted().number
    source = WikiSource(OWNER, "Handbook", folder=folder, copy=number)
    with open_cache(folder / "site") as cache:
        scanned = scan_wiki(source, cache)
    before = dict(scanned.pages), scanned.versions
    scanned.forget()
    assert {"data", "versions"}.isdisjoint({*vars(scanned.pages), *vars(scanned)})
    assert (dict(scanned.pages), scanned.versions) == before
    assert list(scanned.pages) == [HOME, PLAN]


async def test_site_reads_the_pages_of_no_copy_that_is_as_it_was(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hash of what the mirror has is enough; a thousand copies are many pages."""
    pulled, read = await desk.pull(), list[int]()
    read_copy = mirrors.read_copy

    def seen(connection: sqlite3.Connection, number: int) -> mirrors.WikiCopy:
        read.append(number)
        return read_copy(connection, number)

    def build() -> BuildReport:
        wikis = [one.wiki for one in pulled.wikis]
        options, cache = SiteOptions(title="Site"), tmp_path / "built"
        return build_site(wikis, tmp_path / "site", options, cache=cache)

    monkeypatch.setattr(mirrors, "read_copy", seen)
    assert build().written
    assert {*read} == {one.wiki.copy for one in pulled.wikis}
    read.clear()
    assert build().written == 0
    assert read == []
    await desk.service.add_pages(OWNER, {"plan": "another plan\n"})
    pulled = await desk.pull()
    read.clear()
    assert build().written
    assert {*read} == {desk.noted().number}


# -- the store ---------------------------------------------------------------------


async def test_copy_that_nobody_asked_for_leaves_the_store(
    desk: Desk, tmp_path: Path
) -> None:
    desk.mirror.close()
    with open_mirror(tmp_path / "cache") as mirror:
        assert desk.noted(GROUP, mirror).count == 1
        mirror.sweep()
        assert desk.noted(GROUP, mirror).count == 1
        assert desk.noted(OWNER, mirror).count == 0


@pytest.mark.parametrize("content", [b"no database", b"SQLite format 3\0" + b"x" * 999])
def test_store_that_is_damaged_is_made_anew(tmp_path: Path, content: bytes) -> None:
    (tmp_path / STORE).write_bytes(content)
    with open_mirror(tmp_path) as mirror:
        assert mirror.noted("any").number == 0
    with open_mirror(tmp_path):
        pass


def test_store_that_cannot_be_opened_stays_and_is_told(tmp_path: Path) -> None:
    (tmp_path / STORE).mkdir()
    with pytest.raises(FolderError, match="cannot use the cache"):
        read_all(tmp_path)
    assert (tmp_path / STORE).is_dir()


@pytest.mark.parametrize("left", [None, b"\x89PN"])
async def test_file_that_is_gone_or_cut_off_is_fetched_again(
    desk: Desk, left: bytes | None
) -> None:
    """Nobody has to wait for activity of its wiki."""
    await desk.service.put_file(OWNER, PICTURE, b"\x89PNG picture")
    await desk.service.add_pages(OWNER, {"home": f"![p]({PICTURE})\n"})
    await desk.pull()
    (kept,) = (desk.mirror.folder / FILES).iterdir()
    kept.unlink()
    if left is not None:
        kept.write_bytes(left)
    desk.mirror.close()
    with open_mirror(desk.mirror.folder) as desk.mirror:
        await desk.pull()
        assert desk.files() == {PICTURE: b"\x89PNG picture"}
        assert desk.mirror.distrusted_at == 0


async def test_file_is_on_the_disk_before_a_copy_can_name_it(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a power cut would leave a copy whose files are empty."""
    fsync, content = os.fsync, b"the first half, the second half"
    synced: list[tuple[bytes, bool]] = []

    def note(descriptor: int) -> None:
        fsync(descriptor)
        name = desk.mirror.folder / FILES / hashlib.sha256(content).hexdigest()
        synced.append((os.pread(descriptor, 100, 0), name.exists()))

    async def halves() -> AsyncIterator[bytes]:
        yield content[:15]
        yield content[15:]

    monkeypatch.setattr(os, "fsync", note)
    await desk.mirror.keep_file(halves())
    assert synced == [(content, False)]


async def test_file_that_breaks_off_takes_no_space(desk: Desk) -> None:
    async def broken_off() -> AsyncIterator[bytes]:
        yield b"the first half"
        raise Unavailable("the connection broke off")

    with pytest.raises(Unavailable):
        await desk.mirror.keep_file(broken_off())
    assert not [*(desk.mirror.folder / FILES).iterdir()]


async def test_file_that_cannot_be_kept_is_not_read_on(desk: Desk) -> None:
    """A connection that nobody gives back ends with the program, in a traceback."""
    ended: list[str] = []

    class Watched(AttachmentSource):
        async def read(
            self, path: model.AttachmentPath, version: str = ""
        ) -> AsyncGenerator[bytes, None]:
            try:
                async with contextlib.aclosing(super().read(path, version)) as chunks:
                    async for chunk in chunks:
                        yield chunk
            finally:
                ended.append(path)

    async def keep(chunks: AsyncIterator[bytes]) -> tuple[model.Digest, int]:
        raise FolderError(f"no space for {await anext(chunks)!r}")

    await desk.service.put_file(OWNER, PICTURE, b"\x89PNG picture")
    await desk.service.add_pages(OWNER, {"home": f"![p]({PICTURE})\n"})
    async with Client(desk.service.url, desk.service.token) as client:
        wiki = Wiki(client, OWNER, 1)
        replica = WikiReplica(wiki, attachments=Watched(wiki))
        with pytest.raises(FolderError, match="PNG picture"):
            await mirror_wiki(OWNER, replica, NOTHING, keep, Progress())
    assert ended == [PICTURE]


def test_file_of_a_killed_export_leaves_with_the_next_one(tmp_path: Path) -> None:
    (tmp_path / FILES).mkdir()
    (tmp_path / FILES / "tmpabc").write_bytes(b"the first half")
    with open_mirror(tmp_path):
        assert not [*(tmp_path / FILES).iterdir()]


async def test_damage_that_is_met_later_is_told_and_the_next_run_begins_anew(
    desk: Desk, tmp_path: Path
) -> None:
    desk.mirror.close()
    with (
        contextlib.closing(sqlite3.connect(tmp_path / "cache" / STORE)) as store,
        store,
    ):
        store.execute("UPDATE wiki SET pages = x'ff'")
    with pytest.raises(FolderError, match="is damaged"):
        read_all(tmp_path / "cache")
    with open_mirror(tmp_path / "cache") as mirror:
        assert desk.noted(OWNER, mirror).number == 0


def read_all(cache: Path) -> None:
    with open_mirror(cache) as mirror:
        mirror.copy(Noted(1))


def test_log_of_the_store_does_not_outlive_an_export(tmp_path: Path) -> None:
    """It grew by each export: a worker that still held the store was ended, not asked.

    2 MB for 50 edits of a wiki of 1,000 pages.
    """
    log = tmp_path / f"{STORE}-wal"
    with open_mirror(tmp_path) as mirror:
        mirror.distrust(1.0)
        worker = sqlite3.connect(tmp_path / STORE)
        assert worker.execute("SELECT at FROM distrust").fetchall() == [(1.0,)]
        assert log.stat().st_size
    assert not log.stat().st_size
    worker.close()


def test_store_keeps_the_last_distrust_alone(tmp_path: Path) -> None:
    for at in (1.0, 3.0, 2.0):
        with open_mirror(tmp_path) as mirror:
            mirror.distrust(at)
    with open_mirror(tmp_path) as mirror:
        assert mirror.distrusted_at == 2.0
    connection = sqlite3.connect(tmp_path / STORE)
    assert connection.execute("SELECT count(*) FROM distrust").fetchone() == (1,)
    connection.close()
