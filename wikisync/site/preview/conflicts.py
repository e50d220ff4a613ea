"""Conflict files beside the pages of a preview: which pages are in conflict."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from wikisync.folder.ignore import CONFLICT_MARK, is_ignored_folder
from wikisync.model import split_extension
from wikisync.site.crosslinks import ItemKey
from wikisync.site.preview.changes import page_at

if TYPE_CHECKING:
    from wikisync.site.sources import ScannedWiki

CONFLICTS_MAX = 500


def conflicts_of(scanned: Sequence[ScannedWiki]) -> Iterator[tuple[ItemKey, str]]:
    """Pages beside whose file lies one that holds both texts of a conflict."""
    count = 0
    for number, wiki in enumerate(scanned):
        for path in _conflict_files(wiki.source.folder):
            stem, _, extension = path.rpartition(CONFLICT_MARK)
            page = page_at(wiki, stem + extension)
            if page is not None and count < CONFLICTS_MAX:
                count += 1
                yield ItemKey(number, page.slug), path


def _conflict_files(root: Path) -> Iterator[str]:
    """Conflict files of a wiki, relative to its folder."""
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if not is_ignored_folder(name)]
        for name in names:
            if CONFLICT_MARK in name and split_extension(name) is not None:
                yield os.path.relpath(f"{folder}/{name}", root)
