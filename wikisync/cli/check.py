"""``wikisync check``: every page and link of a folder checked, no site written."""

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path

import click
from msgspec.structs import replace

from wikisync.cli.console import Console
from wikisync.cli.findings import findings_option, findings_text
from wikisync.cli.options import flag, folder_argument, json_option
from wikisync.core.messages import Progress
from wikisync.core.model import Problem
from wikisync.errors import ExitCode
from wikisync.site.checking import CheckReport, check_wikis
from wikisync.workspace.folders import cache_folder, find_shown
from wikisync.workspace.sentences import counted, fields, problems_as_json, with_hint


@click.command(
    name="check", epilog="Example: wikisync check my-wikis/handbook --orphans"
)
@folder_argument
@flag("--orphans", "shows_orphans", help="List pages that no page links to.")
@flag(
    "--external",
    "is_external",
    help="Also ask other servers for the addresses that pages link to.",
)
@findings_option
@json_option
@click.pass_obj
def command(
    console: Console,
    folder: Path,
    findings: str | None,
    *,
    shows_orphans: bool,
    is_external: bool,
) -> int:
    """Check FOLDER for broken links and invalid pages, without building a site.

    FOLDER is a workspace, one wiki of it, a folder or file in that, or any folder with
    pages; the default is the current folder.  The exit code is 3 if anything is found.
    With --external, [check] of wikisync.toml names addresses to leave out.
    """
    shown = find_shown(folder.parent if folder.is_file() else folder)
    wikis, options = shown.site()
    cache = cache_folder(shown, "site", os.environ)
    with console.progress() as progress:
        report = check_wikis(
            wikis,
            options,
            cache=cache,
            progress=progress,
            is_external=is_external,
            below=folder.resolve(),
        )
        if report.external:
            config = shown.config()
            ignored = config.check.ignore if config else ()
            report = _with_external(report, ignored, cache, progress)
    if findings:
        links = ((one.link, str(_near(one.file))) for one in report.broken_links)
        console.result(findings_text(links, report.problems, findings))
    elif console.as_json:
        console.json(_as_json(report))
    else:
        _show(console, report, shows_orphans=shows_orphans)
    return int(ExitCode.DONE if report.is_clean else ExitCode.HELD)


def _with_external(
    report: CheckReport, ignored: Sequence[str], cache: Path, progress: Progress
) -> CheckReport:
    """The report with what other servers answer to the addresses in it."""
    from wikisync.workspace.external import check_addresses  # slow to load

    addresses = [one.link.href for one in report.external]
    found = asyncio.run(check_addresses(addresses, ignored, cache, progress))
    broken = [
        replace(one, link=replace(one.link, reason=checked.reason))
        for one in report.external
        if (checked := found.get(one.link.href)) is not None and checked.reason
    ]
    unsure = [one for one, checked in found.items() if checked.is_unsure]
    notes = [
        Problem("link-unsure", one, "only a person with a browser can check it")
        for one in sorted(unsure)
    ]
    return replace(
        report,
        broken_links=(*report.broken_links, *sorted(broken, key=lambda one: one.link)),
        notes=(*report.notes, *notes),
    )


def _show(console: Console, report: CheckReport, *, shows_orphans: bool) -> None:
    for one in report.broken_links:
        at = f"{_near(one.file)}:{one.link.line or 1}"
        console.lines(f"{at}: broken link {one.link.href} ({one.link.reason})")
    for problem in report.problems:
        console.lines(with_hint(problem, problem.hint))
    for note in report.notes:
        console.note(with_hint(note, note.hint))
    if shows_orphans:
        for wiki, slug in report.orphans:
            console.lines(f"{wiki}: no page links to {slug}")
    console.note(
        f"{counted(report.pages, 'page')}:"
        f" {counted(len(report.broken_links), 'broken link')},"
        f" {counted(len(report.problems), 'problem')},"
        f" {counted(len(report.orphans), 'page')} that no page links to"
    )


def _near(file: Path) -> Path:
    file, here = file.resolve(), Path.cwd()
    return file.relative_to(here) if file.is_relative_to(here) else file


def _as_json(report: CheckReport) -> dict[str, object]:
    return {
        "pages": report.pages,
        "broken_links": [
            fields(one.link, "wiki slug line href reason") | {"file": str(one.file)}
            for one in report.broken_links
        ],
        "wanted_pages": [
            {"wiki": wiki, "slug": slug, "count": count}
            for wiki, slug, count in report.wanted
        ],
        "orphans": [{"wiki": wiki, "slug": slug} for wiki, slug in report.orphans],
        "problems": problems_as_json(report.problems),
        "notes": problems_as_json(report.notes),
    }
