"""What is asked of the wiki before pages that its list lacks count as deleted."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from tests.support.memory import MemoryReplica
from wikisync.errors import NotFound
from wikisync.model import Format, Slug, Snapshot, digest_of
from wikisync.sync.absence import confirm_absences
from wikisync.sync.plan import BasePage

PAGES = {f"page-{number:02}": "text" for number in range(40)}
TEXT = digest_of("text")
BASE = {Slug(slug): BasePage(Slug(slug), Format.MARKDOWN, TEXT, TEXT) for slug in PAGES}


async def list_without(remote: MemoryReplica, slugs: Iterable[str]) -> Snapshot:
    """What the wiki would list if it left these pages out."""
    seen = await remote.snapshot()
    remote.log.clear()
    left_out = set(slugs)
    pages = {slug: page for slug, page in seen.pages.items() if slug not in left_out}
    return replace(seen, pages=pages)


async def confirmed(remote: MemoryReplica, seen: Snapshot) -> Snapshot:
    return await confirm_absences(remote, seen, BASE, reads_max=1)


async def test_every_page_that_may_go_unasked_is_asked_for() -> None:
    """One page that is really gone says nothing of the others."""
    missing = list(PAGES)[:4]
    remote = MemoryReplica({"page-03": "text", **dict(list(PAGES.items())[4:])})
    doubted = await confirmed(remote, await list_without(remote, missing))
    assert not doubted.is_complete
    assert [problem.subject for problem in doubted.problems] == ["page-03"]


async def test_more_pages_than_may_go_cost_one_question() -> None:
    """A person is asked about them anyway, and an outage is no time for 40 reads."""
    remote = MemoryReplica(dict(list(PAGES.items())[5:]))
    seen = await list_without(remote, ())
    assert await confirmed(remote, seen) == seen
    assert remote.log == ["read page-00", "read page-05"]


async def test_incomplete_list_is_believed_in_nothing_and_asked_about_nothing() -> None:
    remote = MemoryReplica(PAGES)
    seen = replace(await list_without(remote, ["page-07"]), is_complete=False)
    assert await confirmed(remote, seen) == seen
    assert remote.log == []


async def test_wiki_that_denies_every_page_is_not_asked_for_all_of_them() -> None:
    remote = MemoryReplica(PAGES)
    seen = await list_without(remote, ["page-07"])
    asked: list[str] = []

    async def deny(entry: str) -> None:
        asked.append(entry)
        raise NotFound(f"nothing: {entry}")

    remote.before = deny
    assert not (await confirmed(remote, seen)).is_complete
    assert asked == ["read page-07", "read page-00", "read page-01", "read page-02"]
