"""The site of a preview, change by change, without a server or a watcher."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.site.sites import Studio, wiki_source
from tests.support.archive import unpack
from tests.support.commits import committed
from wikisync.core.model import REDIRECTS_PATH
from wikisync.site.cache import Cache, open_cache
from wikisync.site.preview import site as preview_site
from wikisync.site.preview import world as preview_world
from wikisync.site.preview.pages import Rendered, RenderedPages
from wikisync.site.preview.site import LiveSite
from wikisync.site.preview.windows import Reading, Stopped
from wikisync.site.preview.world import PreviewInputs
from wikisync.site.sources import SourceFile

WIKI = """\
-- home.md --
# Welcome

[guide](guide#part)
-- guide.md --
## Part

Words.
-- other.md --
Other words.
-- _sidebar.md --
- [guide](guide)
"""


class Desk:
    """An author's folder, and the site that is told of each save."""

    def __init__(self, studio: Studio, site: LiveSite, cache: Cache) -> None:
        self.studio = studio
        self.site = site
        self._cache = cache
        self.folder = studio.add(WIKI)
        site.refresh(None)
        for name in ("index", "guide", "other"):
            self.shown(name)

    def save(self, name: str, text: str) -> None:
        """One whole save, told by its path."""
        (self.folder / name).write_text(text)
        self.told(self.folder / name)

    def told(self, *paths: Path) -> None:
        self.site.refresh(frozenset(map(str, paths)))

    def is_failing(self) -> bool:
        return self.site.failure is not None

    def shown(self, name: str) -> str:
        return self.file(f"{name}.html")

    def file(self, path: str) -> str:
        found = self.site.answer(path)
        assert isinstance(found, Rendered)
        # around its blocks are marks for the editor
        return re.sub("<!--(blocks|end)-->", "", found.content.decode())

    def another(self) -> LiveSite:
        """The site of another start, with the same cache."""
        studio = self.studio
        site = LiveSite(
            lambda: PreviewInputs(tuple(studio.sources), studio.options), Reading()
        )
        site.use(self._cache)
        return site


@pytest.fixture
def desk(studio: Studio) -> Iterator[Desk]:
    def load() -> PreviewInputs:
        return PreviewInputs(tuple(studio.sources), studio.options)

    site = LiveSite(load, Reading())
    with open_cache(studio.root / "cache") as cache:
        site.use(cache)
        yield Desk(studio, site, cache)


def test_after_any_changes_pages_are_those_of_a_clean_build(desk: Desk) -> None:
    desk.save("guide.md", "## Chapter\n\n[other](other)\n")
    desk.save("other.md", "---\ntitle: Elsewhere\n---\nWords.\n")
    desk.save("_sidebar.md", "- [other](other)\n- [guide](guide)\n")
    desk.save("new.md", "[home](home)\n")
    (desk.folder / "new.md").rename(desk.folder / "newer.md")
    desk.told(desk.folder / "new.md", desk.folder / "newer.md")
    desk.save("home.md", "# Welcome\n\n[newer](newer) [guide](guide#part)\n")
    clean = desk.studio.clean_build()
    pages = [path for path in clean if path.endswith(".html") and path != "404.html"]
    assert len(pages) > 8
    for path in pages:
        assert desk.shown(path.removesuffix(".html")) == clean[path].decode(), path


def test_a_title_reaches_the_pages_beside_it(desk: Desk) -> None:
    sidebar = desk.folder / "_sidebar.md"
    sidebar.unlink()
    desk.told(sidebar)
    desk.save("other.md", "---\ntitle: Elsewhere\n---\nOther words.\n")
    tree = desk.shown("index").partition('id="siteContent"')[0]
    assert "Elsewhere" in tree


def test_a_template_for_new_pages_stays_out_while_it_is_written(desk: Desk) -> None:
    (desk.folder / "templates").mkdir()
    desk.save("home.md", "[x](templates/x)\n")
    assert "no such page" in desk.shown("index")
    for text in ("New", "Newer"):
        desk.save("templates/x.md", f"{text}\n")
        assert "is a template" in desk.shown("index")
    assert "templates" not in desk.shown("-/all")


def test_a_heading_that_went_breaks_the_link_to_it(desk: Desk) -> None:
    key = desk.site.look("index.html").key
    desk.save("guide.md", "Words.\n")
    assert desk.site.look("index.html").key != key


def test_a_theme_that_fails_stays_failed_whatever_else_is_saved(desk: Desk) -> None:
    theme = unpack("-- templates/404.html --\nx\n", desk.studio.root / "theme")
    desk.studio.set(templates=theme)
    desk.site.refresh(None)
    assert not desk.is_failing()
    unpack("-- i18n/en.toml --\nno TOML\n", theme)
    desk.told(theme / "i18n" / "en.toml")
    assert desk.is_failing()
    desk.save("other.md", "Saved meanwhile.\n")
    assert desk.is_failing()
    (theme / "i18n" / "en.toml").unlink()
    desk.told(theme / "i18n" / "en.toml")
    assert not desk.is_failing()
    assert "Saved meanwhile" in desk.shown("other")


def test_a_page_that_cannot_be_read_is_named_with_its_file(desk: Desk) -> None:
    page = desk.folder / "guide.md"
    page.unlink()
    page.symlink_to(desk.folder / "other.md")
    desk.told(page)
    look = desk.site.look("guide.html")
    assert look.key == "missing"
    assert desk.site.writable("guide.html") is None


def test_a_site_that_did_not_come_about_leaves_nothing_behind(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_disk(*_: object) -> None:
        raise OSError("the disk is full")

    desk.save("guide.md", "A wish: [later](later)\n")
    before = desk.shown("guide")
    with monkeypatch.context() as patch:
        patch.setattr(preview_world, "composed_site", no_disk)
        desk.save("later.md", "Here.\n")
        assert desk.is_failing()
    (desk.folder / "later.md").unlink()
    desk.save("other.md", "Saved meanwhile.\n")
    assert not desk.is_failing()
    desk.site._pages = RenderedPages()
    assert desk.shown("guide") == before


def test_a_page_is_read_when_it_is_asked_for(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preview_world, "READ_AT_ONCE_MAX", 0)
    desk.save("other.md", "---\ntitle: Elsewhere\n---\nNew words.\n")
    assert desk.site.read_count == (3, 4)
    assert "New words" in desk.shown("other")
    assert desk.site.read_count == (4, 4)
    assert not desk.site.read_on()


def test_what_nobody_asked_for_is_read_and_shown_everywhere(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preview_world, "READ_AT_ONCE_MAX", 0)
    desk.save("guide.md", "Words without a heading. [other](other)\n")
    # what is not read yet may have the heading, and links to what it did before
    assert "the page has no such heading" not in desk.shown("index")
    assert "siteBacklinks" not in desk.shown("other")
    while desk.site.read_on():
        pass
    assert "the page has no such heading" in desk.shown("index")
    assert "siteBacklinks" in desk.shown("other")


def test_a_second_start_reads_nothing(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preview_world, "READ_AT_ONCE_MAX", 0)
    site = desk.another()
    site.refresh(None)
    assert site.read_count == (4, 4)


def test_a_start_after_a_kill_reads_nothing(
    desk: Desk, studio: Studio, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preview_world, "READ_AT_ONCE_MAX", 0)
    desk.save("guide.md", "## Part\n\nNew words.\n")
    while desk.site.read_on():
        pass
    # what a process that ends at once leaves on the disk
    copy = tmp_path / "copy"
    shutil.copytree(studio.root / "cache", copy)
    with open_cache(copy) as cache:
        site = LiveSite(
            lambda: PreviewInputs(tuple(studio.sources), studio.options), Reading()
        )
        site.use(cache)
        site.refresh(None)
        assert site.read_count == (4, 4)
        guide = site.answer("guide.html")
        assert isinstance(guide, Rendered)
        assert b"New words" in guide.content


def test_reading_goes_on_in_steps_and_forgets_none(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preview_world, "READ_AT_ONCE_MAX", 0)
    monkeypatch.setattr(preview_site, "READ_STEP_S", 0)
    names = ("home", "guide", "other")
    for name in names:
        (desk.folder / f"{name}.md").write_text(f"Other words of {name}.\n")
    desk.told(*(desk.folder / f"{name}.md" for name in names))
    counts = []
    while desk.site.read_on():
        counts.append(desk.site.read_count[0])
    assert counts == [2, 3, 4]


def test_lists_follow_as_soon_as_they_are_asked_for(desk: Desk) -> None:
    assert "Elsewhere" not in desk.shown("-/all")
    desk.save("other.md", "---\ntitle: Elsewhere\n---\n[nobody](nobody)\n")
    assert "Elsewhere" in desk.shown("-/all")
    assert "nobody" in desk.shown("-/wanted")


def test_reading_ends_when_nobody_waits(studio: Studio) -> None:
    reading = Reading()
    studio.add(WIKI)
    site = LiveSite(
        lambda: PreviewInputs(tuple(studio.sources), studio.options), reading
    )
    reading.stop()
    with open_cache(studio.root / "cache") as cache:
        site.use(cache)
        with pytest.raises(Stopped):
            site.refresh(None)


def test_a_page_that_comes_or_goes_leaves_the_frame_of_its_address(desk: Desk) -> None:
    absent = desk.site.look("new/page.html")
    assert absent.key == "missing"
    (desk.folder / "new").mkdir()
    desk.save("new/page.md", "# New\n")
    come = desk.site.look("new/page.html")
    assert come.key != absent.key
    assert come.frame == absent.frame
    assert 'href="../guide.html"' in desk.shown("new/page")


def test_another_picture_needs_the_page_to_be_loaded_again(desk: Desk) -> None:
    name = f"uploads/{32 * '0'}/a.png"
    desk.save("guide.md", f"![a]({name})\n")
    before = desk.site.look("guide.html")
    (desk.folder / name).parent.mkdir(parents=True)
    desk.save(name, "a picture")
    come = desk.site.look("guide.html")
    desk.save(name, "another picture")
    changed = desk.site.look("guide.html")
    assert len({before.frame, come.frame, changed.frame}) == 3
    assert len({before.key, come.key, changed.key}) == 3
    desk.save("guide.md", f"![a]({name}) with words\n")
    assert desk.site.look("guide.html").frame == changed.frame


def picture_of(desk: Desk) -> Path | None:
    """The file of the picture that the guide shows; None where it shows none."""
    found = re.search(r'<img src="([^"]+)"', desk.shown("guide"))
    if found is None:
        return None
    file = desk.site.answer(found[1])
    assert isinstance(file, SourceFile)
    return file.folder / file.name


def test_a_picture_beside_the_page_comes_changes_and_goes(desk: Desk) -> None:
    desk.save("guide.md", "![a](a.png)\n")
    before = desk.site.look("guide.html")
    desk.save("a.png", "a picture")
    assert picture_of(desk) == desk.folder / "a.png"
    come = desk.site.look("guide.html")
    desk.save("a.png", "another picture")
    changed = desk.site.look("guide.html")
    assert len({before.frame, come.frame, changed.frame}) == 3
    assert len({before.key, come.key, changed.key}) == 3
    (desk.folder / "a.png").unlink()
    desk.told(desk.folder / "a.png")
    assert picture_of(desk) is None
    assert desk.site.look("guide.html").key == before.key


def test_a_picture_in_a_hidden_folder_comes_and_goes(desk: Desk) -> None:
    desk.save("guide.md", "![a](.pictures/a.png)\n")
    assert picture_of(desk) is None
    picture = desk.folder / ".pictures/a.png"
    picture.parent.mkdir()
    picture.write_text("a picture")
    desk.told(picture.parent, picture)
    assert picture_of(desk) == picture
    picture.unlink()
    desk.told(picture)
    assert picture_of(desk) is None


def test_a_file_that_no_page_links_to_is_not_served(desk: Desk) -> None:
    desk.save("guide.md", "![a](a.png)\n")
    desk.save("a.png", "a picture")
    found = re.search(r'<img src="([^"]+)"', desk.shown("guide"))
    assert found is not None
    desk.save("guide.md", "no picture\n")
    answer = desk.site.answer(found[1])
    assert isinstance(answer, Rendered)
    assert not answer.is_found


@pytest.mark.parametrize("is_told", [True, False])
def test_a_linked_file_is_not_read_again_for_other_changes(
    desk: Desk, read_files: list[str], is_told: bool
) -> None:
    """It may be a film: only its status is looked at."""
    (desk.folder / "a.png").write_text("one")
    desk.save("guide.md", "![a](a.png)\n")
    desk.told(desk.folder)
    key = desk.site.look("guide.html").key
    read_files.clear()
    desk.site.refresh(frozenset({str(desk.folder)}) if is_told else None)
    assert desk.site.look("guide.html").key == key
    assert read_files == []


def test_page_keeps_the_date_of_its_last_commit_while_it_is_written(desk: Desk) -> None:
    committed(desk.folder, {}, "2026-01-02T03:04:05", "Ada")
    committed(desk.folder, {"guide.md": "## Part\n"}, "2026-01-03T03:04:05", "Bob")
    desk.site.refresh(None)
    desk.save("guide.md", "## Part\n\nNew words.\n")
    page = desk.shown("guide")
    assert "New words" in page
    assert '<time datetime="2026-01-03T03:04:05Z"' in page
    assert "Bob" in desk.shown("-/changes")
    # a preview has neither versions nor feeds
    for shown in (page, desk.shown("-/changes")):
        assert "-/history" not in shown
        assert ".atom" not in shown


def moved_to(desk: Desk, path: str) -> object:
    found = desk.site.answer(path)
    return found if isinstance(found, str) else None


def rename(desk: Desk, *names: tuple[str, str]) -> None:
    """Files get other names, all seen at once."""
    files = [desk.folder / one for pair in names for one in pair]
    for old, new in zip(files[::2], files[1::2], strict=True):
        new.parent.mkdir(exist_ok=True)
        old.rename(new)
    desk.told(*files)


def test_an_old_name_leads_to_its_page_until_a_page_has_it_again(desk: Desk) -> None:
    rename(desk, ("guide.md", "manual.md"))
    rename(desk, ("manual.md", "book.md"))
    assert moved_to(desk, "guide.html") == "book.html"
    page = desk.site.writable("manual.html")
    assert page is not None
    assert desk.site.earlier_paths(page) == ["guide.md", "manual.md"]
    desk.save("guide.md", "Another page.\n")
    assert desk.site.earlier_paths(page) == ["manual.md"]
    (desk.folder / "guide.md").unlink()
    desk.told(desk.folder / "guide.md")
    assert moved_to(desk, "guide.html") is None


@pytest.mark.parametrize("last", ["guide.md", "book.md"])
def test_a_page_that_was_renamed_and_is_gone_leads_nowhere(
    desk: Desk, last: str
) -> None:
    rename(desk, ("guide.md", "manual.md"))
    rename(desk, ("manual.md", last))
    (desk.folder / last).unlink()
    desk.told(desk.folder / last)
    assert moved_to(desk, "guide.html") is None


def test_of_pages_with_one_text_only_those_of_a_name_are_known_again(
    desk: Desk,
) -> None:
    for name in "abcd":
        desk.save(f"{name}.md", "TBD\n")
    rename(desk, ("a.md", "c/a.md"), ("b.md", "c/b.md"), ("d.md", "c/e.md"))
    assert moved_to(desk, "a.html") == "c/a.html"
    assert moved_to(desk, "b.html") == "c/b.html"
    assert moved_to(desk, "d.html") is None


def test_a_name_that_the_sync_knows_is_followed_by_readers_and_writers(
    desk: Desk,
) -> None:
    noted = desk.folder / REDIRECTS_PATH
    noted.parent.mkdir(exist_ok=True)
    noted.write_text("guide: manual\n")
    (desk.folder / "guide.md").unlink()
    (desk.folder / "manual.md").write_text("Another text at once.\n")
    desk.site.refresh(None)
    assert moved_to(desk, "guide.html") == "manual.html"
    page = desk.site.writable("guide.html")
    assert page is not None
    assert page.path == "manual.md"
    assert desk.site.earlier_paths(page) == ["guide.md"]


def test_a_wiki_that_comes_before_another_one_takes_none_of_its_names(
    desk: Desk,
) -> None:
    other = unpack("-- twin.md --\n## Part\n\nWords.\n", desk.studio.root / "other")
    desk.studio.sources.insert(0, wiki_source(other, "docs/other"))
    desk.site.refresh(None)
    assert moved_to(desk, "docs/other/-/wikis/guide.html") is None
