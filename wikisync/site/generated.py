"""The pages that no wiki has: landing page, lists, changes, report, search, not found.

Pure.  Each is a path, a template and a context; texts that are no HTML come ready,
such as the Atom feeds of changes (RFC 4287).
"""

import re
import uuid
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from html import escape
from itertools import groupby
from urllib.parse import quote, unquote, urlsplit

from msgspec import Struct
from msgspec.structs import replace

from wikisync.core.model import Problem, Slug
from wikisync.core.versions import Version, Versions, iso_time
from wikisync.markup.frontmatter import tag_key
from wikisync.markup.resolve import REASONS
from wikisync.site import addresses as layout
from wikisync.site import context as contexts
from wikisync.site import titles
from wikisync.site.crosslinks import ItemKey
from wikisync.site.frame import SiteFrame, group_titles, group_tree, natural_path
from wikisync.site.history import line_counts
from wikisync.site.navigation import natural_key
from wikisync.site.pages import WikiPages, by_title
from wikisync.site.report import LinkReport
from wikisync.site.search import DocumentKey
from wikisync.site.sources import is_template

SOURCES_MAX = 20
"""Pages named beside one wanted page; the count tells of the rest."""
SITEMAP_URLS_MAX = 50_000
"""What the protocol allows in one file."""
CHANGES_MAX = 100
"""Of a list or feed."""
NEWEST_MAX = 8
"""On the landing page."""
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


class GeneratedPage(Struct, frozen=True):
    """One page to be rendered by a template."""

    path: str
    template: str
    context: Mapping[str, object]

    @property
    def own(self) -> tuple[object, ...]:
        """What it is made from besides the site, whose hash is taken once."""
        context = {name: self.context[name] for name in self.context if name != "site"}
        return self.path, self.template, context


class GeneratedPages:
    """Everything around the wikis' own pages."""

    def __init__(
        self,
        frame: SiteFrame,
        refer: Callable[[ItemKey], contexts.PageRef],
        translate: Callable[[str], str],
        only: WikiPages | None,
    ) -> None:
        """Take the wiki whose pages lie at the top as ``only``, if it is alone."""
        self._site = frame.context
        self._wikis = frame.contexts
        self._refer = refer
        self._translate = translate
        self._titles = group_titles(frame.published)
        self._only = only
        self._contexts = sorted(
            (*frame.contexts, *frame.kept_contexts),
            key=lambda wiki: natural_path(wiki.full_path),
        )
        self._noindex = any(wiki.visibility != "public" for wiki in self._contexts)

    def of_wiki(self, wiki: WikiPages) -> Iterator[GeneratedPage]:
        """The generated pages of one wiki, each path once."""
        if wiki.home is None:
            frame = self._frame(wiki.context.url, wiki.context.title, wiki)
            yield GeneratedPage(wiki.context.url, "wiki.html", frame)
        yield from self._all_pages(wiki)
        if wiki.context.changes_url:
            changes = list(changed_pages(wiki, self._translate))
            yield self._changes(wiki.context.changes_url, changes, wiki)

    def around(
        self,
        report: LinkReport,
        problems: Sequence[Problem],
        changes: Sequence[contexts.ListingItem],
        documents: Iterable[DocumentKey],
    ) -> Iterator[GeneratedPage]:
        """The generated pages around all wikis, each path once."""
        if self._only is None:
            pages: dict[object, contexts.ListingItem] = {}
            for one in changes:
                pages.setdefault((one.wiki, one.url or one.title), one)
            frame = self._frame(layout.INDEX_PAGE, self._site.title, None)
            frame["groups"] = group_tree(self._contexts, self._titles)
            frame["changes"] = tuple(pages.values())[:NEWEST_MAX]
            yield GeneratedPage(layout.INDEX_PAGE, "index.html", frame)
        if self._site.changes_url and self._only is None:
            yield self._changes(self._site.changes_url, changes, None)
        if self._site.all_url not in {wiki.all_url for wiki in self._wikis}:
            yield from self._all_wikis()
        if self._site.report_url:
            yield from self._wanted(report)
            yield from self._orphans(report)
            yield from self._broken(report, problems)
        yield from self._tags(documents)
        yield self._plain(layout.SEARCH_PAGE, "search.html", self._translate("search"))
        yield self.not_found()

    def not_found(self) -> GeneratedPage:
        """The page for addresses that lead nowhere."""
        title = self._translate("not_found")
        return self._plain(layout.NOT_FOUND_PAGE, "404.html", title)

    def _frame(
        self, path: str, title: str, wiki: WikiPages | None
    ) -> dict[str, object]:
        is_hidden = wiki.context.visibility != "public" if wiki else self._noindex
        base = self._site.url
        page = contexts.PageContext(
            title=title,
            url=path,
            canonical_url=layout.absolute_url(base, path) if base else None,
            is_home=path
            in {layout.INDEX_PAGE, wiki.context.url if wiki else layout.INDEX_PAGE},
            noindex=is_hidden,
            dir=self._site.dir,
        )
        frame = wiki.frame(Slug(""), path) if wiki else {"site": self._site}
        return {**frame, "page": page}

    def _plain(self, path: str, template: str, title: str) -> GeneratedPage:
        return GeneratedPage(path, template, self._frame(path, title, self._only))

    def _all_pages(self, wiki: WikiPages) -> Iterator[GeneratedPage]:
        items = []
        in_folder: dict[str, str] = {}
        for slug in wiki.tree.order:
            title, url = wiki.titles[slug], wiki.urls[slug]
            folder = slug.rpartition("/")[0]
            above = in_folder.get(folder)
            if above is None:
                names = [one.title for one in wiki.tree.ancestors(slug)]
                above = in_folder[folder] = " / ".join(names)
            dates = wiki.wiki.scanned.pages[slug].dates
            changed, by = iso_time(dates.changed), dates.by
            item = contexts.ListingItem(
                title, url, note=above, id=layout.list_id(url), changed=changed, by=by
            )
            items.append(item)
        yield from self._list(wiki.context.all_url, "all", "all_pages", items, wiki)

    def _changes(
        self, path: str, items: Sequence[contexts.ListingItem], wiki: WikiPages | None
    ) -> GeneratedPage:
        since = wiki.wiki.scanned.versions.since if wiki else 0
        (page,) = self._list(path, "changes", "changes", items, wiki, since=since)
        return page

    def _all_wikis(self) -> Iterator[GeneratedPage]:
        items = [
            contexts.ListingItem(
                one.title, one.all_url, one.full_path, count=one.page_count
            )
            for one in self._contexts
        ]
        yield from self._list(layout.ALL_PAGE, "wikis", "all_wikis", items, self._only)

    def _tags(self, documents: Iterable[DocumentKey]) -> Iterator[GeneratedPage]:
        tagged: defaultdict[str, list[contexts.ListingItem]] = defaultdict(list)
        names: dict[str, str] = {}
        for one in documents:
            for tag in one.tags:
                wiki = "" if self._only else one.wiki
                tagged[tag_key(tag)].append(
                    contexts.ListingItem(one.title, one.url, wiki=wiki)
                )
                names.setdefault(tag_key(tag), tag)
        items = []
        for key in sorted(tagged, key=natural_key):
            path, pages = layout.tag_path(key), sorted(tagged[key], key=by_title)
            items.append(contexts.ListingItem(names[key], path, count=len(pages)))
            name = names[key]
            yield from self._list(path, "tag", "tag", pages, self._only, name=name)
        if items:
            yield from self._list(layout.TAGS_PAGE, "tags", "tags", items, self._only)

    def _wanted(self, report: LinkReport) -> Iterator[GeneratedPage]:
        items = []
        for one in report.wanted:
            pages = (ItemKey(one.wiki, slug) for slug in one.pages[:SOURCES_MAX])
            it = contexts.ListingItem(
                titles.shortened(one.slug, titles.LINK_CHARS_MAX),
                wiki=self._name(one.wiki),
                count=len(one.pages),
                sources=tuple(map(self._refer, pages)),
            )
            items.append(it)
        yield from self._list(layout.WANTED_PAGE, "wanted", "wanted", items, self._only)

    def _orphans(self, report: LinkReport) -> Iterator[GeneratedPage]:
        pages = ((self._refer(one), self._name(one.wiki)) for one in report.orphans)
        items = [
            contexts.ListingItem(it.title, it.url, wiki=name) for it, name in pages
        ]
        path = layout.ORPHANS_PAGE
        yield from self._list(path, "orphans", "orphans", items, self._only)

    def _broken(
        self, report: LinkReport, problems: Sequence[Problem]
    ) -> Iterator[GeneratedPage]:
        numbers = {wiki.full_path: number for number, wiki in enumerate(self._wikis)}
        items = []
        keys = {said: f"reason_{word}" for word, said in REASONS.items()}
        for link in report.broken:
            number = numbers[link.wiki]
            page = self._refer(ItemKey(number, link.slug))
            if link.line:
                page = replace(page, title=f"{page.title}:{link.line}")
            href = titles.shortened(link.href, titles.LINK_CHARS_MAX)
            name = self._name(number)
            why = self._translate(keys[link.reason])
            items.append(contexts.ListingItem(href, None, name, why, sources=(page,)))
        lines = tuple(str(problem) for problem in problems)
        yield from self._list(
            layout.REPORT_PAGE, "broken", "report", items, self._only, problems=lines
        )

    def _name(self, wiki: int) -> str:
        return "" if self._only else self._wikis[wiki].full_path

    def _list(
        self,
        path: str,
        kind: contexts.ListingKind,
        title_key: str,
        items: Sequence[contexts.ListingItem],
        wiki: WikiPages | None,
        *,
        problems: tuple[str, ...] = (),
        since: int = 0,
        name: str = "",
    ) -> Iterator[GeneratedPage]:
        title = self._translate(title_key) + (f": {name}" if name else "")
        paths = _list_paths(path, len(items))
        for index, part in enumerate(paths):
            start = index * layout.LIST_ITEMS_MAX
            pages = tuple(
                contexts.ListingPart(number, other, other == part)
                for number, other in enumerate(paths, start=1)
            )
            listing = contexts.Listing(
                kind=kind,
                title=title,
                items=tuple(items[start : start + layout.LIST_ITEMS_MAX]),
                count=len(items),
                pages=pages if len(paths) > 1 else (),
                problems=problems[: layout.LIST_ITEMS_MAX] if index == 0 else (),
                since=iso_time(since),
            )
            frame = self._frame(part, title, wiki)
            yield GeneratedPage(part, "list.html", {**frame, "listing": listing})


def wiki_paths(wiki: contexts.WikiContext, pages: Collection[str]) -> list[str]:
    """The paths of what ``of_wiki`` generates for a wiki with pages at some paths."""
    paths = [] if wiki.url in pages else [wiki.url]
    if wiki.changes_url:
        paths.append(wiki.changes_url)
    return paths + _list_paths(wiki.all_url, wiki.page_count or 0)


def _list_paths(path: str, items: int) -> list[str]:
    count = max(-(-items // layout.LIST_ITEMS_MAX), 1)
    return [layout.numbered(path, number) for number in range(1, count + 1)]


def robots_text(site: contexts.SiteContext, wikis: Sequence[tuple[str, bool]]) -> str:
    """``robots.txt`` for wikis as (prefix, is public); private ones are closed."""
    base = urlsplit(site.url).path.rstrip("/") if site.url else ""
    lines = ["User-agent: *"]
    closed = [prefix for prefix, is_public in wikis if not is_public]
    if len(closed) == len(wikis):
        lines.append("Disallow: /")
    elif closed:
        lines += [f"Disallow: {base}/{quote(prefix)}" for prefix in closed]
        lines.append(f"Disallow: {base}/-/")
    else:
        lines.append("Disallow:")
    if site.url and len(closed) < len(wikis):
        lines.append(f"Sitemap: {layout.absolute_url(site.url, layout.SITEMAP)}")
    return "\n".join(lines) + "\n"


def stub_page(site: contexts.SiteContext, at: str, to: str, moved: str) -> str:
    """What lies at the old address of a page: it leads on, from a file system too."""
    link = layout.relative_url(at, to)
    whole = escape(layout.absolute_url(site.url, to)) if site.url else ""
    canonical = f'<link rel="canonical" href="{whole}">\n' if whole else ""
    return (
        f'<!doctype html>\n<html lang="{escape(site.lang)}" dir="{site.dir}">\n'
        '<meta charset="utf-8">\n<meta name="robots" content="noindex">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="refresh" content="0; url={escape(link)}">\n{canonical}'
        # without an icon of its own a browser asks the server for one that is not there
        f'<link rel="icon" href="data:,">\n<title>{escape(moved)}</title>\n'
        f'<main><h1><a href="{escape(link)}">{escape(moved)}</a></h1></main>\n</html>\n'
    )


def redirects(
    site: contexts.SiteContext, stubs: Mapping[str, str], moved: str
) -> Iterator[tuple[str, str]]:
    """What lies at old addresses, and rules for web servers: ``_redirects``, nginx.

    ``stubs`` are new output paths by old ones; rules name the site's folder on the
    host.
    """
    for at, to in stubs.items():
        yield at, stub_page(site, at, to, moved)
    base = urlsplit(site.url).path.rstrip("/") if site.url else ""
    rules, entries = [], []
    for old, new in sorted(stubs.items()):
        target = f"{base}/{quote(new)}"
        # a host that leaves out .html has both addresses
        for one in (old, old.removesuffix(".html")):
            rules.append(f"{base}/{quote(one)} {target} 301\n")
            key = f"{unquote(base)}/{one}".replace("\\", "\\\\").replace('"', '\\"')
            entries.append(f'"{key}" "{target}";\n')
    if rules:
        yield layout.REDIRECTS, "".join(rules)
        yield layout.REDIRECTS_MAP, "".join(entries)


def sitemaps(base: str, paths: Sequence[str]) -> Iterator[tuple[str, str]]:
    """``sitemap.xml``: all addresses, or an index of parts where they are many."""
    parts = [
        paths[start : start + SITEMAP_URLS_MAX]
        for start in range(0, len(paths), SITEMAP_URLS_MAX)
    ]
    if len(parts) == 1:
        yield layout.SITEMAP, _sitemap("urlset", "url", base, parts[0])
        return
    names = [f"-/sitemap-{number}.xml" for number in range(1, len(parts) + 1)]
    for name, part in zip(names, parts, strict=True):
        yield name, _sitemap("urlset", "url", base, part)
    yield layout.SITEMAP, _sitemap("sitemapindex", "sitemap", base, names)


def _sitemap(root: str, entry: str, base: str, paths: Iterable[str]) -> str:
    urls = (escape(layout.absolute_url(base, path)) for path in paths)
    lines = [f"<{entry}><loc>{url}</loc></{entry}>" for url in urls]
    namespace = "http://www.sitemaps.org/schemas/sitemap/0.9"
    head = f'<?xml version="1.0" encoding="UTF-8"?>\n<{root} xmlns="{namespace}">'
    return "\n".join([head, *lines, f"</{root}>", ""])


def changed_pages(
    wiki: WikiPages, translate: Callable[[str], str]
) -> Iterator[contexts.ListingItem]:
    """The last changes of a wiki, the newest first."""
    scanned, texts = wiki.wiki.scanned, wiki.wiki.scanned.texts
    seed = scanned.source.origin.service + scanned.source.owner.full_path
    count = 0
    for row, now in _named_now(scanned.versions):
        is_there = now in scanned.pages and now not in scanned.beside
        if not (is_there if now else _is_shown(row.slug, scanned.left_out)):
            continue
        count += 1
        title = wiki.titles[now] if now else _title(row.slug)
        name = f"{seed} {row.commit or row.at} {row.slug} {row.kind}"
        counts = line_counts(texts, row.old, row.blob)
        if counts is None:
            scanned.uncounted.add(row.blob)
        lines = " +{} \u2212{}".format(*counts) if counts and any(counts) else ""
        note = translate(f"change_{row.kind}").format(was=_title(row.was))
        yield contexts.ListingItem(
            title,
            wiki.urls[now] if now else None,
            note=note + lines,
            id=str(uuid.uuid5(uuid.NAMESPACE_URL, name)),
            changed=iso_time(row.at),
            by=row.author,
        )
        if count == CHANGES_MAX:
            return


def _named_now(versions: Versions) -> Iterator[tuple[Version, Slug | None]]:
    """Each version with the name of its page today; None: it is deleted."""
    names: dict[str, Slug | None] = {}
    for _, group in groupby(versions.rows, key=lambda row: row.commit or row):
        rows = [
            (row, None if row.kind == "deleted" else names.get(row.slug, row.slug))
            for row in group
        ]
        yield from rows
        # pages may take each other's names in one commit
        for row, _ in rows:
            names.pop(row.slug, None)
        names |= {row.was: now for row, now in rows if row.kind != "created"}


def newest(items: Iterable[contexts.ListingItem]) -> list[contexts.ListingItem]:
    """The last changes of several wikis."""
    return sorted(items, key=lambda one: one.changed or "", reverse=True)[:CHANGES_MAX]


def atom_feed(
    title: str,
    items: Sequence[contexts.ListingItem],
    *,
    at: str,
    page: str,
    base: str | None,
) -> str:
    """A feed of changes, the newest first; ``base`` is the site's URL, if known."""

    def link(path: str) -> str:
        return escape(
            layout.absolute_url(base, path) if base else layout.relative_url(at, path)
        )

    name = uuid.uuid5(uuid.NAMESPACE_URL, f"{base or title} {at}")
    updated = max((one.changed or "" for one in items), default="")
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        '<feed xmlns="http://www.w3.org/2005/Atom">',
        f"<id>urn:uuid:{name}</id>",
        f"<title>{_text(title)}</title>",
        f"<updated>{updated or '1970-01-01T00:00:00Z'}</updated>",
        # entries without an author have that of the feed
        f"<author><name>{_text(title)}</name></author>",
        f'<link rel="alternate" type="text/html" href="{link(page)}"/>',
    ]
    if base:
        lines += [f'<link rel="self" type="application/atom+xml" href="{link(at)}"/>']
    for one in items:
        author = f"<author><name>{_text(one.by)}</name></author>" if one.by else ""
        where = f"{one.wiki}: " if one.wiki else ""
        lines += [
            "<entry>",
            f"<id>urn:uuid:{one.id}</id>",
            f"<title>{_text(where + one.title)}</title>",
            f"<updated>{one.changed}</updated>{author}",
            f'<link rel="alternate" type="text/html" href="{link(one.url or page)}"/>',
            f"<summary>{_text(one.note)}</summary>",
            "</entry>",
        ]
    return "\n".join([*lines, "</feed>", ""])


def _text(text: str) -> str:
    return escape(_NOT_XML.sub(" ", text))


def _is_shown(slug: str, left_out: Iterable[str]) -> bool:
    is_beside = slug.rpartition("/")[2] in {layout.SIDEBAR, layout.FOOTER}
    return not (is_beside or is_template(slug) or slug in left_out)


def _title(slug: str) -> str:
    title = titles.display_title(titles.folder_title(slug), Slug(slug))
    return titles.shortened(title, titles.TITLE_CHARS_MAX)
