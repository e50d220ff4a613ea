"""Conflict files: ``Page.conflict.md`` beside ``Page.md``, while a page is held.

A person edits them, so they are written and removed with the same care as pages.
"""

import os
from contextlib import suppress

from wikisync.core import model
from wikisync.errors import FolderError, PlaceTaken, PreconditionFailed
from wikisync.folder import safe_open
from wikisync.folder.ignore import CONFLICT_MARK, locked_name
from wikisync.folder.naming import decode_page, path_of
from wikisync.folder.pages import PageFolder
from wikisync.folder.swap import FileWrite, OwnFolders


class ConflictFiles:
    """The conflict files in one wiki's folder; blocks, for one thread at a time."""

    def __init__(self, pages: PageFolder, own: OwnFolders) -> None:
        self._pages = pages
        self._own = own

    def find(self, slug: model.Slug) -> str | None:
        """The path of the page's conflict file; None where none can be read."""
        with suppress(FolderError):
            return self._found(slug)[0] or None
        return None

    def read(self, slug: model.Slug) -> model.ConflictFile | None:
        """The page's conflict file; ``PlaceTaken`` where no file has its name."""
        path, content = self._found(slug)
        if content is None:
            return None
        text = decode_page(content, path)
        if isinstance(text, model.Problem):
            raise FolderError(str(text), path=path, hint=text.hint)
        return model.ConflictFile(path, text, self._lock(path))

    def write(
        self,
        slug: model.Slug,
        page_format: model.Format,
        text: str,
        expected: model.Digest | None = None,
    ) -> str:
        """Write the page's conflict file over what is expected; return its path."""
        page = self._pages.path(slug)
        path = self.find(slug) or _beside(page or path_of(slug, page_format))
        content = text.encode("utf-8", "surrogatepass")
        before = self._content(path)
        if before == content:
            return path
        _require(path, before, expected)
        if before is not None:
            self._own.trash.put(path, before, "the conflict changed")
        expected = None if before is None else model.digest_of(before)
        with self._own.writer() as writer:
            # a page that only its owner may read has such a conflict file
            like = page if page and before is None else ""
            (error,) = writer.write_many([FileWrite(path, content, expected, like)])
        if error is not None:
            raise error
        return path

    def remove(self, slug: model.Slug, expected: model.Digest | None = None) -> None:
        """Remove the page's conflict file, if there is one that can be read."""
        for path in self._paths(slug):
            content = None
            with suppress(FolderError):
                content = self._content(path)
            if content is not None:
                _require(path, content, expected)
                with self._own.writer() as writer:
                    writer.remove(
                        path,
                        expected=model.digest_of(content),
                        why="the conflict is over",
                    )

    def move(self, path: str, target: model.Slug) -> None:
        """Move a conflict file beside its page's new place, if that is free."""
        page = self._pages.path(target)
        content = self._content(path)
        if page is None or content is None:
            return
        with self._own.writer() as writer, suppress(PreconditionFailed):
            writer.move(path, _beside(page), expected=model.digest_of(content))

    def _found(self, slug: model.Slug) -> tuple[str, bytes | None]:
        """The conflict file's path and content; nothing where there is none."""
        errors: list[FolderError] = []
        for path in self._paths(slug):
            try:
                content = self._content(path)
            except FolderError as error:
                errors.append(error)
            else:
                if content is not None:
                    return path, content
        if errors:
            raise errors[0]
        return "", None

    def _paths(self, slug: model.Slug) -> list[str]:
        """Where the conflict file may be, the likeliest place first."""
        known = self._pages.path(slug)
        ours = [
            path_of(slug, page_format) for page_format in sorted(model.WRITABLE_FORMATS)
        ]
        pages = [known, *ours] if known else ours
        return list(dict.fromkeys(map(_beside, pages)))

    def _content(self, path: str) -> bytes | None:
        try:
            with safe_open.opened_below(self._own.root, path) as descriptor:
                return safe_open.read_all(descriptor, path)
        except FileNotFoundError:
            return None
        except PlaceTaken as error:
            # any file may be called so, and this one is not to become the page's
            hint = f"move {error.path} away"
            raise PlaceTaken(error.message, path=error.path, hint=hint) from error

    def _lock(self, path: str) -> str:
        """The lock file of an editor that has a file open, or nothing."""
        folder, slash, name = path.rpartition("/")
        with (
            safe_open.opened_root(self._own.root) as root,
            safe_open.closing(
                safe_open.open_folder(root, folder.split("/") if folder else [])
            ) as descriptor,
            os.scandir(descriptor) as entries,
        ):
            locks = [one.name for one in entries if locked_name(one.name) == name]
        return f"{folder}{slash}{min(locks)}" if locks else ""


def _require(path: str, content: bytes | None, expected: model.Digest | None) -> None:
    found = model.NO_FILE if content is None else model.digest_of(content)
    if expected is not None and found != expected:
        raise PreconditionFailed(f"{path} was saved meanwhile")


def _beside(path: str) -> str:
    split = model.split_extension(path)
    assert split, path
    stem = split[0]
    return f"{stem}{CONFLICT_MARK}{path[len(stem) :]}"
