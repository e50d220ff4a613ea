"""A page that is open in an editor, when the page above it is renamed.

A rename on the wiki takes the pages below along, and their files follow.  A file that
is open keeps its name until it is closed, and so do the pages renamed with it.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from tests.support.pair import OWNER, Pair, paired
from wikisync.api.wikis import Wiki
from wikisync.core.model import Slug
from wikisync.sync.decide.plan import SkipReason

PAGES = {"guide": "g\n", "guide/one": "1\n", "guide/two": "2\n", "home": "h\n"}
RENAMED = {"manual": "g\n", "manual/one": "1\n", "manual/two": "2\n", "home": "h\n"}

Rename = Callable[[Pair], Awaitable[None]]


async def on_the_wiki(pair: Pair) -> None:
    wiki = Wiki(pair.client, OWNER, pair.project)
    await wiki.edit_page("guide", title="manual", content="g\n")


async def here(pair: Pair) -> None:
    (pair.folder / "guide.md").rename(pair.folder / "manual.md")


@pytest.fixture
async def pair(tmp_path: Path) -> AsyncIterator[Pair]:
    """All is in sync, and a page below another is open in an editor."""
    async with paired(tmp_path, PAGES) as opened:
        await opened.rest()
        (opened.folder / "guide/.one.md.swp").touch()
        yield opened


@pytest.mark.parametrize("rename", [on_the_wiki, here])
async def test_an_open_page_keeps_back_the_rename_of_the_page_above_it(
    pair: Pair, rename: Rename
) -> None:
    await rename(pair)
    before = pair.texts(), await pair.wiki_texts()
    await pair.edit("home", "edited\n")
    result = await pair.rest()
    edited = {"home": "edited\n"}
    assert pair.texts() == before[0] | edited
    assert await pair.wiki_texts() == before[1] | edited
    assert {one.slug: one.reason for one in result.plan.skipped} == {
        Slug("guide"): SkipReason.OPEN_WITH_IT,
        Slug("guide/one"): SkipReason.OPEN_HERE,
        Slug("guide/two"): SkipReason.OPEN_WITH_IT,
    }


@pytest.mark.parametrize("rename", [on_the_wiki, here])
async def test_the_rename_is_carried_out_once_the_page_is_closed(
    pair: Pair, rename: Rename
) -> None:
    await rename(pair)
    await pair.rest()
    pair.save("guide/one", "saved before it was closed\n")
    await pair.rest()
    (pair.folder / "guide/.one.md.swp").unlink()
    await pair.rest()
    renamed = RENAMED | {"manual/one": "saved before it was closed\n"}
    assert pair.texts() == await pair.wiki_texts() == renamed
