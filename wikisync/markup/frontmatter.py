"""Front matter: the block of metadata at the head of a page.  Pure.

``---`` (YAML) is metadata in a wiki page; ``+++`` (TOML) and ``;;;`` (JSON) are
shown as code, as the service does, and so is YAML that is no mapping.

``metadata`` reads the YAML; it is loaded with the first block, for most processes
that parse pages meet none.
"""

from collections.abc import Mapping
from typing import NamedTuple

FRONT_MATTER_CHARS_MAX = 25_000
"""Longer blocks are page text, as in the service."""
FENCES = {"---": "yaml", "+++": "toml", ";;;": "json"}
HEAD_CHARS = 400
"""A block begins within these."""


class FrontMatter(NamedTuple):
    """A page split at its front matter."""

    meta: Mapping[str, object]
    body: str
    shown: str = ""
    """Source of a block that is not metadata and is shown as code."""
    language: str = ""
    """Language of ``shown``."""


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
    """The block at the head of a page, whatever its language, or None.

    A line that tells an encoding may stand before it.
    """
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
