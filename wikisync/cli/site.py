"""``wikisync build``, and what commands that build a site share."""

from __future__ import annotations

from collections import Counter
from functools import partial
from pathlib import Path

import click
from msgspec.structs import asdict

from wikisync.cli import options
from wikisync.cli.console import Console, show_problems
from wikisync.cli.options import InputPath, flag, folder_option
from wikisync.errors import ExitCode, UsageError
from wikisync.markup.record import position_of
from wikisync.site.model import BookFormat, BookRequest, BuildReport, PdfEngine
from wikisync.workspace import folders
from wikisync.workspace.page_files import parse_settings
from wikisync.workspace.sentences import counted, fields, problems_as_json

BROKEN_LINKS_SHOWN_MAX = 20


theme_options = options.joined(
    "choice",
    folders.ThemeChoice,
    click.option(
        "--theme",
        metavar="NAME",
        help="Theme: a name, or the path of a theme folder, like themes/ours.",
    ),
    click.option(
        "--theme-option",
        "options",
        multiple=True,
        callback=lambda _ctx, _option, given: parse_settings(given, "--theme-option"),
        metavar="NAME=VALUE",
        help="Set an option of the theme; repeatable.",
    ),
    click.option(
        "--templates",
        type=InputPath("folder"),
        metavar="FOLDER",
        help="Folder of templates and files that override the theme's.",
    ),
    flag(
        "--no-report",
        "has_report",
        default=True,
        flag_value=False,
        help="Omit the report pages (broken links, missing pages, orphans).",
    ),
    flag(
        "--page-templates",
        help="Also publish the templates for new pages, in templates/.",
    ),
)
"""The options of a site's theme."""


def book_request(
    single: Path | None,
    pdf: Path | None,
    epub: Path | None,
    only: str | None,
    pdf_engine: PdfEngine | None,
) -> BookRequest:
    """The files of all pages that the command line asks for."""
    named: dict[BookFormat, Path | None] = {"html": single, "pdf": pdf, "epub": epub}
    files = [(kind, path) for kind, path in named.items() if path is not None]
    for name, value in {"--only": only, "--pdf-engine": pdf_engine}.items():
        if value and not files:
            raise UsageError(
                f"{name} is for --single, --pdf and --epub",
                hint="name a file with one of them",
            )
    return BookRequest(tuple(files), only or "", pdf_engine or "auto")


file_option = partial(
    click.option, type=click.Path(path_type=Path, dir_okay=False), metavar="FILE"
)
book_options = options.joined(
    "books",
    book_request,
    file_option("--single", help="Write all pages into one HTML file."),
    file_option(
        "--pdf", help="Write all pages into a PDF; needs Chromium or WeasyPrint."
    ),
    file_option("--epub", help="Write all pages into a book for e-readers."),
    click.option(
        "--only",
        metavar="PAGE",
        help="Put only this page or folder, and all below it, into these files.",
    ),
    click.option(
        "--pdf-engine",
        type=click.Choice(["auto", "chromium", "weasyprint"]),
        help="What prints the PDF. [default: Chromium, else WeasyPrint]",
    ),
)


def site_summary(done: folders.Built, pages: str) -> str:
    """What was done, and each place where something is, once."""
    report = done.report
    links = counted(len(report.broken_links), "broken link")
    places = [done.index, *(path for _, path in done.books.files)]
    return (
        f"{pages}: {counted(report.written, 'file')} written,"
        f" {report.unchanged} unchanged, {report.removed} removed;"
        f" {links}, {counted(len(done.problems), 'problem')}\n"
        + "\n".join(dict.fromkeys(map(str, places)))
    )


def show_broken_links(
    console: Console, report: BuildReport, *, is_strict: bool
) -> None:
    """The first broken links; always in strict mode, where a command fails for them."""
    show = console.warn if is_strict else console.note
    links = Counter(
        f"broken link: {link.wiki}: {position_of(link.slug, link.line)}:"
        f" {link.href} ({link.reason})"
        for link in report.broken_links
    )
    for line, times in list(links.items())[:BROKEN_LINKS_SHOWN_MAX]:
        show(f"{line}, {times} times" if times > 1 else line)
    if len(links) > BROKEN_LINKS_SHOWN_MAX:
        more = len(links) - BROKEN_LINKS_SHOWN_MAX
        show(f"and {more} more broken links; --json lists all")


def site_as_json(done: folders.Built) -> dict[str, object]:
    """What a build or an export did, for programs."""
    report = done.report
    return {
        "index": str(done.index),
        "books": [str(path) for _, path in done.books.files],
        "pages": report.pages,
        "files": fields(report, "written unchanged removed"),
        "broken_links": [asdict(link) for link in report.broken_links],
        "problems": problems_as_json(done.problems),
        "notes": problems_as_json(report.notes),
    }


@click.command(
    name="build", epilog="Example: wikisync build my-wikis -o public --strict"
)
@options.folder_argument
@folder_option(
    "-o",
    "--output",
    help="Output folder of the site. [default: [site] output of the workspace]",
)
@flag(
    "--publish",
    "publishes",
    help="Replace the published site atomically, then do [site] bucket and after.",
)
@book_options
@theme_options
@options.replace_option
@options.retry_option
@options.strict_option
@options.json_option
@click.pass_obj
def build(
    console: Console,
    /,
    folder: Path,
    output: Path | None,
    books: BookRequest,
    *,
    choice: folders.ThemeChoice,
    publishes: bool,
    replaces: bool,
    retries: bool,
    strict: bool,
) -> int:
    """Build a static website from FOLDER, or one file of all its pages.

    FOLDER is a workspace, one wiki of it, or any folder with pages; the default is the
    current folder.  No service is contacted.
    """
    shown = folders.find_shown(folder, choice)
    config = shown.config()
    has_site = output or publishes or not books.files
    target = (output or folders.site_folder(shown, config)) if has_site else None
    with console.progress() as progress:
        built = folders.build(
            shown,
            config,
            target,
            progress,
            books=books,
            publishes=publishes,
            replaces=replaces,
            retries=retries,
        )
    report, problems = built.report, built.problems
    show_problems(console, problems, report.notes)
    if console.as_json:
        console.json(site_as_json(built) | {"switched": built.is_switched})
    else:
        show_broken_links(console, report, is_strict=strict)
        console.result(site_summary(built, counted(report.pages, "page")))
    if strict and (problems or report.broken_links):
        return int(ExitCode.FAILED)
    return int(ExitCode.HELD if problems else ExitCode.DONE)
