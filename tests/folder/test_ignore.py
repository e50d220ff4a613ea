from __future__ import annotations

import pytest

from wikisync.folder.ignore import copied_by, is_ignored_file, is_ignored_folder


@pytest.mark.parametrize(
    "name",
    [
        ".hidden.md",
        ".#home.md",
        ".home.md.swp",
        ".~lock.home.md#",
        "home.md~",
        "home.md.swp",
        "4913",
        "#home.md#",
        "~$home.md",
        "home.tmp",
        "home.PART",
        "Thumbs.db",
        "desktop.ini",
        "home.conflict.md",
        "home.Conflict.rst.txt",
    ],
)
def test_file_of_an_editor_or_a_desktop_is_ignored(name: str) -> None:
    assert is_ignored_file(name)


@pytest.mark.parametrize(
    "name", ["home.md", "_sidebar.md", "a~b.md", "conflict.md", "#1.md", "my.tmp.md"]
)
def test_page_is_not_ignored(name: str) -> None:
    assert not is_ignored_file(name)


def test_only_hidden_folders_are_ignored() -> None:
    assert is_ignored_folder(".wikisync")
    assert not is_ignored_folder("drafts~")


@pytest.mark.parametrize(
    ("stem", "who"),
    [
        ("a.sync-conflict-20250101-120000-ABCDEFG", "Syncthing"),
        ("a.sync-conflict-20150101-120000", "Syncthing"),
        ("a (conflicted copy 2025-01-01 120000)", "a cloud drive"),
        ("a (Ann's conflicted copy) (1)", "a cloud drive"),
        ("a (Copie en conflit de Ann 2025-01-01)", "a cloud drive"),
        ("a.sync-conflict-notes", None),
        ("conflicted copy", None),
        ("conflict (of interest)", None),
    ],
)
def test_copies_are_known_by_their_names(stem: str, who: str | None) -> None:
    assert copied_by(stem) == who
