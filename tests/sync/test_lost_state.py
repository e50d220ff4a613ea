"""A folder and a wiki that are equal, and whose record was lost (real parts)."""

import pytest

from tests.support.git import needs_git
from tests.support.pair import OWNER, Pair
from tests.support.pictures import BLUE, RED, count_uploads, put
from wikisync.sync.decide.plan import HoldReason

PICTURES = {"red.png": RED, "pics/b c.png": BLUE, "pics/gr\u00fcn.png": RED + b"!"}
LINKED = "# P\n\n![red](red.png) and ![red](./red.png)\n"


async def lose(pair: Pair, files: dict[str, str]) -> list[str]:
    """Sync a folder with these pages, and lose the record; gives later uploads."""
    for name, content in PICTURES.items():
        put(pair, name, content)
    for name, text in files.items():
        pair.save(name, text)
    await pair.rest()
    pair.state.close()
    for path in pair.private.glob("state.db*"):
        path.unlink()
    pair.restart()
    return count_uploads(pair)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("home.md", LINKED),
        ("home.md", LINKED.replace("\n", "\r\n")),
        ("home.md", "\ufeff" + LINKED),
        ("home.md", f"---\ntitle: Start\n---\n{LINKED}"),
        ("home.md", "![b](pics/b%20c.png) ![b](<pics/b c.png>) `pics/b c.png`\n"),
        ("home.md", '<img src="pics/b c.png"> [red]\n\n[red]: red.png "r"\n'),
        ("home.md", "![g](pics/gr\u00fcn.png) ![g](pics/gr%C3%BCn.png)\n"),
        ("sub/home.md", "![b](../pics/b%20c.png)\n![r](/red.png) [[red.png]]\n"),
        ("home.rdoc", "= Home\n\n{red}[red.png]\n"),
        ("home.asciidoc", "= Home\n\nimage::red.png[red]\n"),
        ("home.org", "* Home\n\n[[file:red.png][red]]\n"),
        ("My Page.md", "a page\n"),
        ("My Page.md", LINKED),
        ("My Folder/My Own Page.org", "* a page\n"),
        ("My Folder/My Page.md", "![b](<../pics/b c.png>)\n"),
        ("u\u0308ber uns.md", "a page\n"),
    ],
)
async def test_what_is_equal_is_adopted(pair: Pair, name: str, text: str) -> None:
    sent = await lose(pair, {name: text})
    before = await pair.wiki_texts(), pair.texts()
    result = await pair.rest()
    assert (result.held, result.problems, sent) == ((), (), [])
    assert (await pair.wiki_texts(), pair.texts()) == before
    assert pair.known.base().keys() == (await pair.wiki_texts()).keys()
    pair.restart()
    assert (await pair.cycle()).plan.actions == ()


@needs_git
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("m.md", "![m](red.png) ![1](img/p.png)\n"),
        ("m.md", "![1](/img/p.png)\n\n![m](red.png) ![m](red.png)\n"),
        ("sub/m.asciidoc", "image::../red.png[]\n\nimage::../img/p.png[]\n"),
    ],
)
async def test_picture_of_its_own_place_is_adopted_beside_an_upload(
    pair: Pair, name: str, text: str
) -> None:
    pushed = {"img/p.png": RED + b"?", "p.md": b"![1](img/p.png)\n"}
    await pair.service.put_files(OWNER, pushed)
    await pair.rest()
    sent = await lose(pair, {name: text})
    result = await pair.rest()
    assert (result.held, result.problems, sent) == ((), (), [])
    assert "" not in pair.known.uploads_by_digest().values()


@needs_git
async def test_picture_that_was_changed_here_stays_the_one_of_its_page(
    pair: Pair,
) -> None:
    """The wiki's own repository still has the old one in that place."""
    pushed = {"img/p.png": RED + b"?", "p.md": b"![1](img/p.png)\n"}
    await pair.service.put_files(OWNER, pushed)
    await pair.rest()
    put(pair, "img/p.png", BLUE + b"mine")
    await pair.rest()
    before = await pair.wiki_texts()
    assert "uploads/" in before["p"]
    sent = await lose(pair, {})
    for _ in range(2):
        await pair.rest()
    assert (await pair.wiki_texts(), sent) == (before, [])
    assert (pair.folder / "img/p.png").read_bytes() == BLUE + b"mine"


async def test_another_text_is_held_under_the_name_that_the_page_has(
    pair: Pair,
) -> None:
    await lose(pair, {"My Page.md": "one\n"})
    pair.save("My Page.md", "two\n")
    result = await pair.rest()
    assert [(one.slug, one.reason) for one in result.held] == [
        ("My-Page", HoldReason.CREATED_BOTH)
    ]
    assert await pair.wiki_texts() == {"My-Page": "one\n"}


async def test_a_page_that_two_files_may_be_is_taken_for_neither(pair: Pair) -> None:
    await lose(pair, {"My Page.md": "one\n"})
    pair.save("My  Page.md", "one\n")
    await pair.rest()
    assert await pair.wiki_texts() == {"My-Page": "one\n"}
    assert pair.known.aliases() == {}


async def test_a_dry_run_tells_the_same_and_remembers_nothing(pair: Pair) -> None:
    await lose(pair, {"My Page.md": LINKED, "home.md": LINKED})
    dry = await pair.plan()
    assert (pair.known.aliases(), pair.known.uploads()) == ({}, {})
    assert dry.plan == (await pair.cycle()).plan
