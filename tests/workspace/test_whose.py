"""Whose wiki a folder is synced with, when projects and services change places."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.bending import bending_proxy
from tests.support.moved import (
    GUIDE,
    THEIRS,
    assert_all_is_carried,
    change_both_sides,
    configure,
    put_another_there,
    rename,
    sync_for_long,
    texts,
    without_id,
)
from tests.support.service import EmbeddedService, embedded_service
from tests.support.workspaces import FILES, HANDBOOK, PAGES, Cloned
from wikisync.model import WikiOwner
from wikisync.service import jobs
from wikisync.service.projects import tables as project_tables

# -- another project has the path --------------------------------------------------


@pytest.mark.parametrize("has_id", [True, False])
@pytest.mark.parametrize("words", [(), ("--adopt", "push"), ("--dry-run",)])
async def test_path_of_another_project_stops_the_wiki(
    cloned: Cloned, words: tuple[str, ...], *, has_id: bool
) -> None:
    if not has_id:
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
    assert cloned.files() == before
    assert await cloned.wiki() == {f"{s}.md": text for s, text in THEIRS.items()}
    assert await texts(cloned.service, GUIDE) == FILES


async def test_edits_that_waited_go_to_the_right_project_once_the_path_is_corrected(
    cloned: Cloned,
) -> None:
    without_id(cloned)
    await put_another_there(cloned, THEIRS)
    cloned.write("guide.md", "edited here\n")
    cloned.write("mine.md", "mine\n")
    assert (await cloned.run("sync")).code == 4
    configure(cloned, '"docs/handbook"', '"docs/guide"')

    ran = await cloned.run("sync")

    assert (ran.code, ran.out) == (0, "handbook: 5 pages, 2 pushed\n")
    assert "the project was docs/handbook (id 1); its sync record" in ran.err
    expected = {**FILES, "guide.md": "edited here\n", "mine.md": "mine\n"}
    assert await texts(cloned.service, GUIDE) == expected
    assert set(await cloned.wiki()) == {"home.md", "payroll.md"}
    assert (await cloned.run("sync")).err == ""


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


async def test_project_made_anew_is_another_one_until_its_id_is_given(
    cloned: Cloned,
) -> None:
    """Nothing of the record is lost, and nothing is put there by itself."""
    without_id(cloned)
    cloned.service.set_deletion(delay_days=0)
    url = cloned.service.url
    gone = await cloned.run_main("project", "delete", url, "docs/handbook", "--yes")
    assert gone.code == 0, gone.err
    await jobs.purge(cloned.service.running.service)
    await cloned.service.add_project("docs/handbook", {"home": PAGES["home"]})

    ran = await cloned.run("sync", "--adopt", "push")
    assert ran.code == 4
    assert "yours (id 1) was deleted or is hidden from this token" in ran.err
    assert "add id = 2 next to the path" in ran.err

    configure(cloned, 'project = "docs/handbook"', 'project = "docs/handbook"\nid = 2')
    for _ in range(2):
        ran = await cloned.run("sync", "--adopt", "push")
        assert "--adopt does not apply" in ran.err
        assert await cloned.wiki() == {"home.md": PAGES["home"]}
    assert cloned.files() == FILES
    named = await cloned.run("sync", cloned.folder / "guide.md")
    assert "1 pushed" in named.out
    assert set(await cloned.wiki()) == {"home.md", "guide.md"}
    with cloned.state() as state:
        kept = {one.remote_id: one for one in state.records()}
    assert (kept["1"].is_in_use, kept["1"].pages) == (False, 4)
    assert kept["2"].is_in_use


async def test_first_meeting_after_another_wiki_is_told_with_its_reason(
    cloned: Cloned,
) -> None:
    await put_another_there(cloned, {"home": "theirs\n"})
    configure(cloned, "id = 1", "id = 2")
    dry = await cloned.run("sync", "--dry-run")
    ran = await cloned.run("sync")
    for one in (dry, ran):
        assert one.code == 3
        assert (
            "its folder was synced with project docs/handbook (id 1) at"
            f" {cloned.service.url} before, and this is another wiki (project"
            " docs/handbook has the id 2)" in one.err
        )
    assert "only in handbook: 3 pages" in ran.err
    assert "--adopt push" not in ran.err
    assert cloned.files()["home.md"] == PAGES["home"]
    assert await cloned.wiki() == {"home.md": "theirs\n"}


async def test_first_meeting_with_an_empty_wiki_is_told_until_there_is_a_page(
    cloned: Cloned,
) -> None:
    await put_another_there(cloned, {})
    configure(cloned, "id = 1", "id = 2")
    for _ in range(3):
        ran = await cloned.run("sync")
        assert ran.code == 3
        assert "is treated as a first sync" in ran.err
        assert (
            "treated as a first sync"
            in (cloned.root / "WIKISYNC-ATTENTION.md").read_text()
        )
    assert await texts(cloned.service, GUIDE) == FILES
    await cloned.run("sync", cloned.folder / "guide.md")
    assert (await cloned.run("sync")).code == 0


async def test_wiki_that_was_emptied_gets_no_older_record(cloned: Cloned) -> None:
    """What both sides removed stays removed."""
    await put_another_there(cloned, {"home": PAGES["home"]})
    configure(cloned, "id = 1", "id = 2")
    await cloned.run("sync")
    await cloned.run("records", "--use", "1")
    await cloned.run("sync")
    for page in sorted(cloned.folder.rglob("*.md")):
        page.unlink()
    await cloned.service.remove_file(HANDBOOK, "home.md")
    await cloned.run("adopt")
    await sync_for_long(cloned)
    with cloned.state() as state:
        assert state.wiki(HANDBOOK).number == 1


async def test_id_that_is_changed_back_finds_its_record_again(cloned: Cloned) -> None:
    await put_another_there(cloned, {"home": PAGES["home"]})
    configure(cloned, "id = 1", "id = 2")
    await cloned.run("sync")
    configure(cloned, "id = 2", "id = 1")
    configure(cloned, '"docs/handbook"', '"docs/guide"')
    (cloned.folder / "guide.md").unlink()

    ran = await sync_for_long(cloned)

    assert ran.code == 0, ran.err
    assert "guide.md" not in await texts(cloned.service, GUIDE)


@pytest.mark.parametrize("has_id", [True, False])
async def test_two_projects_that_changed_places_stop_until_the_paths_are_corrected(
    cloned: Cloned, *, has_id: bool
) -> None:
    service = cloned.service
    other = WikiOwner("project", "docs/other")
    await service.add_project("docs/other", {"start": "other\n"})
    file = cloned.root / "wikisync.toml"
    file.write_text(
        f'[service]\nurl = "{service.url}"\n'
        '[[wiki]]\nproject = "docs/handbook"\nid = 1\nfolder = "handbook"\n'
        '[[wiki]]\nproject = "docs/other"\nid = 2\nfolder = "other"\n'
    )
    if not has_id:
        file.write_text(
            file.read_text().replace("id = 1\n", "").replace("id = 2\n", "")
        )
    await cloned.run("sync")
    for number, path in ((1, "third"), (2, "handbook"), (1, "other")):
        change = project_tables.ProjectChange({"path": path}, {})
        await service.ask(project_tables.change_project, number, change)
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


@pytest.mark.parametrize("has_id", [True, False])
async def test_renamed_project_is_followed_and_told(
    cloned: Cloned, *, has_id: bool
) -> None:
    if not has_id:
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


async def test_id_whose_old_path_leads_nowhere_needs_equal_pages(
    cloned: Cloned,
) -> None:
    """A service that was set up anew gives old ids to strangers."""
    without_id(cloned)
    await rename(cloned)
    await cloned.service.ask(lambda tables: tables.db.execute("DELETE FROM old_path"))
    assert (await cloned.run("sync")).code == 0
    strange = {f"{slug}.md": b"strange\n" for slug in PAGES}
    await cloned.service.put_files(GUIDE, strange)
    cloned.write("mine.md", "mine\n")

    ran = await cloned.run("sync")

    assert ran.code == 4
    assert "has other pages (0 of 4 pages are the same)" in ran.err
    assert await cloned.service.files(GUIDE) == strange


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


async def test_corrected_path_keeps_everything_that_was_known(cloned: Cloned) -> None:
    """One edit, one new page and one deletion on each side, after a rename."""
    without_id(cloned)
    await rename(cloned)
    configure(cloned, '"docs/handbook"', '"docs/guide"')
    await change_both_sides(cloned, GUIDE)

    dry = await cloned.run("sync", "--dry-run")
    ran = await sync_for_long(cloned)

    assert "its sync record stays in use" in dry.err
    assert "its sync record stays in use" in ran.err
    await assert_all_is_carried(cloned, GUIDE, ran)


async def test_clone_into_its_workspace_keeps_what_was_known_too(
    cloned: Cloned,
) -> None:
    await rename(cloned)
    configure(cloned, '"docs/handbook"', '"docs/guide"')
    await change_both_sides(cloned, GUIDE)
    words = ("clone", cloned.service.url, "--project", "docs/guide", cloned.root)
    again = await cloned.run_main(*words)
    assert again.code == 0
    await assert_all_is_carried(cloned, GUIDE, await sync_for_long(cloned))


# -- a service at another address --------------------------------------------------


@pytest.fixture
async def alias(service: EmbeddedService) -> AsyncIterator[str]:
    """A second address of the service."""
    async with bending_proxy(service.url) as proxy:
        yield proxy.url


async def test_new_address_of_the_service_keeps_everything_that_was_known(
    cloned: Cloned, alias: str
) -> None:
    configure(cloned, cloned.service.url, alias)
    await change_both_sides(cloned, HANDBOOK)
    ran = await sync_for_long(cloned)
    assert (
        "handbook: at the last sync the project was docs/handbook at"
        f" {cloned.service.url} (id 1); its sync record stays in use" in ran.err
    )
    await assert_all_is_carried(cloned, HANDBOOK, ran)
    configure(cloned, alias, cloned.service.url)
    again = await cloned.run("sync")
    assert (again.code, again.out) == (0, "handbook: 4 pages, nothing to do\n")
    with cloned.state() as state:
        assert len(state.records()) == 1


async def test_other_pages_at_another_address_are_a_first_meeting(
    cloned: Cloned, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the same id, which every new service gives to its first project."""
    async with embedded_service(tmp_path / "staging") as staging:
        await staging.add_project("docs/handbook", {"home": "another\n", "x": "x\n"})
        monkeypatch.setenv("WIKISYNC_TOKEN", staging.token)
        configure(cloned, cloned.service.url, staging.url)
        ran = await cloned.run("sync", "--adopt", "push")
        assert ran.code == 3
        assert "it has the same id, but 0 of 4 pages are the same" in ran.err
        assert "--adopt does not apply" in ran.err
        assert set(await staging.files(HANDBOOK)) == {"home.md", "x.md"}
        assert cloned.read("home.md") == PAGES["home"]


async def test_one_sync_with_a_staging_copy_costs_no_memory(
    cloned: Cloned, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The copy has other ids; on the way back all is carried as if it never was."""
    async with embedded_service(tmp_path / "staging") as staging:
        await staging.add_project("docs/first", {})
        await staging.add_project("docs/handbook", PAGES)
        monkeypatch.setenv("WIKISYNC_TOKEN", staging.token)
        configure(cloned, cloned.service.url, staging.url)
        halted = await cloned.run("sync")
        configure(cloned, "id = 1\n", "")
        met = await cloned.run("sync")
    # its id 1 is another project, and the path has another id
    assert halted.code == 4
    assert "is treated as a first sync" in met.err
    assert f"at {staging.url} has the id 2" in met.err
    monkeypatch.setenv("WIKISYNC_TOKEN", cloned.service.token)
    configure(cloned, staging.url, cloned.service.url)
    await change_both_sides(cloned, HANDBOOK)
    ran = await sync_for_long(cloned)
    await assert_all_is_carried(cloned, HANDBOOK, ran)


async def test_pause_goes_with_the_record(cloned: Cloned) -> None:
    without_id(cloned)
    await rename(cloned)
    await cloned.run("pause", "handbook", "moving")
    configure(cloned, '"docs/handbook"', '"docs/guide"')
    cloned.write("mine.md", "mine\n")
    ran = await cloned.run("sync")
    assert "paused" in ran.out
    assert "mine.md" not in await texts(cloned.service, GUIDE)


async def test_nothing_of_another_wiki_is_put_on_this_one_on_the_way_back(
    cloned: Cloned, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pages that came, were edited or went there were not made here."""
    async with embedded_service(tmp_path / "staging") as staging:
        await staging.add_project("docs/first", {})
        await staging.add_project("docs/handbook", {**PAGES, "secret": "theirs\n"})
        monkeypatch.setenv("WIKISYNC_TOKEN", staging.token)
        configure(cloned, cloned.service.url, staging.url)
        configure(cloned, "id = 1\n", "")
        assert "is treated as a first sync" in (await cloned.run("sync")).err
        await staging.add_pages(HANDBOOK, {"home": "edited there\n"})
        await staging.remove_file(HANDBOOK, "team/rules.md")
        await sync_for_long(cloned)
    assert cloned.read("home.md") == "edited there\n"
    assert not (cloned.folder / "team/rules.md").exists()
    monkeypatch.setenv("WIKISYNC_TOKEN", cloned.service.token)
    configure(cloned, staging.url, cloned.service.url)
    cloned.write("guide.md", "edited here\n")
    (cloned.folder / "team/people.md").unlink()
    dry = await cloned.run("sync", "--dry-run")
    status = await cloned.run("status")

    first = await cloned.run("sync", "--adopt", "push")
    ran = await sync_for_long(cloned)
    pushed = await cloned.run("sync", "--adopt", "push")

    for told in (dry.err, status.out, first.err):
        assert f"at {staging.url} in between" in told
    assert "in between" not in ran.err
    assert "--adopt does not apply" in pushed.err
    expected = {**FILES, "guide.md": "edited here\n"}
    del expected["team/people.md"]
    assert await cloned.wiki() == expected
    assert cloned.read("team/rules.md") == PAGES["team/rules"]
    assert "handbook/home: created here and on the wiki" in first.err
    assert cloned.read("secret.md") == "theirs\n"
    named = await cloned.run("sync", cloned.folder / "secret.md")
    assert named.code == 0
    assert "secret.md" in await cloned.wiki()
