"""The tags of a page, in the words of its format.  Pure.

Any format may have ``tags`` in its front matter; AsciiDoc has ``:keywords:`` in its
header, Org ``#+FILETAGS:`` and ``#+KEYWORDS:``, reStructuredText ``:tags:``.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping

from wikisync.core.model import Format

TAGS_MAX = 50
"""Of one page."""
TAG_CHARS_MAX = 100
HEAD_CHARS = 4000
"""A page names its keywords within these."""

_KEYWORDS: Mapping[Format, re.Pattern[str]] = {
    kind: re.compile(pattern, re.MULTILINE | re.IGNORECASE)
    for kind, pattern in {
        Format.ASCIIDOC: r"^:keywords:[ \t]+(.*)",
        Format.ORG: r"^#\+(?:file)?(?:tags|keywords):[ \t]*(.*)",
        Format.REST: r"^:(?:tags|keywords):[ \t]+(.*)",
    }.items()
}


def tags_of(kind: Format, meta: Mapping[str, object], body: str) -> tuple[str, ...]:
    """The tags of a page, each once, as they are written first."""
    found: dict[str, str] = {}
    for tag in (*_listed(meta.get("tags")), *_keywords(kind, body)):
        name = " ".join(tag.split())[:TAG_CHARS_MAX].strip()
        if name and len(found) < TAGS_MAX:
            found.setdefault(tag_key(name), name)
    return tuple(found.values())


def tag_key(tag: str) -> str:
    """What tags that mean the same have in common: letters, whatever their case."""
    return " ".join(unicodedata.normalize("NFKC", tag).casefold().split())


def _listed(tags: object) -> Iterable[str]:
    """A list, or words divided by commas."""
    if isinstance(tags, str):
        return tags.split(",")
    return map(str, tags) if isinstance(tags, list | tuple) else ()


def _keywords(kind: Format, body: str) -> Iterator[str]:
    pattern = _KEYWORDS.get(kind)
    # what stands behind an empty line is text, but in Org
    head = body.lstrip()[:HEAD_CHARS] if pattern else ""
    if kind is not Format.ORG:
        head = head.partition("\n\n")[0]
    for line in pattern.findall(head) if pattern else ():
        # Org divides tags by colons, and keywords by commas or spaces
        yield from re.split(r"[:,]" if kind is Format.ORG else ",", line)
