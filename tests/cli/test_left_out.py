"""Files that are not published because of their names or texts: told, not deleted."""

import pytest

from tests.support.workspaces import FILES, Cloned

SYNCTHING = "guide.sync-conflict-20250101-120000-ABCDEFG.md"
DROPBOX = "guide (Ann's conflicted copy 2025-01-01).md"
MARKED = "a\n<<<<<<< HEAD\nmine\n=======\ntheirs\n>>>>>>> main\nb\n"


async def test_file_that_is_not_published_is_told_once(cloned: Cloned) -> None:
    told = {
        SYNCTHING: f"!/{SYNCTHING}",
        DROPBOX: f"!/{DROPBOX}",
        "guide (conflicted copy).md": "!/guide (conflicted copy).md",
        "guide (In Konflikt stehende Kopie von Ann 2025-01-01).md": "a cloud drive",
        ".hidden.md": "a name that begins with a dot",
        "team/guide.conflict.md": "no conflict is open",
        "uploads/notes.md": "uploads is the folder of attachments",
        "home_LOCAL_1234.md": "git mergetool gives this name",
        "guide [conflicted].md": "a sync program gives this name",
    }
    for name in told:
        cloned.write(name, "text\n")
    ran = await cloned.run("sync")
    assert ran.code == 3
    warnings = [" ".join(one.split()) for one in ran.err.split("warning:")[1:]]
    assert len(warnings) == len(told)
    for name, words in told.items():
        assert any(name in one and words in one for one in warnings), name
        assert cloned.read(name) == "text\n"
    assert await cloned.wiki() == FILES
    status = await cloned.run("status")
    assert status.code == 3
    assert f"{SYNCTHING}: Syncthing gives this name" in status.out
    assert ".hidden.md: a name that begins with a dot" in status.out
    assert "the next sync" not in status.out


async def test_folders_of_programs_are_named_once(cloned: Cloned) -> None:
    """A network disk makes some in every folder, and nobody is to do anything."""
    for name in ("#recycle", "team/@eaDir", "__pycache__"):
        (cloned.folder / name).mkdir()
    cloned.write("node_modules/left-pad/README.md", "text\n")
    ran = await cloned.run("sync")
    assert (ran.code, ran.err.count("warning:")) == (0, 0)
    assert ran.err.count("makes this folder; no page in it is published") == 4
    assert "handbook/team/@eaDir: a Synology NAS" in ran.err
    assert "!/node_modules/ publishes its pages" in " ".join(ran.err.split())
    (cloned.folder / "@eaDir").mkdir()
    again = await cloned.run("sync")
    assert (again.code, again.err) == (0, "")
    (cloned.folder / "lost+found").mkdir()
    ran = await cloned.run("sync")
    assert (ran.code, ran.err.count("makes this folder")) == (0, 1)
    assert not cloned.attention
    assert await cloned.wiki() == FILES


async def test_work_tree_of_git_is_not_uploaded(cloned: Cloned) -> None:
    """``git worktree add copy`` in a folder would bring each page a second time."""
    cloned.write(".git/HEAD", "ref: refs/heads/main\n")
    cloned.write("copy/.git", "gitdir: ../.git/worktrees/copy\n")
    cloned.write("copy/home.md", "text\n")
    ran = await cloned.run("sync")
    assert (ran.code, ran.err.count("a repository of its own here")) == (0, 1)
    assert await cloned.wiki() == FILES
    # what comes to the wiki in its place is not written into it, and is not silent
    await cloned.edit({"copy/new": "b\n"})
    ran = await cloned.run("sync")
    assert ran.code == 3
    assert "warning: handbook/copy: git has a repository of its own here" in ran.err
    assert cloned.read("copy/home.md") == "text\n"
    cloned.write(".wikisyncignore", "!/copy/\n")
    assert (await cloned.run("sync")).code == 0
    assert cloned.read("copy/new.md") == "b\n"
    assert (await cloned.wiki())["copy/home.md"] == "text\n"


async def test_pages_of_a_folder_that_becomes_a_repository_stay_on_the_wiki(
    cloned: Cloned,
) -> None:
    cloned.write("team/notes.md", "text\n")
    cloned.write("team/more.md", "text of more\n")
    assert (await cloned.run("sync")).code == 0
    before = await cloned.wiki()
    cloned.write("team/.git/HEAD", "ref: refs/heads/main\n")
    cloned.write("team/notes.md", "edited\n")
    for _ in range(4):
        ran = await cloned.run("sync", "--wait")
        assert (ran.code, await cloned.wiki()) == (3, before)
        assert "warning: handbook/team: git has a repository of its own" in ran.err
    await cloned.edit({"team/more": "edited there\n"})
    assert (await cloned.run("sync")).code == 3
    assert cloned.read("team/more.md") == "text of more\n"
    (cloned.folder / "team/.git/HEAD").unlink()
    assert (await cloned.run("sync")).code == 0
    assert cloned.read("team/more.md") == "edited there\n"
    assert (await cloned.wiki())["team/notes.md"] == "edited\n"


async def test_status_and_doctor_name_folders_of_programs(cloned: Cloned) -> None:
    (cloned.folder / "@eaDir").mkdir()
    (cloned.folder / "team/@eaDir").mkdir()
    (first,) = (await cloned.run("sync", "--json")).json["wikis"]
    (again,) = (await cloned.run("sync", "--json")).json["wikis"]
    assert first["problems"] == again["problems"] == again["notes"] == []
    assert [one["subject"] for one in first["notes"]] == ["@eaDir"]
    status, found = await cloned.run("status"), await cloned.run("status", "--json")
    assert (status.code, found.code) == (0, 0)
    assert "4 pages, in sync" in status.out
    assert "@eaDir: a Synology NAS makes this folder" in status.out
    (wiki,) = found.json["wikis"]
    assert (wiki["problems"], wiki["last_problem"]) == ([], "")
    assert [one["code"] for one in wiki["notes"]] == ["folder-left-out"]
    findings = (await cloned.run("doctor", "--json")).json
    (one,) = (one for one in findings if "@eaDir" in one["sentence"])
    assert one["grade"] == "fine"


PART = "# Guide\n\nHow to set up a machine, step by step, for those who are new.\n"
NAMES = [
    "guide 2.md",
    "guide 10.md",
    "guide (1).md",
    "guide-conflict.md",
    "guide-iMac.md",
    "guide - Copy.md",
    "Copy of guide.md",
]


async def test_page_of_such_a_name_is_no_copy_by_itself(cloned: Cloned) -> None:
    """Part 2 of a book is no copy of its first part."""
    cloned.write("guide.md", PART)
    for name in NAMES:
        cloned.write(name, f"# Another part\n\nThis is all that {name} has to say.\n")
    assert (await cloned.run("sync", "--dry-run")).code == 0
    ran = await cloned.run("sync")
    assert (ran.code, ran.err) == (0, "")
    assert len(await cloned.wiki()) == len(FILES) + len(NAMES)
    for name in NAMES:
        cloned.write(name, PART.replace("new", "old"))
    assert (await cloned.run("sync")).code == 0


async def test_copy_of_such_a_name_is_left_out_until_rewritten(cloned: Cloned) -> None:
    cloned.write("guide.md", PART)
    for name in NAMES:
        cloned.write(name, f"{PART}\nAnd one more line of Ann.\n")
    # note programs make these before they have names
    cloned.write("Untitled.md", "")
    cloned.write("Untitled 2.md", "")
    ran = await cloned.run("sync")
    assert (ran.code, ran.err.count("to a copy of another file")) == (3, len(NAMES))
    untitled = {"Untitled.md", "Untitled-2.md"}
    assert (await cloned.wiki()).keys() == FILES.keys() | untitled
    cloned.write(NAMES[0], "# A second part\n\nThe machine is there: first steps.\n")
    await cloned.run("sync")
    assert len(await cloned.wiki()) == len(FILES) + 3


@pytest.mark.parametrize("text", ["a guide\n", "another\n"])
@pytest.mark.parametrize("is_deleted", [True, False])
async def test_copy_stays_left_out_when_its_original_is_deleted_or_taken_away(
    cloned: Cloned, text: str, *, is_deleted: bool
) -> None:
    cloned.write("guide 2.md", text)
    await cloned.run("sync")
    guide = cloned.folder / "guide.md"
    if is_deleted:
        guide.unlink()
    else:
        guide.rename(cloned.folder / ".guide.md.icloud")
    await cloned.run("sync")
    cloned.age_sightings(3600)
    for _ in range(3):
        ran = await cloned.run("sync")
    assert (ran.code, "guide 2.md" in ran.err) == (3, True)
    # a text that is in another file by now may be the page's own under that name
    is_gone = is_deleted and text != FILES["guide.md"]
    left = FILES.keys() - ({"guide.md"} if is_gone else set())
    assert (await cloned.wiki()).keys() == left


async def test_page_renamed_to_such_a_name_is_renamed(cloned: Cloned) -> None:
    (cloned.folder / "guide.md").rename(cloned.folder / "guide 2.md")
    assert (await cloned.run("sync")).code == 0
    assert "guide-2.md" in await cloned.wiki()


async def test_page_that_comes_back_as_a_copy_is_not_deleted(cloned: Cloned) -> None:
    await cloned.run("sync")
    (cloned.folder / "guide.md").unlink()
    cloned.write("guide 2.md", "rewritten\n")
    await cloned.run("sync")
    cloned.age_sightings(3600)
    for _ in range(2):
        ran = await cloned.run("sync")
    assert ran.code == 3
    assert await cloned.wiki() == FILES


@pytest.mark.parametrize("dry", [(), ("--dry-run",)])
async def test_conflict_file_that_was_there_before_its_conflict_is_told_once(
    cloned: Cloned, dry: tuple[str, ...]
) -> None:
    """Another machine wrote it, where both share the pages."""
    await cloned.run("sync")
    cloned.write("guide.md", "edited here\n")
    cloned.write("guide.conflict.md", "of another machine\n")
    await cloned.edit({"guide": "edited there\n"})
    ran = await cloned.run("sync", *dry)
    assert "edited here and on the wiki" in ran.told
    assert "no conflict is open" not in ran.told


async def test_line_in_the_ignore_file_ends_the_telling(cloned: Cloned) -> None:
    lines = {
        SYNCTHING: "*.sync-conflict-*",
        DROPBOX: f"/{DROPBOX}",
        ".hidden.md": "/.hidden.md",
        "guide.conflict.md": "/guide.conflict.md",
        "uploads/notes.md": "/uploads/notes.md",
        "node_modules/left-pad/README.md": "/node_modules/",
        "docs/node_modules/left-pad/README.md": "/docs/node_modules/",
        "#recycle/a.md": "/#recycle/",
    }
    for name in lines:
        cloned.write(name, "text\n")
    cloned.write(".wikisyncignore", "\n".join(lines.values()))
    ran = await cloned.run("sync")
    assert (ran.code, ran.err) == (0, "")
    assert await cloned.wiki() == FILES


async def test_line_with_an_exclamation_mark_publishes_it(cloned: Cloned) -> None:
    names = {SYNCTHING: f"!/{SYNCTHING}", "node_modules/pad/a.md": "!/node_modules/"}
    for name in names:
        cloned.write(name, "text\n")
    cloned.write(".wikisyncignore", "\n".join(names.values()))
    ran = await cloned.run("sync")
    published = FILES | dict.fromkeys(names, "text\n")
    assert (ran.code, ran.err) == (0, "")
    assert await cloned.wiki() == published
    cloned.write(".wikisyncignore", "")
    await cloned.sync_later()
    assert await cloned.wiki() == published


async def test_page_of_the_wiki_by_such_a_name_is_a_page(cloned: Cloned) -> None:
    files = {
        SYNCTHING[:-3]: SYNCTHING,
        "node_modules/notes": "%6Eode_modules/notes.md",
        "#recycle/notes": "%23recycle/notes.md",
    }
    for text in ("one\n", "two\n"):
        await cloned.edit(dict.fromkeys(files, text))
        assert (await cloned.run("sync")).code == 0
        assert {cloned.read(file) for file in files.values()} == {text}
    for file in files.values():
        cloned.write(file, "three\n")
    ran = await cloned.run("sync")
    sent = dict.fromkeys((f"{slug}.md" for slug in files), "three\n")
    assert (ran.code, await cloned.wiki()) == (0, FILES | sent)


async def test_page_deleted_through_a_network_disk_is_deleted(cloned: Cloned) -> None:
    """Its disk moves the file into its bin."""
    await cloned.edit({"one": "1\n", "two": "2\n"})
    await cloned.run("sync")
    (cloned.folder / "#recycle").mkdir()
    (cloned.folder / "one.md").rename(cloned.folder / "#recycle/one.md")
    await cloned.sync_later()
    assert await cloned.wiki() == FILES | {"two.md": "2\n"}


async def test_page_that_was_published_out_of_a_bin_stays(cloned: Cloned) -> None:
    """By a version that took each folder for one of pages."""
    cloned.write(".wikisyncignore", "!/#recycle/\n")
    cloned.write("#recycle/old.md", "old\n")
    await cloned.run("sync")
    cloned.write(".wikisyncignore", "")
    await cloned.edit({"#recycle/old": "newer\n"})
    ran = await cloned.run("sync")
    cloned.age_sightings(3600)
    await cloned.run("sync")
    ran.ended(3, "#recycle")
    assert (await cloned.wiki())["#recycle/old.md"] == "newer\n"
    assert cloned.read("#recycle/old.md") == "old\n"


async def test_page_whose_file_becomes_a_copy_stays_on_the_wiki(cloned: Cloned) -> None:
    """Syncthing renames the file first, and brings the other device's text then."""
    (cloned.folder / "guide.md").rename(cloned.folder / SYNCTHING)
    ran = await cloned.run("sync")
    cloned.age_sightings(3600)
    again = await cloned.run("sync")
    assert (ran.code, again.code) == (3, 3)
    assert SYNCTHING in again.err
    assert await cloned.wiki() == FILES
    cloned.write("guide.md", "from the other device\n")
    await cloned.run("sync")
    assert await cloned.wiki() == FILES | {"guide.md": "from the other device\n"}


async def test_conflict_file_of_an_open_conflict_is_no_stray(cloned: Cloned) -> None:
    await cloned.clash()
    assert (cloned.folder / "guide.conflict.md").exists()
    ran = await cloned.run("sync")
    assert "no conflict is open" not in ran.err
    await cloned.run("resolve", "handbook/guide", "--mine")
    assert (await cloned.run("sync")).err == ""


async def test_conflict_file_of_a_page_that_is_spelled_otherwise_by_now_is_named(
    cloned: Cloned,
) -> None:
    """It settles nothing, however a person saves it."""
    cloned.write("two-words.md", "agreed\n")
    await cloned.run("sync")
    cloned.write("two-words.md", "mine\n")
    await cloned.edit({"two-words": "theirs\n"})
    await cloned.run("sync")
    (cloned.folder / "two-words.md").rename(cloned.folder / "two words.md")
    await cloned.run("sync")
    ran = await cloned.run("sync")
    assert "two-words.conflict.md" in ran.err
    assert "no conflict is open" in ran.err


async def test_text_with_a_conflict_of_git_is_held(cloned: Cloned) -> None:
    cloned.write("guide.md", MARKED)
    cloned.write("new.md", MARKED)
    ran = await cloned.run("sync")
    assert ran.code == 3
    assert ran.err.count("git conflict markers") == 2
    assert await cloned.wiki() == FILES
    cloned.write("team/rules.md", MARKED)
    ran = await cloned.run("sync", "handbook/team/")
    assert (ran.code, await cloned.wiki()) == (3, FILES)
    cloned.write("guide.md", "settled\n=======\n")
    ran = await cloned.run("sync", "handbook/guide")
    assert (await cloned.wiki())["guide.md"] == "settled\n=======\n"


async def test_page_about_conflicts_of_git_is_edited(cloned: Cloned) -> None:
    """The wiki has these lines already, or somebody asks for the page by its name."""
    await cloned.edit({"guide": f"```\n{MARKED}```\n"})
    await cloned.run("sync")
    cloned.write("guide.md", f"About git\n\n```\n{MARKED}```\n")
    cloned.write("new.md", MARKED)
    assert (await cloned.run("sync")).code == 3
    wiki = await cloned.wiki()
    assert wiki["guide.md"].startswith("About git")
    assert "new.md" not in wiki
    assert (await cloned.run("sync", "handbook/new")).code == 0
    assert (await cloned.wiki())["new.md"] == MARKED
    cloned.write("guide.md", f"{MARKED}{MARKED}")
    assert (await cloned.run("sync")).code == 3
