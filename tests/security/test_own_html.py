"""The grammar before the sanitiser takes nothing that the sanitiser would change.

Some thousand texts of the million that ``make prove-security`` tries.
"""

import pytest

from tests.security.attack_html import hostile_html
from tests.security.attack_pages import attack_pages
from tests.security.own_html import Writer, html_of, is_taken
from tools.corpora import corpora
from wikisync.markup.record import MarkdownEngine
from wikisync.markup.sanitize import own_tokens

ENGINES: list[MarkdownEngine] = ["comrak", "markdown-it"]


def test_texts_that_are_taken_are_those_that_the_sanitiser_leaves() -> None:
    taken = [is_taken(html) for html in Writer(seed=7).texts(8_000)]
    assert 1_500 < sum(taken) < 4_000


@pytest.mark.parametrize("engine", ENGINES)
def test_examples_of_all_corpora_are_left_or_cleaned(engine: MarkdownEngine) -> None:
    sources = {source for _, examples in corpora() for source, _ in examples}
    taken = [is_taken(html_of(source, engine)) for source in sorted(sources)]
    assert sum(taken) > 100


def test_no_attack_is_taken_that_the_sanitiser_changes() -> None:
    for html in hostile_html():
        is_taken(html)
    for page in attack_pages():
        if page.path.endswith(".md"):
            is_taken(html_of(page.text))


def test_pages_of_the_user_guide_need_no_sanitiser() -> None:
    pages = Writer(seed=1).pages
    assert sum(is_taken(html) for html in pages) > len(pages) * 0.8


@pytest.mark.parametrize(
    "html",
    [
        '<td align="left">x</td>',
        "<table>x</table>",
        "<table>\n<thead>\n\u2003<tr>\n</tr>\n</thead>\n</table>",
        "<p>AT&T</p>",
        "<p>&copy;</p>",
        "<p>a\0b</p>",
        "<p>a\rb</p>",
        "<pre>\n<code>x</code></pre>",
        "<p><p>x</p></p>",
        "<p><ul>\n<li>x</li>\n</ul></p>",
        "<ul>\n<li><strong><li>x</li></strong></li>\n</ul>",
        '<a href="x"><strong><a href="y">z</a></strong></a>',
        "<p>x",
        "x</p>",
        "<>",
        "<p<br />>x</p>",
        "<strong>" * 25 + "x" + "</strong>" * 25,
        '<a href="javascript:x">y</a>',
        '<a href="http://a.1/">y</a>',
        '<a href="http://xn--a/">y</a>',
        '<a href="\\\\x">y</a>',
        '<img src="mailto:x" alt="">',
        '<pre lang="a" lang="b"><code>x</code></pre>',
        '<p id="x">y</p>',
        "<script>x</script>",
        "<!-- x -->",
    ],
)
def test_html_that_the_parser_would_change_is_for_the_sanitiser(html: str) -> None:
    assert own_tokens(html) is None
