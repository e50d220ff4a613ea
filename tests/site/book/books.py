"""What tests of books speak: a wiki in one file, and a look into an EPUB."""

import posixpath
import zipfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree

from tests.site.sites import Studio
from wikisync.site.book.writing import with_books
from wikisync.site.model import BookFormat, BookRequest, BuildReport

UPLOAD = "uploads/" + "0123456789abcdef" * 2
WIKI = f"""\
-- home.md --
# Welcome

See [the start](guide/start#steps), [here](#welcome), ![map]({UPLOAD}/map.png),
![far](https://pictures.example.com/p.png) and [notes]({UPLOAD}/notes.txt).

## Twice
-- guide.md --
The guide[^1] is x^2: $`x^2`$ & more<br>
<h7>small</h7>
<table align="center" border="1"><tr><td align="right">1</td></tr></table>

[^1]: A note.
-- guide/start.md --
# Start

## Steps

Back [home](/home#twice). [Gone](nowhere), [gone](/home#nowhere).

```python
def run() -> None: ...
```

## Twice
-- guide/zoo.asciidoc --
= Zoo

NOTE: Mind the gap.
-- {UPLOAD}/map.png --
picture
-- {UPLOAD}/notes.txt --
words
"""
OPF = "{http://www.idpf.org/2007/opf}"


def write(
    studio: Studio, kind: BookFormat, only: str = "", name: str = "book"
) -> tuple[Path, BuildReport]:
    """The wikis of a studio in one file."""
    target = studio.root / f"{name}.{kind}"
    request = BookRequest(((kind, target),), only)
    cache = studio.root / "cache"
    report = with_books(None, studio.sources, request, studio.options, cache=cache)
    return target, report


def problems_of_epub(path: Path) -> list[str]:
    """What is wrong with the package: its files, its ids, its links."""
    return list(_problems(zipfile.ZipFile(path)))


def _problems(archive: zipfile.ZipFile) -> Iterator[str]:
    first = archive.infolist()[0]
    if (first.filename, first.compress_type) != ("mimetype", zipfile.ZIP_STORED):
        yield "the mimetype is not first, or compressed"
    names = archive.namelist()
    package = ElementTree.fromstring(archive.read("EPUB/package.opf"))
    items = {
        item.attrib["id"]: f"EPUB/{item.attrib['href']}"
        for item in package.iter(f"{OPF}item")
    }
    listed = {"mimetype", "META-INF/container.xml", "EPUB/package.opf", *items.values()}
    yield from (f"{name}: in one of list and archive" for name in listed ^ set(names))
    if len(names) != len(set(names)):
        yield "two files of one name"
    pages = {
        name: list(ElementTree.fromstring(archive.read(name)).iter())
        for name in names
        if name.endswith(".xhtml")
    }
    spine = [items[ref.attrib["idref"]] for ref in package.iter(f"{OPF}itemref")]
    if sorted(spine) != sorted(pages):
        yield "the spine has not each page once"
    ids = {
        name: [one.attrib["id"] for one in elements if "id" in one.attrib]
        for name, elements in pages.items()
    }
    for name, elements in pages.items():
        if len(ids[name]) != len(set(ids[name])):
            yield f"{name}: an id twice"
        for element in elements:
            for link in filter(None, map(element.attrib.get, ("href", "src"))):
                way, _, fragment = link.partition("#")
                if ":" in way:
                    continue
                found = posixpath.join("EPUB", unquote(way)) if way else name
                if found not in names:
                    yield f"{name}: {link} leads nowhere"
                elif fragment and unquote(fragment) not in ids[found]:
                    yield f"{name}: {link} has no such id"
