"""``wikisync mv``: pages get other names, and every link follows."""

from pathlib import Path

import pytest

from tests.support.commands import Ran, Run
from tests.support.workspaces import Cloned


async def test_a_rename_changes_the_links_and_reaches_the_wiki(cloned: Cloned) -> None:
    cloned.write("start.md", "[the guide](guide.md) and `guide`\n")
    await cloned.run("sync")
    ran = await cloned.run("mv", "handbook/guide.md", "handbook/manual/first")
    assert ran.code == 0
    assert "guide.md -> manual/first.md" in ran.out
    assert cloned.read("start.md") == "[the guide](manual/first.md) and `guide`\n"
    assert "guide.md" not in cloned.files()
    assert (await cloned.run("sync")).code == 0
    wiki = await cloned.wiki()
    assert "manual/first.md" in wiki
    assert "guide.md" not in wiki
    assert wiki["start.md"] == "[the guide](manual/first.md) and `guide`\n"


async def test_a_page_whose_own_links_change_is_renamed(cloned: Cloned) -> None:
    """As a page with another text and another name it was removed and made anew."""
    cloned.write("guide.md", "[here](guide) [rules](team/rules)\n" + "a line\n" * 9)
    cloned.write("team/rules.md", "[people](people) [the guide](../guide)\n")
    await cloned.run("sync")
    await cloned.run("mv", "handbook/guide.md", "handbook/manual/first")
    await cloned.run("mv", "handbook/team", "handbook/people")
    (done,) = (await cloned.run("sync", "--json")).json["wikis"]
    assert (done["renamed"], done["removed"]) == (3, 0)
    wiki = await cloned.wiki()
    assert wiki.pop(".gitlab/redirects.yml")
    assert wiki == cloned.files()


async def test_links_to_names_that_pages_had_before_the_clone_are_links(
    cloned: Cloned, run: Run, tmp_path: Path
) -> None:
    await cloned.run("mv", "handbook/guide.md", "handbook/first")
    await cloned.run("sync")
    await cloned.edit({"start": "[the guide](guide)\n"})
    url, other = cloned.service.url, tmp_path / "other"
    await run("clone", url, "--project", "docs/handbook", other)
    ran = await run("build", other, "-o", tmp_path / "site")
    assert "broken link" not in ran.err
    assert 'href="first.html"' in (tmp_path / "site/guide.html").read_text()
    # both renames of a page that is new are news in one sync
    await cloned.edit({"guide": "another guide\n"})
    await cloned.run("sync")
    await cloned.run("mv", "handbook/guide.md", "handbook/third")
    await cloned.run("sync")
    ran = await run("sync", "-C", other)
    assert "2 pulled" in ran.out
    assert "fetched" not in ran.out
    await run("build", other, "-o", tmp_path / "site")
    assert 'href="third.html"' in (tmp_path / "site/guide.html").read_text()


async def test_a_file_is_moved_into_a_folder(cloned: Cloned) -> None:
    ran = await cloned.run("mv", "handbook/guide.md", "handbook/team/")
    assert (ran.code, ran.out) == (0, "guide.md -> team/guide.md\n")


async def test_a_dry_run_writes_nothing(cloned: Cloned) -> None:
    before = cloned.files()
    said = (await cloned.run("mv", "guide", "first", "--dry-run", "--json")).json
    assert said["files"] == [{"from": "guide.md", "to": "first.md"}]
    assert not said["is_written"]
    assert cloned.files() == before


async def test_a_folder_is_renamed_with_the_pages_in_it(cloned: Cloned) -> None:
    cloned.write("team/one.md", "[two](./two) [out](guide)\n")
    cloned.write("team/two.org", "[[team/one][one]]\n")
    cloned.write("start.md", "[[team/one]]\n")
    assert (await cloned.run("mv", "handbook/team", "handbook/people/all")).code == 0
    assert cloned.read("people/all/one.md") == "[two](./two) [out](guide)\n"
    assert cloned.read("people/all/two.org") == "[[people/all/one][one]]\n"
    assert cloned.read("start.md") == "[[people/all/one]]\n"


@pytest.mark.parametrize(
    ("old", "new", "pages"),
    [
        ("team", "people", ["people", "people/team", "people/x"]),
        ("team", "team/team", ["team/team", "team/team/team", "team/team/x"]),
        ("team/team", "plan", ["plan", "team", "team/x"]),
    ],
)
async def test_the_pages_below_a_page_go_with_it(
    cloned: Cloned, old: str, new: str, pages: list[str]
) -> None:
    for name in ("team", "team/team", "team/x"):
        cloned.write(f"{name}.md", f"{name}\n")
    assert (await cloned.run("mv", f"handbook/{old}.md", f"handbook/{new}")).code == 0
    assert {f"{page}.md" for page in pages} <= set(cloned.files())


async def test_what_cannot_be_changed_is_named(cloned: Cloned) -> None:
    (cloned.folder / "odd.md").write_bytes(b"\xff")
    cloned.write("start.adoc", ":to: gui\n\nlink:{to}de[a]\n")
    ran = await cloned.run("mv", "guide", "first")
    ran.ended(3, "odd.md: change it yourself", "start.adoc: change it yourself: guide")
    assert "first.md" in cloned.files()


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (("nowhere", "first"), "there is no page or folder nowhere"),
        (("guide", "home"), "home.md exists already"),
        (("guide", "Home"), "Home.md exists already"),
        (("guide", "draft"), "draft.md exists already"),
        (("guide", "guide"), "has that name already"),
        (("guide", "x" * 600), "cannot be the name of a page"),
    ],
)
async def test_a_name_that_does_not_do_changes_nothing(
    cloned: Cloned, names: tuple[str, str], said: str
) -> None:
    """Also that of a file that is ignored."""
    cloned.write(".wikisyncignore", "draft.md\n")
    cloned.write("draft.md", "[the guide](guide.md)\n")
    before = cloned.files()
    (await cloned.run("mv", *names)).ended(2, said)
    assert cloned.files() == before


@pytest.fixture
def move(run_alone: Run, tmp_path: Path) -> Run:
    """Move in a folder without a workspace, which is a wiki."""

    async def call(old: str, new: str) -> Ran:
        ran = await run_alone("mv", old, new, "-C", tmp_path)
        assert ran.code == 0, ran.err
        return ran

    return call


async def test_includes_follow_the_new_name(move: Run, tmp_path: Path) -> None:
    (tmp_path / "team").mkdir()
    for name in ("part.adoc", "team/part.adoc", "team/note.md"):
        (tmp_path / name).write_text("Words.\n")
    text = (
        "include::team/part.adoc[lines=1]\n\n----\ninclude::team/part.adoc[]\n----\n"
        "\ninclude::part.adoc[]\n\n"
    )
    escaped = "\\include::team/part.adoc[]\n"
    (tmp_path / "start.adoc").write_text(text + escaped)
    (tmp_path / "team" / "one.adoc").write_text("include::part.adoc[]\n")
    (tmp_path / "team" / "two.md").write_text("::include{file=note.md}\n")
    ran = await move("team", "people/all")
    assert "start.adoc: 2 links" in ran.out
    moved = text.replace("team/", "people/all/")
    assert (tmp_path / "start.adoc").read_text() == moved + escaped
    await move("people/all/part", "piece")
    one = (tmp_path / "people" / "all" / "one.adoc").read_text()
    assert one == "include::../../piece.adoc[]\n"
    await move("people/all/two", "two")
    assert (tmp_path / "two.md").read_text() == "::include{file=people/all/note.md}\n"


async def test_a_picture_is_found_from_there(move: Run, tmp_path: Path) -> None:
    (tmp_path / "uploads/0a1b").mkdir(parents=True)
    (tmp_path / "uploads/0a1b/red.png").write_bytes(b"x")
    (tmp_path / "team").mkdir()
    page = "![a](../uploads/0a1b/red.png) ![b](uploads/0a1b/red.png)\n"
    (tmp_path / "team" / "one.md").write_text(page)
    await move("team/one", "people/all/one")
    moved = (tmp_path / "people" / "all" / "one.md").read_text()
    assert moved == page.replace("../", "../../")


async def test_links_follow_a_file_that_was_renamed_by_hand(cloned: Cloned) -> None:
    cloned.write("start.md", "[the guide](guide.md) [rules](team/rules)\n")
    cloned.write("team/rules.md", "[people](people)\n")
    (cloned.folder / "guide.md").rename(cloned.folder / "manual.md")
    (cloned.folder / "team").rename(cloned.folder / "people")
    ran = await cloned.run("mv", "handbook/guide.md", "handbook/manual.md")
    assert (ran.code, "start.md: 1 link" in ran.out) == (0, True)
    assert (await cloned.run("mv", "handbook/team", "handbook/people")).code == 0
    assert cloned.read("start.md") == "[the guide](manual.md) [rules](people/rules)\n"
    assert cloned.read("people/rules.md") == "[people](people)\n"
    again = await cloned.run("mv", "handbook/guide.md", "handbook/manual.md")
    again.ended(2, "there is no page or folder guide")


async def test_a_rename_and_back_is_no_older_copy(cloned: Cloned) -> None:
    """Also in a wiki of which most pages link to the page."""
    for name in "abcd":
        cloned.write(f"{name}.md", f"See [the guide](guide), {name}.\n")
    await cloned.run("sync")
    for old, new in (("guide", "first"), ("first", "guide"), ("guide", "first")):
        await cloned.run("mv", f"handbook/{old}.md", f"handbook/{new}.md")
        ran = await cloned.run("sync")
        assert ran.code == 0, ran.err
        assert f"({new})" in (await cloned.wiki())["a.md"]
    for name in "abcd":
        cloned.write(f"{name}.md", f"See [the guide](guide), {name}.\n")
    # such a text that nobody's rename wrote is one
    assert (await cloned.run("sync")).code == 4
