"""Scanning a whole wiki: by git, by the list of pages, or page by page.

``snapshot`` decides which: pages that changed by git are read; what git does not say,
and what is odd, the list with content does.  Texts of a mebibyte and more, which the
service may cut, and absent ones (Q9) are read singly.  Every text comes from the REST
API: the service may give it otherwise than git (Q8), and what is compared has to be of
one kind.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import suppress

from msgspec.structs import replace

from wikisync import errors
from wikisync.api.git import WikiHistory
from wikisync.api.known import KnownPages, Mark, TreeCache
from wikisync.api.scan import UNREADABLE, Scan, whole_page
from wikisync.api.trees import PageChanges, file_id, file_of, other_files, page_changes
from wikisync.api.wikis import PageList, Wiki
from wikisync.core.git_trees import TreeMissing, Unexplained
from wikisync.core.model import Slug, Snapshot
from wikisync.core.system.parallel import UNAVAILABLE_MAX, each

log = logging.getLogger(__name__)

READS_MAX = 8
LISTED_S = 6 * 3600.0
"""The pages are listed at least so often, whatever git says."""
REQUEST_COST_BYTES = 32 * 1024
"""A request costs as much as so many bytes of the list.  So git is not asked about a
wiki with less text, and one that reads pages singly has to save so much for each."""
LATE_READS_MAX = 3
"""How often a page is read again that git says changed and the service says did not."""


class Disagreement(Unexplained):
    """The service does not have what git has: one of them may be behind."""


class Scanning:
    """Scans one wiki, each scan knowing what the one before saw."""

    def __init__(
        self,
        wiki: Wiki,
        known: KnownPages,
        history: WikiHistory,
        trees: TreeCache | None,
        *,
        request_cost_bytes: int = REQUEST_COST_BYTES,
    ) -> None:
        self._wiki = wiki
        self._known = known
        self.history = history
        """The wiki's commits, where git has them."""
        self.follows = history.follows
        self._trees = trees or TreeCache()
        self._asks_git = trees is not None
        self._request_cost_bytes = request_cost_bytes
        self._has_notified = False
        self.awaited: Collection[Slug] = ()
        """Pages that the next scans are to read, whatever git says."""
        self._files: tuple[str, bool, Mapping[str, str]] | None = None
        """What ``other_files`` gave last, of which commit, and whether with uploads."""

    async def snapshot(self) -> Snapshot:
        """Look at every page: one request, and one more for each big page.

        Its tag is set only when every page could be seen as it is; RemoteError where
        the list cannot be read.
        """
        known = self._known
        size = known.mark.size
        is_small = size is not None and size < self._request_cost_bytes
        # before anything else: what is read after it is as of then or later
        head = await self.head() if self._asks_git and not is_small else ""
        is_agreed = True
        if head and known.mark.head and known.listed_s < LISTED_S:
            try:
                return await self._scan_changes(head)
            except Unexplained as reason:
                log.info("%s: the pages are listed: %s", self._wiki.owner, reason)
                is_agreed = not isinstance(reason, Disagreement)
        return await self._scan_list(head if is_agreed else "")

    async def head(self) -> str:
        """The newest commit; empty where it is not known now."""
        try:
            return await self.history.head() or ""
        except errors.RemoteError as error:
            log.info("%s: HEAD is not known: %s", self._wiki.owner, error.message)
            return ""

    async def other_files(
        self, *, has_uploads: bool = False
    ) -> Mapping[str, str] | None:
        """Git's ids of all files that are no pages, by path; None if unknown."""
        head = self._known.mark.head or await self.head()
        if self._files is None or self._files[:2] != (head, has_uploads):
            with suppress(TreeMissing):
                await asyncio.to_thread(self._trees.load, head)
            if not await self._brought(head):
                return None
            try:
                found = await asyncio.to_thread(
                    other_files,
                    self._trees.trees,
                    self._trees.root,
                    has_uploads=has_uploads,
                )
            except Unexplained as error:
                log.info("%s: its files are not known: %s", self._wiki.owner, error)
                return None
            self._files = head, has_uploads, found
        return self._files[2]

    # -- by git ------------------------------------------------------------------------

    async def _scan_changes(self, head: str) -> Snapshot:
        """The last scan, with the pages that differ between its commit and HEAD."""
        known = self._known
        changes, suspects = await self._changes(known.mark.head, head), known.suspects
        if head == known.mark.head:
            # somebody says that they changed all the same
            suspects = suspects.union(self.awaited)
            if not suspects:
                return known.same()
        scan = Scan.after(known.scanned)
        for slug in changes.gone:
            scan.pages.pop(slug, None)
        reads: list[Slug] = []
        for slug in changes.there.keys() | (suspects - changes.gone):
            state = known.written(slug, changes.there.get(slug, b""))
            if state is None:
                reads.append(slug)
            else:
                scan.pages[slug] = state
        self._refuse_odd(scan, {*changes.there, *changes.gone, *reads}, len(reads))
        late = await self._read_changed(scan, sorted(reads), changes)
        return known.take(scan, replace(known.mark, head=head, etag="", late=late))

    async def _changes(self, before: str, head: str) -> PageChanges:
        if head == before:
            return PageChanges()
        trees = self._trees
        try:
            root = await asyncio.to_thread(trees.load, before)
            await self.history.bring_trees(head, trees)
            return await asyncio.to_thread(page_changes, trees.trees, root, trees.root)
        except errors.RemoteError as error:
            raise Unexplained(str(error)) from error

    async def _file(self, slug: Slug, changes: PageChanges) -> bytes | None:
        """The id of the file that is a page at HEAD, if any; or Unexplained."""
        if slug in changes.there:
            return changes.there[slug]
        trees = self._trees
        try:
            root = await asyncio.to_thread(
                trees.load, trees.head or self._known.mark.head
            )
            return file_of(trees.trees, root, slug)
        except Unexplained as error:
            raise Unexplained(f"{slug} may have changed: {error}") from error

    def _refuse_odd(self, scan: Scan, touched: Collection[Slug], reads: int) -> None:
        """Leave to the list what only the list explains, or what is cheaper by it."""
        known = self._known
        size = known.mark.size
        # a list of unknown size could be cut off
        if size is not None and reads > max(1, size // self._request_cost_bytes):
            raise Unexplained(f"{reads} pages changed")
        odd = {problem.subject for problem in scan.problems}
        for slug in touched:
            if slug in odd:
                raise Unexplained(f"{slug} had a problem")
            if known.namesakes(slug) > (slug in known.scanned.pages):
                raise Unexplained(f"{slug} differs from another page in case alone")

    async def _read_changed(
        self, scan: Scan, slugs: Sequence[Slug], changes: PageChanges
    ) -> dict[Slug, int]:
        """Read pages singly; how often each was read whose text is not git's.

        The service changes texts, or was behind HEAD, or ahead of it, to which a wiki
        may return by force.
        """
        late: dict[Slug, int] = {}
        before = self._known.mark.late

        async def read(slug: Slug) -> None:
            file = await self._file(slug, changes)
            try:
                record = await self._wiki.get_page(slug)
            except errors.NotFound as error:
                if file is not None:
                    raise Disagreement(f"git has {slug}: {error.message}") from error
                scan.pages.pop(slug, None)
                return
            page = whole_page(record, slug, self._wiki)
            if not scan.take(record, page):
                raise Unexplained(f"{slug} is an odd page")
            reads = 1 if slug in changes.there else before.get(slug, 0) + 1
            is_git = file is not None and file_id(page.content, len(file)) == file
            if not is_git and reads <= LATE_READS_MAX:
                late[slug] = reads

        await self._each(slugs, scan, read)
        shown = {one for one in scan.identities.values() if one}
        if shown:
            counts = Counter(state.identity for state in scan.pages.values())
            if any(counts[one] > 1 for one in shown):
                raise Unexplained("two pages have one identity")
        return late

    # -- by the list -------------------------------------------------------------------

    async def _scan_list(self, head: str) -> Snapshot:
        known = self._known
        listed, is_whole = await self._list()
        if listed is None:
            return known.unchanged(await self._brought(head))
        scan = Scan.at(listed.pages, listed.odd)
        client = self._wiki.client
        bytes_max = client.settings.answer_bytes_max
        if not (is_whole or head or self._has_notified) and known.mark.is_too_large:
            self._has_notified = True
            client.notify(
                f"{self._wiki.owner}: each of the {len(scan.single)} pages is read by"
                " itself, because the list of their texts is larger than"
                f" {bytes_max >> 20} MiB and the wiki's git repository cannot be read;"
                " give the token the scope read_repository, and a sync reads only the"
                " pages that changed"
            )

        async def read(slug: Slug) -> None:
            page = whole_page(await self._wiki.get_page(slug), slug, self._wiki)
            scan.add(replace(page, format=scan.formats[slug]))

        await self._each(scan.single, scan, read)
        size = sum(state.size or 0 for state in scan.pages.values())
        became_small = scan.is_complete and size < bytes_max // 2
        is_worth_it = not is_whole or size >= self._request_cost_bytes
        if not (is_worth_it and scan.is_complete):
            head = ""
        head, late = await self._settled(await self._brought(head))
        mark = Mark(
            etag=(listed.etag or "") if is_whole else "",
            head=head,
            late=late,
            size=size if is_whole else None,
            is_too_large=known.mark.is_too_large and not (is_whole or became_small),
        )
        return known.take(scan, mark, is_listed=True)

    async def _settled(self, head: str) -> tuple[str, dict[Slug, int]]:
        """HEAD after the list, and the pages that changed since HEAD before it."""
        now = await self.head() if head else ""
        if now in {"", head}:
            return now, {}
        try:
            changes = await self._changes(head, now)
        except Unexplained:
            return "", {}
        return now, dict.fromkeys((*changes.there, *changes.gone), 0)

    async def _brought(self, head: str) -> str:
        if not head:
            return ""
        try:
            with suppress(TreeMissing):
                await asyncio.to_thread(self._trees.load, self._known.mark.head)
            await self.history.bring_trees(head, self._trees)
        except (errors.RemoteError, Unexplained) as error:
            log.info("%s: git does not say what changes: %s", self._wiki.owner, error)
            return ""
        return head

    async def _list(self) -> tuple[PageList | None, bool]:
        """The list with content, or None if nothing changed; and whether it is whole.

        Some proxies cut a big wiki's list or time out: then it is without content.
        """
        known, etag = self._known, self._known.etag or None
        if known.mark.is_too_large:
            return await self._wiki.poll_pages(), False
        try:
            return await self._wiki.poll_pages(etag, with_content=True), True
        except errors.RefusedInFront:
            raise  # whatever is asked
        except (errors.Unavailable, errors.ProtocolViolation) as error:
            is_too_large = isinstance(error, errors.AnswerTooLarge)
            known.mark = replace(known.mark, is_too_large=is_too_large)
            try:
                return await self._wiki.poll_pages(), False
            except errors.RemoteError:
                raise error from error.__cause__

    # -- single reads ------------------------------------------------------------------

    async def _each(
        self, slugs: Sequence[Slug], scan: Scan, read: Callable[[Slug], Awaitable[None]]
    ) -> None:
        """Read pages, a few at the same time; those that fail are problems.

        RemoteError where the service is gone or refuses the token, or as ``read``.
        """
        failed_in_row = 0

        async def one(slug: Slug) -> None:
            nonlocal failed_in_row
            try:
                await read(slug)
            except errors.RemoteError as error:
                failed_in_row += isinstance(error, errors.Unavailable)
                refused = errors.AuthenticationFailed | errors.RateLimited
                if isinstance(error, refused) or failed_in_row >= UNAVAILABLE_MAX:
                    raise
                scan.pages.pop(slug, None)
                scan.unreadable.add(slug)
                scan.fail(UNREADABLE, slug, error.message, error.hint or "")
            else:
                failed_in_row = 0

        await each(slugs, one, in_flight=READS_MAX)
