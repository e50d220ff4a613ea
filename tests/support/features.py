"""The features of the service's markdown documentation, as cases with verdicts.

``tests/markup/cases/features.toml`` holds them; the tests check each case with both
engines, and ``tools/features.py`` writes the table of ``docs/markup.md`` from them.
"""

import re
import tomllib
from html.parser import HTMLParser
from typing import Literal

import msgspec

from tests.support.markup import CASES, VOID, PlainUrls
from wikisync.core.model import AttachmentPath, Format, Page, Slug
from wikisync.markup.diagrams import wanted_drawing
from wikisync.markup.links import LinkIndex
from wikisync.markup.page import parse_page
from wikisync.markup.record import MarkdownEngine, MarkupOptions
from wikisync.markup.resolve import finish_page

WIKI = "https://gitlab.example.com/docs/handbook/-/wikis"
PAGES = ("home", "setup", "my-page", "guide/install")
ATTACHMENTS = ("uploads/1/a.png", "uploads/1/film.mp4", "uploads/1/talk.mp3")
PLACEHOLDERS = {"project_path": "docs/handbook"}
INCLUDED = {"setup.md": "Included *text*.\n"}
KROKI = "https://kroki.example.com"
DRAWING = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 40 20"/>'

SEEN_ATTRIBUTES = frozenset(
    [
        *("align", "alt", "checked", "colspan", "dir", "height", "href", "open"),
        *("rowspan", "src", "start", "type", "width"),
    ]
)
SEEN_CLASSES = re.compile(
    r"markdown-alert(?:-\w+)?|addition|deletion|emoji|float-\w+|inapplicable|math"
    r"|missing-media|broken-link|mermaid|plantuml|kroki|diagram|colour-chip"
)
"""Classes that say what something is; the others only say how a theme shows it."""
PLAIN = frozenset({"span", "div", "section", "tbody"})
"""Elements that say nothing unless one of those classes does."""


class Case(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A source, and what its reader sees."""

    source: str
    service: str
    """What the service shows, as ``seen`` writes it; addresses of pages and files
    are those of the site."""
    here: str | None = None
    """What is shown here; None: the same."""
    format: Format = Format.MARKDOWN


class Feature(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One row of the table."""

    name: str
    verdict: Literal["same", "different", "missing"]
    """``different`` is deliberate, ``missing`` is not done yet."""
    case: list[Case]
    reason: str = ""
    """For ``different`` why; for ``missing`` what is shown instead."""


class Features(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole file."""

    feature: list[Feature]


def read_features() -> list[Feature]:
    """All features, in the order of the file."""
    text = (CASES / "features.toml").read_text("utf-8")
    return msgspec.convert(tomllib.loads(text), Features).feature


def shown(case: Case, engine: MarkdownEngine) -> str:
    """What a reader sees of a case's page, in the final stage."""
    parsed = parse_page(
        Page(Slug("home"), case.format, case.source),
        MarkupOptions(engine=engine, placeholders=PLACEHOLDERS, kroki=KROKI),
        include=included,
    )
    index = LinkIndex(map(Slug, PAGES), map(AttachmentPath, ATTACHMENTS), web_url=WIKI)
    return seen(finish_page(parsed, index, PlainUrls()).html)


def included(target: str) -> str | None:
    """What the wiki has for an include, and what a server would draw."""
    return DRAWING if wanted_drawing(target) else INCLUDED.get(target)


def seen(html: str) -> str:
    """HTML without what its reader does not see: ids, roles, colours of code."""
    reader = SeenReader()
    reader.feed(html)
    reader.close()
    return reader.text()


class SeenReader(HTMLParser):
    """Writes elements and attributes that a reader sees, each block on a line."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.out: list[str] = []
        self.open: list[bool] = []
        """Whether the start tag of each open element was written."""
        self.skipped = 0
        """How many open elements hold something that is not seen."""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        classes = attributes.get("class", "").split()
        if self.skipped or "anchor" in classes:
            self.skipped += tag not in VOID
            return
        kept = {
            k: "(a drawing)" if v.startswith("data:image/svg+xml") else v
            for k, v in attributes.items()
            if k in SEEN_ATTRIBUTES
        }
        if re.fullmatch(r"h[1-6]", tag) and "id" in attributes:
            kept["id"] = attributes["id"]  # part of the heading's address
        named = [word for word in classes if SEEN_CLASSES.fullmatch(word)]
        if align := re.search(r"text-align: (\w+)", attributes.get("style", "")):
            kept["align"] = align[1]
        if named:
            kept["class"] = " ".join(sorted(named))
        is_written = bool(named) or tag not in PLAIN
        if is_written:
            words = "".join(f' {k}="{v}"' for k, v in sorted(kept.items()))
            self.out.append(f"<{tag}{words}>")
        if tag not in VOID:
            self.open.append(is_written)

    def handle_endtag(self, tag: str) -> None:
        if tag in VOID:
            return
        if self.skipped:
            self.skipped -= 1
        elif self.open and self.open.pop():
            self.out.append(f"</{tag}>")

    def handle_data(self, data: str) -> None:
        if not self.skipped:
            self.out.append(data)

    def text(self) -> str:
        """All of it; outside of code a run of spaces is one, and none is at a block."""
        parts = re.split(r"(<pre.*?</pre>)", "".join(self.out), flags=re.DOTALL)
        parts[::2] = [re.sub(r"\s+", " ", part) for part in parts[::2]]
        joined = re.sub(rf" ?(</?(?:{BLOCKS})\b[^>]*>) ?", r"\1", "".join(parts))
        return joined.strip()


BLOCKS = (
    "p|h[1-6]|ul|ol|li|dl|dt|dd|blockquote|pre|table|thead|tr|th|td|hr|div|details"
    "|summary|br|caption"
)
