"""Raw HTML that is made to cost the sanitiser time."""

import re
import time

import nh3
import pytest

from wikisync.markup import nesting

MANY = 4 * nesting.TAGS_UNCOUNTED_MAX
TAGS = {
    "div",
    "span",
    "b",
    "p",
    "table",
    "tbody",
    "tr",
    "td",
    "ul",
    "li",
    "dd",
    "a",
    "form",
}


def depth_of(html: str) -> int:
    """Depth of the parser's own tree, seen in what it writes."""
    written = nh3.clean(
        nesting.tame(html), tags=TAGS, attributes={"b": {"title"}}, link_rel=None
    )
    depth = deepest = 0
    for tag in re.findall(r"</?[a-z]+", written):
        depth += -1 if tag[1] == "/" else 1
        deepest = max(deepest, depth)
    return deepest


@pytest.mark.parametrize(
    "repeated",
    [
        "<div>",
        "<DIV x='>'>",
        "<div></x>",
        "<div><!--</div>-->",
        "<div><!--></div><!-- -->",
        '<div title="</div>">',
        "<div><select></div></select>",
        "<div><script></div></script>",
        "<div><style></div></style>",
        "<div><svg><style></div></style></svg>",
        "<div><title></div></title>",
        "<div><textarea></div></textarea>",
        "<div><template></div></template>",
        "<span><div></span></div>",
        "<span><p></span></p>",
        "<div><table><tr><td></div>",
        "<form><div></form>",
        "<ul><li>",
        "<table><tr><td>",
        "<div/>",
        "<div>t</div><div>",
        """<div a" b="c" d=">t</div>""",
        """<div a=b"c" d=">t</div>""",
        """<div 'a" b="c">t</div>'""",
        '<div a="b" c">t</div>',
        "<form>t</form><form><div>",
        "<td>t</td><div>",
        "<div><p>t</p>",
        "<x-y>",
        "<dd><li>",
        "<dd><option><li>",
        "<b><div></b>",
        "<a href=x><div>",
        "<div><![CDATA[</div>]]>",
        "<div><?x </div>?>",
        "<div></ x></div x='",
    ],
)
def test_no_nest_is_deeper_than_the_limit(repeated: str) -> None:
    # the parser adds tbody and rows, so a counted table is up to four deep
    assert depth_of(repeated * MANY) <= 4 * (nesting.DEPTH_MAX + 1)


FEW_PARAGRAPHS = "<p>x</p>" * 10


def bold(count: int, ahead: str = "", behind: str = "") -> str:
    """Elements of which the parser takes no two for the same."""
    return "".join(f"{ahead}<b title='{one}'>{behind}" for one in range(count))


def test_end_tag_behind_many_blocks_ends_no_formatting() -> None:
    """The parser goes through eight; what it leaves open is opened anew behind."""
    blocks = nesting.ADOPTIONS_MAX
    end = "<div>" * blocks + "</b>" + "</div>" * blocks + "<p>x</p>"
    deepest = nesting.FORMATTING_DEPTH_MAX + blocks
    assert depth_of(bold(MANY, behind=end)) == deepest


def test_formatting_that_cannot_be_closed_for_another_one_is_the_last() -> None:
    ahead = "<dd><li>" * (nesting.ADOPTIONS_MAX // 2)
    deep = nesting.DEPTH_MAX // nesting.ADOPTIONS_MAX
    html = bold(nesting.FORMATTING_DEPTH_MAX) + bold(deep, ahead=ahead)
    html += "</li></dd>" * MANY + FEW_PARAGRAPHS
    written = nh3.clean(nesting.tame(html), tags=TAGS, attributes={"b": {"title"}})
    again = written.rpartition("</dd>")[2].count("<b")
    assert again <= 10 * nesting.FORMATTING_DEPTH_MAX


def test_open_formatting_is_not_repeated_in_every_paragraph() -> None:
    """The parser opens each pending ``<b>`` anew; hundreds of them times hundreds
    of paragraphs would be the square of the page."""
    html = f"<p>{bold(MANY)}</p>" + FEW_PARAGRAPHS
    written = nh3.clean(nesting.tame(html), tags=TAGS, attributes={"b": {"title"}})
    assert written.count("<b") <= MANY + (nesting.FORMATTING_DEPTH_MAX + 1) * 10


@pytest.mark.parametrize(
    "repeated",
    [
        # a table that ends a table leaves the parser with nothing to end
        "<table><b title='{}'><i><table></i>x",
        # an end tag of rows that are not written ends the cell
        "</tbody><i title='{}'><table><b title='{}'><dd><td><h3>",
        "<b title='{}'>" + "<div>" * 9 + "x</b>" + "</div>" * 9,
    ],
)
def test_a_page_grows_no_further_than_by_its_length(repeated: str) -> None:
    html = "<br>" * MANY + "".join(repeated.format(n, n) for n in range(MANY // 4))
    tags = TAGS | {"i", "dd", "h3", "br"}
    attributes = {name: {"title"} for name in "bi"}
    written = nh3.clean(nesting.tame(html), tags=tags, attributes=attributes)
    assert len(written) < 20 * len(html)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ('<a name="x" />t', '<a name="x" /></a>t'),
        ("<A NAME=x />t", "<A NAME=x /></a>t"),
        ("<div/><h2/>", "<div/></div><h2/></h2>"),
        ("<script/>t", "<script/></script>t"),
        ("<svg/>t", "<x-svg/></x-svg>t"),
        ('<a title="x > y" name=z />t', '<a title="x > y" name=z /></a>t'),
        ('<a title="<br />" />t', '<a title="<br />" /></a>t'),
        ("<a href=/x/>t</a>", "<a href=/x/>t</a>"),
        ('<a href="/x/">t</a>', '<a href="/x/">t</a>'),
        ('<a title="/>">t</a>', '<a title="/>">t</a>'),
        ('<br/>a<hr />b<IMG src="x"/>c<wbr/>', '<br/>a<hr />b<IMG src="x"/>c<wbr/>'),
        ("a /> b", "a /> b"),
    ],
)
def test_slash_closes_every_element_that_is_not_void(written: str, read: str) -> None:
    """As the service's parser does; the one behind the sanitiser ignores it."""
    assert nesting.tame(written) == read


LINK = '<a href="x">link</a> <code>c</code>'


@pytest.mark.parametrize(
    "sloppy",
    [
        '<a name="{}">',
        '<h2><a name="{}"></h2>',
        '<i class="icon-{}">',
        '<p><b title="{}">',
        "<p><b><i>t</b></i>",
        "<font color=red>",
        "<p>",
        "<ul><li>a<li>b</ul>",
        "<dl><dt>a<dd>b</dl>",
        "<table><tr><td>a<td>b<tr><th>c</table>",
        "<div><span></div>",
        "<p><span>",
        "<center>",
        "</div>",
        "<select><option>a<option>b</select>",
    ],
)
def test_no_link_of_a_sloppy_page_is_dropped(sloppy: str) -> None:
    count = 150
    html = "".join(f"{sloppy.format(n)}<p>{LINK}</p>" for n in range(count)) * 2
    assert html.count("<") > nesting.TAGS_UNCOUNTED_MAX
    tags = TAGS | {"code", "i", "h2", "dl", "dt", "dd", "th", "center", "font"}
    written = nh3.clean(nesting.tame(html), tags=tags, link_rel=None)
    assert written.count('<a href="x">link') == 2 * count
    assert written.count("<code>c") == 2 * count


@pytest.mark.parametrize(
    "opened", ["<b>", "<u><s><em>x", "<b><div>", "<td><b>", "<b><span>", "<a href=y>"]
)
def test_no_link_is_dropped_however_many_elements_are_open(opened: str) -> None:
    written = nh3.clean(
        nesting.tame(opened * MANY + 2 * LINK), tags=TAGS, link_rel=None
    )
    assert written.count('<a href="x">link') == 2


@pytest.mark.parametrize(
    ("tags", "pending"),
    [
        ("b a i a", "b i a"),
        ("b i /b", "i"),
        ("b" + " div" * 7 + " /b", ""),
        ("b" + " div" * 8 + " /b", "b"),
        ("b" + " span" * 20 + " /b", ""),
        ("b table /b", "b"),
        ("div div b /div /div" + " div" * 8 + " /b", "b"),
        ("table tr td b table tr td i", "i"),
        ("table tr td b table tr td i /table", "b"),
        ("table table tr td b /table i", "i"),
        ("b " * nesting.FORMATTING_DEPTH_MAX + "i", "b" * 24),
    ],
)
def test_formatting_is_pending_unless_it_is_surely_ended(
    tags: str, pending: str
) -> None:
    """What the parser opens anew, and what it takes no second one of."""
    nest = nesting.Nest()
    for tag in tags.split():
        if tag.startswith("/"):
            nest.close(tag[1:])
        else:
            nest.open(tag)
    found = "".join(one.name for one in nest.formatting[-1])
    assert found == pending.replace(" ", "")


def test_formatting_of_all_cells_counts_with_what_is_around() -> None:
    nest, most = nesting.Nest(), 2 * nesting.DEPTH_MAX
    opened = 0
    while nest.open("b"):
        opened += 1
        for tag in ("table", "tr", "td")[: 3 * (opened % 10 == 0)]:
            nest.open(tag)
    assert len(nest.stack) + opened == most + 1


def test_what_is_dropped_is_told() -> None:
    dropped: list[nesting.Dropped] = []
    nesting.tame("<div>" * MANY, dropped)
    assert dropped[0] == nesting.Dropped(nesting.TOO_DEEP, "<div>")
    assert len(dropped) == MANY - nesting.DEPTH_MAX - 1


def test_well_formed_page_is_not_touched() -> None:
    item = "<li><p><b>a</b> <a href='x'>b</a><br>c</p></li>"
    html = f"<div><ul>{item * MANY}</ul></div><p>one<p>two<td>"
    assert nesting.tame(html) == html


def test_text_of_dropped_tags_stays() -> None:
    assert "deepest" in nesting.tame("<div>" * MANY + "deepest")


@pytest.mark.parametrize("name", ["svg", "MATH", "noscript", "select", "xmp", "title"])
def test_elements_that_switch_the_parser_lose_their_meaning(name: str) -> None:
    assert nesting.tame(f"<{name} a=b><p></{name}>") == f"<x-{name} a=b><p></x-{name}>"


def test_name_that_only_begins_like_one_stays() -> None:
    assert nesting.tame("<selected><mathml>") == "<selected><mathml>"


def attributes_of(html: str) -> int:
    """Most attributes of a tag, as the parser sees them."""
    written = nh3.clean(
        nesting.tame(html),
        tags=TAGS,
        generic_attribute_prefixes={"a"},
        clean_content_tags=set(),
        strip_comments=True,
        link_rel=None,
    )
    return max((tag.count(" a") for tag in re.findall(r"<[^>]*>", written)), default=0)


MANY_ATTRIBUTES = [f"a{number}" for number in range(3 * nesting.ATTRIBUTES_MAX)]


@pytest.mark.parametrize(
    "html",
    [
        f"<p {' '.join(MANY_ATTRIBUTES)}>t</p>",
        f"<p {'=1 '.join(MANY_ATTRIBUTES)}>t</p>",
        f"<p {'/'.join(MANY_ATTRIBUTES)}>t</p>",
        "<p " + '=">" '.join(MANY_ATTRIBUTES) + ">t</p>",
        "<p " + "='>' ".join(MANY_ATTRIBUTES) + ">t</p>",
        "<p " + ' = "<b>"'.join(MANY_ATTRIBUTES) + ">t</p>",
        "<p " + '="x"'.join(MANY_ATTRIBUTES) + ">t</p>",
        f"<p ' {' '.join(MANY_ATTRIBUTES)}>t</p>",
        f'<p x=y" {" ".join(MANY_ATTRIBUTES)}>t</p>',
        f"<p\n{chr(10).join(MANY_ATTRIBUTES)}\n>t</p>",
        f"<p a\x0b {' '.join(MANY_ATTRIBUTES)}/>t</p>",
        f"<!-- ' --><p {' '.join(MANY_ATTRIBUTES)}>t</p>",
        f"t<b>u</b><p {' '.join(MANY_ATTRIBUTES)}>t</p><p a1 {'x ' * 999}>",
    ],
)
def test_no_tag_has_more_attributes_than_the_limit(html: str) -> None:
    """The parser compares each attribute of a tag with all before it."""
    assert 0 < attributes_of(html) <= nesting.ATTRIBUTES_MAX
    assert "t" in nh3.clean(nesting.tame(html), tags=set())


def test_tag_within_the_limit_keeps_its_attributes() -> None:
    words = [f'a{number}="some > value"' for number in range(nesting.ATTRIBUTES_MAX)]
    html = f"<p {' '.join(words)}>t</p>"
    assert nesting.tame(html) == html
    assert attributes_of(html.replace("> value", "value")) == nesting.ATTRIBUTES_MAX


@pytest.mark.parametrize("start", ["<p ", "</p ", '<a href="x>'])
def test_tag_without_an_end_is_text(start: str) -> None:
    """The parser would take all that follows for attributes."""
    dropped: list[nesting.Dropped] = []
    html = f"<p>t</p>{start}{' '.join(MANY_ATTRIBUTES)}"
    assert nesting.tame(html, dropped) == html.replace(start, f"&lt;{start[1:]}")
    assert [one.reason for one in dropped] == [nesting.NOT_ENDED]


@pytest.mark.parametrize("name", ["script", "STYLE"])
def test_script_without_an_end_takes_nothing_with_it(name: str) -> None:
    html = f"<p>a <{name} b> c</p><p>d <{name}> e</p>"
    assert nesting.tame(html) == html.replace(f"<{name}", f"<x-{name}")
    ended = f"{html}</{name}>"
    assert nesting.tame(ended) == ended


def test_text_behind_a_forgotten_quote_stays() -> None:
    html = '<p><a href="x>click</a> and <a href="y">there</a></p>'
    assert (
        nesting.tame(html) == '<p>&lt;a href="x>click</a> and <a href="y">there</a></p>'
    )


def test_many_tags_without_an_end_cost_linear_time() -> None:
    began = time.process_time()
    assert nesting.tame('<p x="' * 150_000).startswith('&lt;p x="')
    assert time.process_time() - began < 3


def test_end_tag_with_attributes_is_cut() -> None:
    html = f"<p>t</p {' '.join(MANY_ATTRIBUTES)}>u"
    assert (
        nesting.tame(html)
        == f"<p>t</p {' '.join(MANY_ATTRIBUTES[: nesting.ATTRIBUTES_MAX])}>u"
    )
