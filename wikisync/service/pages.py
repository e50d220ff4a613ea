"""Pages as the API shows them: bytes of a file to the JSON of a page."""

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from wikisync.markup.frontmatter import split_front_matter
from wikisync.service.repository import WikiRepository
from wikisync.service.settings import MIB
from wikisync.service.tree import PageFile

_ENCODER = msgspec.json.Encoder()
_SNIFF_BYTES = 8000
PART_BYTES = MIB
"""Of a list; larger lists are sent in several parts."""


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


def encode_list(pages: Sequence[PageFile]) -> bytes:
    """The JSON list of pages without their texts."""
    return _ENCODER.encode(
        [ListedPage(format=p.format, slug=p.slug, title=p.title) for p in pages]
    )


def full_list(
    repository: WikiRepository, pages: Sequence[PageFile], shown_bytes_max: int
) -> Iterator[bytes]:
    """The JSON list of pages with their texts, in parts, so that it takes no memory."""
    out = bytearray(b"[")
    for at, page in enumerate(pages):
        if len(out) >= PART_BYTES and at:
            yield bytes(out)
            out.clear()
        content = repository.read(page.blob)
        out += b"," if at else b""
        out += _ENCODER.encode(shown_page(page, content, shown_bytes_max))
    yield bytes(out + b"]")


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
    """A file's text and its encoding: windows-1252 for what is not UTF-8."""
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
