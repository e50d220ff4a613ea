"""The history of a folder of pages: of the git work tree that it lies in.

Where git knows nothing of it, there is what syncs saw.  Times of files are no history:
a copy of a folder has others, and would make another site.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from wikisync.core.decoding import msgpack_decoder
from wikisync.core.system.private import make_private_folder
from wikisync.core.versions import UNKNOWN, Versions
from wikisync.folder.naming import parse_path

if TYPE_CHECKING:
    from pathlib import Path

    from wikisync.core.model import Slug
    from wikisync.site.cache import Cache
    from wikisync.site.model import WikiSource

LOGS_FOLDER = "logs"
COMMITS_MAX = 20_000
"""Of a repository that may hold more than pages; what is older is not known."""


class _Noted(Struct, frozen=True, array_like=True):
    state: str
    cut: str
    """The commits whose parents were not there."""
    versions: Versions


_NOTED = msgpack_decoder(_Noted)


def folder_log(source: WikiSource, cache: Cache) -> Versions:
    """What is known of the history of a folder."""
    folder = source.folder.resolve()
    git = next((at / ".git" for at in (folder, *folder.parents) if _has_git(at)), None)
    if git is None:
        return source.versions
    name = hashlib.sha256(cache.key("folder", folder)).hexdigest()
    place, noted = cache.folder / LOGS_FOLDER / name, _Noted("", "", UNKNOWN)
    with suppress(OSError, msgspec.MsgspecError):
        noted = _NOTED.decode(place.read_bytes())
    state, cut = _state(git), _text(git / "shallow")
    if not state or (noted.state, noted.cut) != (state, cut):
        # commits that came since, or are gone, are no newer ones
        known = noted.versions if noted.cut == cut else UNKNOWN
        noted = _Noted(state, cut, _read(git.parent, folder, known))
        with suppress(OSError):
            make_private_folder(place.parent)
            place.write_bytes(msgspec.msgpack.encode(noted))
    return noted.versions if noted.versions.rows else source.versions


def _has_git(folder: Path) -> bool:
    return (folder / ".git").exists()


def _state(git: Path) -> str:
    """What tells whether HEAD is another commit; empty where only git can say."""
    head = _text(git / "HEAD")
    if not head.startswith("ref: "):
        return head
    branch = _text(git / head.removeprefix("ref: ").strip())
    return branch and head + branch


def _text(file: Path) -> str:
    with suppress(OSError, UnicodeDecodeError):
        return file.read_text()
    return ""


def _read(tree: Path, folder: Path, known: Versions) -> Versions:
    # git's library is slow to load, and most folders lie in no repository
    import pygit2

    from wikisync.core.git_log import read_log

    below = folder.relative_to(tree).as_posix()
    try:
        versions = read_log(
            tree,
            known=known,
            below="" if below == "." else below,
            page_of=_page_of,
            commits_max=COMMITS_MAX,
        )
    except (pygit2.GitError, KeyError, ValueError):
        return UNKNOWN
    return msgspec.structs.replace(versions, texts=str(tree))


def _page_of(path: str) -> Slug | None:
    found = parse_path(path)
    return found[0] if found else None
