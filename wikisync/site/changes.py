"""What changed last in the wikis of a site: lists and Atom feeds (RFC 4287)."""

import re
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from html import escape
from itertools import groupby

from wikisync.core.model import Slug
from wikisync.core.versions import Version, Versions, iso_time
from wikisync.site.addresses import FOOTER, SIDEBAR, absolute_url, relative_url
from wikisync.site.context import ListingItem
from wikisync.site.history import line_counts
from wikisync.site.navigation import folder_title
from wikisync.site.pages import WikiPages
from wikisync.site.sources import is_template
from wikisync.site.titles import TITLE_CHARS_MAX, display_title, shortened

CHANGES_MAX = 100
"""Of a list or feed."""
NEWEST_MAX = 8
"""On the landing page."""
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def changed_pages(
    wiki: WikiPages, translate: Callable[[str], str]
) -> Iterator[ListingItem]:
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
        yield ListingItem(
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


def newest(items: Iterable[ListingItem]) -> list[ListingItem]:
    """The last changes of several wikis."""
    return sorted(items, key=lambda one: one.changed or "", reverse=True)[:CHANGES_MAX]


def atom_feed(
    title: str, items: Sequence[ListingItem], *, at: str, page: str, base: str | None
) -> str:
    """A feed of changes, the newest first; ``base`` is the site's URL, if known."""

    def link(path: str) -> str:
        return escape(absolute_url(base, path) if base else relative_url(at, path))

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
    is_beside = slug.rpartition("/")[2] in {SIDEBAR, FOOTER}
    return not (is_beside or is_template(slug) or slug in left_out)


def _title(slug: str) -> str:
    title = display_title(folder_title(slug), Slug(slug))
    return shortened(title, TITLE_CHARS_MAX)
