"""``wikisync records``: what was set aside can be found, named and used again."""

from __future__ import annotations

from tests.support.moved import GUIDE, configure, put_another_there, texts
from tests.support.workspaces import FILES, HANDBOOK, PAGES, Cloned


async def test_record_that_was_set_aside_is_listed_and_used_again(
    cloned: Cloned,
) -> None:
    """The project was moved by an export and an import, so that it has another id."""
    await put_another_there(cloned, PAGES)
    configure(cloned, "id = 1", "id = 2")
    await cloned.run("sync")
    listed = await cloned.run("records")
    assert listed.code == 0
    rows = [line.split("\t") for line in listed.out.splitlines()]
    assert rows[0][:4] == ["record", "folder", "wiki", "id"]
    shown = [(row[1], row[2], row[3], row[5], row[7]) for row in rows[1:]]
    wiki = ("handbook", "project docs/handbook")
    assert shown == [(*wiki, "1", "4", "set aside"), (*wiki, "2", "4", "in use")]

    used = await cloned.run("records", "--use", rows[1][0])

    assert used.code == 0, used.err
    assert "wikisync sync --dry-run" in used.err
    # an edit and a deletion since: only the old record knows what both sides had
    cloned.write("home.md", "edited here\n")
    await cloned.edit({"guide": "edited there\n"})
    ran = await cloned.run("sync")
    assert (ran.code, ran.out) == (0, "handbook: 4 pages, 1 pulled, 1 pushed\n")
    assert (await cloned.wiki())["home.md"] == "edited here\n"
    assert await texts(cloned.service, GUIDE) == FILES
    told = (await cloned.run("records", "--json")).json
    assert [(one["record"], one["id"], one["is_in_use"]) for one in told] == [
        (int(rows[1][0]), 2, True),
        (int(rows[2][0]), 2, False),
    ]


async def test_record_that_is_none_is_named_with_those_there_are(
    cloned: Cloned,
) -> None:
    ran = await cloned.run("records", "--use", "77")
    assert ran.code == 2
    assert "there is no record 77" in ran.err
    assert "the records are: 1" in ran.err


async def test_record_of_another_wiki_stays_its_own(cloned: Cloned) -> None:
    await cloned.service.add_project("docs/other", {"start": "other\n"})
    file = cloned.root / "wikisync.toml"
    file.write_text(file.read_text() + '[[wiki]]\nproject = "docs/other"\n')
    await cloned.run("sync")
    ran = await cloned.run("records", "other", "--use", "1")
    assert ran.code == 2
    assert "record 1 is in use for another wiki of the workspace" in ran.err
    listed = await cloned.run("records", "other")
    assert [line.split("\t")[1] for line in listed.out.splitlines()[1:]] == ["other"]


async def test_record_of_a_folder_that_has_no_wiki_wants_one_named(
    cloned: Cloned,
) -> None:
    configure(cloned, 'folder = "handbook"', 'folder = "manual"')
    ran = await cloned.run("records", "--use", "1")
    assert ran.code == 2
    assert "name the wiki: wikisync records --use 1 FOLDER" in ran.err
    with cloned.state() as state:
        assert state.wiki(HANDBOOK).number == 1


async def test_record_of_an_address_that_nobody_names_now_is_set_aside(
    cloned: Cloned,
) -> None:
    url = cloned.service.url
    await cloned.service.add_project("docs/other", PAGES)
    configure(cloned, 'project = "docs/handbook"\nid = 1', 'project = "docs/other"')
    assert "is treated as a first sync" in (await cloned.run("sync")).err
    told = (await cloned.run("records", "--json")).json
    assert [(one["path"], one["service"], one["is_in_use"]) for one in told] == [
        ("docs/handbook", url, False),
        ("docs/other", url, True),
    ]
