"""No page holds a build up: it ends in time or is shown as source."""

import time
from collections.abc import Iterator
from itertools import islice

import pytest

from tests.markup import prove_hostile
from wikisync.core.model import Format
from wikisync.markup.bounded import BoundedParser
from wikisync.markup.page import parse_page

SECONDS_MAX = 1.0
START_SECONDS = 40
"""Beside the page: a new worker, and AsciiDoc's engine with a clock of its own."""
PAGES_OF_MARKS = 4
OURS = (Format.RDOC, Format.ORG)


@pytest.fixture(scope="module")
def parser() -> Iterator[BoundedParser]:
    parser = BoundedParser(seconds_max=SECONDS_MAX)
    parser.parse(prove_hostile.page_of(Format.RDOC, "started"))
    yield parser
    parser.close()


@pytest.mark.parametrize("page_format", OURS)
def test_own_parsers_render_any_run_of_marks(page_format: Format) -> None:
    """Ten times what a page of prose of that size takes, not ten thousand."""
    for content in prove_hostile.some_pages(page_format, 12):
        began = time.process_time()
        assert not parse_page(prove_hostile.page_of(page_format, content)).is_source
        assert time.process_time() - began < 5, repr(content[:20])


@pytest.mark.parametrize("page_format", OURS)
def test_own_parsers_end_with_any_depth(page_format: Format) -> None:
    for content in prove_hostile.nested(page_format):
        began = time.process_time()
        parse_page(prove_hostile.page_of(page_format, content))
        assert time.process_time() - began < 5, repr(content[:20])


@pytest.mark.parametrize("page_format", [Format.REST, Format.ASCIIDOC])
def test_foreign_parsers_are_cut_off_and_the_source_is_shown(
    parser: BoundedParser, page_format: Format
) -> None:
    deep = islice(prove_hostile.nested(page_format, prove_hostile.PAGE_BYTES // 2), 3)
    pages = [*prove_hostile.some_pages(page_format, PAGES_OF_MARKS), *deep]
    for content in pages:
        began = time.perf_counter()
        parsed = parser.parse(prove_hostile.page_of(page_format, content))
        assert time.perf_counter() - began < SECONDS_MAX + START_SECONDS
        assert not parsed.is_source or parsed.problems


@pytest.mark.parametrize("page_format", prove_hostile.FORMATS)
def test_list_of_hostile_pages_holds_every_mark_and_pair(page_format: Format) -> None:
    pages = prove_hostile.hostile_pages(page_format)
    assert len(pages) > 37 * 37
    assert min(map(len, pages)) > 49_000
