"""A service whose storage, webhooks and limits have quirks while they are on."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec.structs import replace

from tests.support.flat_tree import FlatTree
from tests.support.quirks import Quirk, Quirks, Turns
from wikisync.core.model import OwnerKind
from wikisync.service.committing import Author
from wikisync.service.editing import CommitPlan
from wikisync.service.hooks import Deliveries, WikiEvent
from wikisync.service.instance import Service
from wikisync.service.repository import WikiStorage
from wikisync.service.settings import KIB, Hook, Limits, Settings
from wikisync.service.tree import WikiTree

OTHER_PROJECT_ID = 1_000_000
"""Added to the ids of projects under ``another-project``."""


class QuirkyService(Service):
    """The parts of one service, and which quirks are on."""

    def __init__(self, data: Path, settings: Settings | None = None) -> None:
        super().__init__(data, settings)
        self.quirks: Quirks = frozenset()
        """Replaced as a whole; they change while the service runs."""
        self.turns = Turns()
        self.latency_s = 0.0
        """Wait this long before each answer."""
        self.import_gate: asyncio.Event | None = None
        """Forks and imports stay ``started`` until it is set."""
        self.deliveries = QuirkyDeliveries(self)

    @property
    def limits(self) -> Limits:
        """The limits in force."""
        limits = super().limits
        if Quirk.SMALL_LIMITS not in self.quirks:
            return limits
        return replace(
            limits,
            content_bytes_max=64 * KIB,
            title_bytes_max=60,
            directory_bytes_max=60,
            attachment_bytes_max=256 * KIB,
        )

    def wiki(self, kind: OwnerKind, owner_id: int) -> WikiStorage:
        """The wiki that is shown as that of a project or group."""
        if Quirk.ANOTHER_PROJECT in self.quirks:
            owner_id += OTHER_PROJECT_ID
        plain = super().wiki(kind, owner_id)
        if isinstance(plain, QuirkyStorage):
            return plain
        self._wikis[kind, owner_id] = quirky = QuirkyStorage(plain, self)
        return quirky

    async def wait_for_import(self) -> None:
        """Wait until the gate is open."""
        if self.import_gate is not None:
            await self.import_gate.wait()

    def _note_write(self, project_id: int, user_id: int) -> None:
        super()._note_write(project_id % OTHER_PROJECT_ID, user_id)


class QuirkyStorage(WikiStorage):
    """A wiki's repository whose files are seen and changed under quirks."""

    def __init__(self, plain: WikiStorage, service: QuirkyService) -> None:
        super().__init__(plain.repository, plain._note_write, plain._note_change)
        self._service = service

    def note_write(self, user_id: int) -> None:
        """Record that this user wrote, unless activity stands still."""
        if Quirk.ACTIVITY_STANDS_STILL not in self._service.quirks:
            super().note_write(user_id)

    async def tree(self, version: str | None = None) -> WikiTree:
        """The files that are seen."""
        return _seen(self._service.quirks, await super().tree(version))

    async def change(
        self,
        decide: Callable[[WikiTree], CommitPlan],
        author: Author,
        *,
        branch: str | None = None,
    ) -> tuple[WikiTree, CommitPlan, WikiTree]:
        """Commit what ``decide`` makes of the files that are seen."""
        on = self._service.quirks

        def decide_altered(tree: WikiTree) -> CommitPlan:
            seen = _seen(on, tree)
            change = decide(seen)
            if Quirk.KEEPS_BELOW in on and change.renamed is not None:
                return _without_pages_below(change, seen)
            return change

        before, change, after = await super().change(
            decide_altered, author, branch=branch
        )
        return _seen(on, before), change, after


class QuirkyDeliveries(Deliveries):
    """Webhooks of which some get lost or come twice."""

    def __init__(self, service: QuirkyService) -> None:
        settings = service.settings
        super().__init__(settings.hook_limits, settings.profile.version)
        self._service = service

    def announce(self, event: WikiEvent, hooks: Sequence[Hook]) -> None:
        """Let every hook know never, once or twice."""
        on = self._service.quirks
        if Quirk.HOOKS_WITHOUT_VERSION in on:
            event = replace(event, version=None)
        for _ in range(self._count(on)):
            super().announce(event, hooks)

    def _count(self, on: Quirks) -> int:
        is_next = self._service.turns.is_next
        if Quirk.LOSES_HOOKS in on and is_next(Quirk.LOSES_HOOKS):
            return 0
        return 1 + (Quirk.REPEATS_HOOKS in on and is_next(Quirk.REPEATS_HOOKS))


def _seen(on: Quirks, tree: WikiTree) -> WikiTree:
    if Quirk.EMPTY_LIST in on:
        return WikiTree()
    if Quirk.EXACT_CASE in on:
        return FlatTree(tree.commit, tree.files, folds_case=False)
    return tree


def _without_pages_below(change: CommitPlan, tree: WikiTree) -> CommitPlan:
    """A rename that leaves the pages below where they are."""
    assert change.renamed is not None, "asked for renames only"
    page = tree.find(change.renamed[0])
    assert page is not None, "it was found when the rename was decided"
    links = {path: file for path, file in change.links.items() if path == change.page}
    return replace(change, links=links, removes=change.removes & {page.path})
