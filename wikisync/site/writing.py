"""The files of a site, as a build that has something to do makes them.

parse -> resolve -> compose -> render; ``build`` decides whether and puts the result in
place.  All parsers and composers are loaded with this module, so ``build`` imports it
for a site that changed only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path

from wikisync.markup.drawings import DRAWING_BYTES_MAX, static_drawing
from wikisync.markup.file_types import is_drawing
from wikisync.model import Digest, Problem, Slug, digest_of
from wikisync.progress import Progress
from wikisync.site.addresses import (
    NO_JEKYLL,
    REPORT_JSON,
    ROBOTS,
    SIDEBAR_SLUG,
)
from wikisync.site.attempts import Attempts
from wikisync.site.build_note import BuildNote, hash_of
from wikisync.site.cache import Cache
from wikisync.site.composing import (
    composed_site,
    search_keys,
    search_loader,
    site_addresses,
    site_problems,
)
from wikisync.site.crosslinks import ItemKey, WikiTable
from wikisync.site.facts import IndexedPage, IndexedWiki
from wikisync.site.fingerprint import program_fingerprint
from wikisync.site.generated import GeneratedPages, robots_text, sitemaps
from wikisync.site.groups import group_titles
from wikisync.site.index import Indexer
from wikisync.site.kept import kept_context, kept_documents, kept_paths
from wikisync.site.model import BrokenLink, SiteOptions
from wikisync.site.output import (
    Changes,
    Output,
)
from wikisync.site.pages import (
    PageJob,
    WikiFrame,
    WikiPages,
    backlink_references,
)
from wikisync.site.published import (
    PublishedWiki,
    published_from,
)
from wikisync.site.reader import bounded_reader
from wikisync.site.rendering import rendered_pages
from wikisync.site.report import LinkReport, encode_report, link_report
from wikisync.site.search import DocumentKey, Load, SearchDocument
from wikisync.site.search_writing import SEARCH_INDEX, write_search
from wikisync.site.sources import ScannedWiki
from wikisync.site.stale import stale_pages
from wikisync.site.theme import Theme
from wikisync.site.wiki_note import WikiNote, remember_wiki, wiki_note


class SiteWriting:
    """One build that has something to do."""

    def __init__(
        self,
        store: Cache,
        scanned: Sequence[ScannedWiki],
        theme: Theme,
        options: SiteOptions,
        output: Path,
        last: BuildNote,
        attempts: Attempts,
        kept: Sequence[PublishedWiki],
    ) -> None:
        self._store = store
        self._scanned = scanned
        self._theme = theme
        self._options = options
        self._output = output
        self._last = last
        self._attempts = attempts
        self._kept = kept
        self._keys: dict[str, bytes] = {}
        self._problems: list[Problem] = []
        self._broken_links: tuple[BrokenLink, ...] = ()
        self._wikis: list[IndexedWiki] = []

        self._addresses = site_addresses(scanned, options, kept)

    def write(self, output: Output, progress: Progress) -> None:
        """Put every file of the site."""
        sources = [wiki.source for wiki in self._scanned]
        loose = [wiki.loose for wiki in self._scanned]
        table = WikiTable(sources, self._addresses, loose)
        self._indexer = Indexer(
            self._store, table, progress, self._options.markup, self._attempts
        )
        progress.start("reading pages", self._page_count)
        self._notes = [
            wiki_note(self._store, self._output, wiki.source.owner, self._last)
            for wiki in self._scanned
        ]
        self._before = [
            self._noted_pages(number, wiki) for number, wiki in enumerate(self._scanned)
        ]
        self._wikis = [
            self._indexer.index(number, wiki, self._before[number])
            for number, wiki in enumerate(self._scanned)
        ]
        # their memory is for the processes that render
        bounded_reader().close()
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

    def _noted_pages(
        self, number: int, scanned: ScannedWiki
    ) -> dict[Slug, IndexedPage]:
        """The pages of a wiki as the last build knew them, as far as that holds."""
        note = self._notes[number]
        if note.reading != self._indexer.reading_key(scanned):
            return {}
        if note.table == self._indexer.table_key:
            self._indexer.believe(number, note.pages)
        return {page.slug: page for page in note.pages}

    def published(self) -> tuple[PublishedWiki, ...]:
        """The wikis of the site, for its manifest."""
        made = [
            published_from(scanned.source, addresses.prefix, scanned.page_count)
            for scanned, addresses in zip(self._scanned, self._addresses, strict=True)
        ]
        return tuple(sorted([*made, *self._kept], key=lambda wiki: wiki.path))

    def note(
        self, inputs: bytes, changes: Changes, wikis: dict[str, Digest]
    ) -> BuildNote:
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
            wikis=wikis,
        )

    def remember_wikis(self) -> dict[str, Digest]:
        """Note the pages of each wiki for the next build; digests of the notes."""
        digests = {}
        table = self._indexer.table_key
        for wiki, before, note, frame in zip(
            self._wikis, self._before, self._notes, self._frames, strict=True
        ):
            if wiki.scanned.missed:
                continue
            owner, pages = wiki.scanned.source.owner, tuple(wiki.pages.values())
            reading = self._indexer.reading_key(wiki.scanned)
            made = WikiNote(reading, table, frame, pages)
            if before and made == note:
                digests[owner.full_path] = self._last.wikis[owner.full_path]
            else:
                digests[owner.full_path] = remember_wiki(
                    self._store, self._output, owner, made
                )
        return digests

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
        jobs = self._page_jobs(output, pages, report, progress)
        for path, content in rendered_pages(self._theme, jobs):
            output.put(path, content)

    def _page_jobs(
        self,
        output: Output,
        pages: Sequence[WikiPages],
        report: LinkReport,
        progress: Progress,
    ) -> Iterator[tuple[WikiFrame, PageJob]]:
        """The pages that have to be rendered; the files of the others are kept."""
        by_number = dict(enumerate(pages))
        self._frames = [composer.frame_digest() for composer in pages]
        same_frames = [
            note.frame == frame
            for note, frame in zip(self._notes, self._frames, strict=True)
        ]
        stale = stale_pages(self._wikis, self._before, same_frames)
        for number, composer in enumerate(pages):
            for slug in self._wikis[number].pages:
                progress.advance()
                place, path = ItemKey(number, slug), composer.url(slug)
                key = self._last.keys.get(path)
                if key and place not in stale and self._keep(output, path, key):
                    continue
                places = report.backlinks.get(place, ())
                backlinks = backlink_references(places, by_number, number)
                page = composer.composed(slug, backlinks)
                if not self._keep(output, page.path, page.key):
                    yield composer.wiki_frame, composer.job(page)

    def _write_generated(
        self, output: Output, pages: Sequence[WikiPages], report: LinkReport
    ) -> None:
        wikis = self._site.wikis
        homes = {wiki.full_path: wiki.url for wiki in wikis if wiki.kind == "group"}
        kept = [kept_context(wiki, homes) for wiki in self._kept]
        sources = [wiki.source for wiki in self._scanned]
        titles = group_titles([*sources, *self._kept])
        generated = GeneratedPages(self._site, pages, self._text, titles, kept)
        for page in generated.all(report, self._problems):
            key = hash_of(self._settings_key, page)
            if not self._keep(output, page.path, key):
                self._render(output, page.template, page.context, page.path)

    def _write_search(self, output: Output, pages: Sequence[WikiPages]) -> None:
        """The search index, as far as the documents changed."""
        load = search_loader(pages, self._indexer)
        documents = search_keys(pages)
        if self._kept:
            kept = {
                hash_of(program_fingerprint(), one): one
                for one in kept_documents(output.known, self._kept, output.read)
            }
            keys = [DocumentKey(one.url, one.wiki, key) for key, one in kept.items()]
            documents = chain(documents, keys)
            load = _either(kept, load)
        name = self._store.key("search", self._output)
        known = self._last.keys.get(SEARCH_INDEX)
        self._keys[SEARCH_INDEX] = write_search(
            self._store, name, output, known, documents, load
        )

    def _write_files(self, output: Output) -> None:
        """What is no page: files of the theme, of the wikis, and for robots."""
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
        if self._keep(output, path, hash_of("drawing", state.digest)):
            return
        content = b"" if is_large else scanned.read(name)
        if content is None:
            del self._keys[path]
            output.leave_out(path, name)
        else:
            self._keys[path] = hash_of("drawing", digest_of(content))
            output.put(path, static_drawing(content))

    def _keep(self, output: Output, path: str, key: bytes) -> bool:
        """Keep a file as it is, if it was made from the same."""
        self._keys[path] = key
        return self._last.keys.get(path) == key and output.keep(path)

    def _render(
        self, output: Output, template: str, context: Mapping[str, object], path: str
    ) -> None:
        text = self._theme.render(template, context, at=path)
        output.put(path, text.encode("utf-8", "replace"))

    def _text(self, key: str) -> str:
        return self._theme.text(key, self._options.lang)


def _either(kept: Mapping[bytes, SearchDocument], load: Load) -> Load:
    """Documents that are there, or else those that can be loaded."""
    return lambda key: kept[key.key] if key.key in kept else load(key)


def _large_drawing(name: str) -> Problem:
    mib = DRAWING_BYTES_MAX // 1024**2
    return Problem(
        "drawing-large",
        name,
        f"is an SVG of more than {mib} MiB; the site shows an empty image instead",
        "make it smaller, or attach it as PNG",
    )
