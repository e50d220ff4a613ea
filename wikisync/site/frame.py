"""What surrounds every page of a build: the site, its wikis, groups and addresses."""

from __future__ import annotations

import hashlib
import posixpath
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from urllib.parse import quote, urlsplit

from msgspec.structs import asdict, replace

from wikisync.core.model import Slug, split_extension
from wikisync.core.version import __version__
from wikisync.core.versions import iso_time
from wikisync.site import addresses as layout
from wikisync.site import context as contexts
from wikisync.site.crosslinks import service_address
from wikisync.site.fingerprint import hash_of, program_fingerprint
from wikisync.site.manifest import PublishedWiki
from wikisync.site.model import SiteOptions, WikiInfo, WikiSource, options_text
from wikisync.site.navigation import natural_key
from wikisync.site.sources import ScannedWiki

RIGHT_TO_LEFT = frozenset(
    [*("ar", "ckb", "dv", "fa", "he", "ks", "nqo", "ps", "sd", "syr", "ug", "ur"), "yi"]
)
"""Languages whose usual script runs from right to left."""
URL_MARKS = "/:%@!$&'()*+,;="
_FROM_THE_RIGHT = ("R", "AL")


def text_direction(text: str, usual: str) -> str:
    """``rtl`` or ``ltr``, whichever most letters of a text have; else the usual one."""
    # many a text is shortened, by a sign without a direction
    if text.replace("\u2026", "").isascii():
        return "ltr" if any(map(str.isalpha, text)) else usual
    letters = set(map(unicodedata.bidirectional, set(text)))
    if letters.isdisjoint(_FROM_THE_RIGHT):
        return "ltr" if "L" in letters else usual
    kinds = Counter(map(unicodedata.bidirectional, text))
    right_to_left = sum(kinds[kind] for kind in _FROM_THE_RIGHT)
    if right_to_left == kinds["L"]:
        return usual
    return "rtl" if right_to_left > kinds["L"] else "ltr"


def site_addresses(
    scanned: Sequence[ScannedWiki],
    options: SiteOptions,
    kept: Sequence[PublishedWiki] = (),
    known: Sequence[layout.WikiAddresses] = (),
    same: Collection[int] = (),
) -> list[layout.WikiAddresses]:
    """Output paths of all wikis but those kept; ``known`` of before, right of same."""
    is_dropped = options.drop_prefix
    if is_dropped is None:
        is_dropped = len(scanned) + len(kept) == 1
    found = []
    before = known or [layout.NO_ADDRESSES] * len(scanned)
    for number, (wiki, last) in enumerate(zip(scanned, before, strict=True)):
        if number in same:
            found.append(last)
            continue
        addresses = layout.assign_addresses(
            "" if is_dropped else layout.wiki_prefix(wiki.source.owner),
            wiki.pages,
            wiki.attachments,
            wiki.beside,
            last,
            wiki.redirects,
            source_extensions(wiki, options),
        )
        found.append(replace(addresses, left_out=wiki.left_out))
        if len(scanned) > 1 and wiki.summary.count:
            wiki.forget()  # but for the summary, until it is read
    return found


def encoded_path(url: str) -> str:
    """An address with its path as it is sent; programs encode a host otherwise."""
    parts = urlsplit(url)
    return parts._replace(path=quote(parts.path, safe=URL_MARKS)).geturl()


def source_extensions(wiki: ScannedWiki, options: SiteOptions) -> Mapping[Slug, str]:
    """The extension of each page's file, where the site has the sources of a wiki."""
    is_open = wiki.source.visibility == "public"
    if not (is_open if options.sources is None else options.sources):
        return {}
    return {
        slug: page.path[len(known[0]) :].lower()
        for slug, page in wiki.pages.items()
        if slug not in wiki.beside and (known := split_extension(page.path))
    }


class SiteFrame:
    """What surrounds the pages of all wikis of a site."""

    def __init__(
        self,
        scanned: Sequence[ScannedWiki],
        addresses: Sequence[layout.WikiAddresses],
        options: SiteOptions,
        theme_fingerprint: str,
        kept: Sequence[PublishedWiki] = (),
        *,
        is_preview: bool = False,
    ) -> None:
        """Take the wikis by their numbers; a preview has no feeds and versions."""
        made = [
            PublishedWiki(**wiki.source.info, prefix=at.prefix, pages=wiki.page_count)
            for wiki, at in zip(scanned, addresses, strict=True)
        ]
        self.published = tuple(
            sorted([*made, *kept], key=lambda wiki: wiki.owner.full_path)
        )
        has_changes = any(wiki.history for wiki in scanned)
        site = site_context(
            self.published, options, theme_fingerprint, has_changes=has_changes
        )
        homes = group_homes(self.published)
        self.nav_limit = options.nav_links_max
        """Links of the navigation on one page."""
        named = theme_fingerprint, site, self.nav_limit
        self.settings_key = hash_of(program_fingerprint(), *named)
        """Hash of what every page of the site depends on."""
        wikis = [
            wiki_context(wiki, homes, one)
            for wiki, one in zip(made, scanned, strict=True)
        ]
        if is_preview:
            site = replace(site, feed_url=None)
            wikis = [replace(one, feed_url=None) for one in wikis]
        self.context, self.contexts = site, wikis
        self.kept_contexts = [wiki_context(wiki, homes) for wiki in kept]
        self.labels = wiki_labels([wiki.source for wiki in scanned])
        """Name of each wiki that no other one of the site has."""
        self.history = 0 if is_preview else options.history
        """How many versions of a page are shown."""


def site_context(
    wikis: Sequence[PublishedWiki],
    options: SiteOptions,
    theme_fingerprint: str,
    *,
    has_changes: bool = False,
) -> contexts.SiteContext:
    """``site`` for the templates; nothing in it changes with a page."""
    named = sorted(map(_reference, wikis), key=lambda one: natural_path(one.full_path))
    return contexts.SiteContext(
        title=options.title,
        url=encoded_path(options.url.rstrip("/")) if options.url else None,
        lang=options.lang,
        dir="rtl" if options.lang.partition("-")[0] in RIGHT_TO_LEFT else "ltr",
        description=options.description,
        wikis=tuple(named),
        built_from=hashlib.sha256(
            (theme_fingerprint + options_text(options)).encode()
        ).hexdigest()[:16],
        generator=f"wikisync {__version__}",
        options=dict(options.theme_options),
        noindex=all(wiki.visibility != "public" for wiki in named),
        home_url=layout.INDEX_PAGE,
        search_url=layout.SEARCH_PAGE,
        tags_url=layout.TAGS_PAGE,
        all_url=layout.ALL_PAGE,
        report_url=layout.REPORT_PAGE if options.has_report else None,
        wanted_url=layout.WANTED_PAGE if options.has_report else None,
        orphans_url=layout.ORPHANS_PAGE if options.has_report else None,
        groups=group_tree(named, group_titles(wikis)),
        changes_url=layout.CHANGES_PAGE if has_changes else None,
        feed_url=layout.feed_path(layout.CHANGES_PAGE) if has_changes else None,
    )


def _reference(wiki: PublishedWiki) -> contexts.WikiRef:
    return contexts.WikiRef(
        title=wiki.title,
        kind=wiki.owner.kind,
        full_path=wiki.owner.full_path,
        url=wiki.prefix + layout.INDEX_PAGE,
        visibility=wiki.visibility,
        description=wiki.description,
    )


def wiki_context(
    wiki: PublishedWiki, homes: Mapping[str, str], scanned: ScannedWiki | None = None
) -> contexts.WikiContext:
    """``wiki`` for the templates; ``homes`` is what ``group_homes`` gives."""
    changes = None
    pages = scanned.summary if scanned and scanned.history else None
    if pages and pages.count:
        changes = layout.wiki_changes_path(wiki.owner, is_only=not wiki.prefix)
    reference = _reference(wiki)
    above = wiki.owner.full_path.split("/")[:-1]
    return contexts.WikiContext(
        **asdict(reference),
        web_url=service_address(wiki) if wiki.web_url else "",
        home=reference.url,
        page_count=wiki.pages,
        all_url=wiki.prefix + layout.ALL_PAGE
        if wiki.apart
        else layout.wiki_list_path(wiki.owner, is_only=not wiki.prefix),
        groups=tuple(
            contexts.PageRef(name, homes.get("/".join(above[: depth + 1])))
            for depth, name in enumerate(above)
        ),
        changed=wiki.changed or iso_time(pages.changed if pages else 0),
        changes_url=changes,
        feed_url=layout.feed_path(changes) if changes else None,
    )


def group_homes(wikis: Iterable[PublishedWiki]) -> dict[str, str]:
    """Path of each group whose own wiki is in the site to that wiki's home."""
    groups = (wiki for wiki in wikis if wiki.owner.kind == "group")
    return {wiki.owner.full_path: wiki.prefix + layout.INDEX_PAGE for wiki in groups}


def wiki_labels(sources: Sequence[WikiSource]) -> list[str]:
    """The title of each wiki, with its path where another one has the same."""
    counts = Counter(source.title for source in sources)
    return [
        one.title if counts[one.title] == 1 else f"{one.title} ({one.owner.full_path})"
        for one in sources
    ]


def is_top(addresses: Sequence[layout.WikiAddresses]) -> bool:
    """Whether the site is one wiki whose pages lie at the top."""
    return len(addresses) == 1 and not addresses[0].prefix


def group_titles(wikis: Iterable[WikiInfo]) -> dict[str, str]:
    """Path of a group to its name, as far as the service told it."""
    titles: dict[str, str] = {}
    for wiki in wikis:
        path = wiki.owner.full_path
        if wiki.owner.kind == "group":
            titles[path] = wiki.title
        elif name := wiki.placeholders.get("group_name"):
            titles.setdefault(path.rpartition("/")[0], name)
    return titles


def common_group(wikis: Iterable[WikiInfo]) -> str:
    """Path of the innermost group that all wikis lie in; empty where there is none."""
    paths = [_group_of(wiki.owner.kind, wiki.owner.full_path) for wiki in wikis]
    return posixpath.commonpath(paths) if paths else ""


def natural_path(path: str) -> tuple[object, ...]:
    """Sort key of a path, by which ``docs/v9`` comes before ``docs/v10``."""
    return tuple(natural_key(part) for part in path.split("/"))


def group_tree(
    wikis: Sequence[contexts.WikiRef], titles: Mapping[str, str]
) -> tuple[contexts.GroupContext, ...]:
    """Wikis below the groups of their paths, both sorted by title.

    The groups that all lie in are left out; what lies directly in the innermost of
    these comes first, in one without title; a group of its own wiki alone is that wiki.
    """
    root = _Group("", "")
    for wiki in wikis:
        root.below(_group_of(wiki.kind, wiki.full_path)).wikis.append(wiki)
    while not root.wikis and len(root.groups) == 1:
        (root,) = root.groups.values()
    tree = root.context(titles)
    direct = contexts.GroupContext(title="", full_path=tree.full_path, wikis=tree.wikis)
    return (direct, *tree.groups) if tree.wikis else tree.groups


def _group_of(kind: str, path: str) -> str:
    return path if kind == "group" else path.rpartition("/")[0]


class _Group:
    def __init__(self, name: str, path: str) -> None:
        self.name, self.path = name, path
        self.wikis: list[contexts.WikiRef] = []
        self.groups: dict[str, _Group] = {}

    def below(self, path: str) -> _Group:
        """The group at a path below this one."""
        group = self
        for name in path.split("/") if path else ():
            full = f"{group.path}/{name}".lstrip("/")
            group = group.groups.setdefault(name, _Group(name, full))
        return group

    def context(self, titles: Mapping[str, str]) -> contexts.GroupContext:
        """The finished group; groups nest at most twenty deep on the service."""
        wikis, groups = list(self.wikis), list[contexts.GroupContext]()
        for group in self.groups.values():
            if group.groups or [wiki.kind for wiki in group.wikis] != ["group"]:
                groups.append(group.context(titles))
            else:
                wikis += group.wikis
        return contexts.GroupContext(
            title=titles.get(self.path, self.name),
            full_path=self.path,
            wikis=tuple(sorted(wikis, key=lambda wiki: natural_key(wiki.title))),
            groups=tuple(sorted(groups, key=lambda group: natural_key(group.title))),
        )
