"""What pages of a directory share: a text of a template that is rendered once."""

from pathlib import Path

import pytest

from tests.support.theming import HERE, full_context, page_context, write_files
from wikisync.site.context import NavNode
from wikisync.site.theme import load_theme

SHARED = "{% call shared('x', nav) %}{{ at }}{% endcall %}"


def test_a_shared_text_is_rendered_once_for_each_directory(tmp_path: Path) -> None:
    project = write_files(tmp_path, {"templates/try.html": SHARED})
    theme, context = load_theme("default", project=project), full_context()
    shown = [
        theme.render("try.html", context, at=at)
        for at in ("a/one.html", "a/two.html", "one.html", "404.html", "a/three.html")
    ]
    assert shown == ["a/one.html", "a/one.html", "one.html", "404.html", "a/one.html"]


def test_each_value_and_each_name_has_a_shared_text_of_its_own(tmp_path: Path) -> None:
    one, two = NavNode("one", None), NavNode("one", None)
    both = SHARED + SHARED.replace("'x'", "'y'").replace("{{ at }}", " {{ root }}")
    project = write_files(tmp_path, {"templates/try.html": both})
    theme = load_theme("default", project=project)
    texts = [
        theme.render("try.html", full_context(nav=node), at=at)
        for node, at in ((one, "a/b.html"), (two, "a/c.html"))
    ]
    assert texts == ["a/b.html ../", "a/c.html ../"]


def test_a_shared_text_of_two_values_is_rendered_for_each_pair(tmp_path: Path) -> None:
    """A theme is used again for a site of which one of the two has changed."""
    text = SHARED.replace("nav)", "nav, wiki)")
    project = write_files(tmp_path, {"templates/try.html": text})
    theme, one, two = load_theme("default", project=project), NavNode("", None), "wiki"
    shown = [
        theme.render("try.html", full_context(nav=one, wiki=wiki), at=f"a/{name}.html")
        for name, wiki in (("one", two), ("two", None), ("three", two))
    ]
    assert shown == ["a/one.html", "a/two.html", "a/one.html"]


def test_each_of_several_values_is_shared_unless_it_is_the_page_s_own(
    tmp_path: Path,
) -> None:
    each = (
        "{% call(one) shared_each('x', nav.children, unless='active') %}"
        "{{ one.title }}<{{ at }} {% endcall %}"
    )
    project = write_files(tmp_path, {"templates/try.html": each})
    theme = load_theme("default", project=project)
    children = (NavNode("&", None), NavNode("own", None, active=True))
    context = full_context(nav=NavNode("all", None, children=children))
    shown = [
        theme.render("try.html", context, at=at) for at in ("a/b", "a/c", "b/d", "a/e")
    ]
    assert shown == [
        "&amp;<a/b own<a/b ",
        "&amp;<a/b own<a/c ",
        "&amp;<b/d own<b/d ",
        "&amp;<a/b own<a/e ",
    ]


def test_project_s_search_form_may_differ_on_each_page(tmp_path: Path) -> None:
    """The header around it is shared by all pages of a directory."""
    files = {"templates/partials/search-form.html": "[{{ page.title }}]"}
    theme = load_theme("default", project=write_files(tmp_path, files))
    context = full_context()
    for title in ("one", "two"):
        context["page"] = page_context(title=title)
        page = theme.render("page.html", context, at=HERE)
        assert f"[{title}]" in page
        assert page.count('<header class="top">') == 1


def test_shared_texts_of_a_large_site_are_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wikisync.site.theme_functions.SHARED_TEXTS_MAX", 2)
    project = write_files(tmp_path, {"templates/try.html": SHARED})
    theme, context = load_theme("default", project=project), full_context()
    shown = [
        theme.render("try.html", context, at=f"{folder}/{name}.html")
        for name, folder in (("one", "a"), ("one", "b"), ("one", "c"), ("two", "a"))
    ]
    assert shown[-1] == "a/two.html"
