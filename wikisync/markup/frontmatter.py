"""Front matter: the block of metadata at the head of a page.  Pure.

``---`` (YAML) is metadata in a wiki page; ``+++`` (TOML) and ``;;;`` (JSON) are
shown as code, as the service does, and so is YAML that is no mapping.

``metadata`` reads the YAML; it is loaded with the first block, for most processes
that parse pages meet none.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from wikisync.core.model import Format, Problem

FRONT_MATTER_CHARS_MAX = 25_000
"""Longer blocks are page text, as in the service."""
FENCES = {"---": "yaml", "+++": "toml", ";;;": "json"}
HEAD_CHARS = 400
"""A block begins within these."""
_FENCE = re.compile(r"---[^\S\n]*$", re.MULTILINE)
_KEY = re.compile(r"[\w\"'][^:\n]*:(?:\s|$)")


class FrontMatter(NamedTuple):
    """A page split at its front matter."""

    meta: Mapping[str, object]
    body: str
    shown: str = ""
    """Source of a block that is not metadata and is shown as code."""
    language: str = ""


class Block(NamedTuple):
    """The lines between two fences at the head of a page."""

    text: str
    fence: str
    language: str
    begin: int
    """Where ``text`` begins in the page."""
    end: int
    """Where the page goes on behind the closing fence."""


def split_front_matter(source: str) -> FrontMatter:
    """Metadata and text of a page; an absent block gives no metadata."""
    block = find_block(source)
    if block is None:
        return FrontMatter({}, source)
    body = source[block.end :]
    if block.fence == "---" and block.language == "yaml":
        # it loads PyYAML, which the pages of most wikis do not need
        from wikisync.markup.metadata import NotMetadata, parse_mapping

        try:
            return FrontMatter(parse_mapping(block.text), body)
        except NotMetadata:
            pass
    return FrontMatter({}, body, block.text, block.language)


def front_matter_problems(page: str, text: str) -> list[Problem]:
    """What keeps a block that looks like front matter from being one: its line."""
    if not _FENCE.match(text):
        return []
    lines = text.split("\n")
    block = find_block(text)
    if block is None:
        # a rule at the top of a page is no front matter that was left open
        if len(lines) < 2 or not _KEY.match(lines[1]):
            return []
        message = "front matter starts here and has no end line"
        hint = "add a line --- after its last key"
        return [Problem("front-matter-open", f"{page}:1", message, hint)]
    if block.language != "yaml":
        return []
    from wikisync.markup.metadata import NotMetadata, parse_mapping

    try:
        parse_mapping(block.text)
    except NotMetadata as error:
        # the fence is the line before the first of the block
        line = min(error.line + 1, len(lines) - 1)
        shown = lines[line] if len(lines[line]) <= 60 else lines[line][:59] + "…"
        message = (
            f"invalid front matter: {error} in {shown!r}; the block is shown as code"
        )
        hint = "write key: value lines, and put quotes around a value with ': ' in it"
        return [Problem("front-matter-wrong", f"{page}:{line + 1}", message, hint)]
    return []


def text_without(source: str) -> str:
    """A page without its metadata, to the byte; all of it where it has none."""
    plain = source.replace("\r\n", "\n")
    meta, body = split_front_matter(plain)[:2]
    if not meta or not body:
        return "" if meta else source
    lines = plain.count("\n") - body.count("\n")
    return source.split("\n", lines)[lines]


def title_block(title: str) -> str:
    """A block with a title, as the service writes it."""
    import yaml

    text = yaml.safe_dump({"title": title}, allow_unicode=True, width=len(title) + 99)
    return f"---\n{text}---\n"


def find_block(source: str) -> Block | None:
    """The block at the head of a page, behind a line of its encoding, or None."""
    head = source[:HEAD_CHARS]
    first, newline, rest = head.partition("\n")
    if newline and "coding:" in first:
        head = rest
    opening = source.find(head.lstrip(" \t\n")[:3])
    fence = source[opening : opening + 3]
    begin = source.find("\n", opening, opening + HEAD_CHARS) + 1
    if fence not in FENCES or not begin:
        return None
    language = source[opening + 3 : begin].strip(" \t\n")
    if language and not (language.isascii() and language.isalpha()):
        return None
    closings = {fence, "..."} if fence == "---" else {fence}
    at = begin
    while at < len(source) and at - begin <= FRONT_MATTER_CHARS_MAX:
        end = source.find("\n", at, begin + 2 * FRONT_MATTER_CHARS_MAX) + 1
        line = source[at : end or begin + 2 * FRONT_MATTER_CHARS_MAX]
        if line.rstrip(" \t\n") in closings:
            text = source[begin:at]
            language = language.lower() or FENCES[fence]
            return Block(text, fence, language, begin, at + len(line))
        if not end:
            break
        at = end
    return None


# -- tags ------------------------------------------------------------------------
#
# Any format may have ``tags`` in its front matter; AsciiDoc has ``:keywords:`` in its
# header, Org ``#+FILETAGS:`` and ``#+KEYWORDS:``, reStructuredText ``:tags:``.


TAGS_MAX = 50
"""Of one page."""
TAG_CHARS_MAX = 100
KEYWORDS_HEAD_CHARS = 4000
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
    head = body.lstrip()[:KEYWORDS_HEAD_CHARS] if pattern else ""
    if kind is not Format.ORG:
        head = head.partition("\n\n")[0]
    for line in pattern.findall(head) if pattern else ():
        # Org divides tags by colons, and keywords by commas or spaces
        yield from re.split(r"[:,]" if kind is Format.ORG else ",", line)
