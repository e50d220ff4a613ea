"""The directory trees of a wiki's commits: which pages two of them differ in.

Pure.  A tree object lists names with the ids of what is below them, so two directories
of one id are the same and are not opened.  What a file is as a page of the service is
not said here: a page that changed is read from the service.
"""

import re
from collections.abc import Collection, Mapping, Set

from msgspec import Struct, field

from wikisync.core.git_trees import DIRECTORY, TreeMissing, tree_entries
from wikisync.core.model import EXTENSIONS, Slug, split_extension

UPLOADS = b"uploads"
"""The directory of attachments at the top."""
ENTRIES_MAX = 4_000_000
"""Names of directories that differ; a few trees that hold each other could make any
number of paths."""

_SUBMODULE = 0o160000
_FILES = frozenset({0o100644, 0o100755, 0o100664})
_UPLOAD = re.compile(r"uploads/[0-9a-fA-F]{32}")
_ENDINGS = tuple(one for many in EXTENSIONS.values() for one in many)


class OddTree(ValueError):
    """A change that trees alone do not explain; the list of pages does."""


class PageChanges(Struct, frozen=True):
    """The pages that differ between two trees."""

    there: Mapping[Slug, bytes] = field(default_factory=dict)
    """Those of the later one that are new or other, with the id of the file."""
    gone: frozenset[Slug] = frozenset()
    """Those of the earlier one alone."""


def page_changes(
    trees: Mapping[bytes, bytes], before: bytes, after: bytes
) -> PageChanges:
    """The pages that differ between two trees, given all trees of the earlier one.

    Raises TreeMissing for a tree that is not among them, OddTree where two files are
    one page, a name is not UTF-8, a file is a link, or there is too much of it.
    """
    there: dict[Slug, bytes] = {}
    gone: set[Slug] = set()
    room = ENTRIES_MAX
    waiting: list[tuple[str, bytes | None, bytes | None]] = [("", before, after)]
    while waiting:
        folder, old_id, new_id = waiting.pop()
        old, new = _entries(trees, old_id), _entries(trees, new_id)
        changed: dict[str, set[bytes]] = {}
        room -= len(old) + len(new)
        if room < 0:
            raise OddTree("more directories differ than a wiki has")
        for name in {name for name, _ in old.items() ^ new.items()}:
            if name == UPLOADS and not folder:
                continue
            was, now = old.get(name), new.get(name)
            path = f"{folder}{_text(name)}"
            below = _tree_of(was), _tree_of(now)
            if any(below):
                waiting.append((f"{path}/", *below))
            if _is_file(path, was) or _is_file(path, now):
                slug, _ = split_extension(path) or ("", None)
                changed.setdefault(slug, set()).add(name)
        for slug, names in changed.items():
            if slug:
                names |= {f"{slug[len(folder) :]}{one}".encode() for one in _ENDINGS}
                _one_of(slug, names, old)
                file = _one_of(slug, names, new)
                there |= {} if file is None else {Slug(slug): file}
                gone |= {Slug(slug)} if file is None else set()
    return PageChanges(there, frozenset(gone))


def file_of(trees: Mapping[bytes, bytes], root: bytes, slug: Slug) -> bytes | None:
    """The id of the file of a tree that is this page, if any; OddTree for several."""
    *folders, stem = slug.encode("utf-8", "surrogatepass").split(b"/")
    below: bytes | None = root
    for folder in folders:
        below = _tree_of(_entries(trees, below).get(folder))
    names = {stem + ending.encode() for ending in _ENDINGS}
    return _one_of(slug, names, _entries(trees, below))


def other_files(
    trees: Mapping[bytes, bytes], root: bytes, *, has_uploads: bool
) -> dict[str, str]:
    """Ids by path of a tree's files that are no pages, with or without uploads.

    Names that are not UTF-8 are left out: no page can name them.
    """
    found: dict[str, str] = {}
    room = ENTRIES_MAX
    waiting = [("", root)]
    while waiting:
        folder, below = waiting.pop()
        entries = _entries(trees, below)
        room -= len(entries)
        if room < 0:
            raise OddTree("it has more files than a wiki has")
        for name, (mode, id_) in entries.items():
            try:
                path = f"{folder}{_text(name)}"
            except OddTree:
                continue
            if mode == DIRECTORY and (has_uploads or not _UPLOAD.fullmatch(path)):
                waiting.append((f"{path}/", id_))
            elif mode in _FILES and (
                split_extension(path) is None or path.startswith("uploads/")
            ):
                found[path] = id_.hex()
    return found


def reachable(trees: Mapping[bytes, bytes], root: bytes) -> dict[bytes, bytes]:
    """A tree with all below it, or TreeMissing."""
    found: dict[bytes, bytes] = {}
    waiting = [root]
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        found[name] = _content(trees, name)
        waiting += [
            i for m, _, i in tree_entries(found[name], len(name)) if m == DIRECTORY
        ]
    return found


def require_whole(
    trees: Mapping[bytes, bytes], root: bytes | None, fresh: Collection[bytes]
) -> bytes:
    """See that a tree and all that is new of it have what is below them."""
    if root is None:
        raise TreeMissing("the commit did not come")
    for name in (root, *fresh):
        for mode, _, below in tree_entries(_content(trees, name), len(name)):
            if mode == DIRECTORY and below not in trees:
                raise TreeMissing(below.hex())
    return root


_Entry = tuple[int, bytes]
"""Mode and id."""


def _entries(trees: Mapping[bytes, bytes], name: bytes | None) -> dict[bytes, _Entry]:
    if name is None:
        return {}
    listed = tree_entries(_content(trees, name), len(name))
    return {entry: (mode, id_) for mode, entry, id_ in listed}


def _content(trees: Mapping[bytes, bytes], name: bytes) -> bytes:
    try:
        return trees[name]
    except KeyError:
        raise TreeMissing(name.hex()) from None


def _tree_of(entry: _Entry | None) -> bytes | None:
    return entry[1] if entry is not None and entry[0] == DIRECTORY else None


def _text(name: bytes) -> str:
    try:
        return name.decode()
    except UnicodeDecodeError:
        raise OddTree("a name is not UTF-8") from None


def _is_file(path: str, entry: _Entry | None) -> bool:
    """Whether it is a file; a link to one may be a page or none."""
    if entry is None or entry[0] in {DIRECTORY, _SUBMODULE}:
        return False
    if entry[0] not in _FILES:
        raise OddTree(f"{path} is a link")
    return True


def _one_of(
    slug: str, names: Set[bytes], entries: Mapping[bytes, _Entry]
) -> bytes | None:
    """The id of the one file of a directory that is this page; None without any."""
    stem = slug.rpartition("/")[2]
    found = [
        entries[name][1]
        for name in names & entries.keys()
        if entries[name][0] in _FILES
        and (split_extension(name.decode()) or ("",))[0] == stem
    ]
    if len(found) > 1:
        raise OddTree(f"{slug} is the name of several pages")
    return found[0] if found else None
