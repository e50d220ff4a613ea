"""The three texts of each conflict as files, for merge tools: ``.wikisync/conflicts``.

``base``, ``here`` and ``wiki`` of a held page lie in a folder of their own there;
they follow the conflict, and go with it.  What a person makes of them counts only
with ``resolve --tool``: nothing else ever reads them back.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from wikisync.config import WikiSection
from wikisync.folder.naming import path_of
from wikisync.folder.swap import PRIVATE, write_atomically
from wikisync.layout import CONFLICTS_FOLDER
from wikisync.model import EXTENSIONS, Format, Slug
from wikisync.private import read_private_file
from wikisync.workspace.opening import OpenWorkspace

NAMES = ("base", "here", "wiki")
STEM_CHARS_MAX = 40

Texts = Mapping[str, str]
"""Texts by their paths below ``.wikisync``."""


def conflict_texts(opened: OpenWorkspace) -> Texts:
    """What the files of all held pages say now."""
    texts: dict[str, str] = {}
    for section in opened.workspace.config.wikis:
        known = opened.known(section)
        for slug, record in known.conflict_files().items():
            # without a text that both sides agreed on, the base is empty
            three = (known.text(slug) or "", record.local, record.remote)
            for name, text in zip(NAMES, three, strict=True):
                texts[conflict_path(section, slug, record.format, name)] = text
    return texts


def conflict_path(
    section: WikiSection, slug: Slug, page_format: Format, name: str
) -> str:
    """Where one text of a page lies, below ``.wikisync``."""
    extension = EXTENSIONS[page_format][0]
    leaf = path_of(slug, page_format).rpartition("/")[2].removesuffix(extension)
    mark = hashlib.sha256(f"{section.folder}\n{slug}".encode()).hexdigest()[:8]
    folder = f"{leaf[:STEM_CHARS_MAX]}-{mark}"
    return f"{CONFLICTS_FOLDER}/{folder}/{name}{extension}"


def show_conflict_texts(private: Path, texts: Texts) -> None:
    """Write the files that differ, and remove the folders of settled conflicts.

    Raises:
        FolderError: one cannot be written.
    """
    top = private / CONFLICTS_FOLDER
    for path, text in texts.items():
        content = text.encode("utf-8", "surrogatepass")
        if not _is_there(private / path, content):
            write_atomically(private, path, content, modes=PRIVATE)
    held = {path.split("/")[1] for path in texts}
    with suppress(OSError):
        for entry in list(top.iterdir()):
            if entry.name not in held and not entry.is_symlink():
                import shutil

                shutil.rmtree(entry, ignore_errors=True)
        top.rmdir()


def _is_there(path: Path, content: bytes) -> bool:
    try:
        return read_private_file(path, len(content)) == content
    except OSError:
        return False
