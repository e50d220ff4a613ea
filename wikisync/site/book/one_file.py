"""All pages in one HTML file, which a browser reads or prints."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING
from urllib.parse import unquote

from wikisync.core.model import Problem
from wikisync.folder.safe_open import folder_error
from wikisync.markup.file_types import file_type
from wikisync.markup.record import TocEntry
from wikisync.site.book.chapters import Document

if TYPE_CHECKING:
    from wikisync.site.book.chapters import Book, Chapter, FileOfBook, Part

INLINE_BYTES_MAX = 4 * 1024 * 1024
"""A larger file lies beside the one that shows it."""
_NOT_IN_STRINGS = re.compile(r"[^\w ]")


class OneFile(Document):
    """The document of ``--single``: files are inside it, large ones beside it."""

    plays_media = True

    def __init__(self, book: Book, target: Path) -> None:
        super().__init__(book)
        self._beside = target.with_name(f"{target.stem}.files")
        self.has_web = bool(book.site.options.get("external_media", True))
        self.left_beside: dict[str, int] = {}
        """Files that are too large to be inside."""

    def file_link(self, path: str, *, is_shown: bool) -> str | None:  # noqa: ARG002
        """Address of a file of the site: its bytes, or its place beside."""
        file = self._book.file(path)
        if file is None or (content := file.read()) is None:
            return None
        if file.size <= INLINE_BYTES_MAX:
            return f"data:{file_type(path)};base64,{b64encode(content).decode()}"
        name = f"{file.digest[:16]}-{file.path.rpartition('/')[2]}"
        if name not in self.left_beside:
            self._beside.mkdir(exist_ok=True)
            (self._beside / name).write_bytes(content)
            self.left_beside[name] = file.size
        return Path(self._beside.name, name).as_posix()


def write_single(book: Book, target: Path) -> tuple[Problem, ...]:
    """Write the document of ``--single``; what lies beside it is said."""
    document = OneFile(book, target)
    book.start(f"writing {target.name}")
    write_html(book, "single.html", document, target)
    return tuple(
        Problem(
            "left-beside",
            name,
            f"has {size // 1024**2} MiB; it lies in {target.stem}.files beside"
            f" {target.name}",
            "hand both on together",
        )
        for name, size in document.left_beside.items()
    )


class PrintDocument(Document):
    """The document that an engine prints: its pictures lie in the same folder.

    It may have some of the pages.  A link to another one needs an id here, which
    stands for that of the PDF with that page.
    """

    def __init__(self, book: Book, target: Path, parts: Sequence[Part]) -> None:
        super().__init__(book)
        self._folder = target.parent
        self._copied: dict[str, str] = {}
        self._paths = {place.path for part in parts for place in part.places}
        self.elsewhere: dict[str, None] = {}
        """The ids to which there are links, of pages that it does not have."""
        self.headings: list[TocEntry] = []
        self.ids = [
            ident
            for part in parts
            for ident in (part.id, *(book.ident(place.path) for place in part.places))
        ]
        """All that links of other documents may lead to."""

    def ident(self, path: str, own: str) -> str:
        """An id, which is noted."""
        self.ids.append(super().ident(path, own))
        return self.ids[-1]

    def page_link(self, path: str, fragment: str) -> str | None:
        """A link, which is noted where its page is in another document."""
        link = super().page_link(path, fragment)
        if link and link[0] == "#" and path not in self._paths:
            self.elsewhere[unquote(link[1:])] = None
        return link

    def chapters(self, part: Part) -> Iterator[Chapter]:
        """The pages of a wiki, noted as they are read."""
        if part.has_title:
            self.headings.append(TocEntry(0, part.id, part.wiki.title))
        for chapter in self._book.chapters(part, self):
            self.headings += chapter.headings
            yield chapter

    def picture(self, file: FileOfBook) -> str | None:
        """Address of a picture in the folder."""
        if file.path not in self._copied:
            if (content := file.read()) is None:
                return None
            name = f"{len(self._copied) + 1}{Path(file.path).suffix.lower()}"
            (self._folder / name).write_bytes(content)
            self._copied[file.path] = name
        return self._copied[file.path]


def write_print(
    book: Book,
    target: Path,
    parts: Sequence[Part] | None = None,
    pages_before: int = 0,
    numbers: Mapping[str, int] | None = None,
) -> PrintDocument:
    """Write what is to be printed: all, these parts, or with none of them the contents.

    ``target`` is in a folder of its own, where pictures are put; ``numbers`` has the
    printed page of each chapter, by id, as far as known.
    """
    shown = book.parts if parts is None else parts
    document = PrintDocument(book, target, shown)
    if not shown:
        document.elsewhere = dict.fromkeys(PrintDocument(book, target, book.parts).ids)
    write_html(
        book,
        "print.html",
        document,
        target,
        {
            "parts": parts or book.parts,
            "has_contents": not parts,
            "has_chapters": shown != (),
            "chapters": document.chapters,
            # above each printed page of a chapter, as a style sheet has it
            "running_heads": [
                {
                    "number": place.number,
                    "title": _css_text(place.title),
                    "wiki": _css_text(part.wiki.title),
                }
                for part in shown
                for place in part.places
            ],
            "pages_before": pages_before,
            "numbers": numbers or {},
            "ids": document.ids,
            "elsewhere": document.elsewhere,
        },
    )
    return document


def write_html(
    book: Book,
    template: str,
    document: Document,
    target: Path,
    given: Mapping[str, object] | None = None,
) -> None:
    """Write all pages by one template, piece by piece."""
    from markupsafe import Markup

    context: dict[str, object] = {
        "site": book.site,
        "parts": book.parts,
        "changed": book.changed,
        "chapters": lambda part: book.chapters(part, document),
        # a style sheet of the theme is no text of a page
        "style": lambda name: Markup(book.theme.style(name)),  # noqa: S704
        **(given or {}),
    }
    with written_whole(target) as file:
        for piece in book.theme.stream(template, context, at="index.html"):
            file.write(piece.encode("utf-8", "replace"))


def _css_text(text: str) -> str:
    """Text for a quoted string of a style sheet, harmless in HTML as well."""
    return _NOT_IN_STRINGS.sub(lambda one: f"\\{ord(one[0]):x} ", text)


@contextmanager
def written_whole(target: Path) -> Iterator[IO[bytes]]:
    """A file that takes the place of the one before when it is whole.

    Raises ``FolderError`` if it cannot be written.
    """
    part = target.with_name(f".{target.name}.part")
    try:
        with part.open("wb") as file:
            yield file
        part.replace(target)
    except OSError as exc:
        raise folder_error("write", str(target), exc) from exc
    finally:
        with suppress(OSError):
            part.unlink()
