"""All pages as PDF, printed by a browser or by WeasyPrint.

Each prints twice: Chromium knows no ``target-counter``, and WeasyPrint counts wrong
in a flexible box.  The first PDF says on which pages the links of the contents end,
and the second one has their numbers.  The page
that it prints holds no script, asks no network and shows files of its own folder.
"""

from __future__ import annotations

import asyncio
import importlib.util
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING
from urllib.parse import unquote

from wikisync.core.model import Problem
from wikisync.core.system.processes import end_session, start_program_async
from wikisync.errors import SiteError, UsageError
from wikisync.site.book.one_file import write_print, written_whole

if TYPE_CHECKING:
    from wikisync.site.book.chapters import Book
    from wikisync.site.book.request import PdfEngine

CHROMIUMS = (
    # the shell first: it draws no window and starts in half the time
    *("chromium-headless-shell", "chrome-headless-shell", "headless_shell"),
    *("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"),
    *("chrome", "microsoft-edge"),
)
PRINT_SECONDS_MAX = 900.0
"""By the clock, for one run of an engine."""
_XREF = re.compile(rb"startxref\s+(\d+)\s+%%EOF\s*\Z")
_XREF_PART = re.compile(rb"\s*(\d+) (\d+)\s*?\n")
_REFERENCE = re.compile(rb"(\d+) 0 R")
_DESTINATION = re.compile(rb"/([^\s/\[\]<>()]+)\s*\[\s*(\d+) 0 R")
_KIDS = re.compile(rb"/Kids\s*\[([^\]]*)\]")
_ESCAPED = re.compile(rb"#([0-9a-fA-F]{2})")
_DATE = re.compile(rb"D:\d{14}[+-]\d\d'\d\d'")


def write_pdf(book: Book, target: Path, engine: PdfEngine) -> tuple[Problem, ...]:
    """Write the pages as PDF.

    Raises:
        UsageError: the engine is not on this machine.
        SiteError: it does not print.
    """
    program = find_engine(engine)
    with TemporaryDirectory(prefix="wikisync-print-") as folder:
        source, made = Path(folder, "book.html"), Path(folder, "book.pdf")
        write_print(book, source, {})
        if program is None:
            numbers = _print_by_weasyprint(source, made)
            write_print(book, source, numbers)
            _print_by_weasyprint(source, made)
        else:
            # what only counts pages needs no tags for screen readers, nor an outline
            _print_by_chromium(program, source, made, "--disable-pdf-tagging")
            numbers = printed_pages(made.read_bytes())
            if numbers:
                write_print(book, source, numbers)
            _print_by_chromium(program, source, made, "--generate-pdf-document-outline")
        with written_whole(target) as file:
            # the same pages are the same bytes
            stamp = re.sub(r"\D", "", book.changed)[:14] or "19800101000000"
            date = f"D:{stamp}+00'00'".encode()
            file.write(_DATE.sub(date, made.read_bytes()))
    if numbers:
        return ()
    return (
        Problem(
            "no-page-numbers",
            target.name,
            "its contents have no page numbers: the PDF has another form than expected",
            "give --pdf-engine weasyprint, or another version of Chromium",
        ),
    )


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


def _print_by_chromium(program: str, source: Path, target: Path, flag: str) -> None:
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
        flag,
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


def _print_by_weasyprint(source: Path, target: Path) -> Mapping[str, int]:
    """Print, and give the page on which each id is."""
    import weasyprint

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


# What a PDF says ------------------------------------------------------------------


def printed_pages(pdf: bytes) -> Mapping[str, int]:
    """The page, from 1, on which each named place of a PDF is.

    It reads what Chromium writes: one table of objects, none of them compressed.
    Nothing is found in any other PDF.
    """
    try:
        return dict(_named_pages(pdf))
    except (KeyError, ValueError, RecursionError):
        return {}


def _named_pages(pdf: bytes) -> Iterator[tuple[str, int]]:
    objects = _Objects(pdf)
    root = objects.value(objects.trailer, b"Root")
    order = {number: at for at, number in enumerate(objects.pages(root, b"Pages"), 1)}
    for name, page in _DESTINATION.findall(objects.value(root, b"Dests")):
        text = _ESCAPED.sub(lambda one: bytes.fromhex(one[1].decode()), name)
        yield unquote(text.decode()), order[int(page)]


class _Objects:
    """The objects of a PDF by their numbers."""

    def __init__(self, pdf: bytes) -> None:
        self._pdf = pdf
        end = _found(_XREF, pdf)
        at = int(end[1]) + len(b"xref")
        self._places: dict[int, int] = {}
        while part := _XREF_PART.match(pdf, at):
            first, count = int(part[1]), int(part[2])
            for index in range(count):
                line = part.end() + 20 * index
                self._places[first + index] = int(pdf[line : line + 10])
            at = part.end() + 20 * count
        self.trailer = pdf[at : end.start()]

    def text(self, number: int) -> bytes:
        """An object as it is written."""
        start = self._places[number]
        return self._pdf[start : self._pdf.index(b"endobj", start)]

    def value(self, text: bytes, key: bytes) -> bytes:
        """The object to which a key of another one leads."""
        found = _found(re.compile(rb"/%s (\d+) 0 R" % key), text)
        return self.text(int(found[1]))

    def pages(self, text: bytes, key: bytes) -> Iterator[int]:
        """The numbers of all pages below an object, in their order."""
        kids = _found(_KIDS, self.value(text, key))
        for number in map(int, _REFERENCE.findall(kids[1])):
            below = self.text(number)
            if b"/Kids" in below:
                yield from self.pages(b"/P %d 0 R" % number, b"P")
            else:
                yield number


def _found(pattern: re.Pattern[bytes], text: bytes) -> re.Match[bytes]:
    found = pattern.search(text)
    if found is None:
        raise ValueError("not a PDF as Chromium writes it")
    return found
