"""Org as the service shows it, and on input that means harm."""

import itertools
import re
import time
from collections.abc import Mapping

import pytest

from wikisync.core.model import Slug
from wikisync.markup.context import ParseContext
from wikisync.markup.org.document import to_html


def html_of(source: str, pages: Mapping[str, str] | None = None) -> str:
    """HTML without the line ends that stand beside a tag."""
    context = ParseContext(Slug("home"))
    if pages is not None:
        context = ParseContext(Slug("home"), include=pages.get)
    return re.sub(r"\n(?=<)|(?<=>)\n", "", to_html(source, context).strip("\n"))


@pytest.mark.parametrize(
    ("source", "html"),
    [
        pytest.param("* A\n** B", "<h1>A</h1><h2>B</h2>", id="headings"),
        pytest.param("******** deep", "<p>deep</p>", id="text below six levels"),
        pytest.param("******* END", "<p>END</p>", id="a word below six levels"),
        pytest.param(
            "******* A\n:PROPERTIES:\n:CUSTOM_ID: b\n:ID: c\n:END:",
            '<p id="user-content-b"><a id="user-content-ID-c"></a>A</p>',
            id="own ids below six levels",
        ),
        pytest.param("#+TITLE: T", '<h1 class="title">T</h1>', id="title"),
        pytest.param("#+TITLE:T\n#+OPTIONS: title:nil", "", id="title is off"),
        pytest.param("* TODO A :tag:b:", "<h1>A</h1>", id="keyword and tags go"),
        pytest.param("* A :#1:", "<h1>A :#1:</h1>", id="other letters are no tag"),
        pytest.param(
            "#+OPTIONS: todo:t\n* DONE A",
            '<h1><span class="done">DONE</span> A</h1>',
            id="keywords are on",
        ),
        pytest.param(
            "#+TODO: WAIT(w@) | GONE\n#+OPTIONS: todo:t\n* WAIT A\n* GONE B\n* TODO C",
            '<h1><span class="todo">WAIT</span> A</h1>'
            '<h1><span class="done">GONE</span> B</h1><h1>TODO C</h1>',
            id="words of the page's own",
        ),
        pytest.param(
            "#+OPTIONS: num:t\n* A\n** B\n* C\n** D",
            "<h1>1 A</h1><h2>1.1 B</h2><h1>2 C</h1><h2>2.1 D</h2>",
            id="numbers are on",
        ),
        pytest.param("* COMMENT A\nx\n** B\n* C", "<h1>C</h1>", id="comment tree"),
        pytest.param(
            "#+EXPORT_EXCLUDE_TAGS: no\n* A :no:\nx\n** B\n* C", "<h1>C</h1>", id="tag"
        ),
        pytest.param(
            "#+EXPORT_SELECT_TAGS: yes\np\n* A\nx\n** B :yes:\ny\n* C",
            "<p>p</p><h1>A</h1><h2>B</h2><p>y</p>",
            id="only chosen trees",
        ),
        pytest.param("#+OPTIONS: skip:t\nx\n* A", "<h1>A</h1>", id="preface is off"),
        pytest.param(
            "* A\n:PROPERTIES:\n:CUSTOM_ID: mine\n:END:\nx",
            '<h1 id="user-content-mine">A</h1><p>x</p>',
            id="own id",
        ),
        pytest.param("* A\nDEADLINE: <2026-01-01>\nx", "<h1>A</h1><p>x</p>", id="plan"),
        pytest.param(
            "*************** TODO Task\nx\n*************** END",
            "<p>Task</p><p>x</p>",
            id="task in a text",
        ),
        pytest.param("#+begin_src org\n* A\n#+end_src\n* B", "<h1>B</h1>", id="code"),
    ],
)
def test_headline(source: str, html: str) -> None:
    assert html in html_of(source)
    assert html_of(source).count("<h1") == html.count("<h1")


@pytest.mark.parametrize(
    ("source", "html"),
    [
        pytest.param("a\nb\n\nc", "<p>a\nb</p><p>c</p>", id="paragraphs"),
        pytest.param("# c\n#+X: y\nx", "<p>x</p>", id="comments and keywords go"),
        pytest.param("-----", "<hr>", id="rule"),
        pytest.param(
            "- a\n  b\n\n  c\n  - d\n- e",
            "<ul><li>a\nb<p>c</p><ul><li>d</li></ul></li><li>e</li></ul>",
            id="list",
        ),
        pytest.param("1. a\n2) b", "<ol><li>a</li><li>b</li></ol>", id="numbers"),
        pytest.param("1. [@4] a", '<ol><li value="4">a</li></ol>', id="counter"),
        pytest.param("- [X] a", "<ul><li>[X] a</li></ul>", id="box is for the filter"),
        pytest.param(
            "- a :: b\n- c :: d",
            "<dl><dt>a</dt><dd>b</dd><dt>c</dt><dd>d</dd></dl>",
            id="descriptions",
        ),
        pytest.param(
            "- a\n\n\n- b", "<ul><li>a</li></ul><ul><li>b</li></ul>", id="two blanks"
        ),
        pytest.param(
            "- a\n  #+begin_example\nx\n  #+end_example\n- b",
            "<ul><li>a<pre><code>x</code></pre></li><li>b</li></ul>",
            id="block that is not indented",
        ),
        pytest.param(
            "#+BEGIN_SRC py :x\n  a <b>\n    c\n#+END_SRC",
            '<pre data-canonical-lang="py"><code>a &lt;b&gt;\n  c</code></pre>',
            id="code",
        ),
        pytest.param(
            "#+begin_src org\n,* a\n,#+b\n,c\n#+end_src",
            '<pre data-canonical-lang="org"><code>* a\n#+b\n,c</code></pre>',
            id="hidden lines",
        ),
        pytest.param("#+begin_src x :exports none\na\n#+end_src", "", id="hidden code"),
        pytest.param(
            "#+begin_src x\na\n#+end_src\n\n#+RESULTS:\n: b\nc",
            '<pre data-canonical-lang="x"><code>a</code></pre><p>c</p>',
            id="results go",
        ),
        pytest.param(
            "#+begin_src x\na\n#+end_src\n#+RESULTS:\n- b\n- c\n\n- d",
            '<pre data-canonical-lang="x"><code>a</code></pre><ul><li>d</li></ul>',
            id="a list of results goes",
        ),
        pytest.param(
            "#+begin_src x\na\n#+end_src\n#+RESULTS:\n\n#+begin_src x\nb\n#+end_src",
            '<pre data-canonical-lang="x"><code>a</code></pre>'
            '<pre data-canonical-lang="x"><code>b</code></pre>',
            id="code behind empty results stays",
        ),
        pytest.param(
            "#+begin_src x\na\n#+end_src\n\n#+RESULTS:\n| b |\n|---|\n| c |",
            '<pre data-canonical-lang="x"><code>a</code></pre>'
            "<table><thead><tr><th>b</th></tr></thead>"
            "<tbody><tr><td>c</td></tr></tbody></table>",
            id="a table of results stays",
        ),
        pytest.param(
            "#+RESULTS: n\n| b |\n| c |",
            "",
            id="a table of results without a rule goes",
        ),
        pytest.param(
            "#+RESULTS:\n#+CAPTION: t\n| b |\n|---|\n| c |",
            "<table><caption>t</caption><thead><tr><th>b</th></tr></thead>"
            "<tbody><tr><td>c</td></tr></tbody></table>",
            id="a table of results stays with its caption",
        ),
        pytest.param(
            "#+RESULTS:\na\n| b |\n|---|\n| c |",
            "<table><thead><tr><th>b</th></tr></thead>"
            "<tbody><tr><td>c</td></tr></tbody></table>",
            id="a table behind a text of results stays",
        ),
        pytest.param(
            "#+RESULTS:\n| a |\n#+begin_quote\nb\n\nc\n#+end_quote\nd",
            "<blockquote><p>b</p><p>c</p></blockquote><p>d</p>",
            id="a quote behind results stays whole",
        ),
        pytest.param(
            "#+RESULTS:\n| a |\n#+begin_src x\nb\n\nc\n#+end_src\nd",
            "<p>d</p>",
            id="code behind results goes whole",
        ),
        pytest.param(
            "#+begin_src x :exports results\na\n#+end_src\n\n#+RESULTS:\n: b",
            "<pre><code>b</code></pre>",
            id="results stay",
        ),
        pytest.param(
            "#+begin_src x\na\n#+end_src\n\n#+RESULTS[ab12]: n\n: b",
            '<pre data-canonical-lang="x"><code>a</code></pre>'
            "<pre><code>b</code></pre>",
            id="results kept with a hash stay",
        ),
        pytest.param(": a\n:  b", "<pre><code>a\n b</code></pre>", id="colons"),
        pytest.param(
            "#+begin_quote\na\n- b\n#+end_quote",
            "<blockquote><p>a</p><ul><li>b</li></ul></blockquote>",
            id="quote",
        ),
        pytest.param(
            "#+begin_center\na\n#+end_center",
            '<div align="center"><p>a</p></div>',
            id="center",
        ),
        pytest.param(
            "#+begin_verse\na\n  /b/\n#+end_verse",
            '<p class="verse">a<br>\u00a0\u00a0<i>b</i></p>',
            id="verse is shown",
        ),
        pytest.param(
            "#+begin_warning\na\n#+end_warning", "<div><p>a</p></div>", id="any block"
        ),
        pytest.param("#+begin_comment\na\n#+end_comment", "", id="comment block"),
        pytest.param("#+begin_html\n<b>x\n#+end_html", "<b>x", id="HTML"),
        pytest.param("#+begin_export html\n<b>x\n#+end_export", "<b>x", id="export"),
        pytest.param("#+begin_export latex\nx\n#+end_export", "", id="other export"),
        pytest.param("#+HTML: <b>x</b>", "<b>x</b>", id="HTML line"),
        pytest.param("#+begin_src\na", "<p>a</p>", id="block without end"),
        pytest.param("a\n#+end_quote\nb", "<p>a</p><p>b</p>", id="end without begin"),
        pytest.param("#+BEGIN: clock\na\n#+END:", "<p>a</p>", id="dynamic block"),
        pytest.param(":NOTE:\na\n:END:\nb", "<p>a</p><p>b</p>", id="drawer is shown"),
        pytest.param(
            "\\begin{align}\na\n\\end{align}",
            '<div data-math-style="display">\\begin{align}\na\n\\end{align}</div>',
            id="TeX",
        ),
        pytest.param(
            "\\begin{abstract}\na\n\\end{abstract}",
            "<p>\\begin{abstract}\na\n\\end{abstract}</p>",
            id="TeX that lays out a text",
        ),
        pytest.param(
            "#+CAPTION[s]: l\n#+RESULTS[0f]:\n: x\n#+TAGS[]: t",
            "<figure><pre><code>x</code></pre><figcaption>l</figcaption></figure>"
            "<p>#+TAGS[]: t</p>",
            id="brackets in keywords",
        ),
        pytest.param(
            "#+CALL: f()\n#+RESULTS:\n: x", "<pre><code>x</code></pre>", id="call"
        ),
        pytest.param(
            "#+CALL: f() :exports none\n#+RESULTS:\n: x", "", id="silent call"
        ),
    ],
)
def test_block(source: str, html: str) -> None:
    assert html_of(source) == html


@pytest.mark.parametrize(
    ("source", "html"),
    [
        pytest.param(
            "| a | b |\n|---+---|\n| 1 | 2 |",
            "<table><thead><tr><th>a</th><th>b</th></tr></thead>"
            "<tbody><tr><td>1</td><td>2</td></tr></tbody></table>",
            id="header",
        ),
        pytest.param(
            "|---|\n| a |\n| b |",
            "<table><tbody><tr><td>a</td></tr><tr><td>b</td></tr></tbody></table>",
            id="no header",
        ),
        pytest.param(
            "| / | < |\n| <r> | <5> |\n| 1 | *2* |\n#+TBLFM: $1=2",
            '<table><tbody><tr><td align="right">1</td><td><b>2</b></td></tr>'
            "</tbody></table>",
            id="groups, widths and formulas",
        ),
        pytest.param(
            "#+CAPTION: The *t*\n#+NAME: t\n| a |",
            "<table><caption>The <b>t</b></caption>"
            "<tbody><tr><td>a</td></tr></tbody></table>",
            id="caption",
        ),
        pytest.param("#+OPTIONS: |:nil\n| a |", "", id="tables are off"),
        pytest.param(
            "| a |\n| b |\n|---|\n| c |\n|---|\n| d |",
            "<table><tbody><tr><td>a</td></tr><tr><th>b</th></tr>"
            "<tr><td>c</td></tr><tr><td>d</td></tr></tbody></table>",
            id="the row above the first rule is the header",
        ),
        pytest.param(
            "|---|\n| a |\n|---|\n| <5> |\n| b |",
            "<table><thead><tr><th>a</th></tr></thead>"
            "<tbody><tr><td>b</td></tr></tbody></table>",
            id="a rule above all rows is none of a header",
        ),
        pytest.param("|-", "", id="rule alone"),
        pytest.param(
            "| a |\n|---|\n\n| b |\n|---|\n| c |",
            "<table><thead><tr><th>a</th></tr></thead>"
            "<tbody><tr><th>b</th></tr><tr><td>c</td></tr></tbody></table>",
            id="one blank line ends no table",
        ),
        pytest.param(
            "| <r> |\n| a |\n\n| b |",
            '<table><tbody><tr><td align="right">a</td></tr>'
            "<tr><td>b</td></tr></tbody></table>",
            id="the part behind a blank line has its own alignment",
        ),
        pytest.param(
            "| a |\n  | b |",
            "<table><tbody><tr><td>a</td></tr></tbody></table>"
            "<table><tbody><tr><td>b</td></tr></tbody></table>",
            id="another column is another table",
        ),
    ],
)
def test_table(source: str, html: str) -> None:
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


@pytest.mark.parametrize(
    ("source", "html"),
    [
        (
            "#+CAPTION: One\n[[file:a.png]]",
            (
                '<figure><img src="a.png" alt="a.png">'
                "<figcaption>One</figcaption></figure>"
            ),
        ),
        (
            "#+CAPTION: One\n: x",
            "<figure><pre><code>x</code></pre><figcaption>One</figcaption></figure>",
        ),
        ("#+CAPTION: One\n\ntext\n\n: x", "<p>text</p><pre><code>x</code></pre>"),
    ],
)
def test_caption_stands_with_what_it_names(source: str, html: str) -> None:
    assert html_of(source) == html


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


@pytest.mark.parametrize(
    ("source", "html"),
    [
        (
            "* A\n:PROPERTIES:\n:ID:  x y\n:END:\nb",
            '<h1><a id="user-content-ID-x-y"></a>A</h1><p>b</p>',
        ),
        (
            "* A\nSCHEDULED: <2026-01-02>\n:PROPERTIES:\n:id: x\n:END:",
            '<h1><a id="user-content-ID-x"></a>A</h1>',
        ),
        (
            "# -*- org -*-\n:PROPERTIES:\n:ID: x\n:END:\n#+TITLE: T\n\nb",
            '<h1 class="title"><a id="user-content-ID-x"></a>T</h1><p>b</p>',
        ),
        (":PROPERTIES:\n:ID: x\n:END:\nb", '<a id="user-content-ID-x"></a><p>b</p>'),
        ("* A\nb\n:PROPERTIES:\n:ID: x\n:END:", "<h1>A</h1><p>b</p>"),
    ],
)
def test_property_id_is_a_place_that_links_lead_to(source: str, html: str) -> None:
    assert html_of(source) == html


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
