"""Wikis to one file each of the formats that are asked for."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from wikisync.core.messages import Progress
from wikisync.core.model import Problem
from wikisync.errors import UsageError
from wikisync.site.book.chapters import Book
from wikisync.site.book.epub import write_epub
from wikisync.site.book.one_file import write_single
from wikisync.site.book.pdf import find_engine, write_pdf
from wikisync.site.build import checked_sources
from wikisync.site.cache import Cache, with_cache
from wikisync.site.checking import read_wikis
from wikisync.site.index import bounded_reader
from wikisync.site.model import BookRequest, BuildReport, SiteOptions, WikiSource
from wikisync.site.sources import settle
from wikisync.site.theme import Theme, load_theme


def with_books(
    report: BuildReport | None,
    wikis: Sequence[WikiSource],
    request: BookRequest,
    options: SiteOptions,
    *,
    cache: Path,
    progress: Progress | None = None,
) -> BuildReport:
    """Write all pages of some wikis into one file, in each format asked for.

    The report is that of a site, if one was made, with what is said of these files.

    Raises:
        UsageError: there is no such page, or nothing that prints.
        SiteError: the theme is wrong.
        FolderError: a file cannot be written, or a wiki's folder not be read at all.
    """
    if report is not None and not request.files:
        return report
    check_books(request)
    for _, target in request.files:
        sources = checked_sources(wikis, target, options)
    theme = load_theme(
        options.theme, project=options.templates, options=options.theme_options
    )
    shown = progress or Progress()
    write = partial(_written, sources, request, options, theme, shown)
    made = with_cache(cache, write)
    if report is None:
        return made
    notes = dict.fromkeys([*report.notes, *made.notes])
    return replace(report, notes=tuple(notes))


def check_books(request: BookRequest) -> None:
    """Refuse files that cannot be written before anything is read.

    Raises:
        UsageError: nothing prints a PDF, or there is no folder for a file.
    """
    for kind, target in request.files:
        if not target.absolute().parent.is_dir():
            raise UsageError(
                f"there is no folder {target.parent}", hint="create it first"
            )
        if kind == "pdf":
            find_engine(request.engine)


def _written(
    sources: Sequence[WikiSource],
    request: BookRequest,
    options: SiteOptions,
    theme: Theme,
    progress: Progress,
    store: Cache,
) -> BuildReport:
    read = read_wikis(sources, options, theme, progress, store)
    # the memory of its processes is for those that print
    bounded_reader().close()
    book = Book(read, theme, progress, request.only)
    notes: list[Problem] = []
    for kind, target in request.files:
        if kind == "html":
            notes += write_single(book, target)
        elif kind == "epub":
            write_epub(book, target)
        else:
            notes += write_pdf(book, target, request.engine)
    count = sum(len(wiki.pages) for wiki in read.wikis)
    read.indexer.sweep(
        count, lambda: (page for wiki in read.wikis for page in wiki.pages.values())
    )
    for wiki in read.wikis:
        settle(wiki.scanned, store)
    report = book.report()
    return replace(report, written=len(request.files), notes=(*report.notes, *notes))
