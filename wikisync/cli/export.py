"""``wikisync export``: wikis of a service become a static website.

A build from copies of the wikis in a private cache, whose loss costs only time.
"""

import click
from msgspec.structs import replace

from wikisync.cli import options, site
from wikisync.cli.console import Console, show_problems
from wikisync.cli.findings import findings_option, findings_text
from wikisync.cli.options import flag, folder_option
from wikisync.cli.service_command import ServiceCommand, selection_options, url_option
from wikisync.cli.site import book_options, theme_options
from wikisync.config.sections import check_url
from wikisync.core.model import Problem
from wikisync.errors import ExitCode, UsageError
from wikisync.site.model import BookRequest, SiteOptions
from wikisync.workspace import exporting
from wikisync.workspace.discovery import Selection
from wikisync.workspace.folders import ThemeChoice
from wikisync.workspace.page_files import chosen_markup
from wikisync.workspace.pulled import wiki_as_json
from wikisync.workspace.sentences import counted, fields, problems_as_json
from wikisync.workspace.service import Credentials


@click.command(
    name="export",
    cls=ServiceCommand,
    epilog="Example: wikisync export https://gitlab.example.com --project docs/handbook"
    " -o site",
)
@selection_options
@options.token_option
@options.joined(
    "request",
    exporting.ExportRequest,
    url_option,
    folder_option(
        "-o",
        "--output",
        help="Output folder of the site: a new folder or an earlier export.",
    ),
    folder_option("--cache", help="Folder for data that speeds up the next export."),
    flag("--comments", help="Show the comments on pages below them."),
    flag(
        "--allow-emptying",
        help="Remove pages from the site even if most of a wiki, or all of it, is"
        " gone.",
    ),
    options.replace_option,
    flag(
        "--verify",
        help="Check every wiki for changes, even if the service lists no new activity.",
    ),
    flag(
        "--anonymous",
        "is_anonymous",
        help="Allow an export without a token over one made with a token.",
    ),
)
@book_options
@click.option("--title", help="Title of the site. [default: the title of the wiki]")
@click.option(
    "--site-url", metavar="ADDRESS", help="Address where the site will be published."
)
@theme_options
@options.markup_option
@options.strict_option
@options.retry_option
@click.option(
    "--history",
    type=click.IntRange(0, 100),
    default=10,
    metavar="NUMBER",
    help="Versions of each page that the site shows. [default: 10]",
)
@findings_option
@options.json_option
@click.pass_obj
def command(
    console: Console,
    /,
    request: exporting.ExportRequest,
    selection: Selection,
    credentials: Credentials,
    books: BookRequest,
    title: str | None,
    site_url: str | None,
    markup: tuple[str, ...],
    findings: str | None,
    history: int,
    choice: ThemeChoice,
    *,
    strict: bool,
    retries: bool,
) -> int:
    """Export wikis of the service at URL as a static website, or as one file.

    URL may also be the address of a wiki, a project or a group, which selects that
    wiki.
    """
    if request.output is None and not books.files:
        raise UsageError(
            "nothing says where the export goes",
            hint="name a folder with -o, or a file with --single, --pdf or --epub",
        )
    if site_url and (wrong := check_url(site_url, "https://wiki.example.com")):
        raise UsageError(f"--site-url {wrong}")
    made = SiteOptions(
        title=title or "",
        url=site_url,
        markup=chosen_markup(markup),
        history=history,
        retries=retries,
    )
    request = replace(request, selection=selection, site=choice.over(made), books=books)
    exported = exporting.export_wikis(request, credentials)
    return show_report(console, exported, is_strict=strict, findings=findings)


def show_report(
    console: Console,
    exported: exporting.Exported,
    *,
    is_strict: bool = False,
    findings: str | None = None,
) -> int:
    """Print what an export did and give its exit code."""
    notes = (*exported.notes, *exported.report.notes)
    show_problems(console, exported.problems, notes)
    console.problems(_refused(exported))
    if findings:
        broken = exported.report.broken_links
        links = ((one, f"{one.wiki}/{one.slug}") for one in broken)
        console.result(findings_text(links, exported.problems, findings))
    elif console.as_json:
        console.json(_as_json(exported))
    else:
        site.show_broken_links(console, exported.report, is_strict=is_strict)
        pages = counted(exported.report.pages, "page")
        wikis = counted(len(exported.pulled.wikis) + len(exported.kept), "wiki")
        if exported.kept:
            wikis += f", {len(exported.kept)} of them kept from the last export"
        console.result(site.site_summary(exported, f"{pages} of {wikis}"))
    if is_strict and (
        exported.problems or _refused(exported) or exported.report.broken_links
    ):
        return ExitCode.FAILED
    return ExitCode.HELD if exported.problems else ExitCode.DONE


def _refused(exported: exporting.Exported) -> list[Problem]:
    """Wikis that are not for this token, and that the site never had."""
    kept = {str(one.wiki.owner) for one in exported.kept}
    return [one for one in exported.pulled.refused if one.subject not in kept]


def _as_json(exported: exporting.Exported) -> dict[str, object]:
    skipped = (*exported.notes, *_refused(exported))
    return site.site_as_json(exported) | {
        "wikis": [wiki_as_json(wiki) for wiki in exported.pulled.wikis],
        "kept": [
            {
                "kind": one.wiki.owner.kind,
                "path": one.wiki.owner.full_path,
                "pages": one.wiki.pages,
                "from": "cache" if one.copy else "site",
                **fields(one, "reason read_at"),
            }
            for one in exported.kept
        ],
        "skipped": problems_as_json(skipped),
    }
