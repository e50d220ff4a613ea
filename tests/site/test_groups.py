"""Wikis below the groups of their paths."""

from pathlib import Path

import pytest

from tests.site.sites import Studio, wiki_source
from wikisync.site.context import GroupContext, WikiContext
from wikisync.site.frame import common_group, group_titles, group_tree


def wiki(path: str, kind: str = "project") -> WikiContext:
    return WikiContext(
        title=path.rpartition("/")[2],
        kind=kind,
        full_path=path,
        url=f"{path}/-/wikis/index.html",
        web_url="",
        visibility="public",
        description="",
        home="",
        page_count=1,
        all_url="",
    )


def drawn(groups: tuple[GroupContext, ...], depth: int = 0) -> list[str]:
    """Groups with a slash behind, wikis below them, both indented."""
    lines = []
    for group in groups:
        lines.append(f"{'  ' * depth}{group.title}/")
        lines += [f"{'  ' * (depth + 1)}{one.title}" for one in group.wikis]
        lines += drawn(group.groups, depth + 1)
    return lines


def test_wikis_stand_below_the_groups_of_their_paths() -> None:
    wikis = [wiki("docs/b"), wiki("ops/sub/a"), wiki("ops", "group")]
    assert drawn(group_tree(wikis, {})) == [
        *("docs/", "  b"),
        *("ops/", "  ops", "  sub/", "    a"),
    ]


def test_group_of_its_own_wiki_alone_is_no_heading() -> None:
    wikis = [wiki("x/people", "group"), wiki("x/eng", "group"), wiki("x/eng/api")]
    assert drawn(group_tree([*wikis, wiki("y", "group")], {})) == [
        *("/", "  y", "x/", "  people", "  eng/", "    api", "    eng")
    ]


def test_order_is_natural() -> None:
    paths = ["x/v10/a", "x/v9/b", "y/api-10", "y/api-9"]
    assert drawn(group_tree([wiki(path) for path in paths], {})) == [
        *("x/", "  v9/", "    b", "  v10/", "    a"),
        *("y/", "  api-9", "  api-10"),
    ]


def test_group_that_all_lie_in_is_no_heading() -> None:
    wikis = [wiki("company/eng/a"), wiki("company/ops/b")]
    assert drawn(group_tree(wikis, {})) == ["eng/", "  a", "ops/", "  b"]
    assert drawn(group_tree([*wikis, wiki("company/c")], {}))[:2] == ["/", "  c"]


def test_groups_are_called_what_the_service_calls_them() -> None:
    sources = [
        wiki_source(Path(), "group:docs"),
        wiki_source(Path(), "docs/eng/a", placeholders={"group_name": "Engineering"}),
        wiki_source(Path(), "docs/deep/down/b"),
    ]
    titles = group_titles(sources)
    assert titles == {"docs": "Docs", "docs/eng": "Engineering"}
    tree = group_tree([wiki("docs/eng/a"), wiki("docs/deep/down/b")], titles)
    assert drawn(tree)[:3] == ["deep/", "  down/", "    b"]
    assert drawn(tree)[3] == "Engineering/"


@pytest.mark.parametrize(
    ("paths", "group"),
    [
        (("docs/a", "docs/sub/b"), "docs"),
        (("docs/x/a", "docs/x/b"), "docs/x"),
        (("group:docs", "docs/sub/b"), "docs"),
        (("docs/a", "doc/b"), ""),
        (("a/one", "b/two"), ""),
    ],
)
def test_common_group_holds_all_wikis(paths: tuple[str, ...], group: str) -> None:
    assert common_group([wiki_source(Path(), path) for path in paths]) == group


def test_landing_page_and_the_list_beside_it_count_as_people_do(studio: Studio) -> None:
    for path in ("eng/v10", "eng/v2", "eng/v1"):
        studio.add("-- home.md --\nx\n", path)
    studio.build()
    page = studio.read("index.html")
    places = [page.index(f">{title}</a>") for title in ("V1", "V2", "V10")]
    assert places == sorted(places)
    content = page[page.index("<article>") :]
    places = [content.index(f">{title}</a>") for title in ("V1", "V2", "V10")]
    assert places == sorted(places)
    assert '<a href="-/all.html">All wikis</a>' in page
    listed = studio.read("-/all.html")
    assert "<h1>All wikis</h1>" in listed
    listed = listed[listed.index("<article>") :]
    places = [listed.index(f">{title}</a>") for title in ("V1", "V2", "V10")]
    assert places == sorted(places)


def test_list_beside_the_landing_page_of_many_wikis_names_groups_alone(
    studio: Studio,
) -> None:
    for number in range(101):
        studio.add("-- home.md --\nx\n", f"g{number % 2}/w{number}")
    studio.build()
    page = studio.read("-/search.html")
    assert '<a href="../index.html#g1">g1</a>' in page
    assert ">W50</a>" not in page
    assert '<a href="../index.html">All wikis <span class="count">101</span>' in page
    assert 'id="g1"' in studio.read("index.html")
