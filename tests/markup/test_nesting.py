"""Raw HTML that is made to cost the sanitiser time."""

from __future__ import annotations

import re

import nh3
import pytest

from wikisync.markup.nesting import (
    ATTRIBUTES_MAX,
    DEPTH_MAX,
    FORMATTING_DEPTH_MAX,
    TAGS_UNCOUNTED_MAX,
    tame,
)

MANY = 4 * TAGS_UNCOUNTED_MAX
TAGS = {"div", "span", "b", "p", "table", "tbody", "tr", "td", "ul", "li", "a", "form"}


def depth_of(html: str) -> int:
    """Depth of the parser's own tree, seen in what it writes."""
    written = nh3.clean(
        tame(html), tags=TAGS, attributes={"b": {"title"}}, link_rel=None
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
        "<b><div></b>",
        "<a href=x><div>",
        "<div><![CDATA[</div>]]>",
        "<div><?x </div>?>",
        "<div></ x></div x='",
    ],
)
def test_no_nest_is_deeper_than_the_limit(repeated: str) -> None:
    # the parser adds tbody and rows, so a counted table is up to four deep
    assert depth_of(repeated * MANY) <= 4 * (DEPTH_MAX + 1)


def test_open_formatting_is_not_repeated_in_every_paragraph() -> None:
    """The parser opens each pending ``<b>`` anew; hundreds of them times hundreds
    of paragraphs would be the square of the page."""
    different = "".join(f"<b title='{number}'>" for number in range(MANY))
    html = f"<p>{different}</p>" + "<p>x</p>" * 10
    written = nh3.clean(tame(html), tags=TAGS, attributes={"b": {"title"}})
    assert written.count("<b") <= (FORMATTING_DEPTH_MAX + 1) * 11


def test_well_formed_page_is_not_touched() -> None:
    item = "<li><p><b>a</b> <a href='x'>b</a><br>c</p></li>"
    html = f"<div><ul>{item * MANY}</ul></div><p>one<p>two<td>"
    assert tame(html) == html


def test_text_of_dropped_tags_stays() -> None:
    assert "deepest" in tame("<div>" * MANY + "deepest")


@pytest.mark.parametrize("name", ["svg", "MATH", "noscript", "select", "xmp", "title"])
def test_elements_that_switch_the_parser_lose_their_meaning(name: str) -> None:
    assert tame(f"<{name} a=b><p></{name}>") == f"<x-{name} a=b><p></x-{name}>"


def test_name_that_only_begins_like_one_stays() -> None:
    assert tame("<selected><mathml>") == "<selected><mathml>"


def attributes_of(html: str) -> int:
    """Most attributes of a tag, as the parser sees them."""
    written = nh3.clean(
        tame(html),
        tags=TAGS,
        generic_attribute_prefixes={"a"},
        clean_content_tags=set(),
        strip_comments=True,
        link_rel=None,
    )
    return max((tag.count(" a") for tag in re.findall(r"<[^>]*>", written)), default=0)


MANY_ATTRIBUTES = [f"a{number}" for number in range(3 * ATTRIBUTES_MAX)]


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
    assert 0 < attributes_of(html) <= ATTRIBUTES_MAX
    assert "t</p>" in nh3.clean(tame(html), tags=TAGS, link_rel=None)


def test_tag_within_the_limit_keeps_its_attributes() -> None:
    words = [f'a{number}="some > value"' for number in range(ATTRIBUTES_MAX)]
    html = f"<p {' '.join(words)}>t</p>"
    assert tame(html) == html
    assert attributes_of(html.replace("> value", "value")) == ATTRIBUTES_MAX


@pytest.mark.parametrize("start", ["<p ", "</p "])
def test_tag_without_an_end_is_dropped_as_the_parser_drops_it(start: str) -> None:
    html = f"<p>t</p>{start}{' '.join(MANY_ATTRIBUTES)}"
    assert tame(html) == "<p>t</p>"


def test_end_tag_with_attributes_is_cut() -> None:
    html = f"<p>t</p {' '.join(MANY_ATTRIBUTES)}>u"
    assert tame(html) == f"<p>t</p {' '.join(MANY_ATTRIBUTES[:ATTRIBUTES_MAX])}>u"
