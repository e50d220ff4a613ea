"""What a build takes of a parsed page: facts, and rows for the cache.  Pure.

It is made where the page is parsed, in a process of its own (``reading_worker``), so
that the build has little to do for each page.
"""

from __future__ import annotations

import hashlib

import msgspec

from wikisync.errors import Breach
from wikisync.markup.record import ParsedPage
from wikisync.model import Problem
from wikisync.site.search_texts import DocumentText
from wikisync.site.search_words import document_words, packed_words
from wikisync.site.titles import (
    SUMMARY_CHARS_MAX,
    TITLE_CHARS_MAX,
    display_title,
    shortened,
)


class Reading(msgspec.Struct, frozen=True, array_like=True):
    """A page that is read."""

    title: str
    """As the page itself shows it."""
    ids: frozenset[str]
    summary: str
    problems: tuple[Problem, ...]
    breach: Breach | None
    parsed: bytes
    """The packed ``ParsedPage`` without its texts."""
    text_digest: bytes
    """Hash of what the search takes from the page: its title, words and texts."""
    words: bytes
    """Its scored words, packed."""
    text: bytes
    """Its packed ``DocumentText``."""


def reading_of(parsed: ParsedPage) -> Reading:
    """What is kept of a page."""
    title = display_title(parsed.title, parsed.slug)
    shown = shortened(title, TITLE_CHARS_MAX)
    words = packed_words(document_words(shown, parsed.sections))
    text = msgspec.msgpack.encode(DocumentText.of(parsed.sections))
    digest = hashlib.sha256(shown.encode("utf-8", "surrogatepass"))
    for part in (words, text):
        digest.update(b"\0" + part)
    return Reading(
        title=title,
        ids=parsed.ids,
        summary=_summary(parsed),
        problems=parsed.problems,
        breach=parsed.breach,
        # sets have another order in every process
        parsed=msgspec.msgpack.encode(
            msgspec.structs.replace(parsed, sections=(), text=""), order="deterministic"
        ),
        text_digest=digest.digest(),
        words=words,
        text=text,
    )


def _summary(parsed: ParsedPage) -> str:
    """Description of the front matter, else how the text begins."""
    given = parsed.meta.get("description")
    found = (one.text for one in parsed.sections if one.text.strip())
    text = given if isinstance(given, str) else next(found, "")
    text = " ".join(text[: 4 * SUMMARY_CHARS_MAX].split())
    return shortened(text, SUMMARY_CHARS_MAX)
