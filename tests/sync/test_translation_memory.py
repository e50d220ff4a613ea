"""The wiki as it was last seen, while it is translated for the folder."""

import asyncio

import pytest
from msgspec.structs import replace

from tests.support.pair import OWNER, Pair
from wikisync.core.model import Digest, Format, Page, Slug, Snapshot
from wikisync.errors import Unavailable


def count_scans(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Looks at the wiki itself from now on."""
    scans: list[str] = []
    snapshot = pair.remote._wiki.snapshot

    async def counted() -> Snapshot:
        scans.append("look")
        return await snapshot()

    monkeypatch.setattr(pair.remote._wiki, "snapshot", counted)
    return scans


async def remembering(pair: Pair) -> None:
    """The wiki was looked at, and is taken as it was seen."""
    pair.save("home", "home\n")
    await pair.rest()
    await pair.remote.snapshot()
    pair.remote.is_remembering = True


def new_page(slug: str) -> Page:
    return Page(Slug(slug), Format.MARKDOWN, f"{slug}\n")


async def test_the_wiki_is_scanned_while_a_write_is_not_answered(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    await remembering(pair)
    scans = count_scans(pair, monkeypatch)
    may_go_on, is_sent = asyncio.Event(), asyncio.Event()
    write = pair.remote._wiki.write

    async def slow(page: Page, *, expected: Digest | None) -> Page:
        is_sent.set()
        await may_go_on.wait()
        return await write(page, expected=expected)

    monkeypatch.setattr(pair.remote._wiki, "write", slow)
    async with asyncio.TaskGroup() as group:
        group.create_task(pair.remote.write(new_page("first"), expected=None))
        await is_sent.wait()
        await pair.remote.snapshot()
        assert scans == ["look"]
        may_go_on.set()
    # nor is that look remembered, which may have been before the write or after
    assert "first" in (await pair.remote.snapshot()).pages
    assert scans == ["look", "look"]


async def test_the_wiki_is_scanned_after_a_write_that_failed(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    await remembering(pair)
    scans = count_scans(pair, monkeypatch)

    async def lost(_page: Page, *, expected: Digest | None) -> Page:
        raise Unavailable(f"no answer, {expected}")

    monkeypatch.setattr(pair.remote._wiki, "write", lost)
    with pytest.raises(Unavailable):
        await pair.remote.write(new_page("first"), expected=None)
    await pair.remote.snapshot()
    assert scans == ["look"]


async def test_problems_on_the_wiki_are_not_over_because_nobody_scans(
    pair: Pair,
) -> None:
    """Else a person would be called again after each save here."""
    pair.save("home", "home\n")
    await pair.rest()
    await pair.service.put_file(OWNER, "home.rst", b"of the same name\n")
    seen = await pair.remote.snapshot()
    pair.remote.is_remembering = True
    assert seen.problems
    assert (await pair.remote.snapshot()).problems == seen.problems


# -- texts that did not come along ---------------------------------------------------


def spoil_scans(pair: Pair, monkeypatch: pytest.MonkeyPatch, **changes: object) -> None:
    """Looks at the wiki itself are otherwise from now on."""
    snapshot = pair.remote._wiki.snapshot

    async def spoilt() -> Snapshot:
        return replace(await snapshot(), **changes)

    monkeypatch.setattr(pair.remote._wiki, "snapshot", spoilt)


async def test_a_scan_that_is_not_whole_is_not_remembered(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pages that it lacks would count as new names, and as gone."""
    pair.save("home", "home\n")
    await pair.rest()
    spoil_scans(pair, monkeypatch, is_complete=False)
    await pair.remote.snapshot()
    scans = count_scans(pair, monkeypatch)
    pair.remote.is_remembering = True
    await pair.remote.snapshot()
    assert scans == ["look"]


async def test_mark_of_the_wiki_outlives_a_cycle_that_did_not_scan(pair: Pair) -> None:
    """Or the next process reads the whole list, though nothing changed."""
    await remembering(pair)
    pair.remote.is_remembering = False
    await pair.cycle()
    mark = pair.known.memory.remote_tag
    assert mark
    pair.remote.is_remembering = True

    assert (await pair.cycle()).is_quiet
    assert pair.known.memory.remote_tag == mark

    pair.save("home", "edited\n")
    await pair.cycle()
    await pair.cycle()
    assert pair.known.memory.remote_tag == mark
    assert pair.known.memory.remote_again == {"home"}, "it stands for another text"
    pair.remote.is_remembering = False
    await pair.cycle()
    assert pair.known.memory.remote_tag not in {"", mark}
