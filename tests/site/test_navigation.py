"""The tree from slugs: merged, sorted, pruned and capped at any size."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wikisync.core.model import Slug
from wikisync.site import addresses
from wikisync.site.context import LeftOut, NavNode
from wikisync.site.navigation import (
    ReadingOrder,
    Tree,
    natural_key,
    reading_order,
    shared_out,
)
from wikisync.site.titles import folder_title


def tree_of(*slugs: str, titles: dict[str, str] | None = None) -> Tree:
    named = {Slug(slug): (titles or {}).get(slug, folder_title(slug)) for slug in slugs}
    urls = {slug: f"{slug}.html" for slug in named}
    return Tree("Wiki", named, urls, "home.html", listed="all.html")


def drawn(node: NavNode, depth: int = 0) -> str:
    """The tree as text: open branches indented, ``*`` current, ``+`` left out."""
    mark = "*" if node.current else ""
    more = " +" if node.more else ""
    lines = [f"{'  ' * depth}{node.title}{mark}{more}"]
    return "\n".join(lines + [drawn(child, depth + 1) for child in node.children])


def nodes(node: NavNode) -> Iterator[NavNode]:
    yield node
    for child in node.children:
        yield from nodes(child)


def test_only_the_branch_of_the_page_is_open() -> None:
    tree = tree_of("home", "a", "a/one", "a/two", "a/two/x", "b/deep")
    assert drawn(tree.navigation(Slug("a/two"), 150)) == (
        "Wiki\n  home\n  a\n    one\n    two*\n      x\n  B +"
    )


def test_page_and_folder_of_one_slug_are_one_entry() -> None:
    root = tree_of("dir", "dir/page").navigation(Slug("dir"), 150)
    assert [(child.title, child.url) for child in root.children] == [
        ("dir", "dir.html")
    ]


def test_folder_without_page_has_a_title_and_no_address() -> None:
    root = tree_of("how-to/start").navigation(Slug("how-to/start"), 150)
    assert (root.children[0].title, root.children[0].url) == ("How to", None)


def test_page_outside_the_tree_sees_its_first_level() -> None:
    tree = tree_of("a", "a/b")
    assert drawn(tree.navigation(Slug("_sidebar"), 150)) == "Wiki\n  a +"


def test_order_is_natural_with_home_first_and_parents_before_children() -> None:
    tree = tree_of("Page-10", "page-9", "home", "b/c", "b", "Alpha")
    assert tree.order == ("home", "Alpha", "b", "b/c", "page-9", "Page-10")


def test_title_decides_the_order_not_the_slug() -> None:
    tree = tree_of("a", "b", titles={"a": "Zebra", "b": "Apple"})
    assert tree.order == ("b", "a")


def test_long_flat_level_shows_a_window_around_the_page() -> None:
    tree = tree_of(*(f"page-{number:04}" for number in range(2000)))
    root = tree.navigation(Slug("page-1000"), 150)
    shown = [child.title for child in root.children]
    assert len(shown) == 146
    assert shown[73] == "page 1000"
    assert root.more


def test_window_says_what_it_leaves_out_and_where_that_is_listed() -> None:
    tree = tree_of(*(f"page-{number:04}" for number in range(5000)))
    root = tree.navigation(Slug("page-4000"), 150)
    assert root.before == LeftOut("all.html", "page-0000.html")
    assert root.after == LeftOut("all-3.html", "page-4073.html")
    top = tree.navigation(Slug("page-0000"), 150)
    assert top.before is None
    assert top.after == LeftOut("all.html", "page-0146.html")


def test_closed_folder_says_where_its_pages_are_listed() -> None:
    root = tree_of("a", "b/c/d").navigation(Slug("a"), 150)
    assert root.children[1].after == LeftOut("all.html", "b/c/d.html")


@pytest.mark.parametrize("slug", ["page-0000", "page-1999"])
def test_window_at_an_end_is_full(slug: str) -> None:
    tree = tree_of(*(f"page-{number:04}" for number in range(2000)))
    root = tree.navigation(Slug(slug), 150)
    assert len(root.children) == 146
    assert any(child.current for child in root.children)


@given(
    st.lists(
        st.lists(st.sampled_from("abcdef"), min_size=1, max_size=6).map("/".join),
        min_size=1,
        max_size=60,
        unique=True,
    ),
    st.integers(24, 60),
)
def test_every_page_finds_itself_within_the_limit(slugs: list[str], limit: int) -> None:
    tree = tree_of(*slugs)
    shown = [list(nodes(tree.navigation(Slug(slug), limit))) for slug in slugs]
    assert all(sum(node.current for node in page) == 1 for page in shown)
    assert max(sum(map(links, page)) for page in shown) <= limit


def links(node: NavNode) -> int:
    """Links of an entry; the list of all pages counts as one of the root."""
    is_root = node.title == "Wiki"
    return 1 + is_root + (node.open and sum(map(bool, (node.before, node.after))))


def test_very_deep_page_shows_its_nearest_levels() -> None:
    tree = tree_of("/".join("abc" for _ in range(1500)))
    root = tree.navigation(tree.order[0], 150)
    assert len(list(nodes(root))) <= 25
    assert len(tree.ancestors(tree.order[0])) <= 20


def test_ancestors_are_the_folders_without_the_wiki() -> None:
    tree = tree_of("a", "a/b/c")
    assert [(one.title, one.url) for one in tree.ancestors(Slug("a/b/c"))] == [
        ("a", "a.html"),
        ("B", None),
    ]


def test_children_are_the_entries_directly_below() -> None:
    tree = tree_of("a", "a/b", "a/c/d")
    assert [one.title for one in tree.children(Slug("a"), 10)] == ["b", "C"]
    assert [one.title for one in tree.children(Slug("a"), 1)] == ["b"]
    assert (tree.is_section(Slug("a")), tree.is_section(Slug("a/b"))) == (True, False)


def test_page_more_changes_the_tree_only_where_it_is_listed() -> None:
    """Neither of a flat wiki nor of deep folders does it change every page."""
    slugs = [f"page-{number:04}" for number in range(0, 2000, 2)]
    slugs += [f"{top}/{sub}/{leaf}" for top in "abc" for sub in "xy" for leaf in "123"]
    before = tree_of(*slugs)
    for new, places in {"page-0501": 60, "b/y/4": 5}.items():
        after = tree_of(*slugs, new)
        keys = [
            (before.branch_key(Slug(slug), 60), after.branch_key(Slug(slug), 60))
            for slug in slugs
        ]
        assert 0 < sum(old != now for old, now in keys) <= places


@given(
    st.dictionaries(
        st.lists(st.sampled_from("abc"), min_size=1, max_size=3).map("/".join),
        st.sampled_from("xyz"),
        min_size=2,
        max_size=15,
    ),
    st.data(),
)
def test_equal_branch_keys_mean_equal_navigation(
    titles: dict[str, str], data: st.DataObject
) -> None:
    """What the cache rests on: a page with an unchanged key shows the same tree."""
    kept = data.draw(st.sets(st.sampled_from(sorted(titles)), min_size=1))
    limit = data.draw(st.sampled_from([4, 7, 12]))
    before = tree_of(*titles, titles=titles)
    after = tree_of(*kept, titles={slug: titles[slug] for slug in kept})
    same = [
        slug
        for slug in after.order
        if before.branch_key(slug, limit) == after.branch_key(slug, limit)
    ]
    assert [before.navigation(slug, limit) for slug in same] == [
        after.navigation(slug, limit) for slug in same
    ]


PAGES_BELOW = st.dictionaries(
    st.tuples(st.sampled_from("ab"), st.sampled_from("cdefgh"), st.sampled_from("ijk"))
    .flatmap(lambda parts: st.integers(1, 3).map(lambda depth: "/".join(parts[:depth])))
    .map(Slug),
    st.sampled_from("xyz"),
    min_size=10,
    max_size=20,
)
"""Slugs and titles."""


def around(tree: Tree, slug: Slug) -> tuple[object, ...]:
    """All that a page shows of a tree."""
    pages = (one and tree.node(one) for one in ReadingOrder(tree.order).around(slug))
    shown = tuple(one and one.reference for one in pages)
    navigation = tree.navigation(slug, 6)
    return navigation, shown, tree.ancestors(slug), tree.children(slug, 9)


@given(PAGES_BELOW, PAGES_BELOW, st.sampled_from([(0, 1), (1, 0), (1, 1), (20, 20)]))
def test_page_around_which_nothing_changed_shows_the_same_tree(
    one: dict[Slug, str], other: dict[Slug, str], edits: tuple[int, int]
) -> None:
    """The build leaves such pages as they are; below ``b`` only positions change.

    Below ``a`` some pages go, and some come or have another title.
    """
    were, come = (
        [item for item in pages.items() if item[0].startswith("a")]
        for pages in (one, other)
    )
    same = {slug: title for slug, title in one.items() if slug.startswith("b")}
    other = dict([*were[edits[0] :], *come[: edits[1]]])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(addresses, "LIST_ITEMS_MAX", 3)
        before, now = (
            Tree("Wiki", pages, {slug: f"{slug}.html" for slug in pages}, listed="all")
            for pages in (one, other | same)
        )
        changed = now.changed_since(before, 6)
        for slug in set(now.order) & set(before.order) - changed:
            assert around(now, slug) == around(before, slug)


def test_title_reaches_the_pages_of_its_branch_and_its_neighbours() -> None:
    slugs = ("a", "a/one", "a/two", "b", "b/one", "c", "c/one")
    before, now = tree_of(*slugs), tree_of(*slugs, titles={"b/one": "other"})
    assert sorted(now.changed_since(before, 40)) == ["b", "b/one", "c"]
    assert now.changed_since(now, 40) == frozenset()


def test_neighbours_follow_the_order() -> None:
    order = ReadingOrder([Slug("a"), Slug("b"), Slug("c")])
    around = [order.around(Slug(slug)) for slug in "abc"]
    assert around == [(None, "b"), ("a", "c"), ("b", None)]
    assert Slug("d") not in order
    assert order.around(Slug("d")) == (None, None)


def test_reading_order_of_a_sidebar_takes_known_pages_once() -> None:
    linked = [Slug("b"), Slug("a"), Slug("b"), Slug("gone")]
    assert reading_order(linked, [Slug("a"), Slug("b")]) == ("b", "a")


@pytest.mark.parametrize(
    ("sizes", "limit", "shares"),
    [
        ((3, 4), 150, (3, 4)),
        ((1000, 10), 50, (38, 10)),
        ((1000, 1000), 50, (23, 23)),
        ((5, 0, 100), 20, (5, 0, 13)),
        ((9, 9, 9), 2, (1, 1, 1)),
    ],
)
def test_short_levels_are_whole_and_long_ones_share_the_rest(
    sizes: tuple[int, ...], limit: int, shares: tuple[int, ...]
) -> None:
    assert shared_out(sizes, limit) == shares


def test_natural_key_counts_as_people_do() -> None:
    assert sorted(["v10", "v9", "V1", "é"], key=natural_key) == ["é", "V1", "v9", "v10"]
