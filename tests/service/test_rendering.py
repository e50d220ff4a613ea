"""Includes of a rendered page stay inside its wiki."""

from __future__ import annotations

from pathlib import Path

import pytest

from wikisync.model import Slug
from wikisync.service.editing import Change
from wikisync.service.rendering import INCLUDED_BYTES_MAX, included_text
from wikisync.service.repository import Author, WikiRepository


@pytest.fixture
def repository(tmp_path: Path) -> WikiRepository:
    files = {
        "dir/part.adoc": b"part",
        "root.md": b"root",
        "uploads/0f/data.csv": b"a,b",
        "binary.md": b"\0",
        "huge.md": b"x" * (INCLUDED_BYTES_MAX + 1),
    }
    made = WikiRepository(tmp_path / "r.git")
    made.change(lambda _tree: Change("m", writes=files), Author("n", "e"))
    return made


@pytest.mark.parametrize(
    ("target", "text"),
    [
        ("part.adoc", "part"),
        ("part", "part"),
        ("../root.md", "root"),
        ("../uploads/0f/data.csv", "a,b"),
        ("../../root.md", None),
        ("/etc/passwd", None),
        ("../binary.md", None),
        ("../huge.md", None),
        ("none.adoc", None),
    ],
)
def test_include_finds_files_of_the_wiki_only(
    repository: WikiRepository, target: str, text: str | None
) -> None:
    found = included_text(repository.tree(), repository, Slug("dir/page"), target)

    assert found == text
