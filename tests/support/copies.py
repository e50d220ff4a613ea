"""Two copies of a wiki in memory with the engine between them, and a turned clock.

For rules that need no disk and no service; ``pair`` is the same on real parts::

    copies = Copies(state, {"home": "one\\n"})
    copies.here.put("home", "two\\n")
    await copies.rest()
    assert copies.texts() == {"home": "two\\n"}
"""

from tests.support.memory import MemoryReplica
from wikisync.core.model import Digest, Format, Page, Slug, WikiOwner, digest_of
from wikisync.errors import Unavailable
from wikisync.sync.base.state import State, WikiState
from wikisync.sync.decide.ledger import Agreed
from wikisync.sync.decide.plan import BasePage
from wikisync.sync.decide.safety import Decision, decide
from wikisync.sync.replica import GONE_THERE
from wikisync.sync.run.cycle import run_cycle
from wikisync.sync.run.parts import Cycle, CycleOptions, CycleResult
from wikisync.sync.views import AliasedFolder

OWNER = WikiOwner("project", "docs/handbook")
PAGES = {"home": "one\ntwo\nthree\n", "other": "other\n"}
ROUNDS_MAX = 12
STEP_S = 31.0
"""Between two cycles."""


class Died(BaseException):
    """The process ended here."""


class ShakyWiki(MemoryReplica):
    """A wiki that moves what is below a page, and may lose the answer to a write."""

    def __init__(self, pages: dict[str, str]) -> None:
        super().__init__(pages, gives_texts=True)
        self.loses: set[str] = set()
        """Operations whose answer is lost: ``write``, ``move``, ``delete``."""
        self.renames: dict[Slug, Slug] = {}
        """New pages that get another name than they were given."""

    async def write(self, page: Page, *, expected: Digest | None) -> Page:
        slug = self.renames.get(page.slug, page.slug) if expected is None else page.slug
        named = Page(slug, page.format, page.content)
        answer = await super().write(named, expected=expected)
        self._answer("write")
        return answer

    async def move(self, slug: Slug, target: Slug, *, expected: Digest) -> Page:
        answer = await super().move(slug, target, expected=expected)
        for below in [one for one in self.pages if one.startswith(f"{slug}/")]:
            page = self.pages.pop(below)
            self.put(f"{target}{below[len(slug) :]}", page.content, page.format)
        self._answer("move")
        return answer

    async def delete(
        self, slug: Slug, *, expected: Digest, why: str = GONE_THERE
    ) -> None:
        await super().delete(slug, expected=expected, why=why)
        self._answer("delete")

    def _answer(self, operation: str) -> None:
        if operation in self.loses:
            raise Unavailable(f"the answer to {operation} was lost")


class Copies:
    """A folder and a wiki that hold the same pages at first, and know it."""

    def __init__(self, state: State, pages: dict[str, str] | None = None) -> None:
        self.state = state
        self.here = MemoryReplica(pages)
        self.there = ShakyWiki(pages or {})
        self.now = 1_700_000_000.0
        for slug in self.here.pages:
            self.here.identities[slug] = f"here-{slug}"

    @property
    def known(self) -> WikiState:
        return self.state.wiki(OWNER)

    async def cycle(
        self, options: CycleOptions | None = None, *, uploads_new: bool = True
    ) -> CycleResult:
        """One cycle, and some time."""
        self.now += STEP_S
        if uploads_new:
            self.known.remember(left_out=None)
        return await self._run(self.state, options)

    async def cycles(self, count: int) -> CycleResult:
        """So many cycles, and what the last one found."""
        for _ in range(count):
            result = await self.cycle()
        return result

    async def plan(self, options: CycleOptions | None = None) -> CycleResult:
        """What a cycle would do."""
        self.now += STEP_S
        self.known.remember(left_out=None)
        with State.copy(self.state.path, is_live=True) as copy:
            return await self._run(copy, options)

    async def _run(self, state: State, options: CycleOptions | None) -> CycleResult:
        known, asked = state.wiki(OWNER), options or CycleOptions()
        here = AliasedFolder(self.here, known)
        return await run_cycle(
            Cycle(self.there, here, known, asked, clock=lambda: self.now)
        )

    async def rest(self, options: CycleOptions | None = None) -> CycleResult:
        """Cycles until nothing is left to do."""
        for _ in range(ROUNDS_MAX):
            result = await self.cycle(options)
            if result.is_quiet and not result.has_more and result.next_scan_s is None:
                return result
        raise AssertionError(f"never at rest: {result}")

    def rename_here(self, slug: str, target: str) -> None:
        """A person renames a file."""
        page = self.here.pages.pop(Slug(slug))
        self.here.put(target, page.content, page.format)
        self.here.identities[Slug(target)] = self.here.identities.pop(Slug(slug))

    def rename_there(self, slug: str, target: str) -> None:
        """A page gets another name on the wiki."""
        page = self.there.pages.pop(Slug(slug))
        self.there.put(target, page.content, page.format)

    def decide(self, decision: Decision) -> None:
        """A person decides every batch that waits."""
        batches = self.known.memory.batches
        for batch in batches:
            if batch.decision is Decision.WAITING:
                batches = decide(batches, batch.id, decision)
        self.known.record_batches(batches)

    def texts(self) -> dict[str, str]:
        """What both copies hold, which must be the same."""
        assert self.here.texts() == self.there.texts()
        return self.here.texts()


async def rested(state: State, pages: dict[str, str]) -> Copies:
    """Copies after their first cycles: both sides hold the pages and agreed on them."""
    copies = Copies(state, pages)
    await copies.rest()
    return copies


def agreed(slug: str, text: str = "text") -> Agreed:
    """A page that both sides have with this text."""
    page = BasePage(Slug(slug), Format.MARKDOWN, digest_of(text), digest_of(text))
    return Agreed.of(page, text)
