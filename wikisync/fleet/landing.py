"""The landing page of a fleet: all public wikis, and a search over their pages.

It is a row as a wiki has one, so that it has one writer at a time, whose writes are
refused where another one came.  What the rows list is what it shows; a worker that has
made it before reads the search index of those wikis alone that changed.
"""

from __future__ import annotations

import asyncio
import shutil
import threading
import time
from pathlib import Path
from typing import Any

from wikisync.core.system.parallel import each, finish_in_thread
from wikisync.core.system.private import make_private_folder
from wikisync.fleet.rows import Row, Rows, Settings
from wikisync.site.addresses import SEARCH_FOLDER
from wikisync.site.bucket import AT_ONCE, Bucket, Check, look, open_bucket, upload
from wikisync.site.build import build_site
from wikisync.site.kept import SEARCHED_DOCUMENTS
from wikisync.site.model import SiteOptions, WikiSource
from wikisync.site.published import PublishedWiki

APART, SITE, CACHE = "apart", "site", "site-cache"
MARK = "version"
BUILDING = threading.Lock()
"""Builds of a process: they share the process that parses, and take whole cores."""
REST_S, REST_TIMES = 5.0, 10.0
"""Between two builds: ten times what the processor did here during one."""


async def land(
    row: Row, rows: Rows, settings: Settings, folder: Path, check: Check
) -> None:
    """Make the landing page show what the rows list, with the errors of ``upload``."""
    begun, bucket = time.process_time(), open_bucket(settings.site)
    seen, wikis = await look(bucket), await rows.listed()
    make_private_folder(folder)
    apart = folder / APART
    for wiki in wikis:
        await _fetch(bucket, wiki, apart)
    if wikis:
        options = SiteOptions(title=settings.title, has_report=False)
        await finish_in_thread(build, folder, options, kept=wikis, apart=apart)
    await check()
    await rows.check(row)
    await upload(folder / SITE if wikis else None, bucket, seen, check=check)
    rests_s = max(REST_S, REST_TIMES * (time.process_time() - begun))
    await rows.move(row, generation=row.generation, rests_s=bool(wikis) * rests_s)


async def _fetch(bucket: Bucket, wiki: PublishedWiki, apart: Path) -> None:
    """Read the search index of a wiki, unless that version of it is here."""
    top = apart / wiki.prefix
    mark = top / MARK
    if mark.exists() and mark.read_text() == wiki.apart:
        return
    await asyncio.to_thread(shutil.rmtree, top, ignore_errors=True)
    paths = await bucket.etags(f"{wiki.prefix}{SEARCH_FOLDER}")
    wanted = [one for one in paths if one.startswith(wiki.prefix + SEARCHED_DOCUMENTS)]
    make_private_folder(top / SEARCH_FOLDER)

    async def fetch(path: str) -> None:
        if found := await bucket.read(path):
            (apart / path).write_bytes(found[0])

    await each(wanted, fetch, in_flight=AT_ONCE)
    mark.write_text(wiki.apart)


def build(folder: Path, options: SiteOptions, *wikis: WikiSource, **kept: Any) -> None:
    """Build a site in a folder of the worker."""
    with BUILDING:
        build_site(
            wikis,
            folder / SITE,
            options,
            cache=folder / CACHE,
            may_leave=lambda _wiki: True,
            **kept,
        )
