"""The service's allow list for pages, carried out by nh3.

What is not named here does not reach a page.  Where the parser behind nh3 cannot
say what the service's rules say (a box outside a task, the list of schemes), this
list is the stricter one; ``tests/markup`` compares every case.

Two lists: markdown pages can hold raw HTML, so ids and classes are only those of
the dialect; the other formats' parsers write ids and classes of their own, which
the service lets through by name.
"""

from __future__ import annotations

import functools
import re

import nh3

from wikisync.markup.context import SIGN
from wikisync.markup.lines import ATTRIBUTE
from wikisync.markup.nesting import tame
from wikisync.markup.tokens import Document
from wikisync.markup.urls import LINK_SCHEMES, MEDIA_SCHEMES, is_safe_url
from wikisync.model import Format

HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6", "h7", "h8"})
TAGS = frozenset(
    [
        *HEADINGS,
        *("a", "abbr", "b", "bdo", "blockquote", "br", "caption", "cite", "code"),
        *("dd", "del", "details", "dfn", "div", "dl", "dt", "em", "figcaption"),
        *("figure", "hr", "i", "img", "input", "ins", "kbd", "li", "mark", "ol", "p"),
        *("pre", "q", "rp", "rt", "ruby", "s", "samp", "section", "small", "span"),
        *("strike", "strong", "sub", "summary", "sup", "table", "tbody", "td"),
        *("tfoot", "th", "thead", "time", "tr", "tt", "ul", "var", "wbr"),
    ]
)
DOCUMENT_TAGS = TAGS | {"u", "col", "colgroup"}
DROPPED_WITH_CONTENT = frozenset({"script", "style"})

GLOBAL_ATTRIBUTES = frozenset(
    [
        *("abbr", "align", "alt", "axis", "border", "cellpadding", "cellspacing"),
        *("char", "charoff", "class", "clear", "cols", "colspan", "color", "compact"),
        *("coords", "datetime", "dir", "headers", "height", "hreflang", "hspace"),
        *("id", "itemprop", "label", "lang", "nowrap", "open", "progress", "rev"),
        *("rows", "rowspan", "rules", "scope", "shape", "size", "span"),
        *("start", "summary", "title", "type", "valign", "value"),
        *("vspace", "width", "data-math-style", "data-escaped-char"),
    ]
)
TAG_ATTRIBUTES: dict[str, frozenset[str]] = {
    "a": frozenset(
        [
            *("href", "name", "rel", "data-wikilink", "data-footnote-ref"),
            *("data-footnote-backref", "data-footnote-backref-idx", "aria-label"),
            ATTRIBUTE,
        ]
    ),
    "img": frozenset({"src", "data-diagram", "data-diagram-src", ATTRIBUTE}),
    "input": frozenset({"checked", "disabled", "data-inapplicable", SIGN}),
    "div": frozenset({"itemscope", "itemtype"}),
    "section": frozenset({"data-footnotes"}),
    "blockquote": frozenset({"cite"}),
    "del": frozenset({"cite"}),
    "ins": frozenset({"cite"}),
    "q": frozenset({"cite"}),
    "pre": frozenset({"data-canonical-lang", "data-lang-params", "data-meta"}),
    "td": frozenset({"style"}),
    "th": frozenset({"style"}),
}

ALERT_KINDS = ("note", "tip", "important", "caution", "warning")
MARKDOWN_CLASSES: dict[str, frozenset[str]] = {
    "div": frozenset(
        ["markdown-alert", *(f"markdown-alert-{kind}" for kind in ALERT_KINDS)]
    ),
    "p": frozenset({"markdown-alert-title"}),
    "ul": frozenset({"task-list", "contains-task-list"}),
    "ol": frozenset({"task-list", "contains-task-list"}),
    "li": frozenset({"task-list-item", "inapplicable"}),
    "input": frozenset({"task-list-item-checkbox"}),
    "span": frozenset({"idiff", "left", "right", "addition", "deletion"}),
}
DOCUMENT_CLASSES = frozenset(
    [
        *("admonitionblock", *ALERT_KINDS, "icon", "content", "title", "anchor"),
        *("icon-note", "icon-tip", "icon-important", "icon-caution", "icon-warning"),
        *("fa", "fa-check-square-o", "fa-square-o", "conum", "colist", "arabic"),
        *("checklist", "none", "no-bullet", "unnumbered", "unstyled", "horizontal"),
        *("hdlist", "dlist", "qanda", "quoteblock", "verseblock", "attribution"),
        *("sidebarblock", "exampleblock", "listingblock", "literalblock", "imageblock"),
        *("tableblock", "stemblock", "openblock", "abstract", "partintro", "lead"),
        *("big", "small", "underline", "overline", "line-through", "button", "menu"),
        *("menuseq", "menuitem", "submenu", "caret", "footnote", "footnoteref"),
        *("footnotes", "footref", "toc", "todo", "done", "tag", "timestamp", "verse"),
        *("target", "label", "gist", "rdoc-term", "halign-left", "halign-right"),
        *("halign-center", "valign-top", "valign-middle", "valign-bottom", "frame-all"),
        *("grid-all", "frame-ends", "frame-sides", "frame-none", "grid-rows"),
        *("grid-cols", "grid-none", "stretch", "fit-content", "stripes-even"),
        *("stripes-odd", "stripes-all", "stripes-hover", "stripes-none", "text-left"),
        *("text-center", "text-right", "text-justify", "thumb", "th", "related"),
    ]
)
"""Classes that the parsers of the other formats write and themes may style."""

FOOTNOTE_ID = re.compile(r"fn(ref)?-[^\s\"'<>]+")
DOCUMENT_ID = re.compile(r"(user-content-|_footnote(ref|def)_)[^\s\"'<>]*")
HEADING_ID = re.compile(r"user-content-[^\s\"'<>]*")
CELL_STYLE = re.compile(r"(?:^|;)\s*text-align\s*:\s*(left|right|center)\s*(?:;|$)")


def sanitize(html: str, page_format: Format = Format.MARKDOWN) -> str:
    """Safe HTML of a page: every tag closed, every value in double quotes.

    Safe means: no script, no style, no event attribute, no frame or form, no
    URL with a scheme outside ``markup.urls``.  Linear in the length of ``html``.
    """
    return "".join(sanitize_tokens(html, page_format).html)


def sanitize_tokens(html: str, page_format: Format = Format.MARKDOWN) -> Document:
    """The same as tokens, for the filters."""
    clean = cleaner(is_markdown=page_format is Format.MARKDOWN).clean(tame(html))
    document = Document(clean)
    drop_loose_parts(document)
    return document


@functools.cache
def cleaner(*, is_markdown: bool) -> nh3.Cleaner:
    """One cleaner per list: making one costs more than a page."""
    tags = TAGS if is_markdown else DOCUMENT_TAGS
    attributes = {
        tag: set(GLOBAL_ATTRIBUTES | TAG_ATTRIBUTES.get(tag, frozenset()))
        for tag in tags
    }
    return nh3.Cleaner(
        tags=set(tags),
        clean_content_tags=set(DROPPED_WITH_CONTENT),
        attributes=attributes,
        attribute_filter=markdown_attribute if is_markdown else document_attribute,
        strip_comments=True,
        link_rel=None,
        url_schemes=set(LINK_SCHEMES),
    )


def markdown_attribute(tag: str, name: str, value: str) -> str | None:
    """The value to keep for an attribute of a markdown page, or None."""
    if name == "href":
        return value if is_safe_url(value) else None
    if name == "class":
        return allowed_classes(value, MARKDOWN_CLASSES.get(tag, frozenset()))
    if name == "id":
        is_heading = tag in HEADINGS and HEADING_ID.fullmatch(value)
        is_footnote = tag in {"a", "li"} and FOOTNOTE_ID.fullmatch(value)
        return value if is_heading or is_footnote else None
    return common_attribute(tag, name, value)


def document_attribute(tag: str, name: str, value: str) -> str | None:
    """The value to keep for an attribute of a page in another format, or None."""
    if name == "class":
        return allowed_classes(
            value, DOCUMENT_CLASSES | MARKDOWN_CLASSES.get(tag, frozenset())
        )
    if name == "id":
        is_known = DOCUMENT_ID.fullmatch(value) or FOOTNOTE_ID.fullmatch(value)
        return value if is_known else None
    return common_attribute(tag, name, value)


def common_attribute(tag: str, name: str, value: str) -> str | None:
    """Rules for the attributes that both lists treat alike."""
    if name == "style":
        found = CELL_STYLE.search(value)
        return f"text-align: {found[1]}" if found else None
    if name in {"src", "cite"}:
        return value if is_safe_url(value, MEDIA_SCHEMES) else None
    if name == "href":
        return value if is_safe_url(value) else None
    if name == "rel":
        return "license" if value == "license" else None
    if name == "type" and tag == "input":
        return value if value == "checkbox" else None
    return value


def allowed_classes(value: str, allowed: frozenset[str]) -> str | None:
    """The classes among the allowed ones, or None where none is left."""
    kept = [word for word in value.split() if word in allowed]
    return " ".join(kept) or None


def drop_loose_parts(document: Document) -> None:
    """Drop boxes that are not a task's, and list items outside a list."""
    for index in document.starts.get("input", ()):
        tag = document.html[index]
        is_task = 'class="task-list-item-checkbox"' in tag and 'type="checkbox"' in tag
        if not is_task or not document.is_within(index, TASK_PARENTS):
            document.html[index] = ""
    for index in document.starts.get("li", ()):
        parent = document.parents.get(index)
        if parent is None or document.names[parent] not in LISTS:
            document.html[index] = ""
            document.html[document.close[index]] = ""


TASK_PARENTS = frozenset({"li", "td", "th"})
LISTS = frozenset({"ul", "ol"})
