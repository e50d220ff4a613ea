import contextlib
import re
import time
from pathlib import Path

import pytest

from tests.support.markup import load_fixtures, parse
from wikisync.core.model import Format, Slug
from wikisync.errors import RenderError
from wikisync.markup.context import ParseContext
from wikisync.markup.rst import SOURCE_CHARACTERS_MAX, to_html


def html_of(source: str) -> str:
    """HTML without the line ends that stand beside a tag."""
    html = to_html(source, ParseContext(Slug("home")))
    return re.sub(r"\n(?=<)|(?<=>)\n", "", html)


FIXTURES = load_fixtures("rst.txt")


@pytest.mark.parametrize(
    ("source", "html"), [one[1:] for one in FIXTURES], ids=[one[0] for one in FIXTURES]
)
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
    assert "words" in parsed.sections[-1].text
    first_line = directive.partition("\n")[0]
    assert [(one.subject, one.message) for one in parsed.problems] == [
        (
            "home:3",
            f"the directive {first_line} is not carried out, so its source is shown",
        )
    ]


def test_warning_of_docutils_is_no_text_of_the_page() -> None:
    parsed = parse("Title\n==\n\n|a| `b`_\n", Format.REST)
    assert "short" not in parsed.sections[-1].text
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
