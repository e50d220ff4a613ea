"""A whole site from a text archive, looked at piece by piece."""

import json
import re
import shutil
import sqlite3

import pytest

from tests.site.sites import HANDBOOK, Studio, with_handbook, with_instance
from tests.support.site_links import dead_addresses
from wikisync.errors import FolderError, SiteError
from wikisync.markup.resolve import REASONS
from wikisync.site.theme import load_theme


@pytest.fixture(scope="module")
def handbook(tmp_path_factory: pytest.TempPathFactory) -> Studio:
    """The handbook, built once; tests only look at it."""
    return with_handbook(Studio(tmp_path_factory.mktemp("handbook")))


def test_every_page_is_a_file_of_its_slug(handbook: Studio) -> None:
    pages = {path for path in handbook.files() if path.endswith(".html")}
    assert pages == {
        "index.html",
        "guide.html",
        "guide/start.html",
        "guide/deep/er.html",
        "C++-&--quotes-.html",
        "naïve-café.html",
        "日本語.html",
        "dir/with space.html",
        "lonely.html",
        "404.html",
        "-/all.html",
        "-/orphans.html",
        "-/report.html",
        "-/search.html",
        "-/tags.html",
        "-/tags/a.html",
        "-/tags/b.html",
        "-/wanted.html",
    }


def test_every_link_of_every_page_names_a_file(handbook: Studio) -> None:
    """None begins at a host's top: the site works from a file system, and anywhere."""
    no_heading = "guide.html -> guide/start.html#nowhere"
    assert dead_addresses(handbook.site) == [no_heading]


def test_page_shows_its_neighbours_and_who_links_to_it(handbook: Studio) -> None:
    page = handbook.read("guide/start.html")
    backlinks = page[page.index('<section class="backlinks"') :]
    found = re.findall(r'href="([^"]*)"', backlinks[: backlinks.index("</section>")])
    assert sorted(found) == ["../guide.html", "../index.html"]
    assert '<a class="prev" rel="prev" href="deep/er.html">' in page


def test_tree_marks_the_current_page(handbook: Studio) -> None:
    page = handbook.read("guide/start.html")
    assert re.findall(r'<a href="([^"]*)" aria-current="page">', page) == ["start.html"]


def test_missing_attachment_is_a_placeholder_and_a_broken_link(
    handbook: Studio,
) -> None:
    assert "missing-media" in handbook.article("index.html")
    broken = handbook.report()["broken_links"]
    assert "there is no such attachment" in {link["reason"] for link in broken}


def test_report_tells_of_broken_links_wanted_pages_and_orphans(
    handbook: Studio,
) -> None:
    report = handbook.report()
    assert [(link["slug"], link["href"]) for link in report["broken_links"]] == [
        ("guide", "guide/start#nowhere"),
        ("home", "not/written"),
        ("home", "uploads/0123456789abcdef0123456789abcdef/gone.png"),
    ]
    assert report["wanted_pages"] == [
        {"wiki": "docs/handbook", "slug": "not/written", "count": 1, "pages": ["home"]}
    ]
    assert {"wiki": "docs/handbook", "slug": "lonely"} in report["orphans"]
    assert "guide/start#nowhere" in handbook.read("-/report.html")
    assert "not/written" in handbook.read("-/wanted.html")
    assert "lonely" in handbook.read("-/orphans.html")


def test_broken_link_is_shown_with_its_line(studio: Studio) -> None:
    studio.add("-- home.md --\n---\ntitle: Start\n---\nx\n\n[a](gone)\n")
    (link,) = studio.build().broken_links
    assert (link.slug, link.line, link.href) == ("home", 6, "gone")
    assert studio.report()["broken_links"][0]["line"] == 6
    assert ">Start:6</a>" in studio.article("-/report.html")


def test_report_says_in_the_language_of_the_site_why_a_link_is_broken(
    studio: Studio,
) -> None:
    studio.add(
        "-- home.md --\n[a](gone) ![b](none.png)\n-- _sidebar.md --\n[c](gone)\n"
    )
    studio.set(lang="de")
    studio.build()
    page = studio.read("index.html")
    assert page.count('title="gone: diese Seite gibt es nicht"') == 2
    assert 'title="none.png: diese Datei gibt es nicht"' in page
    assert ">diese Seite gibt es nicht<" in studio.article("-/report.html")
    assert studio.report()["broken_links"][0]["reason"] == REASONS["no-page"]
    strings = load_theme("default").text
    assert {word: strings(f"reason_{word}", "en") for word in REASONS} == REASONS


def test_build_report_counts_pages_and_broken_links(studio: Studio) -> None:
    studio.add(HANDBOOK)
    report = studio.build()
    assert (report.pages, len(report.broken_links), report.removed) == (9, 3, 0)
    assert report.written == len(studio.files())


def test_all_pages_are_listed_in_the_order_of_the_tree(handbook: Studio) -> None:
    article = handbook.article("-/all.html")
    assert article.index("index.html") < article.index("guide/start.html")
    assert article.count("<li") == 9
    assert '<li id="dir/with//space.html">' in article


def test_hosts_are_told_to_take_every_file(handbook: Studio) -> None:
    assert handbook.read(".nojekyll") == ""


def test_manifest_names_every_file_but_itself(handbook: Studio) -> None:
    manifest = json.loads(handbook.read("-/manifest.json"))
    paths = [file["path"] for file in manifest["files"]]
    assert sorted({*paths, "-/manifest.json"}) == sorted(handbook.files())
    assert paths == sorted(paths)


# -- what is not public --------------------------------------------------------------


def test_private_wiki_beside_a_public_one_is_closed_alone(studio: Studio) -> None:
    studio.set(url="https://docs.example.com/base/")
    studio.add("-- home.md --\nopen\n", "docs/open", visibility="public")
    studio.add("-- home.md --\nsecret\n", "docs/closed", visibility="internal")
    studio.build()
    assert "Disallow: /base/docs/closed/-/wikis/" in studio.read("robots.txt")
    assert 'content="noindex"' not in studio.read("docs/open/-/wikis/index.html")
    assert 'content="noindex"' in studio.read("docs/closed/-/wikis/index.html")
    assert 'content="noindex"' in studio.read("index.html")
    assert "closed" not in studio.read("sitemap.xml")


def test_private_wiki_in_a_site_marked_public_is_refused(studio: Studio) -> None:
    studio.set(is_public=True)
    studio.add("-- home.md --\nsecret\n", visibility="private")
    with pytest.raises(SiteError, match="docs/handbook is private") as caught:
        studio.build()
    assert caught.value.hint
    assert not studio.site.exists()


def test_sitemap_is_written_where_the_address_is_known(studio: Studio) -> None:
    studio.set(url="https://docs.example.com/w")
    studio.start("-- home.md --\nx\n-- é.md --\nx\n", visibility="public")
    sitemap = studio.read("sitemap.xml")
    assert "<loc>https://docs.example.com/w/</loc>" in sitemap
    assert "<loc>https://docs.example.com/w/%C3%A9.html</loc>" in sitemap
    assert "Sitemap: https://docs.example.com/w/sitemap.xml" in studio.read(
        "robots.txt"
    )


def test_host_of_the_site_is_left_to_programs_to_encode(studio: Studio) -> None:
    """To most of them ``b%C3%BCcher.example`` is no host."""
    studio.set(url="https://bücher.example:8443/ä/")
    studio.start("-- home.md --\nx\n", visibility="public")
    base = "https://bücher.example:8443/%C3%A4/"
    assert f"<loc>{base}</loc>" in studio.read("sitemap.xml")
    assert f'rel="canonical" href="{base}"' in studio.read("index.html")


@pytest.mark.parametrize("path", ["über uns/", "%C3%BCber%20uns"])
def test_address_of_the_site_is_written_encoded(studio: Studio, path: str) -> None:
    studio.set(url=f"https://docs.example.com/{path}")
    studio.start("-- home.md --\nx\n", visibility="public")
    base = "https://docs.example.com/%C3%BCber%20uns/"
    assert f"<loc>{base}</loc>" in studio.read("sitemap.xml")
    assert f'rel="canonical" href="{base}"' in studio.read("index.html")
    assert f"Sitemap: {base}sitemap.xml" in studio.read("robots.txt")
    assert 'href="/%C3%BCber%20uns/index.html"' in studio.read("404.html")


@pytest.mark.parametrize("visibility", ["public", "internal"])
def test_sitemap_has_the_landing_page_where_all_may_see_it(
    studio: Studio, visibility: str
) -> None:
    studio.set(url="https://docs.example.com/w")
    studio.add("-- home.md --\nx\n", "docs/open", visibility="public")
    studio.add("-- home.md --\nx\n", "docs/other", visibility=visibility)
    studio.build()
    listed = "<loc>https://docs.example.com/w/</loc>" in studio.read("sitemap.xml")
    assert listed == (visibility == "public")
    assert listed != ('content="noindex"' in studio.read("index.html"))


def test_site_without_address_has_no_sitemap(handbook: Studio) -> None:
    assert "sitemap.xml" not in handbook.files()


# -- many wikis ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def instance(tmp_path_factory: pytest.TempPathFactory) -> Studio:
    """Three wikis, built once; tests only look at them."""
    return with_instance(Studio(tmp_path_factory.mktemp("instance")))


def test_landing_page_lists_every_wiki_below_its_group(instance: Studio) -> None:
    article = instance.article("index.html")
    assert "docs/b/-/wikis/index.html" in article
    assert "docs/tools/-/wikis/index.html" in article
    assert "docs/-/wikis/index.html" in article
    assert "<h2" not in article, "all lie in one group"


def test_home_of_a_wiki_of_folders_leads_to_what_is_in_them(studio: Studio) -> None:
    """Before, it was a list of names that led nowhere."""
    studio.start("-- docs/a/b.md --\nx\n-- more/c.md --\nx\n")
    home = studio.article("index.html")
    assert '<a href="-/all.html#docs/a/b.html">Docs</a>' in home
    assert '<a href="-/all.html#more/c.html">More</a>' in home
    assert dead_addresses(studio.site) == []


def test_full_addresses_of_exported_wikis_become_relative(instance: Studio) -> None:
    article = instance.article("docs/b/-/wikis/index.html")
    assert 'href="../../../tools/-/wikis/setup.html#top"' in article
    assert 'href="../../../-/wikis/index.html"' in article
    assert 'href="../../../tools/-/wikis/uploads/0a/x.txt"' in article


def test_backlink_from_another_wiki_names_that_wiki(instance: Studio) -> None:
    page = instance.read("docs/tools/-/wikis/setup.html")
    backlinks = page[page.index('<section class="backlinks"') :]
    assert '<a href="../../../b/-/wikis/index.html">Home</a>' in backlinks
    assert "B</span>" in backlinks


def test_new_page_in_one_wiki_is_linked_from_the_other(own_instance: Studio) -> None:
    (own_instance.sources[2].folder / "none.md").write_text("now it is there")
    own_instance.build()
    article = own_instance.article("docs/b/-/wikis/index.html")
    assert 'href="../../../tools/-/wikis/none.html"' in article
    assert own_instance.files() == own_instance.clean_build()


def test_problem_in_a_site_of_many_names_its_wiki(studio: Studio) -> None:
    studio.add("-- home.md --\nx\n", "docs/a")
    studio.add("-- home.md --\nx\n", "docs/b")
    (studio.sources[1].folder / "bad.md").write_bytes(b"caf\xe9")
    report = studio.build()
    assert [problem.subject for problem in report.problems] == ["docs/b: bad"]


@pytest.mark.parametrize(
    ("paths", "drop_prefix", "message"),
    [
        (("docs/a", "Docs/A"), None, "same addresses"),
        (("docs/a", "docs/b"), True, "cannot share"),
        ((), None, "no wiki"),
    ],
)
def test_wikis_that_make_no_site_together_are_refused(
    studio: Studio, paths: tuple[str, ...], message: str, *, drop_prefix: bool | None
) -> None:
    studio.set(drop_prefix=drop_prefix)
    for path in paths:
        studio.add("-- home.md --\nx\n", path)
    with pytest.raises(SiteError, match=message):
        studio.build()


def test_prefix_of_one_wiki_can_be_kept(studio: Studio) -> None:
    studio.set(drop_prefix=False)
    studio.start("-- home.md --\nx\n")
    assert "docs/handbook/-/wikis/index.html" in studio.files()
    assert "docs/handbook/-/wikis/index.html" in studio.read("index.html")


# -- odd pages -----------------------------------------------------------------------


def test_page_that_is_not_utf8_is_shown_and_reported(studio: Studio) -> None:
    folder = studio.add("-- home.md --\nx\n")
    (folder / "latin.md").write_bytes("# Café\n".encode("latin-1"))
    report = studio.build()
    assert [(one.code, one.subject) for one in report.problems] == [
        ("page-not-utf8", "latin")
    ]
    assert "Caf\ufffd" in studio.article("latin.html")
    assert "latin: is not UTF-8" in studio.read("-/report.html")


def test_bad_front_matter_is_shown_and_reported(studio: Studio) -> None:
    """In what the cache has of it, too."""
    studio.add("-- home.md --\n---\ntitle: [a\n---\nx\n-- open.md --\n---\nkey: x\n")
    for _ in range(2):
        assert [(one.code, one.subject) for one in studio.build().problems] == [
            ("front-matter-wrong", "home:2"),
            ("front-matter-open", "open:1"),
        ]
    assert "home:2: invalid front matter" in studio.read("-/report.html")


def test_text_of_a_page_is_never_a_template(studio: Studio) -> None:
    studio.start(
        "-- home.md --\n---\ntitle: '{{ 7919*7907 }}'\n---\n"
        "{{ 7919*7907 }} {% for x in y %}\n\n{% raw %}\n"
    )
    page = studio.read("index.html")
    assert "{{ 7919*7907 }}" in page
    assert "62615533" not in page


def test_slug_of_half_characters_is_left_out_and_reported(studio: Studio) -> None:
    studio.add("-- home.md --\nx\n-- %ED%A0%80.md --\nx\n")
    report = studio.build()
    assert [problem.code for problem in report.problems] == ["slug-not-text"]


def test_problems_from_before_the_build_are_in_the_report(studio: Studio) -> None:
    from wikisync.core.model import Problem

    before = Problem("attachment-missing", "uploads/0a/x.png", "cannot be had")
    studio.add("-- home.md --\nx\n", problems=(before,))
    assert studio.build().problems == (before,)
    assert "uploads/0a/x.png: cannot be had" in studio.read("-/report.html")


def test_empty_wiki_is_a_site(studio: Studio) -> None:
    studio.add("")
    assert studio.build().pages == 0
    assert "index.html" in studio.files()


# -- output and cache ------------------------------------------------------------------


def test_output_in_the_folder_of_a_wiki_is_refused(studio: Studio) -> None:
    folder = studio.add("-- home.md --\nx\n")
    studio.root = folder
    with pytest.raises(SiteError, match="is inside the folder of the wiki"):
        studio.build()


def test_missing_wiki_folder_is_an_error_that_names_it(studio: Studio) -> None:
    folder = studio.add("-- home.md --\nx\n")
    (folder / "home.md").unlink()
    folder.rmdir()
    with pytest.raises(FolderError):
        studio.build()


def test_lost_cache_costs_a_build_but_writes_nothing(studio: Studio) -> None:
    studio.start(HANDBOOK)
    shutil.rmtree(studio.root / "cache")
    report = studio.build()
    assert (report.written, report.removed) == (0, 0)


def test_second_build_at_the_same_time_is_told_to_wait(
    studio: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wikisync.site.cache.WAIT_S", 0)
    studio.start("-- home.md --\nx\n")
    other = sqlite3.connect(studio.root / "cache" / "site.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(SiteError, match="another build"):
        studio.build()
    other.close()


def test_site_without_report_has_no_page_of_it_and_no_link(handbook: Studio) -> None:
    assert "-/report.html" in handbook.read("index.html")
    handbook.set(has_report=False)
    report = handbook.build()
    assert report.broken_links
    gone = {"-/report.html", "-/report.json", "-/wanted.html", "-/orphans.html"}
    assert not gone & set(handbook.files())
    assert not any(b"report.html" in content for content in handbook.files().values())
    assert handbook.files() == handbook.clean_build()
