"""Pages as the API shows them: bytes of a file to the JSON of a page.

The cache holds encoded pages by path and blob id, which together decide every
byte of them, so it is never stale; it forgets the least recently listed.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from wikisync.markup.frontmatter import split_front_matter
from wikisync.service.repository import WikiRepository
from wikisync.service.tree import PageFile

_ENCODER = msgspec.json.Encoder()
_SNIFF_BYTES = 8000


class ListedPage(msgspec.Struct, frozen=True, kw_only=True):
    """A page in a list; key order as the real service's."""

    format: str
    slug: str
    title: str


class ShownPage(ListedPage, frozen=True, kw_only=True):
    """A page with its text."""

    content: str
    encoding: str
    front_matter: Mapping[str, object]


class PageCache:
    """Encoded pages, up to a number of bytes in all."""

    def __init__(self, bytes_max: int) -> None:
        self.bytes_max = bytes_max
        self.size = 0
        """Bytes held now."""
        self._held: OrderedDict[tuple[str, bytes], bytes] = OrderedDict()
        self._lock = threading.Lock()

    def find(self, pages: Sequence[PageFile]) -> list[bytes | None]:
        """What is held of each page."""
        with self._lock:
            held, found = self._held, []
            for page in pages:
                key = (page.path, page.blob)
                encoded = held.get(key)
                if encoded is not None:
                    held.move_to_end(key)
                found.append(encoded)
            return found

    def keep(self, pages: Iterable[tuple[PageFile, bytes]]) -> None:
        """Remember encoded pages, at the cost of those not asked for in a while."""
        with self._lock:
            for page, encoded in pages:
                key = (page.path, page.blob)
                self.size += len(encoded) - len(self._held.pop(key, b""))
                self._held[key] = encoded
            while self.size > self.bytes_max and self._held:
                self.size -= len(self._held.popitem(last=False)[1])


def encode_list(pages: Sequence[PageFile]) -> bytes:
    """The JSON list of pages without their texts."""
    return _ENCODER.encode(
        [ListedPage(format=p.format, slug=p.slug, title=p.title) for p in pages]
    )


def encode_full_list(
    repository: WikiRepository,
    pages: Sequence[PageFile],
    cache: PageCache,
    shown_bytes_max: int,
) -> bytes:
    """The JSON list of pages with their texts."""
    found = cache.find(pages)
    absent = [at for at, encoded in enumerate(found) if encoded is None]
    contents = repository.read_many([pages[at].blob for at in absent])
    encode = _ENCODER.encode
    fresh: list[tuple[PageFile, bytes]] = []
    for at, content in zip(absent, contents, strict=True):
        found[at] = encoded = encode(shown_page(pages[at], content, shown_bytes_max))
        fresh.append((pages[at], encoded))
    cache.keep(fresh)
    return b"[" + b",".join(part for part in found if part is not None) + b"]"


def shown_page(page: PageFile, content: bytes, shown_bytes_max: int) -> ShownPage:
    """A page with its text, cut where the service cuts it."""
    text, encoding = decode_text(content, shown_bytes_max)
    return ShownPage(
        format=page.format,
        slug=page.slug,
        title=page.title,
        content=text,
        encoding=encoding,
        front_matter=front_matter_of(text),
    )


def decode_text(content: bytes, bytes_max: int) -> tuple[str, str]:
    """A file's text and the name of its encoding.

    Text in another encoding is shown as if it were windows-1252, which the real
    service's detection mostly finds too; binary data keeps what can be read.
    """
    try:
        if len(content) <= bytes_max:
            return content.decode(), "UTF-8"
        cut = content[:bytes_max]
        content.decode()
        return cut.decode("utf-8", "ignore"), "UTF-8"
    except UnicodeDecodeError:
        cut = content[:bytes_max]
    if b"\0" in content[:_SNIFF_BYTES]:
        return cut.decode("utf-8", "replace"), "ASCII-8BIT"
    try:
        return cut.decode("cp1252"), "UTF-8"
    except UnicodeDecodeError:
        return cut.decode("latin-1"), "UTF-8"


def front_matter_of(text: str) -> Mapping[str, object]:
    """The mapping in front of a text, empty when there is none."""
    head = text[:_SNIFF_BYTES]
    if not any(mark in head for mark in ("---", "+++", ";;;")):
        return {}
    return split_front_matter(text.replace("\r\n", "\n")).meta
