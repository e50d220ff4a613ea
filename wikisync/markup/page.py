"""The pipeline from a page's text to safe HTML, the same for every format.

Phase A, ``parse_pages``, depends on the page, the options and what it includes: front
matter, the format's ``to_html``, whose HTML nobody trusts, the sanitiser, and one pass
of ordered filters over the tokens of the safe HTML.  Phase B, ``finish_page``, asks the
link index what each link means: a renamed page needs phase B of its neighbours, not
phase A.  Whatever a page holds, both give a page: what cannot be rendered is shown as
escaped source with a notice, and is a ``Problem``.
"""

import importlib
import re
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from html import unescape
from itertools import islice
from types import ModuleType
from typing import NamedTuple

from wikisync.core.model import Format, Page, Problem
from wikisync.errors import LimitExceeded, RenderError
from wikisync.markup import nesting
from wikisync.markup.context import Include, ParseContext, include_nothing
from wikisync.markup.filters import blocks, links
from wikisync.markup.filters import text as texts
from wikisync.markup.filters.code import filter_code
from wikisync.markup.filters.headings import filter_heading_links, filter_headings
from wikisync.markup.filters.math import filter_math
from wikisync.markup.frontmatter import (
    FrontMatter,
    front_matter_problems,
    split_front_matter,
    tags_of,
)
from wikisync.markup.record import MarkupOptions, ParsedPage, position_of
from wikisync.markup.sanitize import DOCUMENT_TAGS, sanitize_tokens
from wikisync.markup.source import (
    TOO_MUCH_MEMORY,
    clean_source,
    shown_as_source,
    title_of,
)
from wikisync.markup.tokens import Document, Draft, escape

PARSERS: Mapping[Format, str] = {
    Format.MARKDOWN: "wikisync.markup.markdown",
    Format.RDOC: "wikisync.markup.rdoc.blocks",
    Format.ASCIIDOC: "wikisync.markup.asciidoc.document",
    Format.ORG: "wikisync.markup.org.document",
    Format.REST: "wikisync.markup.rst",
    Format.PLAINTEXT: "wikisync.markup.source",
}
"""Module of each format's ``to_html``, loaded for its first page."""
NOT_RENDERED = (
    "<p><em>This page is written in a format that is not rendered; this is its source."
    "</em></p>\n"
)
"""Of Textile, Creole, MediaWiki and POD, which only get into a wiki through git."""

RAW = re.compile(r"<([A-Za-z][^\s/>]*)")
"""Tags that a source may have of its own."""
ENDED = re.compile(r"</([A-Za-z][^\s/>]*)")
TAG = re.compile(r"<([A-Za-z][^\s/>]*)[^<>]*>")
MEDIA = re.compile(r"<(?:video|audio)\b", re.IGNORECASE)
NOT_SHOWN = frozenset(
    [
        *("video", "audio", "script", "style", "iframe", "object", "embed", "svg"),
        *("math", "canvas", "area", "frame", "applet"),
    ]
)
WITHOUT_END = frozenset(
    [
        *("!doctype", "html", "head", "body", "meta", "link", "base", "basefont"),
        *("font", "center", "article", "aside", "nav", "header", "footer", "main"),
        *("address", "big", "u", "button", "form", "label", "legend", "option"),
        *("select", "textarea", "picture", "source", "track", "param", "map", "nobr"),
        *("col", "colgroup", "hgroup", "optgroup", "fieldset", "input", "dialog"),
        *("menu", "noscript", "title", "template", "blink", "marquee", "acronym"),
    ]
)
"""Elements whose text is all that they are, and whose end tag may be missing."""
HARMLESS = DOCUMENT_TAGS | WITHOUT_END
DROPPED_REPORTED_MAX = 20
"""Of one page; each costs a search through its text."""
NO_ELEMENT = "is no element of HTML and is not shown"
UNREAD = re.compile(r'<pre data-meta="unread"><code>(.*)')
NOT_READ = "is not carried out, so its source is shown"
NO_COMMENT_END = "has no end: all behind it is hidden"
MEDIA_HINT = "write it like a picture: ![name](file)"
HINTS = {
    NO_ELEMENT: "write &lt; for its sign, or set it in code",
    NO_COMMENT_END: "end it with -->",
    nesting.NOT_ENDED: "close its quotes, and end it with >",
    nesting.TOO_DEEP: "close the elements that are open around it",
    nesting.TOO_MANY_OPEN: "close the elements that are open around it",
}
Filter = Callable[[Draft], None]
FILTERS: tuple[Filter, ...] = (
    blocks.filter_tables,
    filter_headings,
    filter_heading_links,
    texts.filter_placeholders,
    blocks.filter_toc,
    links.filter_picture_sizes,
    links.filter_plain,
    blocks.filter_footnotes,
    blocks.filter_tasks,
    filter_code,
    filter_math,
    texts.filter_colours,
    texts.filter_emoji,
    texts.filter_inline_diff,
    blocks.filter_direction,
    links.filter_references,
    links.filter_links,
    texts.filter_escapes,
    blocks.strike_tasks,
)
"""In this order: ids before whatever names them, plain text before texts change,
links last so that no filter sees half of one."""
MARKDOWN_FILTERS = frozenset(
    {
        links.filter_picture_sizes,
        texts.filter_colours,
        texts.filter_emoji,
        texts.filter_inline_diff,
        links.filter_references,
    }
)
"""What the service's pipelines of the other formats do not have: text stays text."""
FILTERS_OF: Mapping[Format, tuple[Filter, ...]] = {
    page_format: FILTERS
    if page_format is Format.MARKDOWN
    else tuple(each for each in FILTERS if each not in MARKDOWN_FILTERS)
    for page_format in Format
}


class Source(NamedTuple):
    """A page that shall be parsed, and all that its parsing depends on."""

    page: Page
    options: MarkupOptions = MarkupOptions()
    include: Include = include_nothing
    clock: AbstractContextManager[object] = nullcontext()
    """Entered around each step, for a limit on the time of all of them together."""


def parse_page(
    page: Page,
    options: MarkupOptions = MarkupOptions(),  # noqa: B008 - frozen, no state
    *,
    include: Include = include_nothing,
) -> ParsedPage:
    """Phase A of a page; never raises for anything that a page can hold."""
    return parse_pages([Source(page, options, include)])[0]


def parse_pages(sources: Sequence[Source]) -> list[ParsedPage]:
    """Phase A of several pages: each step for all of them before the next step.

    The processor's caches then hold one step's code and not that of all.
    """
    left = {number: parse_steps(source) for number, source in enumerate(sources)}
    parsed: dict[int, ParsedPage] = {}
    while left:
        for number, steps in list(left.items()):
            try:
                with sources[number].clock:
                    next(steps)
            except StopIteration as end:
                parsed[number] = end.value
                del left[number]
    for number, source in enumerate(sources):
        if parsed[number].breach == "memory" and len(sources) > 1:
            # what the other pages held may have been the reason
            parsed[number] = parse_pages([source])[0]
    return [parsed[number] for number in range(len(sources))]


def parse_steps(source: Source) -> Generator[None, None, ParsedPage]:
    """Parse one page; each ``next`` is a step."""
    page, options, include, _ = source
    text = clean_source(page.content)
    try:
        check_size(text, options)
        front = split_front_matter(text)
        html = front_html(page, front, options, include)
        yield
        dropped: list[nesting.Dropped] = []
        document = safe_document(page, html, options, dropped)
        yield
        draft = Draft(page, options, document, include=include)
        for apply_filter in FILTERS_OF[page.format]:
            apply_filter(draft)
        report_dropped(draft, dropped, html, text)
        if not front.meta:
            draft.problems += front_matter_problems(page.slug, text)
        if page.format is Format.ASCIIDOC:
            from wikisync.markup.asciidoc.document import problems_of

            draft.problems.extend(problems_of(page, options.asciidoc_engine))
    except LimitExceeded as error:
        return shown_as_source(page, text, error.message, breach=error.breach)
    except RenderError as error:
        return shown_as_source(page, text, error.message, error.hint)
    except MemoryError:
        return shown_as_source(page, text, TOO_MUCH_MEMORY, breach="memory")
    except Exception as error:  # noqa: BLE001 - a parser's bug must not end a build
        return shown_as_source(page, text, f"its parser failed: {error!r:.200}")
    return record_of(draft, front)


def report_dropped(
    draft: Draft, dropped: list[nesting.Dropped], html: str, source: str
) -> None:
    """Report what a page has in raw HTML and its reader does not see."""
    # code of a page is full of such signs, and each search of its HTML costs
    if "::include" in source or not HARMLESS.issuperset(RAW.findall(source)):
        dropped = [*dropped, *tags_not_shown(html)]
    if draft.page.format is Format.REST:
        unread = islice(UNREAD.finditer(html), DROPPED_REPORTED_MAX)
        dropped = [nesting.Dropped(NOT_READ, unescape(one[1])) for one in unread]
    if "<!--" in source and (comment := html.rfind("<!--")) > html.rfind("-->"):
        first_line = html[comment:].partition("\n")[0]
        dropped = [*dropped, nesting.Dropped(NO_COMMENT_END, first_line)]
    end = 0
    for reason, tag in dropped[:DROPPED_REPORTED_MAX]:
        start = source.find(tag, end)
        start = source.find(tag) if start < 0 else start
        end = max(start + 1, end)
        line = source.count("\n", 0, start) + 1 if start >= 0 else 0
        shown = tag.partition("\n")[0][: nesting.TAG_CHARS_SHOWN]
        problem = Problem(
            "html-not-shown",
            position_of(draft.page.slug, line),
            f"the {'directive' if tag[0] == '.' else 'tag'} {shown} {reason}",
            MEDIA_HINT if MEDIA.match(tag) else HINTS.get(reason, ""),
        )
        draft.problems.append(problem)


def tags_not_shown(html: str) -> Iterator[nesting.Dropped]:
    """Tags that the allow list takes out together with what they show.

    A name that HTML does not have, and that no tag ends, was meant as text.
    """
    names = {name.lower() for name in RAW.findall(html)} - HARMLESS
    lost, unknown = names & NOT_SHOWN, names - NOT_SHOWN
    if unknown:
        unknown -= {name.lower() for name in ENDED.findall(html)}
    # the elements of a drawing have names of their own
    if unknown and not lost & {"svg", "math"}:
        lost = lost | unknown
    first, *others = html.split("<!--") if lost else ("",)
    outside = first + "".join([piece.partition("-->")[2] for piece in others])
    for found in TAG.finditer(outside):
        name = found[1].lower()
        if name in lost:
            yield nesting.Dropped(
                NO_ELEMENT if name in unknown else "is not shown", found[0]
            )


def front_html(
    page: Page, front: FrontMatter, options: MarkupOptions, include: Include
) -> str:
    """What the format's parser gives of a page that is split at its front matter."""
    module = load_parser(page.format)
    engines = options.engine, options.asciidoc_engine
    context = ParseContext(page.slug, include, *engines)
    html: str = module.to_html(front.body, context)
    if page.format not in PARSERS:
        html = NOT_RENDERED + html
    if front.language:
        opening = f'<pre data-canonical-lang="{escape(front.language)}">'
        html = f"{opening}<code>{escape(front.shown)}</code></pre>\n{html}"
    return html


def load_parser(page_format: Format) -> ModuleType:
    """A format's module; it takes longer than most pages the first time."""
    return importlib.import_module(PARSERS.get(page_format, PARSERS[Format.PLAINTEXT]))


def safe_document(
    page: Page, html: str, options: MarkupOptions, dropped: list[nesting.Dropped]
) -> Document:
    """What a parser gave as sanitised tokens; RenderError if it is too long."""
    if options.placeholders is not None:
        html = texts.fill_addresses(html, options.placeholders)
    if len(html) > options.html_chars_max:
        raise RenderError(f"it becomes {len(html)} characters of HTML")
    return sanitize_tokens(html, page.format, dropped)


def check_size(source: str, options: MarkupOptions) -> None:
    """Refuse a page larger than the options allow; sizes are in bytes of UTF-8."""
    size = len(source.encode("utf-8", "surrogatepass"))
    if size > options.source_bytes_max:
        raise RenderError(f"it has {size} bytes, more than {options.source_bytes_max}")


def record_of(draft: Draft, front: FrontMatter) -> ParsedPage:
    """The filters' results as a record."""
    parts, refs = draft.document.pieces()
    given = front.meta.get("title")
    title = given if isinstance(given, str) else ""
    # a heading that is the first thing of the page
    is_opening = draft.heading_indices[:1] == [1] and not draft.document.html[0].strip()
    if not title and is_opening and draft.toc[0].level == 1:
        title = draft.toc[0].text
    tags = tags_of(draft.page.format, front.meta, front.body)
    return ParsedPage(
        slug=draft.page.slug,
        format=draft.page.format,
        title=title or title_of(draft.page),
        parts=parts,
        refs=refs,
        toc=tuple(draft.toc),
        ids=frozenset(draft.ids),
        sections=tuple(draft.sections),
        meta={**front.meta, "tags": list(tags)} if tags else front.meta,
        features=frozenset(draft.features),
        problems=tuple(draft.problems),
    )
