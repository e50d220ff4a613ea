"""Which names in a wiki's folder are none of wikisync's business.  Pure.

At any depth: hidden things, by-products of editors and office programs, half-made
downloads, what desktops leave behind, our own notes and conflict files, and what
``foreign`` lists.
"""

import re
from collections.abc import Iterator
from fnmatch import translate
from functools import lru_cache
from typing import NamedTuple

from wikisync.core.model import EXTENSIONS, split_extension
from wikisync.folder.foreign import COPIES, COPY_OF, FILES, FOLDERS, STUBS, WEAK_COPIES

CONFLICT_MARK = ".conflict"
"""What a conflict file has between the page's name and its extension."""

ATTENTION = "wikisync-attention"
"""Name, in any case, of the page that lists for a person what waits for them."""

UPLOADS = "uploads"
"""Folder of the attachments, at the top of a wiki; nothing in it is a page."""

CONFIG_FILE = "wikisync.toml"
"""At the top of a folder that is a workspace; it may say where the token is."""

BACKUP_S = 60.0
"""An older backup of a file means nothing: some editors always leave one."""

WRITE_TEST = "4913"
"""The file with which vim sees whether it may write in a folder."""

_LOCKS = (
    r"\.\#(?P<name>.+)",  # emacs
    r"\.~lock\.(?P<name>.+)\#",  # LibreOffice
    r"~\$(?P<name>.+)",  # office programs
    r"\.(?P<name>.+)\.sw[a-z]",  # vim
)
_LOCKS_BEGIN = (".", "~")
_BACKUPS = (
    r"(?P<name>[^\#].*)~",
    r"\#(?P<name>.+)\#",  # emacs's auto-save
)
_EXTENSIONS = [one for known in EXTENSIONS.values() for one in known]
_FILE = re.compile(rf"""(?aisx)
      .*~                 # backup of an editor
    | .*\.sw.             # vim's swap file
    | 4913                # vim's test whether it may write
    | \#.*\#              # emacs's auto-save
    | ~\$.*               # owner file of an office program
    | {"|".join(file.pattern for file in FILES)}
    | {ATTENTION}\.md
    | .*{re.escape(CONFLICT_MARK)}(?:{"|".join(map(re.escape, _EXTENSIONS))})
    """)
_MAKERS = tuple(folders.who for folders in FOLDERS for _ in folders.names)
# one search: most folders are nobody's
_FOLDER = re.compile(
    "|".join(
        f"((?i:{shell}))" if folders.folds_case else f"({shell})"
        for folders in FOLDERS
        for shell in map(translate, folders.names)
    )
)
_COPIES = tuple((copy.who, re.compile(copy.pattern)) for copy in COPIES)
_WEAK_COPIES = tuple((copy, re.compile(copy.pattern)) for copy in WEAK_COPIES)
_COPY_OF = re.compile(COPY_OF.pattern)
_MAY_BE_COPY = re.compile(
    # each begins with one character and not a class: then the search skips fast
    r"onfli|case clash|конфл|競合|冲突|衝突|충돌|ขัดแย้ง|strid|bercanggah"
    r"|çak[ıi]ş|~| [2-9]\.| \d\d\.|\(\d\d?\)\.|\.orig|\.bak|\.osync|\.path[12]\."
    r"|\.(?:base|local|remote|backup)[._]|_(?:base|local|remote|backup)[._]"
    r"|-(?:desktop|laptop|win|minwinpc)-|-(?:pc|laptop|mbp)[-.]|macbook|imac"
    r"|mac[ -](?:mini|studio)|copy|copi[ae]|cópia|kopi|kopya|копия|副本|コピー"
)
"""Something of each of them is in it, in small letters; it is not in most names."""
_STUBS = {ending: stubs for stubs in STUBS for ending in stubs.endings}
STUB_BYTES_MAX = 1
"""A file of an unknown program is a stub only where it has no more than this."""
_NAMES_KNOWN_MAX = 1 << 16


class Stub(NamedTuple):
    """A file that stands for another one, whose content is kept elsewhere."""

    who: str
    """Who leaves such files."""
    names: tuple[str, ...]
    """Of the other file; more than one where the stub does not tell its extension."""
    is_sure: bool = True
    """Whether its name is enough, whatever is in it."""


def is_ignored_file(name: str) -> bool:
    """Whether a file of this name is never read, written, moved or removed."""
    return name.startswith(".") or _FILE.fullmatch(name) is not None


def is_ignored_folder(name: str) -> bool:
    """Whether nothing below a folder of this name is scanned."""
    return name.startswith(".")


@lru_cache(_NAMES_KNOWN_MAX)
def folder_maker(name: str) -> str | None:
    """Who makes folders of this name, or of ``above/name``, for its own purposes."""
    found = _FOLDER.match(name)
    return _MAKERS[found.lastindex - 1] if found and found.lastindex else None


def is_hidden_page(name: str) -> bool:
    """Whether a person hid a page's file by a dot in front."""
    # what macOS writes beside each file on a disk of another system begins so
    return name.startswith(".") and not name.startswith("._")


@lru_cache(_NAMES_KNOWN_MAX)
def may_be_copy(name: str) -> bool:
    """Whether it is worth asking ``copied_by`` about a page's file of this name."""
    return _MAY_BE_COPY.search(name.lower()) is not None


def copiers(stem: str) -> Iterator[tuple[str, str, bool]]:
    """Who gives such stems to copies of files that were changed in two places.

    Yields each program, the stem beside which it counts, with the same extension, or
    ``""``; and whether the names are enough, whatever the texts are.
    """
    for who, copy in _COPIES:
        if copy.fullmatch(stem):
            yield who, "", True
    if (prefix := _COPY_OF.match(stem)) is not None:
        yield COPY_OF.who, stem[prefix.end() :], COPY_OF.is_sure
    for end in range(len(stem) - 1, 0, -1):
        for names, copy in _WEAK_COPIES:
            if copy.fullmatch(stem, end):
                yield names.who, stem[:end], names.is_sure


def stub_of(name: str) -> Stub | None:
    """What a file of this name stands for, if it is a stub."""
    inner, _, ending = name.rpartition(".")
    inner = inner.removeprefix(".")
    is_page = split_extension(inner) is not None
    stubs = _STUBS.get(ending)
    if stubs is None:
        # an editor's lock file has no text either
        is_stub = is_page and not is_ignored_file(name)
        return Stub("a cloud drive", (inner,), is_sure=False) if is_stub else None
    if stubs.drops_extension and inner and not is_page:
        return Stub(stubs.who, tuple(inner + extension for extension in _EXTENSIONS))
    if stubs.of_folders:
        is_stub = bool(inner)
    else:
        is_stub = is_page if stubs.of_pages else "." in inner
    return Stub(stubs.who, (inner,)) if is_stub else None


def locked_name(name: str) -> str | None:
    """The file in the same folder that this lock file says is open in an editor."""
    return _first(_LOCKS, name) if name[:1] in _LOCKS_BEGIN else None


def backed_up_name(name: str) -> str | None:
    """The file in the same folder that this is a backup of."""
    return _first(_BACKUPS, name)


def _first(patterns: tuple[str, ...], name: str) -> str | None:
    found = (re.fullmatch(pattern, name, re.DOTALL) for pattern in patterns)
    return next((each["name"] for each in found if each), None)
