"""All pages as PDF, printed by a browser or by WeasyPrint.

Chromium's time grows faster than its pages: it prints some of them at a time, and the
PDFs are joined.  It knows no ``target-counter``: the contents are printed last, with
the numbers of the pages on which their links end.  WeasyPrint counts wrong in a
flexible box, and prints all twice.  What is printed holds no script, asks no network
and shows files of its own folder.

Joined is what has one table of objects, none of them compressed; any other PDF is a
``ValueError`` or ``KeyError``.  Links lead to names, and hold in what is joined.
"""

from __future__ import annotations

import asyncio
import importlib.util
import os
import re
import shutil
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, TYPE_CHECKING
from urllib.parse import unquote

from msgspec import Struct

from wikisync.core.model import Problem
from wikisync.core.system.processes import end_session, start_program_async
from wikisync.errors import SiteError, UsageError
from wikisync.site.book.one_file import PrintDocument, write_print, written_whole
from wikisync.site.pages import toc_tree

if TYPE_CHECKING:
    from wikisync.markup.record import TocEntry
    from wikisync.site.book.chapters import Book, Part
    from wikisync.site.context import TocNode
    from wikisync.site.model import PdfEngine

CHROMIUMS = (
    # the shell first: it draws no window and starts in half the time
    *("chromium-headless-shell", "chrome-headless-shell", "headless_shell"),
    *("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"),
    *("chrome", "microsoft-edge"),
)
PRINT_SECONDS_MAX = 900.0
"""By the clock, for one run of an engine."""
SOURCE = "book.html"
"""What is printed, in the folder of the PDF."""
PAGES_AT_ONCE = 50
"""Of the wiki, that Chromium prints; its start costs as much as 20 of them."""
_DATE = re.compile(rb"D:\d{14}[+-]\d\d'\d\d'")
_NO_NUMBERS = (
    "its contents have no page numbers: the PDF has another form than expected",
    "give --pdf-engine weasyprint, or another version of Chromium",
)


def write_pdf(book: Book, target: Path, engine: PdfEngine) -> tuple[Problem, ...]:
    """Write the pages as PDF.

    Raises:
        UsageError: the engine is not on this machine.
        SiteError: it does not print.
    """
    program = find_engine(engine)
    notes: tuple[Problem, ...] = ()
    with TemporaryDirectory(prefix="wikisync-print-") as name:
        folder = Path(name)
        made = folder / "book.pdf"
        book.start(f"writing {target.name}")
        if program is None:
            numbers = _print_by_weasyprint(book, made, {})
            book.start(f"numbering {target.name}")
            _print_by_weasyprint(book, made, numbers)
        elif not _print_in_pieces(book, program, made):
            write_print(book, folder / SOURCE)
            _print_by_chromium(program, made, "--generate-pdf-document-outline")
            notes = (Problem("no-page-numbers", target.name, *_NO_NUMBERS),)
        with written_whole(target) as file:
            # the same pages are the same bytes
            stamp = re.sub(r"\D", "", book.changed)[:14] or "19800101000000"
            date = f"D:{stamp}+00'00'".encode()
            file.write(_DATE.sub(date, made.read_bytes()))
    return notes


def find_chromium() -> str | None:
    """The Chromium, or a browser made of it, that PATH has."""
    return next(filter(None, map(shutil.which, CHROMIUMS)), None)


def find_engine(engine: PdfEngine) -> str | None:
    """The Chromium that prints; None where WeasyPrint does.

    Raises:
        UsageError: there is no such engine on this machine.
    """
    program = None if engine == "weasyprint" else find_chromium()
    has_other = engine != "chromium" and importlib.util.find_spec("weasyprint")
    if program is None and not has_other:
        wanted = "WeasyPrint" if engine == "weasyprint" else "Chromium"
        raise UsageError(
            f"a PDF needs {wanted}, which is not installed",
            hint="install Chromium (Debian: apt install chromium) or"
            " WeasyPrint (pip install weasyprint)",
        )
    return program


# Chromium -------------------------------------------------------------------------


def _print_in_pieces(book: Book, program: str, target: Path) -> bool:
    """Print some pages at a time; whether the PDFs have the form that can be joined."""
    source = target.with_name(SOURCE)
    pieces: dict[int, tuple[Path, Collection[str]]] = {}
    """PDFs, each with the ids in it that stand for those of others."""

    def printed(
        number: int, parts: Sequence[Part], before: int, numbers: Mapping[str, int]
    ) -> tuple[PrintedPdf, PrintDocument]:
        document = write_print(book, source, parts, before, numbers)
        made = target.with_name(f"{number}.pdf")
        _print_by_chromium(program, made)
        pieces[number] = made, document.elsewhere
        return PrintedPdf(made.read_bytes()), document

    headings: list[TocEntry] = []
    numbers: dict[str, int] = {}
    try:
        pdf, _ = printed(0, (), 0, {})
        before = len(pdf.pages)
        for number, parts in enumerate(book.pieces(PAGES_AT_ONCE), start=1):
            pdf, document = printed(number, parts, before, {})
            headings += document.headings
            for name, place in pdf.destinations().items():
                if name not in document.elsewhere:
                    numbers[name] = before + place.page
            before += len(pdf.pages)
        printed(0, (), 0, numbers)
        with target.open("wb") as file:
            joined = _Joined(file)
            for made, elsewhere in pieces.values():
                joined.add(PrintedPdf(made.read_bytes()), elsewhere)
            joined.finish(toc_tree(headings))
    except (KeyError, ValueError):
        return False
    return True


def _print_by_chromium(program: str, target: Path, *flags: str) -> None:
    source = target.with_name(SOURCE)
    target.unlink(missing_ok=True)
    words = [
        program,
        "--headless",
        "--disable-gpu",
        # the shared memory of a container is small
        "--disable-dev-shm-usage",
        "--disable-extensions",
        "--disable-background-networking",
        "--no-first-run",
        "--host-resolver-rules=MAP * ~NOTFOUND",
        f"--user-data-dir={source.parent / 'profile'}",
        "--no-pdf-header-footer",
        *flags,
        f"--print-to-pdf={target}",
        source.as_uri(),
    ]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        # Chromium has no sandbox for root; the page runs no script in any case
        words.insert(1, "--no-sandbox")
    try:
        asyncio.run(_run(words))
    except (OSError, TimeoutError) as exc:
        why = "took too long" if isinstance(exc, TimeoutError) else str(exc)
        raise _not_printed(Path(program).name, why) from exc
    if not target.exists():
        raise _not_printed(Path(program).name, "it wrote no file")


async def _run(words: list[str]) -> None:
    """Run a program to its end; killed with all that it started when it takes long."""
    process = await start_program_async(words)
    try:
        async with asyncio.timeout(PRINT_SECONDS_MAX):
            await process.wait()
    finally:
        await end_session(process)


def _not_printed(engine: str, why: str) -> SiteError:
    return SiteError(
        f"{engine} did not print the PDF: {why}",
        hint="try the other one of --pdf-engine chromium and weasyprint",
    )


# WeasyPrint -----------------------------------------------------------------------


def _print_by_weasyprint(
    book: Book, target: Path, numbers: Mapping[str, int]
) -> Mapping[str, int]:
    """Print, and give the page on which each id is."""
    import weasyprint

    source = target.with_name(SOURCE)
    write_print(book, source, numbers=numbers)
    inside = f"{source.parent.as_uri()}/"

    class Inside(weasyprint.urls.URLFetcher):  # type: ignore[misc]
        """Gives nothing but the document and its pictures."""

        def fetch(self, url: str, headers: object = None) -> object:
            if not url.startswith((inside, "data:")):
                raise ValueError("nothing outside the document is shown")
            return super().fetch(url, headers)

    try:
        document = weasyprint.HTML(filename=source, url_fetcher=Inside()).render()
        document.write_pdf(target)
    except Exception as exc:
        raise _not_printed("WeasyPrint", str(exc)) from exc
    # a chapter over several pages has its id on each
    pages = reversed(list(enumerate(document.pages, start=1)))
    return {name: number for number, page in pages for name in page.anchors}


# PDFs as Chromium writes them: where their named places are, and several as one ------

_XREF = re.compile(rb"startxref\s+(\d+)\s+%%EOF\s*\Z")
_XREF_PART = re.compile(rb"\s*(\d+) (\d+)\s*?\n")
_REFERENCE = re.compile(rb"(\d+) 0 R")
_DESTINATION = re.compile(rb"/([^\s/\[\]<>()]+)\s*\[\s*(\d+) 0 R([^\]]*)\]")
_KIDS = re.compile(rb"/K(?:ids)?\s*(?:\[([^\]]*)\]|(\d+ 0 R))")
_ESCAPED = re.compile(rb"#([0-9a-fA-F]{2})")
_KEYED = re.compile(rb"(\d+) (\d+) 0 R")
_MOVED = re.compile(
    rb"(?P<text>\((?:[^()\\]|\\.)*\))|(?<=/StructParent)(?P<key>s? \d+)"
    rb"|\b(?P<number>\d+) 0 R",
    re.DOTALL,
)
"""What differs where an object is joined to others; texts may look like it."""
_CELL = re.compile(rb"\((node\d+)\)")
"""A cell of a table, as the cells that it heads name it."""
_STREAM = b">> stream\n"
CATALOG, ABOUT, PAGES, NAMES, STRUCTURE, KEYS, CELLS, OUTLINE = range(1, 9)
"""Objects that a document has once."""


class Destination(Struct, frozen=True):
    """A named place in a PDF."""

    key: bytes
    """The name as the PDF has it."""
    page: int
    """From 1."""
    behind: bytes
    """Where on the page."""


class PrintedPdf:
    """A PDF that Chromium wrote."""

    def __init__(self, pdf: bytes) -> None:
        self._pdf = pdf
        end = _found(_XREF, pdf)
        at = int(end[1]) + len(b"xref")
        starts: dict[int, int] = {}
        while part := _XREF_PART.match(pdf, at):
            for index in range(int(part[2])):
                line = part.end() + 20 * index
                if pdf[line + 17 : line + 18] == b"n":
                    starts[int(part[1]) + index] = int(pdf[line : line + 10])
            at = part.end() + 20 * int(part[2])
        order = sorted(starts.values())
        ends = dict(zip(order, [*order[1:], int(end[1])], strict=True))
        self._objects = {number: (at, ends[at]) for number, at in starts.items()}
        trailer = pdf[at : end.start()]
        catalog = self.text(_number(trailer, b"Root"))
        structure = _number(catalog, b"StructTreeRoot")
        tree = self.text(structure)
        self.shared = {
            CATALOG: _number(trailer, b"Root"),
            ABOUT: _number(trailer, b"Info"),
            NAMES: _number(catalog, b"Dests"),
            STRUCTURE: structure,
            KEYS: _number(tree, b"ParentTree"),
        }
        """What it has once, by the numbers in a joined document."""
        if b"/IDTree" in tree:
            self.shared[CELLS] = _number(tree, b"IDTree")
        self.top = _number(catalog, b"Pages")
        self.pages = tuple(self._pages(self.top))
        """The numbers of its pages, in their order."""

    def __iter__(self) -> Iterator[int]:
        """The numbers of its objects."""
        return iter(self._objects)

    def text(self, number: int) -> bytes:
        """An object as it is written."""
        start, end = self._objects[number]
        start = self._pdf.index(b"obj\n", start, end) + 4
        return self._pdf[start : self._pdf.rindex(b"\nendobj", start, end)]

    def _pages(self, above: int) -> Iterator[int]:
        for number in map(int, _REFERENCE.findall(_kids(self.text(above)))):
            if b"/Kids" in self.text(number):
                yield from self._pages(number)
            else:
                yield number

    def destinations(self) -> Mapping[str, Destination]:
        """Where the ids are to which the document has links."""
        order = {number: at for at, number in enumerate(self.pages, 1)}
        found = {}
        for key, page, behind in _DESTINATION.findall(self.text(self.shared[NAMES])):
            name = _ESCAPED.sub(lambda one: bytes.fromhex(one[1].decode()), key)
            place = Destination(key, order[int(page)], behind)
            found[unquote(name.decode())] = place
        return found


class _Joined:
    """A PDF while others are added to it."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._starts = {0: 0}
        """Number of each object to its place in the file."""
        self._last = OUTLINE
        self._key = self._page_count = 0
        """By the key a page or link finds its part of the structure."""
        self._names: dict[str, bytes] = {}
        self._lists: dict[int, list[bytes]] = defaultdict(list)
        file.write(b"%PDF-1.4\n%\xd3\xeb\xe9\xe1\n")

    def _put(self, number: int, text: bytes) -> None:
        self._starts[number] = self._file.tell()
        self._file.write(b"%d 0 obj\n%s\nendobj\n" % (number, text))

    def add(self, pdf: PrintedPdf, elsewhere: Collection[str]) -> None:
        """Add the pages of a PDF, without ids that stand for those of another one."""
        key, lists, shared = self._key, self._lists, pdf.shared
        numbers = {number: one for one, number in shared.items()}
        own = [number for number in pdf if number not in numbers]
        numbers |= {number: one for one, number in enumerate(own, self._last + 1)}
        self._last += len(own)
        cell = rb"(%04d\1)" % len(lists[PAGES])

        def moved(found: re.Match[bytes]) -> bytes:
            if found["text"]:
                return _CELL.sub(cell, found["text"])
            if found["key"]:
                word, _, number = found["key"].partition(b" ")
                return b"%s %d" % (word, int(number) + key)
            return b"%d 0 R" % numbers[int(found["number"])]

        for number in own:
            head, mark, content = pdf.text(number).partition(_STREAM)
            head = _MOVED.sub(moved, head)
            if number == pdf.top:
                head = head.replace(b"<<", b"<</Parent %d 0 R\n" % PAGES, 1)
            self._put(numbers[number], head + mark + content)
        if CATALOG not in self._starts:
            catalog = _MOVED.sub(moved, pdf.text(shared[CATALOG]))
            catalog = re.sub(rb"/Pages \d+", b"/Pages %d" % PAGES, catalog)
            outline = b"<</Outlines %d 0 R\n" % OUTLINE
            self._put(CATALOG, catalog.replace(b"<<", outline, 1))
            self._put(ABOUT, pdf.text(shared[ABOUT]))
        self._page_count += len(pdf.pages)
        lists[PAGES].append(b"%d 0 R" % numbers[pdf.top])
        for one in {STRUCTURE, CELLS} & shared.keys():
            lists[one].append(_MOVED.sub(moved, _kids(pdf.text(shared[one]))))
        for one, number in _KEYED.findall(pdf.text(shared[KEYS])):
            self._key = max(self._key, int(one) + key + 1)
            lists[KEYS].append(b"%d %d 0 R" % (int(one) + key, numbers[int(number)]))
        for name, place in pdf.destinations().items():
            if name not in elsewhere:
                self._names[name] = place.key
                page = numbers[pdf.pages[place.page - 1]]
                lists[NAMES].append(b"/%s [%d 0 R%s]" % (place.key, page, place.behind))

    def finish(self, outline: Sequence[TocNode]) -> None:
        """Write what a document has once."""
        pages, names, structure, keys, cells = (
            b"\n".join(self._lists[one])
            for one in (PAGES, NAMES, STRUCTURE, KEYS, CELLS)
        )
        about = b"/Type /Pages\n/Count %d\n/Kids [%s]" % (self._page_count, pages)
        self._put(PAGES, b"<<%s>>" % about)
        self._put(NAMES, b"<<%s>>" % names)
        about = b"/ParentTree %d 0 R\n/IDTree %d 0 R\n/K [%s]" % (
            KEYS,
            CELLS,
            structure,
        )
        self._put(STRUCTURE, b"<</Type /StructTreeRoot\n%s>>" % about)
        self._put(KEYS, b"<</Type /ParentTree\n/Nums [%s]>>" % keys)
        self._put(CELLS, b"<</Kids [%s]>>" % cells)
        ends = self._headings(outline, OUTLINE)
        self._put(OUTLINE, b"<</Type /Outlines%s/Count %d>>" % (ends, len(outline)))
        start, size = self._file.tell(), self._last + 1
        self._file.write(b"xref\n0 %d\n0000000000 65535 f \n" % size)
        for number in range(1, size):
            self._file.write(b"%010d 00000 n \n" % self._starts[number])
        about = b"/Size %d\n/Root %d 0 R\n/Info %d 0 R" % (size, CATALOG, ABOUT)
        self._file.write(b"trailer\n<<%s>>\nstartxref\n%d\n%%%%EOF\n" % (about, start))

    def _headings(self, nodes: Sequence[TocNode], above: int) -> bytes:
        """Write entries of the outline, each closed; the keys of the one above them."""
        first = self._last + 1
        last = self._last = self._last + len(nodes)
        for number, node in enumerate(nodes, first):
            keys = self._headings(node.children, number)
            keys += b"/Count -%d" % len(node.children) if keys else b""
            if node.id in self._names:
                keys += b"/Dest /%s" % self._names[node.id]
            keys += b"/Prev %d 0 R" % (number - 1) if number > first else b""
            keys += b"/Next %d 0 R" % (number + 1) if number < last else b""
            title = node.text.encode("utf-16-be", "replace").hex().encode()
            entry = b"<</Title <feff%s>/Parent %d 0 R%s>>" % (title, above, keys)
            self._put(number, entry)
        return b"/First %d 0 R/Last %d 0 R" % (first, last) if nodes else b""


def _number(text: bytes, key: bytes) -> int:
    """The object to which a key of another one leads."""
    return int(_found(re.compile(rb"/%s (\d+) 0 R" % key), text)[1])


def _kids(text: bytes) -> bytes:
    """References to what is below an object."""
    return b"".join(_found(_KIDS, text).groups(b""))


def _found(pattern: re.Pattern[bytes], text: bytes) -> re.Match[bytes]:
    found = pattern.search(text)
    if found is None:
        raise ValueError("not a PDF as Chromium writes it")
    return found
