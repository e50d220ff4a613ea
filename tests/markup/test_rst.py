import contextlib
import re
import time
from pathlib import Path

import pytest

from tests.support.markup import parse
from wikisync.core.model import Format, Slug
from wikisync.errors import RenderError
from wikisync.markup.context import ParseContext
from wikisync.markup.rst import SOURCE_CHARACTERS_MAX, to_html


def html_of(source: str) -> str:
    """HTML without the line ends that stand beside a tag."""
    html = to_html(source, ParseContext(Slug("home")))
    return re.sub(r"\n(?=<)|(?<=>)\n", "", html)


@pytest.mark.parametrize(
    ("source", "html"),
    [
        pytest.param(
            "A\n=\n\nB\n-\n\nC\n-\n\nD\n=",
            '<h1 id="user-content-a">A</h1><h2 id="user-content-b">B</h2>'
            '<h2 id="user-content-c">C</h2><h1 id="user-content-d">D</h1>',
            id="headings",
        ),
        pytest.param("*a* **b** ``c``", "<p><em>a</em> <strong>b</strong> "
                     "<code>c</code></p>", id="marks"),
        pytest.param("- a\n- b", "<ul><li>a</li><li>b</li></ul>", id="list"),
        pytest.param(
            "b. a\n#. b", '<ol type="a" start="2"><li>a</li><li>b</li></ol>', id="b."
        ),
        pytest.param(
            "a\n  b", "<dl><dt>a</dt><dd><p>b</p></dd></dl>", id="description"
        ),
        pytest.param(
            ".. code:: py\n\n   a < b",
            '<pre data-canonical-lang="py"><code>a &lt; b</code></pre>',
            id="code",
        ),
        pytest.param("::\n\n   a", "<pre><code>a</code></pre>", id="literal"),
        pytest.param(
            ":math:`x<y`",
            '<p><code data-math-style="inline">x&lt;y</code></p>',
            id="math",
        ),
        pytest.param(
            ".. math::\n\n   x",
            '<pre data-math-style="display"><code>x</code></pre>',
            id="math block",
        ),
        pytest.param(
            ".. danger:: a",
            '<div class="admonitionblock caution"><p class="title">Danger</p>'
            "<p>a</p></div>",
            id="admonition",
        ),
        pytest.param(
            "`a <page>`_ and b_\n\n.. _b: other#x",
            '<p><a href="page">a</a> and <a href="other#x">b</a></p>',
            id="links",
        ),
        pytest.param(
            ".. _spot:\n\ntext\n\nspot_",
            '<p id="user-content-spot">text</p><p><a href="#spot">spot</a></p>',
            id="target",
        ),
        pytest.param(
            "a [1]_\n\n.. [1] b",
            '<p>a <sup><a id="user-content-footnote-reference-1" href="#footnote-1">'
            '1</a></sup></p><div class="footnote" id="user-content-footnote-1">'
            '<sup><a href="#footnote-reference-1">1</a></sup> <p>b</p></div>',
            id="footnote",
        ),
        pytest.param(
            "== ==\na  b\n== ==\n1  2\n== ==",
            "<table><thead><tr><th>a</th><th>b</th></tr></thead>"
            "<tbody><tr><td>1</td><td>2</td></tr></tbody></table>",
            id="table",
        ),
        pytest.param(
            "+-+-+\n|a|b|\n+-+-+\n|c  |\n+-+-+",
            "<table><tbody><tr><td>a</td><td>b</td></tr>"
            '<tr><td colspan="2">c</td></tr></tbody></table>',
            id="span",
        ),
        pytest.param("| a\n|   b", "<p>a<br>\u00a0\u00a0b</p>", id="verse"),
        pytest.param(
            "-a, --all  x",
            "<dl><dt><code>-a</code>, <code>--all</code></dt>"
            "<dd><p>x</p></dd></dl>",
            id="options",
        ),
        pytest.param("a\n\n----\n\nb", "<p>a</p><hr><p>b</p>", id="rule"),
        pytest.param(
            ".. image:: a.png\n   :width: 5\n   :alt: x",
            '<p><img src="a.png" alt="x" width="5"></p>',
            id="image",
        ),
        pytest.param(".. comment", "", id="comment"),
        pytest.param("a |b|", '<p>a <code id="user-content-problematic-1">|b|'
                     "</code></p>", id="fault"),
    ],
)  # fmt: skip
def test_page_comes_out_in_plain_shape(source: str, html: str) -> None:
    assert html_of(source) == html


@pytest.mark.parametrize(
    "source",
    [
        ".. include:: {path}",
        ".. raw:: html\n   :file: {path}",
        ".. csv-table::\n   :file: {path}",
        ".. image:: {path}\n   :loading: embed",
        ".. figure:: {path}\n   :figwidth: image",
        ".. code:: text\n   :file: {path}",
    ],
)
def test_page_reads_no_file(source: str, tmp_path: Path) -> None:
    secret = tmp_path / "secret.svg"
    secret.write_text("<svg>secret text</svg>")
    html = html_of(source.format(path=secret))
    assert "secret text" not in html
    assert "base64" not in html


@pytest.mark.parametrize(
    "directive",
    [
        ".. unknown:: x\n\n   body *words*",
        ".. raw:: html\n\n   <b>words</b>",
        ".. include:: words.rst",
        ".. csv-table:: words\n   :file: x.csv",
    ],
)
def test_directive_that_is_not_carried_out_is_shown_and_reported(
    directive: str,
) -> None:
    parsed = parse(f"a\n\n{directive}\n\nb\n", Format.REST)
    assert "words" in parsed.text
    first_line = directive.partition("\n")[0]
    assert [(one.subject, one.message) for one in parsed.problems] == [
        (
            "home:3",
            f"the directive {first_line} is not carried out, so its source is shown",
        )
    ]


def test_warning_of_docutils_is_no_text_of_the_page() -> None:
    parsed = parse("Title\n==\n\n|a| `b`_\n", Format.REST)
    assert "short" not in parsed.text
    assert parsed.problems == ()


def test_page_gives_no_raw_html() -> None:
    source = ".. raw:: html\n\n   <b>x</b>\n\n.. role:: r(raw)\n   :format: html\n"
    assert "<b>" not in html_of(f"{source}\n:r:`<b>y</b>`")


def test_configuration_of_the_machine_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "docutils.conf"
    config.write_text("[general]\nraw_enabled: yes\nsmart_quotes: yes\n")
    monkeypatch.setenv("DOCUTILSCONFIG", str(config))
    monkeypatch.chdir(tmp_path)
    assert html_of('"a"') == "<p>&quot;a&quot;</p>"


def test_page_that_nests_too_deeply_is_an_error() -> None:
    source = "\n".join(f"{'  ' * depth}- x\n" for depth in range(300))
    with pytest.raises(RenderError, match="nests too deeply"):
        html_of(source)


def test_page_that_is_too_large_is_an_error() -> None:
    with pytest.raises(RenderError, match="over 262144 characters"):
        html_of("x" * (SOURCE_CHARACTERS_MAX + 1))


@pytest.mark.parametrize("snippet", ["a_ ", "|a| ", "[1]_ ", "http: ", "::\n"])
def test_paragraph_of_too_many_marks_is_an_error(snippet: str) -> None:
    """docutils would need ten seconds for 60 KB of ``|a|`` in one paragraph."""
    with pytest.raises(RenderError, match="over 2000 marks"):
        html_of(snippet * 2001)


def test_long_table_is_no_paragraph() -> None:
    assert html_of("| a |b| c\n" * 800).count("<br>") == 799


@pytest.mark.parametrize("snippet", ["*", "`", "|\n\n", "[", "_", "- x\n", "a\n\n"])
def test_page_of_one_snippet_over_and_over_ends_soon(snippet: str) -> None:
    source = snippet * (15_000 // len(snippet))
    began = time.process_time()
    with contextlib.suppress(RenderError):
        html_of(source)
    assert time.process_time() - began < 5
