"""A folder to a website, built in place or published atomically."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from wikisync.config import Config
from wikisync.config.trust import refuse_unagreed
from wikisync.core.messages import Progress
from wikisync.core.model import Problem
from wikisync.errors import UsageError
from wikisync.site.build import build_site
from wikisync.site.model import BuildReport
from wikisync.site.publish import KEEP_DEFAULT, AfterCommand, Published, publish
from wikisync.site.published import leave
from wikisync.workspace.folders import ShownFolder, cache_folder


class Built(Struct, frozen=True):
    """What one build did."""

    index: Path
    report: BuildReport
    problems: tuple[Problem, ...]
    is_switched: bool | None = None
    """Whether a new version took the site's place; None where that is not asked."""


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
    config: Config | None,
    output: Path,
    progress: Progress,
    *,
    publishes: bool = False,
    replaces: bool = False,
    retries: bool = False,
) -> Built:
    """Bring the site in a folder up to date.

    Published, a new version takes the old one's place at once and what follows is run;
    else the files in the folder change one by one.

    Raises:
        UsageError: there is such a wiki, and it shall stay.
        ConfigError: the configuration is wrong.
        SiteError, FolderError: it cannot be built; the site stays as it was.
    """
    wikis, options = shown.site()
    options = replace(options, retries=retries)
    cache = cache_folder(shown, "site", os.environ)
    may_leave, index = leave(replaces=replaces), output / "index.html"
    if not publishes:
        report = build_site(
            wikis, output, options, cache=cache, may_leave=may_leave, progress=progress
        )
        return Built(index, report, report.problems)
    published: Published = asyncio.run(
        publish(
            wikis,
            output,
            options,
            cache=cache,
            keep=config.site.keep if config else KEEP_DEFAULT,
            after=after_command(shown, config, os.environ),
            may_leave=may_leave,
            progress=progress,
        )
    )
    report = published.report
    problems = (*report.problems, *published.problems)
    return Built(index, report, problems, published.is_switched)


def after_command(
    shown: ShownFolder, config: Config | None, environment: Mapping[str, str]
) -> AfterCommand | None:
    """The command of ``[site] after``; it runs in the workspace, without the token.

    Raises:
        Unagreed: the user has not agreed to it.
    """
    if config is None or shown.workspace is None or not config.site.after:
        return None
    refuse_unagreed(shown.workspace, config, environment, keys={"site.after"})
    return AfterCommand(config.site.after, shown.workspace, environment)
