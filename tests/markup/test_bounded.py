"""Pages in a process of their own: the same result, an end to every wait."""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest

from wikisync.core.model import Format, Page, Slug
from wikisync.errors import RenderError
from wikisync.markup.bounded import BoundedParser, Wish, bounded_parser
from wikisync.markup.context import Include
from wikisync.markup.page import parse_page
from wikisync.markup.record import AsciidocEngine, MarkdownEngine, MarkupOptions

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


def test_includes_are_asked_of_the_caller(parser: BoundedParser) -> None:
    page = Page(Slug("a"), Format.MARKDOWN, "::include{file=x}\n\n::include{file=y}\n")
    texts = {"x": "from x"}
    parsed = parser.parse(page, include=texts.get)
    assert parsed == parse_page(page, include=texts.get)
    assert "from x" in parsed.sections[0].text


def test_failing_include_is_the_callers_error_and_leaves_no_half_answer(
    parser: BoundedParser,
) -> None:
    def fail(target: str) -> str | None:
        raise KeyError(target)

    page = Page(Slug("a"), Format.MARKDOWN, "::include{file=x}\n")
    with pytest.raises(KeyError):
        parser.parse(page, include=fail)
    assert parser.parse(PAGE) == parse_page(PAGE)


@pytest.mark.parametrize("engine", ["comrak", "markdown-it"])
def test_page_over_its_time_is_shown_as_source(engine: MarkdownEngine) -> None:
    """In a parser that is Python's as well as in one that is not."""
    with closing(BoundedParser(seconds_max=0.0)) as parser:
        page = Page(Slug("slow"), Format.MARKDOWN, "*a* [b](c) " * 10_000)
        parsed = parser.parse(page, MarkupOptions(engine=engine))
        assert parsed.is_source
        assert parsed.breach == "time"
        assert "longer than 0 seconds of processor" in parsed.problems[0].message
        (made,) = parser.make_all(
            [Wish(page, MarkupOptions(engine=engine), seconds_max=60)]
        )
        assert made == parse_page(page, MarkupOptions(engine=engine))


def test_parser_that_was_closed_is_prepared_again() -> None:
    with closing(BoundedParser()) as parser:
        parser.parse(PAGE)
        parser.close()
        parser.prepare()
        (worker,) = parser._workers
        with worker._lock:
            assert worker._process is not None


def test_as_many_workers_are_prepared_as_are_named_and_no_more() -> None:
    with closing(BoundedParser()) as parser:
        parser.prepare()
        parser.prepare(2)
        one, other = parser._workers
        for worker in (one, other):
            with worker._lock:
                assert worker._process is not None


def test_page_may_have_less_time_than_the_parser_gives(parser: BoundedParser) -> None:
    page = Page(Slug("slow"), Format.REST, "a\n\n----\n\n" * 10_000)
    (parsed,) = parser.make_all([Wish(page, MarkupOptions(), seconds_max=0.1)])
    assert parsed.breach == "time"
    assert "longer than 0.1 seconds" in parsed.problems[0].message


def test_time_that_others_take_of_the_machine_does_not_count() -> None:
    """The worker waits for longer than its limit, and takes nothing meanwhile."""
    with closing(BoundedParser(seconds_max=0.2)) as parser:
        page = Page(Slug("a"), Format.MARKDOWN, "::include{file=x}\n")

        def wait(_target: str) -> str:
            threading.Event().wait(0.5)
            return "text"

        assert not parser.parse(page, include=wait).is_source


def test_worker_that_gives_no_answer_is_ended_by_the_clock() -> None:
    with closing(BoundedParser(wait_seconds_max=0.2)) as parser:
        page = Page(Slug("a"), Format.MARKDOWN, "::include{file=x}\n")

        def stop(_target: str) -> str:
            assert parser._workers[0]._process is not None
            os.kill(parser._workers[0]._process.pid, signal.SIGSTOP)
            return "text"

        parsed = parser.parse(page, include=stop)
        assert parsed.breach == "lost"
        assert "no answer in 0.2 seconds" in parsed.problems[0].message


@pytest.mark.skipif(sys.platform != "linux", reason="needs RLIMIT_DATA")
def test_page_whose_substitutions_double_is_out_of_memory_before_the_machine() -> None:
    with closing(BoundedParser(seconds_max=60.0)) as parser:
        lines = [f".. |a{n}| replace:: |a{n - 1}| |a{n - 1}|\n" for n in range(1, 40)]
        source = "\n".join([".. |a0| replace:: x\n", *lines, "|a39|\n"])
        parsed = parser.parse(Page(Slug("a"), Format.REST, source))
        assert parsed.breach == "memory"
        assert parser.parse(PAGE) == parse_page(PAGE)


@pytest.mark.parametrize("engine", ["quickjs", "mini-racer", "asciidoc3"])
def test_asciidoc_page_over_its_time_is_shown_as_source(engine: AsciidocEngine) -> None:
    """The engine is a process too, whose time counts."""
    with closing(BoundedParser()) as parser:
        options = MarkupOptions(asciidoc_engine=engine)
        page = Page(Slug("a"), Format.ASCIIDOC, "== A\n\nx\n\n" * 8_000)
        (parsed,) = parser.make_all([Wish(page, options, seconds_max=0.2)])
        assert parsed.breach == "time"
        message = parsed.problems[0].message
        assert message.endswith("0.2 s of processor time (it has 72,000 bytes)")
        assert "(it has 72,000 bytes)" in parsed.parts[0]
        good = Page(Slug("a"), Format.ASCIIDOC, "= T\n\n_x_\n")
        assert not parser.parse(good, options).is_source


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
    assert parsed.breach == "memory"
    assert parser.parse(PAGE) == parse_page(PAGE)
    parser.close()


@pytest.mark.skipif(sys.platform != "linux", reason="needs RLIMIT_DATA")
def test_very_long_tag_is_cut_within_the_memory_of_a_page() -> None:
    source = f"++++\n<p{' b' * 495_000}>t</p>\n++++\n"
    with closing(BoundedParser(seconds_max=60.0)) as parser:
        parsed = parser.parse(Page(Slug("a"), Format.ASCIIDOC, source))
    assert parsed.breach is None
    assert "has more than 200 attributes" in parsed.problems[0].message


@pytest.mark.skipif(sys.platform != "linux", reason="needs RLIMIT_DATA")
def test_worker_that_has_held_much_memory_is_followed_by_another() -> None:
    ours = bytearray(200 << 20)  # what this process holds is not the worker's
    parser = BoundedParser(seconds_max=60.0, memory_bytes_max=160 << 20)
    parser.parse(PAGE)
    del ours
    assert parser._workers[0]._process is not None
    first = parser._workers[0]._process.pid
    parser.parse(PAGE)
    assert parser._workers[0]._process.pid == first
    assert not parser.parse(
        Page(Slug("a"), Format.MARKDOWN, "`a` " * 120_000)
    ).is_source
    parser.parse(PAGE)
    assert parser._workers[0]._process.pid != first
    parser.close()


def test_worker_that_dies_costs_one_page() -> None:
    parser = BoundedParser()
    include_kills = Page(Slug("a"), Format.MARKDOWN, "::include{file=x}\n")

    def kill(_target: str) -> str | None:
        assert parser._workers[0]._process is not None
        os.kill(parser._workers[0]._process.pid, signal.SIGKILL)
        parser._workers[0]._process.wait()
        return "text"

    assert (
        "ended without a word"
        in parser.parse(include_kills, include=kill).problems[0].message
    )
    assert parser.parse(include_kills, include=kill).breach == "lost"
    assert parser.parse(PAGE) == parse_page(PAGE)
    parser.close()


def test_pages_that_come_together_cost_each_other_nothing() -> None:
    """The second has no time and ends the worker; the third goes to the next one."""
    pages = [Page(Slug(f"p{n}"), Format.MARKDOWN, f"*{n}* " * 20_000) for n in range(4)]
    wishes = [
        Wish(page, MarkupOptions(), seconds_max=0 if page.slug == "p1" else None)
        for page in pages
    ]
    with closing(BoundedParser()) as parser:
        made = parser.make_all(wishes)
    assert [one.breach for one in made] == [None, "time", None, None]
    assert [made[n] for n in (0, 2, 3)] == [parse_page(pages[n]) for n in (0, 2, 3)]


def test_each_page_of_several_gets_its_own_includes(parser: BoundedParser) -> None:
    page = Page(Slug("a"), Format.MARKDOWN, "::include{file=x}\n")
    texts: list[Include] = [lambda _: "first", lambda _: "second"]
    wishes = [Wish(page, MarkupOptions(), text) for text in texts]
    made = parser.make_all(wishes)
    assert [one.sections[0].text for one in made] == ["first", "second"]


@pytest.mark.skipif(sys.platform != "linux", reason="needs RLIMIT_DATA")
def test_worker_that_has_held_much_memory_gives_its_other_pages_to_the_next() -> None:
    greedy = Page(Slug("greedy"), Format.MARKDOWN, "`a` " * 120_000)
    with closing(BoundedParser(memory_bytes_max=160 << 20)) as parser:
        parser.parse(PAGE)
        before = pid_of(parser)
        other = Page(Slug("other"), Format.RDOC, "= T\n")
        made = parser.make_all([Wish(one, MarkupOptions()) for one in (greedy, other)])
        assert not made[0].is_source
        assert made[1] == parse_page(other)
        assert pid_of(parser) != before


def pid_of(parser: BoundedParser) -> int:
    process = parser._workers[0]._process
    assert process is not None
    return process.pid


def test_machine_without_processes_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "wikisync.core.system.processes.sys.executable", "/nowhere/python"
    )
    with pytest.raises(RenderError, match="cannot start a process"):
        BoundedParser().parse(PAGE)


def test_threads_that_parse_at_once_have_a_process_each() -> None:
    both = threading.Barrier(2)
    wants_text = Page(Slug("a"), Format.MARKDOWN, "::include{file=x}\n")

    def meet(_target: str) -> str:
        both.wait(60)
        return "text"

    with closing(BoundedParser()) as parser, ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda page: parser.parse(page, include=meet), [wants_text] * 2))
        assert len(parser._workers) == 2
        parser.parse(PAGE)
        assert len(parser._workers) == 2


def test_process_has_one_parser() -> None:
    assert bounded_parser() is bounded_parser()
