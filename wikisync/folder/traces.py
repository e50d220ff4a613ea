"""What a scan of a folder shows of pages that are not plainly there.  Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from wikisync.folder.busy import WRITE_TEST
from wikisync.folder.naming import parse_path
from wikisync.folder.scan import ScannedFolder
from wikisync.model import Slug


def pages_hidden(hidden: Collection[str]) -> set[Slug]:
    """Pages in whose files' place something else is."""
    found = (parse_path(path) for path in hidden if path)
    return {page[0] for page in found if page is not None}


def busy_pages(
    scanned: ScannedFolder, pages: Collection[Slug], before: Collection[str]
) -> Mapping[Slug, str]:
    """Pages that an editor has open, and missing pages that it may be saving.

    While an editor saves, a page can be missing for a moment: its backup of that
    moment shows it, and vim's test file where the page was there at the last scan.
    """
    busy: dict[Slug, str] = {}
    for path in before if scanned.write_tests else ():
        folder = path.rpartition("/")[0]
        found = parse_path(path)
        if folder in scanned.write_tests and found and found[0] not in pages:
            busy[found[0]] = f"{folder}/{WRITE_TEST}" if folder else WRITE_TEST
    for path, backup in scanned.backups.items():
        found = parse_path(path)
        if found and found[0] not in pages:
            busy[found[0]] = backup
    for path, lock in scanned.locks.items():
        if found := parse_path(path):
            busy[found[0]] = lock
    return busy
