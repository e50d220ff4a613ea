"""Blocks of code: what stands behind their language is shown."""

import re
from html import unescape

import pytest

from wikisync.core.model import Format, Page, Slug
from wikisync.markup.page import parse_page

PYTHON = "def f():\n    '''a\n    b'''\n    return 1\n"


def rendered(text: str, kind: Format = Format.MARKDOWN) -> str:
    return "".join(parse_page(Page(Slug("page"), kind, text)).parts)


def fenced(info: str, code: str = PYTHON) -> str:
    return rendered(f"```{info}\n{code}```\n")


def numbers(html: str) -> list[str]:
    return re.findall(r'data-line="(\d+)"', html)


def marked(html: str) -> list[str]:
    lines = re.findall(r'<span class="line marked"[^>]*>(.*)', html)
    return [unescape(re.sub("<[^>]*>", "", line)).strip() for line in lines]


@pytest.mark.parametrize(
    "info",
    [
        'sh title="run.sh"',
        "sh title='run.sh'",
        "{.sh title=run.sh}",
        "sh filename=run.sh",
    ],
)
def test_title_of_a_block_stands_above_it(info: str) -> None:
    html = fenced(info)
    assert '<figure class="listing"><figcaption>run.sh</figcaption><pre' in html
    assert html.count("<figure") == html.count("</figure>") == 1
    assert 'data-lang="sh"' in html


def test_title_of_a_block_in_no_known_language_is_escaped() -> None:
    html = fenced('nothing title="<b>&"')
    assert "<figcaption>&lt;b&gt;&amp;</figcaption>" in html
    assert html.rstrip().endswith("</pre></figure>")


@pytest.mark.parametrize(
    ("info", "first"),
    [
        ('py linenums="1"', 1),
        ("py linenums", 1),
        ("py showLineNumbers", 1),
        ("{.py linenums=7}", 7),
        ("py linenums start=12", 12),
        ("text linenums", 1),
        ("linenums=3 linenums=3", 3),
    ],
)
def test_lines_are_numbered_from_the_first_number(info: str, first: int) -> None:
    assert numbers(fenced(info)) == [str(first + at) for at in range(4)]


@pytest.mark.parametrize(
    "info", ['py hl_lines="1 3-4"', "py {1,3-4}", 'py linenums="9" hl_lines="1,3..4"']
)
def test_marked_lines_are_marked(info: str) -> None:
    assert marked(fenced(info)) == ["def f():", "b'''", "return 1"]


def test_text_and_colours_of_a_block_with_numbers_are_those_without() -> None:
    plain, numbered = fenced("py"), fenced("py linenums")
    assert 'class="line"' not in plain
    as_text = [re.sub("<[^>]*>", "", html) for html in (plain, numbered)]
    assert as_text[0].strip() == as_text[1].strip()
    for line in re.findall('<span class="line".*', numbered):
        assert line.count("<span") == line.count("</span>")
    assert numbered.count('<span class="sd">') == plain.count('<span class="sd">') + 1


@pytest.mark.parametrize("info", ["py x=y", "py {-}", "py title", "py startline=3"])
def test_words_that_say_nothing_change_nothing(info: str) -> None:
    assert fenced(info) == fenced("py")


def test_many_ranges_of_lines_take_no_time() -> None:
    """Each would mark a million lines, of which the block has four."""
    blocks = "\n".join(
        [fence for _ in range(300) for fence in ("```py {1-999999}", "x", "```")]
    )
    many = " ".join(["1-999999"] * 20_000)
    assert (
        marked(rendered(f"{blocks}\n\n```py hl_lines='{many}'\nlast\n```\n"))[-1]
        == "last"
    )


def test_line_that_is_not_there_is_not_marked() -> None:
    assert marked(fenced("py hl_lines=4-999999")) == ["return 1"]
    assert marked(fenced("py hl_lines=9999999999-1")) == []


@pytest.mark.parametrize(
    "attributes",
    [
        "source,ruby,linenums,start=5,highlight=2..3",
        "%linenums,ruby,start=5,highlight=2;3",
    ],
)
def test_lines_of_asciidoc_are_numbered_and_marked(attributes: str) -> None:
    html = rendered(f"[{attributes}]\n----\na\nb\nc\n----", Format.ASCIIDOC)
    assert numbers(html) == ["5", "6", "7"]
    assert marked(html) == ["b", "c"]


@pytest.mark.parametrize(("switch", "first"), [("-n", 1), ("-n 20", 20), ("+n", 1)])
def test_lines_of_org_are_numbered(switch: str, first: int) -> None:
    html = rendered(f"#+begin_src sh {switch}\na\nb\n#+end_src\n", Format.ORG)
    assert numbers(html) == [str(first), str(first + 1)]
    other = rendered("#+begin_src sh :var x=-n\na\n#+end_src\n", Format.ORG)
    assert numbers(other) == []
