"""What a site has for programs: lists of its pages, and their texts in one.  Pure.

``-/pages.json`` lists all pages, ``llms.txt`` those whose source the site has, and
``llms-full.txt`` has the texts of as many of these as fit.
"""

from collections.abc import Callable, Iterable
from itertools import chain

import msgspec
from msgspec import Struct

from wikisync.core.decoding import msgpack_decoder
from wikisync.core.model import Digest
from wikisync.core.versions import iso_time
from wikisync.site.addresses import LLMS, WikiAddresses, absolute_url, quoted
from wikisync.site.context import SiteContext
from wikisync.site.manifest import FileState
from wikisync.site.search import DocumentKey
from wikisync.site.search_words import json_bytes
from wikisync.site.sources import ScannedWiki

FULL_BYTES_MAX = 1024 * 1024


class ListedPage(Struct, frozen=True, array_like=True):
    """One page whose source the site has."""

    wiki: str
    title: str
    source: str
    """Address of its source."""
    source_path: str


class ListedWiki(Struct, frozen=True, array_like=True):
    """The pages of one wiki."""

    shown: bytes
    """As ``-/pages.json`` has them."""
    listed: bytes
    """Packed, those whose source the site has."""


_LISTED = msgpack_decoder(list[ListedPage])


def listed_pages(
    site: SiteContext,
    scanned: ScannedWiki,
    addresses: WikiAddresses,
    documents: Iterable[DocumentKey],
) -> ListedWiki:
    """The pages of one wiki."""
    every, listed = list[bytes](), list[ListedPage]()
    slugs = {path: slug for slug, path in addresses.pages.items()}
    wiki = scanned.source.owner.full_path
    for one in documents:
        slug = slugs[one.url]
        path = addresses.sources.get(slug, "")
        source = address(site, path) if path else ""
        changed = iso_time(scanned.pages[slug].dates.changed)
        shown: dict[str, object] = {"wiki": wiki, "slug": slug, "title": one.title}
        shown["url"] = address(site, one.url)
        rest = ("source", source), ("tags", one.tags), ("changed", changed)
        shown |= {name: value for name, value in rest if value}
        every.append(json_bytes(shown))
        if source:
            listed.append(ListedPage(wiki, one.title, source, path))
    return ListedWiki(b",".join(every), msgspec.msgpack.encode(listed))


def address(site: SiteContext, path: str) -> str:
    """Of a file: whole where the site's is known, else from the top of the site."""
    return absolute_url(site.url, path) if site.url else quoted(path)


def pages_json(site: SiteContext, wikis: Iterable[ListedWiki]) -> bytes:
    """What ``-/pages.json`` holds."""
    head = json_bytes({"title": site.title}).removesuffix(b"}")
    pages = b",".join(one.shown for one in wikis if one.shown)
    return head + b',"pages":[' + pages + b"]}\n"


def llms_text(site: SiteContext, wikis: Iterable[ListedWiki]) -> bytes:
    """``llms.txt``: the pages whose source the site has, by wiki."""
    lines = [f"# {one_line(site.title)}", ""]
    if site.description:
        lines += [f"> {one_line(site.description)}", ""]
    titles = {wiki.full_path: wiki.title for wiki in site.wikis}
    wiki = None
    for page in chain.from_iterable(_LISTED.decode(one.listed) for one in wikis):
        if page.wiki != wiki:
            wiki = page.wiki
            title = one_line(titles.get(wiki, wiki))
            lines += ["", f"## {title}", ""] if lines[-1] else [f"## {title}", ""]
        name = one_line(page.title).replace("[", "(").replace("]", ")")
        lines.append(f"- [{name}]({page.source})")
    return "\n".join([*lines, ""]).encode("utf-8", "replace")


def llms_full_text(
    site: SiteContext, wikis: Iterable[ListedWiki], read: Callable[[str], bytes]
) -> bytes:
    """``llms-full.txt``: whole pages until it is full."""
    parts: list[bytes] = []
    size = 0
    listed = [page for one in wikis for page in _LISTED.decode(one.listed)]
    for number, page in enumerate(listed):
        text = read(page.source_path)
        size += len(text)
        if size > FULL_BYTES_MAX:
            rest = f"{len(listed) - number} more pages: {address(site, LLMS)}\n"
            parts.append(rest.encode())
            break
        head = f"# {one_line(page.title)}\n\nSource: {page.source}\n\n"
        parts.append(head.encode("utf-8", "replace") + text.rstrip() + b"\n\n")
    return b"".join(parts)


def full_texts(states: Iterable[FileState | None]) -> list[Digest | None]:
    """The texts that ``llms-full.txt`` follows from, up to that which fills it."""
    found, size = list[Digest | None](), 0
    for state in states:
        found.append(state.digest if state else None)
        size += state.size if state else 0
        if size > FULL_BYTES_MAX:
            break
    return found


def one_line(text: str) -> str:
    """A text without line ends."""
    return " ".join(text.split())
