"""What each write does to a wiki's files: a tree and a wish to one change.

Pure: each function gives the ``CommitPlan`` of one commit, or raises the ``Refusal``
that the service answers (``docs/service.md`` "Edits").
"""

from collections.abc import Mapping

from msgspec import Struct, field

from wikisync.core.model import REDIRECTS_PATH, Format, folders_above, path_of_title
from wikisync.markup.links import parse_redirects, render_redirects
from wikisync.service.answers import COLLISION, invalid, not_found
from wikisync.service.settings import MIB, Limits
from wikisync.service.tree import (
    PageFile,
    RepositoryFile,
    WikiTree,
    file_path,
    path_of_new_title,
    title_problem,
)


class CommitPlan(Struct, frozen=True):
    """One commit's worth of changes to files."""

    message: str
    page: str = ""
    """Path of the page that the change is about, after it."""
    writes: Mapping[str, bytes] = field(default_factory=dict)
    """Path to new content."""
    links: Mapping[str, RepositoryFile] = field(default_factory=dict)
    """Path to a file whose blob exists already: moved, or stored before."""
    removes: frozenset[str] = frozenset()
    renamed: tuple[str, str] | None = None
    """The page's slug before and after, where the change moves it."""


def plan_create(
    tree: WikiTree,
    title: str,
    content: str,
    format: Format,  # noqa: A002
    *,
    limits: Limits,
    redirects: bytes = b"",
    message: str,
) -> CommitPlan:
    """The change that adds a page."""
    path = path_of_title(title)
    check_title(path, limits)
    text = checked_content(content, limits)
    if (twin := tree.twin_of(path)) is not None:
        raise invalid(
            "base",
            "Duplicate page: A page with that title already exists"
            f" in the file {twin.path}",
        )
    target = file_path(path, format)
    check_free(tree, target)
    writes = {target: text}
    moved = parse_redirects(redirects)
    if path in moved:
        del moved[path]
        writes[REDIRECTS_PATH] = render_redirects(moved)
    return CommitPlan(message, target, writes)


def plan_edit(
    tree: WikiTree,
    page: PageFile,
    *,
    title: str | None = None,
    content: str | None = None,
    format: Format | None = None,  # noqa: A002
    limits: Limits,
    redirects: bytes = b"",
    message: str,
) -> CommitPlan:
    """The change that edits, converts or renames a page, its children with it.

    A title, content or format of None leaves that part as it is.
    """
    path = page.slug
    if title is not None:
        path = path_of_new_title(title, page.slug)
    if path != page.slug:
        check_title(path, limits)
        if tree.twin_of(path) is not None:
            raise invalid("title", COLLISION)
    target = file_path(path, format or page.format, page.path)
    is_moving = target != page.path
    if is_moving and tree.file(target) is not None:
        raise invalid("title", COLLISION)
    writes: dict[str, bytes] = {}
    links: dict[str, RepositoryFile] = {}
    if content is not None:
        writes[target] = checked_content(content, limits)
    elif is_moving:
        links[target] = RepositoryFile(target, page.blob)
    removes = {page.path} if is_moving else set()
    if path != page.slug:
        moved = _children(tree, page.slug, path)
        links |= {new: file for new, file in moved.values() if new != target}
        removes |= moved.keys()
        removes -= writes.keys() | links.keys()
        for new in (target, *links):
            # no more than a push may bring
            if new.count("/") > limits.directories_max:
                most = limits.directories_max
                raise invalid("title", f"exceeds the limit of {most} directories")
            check_free(tree, new, without=removes)
        writes |= _redirects_with(redirects, page.slug, path, limits)
    renamed = (page.slug, path) if path != page.slug else None
    return CommitPlan(message, target, writes, links, frozenset(removes), renamed)


def find_page(tree: WikiTree, slug: str) -> PageFile:
    """The page behind a slug, or the refusal that there is none."""
    page = tree.find(slug)
    if page is None:
        raise not_found("Wiki Page")
    return page


def check_title(path: str, limits: Limits) -> None:
    """Refuse a path that is too long or empty."""
    problem = title_problem(path, limits)
    if problem is not None:
        raise invalid("title", problem)


def checked_content(content: str, limits: Limits) -> bytes:
    """A page's text as the bytes to store, exactly as sent."""
    encoded = content.encode()
    if len(encoded) > limits.content_bytes_max:
        size, most = _size(len(encoded)), _size(limits.content_bytes_max)
        raise invalid("content", f"is too long ({size}). The maximum size is {most}.")
    return encoded


def _size(count: int) -> str:
    return f"{count / MIB:.3g} MB"


def check_free(
    tree: WikiTree, path: str, *, without: frozenset[str] | set[str] = frozenset()
) -> None:
    """Refuse a path that git cannot hold: ``a.md/b.md`` beside a file ``a.md``."""
    for above in folders_above(path):
        if above not in without and tree.file(above) is not None:
            raise invalid("base", f"A file already exists with the path {above}")
    inside = path + "/"
    for file in tree.below(path):
        if file.path.startswith(inside) and file.path not in without:
            raise invalid("base", f"A directory already exists with the path {path}")


def _children(
    tree: WikiTree, old: str, new: str
) -> dict[str, tuple[str, RepositoryFile]]:
    depth = old.count("/") + 1
    moved: dict[str, tuple[str, RepositoryFile]] = {}
    for file in tree.below(old):
        rest = "/".join(file.path.split("/")[depth:])
        moved[file.path] = (f"{new}/{rest}", file)
    for target, _file in moved.values():
        if target not in moved and tree.file(target) is not None:
            raise invalid("title", COLLISION)
    return moved


def _redirects_with(
    source: bytes, old: str, new: str, limits: Limits
) -> dict[str, bytes]:
    redirects = parse_redirects(source)
    redirects.pop(new, None)
    redirects[old] = new
    rendered = render_redirects(redirects)
    if len(rendered) > limits.redirects_bytes_max:
        raise invalid("base", "Redirects file is too large")
    return {REDIRECTS_PATH: rendered}
