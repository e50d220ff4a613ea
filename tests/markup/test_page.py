"""The pipeline as a whole."""

import re
from contextlib import AbstractContextManager

import msgspec
import pytest

from tests.support.markup import PlainUrls, parse, render
from wikisync.core.model import Format, Page, Slug
from wikisync.errors import RenderError
from wikisync.markup import markdown
from wikisync.markup.links import LinkIndex
from wikisync.markup.page import Source, parse_page, parse_pages
from wikisync.markup.record import MarkdownEngine, MarkupOptions, ParsedPage
from wikisync.markup.resolve import finish_page


def test_parsed_page_survives_a_cache() -> None:
    parsed = parse("---\na: [1, x]\n---\n# T\n[l](x) ![p](uploads/a/b.png)\n\n$x$\n")
    stored = msgspec.json.decode(msgspec.json.encode(parsed), type=ParsedPage)
    index = LinkIndex([Slug("x")])
    again = finish_page(stored, index, PlainUrls())
    assert again == finish_page(parsed, index, PlainUrls())


def test_links_are_open_until_the_index_is_asked() -> None:
    parsed = parse("[a](x) and ![b](y.png)")
    assert len(parsed.parts) == len(parsed.refs) + 1
    assert not any("href" in part or "src" in part for part in parsed.parts)


def test_pages_that_are_parsed_together_are_those_of_each_alone() -> None:
    texts = ["# A\n\n[x](y)\n", "x" * 20, "::include{file=x}\n", "```py\na = 1\n```\n"]
    pages = [Page(Slug(f"p{n}"), Format.MARKDOWN, text) for n, text in enumerate(texts)]
    pages.append(Page(Slug("org"), Format.ORG, "* H\n"))
    include = {"x": "text"}.get
    sources = [
        Source(page, MarkupOptions(source_bytes_max=19 if n == 1 else 99), include)
        for n, page in enumerate(pages)
    ]
    alone = [parse_page(one.page, one.options, include=include) for one in sources]
    assert parse_pages(sources) == alone
    assert [one.is_source for one in alone] == [False, True, False, False, False]


def test_page_without_memory_beside_others_is_parsed_again_alone() -> None:
    given: list[str] = []

    def include(target: str) -> str:
        given.append(target)
        if len(given) == 1:
            raise MemoryError
        return "text"

    page = Page(Slug("a"), Format.MARKDOWN, "::include{file=x}\n")
    made = parse_pages([Source(page, include=include), Source(page)])
    assert made[0].sections[0].text == "text"
    assert given == ["x", "x"]


def test_clock_of_a_page_runs_during_its_own_steps_only() -> None:
    order: list[str] = []

    class Clock(AbstractContextManager[None]):
        def __init__(self, name: str) -> None:
            self.name = name

        def __exit__(self, *_: object) -> None:
            order.append(self.name)

    page = Page(Slug("a"), Format.MARKDOWN, "*x*\n")
    parse_pages([Source(page, clock=Clock("a")), Source(page, clock=Clock("b"))])
    assert order[:4] == ["a", "b", "a", "b"]


@pytest.mark.parametrize("text", ["\ufeff# T\n\nx\n", "# T\r\n\r\nx\r\n", "# T\r\rx\r"])
def test_line_ends_and_byte_order_mark_do_not_show(text: str) -> None:
    assert render(text).html == render("# T\n\nx\n").html


def test_media_element_that_is_left_out_is_a_problem_with_its_line() -> None:
    parsed = parse(
        '# T\n\nx <VIDEO src="v.mp4"></VIDEO>\n\n<audio controls>\n</audio>\n'
    )
    assert [(one.code, one.subject) for one in parsed.problems] == [
        ("html-not-shown", "home:3"),
        ("html-not-shown", "home:5"),
    ]
    assert parsed.problems[0].message == 'the tag <VIDEO src="v.mp4"> is not shown'
    assert "![" in parsed.problems[0].hint


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x\n\na <your-name> b", "<your-name> is no element of HTML and is not shown"),
        ("x\n\nList<String>", "<String> is no element of HTML and is not shown"),
        ("x\n\n<script>\nx\n</script>", "<script> is not shown"),
        ('x\n\n<IFRAME src="y">', '<IFRAME src="y"> is not shown'),
        ("x\n\n<svg><path/></svg>", "<svg> is not shown"),
        ("x\n\n<!-- never\n\ny", "<!-- never has no end: all behind it is hidden"),
        ('<p>x\n\n<p title="a>b</p>', '<p title="a>b</p> is not ended, so it is text'),
    ],
)
@pytest.mark.parametrize("engine", ["comrak", "markdown-it"])
def test_html_that_is_not_shown_is_a_problem(
    text: str, message: str, engine: MarkdownEngine
) -> None:
    (problem,) = parse(text, options=MarkupOptions(engine=engine)).problems
    assert (problem.code, problem.subject) == ("html-not-shown", "home:3")
    assert problem.message == f"the tag {message}"


@pytest.mark.parametrize(
    "text",
    [
        "<Tabs>\n\na\n\n</Tabs>",
        "<font color=red>a <center>b",
        "`<your-name>` &lt;x>",
        "<!-- a <b-c> -->\n\nb <i>x</i>",
        "<p align=center><img src=https://a.b/c.png>",
        '![v](v.mp4)\n\n`<video src="v.mp4">`\n\n    <audio>\n\nvideo\n',
    ],
)
def test_html_whose_text_is_shown_is_no_problem(text: str) -> None:
    assert parse(text).problems == ()


@pytest.mark.parametrize(
    "href",
    ["http://", "http://[host]:port/x", "http://localhost:80800/", "https://a_b/"],
)
def test_address_that_nobody_can_parse_stays_as_written(href: str) -> None:
    """The service keeps it; the sanitiser's parser would drop it without a word."""
    page = render(f'<a href="{href}">x</a> <a>y</a>')
    assert f'<a href="{href}" ' in page.html
    assert page.problems == ()


@pytest.mark.parametrize("page_format", [Format.MARKDOWN, Format.ORG])
@pytest.mark.parametrize("scheme", ["javascript", "data", "roam", "JavaScript"])
def test_address_that_is_not_allowed_leaves_its_words_and_a_problem(
    scheme: str, page_format: Format
) -> None:
    texts = {
        Format.MARKDOWN: "[a link]({0}:x) ![alt]({0}:y) <img alt=w src={0}:z>",
        Format.ORG: '[[{0}:x][a link]]\n\n#+html: <img alt="alt" src="{0}:y">\n'
        '#+html: <img alt="w" src="{0}:z">\n',
    }
    page = render(texts[page_format].format(scheme), page_format)
    assert ">a link</a>" in page.html
    assert ">alt <code>" in page.html
    assert ">w <code>" in page.html
    assert not re.search(r"(href|src)=", page.html)
    assert [one.message for one in page.problems] == [
        f"{scheme}:{name}: addresses of this kind are not allowed" for name in "xyz"
    ]


def test_embedded_picture_is_named_by_its_beginning() -> None:
    page = render(f"![words](data:image/png;base64,{'A' * 5000})")
    assert len(page.html) < 400
    assert len(page.problems[0].message) < 100


def test_value_that_only_quotes_an_address_stays_as_it_is() -> None:
    title = "x href='foo:x' src=foo:y"
    html = render(f'<a title="{title}">a</a>').html
    assert html.replace("&#x27;", "'") == f'<p><a title="{title}">a</a></p>\n'


def test_picture_without_an_address_leaves_its_words() -> None:
    assert "<p>a words b</p>" in render('a <img alt="words"> b').html


def test_links_behind_anchors_closed_by_a_slash_stay() -> None:
    """Each anchor would be open up to the next link, and count for ever."""
    entry = '<a name="r{}" />\n\n## Release\n\n- [a](https://a.b/{}) `c` **d**\n\n'
    text = "".join(entry.format(n, n) for n in range(200))
    html = render(text).html
    assert html.count('<a href="https://a.b/') == html.count("<code>c</code>") == 200
    assert html.count("<strong>d</strong>") == 200
    assert html.count('<a name="r7"></a>') == html.count('<a name="r') / 200 == 1


def test_characters_that_no_html_can_hold_are_replaced() -> None:
    assert "a\ufffdb\ufffdc" in render("a\0b\ud800c").html


@pytest.mark.parametrize(
    ("page", "title"),
    [
        (Page(Slug("a/my-page"), Format.MARKDOWN, "x"), "my page"),
        (Page(Slug("a"), Format.MARKDOWN, "x", "Given"), "Given"),
        (Page(Slug("a"), Format.MARKDOWN, "---\ntitle: Own\n---\n", "Given"), "Own"),
        (Page(Slug("a"), Format.MARKDOWN, "---\ntitle: 3\n---\n", "Given"), "Given"),
    ],
)
def test_title_comes_from_metadata_then_service_then_slug(
    page: Page, title: str
) -> None:
    assert parse_page(page).title == title


@pytest.mark.parametrize(
    ("page_format", "text"),
    [
        (Format.MARKDOWN, "\n# The *whole*  &amp; `more`\n\nx"),
        (Format.MARKDOWN, "The *whole* & `more`\n===\n"),
        (Format.MARKDOWN, "<h1>The whole &amp; more</h1>"),
        (Format.ORG, "#+TITLE: The whole & more\n\n* One\n"),
        (Format.RDOC, "= The whole & more\n\nx\n"),
        (Format.ASCIIDOC, "= The _whole_ & more\n\nx\n"),
        (Format.REST, "The whole & more\n================\n\nx\n"),
    ],
)
def test_heading_that_opens_the_page_is_its_title(
    page_format: Format, text: str
) -> None:
    page = Page(Slug("a/my-page"), page_format, text, "Given")
    assert parse_page(page).title == "The whole & more"


@pytest.mark.parametrize(
    "text", ["## Second level\n", "text\n\n# Later\n", "[TOC]\n\n# Later\n", "# \n"]
)
def test_other_headings_are_no_title(text: str) -> None:
    assert parse_page(Page(Slug("a/my-page"), Format.MARKDOWN, text)).title == "my page"


def test_page_too_large_is_shown_as_source_with_a_notice() -> None:
    page = render("# <b>x</b>\n", options=MarkupOptions(source_bytes_max=5))
    assert "shown as source: it has 11 bytes, more than 5." in page.html
    assert "&lt;b&gt;" in page.html
    assert [problem.code for problem in page.problems] == ["page-not-rendered"]


def test_page_that_blows_up_is_shown_as_source() -> None:
    page = render("*x*\n" * 10, options=MarkupOptions(html_chars_max=50))
    assert "characters of HTML" in page.problems[0].message


def test_table_with_too_many_cells_is_shown_as_source() -> None:
    table = "|a|b|\n|-|-|\n|c|d|\n"
    assert not render(table, options=MarkupOptions(table_cells_max=4)).problems
    page = render(table, options=MarkupOptions(table_cells_max=3))
    assert "4 table cells" in page.problems[0].message


@pytest.mark.parametrize(
    "error", [ValueError("odd"), RecursionError(), RenderError("r")]
)
def test_failure_of_a_parser_is_a_problem_of_the_page(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> str:
        raise error

    monkeypatch.setattr(markdown, "to_html", fail)
    page = parse("<i>text</i>")
    assert "&lt;i&gt;text&lt;/i&gt;" in page.parts[0]
    assert page.problems[0].code == "page-not-rendered"
    assert page.sections[0].text == "<i>text</i>"


def test_text_and_sections_are_there_for_the_search() -> None:
    page = parse(
        "intro `code`\n\n# One\n\ntext[^1] ![alt](x.png){" + 60 * '"' + "}\n\n"
        "## Two & three\n\n- a\n- b\n\n[^1]: note\n"
    )
    assert [(s.id, s.heading, s.text) for s in page.sections] == [
        ("", "", "intro code"),
        ("one", "One", "text alt"),
        ("two--three", "Two & three", "a b note"),
    ]


def test_features_say_what_a_theme_must_bring() -> None:
    text = (
        "```py\nx\n```\n```mermaid\nx\n```\n```plantuml\nx\n```\n```d2\nx\n```\n$x$\n\n"
        "|a|\n|-|\n\n- [ ] t\n\nx[^1] ![v](uploads/a/v.mp4)\n\n[^1]: n\n"
    )
    page = render(text, attachments=["uploads/a/v.mp4"])
    assert page.features == {
        *("code", "mermaid", "plantuml", "kroki", "math", "table", "task"),
        *("footnote", "media"),
    }


def test_ids_are_all_that_a_fragment_can_name() -> None:
    parsed = parse('# A\n<a name="b"></a> x[^c]\n\n[^c]: n\n')
    assert parsed.ids == {"a", "b", "fnref-c", "fn-c"}


def test_every_filter_leaves_well_formed_html() -> None:
    from tests.support.markup import load_cases
    from wikisync.markup.tokens import Document

    for case in load_cases("cases.json"):
        html = render(case["source"]).html
        document = Document(html)
        opened = sum(len(places) for places in document.starts.values())
        assert len(document.close) == opened, case["source"]
        assert "".join(document.html) == html
