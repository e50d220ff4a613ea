"""Which wiki a folder is synced with, when projects and services change places."""

from collections.abc import AsyncIterator
from contextlib import nullcontext
from pathlib import Path

import pytest

from tests.support.bending import bending_proxy
from tests.support.moved import (
    GUIDE,
    STRANGE,
    THEIRS,
    assert_all_is_carried,
    change_both_sides,
    configure,
    delete,
    give_id_to_a_stranger,
    put_another_there,
    rename,
    sync_for_long,
    texts,
    without_id,
)
from tests.support.service import EmbeddedService, embedded_service
from tests.support.workspaces import FILES, HANDBOOK, PAGES, Cloned
from wikisync.api.client import Client
from wikisync.config.sections import WikiSection
from wikisync.core.model import Format, Slug, WikiOwner, digest_of
from wikisync.errors import Halted
from wikisync.service.projects import tables as project_tables
from wikisync.sync.base.state import State
from wikisync.sync.decide.ledger import Agreed
from wikisync.sync.decide.plan import BasePage
from wikisync.workspace.identity import find_wiki


@pytest.fixture(autouse=True)
def always_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each sync asks where the wiki is, as it does some minutes after the clone."""
    monkeypatch.setattr("wikisync.workspace.identity.LOCATED_S", 0.0)


@pytest.fixture
async def elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[EmbeddedService]:
    """Another service, whose token is given from now on."""
    async with embedded_service(tmp_path / "elsewhere") as service:
        monkeypatch.setenv("WIKISYNC_TOKEN", service.token)
        yield service


# -- another project has the path --------------------------------------------------


@pytest.mark.parametrize("words", [(), ("--dry-run",)])
async def test_path_of_another_project_stops_the_wiki(
    cloned: Cloned, words: tuple[str, ...]
) -> None:
    """``tests.instances`` has the case with an id in the file, and ``--adopt push``."""
    without_id(cloned)
    await put_another_there(cloned, THEIRS)
    cloned.write("mine.md", "mine\n")
    before = cloned.files()

    ran = await cloned.run("sync", *words)

    assert ran.code == 4
    assert (
        "docs/handbook is another project now (id 2); yours (id 1) is docs/guide;"
        " nothing was changed" in ran.err
    )
    assert 'write project = "docs/guide" into wikisync.toml' in ran.err
    assert "run: wikisync adopt handbook" in ran.err
    assert cloned.files() == before
    assert await cloned.wiki() == {f"{s}.md": text for s, text in THEIRS.items()}
    assert await texts(cloned.service, GUIDE) == FILES


async def test_attention_and_status_tell_of_the_other_project(cloned: Cloned) -> None:
    await put_another_there(cloned, {})
    for _ in range(2):
        await cloned.run("sync")
        attention = (cloned.root / "WIKISYNC-ATTENTION.md").read_text()
        assert "docs/handbook is another project now (id 2)" in attention
    status, doctor = await cloned.run("status"), await cloned.run("doctor")
    assert (status.code, doctor.code) == (4, 1)
    assert "yours (id 1) is docs/guide" in status.err
    assert "yours (id 1) is docs/guide" in doctor.out


async def test_project_made_anew_is_another_one(cloned: Cloned) -> None:
    without_id(cloned)
    await delete(cloned)
    await cloned.service.add_project("docs/handbook", PAGES)

    ran = await cloned.run("sync", "--adopt", "push")

    assert ran.code == 4
    assert "yours (id 1) was deleted or is hidden from this token" in ran.err
    assert "run: wikisync adopt handbook" in ran.err


async def test_id_that_is_not_that_of_the_path_stops_the_first_sync(
    cloned: Cloned,
) -> None:
    with cloned.state() as state:
        state.begin_anew(HANDBOOK)
    await put_another_there(cloned, THEIRS)
    ran = await cloned.run("sync")
    assert ran.code == 4
    assert "another project now (id 2); yours (id 1) is docs/guide" in ran.err


async def test_two_projects_that_changed_places_stop_until_the_paths_are_corrected(
    cloned: Cloned,
) -> None:
    service = cloned.service
    other = WikiOwner("project", "docs/other")
    await service.add_project("docs/other", {"start": "other\n"})
    file = cloned.root / "wikisync.toml"
    file.write_text(
        f'[service]\nurl = "{service.url}"\n'
        '[[wiki]]\nproject = "docs/handbook"\nfolder = "handbook"\n'
        '[[wiki]]\nproject = "docs/other"\nfolder = "other"\n'
    )
    await cloned.run("sync")
    for number, path in ((1, "third"), (2, "handbook"), (1, "other")):
        columns = {"path": path}
        await service.ask(project_tables.change_project, number, columns, {})
    cloned.write("home.md", "edited here\n")
    (cloned.root / "other/start.md").write_text("edited here, too\n")

    stopped = await cloned.run("sync")
    text = file.read_text().replace('"docs/handbook"', '"third"')
    text = text.replace('"docs/other"', '"docs/handbook"').replace(
        "third", "docs/other"
    )
    file.write_text(text)
    dry, ran = await cloned.run("sync", "--dry-run"), await cloned.run("sync")
    again = await cloned.run("sync")

    assert stopped.code == 4
    assert "yours (id 1) is docs/other" in stopped.err
    assert "yours (id 2) is docs/handbook" in stopped.err
    assert (
        dry.out == "handbook:\nupdate  home on the wiki\n"
        "other:\nupdate  start on the wiki\n"
    )
    assert (ran.code, ran.out) == (
        0,
        "handbook: 4 pages, 1 pushed\nother: 1 page, 1 pushed\n",
    )
    assert (again.code, again.err) == (0, "")
    assert await texts(service, other) == {**FILES, "home.md": "edited here\n"}
    assert await texts(service, HANDBOOK) == {"start.md": "edited here, too\n"}


# -- a project that moved ----------------------------------------------------------


async def test_renamed_project_is_followed_and_told(cloned: Cloned) -> None:
    without_id(cloned)
    await rename(cloned)
    cloned.write("guide.md", "edited here\n")
    await cloned.service.add_pages(GUIDE, {"home": "edited there\n"})

    ran, status = await cloned.run("sync"), await cloned.run("status")
    doctor = await cloned.run("doctor")

    assert (ran.code, ran.out) == (0, "handbook: 4 pages, 1 pulled, 1 pushed\n")
    for told in (ran.err, status.out, doctor.out):
        assert "the project docs/handbook is docs/guide now" in told
        assert 'write project = "docs/guide" into wikisync.toml' in told
    assert (status.code, doctor.code) == (0, 3)
    assert (await texts(cloned.service, GUIDE))["guide.md"] == "edited here\n"
    assert cloned.read("home.md") == "edited there\n"


async def test_project_that_moved_to_another_group_is_followed_with_its_files(
    cloned: Cloned,
) -> None:
    """Pictures are asked for where the wiki is now; the old path is a stranger's."""
    service = cloned.service
    moved = WikiOwner("project", "team/handbook")
    await service.add_group("team")
    space = await service.ask(project_tables.namespace, "team")
    assert space is not None
    await service.ask(project_tables.transfer_project, 1, space)
    picture = "uploads/0123456789abcdef0123456789abcdef/p.txt"
    await service.put_file(moved, picture, b"ours")
    await service.add_pages(moved, {"home": f"[p]({picture})\n"})

    ran = await cloned.run("sync")

    assert ran.code == 0, ran.err
    assert "the project docs/handbook is team/handbook now" in ran.err
    assert cloned.files()[picture] == "ours"
    await service.add_project("docs/handbook", {"home": "theirs\n"})
    await service.put_file(HANDBOOK, picture.replace("p.txt", "q.txt"), b"theirs")
    assert (await cloned.run("sync")).code == 4


async def test_id_whose_old_path_leads_nowhere_needs_a_proof(cloned: Cloned) -> None:
    """A service that was set up anew gives old ids to strangers."""
    without_id(cloned)
    await cloned.run("sync")
    await rename(cloned)
    await cloned.service.ask(lambda tables: tables.db.execute("DELETE FROM old_path"))
    await cloned.service.add_pages(GUIDE, {"home": "edited there\n"})
    assert (await cloned.run("sync")).code == 0
    strange = await give_id_to_a_stranger(cloned)
    cloned.write("mine.md", "mine\n")

    ran = await cloned.run("sync")

    assert ran.code == 4
    assert "has other pages (0 of 4 pages are the same)" in ran.err
    assert await cloned.service.files(STRANGE) == strange


async def test_project_that_will_be_removed_is_told(cloned: Cloned) -> None:
    url = cloned.service.url
    marked = await cloned.run_main("project", "delete", url, "docs/handbook", "--yes")
    assert marked.code == 0, marked.err
    ran, status = await cloned.run("sync"), await cloned.run("status")
    doctor = await cloned.run("doctor")
    for told in (ran.err, status.out, doctor.out):
        assert "the project was marked for deletion on 20" in told
    assert (ran.code, status.code, doctor.code) == (3, 3, 3)
    attention = (cloned.root / "WIKISYNC-ATTENTION.md").read_text()
    assert "marked for deletion" in attention


# -- a service at another address --------------------------------------------------


@pytest.fixture
async def alias(service: EmbeddedService) -> AsyncIterator[str]:
    """A second address of the service."""
    async with bending_proxy(service.url) as proxy:
        yield proxy.url


async def test_new_address_of_the_service_keeps_everything_that_was_known(
    cloned: Cloned, alias: str
) -> None:
    """Its history has the last commit that was known."""
    await cloned.run("sync")
    configure(cloned, cloned.service.url, alias)
    await change_both_sides(cloned, HANDBOOK)
    dry, ran = await cloned.run("sync", "--dry-run"), await sync_for_long(cloned)
    for told in (dry.err, ran.err):
        assert (
            f"at the last sync the project had the id 1 at {cloned.service.url}; it is"
            f" the same wiki as that with the id 1 at {alias}" in told
        )
    await assert_all_is_carried(cloned, HANDBOOK, ran)
    again = await cloned.run("sync")
    assert (again.code, again.err) == (0, "")


async def test_other_pages_at_another_address_stop_the_wiki(
    cloned: Cloned, elsewhere: EmbeddedService
) -> None:
    """With the same id, which every new service gives to its first project."""
    await elsewhere.add_project("docs/handbook", {**PAGES, "x": "x\n"})
    configure(cloned, cloned.service.url, elsewhere.url)
    cloned.write("mine.md", "mine\n")
    before = cloned.files()
    for words in (("sync", "--adopt", "push"), ("sync", "--dry-run")):
        ran = await cloned.run(*words)
        assert ran.code == 4
        assert (
            f"docs/handbook (id 1) at {elsewhere.url} has other pages (4 of 4 pages"
            " are the same) than the wiki that handbook was synced with" in ran.err
        )
        assert "run: wikisync adopt handbook" in ran.err
    assert cloned.files() == before
    assert "mine.md" not in await elsewhere.files(HANDBOOK)


async def test_equal_pages_at_another_address_are_the_same_wiki_whatever_its_id(
    cloned: Cloned, elsewhere: EmbeddedService
) -> None:
    await elsewhere.add_project("docs/first", {})
    await elsewhere.add_project("docs/handbook", PAGES)
    configure(cloned, cloned.service.url, elsewhere.url)
    cloned.write("mine.md", "mine\n")
    ran = await cloned.run("sync")
    assert (ran.code, ran.out) == (0, "handbook: 5 pages, 1 pushed\n")
    assert "the same wiki as that with the id 2" in ran.err
    assert "write id = 2 into wikisync.toml" in ran.err
    assert "mine.md" in await elsewhere.files(HANDBOOK)
    assert "mine.md" not in await cloned.wiki()


@pytest.mark.parametrize(
    ("known", "there", "is_same"),
    [(12, 9, False), (12, 10, True), (10, 12, True), (9, 8, False), (9, 9, True)],
)
async def test_ten_equal_pages_prove_a_wiki_and_all_of_a_smaller_one(
    elsewhere: EmbeddedService, tmp_path: Path, known: int, there: int, *, is_same: bool
) -> None:
    pages = [(f"p{number}", f"text {number}\n") for number in range(12)]
    await elsewhere.add_project("docs/handbook", dict(pages[:there]))
    section = WikiSection("project", "docs/handbook", "handbook")
    found = nullcontext() if is_same else pytest.raises(Halted, match="are the same")
    with State.open(tmp_path / "state.db") as state:
        wiki = state.wiki(HANDBOOK)
        wiki.remember(remote_id="https://gitlab.example.com project 7")
        wiki.record(
            Agreed.of(BasePage(Slug(slug), Format.MARKDOWN, digest, digest), text)
            for slug, text in pages[:known]
            for digest in (digest_of(text),)
        )
        async with Client(elsewhere.url, elsewhere.token) as client:
            with found:
                assert (await find_wiki(state, client, section)).id == 1


async def test_service_set_up_anew_under_its_address_has_to_prove_its_wikis(
    cloned: Cloned,
) -> None:
    await cloned.run("sync")
    with cloned.state() as state:
        state.wiki(HANDBOOK).remember(created_at="2020-01-02T03:04:05.000Z")
    await cloned.service.add_pages(HANDBOOK, {"fresh": "new there\n"})
    ran = await cloned.run("sync")
    assert (ran.code, ran.out) == (0, "handbook: 5 pages, 1 pulled\n")

    with cloned.state() as state:
        known = state.wiki(HANDBOOK)
        assert not known.memory.created_at.startswith("2020")
        known.remember(
            created_at="2020-01-02T03:04:05.000Z", head="0" * 40, remote_tag=""
        )
    for file in (*FILES, "fresh.md"):
        await cloned.service.remove_file(HANDBOOK, file)
    await cloned.service.add_pages(HANDBOOK, THEIRS)
    cloned.write("mine.md", "mine\n")
    before = cloned.files()
    ran = await cloned.run("sync")
    assert ran.code == 4
    assert "0 of 5 pages are the same" in ran.err
    assert "run: wikisync adopt handbook" in ran.err
    assert cloned.files() == before
    assert await cloned.wiki() == {f"{s}.md": text for s, text in THEIRS.items()}


async def test_pause_goes_with_the_record(cloned: Cloned) -> None:
    without_id(cloned)
    await rename(cloned)
    await cloned.run("pause", "handbook", "moving")
    configure(cloned, '"docs/handbook"', '"docs/guide"')
    cloned.write("mine.md", "mine\n")
    ran = await cloned.run("sync")
    assert "paused" in ran.out
    assert "mine.md" not in await texts(cloned.service, GUIDE)


# -- adopting another wiki ---------------------------------------------------------

TWO = {"home": PAGES["home"], "guide": "their guide\n", "payroll": "secret\n"}


async def test_adopt_shows_the_next_sync_and_changes_nothing_without_a_yes(
    cloned: Cloned,
) -> None:
    await put_another_there(cloned, TWO)
    ran = await cloned.run("adopt")
    url = cloned.service.url
    assert ran.code == 0
    assert (
        f"handbook was synced with project 1 at {url}; from now on with project"
        f" docs/handbook (id 2) at {url}" in ran.err
    )
    assert "create  payroll" in ran.out
    assert "run it again with --yes" in ran.err
    assert (await cloned.run("sync")).code == 4


async def test_adopted_wiki_is_met_as_by_a_folder_whose_state_is_lost(
    cloned: Cloned,
) -> None:
    """Equal texts are agreed, different ones held; nothing goes, on either side."""
    await put_another_there(cloned, TWO)
    cloned.write("home.md", "edited here\n")
    (cloned.folder / "team/rules.md").unlink()
    before = cloned.files()
    assert (await cloned.run("adopt", "handbook", "--yes")).code == 0

    ran = await sync_for_long(cloned)

    assert ran.code == 3
    assert "handbook/guide: created here and on the wiki" in ran.err
    assert "handbook/home: created here and on the wiki" in ran.err
    assert "the project of handbook has the id 2, and not 1" in ran.err
    assert before.items() <= cloned.files().items()
    assert cloned.read("payroll.md") == "secret\n"
    assert await cloned.wiki() == {f"{slug}.md": text for slug, text in TWO.items()}
    assert await texts(cloned.service, GUIDE) == FILES
    cloned.write("payroll.md", "edited here\n")
    await cloned.run("sync")
    assert (await cloned.wiki())["payroll.md"] == "edited here\n"


async def test_adopted_wiki_with_the_same_pages_keeps_what_was_agreed_on(
    cloned: Cloned,
) -> None:
    """Exported and imported, a project has another id and the same texts."""
    await put_another_there(cloned, PAGES)
    cloned.write("home.md", "one, here\n\ntwo\n\nthree\n")
    (cloned.folder / "guide.md").unlink()
    assert (await cloned.run("adopt", "--yes")).code == 0
    await cloned.edit({"home": "one\n\ntwo\n\nthree, there\n"})
    ran = await sync_for_long(cloned)
    assert ran.code == 0, ran.err
    assert cloned.read("home.md") == "one, here\n\ntwo\n\nthree, there\n"
    assert set(await cloned.wiki()) == set(FILES)


async def test_adopt_of_one_wiki_leaves_the_other_where_it_is(cloned: Cloned) -> None:
    await cloned.service.add_project("docs/other", {"start": "other\n"})
    file = cloned.root / "wikisync.toml"
    more = '\n[[wiki]]\nproject = "docs/other"\nfolder = "other"\n'
    file.write_text(file.read_text() + more)
    await cloned.run("sync")
    await put_another_there(cloned, TWO)
    cloned.write("guide.md", "edited here\n")
    ran = await cloned.run("adopt", "other", "--yes")
    assert ran.code == 0
    assert "was synced with" not in ran.err
    assert (await cloned.run("sync")).code == 4


async def test_folder_is_adopted_while_its_service_is_away(cloned: Cloned) -> None:
    configure(cloned, cloned.service.url, "http://127.0.0.1:9")
    (cloned.root / ".wikisync/folder-id").unlink()
    ran = await cloned.run("adopt")
    assert ran.code == 0
    assert "handbook was not checked" in ran.err
    configure(cloned, "http://127.0.0.1:9", cloned.service.url)
    assert (await cloned.run("sync")).code == 0
