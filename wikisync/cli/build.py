"""``wikisync build``: a folder becomes a website; no service is asked."""

from pathlib import Path

import click

from wikisync.cli import options, site_report
from wikisync.cli.books import book_options
from wikisync.cli.console import Console, show_problems
from wikisync.cli.theming import theme_options
from wikisync.errors import ExitCode
from wikisync.site.book.request import BookRequest
from wikisync.workspace.building import Built, build, site_folder
from wikisync.workspace.folders import ThemeChoice, find_shown
from wikisync.workspace.sentences import counted, problem_as_json


@click.command(
    name="build", epilog="Example: wikisync build my-wikis -o public --strict"
)
@options.folder_argument
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Output folder of the site. [default: [site] output of the workspace]",
)
@click.option(
    "--publish",
    "is_published",
    is_flag=True,
    help="Replace the published site atomically, then do [site] bucket and after.",
)
@book_options
@theme_options
@options.replace_option
@options.retry_option
@options.strict_option
@options.json_option
@click.pass_obj
def command(
    console: Console,
    folder: Path,
    output: Path | None,
    books: BookRequest,
    *,
    choice: ThemeChoice,
    is_published: bool,
    replaces: bool,
    retry: bool,
    strict: bool,
    as_json: bool,
) -> int:
    """Build a static website from FOLDER, or one file of all its pages.

    FOLDER is a workspace, one wiki of it, or any folder with pages; the default is the
    current folder.  No service is contacted.
    """
    shown = find_shown(folder, choice)
    config = shown.config()
    has_site = output or is_published or not books.files
    site = (output or site_folder(shown, config)) if has_site else None
    with console.progress() as progress:
        built = build(
            shown,
            config,
            site,
            progress,
            books=books,
            publishes=is_published,
            replaces=replaces,
            retries=retry,
        )
    return show_report(console, built, is_strict=strict, as_json=as_json)


# -- the report --------------------------------------------------------------------


def show_report(
    console: Console, built: Built, *, is_strict: bool, as_json: bool
) -> int:
    """Print what a build did and give its exit code."""
    report, problems = built.report, built.problems
    show_problems(console, problems, report.notes)
    if as_json:
        console.json(_as_json(built))
    else:
        site_report.show_broken_links(console, report, is_strict=is_strict)
        pages = counted(report.pages, "page")
        places = [built.index, *(path for _, path in built.books.files)]
        console.result(site_report.site_summary(report, pages, len(problems), places))
    if is_strict and (problems or report.broken_links):
        return int(ExitCode.FAILED)
    return int(ExitCode.HELD if problems else ExitCode.DONE)


def _as_json(built: Built) -> dict[str, object]:
    report = built.report
    return {
        "index": str(built.index),
        "books": [str(path) for _, path in built.books.files],
        "pages": report.pages,
        "switched": built.is_switched,
        "files": site_report.files_as_json(report),
        "broken_links": site_report.broken_links_as_json(report),
        "problems": [problem_as_json(problem) for problem in built.problems],
        "notes": [problem_as_json(note) for note in report.notes],
    }
