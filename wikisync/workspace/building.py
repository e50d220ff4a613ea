"""A folder to a website, built in place or published atomically."""

import asyncio
import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from wikisync.config import Config
from wikisync.config.trust import refuse_unagreed
from wikisync.core.messages import Progress
from wikisync.core.model import Problem
from wikisync.errors import UsageError
from wikisync.site.book.request import NO_BOOKS, BookRequest
from wikisync.site.build import build_site
from wikisync.site.model import BuildReport
from wikisync.site.publish import KEEP_DEFAULT, AfterCommand, Published, publish
from wikisync.site.published import leave
from wikisync.workspace.folders import ShownFolder, cache_folder


class Built(Struct, frozen=True):
    """What one build did."""

    index: Path
    """Of the site, or the first file where only books are written."""
    report: BuildReport
    problems: tuple[Problem, ...]
    books: BookRequest = NO_BOOKS
    is_switched: bool | None = None
    """Whether a new version took the site's place; None where that is not asked."""


def site_folder(shown: ShownFolder, config: Config | None) -> Path:
    """Where the site of a workspace goes; UsageError where the folder is none."""
    if config is None or shown.workspace is None or shown.workspace != shown.folder:
        raise UsageError(
            f"no output folder is given for the site of {shown.folder}",
            hint="give a folder with -o, or set [site] output",
        )
    return shown.workspace / config.site.output


def build(
    shown: ShownFolder,
    config: Config | None,
    output: Path | None,
    progress: Progress,
    *,
    books: BookRequest = NO_BOOKS,
    publishes: bool = False,
    replaces: bool = False,
    retries: bool = False,
) -> Built:
    """Bring the site in a folder up to date, and write the books asked for.

    Published, a new version takes the old one's place at once and what follows is run;
    else the files in the folder change one by one.  Where it cannot be built, the site
    stays as it was.
    """
    from wikisync.site.book.writing import with_books  # slow to load

    wikis, options = shown.site()
    options = replace(options, retries=retries)
    cache = cache_folder(shown, "site", os.environ)
    add_books = partial(
        with_books, wikis=wikis, request=books, options=options, cache=cache
    )
    if output is None:
        report = add_books(None, progress=progress)
        return Built(books.files[0][1], report, report.problems, books)
    may_leave, index = leave(replaces=replaces), output / "index.html"
    if not publishes:
        report = build_site(
            wikis, output, options, cache=cache, may_leave=may_leave, progress=progress
        )
        report = add_books(report, progress=progress)
        return Built(index, report, report.problems, books)
    published: Published = asyncio.run(
        publish(
            wikis,
            output,
            options,
            cache=cache,
            keep=config.site.keep if config else KEEP_DEFAULT,
            bucket=bucket_of(shown, config, os.environ),
            after=after_command(shown, config, os.environ),
            may_leave=may_leave,
            progress=progress,
        )
    )
    report = add_books(published.report, progress=progress)
    problems = (*report.problems, *published.problems)
    return Built(index, report, problems, books, published.is_switched)


def after_command(
    shown: ShownFolder, config: Config | None, environment: Mapping[str, str]
) -> AfterCommand | None:
    """The command of ``[site] after``, agreed to; it runs without the token."""
    if config is None or shown.workspace is None or not config.site.after:
        return None
    refuse_unagreed(shown.workspace, config, environment, keys={"site.after"})
    return AfterCommand(config.site.after, shown.workspace, environment)


def bucket_of(
    shown: ShownFolder, config: Config | None, environment: Mapping[str, str]
) -> str:
    """The address in ``[site] bucket``, agreed to; empty for none."""
    if config is None or shown.workspace is None or not config.site.bucket:
        return ""
    refuse_unagreed(shown.workspace, config, environment, keys={"site.bucket"})
    return config.site.bucket
