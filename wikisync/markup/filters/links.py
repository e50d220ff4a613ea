"""Every link and picture becomes a question to the link index, asked in phase B.

A link's address is never written here: what a page says about another page can
only be known when all pages are.
"""

import re
from html import unescape
from itertools import repeat
from typing import Literal

from wikisync.markup import references
from wikisync.markup.record import LinkRef, Section
from wikisync.markup.tokens import BLOCKS, Document, Draft, escape, format_attributes

LINKS = frozenset({"a"})
PLAIN_LINK = re.compile('<a href="([^"]*)">').fullmatch
PICTURE_ATTRIBUTES = ("title", "class", "width", "height", "align", "lang", "dir")
SIZE = re.compile(r"\d{1,4}(?:\.\d+)?(%|px)?")


def filter_links(draft: Draft) -> None:
    """Put a ``LinkRef`` instead of each link and picture."""
    document = draft.document
    for index in document.starts.get("a", ()):
        if document.html[index].startswith("<a"):
            take_link(document, index)
    for index in document.starts.get("img", ()):
        if document.html[index] and index not in document.links:
            take_picture(document, index)


def take_link(document: Document, index: int) -> None:
    """A wiki link as a whole element, any other link as its start tag."""
    # most links are no more
    plain = PLAIN_LINK(document.html[index])
    attributes = {"href": unescape(plain[1])} if plain else document.attributes(index)
    href = attributes.pop("href", document.addresses.get(index))
    if href is None:
        return
    is_wikilink = attributes.pop("data-wikilink", None) is not None
    attributes.pop("rel", None)
    rest = format_attributes(attributes) if attributes else ""
    kind: Literal["wikilink", "address"] = "wikilink"
    if not is_wikilink:
        # the service's own objects have this in their addresses
        if "/-/" not in href or unescape(document.html[index + 1]) != href:
            document.links[index] = LinkRef("link", href, rest)
            return
        kind = "address"
    inner = document.inner(index)
    document.replace(index, "")
    document.links[index] = LinkRef(kind, href, rest, inner)


def take_picture(document: Document, index: int) -> None:
    """A picture, video or sound; its name shows which."""
    attributes = document.attributes(index)
    src = attributes.get("src") or document.addresses.get(index)
    if not src:
        document.html[index] = escape(attributes.get("alt", ""))
        return
    kept = {name: attributes[name] for name in PICTURE_ATTRIBUTES if name in attributes}
    for name in ("width", "height"):
        if name in kept and not SIZE.fullmatch(kept[name]):
            del kept[name]
    document.links[index] = LinkRef(
        "picture",
        src,
        format_attributes(kept),
        attributes.get("alt", ""),
        is_in_link=document.is_within(index, LINKS),
    )


BRACES = re.compile(r"\{((?:&#?\w{1,9};|[^{}\n<>&]){1,100})\}")
BRACED_SIZE = re.compile(
    r"(width|height)=(?:&quot;|\")?(\d{1,4}(?:%|px)?)(?![\w%])(?:&quot;|\")?"
)
FLOAT = re.compile(r"(?:^|\s)\.(float-(?:left|right|none))(?=\s|$)")


def filter_picture_sizes(draft: Draft) -> None:
    """Move both into the picture; what else its braces hold is thrown away."""
    document = draft.document
    for index in document.starts.get("img", ()):
        match = BRACES.match(document.html[index + 1])
        if match is None or not document.html[index]:
            continue
        found = dict(BRACED_SIZE.findall(match[1]))
        side = FLOAT.search(match[1])
        if side is not None:
            found["class"] = side[1]
        attributes = {**document.attributes(index), **found}
        document.html[index] = f"<img{format_attributes(attributes)}>"
        document.html[index + 1] = document.html[index + 1][match.end() :]


# -- references ------------------------------------------------------------------


NOT_IN = frozenset({"pre", "code", "tt", "a", "math"})


def filter_references(draft: Draft) -> None:
    """Split texts at their references; the address is not known here."""
    document = draft.document
    indices = document.texts_outside(NOT_IN)
    texts = [document.html[index] for index in indices]
    for number in references.candidates(texts):
        text = texts[number]
        if not references.may_hold_reference(text):
            continue
        pieces: list[str | LinkRef] = []
        start = 0
        for match in references.REFERENCE.finditer(text):
            reference = references.reference_of(match)
            if reference is None:
                continue
            shown = match["slug"] or match[0].removesuffix(match["form"] or "")
            reference = reference._replace(name=unescape(reference.name))
            pieces.append(text[start : match.start()])
            pieces.append(LinkRef("reference", reference.written(), "", shown))
            start = match.end()
        if pieces:
            document.split_texts[indices[number]] = [*pieces, text[start:]]


# -- plain text, for search and summaries ----------------------------------------


GAPS = dict.fromkeys(BLOCKS | {f"/{name}" for name in BLOCKS}, " ")


def filter_plain(draft: Draft) -> None:
    """Note the page's text; changes nothing.  Runs before texts are rewritten."""
    document = draft.document
    bounds = [0]
    bounds += [document.close[index] + 1 for index in draft.heading_indices]
    ends = [*draft.heading_indices, len(document.html)]
    # spaces for tags that part words, nothing for others
    pieces = document.html.copy()
    pieces[1::2] = map(GAPS.get, document.names[1::2], repeat(""))
    for index in document.starts.get("img", ()):
        pieces[index] = escape(document.attributes(index).get("alt", ""))
    for index in document.starts.get("a", ()):
        # the mark of a footnote is no text
        if " data-footnote-" in document.html[index]:
            end = document.close[index]
            pieces[index:end] = [""] * (end - index)
    texts = [
        " ".join(unescape("".join(pieces[start:end])).split())
        for start, end in zip(bounds, ends, strict=True)
    ]
    if texts[0]:
        draft.sections.append(Section("", "", texts[0]))
    for entry, text in zip(draft.toc, texts[1:], strict=True):
        draft.sections.append(Section(entry.id, entry.text, text))
