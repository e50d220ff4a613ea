"""Pages as people name them on the command line, refused where they can be none."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePath

from wikisync.config import WikiSection
from wikisync.errors import UsageError
from wikisync.model import Problem, Slug
from wikisync.workspace.configured import ConfiguredWorkspace


def named_page(workspace: ConfiguredWorkspace, name: str) -> tuple[WikiSection, Slug]:
    """The wiki and slug of a page by its name; see ``ConfiguredWorkspace.page``.

    Raises:
        UsageError: the name is none that a page can have.
    """
    if name.strip() and PurePath(name).name:
        wiki, slug = workspace.page(name)
        # in a workspace of one wiki, a path that leads out of it is left as it is
        if not {"", ".", ".."} & set(slug.split("/")):
            return wiki, slug
    folder = workspace.config.wikis[0].folder
    raise UsageError(
        f"{name!r} is not the name of a page",
        hint=f"give its file, or the wiki's folder and the page: {folder}/home",
    )


def no_such_pages(slugs: Iterable[Slug]) -> tuple[Problem, ...]:
    """What is said of pages that were named, and that neither side has or had."""
    return tuple(
        Problem(
            "page-unknown",
            slug,
            "there is no such page, here or on the wiki",
            "check the spelling, or give its file",
        )
        for slug in sorted(slugs)
    )


def refuse_unknown(section: WikiSection, slugs: Iterable[Slug]) -> None:
    """Refuse pages that were named, and that neither side has or had.

    Raises:
        UsageError: there is one.
    """
    for unknown in no_such_pages(slugs):
        raise UsageError(f"{section.folder}/{unknown}", hint=unknown.hint)


def refuse_impossible(workspace: ConfiguredWorkspace, names: Iterable[str]) -> None:
    """Check names that may also be those of whole wikis.

    Raises:
        UsageError: one is the name of no wiki here, nor of any page.
    """
    for name in names:
        if not name.strip() or workspace.wiki_at(name) is None:
            named_page(workspace, name)
