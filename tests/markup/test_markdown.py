"""The dialect: our rules on markdown-it against the service's own parser."""

import json
import re
import sys
import time
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from tests.support.corpus import corpus_path
from tests.support.markup import CASES, load_cases, load_fixtures, shape
from wikisync.core.model import Slug
from wikisync.errors import RenderError
from wikisync.markup import fast, markdown
from wikisync.markup.context import ParseContext
from wikisync.markup.glfm import engine as own
from wikisync.markup.record import MarkdownEngine

SERVICE_CASES = load_cases("cases.json")
KNOWN_PARITY: dict[str, str] = json.loads((CASES / "parity.json").read_text("utf-8"))
"""Source to the reason why the engines give other HTML; there is none now."""
EXAMPLE = re.compile(
    r"^`{32} example[^\n]*\n(.*?)^\.\n(.*?)^`{32}$", re.DOTALL | re.MULTILINE
)


ENGINES: tuple[MarkdownEngine, ...] = ("markdown-it", "comrak")


def to_html(source: str, engine: MarkdownEngine = "markdown-it") -> str:
    """What one engine and the steps around it give."""
    if engine == "comrak":
        pytest.importorskip("comrak")
    return markdown.to_html(source, ParseContext(Slug("home"), engine=engine))


def without_heading_ids(html: str) -> str:
    """The service's parser writes ids and anchors; here a filter does."""
    html = re.sub(r'<a href="#[^"]*" aria-label="[^>]*class="anchor"></a>', "", html)
    return re.sub(r'(<h\d) id="user-content-[^"]*"', r"\1", html)


@pytest.mark.parametrize("case", SERVICE_CASES, ids=lambda case: case["source"])
def test_snippet_gives_the_service_html(case: dict[str, str]) -> None:
    html = own.parse(case["source"])
    is_equal = shape(html) == shape(without_heading_ids(case["html"]))
    assert is_equal is (case["source"] not in KNOWN_PARITY)


def test_agreement_is_what_the_documentation_says() -> None:
    assert len(SERVICE_CASES) == 179
    assert not KNOWN_PARITY


@pytest.mark.parametrize("case", SERVICE_CASES, ids=lambda case: case["source"])
def test_fast_engine_is_the_service_parser(case: dict[str, str]) -> None:
    pytest.importorskip("comrak")
    assert shape(fast.parse(case["source"])) == shape(without_heading_ids(case["html"]))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("title", "source", "html"), load_fixtures("dialect.txt"))
def test_rule_of_the_dialect(
    title: str, source: str, html: str, engine: MarkdownEngine
) -> None:
    assert shape(to_html(source, engine)) == shape(html), title


def test_absent_engine_is_an_error_that_names_the_extra(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fast, "is_installed", lambda: False)
    with pytest.raises(RenderError, match="its extra fast"):
        markdown.to_html("x", ParseContext(Slug("home"), engine="comrak"))
    assert markdown.parser_for("x", "auto") is own.parse


def test_very_wide_table_goes_to_the_engine_that_limits_its_cells() -> None:
    pytest.importorskip("comrak")
    table = "|a" * 500 + "\n" + "|-" * 500 + "\n" + "|b\n" * 500
    assert markdown.parser_for(table, "comrak") is own.parse
    assert markdown.parser_for(table[:900], "comrak") is fast.parse


@pytest.mark.parametrize(
    "piece",
    [
        *("a\n: b\n\n", "$`a", "<http://a", "a\n : b\n\n", ">>> [!note]\n"),
        *(">>>> \t[!tip] x\n", "a@b.c "),
    ],
)
def test_page_that_costs_the_fast_engine_square_time_goes_to_our_own(
    piece: str,
) -> None:
    pytest.importorskip("comrak")
    assert markdown.parser_for(piece * 501, "comrak") is own.parse
    assert markdown.parser_for(piece * 400, "comrak") is fast.parse


def test_page_of_many_names_of_users_costs_nothing_of_the_kind() -> None:
    pytest.importorskip("comrak")
    assert markdown.parser_for("@user " * 9_000, "comrak") is fast.parse


@pytest.mark.parametrize(
    "position",
    ["", "x", "1", "1:", "0:1-1:9", "9:1-9:9", "1:0-1:9", "1:99", "9" * 5_000 + ":1"],
)
def test_position_that_a_page_writes_itself_is_no_place_of_a_sign(
    position: str,
) -> None:
    """Raw HTML can look like the parser's own marks."""
    pytest.importorskip("comrak")
    page = (
        f'<li class="task-list-item" data-sourcepos="{position}"><input type="checkbox"'
        ' class="task-list-item-checkbox" checked="" disabled="" /></li>\n\n[x]\n'
    )
    assert "data-sign" not in fast.parse(page)


def examples(path: Path) -> list[tuple[str, str]]:
    """Source and HTML of each example of a specification's text."""
    text = path.read_text("utf-8").replace("→", "\t")
    return [(match[1], match[2]) for match in EXAMPLE.finditer(text)]


def as_commonmark(html: str) -> str:
    """Our HTML with the dialect's own spelling taken out."""
    html = re.sub(r"<span data-escaped-char>(.*?)</span>", r"\1", html)
    html = re.sub(r' data-meta="[^"]*"', "", html)
    return re.sub(
        r'<pre lang="([^"]*)"><code>', r'<pre><code class="language-\1">', html
    )


NOT_COMMONMARK = {
    "[link](/my uri)\n": "a target with spaces is a link in a wiki",
    "<https://foo.bar/baz bim>\n": "bare addresses are links",
    "< https://foo.bar >\n": "bare addresses are links",
    "https://example.com\n": "bare addresses are links",
    "foo@bar.example.com\n": "bare addresses are links",
    '![[foo]]\n\n[[foo]]: /url "title"\n': "two brackets are a wiki link",
    '[[*foo* bar]]\n\n[*foo* bar]: /url "title"\n': "two brackets are a wiki link",
}


def test_commonmark_examples_hold_where_the_dialect_says_nothing_else() -> None:
    found = examples(corpus_path("commonmark/spec-0.31.2.txt"))
    wrong = {
        source
        for source, html in found
        if shape(as_commonmark(to_html(source))) != shape(html)
    }
    assert len(found) == 655
    assert wrong == set(NOT_COMMONMARK)


def test_engine_alone_holds_every_commonmark_example() -> None:
    engine = MarkdownIt("commonmark")
    found = examples(corpus_path("commonmark/spec-0.31.2.txt"))
    wrong = [
        source for source, html in found if shape(engine.render(source)) != shape(html)
    ]
    assert wrong == []


@pytest.mark.parametrize(
    "name", ["commonmark/spec-0.31.2.txt", "commonmark/gfm-spec-0.29.txt"]
)
def test_both_engines_give_the_same_structure(name: str) -> None:
    differing = {
        source
        for source, _ in examples(corpus_path(name))
        if shape(to_html(source)) != shape(to_html(source, "comrak"))
    }
    assert differing <= set(KNOWN_PARITY)


def test_last_signs_of_a_text_are_kept_apart() -> None:
    """A link behind the last formula, and a formula behind the last bracket."""
    html = to_html("$`a`$ [x](y)\n\n[x](y) $`a`$\n")
    assert html.count('<a href="y">x</a>') == 2
    assert html.count(">a</code>") == 2


# -- work, not time ---------------------------------------------------------------

HOSTILE = [
    *("[a", "![a", "[a](", "[[a", "[[a|", "[a](b c", "$a", "$`a", "$$a ", "$a\\"),
    *("a@b", "a.b@c.", "http://a", "http://(", "www.a_", "://", "http://a;&", "> "),
    *(">>>\n", ">>> [!note]\n", "> [!note]\n", "- [ ] ", "- [x] a\n", "a\n: b\n"),
    *("a\n\n: b\n\n", "[^a]", "[^a]: b\n\n", "*a **b ", "**a *", "~a ~~b ", "`a``b```"),
    *("<!--", "<a ", "<a b='", "<?", "<![CDATA[", "&a", "\\", "|a", "{+ a", ":a:"),
    *("**字！", "- [^a]:\n", "- >>>\n  a\nb\n"),
]


def calls_for(source: str) -> int:
    """Calls of Python functions that parsing takes: the same on every machine."""
    count = 0

    def note(*_: object) -> None:
        nonlocal count
        count += 1

    sys.setprofile(note)
    try:
        to_html(source)
    finally:
        sys.setprofile(None)
    return count


def cpu_s(source: str) -> float:
    """Processor time of our own engine, without what a busy machine adds."""
    own.parse("warm")
    found = []
    for _ in range(3):
        start = time.process_time()
        own.parse(source)
        found.append(time.process_time() - start)
    return min(found)


@pytest.mark.parametrize(
    ("piece", "end"),
    [
        ("http://a_b", ""),
        ("a://b](", ""),
        ("(www.a_", ""),
        ("a", " a@b.c"),
        ("[^a", "]\n\n[^b]: x"),
        ("$`a ", ""),
    ],
)
def test_no_text_is_looked_through_again_and_again(piece: str, end: str) -> None:
    """Searches of a library do not show as calls: eight times the page takes about
    eight times as long, and took 30 to 60 times where each place looked to the end.
    """
    count = 8_000 // len(piece)
    assert cpu_s(piece * count * 8 + end) < 20 * cpu_s(piece * count + end) + 0.01


@pytest.mark.parametrize("piece", HOSTILE)
def test_work_grows_as_the_page_does(piece: str) -> None:
    """Twice the page takes at most 2.6 times the calls."""
    size = max(1, 600 // len(piece))
    once, twice = calls_for(piece * size), calls_for(piece * size * 2)
    assert twice <= 2.6 * once + 1_000
