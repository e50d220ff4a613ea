"""``wikisync build``: a folder becomes a website; no service is asked."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec import Struct
from msgspec.structs import replace

from wikisync.cli.folders import ShownFolder, cache_folder, find_shown
from wikisync.cli.site_report import replace_option
from wikisync.cli.theming import theme_choice, theme_options
from wikisync.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from wikisync.cli.console import Console
    from wikisync.config import Config
    from wikisync.model import Problem
    from wikisync.progress import Progress
    from wikisync.site.model import BuildReport
    from wikisync.site.publish import AfterCommand, Published


class Built(Struct, frozen=True):
    """What one build did."""

    index: Path
    report: BuildReport
    problems: tuple[Problem, ...]
    is_switched: bool | None = None
    """Whether a new version took the site's place; None where that is not asked."""


@click.command(
    name="build", epilog="Example: wikisync build my-wikis -o public --strict"
)
@click.argument(
    "folder", type=click.Path(path_type=Path), default=Path(), metavar="[FOLDER]"
)
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
    help="Replace the published site atomically, then run [site] after.",
)
@theme_options
@replace_option()
@click.option(
    "--retry",
    is_flag=True,
    help="Retry pages that exceeded the time or memory limit.",
)
@click.option(
    "--strict", is_flag=True, help="Fail if there is a broken link or a problem."
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.pass_obj
def command(
    console: Console,
    folder: Path,
    theme: str | None,
    theme_options: tuple[str, ...],
    templates: Path | None,
    output: Path | None,
    *,
    has_report: bool,
    is_published: bool,
    replaces: bool,
    retry: bool,
    strict: bool,
    as_json: bool,
) -> int:
    """Build a static website from FOLDER; it needs no server.

    FOLDER is a workspace, one wiki of it, or any folder with pages; the default is the
    current folder.  No service is contacted.
    """
    choice = theme_choice(theme, theme_options, templates, has_report=has_report)
    shown = find_shown(folder, choice)
    config = shown.config()
    place = output or site_folder(shown, config)
    with console.progress() as progress:
        if is_published:
            built = publish(
                shown, config, place, progress, replaces=replaces, retries=retry
            )
        else:
            built = build(shown, place, progress, replaces=replaces, retries=retry)
    return show_report(console, built, is_strict=strict, as_json=as_json)


def site_folder(shown: ShownFolder, config: Config | None) -> Path:
    """Where the site of a workspace goes.

    Raises:
        UsageError: the folder is not a workspace, so that nothing says where.
    """
    if config is None or shown.workspace is None or shown.workspace != shown.folder:
        raise UsageError(
            f"no output folder is given for the site of {shown.folder}",
            hint="give a folder with -o, or set [site] output",
        )
    return shown.workspace / config.site.output


def build(
    shown: ShownFolder,
    output: Path,
    progress: Progress,
    *,
    replaces: bool = False,
    retries: bool = False,
) -> Built:
    """Bring the site in a folder up to date, file by file.

    ``replaces`` removes wikis that are in the site and not in the folder.

    Raises:
        UsageError: there is such a wiki, and it shall stay.
        ConfigError: the configuration is wrong.
        SiteError, FolderError: it cannot be built; the site stays as it was.
    """
    from wikisync.site.build import build_site
    from wikisync.site.published import leave

    wikis, options = shown.site()
    options = replace(options, retries=retries)
    cache = cache_folder(shown, "site", os.environ)
    report = build_site(
        wikis,
        output,
        options,
        cache=cache,
        may_leave=leave(replaces=replaces),
        progress=progress,
    )
    return Built(output / "index.html", report, report.problems)


def publish(
    shown: ShownFolder,
    config: Config | None,
    output: Path,
    progress: Progress,
    *,
    replaces: bool = False,
    retries: bool = False,
) -> Built:
    """Switch a new version of the site in at once, and run what follows.

    ``replaces`` removes wikis that are in the site and not in the folder.

    Raises:
        UsageError: there is such a wiki, and it shall stay.
        ConfigError: the configuration is wrong.
        SiteError, FolderError: it cannot be built; the site stays as it was.
    """
    from wikisync.site.publish import KEEP_DEFAULT
    from wikisync.site.publish import publish as publish_site
    from wikisync.site.published import leave

    wikis, options = shown.site()
    published: Published = asyncio.run(
        publish_site(
            wikis,
            output,
            replace(options, retries=retries),
            cache=cache_folder(shown, "site", os.environ),
            keep=config.site.keep if config else KEEP_DEFAULT,
            after=after_command(shown, config, os.environ),
            may_leave=leave(replaces=replaces),
            progress=progress,
        )
    )
    report = published.report
    problems = (*report.problems, *published.problems)
    return Built(output / "index.html", report, problems, published.is_switched)


def after_command(
    shown: ShownFolder, config: Config | None, environment: Mapping[str, str]
) -> AfterCommand | None:
    """The command of ``[site] after``; it runs in the workspace, without the token."""
    from wikisync.site.publish import AfterCommand

    if config is None or shown.workspace is None or not config.site.after:
        return None
    return AfterCommand(config.site.after, shown.workspace, environment)


# -- the report --------------------------------------------------------------------


def show_report(
    console: Console, built: Built, *, is_strict: bool, as_json: bool
) -> int:
    """Print what a build did and give its exit code."""
    from wikisync.cli.pulling import show_problems
    from wikisync.cli.sentences import counted
    from wikisync.cli.site_report import show_broken_links, site_summary

    report, problems = built.report, built.problems
    show_problems(console, problems)
    if as_json:
        console.result(json.dumps(_as_json(built), ensure_ascii=False, indent=2))
    else:
        show_broken_links(console, report, is_strict=is_strict)
        pages = counted(report.pages, "page")
        console.result(site_summary(report, pages, len(problems), built.index))
    if is_strict and (problems or report.broken_links):
        return int(ExitCode.FAILED)
    return int(ExitCode.HELD if problems else ExitCode.DONE)


def _as_json(built: Built) -> dict[str, object]:
    from wikisync.cli.sentences import problem_as_json
    from wikisync.cli.site_report import broken_links_as_json, files_as_json

    report = built.report
    return {
        "index": str(built.index),
        "pages": report.pages,
        "switched": built.is_switched,
        "files": files_as_json(report),
        "broken_links": broken_links_as_json(report),
        "problems": [problem_as_json(problem) for problem in built.problems],
    }
