"""Renaming pages with every link that leads to them.

``plan_moves`` reads and decides, ``make_moves`` writes: the links first, each text as
a save of a person that is merged with what came meanwhile, and the files last, so that
the same command can be given again where it did not end.  What a page includes is
named as its links are.  For one wiki's folder, without its service.
"""

from __future__ import annotations

import html
import os
import posixpath
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from urllib.parse import unquote

from msgspec import Struct
from msgspec.structs import replace

from wikisync.core.model import (
    Format,
    Page,
    PagePath,
    Slug,
    path_of_title,
    split_extension,
)
from wikisync.errors import FolderError, SiteError, UsageError
from wikisync.folder.naming import attachment_path, parse_path
from wikisync.folder.scan import ScannedFolder, read_patterns, scan_pages
from wikisync.markup.links import LinkIndex, normal_path
from wikisync.markup.retarget import moved_links
from wikisync.site.model import SourcePage
from wikisync.site.preview.writing import WikiDesk, new_path

_RUN = re.compile(r"[0-9a-z]+")
_INCLUDES = {
    Format.ASCIIDOC: re.compile(r"^(include::)([^\s\[{}:]+)(?=\[)", re.MULTILINE),
    Format.MARKDOWN: re.compile(
        r"""^(::include\{file=["']?)([^}\n"':]+)(?=["']?\}[ \t]*$)""", re.MULTILINE
    ),
}
"""What brings another file in, in code too: the mark before it, and its path."""


class MovedFile(Struct, frozen=True):
    """A page's file and its name afterwards."""

    slug: Slug
    path: PagePath
    target: PagePath


class Relinked(Struct, frozen=True):
    """A page whose links lead to the new names."""

    path: PagePath
    format: Format
    before: str
    after: str
    count: int
    """Links that are written anew."""


class Moves(Struct, frozen=True):
    """What a rename does."""

    files: tuple[MovedFile, ...]
    texts: tuple[Relinked, ...]
    left: Mapping[PagePath, Sequence[str]]
    """Pages with links that no text of ours could be written for, and those links."""

    @property
    def links(self) -> int:
        """How many links are written anew."""
        return sum(one.count for one in self.texts)


def plan_moves(desk: WikiDesk, old: str, new: str) -> Moves:
    """What renaming a page, or a folder of pages, means for all files of a wiki.

    Where the pages have their new names already, only the links are written anew.

    Args:
        desk: The wiki.
        old: The page or folder in the wiki's folder, with or without an extension.
        new: Its name afterwards; the extension stays.

    Raises:
        UsageError: there is no such page, or the new name is taken or none.
        FolderError: the folder cannot be read.
    """
    scanned = scan_pages(desk.root, read_patterns(desk.root)[0])
    files = {one.slug: PagePath(one.path) for one in scanned.pages}
    old, new = old.strip("/"), new.strip("/")
    done = _renamed_already(files, old, new)
    moved = () if done else _moved(files, old, new)
    names = done or {one.slug: _slug(one.target) for one in moved}
    earlier = {after: before for before, after in done.items()}
    targets = set(names.values())
    # a file that is no page, because it is ignored for one, has its name, too
    paths = {one.path for one in moved}
    # the wiki takes names for the same that differ in case alone
    others = {slug.casefold() for slug in files.keys() - names.keys()}
    taken = {
        one.target
        for one in moved
        if _slug(one.target).casefold() in others
        or (one.target not in paths and os.path.lexists(desk.root / one.target))
    }
    if taken or len(targets) < len(names):
        raise UsageError(f"{min(taken or targets)} exists already", hint=_OTHER)
    moves = _with_links(desk, scanned, names, earlier, str, names)
    if done and not moves.texts and not moves.left:
        raise _no_page(old)
    return replace(moves, files=moved)


def plan_links(desk: WikiDesk, renames: Iterable[tuple[Path, Path]]) -> Moves:
    """What it means that another program renames these files and folders, and no more.

    Raises:
        FolderError: the folder cannot be read.
    """
    root = desk.root.absolute()
    scanned = scan_pages(root, read_patterns(root)[0])
    inside = [both for both in renames if all(root in one.parents for one in both)]

    def moved(path: str) -> str:
        for old, new in inside:
            if (file := root / path).is_relative_to(old):
                return os.path.relpath(new / file.relative_to(old), root)
        return path

    found = {page.slug: parse_path(moved(page.path)) for page in scanned.pages}
    names = {slug: to[0] for slug, to in found.items() if to and to[0] != slug}
    named = [*names, *(old.name for old, _ in inside)]
    return _with_links(desk, scanned, names, {}, moved, named)


def _with_links(
    desk: WikiDesk,
    scanned: ScannedFolder,
    names: Mapping[Slug, Slug],
    earlier: Mapping[Slug, Slug],
    moved: Callable[[str], str],
    named: Iterable[str],
) -> Moves:
    """Every text whose links lead to the new names, and no file."""
    files = {one.slug: PagePath(one.path) for one in scanned.pages}
    slugs = {earlier.get(slug, slug) for slug in files}
    before = LinkIndex(slugs, scanned.attachments)
    after = LinkIndex((names.get(slug, slug) for slug in slugs), scanned.attachments)
    is_named = _naming(named)

    def moved_file(path: str) -> str | None:
        is_file = attachment_path(path) is not None and (desk.root / path).is_file()
        return moved(path) if is_file else None

    texts: list[Relinked] = []
    left: dict[PagePath, Sequence[str]] = {}
    for name, path in sorted(files.items()):
        slug, found = earlier.get(name, name), parse_path(path)
        try:
            source = desk.read(path)
        except (FolderError, SiteError) as exc:
            if slug in names:
                raise
            left[path] = (exc.message,)
            continue
        if found is None or source is None:
            continue
        # AsciiDoc may build an address from attributes
        is_built = found[1] is Format.ASCIIDOC and "{" in source
        if not (slug in names or is_built or is_named(source)):
            continue
        page = Page(slug, found[1], source)
        changed = moved_links(page, before, after, names, moved_file)
        page = replace(page, content=changed.source)
        text, count = _moved_includes(page, before, after, names)
        if text != source:
            texts.append(Relinked(path, found[1], source, text, count + changed.links))
        if changed.left:
            left[path] = changed.left
    return Moves((), tuple(texts), left)


def make_moves(desk: WikiDesk, moves: Moves) -> list[PagePath]:
    """Carry a plan out; gives the pages whose links clash with an edit meanwhile.

    Raises:
        PreconditionFailed: a page is gone, or something has its new name.
        FolderError: a file cannot be written.
    """
    clashing, moved = [], {file.path for file in moves.files}
    known = desk.identities(moved.union(one.path for one in moves.texts))
    for one in moves.texts:
        made = desk.save(one.path, one.format, one.after, one.before)
        if made.outcome in {"clash", "gone"}:
            clashing.append(one.path)
    # with another text, another name and another identity each would be a new page
    texts = {one.path: (one.before, one.after) for one in moves.texts}
    desk.know_again(known, moved, texts)
    for file in moves.files:
        desk.move(file.path, file.target)
    return clashing


def renamed_pages(
    was: Mapping[Slug, SourcePage], now: Mapping[Slug, SourcePage]
) -> Iterator[tuple[str, str]]:
    """Pages that went, each with the one that came at once and certainly is the same.

    It has the text, which no other page has, or of those that have it the last name.
    """
    gone, come = ([a[one] for one in a.keys() - b] for a, b in ((was, now), (now, was)))
    if not (gone and come):
        return
    texts = [Counter(page.digest for page in pages.values()) for pages in (was, now)]

    def key(page: SourcePage) -> tuple[str, str]:
        is_one = all(text[page.digest] == 1 for text in texts)
        return page.digest, "" if is_one else page.path.rpartition("/")[2]

    keys = Counter(map(key, gone)), Counter(map(key, come))
    paths = {key(page): page.path for page in gone}
    for page in come:
        if all(one[key(page)] == 1 for one in keys):
            yield paths[key(page)], page.path


_OTHER = "choose another name"


def _moved(files: Mapping[Slug, PagePath], old: str, new: str) -> tuple[MovedFile, ...]:
    """The pages that get another name, each with it."""
    stem = (split_extension(new) or (new,))[0]
    target = Slug(path_of_title(stem))
    if new_path(target, Format.MARKDOWN) is None:
        raise UsageError(f"{new[:80]!r} cannot be the name of a page", hint=_OTHER)
    by_path = {path: slug for slug, path in files.items()}
    found = by_path.get(PagePath(old)) or next(
        (one for one in (old, path_of_title(old)) if one in files), old
    )
    # the pages below a page go with it, as on the service
    below = [one for one in files if one == found or one.startswith(f"{found}/")]
    if not below:
        raise _no_page(old)
    if target == found:
        raise UsageError(f"{found} has that name already", hint=_OTHER)
    # each when its name is free: the inner ones first where all go further in
    is_inward = target.startswith(f"{found}/")
    return tuple(
        _file(files[one], Slug(target + one[len(found) :]))
        for one in sorted(below, reverse=is_inward)
    )


def _renamed_already(
    files: Mapping[Slug, PagePath], old: str, new: str
) -> dict[Slug, Slug]:
    """Old to new names of the pages that somebody has renamed so without us."""
    was, now = [path_of_title((split_extension(it) or (it,))[0]) for it in (old, new)]
    if any(one == was or one.startswith(f"{was}/") for one in files):
        return {}
    there = [one for one in files if one == now or one.startswith(f"{now}/")]
    return {Slug(was + one[len(now) :]): one for one in there}


def _no_page(old: str) -> UsageError:
    message = f"there is no page or folder {old}"
    return UsageError(message, hint="give its path in the wiki")


def _file(path: PagePath, name: Slug) -> MovedFile:
    """A page's file under another name, with the extension that it has."""
    found, split = parse_path(path), split_extension(path)
    assert found, path
    assert split, path
    target = new_path(name, found[1], path[len(split[0]) :])
    if target is None:
        raise UsageError(f"{name[:80]!r} cannot be the name of a page", hint=_OTHER)
    return MovedFile(found[0], path, target)


def _slug(path: PagePath) -> Slug:
    found = parse_path(path)
    assert found, path
    return found[0]


def _naming(names: Iterable[str]) -> Callable[[str], bool]:
    """Whether a text may name one of these: parsing all pages takes minutes."""
    runs = [_RUN.findall(slug.rpartition("/")[2].lower()) for slug in names]

    def is_named(text: str) -> bool:
        folded = f"{text}\n{unquote(html.unescape(text))}".lower()
        return any(all(run in folded for run in each) for each in runs)

    return is_named


def _moved_includes(
    page: Page, before: LinkIndex, after: LinkIndex, names: Mapping[Slug, Slug]
) -> tuple[str, int]:
    """The text that includes what it did before, and how many paths are others.

    A path is seen from the page's folder, then from the top.
    """
    slug, count = names.get(page.slug, page.slug), 0

    def found(index: LinkIndex, includer: Slug, path: str) -> Slug | None:
        for folder in (includer.rpartition("/")[0], ""):
            way = normal_path(posixpath.join(folder, path.lstrip("/")))
            if way and (page := index.find_page(way)) is not None:
                return page
        return None

    def moved(match: re.Match[str]) -> str:
        nonlocal count
        mark, path = match.groups()
        goal = found(before, page.slug, path)
        goal = goal and names.get(goal, goal)
        if goal is None or found(after, slug, path) == goal:
            return match[0]
        split = split_extension(path)
        rooted = goal + (path[len(split[0]) :] if split else "")
        beside = posixpath.relpath(rooted, slug.rpartition("/")[0] or ".")
        count += 1
        return mark + (beside if found(after, slug, beside) == goal else rooted)

    pattern = _INCLUDES.get(page.format)
    return (pattern.sub(moved, page.content) if pattern else page.content), count
