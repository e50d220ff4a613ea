"""All pages as PDF, printed by a browser or by WeasyPrint.

Chromium's time grows faster than its pages: it prints some of them at a time, and the
PDFs are joined.  It knows no ``target-counter``: the contents are printed last, with
the numbers of the pages on which their links end.  WeasyPrint counts wrong in a
flexible box, and prints all twice.  What is printed holds no script, asks no network
and shows files of its own folder.
"""

from __future__ import annotations

import asyncio
import importlib.util
import os
import re
import shutil
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from wikisync.core.model import Problem
from wikisync.core.system.processes import end_session, start_program_async
from wikisync.errors import SiteError, UsageError
from wikisync.site.book.one_file import PrintDocument, write_print, written_whole
from wikisync.site.book.pdf_file import PrintedPdf, join_pdfs
from wikisync.site.pages import toc_tree

if TYPE_CHECKING:
    from wikisync.markup.record import TocEntry
    from wikisync.site.book.chapters import Book, Part
    from wikisync.site.book.request import PdfEngine

CHROMIUMS = (
    # the shell first: it draws no window and starts in half the time
    *("chromium-headless-shell", "chrome-headless-shell", "headless_shell"),
    *("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"),
    *("chrome", "microsoft-edge"),
)
PRINT_SECONDS_MAX = 900.0
"""By the clock, for one run of an engine."""
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
            write_print(book, folder / "book.html")
            _print_by_chromium(
                program, folder / "book.html", made, "--generate-pdf-document-outline"
            )
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
    source = target.with_name("book.html")
    pieces: dict[int, tuple[Path, Collection[str]]] = {}

    def printed(
        number: int, parts: Sequence[Part], before: int, numbers: Mapping[str, int]
    ) -> tuple[PrintedPdf, PrintDocument]:
        document = write_print(book, source, parts, before, numbers)
        made = target.with_name(f"{number}.pdf")
        _print_by_chromium(program, source, made)
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
            join_pdfs(file, pieces.values(), toc_tree(headings))
    except (KeyError, ValueError):
        return False
    return True


def _print_by_chromium(program: str, source: Path, target: Path, *flags: str) -> None:
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

    source = target.with_name("book.html")
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
