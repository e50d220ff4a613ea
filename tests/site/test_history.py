"""Who changed a page when, on its page, in lists and feeds, and version by version."""

import re
import shutil
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urljoin
from xml.etree import ElementTree

import pygit2
import pytest

from tests.site.sites import Studio
from tests.support.commits import committed
from wikisync.core.git_log import TEXT_BYTES_MAX
from wikisync.core.model import Slug
from wikisync.core.versions import Version, Versions
from wikisync.site.cache import LastBuild

ATOM = "{http://www.w3.org/2005/Atom}"
TEXT = "# Home\n\nThe quick brown fox.\n\nSee [plan](plan).\n"


def history(folder: Path) -> None:
    """Five commits of three persons."""
    committed(
        folder, {"home.md": TEXT, "plan.md": "# Plan\n\none\n"}, "2026-01-02T03:04:05"
    )
    committed(
        folder,
        {"home.md": TEXT.replace("quick", "slow <b>")},
        "2026-02-03T10:00:00",
        "Bob",
    )
    committed(
        folder, {"old.md": "gone\n"}, "2026-02-04T10:00:00", "Cid cid@example.com"
    )
    committed(folder, {"old.md": None}, "2026-02-05T10:00:00", "eve@example.com")
    committed(
        folder,
        {"plan.md": None, "work/plan.md": "# Plan\n\none\n"},
        "2026-03-04T10:00:00",
    )


def with_history(studio: Studio) -> Studio:
    """The studio with a wiki that has a history, built."""
    history(studio.add("", visibility="public"))
    studio.build()
    return studio


@pytest.fixture
def dated(studio: Studio) -> Studio:
    """A wiki with a history, for a test that changes it."""
    return with_history(studio)


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Studio:
    """The same, built once; tests only look at it."""
    return with_history(Studio(tmp_path_factory.mktemp("history")))


def footer(studio: Studio, path: str) -> str:
    page = studio.read(path)
    text = page[page.index('<footer class="about">') :]
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", "", text[: text.index("</footer>")]))


def test_page_says_who_changed_it_when(seen: Studio) -> None:
    assert "Last changed on 3 February 2026 by Bob" in footer(seen, "index.html")
    assert "Created on 2 January 2026" in footer(seen, "index.html")
    assert '<time datetime="2026-02-03T10:00:00Z"' in seen.read("index.html")


def test_page_of_one_version_says_its_day_once(dated: Studio) -> None:
    folder = dated.sources[0].folder
    committed(folder, {"new.md": "new\n"}, "2026-03-05T10:00:00")
    dated.build()
    shown = footer(dated, "new.html")
    assert "Last changed on 5 March 2026" in shown
    assert "Created" not in shown


def test_renamed_page_keeps_its_history(seen: Studio) -> None:
    shown = footer(seen, "work/plan.html")
    assert "Last changed on 4 March 2026 by Ada Lovelace" in shown
    assert "Created on 2 January 2026" in shown


def test_address_of_a_person_is_nowhere(seen: Studio) -> None:
    whole = b"".join(seen.files().values())
    assert b"example.com" not in whole.replace(b"gitlab.example.com", b"")
    assert b"eve" in whole


def test_commit_at_the_beginning_of_time_is_shown(dated: Studio) -> None:
    folder = dated.sources[0].folder
    committed(folder, {"plan.md": "x\n"}, "1970-01-01T00:00:00")
    dated.build()
    assert "Last changed on 1 January 1970" in footer(dated, "plan.html")
    assert "1 January 1970" in dated.article("-/changes.html")


def test_page_that_no_commit_has_bears_no_date(dated: Studio) -> None:
    """The time of a file is another one in each copy."""
    (dated.sources[0].folder / "new.md").write_text("new\n")
    dated.build()
    assert "<time" not in dated.read("new.html")


def test_list_of_changes_has_one_line_for_a_rename(seen: Studio) -> None:
    article = seen.article("-/changes.html")
    lines = [
        re.sub(r"\s+", " ", re.sub(r"<[^>]*>", "", one)).strip()
        for one in re.findall(r"<li>(.*?)</li>", article, re.DOTALL)
    ]
    assert lines == [
        "Plan renamed from plan · 4 March 2026 · Ada Lovelace",
        "old deleted · 5 February 2026 · eve",
        "old created · 4 February 2026 · Cid cid",
        "Home edited +1 −1 · 3 February 2026 · Bob",
        "Home created · 2 January 2026 · Ada Lovelace",
        "Plan created · 2 January 2026 · Ada Lovelace",
    ]
    assert '<a href="../work/plan.html">Plan</a>' in article


def test_landing_page_lists_a_changed_page_once(studio: Studio) -> None:
    history(studio.add("-- draft.md --\nnot in git\n"))
    studio.add("-- about.md --\nx\n", "docs/other")
    studio.build()
    _, _, changes = studio.article("index.html").partition("siteChanges")
    assert changes.count('/-/wikis/index.html">Home</a>') == 1
    assert changes.count(">old</span>") == 1


def test_versions_show_the_words_that_changed(seen: Studio) -> None:
    shown = seen.read("-/history/index.html")
    assert "The <del>quick</del><ins>slow &lt;b&gt;</ins> brown fox." in shown
    assert 'href="../../index.html"' in shown
    assert '<a href="-/history/index.html">History</a>' in seen.read("index.html")


def test_a_line_that_was_written_anew_stands_below_the_old_one(dated: Studio) -> None:
    text = TEXT.replace("The quick brown fox.", "Nobody wrote this and that before.")
    committed(dated.sources[0].folder, {"home.md": text}, "2026-03-06T10:00:00")
    dated.build()
    assert "fox.</del>\n<ins>Nobody wrote" in dated.read("-/history/index.html")


def test_history_that_is_cut_says_since_when_it_is_known(dated: Studio) -> None:
    cut = committed(dated.sources[0].folder, {}, "2026-03-05T10:00:00")
    text = TEXT.replace("quick", "fast")
    committed(dated.sources[0].folder, {"home.md": text}, "2026-03-06T10:00:00")
    committed(dated.sources[0].folder, {"home.md": TEXT}, "2026-03-07T10:00:00")
    shallow = dated.sources[0].folder / ".git/shallow"
    dated.build()
    shallow.write_text(f"{cut}\n")
    dated.build()
    for path in ("-/changes.html", "-/history/index.html"):
        text = re.sub("<[^>]*>", "", dated.article(path))
        assert "The history is known since 5 March 2026" in text
    assert "Created on" not in footer(dated, "index.html")
    assert "<time" not in dated.read("work/plan.html")
    shallow.unlink()
    dated.build()
    assert "Created on 2 January 2026" in footer(dated, "index.html")


def test_history_can_be_left_out(dated: Studio) -> None:
    dated.set(history=0)
    dated.build()
    assert not (dated.site / "-/history").exists()
    assert "History" not in dated.read("index.html")
    dated.set(history=1)
    dated.build()
    assert dated.read("-/history/index.html").count('class="version"') == 1


def test_build_after_commits_equals_a_clean_one(dated: Studio) -> None:
    folder = dated.sources[0].folder
    committed(folder, {"work/plan.md": "# Plan\n\ntwo\n"}, "2026-04-01T00:00:00", "Dan")
    home = dated.read("index.html")
    dated.build()
    assert dated.read("index.html") == home
    assert dated.files() == dated.clean_build()
    committed(folder, {"home.md": None, "start.md": TEXT}, "2026-04-02T00:00:00", "Dan")
    dated.build()
    assert dated.files() == dated.clean_build()
    shutil.rmtree(folder / ".git")
    dated.build()
    assert dated.files() == dated.clean_build()
    assert "<time" not in dated.read("work/plan.html")


def test_commit_loads_no_pages_but_those_that_it_changed(
    dated: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    named: list[set[str]] = []
    pages = LastBuild.pages

    def seen(last: LastBuild, wiki: str, naming: Collection[str] = ()) -> Any:
        named.append(set(naming))
        return pages(last, wiki, naming)

    monkeypatch.setattr(LastBuild, "pages", seen)
    folder = dated.sources[0].folder
    committed(folder, {"work/plan.md": "# Plan\n\ntwo\n"}, "2026-04-01T00:00:00", "Dan")
    dated.build()
    assert named == [{"work/plan"}]
    assert dated.files() == dated.clean_build()


def test_text_that_was_missing_is_counted_once_it_is_there(studio: Studio) -> None:
    folder = studio.add("", visibility="public")
    history(folder)
    blob = str(pygit2.hash(TEXT))
    place = folder / ".git" / "objects" / blob[:2] / blob[2:]
    content = place.read_bytes()
    place.unlink()
    studio.build()
    assert "+1" not in studio.article("-/changes.html")
    place.write_bytes(content)
    studio.build()
    assert "+1" in studio.article("-/changes.html")
    assert "+1" in studio.read("-/changes.atom")


def test_text_that_is_too_large_to_be_compared_is_no_missing_one(dated: Studio) -> None:
    large = "wide words\n" * (TEXT_BYTES_MAX // 10)
    folder = dated.sources[0].folder
    committed(folder, {"large.md": large}, "2026-03-05T10:00:00")
    committed(folder, {"large.md": f"{large}more\n"}, "2026-03-06T10:00:00")
    dated.build()
    assert dated.build().written == 0


def test_commit_of_what_was_there_dates_the_page(dated: Studio) -> None:
    """No text changed, and yet the page has something new to say."""
    folder = dated.sources[0].folder
    (folder / "new.md").write_text("new\n")
    dated.build()
    committed(folder, {}, "2026-04-01T00:00:00", "Dan")
    dated.build()
    assert "by Dan" in footer(dated, "new.html")
    assert dated.files() == dated.clean_build()


def test_nothing_is_written_again_where_nothing_changed(seen: Studio) -> None:
    assert seen.build().written == 0


def test_what_syncs_saw_is_named_so(studio: Studio) -> None:
    rows = (Version(1_770_000_000, "", Slug("home"), "home", "edited"),)
    studio.start("-- home.md --\nhome\n", versions=Versions(rows, since=1_760_000_000))
    assert "Change seen on 2 February 2026" in footer(studio, "index.html")
    assert "by" not in footer(studio, "index.html")
    assert not (studio.site / "-/history").exists()


def test_results_of_a_search_bear_the_date(dated: Studio) -> None:
    folder = dated.sources[0].folder

    def documents() -> str:
        files = sorted((dated.site / "-/search").glob("p-*.js"))
        return "".join(file.read_text(encoding="utf-8") for file in files)

    assert re.search(r'\["Home","index.html","",.*?,1,"2026-02-03"\]', documents())
    (folder / "new.md").write_text("new\n")
    dated.build()
    assert re.search(r'\["new","new.html","",\[\[[^]]*\]\],"new",1\]', documents())
    committed(folder, {}, "2026-04-01T00:00:00")
    dated.build()
    assert '"2026-04-01"' in documents()
    assert dated.files() == dated.clean_build()


def test_changes_lead_to_pages_that_took_each_others_names(studio: Studio) -> None:
    folder = studio.add("-- home.md --\nhome\n")
    other = TEXT.replace("See", "Read").upper()
    committed(folder, {"a.md": TEXT, "b.md": other}, "2026-01-01T00:00:00")
    committed(
        folder,
        {"a.md": None, "b.md": None, "a.org": other, "b.org": TEXT},
        "2026-01-02T00:00:00",
    )
    committed(
        folder, {"a.org": None, "a.rdoc": "in other words\n"}, "2026-01-03T00:00:00"
    )
    studio.build()
    links = re.findall(
        r'href="\.\./(\w+)\.html">[^/]*/a> <span[^>]*>(\w+)',
        (studio.article("-/changes.html")),
    )
    assert links[:3] == [("a", "edited"), ("a", "renamed"), ("b", "renamed")]
    assert sorted(links[3:]) == [
        ("a", "created"),
        ("b", "created"),
        ("index", "created"),
    ]
    checked_feed(studio, "-/changes.atom")


def test_versions_are_told_in_the_direction_of_the_site(dated: Studio) -> None:
    dated.set(lang="ar")
    dated.build()
    assert '<article dir="ltr">' in dated.read("index.html")
    assert "<article>" in dated.read("-/history/index.html")
    assert '<div class="diff" dir="auto">' in dated.read("-/history/index.html")


# -- feeds -------------------------------------------------------------------------


def entries(feed: ElementTree.Element) -> Iterator[ElementTree.Element]:
    return feed.iter(f"{ATOM}entry")


def checked_feed(studio: Studio, path: str) -> ElementTree.Element:
    """A feed that keeps the rules of RFC 4287."""
    feed = ElementTree.fromstring(studio.read(path))
    assert feed.tag == f"{ATOM}feed"
    ids = []
    for one in (feed, *entries(feed)):
        for name in ("id", "title", "updated"):
            assert len(one.findall(f"{ATOM}{name}")) == 1
        ids.append(one.findtext(f"{ATOM}id") or "")
        updated = one.findtext(f"{ATOM}updated") or ""
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", updated)
        links = one.findall(f"{ATOM}link")
        assert len({(link.get("rel"), link.get("type")) for link in links}) == len(
            links
        )
        for link in links:
            at = urljoin(f"https://site.example/{path}", link.get("href"))
            name = at.removeprefix("https://site.example/") or "index.html"
            assert (studio.site / name).is_file()
    assert all(name.startswith("urn:uuid:") for name in ids)
    assert len(set(ids)) == len(ids)
    # each entry has an author, its own or that of the feed
    assert feed.findtext(f"{ATOM}author/{ATOM}name")
    return feed


@pytest.mark.parametrize("url", [None, "https://site.example"])
def test_feed_keeps_the_rules(dated: Studio, url: str | None) -> None:
    dated.set(url=url, title="Docs & <more>")
    dated.build()
    feed = checked_feed(dated, "-/changes.atom")
    first = next(entries(feed))
    assert first.findtext(f"{ATOM}title") == "Plan"
    assert first.findtext(f"{ATOM}author/{ATOM}name") == "Ada Lovelace"
    assert feed.findtext(f"{ATOM}updated") == "2026-03-04T10:00:00Z"
    assert feed.findtext(f"{ATOM}title") == "Docs & <more>"
    assert '<link rel="alternate" type="application/atom+xml"' in dated.read(
        "index.html"
    )


def test_entry_of_a_feed_keeps_its_id(dated: Studio) -> None:
    """A reader would show all of it as new."""
    before = {
        one.findtext(f"{ATOM}id")
        for one in entries(checked_feed(dated, "-/changes.atom"))
    }
    folder = dated.sources[0].folder
    committed(folder, {"work/plan.md": "two\n"}, "2026-04-01T00:00:00")
    dated.build()
    after = {
        one.findtext(f"{ATOM}id")
        for one in entries(checked_feed(dated, "-/changes.atom"))
    }
    assert before < after


def test_each_wiki_and_all_of_them_have_a_feed(studio: Studio) -> None:
    history(studio.add("-- x.bin --\n", "docs/handbook"))
    other = studio.add("-- home.md --\nother\n", "docs/tools")
    committed(other, {"home.md": "# Tools\n"}, "2026-02-20T00:00:00", "Gus")
    studio.start("-- home.md --\nno history\n", "docs/plain")
    assert len(list(entries(checked_feed(studio, "-/changes/docs/handbook.atom")))) == 6
    titles = [
        one.findtext(f"{ATOM}title")
        for one in entries(checked_feed(studio, "-/changes.atom"))
    ]
    assert titles[:2] == ["Handbook: Plan", "Tools: Tools"]
    assert "renamed from plan" in studio.article("index.html")
    assert not (studio.site / "-/changes/docs/plain.atom").exists()
    committed(other, {"home.md": "# Tools\n\nmore\n"}, "2026-05-01T00:00:00", "Gus")
    studio.build()
    assert studio.files() == studio.clean_build()
    assert studio.article("index.html").index("Gus") < studio.article(
        "index.html"
    ).index("Ada")


def test_last_hundred_changes_are_listed(studio: Studio) -> None:
    folder = studio.add("-- home.md --\nhome\n")
    committed(folder, {f"p{n}.md": "x\n" for n in range(120)}, "2026-01-01T00:00:00")
    studio.build()
    assert len(list(entries(checked_feed(studio, "-/changes.atom")))) == 100
