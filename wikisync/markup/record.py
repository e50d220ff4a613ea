"""What comes out of the markup pipeline, as values that can be stored.  Pure.

``ParsedPage`` is phase A (everything that depends on the page alone) and is
meant for a cache: ``msgspec.json.encode`` it, keyed by the content's digest,
the options and ``PARSED_VERSION``.  ``RenderedPage`` is phase B: links resolved.
"""

from collections.abc import Mapping
from typing import Literal

import msgspec

from wikisync.core.model import AttachmentPath, Format, Problem, Slug
from wikisync.errors import Breach

PARSED_VERSION = 13
"""Raise it when the same page and options give another ``ParsedPage``."""

LinkKind = Literal["page", "attachment", "external", "fragment", "none"]
MathOutput = Literal["mathml", "source"]
MarkdownEngine = Literal["auto", "markdown-it", "comrak"]
AsciidocEngine = Literal["auto", "quickjs", "mini-racer", "asciidoc3"]


class MarkupOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What a site decides about rendering; part of the cache key."""

    math: MathOutput = "mathml"
    """MathML, or the TeX source of every formula."""
    engine: MarkdownEngine = "auto"
    """What parses markdown; ``auto`` is comrak where it is installed."""
    asciidoc_engine: AsciidocEngine = "auto"
    highlight: bool = True
    emoji: bool = True
    anchors: bool = True
    """Whether each heading gets a link to itself."""
    kroki: str = ""
    """Address of a server that draws diagrams, which the caller's include asks."""
    placeholders: Mapping[str, str] | None = None
    """What ``%{project_path}`` and the like stand for; None: they stay as written."""
    source_bytes_max: int = 1024 * 1024
    """Larger pages are shown as escaped source with a notice."""
    html_chars_max: int = 16 * 1024 * 1024
    """A parser that gives more than this has been tricked; source is shown."""
    table_cells_max: int = 100_000


class TocEntry(msgspec.Struct, frozen=True):
    """One heading of the page."""

    level: int
    id: str
    text: str


class Section(msgspec.Struct, frozen=True):
    """A heading with the plain text under it, up to the next heading.

    Before the first heading both are empty; one space is between two words.
    """

    id: str
    heading: str
    text: str


class LinkRef(msgspec.Struct, frozen=True):
    """A gap in the page's HTML that waits for an answer of the link index."""

    kind: Literal["link", "wikilink", "picture", "reference", "address"]
    """``link`` stands for a start tag, the others for a whole element; the text of
    ``address`` is its address."""
    href: str
    attributes: str = ""
    """The element's other attributes as HTML, with a leading space, or empty."""
    inner: str = ""
    """HTML inside a wiki link or reference; a picture's alternative text as it is."""
    is_in_link: bool = False
    """A picture inside a link is not wrapped in a link to itself."""


class LinkResult(msgspec.Struct, frozen=True):
    """What became of one link, picture, video or sound of a page."""

    href: str
    """As the page wrote it."""
    kind: LinkKind
    target: str
    """Slug, attachment path or URL; for a broken link what it names."""
    fragment: str = ""
    """Without ``#``, decoded."""
    is_broken: bool = False
    reason: str = ""
    """Kebab-case word: ``no-page``, ``no-file``, ``no-attachment``, ``no-heading``,
    ``no-id``, ``project-upload``, ``outside-wiki``, ``unsafe-scheme``; empty if not
    broken."""
    line: int = 0
    """Of a broken one, line of the page's source, from 1; 0 where it is not known."""


class ParsedPage(msgspec.Struct, frozen=True, kw_only=True):
    """Phase A of a page: safe HTML in pieces, with the links still open."""

    slug: Slug
    format: Format
    title: str
    """Of the front matter, an opening first-level heading, the service, or the slug."""
    parts: tuple[str, ...]
    """HTML around the links: always one more than ``refs``."""
    refs: tuple[LinkRef, ...] = ()
    toc: tuple[TocEntry, ...] = ()
    ids: frozenset[str] = frozenset()
    """Every id that a fragment can name: headings, anchors, footnotes."""
    sections: tuple[Section, ...] = ()
    meta: Mapping[str, object] = {}
    """Front matter: strings, numbers, booleans and lists of them."""
    features: frozenset[str] = frozenset()
    """Of: code, diagram, math, mermaid, plantuml, kroki, table, task, footnote,
    media."""
    problems: tuple[Problem, ...] = ()
    is_source: bool = False
    """Shown as escaped source because it could not be rendered."""
    breach: Breach | None = None
    """The limit that it went over: another attempt may render it."""


class RenderedPage(msgspec.Struct, frozen=True, kw_only=True):
    """A page ready for a theme."""

    html: str
    title: str
    toc: tuple[TocEntry, ...] = ()
    links: tuple[LinkResult, ...] = ()
    attachments: tuple[AttachmentPath, ...] = ()
    """Attachments that the page shows or links, each once, in order."""
    meta: Mapping[str, object] = {}
    features: frozenset[str] = frozenset()
    problems: tuple[Problem, ...] = ()


def position_of(slug: str, line: int) -> str:
    """How messages name a line of a page: ``slug:line``, or the slug alone."""
    return f"{slug}:{line}" if line else slug
