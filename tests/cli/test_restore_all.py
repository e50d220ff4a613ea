import pytest

from tests.support.workspaces import FILES, PAGES, Cloned
from wikisync.folder.ignore import CONFLICT_MARK


async def lose_and_replace(cloned: Cloned) -> None:
    """Let the wiki delete two pages and edit a third."""
    await cloned.remove("team/people")
    await cloned.remove("team/rules")
    await cloned.edit({"guide": "second\n"})
    await carry(cloned)
    assert not (cloned.folder / "team").exists()
    assert cloned.read("guide.md") == "second\n"


async def carry(cloned: Cloned) -> None:
    """Sync until what is missing counts as deleted, with a yes to all of it."""
    await cloned.run("sync")
    await cloned.run("sync")
    cloned.age_sightings(100)
    ran = await cloned.run("sync", "--json")
    for batch in ran.json.get("batches", []):
        await cloned.run("approve", batch["id"])
    await cloned.run("sync")


async def synced_wiki(cloned: Cloned) -> dict[str, str]:
    """The wiki's pages after a sync."""
    await cloned.run("sync")
    return {path: text for path, text in (await cloned.wiki()).items() if ".md" in path}


async def test_everything_comes_back_and_goes_to_the_wiki(cloned: Cloned) -> None:
    await lose_and_replace(cloned)
    cloned.write("new.md", "made since\n")
    ran = await cloned.run("restore", "--all", "--since", "1h", "-y")
    assert ran.code == 0, ran.err
    expected = FILES | {"new.md": "made since\n"}
    assert cloned.files() == await synced_wiki(cloned) == expected
    again = await cloned.run("restore", "--all", "--since", "1h", "-y")
    assert "no page that was deleted or replaced" in again.err


async def test_newer_text_is_kept(cloned: Cloned) -> None:
    await lose_and_replace(cloned)
    cloned.write("guide.md", "my newer text\n")
    await cloned.run("restore", "--all", "--since", "1h", "-y")
    assert cloned.read("guide.md") == PAGES["guide"]
    kept = (await cloned.run("restore", "guide", "--list", "--json")).json
    assert "my newer text\n" in [one["text"] for one in kept]


async def test_only_what_is_below_and_since_then_comes_back(cloned: Cloned) -> None:
    await lose_and_replace(cloned)
    ran = await cloned.run("restore", "--all", "--since", "2099-01-01")
    assert ran.code == 0
    assert "no page that was deleted or replaced here since 2099" in ran.err
    await cloned.run("restore", "handbook/team", "--all", "--since", "1h", "-y")
    assert cloned.read("team/people.md") == PAGES["team/people"]
    assert cloned.read("guide.md") == "second\n"


@pytest.mark.parametrize(
    ("option", "told"),
    [
        (["--dry-run"], "would restore 3 pages"),
        (["--list"], "would restore 3 pages"),
        ([], "nothing was changed; run it again with --yes to restore them"),
    ],
)
async def test_without_a_yes_the_pages_are_shown_and_nothing_written(
    cloned: Cloned, option: list[str], told: str
) -> None:
    await lose_and_replace(cloned)
    files = cloned.files()
    words = ("restore", "--all", "--since", "1h", *option)
    ran = await cloned.run(*words)
    assert (ran.code, told in ran.err) == (0, True)
    assert "would restore 3 pages" in ran.err
    assert [line.split("\t")[:2] for line in ran.out.splitlines()[1:]] == [
        ["handbook/guide", "replaced"],
        ["handbook/team/people", "removed"],
        ["handbook/team/rules", "removed"],
    ]
    shown = (await cloned.run(*words, "--json")).json
    assert (shown["is_written"], len(shown["pages"])) == (False, 3)
    assert cloned.files() == files


async def test_files_removed_a_moment_ago_come_back(cloned: Cloned) -> None:
    """No sync has seen it, so nothing is in the trash."""
    (cloned.folder / "guide.md").unlink()
    (cloned.folder / "team/rules.md").unlink()
    await cloned.run("restore", "--all", "--since", "10m", "-y")
    assert cloned.read("guide.md") == PAGES["guide"]
    assert cloned.read("team/rules.md") == PAGES["team/rules"]


async def test_renamed_file_is_not_taken_for_a_removed_page(cloned: Cloned) -> None:
    (cloned.folder / "guide.md").rename(cloned.folder / "manual.md")
    ran = await cloned.run("restore", "--all", "--since", "10m", "-y")
    assert "no page that was deleted" in ran.err
    assert "guide.md" not in cloned.files()
    await cloned.edit({"home": "another home\n"})
    await cloned.run("sync")
    await cloned.edit({"manual": "edited\n"})
    await cloned.run("sync")
    (cloned.folder / "manual.md").rename(cloned.folder / "book.md")
    await cloned.run("sync")
    await cloned.run("restore", "--all", "--since", "1h", "-y")
    assert cloned.read("book.md") == PAGES["guide"]
    assert not {"guide.md", "manual.md"} & cloned.files().keys()


async def test_file_keeps_its_own_name_and_folder(cloned: Cloned) -> None:
    cloned.write("Team Room/my page.md", "one\n")
    await cloned.run("sync")
    (cloned.folder / "Team Room/my page.md").unlink()
    await cloned.run("restore", "handbook/Team Room", "--all", "--since", "10m", "-y")
    assert cloned.read("Team Room/my page.md") == "one\n"
    assert (await synced_wiki(cloned))["Team-Room/my-page.md"] == "one\n"
    assert "Team-Room/my-page.md" not in cloned.files()


async def test_page_that_cannot_be_written_stops_no_other(cloned: Cloned) -> None:
    await lose_and_replace(cloned)
    cloned.write("team/people.md/x.txt", "in the way\n")
    ran = await cloned.run("restore", "--all", "--since", "10m", "-y")
    assert ran.code == 1
    assert "handbook/team/people was not restored: " in ran.err
    assert cloned.read("team/rules.md") == PAGES["team/rules"]
    assert cloned.read("guide.md") == PAGES["guide"]
    assert cloned.read("team/people.md/x.txt") == "in the way\n"


@pytest.mark.parametrize(
    "words",
    [["--all"], ["--since", "1h"], ["--all", "--since", "1h", "--at", "1h"], []],
)
async def test_options_in_part_are_refused(cloned: Cloned, words: list[str]) -> None:
    ran = await cloned.run("restore", *words)
    assert ran.code == 2
    assert "--since 2h" in ran.err


# -- conflict files -----------------------------------------------------------------


async def test_text_of_a_conflict_file_is_listed_and_comes_back(cloned: Cloned) -> None:
    await cloned.clash()
    cloned.write(f"guide{CONFLICT_MARK}.md", "settled with care\n")
    cloned.write("guide.md", "theirs\n")
    await cloned.run("resolve", "guide", "--wiki")
    listed = (await cloned.run("restore", "guide", "--list")).out
    assert "settled with care" in listed
    assert "conflict file: " in listed
    ran = await cloned.run("restore", "guide", "--conflict")
    assert ran.code == 0, ran.err
    assert cloned.read("guide.md") == "settled with care\n"


async def test_unsettled_conflict_file_is_not_written(cloned: Cloned) -> None:
    await cloned.clash()
    await cloned.run("resolve", "guide", "--mine")
    ran = await cloned.run("restore", "guide", "--conflict")
    assert ran.code == 2
    assert "marker lines" in ran.err
    assert cloned.read("guide.md") == "mine\n"
    shown = await cloned.run("restore", "guide", "--conflict", "--dry-run")
    assert "theirs" in shown.out
