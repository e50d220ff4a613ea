"""``status --offline`` decides as a sync does, on the wiki as it was last seen."""

import time
from collections.abc import Callable, Coroutine

import pytest

from tests.support.workspaces import HANDBOOK, Cloned
from wikisync.core.model import Slug, digest_of
from wikisync.merging.conflict import MARKER

PICTURE = b"\x89PNG"


@pytest.fixture
async def cloned(cloned: Cloned) -> Cloned:
    await cloned.run("sync")
    return cloned


async def marked(cloned: Cloned) -> None:
    cloned.write("guide.md", f"{MARKER} conflict 1 of 1: here %%%%\n")


async def marked_by_git(cloned: Cloned) -> None:
    cloned.write("guide.md", "<<<<<<< HEAD\na\n=======\nb\n>>>>>>> main\n")


async def looping(cloned: Cloned) -> None:
    cloned.write("guide.md", "mine\n")
    with cloned.state() as state:
        known = state.wiki(HANDBOOK)
        for _ in range(5):
            known.note_write(Slug("guide"), time.time())
            known.note_write(Slug("guide"), time.time(), digest_of("mine\n"))


async def open_in_vim(cloned: Cloned) -> None:
    cloned.write(".guide.md.swp", "")
    (cloned.folder / "guide.md").unlink()


async def copied(cloned: Cloned) -> None:
    cloned.write("guide (conflicted copy).md", "mine\n")


async def held_and_edited(cloned: Cloned) -> None:
    await cloned.clash()
    cloned.write("guide.md", "mine\n\nand mine\n")


async def held_and_made_equal(cloned: Cloned) -> None:
    await held_and_edited(cloned)
    cloned.write("guide.md", "theirs\n")


async def picture_changed(cloned: Cloned) -> None:
    (cloned.folder / "a.png").write_bytes(PICTURE)
    cloned.write("guide.md", "![a](a.png)\n")
    await cloned.run("sync")
    (cloned.folder / "a.png").write_bytes(PICTURE + b"2")


async def link_to_a_file_that_comes(cloned: Cloned) -> None:
    cloned.write("guide.md", "![a](a.png)\n")
    await cloned.run("sync")
    (cloned.folder / "a.png").write_bytes(PICTURE)


async def renamed(cloned: Cloned) -> None:
    (cloned.folder / "guide.md").rename(cloned.folder / "manual.md")


@pytest.mark.parametrize(
    ("happens", "words"),
    [
        (marked, "it contains a conflict marker line"),
        (marked_by_git, "it contains git conflict markers"),
        (looping, "sent several times with the same text"),
        (open_in_vim, "open in an editor here"),
        (copied, ""),
        (held_and_edited, "edited here and on the wiki; resolve"),
        (held_and_made_equal, ""),
        (picture_changed, "the next sync uploads it"),
        (link_to_a_file_that_comes, "the next sync uploads it"),
        (renamed, "renamed to manual here"),
    ],
)
async def test_status_says_the_same_with_and_without_the_wiki(
    cloned: Cloned, happens: Callable[[Cloned], Coroutine[None, None, None]], words: str
) -> None:
    await happens(cloned)
    seen = (await cloned.run("status", "--json")).json["wikis"][0]
    unseen = (await cloned.run("status", "--offline", "--json")).json["wikis"][0]
    assert words in "".join(one["sentence"] for one in seen["differences"])
    for part in ("pages", "differences", "problems", "batches"):
        assert unseen[part] == seen[part]
