"""All pages as a book for e-readers: EPUB 3, https://www.w3.org/TR/epub-33/.

The same pages are the same bytes: no file has a time, and their order is fixed.

The sanitiser closes every tag and quotes every value.  So its HTML is XHTML of a book
but for the notation, and attributes and elements that pages may have but books may
not.
"""

from __future__ import annotations

import base64
import posixpath
import re
import uuid
import zipfile
from collections.abc import Mapping, Sequence
from html import escape, unescape
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote_to_bytes

from msgspec import Struct
from msgspec.structs import replace

from wikisync.core.model import digest_of
from wikisync.markup.file_types import file_type
from wikisync.markup.tokens import TAG, VOID, escape_marks
from wikisync.site.book.chapters import Document, quoted_fragment
from wikisync.site.book.one_file import written_whole

if TYPE_CHECKING:
    from wikisync.site.book.chapters import Book, ChapterPlace, FileOfBook


MATHML = "http://www.w3.org/1998/Math/MathML"
SVG = "http://www.w3.org/2000/svg"
_NAMESPACES = {"math": MATHML, "svg": SVG}
_NAMES = {"h7": "h6", "h8": "h6", "big": "span", "font": "span", "strike": "s"}
_NAMES |= {"tt": "code", "center": "div"}
_ATTRIBUTE = re.compile(r"""\s+([a-zA-Z_][\w:.-]*)(?:="([^"]*)")?""")
_TAG_NAME = re.compile(r"</?([a-zA-Z][a-zA-Z0-9-]*)")
_NO_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_IPV6 = re.compile(r"^(\w+://)%5B([\da-fA-F:.]+)%5D")
_URL_SIGNS = "!$%&'()*+,/:;=?@~"
_ALIGNED = frozenset({"left", "right", "center", "justify"})
_GLOBAL = frozenset({"class", "dir", "hidden", "id", "lang", "role", "style", "title"})
_OWN = {
    "a": {"href", "hreflang", "rel", "type"},
    "blockquote": {"cite"},
    "col": {"span"},
    "colgroup": {"span"},
    "del": {"cite", "datetime"},
    "details": {"open"},
    "img": {"alt", "height", "src", "width"},
    "input": {"checked", "disabled", "type", "value"},
    "ins": {"cite", "datetime"},
    "li": {"value"},
    "ol": {"reversed", "start", "type"},
    "q": {"cite"},
    "td": {"colspan", "headers", "rowspan"},
    "th": {"abbr", "colspan", "headers", "rowspan", "scope"},
    "time": {"datetime"},
}
_NUMBERS = frozenset(
    {"colspan", "height", "rowspan", "span", "start", "value", "width"}
)
TEXT = "application/xhtml+xml"
PICTURES = frozenset(
    {"image/gif", "image/jpeg", "image/png", "image/svg+xml", "image/webp"}
)
"""What every reader shows."""
_SVG_TAG = re.compile(rb"<[a-zA-Z][^<>]*>")
_NO_SVG = re.compile(rb'\s(?:name|role)="[^"]*"')
"""Attributes for browsers that drawings of books may not have."""
_FIRST_DAY = (1980, 1, 1, 0, 0, 0)
"""A ZIP file knows none before."""
_CONTAINER = """\
<?xml version="1.0" encoding="UTF-8"?>
<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container">
<rootfiles><rootfile full-path="EPUB/package.opf" \
media-type="application/oebps-package+xml"/></rootfiles>
</container>
"""


class _Item(Struct, frozen=True):
    """A file of the book, as its manifest lists it."""

    name: str
    kind: str
    properties: str = ""


class _Package(Document):
    """The document of ``--epub``: a file for each page, and for each picture."""

    def __init__(self, book: Book, archive: zipfile.ZipFile) -> None:
        super().__init__(book)
        self._archive = archive
        self.items: list[_Item] = []
        self._pictures: dict[str, str] = {}

    def ident(self, path: str, own: str) -> str:  # noqa: ARG002 - of all documents
        """Each page is a file, whose ids are its own."""
        return own.replace(" ", "-")

    def place_link(self, place: ChapterPlace, own: str) -> str:
        """Address of a page's file, or of an id in it."""
        name = page_name(place.number)
        return name + (quoted_fragment(self.ident("", own)) if own else "")

    def picture(self, file: FileOfBook) -> str | None:
        """Address of a picture in the book, if every reader shows its kind."""
        kind = file_type(file.path)
        content = file.read() if kind in PICTURES else None
        return None if content is None else self._picture(content, kind)

    def data_link(self, address: str) -> str:
        """Address of a picture that the page has in itself: a file of the book."""
        head, _, coded = address.removeprefix("data:").partition(",")
        content = unquote_to_bytes(coded)
        if head.endswith(";base64"):
            content = base64.b64decode(content)
        return self._picture(content, head.partition(";")[0])

    def _picture(self, content: bytes, kind: str) -> str:
        if kind == "image/svg+xml":
            content = _SVG_TAG.sub(lambda tag: _NO_SVG.sub(b"", tag[0]), content)
        digest = digest_of(content)
        if digest not in self._pictures:
            suffix = kind.rpartition("/")[2].partition("+")[0]
            name = f"pictures/{len(self._pictures) + 1}.{suffix}"
            self._pictures[digest] = name
            self.put(_Item(name, kind), content)
        return self._pictures[digest]

    def put(self, item: _Item, content: bytes) -> None:
        """Add a file that the manifest lists."""
        self.items.append(item)
        put(self._archive, f"EPUB/{item.name}", content)

    def put_page(
        self, name: str, context: Mapping[str, object], *, own: str = ""
    ) -> None:
        """Add a page, made by the template of pages."""
        full = {"site": self._book.site, **context}
        text = "".join(self._book.theme.stream("epub.xhtml", full, at=name))
        found = [own, "mathml" * ("<math " in text), "svg" * ("<svg " in text)]
        self.put(_Item(name, TEXT, " ".join(filter(None, found))), text.encode())


def put(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    """Add a file without a time; pictures are compressed already."""
    entry = zipfile.ZipInfo(name, _FIRST_DAY)
    is_stored = name == "mimetype" or posixpath.splitext(name)[1] in {".png", ".jpeg"}
    entry.compress_type = zipfile.ZIP_STORED if is_stored else zipfile.ZIP_DEFLATED
    entry.external_attr = 0o644 << 16
    archive.writestr(entry, content)


def page_name(number: int) -> str:
    """The file of a page in the book."""
    return f"page-{number}.xhtml"


def write_epub(book: Book, target: Path) -> None:
    """Write the pages as EPUB; raises ``FolderError`` if it cannot be written."""
    from markupsafe import Markup

    book.start(f"writing {target.name}")
    with written_whole(target) as file, zipfile.ZipFile(file, "w") as archive:
        put(archive, "mimetype", b"application/epub+zip")
        put(archive, "META-INF/container.xml", _CONTAINER.encode())
        package = _Package(book, archive)
        style = "".join(book.theme.stream("book.css", {"site": book.site}, at=""))
        package.put(_Item("book.css", "text/css"), style.encode())
        about = {"parts": book.parts, "changed": book.changed}
        package.put_page("cover.xhtml", {"kind": "cover", **about})
        pages = {
            book.ident(place.path): page_name(place.number)
            for part in book.parts
            for place in part.places
        }
        contents = {"kind": "contents", **about, "pages": pages}
        package.put_page("contents.xhtml", contents, own="nav")
        for part in book.parts:
            for chapter in book.chapters(part, package):
                content = Markup(as_xhtml(chapter.content))  # noqa: S704 - sanitised
                shown = {"kind": "page", "chapter": replace(chapter, content=content)}
                package.put_page(page_name(chapter.number), shown)
        text = _package_file(book, package.items)
        put(archive, "EPUB/package.opf", text.encode())


def _package_file(book: Book, items: Sequence[_Item]) -> str:
    """What the book is, its files, and the order in which they are read."""
    site = book.site
    names = ",".join(place.path for part in book.parts for place in part.places)
    about = site.url or ",".join(part.wiki.full_path for part in book.parts)
    ident = uuid.uuid5(uuid.NAMESPACE_URL, f"{about} {site.title} {names}")
    day = book.changed[:10] or "1980-01-01"
    rows = spine = ""
    for number, item in enumerate(items):
        more = f' properties="{item.properties}"' if item.properties else ""
        about = f'href="{item.name}" media-type="{item.kind}"{more}'
        rows += f'<item id="i{number}" {about}/>\n'
        spine += f'<itemref idref="i{number}"/>\n' * (item.kind == TEXT)
    return f"""\
<?xml version="1.0" encoding="UTF-8"?>
<package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="id">
<metadata xmlns:dc="http://purl.org/dc/elements/1.1/">
<dc:identifier id="id">urn:uuid:{ident}</dc:identifier>
<dc:title>{escape(site.title)}</dc:title>
<dc:language>{escape(site.lang)}</dc:language>
<meta property="dcterms:modified">{day}T00:00:00Z</meta>
</metadata>
<manifest>
{rows}</manifest>
<spine{' page-progression-direction="rtl"' if site.dir == "rtl" else ""}>
{spine}</spine>
</package>
"""


def as_xhtml(html: str) -> str:
    """The same text in the notation of XML."""
    pieces = TAG.split(html)
    texts, tags = pieces[::3], [*pieces[1::3], ""]
    out: list[str] = []
    ids: set[str] = set()
    summaries: list[str] = []
    """What stands for each that is open: it must be the first of its details."""
    foreign: list[str] = []
    """The outermost element of MathML or SVG that is open."""
    for number, (text, tag) in enumerate(zip(texts, tags, strict=True), start=1):
        out.append(_text(text))
        found = _TAG_NAME.match(tag)
        if found is None:
            continue
        name = found[1]
        is_end, is_empty = tag[1] == "/", name in VOID or tag.endswith("/>")
        own = _NAMES.get(name, name)
        if name == "summary":
            if not is_end:
                before = tags[number - 2] if number > 1 and not text.strip() else ""
                summaries.append("summary" if before[1:8] == "details" else "div")
            own = summaries.pop() if is_end else summaries[-1]
        if is_end:
            out.append(f"</{own}>")
        else:
            if name in _NAMESPACES:
                foreign.append(name)
            given = _given(name, tag[found.end() :], ids, is_foreign=bool(foreign))
            out.append(f"<{own}{given}{'/' if is_empty else ''}>")
            has_summary = not texts[number].strip() and tags[number][1:8] == "summary"
            if name == "details" and not has_summary:
                out.append("<summary/>")
        if (is_end or is_empty) and foreign and name == foreign[-1]:
            foreign.pop()
    return "".join(out)


def _text(text: str) -> str:
    return escape_marks(_NO_XML.sub("", unescape(text)))


def _given(name: str, rest: str, ids: set[str], *, is_foreign: bool) -> str:
    given = {key: unescape(value) for key, value in _ATTRIBUTE.findall(rest)}
    if not is_foreign:
        given = _kept(name, given)
    elif name in _NAMESPACES:
        given["xmlns"] = _NAMESPACES[name]
    if given.get("id") in ids:  # a browser takes the first one
        del given["id"]
    ids |= {given["id"]} if "id" in given else set()
    return "".join(f' {key}="{_text(value)}"' for key, value in given.items())


def _kept(name: str, given: dict[str, str]) -> dict[str, str]:
    """The attributes that an element of a book may have."""
    kept = {
        key: value
        for key, value in given.items()
        if (key in _GLOBAL or key in _OWN.get(name, ()) or key.startswith("aria-"))
        and (key not in _NUMBERS or value.isdecimal())
    }
    align = given.get("align", "").lower()
    if align in _ALIGNED and name != "img":
        style = kept.get("style", "")
        kept["style"] = f"{style.rstrip('; ')}; text-align: {align}".lstrip("; ")
    if name == "a" and "name" in given:
        kept.setdefault("id", given["name"])
    if name == "img":
        kept.setdefault("alt", "")
    if "href" in kept:  # a browser takes any sign, a reader of books what RFC 3986 has
        parts = kept["href"].split("#", 1)
        kept["href"] = "#".join([quote(part, safe=_URL_SIGNS) for part in parts])
        kept["href"] = _IPV6.sub(r"\1[\2]", kept["href"])
    return {
        key: value for key, value in kept.items() if value or key not in {"id", "lang"}
    }
