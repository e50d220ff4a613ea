"""Pictures that come after the page that shows them, on either side."""

import threading

import pytest
from msgspec.structs import replace

from tests.support.pair import Pair
from tests.support.pictures import (
    BLUE,
    RED,
    count_uploads,
    put,
    shown,
    there,
    upload_of,
)
from tests.support.quirks import Quirk
from wikisync.core.model import Digest, Format, Page, Slug
from wikisync.errors import Unavailable
from wikisync.markup import retarget
from wikisync.markup.page import parse_page
from wikisync.markup.record import MarkupOptions, ParsedPage
from wikisync.sync.decide.plan import Adopt, Push


async def link_red(pair: Pair) -> None:
    """A page with a picture, both on the wiki."""
    put(pair, "red.png", RED)
    pair.save("home", "![red](red.png)\n")
    await pair.rest()


async def cycle_without_answers(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    """One cycle in which the service takes no page."""

    async def refused(_page: Page, *, expected: Digest | None) -> Page:
        raise Unavailable(f"no answer, {expected}")

    with monkeypatch.context() as patched:
        patched.setattr(pair.remote._wiki, "write", refused)
        await pair.cycle()


async def test_a_new_picture_is_sent_though_its_page_was_refused_at_first(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The link stays what it was, whichever picture the wiki shows."""
    await link_red(pair)
    before = await upload_of(pair)
    put(pair, "red.png", BLUE)
    await cycle_without_answers(pair, monkeypatch)
    assert await upload_of(pair) == before
    pair.restart()
    await pair.rest()
    assert await shown(pair) == BLUE
    assert pair.texts()["home"] == "![red](red.png)\n"


async def test_an_answer_that_is_lost_leaves_the_links_as_they_were_written(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    await link_red(pair)
    put(pair, "red.png", BLUE)
    pair.save("home", "![red](./red.png) [and](red.png)\n")
    write = pair.remote._wiki.write

    async def lost(page: Page, *, expected: Digest | None) -> Page:
        await write(page, expected=expected)
        raise Unavailable("no answer")

    with monkeypatch.context() as patched:
        patched.setattr(pair.remote._wiki, "write", lost)
        await pair.cycle()
    pair.restart()
    result = await pair.rest()
    assert pair.texts()["home"] == "![red](./red.png) [and](red.png)\n"
    assert not result.held
    assert pair.known.base()[Slug("home")].uploads == (await upload_of(pair),)


async def test_an_edit_of_a_text_that_was_not_answered_keeps_its_link(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    await link_red(pair)
    put(pair, "red.png", BLUE)
    write = pair.remote._wiki.write

    async def lost(page: Page, *, expected: Digest | None) -> Page:
        answer = await write(page, expected=expected)
        await pair.edit("home", f"{answer.content}\nedited there\n")
        raise Unavailable("no answer")

    with monkeypatch.context() as patched:
        patched.setattr(pair.remote._wiki, "write", lost)
        await pair.cycle()
    pair.restart()
    await pair.rest()
    assert pair.texts() == {"home": "![red](red.png)\n\nedited there\n"}
    assert await shown(pair) == BLUE


async def test_an_edit_on_the_wiki_comes_beside_a_picture_that_changed_here(
    pair: Pair,
) -> None:
    await link_red(pair)
    put(pair, "red.png", BLUE)
    await pair.edit("home", f"{await there(pair)}\nedited there\n")
    while (await pair.cycle()).has_more:
        pass
    assert pair.texts() == {"home": "![red](red.png)\n\nedited there\n"}
    assert await shown(pair) == BLUE


async def test_the_same_edit_on_both_sides_of_a_page_with_a_picture_is_adopted(
    pair: Pair,
) -> None:
    await link_red(pair)
    pair.save("home", "new ![red](red.png)\n")
    await pair.edit("home", f"new {await there(pair)}")
    plan = (await pair.cycle()).plan
    assert [type(action) for action in plan.actions] == [Adopt]
    assert (await pair.cycle()).plan.actions == ()


async def test_a_page_that_is_renamed_and_edited_on_the_wiki_keeps_its_link(
    pair: Pair,
) -> None:
    pair.service.quirks = {Quirk.META_ID}
    await link_red(pair)
    wiki, home = pair.remote._wiki, Slug("home")
    before = (await wiki.read(home)).digest
    page = await wiki.move(home, Slug("start"), expected=before)
    edited = f"{page.content}\nedited there\n"
    await wiki.write(replace(page, content=edited), expected=before)
    await pair.rest()
    assert pair.texts() == {"start": "![red](red.png)\n\nedited there\n"}


async def test_a_page_that_is_moved_here_with_its_picture_keeps_its_link(
    pair: Pair,
) -> None:
    """Edited on the wiki at once, and moved back without it, as an undo does."""
    pair.service.quirks = {Quirk.META_ID}
    await link_red(pair)
    upload = await upload_of(pair)
    below = pair.folder / "below"
    below.mkdir()
    for name in ("home.md", "red.png"):
        (pair.folder / name).rename(below / name)
    await pair.edit("home", f"{await there(pair)}\nedited there\n")
    await pair.rest()
    assert pair.texts() == {"below/home": "![red](red.png)\n\nedited there\n"}
    (below / "home.md").rename(pair.folder / "home.md")
    pair.save("home", "![red](red.png)\n\nedited there and here\n")
    await pair.rest()
    assert f"![red]({upload})\n" in await there(pair)


async def test_a_conflict_that_is_settled_beside_a_picture_is_sent_once(
    pair: Pair,
) -> None:
    await link_red(pair)
    pair.save("home", "mine ![red](red.png)\n")
    await pair.edit("home", f"theirs {await there(pair)}")
    (held,) = (await pair.rest()).held
    assert held.slug == "home"
    pair.save("home.conflict.md", "both ![red](red.png)\n")
    plan = (await pair.cycle()).plan
    assert [type(action) for action in plan.actions] == [Push]
    assert pair.texts()["home"] == "both ![red](red.png)\n"
    assert (await there(pair)).startswith("both ![red](uploads/")


async def test_a_name_that_is_put_together_keeps_its_page_until_it_is_whole(
    pair: Pair,
) -> None:
    """Nothing of the source could be replaced, and the wiki's link would be broken."""
    put(pair, "pics/red.png", RED)
    pair.save("home.adoc", ":imagesdir: pics\n\nimage::red.png[]\n")
    pair.save("other", "other\n")
    sent = count_uploads(pair)
    await pair.rest()
    (held,) = (await pair.cycle()).held
    assert held.slug == "home"
    assert "pics/red.png with a path built from attributes" in str(held)
    assert sent == []
    assert await pair.wiki_texts() == {"other": "other\n"}
    pair.save("home.adoc", "image::pics/red.png[]\n")
    await pair.rest()
    assert await upload_of(pair)


async def test_a_name_put_together_that_the_wiki_has_keeps_no_edit(pair: Pair) -> None:
    """The file may be in the wiki's repository under that very name."""
    text = ":imagesdir: pics\n\nimage::red.png[]\n"
    await pair.edit("home", text, Format.ASCIIDOC)
    await pair.rest()
    put(pair, "pics/red.png", RED)
    pair.save("home.asciidoc", f"{text}\nmore\n")
    await pair.rest()
    assert await there(pair) == f"{text}\nmore\n"


async def test_links_are_parsed_beside_the_loop(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One page of 270 KB kept all wikis of a watch waiting for a second."""
    threads: list[threading.Thread] = []

    def noted(page: Page, options: MarkupOptions) -> ParsedPage:
        threads.append(threading.current_thread())
        return parse_page(page, options)

    monkeypatch.setattr(retarget, "parse_page", noted)
    put(pair, "red.png", RED)
    pair.save("home", "![a](red.png)\n")
    await pair.rest()
    await pair.edit("home", f"{(await there(pair))}\nedited\n")
    await pair.rest()
    assert pair.texts()["home"] == "![a](red.png)\n\nedited\n"
    assert threads
    assert threading.main_thread() not in threads


async def test_a_late_picture_is_sent_though_its_page_was_refused_at_first(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    pair.save("home", "![red](red.png)\n")
    await pair.rest()
    put(pair, "red.png", RED)
    await cycle_without_answers(pair, monkeypatch)
    await pair.rest()
    assert await upload_of(pair)
