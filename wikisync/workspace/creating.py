"""The workspace that ``wikisync init`` makes: all of it, or nothing after a failure."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

from msgspec import Struct

from wikisync.config.reading import render_config
from wikisync.config.sections import FILE_NAME, Config
from wikisync.config.trust import agree, config_folder
from wikisync.core.layout import LOCK_FILE, MARKERS, PRIVATE_FOLDER, TEMPORARY_FOLDER
from wikisync.core.model import Problem
from wikisync.core.system.private import make_private_folder
from wikisync.errors import ConfigError, FolderError
from wikisync.folder.ignore import IGNORE_FILE, is_ignored_folder
from wikisync.folder.naming import parse_path
from wikisync.folder.private import private_folder
from wikisync.folder.safe_open import folder_error, make_folder, refused_write
from wikisync.folder.swap import OWNERS, PRIVATE, write_atomically
from wikisync.folder.workspace import adopt, locked, refuse_network_disk
from wikisync.workspace.configured import nearest_workspace
from wikisync.workspace.rights import Service, WikiRights

PAGES_COUNTED_MAX = 10_000
PATTERNS = """\
# What stays out of the sync, with patterns as in .gitignore.  A page that becomes
# ignored is deleted nowhere.
#
# Never synced, whatever stands here: hidden files, backups and swap files of editors
# (*~ .*.swp #*# 4913), locks of office programs (~$* .~lock.*), half-made downloads
# (*.tmp *.part), .DS_Store, Thumbs.db, desktop.ini, and our own conflict files.
#
# drafts/
# *.draft.md
# /private/**
"""


class Planned(Struct, frozen=True):
    """A workspace as it is to be, checked as far as it can be."""

    root: Path
    service: Service
    config: Config
    rights: Sequence[WikiRights]
    notes: Sequence[Problem]
    written: Sequence[Path]
    """Files to be made, the configuration last."""
    kept_token: KeptToken | None = None

    def folder_of(self, wiki: WikiRights) -> Path:
        """Where the wiki's pages go."""
        folders = {section.owner: section.folder for section in self.config.wikis}
        return self.root / folders[wiki.wiki.owner]

    @property
    def text(self) -> str:
        """Text of ``wikisync.toml``."""
        return render_config(self.config)


def new_files(root: Path, config: Config) -> Sequence[Path]:
    """The files to be made; a pattern file that is there stays as it is."""
    ignoring = [root / wiki.folder / IGNORE_FILE for wiki in config.wikis]
    return (*(path for path in ignoring if not path.exists()), root / FILE_NAME)


def pages_in(folder: Path, *, below: bool = True) -> int:
    """How many pages a folder holds, counted up to ``PAGES_COUNTED_MAX``."""
    count = 0
    for walked, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if below and not is_ignored_folder(name)]
        way = Path(walked).relative_to(folder)
        count += sum(parse_path((way / name).as_posix()) is not None for name in names)
        if count >= PAGES_COUNTED_MAX:
            return PAGES_COUNTED_MAX
    return count


def refuse_folder(root: Path, *, allows_network_disk: bool = False) -> None:
    """See that a workspace may be made here; else FolderError."""
    real = root.resolve()
    if found := nearest_workspace(real):
        table = f"add a table [[wiki]] to {found / FILE_NAME}"
        if found == real:
            raise FolderError(
                f"{root} is already a workspace",
                hint=f"run wikisync sync there; to add a wiki, {table}",
            )
        raise FolderError(
            f"{root} is inside the workspace {found}",
            hint=f"choose a folder outside of it, or {table}",
        )
    there = next(way for way in (real, *real.parents) if way.exists())
    if not there.is_dir():
        raise FolderError(f"{there} is not a folder", hint="choose another path")
    if refused := refused_write(there):
        raise folder_error("write to", str(there), refused)
    refuse_network_disk(there, is_allowed=allows_network_disk)


def write_workspace(planned: Planned) -> None:
    """Write the workspace, its configuration last; nothing is left of a half one."""
    root, private = planned.root, planned.root / PRIVATE_FOLDER
    missing = {
        above
        for folder in (private, *map(planned.folder_of, planned.rights))
        for above in (folder, *folder.parents)
        if not above.exists()
    }
    made = sorted(missing, key=lambda above: -len(above.parts))
    lock = private / LOCK_FILE
    is_first = not lock.exists()
    with locked(private, f"the workspace {root}"):
        # another process may have made one while a person was asked
        refuse_folder(root, allows_network_disk=True)
        wanted = (*planned.written, *(private / name for name in MARKERS))
        new = [path for path in wanted if not path.exists()]
        new += [lock] if is_first else []
        try:
            for path in planned.written[:-1]:
                folder, text = path.parent, PATTERNS.encode()
                make_folder(folder)
                # a wiki's folder may be on another disk
                own = private_folder(folder, TEMPORARY_FOLDER, private=private)
                write_atomically(folder, path.name, text, expected=None, temporary=own)
            write_config(root, planned.config)
        except BaseException as exc:
            for path in new:
                with suppress(OSError):
                    path.unlink()
            for folder in made:
                # one that somebody else put something into stays
                with suppress(OSError):
                    folder.rmdir()
            if isinstance(exc, OSError):
                raise folder_error("write", str(exc.filename or root), exc) from exc
            raise


def write_config(root: Path, config: Config) -> None:
    """Make a folder the workspace of a configuration that the command line asks for."""
    private = root / PRIVATE_FOLDER
    adopt(private)
    temporary, content = private / TEMPORARY_FOLDER, render_config(config).encode()
    write_atomically(
        root, FILE_NAME, content, expected=None, temporary=temporary, modes=OWNERS
    )
    # where it cannot be kept, the next command says so and how to go on
    with suppress(ConfigError):
        agree(root, config)


# -- the token --------------------------------------------------------------------


class KeptToken(Struct, frozen=True):
    """A token that is to be written to its file."""

    path: Path
    token: str

    def __repr__(self) -> str:
        return f"KeptToken({str(self.path)!r})"


def token_path(url: str) -> Path:
    """The file that the token for a service is kept in."""
    parts = urlsplit(url)
    service = f"{parts.netloc}{parts.path.rstrip('/')}"
    name = "".join(one if one.isalnum() or one in ".-" else "-" for one in service)
    return config_folder() / f"token-{name}"


def from_home(path: Path) -> Path:
    """The path with ``~`` for the home folder, as a configuration names it."""
    try:
        return Path("~") / path.relative_to(Path.home())
    except ValueError:
        return path


@contextmanager
def keeping(kept: KeptToken | None) -> Iterator[None]:
    """Write the token; if the block fails, what was there before is there again."""
    if kept is None:
        yield
        return
    try:
        before = kept.path.read_bytes() if kept.path.exists() else None
        _write_token(kept.path, f"{kept.token}\n".encode())
    except OSError as exc:
        raise FolderError(
            f"the token cannot be written to {kept.path}: {exc.strerror}",
            hint="make the folder writable, or answer no and name --token-file FILE",
        ) from exc
    try:
        yield
    except BaseException:
        with suppress(OSError):
            if before is None:
                kept.path.unlink()
            else:
                _write_token(kept.path, before)
        raise


def _write_token(path: Path, data: bytes) -> None:
    make_private_folder(path.parent)
    write_atomically(
        path.parent, path.name, data, temporary=path.parent / "tmp", modes=PRIVATE
    )
    with suppress(OSError):
        (path.parent / "tmp").rmdir()
