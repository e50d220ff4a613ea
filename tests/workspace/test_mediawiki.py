"""MediaWiki's markup as Markdown, and what has no counterpart."""

import time

import pytest

from wikisync.workspace.mediawiki import Converted, convert

SECONDS_MAX = 30.0
"""Of what takes half a second; quadratic work takes minutes."""


def converted(source: str) -> Converted:
    return convert(source, lambda target, rest, _line: f"[{rest or target}]({target})")


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("'''b''' ''i'' '''''both'''''\n", "**b** *i* ***both***\n"),
        ("== One ==\ntext\n", "## One\n\ntext\n"),
        ("* a\n** b\n# c\n#* d\n", "- a\n  - b\n1. c\n   - d\n"),
        # a line that follows a quote at once would be part of it
        (":quote\n; term : what\n", "> quote\n\n**term**\n\n> what\n"),
        ("::deep\n:less\n:last\n", "> > deep\n\n> less\n\n> last\n"),
        ("[[C*-algebra|'''C*''']]\n", "[**C\\***](C*-algebra)\n"),
        ("2 * 3 `x`\n", "2 \\* 3 \\`x\\`\n"),
        (" code\n", "code\n"),
        ("text\n code ''x''\n", "text\n\n    code ''x''\n"),
        (
            "[http://e.org text] [http://e.org]",
            "[text](http://e.org) [http://e.org](http://e.org)\n",
        ),
        ("[[File:a.png|cap [[x]]]]", "[cap [x](x)](File:a.png)\n"),
        ("a<!-- [[b]] -->c", "ac\n"),
        ("<nowiki>[[x]]</nowiki>", "\\[\\[x\\]\\]\n"),
        ("<code>a`b</code>", "`` a`b ``\n"),
        ("<math>x^2</math> __TOC__ __NOTOC__", "$`x^2`$ \n\n[[_TOC_]]\n"),
        (
            "a<ref name=n>See [[b]]</ref> c<ref name=n />",
            "a[^n] c[^n]\n\n[^n]: See [b](b)\n",
        ),
        ("<pre>a\n```\n</pre>", "````\na\n```\n````\n"),
        ("----\n", "---\n"),
        ("<pre>unclosed ''a''", "<pre>unclosed *a*\n"),
        (
            "{| class=x\n|+ T\n! A !! B\n|-\n| 1 || [[p|q]]\n|-\n| s=y | b\nmore\n|}\n",
            "**T**\n\n| A | B |\n| --- | --- |\n| 1 | [q](p) |\n| b<br>more |  |\n",
        ),
        ("{|\n| 1\n|}\n", "|  |\n| --- |\n| 1 |\n"),
        (
            "<gallery>\nFile:a.png|one\nb.png\n</gallery>",
            "[one](File:a.png)\n\n[File:b.png](File:b.png)\n",
        ),
    ],
)
def test_common_markup_becomes_markdown(source: str, text: str) -> None:
    assert converted(source).text == text


def test_templates_stay_as_code_and_are_named_with_their_line() -> None:
    page = converted("a\n\n{{Box\n| x = {{inner}}\n}}\n\n<!--\n-->{{Late|1}}\n")

    assert page.text == "a\n\n`{{Box | x = {{inner}} }}`\n\n`{{Late|1}}`\n"
    assert page.lost == [(3, "template Box"), (8, "template Late")]


def test_categories_are_taken_out_of_the_text() -> None:
    page = converted("a [[Category:Big_Tools|x]]\n[[:Category:B]]\n")

    assert page.categories == ["Big Tools"]
    assert page.text == "a \n[:Category:B](:Category:B)\n"


def test_merged_cells_and_inner_tables_are_named() -> None:
    page = converted('\n{|\n| colspan="2" | a\n|\n{|\n| b\n|}\n|}\nend\n')

    assert [line for line, _ in page.lost] == [2, 2]
    assert page.text.endswith("end\n")


@pytest.mark.parametrize(
    "source",
    [
        "<pre>" * 50_000,
        "{{" * 100_000,
        "{{a|" * 30_000 + "}}" * 30_000,
        "[[a|" * 50_000 + "]]" * 50_000,
        "[http://" * 50_000,
        "{|\n" * 50_000,
        "<ref>" * 30_000 + "</ref>" * 30_000,
        "''" * 100_000,
        "=" * 100_000 + " ",
    ],
)
def test_hostile_text_takes_linear_time(source: str) -> None:
    start = time.process_time()

    converted(source)

    assert time.process_time() - start < SECONDS_MAX
