"""Pages in a process of their own: the same result, an end to every wait."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator

import pytest

from wikisync.errors import RenderError
from wikisync.markup.bounded import BoundedParser, bounded_parser
from wikisync.markup.page import MarkupOptions, parse_page, safe_html, to_html
from wikisync.markup.record import AsciidocEngine, MarkdownEngine
from wikisync.model import Format, Page, Slug

PAGE = Page(Slug("a/b"), Format.MARKDOWN, "# T\n\n[x](y) $a$\n\n```py\nx = 1\n```\n")


@pytest.fixture(scope="module")
def parser() -> Iterator[BoundedParser]:
    made = BoundedParser()
    yield made
    made.close()


@pytest.mark.parametrize("page_format", list(Format))
def test_result_is_that_of_the_plain_function(
    parser: BoundedParser, page_format: Format
) -> None:
    page = Page(PAGE.slug, page_format, PAGE.content, "Given")
    options = MarkupOptions(highlight=False)
    assert parser.parse(page, options) == parse_page(page, options)


def test_earlier_stages_are_those_of_the_plain_functions(
    parser: BoundedParser,
) -> None:
    options = MarkupOptions(engine="markdown-it")
    assert parser.html(PAGE, options, "parse") == to_html(PAGE, options)
    assert parser.html(PAGE, options, "safe") == safe_html(PAGE, options)


def test_refusal_of_an_earlier_stage_is_an_error(parser: BoundedParser) -> None:
    with pytest.raises(RenderError, match="characters of HTML"):
        parser.html(PAGE, MarkupOptions(html_chars_max=1), "safe")
    assert parser.parse(PAGE) == parse_page(PAGE)


def test_includes_are_asked_of_the_caller(parser: BoundedParser) -> None:
    page = Page(Slug("a"), Format.MARKDOWN, "::include{file=x}\n\n::include{file=y}\n")
    texts = {"x": "from x"}
    parsed = parser.parse(page, include=texts.get)
    assert parsed == parse_page(page, include=texts.get)
    assert "from x" in parsed.text


def test_failing_include_is_the_callers_error_and_leaves_no_half_answer(
    parser: BoundedParser,
) -> None:
    def fail(target: str) -> str | None:
        raise KeyError(target)

    page = Page(Slug("a"), Format.MARKDOWN, "::include{file=x}\n")
    with pytest.raises(KeyError):
        parser.parse(page, include=fail)
    assert parser.parse(PAGE) == parse_page(PAGE)


def test_page_over_its_deadline_is_shown_as_source() -> None:
    parser = BoundedParser(seconds_max=0.0)
    page = Page(Slug("slow"), Format.MARKDOWN, "*a* [b](c) " * 50_000)
    parsed = parser.parse(page)
    assert parsed.is_source
    assert "longer than 0 seconds" in parsed.problems[0].message
    parser.close()


@pytest.mark.skipif(sys.platform != "linux", reason="needs RLIMIT_DATA")
@pytest.mark.parametrize("engine", ["comrak", "markdown-it"])
def test_page_that_eats_memory_is_shown_as_source_and_the_next_one_is_not(
    engine: MarkdownEngine,
) -> None:
    parser = BoundedParser(seconds_max=60.0, memory_bytes_max=100 << 20)
    page = Page(Slug("greedy"), Format.MARKDOWN, "[[a]] *b* " * 100_000)
    parsed = parser.parse(page, MarkupOptions(engine=engine))
    assert parsed.is_source
    assert "too much memory" in parsed.problems[0].message
    assert parser.parse(PAGE) == parse_page(PAGE)
    parser.close()


@pytest.mark.skipif(sys.platform != "linux", reason="needs RLIMIT_DATA")
def test_worker_that_has_held_much_memory_is_followed_by_another() -> None:
    ours = bytearray(200 << 20)  # what this process holds is not the worker's
    parser = BoundedParser(seconds_max=60.0, memory_bytes_max=160 << 20)
    parser.parse(PAGE)
    del ours
    assert parser._process is not None
    first = parser._process.pid
    parser.parse(PAGE)
    assert parser._process.pid == first
    assert not parser.parse(
        Page(Slug("a"), Format.MARKDOWN, "`a` " * 120_000)
    ).is_source
    parser.parse(PAGE)
    assert parser._process.pid != first
    parser.close()


@pytest.mark.parametrize("engine", ["quickjs", "mini-racer"])
def test_engines_of_asciidoc_live_within_the_limit(engine: AsciidocEngine) -> None:
    parser = BoundedParser()
    page = Page(Slug("a"), Format.ASCIIDOC, "= T\n\n_x_\n")
    parsed = parser.parse(page, MarkupOptions(asciidoc_engine=engine))
    parser.close()
    assert not parsed.is_source
    assert "<em>x</em>" in "".join(parsed.parts)


def test_worker_that_dies_costs_one_page() -> None:
    parser = BoundedParser()
    include_kills = Page(Slug("a"), Format.MARKDOWN, "::include{file=x}\n")

    def kill(_target: str) -> str | None:
        assert parser._process is not None
        os.kill(parser._process.pid, signal.SIGKILL)
        parser._process.wait()
        return "text"

    assert (
        "ended without a word"
        in parser.parse(include_kills, include=kill).problems[0].message
    )
    assert parser.parse(PAGE) == parse_page(PAGE)
    parser.close()


def test_worker_outlives_an_interrupt_at_the_keyboard(parser: BoundedParser) -> None:
    parser.parse(PAGE)
    assert parser._process is not None
    before = parser._process.pid
    os.kill(before, signal.SIGINT)
    assert parser.parse(PAGE) == parse_page(PAGE)
    assert parser._process.pid == before


def test_machine_without_processes_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wikisync.processes.sys.executable", "/nowhere/python")
    with pytest.raises(RenderError, match="cannot start a process"):
        BoundedParser().parse(PAGE)


def test_process_has_one_parser() -> None:
    assert bounded_parser() is bounded_parser()
