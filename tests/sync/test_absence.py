"""What is asked of the wiki before pages that its list lacks count as deleted."""

from collections.abc import Collection

from msgspec.structs import replace

from tests.support.copies import agreed
from tests.support.memory import MemoryReplica
from wikisync.core.model import Slug, Snapshot, digest_of
from wikisync.errors import NotFound
from wikisync.sync.base.state import WikiState
from wikisync.sync.decide.plan import DeleteLocal, Plan
from wikisync.sync.run.parts import Cycle, CycleOptions
from wikisync.sync.run.removals import watch_absences

PAGES = {f"page-{number:02}": "text" for number in range(40)}


async def doubted(
    known: WikiState, remote: MemoryReplica, left_out: Collection[str]
) -> str | None:
    """The page whose absence from a list without some pages is not believed."""
    seen = await remote.snapshot()
    remote.log.clear()
    pages = {slug: page for slug, page in seen.pages.items() if slug not in left_out}
    known.record(map(agreed, PAGES))
    text = digest_of("text")
    gone = [DeleteLocal(Slug(slug), text) for slug in PAGES if slug not in pages]
    cycle = Cycle(remote, MemoryReplica(), known, CycleOptions(), lambda: 0.0)
    there = replace(seen, pages=pages)
    plan = Plan.from_actions(gone)
    return (await watch_absences(cycle, plan, Snapshot({}), there)).doubted


async def test_every_page_that_may_go_unasked_is_asked_for(known: WikiState) -> None:
    """One page that is really gone says nothing of the others."""
    missing = list(PAGES)[:4]
    remote = MemoryReplica({"page-03": "text", **dict(list(PAGES.items())[4:])})
    assert await doubted(known, remote, missing) == "page-03"


async def test_more_pages_than_may_go_cost_one_question(known: WikiState) -> None:
    """A person is asked about them anyway, and an outage is no time for 40 reads."""
    remote = MemoryReplica(dict(list(PAGES.items())[5:]))
    assert await doubted(known, remote, ()) is None
    assert remote.log == ["read page-00", "read page-05"]


async def test_wiki_that_denies_every_page_is_not_asked_for_all_of_them(
    known: WikiState,
) -> None:
    remote = MemoryReplica(PAGES)
    asked: list[str] = []

    async def deny(entry: str) -> None:
        if entry.startswith("read "):
            asked.append(entry)
            raise NotFound(f"nothing: {entry}")

    remote.before = deny
    assert await doubted(known, remote, ["page-07"]) == "page-07"
    assert asked == ["read page-07", "read page-00", "read page-01", "read page-02"]
