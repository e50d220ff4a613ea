"""A folder and a wiki as the engine sees them, in a world of persons and faults.

The wiki fails in all the ways of ``docs/sync.md`` "Proofs", and any read or write can
be the last of the process.
"""

import asyncio
import hashlib
from collections.abc import (
    AsyncIterator,
    Callable,
    Collection,
    Iterable,
    Mapping,
    Sequence,
)
from pathlib import Path

from msgspec.structs import replace

from tests.sync import incidents
from tests.sync.persons import PICTURES, Copy, World
from wikisync import errors
from wikisync.core import model
from wikisync.folder.replica import FolderReplica
from wikisync.sync.replica import GONE_THERE
from wikisync.sync.run.merging import IN_THE_TRASH

LATENCY_S = 0.05


class _Side:
    """What both sides of the engine have in common."""

    def __init__(self, world: World, copy: Copy, name: str) -> None:
        self.world = world
        self.copy = copy
        self._name = name

    @property
    def name(self) -> str:
        return self._name

    def _state(self, slug: str) -> model.PageState:
        text, page_format, identity = self.copy.pages[slug]
        return model.PageState(
            model.Slug(slug),
            page_format,
            model.digest_of(text),
            model.digest_of(model.fold_text(text)),
            str(identity),
            len(text.encode()),
        )

    def _page(self, slug: str) -> model.Page:
        if slug not in self.copy.pages:
            raise errors.NotFound(f"no page {slug}")
        text, page_format, _ = self.copy.pages[slug]
        return model.Page(model.Slug(slug), page_format, text)

    def _require(self, slug: str, expected: model.Digest | None) -> None:
        held = self.copy.pages.get(slug)
        if (model.digest_of(held[0]) if held else None) != expected:
            raise errors.PreconditionFailed(f"{slug} changed")


class SimulatedFolder(_Side):
    """A folder whose writes are compared in the same moment (swap and look)."""

    def __init__(self, world: World, copy: Copy) -> None:
        super().__init__(world, copy, copy.name)
        self.scanned: model.Snapshot | None = None
        """The last scan, while nothing of ours was written since."""
        self.hidden: frozenset[model.Slug] = frozenset()
        """Pages of which stubs told at the last scan."""

    async def snapshot(self) -> model.Snapshot:
        self.world.step("scan")
        incidents.take_or_bring_disk(self.world, self.copy)
        stray = [
            model.Problem(model.STRAY_CONFLICT, slug, "no conflict is open")
            for slug in self.copy.conflict_files
        ]
        self.copy.pages |= incidents.binned(self.copy)
        pages = {model.Slug(s): self._state(s) for s in self.copy.pages}
        self.hidden = incidents.stubbed(self.copy)
        self.copy.stubs_beside |= dict.fromkeys(map(str, pages), self.hidden)
        self.scanned = model.Snapshot(
            pages, problems=tuple(stray), unreadable=self.hidden
        )
        return self.scanned

    async def saved(self, paths: Collection[str]) -> model.Snapshot | None:
        """The last scan with these pages as they are now, while that can be said."""
        self.world.step(f"look at {sorted(paths)}")
        seen = self.scanned
        if seen is None or any(
            path not in seen.pages or path not in self.copy.pages for path in paths
        ):
            return None
        states = {model.Slug(path): self._state(path) for path in paths}
        self.scanned = replace(seen, pages={**seen.pages, **states})
        return replace(self.scanned, is_partial=True)

    async def read(self, slug: model.Slug) -> model.Page:
        self.world.step(f"read file {slug}")
        page = self._page(slug)
        self.copy.seen.add(page.content)
        return page

    async def write(
        self, page: model.Page, *, expected: model.Digest | None
    ) -> model.Page:
        self.world.step(f"write file {page.slug}")
        self._require(page.slug, expected)
        self._require_free(page.slug)
        self.world.writes += 1
        self.scanned = None
        before = self.copy.pages.get(page.slug)
        if before is not None:
            self.copy.history.append(before[0])
            self.world.open_window(self.copy, page.slug)
            incidents.replace_file(self.copy, page.slug)
        self.copy.seen.add(page.content)
        self.world.store(self.copy, page.slug, page.content, page.format)
        self.world.step(f"wrote file {page.slug}: {page.content!r}")
        return page

    async def write_pages(
        self, pages: Sequence[tuple[model.Page, model.Digest | None]]
    ) -> Sequence[model.Page | errors.WikisyncError]:
        results: list[model.Page | errors.WikisyncError] = []
        for page, expected in pages:
            try:
                results.append(await self.write(page, expected=expected))
            except errors.PreconditionFailed as error:
                results.append(error)
        return results

    async def move(
        self, slug: model.Slug, target: model.Slug, *, expected: model.Digest
    ) -> model.Page:
        self.world.step(f"rename file {slug}")
        self._require(slug, expected)
        if target in self.copy.pages:
            raise errors.PreconditionFailed(f"{target} exists")
        self._require_free(target)
        self.world.writes += 1
        self.scanned = None
        self.world.move(self.copy, slug, target)
        self.world.step(f"renamed file {slug}")
        return self._page(target)

    async def delete(
        self, slug: model.Slug, *, expected: model.Digest, why: str = GONE_THERE
    ) -> None:
        self.world.step(f"remove file {slug}: {why}")
        self._require(slug, expected)
        self.world.writes += 1
        self.scanned = None
        incidents.replace_file(self.copy, slug)
        self.copy.trash.append(self.copy.pages.pop(slug)[0])
        self.world.step(f"removed file {slug}")

    async def untracked(
        self, pages: Iterable[tuple[model.Slug, model.Format]]
    ) -> frozenset[model.Slug]:
        asked = {slug for slug, _ in pages}
        self.world.trace.extend(f"untracked? {slug}" for slug in asked)
        return self.hidden & asked

    def _require_free(self, slug: model.Slug) -> None:
        if slug in incidents.stubbed(self.copy):
            raise errors.PreconditionFailed(f"a stub stands for {slug}")

    async def emptied(
        self, pages: Iterable[tuple[model.Slug, model.Format]]
    ) -> frozenset[model.Slug]:
        found = [slug for slug, _ in pages if incidents.is_emptied(self.copy, slug)]
        self.world.trace.extend(f"emptied: {slug}" for slug in found)
        return frozenset(found)

    async def attachments(
        self, paths: Collection[model.AttachmentPath]
    ) -> Mapping[model.AttachmentPath, model.LooseFile]:
        self.world.step("look at attachments")
        return {
            path: file_of(self.copy, path) for path in paths if path in self.copy.files
        }

    async def write_attachment(
        self,
        path: model.AttachmentPath,
        chunks: AsyncIterator[bytes],
        *,
        replaces: model.Digest | None = None,
    ) -> model.LooseFile:
        assert replaces is None, "the wiki has uploads alone, which do not change"
        content = b"".join([chunk async for chunk in chunks]).decode()
        self.world.step(f"write file {path}")
        if path in self.copy.files:
            raise errors.PreconditionFailed(f"{path} exists")
        self.world.writes += 1
        self.world.store_file(self.copy, path, content)
        self.world.step(f"wrote file {path}")
        return model.LooseFile(path, model.digest_of(content), len(content))

    def keeps_out(self, path: model.AttachmentPath) -> bool:
        del path  # nobody says so
        return False

    async def read_attachment(self, path: model.AttachmentPath) -> AsyncIterator[bytes]:
        self.world.step(f"read file {path}")
        yield content_of(self.copy, path)

    async def having(
        self, slugs: Iterable[model.Slug], is_sought: Callable[[str], bool]
    ) -> frozenset[model.Slug]:
        self.world.step("look into files")
        there = [slug for slug in slugs if slug in self.copy.pages]
        return frozenset([s for s in there if is_sought(self._page(s).content)])

    async def late_saves(self) -> Sequence[model.LateSave]:
        self.world.step("late saves")
        return (*self.copy.late, *incidents.late_saves(self.copy))

    async def acknowledge(self, late: model.LateSave) -> None:
        self.world.step(f"acknowledge {late.slug}")
        self.copy.late = [known for known in self.copy.late if known.id != late.id]
        incidents.acknowledge(self.copy, late)

    async def keep(
        self, slug: model.Slug, text: str, why: str, *, is_again: bool = False
    ) -> None:
        self.world.step(f"keep {slug}: {why}")
        if not (is_again and text in self.copy.trash):
            self.copy.trash.append(text)
        if why == IN_THE_TRASH:
            self.copy.thrown.append((slug, incidents.clashing(self.copy, slug, text)))

    async def conflict_file(self, slug: model.Slug) -> model.ConflictFile | None:
        self.world.step(f"read conflict {slug}")
        text = self.copy.conflict_files.get(slug)
        return None if text is None else model.ConflictFile(f"{slug}.conflict.md", text)

    async def write_conflict(
        self,
        slug: model.Slug,
        page_format: model.Format,
        text: str,
        *,
        expected: model.Digest | None = None,
    ) -> str:
        self.world.step(f"write conflict {slug} as {page_format}")
        before = self.copy.conflict_files.get(slug)
        if not is_as_expected(before, expected):
            raise errors.PreconditionFailed(f"the conflict file of {slug} was saved")
        if before not in {None, text}:
            self.copy.trash.append(str(before))
            self.copy.thrown.append((slug, str(before)))
            self.world.trace.append(f"replaced conflict {slug} {before!r}")
        self.copy.conflict_files[slug] = self.copy.conflicts[slug] = text
        self.world.step(f"wrote conflict {slug}")
        return f"{slug}.conflict.md"

    async def remove_conflict(
        self, slug: model.Slug, *, expected: model.Digest | None = None
    ) -> None:
        self.world.step(f"remove conflict {slug}")
        if slug in self.copy.conflict_files:
            if not is_as_expected(self.copy.conflict_files[slug], expected):
                raise errors.PreconditionFailed(
                    f"the conflict file of {slug} was saved"
                )
            self.copy.trash.append(self.copy.conflict_files.pop(slug))
            self.copy.thrown.append((slug, self.copy.trash[-1]))
            self.world.trace.append(f"removed conflict {slug} {self.copy.trash[-1]!r}")


class SimulatedWiki(_Side):
    """A service without compare-and-swap that others edit and that fails."""

    def __init__(self, world: World) -> None:
        super().__init__(world, world.wiki, "the wiki")
        self.last_window_s = 0.0

    async def head(self) -> str:
        self.world.commit()
        if self.world.is_untold():
            return ""
        return self.world.commits[-1][0] if self.world.commits else ""

    async def follows(self, head: str, earlier: str) -> bool | None:
        names = [name for name, _ in self.world.commits]
        return earlier in names[: names.index(head)]

    async def snapshot(self) -> model.Snapshot:
        fault = await self._ask("list")
        if fault == "empty list":
            return model.Snapshot({})
        states = {model.Slug(s): self._state(s) for s in self.copy.pages}
        texts = {slug: self._page(slug) for slug in states}
        if fault == "cut":
            raise errors.ProtocolViolation("the list was cut")
        if fault == "not found":
            problem = model.Problem("list", "list", "half of it")
            kept = dict(list(states.items())[: len(states) // 2])
            return model.Snapshot(kept, problems=(problem,), is_complete=False)
        self.world.step("listed")
        return model.Snapshot(states, texts=texts)

    async def read(self, slug: model.Slug) -> model.Page:
        fault = await self._ask(f"get {slug}")
        if fault == "not found":
            raise errors.NotFound(f"no page {slug}")
        if fault == "cut":
            raise errors.ProtocolViolation("cut")
        return self._page(slug)

    async def write(
        self, page: model.Page, *, expected: model.Digest | None
    ) -> model.Page:
        if any(page.content in folder.pointers for folder in self.world.folders):
            self.world.spoilt.add(page.slug)
        await self._scan(page.slug, expected)
        fault = await self._ask(f"put {page.slug}")
        if fault in {"cut", "not found"}:
            raise errors.Unavailable("cut before it was taken")
        if expected is None and self.copy.is_taken(page.slug):
            raise errors.PreconditionFailed(f"{page.slug} exists")
        if expected is not None and page.slug not in self.copy.pages:
            raise errors.NotFound(f"no page {page.slug}")
        before = self.copy.pages.get(page.slug)
        if before is not None:
            self._overwrite(before[0], page.content, expected)
        self.world.writes += 1
        self.world.store(self.copy, page.slug, page.content, page.format)
        self.world.commit()
        answer = self._page(page.slug)
        await self._answer(fault, f"put {page.slug}: {page.content!r}")
        return answer

    def _overwrite(self, before: str, text: str, expected: model.Digest | None) -> None:
        is_seen = model.digest_of(before) == expected
        self.world.overwrite(self.copy, before, text, is_seen=is_seen)

    async def move(
        self, slug: model.Slug, target: model.Slug, *, expected: model.Digest
    ) -> model.Page:
        await self._scan(slug, expected)
        fault = await self._ask(f"rename {slug} to {target}")
        if fault in {"cut", "not found"}:
            raise errors.Unavailable("cut before it was taken")
        if slug not in self.copy.pages:
            raise errors.NotFound(f"no page {slug}")
        if self.copy.is_taken(target) and (target.casefold() != slug.casefold()):
            raise errors.PreconditionFailed(f"{target} exists")
        # a rename sends the text that was read
        self.world.writes += 1
        self.world.move(self.copy, slug, target, is_subtree=True)
        self.world.commit()
        answer = self._page(target)
        await self._answer(fault, f"rename {slug}")
        return answer

    async def delete(self, slug: model.Slug, *, expected: model.Digest) -> None:
        await self._scan(slug, expected)
        fault = await self._ask(f"delete {slug}")
        if fault in {"cut", "not found"}:
            raise errors.Unavailable("cut before it was taken")
        if slug not in self.copy.pages:
            raise errors.NotFound(f"no page {slug}")
        self.world.writes += 1
        before = self.copy.pages.pop(slug)[0]
        # a stub tells its name alone: it is taken for another page's that is known, or
        # whose stub stood there while the file of this one did, too
        hidden = [
            page[0]
            for folder in self.world.folders
            for path, page in folder.stubs.items()
            if incidents.stood_for(path) not in folder.known_pages() - {slug}
            if incidents.stood_for(path) not in folder.stubs_beside.get(slug, ())
        ]
        if any(self.world.marks_in(before) & self.world.marks_in(t) for t in hidden):
            self.world.spoilt.add(slug)
        self._overwrite(before, "", expected)
        self.world.commit()
        await self._answer(fault, f"delete {slug}")

    async def other_files(
        self, *, has_uploads: bool = False
    ) -> Mapping[str, str] | None:
        self.world.step("look at the repository")
        contents = {path: content_of(self.copy, path) for path in self.copy.files}
        return {
            path: hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
            for path, content in contents.items()
            if has_uploads
        }

    async def read_attachment(
        self, path: model.AttachmentPath, version: str = ""
    ) -> AsyncIterator[bytes]:
        assert not version
        fault = await self._ask(f"get {path}")
        if fault == "not found":
            raise errors.NotFound(f"no attachment {path}")
        if fault == "cut":
            raise errors.ProtocolViolation("cut")
        yield content_of(self.copy, path)

    async def write_attachment(
        self, path: model.AttachmentPath, chunks: AsyncIterator[bytes]
    ) -> model.LooseFile:
        content = b"".join([chunk async for chunk in chunks]).decode()
        fault = await self._ask(f"upload {path}")
        if fault in {"cut", "not found"}:
            raise errors.Unavailable("cut before it was taken")
        stored = model.AttachmentPath(self.world.upload_path(path.rpartition("/")[2]))
        self.world.writes += 1
        self.world.store_file(self.copy, stored, content)
        await self._answer(fault, f"upload {path} as {stored}")
        return model.LooseFile(stored, model.digest_of(content), len(content))

    async def _scan(self, slug: model.Slug, expected: model.Digest | None) -> None:
        fault = await self._ask(f"look at {slug}")
        if fault in {"cut", "not found"}:
            raise errors.ProtocolViolation("cut")
        self._require(slug, expected)

    async def _ask(self, what: str) -> str | None:
        """A request on its way: refused, or with the fault that comes later."""
        self.world.step(what)
        await asyncio.sleep(LATENCY_S)
        fault = self.world.fault()
        if fault == "refuse":
            raise errors.Unavailable(f"{what}: no connection")
        if fault == "500":
            raise errors.Unavailable(f"{what}: 500")
        if fault == "429":
            raise errors.RateLimited(f"{what}: slow down")
        if fault == "lose the answer" and what.startswith(("get", "list", "look")):
            raise errors.Unavailable(f"{what}: no answer")
        return fault

    async def _answer(self, fault: str | None, what: str) -> None:
        self.world.step(f"done: {what}")
        if fault == "lose the answer":
            raise errors.Unavailable(f"{what}: the answer was lost")


class SimulatedFiles(FolderReplica):
    """The pictures of a folder, all of them at its top or from the wiki."""

    def __init__(self, world: World, copy: Copy) -> None:
        super().__init__(Path())
        self._world = world
        self._copy = copy

    async def loose_files(self) -> frozenset[str]:
        self._world.step("look for pictures")
        return frozenset(self._copy.files.keys() & set(PICTURES))

    async def files_at(self, paths: Collection[str]) -> Mapping[str, model.LooseFile]:
        held = self._copy.files.keys() & set(PICTURES) & set(paths)
        return {path: file_of(self._copy, path) for path in held}

    def linked_path(
        self, slug: model.Slug, target: model.LinkTarget
    ) -> model.AttachmentPath | None:
        self._world.trace.append(f"{slug} links to {target.path}")
        return model.AttachmentPath(target.path.removeprefix("/"))

    async def attachments(
        self, paths: Collection[model.AttachmentPath]
    ) -> Mapping[model.AttachmentPath, model.LooseFile]:
        self._world.step("look at fetched pictures")
        held = (path for path in paths if path in self._copy.files)
        return {path: file_of(self._copy, path) for path in held}

    async def read_attachment(self, path: str) -> AsyncIterator[bytes]:
        self._world.step(f"read {path}")
        yield content_of(self._copy, path)


def is_as_expected(text: str | None, expected: model.Digest | None) -> bool:
    found = model.NO_FILE if text is None else model.digest_of(text)
    return expected is None or found == expected


def file_of(copy: Copy, path: str) -> model.LooseFile:
    content, _ = copy.files[path]
    return model.LooseFile(path, model.digest_of(content), len(content))


def content_of(copy: Copy, path: str) -> bytes:
    if path not in copy.files:
        raise errors.NotFound(f"no file {path}")
    return copy.files[path][0].encode()
