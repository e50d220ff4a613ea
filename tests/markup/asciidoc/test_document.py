"""AsciiDoc as the service shows it; the real engine in its real process."""

import re
from collections.abc import Mapping
from contextlib import closing

import pytest

from wikisync.core.model import Slug
from wikisync.errors import RenderError
from wikisync.markup.asciidoc.document import (
    SERVICE_ATTRIBUTES,
    choose_engine,
    shared_engine,
    to_html,
)
from wikisync.markup.context import ParseContext, include_nothing

ALONE = ParseContext(Slug("home"))


def html_of(source: str) -> str:
    """HTML with white space between tags taken out."""
    return re.sub(r">\s+<", "><", to_html(source, ALONE).strip())


def html_with(source: str, pages: Mapping[str, str]) -> str:
    return to_html(source, ParseContext(Slug("home"), include=pages.get))


@pytest.mark.parametrize(
    ("source", "html"),
    [
        pytest.param(
            "* a footnote:n[x]\n* b footnote:n[]",
            '<sup class="footnoteref">[<a class="footnote" href="#_footnotedef_1"'
            ' title="View footnote.">1</a>]</sup></p></li></ul>',
            id="note that another item mentions",
        ),
        pytest.param(
            "include::x.adoc[]\n\n----\ninclude::y z.adoc[indent=4]\n----",
            "<pre>link:pass:c[y z.adoc][role=include]</pre>",
            id="include of a page that stands alone",
        ),
        pytest.param(
            "Title\n=====\n\ninclude::x.adoc[]",
            '<p><a href="x.adoc">role=include</a></p>',
            id="include of a page in the older syntax",
        ),
        pytest.param(
            "[source]\n----\nx\n----", "<pre><code>x</code></pre>", id="code of none"
        ),
        pytest.param(
            "[mermaid]\n....\na --> b\n....",
            '<pre data-canonical-lang="mermaid"><code>a --&gt; b</code></pre>',
            id="diagram is code with its language",
        ),
        pytest.param(
            "latexmath:[x^2 < y]",
            '<code data-math-style="inline">x^2 &lt; y</code>',
            id="TeX in a line",
        ),
        pytest.param(
            "[latexmath]\n++++\nx^2\n++++",
            '<pre data-math-style="display"><code>x^2</code></pre>',
            id="TeX as block",
        ),
        pytest.param(
            "= T\n:stem: latexmath\n\nstem:[a]",
            '<code data-math-style="inline">a</code>',
            id="stem as TeX",
        ),
        pytest.param(
            "include::other.adoc[]", 'href="other.adoc"', id="include of a lone page"
        ),
        pytest.param(
            "[[spot]]text <<spot,there>>",
            '<p><a id="user-content-spot"></a>text <a href="#spot">there</a></p>',
            id="anchor of the page's own",
        ),
        pytest.param(
            ".Title\nvideo::uploads/a.mp4[]",
            '<div class="title">Title</div><div class="content">'
            '<img src="uploads/a.mp4" alt="uploads/a.mp4">',
            id="video is a picture for the filter",
        ),
        pytest.param("audio::a.mp3[]", '<img src="a.mp3" alt="a.mp3">', id="audio"),
        pytest.param("{env}", "<p>gitlab</p>", id="page can ask where it is"),
    ],
)
def test_page_comes_out_as_the_service_shows_it(source: str, html: str) -> None:
    assert html in html_of(source)


def test_optional_include_that_is_missing_is_nothing() -> None:
    html = html_with("a\n\ninclude::gone.adoc[opts=optional]\n\nb", {"part.adoc": ""})
    assert "ERROR" not in html


def test_nested_include_is_seen_from_the_page_that_holds_it() -> None:
    pages = {"sub/a.adoc": "include::b.adoc[]", "sub/b.adoc": "found"}
    assert "<p>found</p>" in html_with("include::sub/a.adoc[]", pages)


def test_nothing_of_a_page_is_left_for_the_next() -> None:
    html_of(":mine: secret\n:idprefix: other-\n\n{counter:n} {counter:n} [[spot]]x")
    html = html_of("{mine} {counter:n} <<spot>>\n\n== Head")
    assert "{mine} 1" in html
    assert "[spot]" in html
    assert 'id="user-content-head"' in html


def test_page_cannot_change_what_the_service_sets() -> None:
    html = html_of(":idprefix: x-\n:showtitle!:\n\n== Head")
    assert 'id="user-content-head"' in html


def test_page_that_nests_too_deeply_is_an_error_and_the_next_is_right() -> None:
    deep = "".join("=" * (4 + depth) + "\n" for depth in range(400))
    with closing(choose_engine("quickjs")) as engine:
        with pytest.raises(RenderError, match="call stack"):
            engine.render(f"{deep}x\n", SERVICE_ATTRIBUTES, include_nothing)
        html = engine.render("x", SERVICE_ATTRIBUTES, include_nothing)
    assert "<p>x</p>" in html


def test_engine_is_one_for_the_process() -> None:
    assert shared_engine() is shared_engine()


PARTIAL = {"../partials/p.adoc": "part", "../../other/partials/q.adoc": "of another"}


@pytest.mark.parametrize(
    ("slug", "source", "part"),
    [
        ("docs/modules/ROOT/nav", "xref:a.adoc[A]", '<a href="pages/a.adoc">A</a>'),
        (
            "modules/m/nav-1",
            "xref:o:a.adoc#x[A]",
            '<a href="../o/pages/a.adoc#x">A</a>',
        ),
        ("modules/m/pages/b", "xref:a.adoc[A]", '<a href="a.adoc">A</a>'),
        ("modules/m/pages/s/b", "xref:a.adoc[A]", '<a href="../a.adoc">A</a>'),
        ("modules/m/pages/s/b", "xref:./a.adoc[A]", '<a href="a.adoc">A</a>'),
        ("modules/m/pages/b", "image::x.png[]", '<img src="../images/x.png"'),
        ("modules/m/pages/b", "a image:o:x.png[]", '<img src="../../o/images/x.png"'),
        ("modules/m/pages/b", "image::https://a.b/x.png[]", 'src="https://a.b/x.png"'),
        ("modules/m/pages/b", "link:https://a.b/x.adoc[A]", '"https://a.b/x.adoc"'),
        ("modules/m/pages/b", "xref:1@c:m:a.adoc[A]", 'href="1@c:m:a.adoc"'),
        ("modules/m/pages/b", "include::partial$p.adoc[]", "<p>part</p>"),
        ("modules/m/pages/b", "include::other:partial$q.adoc[]", "<p>of another</p>"),
        ("notes/b", "image::x.png[]", '<img src="x.png"'),
    ],
)
def test_address_of_antora_starts_at_the_folder_of_its_family(
    slug: str, source: str, part: str
) -> None:
    context = ParseContext(Slug(slug), include=PARTIAL.get)
    assert part in to_html(source, context)


def test_heading_called_footnotes_keeps_its_id() -> None:
    html = html_of("== Footnotes\n\nA footnote:[x]")
    assert html.count('id="user-content-footnotes"') == 1
    assert '<h2 id="user-content-footnotes">' in html
