"""A site that is built again: what is written, and that it is as if built anew."""

import gc
import html
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.site.sites import HANDBOOK, Studio, with_instance
from tests.support.archive import tree_bytes
from wikisync.core.messages import Progress
from wikisync.errors import UsageError
from wikisync.site import addresses, pages
from wikisync.site.build import build_site
from wikisync.site.index import Indexer
from wikisync.site.navigation import Tree
from wikisync.site.output_place import NEW_FILES
from wikisync.site.theme import Theme


def test_build_without_change_writes_nothing(own_handbook: Studio) -> None:
    before = {path: (own_handbook.site / path).stat() for path in own_handbook.files()}
    report = own_handbook.build()
    assert (report.written, report.removed) == (0, 0)
    assert report.unchanged == len(before)
    assert {path: (own_handbook.site / path).stat() for path in before} == before


def test_build_without_change_leaves_no_staged_page_of_a_killed_one(
    own_handbook: Studio,
) -> None:
    staged = own_handbook.site / NEW_FILES / "secret.html"
    staged.parent.mkdir(parents=True)
    staged.write_text("of a page that is gone")
    own_handbook.build()
    assert not staged.parent.exists()


def test_link_that_breaks_later_is_told_with_its_line(studio: Studio) -> None:
    """Its page was parsed while no line was wanted, and is not read again now."""
    text = "# Home\n\n{}[other](other)\n"
    folder = studio.add(f"-- home.md --\n{text.format('')}-- other.md --\n# Other\n")
    (folder / "more.md").write_text(text.format("[x](home#home)\n\n"))
    assert studio.build().broken_links == ()
    (folder / "other.md").unlink()
    broken = studio.build().broken_links
    assert [(one.slug, one.line) for one in broken] == [("home", 3), ("more", 5)]
    assert studio.clean_build() == studio.files()


def test_page_of_an_unchanged_key_is_not_rendered(
    studio: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = studio.start(HANDBOOK)
    rendered: list[str] = []
    render = Theme.render

    def seen(
        theme: Theme, template: str, context: Mapping[str, object], *, at: str
    ) -> str:
        rendered.append(at)
        return render(theme, template, context, at=at)

    monkeypatch.setattr(Theme, "render", seen)
    (folder / "lonely.md").write_text("Nobody links here, still.\n")
    studio.build()
    assert rendered == ["lonely.html"]


def test_theme_finds_the_front_matter_in_its_order(studio: Studio) -> None:
    """Where a text was read long ago, too."""
    text = "---\nzone: 1\nage: {old: 1, new: 2}\n---\n[b](b)\n"
    folder = studio.add(f"-- a.md --\n{text}-- b.md --\n# B\n")
    studio.show_all()
    studio.build()
    (folder / "b.md").unlink()  # the link is another one, the text is not
    studio.build()
    shown = html.unescape(studio.read("a.html"))
    assert "META {'zone': 1, 'age': {'old': 1, 'new': 2}}" in shown
    assert studio.files() == studio.clean_build()


@pytest.fixture
def two_wikis(studio: Studio, monkeypatch: pytest.MonkeyPatch) -> Studio:
    """One has a long list of its pages, a sidebar and no home."""
    monkeypatch.setattr(addresses, "LIST_ITEMS_MAX", 2)
    texts = "".join(f"-- {name}.md --\nx\n" for name in ("_sidebar", *"abcd"))
    studio.add(texts, "docs/one")
    studio.add("-- home.md --\nx\n", "docs/two")
    studio.build()
    return studio


def test_wiki_that_is_as_it_was_is_not_composed(
    two_wikis: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    composed: list[str] = []

    class SeenTree(Tree):
        def __init__(self, title: str, *others: Any) -> None:
            composed.append(title)
            super().__init__(title, *others)

    monkeypatch.setattr(pages, "Tree", SeenTree)
    (two_wikis.root / "wikis/docs/two/home.md").write_text("y\n")
    two_wikis.build()
    assert composed == ["Two"]
    assert two_wikis.files() == two_wikis.clean_build()


def test_list_of_a_wiki_comes_back_where_the_wiki_is_as_it_was(
    two_wikis: Studio,
) -> None:
    lists = sorted(two_wikis.site.glob("-/all/docs/one*.html"))
    assert len(lists) == 2
    lists[0].unlink()
    lists[1].write_text("edited")
    (two_wikis.root / "wikis/docs/two/home.md").write_text("y\n")
    two_wikis.build()
    assert two_wikis.files() == two_wikis.clean_build()


def test_renamed_heading_breaks_links_to_it(studio: Studio) -> None:
    folder = studio.start(HANDBOOK)
    (folder / "guide" / "start.md").write_text("# There\n")
    broken = {link.href for link in studio.build().broken_links}
    assert "guide/start#here" in broken
    assert studio.files() == studio.clean_build()


def test_option_of_the_site_changes_every_page(studio: Studio) -> None:
    studio.start(HANDBOOK)
    studio.set(title="Renamed")
    studio.build()
    assert "Renamed" in studio.read("guide.html")
    assert studio.files() == studio.clean_build()


def test_template_of_the_project_changes_every_page(studio: Studio) -> None:
    studio.start(HANDBOOK)
    studio.show_all()
    studio.build()
    assert "TEXT" in studio.read("guide.html")


def test_wiki_that_is_no_longer_published_is_removed(own_instance: Studio) -> None:
    del own_instance.sources[1]
    own_instance.build()
    assert not [path for path in own_instance.files() if path.startswith("docs/b/")]
    assert own_instance.files() == own_instance.clean_build()


@pytest.mark.parametrize("is_emptied", [False, True])
def test_wiki_leaves_a_site_only_with_leave(
    own_instance: Studio, *, is_emptied: bool
) -> None:
    """An empty folder may be a disk that is away."""
    before = own_instance.files()
    gone = own_instance.sources[1]
    if is_emptied:
        for page in gone.folder.rglob("*.md"):
            page.unlink()
    else:
        del own_instance.sources[1]
    with pytest.raises(UsageError, match=f"remove the wiki of {gone.owner}"):
        own_instance.build(replaces=False)
    assert own_instance.files() == before


def test_build_after_one_that_was_killed_knows_who_links_to_a_page(
    studio: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the pages of the second wiki, the rows of the killed build are left."""
    studio.add("-- plan.md --\n# Plan\n", "docs/one")
    link = "[plan](https://gitlab.example.com/docs/one/-/wikis/plan)\n"
    home = studio.add(f"-- home.md --\n{link}", "docs/two") / "home.md"
    studio.show_all()
    studio.build()

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    home.write_text(f"More.\n\n{link}")
    with monkeypatch.context() as patch:
        patch.setattr("wikisync.site.cache.LastBuild.remember", killed)
        with pytest.raises(KeyboardInterrupt):
            studio.build()
    home.write_text("No link any more.\n")
    studio.build()
    assert studio.files() == studio.clean_build()


def test_order_of_the_wikis_does_not_matter(own_instance: Studio) -> None:
    before = own_instance.files()
    own_instance.sources.reverse()
    assert own_instance.build().written == 0
    assert own_instance.files() == before


def test_bytes_do_not_depend_on_the_hash_seed(studio: Studio) -> None:
    folder = studio.start(HANDBOOK)
    seeded = studio.root / "seeded"
    build_in_new_process(folder, seeded, PYTHONHASHSEED="12345")
    assert tree_bytes(seeded / "site") == studio.files()


def test_nothing_heavy_is_loaded_when_nothing_changed(studio: Studio) -> None:
    """What makes a no-op quick: neither markup nor templates are imported."""
    folder = studio.add(HANDBOOK)
    first, second = (build_in_new_process(folder, studio.root) for _ in range(2))
    assert first[0] > 0
    assert second[0] == 0
    assert not second[1] & {"jinja2", "nh3", "markdown_it", "pygments"}


def build_in_new_process(
    folder: Path, root: Path, **environment: str
) -> tuple[int, set[str]]:
    """Files written by a build, and the modules that it took."""
    script = (
        "import sys; from pathlib import Path; from tests.site.sites import *;"
        "r = build_site([wiki_source(Path(sys.argv[1]))], Path(sys.argv[2]),"
        " SiteOptions('Docs'), cache=Path(sys.argv[3]));"
        "print(r.written, *sorted(sys.modules))"
    )
    run = subprocess.run(
        [sys.executable, "-c", script, folder, root / "site", root / "cache"],
        env={**os.environ, **environment},
        cwd=Path(__file__).resolve().parents[2],
        check=True,
        capture_output=True,
        text=True,
    )
    written, *modules = run.stdout.split()
    return int(written), set(modules)


def test_edit_of_a_text_leaves_the_links_of_other_pages(studio: Studio) -> None:
    """Their headings are not loaded, so no page that links to the edited one may be
    resolved with it."""
    text = "-- other.md --\n[e](edited) [no](third#no)\n-- third.md --\n# T\n"
    folder = studio.add(f"{text}-- edited.md --\nText.\n")
    studio.build()
    (folder / "edited.md").write_text("Another text.\n")
    studio.build()
    page = next(studio.site.rglob("other.html"))
    page.unlink()
    studio.build()
    assert "the page has no such heading" in page.read_text()
    assert studio.files() == studio.clean_build()


class Counted(Progress):
    """How many items of each step are not done yet."""

    def __init__(self) -> None:
        self.left: list[int] = []

    def start(self, label: str, total: int | None) -> None:
        assert total is not None, label
        self.left.append(total)

    def advance(self, steps: int = 1) -> None:
        self.left[-1] -= steps


@pytest.mark.parametrize("text", ["Another text.\n", "# Another title\n"])
def test_edit_counts_each_page_once(studio: Studio, text: str) -> None:
    folder = studio.start("-- a.md --\nText.\n-- b.md --\nText.\n")
    (folder / "a.md").write_text(text)
    progress, cache = Counted(), studio.root / "cache"
    build_site(
        studio.sources, studio.site, studio.options, cache=cache, progress=progress
    )
    assert progress.left == [0, 0]


class Thresholds(Counted):
    """How many new objects there may be before circles of them are looked for."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[int] = []

    def start(self, label: str, total: int | None) -> None:
        super().start(label, total)
        self.seen.append(gc.get_threshold()[0])


def test_each_of_many_wikis_may_leave_fewer_circles(studio: Studio) -> None:
    with_instance(studio)
    before, progress = gc.get_threshold(), Thresholds()
    for number, wikis in enumerate((studio.sources[:1], studio.sources)):
        made = studio.root / f"made-{number}"
        cache = studio.root / f"cache-{number}"
        build_site(wikis, made, studio.options, cache=cache, progress=progress)
    one, _, many, _ = progress.seen
    assert one > 2 * many > 2 * before[0]
    assert gc.get_threshold() == before


def test_edit_of_a_text_leaves_the_links_of_the_sidebar(studio: Studio) -> None:
    """They may name headings of pages that are not loaded."""
    text = "-- edited.md --\nText.\n-- third.md --\n# T\n"
    folder = studio.add(f"{text}-- _sidebar.md --\n- [no](third#no)\n")
    studio.build()
    (folder / "edited.md").write_text("Another text.\n")
    studio.build()
    assert studio.files() == studio.clean_build()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("edited", "Another text.\n"),
        ("edited", "# Another heading\n"),
        ("edited", "[other](other) [gone](gone)\n"),
        ("edited", "[third](third#no)\n"),
        ("edited", "---\ntags: [one]\ndescription: two\n---\nText.\n"),
        ("edited", "::include{file=third.md}\n"),
        ("edited", "![](other.png)\n"),
        ("third", "No heading.\n"),
        ("_sidebar", "- [third](third#none)\n- [edited](edited)\n"),
        ("_sidebar", "- [other](other) and more\n"),
    ],
)
def test_edit_of_one_text_gives_what_a_clean_build_gives(
    studio: Studio, name: str, text: str
) -> None:
    """Also where the file of a page that is not loaded is gone."""
    pages = "-- edited.md --\nText.\n-- third.md --\n# H\n-- fourth.md --\nText.\n"
    pages += "-- other.md --\n[e](edited) [t](third#h) [no](third#no)\n"
    folder = studio.add(f"{pages}-- _sidebar.md --\n- [other](other)\n")
    studio.build()
    (folder / f"{name}.md").write_text(text)
    next(studio.site.rglob("fourth.html")).unlink()
    studio.build()
    assert studio.files() == studio.clean_build()


def test_wiki_that_looks_for_files_is_read_again_where_one_comes(
    studio: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = studio.add("-- home.md --\n[b](b.csv) [c](none)\n", "docs/one")
    two = studio.add("-- home.md --\n[one](none)\n", "docs/two")
    studio.build()
    indexed: list[int] = []
    index_of = Indexer.index

    def seen(indexer: Indexer, number: int, *others: Any) -> Any:
        indexed.append(number)
        return index_of(indexer, number, *others)

    def built() -> list[int]:
        indexed.clear()
        studio.build()
        found = [*dict.fromkeys(indexed)]
        assert studio.files() == studio.clean_build()
        return found

    monkeypatch.setattr(Indexer, "index", seen)
    (two / "home.md").write_text("Another text.\n")
    assert built() == [1]
    (one / "b.csv").write_text("b")
    assert built() == [0]
    (one / "b.csv").write_text("another b")
    assert built() == [0]
    (two / "home.md").write_text("And another.\n")
    assert built() == [1]
    (one / "b.csv").unlink()
    assert built() == [0]
