"""Folders of wikis to one website: the one story, from scan to swap.

scan -> (nothing changed? done) -> parse -> resolve -> compose -> render -> swap

Whatever a page holds, the site is built; what is wrong with it is a line of the
report.  The same wikis and options give the same bytes, whether the build was
clean or not; a build that fails leaves the old site as it was.
"""

import gc
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

from wikisync.core.messages import Progress
from wikisync.core.system.parallel import usable_cores
from wikisync.errors import SiteError
from wikisync.site import manifest
from wikisync.site.addresses import wiki_prefix
from wikisync.site.attempts import Attempts
from wikisync.site.cache import NO_NOTE, BuildNote, Cache, LastBuild, with_cache
from wikisync.site.fingerprint import hash_of, program_fingerprint
from wikisync.site.model import BuildReport, SiteOptions, WikiSource, options_text
from wikisync.site.output import Changes, open_output, untouched
from wikisync.site.sources import ScannedWiki, folder_notes, scan_wiki, settle
from wikisync.site.theme import load_theme

OBJECTS_PER_COLLECTION = 1_000_000
"""New ones of a single wiki, before circles of them are looked for: 50 ms at 10,000
pages.  Of many wikis fewer: what each leaves would be a quarter of the memory."""

MANY_PAGES = 500
"""Of a new wiki are read by all processors."""


def build_site(
    wikis: Sequence[WikiSource],
    output: Path,
    options: SiteOptions,
    *,
    cache: Path,
    may_leave: manifest.MayLeave = manifest.nothing_may_leave,
    kept: Sequence[manifest.PublishedWiki] = (),
    apart: Path | None = None,
    progress: Progress | None = None,
    clock: Callable[[], float] = time.time,
) -> BuildReport:
    """Make the website of some wikis, or bring it up to date.

    ``kept`` are wikis of the site of which nothing else is left: their pages stay.
    ``apart`` has the search indexes of those that are sites of their own.

    Raises:
        UsageError: The output holds a wiki that is not among these, or of which
            these have no page any more, and which may not leave.
        SiteError: The output is not ours or cannot be written, the theme is
            wrong, a private wiki in a public site, or no space is left.
        FolderError: The folder of a wiki cannot be read at all.
    """
    sources = checked_sources(wikis, output, options) if wikis or not kept else ()
    theme = load_theme(
        options.theme, project=options.templates, options=options.theme_options
    )
    shown = progress or Progress()
    # at the top of the site they would be in the way of all others
    staying = tuple(wiki for wiki in kept if wiki.prefix)

    def built(store: Cache) -> BuildReport:
        """Build with an open cache, where there is something to build."""
        last = LastBuild(store, output)
        note = last.note
        if note is NO_NOTE:
            _reader().prepare()  # all pages need it: it starts meanwhile

        def listed(pages: int) -> None:
            """Start what reads many pages, which takes as long as to look at these."""
            if note is NO_NOTE and pages >= MANY_PAGES:
                _reader().prepare(usable_cores())

        templates = options.page_templates
        scanned = [
            scan_wiki(source, store, page_templates=templates, listed=listed)
            for source in sources
        ]
        made_by = program_fingerprint(), theme.fingerprint, options_text(options)
        inputs = hash_of(*made_by, [wiki.state for wiki in scanned], staying)
        if note.inputs != inputs and any(wiki.has_news for wiki in scanned):
            _reader().prepare()
        attempts = Attempts(
            options.slow_pages_seconds, retries=options.retries, clock=clock
        )
        files = last.files()
        if (
            note.inputs == inputs
            and not attempts.is_due(note.retry_at)
            and all(scanned[at].loose.is_as(*file) for at, *file in note.linked)
            and (count := untouched(output, files))
        ):
            for wiki in (one for one in scanned if one.loose.seen):
                settle(wiki, store)
            return _report(note, scanned, Changes(0, count, 0, files, ()))
        place = open_output(output, files)
        from wikisync.site.writing import SiteWriting  # slow to load: see there

        build = SiteWriting(
            scanned, theme, options, last, place, attempts, staying, apart, shown
        )
        with place.staging(), closing(build.renderers):
            _refuse_leaving(scanned, staying, place.wikis, may_leave)
            changes = build.write()
        done = build.remember(inputs, changes)
        for wiki in scanned:
            settle(wiki, store)
        return _report(done, scanned, changes)

    thresholds = gc.get_threshold()
    most = OBJECTS_PER_COLLECTION // (len(wikis) or 1)
    gc.set_threshold(max(most, thresholds[0]), *thresholds[1:])
    try:
        return with_cache(cache, built)
    except BaseException:
        _reader().close()
        raise
    finally:
        gc.set_threshold(*thresholds)


def _reader() -> Any:
    """What parses pages; it takes as long to start as what comes before the first."""
    from wikisync.site.index import bounded_reader  # slow to load

    return bounded_reader()


def _refuse_leaving(
    scanned: Sequence[ScannedWiki],
    kept: Sequence[manifest.PublishedWiki],
    last: Sequence[manifest.PublishedWiki],
    may_leave: manifest.MayLeave,
) -> None:
    """Refuse to build where a wiki of the site would leave it that may not."""
    staying = manifest.WikiIndex(
        [
            *((one.source.owner, one.source.origin, one.page_count) for one in scanned),
            *((wiki.owner, wiki.origin, wiki.pages) for wiki in kept),
        ]
    )
    ours = [wiki for wiki in last if wiki.pages and not may_leave(wiki)]
    manifest.refuse_leaving(
        [one for one in ours if not staying.find(one.owner, one.origin)]
    )


def checked_sources(
    wikis: Sequence[WikiSource], output: Path, options: SiteOptions
) -> tuple[WikiSource, ...]:
    """The wikis sorted by path, if they can make a site together.

    Raises:
        SiteError: None at all, two of one path, a private one in a public site,
            several without a prefix, or an output inside a wiki's folder.
    """
    if not wikis:
        raise SiteError(
            "there is no wiki to publish", hint="select one with --project or --group"
        )
    sources = tuple(sorted(wikis, key=lambda wiki: wiki.owner.full_path))
    if options.drop_prefix and len(sources) > 1:
        raise SiteError(
            f"{len(sources)} wikis cannot share the top of one site",
            hint="leave out drop_prefix, or publish one wiki",
        )
    prefixes: dict[str, WikiSource] = {}
    resolved = cache(Path.resolve)  # many copies lie in one mirror
    for source in sources:
        twin = prefixes.setdefault(wiki_prefix(source.owner).casefold(), source)
        if twin is not source:
            raise SiteError(
                f"{twin.owner} and {source.owner} would have the same addresses",
                hint="publish each wiki once",
            )
        if options.is_public and source.visibility != "public":
            raise SiteError(
                f"the wiki of {source.owner} is {source.visibility}, the site is"
                " public",
                hint="exclude the wiki, or do not mark the site as public",
            )
        if resolved(output).is_relative_to(resolved(source.folder)):
            raise SiteError(
                f"output {output} is inside the folder of the wiki of {source.owner}",
                hint="choose a folder outside it with -o",
            )
    return sources


def _report(
    note: BuildNote, scanned: Sequence[ScannedWiki], changes: Changes
) -> BuildReport:
    return BuildReport(
        pages=note.pages,
        written=changes.written,
        unchanged=changes.unchanged,
        removed=changes.removed,
        problems=note.problems,
        broken_links=note.broken_links,
        notes=folder_notes(scanned),
    )
