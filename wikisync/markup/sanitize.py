"""The service's allow list for pages, carried out by nh3.

What is not named here does not reach a page.  Where the parser behind nh3 cannot
say what the service's rules say (a box outside a task, the list of schemes), this
list is the stricter one; ``tests/markup`` compares every case.

Two lists: markdown pages can hold raw HTML, so ids and classes are only those of
the dialect; the other formats' parsers write ids and classes of their own, which
the service lets through by name.
"""

import functools
import html as entities
import re
from collections.abc import Mapping

import nh3

from wikisync.core.model import Format
from wikisync.core.packaged import packaged_rows
from wikisync.markup.context import SIGN
from wikisync.markup.links import LINK_SCHEMES, MEDIA_SCHEMES, is_safe_url
from wikisync.markup.nesting import FORMATTING_DEPTH_MAX, MARKUP, Dropped, tame
from wikisync.markup.tokens import VOID, Document, escape, format_attributes

HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6", "h7", "h8"})
DROPPED_WITH_CONTENT = frozenset({"script", "style"})


def _allowed(kind: str) -> dict[str, frozenset[str]]:
    """Rows of the allow list: what is allowed, by the element it is allowed in."""
    found: dict[str, frozenset[str]] = {}
    for row, name, *words in packaged_rows(__package__, "sanitize.txt"):
        if row == kind:
            found[name] = found.get(name, frozenset()).union(words)
    return found


_TAGS, TAG_ATTRIBUTES = _allowed("tags"), _allowed("attributes")
TAGS = _TAGS["all"]
DOCUMENT_TAGS = TAGS | _TAGS["documents"]
GLOBAL_ATTRIBUTES = TAG_ATTRIBUTES.pop("*")
TAG_ATTRIBUTES["input"] |= {SIGN}
MARKDOWN_CLASSES = _allowed("classes")
DOCUMENT_CLASSES = MARKDOWN_CLASSES.pop("*")

FOOTNOTE_ID = re.compile(r"fn(ref)?-[^\s\"'<>]+")
DOCUMENT_ID = re.compile(r"(user-content-|_footnote(ref|def)_)[^\s\"'<>]*")
HEADING_ID = re.compile(r"user-content-[^\s\"'<>]*")
MARK = "#not-allowed:"
ADDRESS = re.compile(
    r"(?P<name>(?<![^\s\"'/])(?:href|src))\s*+=\s*+"
    r"(?P<value>\"[^\"]*+\"|'[^']*+'|[^\s\"'>][^\s>]*+)|\"[^\"]*+\"|'[^']*+'",
    re.IGNORECASE,
)
"""An address, or the value of another attribute, in which there is none."""
WEB = re.compile(r"\s*[a-z][a-z0-9+.-]*:/", re.IGNORECASE)
ORDINARY = re.compile(
    r"\s*[a-z][a-z0-9+.-]*+://(?=[0-9.-]*[a-z])[a-z0-9.-]+(?::\d{1,4})?(?:[/?#]|$)",
    re.IGNORECASE,
)
"""An address that can be parsed for sure; the sanitiser drops one that cannot be,
``http://[host]:port/``, which the service keeps as it is written."""
ADDRESS_CHARS_MAX = 200
"""A longer one that may not be, mostly a picture in the page's text, is cut."""
ADDRESS_CHARS_SHOWN = 40
BOX = 'input type="checkbox" class="task-list-item-checkbox"'
CELL_STYLE = re.compile(r"(?:^|;)\s*text-align\s*:\s*(left|right|center)\s*(?:;|$)")

Names = frozenset[str]
IN_LINK: Names = frozenset({"strong", "em", "del", "code", "span", "br", "img"})
PHRASING: Names = IN_LINK | {"a", "input"}
FLOW: Names = PHRASING.union(
    ("p", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "dl", "blockquote"),
    ("div", "table", "pre", "hr"),
)
HOLDS: Mapping[str, Names] = {
    **dict.fromkeys(("p", *sorted(HEADINGS), *sorted(PHRASING)), PHRASING),
    **dict.fromkeys(("blockquote", "div", "li", "dt", "dd", "td", "th"), FLOW),
    **dict.fromkeys(("ul", "ol"), frozenset({"li"})),
    **dict.fromkeys(("thead", "tbody"), frozenset({"tr"})),
    "a": IN_LINK,
    "dl": frozenset({"dt", "dd"}),
    "pre": frozenset({"code"}),
    "table": frozenset({"thead", "tbody"}),
    "tr": frozenset({"td", "th"}),
}
"""What may be in an element for the parser behind the sanitiser to move nothing, of
what our parsers write."""
GAPS: Mapping[str, Names] = {
    **dict.fromkeys(("table", "thead", "tbody", "tr"), frozenset({"\n"})),
    "pre": frozenset(),
}
"""The only texts between the elements there; that parser moves or drops others."""
INSIDE: Mapping[str, tuple[str, str, Names, Names | None] | None] = {
    name: (f"/{name}", f"</{name}>", holds, GAPS.get(name))
    for name, holds in HOLDS.items()
    if name not in VOID
}
"""The end tag of an element, its HTML, and what may be before it."""
NO_TAG = ("", "")
OWN_TAGS: Mapping[str, tuple[str, str]] = {
    **{
        tag: (f"<{tag.removesuffix(' /')}>", tag.partition(" ")[0])
        for tag in (
            *(name for name in HOLDS if name not in {"a", "img", "input", "span"}),
            *("br", "br /", "hr", "hr /"),
            *('ul class="contains-task-list"', 'li class="task-list-item"'),
            f'{BOX} checked="" disabled="" /',
            f'{BOX} disabled="" /',
            *('span data-math-style="inline"', 'span data-math-style="display"'),
            'code data-math-style="inline"',
            'p class="markdown-alert-title"',
        )
    },
    "span data-escaped-char": ('<span data-escaped-char="">', "span"),
}
"""Start tags without their brackets: as the sanitiser writes them, and their names.
Those whose attributes vary are ``OWN_TAG``."""
_REST = r'[^"\\\x01-\x20]*+'
_LABEL = r"(?![xX][nN]--)[A-Za-z0-9-]{0,63}"
_URL = (
    r"(?:[A-Za-z0-9_./%#-]*+(?=\")"
    rf"|(?:https?://(?:{_LABEL}\.){{0,9}}(?=[A-Za-z]){_LABEL}(?::\d{{1,4}})?(?=[/?#\"])"
    rf'|(?=[^":/?#]*[/?#"])){_REST})'
)
"""A web address whose host is surely one, or a relative one."""
_TITLE = r'(?: title="[^"]*+")?'
OWN_TAG = re.compile(
    rf'a href="(?:{_URL}|mailto:{_REST})"{_TITLE}(?: data-wikilink="true")?'
    rf'|img src="{_URL}" alt="[^"]*+"{_TITLE}(?: /)?'
    r'|pre lang="[^"]*+"(?: data-meta="[^"]*+"| data-math-style="display")?'
    r'|pre data-meta="[^"]*+" lang="[^"]*+"'
    r'|t[hd] align="(?:left|right|center)"|ol start="\d{1,9}"'
    r'|div class="markdown-alert markdown-alert-'
    r'(?:note|tip|important|caution|warning)"'
).fullmatch
OTHER_SIGN = re.compile("&(?!(?:amp|lt|gt|quot|nbsp);)")
"""The sanitiser writes these signs so; it changes every other ``&``."""


def sanitize_tokens(
    html: str,
    page_format: Format = Format.MARKDOWN,
    dropped: list[Dropped] | None = None,
) -> Document:
    """Tokens of the safe HTML of a page; ``dropped`` gets what ``tame`` drops.

    Safe means: no script, no style, no event attribute, no frame or form, no URL with a
    scheme outside ``markup.links``.  Linear in the length of ``html``.
    """
    own = own_tokens(html) if page_format is Format.MARKDOWN else None
    return cleaned_tokens(html, page_format, dropped) if own is None else own


def cleaned_tokens(
    html: str, page_format: Format, dropped: list[Dropped] | None = None
) -> Document:
    """The same by the sanitiser, whatever the HTML is."""
    clean = cleaner(is_markdown=page_format is Format.MARKDOWN).clean
    html = tame(html, dropped)
    document = Document(clean(html))
    written, links = document.html, document.starts.get("a", ())
    pictures = document.starts.get("img", ())
    # one has lost its address, or never had one
    if any(" href=" not in written[index] for index in links) or any(
        " src=" not in written[index] for index in pictures
    ):
        marked = MARKUP.sub(
            lambda one: ADDRESS.sub(mark_address, one[0]) if one["name"] else one[0],
            html,
        )
        if marked != html:
            document = Document(clean(marked))
            take_addresses(document)
    drop_loose_parts(document)
    return document


def own_tokens(html: str) -> Document | None:
    """The tokens of HTML as our parsers write it of most pages; None for any other.

    The sanitiser would give the same ones: each tag is one of ``OWN_TAGS`` or
    ``OWN_TAG``, is in what may hold it, and is ended by its own end tag.
    """
    if "\xa0" in html:
        html = html.replace("\xa0", "&nbsp;")
    first, *pieces = html.split("<")
    if html.count(">") != len(pieces) or ">" in first or "\0" in html or "\r" in html:
        return None
    # to see that one character is nowhere takes a tenth of a search for more
    if "&" in html and OTHER_SIGN.search(html):
        return None
    document = Document("")
    document.is_ascii, document.is_own = html.isascii(), True
    size = 2 * len(pieces) + 1
    document.html, document.names = out, names = [""] * size, [""] * size
    close, parents, starts = document.close, document.parents, document.starts
    out[0] = first
    opened: list[tuple[int, str, str, Names, Names | None]] = []
    top, end, ending, holds, gaps = -1, ">", "", FLOW, None
    for index, piece in zip(range(1, size, 2), pieces, strict=True):
        tag, is_ended, text = piece.partition(">")
        if not is_ended:
            return None
        if tag == end:
            out[index], names[index] = ending, end
            close[top] = index
            top, end, ending, holds, gaps = opened.pop()
        else:
            written, name = OWN_TAGS.get(tag, NO_TAG)
            if not name and OWN_TAG(tag):
                written, name = f"<{tag.removesuffix(' /')}>", tag.partition(" ")[0]
            if name not in holds:
                return None
            out[index], names[index] = written, name
            starts[name].append(index)
            if top >= 0:
                parents[index] = top
            if (inside := INSIDE.get(name)) is None:
                close[index] = index
            else:
                opened.append((top, end, ending, holds, gaps))
                end, ending, inner, gaps = inside
                top, holds = index, holds if holds is IN_LINK else inner
                if len(opened) > FORMATTING_DEPTH_MAX:
                    return None
        if text:
            if gaps is not None and text not in gaps:
                return None
            out[index + 1] = text
    if opened:
        return None
    if "&quot;" in html:
        out[::2] = "\0".join(out[::2]).replace("&quot;", '"').split("\0")
    if "input" in starts:
        drop_loose_parts(document)
    return document


def mark_address(found: re.Match[str]) -> str:
    """An attribute with its mark, if it needs one."""
    if not found["name"]:
        return found[0]
    address = entities.unescape(found["value"].strip("\"'"))
    schemes = LINK_SCHEMES if found["name"].lower() == "href" else MEDIA_SCHEMES
    is_odd = WEB.match(address) and not ORDINARY.match(address)
    if is_safe_url(address, schemes) and not is_odd:
        return found[0]
    if len(address) > ADDRESS_CHARS_MAX:
        address = f"{address[:ADDRESS_CHARS_SHOWN]}…"
    return f'{found["name"]}="{MARK}{escape(address)}"'


def take_addresses(document: Document) -> None:
    """Note the marked addresses, and take them out of the page."""
    for name, attribute in (("a", "href"), ("img", "src")):
        for index in document.starts.get(name, ()):
            attributes = document.attributes(index)
            address = attributes.get(attribute, "")
            if address.startswith(MARK):
                del attributes[attribute]
                document.html[index] = f"<{name}{format_attributes(attributes)}>"
                document.addresses[index] = address.removeprefix(MARK)


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
        attribute_filter=functools.partial(kept_attribute, is_markdown=is_markdown),
        strip_comments=True,
        link_rel=None,
        url_schemes=set(LINK_SCHEMES),
    )


def kept_attribute(tag: str, name: str, value: str, *, is_markdown: bool) -> str | None:
    """The value to keep for an attribute of a page by its list, or None."""
    if name == "class":
        allowed = MARKDOWN_CLASSES.get(tag, frozenset())
        allowed = allowed if is_markdown else DOCUMENT_CLASSES | allowed
        return " ".join(filter(allowed.__contains__, value.split())) or None
    if name == "id":
        return value if is_allowed_id(tag, value, is_markdown=is_markdown) else None
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


def is_allowed_id(tag: str, value: str, *, is_markdown: bool) -> bool:
    """Whether an element may have an id: of markdown only headings and footnotes."""
    is_footnote = FOOTNOTE_ID.fullmatch(value) is not None
    if not is_markdown:
        return is_footnote or DOCUMENT_ID.fullmatch(value) is not None
    if tag in HEADINGS:
        return HEADING_ID.fullmatch(value) is not None
    return is_footnote and tag in {"a", "li"}


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
