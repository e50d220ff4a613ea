"""The files of a site, as a build that has something to do makes them.

parse -> resolve -> compose -> render; ``build`` decides whether and puts the result in
place.  All parsers and composers are loaded with this module, so ``build`` imports it
for a site that changed only.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence, Set
from functools import partial
from itertools import chain, compress, islice, repeat
from pathlib import Path

from msgspec.msgpack import encode
from msgspec.structs import replace

from wikisync.core.decoding import msgpack_decoder
from wikisync.core.messages import Progress
from wikisync.core.model import Digest, Problem, Slug, digest_of
from wikisync.markup.diagrams import DRAWING_BYTES_MAX, static_drawing
from wikisync.markup.file_types import is_drawing
from wikisync.site import addresses as layout
from wikisync.site import agents, generated
from wikisync.site import report as reports
from wikisync.site.attempts import Attempts
from wikisync.site.cache import BuildNote, LastBuild
from wikisync.site.context import ListingItem, PageRef, SiteContext, WikiContext
from wikisync.site.crosslinks import ItemKey, WikiTable, service_address
from wikisync.site.facts import IndexedPage, IndexedWiki
from wikisync.site.fingerprint import hash_of
from wikisync.site.frame import SiteFrame, is_top, site_addresses
from wikisync.site.index import BATCH_PAGES, Indexer, bounded_reader
from wikisync.site.kept import kept_documents, kept_paths
from wikisync.site.manifest import PublishedWiki
from wikisync.site.model import BrokenLink, SiteOptions, SourcePage, options_text
from wikisync.site.output import SAID_AGAIN, Changes, Output
from wikisync.site.output_place import Written
from wikisync.site.pages import PageJob, SourceCopy, WikiFrame, WikiPages
from wikisync.site.rendering import Renderers, Setting
from wikisync.site.search import DocumentKey
from wikisync.site.search_writing import search_beside
from wikisync.site.sources import ScannedWiki
from wikisync.site.theme import Theme

_NOTES = msgpack_decoder(reports.WikiNote)
_PAGES = msgpack_decoder(IndexedPage)
_LISTED = msgpack_decoder(agents.ListedWiki)
_ITEMS = msgpack_decoder(list[ListingItem])


class SiteWriting:
    """One build that has something to do.

    All wikis are read before the first is written, because any page can link to any
    other.  Between them each wiki's facts lie in the tables of ``LastBuild``, and
    memory grows by what others need of them alone.
    """

    def __init__(
        self,
        scanned: Sequence[ScannedWiki],
        theme: Theme,
        options: SiteOptions,
        last: LastBuild,
        output: Output,
        attempts: Attempts,
        kept: Sequence[PublishedWiki],
        apart: Path | None,
        progress: Progress,
    ) -> None:
        self._scanned = scanned
        self._theme = theme
        self._options = options
        self._last = last
        self._output = output
        self._attempts = attempts
        self._kept = kept
        self._apart = apart
        self._progress = progress
        packed = (self._last.wiki(one.source.owner.full_path) for one in scanned)
        self._notes = [
            # each is held until all wikis are read
            replace(_NOTES.decode(one), shown=b"", listed=b"")
            if one
            else reports.NO_NOTE
            for one in packed
        ]
        """Those of the last build, until their wiki is read."""
        around = hash_of(options_text(options), len(scanned) + len(kept) == 1)
        self._states = [hash_of(wiki.state, around) for wiki in scanned]
        both = zip(self._notes, self._states, strict=True)
        self._same = {at for at, (note, now) in enumerate(both) if note.state == now}
        """Wikis that are as they were: none of their pages has to be looked at."""
        self._is_odd = any(one.code in SAID_AGAIN for one in last.note.problems)
        for number in self._same:
            known = self._notes[number].summary
            scanned[number].__dict__.update(summary=known, beside=known.beside)
        paths = [note.addresses for note in self._notes]
        self._addresses = site_addresses(scanned, options, kept, paths, self._same)
        self._page_count = sum(wiki.summary.count for wiki in scanned)
        urls = [service_address(wiki.source) for wiki in scanned]
        beside = dict(chain.from_iterable(one.source.beside.items() for one in scanned))
        loose = [wiki.loose for wiki in scanned]
        table = WikiTable([*urls, *beside], [*self._addresses, *beside.values()], loose)
        self._indexer = Indexer(last.store, table, progress, options.markup, attempts)
        self._site = SiteFrame(
            scanned, self._addresses, options, theme.fingerprint, kept
        )
        places = last.store.bodies.path.absolute(), output.root.absolute()
        self.renderers = Renderers(Setting(theme, self._site.context, *places), output)
        """Whoever writes closes them."""
        self._composer: WikiPages | None = None
        self._sums = reports.LinkSums()
        self._references: dict[ItemKey, PageRef] = {}
        """Pages that other wikis and the lists around all of them name."""
        self._stale: list[reports.Stale] = []
        self._stale_elsewhere: defaultdict[int, set[Slug]] = defaultdict(set)
        self._has_lost = False
        """Of a page of the last build nobody knows any more where it led."""
        self._retry_at = 0.0
        self._documents: list[DocumentKey] = []
        """All of them, until the search index is begun."""
        self._listed: list[bytes] = []
        """Hashes of what ``agents`` lists of each wiki."""
        self._copied: dict[str, tuple[ScannedWiki, SourcePage]] = {}
        """By output path, pages whose sources other processes copy."""
        self._changes: list[ListingItem] = []
        self._looked_up: defaultdict[int, list[tuple[str, str]]] = defaultdict(list)
        """Loose files that the last build looked for, by wiki, as in ``BuildNote``."""
        for at, path, digest in last.note.linked:
            self._looked_up[at].append((path, digest))
        self._linked: list[Sequence[str]] = []
        """The loose files that the pages of each wiki link to."""
        self._problems: list[Problem] = []
        self._broken_links: tuple[BrokenLink, ...] = ()

    def write(self) -> Changes:
        """Put every file of the site, and swap all that changed in."""
        output = self._output
        self._progress.start("reading pages", self._page_count)
        self._problems += self._theme.problems
        unread = [note is reports.NO_NOTE for note in self._notes]
        unknown = dict(compress(enumerate(self._scanned), unread))
        with self._indexer.reading_ahead(unknown):
            for number, scanned in enumerate(self._scanned):
                self._read_wiki(number, scanned)
        self._problems += self._indexer.kroki.problems
        # their memory is for the processes that render
        bounded_reader().close()
        self._progress.start("writing pages", self._page_count)
        lists = generated.GeneratedPages(
            self._site,
            lambda place: replace(self._references[place], wiki=""),
            self._translate,
            only=self._composer_of(0) if is_top(self._addresses) else None,
        )
        jobs = chain.from_iterable(
            self._wiki_jobs(number, lists) for number in range(len(self._scanned))
        )
        # the search index needs nothing of the pages but what was read
        kept = kept_documents(output, self._kept, self._apart) if self._kept else {}
        documents, self._documents = self._documents, []
        new = 0 if output.known.rest else self._page_count
        tagged = [one for one in documents if one.tags]
        renderers = self.renderers
        with search_beside(output, self._last, documents, kept, renderers) as search:
            del documents  # those of a large site are many
            for written in renderers.written(jobs, new):
                self._put_written(written)
            report = self._sums.report()
            self._broken_links = report.broken
            around = lists.around(report, self._problems, self._changes, tagged)
            self._put_generated(around)
            self._search = search()
        if self._options.has_report:
            names = [wiki.source.owner.full_path for wiki in self._scanned]
            encoded = reports.encode_report(names, report, self._problems)
            output.put(layout.REPORT_JSON, encoded)
        self._write_files()
        return output.commit(self._site.published)

    # First pass -------------------------------------------------------------------

    def _read_wiki(self, number: int, scanned: ScannedWiki) -> None:
        note, self._notes[number] = self._notes[number], reports.NO_NOTE
        context = replace(self._site.contexts[number], changed=None)
        inputs = self._indexer.inputs(number, scanned, self._site.settings_key, context)
        is_as_it_was = (
            note.inputs in inputs
            and (number in self._same or note.around_texts == scanned.around_texts)
            and not self._attempts.is_due(note.retry_at)
            and all(scanned.loose.is_as(*one) for one in self._looked_up[number])
        )
        edited = is_as_it_was and self._edited(number, scanned, note)
        note = edited or self._indexed(number, scanned, note, inputs)
        self._sums.add(note.links)
        self._problems += note.problems
        self._documents += note.documents
        self._listed.append(note.listed_key)
        self._linked.append(note.linked)
        if note.changes:
            name = self._site.labels[number] if len(self._scanned) > 1 else ""
            named = (replace(one, wiki=name) for one in _ITEMS.decode(note.changes))
            self._changes = generated.newest(chain(self._changes, named))
        self._retry_at = min(filter(None, (self._retry_at, note.retry_at)), default=0.0)
        for slug, page in note.references.items():
            self._references[ItemKey(number, slug)] = page
        self._forget(number)

    def _forget(self, number: int) -> None:
        """Let go of the pages of a wiki, where many wikis are read anew."""
        if self._stale[number].own is None:
            self._scanned[number].forget()

    def _edited(
        self, number: int, scanned: ScannedWiki, last: reports.WikiNote
    ) -> reports.WikiNote | None:
        """The note of a wiki of other texts and history; None: other pages show it."""
        indexer, name = self._indexer, scanned.source.owner.full_path
        if number in self._same:
            self._stale.append(reports.Stale())
            self._progress.advance(scanned.summary.count)
            return last
        both = zip(scanned.pages, scanned.digests, last.digests, strict=True)
        edited = {slug for slug, now, digest in both if now != digest}
        has_same_history = scanned.history == last.history
        noted = self._last.pages(name, edited | scanned.beside)
        before = {Slug(slug): _PAGES.decode(noted[slug]) for slug in sorted(noted)}
        if not before.keys() >= edited | scanned.beside:
            return None
        # no other page is resolved: the headings of most are not loaded
        texts = {slug: scanned.pages[slug] for slug in sorted(edited)}
        read = indexer.index(number, scanned.edited(pages=texts), before)
        pages = {**before, **read.pages}
        urls, wiki = self._addresses[number].pages, IndexedWiki(number, scanned, pages)
        titles = {one.url: one.title for one in last.documents}
        titles |= {urls[slug]: page.parsed.title for slug, page in pages.items()}
        by_slug = {slug: titles[urls[slug]] for slug in scanned.pages}
        composer = WikiPages(wiki, self._site, indexer, by_slug)
        if (
            any(pages[slug].finished.needs for slug in scanned.beside)
            or any(pages[slug].seen != before[slug].seen for slug in edited)
            or composer.frame_key() != last.frame
        ):
            self._progress.advance(-len(edited))  # they are read with all others
            return None
        self._composer = composer
        stale = reports.Stale(frozenset(edited), has_same_lists=has_same_history)
        self._stale.append(stale)
        now = {one.url: one for one in reports.search_keys([composer])}
        documents = tuple(now.get(one.url, one) for one in last.documents)
        tags = [[one.tags for one in some] for some in (documents, last.documents)]
        note = replace(last, documents=documents)
        if has_same_history and tags[0] == tags[1]:
            listed = _LISTED.decode(self._last.wiki_now(name))
            note = replace(note, shown=listed.shown, listed=listed.listed)
        self._progress.advance(len(scanned.pages) - len(edited))
        return self._noted(note, composer, edited)

    def _indexed(
        self,
        number: int,
        scanned: ScannedWiki,
        last: reports.WikiNote,
        inputs: Sequence[bytes],
    ) -> reports.WikiNote:
        indexer, name = self._indexer, scanned.source.owner.full_path
        self._same.discard(number)
        reading, table = indexer.reading_key(scanned), indexer.table_key
        before: dict[Slug, IndexedPage] = {}
        if last.reading == reading:
            noted = self._last.pages(name)
            # in memory as they are gone through: that takes a third less time
            before = {Slug(slug): _PAGES.decode(noted[slug]) for slug in sorted(noted)}
            indexer.believe(number, before.values(), last.table, last.addresses)
        if last.reading != reading or before.keys() != last.addresses.pages.keys():
            self._has_lost = True
        wiki = indexer.index(number, scanned, before)
        if number == len(self._scanned) - 1:
            # a process starts while this one sums up what was read
            bounded_reader().close()
            self.renderers.prepare(0 if self._output.known.rest else self._page_count)
        self._composer = composer = WikiPages(wiki, self._site, indexer)
        frame, pages = composer.frame_key(), wiki.pages
        titles = {slug: page.parsed.title for slug, page in before.items()}
        moved = composer.moved(titles, last.addresses.pages)
        around = None
        if last.frame == frame and not self._has_lost:
            around = composer.moved_around(titles, last.addresses.pages)
        changed = {slug for slug, page in pages.items() if before.get(slug) is not page}
        changed |= before.keys() - pages.keys()
        stale = reports.Stale(None, has_same_lists=False)
        if not self._has_lost:  # else all pages of all wikis are composed
            stale = reports.stale_pages(wiki, before, changed, moved, around)
        if last.history != scanned.history:
            stale = replace(stale, has_same_lists=False)
        self._stale.append(stale)
        for place in stale.elsewhere:
            self._stale_elsewhere[place.wiki].add(Slug(place.name))
        links = reports.links_of(wiki)
        named = {
            slug
            for slug, page in pages.items()
            if page.finished.broken or page.finished.elsewhere
        } | {Slug(place.name) for place in links.unreached}
        retries = [page.parsed.retry_at for page in pages.values()]
        note = reports.WikiNote(
            *(b"", b""),
            wiki.made_from(inputs),
            reading,
            table,
            frame,
            self._addresses[number],
            tuple(composer.problems),
            min(filter(None, retries), default=0.0),
            links,
            tuple(reports.search_keys([composer])),
            tuple(wiki.linked),
            {slug: composer.reference_elsewhere(slug) for slug in sorted(named)},
        )
        return self._noted(note, composer, changed if before else None)

    def _noted(
        self, note: reports.WikiNote, composer: WikiPages, changed: Set[Slug] | None
    ) -> reports.WikiNote:
        """Note a wiki as it is now, with what programs read of it and its history."""
        wiki, scanned = composer.wiki, composer.wiki.scanned
        if not note.listed:
            at, site = self._addresses[wiki.number], self._site.context
            listed = agents.listed_pages(site, scanned, at, note.documents)
            note = replace(note, shown=listed.shown, listed=listed.listed)
            key = hash_of(digest_of(note.shown), digest_of(note.listed))
            note = replace(note, listed_key=key)
        if not note.changes or note.history != scanned.history:
            items = list(generated.changed_pages(composer, self._translate))
            note = replace(note, history=scanned.history, changes=encode(items))
        if scanned.uncounted:  # the next build counts them
            note = replace(note, inputs=b"", history=b"")
        note = replace(note, digests=scanned.digests, around_texts=scanned.around_texts)
        note = replace(note, summary=scanned.summary, state=self._states[wiki.number])
        name = scanned.source.owner.full_path
        self._last.put_wiki(name, encode(note), wiki.pages.items(), changed)
        self._indexer.forget(wiki.number)
        return note

    def _composer_of(self, number: int, slugs: Collection[Slug] = ()) -> WikiPages:
        """What composes these pages of a wiki, at least."""
        composer, scanned = self._composer, self._scanned[number]
        # after an edit it has all pages that link to the edited ones, and to no other
        edited = self._stale[number].own or ()
        if (composer is None or composer.wiki.number != number) or (
            len(composer.wiki.pages) < len(scanned.pages)
            and not set(slugs) <= {*edited}
        ):
            wiki = IndexedWiki(number, scanned, self._pages_of(number))
            composer = self._composer = WikiPages(wiki, self._site, self._indexer)
        return composer

    def _pages_of(self, number: int) -> dict[Slug, IndexedPage]:
        scanned = self._scanned[number]
        noted = self._last.pages_now(scanned.source.owner.full_path)
        return {slug: _PAGES.decode(noted[slug]) for slug in scanned.pages}

    # Second pass ------------------------------------------------------------------

    def _wiki_jobs(
        self, number: int, lists: generated.GeneratedPages
    ) -> Iterator[tuple[WikiFrame, PageJob]]:
        """The pages of a wiki that have to be rendered; all else of it is put."""
        scanned, has_lists = self._scanned[number], self._keeps_lists(number)
        is_other = self._has_lost or self._stale_elsewhere[number] or self._is_odd
        prefix, is_same = self._addresses[number].prefix, number in self._same
        if is_same and has_lists and not is_other and self._output.keep_parts(prefix):
            self._progress.advance(scanned.summary.count)
            return
        slugs = self._to_compose(number)
        # of pages' sources, those are put that are not kept as they are
        copies = {path: slug for slug, path in self._addresses[number].sources.items()}
        named = scanned.pages
        keys = {at: bytes.fromhex(named[slug].digest) for at, slug in copies.items()}
        sources = {copies[path]: path for path in self._output.keep_all(keys)}
        self._progress.advance(len(self._addresses[number].pages) - len(slugs))
        # most wikis of a large site are as they were: their pages are not loaded
        if slugs or not has_lists:
            composer = self._composer_of(number, slugs)
            yield from self._page_jobs(composer, slugs, sources)
            if not has_lists:
                self._put_generated(lists.of_wiki(composer))
                wiki, site = composer.context, self._site.context
                if wiki.feed_url != site.feed_url:
                    items = list(generated.changed_pages(composer, self._translate))
                    title = f"{site.title}: {composer.label}"
                    self._put_feed(wiki, title, items, hash_of("feed"))
        for name in (*scanned.attachments, *self._linked[number]):
            self._write_file(scanned, name, self._addresses[number].file(name))
        pages = [scanned.pages[slug] for slug in sources]
        contents = scanned.read_pages(pages)
        for path, page, content in zip(sources.values(), pages, contents, strict=True):
            if content is None:
                self._output.leave_out(path, page.path)
                continue
            digest = page.digest if scanned.source.copy else digest_of(content)
            self._output.put(path, content, _source_key(scanned, page, digest))
        self._forget(number)

    def _put_written(self, written: Written) -> None:
        """Put a page, or the source of one."""
        if not (copied := self._copied.pop(written.path, None)):
            self._output.put_staged(written)
        elif key := _source_key(*copied, written.digest):
            self._output.put_staged(written, key)
        else:
            self._output.leave_out(written.path, copied[1].path)

    def _page_jobs(
        self, composer: WikiPages, slugs: Sequence[Slug], sources: dict[Slug, str]
    ) -> Iterator[tuple[WikiFrame, PageJob]]:
        """Pages of a wiki that have to be rendered, with sources that it has in files.

        These are taken from ``sources``.
        """
        scanned = composer.wiki.scanned
        has_files = not (scanned.source.copy or scanned.drafts)
        linked = self._sums.backlinks(composer, slugs, self._references)
        rest = iter(slugs)
        for some in iter(lambda: [*islice(rest, BATCH_PAGES)], []):
            shown, copies = dict[Slug, bytes](), dict[Slug, SourceCopy]()
            for slug in some:
                packed = composer.shown(slug, linked[slug])
                if self._output.keep(composer.urls[slug], composer.key(slug, packed)):
                    continue
                shown[slug] = packed
                if has_files and (path := sources.pop(slug, None)):
                    page = scanned.pages[slug]
                    place = scanned.files.place(page.path, page.digest)
                    copies[slug] = SourceCopy(place, path)
                    self._copied[path] = scanned, page
            self._progress.advance(len(some))
            yield from zip(repeat(composer.wiki_frame), composer.jobs(shown, copies))
        # after the pages: those of one folder, which share texts, stay together
        for slug in slugs:
            if (job := composer.history_job(slug, self._output.keep)) is not None:
                yield composer.wiki_frame, job

    def _to_compose(self, number: int) -> list[Slug]:
        """The pages of a wiki that may have another key; all others are kept."""
        pages, stale = self._addresses[number].pages, self._stale[number].own
        if stale is None or self._has_lost:
            return list(pages)
        stale |= self._stale_elsewhere[number]
        rest = {path: slug for slug, path in pages.items() if slug not in stale}
        compared = self._scanned[number].summary.compared
        several = {*compared} if self._options.history else set[Slug]()
        rest |= {layout.HISTORY_FOLDER + pages[one]: one for one in several - stale}
        stale |= {rest[path] for path in self._output.keep_all(dict.fromkeys(rest))}
        return list(filter(stale.__contains__, pages))

    def _keeps_lists(self, number: int) -> bool:
        """Keep the generated pages of a wiki, which show no more than its frame."""
        if not self._stale[number].has_same_lists:
            return False
        wiki = self._site.contexts[number]
        paths = generated.wiki_paths(wiki, self._addresses[number].pages.values())
        if wiki.feed_url and wiki.feed_url != self._site.context.feed_url:
            paths.append(wiki.feed_url)
        return not self._output.keep_all(dict.fromkeys(paths))

    def _translate(self, key: str) -> str:
        return self._theme.text(key, self._options.lang)

    def _put_feed(
        self,
        at: SiteContext | WikiContext,
        title: str,
        items: Sequence[ListingItem],
        key: bytes = b"",
    ) -> None:
        if at.feed_url and at.changes_url:
            base = self._site.context.url
            text = generated.atom_feed(
                title, items, at=at.feed_url, page=at.changes_url, base=base
            )
            self._output.put(at.feed_url, text.encode(), key)

    def _put_generated(self, pages: Iterable[generated.GeneratedPage]) -> None:
        for page in pages:
            key = hash_of(self._site.settings_key, page.own)
            if not self._output.keep(page.path, key):
                text = self._theme.render(page.template, page.context, at=page.path)
                self._output.put(page.path, text.encode("utf-8", "replace"))

    def _write_files(self) -> None:
        for path, content in {**self._theme.assets(), layout.NO_JEKYLL: b""}.items():
            self._output.put(path, content)
        site = self._site.context
        self._put_feed(site, site.title, self._changes)
        stubs: dict[str, str] = {}
        for one in self._addresses:
            stubs |= {path: one.pages[slug] for path, slug in one.stubs.items()}
        for path, text in generated.redirects(site, stubs, self._translate("moved")):
            self._output.put(path, text.encode())
        self._write_for_programs()
        prefixes, public = list[tuple[str, bool]](), list[str]()
        for addresses, wiki in zip(self._addresses, self._scanned, strict=True):
            is_public = wiki.source.visibility == "public"
            prefixes.append((addresses.prefix, is_public))
            own = addresses.pages.items() if is_public else ()
            public += [path for slug, path in own if slug not in wiki.summary.beside]
        prefixes += [(wiki.prefix, wiki.visibility == "public") for wiki in self._kept]
        still = list(kept_paths(self._output.known, self._kept)) if self._kept else []
        for path in still:
            self._output.keep_published(path)
        self._output.put(layout.ROBOTS, generated.robots_text(site, prefixes).encode())
        open_prefixes = tuple(prefix for prefix, is_public in prefixes if is_public)
        pages = (path for path in still if path.endswith(".html"))
        public += [path for path in pages if path.startswith(open_prefixes)]
        if site.url and public:
            if len(open_prefixes) == len(prefixes):
                public = [*dict.fromkeys([site.home_url, *public])]
            for path, text in generated.sitemaps(site.url, public):
                self._output.put(path, text.encode())

    def _write_for_programs(self) -> None:
        """Lists of all pages, and texts of those whose source the site has."""
        site = self._site.context
        key = hash_of(self._site.settings_key, self._listed)
        sources = [path for one in self._addresses for path in one.sources.values()]
        keys = {layout.PAGES_JSON: key}
        if sources:
            texts = agents.full_texts(map(self._output.state, sources))
            keys |= {layout.LLMS: key, layout.LLMS_FULL: hash_of(key, texts)}
        lost = self._output.keep_all(keys)
        makers: dict[str, Callable[..., bytes]] = {
            layout.PAGES_JSON: agents.pages_json,
            layout.LLMS: agents.llms_text,
            layout.LLMS_FULL: partial(agents.llms_full_text, read=self._output.content),
        }
        for path in lost:
            names = (wiki.source.owner.full_path for wiki in self._scanned)
            listed = map(_LISTED.decode, map(self._last.wiki_now, names))
            self._output.put(path, makers[path](site, listed))

    def _write_file(self, scanned: ScannedWiki, name: str, path: str) -> None:
        """A stranger's file; what is called a drawing becomes one that runs nothing."""
        state = scanned.file(name)
        assert state is not None, "what was found by a link was read then"
        if not is_drawing(path):
            place = scanned.files.place(name, state.digest)
            if not self._output.put_copy(path, place, name, (state.size, state.digest)):
                scanned.missed.add(name)
            return
        is_large = state.size > DRAWING_BYTES_MAX
        if is_large:
            self._problems.append(reports.large_drawing(name))
        if self._output.keep(path, hash_of("drawing", state.digest)):
            return
        content = b"" if is_large else scanned.read(name, state.digest)
        if content is None:
            self._output.leave_out(path, name)
        else:
            # it may have changed since it was looked at
            key = hash_of("drawing", digest_of(content))
            self._output.put(path, static_drawing(content), key)

    # Afterwards -------------------------------------------------------------------

    def remember(self, inputs: bytes, changes: Changes) -> BuildNote:
        """Forget what no page needs any more, and note for the next build what is."""
        self._indexer.sweep(self._page_count, self._all_pages, self._last.site)
        # what could not be read may be there again, and look as if nothing changed
        is_whole = not any(wiki.missed or wiki.uncounted for wiki in self._scanned)
        pages = sum(wiki.page_count for wiki in self._scanned)
        linked = tuple(
            (number, path, state.digest if state else "")
            for number, scanned in enumerate(self._scanned)
            for path, state in sorted(scanned.loose.seen.items())
        )
        note = BuildNote(
            inputs=inputs if is_whole else b"",
            pages=pages + sum(wiki.pages for wiki in self._kept),
            problems=(*self._problems, *changes.problems),
            broken_links=self._broken_links,
            linked=linked,
            retry_at=self._retry_at,
        )
        # those that were read as they were scanned
        sound = [one.source.owner.full_path for one in self._scanned if not one.missed]
        self._last.remember(note, changes.files, self._search, sound, self._output.kept)
        return note

    def _all_pages(self) -> Iterator[IndexedPage]:
        for number in range(len(self._scanned)):
            yield from self._pages_of(number).values()


def _source_key(scanned: ScannedWiki, page: SourcePage, digest: Digest) -> bytes:
    """That of a page's source with a digest, which may not be what was scanned."""
    if digest != page.digest:
        scanned.missed.add(page.path)
    return bytes.fromhex(digest)
