"""Org as the service shows it, and on input that means harm."""

import itertools
import re
import time
from collections.abc import Mapping

import pytest

from tests.support.markup import load_fixtures
from wikisync.core.model import Slug
from wikisync.markup.context import ParseContext
from wikisync.markup.org.document import to_html


def html_of(source: str, pages: Mapping[str, str] | None = None) -> str:
    """HTML without the line ends that stand beside a tag."""
    context = ParseContext(Slug("home"))
    if pages is not None:
        context = ParseContext(Slug("home"), include=pages.get)
    return re.sub(r"\n(?=<)|(?<=>)\n", "", to_html(source, context).strip("\n"))


FIXTURES = load_fixtures("org.txt")


@pytest.mark.parametrize(
    ("source", "html"), [one[1:] for one in FIXTURES], ids=[one[0] for one in FIXTURES]
)
def test_headlines_blocks_and_tables(source: str, html: str) -> None:
    assert html_of(source) == html


@pytest.mark.parametrize(
    ("source", "html"),
    [
        ("*b* /i/ _u_ +d+", "<b>b</b> <i>i</i> <u>u</u> <del>d</del>"),
        ("=c= ~v~", "<code>c</code> <code>v</code>"),
        ("non-~nil~ -*b* x—~y~ (~z~)", "non-~nil~ -*b* x—~y~ (<code>z</code>)"),
        ("2*3*4 a/b/c snake_case_x", "2*3*4 a/b/c snake_case_x"),
        ("a* *b * c", "a* *b * c"),
        ("**a** b", "**a** b"),
        ("*a /b/ c*", "<b>a /b/ c</b>"),
        ("*a\nb* *a\nb\nc*", "<b>a\nb</b> *a\nb\nc*"),
        ("=<a>= ~*b*~", "<code>&lt;a&gt;</code> <code>*b*</code>"),
        ('=a,= ="= =,= *c*[d]', "=a,= =”= =,= *c*[d]"),
        ("^{o} a_{b} c^{d} {e}_f", "<sup>o</sup> a<sub>b</sub> c<sup>d</sup> {e}_f"),
        ("a \\\\ \\\"b\\\" c\\-d", "a \\ &quot;b&quot; c-d"),
        ("\\alpha{}x \\rarr \\nosuch", "αx → \\nosuch"),
        ("\\geq C:\\target\\map \\and", "≥ C:\\target\\map \\and"),
        ("a -- b --- c...", "a – b — c…"),
        ("a ---- b ----- c.... d", "a ---- b ----- c.... d"),
        ("a . . . b . . . . c", "a … b . . . . c"),
        ("\"a\" 'b' it's", "“a” ‘b’ it’s"),
        ("a\\\\\nb", "a<br>b"),
        ("x @@html:<b>@@y@@html:</b>@@@@latex:z@@", "x <b>y</b>"),
        ("\\(x<y\\)", '<span data-math-style="inline">x&lt;y</span>'),
        ("\\[x\\]", '<span data-math-style="display">x</span>'),
        ("a $x<y$, $$z$$", ('a <span data-math-style="inline">x&lt;y</span>,'
         ' <span data-math-style="display">z</span>')),
        ("$5 and $6, US$7, a$b$c $x $", "$5 and $6, US$7, a$b$c $x $"),
        ("[[page]] [[page][a *w* /c/]] [[page][=m=]]",
         ('<a href="page">page</a> <a href="page">a <b>w</b> /c/</a>'
         ' <a href="page">=m=</a>')),
        ("[[file:a.org::*H][x]]", '<a href="a.org">x</a>'),
        ("[[file:a.c][file:a.c]]", '<a href="a.c">a.c</a>'),
        ("[[file:a.c][file:::]]", '<a href="a.c">file:::</a>'),
        ("[[*A: Heading!]]", '<a href="*A%3A Heading!">*A: Heading!</a>'),
        ("[[#own]]", '<a href="#own">#own</a>'),
        ("[[file:a.png]]", '<img src="a.png" alt="a.png">'),
        ("[[http://a.b][file:c.png]]",
         '<a href="http://a.b"><img src="c.png" alt="c.png"></a>'),
        ("<http://a.b> http://a.b", '<a href="http://a.b">http://a.b</a> http://a.b'),
        ("[[http://a.b][[[http://c.d]] x]]",
         '<a href="http://a.b">[[http://c.d</a> x]]'),
        ("[[a[0]][b]]", "[[a[0]][b]]"),
        ("src_sh{echo 1}", "src_sh{echo 1}"),
        ("a <<spot>>", 'a <a id="user-content-spot"></a>'),
        ("[fn:1]", "[fn:1]"),
        ("<b> & {{{none}}} [2026-01-01 Thu]",
         "&lt;b&gt; &amp; {{{none}}} [2026-01-01 Thu]"),
    ],
)  # fmt: skip
def test_text(source: str, html: str) -> None:
    assert html_of(f"{source}") == f"<p>{html}</p>"


def test_footnotes_are_shown_where_the_page_asks_for_them() -> None:
    html = html_of("#+OPTIONS: f:t\na[fn:1] b[fn:x:in /line/]\n\n[fn:1] text")
    assert 'a<sup><a id="user-content-fnr.1" class="footref" href="#fn.1">1</a>' in html
    assert '<a id="user-content-fn.1" class="footnum" href="#fnr.1">1</a></sup>' in html
    assert 'href="#fnr.x">x</a></sup> in <i>line</i></p></div>' in html


def test_notes_without_a_name_get_numbers_that_are_free() -> None:
    html = html_of("#+OPTIONS: f:t\na[fn::x] b[fn::y]\n\n[fn:1] z")
    assert 'href="#fn.2">2</a></sup> b<sup>' in html
    assert 'href="#fn.3">3</a></sup></p>' in html
    assert 'href="#fnr.3">3</a></sup> y</p></div>' in html


@pytest.mark.parametrize(
    ("settings", "text", "html"),
    [
        ("OPTIONS: tex:nil", "$x$ \\(y\\)", "<p>$x$ \\(y\\)</p>"),
        ("OPTIONS: tex:nil", "\\begin{math}\nz", "<p>\\begin{math}\nz</p>"),
        ("OPTIONS: ^:nil e:nil", "a_{b} \\alpha", "<p>a_{b} \\alpha</p>"),
        ("OPTIONS: \\n:t", "a\nb", "<p>a<br>b</p>"),
        ("OPTIONS: num:3", "* A", "<h1>A</h1>"),
        ("MACRO: b #+HTML: <big>$1</big>", "{{{b(a)}}}", "<p><big>a</big></p>"),
        ("MACRO: v (eval (shell))", "{{{v}}}", "<p>{{{v}}}</p>"),
    ],
)
def test_setting_of_the_page_is_followed(settings: str, text: str, html: str) -> None:
    assert html_of(f"#+{settings}\n{text}") == html


def test_abbreviation_of_a_link_is_written_out() -> None:
    source = "#+LINK: bug http://b.c/%s\n[[bug:7]] [[bug:8][eight]]"
    assert 'href="http://b.c/7">http://b.c/7<' in html_of(source)
    assert 'href="http://b.c/8">eight<' in html_of(source)
    assert 'href="http://b.c/9"' in html_of(f"{source} [[bug::9]]")


def test_link_to_a_target_leads_there() -> None:
    html = html_of("[[a spot]]\n\n<<A Spot>>")
    assert '<a href="#A-Spot">a spot</a>' in html
    assert '<a id="user-content-A-Spot"></a>' in html


def test_link_to_a_line_of_code_leads_to_the_code() -> None:
    source = "[[(sc)]] [[(sc)][it]]\n\n#+begin_src c\nx;  (ref:sc)\n#+end_src\n"
    html = html_of(source)
    assert '<a href="#coderef-sc">(sc)</a> <a href="#coderef-sc">it</a>' in html
    assert '<a id="user-content-coderef-sc"></a><pre' in html


def test_macro_is_replaced_by_its_text() -> None:
    source = "#+TITLE: T\n#+MACRO: two *$1* and $2\n{{{two(a, b)}}} of {{{title}}}"
    assert "<p><b>a</b> and b of T</p>" in html_of(source)


def test_macro_that_stands_for_itself_ends() -> None:
    source = "#+MACRO: m {{{m}}}{{{m}}}\n{{{m}}}"
    assert len(html_of(source)) < 20_000


def test_include_brings_in_a_page_of_the_wiki() -> None:
    pages = {"sub/a.org": '#+INCLUDE: "b.org"\n', "sub/b.org": "* B"}
    assert html_of('#+INCLUDE: "sub/a.org"', pages) == "<h1>B</h1>"


def test_include_that_nothing_answers_parts_what_is_around_it() -> None:
    html = html_of('- a\n#+INCLUDE: "b.org"\n- c')
    assert html == "<ul><li>a</li></ul><ul><li>c</li></ul>"


def test_include_as_code_is_shown_as_it_is() -> None:
    html = html_of('#+INCLUDE: "a.py" src python', {"a.py": "* x"})
    assert html == '<pre data-canonical-lang="python"><code>* x</code></pre>'


def test_include_that_is_missing_is_told_in_the_page() -> None:
    html = html_of("#+INCLUDE: gone.org", {})
    assert html == "<p><b>[ERROR: #+INCLUDE: gone.org - not found]</b></p>"


def test_include_of_itself_ends() -> None:
    html = html_of("#+INCLUDE: me.org", {"me.org": "again\n\n#+INCLUDE: me.org"})
    assert html.count("again") == 3
    assert html.count("ERROR") == 1


def test_includes_are_counted() -> None:
    html = html_of("#+INCLUDE: a.org\n\n" * 40, {"a.org": "text"})
    assert html.count("text") == 32


def test_directive_in_code_includes_nothing() -> None:
    source = "#+begin_src org\n#+INCLUDE: a.org\n#+end_src"
    assert "INCLUDE" in html_of(source, {"a.org": "text"})


def test_lone_page_includes_nothing() -> None:
    assert html_of("#+INCLUDE: /etc/passwd\nx") == "<p>x</p>"


MARKERS = ["*", "/", "_", "=", "~", "[", "]", "{", "}", "<", "\\", "|", "#", ":", "-"]
SNIPPETS = [
    *("[[", "[[a][", "[[a]]", "[fn::", "{{{", "{{{m(", "@@html:", "\\(", "_{", " *a"),
    *("- ", "  - x\n", "* ", "#+begin_src\n", "#+begin_quote\n", "#+end_quote\n"),
    *(":a:\n", "#+RESULTS:\n", "- x\n\n", "*a\n", "| ", "<<", "- a :: "),
    *("".join(pair) for pair in itertools.permutations("*[{<\\", 2)),
]


RESULTS = pytest.param("#+RESULTS:\n|-\n" * 8_000, id="rules of results")


@pytest.mark.parametrize("snippet", [*MARKERS, *SNIPPETS, RESULTS])
def test_page_of_one_snippet_over_and_over_ends_soon(snippet: str) -> None:
    began = time.process_time()
    html_of(snippet * (1 + 15_000 // len(snippet)))
    assert time.process_time() - began < 4


def test_lists_inside_lists_end_at_a_depth() -> None:
    html = html_of("\n".join(f"{'  ' * depth}- x" for depth in range(300)))
    assert html.count("<ul>") == html.count("</ul>") == 24


def test_blocks_inside_blocks_end_at_a_depth() -> None:
    names = [f"x{number}" for number in range(100)]
    begins = "".join(f"#+begin_{name}\n" for name in names)
    ends = "".join(f"#+end_{name}\n" for name in reversed(names))
    html = html_of(f"{begins}text\n{ends}")
    assert html.count("<div>") == html.count("</div>") == 24
    assert "text" in html
