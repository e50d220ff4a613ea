"""Which names in a wiki's folder are none of wikisync's business.  Pure.

The rules hold for any depth and are those that every sync tool ends up with:
hidden things, the by-products of editors and office programs, half-made
downloads, what desktops leave behind, and our own notes and conflict files.
"""

from __future__ import annotations

import re

from wikisync.model import EXTENSIONS

CONFLICT_MARK = ".conflict"
"""What a conflict file has between the page's name and its extension."""

ATTENTION = "wikisync-attention"
"""Name, in any case, of the page that lists for a person what waits for them."""

UPLOADS = "uploads"
"""Folder of the attachments, at the top of a wiki; nothing in it is a page."""

CONFIG_FILE = "wikisync.toml"
"""At the top of a folder that is a workspace; it may say where the token is."""

PACKAGES = "node_modules"
"""Folder of a package manager: thousands of texts that are no pages of anybody."""

_PAGE_EXTENSIONS = "|".join(
    re.escape(extension) for known in EXTENSIONS.values() for extension in known
)
_FILE = re.compile(rf"""(?aisx)
      .*~                 # backup of an editor
    | .*\.sw.             # vim's swap file
    | 4913                # vim's test whether it may write
    | \#.*\#              # emacs's auto-save
    | ~\$.*               # owner file of an office program
    | .*\.(?:tmp|part)
    | thumbs\.db | desktop\.ini
    | {ATTENTION}\.md
    | .*{re.escape(CONFLICT_MARK)}(?:{_PAGE_EXTENSIONS})
    """)
_IN_WORDS = (
    "conflicted copy|in Konflikt stehende Kopie|copie en conflit|copia en conflicto"
)
_COPIES = (
    ("Syncthing", r"(?ais).*\.sync-conflict-\d{8}-\d{6}(?:-[A-Z0-9]{7})?"),
    # Dropbox and Nextcloud, which name it in their person's language
    ("a cloud drive", rf"(?is).* \([^()]*(?:{_IN_WORDS})[^()]*\).*"),
)
_IN_COPIES = "onfli"
"""Each of them has it; most names do not."""


def is_ignored_file(name: str) -> bool:
    """Whether a file of this name is never read, written, moved or removed."""
    return name.startswith(".") or _FILE.fullmatch(name) is not None


def is_ignored_folder(name: str) -> bool:
    """Whether nothing below a folder of this name is scanned."""
    return name.startswith(".")


def is_hidden_page(name: str) -> bool:
    """Whether a person hid a page's file by a dot in front."""
    # what macOS writes beside each file on a disk of another system begins so
    return name.startswith(".") and not name.startswith("._")


def may_be_copy(name: str) -> bool:
    """Whether it is worth asking ``copied_by`` about a name."""
    return _IN_COPIES in name.lower()


def copied_by(stem: str) -> str | None:
    """Who gives such names to copies of files that were changed in two places.

    Args:
        stem: A file's name without its extension.
    """
    if not may_be_copy(stem):
        return None
    return next((who for who, copy in _COPIES if re.fullmatch(copy, stem)), None)
