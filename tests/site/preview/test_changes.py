"""Changes told by paths: seen without a look at all files, and seen the same."""

import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.site.sites import wiki_source
from tests.support.archive import unpack
from wikisync.site.cache import Cache, open_cache
from wikisync.site.preview.world import changed_wiki
from wikisync.site.sources import ScannedWiki, scan_wiki

HASH = "0123456789abcdef0123456789abcdef"
OTHER = "0" * 16
WIKI = f"""\
-- home.md --
Welcome.
-- guide/part.md --
A part.
-- uploads/{HASH}/map.png --
a picture
"""


class Desk:
    """A wiki's folder, and what was seen of it last."""

    def __init__(self, folder: Path, cache: Cache) -> None:
        self.folder = unpack(WIKI, folder)
        self._source = wiki_source(folder)
        self._cache = cache
        self.last = self.scan()

    def scan(self) -> ScannedWiki:
        return scan_wiki(self._source, self._cache)

    def told(self, *names: str) -> ScannedWiki | None:
        return changed_wiki(
            self.last, frozenset(str(self.folder / name) for name in names)
        )


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with open_cache(tmp_path / "cache") as cache:
        yield Desk(tmp_path / "wiki", cache)


def edit(desk: Desk) -> list[str]:
    (desk.folder / "home.md").write_text("Welcome again.\n")
    return ["home.md"]


def come(desk: Desk) -> list[str]:
    (desk.folder / "guide" / "new.org").write_text("* New\n")
    return ["guide/new.org"]


def go(desk: Desk) -> list[str]:
    (desk.folder / "guide" / "part.md").unlink()
    return ["guide/part.md"]


def rename(desk: Desk) -> list[str]:
    (desk.folder / "home.md").rename(desk.folder / "guide" / "a.md")
    return ["home.md", "guide/a.md"]


def change_format(desk: Desk) -> list[str]:
    (desk.folder / "home.md").rename(desk.folder / "home.org")
    return ["home.md", "home.org"]


def picture(desk: Desk) -> list[str]:
    (desk.folder / "uploads" / HASH / "map.png").write_bytes(b"another")
    (desk.folder / "home.md").write_text(f"![](uploads/{HASH}/map.png)\n")
    return [f"uploads/{HASH}/map.png", "home.md"]


def new_picture(desk: Desk) -> list[str]:
    unpack(f"-- uploads/{OTHER}/a b.png --\nbytes\n", desk.folder)
    return [f"uploads/{OTHER}/a b.png"]


def folder_of_picture(desk: Desk) -> list[str]:
    """The watch may have heard of no file in it."""
    return [new_picture(desk)[0].rpartition("/")[0]]


PICTURES = [picture, new_picture, folder_of_picture]


@pytest.mark.parametrize("change", [edit, come, go, rename, change_format, *PICTURES])
def test_a_change_of_pages_or_attachments_is_seen_as_a_look_at_all_files_would(
    desk: Desk, change: Callable[[Desk], list[str]]
) -> None:
    told = desk.told(*change(desk))
    assert told is not None
    assert told == desk.scan()
    assert list(told.pages) == list(desk.scan().pages)
    assert list(told.attachments) == list(desk.scan().attachments)
    assert told != desk.last


def test_a_save_of_the_same_text_is_no_change(desk: Desk) -> None:
    (desk.folder / "home.md").write_bytes((desk.folder / "home.md").read_bytes())
    assert desk.told("home.md") is desk.last


def test_files_of_another_wiki_are_no_change(desk: Desk) -> None:
    assert changed_wiki(desk.last, frozenset({"/elsewhere/home.md"})) is desk.last


def second_file(desk: Desk) -> list[str]:
    (desk.folder / "home.markdown").write_text("Welcome twice.\n")
    return ["home.markdown"]


def folder(desk: Desk) -> list[str]:
    (desk.folder / "guide").rename(desk.folder / "guides")
    return ["guide", "guides"]


def new_folder(desk: Desk) -> list[str]:
    unpack("-- more/one.md --\nOne.\n", desk.folder)
    return ["more/one.md"]


def no_picture(desk: Desk) -> list[str]:
    shutil.rmtree(desk.folder / "uploads" / HASH)
    return [f"uploads/{HASH}"]


def one_of_two(desk: Desk) -> list[str]:
    other_file(desk, "b.png")
    desk.last = desk.scan()
    no_file(desk)
    return [f"uploads/{HASH}"]


def no_file(desk: Desk) -> list[str]:
    (desk.folder / "uploads" / HASH / "map.png").unlink()
    return [f"uploads/{HASH}/map.png"]


def linked_picture(desk: Desk) -> list[str]:
    file = desk.folder / "uploads" / HASH / "map.png"
    file.unlink()
    file.symlink_to(desk.folder / "home.md")
    return [f"uploads/{HASH}/map.png"]


def real_picture(desk: Desk) -> list[str]:
    """A symbolic link that was reported is a file by now."""
    link = desk.folder / linked_picture(desk)[0]
    desk.last = desk.scan()
    link.unlink()
    link.write_bytes(b"another")
    return [f"uploads/{HASH}/map.png"]


def no_link(desk: Desk) -> list[str]:
    """Another file is in its folder."""
    link = desk.folder / linked_picture(desk)[0]
    desk.last = desk.scan()
    link.unlink()
    return [other_file(desk, "b.png")[0].rpartition("/")[0]]


def stored_elsewhere(desk: Desk) -> list[str]:
    """The stub of a cloud storage is still beside its file."""
    no_file(desk)
    other_file(desk, ".map.png.icloud")
    desk.last = desk.scan()
    return other_file(desk, "map.png")


def ignored_picture(desk: Desk) -> list[str]:
    unpack(f"-- .wikisyncignore --\n{OTHER}/\n", desk.folder)
    desk.last = desk.scan()
    return new_picture(desk)


def other_file(desk: Desk, name: str) -> list[str]:
    unpack(f"-- uploads/{HASH}/{name} --\nbytes\n", desk.folder)
    return [f"uploads/{HASH}/{name}"]


def template(desk: Desk) -> list[str]:
    unpack("-- templates/one.md --\nOne.\n-- templates/two.md --\nx\n", desk.folder)
    desk.last = desk.scan()
    (desk.folder / "templates/one.md").write_text("Another.\n")
    return ["templates/one.md"]


def link(desk: Desk) -> list[str]:
    (desk.folder / "linked.md").symlink_to(desk.folder / "home.md")
    return ["linked.md"]


def unreadable(desk: Desk) -> list[str]:
    (desk.folder / "home.md").unlink()
    (desk.folder / "home.md").mkdir()
    return ["home.md"]


def everything(desk: Desk) -> list[str]:
    (desk.folder / "home.md").write_text("Welcome again.\n")
    return ["."]


@pytest.mark.parametrize(
    "change",
    [
        *(second_file, folder, new_folder, template, link, unreadable, everything),
        *(linked_picture, ignored_picture, no_picture, no_file, one_of_two),
        *(real_picture, no_link, stored_elsewhere),
        partial(other_file, name=".a.md"),
        partial(other_file, name="a.png~"),
        partial(other_file, name="a.png.icloud"),
        partial(other_file, name="a.md"),
        partial(other_file, name="a\\b.png"),
        partial(other_file, name="inner/b.png"),
    ],
)
def test_what_is_not_plain_needs_a_look_at_all_files(
    desk: Desk, change: Callable[[Desk], list[str]]
) -> None:
    assert desk.told(*change(desk)) is None


def test_a_second_file_that_stays_behind_needs_a_look_at_all_files(desk: Desk) -> None:
    (desk.folder / "home.markdown").write_text("Welcome twice.\n")
    desk.last = desk.scan()
    (desk.folder / "home.markdown").unlink()
    assert desk.told("home.markdown") is None
