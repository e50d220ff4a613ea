"""Names in a theme's own files that are misspelt."""

import time
from pathlib import Path

import pytest

from tests.support.theming import write_files, write_theme
from wikisync.site.theme import load_theme
from wikisync.site.theme_layers import theme_names

BASE = "{% extends '!theme/base.html' %}"


def told(folder: Path, files: dict[str, str]) -> list[tuple[str, str, str]]:
    """Problems of a project's folder: subject, message and hint."""
    project = write_files(folder / "theme", files)
    problems = load_theme("default", project=project).problems
    return [(one.subject, one.message, one.hint) for one in problems]


@pytest.mark.parametrize("name", theme_names())
def test_nothing_is_misspelt_in_the_themes_that_come_along(
    name: str, tmp_path: Path
) -> None:
    theme = write_theme(tmp_path / "child", {}, f'extends = "{name}"\n')
    assert load_theme(str(theme)).problems == ()


def test_misspelt_block_is_told_with_its_line_and_the_nearest(tmp_path: Path) -> None:
    files = {"templates/base.html": BASE + "\n{% block anounce %}x{% endblock %}"}
    assert told(tmp_path, files) == [
        (
            "theme/templates/base.html:2",
            "no template has a block 'anounce'",
            "did you mean 'announce'?",
        )
    ]


def test_misspelt_string_is_told_with_the_nearest(tmp_path: Path) -> None:
    assert told(tmp_path, {"i18n/de.toml": 'serach = "Los"\nsearch = "Los"'}) == [
        (
            "theme/i18n/de.toml",
            "no template shows a string 'serach'",
            "did you mean 'search'?",
        )
    ]


@pytest.mark.parametrize(
    ("path", "message", "hint"),
    [
        ("templates/pgae.html", "nothing uses the template 'pgae.html'", "'page.html'"),
        ("icons/serach.svg", "nothing uses the icon 'serach.svg'", "'search.svg'"),
    ],
)
def test_file_that_replaces_none_is_told_with_the_nearest(
    path: str, message: str, hint: str, tmp_path: Path
) -> None:
    ((subject, told_message, told_hint),) = told(tmp_path, {path: "x"})
    assert (subject, told_message) == (f"theme/{path}", message)
    assert hint in told_hint


@pytest.mark.parametrize(
    "files",
    [
        {"templates/base.html": BASE + "{% block footer %}x{% endblock %}"},
        {
            "templates/base.html": BASE + "{% block footer %}"
            "{% block motto %}x{% endblock %}{% endblock %}",
            "templates/page.html": "{% extends '!theme/page.html' %}"
            "{% block motto %}y{% endblock %}",
        },
        {
            "templates/base.html": BASE + "{% block motto %}x{% endblock %}"
            "{% block footer %}{{ self.motto() }}{% endblock %}"
        },
        {"templates/base.html": "{% block mine %}x{% endblock %}"},
        {"templates/base.html": "{% extends layout %}{% block mine %}x{% endblock %}"},
        {
            "templates/base.html": "{% extends 'a.html' if b else c %}"
            "{% block mine %}x{% endblock %}",
            "templates/other.html": "{% block mine %}y{% endblock %}",
        },
        {"templates/base.html": BASE + "{% block footer-%}x{% endblock %}"},
        {"templates/base.html": BASE + "{% block footer+%}x{% endblock %}"},
        {"templates/base.html": BASE + "{% raw %}{% block mine %}{% endraw %}"},
        {
            "i18n/en.toml": 'first_a = "x"\nsecond_a = "x"\nthird_a = "x"',
            "templates/base.html": BASE + "{% block footer %}{{ t('first_' + k) }}"
            "{{ t('second_%s'|format(k)) }}{{ t('third_%s' % k) }}{% endblock %}",
        },
        {
            "i18n/en.toml": 'motto = "x"\nnews_one = "{n}"\nnews_other = "{n}"'
            '\nkind_a = "y"',
            "icons/moon.svg": "<svg/>",
            "templates/mine.html": "{{ t('motto') }}{{ 2 | plural('news') }}"
            "{{ t('kind_' ~ page.format) }}{{ inline_svg('moon') }}",
            "templates/base.html": BASE + "{% block footer %}"
            "{% include 'mine.html' %}{% endblock %}",
        },
        {
            "templates/parts/card.html": "x",
            "icons/arrow-up.svg": "<svg/>",
            "templates/base.html": BASE + "{% block footer %}"
            "{% include 'parts/' ~ kind ~ '.html' %}"
            "{{ inline_svg('arrow-' ~ k) }}{% endblock %}",
        },
        {
            "templates/card.html": "x",
            "templates/base.html": BASE
            + "{% block footer %}{% include(page.meta.card) %}{% endblock %}",
        },
    ],
    ids=[
        *("filled", "added-in-another", "self", "whole", "computed", "chosen"),
        *("trimmed", "untrimmed", "raw", "formatted", "used"),
        *("begun", "in-brackets"),
    ],
)
def test_names_of_ones_own_are_no_mistake(
    files: dict[str, str], tmp_path: Path
) -> None:
    assert told(tmp_path, files) == []


def test_theme_of_ones_own_is_checked_below_the_project(tmp_path: Path) -> None:
    theme = write_theme(
        tmp_path / "ours",
        {
            "templates/base.html": "{% extends '!default/base.html' %}"
            "{% block fotter %}x{% endblock %}{% block footer %}"
            "{% block motto %}x{% endblock %}{% endblock %}"
        },
    )
    project = write_files(
        tmp_path / "theme",
        {"templates/base.html": BASE + "{% block motto %}y{% endblock %}"},
    )
    (problem,) = load_theme(str(theme), project=project).problems
    assert problem.subject == "ours/templates/base.html:1"
    assert problem.hint == "did you mean 'footer'?"


def test_template_that_cannot_be_read_is_left_to_the_page_that_needs_it(
    tmp_path: Path,
) -> None:
    assert told(tmp_path, {"templates/base.html": "{% if %}"}) == []


def test_template_of_comments_without_end_is_read_soon(tmp_path: Path) -> None:
    began = time.process_time()
    assert told(tmp_path, {"templates/base.html": BASE + "{#" * 40_000}) == []
    assert time.process_time() - began < 4
