"""``wikisync build``: a folder becomes a website; no service is asked."""

from pathlib import Path

import click

from wikisync.cli import options, site
from wikisync.cli.console import Console, show_problems
from wikisync.cli.options import flag
from wikisync.cli.site import book_options, theme_options
from wikisync.errors import ExitCode
from wikisync.site.model import BookRequest
from wikisync.workspace.folders import (
    Built,
    ThemeChoice,
    build,
    find_shown,
    site_folder,
)
from wikisync.workspace.sentences import counted


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
@flag(
    "--publish",
    "is_published",
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
) -> int:
    """Build a static website from FOLDER, or one file of all its pages.

    FOLDER is a workspace, one wiki of it, or any folder with pages; the default is the
    current folder.  No service is contacted.
    """
    shown = find_shown(folder, choice)
    config = shown.config()
    has_site = output or is_published or not books.files
    target = (output or site_folder(shown, config)) if has_site else None
    with console.progress() as progress:
        built = build(
            shown,
            config,
            target,
            progress,
            books=books,
            publishes=is_published,
            replaces=replaces,
            retries=retry,
        )
    return show_report(console, built, is_strict=strict)


# -- the report --------------------------------------------------------------------


def show_report(console: Console, built: Built, *, is_strict: bool) -> int:
    """Print what a build did and give its exit code."""
    report, problems = built.report, built.problems
    show_problems(console, problems, report.notes)
    if console.as_json:
        console.json(site.site_as_json(built) | {"switched": built.is_switched})
    else:
        site.show_broken_links(console, report, is_strict=is_strict)
        console.result(site.site_summary(built, counted(report.pages, "page")))
    if is_strict and (problems or report.broken_links):
        return int(ExitCode.FAILED)
    return int(ExitCode.HELD if problems else ExitCode.DONE)
