"""Nothing from outside a wiki's folder is published, however fast files are swapped."""

from pathlib import Path

import pytest

from tests.security import swapped_files
from tests.site.sites import Studio, wiki_source
from tests.support.archive import unpack
from wikisync.errors import SiteError
from wikisync.site import build, theme_layers
from wikisync.site.sources import ScannedWiki, scan_wiki
from wikisync.workspace.page_files import include_from

BUILDS = 6


@pytest.mark.parametrize("name", swapped_files.SWAPPED)
def test_file_that_becomes_a_link_after_it_was_listed_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    inside, outside = swapped_files.write_wiki(tmp_path)
    studio = Studio(tmp_path, [wiki_source(inside)])
    kept = tmp_path / "kept"

    def scan_then_swap(*args: object, **options: object) -> ScannedWiki:
        scanned = scan_wiki(*args, **options)  # type: ignore[arg-type]
        (inside / name).rename(kept)
        (inside / name).symlink_to(outside / name)
        return scanned

    with monkeypatch.context() as patch:
        patch.setattr(build, "scan_wiki", scan_then_swap)
        studio.build()
    assert swapped_files.leaked(studio.files()) == []
    (inside / name).unlink()
    kept.rename(inside / name)
    studio.build()
    assert studio.files() == studio.clean_build()


def test_what_lies_outside_is_found_where_it_is_published(tmp_path: Path) -> None:
    """The test above can fail: every file of the wiki reaches the site."""
    _, outside = swapped_files.write_wiki(tmp_path)
    home = swapped_files.WIKI["home.md"].replace("# Home", swapped_files.SECRET)
    (outside / "home.md").write_text(home, encoding="utf-8")
    studio = Studio(tmp_path, [wiki_source(outside)])
    studio.build()
    found = " ".join(swapped_files.leaked(studio.files()))
    ends = ("index.html", "page.html", "other.html", "a.png", "b.svg", "t.txt", "c.png")
    assert [end for end in (*ends, "d.svg", "-/search/") if end not in found] == []


def test_builds_beside_a_swapping_process_publish_nothing_from_outside(
    tmp_path: Path,
) -> None:
    inside, outside = swapped_files.write_wiki(tmp_path, pages=40)
    studio = Studio(tmp_path, [wiki_source(inside)])
    studio.show_all()
    found: list[str] = []
    with swapped_files.swapping(inside, outside, seed=16):
        for number in range(BUILDS):
            studio.set(title=f"Build {number}")
            # a folder that is away leaves nothing to publish
            studio.build()
            found += swapped_files.leaked(studio.files())
    assert found == []
    studio.build()
    assert swapped_files.leaked(studio.files()) == []
    assert studio.files() == studio.clean_build()


def test_theme_file_that_becomes_a_link_is_not_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    theme = unpack("-- static/x.css --\na {}\n", tmp_path / "theme")
    (tmp_path / "secret").write_text(swapped_files.SECRET)
    listed = theme_layers._theme_files

    def list_then_swap(folder: Path) -> list[str]:
        names = list(listed(folder))
        if folder == theme:
            (theme / "static/x.css").unlink()
            (theme / "static/x.css").symlink_to(tmp_path / "secret")
        return names

    monkeypatch.setattr(theme_layers, "_theme_files", list_then_swap)
    studio = Studio(tmp_path)
    studio.add("-- home.md --\nx\n")
    studio.set(templates=theme)
    with pytest.raises(SiteError, match="link to outside its folder"):
        studio.build()
    assert not studio.site.exists()


def test_include_of_a_rendered_page_leads_not_out_of_its_folder(tmp_path: Path) -> None:
    folder = unpack("-- a.md --\nx\n-- in.txt --\ninside\n", tmp_path / "w")
    (tmp_path / "secret.txt").write_text(swapped_files.SECRET)
    (folder / "out.txt").symlink_to(tmp_path / "secret.txt")
    (folder / "alias.txt").symlink_to("in.txt")
    include = include_from(folder, "a.md")
    assert include("out.txt") is None
    assert include("alias.txt") == "inside\n"
