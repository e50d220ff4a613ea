"""Options of the markup as a site's own: they reach every page, and its cache."""

from msgspec.structs import replace

from tests.site.sites import Studio
from wikisync.markup.record import MarkupOptions


def test_options_reach_the_pages_and_a_change_of_them_rebuilds(studio: Studio) -> None:
    studio.add("-- home.md --\n:tada:\n")
    studio.set(markup=MarkupOptions(emoji=False))
    studio.build()
    assert ":tada:" in studio.article("index.html")
    studio.set(markup=MarkupOptions())
    studio.build()
    assert "🎉" in studio.article("index.html")


def test_placeholders_have_the_values_of_each_wiki(studio: Studio) -> None:
    studio.add("-- home.md --\n%{project_path} %{project_id}\n", "docs/a")
    studio.add(
        "-- home.md --\n%{project_path} %{project_id}\n",
        "docs/b",
        placeholders={"project_id": "7"},
    )
    studio.set(markup=MarkupOptions(placeholders={}))
    studio.build()
    assert "docs/a %{project_id}" in studio.article("docs/a/-/wikis/index.html")
    assert "docs/b 7" in studio.article("docs/b/-/wikis/index.html")


def test_value_that_changed_makes_the_page_anew(studio: Studio) -> None:
    studio.add("-- home.md --\n%{project_id}\n", placeholders={"project_id": "7"})
    studio.set(markup=MarkupOptions(placeholders={}))
    studio.build()
    (source,) = studio.sources
    studio.sources = [replace(source, placeholders={"project_id": "8"})]
    studio.build()
    assert "<p>8</p>" in studio.article("index.html")
