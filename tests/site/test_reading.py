"""What a build takes of a page, wherever the page is parsed."""

from __future__ import annotations

from contextlib import closing

import msgspec

from wikisync.markup.bounded import Wish
from wikisync.markup.page import parse_page
from wikisync.markup.record import MarkupOptions, ParsedPage
from wikisync.model import Format, Page, Slug
from wikisync.site.reader import BoundedReader
from wikisync.site.reading import reading_of
from wikisync.site.search_texts import DocumentText
from wikisync.site.search_words import unpacked_words

PAGE = Page(Slug("a/b"), Format.MARKDOWN, "# One\n\nTwo [x](y).\n\n## Three\n\nfour\n")


def test_worker_takes_the_same_of_a_page_as_the_function() -> None:
    with closing(BoundedReader()) as reader:
        made = reader.make_all([Wish(PAGE, MarkupOptions())])
    assert made == [reading_of(parse_page(PAGE))]


def test_texts_lie_beside_the_page_and_not_in_it() -> None:
    parsed = parse_page(PAGE)
    reading = reading_of(parsed)
    kept = msgspec.msgpack.decode(reading.parsed, type=ParsedPage)
    sections = msgspec.msgpack.decode(reading.text, type=DocumentText).sections
    assert msgspec.structs.replace(kept, sections=sections, text=parsed.text) == parsed
    assert (kept.text, kept.sections) == ("", ())
    assert {"one", "two", "three", "four"} <= unpacked_words(reading.words).keys()


def test_digest_of_the_texts_changes_with_title_and_text_alone() -> None:
    other_link, other_text = (
        PAGE.content.replace("(y)", "(z)"),
        PAGE.content.replace("four", "five"),
    )
    titled = f"---\ntitle: Other\n---\n{PAGE.content}"
    digests = [
        reading_of(parse_page(Page(PAGE.slug, PAGE.format, text))).text_digest
        for text in (PAGE.content, other_link, other_text, titled)
    ]
    assert digests[0] == digests[1]
    assert len(set(digests)) == 3
