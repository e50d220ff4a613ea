"""From folders to facts: every page parsed, its links resolved, who links to whom.

Both phases of ``markup.page`` are cached by content.  Phase A depends on the page
alone (and what it includes); phase B on what its links find in its wiki, on the ids
of the pages whose headings it names, and, where it names another wiki of the site,
on all addresses.  So a page that comes or goes costs those that name it.  Only facts
(``facts``) stay in memory; HTML stays in the cache until the page is written.
"""

from __future__ import annotations

import os
import pickle
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import cache, partial
from itertools import chain, starmap
from operator import call

import msgspec
from msgspec import Struct

from wikisync.core.decoding import msgpack_decoder
from wikisync.core.messages import Progress
from wikisync.core.model import Digest, Format, Page, Problem, Slug
from wikisync.core.system.parallel import in_order, usable_cores
from wikisync.markup.bounded import BoundedPages, Wish, one_per_process
from wikisync.markup.context import PAGE_SECONDS_MAX
from wikisync.markup.diagrams import wanted_drawing
from wikisync.markup.placeholders import values_of
from wikisync.markup.record import PARSED_VERSION, MarkupOptions, ParsedPage
from wikisync.markup.source import clean_source, shown_as_source
from wikisync.site import reading as readings
from wikisync.site.addresses import WikiAddresses
from wikisync.site.attempts import Attempts
from wikisync.site.bodies import Place
from wikisync.site.cache import Cache, Stage, cache_failed
from wikisync.site.crosslinks import SiteLinks, WikiTable, changed_names, leading_to
from wikisync.site.facts import (
    VIEWS,
    FinishedFacts,
    IndexedPage,
    IndexedWiki,
    PageView,
    ParsedFacts,
    unread_page,
)
from wikisync.site.fingerprint import hash_of, program_fingerprint
from wikisync.site.includes import Includes, Kroki, Recorder
from wikisync.site.model import SourcePage
from wikisync.site.sources import PageText, ScannedWiki

BATCH_PAGES = 32
PAGES_PER_READ = 8
"""A worker resolves links where one of so many pages of a wiki is read."""
BATCHES_AHEAD = 3

_READINGS = msgpack_decoder(readings.Reading)
_PARSED_PAGES = msgpack_decoder(ParsedPage)
_PARSED_FACTS = msgpack_decoder(ParsedFacts)
_FINISHED_FACTS = msgpack_decoder(FinishedFacts)


class BoundedReader(BoundedPages[readings.Reading]):
    """Parses pages in worker processes, and keeps what a build takes of them."""

    def __init__(self) -> None:
        super().__init__("wikisync.site.reading_worker", _READINGS, readings.reading_of)


bounded_reader = one_per_process(BoundedReader)
"""The reader of this process."""


class Indexer:
    """Parses and resolves the pages of all wikis, one wiki after the other."""

    def __init__(
        self,
        cache: Cache,
        table: WikiTable,
        progress: Progress,
        options: MarkupOptions,
        attempts: Attempts,
    ) -> None:
        self.cache = cache
        """Has what is known of pages, by the keys in their facts."""
        self.table = table
        self._options = options
        self._progress = progress
        self._attempts = attempts
        self.kroki = Kroki(self._options.kroki, cache.folder)
        self._slow: list[SourcePage] = []
        self._ahead: Iterator[list[_Attempt]] = iter(())
        self._new: set[int] = set()
        """Wikis whose pages come from there, an empty list behind those of each."""
        self._program = hash_of(program_fingerprint(), PARSED_VERSION, self._options)
        # a link to what is left out is another one than to what nobody has written
        self._site = hash_of(
            [(one.names, sorted(one.left_out.items())) for one in table.addresses]
        )
        self._bases = hash_of(table.web_urls)
        self.table_key = self._site + self._bases
        """Hash of all addresses that links lead to, but for loose files."""
        self._right: defaultdict[int, dict[Slug, FinishedFacts]] = defaultdict(dict)
        """Facts whose lookups have the answers of this table, by wiki."""

    def inputs(self, number: int, scanned: ScannedWiki, *around: object) -> list[bytes]:
        """Hashes of what a wiki is made from but its files.

        The first where no page names another wiki, whose pages may come and go; else
        the second.
        """
        own = self.table.addresses[number]
        links = own.names, sorted(own.left_out.items()), self._bases
        key = hash_of(self.reading_key(scanned), *links, *around)
        return [key, hash_of(key, self.table_key)]

    def index(
        self,
        number: int,
        scanned: ScannedWiki,
        before: Mapping[Slug, IndexedPage] | None = None,
        chosen: Collection[Slug] | None = None,
    ) -> IndexedWiki:
        """Both phases for the pages of one wiki; only the chosen ones are read now."""
        texts = Includes(scanned, self.kroki)
        known = before or {}
        if chosen is not None:
            self._attempts.renew()
        options = self._options_for(scanned)
        parsed: dict[Slug, tuple[bytes, ParsedFacts]] = {}
        keys: dict[Slug, bytes] = {}
        for slug, page in scanned.pages.items():
            last = known.get(slug)
            is_same = last is not None and _is_same(last, page)
            if is_same and last is not None and last.is_read:
                parsed[slug] = last.parsed_key, last.parsed
            elif not is_same or chosen is None or slug in chosen:
                keys[slug] = self._parsed_key(page, page.digest, options)
        unknown = []
        self._progress.advance(len(scanned.pages) - len(keys))
        rows = self.cache.facts_of("parsed", [*keys.values()])
        for (slug, key), row in zip(keys.items(), rows, strict=True):
            page, is_chosen = scanned.pages[slug], chosen is None or slug in chosen
            facts = self._known(page, row, texts, is_chosen=is_chosen)
            if facts is not None:
                parsed[slug] = key, facts
            elif is_chosen:
                unknown.append(page)
                continue
            self._progress.advance()
        headings: dict[Slug, frozenset[str]] = {}
        links = SiteLinks(number, self.table, headings, scanned.folders)
        ids = _ids_of(headings, links)
        done: dict[Slug, IndexedPage] = {}
        for made in self._read_all(number, unknown, texts):
            page, slug = made.page, made.page.slug
            key, facts = parsed[slug] = self._keep(made)
            reading = made.reading
            if reading.finished is not None and not facts.retry_at:
                last = known.get(slug)
                done[slug] = self._finished(
                    scanned, page, key, facts, last, links, ids, reading
                )
        parsed |= self._parse_slow(texts)
        headings |= {slug: facts.ids for slug, (_, facts) in parsed.items()}
        pages = {}
        for slug, page in scanned.pages.items():
            if slug in done:
                pages[slug] = done[slug]
                continue
            last, found = known.get(slug), parsed.get(slug)
            if found is not None:
                pages[slug] = self._finished(scanned, page, *found, last, links, ids)
            elif last is not None and last.source == page and not last.is_read:
                pages[slug] = last
            else:
                pages[slug] = unread_page(page, last)
        return IndexedWiki(number, scanned, pages)

    def reading_key(self, scanned: ScannedWiki) -> bytes:
        """Hash of what the facts of a wiki's pages depend on besides their files."""
        return hash_of(self._program, scanned.source.fingerprint())

    def believe(
        self,
        number: int,
        pages: Collection[IndexedPage],
        table_key: bytes,
        addresses: WikiAddresses,
    ) -> None:
        """Take the links of a wiki's pages for resolved, where they still lead there.

        Loose files can have come and gone: who asked for one asks again.
        """
        is_same_site = table_key == self.table_key
        if not is_same_site and not table_key.endswith(self._bases):
            return
        right = [page for page in pages if not page.finished.names_files]
        if not is_same_site:
            changed = changed_names(addresses, self.table.addresses[number])
            asked = set[str]().union(
                *(page.finished.targets for page in right),
                *(page.finished.asked for page in right),
            )
            other = changed.union(leading_to(changed, asked)) & asked
            right = [
                page
                for page in right
                if not page.finished.site
                and page.source.slug not in changed
                and (not other or other.isdisjoint(page.finished.names))
            ]
        self._right[number] |= {page.slug: page.finished for page in right}

    def read(self, scanned: ScannedWiki, page: SourcePage) -> None:
        """Parse one page ahead, so that the cache knows it."""
        texts = Includes(scanned, self.kroki)
        key = self._parsed_key(page, page.digest, self._options_for(scanned))
        row = self.cache.facts("parsed", key)
        if self._known(page, row, texts, is_chosen=True) is None:
            for made in self._attempts_at([page], texts, None, self._aim()):
                self._keep(made)
        self._parse_slow(texts)

    def parsed_page(self, page: IndexedPage) -> ParsedPage:
        """Phase A of a page without its texts, from the cache."""
        return _PARSED_PAGES.decode(self.cache.body("parsed", page.parsed_key))

    def parsed_texts(
        self, scanned: ScannedWiki, slug: Slug, texts: Iterable[str]
    ) -> list[ParsedPage]:
        """Phase A of texts about a page, such as comments; they include nothing."""
        options = self._options_for(scanned)
        pages = [Page(slug, Format.MARKDOWN, text) for text in texts]
        wishes = [Wish(page, options, aim=self._aim()) for page in pages]
        places = [reading.parsed for reading in bounded_reader().make_all(wishes)]
        return [_PARSED_PAGES.decode(self.cache.bodies.read(one)) for one in places]

    def forget(self, number: int) -> None:
        """Let go of what is in memory of a wiki; the next look at it takes longer."""
        self._right.pop(number, None)
        self.table.forget(number)

    def view(self, page: IndexedPage) -> PageView:
        """What a template shows of a page, from the cache."""
        return VIEWS.decode(self.cache.body("finished", page.finished_key))

    def sweep(
        self, count: int, pages: Callable[[], Iterable[IndexedPage]], site: int = 0
    ) -> None:
        """Let go of texts that none of so many pages of a site has any more."""
        key_of: dict[Stage, Callable[[IndexedPage], bytes]] = {
            "parsed": lambda page: page.parsed_key,
            "words": lambda page: page.parsed.text_key,
            "finished": lambda page: page.finished_key,
        }
        self.cache.sweep(count, lambda stage: map(key_of[stage], pages()), site)
        self.kroki.sweep()

    # Phase A ----------------------------------------------------------------------

    def _known(
        self, page: SourcePage, row: bytes | None, texts: Includes, *, is_chosen: bool
    ) -> ParsedFacts | None:
        """A page's facts without parsing it; None where it has to be."""
        if row is None:
            return None
        known = _PARSED_FACTS.decode(row)
        for target, digest in known.includes:
            if texts.digest(page.slug, target) != digest:
                return None
        is_due = is_chosen and self._attempts.is_due(known.retry_at)
        if is_due and known.is_slow:
            self._slow.append(page)
        return known if known.is_slow or not is_due else None

    @contextmanager
    def reading_ahead(self, wikis: Mapping[int, ScannedWiki]) -> Iterator[None]:
        """Have pages parsed of wikis that nothing is noted of, indexed in this order.

        Processes parse the pages of one while those of another are resolved here.
        """
        self._new |= wikis.keys()
        calls = chain.from_iterable(starmap(self._unknown, wikis.items()))
        ahead = in_order(call, calls, threads=usable_cores(), ahead=BATCHES_AHEAD)
        with closing(ahead) as self._ahead:
            yield

    def _unknown(self, number: int, scanned: ScannedWiki) -> Iterator[_Call]:
        options, pages = self._options_for(scanned), [*scanned.pages.values()]
        keys = [self._parsed_key(page, page.digest, options) for page in pages]
        rows = zip(pages, self.cache.facts_of("parsed", keys), strict=True)
        unknown = [page for page, row in rows if row is None]
        yield from self._batches(number, unknown, Includes(scanned, self.kroki))
        yield list

    def _read_all(
        self, number: int, pages: Sequence[SourcePage], texts: Includes
    ) -> Iterator[_Attempt]:
        """Parse pages of a wiki, most of which also have their links resolved."""
        wanted = {page.slug: page for page in pages}

        def rest() -> Iterator[list[_Attempt]]:
            calls = self._batches(number, [*wanted.values()], texts)
            cores = usable_cores()
            yield from in_order(call, calls, threads=cores, ahead=BATCHES_AHEAD)

        ahead = iter(partial(next, self._ahead), []) if number in self._new else ()
        for one in chain.from_iterable(chain(ahead, rest())):
            # another wiki may have had the same page by now
            if wanted.pop(one.page.slug, None):
                yield one
                self._progress.advance()

    def _batches(
        self, number: int, pages: Sequence[SourcePage], texts: Includes
    ) -> Iterator[_Call]:
        scanned, aim, table = texts.scanned, self._aim(), self.table
        at = table.addresses[number]
        # the addresses of all pages are more than a few pages
        if 0 < len(at.pages) <= len(pages) * PAGES_PER_READ:
            around = scanned.folders, scanned.loose.names
            own = readings.OwnLinks(number, table.web_urls, at, *around)
            aim = self._aim(*self.cache.bodies.add(pickle.dumps(own)))
        for start in range(0, len(pages), BATCH_PAGES):
            some = pages[start : start + BATCH_PAGES]
            yield partial(self._attempts_at, some, texts, None, aim)

    def _aim(self, links: Place = b"") -> bytes:
        bodies = os.fsencode(self.cache.bodies.path.absolute())
        return msgspec.msgpack.encode(readings.Aim(bodies, links))

    def _parse_slow(self, texts: Includes) -> dict[Slug, tuple[bytes, ParsedFacts]]:
        slow, self._slow = self._slow, []
        found = {}
        for page in slow:
            seconds = PAGE_SECONDS_MAX if self._attempts.has_time else 0
            for made in self._attempts_at([page], texts, seconds, self._aim()):
                found[page.slug] = self._keep(made)
        return found

    def _attempts_at(
        self,
        pages: Sequence[SourcePage],
        texts: Includes,
        seconds: float | None,
        aim: bytes,
    ) -> list[_Attempt]:
        """Parse pages in turn, each in so many seconds; safe in any thread.

        0: it is shown as source at once.  None: a quick attempt, then it is slow or
        done.
        """
        options = self._options_for(texts.scanned)
        read = PageText.all_of(texts.scanned, pages)
        includes = [Recorder(texts, page.slug) for page in pages]
        wishes = [
            Wish(
                Page(one.page.slug, one.page.format, one.text),
                options,
                include,
                self._attempts.quick_seconds(one.text) if seconds is None else seconds,
                aim,
            )
            for one, include in zip(read, includes, strict=True)
        ]
        if seconds == 0:
            made = [self._refused(wish.page, aim) for wish in wishes]
        else:
            made = bounded_reader().make_all(wishes)
        for reading in made:
            if reading.unkept:
                raise cache_failed(self.cache.folder, reading.unkept)
        return [
            _Attempt(
                one.page,
                self._parsed_key(one.page, one.digest, options),
                reading,
                one.problems,
                tuple(include.seen.items()),
                wish.seconds_max or 0,
                is_quick=seconds is None,
            )
            for one, include, wish, reading in zip(
                read, includes, wishes, made, strict=True
            )
        ]

    def _refused(self, page: Page, aim: bytes) -> readings.Reading:
        source, reason = clean_source(page.content), self._attempts.refusal()
        shown = shown_as_source(page, source, reason, breach="time")
        return readings.reading_of(shown, aim)

    def _keep(self, made: _Attempt) -> tuple[bytes, ParsedFacts]:
        """Remember what came of an attempt; a slow page waits for a longer one."""
        reading = made.reading
        retry_at, is_slow = 0.0, False
        if reading.breach:
            is_full = reading.breach == "time" and made.seconds >= PAGE_SECONDS_MAX
            is_slow = not is_full and reading.breach != "memory"
            retry_at = self._attempts.failed(made.seconds, is_slow=is_slow)
            if is_slow and made.is_quick:
                self._slow.append(made.page)
        elif any(wanted_drawing(target) and not got for target, got in made.includes):
            retry_at = self._attempts.failed(0, is_slow=True)
        facts = ParsedFacts(
            page_title=reading.title,
            ids=reading.ids,
            summary=reading.summary,
            problems=(*made.problems, *reading.problems),
            includes=made.includes,
            text_key=hash_of(self._program, reading.text_digest),
            retry_at=retry_at,
            is_slow=is_slow,
            tags=reading.tags,
        )
        packed = msgspec.msgpack.encode(facts)
        self.cache.store("parsed", made.key, packed, reading.parsed)
        self.cache.store("words", facts.text_key, b"", reading.searched)
        return made.key, facts

    def _options_for(self, scanned: ScannedWiki) -> MarkupOptions:
        if self._options.placeholders is None:
            return self._options
        source = scanned.source
        values = values_of(
            source.owner, source.title, source.web_url, source.placeholders
        )
        return msgspec.structs.replace(
            self._options, placeholders={**values, **self._options.placeholders}
        )

    def _parsed_key(
        self, page: SourcePage, digest: Digest, options: MarkupOptions
    ) -> bytes:
        placeholders = sorted((options.placeholders or {}).items())
        return hash_of(self._program, digest, page.format, page.slug, placeholders)

    # Phase B ----------------------------------------------------------------------

    def _finished(
        self,
        scanned: ScannedWiki,
        page: SourcePage,
        parsed_key: bytes,
        parsed: ParsedFacts,
        last: IndexedPage | None,
        links: SiteLinks,
        ids: readings.Ids,
        reading: readings.Reading | None = None,
    ) -> IndexedPage:
        """A page whose links are resolved, by the shortest way."""
        number, slug = links.number, page.slug
        if (
            last is not None
            and last.parsed is parsed
            and self._right[number].get(slug) is last.finished
            and readings.has_same_ids(last.finished, ids)
        ):
            return last
        folder = page.path.rpartition("/")[0]
        url = self.table.addresses[number].pages[slug]
        made_from = parsed_key, self._program, self._bases, number, url, folder
        # what went over a limit has problems that it may lose again
        key = hash_of(made_from, parsed.includes, parsed.problems)
        known = reading.finished if reading else None
        facts = None if known else self._known_finish(key, number, last, ids)
        if facts is None:
            if reading is not None and known is not None:
                facts, view = known, reading.view
            else:
                body = _PARSED_PAGES.decode(self.cache.body("parsed", parsed_key))
                facts, html = readings.finished(
                    *(body, links, ids, self._site),
                    lambda: clean_source(PageText.all_of(scanned, [page])[0].text),
                )
                view = self.cache.bodies.add(html)[0]
            self.cache.store("finished", key, msgspec.msgpack.encode(facts), view)
        self._right[number][slug] = facts
        if last is not None and last.parsed is parsed and last.finished is facts:
            return last
        return IndexedPage(page, parsed_key, parsed, key, facts)

    def _known_finish(
        self, key: bytes, number: int, last: IndexedPage | None, ids: readings.Ids
    ) -> FinishedFacts | None:
        if last is not None and last.finished_key == key:
            facts = last.finished
        elif (stored := self.cache.facts("finished", key)) is not None:
            facts = _FINISHED_FACTS.decode(stored)
        else:
            return None
        answers = self.table.answers
        is_current = (
            facts.site in {b"", self._site}
            and answers(number, facts.targets, facts.asked) == facts.answers
            and readings.has_same_ids(facts, ids)
        )
        return facts if is_current else None


class _Attempt(Struct, frozen=True):
    page: SourcePage
    key: bytes
    reading: readings.Reading
    problems: tuple[Problem, ...]
    includes: tuple[tuple[str, str], ...]
    seconds: float
    is_quick: bool


_Call = Callable[[], list[_Attempt]]


def _is_same(last: IndexedPage, page: SourcePage) -> bool:
    parsed = last.parsed
    return last.source == page and not parsed.includes and not parsed.problems


def _ids_of(headings: Mapping[Slug, frozenset[str]], links: SiteLinks) -> readings.Ids:
    """Hashes of the ids of pages, each made when asked for; names of Org too."""

    @cache
    def digest(slug: Slug) -> bytes:
        if slug.startswith("id:"):
            return (links.page_of_id(slug) or "").encode("utf-8", "surrogatepass")
        return hash_of(sorted(headings[slug])) if slug in headings else b""

    return digest
