"""What is asked of the wiki before pages that its list lacks count as deleted."""

from collections.abc import Iterable

from msgspec.structs import replace

from tests.support.memory import MemoryReplica
from wikisync.core.model import Format, Slug, Snapshot, WikiOwner, digest_of
from wikisync.errors import NotFound
from wikisync.sync.base.state import State
from wikisync.sync.decide.ledger import Agreed
from wikisync.sync.decide.plan import BasePage, DeleteLocal, Plan
from wikisync.sync.run.parts import Cycle, CycleOptions
from wikisync.sync.run.removals import watch_absences

PAGES = {f"page-{number:02}": "text" for number in range(40)}
TEXT = digest_of("text")
OWNER = WikiOwner("project", "docs/handbook")
HERE = Snapshot({})
BASE = {Slug(slug): BasePage(Slug(slug), Format.MARKDOWN, TEXT, TEXT) for slug in PAGES}


async def list_without(remote: MemoryReplica, slugs: Iterable[str]) -> Snapshot:
    """What the wiki would list if it left these pages out."""
    seen = await remote.snapshot()
    remote.log.clear()
    left_out = set(slugs)
    pages = {slug: page for slug, page in seen.pages.items() if slug not in left_out}
    return replace(seen, pages=pages)


async def doubted(
    state: State, remote: MemoryReplica, missing: Iterable[str]
) -> str | None:
    """The page whose absence from the wiki's list is not believed."""
    there = await list_without(remote, missing)
    known = state.wiki(OWNER)
    known.record([Agreed.of(page, "text") for page in BASE.values()])
    gone = [DeleteLocal(slug, TEXT) for slug in BASE if slug not in there.pages]
    options = CycleOptions(reads_max=1)
    cycle = Cycle(remote, MemoryReplica(), known, options, lambda: 0.0)
    absences = await watch_absences(cycle, Plan.from_actions(gone), HERE, there)
    return absences.doubted


async def test_every_page_that_may_go_unasked_is_asked_for(state: State) -> None:
    """One page that is really gone says nothing of the others."""
    missing = list(PAGES)[:4]
    remote = MemoryReplica({"page-03": "text", **dict(list(PAGES.items())[4:])})
    assert await doubted(state, remote, missing) == "page-03"


async def test_more_pages_than_may_go_cost_one_question(state: State) -> None:
    """A person is asked about them anyway, and an outage is no time for 40 reads."""
    remote = MemoryReplica(dict(list(PAGES.items())[5:]))
    assert await doubted(state, remote, ()) is None
    assert remote.log == ["read page-00", "read page-05"]


async def test_wiki_that_denies_every_page_is_not_asked_for_all_of_them(
    state: State,
) -> None:
    remote = MemoryReplica(PAGES)
    asked: list[str] = []

    async def deny(entry: str) -> None:
        if entry.startswith("read "):
            asked.append(entry)
            raise NotFound(f"nothing: {entry}")

    remote.before = deny
    assert await doubted(state, remote, ["page-07"]) == "page-07"
    assert asked == ["read page-07", "read page-00", "read page-01", "read page-02"]
