"""Quirks of the service's parts: the storage of wikis, webhooks, limits.

The service is built of these.  Each does what its plain class does while no quirk
is on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from wikisync.service.committing import Author
from wikisync.service.editing import CommitPlan
from wikisync.service.hooks import Deliveries, WikiEvent
from wikisync.service.quirks import Quirk, Quirks, Turns
from wikisync.service.repository import WikiRepository
from wikisync.service.settings import KIB, Hook, HookLimits, Limits
from wikisync.service.storage import WikiStorage
from wikisync.service.tree import WikiTree

OTHER_PROJECT_ID = 1_000_000
"""Added to the ids of projects under ``another-project``."""

QuirksNow = Callable[[], Quirks]
"""The quirks that are on at present; they change while a service runs."""


class QuirkyStorage(WikiStorage):
    """A wiki's repository whose files are seen and changed under quirks."""

    def __init__(
        self,
        repository: WikiRepository,
        note_write: Callable[[int], None] | None,
        note_change: Callable[[WikiRepository], None],
        quirks: QuirksNow,
    ) -> None:
        super().__init__(repository, note_write, note_change)
        self._quirks = quirks

    def note_write(self, user_id: int) -> None:
        """Record that this user wrote, unless activity stands still."""
        if Quirk.ACTIVITY_STANDS_STILL not in self._quirks():
            super().note_write(user_id)

    async def tree(self, version: str | None = None) -> WikiTree | None:
        """The files that are seen."""
        tree = await super().tree(version)
        return None if tree is None else _seen(self._quirks(), tree)

    async def change(
        self,
        decide: Callable[[WikiTree], CommitPlan],
        author: Author,
        *,
        branch: str | None = None,
    ) -> tuple[CommitPlan, WikiTree]:
        """Commit what ``decide`` makes of the files that are seen."""
        on = self._quirks()

        def decide_altered(tree: WikiTree) -> CommitPlan:
            seen = _seen(on, tree)
            change = decide(seen)
            if Quirk.KEEPS_BELOW in on and change.renamed is not None:
                return _without_pages_below(change, seen)
            return change

        return await super().change(decide_altered, author, branch=branch)


class QuirkyDeliveries(Deliveries):
    """Webhooks of which some get lost or come twice."""

    def __init__(
        self, limits: HookLimits, version: str, quirks: QuirksNow, turns: Turns
    ) -> None:
        super().__init__(limits, version)
        self._quirks = quirks
        self._turns = turns

    def announce(self, event: WikiEvent, hooks: Sequence[Hook]) -> None:
        """Let every hook know never, once or twice."""
        on = self._quirks()
        if Quirk.HOOKS_WITHOUT_VERSION in on:
            event = replace(event, version=None)
        for _ in range(self._count(on)):
            super().announce(event, hooks)

    def _count(self, on: Quirks) -> int:
        is_next = self._turns.is_next
        if Quirk.LOSES_HOOKS in on and is_next(Quirk.LOSES_HOOKS):
            return 0
        return 1 + (Quirk.REPEATS_HOOKS in on and is_next(Quirk.REPEATS_HOOKS))


def limits_under(on: Quirks, limits: Limits) -> Limits:
    """The limits in force."""
    if Quirk.SMALL_LIMITS not in on:
        return limits
    return replace(
        limits,
        content_bytes_max=64 * KIB,
        title_bytes_max=60,
        directory_bytes_max=60,
        attachment_bytes_max=256 * KIB,
    )


def wiki_id_under(on: Quirks, owner_id: int) -> int:
    """The owner whose wiki is shown as that of this one."""
    return owner_id + (OTHER_PROJECT_ID if Quirk.ANOTHER_PROJECT in on else 0)


def _seen(on: Quirks, tree: WikiTree) -> WikiTree:
    if Quirk.EMPTY_LIST in on:
        return WikiTree(None, ())
    if Quirk.EXACT_CASE in on:
        return WikiTree(tree.commit, tree.files, tree.pages, folds_case=False)
    return tree


def _without_pages_below(change: CommitPlan, tree: WikiTree) -> CommitPlan:
    """A rename that leaves the pages below where they are."""
    assert change.renamed is not None, "asked for renames only"
    page = tree.find(change.renamed[0])
    assert page is not None, "it was found when the rename was decided"
    links = {path: file for path, file in change.links.items() if path == change.page}
    return replace(change, links=links, removes=change.removes & {page.path})
