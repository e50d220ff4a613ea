"""Phase B of a page: its links resolved, and what must stay the same for that.  Pure.

It is done where the page was parsed, or by the build for a page that names headings of
other pages, other wikis or files beside the pages.
"""

import hashlib
from collections.abc import Callable, Mapping
from functools import cache
from typing import NamedTuple

import msgspec

from wikisync.core.model import Slug
from wikisync.markup.record import ParsedPage
from wikisync.markup.resolve import finish_page
from wikisync.site.crosslinks import PageUrls, SiteLinks, WikiTable
from wikisync.site.facts import BrokenRef, FinishedFacts, PageView

Ids = Callable[[Slug], bytes]
"""Hash of the ids of a page; empty where they are not known."""


class Finished(NamedTuple):
    """A page whose links are resolved."""

    facts: FinishedFacts
    view: bytes
    """Its packed ``PageView``."""


def finished(
    parsed: ParsedPage,
    links: SiteLinks,
    table: WikiTable,
    ids: Ids,
    site: bytes,
    source: Callable[[], str],
) -> Finished:
    """A page with its links resolved; ``source`` gives its text if one is broken."""
    number = links.number
    own = table.addresses[number].pages
    crossings = links.crossings
    links.asked.clear()
    urls = PageUrls(own[parsed.slug], number, table)
    page = finish_page(parsed, links, urls, source)
    view = msgspec.msgpack.encode(
        PageView(page.html, page.toc, tuple(sorted(page.features)), dict(page.meta))
    )
    named = {
        link.target: ids(Slug(link.target))
        for link in page.links
        if link.kind == "page" and link.fragment and link.target in own
    }
    by_id = [ref.href for ref in parsed.refs if ref.href.startswith("id:")]
    named |= {href: ids(Slug(href)) for href in by_id}
    targets = dict.fromkeys(
        link.target
        for link in page.links
        if link.kind == "page" and link.reason in {"", "no-heading"}
    )
    asked = [path for path in links.asked if path not in targets]
    facts = FinishedFacts(
        view_digest=hashlib.sha256(view).digest(),
        targets=tuple(targets),
        broken=tuple(
            BrokenRef(link.href, link.reason, link.target, link.line)
            for link in page.links
            if link.is_broken
        ),
        attachments=tuple(page.attachments),
        needs=tuple(sorted(named.items())),
        asked=tuple(asked),
        answers=table.answers(number, targets, asked),
        site=site if links.crossings > crossings else b"",
        names_files=any(path.startswith("/") for path in asked),
    )
    return Finished(facts, view)


def ids_of(headings: Mapping[Slug, frozenset[str]], links: SiteLinks) -> Ids:
    """Hashes of the ids of pages, each made when it is asked for.

    Of ``id:name``, an address of Org, it is the name of the page that has it.
    """

    @cache
    def digest(slug: Slug) -> bytes:
        if slug.startswith("id:"):
            return (links.page_of_id(slug) or "").encode("utf-8", "surrogatepass")
        if slug not in headings:
            return b""
        listed = "\0".join(sorted(headings[slug]))
        return hashlib.sha256(listed.encode("utf-8", "surrogatepass")).digest()

    return digest


def has_same_ids(facts: FinishedFacts, ids: Ids) -> bool:
    """Whether the pages whose headings a page names have the same ones."""
    return not facts.needs or all(
        ids(Slug(slug)) == digest for slug, digest in facts.needs
    )
