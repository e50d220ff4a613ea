"""Loose files: pictures and the like that a person put beside the pages.

Only files that a page links to are read.  What a person made of a fetched attachment,
in its place, is sent as a loose file is.
"""

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping

from wikisync.core import model
from wikisync.core.system.parallel import finish_in_thread
from wikisync.folder.ignore import is_ignored_file
from wikisync.folder.naming import attachment_path, is_fetched, path_of
from wikisync.folder.replica import FolderReplica
from wikisync.folder.safe_open import Folders, opened_root


class LooseFiles:
    """The loose files of one wiki's folder."""

    def __init__(self, folder: FolderReplica) -> None:
        self._folder, self._root = folder, folder.root
        self._index = folder.index

    async def listed(self) -> frozenset[str]:
        """The paths of all of them but of those in hidden folders, in form C."""
        listed = await asyncio.to_thread(self._folder.listing)
        own = (path for path in listed.attachments if not is_fetched(path))
        return frozenset(map(model.in_form_c, (*listed.loose, *own)))

    async def at(self, paths: Collection[str]) -> Mapping[str, model.LooseFile]:
        """The files at these paths, in any form of Unicode; none that is a page."""
        asked = {path for path in paths if _is_loose(path)}
        return await finish_in_thread(self._scan, asked) if asked else {}

    def path_of(
        self, slug: model.Slug, target: model.LinkTarget
    ) -> model.AttachmentPath | None:
        """Where in the wiki's folder a link on a page leads; None where out of it."""
        way = _resolved(slug, target)
        if target.path.startswith("/") and way is not None and is_fetched(way):
            return None  # the project's own store, and not the wiki's
        found = target.path if is_fetched(target.path) else way
        return None if found is None else model.AttachmentPath(found)

    async def there(
        self, paths: Collection[model.AttachmentPath]
    ) -> Mapping[model.AttachmentPath, model.LooseFile]:
        """Those of some fetched attachments that are there, as they are now."""
        return await self._folder.attachments(paths)

    def read(self, file: model.LooseFile) -> AsyncIterator[bytes]:
        """The file's bytes in chunks; raises ``NotFound`` where it is gone."""
        return self._folder.read_attachment(model.AttachmentPath(file.path))

    def _scan(self, paths: Collection[str]) -> Mapping[str, model.LooseFile]:
        loose, found = self._folder.listing().loose, dict[str, model.LooseFile]()
        pages = {
            folder: self._pages_in(folder)
            for folder in {path.rpartition("/")[0] for path in paths}
        }
        # the disk may spell a name in another form of Unicode than the link does
        names = () if all(map(str.isascii, paths)) else loose
        forms = {model.in_form_c(name): name for name in names}
        with opened_root(self._root) as root, Folders(root) as folders:
            for path in sorted(paths):
                folder, _, name = path.rpartition("/")
                if (
                    self._folder.keeps_out(model.AttachmentPath(path))
                    or name in pages[folder]
                ):
                    continue
                spelled = (
                    path if path.isascii() else forms.get(model.in_form_c(path), path)
                )
                file = self._index.look(folders, spelled)
                if file is not None:
                    found[path] = model.LooseFile(spelled, file.digest, file.size)
        self._index.keep()
        return found

    def _pages_in(self, folder: str) -> frozenset[str]:
        try:
            files = [
                model.split_extension(each.name)
                for each in (self._root / folder).iterdir()
            ]
        except OSError:
            return frozenset()
        return frozenset(file[0] for file in files if file is not None)


def _is_loose(path: str) -> bool:
    name = path.rpartition("/")[2]
    is_other = is_fetched(path) or is_ignored_file(name) or model.split_extension(name)
    return attachment_path(path) is not None and not is_other


def _resolved(slug: model.Slug, target: model.LinkTarget) -> str | None:
    """A target as a path in the wiki's folder; None where it leaves the folder."""
    way = target.path
    if not way or "\0" in way or "\\" in way:
        return None
    is_from_root = target.is_wikilink or way.startswith("/")
    start = [] if is_from_root else path_of(slug, model.Format.MARKDOWN).split("/")[:-1]
    parts = list(start)
    for part in way.split("/"):
        if part == "..":
            if not parts:
                return None
            parts.pop()
        elif part not in {"", "."}:
            parts.append(part)
    return "/".join(parts) or None
