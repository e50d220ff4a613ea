"""The versions of pages in a git repository, as its commits tell them.

A commit is compared with its parent; what a merge joins was changed before.  Of each
page only names and ids are kept: its texts stay in the repository (``read_blob``).
Imported by who needs it, since git's library is large.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import pygit2
from msgspec.structs import replace
from pygit2.enums import DeltaStatus, DiffFind, ObjectType, SortMode

from wikisync.core.model import Slug, split_extension
from wikisync.core.versions import UNKNOWN, Version, VersionKind, Versions

COMMITS_MAX = 2000
"""Of a wiki; what is older is not known."""
ROWS_MAX = 100_000
RENAMES_MAX = 200
"""Files of one commit that are compared to find out which were renamed."""
TEXT_BYTES_MAX = 1024 * 1024
NAME_CHARS_MAX = 80
NAME_CHARS_READ = 1000
TIME_MAX = 253_402_300_799
"""The last second of the year 9999."""

_FOLDER, _PLAIN = b"40000", frozenset({b"100644", b"100755"})
_ENTRIES = re.compile(rb"([0-7]+) ([^\0]+)\0(.{20})", re.DOTALL)
"""Of a tree: mode, name, and id."""
PageOf = Callable[[str], Slug | None]
_ADDRESS = re.compile(r"<[^<>]*@[^<>]*>|(?<=\S)\s*(?:[@\uff20]|%40)\s*\S+")
_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def page_of_wiki(path: str) -> Slug | None:
    """The page of a wiki that a file of its repository is."""
    split = split_extension(path)
    return Slug(split[0]) if split and not path.startswith("uploads/") else None


def read_log(
    folder: Path,
    reference: str = "HEAD",
    known: Versions = UNKNOWN,
    *,
    below: str = "",
    page_of: PageOf = page_of_wiki,
    commits_max: int = COMMITS_MAX,
) -> Versions:
    """The versions of the pages in a repository, as far as they are known.

    Of what was ``known`` only commits since then are read, at most ``commits_max``;
    pages are in the folder ``below``, by ``page_of`` their path there.  Raises
    pygit2.GitError, KeyError or ValueError without such a history.
    """
    repository = pygit2.Repository(str(folder))
    try:
        head = repository.revparse_single(reference).peel(pygit2.Commit)
        of_git = tuple([row for row in known.rows if row.commit])
        known = replace(known, rows=of_git)
        if str(head.id) == known.head:
            return known
        walk = repository.walk(head.id, SortMode.TOPOLOGICAL | SortMode.TIME)
        if known.head and _follows(repository, head.id, known.head):
            walk.hide(known.head)
        else:
            known = UNKNOWN
        cut, since = _cut(repository), known.since
        rows: list[Version] = []
        for number, commit in enumerate(walk):
            if number == commits_max or len(rows) > ROWS_MAX:
                # what was known before is older still
                return Versions(tuple(rows), str(head.id), since=rows[-1].at)
            if str(commit.id) in cut:
                since = max(since, _time(commit))
            elif len(commit.parent_ids) < 2:
                rows += _once_each(_changes(repository, commit, below, page_of))
        kept = known.rows[: ROWS_MAX - len(rows)]
        if len(kept) < len(known.rows):
            since = kept[-1].at if kept else rows[-1].at
        return Versions((*rows, *kept), str(head.id), since)
    finally:
        repository.free()


def read_blobs(folder: Path, blobs: list[str]) -> list[str | None]:
    """Texts by git's ids; None for one that is not here, or no text."""
    texts: list[str | None] = []
    for blob in blobs:
        kind, data = 0, b""
        with suppress(pygit2.GitError, KeyError, ValueError):
            kind, data = _opened(str(folder)).read(blob)
        is_text = kind == ObjectType.BLOB and len(data) <= TEXT_BYTES_MAX
        texts.append(data.decode("utf-8", "replace") if is_text else None)
    return texts


def has_blobs(folder: Path, blobs: list[str]) -> bool:
    """Whether the repository has all of these, too large ones included."""
    with suppress(pygit2.GitError, ValueError):
        return all(blob in _opened(str(folder)) for blob in blobs)
    return False


@lru_cache(maxsize=1)
def _opened(folder: str) -> pygit2.Repository:
    """A repository, open for the texts of one page after the other."""
    return pygit2.Repository(folder)


def shown_name(name: str) -> str:
    """An author's name as a page may show it: without an address."""
    name = _ADDRESS.sub("", _UNSEEN.sub(" ", name[:NAME_CHARS_READ]))
    return " ".join(name.split())[:NAME_CHARS_MAX]


def _follows(repository: pygit2.Repository, head: pygit2.Oid, earlier: str) -> bool:
    with suppress(pygit2.GitError, KeyError, ValueError):
        return repository.descendant_of(head, earlier)
    return False


def _cut(repository: pygit2.Repository) -> frozenset[str]:
    """The commits whose parents are not here, because nobody asked for them."""
    with suppress(OSError):
        return frozenset((Path(repository.path) / "shallow").read_text().split())
    return frozenset()


def _time(commit: pygit2.Commit) -> int:
    # 0 is a time that is not known
    return min(max(commit.author.time, 1), TIME_MAX)


def _changes(
    repository: pygit2.Repository, commit: pygit2.Commit, below: str, page_of: PageOf
) -> Iterator[Version]:
    parents = commit.parent_ids
    old = _tree(repository, parents[0], below) if parents else None
    new = _tree(repository, commit.id, below)
    if (old and old.id) == (new and new.id):
        return
    author = shown_name(commit.author.raw_name.decode("utf-8", "replace"))
    at, name = _time(commit), str(commit.id)
    files = _differences(repository, old, new)
    for change in _compared(repository, old, new) if files is None else files:
        before = after = None
        with suppress(UnicodeDecodeError):
            before = page_of(change.was.decode()) if change.was else None
            after = page_of(change.path.decode()) if change.path else None
        kind: VersionKind
        if before and after:
            kind = "edited" if before == after else "renamed"
        elif before or after:
            kind = "created" if after else "deleted"
        else:
            continue
        yield Version(
            *(at, author, after or before or Slug(""), before or "", kind),
            *(name, change.blob if after else ""),
            change.old if before and after else "",
        )


class _FileChange(NamedTuple):
    """What a commit made of one file."""

    was: bytes
    """Its path before; empty for a new file."""
    path: bytes
    """Empty for one that is gone."""
    old: str
    blob: str


def _differences(
    repository: pygit2.Repository, old: pygit2.Tree | None, new: pygit2.Tree | None
) -> list[_FileChange] | None:
    """The files that are not the same in two trees, in the order of their paths.

    Git's library walks through all of both trees; here folders that are the same are
    left out.  None where only it can say: of renames, and of what is no plain file.
    """
    found: list[_FileChange] = []
    waiting = [(b"", str(old.id) if old else "", str(new.id) if new else "")]
    while waiting:
        way, *ids = waiting.pop()
        was, now = (
            frozenset(_ENTRIES.findall(repository.read(one)[1])) if one else frozenset()
            for one in ids
        )
        gone = {name: (mode, oid.hex()) for mode, name, oid in was - now}
        come = {name: (mode, oid.hex()) for mode, name, oid in now - was}
        for name in gone.keys() | come.keys():
            path, nothing = way + name, (b"", "")
            mode, before = gone.get(name, nothing)
            other, after = come.get(name, nothing)
            modes = {mode, other} - {b""}
            if modes == {_FOLDER}:
                waiting.append((path + b"/", before, after))
            elif modes <= _PLAIN:
                names = path if before else b"", path if after else b""
                found.append(_FileChange(*names, before, after))
            else:
                return None
    if any(not one.was for one in found) and any(not one.path for one in found):
        return None
    return sorted(found, key=lambda one: one.path or one.was)


def _compared(
    repository: pygit2.Repository, old: pygit2.Tree | None, new: pygit2.Tree | None
) -> Iterator[_FileChange]:
    """The same by git's library, which knows renamed files."""
    empty = repository.get(repository.TreeBuilder().write())
    assert isinstance(empty, pygit2.Tree)
    diff = (old or empty).diff_to_tree(new or empty)
    kinds = {delta.status for delta in diff.deltas}
    if {DeltaStatus.ADDED, DeltaStatus.DELETED} <= kinds:
        diff.find_similar(DiffFind.FIND_RENAMES, rename_limit=RENAMES_MAX)
    for delta in diff.deltas:
        yield _FileChange(
            b"" if delta.status == DeltaStatus.ADDED else delta.old_file.raw_path,
            b"" if delta.status == DeltaStatus.DELETED else delta.new_file.raw_path,
            str(delta.old_file.id),
            str(delta.new_file.id),
        )


def _once_each(changes: Iterator[Version]) -> Iterator[Version]:
    """Each change once; a page whose file has another format now is no other page."""
    rows = {(row.slug, row.kind): row for row in changes}
    for (slug, kind), row in rows.items():
        is_new_file = {(slug, "created"), (slug, "deleted")} <= rows.keys()
        if is_new_file and kind == "created":
            yield replace(row, kind="edited", was=slug)
        elif not (is_new_file and kind == "deleted"):
            yield row


def _tree(
    repository: pygit2.Repository, commit: pygit2.Oid, below: str
) -> pygit2.Tree | None:
    tree = repository[repository.read(commit)[1].split(None, 2)[1].decode()]
    if below:
        try:
            tree = tree.peel(pygit2.Tree)[below]
        except KeyError:
            return None
    return tree if isinstance(tree, pygit2.Tree) else None
