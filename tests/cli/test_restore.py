import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.workspaces import FILES, HANDBOOK, PAGES, Cloned
from wikisync.core.model import Slug
from wikisync.errors import UsageError
from wikisync.folder.ignore import CONFLICT_MARK
from wikisync.folder.workspace import locked
from wikisync.workspace.sentences import ago, local_time, parse_time


async def pull(cloned: Cloned, *texts: str) -> None:
    for text in texts:
        await cloned.edit({"guide": text})
        await cloned.run("sync")


async def removed_for_its_owner(cloned: Cloned) -> Path:
    """Where a page was that only its owner could read, and the wiki removed."""
    await cloned.run("sync")
    path = cloned.folder / "guide.md"
    path.chmod(0o600)
    await cloned.remove("guide")
    await cloned.run("sync")
    await cloned.sync_later()
    assert not path.exists()
    return path


@pytest.mark.parametrize("way", ["restore handbook/guide.md", "undo --yes"])
async def test_removed_page_comes_back_as_readable(cloned: Cloned, way: str) -> None:
    path = await removed_for_its_owner(cloned)
    assert (await cloned.run(*way.split())).code == 0
    assert cloned.read("guide.md") == PAGES["guide"]
    assert path.stat().st_mode & 0o777 == 0o600
    await cloned.run("sync")
    assert (await cloned.wiki())["guide.md"] == PAGES["guide"]


async def test_another_page_of_the_name_is_as_readable_as_new(cloned: Cloned) -> None:
    path = await removed_for_its_owner(cloned)
    await cloned.edit({"guide": "# Tours\n\nWe show guests round.\n"})
    await cloned.run("sync")
    assert path.stat().st_mode == (cloned.folder / "home.md").stat().st_mode


async def test_file_removed_here_comes_back_as_last_synced(cloned: Cloned) -> None:
    cloned.write("guide.md", "second\n")
    await cloned.run("sync")
    (cloned.folder / "guide.md").unlink()
    ran = await cloned.run("restore", "guide")
    assert (ran.code, cloned.read("guide.md")) == (0, "second\n")
    # what an upload replaced is neither in the trash nor was it a file here
    ran = await cloned.run("restore", "guide")
    assert (ran.code, cloned.read("guide.md")) == (0, PAGES["guide"])


async def test_edit_since_the_last_sync_is_taken_back_and_kept(cloned: Cloned) -> None:
    ran = await cloned.run("restore", "handbook/guide")
    ran.ended(2, "there is no other saved text of handbook/guide")
    cloned.write("guide.md", "spoilt\n")
    with locked(cloned.root / ".wikisync", "it"):  # as while a watch runs
        assert (await cloned.run("restore", "handbook/guide")).code == 0
    assert cloned.read("guide.md") == PAGES["guide"]
    assert "spoilt" in (await cloned.run("restore", "guide", "--list", "--json")).out
    kept = list((cloned.root / ".wikisync/trash").rglob("guide.md"))
    assert [path.read_text() for path in kept] == ["spoilt\n"]
    await cloned.run("restore", "handbook/guide")
    assert cloned.read("guide.md") == "spoilt\n"


async def test_time_names_the_text_that_stood_there_then(cloned: Cloned) -> None:
    await pull(cloned, "second\n", "third\n", "fourth\n")
    with cloned.state() as state:
        times = [one.at for one in state.wiki(HANDBOOK).replaced(Slug("guide"))]
        texts = [one.replaced for one in state.wiki(HANDBOOK).replaced(Slug("guide"))]
    assert texts == ["third\n", "second\n", PAGES["guide"]]
    ran = await cloned.run("restore", "guide", "--at", local_time(times[-1] - 5))
    assert ran.code == 0
    assert cloned.read("guide.md") == PAGES["guide"]


async def test_text_of_a_time_to_come_is_not_taken_for_the_last(cloned: Cloned) -> None:
    """The clock was ahead for a while."""
    await pull(cloned, "second\n", "third\n")
    first = "(SELECT min(at) FROM history WHERE slug = 'guide' AND text != '')"
    with closing(sqlite3.connect(cloned.root / ".wikisync/state.db")) as state:
        changed = state.execute(f"UPDATE history SET at = at + 1e9 WHERE at = {first}")
        assert changed.rowcount == 1
        state.commit()
    await cloned.run("restore", "guide")
    assert cloned.read("guide.md") == "second\n"


async def test_last_text_is_found_where_the_clock_was_behind(cloned: Cloned) -> None:
    await pull(cloned, "second\n", "third\n", "fourth\n")
    later = "(SELECT id FROM history WHERE text != '' ORDER BY id LIMIT 9 OFFSET 1)"
    with closing(sqlite3.connect(cloned.root / ".wikisync/state.db")) as state:
        state.execute(f"UPDATE history SET at = 5 WHERE id IN {later}")
        state.commit()
    listed = (await cloned.run("restore", "guide", "--list", "--json")).json
    assert [one["bytes"] for one in listed] == [7, 6, 7, len(PAGES["guide"])]
    await cloned.run("restore", "guide")
    assert cloned.read("guide.md") == "third\n"


async def test_time_after_everything_is_the_last_sync(cloned: Cloned) -> None:
    await pull(cloned, "second\n")
    cloned.write("guide.md", "edited\n")
    await cloned.run("restore", "guide", "--at", "2099-01-01")
    assert cloned.read("guide.md") == "second\n"
    # and what a pull replaced goes to the wiki again
    await cloned.run("restore", "guide", "--at", "1h")
    assert cloned.read("guide.md") == PAGES["guide"]
    assert "1 pushed" in (await cloned.run("sync")).out


async def test_list_tells_each_text_from_the_one_above(cloned: Cloned) -> None:
    cloned.write("new.md", "new\n")
    new = await cloned.run("restore", "new", "--list")
    assert "no earlier text of this page is saved here" in new.err
    await pull(cloned, "# G\n\none\n", "# G\n\none\ntwo\n", "# G\n\nONE\ntwo\n")
    same = (await cloned.run("restore", "guide", "--list")).out
    assert "the last sync\tnone\n" in same
    cloned.write("guide.md", "# G\n\nONE\ntwo\nedited\n")
    ran = await cloned.run("restore", "guide", "--list")
    assert ran.code == 0
    head, last, *_ = ran.out.splitlines()
    assert head.startswith("current until\tbytes\tfrom\tdiff")
    assert "\tthe last sync\t" in last
    told = [line.rpartition("\t")[2] for line in ran.out.splitlines()[1:]]
    assert told == ["- edited", "+ one", "- two", f"+ {PAGES['guide'].strip()}"]
    assert cloned.read("guide.md").endswith("edited\n")


async def test_folder_of_a_missing_disk_is_not_made(cloned: Cloned) -> None:
    cloned.folder.rename(cloned.root.parent / "away")
    assert (await cloned.run("restore", "guide")).code == 1
    assert not cloned.folder.exists()


# -- files that keep another name than their page ------------------------------------


async def named(cloned: Cloned) -> None:
    """A file that the service gave another name, and an edit of it from there."""
    cloned.write("my page.md", "one\n")
    await cloned.run("sync")
    await cloned.edit({"my-page": "two\n"})
    await cloned.run("sync")
    assert cloned.read("my page.md") == "two\n"


async def deleted(cloned: Cloned) -> None:
    """Carry a deletion of either side over."""
    await cloned.run("sync")
    await cloned.sync_later()
    assert "my page.md" not in cloned.files()
    assert "my-page.md" not in await cloned.wiki()


@pytest.mark.parametrize(
    ("is_deleted_here", "name", "file"),
    [
        (True, "my page", "my page.md"),
        (True, "my-page", "my-page.md"),
        (False, "my page", "my page.md"),
        (False, "my-page", "my page.md"),
    ],
)
async def test_deleted_page_is_found_by_its_name_and_by_that_of_its_file(
    cloned: Cloned, name: str, file: str, *, is_deleted_here: bool
) -> None:
    await named(cloned)
    if is_deleted_here:
        (cloned.folder / "my page.md").unlink()
    else:
        await cloned.remove("my-page")
    await deleted(cloned)
    listed = (await cloned.run("restore", f"handbook/{name}.md", "--list")).out
    way = " by a sync" * is_deleted_here
    assert f"trash: deleted on the wiki{way}\t+ two" in listed
    assert "replaced by a sync or a restore\t+ one" in listed
    ran = await cloned.run("restore", f"handbook/{name}.md")
    assert (ran.code, cloned.read(file)) == (0, "two\n")
    await cloned.run("sync")
    assert (await cloned.wiki())["my-page.md"] == "two\n"


async def test_file_is_found_before_its_page_is_deleted(cloned: Cloned) -> None:
    await named(cloned)
    (cloned.folder / "my page.md").unlink()
    await cloned.run("sync")
    assert (await cloned.run("restore", "handbook/my page.md")).code == 0
    assert cloned.read("my page.md") == "two\n"
    assert "my-page.md" not in cloned.files()
    assert (await cloned.sync_later()).code == 0
    assert (await cloned.wiki())["my-page.md"] == "two\n"


async def test_page_of_a_name_that_is_only_like_it_is_another(cloned: Cloned) -> None:
    await named(cloned)
    (cloned.folder / "my page.md").unlink()
    await deleted(cloned)
    cloned.write("my-page.md", "another\n")
    await cloned.run("sync")
    ran = await cloned.run("restore", "handbook/my page.md", "--list")
    assert "handbook/my page: there is no such page" in ran.err


# -- times -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("2026-11-21 14:30:12", "2026-11-21 14:30:12"),
        ("2026-11-21T14:30", "2026-11-21 14:30:00"),
        ("2026-11-21", "2026-11-21 00:00:00"),
        (" 14:30 ", "2026-11-20 14:30:00"),
        ("2h", "2026-11-20 16:00:00"),
        ("3d", "2026-11-17 18:00:00"),
        ("1 hour ago", "2026-11-20 17:00:00"),
        ("90 minutes", "2026-11-20 16:30:00"),
        ("2w", "2026-11-06 18:00:00"),
    ],
)
def test_time_is_read_as_people_write_it(text: str, shown: str) -> None:
    now = parse_time("2026-11-20 18:00")
    assert local_time(parse_time(text, now=now)) == shown


def test_time_with_an_offset_is_not_local() -> None:
    assert parse_time("2026-11-21T14:30:00Z") == parse_time("2026-11-21T16:30+02:00")
    assert parse_time("2026-11-21T14:30:00Z") == 1_795_271_400


@pytest.mark.parametrize("text", ["yesterday", "2x", "h", "", "2 fortnights", "2hd"])
def test_what_is_no_time_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(UsageError, match="is not a time") as caught:
        parse_time(text)
    assert "2026-11-21 14:30" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.4, "just now"),
        (1, "1 second ago"),
        (119, "1 minute ago"),
        (7200, "2 hours ago"),
        (86_400 * 11, "11 days ago"),
    ],
)
def test_age_is_told_in_the_largest_unit(seconds: float, words: str) -> None:
    assert ago(seconds) == words


async def test_json_tells_what_was_brought_back(cloned: Cloned) -> None:
    await pull(cloned, "second\n")
    text = await cloned.run("restore", "guide", "--dry-run")
    dry = await cloned.run("restore", "guide", "--dry-run", "--json")
    assert (text.out, dry.json["is_written"]) == (PAGES["guide"], False)
    assert cloned.read("guide.md") == "second\n"
    ran = await cloned.run("restore", "guide", "--json")
    assert (ran.code, ran.json["page"]) == (0, "handbook/guide")
    assert ran.json["text"] == PAGES["guide"] == cloned.read("guide.md")
    assert ran.json["is_written"]
    assert ran.json["until"] > 0


async def test_text_of_a_revision_of_the_wiki_comes_back(cloned: Cloned) -> None:
    """Also one that no sync ever saw here."""
    await cloned.edit({"guide": "never seen\n"})
    await cloned.edit({"guide": "third\n"})
    await cloned.run("sync")
    listed = await cloned.run("log", "guide", "--revisions")
    revision = listed.out.splitlines()[1].split()[0]
    shown = await cloned.run("restore", "guide", "--revision", revision, "--dry-run")
    assert shown.out == "never seen\n"
    assert cloned.read("guide.md") == "third\n"
    ran = await cloned.run("restore", "guide", "--revision", revision)
    assert ran.code == 0, ran.err
    assert f"that it had in revision {revision} of" in ran.err
    assert cloned.read("guide.md") == "never seen\n"
    await cloned.run("sync")
    assert (await cloned.wiki())["guide.md"] == "never seen\n"


async def test_page_that_was_deleted_comes_back_from_a_revision(cloned: Cloned) -> None:
    await cloned.remove("guide")
    listed = await cloned.run("log", "guide", "--revisions", "--json")
    gone, created = [row["commit"] for row in listed.json]
    cloned.folder.joinpath("guide.md").unlink()
    ran = await cloned.run("restore", "guide", "--revision", gone)
    assert "the page has no text in revision" in ran.err
    assert (await cloned.run("restore", "guide", "--revision", created)).code == 0
    assert cloned.read("guide.md") == PAGES["guide"]


async def test_file_that_is_gone_comes_back_in_its_format(cloned: Cloned) -> None:
    cloned.write("plan.org", "* Plan\n")
    await cloned.run("sync", "--adopt", "push")
    listed = await cloned.run("log", "plan", "--revisions", "--json")
    cloned.folder.joinpath("plan.org").unlink()
    (row,) = listed.json
    ran = await cloned.run("restore", "plan", "--revision", row["commit"])
    assert ran.code == 0, ran.err
    assert cloned.read("plan.org") == "* Plan\n"


async def test_revision_comes_back_into_the_file_that_is_named(cloned: Cloned) -> None:
    """The service calls the page otherwise; a second page would be a false one."""
    await named(cloned)
    listed = await cloned.run("log", "my-page", "--revisions", "--json")
    first = listed.json[-1]["commit"]
    (cloned.folder / "my page.md").unlink()
    await cloned.run("sync")
    ran = await cloned.run("restore", "handbook/my page.md", "--revision", first)
    assert ran.code == 0, ran.err
    assert cloned.read("my page.md") == "one\n"
    assert "my-page.md" not in cloned.files()
    cloned.age_sightings(100)
    await cloned.run("sync")
    wiki = await cloned.wiki()
    assert wiki["my-page.md"] == "one\n"
    assert "my page.md" not in wiki


@pytest.mark.parametrize("revision", ["0000", "0", "abc", "zzzz"])
async def test_revision_of_no_page_is_refused(cloned: Cloned, revision: str) -> None:
    ran = await cloned.run("restore", "guide", "--revision", revision)
    ran.ended(2, "names no revision of the page")


# -- all pages since a time --------------------------------------------------------


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
    cloned.write("guide.md", "my newer text\n")
    ran = await cloned.run("restore", "--all", "--since", "1h", "-y")
    assert ran.code == 0, ran.err
    expected = FILES | {"new.md": "made since\n"}
    assert cloned.files() == await synced_wiki(cloned) == expected
    again = await cloned.run("restore", "--all", "--since", "1h", "-y")
    assert "no page that was deleted or replaced" in again.err
    kept = (await cloned.run("restore", "guide", "--list", "--json")).json
    assert "my newer text\n" in [one["text"] for one in kept]


async def test_only_what_is_below_and_since_then_comes_back(cloned: Cloned) -> None:
    await lose_and_replace(cloned)
    ran = await cloned.run("restore", "--all", "--since", "2099-01-01")
    ran.ended(0, "no page that was deleted or replaced here since 2099")
    await cloned.run("restore", "handbook/team", "--all", "--since", "1h", "-y")
    assert cloned.read("team/people.md") == PAGES["team/people"]
    assert cloned.read("guide.md") == "second\n"


@pytest.mark.parametrize(
    ("option", "told"),
    [
        (["--dry-run", "--yes"], "would restore 3 pages"),
        (["--list", "--yes"], "would restore 3 pages"),
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
    files = {"my page.md": "one\n", "Team Room/one.md": "two\n"}
    for name, text in files.items():
        cloned.write(name, text)
    await cloned.run("sync")
    since = ("--all", "--since", "10m", "-y")
    (cloned.folder / "my page.md").unlink()
    # a look before does not forget it
    await cloned.run("restore", "--all", "--since", "10m", "--dry-run")
    await cloned.run("restore", *since)
    (cloned.folder / "Team Room/one.md").unlink()
    await cloned.run("restore", "handbook/Team Room", *since)
    assert cloned.files() == FILES | files
    wiki = await synced_wiki(cloned)
    assert (wiki["my-page.md"], wiki["Team-Room/one.md"]) == ("one\n", "two\n")
    assert cloned.files() == FILES | files


async def test_page_that_cannot_be_written_stops_no_other(cloned: Cloned) -> None:
    await lose_and_replace(cloned)
    cloned.write("team/people.md/x.txt", "in the way\n")
    ran = await cloned.run("restore", "--all", "--since", "10m", "-y")
    ran.ended(1, "handbook/team/people was not restored: ")
    assert cloned.read("team/rules.md") == PAGES["team/rules"]
    assert cloned.read("guide.md") == PAGES["guide"]
    assert cloned.read("team/people.md/x.txt") == "in the way\n"


@pytest.mark.parametrize(
    "words",
    [["--all"], ["--since", "1h"], ["--all", "--since", "1h", "--at", "1h"], []],
)
async def test_options_in_part_are_refused(cloned: Cloned, words: list[str]) -> None:
    (await cloned.run("restore", *words)).ended(2, "--since 2h")


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
    listed = (await cloned.run("restore", "guide", "--list")).out
    assert ("conflict file: " in listed, "%%%%" in listed) == (True, False)
    (await cloned.run("restore", "guide", "--conflict")).ended(2, "marker lines")
    assert cloned.read("guide.md") == "mine\n"
    shown = await cloned.run("restore", "guide", "--conflict", "--dry-run")
    assert "theirs" in shown.out
