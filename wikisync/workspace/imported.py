"""The folder that an import makes, and how pages are named and linked in it."""

import posixpath
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

from msgspec import Struct, field

from wikisync.core.model import Format, PagePath, Slug
from wikisync.errors import FolderError, PreconditionFailed
from wikisync.folder.naming import attachment_path, path_of
from wikisync.folder.safe_open import read_below
from wikisync.folder.swap import write_atomically
from wikisync.markup.filters.headings import id_of
from wikisync.workspace.page_files import files_below

FILE_BYTES_MAX = 100 * 1024 * 1024
"""Of an attachment; the service's own limit is this by default."""
PAGE_BYTES_MAX = 16 * 1024 * 1024


class Lost(Struct, frozen=True, order=True):
    """Something that was not carried over."""

    file: str
    line: int
    what: str


class Imported(Struct):
    """The folder while it is made, and what came of it."""

    folder: Path
    pages: int = 0
    files: int = 0
    lost: list[Lost] = field(default_factory=list)

    def lose(self, file: str, line: int, what: str) -> None:
        """Note what is not carried over."""
        self.lost.append(Lost(file, line, what))

    def write_page(
        self, slug: Slug, text: str, source: str, page_format: Format = Format.MARKDOWN
    ) -> None:
        """Write a page, unless another one has its name."""
        self.pages += self._write(path_of(slug, page_format), text.encode(), source)

    def copy_file(self, root: Path, name: str, to: str) -> None:
        """Copy a file of the source that is no page."""
        path = attachment_path(to)
        if path is None:
            self.lose(name, 1, "no file of a wiki can have this name")
            return
        try:
            content = read_below(root, name, FILE_BYTES_MAX)
        except (FolderError, FileNotFoundError) as error:
            self.lose(name, 1, f"the file cannot be read: {error}")
            return
        self.files += self._write(PagePath(path), content, name)

    def _write(self, path: PagePath, content: bytes, source: str) -> bool:
        try:
            write_atomically(self.folder, path, content, expected=None)
        except PreconditionFailed:
            self.lose(source, 1, f"another file of the import has the name {path}")
            return False
        return True


def slug_of(name: str) -> Slug:
    """The slug of a page by the name that it has elsewhere: words with hyphens."""
    parts = [" ".join(part.split()).replace(" ", "-") for part in name.split("/")]
    return Slug("/".join(filter(None, parts)))


def address_of(target: str, page: Slug, fragment: str = "") -> str:
    """A link from a page to another page or file, as the service reads it."""
    # it takes a name with a dot for that of a file beside the page, and any other one
    # from the root of the wiki
    if "." in target.rpartition("/")[2]:
        target = posixpath.relpath(target, posixpath.dirname(page) or ".")
    heading = f"#{quote(id_of(fragment))}" if fragment else ""
    return quote(target) + heading


def folded(name: str) -> str:
    """A name without what other programs do not distinguish."""
    return " ".join(name.replace("_", " ").replace("-", " ").split()).casefold()


def names_in(root: Path) -> list[str]:
    """The files of a source, those of the fewest folders first."""
    return sorted(files_below(root), key=lambda name: (name.count("/"), name))


Reader = Callable[[str], str | None]


def page_reader(root: Path, imported: Imported) -> Reader:
    """Reads the texts of a source; what is none is noted."""

    def read(name: str) -> str | None:
        try:
            return read_below(root, name, PAGE_BYTES_MAX).decode("utf-8-sig")
        except UnicodeDecodeError:
            imported.lose(name, 1, "the page is not UTF-8 text")
        except (FolderError, FileNotFoundError) as error:
            imported.lose(name, 1, f"the page cannot be read: {error}")
        return None

    return read
