"""What a site has for programs: sources, lists of pages, texts in one file."""

import json

import pytest

from tests.site.sites import Studio
from wikisync.site import agents
from wikisync.site.agents import FULL_BYTES_MAX

WIKI = """\
-- home.md --
---
tags: [a]
---
# Wel[come]

to [plan](plans/plan)
-- plans/plan.asciidoc --
= The plan
-- _sidebar.md --
[home](home)
-- notes.rst.txt --
Notes
"""


@pytest.fixture
def public(studio: Studio) -> Studio:
    studio.start(WIKI, visibility="public")
    return studio


def test_source_of_each_page_is_beside_it_byte_for_byte(public: Studio) -> None:
    folder = public.sources[0].folder
    odd = b"\xef\xbb\xbf# odd\r\n\r\nx  \r"
    (folder / "odd.md").write_bytes(odd)
    public.build()
    assert (public.site / "odd.md").read_bytes() == odd
    for source, name in (
        ("home.md", "index.md"),
        ("plans/plan.asciidoc", "plans/plan.asciidoc"),
        ("notes.rst.txt", "notes.rst.txt"),
    ):
        assert (public.site / name).read_bytes() == (folder / source).read_bytes()
    assert not (public.site / "_sidebar.md").exists()


def test_page_names_its_source(public: Studio) -> None:
    page = public.read("plans/plan.html")
    assert '<link rel="alternate" type="text/plain" href="plan.asciidoc">' in page
    assert 'type="text/markdown" href="index.md"' in public.read("index.html")


def test_sources_of_private_wikis_are_published_on_request_alone(
    studio: Studio,
) -> None:
    studio.start(WIKI)
    assert not (studio.site / "index.md").exists()
    assert not (studio.site / "llms.txt").exists()
    assert "source" not in studio.read("-/pages.json")
    studio.set(sources=True)
    studio.build()
    assert (studio.site / "index.md").exists()
    studio.set(sources=False)
    studio.build()
    assert not (studio.site / "index.md").exists()
    assert studio.files() == studio.clean_build()


def test_sources_follow_the_pages(public: Studio) -> None:
    folder = public.sources[0].folder
    (folder / "home.md").write_text("# Other\n")
    (folder / "plans/plan.asciidoc").rename(folder / "plans/plan.md")
    public.build()
    assert public.read("index.md") == "# Other\n"
    assert public.files() == public.clean_build()


def test_no_source_takes_the_place_of_another_file(studio: Studio) -> None:
    """A folder may be called as a source would be, and a page as ``llms.txt``."""
    studio.start(
        "-- a.md --\nx\n-- A.MD/b.md --\ny\n-- llms.txt --\nz\n", visibility="public"
    )
    assert studio.article("A.MD/b.html")
    assert studio.read("llms.txt").startswith("# Docs\n")
    assert studio.files() == studio.clean_build()


def test_pages_are_listed_for_programs(public: Studio) -> None:
    public.set(url="https://docs.example.com/w")
    public.build()
    listed = json.loads(public.read("-/pages.json"))
    assert listed["title"] == "Docs"
    assert listed["pages"][0] == {
        "wiki": "docs/handbook",
        "slug": "home",
        "title": "Wel[come]",
        "url": "https://docs.example.com/w/",
        "source": "https://docs.example.com/w/index.md",
        "tags": ["a"],
    }
    assert [page["slug"] for page in listed["pages"]] == ["home", "notes", "plans/plan"]


def test_llms_txt_lists_the_sources_by_wiki(public: Studio) -> None:
    public.set(description="All\nof it")
    public.build()
    assert public.read("llms.txt") == (
        "# Docs\n\n> All of it\n\n## Handbook\n\n- [Wel(come)](index.md)\n"
        "- [notes](notes.rst.txt)\n- [The plan](plans/plan.asciidoc)\n"
    )


def test_llms_txt_parts_its_wikis_with_a_line(public: Studio) -> None:
    public.add("-- home.md --\nx\n", "docs/other", visibility="public")
    public.build()
    assert public.read("llms.txt").count("\n\n## ") == 2


def test_llms_full_txt_holds_whole_pages_up_to_a_limit(
    public: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = public.read("llms-full.txt")
    assert "# Wel[come]\n\nSource: index.md\n\n---\ntags: [a]" in text
    assert "= The plan" in text
    folder = public.sources[0].folder
    (folder / "large.md").write_text("x" * FULL_BYTES_MAX)
    public.build()
    text = public.read("llms-full.txt")
    assert "Wel[come]" in text
    assert text.endswith("3 more pages: llms.txt\n")
    assert len(text) < FULL_BYTES_MAX
    (folder / "plans" / "plan.asciidoc").write_text("= The plan\n\nAnother text.\n")
    with monkeypatch.context() as patch:
        patch.setattr(agents, "llms_full_text", pytest.fail)
        public.build()
    assert public.files() == public.clean_build()


def test_llms_full_txt_is_made_anew_where_a_source_changed(
    public: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = public.sources[0].folder / "home.md"
    source.write_bytes(source.read_bytes() + b"<!-- one -->\n")
    public.build()
    assert "<!-- one -->" in public.read("llms-full.txt")
    source.write_bytes(source.read_bytes().replace(b"one", b"two"))
    public.build()
    assert "<!-- two -->" in public.read("llms-full.txt")
    (source.parent / "_sidebar.md").write_text("[start](home)\n")
    with monkeypatch.context() as patch:
        patch.setattr(agents, "llms_full_text", pytest.fail)
        public.build()
    assert "start" in public.read("index.html")
    assert public.files() == public.clean_build()
