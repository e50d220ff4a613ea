"""Loose files: pictures and the like that a person put beside the pages.

They are no pages, and no attachments that came from the wiki, which lie in
``uploads`` under 32 hexadecimal digits; a page may link to them as it would to any
file.  Only files that a page really links to are looked at closely.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

from wikisync.errors import FolderError, NotFound
from wikisync.folder.descent import Folders, opened_file, opened_root
from wikisync.folder.ignore import (
    CONFIG_FILE,
    UPLOADS,
    is_ignored_file,
    is_ignored_folder,
)
from wikisync.folder.naming import path_of
from wikisync.folder.threads import finish_in_thread
from wikisync.model import (
    EXTENSIONS,
    Digest,
    Format,
    LinkTarget,
    LooseFile,
    Slug,
    split_extension,
)

NAMES_MAX = 50_000
"""Loose files looked for in one folder."""
CHUNK_BYTES = 1024 * 1024

_PAGE_EXTENSIONS = tuple(end for ends in EXTENSIONS.values() for end in ends)
_FETCHED = re.compile(rf"{UPLOADS}/[0-9a-fA-F]{{32}}(?:/|\Z)")
"""The folder of an attachment, which the service named."""

_Status = tuple[int, int, int, int]


class LooseFiles:
    """The loose files of one wiki's folder."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._seen: dict[str, tuple[_Status, LooseFile]] = {}

    async def names(self) -> frozenset[str]:
        """The names of all of them, without their folders."""
        return await asyncio.to_thread(lambda: frozenset(_names(str(self._root))))

    async def find(self, slug: Slug, target: LinkTarget) -> LooseFile | None:
        """The file that a link on a page leads to; None where it is no loose file.

        A page of that name is what the link leads to, whatever lies beside it.
        """
        path = _resolved(slug, target)
        if path is None or not _is_loose(path):
            return None
        return await finish_in_thread(self._look_at, path)

    async def read(self, file: LooseFile) -> AsyncIterator[bytes]:
        """The file's bytes in chunks.

        Raises:
            NotFound: it is gone.
            FolderError: it cannot be read.
        """
        try:
            with (
                opened_root(self._root) as root,
                Folders(root) as folders,
                opened_file(folders, file.path) as descriptor,
            ):
                while chunk := await finish_in_thread(os.read, descriptor, CHUNK_BYTES):
                    yield chunk
        except FileNotFoundError as exc:
            raise NotFound(f"no file {file.path} in {self._root}") from exc

    def _look_at(self, path: str) -> LooseFile | None:
        """A file, read only where it is not the one that was read before."""
        if any(
            os.path.lexists(self._root / f"{path}{end}") for end in _PAGE_EXTENSIONS
        ):
            return None
        try:
            with (
                opened_root(self._root) as root,
                Folders(root) as folders,
                opened_file(folders, path) as descriptor,
            ):
                found = os.fstat(descriptor)
                status = (
                    found.st_ino,
                    found.st_size,
                    found.st_mtime_ns,
                    found.st_ctime_ns,
                )
                known = self._seen.get(path)
                if known is None or known[0] != status:
                    known = self._seen[path] = (status, _file(descriptor, path))
                return known[1]
        except (OSError, FolderError):
            return None  # a folder, a link, or not to be read: the link stays as it is


def _names(folder: str) -> Iterator[str]:
    """Names below a folder; what cannot be looked into has none."""
    waiting, found = [folder], 0
    while waiting:
        place = waiting.pop()
        try:
            entries = list(os.scandir(place))
        except OSError:
            continue
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                way = os.path.relpath(entry.path, folder)
                if not (is_ignored_folder(entry.name) or _is_fetched(way)):
                    waiting.append(entry.path)
            elif entry.is_file(follow_symlinks=False) and _is_loose(entry.name):
                yield entry.name
                found += 1
        if found >= NAMES_MAX:
            return


def _is_fetched(path: str) -> bool:
    return _FETCHED.match(path) is not None


def _is_loose(path: str) -> bool:
    *folders, name = path.split("/")
    if any(map(is_ignored_folder, folders)) or _is_fetched(path):
        return False
    is_ours = not folders and name == CONFIG_FILE
    return not (is_ours or is_ignored_file(name) or split_extension(name))


def _resolved(slug: Slug, target: LinkTarget) -> str | None:
    """A target as a path in the wiki's folder; None where it leaves the folder."""
    way = target.path
    if not way or "\0" in way or "\\" in way or ":" in way.partition("/")[0]:
        return None
    is_from_root = target.is_wikilink or way.startswith("/")
    start = [] if is_from_root else path_of(slug, Format.MARKDOWN).split("/")[:-1]
    parts = list(start)
    for part in way.split("/"):
        if part == "..":
            if not parts:
                return None
            parts.pop()
        elif part not in {"", "."}:
            parts.append(part)
    return "/".join(parts) or None


def _file(descriptor: int, path: str) -> LooseFile:
    digest, size = hashlib.sha256(), 0
    while chunk := os.read(descriptor, CHUNK_BYTES):
        digest.update(chunk)
        size += len(chunk)
    return LooseFile(path, Digest(digest.hexdigest()), size)
