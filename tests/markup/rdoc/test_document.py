"""RDoc against rdoc's own output, and on input that means harm."""

import html
import itertools
import json
import re
import time

import pytest

from tests.support.corpus import corpus_path
from wikisync.core.model import Slug
from wikisync.markup.context import ParseContext
from wikisync.markup.rdoc.blocks import to_html

CONTEXT = ParseContext(Slug("home"))

DIFFERENCES = {
    "l-www": "a link without a scheme would lead into the wiki",
    "l-tidy-rel": "a relative link is a page, not a file of rdoc's own output",
    "x-link-md": "a relative link is a page, not a file of rdoc's own output",
    "m-bom": "a byte order mark is no text",
    "x-tidy-adjacent": "the text behind a link is kept",
    "x-badge": "a picture in a link is a picture, as its writer meant",
}
"""Where we leave the reference, and why; by the name of the case."""


def html_of(source: str) -> str:
    """What the parser makes of a source whose mark and line ends are in order."""
    text = source.removeprefix("\ufeff").replace("\r\n", "\n")
    return to_html(text, CONTEXT)


def canonical(text: str) -> str:
    """Without what carries no meaning: ids, permalinks, white space at blocks."""
    text = re.sub(r' (?:id|class|style)="[^"]*"| type="[aA1]"', "", text)
    text = re.sub(r"</?span>", "", text)
    text = re.sub(r'(?s)(<h\d>)<a href="#label[^>]*>(.*?)</a>(</h\d>)', r"\1\2\3", text)
    text = text.replace(" />", ">").replace("&quot;", '"').replace("&#39;", "'")
    text = text.replace("&gt;", ">")
    blocks = r"\s*(</?(?:p|[uod]l|li|d[td]|pre|h\d|blockquote|hr)\b[^>]*>)\s*"
    return re.sub(blocks, r"\1", text).strip()


def words(text: str) -> list[str]:
    spaced = re.sub(r"</?(?:p|[uod]l|li|d[td]|pre|h\d|br|blockquote|hr)\b", " <", text)
    return html.unescape(re.sub(r"<[^>]*>", "", spaced)).split()


def test_every_case_of_the_reference_comes_out_equal() -> None:
    cases = json.loads(corpus_path("rdoc/cases.json").read_text("utf-8"))
    unequal = {
        case["name"]
        for case in cases
        if canonical(html_of(case["source"])) != canonical(case["html"])
    }
    assert unequal == set(DIFFERENCES)


def test_nearly_all_real_files_have_the_words_of_the_reference() -> None:
    """Those with badges differ: the reference shows their tags as text."""
    folder = corpus_path("rdoc/files")
    reference = json.loads(corpus_path("rdoc/files_html.json").read_text("utf-8"))
    compared = {name: text for name, text in reference.items() if "&lt;img" not in text}
    equal = [
        words(html_of((folder / name).read_text("utf-8"))) == words(text)
        for name, text in compared.items()
    ]
    assert sum(equal) >= 0.98 * len(equal)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        pytest.param("= A *b*", "<h1>A <strong>b</strong></h1>", id="heading"),
        pytest.param("======= deep", "<h6>deep</h6>", id="six levels"),
        pytest.param("== \ntext", "<h2>text</h2>", id="heading on the next line"),
        pytest.param("== \n\ntext", "<h2></h2>\n<p>text</p>", id="empty heading"),
        pytest.param("== \n  \ntext", "<h2>text</h2>", id="heading over blanks"),
        pytest.param("  == \ntext", "<pre>==  text\n</pre>", id="none in code"),
        pytest.param("a\nb\n\nc", "<p>a b</p>\n<p>c</p>", id="paragraphs"),
        pytest.param(
            "[] x] y",
            "<dl>\n<dt></dt>\n<dd>\n<p>x] y</p>\n</dd>\n</dl>",
            id="empty label",
        ),
        pytest.param("a  \nb", "<p>a</p>\n<p>b</p>", id="break"),
        pytest.param("日本\n語", "<p>日本語</p>", id="lines join tight"),
        pytest.param("p\n  x <y>", "<p>p</p>\n<pre>x &lt;y&gt;\n</pre>", id="verbatim"),
        pytest.param("a. x", '<ol type="a">\n<li>\n<p>x</p>\n</li>\n</ol>', id="a."),
        pytest.param("A. x", '<ol type="A">\n<li>\n<p>x</p>\n</li>\n</ol>', id="A."),
        pytest.param("---", "<hr>", id="rule"),
        pytest.param(
            "a::\nb::\n  x",
            "<dl>\n<dt>a</dt>\n<dt>b</dt>\n<dd>\n<p>x</p>\n</dd>\n</dl>",
            id="labels share a description",
        ),
        pytest.param(">>>\n  a", "<blockquote>\n<p>a</p>\n</blockquote>", id="quote"),
        pytest.param(
            ">>> a1_\n  a", "<blockquote>\n<p>a</p>\n</blockquote>", id="word"
        ),
        pytest.param(
            ">>>\n  \na", "<blockquote>\n</blockquote>\n<p>a</p>", id="blanks"
        ),
        pytest.param(">>> a.\nb", "<p>&gt;&gt;&gt; a. b</p>", id="none: a mark"),
        pytest.param(">>> ä", "<p>&gt;&gt;&gt; ä</p>", id="none: another letter"),
        pytest.param(":include: /etc/passwd", "<p>:include: /etc/passwd</p>", id="inc"),
    ],
)
def test_block_comes_out_in_plain_shape(source: str, expected: str) -> None:
    assert html_of(source) == expected + "\n"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("*b* _e_ +c+ +a,b+", "<strong>b</strong> <em>e</em> <code>c</code> +a,b+"),
        ("**b** snake_case_name 2*3*4", "<strong>b</strong> snake_case_name 2*3*4"),
        (r"\*b* \\*b* __x__", "*b* <strong>b</strong> __x__"),
        ("<b>a <i>b</i></b>", "<strong>a <em>b</em></strong>"),
        ("<b>a <i>b</b> c</i>", "<strong>a <em>b</em></strong><em> c</em>"),
        ('<tt>--x "q"</tt>', "<code>--x &quot;q&quot;</code>"),
        ("<u>x</u> &amp;", "&lt;u&gt;x&lt;/u&gt; &amp;amp;"),
        ("a -- b --- c ... (c) (R)", "a – b — c … © ®"),
        ("\"a\" 'b' it's ``c''", "“a” ‘b’ it’s “c”"),
        ("{two words}[page]", '<a href="page">two words</a>'),
        ("a<tt>[b]</tt> <b>c</b>[d]", "a<code>[b]</code> <strong>c</strong>[d]"),
        (
            "+e+[f] <b>g</b>h[i]",
            '<code>e</code>[f] <strong>g</strong><a href="i">h</a>',
        ),
        ("+j+[k][l]", "<code>j</code>[k][l]"),
        ("<b>m</b>[n][<b>o</b>]", "<strong>m</strong>[n][<strong>o</strong>]"),
        (
            "link:/a.rdoc {b}[link://c/d] link:e/f",
            '<a href="a.rdoc">a.rdoc</a> <a href="/c/d">b</a> <a href="e/f">e/f</a>',
        ),
        ("{a}[link:/b/c]", '<a href="/b/c">a</a>'),
        ("{a}[link:///b]", '<a href="b">a</a>'),
        (
            "a[+b+]=c[d] {e}[/_f_/g]",
            'a[<code>b</code>]=<a href="d">c</a> {e}[/<em>f</em>/g]',
        ),
        ("word[page]", '<a href="page">word</a>'),
        ("{x}[doc/a.rdoc#y]", '<a href="doc/a.rdoc#y">x</a>'),
        ("{x}[rdoc-ref:doc/a.rdoc]", '<a href="doc/a.rdoc">x</a>'),
        ("rdoc-ref:X[y]", '<a href="y">X</a>'),
        ("{http://a.b x}[page]", '<a href="page">a.b x</a>'),
        ("a[][page] b[][], c", '<a href="page">a[]</a> b[][], c'),
        ('"<tt>a[b]</tt> x<tt>c[d]</tt>', "“<code>a[b]</code> x<code>c[d]</code>"),
        ("{a}[p]'s +c+'d", '<a href="p">a</a>’s <code>c</code>‘d'),
        ("http://a.b/c--d", '<a href="http://a.b/c--d">a.b/c–d</a>'),
        (r"\http://a.b c:\d", '<a href="http://a.b">a.b</a> c:d'),
        ("a<b></b>", "a"),
        (
            "<tt><code></tt> or <code><tt></code>",
            "<code>&lt;code&gt;</code> or <code>&lt;tt&gt;</code>",
        ),
        ("www.a.b.", '<a href="http://www.a.b">www.a.b</a>.'),
        ("{*b*}[p]", '<a href="p"><strong>b</strong></a>'),
        ("http://a.b/c.png", '<img src="http://a.b/c.png">'),
        (
            '{<img alt="B" src="http://a.b/c.svg">}[http://a.b]',
            '<a href="http://a.b"><img src="http://a.b/c.svg" alt="B"></a>',
        ),
        ('rdoc-image:a.png:alt "x', '<img src="a.png" alt="alt"> “x'),
        (
            "x{*1}[rdoc-label:foottext-1:footmark-1]",
            'x<sup><a id="user-content-footmark-1" href="#foottext-1">1</a></sup>',
        ),
        ("rdoc-label:a:b", '<a id="user-content-b" href="#a">a:b</a>'),
        (
            "rdoc-image:a.png:b://c rdoc-image:http://d:80/e.png:f",
            '<img src="a.png" alt="b://c"> <img src="http://d:80/e.png" alt="f">',
        ),
        ("a<br>b<br/>", "a<br>b&lt;br/&gt;"),
        ("<tt>--a_b</tt><br>\nnext", "<code>--a_b</code><br> next"),
        ("<tt><em>kind</em>_set</tt>", "<code><em>kind</em>_set</code>"),
        (
            "<tt><tt></tt> or <tt><code></tt>",
            "<code>&lt;tt&gt;</code> or <code>&lt;code&gt;</code>",
        ),
        ("a\x00\x01b", "ab"),
    ],
)
def test_marks_and_links_in_a_line(source: str, expected: str) -> None:
    assert html_of(source) == f"<p>{expected}</p>\n"


MARKERS = list("=-*+_[]{}<>\\:.`'\"#|")
SNIPPETS = (
    ["a[b", "*x*", "<b>", "</b>", "<b></i>", "{a}[", "{a}[b", "-_a", "rdoc-ref:x"]
    + ["http:", "www.", ">>>\n", "* ", "1. ", "a:: ", "[a] ", "[a]\n", "a  \n", "== \n"]
    + ["".join(pair) for pair in itertools.permutations("[{<*_+\\:", 2)]
)


@pytest.mark.parametrize("snippet", [*MARKERS, *SNIPPETS])
def test_page_of_one_snippet_over_and_over_ends_soon(snippet: str) -> None:
    """The reference hangs on 6 KB of ``a[b``; time here is linear."""
    began = time.process_time()
    html_of(snippet * (15_000 // len(snippet)))
    assert time.process_time() - began < 4


def test_lists_inside_lists_end_at_a_depth() -> None:
    source = "\n".join(f"{'  ' * depth}* x" for depth in range(500))
    text = html_of(source)
    assert text.count("<ul>") == text.count("</ul>") == 80


def test_quotes_inside_quotes_end_at_a_depth() -> None:
    source = "\n".join(f"{' ' * depth}>>>" for depth in range(500))
    text = html_of(source + "\n" + " " * 500 + "x")
    assert text.count("<blockquote>") == text.count("</blockquote>") == 80
    assert "x" in words(text)


def test_markers_on_one_line_end_at_a_number() -> None:
    assert html_of("* " * 5000 + "x").count("<ul>") == 60


@pytest.mark.parametrize("tag", ["b", "tt"])
def test_tags_inside_each_other_are_read_in_linear_time(tag: str) -> None:
    count = 20_000
    html = html_of(f"<{tag}>" * count + "x" + f"</{tag}>" * count)
    assert "x" in html
