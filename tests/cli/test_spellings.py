"""Names that the service takes for one: spaces and dashes, upper and lower case.

A wiki that was filled by git has pages with spaces in their names.  The service
writes such a page with dashes at its first edit, whoever makes it.
"""

import pytest

from tests.support.quirks import Quirk
from tests.support.workspaces import PAGES, Cloned

SPACED = {
    "My Notes": "one\n",
    "My Notes/inner page": "below\n",
    "My Dir/a b": "in a folder\n",
}


async def with_spaces(cloned: Cloned) -> Cloned:
    """The workspace with pages that came to the wiki by git."""
    await cloned.edit(SPACED)
    ran = await cloned.run("sync")
    assert ran.code == 0, ran.err
    return cloned


def pages(files: dict[str, str]) -> dict[str, str]:
    """Pages that do not belong to the handbook as it was cloned, by their files."""
    known = {f"{slug}.md" for slug in PAGES}
    return {
        name: text
        for name, text in files.items()
        if name not in known and not name.startswith(".")
    }


async def test_every_edit_of_a_page_with_a_space_arrives(cloned: Cloned) -> None:
    """Its first edit made a second file, and held both for ever."""
    await with_spaces(cloned)

    for text in ("two\n", "three\n"):
        cloned.write("My Notes.md", text)
        ran = await cloned.run("sync")
        assert (ran.code, ran.err) == (0, "")
        assert pages(cloned.files()) == pages(
            {f"{slug}.md": old for slug, old in SPACED.items()} | {"My Notes.md": text}
        )
        assert (await cloned.wiki())["My-Notes.md"] == text

    cloned.write("My Notes/inner page.md", "edited below\n")
    cloned.write("My Dir/a b.md", "edited in a folder\n")
    ran = await cloned.run("sync")
    assert (ran.code, ran.err) == (0, "")
    assert pages(await cloned.wiki()) == {
        "My-Notes.md": "three\n",
        "My-Notes/inner-page.md": "edited below\n",
        "My-Dir/a-b.md": "edited in a folder\n",
    }
    assert set(pages(cloned.files())) == {f"{slug}.md" for slug in SPACED}
    ran = await cloned.run("status")
    assert ran.code == 0, ran.out


async def test_edit_whose_answer_was_lost_makes_no_other_file(cloned: Cloned) -> None:
    await with_spaces(cloned)
    cloned.write("My Notes.md", "two\n")
    cloned.service.quirks = {Quirk.DROPS_ANSWERS}
    assert (await cloned.run("sync")).code == 3
    assert (await cloned.wiki())["My-Notes.md"] == "two\n"

    cloned.service.quirks = set()
    ran = await cloned.run("sync")

    assert (ran.code, ran.err) == (0, "")
    assert set(pages(cloned.files())) == {f"{slug}.md" for slug in SPACED}
    assert cloned.read("My Notes.md") == "two\n"


@pytest.mark.parametrize(
    ("old", "new", "page"),
    [
        ("my page", "My page", "My-page"),
        ("my page", "my-page", "my-page"),
        ("my page", "My-Page", "My-Page"),
        ("with-dash", "with dash", "with-dash"),
        ("plain", "Plain", "Plain"),
        ("dir/a b", "dir/A B", "dir/A-B"),
    ],
)
async def test_a_file_may_be_spelled_otherwise(
    cloned: Cloned, old: str, new: str, page: str
) -> None:
    """It was refused for ever, and no page was removed any more."""
    cloned.write(f"{old}.md", "one\n")
    cloned.write("other.md", "other\n")
    assert (await cloned.run("sync")).code == 0
    (cloned.folder / f"{old}.md").rename(cloned.folder / f"{new}.md")
    (cloned.folder / "other.md").unlink()

    ran = await cloned.sync_later()

    assert (ran.code, ran.err) == (0, "")
    assert pages(await cloned.wiki()) == {f"{page}.md": "one\n"}
    cloned.write(f"{new}.md", "two\n")
    assert (await cloned.run("sync")).code == 0
    assert pages(cloned.files()) == {f"{new}.md": "two\n"}
    assert pages(await cloned.wiki()) == {f"{page}.md": "two\n"}


async def test_a_rename_that_the_service_refuses_is_told_once(cloned: Cloned) -> None:
    cloned.service.quirks = {Quirk.RESERVED_TITLES}
    (cloned.folder / "guide.md").rename(cloned.folder / "pages.md")

    first = await cloned.run("sync")
    cloned.write("pages.md", "edited\n")
    second = await cloned.run("sync")

    first.ended(3, "pages: ", "the page keeps the name guide on the wiki")
    assert (second.code, second.err) == (0, "")
    assert (await cloned.wiki())["guide.md"] == "edited\n"


async def test_pages_whose_names_are_taken_for_one_are_kept(cloned: Cloned) -> None:
    """Only git makes them; the service cannot write the one with a space."""
    await cloned.edit({"a b": "spaced\n", "a-b": "dashed\n"})
    await cloned.run("sync")
    cloned.write("a b.md", "spaced, edited\n")
    cloned.write("a-b.md", "dashed, edited\n")

    ran = await cloned.run("sync")

    assert ran.code == 3
    assert pages(await cloned.wiki()) == {
        "a b.md": "spaced\n",
        "a-b.md": "dashed, edited\n",
    }
    assert cloned.read("a b.md") == "spaced, edited\n"
    assert "a b" in ran.err + ran.out


async def test_page_whose_file_got_spaces_is_merged(cloned: Cloned) -> None:
    """It was renamed and edited here, and edited there, since the last sync."""
    await cloned.edit({"team-rules": "# Rules\n\nfirst\n\nlast\n"})
    await cloned.run("sync")
    (cloned.folder / "team-rules.md").rename(cloned.folder / "team rules.md")
    cloned.write("team rules.md", "# Rules\n\nfirst, here\n\nlast\n")
    await cloned.edit({"team-rules": "# Rules\n\nfirst\n\nlast, there\n"})
    assert (await cloned.run("sync")).code == 0
    merged = "# Rules\n\nfirst, here\n\nlast, there\n"
    assert cloned.read("team rules.md") == merged
    assert (await cloned.wiki())["team-rules.md"] == merged
