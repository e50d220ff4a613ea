"""Each filter of the pass, seen in the page."""

import re
from html import escape

import pytest

from tests.support.markup import load_cases, parse, render
from wikisync.core.model import Format
from wikisync.markup.filters.headings import free_id, id_of
from wikisync.markup.record import MarkdownEngine, MarkupOptions

HEADINGS = [case for case in load_cases("cases.json") if case["area"] == "heading"]


# -- headings ---------------------------------------------------------------------


@pytest.mark.parametrize("case", HEADINGS, ids=lambda case: case["source"])
def test_heading_ids_are_those_of_the_service(case: dict[str, str]) -> None:
    expected = [
        part.partition('"')[0] for part in case["html"].split('id="user-content-')[1:]
    ]
    assert [entry.id for entry in parse(case["source"]).toc] == expected


def test_heading_has_a_named_link_to_itself() -> None:
    page = render("## A & *b*\n")
    assert page.html == (
        '<h2 id="a--b">A &amp; <em>b</em><a class="anchor" href="#a--b"'
        ' aria-label="Link to heading: A &amp; b"></a></h2>\n'
    )


def test_links_of_headings_can_be_left_out() -> None:
    assert render("# A\n", options=MarkupOptions(anchors=False)).html == (
        '<h1 id="a">A</h1>\n'
    )


def test_heading_in_a_link_has_none_to_itself() -> None:
    """A link in a link would end it."""
    page = render('<div><a href="https://a.example"><h3>A</h3> b</a></div>\n')
    assert page.html.count("<a ") == 1
    assert '<h3 id="a">A</h3> b</a>' in page.html


def test_mark_of_a_footnote_is_no_part_of_a_heading() -> None:
    parsed = parse("# A[^1] b[^1] c\n\n[^1]: x\n")
    assert (parsed.toc[0].id, parsed.toc[0].text) == ("a-b-c", "A b c")


def test_heading_without_text_is_in_no_list_of_headings() -> None:
    """Its entry would be a link without a name; the text after it stays."""
    parsed = parse("# A\n\n## \n\nb\n\n[[_TOC_]]\n")
    assert [entry.text for entry in parsed.toc] == ["A"]
    assert [(one.heading, one.text) for one in parsed.sections] == [("A", "b")]
    assert (
        '<ul class="section-nav"><li><a href="#a">A</a></li></ul>' in parsed.parts[-1]
    )


@pytest.mark.parametrize("name", ["siteHits", "siteContent"])
def test_id_of_a_theme_keeps_the_prefix_and_its_links_follow(name: str) -> None:
    """A script, a label or the link to the content would find the page's element."""
    heading = f'<h2 id="user-content-{name}">x</h2>'
    page = render(f'[to](#{name})\n\n{heading}\n\n<a name="{name}">y</a>\n')
    assert page.html.count(f'"#user-content-{name}"') == 2
    assert page.html.count(f'="user-content-{name}"') == 2
    assert not [link for link in page.links if link.reason]


def test_heading_without_letters_has_no_id() -> None:
    assert render("# !!!\n").html == "<h1>!!!</h1>\n"


class AskedSet(set[str]):
    """A set that counts how often it is asked."""

    asked = 0

    def __contains__(self, item: object) -> bool:
        self.asked += 1
        return super().__contains__(item)


def test_search_for_a_free_id_goes_on_where_it_ended() -> None:
    """Else a page of equal headings costs the square of their number."""
    taken, counts = AskedSet(), dict[str, int]()
    for _ in range(1_000):
        taken.add(free_id("x", taken, counts))
    assert len(taken) == 1_000
    assert taken.asked < 3_000


@pytest.mark.parametrize(
    ("text", "identity"),
    [("A  b", "a--b"), ("Ⅷ ٣ ‿", "ⅷ-٣-‿"), ("É", "é"), ("a—b", "ab")],
)
def test_id_of_text(text: str, identity: str) -> None:
    assert id_of(text) == identity


# -- table of contents ------------------------------------------------------------


def test_contents_nest_by_level_and_a_skipped_level_is_no_step() -> None:
    page = render("[TOC]\n\n# A\n### C\n## B\n# D\n")
    assert page.html.startswith(
        '<ul class="section-nav"><li><a href="#a">A</a><ul><li><a href="#c">C</a></li>'
        '<li><a href="#b">B</a></li></ul></li><li><a href="#d">D</a></li></ul>'
    )


@pytest.mark.parametrize("text", ["x [TOC]", "`[TOC]`", "[TOC] x", "- [TOC] y"])
def test_tag_with_other_text_is_text(text: str) -> None:
    assert "section-nav" not in render(f"{text}\n\n# A\n").html


def test_tag_without_headings_leaves_nothing() -> None:
    assert render("[TOC]\n").html.strip() == ""


def test_lists_of_a_page_have_an_end_but_the_first_is_always_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("wikisync.markup.filters.blocks.ENTRIES_MAX", 5)
    few = render("[TOC]\n\n# A\n\n# B\n\n[TOC]\n\n[TOC]\n").html
    assert (few.count("section-nav"), few.count("<p>[TOC]</p>")) == (2, 1)
    many = render("[TOC]\n\n[TOC]\n\n" + "# A\n" * 9).html
    assert (many.count("section-nav"), many.count("<p>[TOC]</p>")) == (1, 1)


# -- tables, tasks, footnotes -----------------------------------------------------


def test_boxes_of_org_are_those_of_every_format() -> None:
    html = render("- [ ] a *b*\n- [X] c\n- [-] d\n  - [y] e\n", Format.ORG).html
    assert html.count('<input type="checkbox" class="task-list-item-checkbox"') == 3
    assert 'disabled aria-label="To do: a b"> a <b>b</b>' in html
    assert 'disabled checked aria-label="Done: c"> c' in html
    assert "[y] e" in html


@pytest.mark.parametrize(
    "source", ["* [x] a\n* [ ] b", "[%interactive]\n* [x] a\n* [ ] b"]
)
def test_boxes_of_asciidoc_are_those_of_every_format(source: str) -> None:
    html = render(source, Format.ASCIIDOC).html
    assert 'disabled checked aria-label="Done: a"> a' in html
    assert 'disabled aria-label="To do: b"> b' in html


@pytest.mark.parametrize(
    "source", ["NOTE: a", "----\na <1>\n----\n<1> b", "[horizontal]\na:: b"]
)
def test_table_that_only_places_things_is_not_framed_as_data(source: str) -> None:
    page = render(source, Format.ASCIIDOC)
    assert '<table role="presentation">' in page.html
    assert "table-wrap" not in page.html
    assert "table" not in page.features


def test_table_inside_of_an_admonition_is_framed() -> None:
    html = render("[NOTE]\n====\n|===\n|a\n|===\n====", Format.ASCIIDOC).html
    assert html.count("table-wrap") == 1


def test_table_scrolls_in_a_frame_that_keys_reach() -> None:
    page = render("|a|\n|-|\n|b|\n")
    assert page.html.startswith(
        '<div class="table-wrap" role="group" aria-label="Table" tabindex="0"><table>'
    )
    assert page.html.strip().endswith("</table></div>")


def test_table_in_a_table_has_no_frame_of_its_own() -> None:
    page = render("<table><tr><td><table><tr><td>x</td></tr></table></td></tr></table>")
    assert page.html.count("table-wrap") == 1


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("- [ ] write *it*", "To do: write it"),
        ("- [x] done", "Done: done"),
        ("- [~] never", "Not applicable: never"),
        ("- [ ] a\n  - [x] b", "To do: a"),
        ("- [ ]", "To do"),
    ],
)
def test_box_is_named_by_its_state_and_text(text: str, label: str) -> None:
    assert f' aria-label="{label}">' in render(text).html


def test_footnotes_can_be_found_and_left() -> None:
    page = render("a[^1]\n\n[^1]: n\n")
    assert '<section class="footnotes" role="doc-endnotes"' in page.html
    assert 'href="#fn-1"' in page.html
    assert 'class="footnote-backref"' in page.html
    assert not page.problems


@pytest.mark.parametrize("engine", ["comrak", "markdown-it"])
def test_second_note_of_one_name_has_no_id(engine: MarkdownEngine) -> None:
    if engine == "comrak":
        pytest.importorskip("comrak")
    text = "a[^1] b[^1-2] c[^1]\n\n[^1]: x\n[^1]: y\n[^1-2]: z\n"
    html = render(text, options=MarkupOptions(engine=engine)).html
    ids = re.findall(r' id="([^"]*)"', html)
    assert sorted(ids) == ["fn-1", "fn-1-2", "fnref-1", "fnref-1-2"]
    assert '<li id="fn-1">\n<p>x' in html
    assert "<li>\n<p>y" in html


# -- code, math, colours ----------------------------------------------------------


def test_code_of_a_known_language_is_coloured() -> None:
    page = render("```ruby:lib/a.rb\nputs 1\n```\n")
    assert (
        '<pre class="code highlight" data-lang="ruby" tabindex="0"><code>'
        '<span class="nb">puts</span>' in page.html
    )


@pytest.mark.parametrize("icons", ["", ":icons: font\n\n"])
def test_code_with_callouts_keeps_its_colours(icons: str) -> None:
    source = f"{icons}[source,ruby]\n----\nputs 1 # <1>\nputs 2 # <2> <3>\nx\n----\n"
    shown = re.sub(r'<i class="conum"></i>', "", render(source, Format.ASCIIDOC).html)
    assert '<span class="nb">puts</span> <span class="mi">1</span>' in shown
    lines = re.sub(r"<[^>]*>", "", shown).strip().split("\n")
    assert lines == ["puts 1 (1)", "puts 2 (2) (3)", "x"]


def test_code_of_a_callout_alone_is_shown() -> None:
    page = render("[source,ruby]\n----\n<1>\n----\n", Format.ASCIIDOC)
    assert "<b>(1)</b></code></pre>" in page.html
    assert page.problems == ()


def test_code_with_other_marks_than_callouts_keeps_them() -> None:
    source = "[source,ruby,subs=+quotes]\n----\nputs *1* # <1>\n----\n"
    html = render(source, Format.ASCIIDOC).html
    assert "<strong>1</strong>" in html
    assert "conum" in html


def test_code_without_a_language_is_plain() -> None:
    page = render("```\n<b>\n```\n")
    assert '<pre class="code" tabindex="0"><code>&lt;b&gt;\n</code></pre>' in page.html


def test_colours_can_be_turned_off() -> None:
    page = render("```ruby\nputs 1\n```\n", options=MarkupOptions(highlight=False))
    assert "<span" not in page.html


def test_code_with_markup_inside_keeps_it() -> None:
    page = render("<pre lang='ruby'><code>a <b>c</b></code></pre>\n")
    assert "a <b>c</b>" in page.html


@pytest.mark.parametrize("language", ["puml", "plantuml"])
def test_diagram_is_kept_as_source(language: str) -> None:
    page = render(f"```{language}\nA-->B\n```\n")
    assert '<pre class="plantuml" tabindex="0">A--&gt;B\n</pre>' in page.html


def test_diagram_of_another_tool_names_it() -> None:
    assert (
        'class="kroki" data-diagram-type="graphviz"'
        in render("```graphviz\nx\n```\n").html
    )


@pytest.mark.parametrize(
    ("text", "style"),
    [("$`a^2`$", "inline"), ("$$a^2$$", "display"), ("```math\na^2\n```", "display")],
)
def test_formula_is_mathml_with_its_source(text: str, style: str) -> None:
    page = render(text)
    assert f'data-math-style="{style}" data-tex="a^2"><math' in page.html
    assert "<msup><mi>a</mi><mn>2</mn></msup>" in page.html


def test_formula_can_stay_source() -> None:
    page = render("$`a<b`$", options=MarkupOptions(math="source"))
    assert (
        '<span class="math" data-math-style="inline"><code>a&lt;b</code>' in page.html
    )


def test_formula_that_cannot_be_read_stays_source_and_says_why() -> None:
    reason = 'Unknown command "\\nosuchcommand", at character 2'
    page = render(r"$`a \nosuchcommand{x}`$ and $`a \nosuchcommand{x}`$")
    assert "<math" not in page.html
    assert escape(reason) in page.html
    assert "<code" in page.html
    (problem,) = page.problems
    assert problem.code == "formula-not-drawn"
    assert problem.message.endswith(f"{reason} (and 1 more)")


@pytest.mark.parametrize(
    "colour",
    ["#F00", "#ff000080", "RGB(0,255,0)", "hsl(9,1%,2%)", "rgba(1%,2%,3%, .5)"],
)
def test_colour_has_a_chip(colour: str) -> None:
    assert f'fill="{colour}"' in render(f"`{colour}`").html


@pytest.mark.parametrize(
    "text", ["`#FF`", "`#F00 x`", "`rgb(1,2,256)`", "`hsl(1,2,3)`", "#F00", "`\\#F00`"]
)
def test_what_is_no_colour_has_no_chip(text: str) -> None:
    assert "<svg" not in render(text).html


# -- pictures ---------------------------------------------------------------------


@pytest.mark.parametrize("braces", ["{.x}", "{width=99999}", "{width=1em}", "{ x }"])
def test_braces_without_a_size_go(braces: str) -> None:
    html = render(f"![a](b.png){braces} y").html
    assert "{" not in html
    assert " y</p>" in html
    assert "width" not in html


def test_braces_that_are_none_of_a_picture_stay() -> None:
    assert "{x" in render("![a](b.png){x").html
    assert "{a}" in render("= T\n\nimage:b.png[]{a}\n", Format.ASCIIDOC).html


# -- texts ------------------------------------------------------------------------


def test_emoji_can_be_turned_off() -> None:
    assert ":tada:" in render(":tada:", options=MarkupOptions(emoji=False)).html


@pytest.mark.parametrize(
    ("text", "name"),
    [("{+ a +}", "addition"), ("[+ a +]", "addition"), ("{- a -}", "deletion")],
)
def test_inline_diff_is_marked(text: str, name: str) -> None:
    assert f'<span class="idiff left right {name}"> a </span>' in render(text).html


@pytest.mark.parametrize(
    "text", ["{+ a -}", "{+ a +]", "`{+ a +}`", "{++}", "{+ a\nb +}"]
)
def test_what_is_no_inline_diff_stays(text: str) -> None:
    assert "idiff" not in render(text).html


# -- the other formats ------------------------------------------------------------


def address_of_issue(page_format: Format) -> str:
    """A pasted address and a link to what is no page, on a page of a format."""
    text = "https://gitlab.example.com/g/p/-/issues/1\n\n{x}[#1] [[#1][y]]"
    web_url = "https://gitlab.example.com/g/p/-/wikis"
    return render(text, page_format, web_url=web_url).html


@pytest.mark.parametrize("page_format", sorted(set(Format) - {Format.MARKDOWN}))
def test_what_only_markdown_knows_is_text_in_the_other_formats(
    page_format: Format,
) -> None:
    """The service's pipelines for them have no such filters."""
    text = "see #1 or !2, costs :100: {+ new +}\n\n<code>#FF0000</code> @jane g/p#3"
    page = render(text, page_format, web_url="https://gitlab.example.com/g/p/-/wikis")
    assert page.links == ()
    assert "reference" not in address_of_issue(page_format)
    for word in ("emoji", "idiff", "colour-chip", "reference"):
        assert word not in page.html
    assert ":100:" in page.html


def test_side_of_a_picture_is_one_of_three_classes() -> None:
    files = ["uploads/a/b.png"]
    html = render("![a](uploads/a/b.png){.float-left width=9 .x}", attachments=files)
    assert 'class="float-left" width="9"' in html.html
    html = render("![a](uploads/a/b.png){.float-up}", attachments=files)
    assert "float-up" not in html.html


def test_outermost_blocks_of_such_a_page_find_their_own_direction() -> None:
    html = render("# שלום\n\nEnglish\n\n> - a\n\n<p dir='ltr'>b</p>\n").html
    assert '<h1 dir="auto" id="שלום">' in html
    assert '<p dir="auto">English</p>' in html
    assert '<blockquote dir="auto">\n<ul>' in html
    assert '<p dir="ltr">' in html


def test_other_pages_stay_as_they_are() -> None:
    assert "dir=" not in render("# Ä 字\n\nEnglish\n").html
