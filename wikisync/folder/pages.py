"""The page files of one wiki's folder: looking, reading, writing, removing.

Everything here blocks; ``replica`` calls it in threads, one at a time where it
changes something.  Which file is which page is told by the names alone
(``naming``); digests are remembered only while the process lives.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from wikisync.errors import FolderError, PreconditionFailed
from wikisync.folder.clashes import PathBook
from wikisync.folder.descent import Folders, opened_file, opened_root, read_all
from wikisync.folder.naming import PATH_BYTES_MAX, parse_path
from wikisync.folder.probe import Folding, probe_folding
from wikisync.folder.scan import PageFile, ScannedFolder, scan_pages
from wikisync.folder.swap import FileWrite, FolderWriter
from wikisync.model import (
    Digest,
    Page,
    PagePath,
    PageState,
    Problem,
    Slug,
    Snapshot,
    digest_of,
)

PAGE_BYTES_MAX = 64 * 1024 * 1024
"""A file larger than this is not read as a page."""

SETTLED_NS = 2_500_000_000
"""A file must be this old when it is read for its time to tell a later write;
some disks count in steps of two seconds."""

WrittenPage = Page | FolderError | PreconditionFailed
"""The page as the folder holds it now, or why it does not."""

_Status = tuple[int, int, int, int]
_UNSETTLED: _Status = (-1, -1, -1, -1)


@dataclass(frozen=True, slots=True)
class _Seen:
    """A digest and the file status under which it holds."""

    status: _Status
    digest: Digest


class PageFolder:
    """The pages in one folder, by slug."""

    def __init__(self, root: Path, *, temporary: Path | None = None) -> None:
        self._root = root
        self._temporary = temporary
        self._seen: dict[str, _Seen] = {}
        self._paths: dict[Slug, PagePath] | None = None
        self._book: PathBook | None = None
        self._folding: Folding | None = None

    def snapshot(self) -> Snapshot:
        """Look at every page file once; unchanged files are not read again.

        Raises:
            FolderError: the folder does not exist.
        """
        scanned = self.rescan()
        pages: dict[Slug, PageState] = {}
        problems = list(scanned.problems)
        unreadable = set(scanned.duplicates)
        seen: dict[str, _Seen] = {}
        with opened_root(self._root) as root, Folders(root) as folders:
            for file in scanned.pages:
                found = self._digest(folders, file)
                if isinstance(found, Problem):
                    problems.append(found)
                    unreadable.add(file.slug)
                elif found is not None:
                    seen[file.path] = found
                    state = PageState(file.slug, file.format, found.digest)
                    pages[file.slug] = state
        self._seen = seen
        return Snapshot(
            pages={slug: pages[slug] for slug in pages if slug not in unreadable},
            problems=tuple(problems),
            is_complete=scanned.is_complete,
            unreadable=frozenset(unreadable),
        )

    def rescan(self) -> ScannedFolder:
        """List the folder anew and remember which file is which page."""
        scanned = scan_pages(self._root)
        self._paths = {file.slug: file.path for file in scanned.pages}
        self._book = None
        return scanned

    def read(self, slug: Slug) -> Page | None:
        """A page that the last look found; None where its file is not there.

        Raises:
            FolderError: the file cannot be read, or is not text.
        """
        path = (self._paths or {}).get(slug)
        if path is None:
            return None
        with opened_root(self._root) as root, Folders(root) as folders:
            try:
                content = _read_bytes(folders, path)
            except FileNotFoundError:
                return None
        text = decode_page(content, path)
        if isinstance(text, Problem):
            raise FolderError(str(text), path=path, hint=text.hint)
        found = parse_path(path)
        assert found is not None, path
        return Page(slug, found[1], text, title_of(slug))

    def write_many(
        self, pages: Sequence[tuple[Page, Digest | None]]
    ) -> list[WrittenPage]:
        """Write pages, each with the digest of the text that it replaces.

        Returns:
            One result for each page, in order.

        Raises:
            FolderError: the disk is full, read-only or broken, or the folder gone.
        """
        results: dict[int, WrittenPage] = {}
        writes: dict[int, FileWrite] = {}
        with FolderWriter(self._root, temporary=self._temporary) as writer:
            for index, (page, expected) in enumerate(pages):
                try:
                    writes[index] = self._prepare(page, expected, writer)
                except (FolderError, PreconditionFailed) as exc:
                    results[index] = exc
            written = writer.write_many(list(writes.values()))
            for index, error in zip(writes, written, strict=True):
                page, expected = pages[index]
                path = PagePath(writes[index].path)
                results[index] = error or self._settle(page, expected, path, writer)
        return [results[index] for index in range(len(pages))]

    def delete(self, slug: Slug, *, expected: Digest) -> None:
        """Remove a page's file, and folders that are truly empty then.

        Raises:
            PreconditionFailed: it changed, or is gone already.
            FolderError: it cannot be removed.
        """
        paths = self._known_paths()
        path = paths.get(slug)
        if path is None:
            raise PreconditionFailed(f"{slug} is gone from {self._root}")
        with FolderWriter(self._root, temporary=self._temporary) as writer:
            writer.remove(path, expected=expected)
        del paths[slug]
        self._book = None

    def _known_paths(self) -> dict[Slug, PagePath]:
        if self._paths is None:
            self.rescan()
        assert self._paths is not None
        return self._paths

    def _path_for(self, page: Page) -> PagePath:
        """The path under which a page is to be written."""
        if self._book is None:
            self._folding = self._folding or probe_folding(self._root)
            self._book = PathBook(
                self._known_paths(),
                folds_case=self._folding.case,
                folds_unicode=self._folding.unicode,
            )
        return self._book.assign(page.slug, page.format)

    def _prepare(
        self, page: Page, expected: Digest | None, writer: FolderWriter
    ) -> FileWrite:
        """What is to be written, with everything checked that needs no write."""
        content = encode_page(page)
        known = self._known_paths().get(page.slug)
        path = self._path_for(page)
        if len(path.encode()) > PATH_BYTES_MAX:
            raise FolderError(
                f"the path of the page {page.slug[:60]}... is too long for a disk",
                path=path,
                hint="give the page a shorter name in the wiki",
            )
        if known is None or known == path:
            return FileWrite(path, content, expected)
        writer.check(known, expected=expected)
        return FileWrite(path, content, None)

    def _settle(
        self, page: Page, expected: Digest | None, path: PagePath, writer: FolderWriter
    ) -> WrittenPage:
        """Remember a written page, and remove its file in another format."""
        known = self._known_paths().get(page.slug)
        if known is not None and known != path and expected is not None:
            try:
                writer.remove(known, expected=expected)
            except (FolderError, PreconditionFailed) as exc:
                return exc
            self._book = None
        self._known_paths()[page.slug] = path
        return Page(page.slug, page.format, page.content, title_of(page.slug))

    def _digest(self, folders: Folders, file: PageFile) -> _Seen | Problem | None:
        """A page file's digest; None where the file has just gone."""
        status = (file.size, file.mtime_ns, file.ctime_ns, file.inode)
        known = self._seen.get(file.path)
        if known is not None and known.status == status:
            return known
        started_ns = time.time_ns()
        try:
            content = _read_bytes(folders, file.path)
        except FileNotFoundError:
            return None
        except FolderError as exc:
            return Problem("page-unreadable", file.path, exc.message, exc.hint or "")
        text = decode_page(content, file.path)
        if isinstance(text, Problem):
            return text
        is_settled = started_ns - max(file.mtime_ns, file.ctime_ns) > SETTLED_NS
        return _Seen(status if is_settled else _UNSETTLED, digest_of(content))


def decode_page(content: bytes, path: str) -> str | Problem:
    """A page file's text, line ends and all; a problem where it is none."""
    if b"\x00" in content:
        return Problem(
            "page-not-text",
            path,
            "holds a NUL character, which no page can have",
            "remove the character, or move the file into uploads",
        )
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as exc:
        return Problem(
            "page-not-text",
            path,
            f"is not UTF-8 at byte {exc.start}",
            "save it as UTF-8",
        )


def encode_page(page: Page) -> bytes:
    """A page's text as its file's bytes, which ``decode_page`` will take.

    Raises:
        FolderError: it holds something that no text file can.
    """
    if "\x00" in page.content:
        what = "a NUL character"
    else:
        try:
            return page.content.encode("utf-8")
        except UnicodeEncodeError:
            what = "half a character"
    raise FolderError(
        f"the page {page.slug} holds {what}, which no text file can",
        path=page.slug,
        hint="remove it in the wiki",
    )


def title_of(slug: Slug) -> str:
    """The service's display title: the slug's leaf with hyphens as spaces."""
    return slug.rpartition("/")[2].replace("-", " ")


def _read_bytes(folders: Folders, path: str) -> bytes:
    with opened_file(folders, path) as descriptor:
        if os.fstat(descriptor).st_size > PAGE_BYTES_MAX:
            raise FolderError(
                f"{path} is larger than {PAGE_BYTES_MAX >> 20} MiB",
                path=path,
                hint="move the file into uploads",
            )
        return read_all(descriptor, path)
