"""Placeholders in pages, with both engines and in other formats."""

import pytest

from tests.support.markup import parse, render
from wikisync.core.model import Format
from wikisync.markup.record import MarkdownEngine, MarkupOptions

VALUES = {
    "gitlab_server": "gitlab.example.com",
    "project_path": "docs/handbook",
    "project_title": 'A "b" <i>c</i>',
}


def filled(text: str, engine: MarkdownEngine = "auto") -> str:
    options = MarkupOptions(engine=engine, placeholders=VALUES, anchors=False)
    return render(text, options=options).html.strip()


@pytest.mark.parametrize("engine", ["comrak", "markdown-it"])
@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("%{project_path}", "<p>docs/handbook</p>"),
        ("%{project_title}", "<p>A &quot;b&quot; &lt;i&gt;c&lt;/i&gt;</p>"),
        (r"\%{project_path}", "<p>%{project_path}</p>"),
        ("`%{project_path}`", "<p><code>%{project_path}</code></p>"),
        ("%{latest_tag}", "<p>%{latest_tag}</p>"),
        ("%{PROJECT_PATH}", "<p>%{PROJECT_PATH}</p>"),
        ("# %{project_path}", '<h1 id="project_path">docs/handbook</h1>'),
        (
            "[%{project_path}](mailto:a@%{gitlab_server})",
            '<p><a href="mailto:a@gitlab.example.com">docs/handbook</a></p>',
        ),
    ],
)
def test_placeholder_is_filled_in_as_on_the_service(
    text: str, html: str, engine: MarkdownEngine
) -> None:
    assert filled(text, engine) == html


@pytest.mark.parametrize("engine", ["comrak", "markdown-it"])
def test_address_of_the_server_is_filled_in(engine: MarkdownEngine) -> None:
    html = filled("![](http://%{gitlab_server}/%{project_title}.png)", engine)
    src = "http://gitlab.example.com/A%20%22b%22%20%3Ci%3Ec%3C%2Fi%3E.png"
    assert f'<img src="{src}"' in html


def test_formula_stays_as_it_is_written() -> None:
    assert "docs/handbook" not in filled("$%{project_path}$ $`%{project_path}`$")


def test_link_in_raw_html_is_filled_in() -> None:
    html = filled("<a title='x' href='http://%{gitlab_server}/?a=1&amp;b=2'>q</a>")
    assert 'href="http://gitlab.example.com/?a=1&amp;b=2"' in html


def test_value_makes_no_scheme() -> None:
    options = MarkupOptions(placeholders={"project_title": "javascript:alert(1)"})
    for text in ("[x](%{project_title})", "<a href='%{project_title}//'>x</a>"):
        assert 'href="javascript' not in render(text, options=options).html


def test_headings_and_plain_text_name_the_values() -> None:
    page = parse(
        "# On %{project_path}\n\nx %{project_path}",
        options=MarkupOptions(placeholders=VALUES),
    )
    assert page.toc[0].text == "On docs/handbook"
    assert page.toc[0].id == "on-project_path"
    assert page.sections[-1].text == "x docs/handbook"


def test_other_formats_have_them_too() -> None:
    options = MarkupOptions(placeholders=VALUES)
    assert (
        "docs/handbook" in render("%{project_path}", Format.RDOC, options=options).html
    )


def test_without_values_nothing_is_touched() -> None:
    assert "%{project_path}" in render("%{project_path}").html
