"""A replica in memory: pages and attachments in two dicts, and a log of writes.

It passes the contract suite of replicas, so that tests of ``sync`` may use it on
either side.  ``before`` runs in front of every operation and may raise.
"""

import hashlib
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Iterable,
    Mapping,
    Sequence,
)

from wikisync.core import model
from wikisync.core.mentions import is_upload
from wikisync.errors import NotFound, PreconditionFailed, WikisyncError
from wikisync.sync.replica import GONE_THERE

Before = Callable[[str], Awaitable[None]]
"""Called with an operation and its object: ``read home``."""


async def nothing_before(entry: str) -> None:
    """Let every operation pass."""


class MemoryReplica:
    """One copy of a wiki that lives as long as the test."""

    def __init__(
        self, pages: dict[str, str] | None = None, *, gives_texts: bool = False
    ) -> None:
        self.pages: dict[model.Slug, model.Page] = {}
        self.files: dict[model.AttachmentPath, bytes] = {}
        self.unreadable: frozenset[model.Slug] = frozenset()
        self.problems: tuple[model.Problem, ...] = ()
        self.is_complete = True
        self.tag = ""
        self.gives_texts = gives_texts
        self.log: list[str] = []
        """Every operation that changed something, or read: ``write home``."""
        self.before: Before = nothing_before
        self.identities: dict[model.Slug, str] = {}
        """What a page stays known by through renames, where this replica tells."""
        self.last_window_s = 0.0
        self.busy: dict[model.Slug, str] = {}
        self.conflicts: dict[model.Slug, str] = {}
        self.ignored: frozenset[model.Slug] = frozenset()
        self.left_empty: frozenset[model.Slug] = frozenset()
        """Pages whose directory is there and holds nothing."""
        """Pages whose absence means nothing."""
        self.late: list[model.LateSave] = []
        """Saves that were too late, until they are acknowledged."""
        self.trash: list[tuple[model.Slug, str, str]] = []
        """Slug, text and why of all that was removed or kept, in order."""
        for slug, text in (pages or {}).items():
            self.put(slug, text)

        self.commits: list[str] = []
        """The history, the newest last; empty where it is not told."""
        self.committed: dict[str, Mapping[str, str]] = {}
        """The texts of the pages of a commit."""

    @property
    def name(self) -> str:
        return "memory"

    async def head(self) -> str:
        await self._enter("head", "")
        return self.commits[-1] if self.commits else ""

    async def follows(self, head: str, earlier: str) -> bool | None:
        await self._enter("follows", f"{head} {earlier}")
        return earlier in self.commits[: self.commits.index(head)]

    @property
    def changes(self) -> list[str]:
        """The part of the log that wrote or removed something."""
        written = {"write", "move", "delete"}
        return [entry for entry in self.log if entry.split()[0] in written]

    def fail(self, operation: str, error: BaseException) -> None:
        """Let an operation fail from now on: ``read home``, or each ``read``."""

        async def before(entry: str) -> None:
            if operation in {entry, entry.partition(" ")[0]}:
                raise error

        self.before = before

    def before_once(self, entry: str, act: Callable[[], None]) -> None:
        """Let something happen right before an operation, the first time."""
        others = self.before

        async def before(begun: str) -> None:
            if begun == entry:
                self.before = others
                act()

        self.before = before

    def put(
        self, slug: str, text: str, page_format: model.Format = model.Format.MARKDOWN
    ) -> None:
        """A person saves a page."""
        self.pages[model.Slug(slug)] = model.Page(model.Slug(slug), page_format, text)

    def remove(self, slug: str) -> None:
        """A person deletes a page."""
        del self.pages[model.Slug(slug)]

    def texts(self) -> dict[str, str]:
        """Slug to text, for comparing two replicas."""
        return {slug: page.content for slug, page in self.pages.items()}

    async def snapshot(self) -> model.Snapshot:
        await self._enter("snapshot", "")
        seen = {s: p for s, p in self.pages.items() if s not in self.unreadable}
        return model.Snapshot(
            pages={slug: self._state(page) for slug, page in seen.items()},
            problems=self.problems,
            is_complete=self.is_complete,
            unreadable=self.unreadable,
            texts=seen if self.gives_texts else {},
            tag=self.tag,
            busy=dict(self.busy),
        )

    async def read(self, slug: model.Slug) -> model.Page:
        await self._enter("read", slug)
        if slug not in self.pages:
            raise NotFound(f"no page {slug} in memory")
        return self.pages[slug]

    async def write(
        self, page: model.Page, *, expected: model.Digest | None
    ) -> model.Page:
        await self._enter("write", page.slug)
        self._require(page.slug, expected)
        self.pages[page.slug] = page
        return page

    async def write_pages(
        self, pages: Sequence[tuple[model.Page, model.Digest | None]]
    ) -> Sequence[model.Page | WikisyncError]:
        results: list[model.Page | WikisyncError] = []
        for page, expected in pages:
            try:
                results.append(await self.write(page, expected=expected))
            except PreconditionFailed as error:
                results.append(error)
        return results

    async def move(
        self, slug: model.Slug, target: model.Slug, *, expected: model.Digest
    ) -> model.Page:
        await self._enter("move", f"{slug} {target}")
        self._require(slug, expected)
        self._require(target, None)
        page = self.pages.pop(slug)
        self.pages[target] = model.Page(target, page.format, page.content)
        if slug in self.identities:
            self.identities[target] = self.identities.pop(slug)
        if slug in self.conflicts and target not in self.conflicts:
            self.conflicts[target] = self.conflicts.pop(slug)
        return self.pages[target]

    async def delete(
        self, slug: model.Slug, *, expected: model.Digest, why: str = GONE_THERE
    ) -> None:
        await self._enter("delete", slug)
        self._require(slug, expected)
        self.trash.append((slug, self.pages.pop(slug).content, why))

    async def saved(self, paths: Iterable[str]) -> model.Snapshot | None:
        """It remembers no scan, so every one is whole."""
        await self._enter("saved", " ".join(paths))
        return None

    async def untracked(
        self, pages: Iterable[tuple[model.Slug, model.Format]]
    ) -> frozenset[model.Slug]:
        await self._enter("untracked", "")
        return self.ignored & {slug for slug, _ in pages}

    async def emptied(
        self, pages: Iterable[tuple[model.Slug, model.Format]]
    ) -> frozenset[model.Slug]:
        await self._enter("emptied", "")
        return self.left_empty & {slug for slug, _ in pages}

    async def having(
        self, slugs: Iterable[model.Slug], is_sought: Callable[[str], bool]
    ) -> frozenset[model.Slug]:
        await self._enter("having", "")
        pages = [self.pages[slug] for slug in slugs if slug in self.pages]
        return frozenset([page.slug for page in pages if is_sought(page.content)])

    async def late_saves(self) -> Sequence[model.LateSave]:
        await self._enter("late_saves", "")
        return tuple(self.late)

    async def acknowledge(self, late: model.LateSave) -> None:
        await self._enter("acknowledge", late.slug)
        self.late = [known for known in self.late if known.id != late.id]

    async def keep(
        self, slug: model.Slug, text: str, why: str, *, is_again: bool = False
    ) -> None:
        await self._enter("keep", slug)
        if not (is_again and (slug, text, why) in self.trash):
            self.trash.append((slug, text, why))

    async def conflict_file(self, slug: model.Slug) -> model.ConflictFile | None:
        await self._enter("conflict_file", slug)
        text = self.conflicts.get(slug)
        return None if text is None else model.ConflictFile(f"{slug}.conflict.md", text)

    async def write_conflict(
        self,
        slug: model.Slug,
        page_format: model.Format,
        text: str,
        *,
        expected: model.Digest | None = None,
    ) -> str:
        await self._enter("write_conflict", slug)
        before = self.conflicts.get(slug)
        if expected not in {
            None,
            model.NO_FILE if before is None else model.digest_of(before),
        }:
            raise PreconditionFailed(f"the conflict file of {slug} was saved")
        if before not in {None, text}:
            self.trash.append((slug, str(before), "the conflict changed"))
        self.conflicts[slug] = text
        return f"{slug}.conflict{page_format.extensions[0]}"

    async def remove_conflict(
        self, slug: model.Slug, *, expected: model.Digest | None = None
    ) -> None:
        await self._enter("remove_conflict", slug)
        if slug in self.conflicts:
            if expected not in {None, model.digest_of(self.conflicts[slug])}:
                raise PreconditionFailed(f"the conflict file of {slug} was saved")
            text = self.conflicts.pop(slug)
            self.trash.append((slug, text, "the conflict is over"))

    def keeps_out(self, path: model.AttachmentPath) -> bool:
        del path  # nobody says so
        return False

    async def attachments(
        self, paths: Collection[model.AttachmentPath]
    ) -> Mapping[model.AttachmentPath, model.LooseFile]:
        return {
            path: model.LooseFile(path, model.digest_of(content), len(content))
            for path in paths
            if (content := self.files.get(path)) is not None
        }

    async def other_files(
        self, *, has_uploads: bool = False
    ) -> Mapping[str, str] | None:
        await self._enter("other_files", "")
        return {
            path: hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
            for path, content in self.files.items()
            if has_uploads or not is_upload(path)
        }

    async def read_attachment(
        self, path: model.AttachmentPath, version: str = ""
    ) -> AsyncIterator[bytes]:
        del version  # there is one
        await self._enter("read_attachment", path)
        if path not in self.files:
            raise NotFound(f"no attachment {path} in memory")
        content = self.files[path]
        for start in range(0, len(content), 4096):
            yield content[start : start + 4096]

    async def write_attachment(
        self,
        path: model.AttachmentPath,
        chunks: AsyncIterator[bytes],
        *,
        replaces: model.Digest | None = None,
    ) -> model.LooseFile:
        await self._enter("write_attachment", path)
        content = b"".join([chunk async for chunk in chunks])
        held = self.files.get(path)
        if (None if held is None else model.digest_of(held)) != replaces:
            raise PreconditionFailed(f"{path} exists")
        self.files[path] = content
        return model.LooseFile(path, model.digest_of(content), len(content))

    def _state(self, page: model.Page) -> model.PageState:
        folded = model.fold_text(page.content)
        return model.PageState(
            page.slug,
            page.format,
            page.digest,
            folded=None if folded == page.content else model.digest_of(folded),
            identity=self.identities.get(page.slug, ""),
            size=len(page.content.encode("utf-8", "surrogatepass")),
        )

    async def _enter(self, operation: str, subject: str) -> None:
        entry = f"{operation} {subject}"
        await self.before(entry)
        self.log.append(entry)

    def _require(self, slug: model.Slug, expected: model.Digest | None) -> None:
        held = self.pages.get(slug)
        found = held.digest if held else None
        if found != expected:
            raise PreconditionFailed(f"page {slug} changed meanwhile")
