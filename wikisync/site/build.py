"""Folders of wikis to one website: the one story, from scan to swap.

scan -> (nothing changed? done) -> parse -> resolve -> compose -> render -> swap

Whatever a page holds, the site is built; what is wrong with it is a line of the
report.  The same wikis and options give the same bytes, whether the build was
clean or not; a build that fails leaves the old site as it was.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from wikisync.decoding import msgpack_decoder
from wikisync.errors import SiteError
from wikisync.markup.file_types import is_drawing
from wikisync.model import Problem, digest_of
from wikisync.progress import Progress, SilentProgress
from wikisync.site.addresses import (
    NO_JEKYLL,
    REPORT_JSON,
    ROBOTS,
    SEARCH_FOLDER,
    SIDEBAR_SLUG,
    wiki_prefix,
)
from wikisync.site.attempts import Attempts
from wikisync.site.cache import Cache, with_cache
from wikisync.site.drawings import DRAWING_BYTES_MAX, static_drawing
from wikisync.site.fingerprint import program_fingerprint
from wikisync.site.kept import kept_context, kept_documents, kept_paths
from wikisync.site.model import BrokenLink, BuildReport, SiteOptions, WikiSource
from wikisync.site.output import (
    Changes,
    FileState,
    Output,
    is_untouched,
    open_output,
    published_wikis,
)
from wikisync.site.published import (
    MayLeave,
    PublishedWiki,
    leaving,
    nothing_may_leave,
    published_from,
    refuse_leaving,
)
from wikisync.site.sources import ScannedWiki, scan_wiki, settle
from wikisync.site.theme import Theme, load_theme

if TYPE_CHECKING:
    from wikisync.site.crosslinks import WikiTable
    from wikisync.site.facts import IndexedWiki
    from wikisync.site.pages import WikiPages
    from wikisync.site.report import LinkReport


class BuildNote(msgspec.Struct, frozen=True):
    """What a build remembers of its output for the next one."""

    inputs: bytes
    """Hash of everything that the site was made from."""
    states: dict[str, FileState]
    """Every file of the output as it was left."""
    keys: dict[str, bytes]
    """Output path to the hash of what the file was made from."""
    pages: int
    problems: tuple[Problem, ...]
    broken_links: tuple[BrokenLink, ...]
    linked: tuple[tuple[int, str, str], ...] = ()
    """Loose files that pages link to: number of the wiki, path, and digest, which is
    empty for one that could not be read."""
    retry_at: float = 0.0
    """When the first page that went over a limit may be tried again; 0: there is
    no such page."""


_NOTES = msgpack_decoder(BuildNote)
NO_NOTE = BuildNote(b"", {}, {}, 0, (), ())


def build_site(
    wikis: Sequence[WikiSource],
    output: Path,
    options: SiteOptions,
    *,
    cache: Path,
    may_leave: MayLeave = nothing_may_leave,
    kept: Sequence[PublishedWiki] = (),
    progress: Progress | None = None,
    clock: Callable[[], float] = time.time,
) -> BuildReport:
    """Make the website of some wikis, or bring it up to date.

    Args:
        wikis: What to publish, in any order.
        output: Folder of the site; empty, missing, or holding a site of ours.
        options: How it is made.
        cache: Folder for what the next build can use again.
        may_leave: Which wikis of the site that is there may be missing in this one.
        kept: Wikis of that site of which nothing else is left: their pages stay.
        progress: Who watches; nobody by default.
        clock: Seconds since the epoch.

    Raises:
        UsageError: The output holds a wiki that is not among these, or of which
            these have no page any more, and which may not leave.
        SiteError: The output is not ours or cannot be written, the theme is
            wrong, a private wiki in a public site, or no space is left.
        FolderError: The folder of a wiki cannot be read at all.
    """
    sources = checked_sources(wikis, output, options)
    theme = load_theme(
        options.theme,
        project=options.templates,
        options=options.theme_options,
        mermaid=options.mermaid,
    )
    progress = progress or SilentProgress()
    # at the top of the site they would be in the way of all others
    kept = tuple(wiki for wiki in kept if wiki.prefix)
    work = partial(
        _built, sources, output, options, theme, may_leave, kept, progress, clock
    )
    return with_cache(cache, work)


def _built(
    sources: Sequence[WikiSource],
    output: Path,
    options: SiteOptions,
    theme: Theme,
    may_leave: MayLeave,
    kept: Sequence[PublishedWiki],
    progress: Progress,
    clock: Callable[[], float],
    store: Cache,
) -> BuildReport:
    """Build with an open cache, where there is something to build."""
    name = b"build:" + os.fsencode(output.absolute())
    scanned = [scan_wiki(source, store) for source in sources]
    inputs = _inputs_key(scanned, theme, options, kept)
    note = _decoded_note(store.state(name))
    attempts = Attempts(
        options.slow_pages_seconds, retries=options.retries, clock=clock
    )
    is_same = (
        note.inputs == inputs
        and not attempts.is_due(note.retry_at)
        and _has_same_linked(scanned, note)
    )
    if is_same and is_untouched(output, note.states):
        _settle_linked(scanned, store)
        return _unchanged(note)
    place = open_output(output, note.states)
    build = _Build(store, scanned, theme, options, note.keys, attempts, kept)
    with place.staging():
        _refuse_leaving(scanned, kept, output, may_leave)
        build.write(place, progress)
        changes = place.commit(build.published())
    done = build.note(inputs, changes)
    store.note(name, msgspec.msgpack.encode(done))
    build.sweep()
    for wiki in scanned:
        settle(wiki, store)
    return BuildReport(
        pages=done.pages,
        written=changes.written,
        unchanged=changes.unchanged,
        removed=changes.removed,
        problems=done.problems,
        broken_links=done.broken_links,
    )


def _refuse_leaving(
    scanned: Sequence[ScannedWiki],
    kept: Sequence[PublishedWiki],
    output: Path,
    may_leave: MayLeave,
) -> None:
    """Refuse to remove a whole wiki from a site unasked.

    Raises:
        UsageError: a wiki would be removed that may not leave.
    """
    staying = [
        *((one.source.owner, one.source.origin, one.page_count) for one in scanned),
        *((wiki.owner, wiki.origin, wiki.pages) for wiki in kept),
    ]
    gone = leaving(published_wikis(output), staying)
    refuse_leaving([wiki for wiki in gone if not may_leave(wiki)])


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
    for source in sources:
        twin = prefixes.setdefault(wiki_prefix(source.owner).casefold(), source)
        if twin is not source:
            raise SiteError(
                f"{twin.owner} and {source.owner} would have the same addresses",
                hint="publish each wiki once",
            )
        _check_source(source, output, options)
    return sources


def _check_source(source: WikiSource, output: Path, options: SiteOptions) -> None:
    if options.is_public and source.visibility != "public":
        raise SiteError(
            f"the wiki of {source.owner} is {source.visibility}, the site is public",
            hint="exclude the wiki, or do not mark the site as public",
        )
    if output.resolve().is_relative_to(source.folder.resolve()):
        raise SiteError(
            f"output {output} is inside the folder of the wiki of {source.owner}",
            hint="choose a folder outside it with -o",
        )


class _Build:
    """One build that has something to do."""

    def __init__(
        self,
        store: Cache,
        scanned: Sequence[ScannedWiki],
        theme: Theme,
        options: SiteOptions,
        old_keys: Mapping[str, bytes],
        attempts: Attempts,
        kept: Sequence[PublishedWiki],
    ) -> None:
        self._store = store
        self._scanned = scanned
        self._theme = theme
        self._options = options
        self._old_keys = old_keys
        self._attempts = attempts
        self._kept = kept
        self._keys: dict[str, bytes] = {}
        self._problems: list[Problem] = []
        self._broken_links: tuple[BrokenLink, ...] = ()
        self._wikis: list[IndexedWiki] = []
        from wikisync.site.composing import site_addresses

        self._addresses = site_addresses(scanned, options, kept)

    def write(self, output: Output, progress: Progress) -> None:
        """Put every file of the site."""
        from wikisync.site.crosslinks import WikiTable
        from wikisync.site.index import Indexer
        from wikisync.site.report import encode_report, link_report

        sources = [wiki.source for wiki in self._scanned]
        loose = [wiki.loose for wiki in self._scanned]
        table = WikiTable(sources, self._addresses, loose)
        self._indexer = Indexer(
            self._store, table, progress, self._options.markup, self._attempts
        )
        progress.start("reading pages", self._page_count)
        self._wikis = [
            self._indexer.index(number, wiki)
            for number, wiki in enumerate(self._scanned)
        ]
        report = link_report(self._wikis)
        self._broken_links = report.broken
        pages = self._composers(table)
        self._collect_problems(pages)
        progress.start("writing pages", self._page_count)
        self._write_pages(output, pages, report, progress)
        self._write_generated(output, pages, report)
        self._write_search(output, pages)
        if self._options.has_report:
            content = encode_report(self._wikis, report, self._problems)
            output.put(REPORT_JSON, content)
        self._write_files(output)

    def published(self) -> tuple[PublishedWiki, ...]:
        """The wikis of the site, for its manifest."""
        made = [
            published_from(scanned.source, addresses.prefix, scanned.page_count)
            for scanned, addresses in zip(self._scanned, self._addresses, strict=True)
        ]
        return tuple(sorted([*made, *self._kept], key=lambda wiki: wiki.path))

    def note(self, inputs: bytes, changes: Changes) -> BuildNote:
        """What the next build shall know of this one."""
        # what could not be read may be there again, and look as if nothing changed
        is_whole = not any(wiki.missed for wiki in self._scanned)
        return BuildNote(
            inputs=inputs if is_whole else b"",
            states=dict(changes.states),
            keys=self._keys,
            pages=sum(wiki.page_count for wiki in self._scanned)
            + sum(wiki.pages for wiki in self._kept),
            problems=(*self._problems, *changes.problems),
            broken_links=self._broken_links,
            linked=tuple(
                (number, path, state.digest if state else "")
                for number, scanned in enumerate(self._scanned)
                for path, state in sorted(scanned.loose.seen.items())
            ),
            retry_at=min(
                (
                    page.parsed.retry_at
                    for wiki in self._wikis
                    for page in wiki.pages.values()
                    if page.parsed.retry_at
                ),
                default=0.0,
            ),
        )

    def sweep(self) -> None:
        """Let the cache forget what no page needs any more."""
        self._indexer.sweep(
            [page for wiki in self._wikis for page in wiki.pages.values()]
        )

    @property
    def _page_count(self) -> int:
        return sum(len(wiki.pages) for wiki in self._scanned)

    def _composers(self, table: WikiTable) -> tuple[WikiPages, ...]:
        """A composer of pages for each wiki, around one site."""
        from wikisync.site.composing import composed_site

        site = composed_site(
            self._wikis,
            self._addresses,
            self._options,
            self._theme,
            self._indexer,
            table,
            self._kept,
        )
        self._site, self._settings_key = site.context, site.settings_key
        return site.wikis

    def _collect_problems(self, pages: Sequence[WikiPages]) -> None:
        """Everything that is wrong, named so that it can be found."""
        from wikisync.site.composing import site_problems

        self._problems += site_problems(
            self._wikis, self._addresses, pages, self._theme
        )

    def _write_pages(
        self,
        output: Output,
        pages: Sequence[WikiPages],
        report: LinkReport,
        progress: Progress,
    ) -> None:
        from wikisync.model import Slug
        from wikisync.site.crosslinks import Place
        from wikisync.site.pages import backlink_references

        by_number = dict(enumerate(pages))
        for number, composer in enumerate(pages):
            for slug in self._wikis[number].pages:
                places = report.backlinks.get(Place(number, Slug(slug)), ())
                backlinks = backlink_references(places, by_number, number)
                page = composer.composed(slug, backlinks)
                if not self._keep(output, page.path, page.key):
                    context = composer.template_context(page)
                    self._render(output, "page.html", context, page.path)
                progress.advance()

    def _write_generated(
        self, output: Output, pages: Sequence[WikiPages], report: LinkReport
    ) -> None:
        from wikisync.site.generated import GeneratedPages
        from wikisync.site.groups import group_titles

        wikis = self._site.wikis
        homes = {wiki.full_path: wiki.url for wiki in wikis if wiki.kind == "group"}
        kept = [kept_context(wiki, homes) for wiki in self._kept]
        sources = [wiki.source for wiki in self._scanned]
        titles = group_titles([*sources, *self._kept])
        generated = GeneratedPages(self._site, pages, self._text, titles, kept)
        for page in generated.all(report, self._problems):
            key = _hash(self._settings_key, page)
            if not self._keep(output, page.path, key):
                self._render(output, page.template, page.context, page.path)

    def _write_search(self, output: Output, pages: Sequence[WikiPages]) -> None:
        """The search index, all of it or nothing: kept while no text changed."""
        from wikisync.site.composing import search_digest, search_documents
        from wikisync.site.search import build_shards

        key = search_digest(pages)
        if self._kept:
            key = _hash(key, [(wiki.owner, wiki.pages) for wiki in self._kept])
        old = [path for path in self._old_keys if path.startswith(SEARCH_FOLDER)]
        if old and all(self._keep(output, path, key) for path in old):
            return

        documents = chain(
            search_documents(pages, self._indexer),
            kept_documents(output.known, self._kept, output.read) if self._kept else (),
        )
        for name, content in build_shards(documents).items():
            self._keys[SEARCH_FOLDER + name] = key
            output.put(SEARCH_FOLDER + name, content)

    def _write_files(self, output: Output) -> None:
        """What is no page: files of the theme, of the wikis, and for robots."""
        from wikisync.site.generated import robots_text, sitemaps

        for path, content in self._theme.assets().items():
            output.put(path, content)
        for addresses, wiki in zip(self._addresses, self._wikis, strict=True):
            scanned = wiki.scanned
            for name in (*scanned.attachments, *wiki.linked):
                self._write_file(output, scanned, name, addresses.file(name))
        output.put(NO_JEKYLL, b"")
        wikis = [
            (addresses, wiki.source.visibility == "public")
            for addresses, wiki in zip(self._addresses, self._scanned, strict=True)
        ]
        prefixes = [(addresses.prefix, is_public) for addresses, is_public in wikis]
        prefixes += [(wiki.prefix, wiki.visibility == "public") for wiki in self._kept]
        still = list(kept_paths(output.known, self._kept)) if self._kept else []
        for path in still:
            output.keep_published(path)
        output.put(ROBOTS, robots_text(self._site, prefixes).encode())
        public = [
            path
            for addresses, is_public in wikis
            if is_public
            for slug, path in addresses.pages.items()
            if slug != SIDEBAR_SLUG
        ]
        open_prefixes = tuple(prefix for prefix, is_public in prefixes if is_public)
        public += [
            path
            for path in still
            if path.endswith(".html") and path.startswith(open_prefixes)
        ]
        if self._site.url and public:
            for path, text in sitemaps(self._site.url, public):
                output.put(path, text.encode())

    def _write_file(
        self, output: Output, scanned: ScannedWiki, name: str, path: str
    ) -> None:
        """A stranger's file; what is called a drawing becomes one that runs nothing."""
        state = scanned.file(name)
        assert state is not None, "what was found by a link was read then"
        if not is_drawing(path):
            known = (state.size, state.digest)
            if not output.put_copy(path, scanned.source.folder, name, known):
                scanned.missed.add(name)
            return
        is_large = state.size > DRAWING_BYTES_MAX
        if is_large:
            self._problems.append(_large_drawing(name))
        if self._keep(output, path, _hash("drawing", state.digest)):
            return
        content = b"" if is_large else scanned.read(name)
        if content is None:
            del self._keys[path]
            output.leave_out(path, name)
        else:
            self._keys[path] = _hash("drawing", digest_of(content))
            output.put(path, static_drawing(content))

    def _keep(self, output: Output, path: str, key: bytes) -> bool:
        """Keep a file as it is, if it was made from the same."""
        self._keys[path] = key
        return self._old_keys.get(path) == key and output.keep(path)

    def _render(
        self, output: Output, template: str, context: Mapping[str, object], path: str
    ) -> None:
        text = self._theme.render(template, context, at=path)
        output.put(path, text.encode("utf-8", "replace"))

    def _text(self, key: str) -> str:
        return self._theme.text(key, self._options.lang)


def _large_drawing(name: str) -> Problem:
    mib = DRAWING_BYTES_MAX // 1024**2
    return Problem(
        "drawing-large",
        name,
        f"is an SVG of more than {mib} MiB; the site shows an empty image instead",
        "make it smaller, or attach it as PNG",
    )


def _inputs_key(
    scanned: Sequence[ScannedWiki],
    theme: Theme,
    options: SiteOptions,
    kept: Sequence[PublishedWiki],
) -> bytes:
    """Hash of everything that a site is made from."""
    from wikisync.site.options import options_text

    prints = [wiki.fingerprint() for wiki in scanned]
    return _hash(
        program_fingerprint(), theme.fingerprint, options_text(options), prints, kept
    )


def _has_same_linked(scanned: Sequence[ScannedWiki], note: BuildNote) -> bool:
    """Whether the loose files that pages link to are as they were."""
    return all(
        digest == (state.digest if (state := scanned[number].loose.get(path)) else "")
        for number, path, digest in note.linked
    )


def _settle_linked(scanned: Sequence[ScannedWiki], store: Cache) -> None:
    """Remember linked files that had to be read to find out that nothing changed."""
    for wiki in scanned:
        if wiki.loose.seen:
            settle(wiki, store)


def _hash(*values: object) -> bytes:
    return hashlib.sha256(repr(values).encode("utf-8", "surrogatepass")).digest()


def _decoded_note(value: bytes | None) -> BuildNote:
    if value is None:
        return NO_NOTE
    try:
        return _NOTES.decode(value)
    except msgspec.DecodeError:
        return NO_NOTE


def _unchanged(note: BuildNote) -> BuildReport:
    return BuildReport(
        pages=note.pages,
        written=0,
        unchanged=len(note.states),
        removed=0,
        problems=note.problems,
        broken_links=note.broken_links,
    )
