"""A workspace on the disk: its wikis, folders and pages by name."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from wikisync.config.reading import load_config
from wikisync.config.sections import FILE_NAME, Config, WikiSection
from wikisync.core.layout import PRIVATE_FOLDER
from wikisync.core.model import EXTENSIONS, Problem, Slug
from wikisync.core.system.private import expanded
from wikisync.errors import ConfigError, UsageError, command_line
from wikisync.folder.naming import page_of_conflict, parse_path

FOLDERS_ABOVE_MAX = 64
"""A workspace is searched for in no more folders above."""


def workspace_above(folder: Path) -> Path | None:
    """The workspace that a folder is, or lies in, if there is one."""
    if not folder.is_dir():
        if folder.exists():
            hint = f"give its folder; for one page: {command_line('render', folder)}"
            raise UsageError(f"{folder} is a file", hint=hint)
        hint = "give a workspace, or a folder with pages"
        raise UsageError(f"there is no folder {folder}", hint=hint)
    return nearest_workspace(folder.resolve())


def nearest_workspace(path: Path) -> Path | None:
    """The workspace that an absolute path is, or lies in, whatever is at its end."""
    for place in (path, *list(path.parents)[:FOLDERS_ABOVE_MAX]):
        if (place / FILE_NAME).exists():
            return place
    return None


def no_wiki(workspace: Path) -> ConfigError:
    """The configuration of a workspace names none, so there is nothing to do."""
    return ConfigError(
        f"the workspace {workspace} names no wiki",
        hint='add a table [[wiki]] with project = "docs/handbook" to wikisync.toml',
    )


def read_config(path: Path) -> Config:
    """A workspace's configuration, where this user may obey it; else ConfigError."""
    return load_config(path)


class ConfiguredWorkspace(Struct, frozen=True):
    """A workspace on the disk, held by nobody yet."""

    root: Path
    config: Config

    @property
    def private(self) -> Path:
        """Where everything of ours is."""
        return self.root / PRIVATE_FOLDER

    def folder_of(self, wiki: WikiSection) -> Path:
        """The wiki's folder."""
        return self.root / wiki.folder

    def wikis(self, named: Sequence[str] = ()) -> tuple[WikiSection, ...]:
        """The wikis of these folders or full paths; all of them for none."""
        found: list[WikiSection] = []
        for name in named:
            clean = name.strip("/")
            matches = [w for w in self.config.wikis if clean in {w.folder, w.path}]
            if not matches:
                known = ", ".join(wiki.folder for wiki in self.config.wikis)
                raise UsageError(
                    f"the workspace has no wiki {name}", hint=f"its wikis are: {known}"
                )
            found += matches
        return tuple(dict.fromkeys(found)) if named else self.config.wikis

    def without(self, excluded: Sequence[str]) -> ConfiguredWorkspace:
        """The same without some wikis; UsageError where none is left."""
        if not excluded and self.config.synced_wikis:
            return self
        sync = self.config.sync
        named = tuple(wiki.path for wiki in self.wikis(excluded)) if excluded else ()
        sync = replace(sync, exclude=(*sync.exclude, *named))
        workspace = replace(self, config=replace(self.config, sync=sync))
        if not workspace.config.synced_wikis:
            raise UsageError(
                "every wiki of the workspace is excluded",
                hint="remove one from --exclude, or from exclude in wikisync.toml",
            )
        return workspace

    def wiki_at(self, name: str) -> WikiSection | None:
        """The wiki whose folder a person names; None where it is none's."""
        for wiki in self.config.wikis:
            folder = self.folder_of(wiki).resolve()
            if folder in {Path(name).resolve(), (self.root / name).resolve()}:
                return wiki
        return None


def _real(path: Path) -> Path:
    """A page's path without links above it; ``.`` and ``..`` are folders."""
    if not path.name.strip("."):
        return path.resolve()
    return path.absolute().parent.resolve() / path.name


def _has_file(path: Path, given: Sequence[str] = ("",)) -> bool:
    """Whether a page's file is there, its extension given or not."""
    extensions = (*given, *(one for known in EXTENSIONS.values() for one in known))
    return any(os.path.lexists(f"{path}{extension}") for extension in extensions)


def find_workspace(start: Path) -> ConfiguredWorkspace:
    """The workspace that a folder is, or lies in; UsageError where it is in none."""
    root = workspace_above(start)
    if root is None:
        raise UsageError(
            f"{start.absolute()} is in no workspace: there is no wikisync.toml",
            hint="run it in a workspace, name one with -C, or create one: wikisync init"
            " my-wikis",
        )
    config = read_config(root / FILE_NAME)
    if not config.wikis:
        raise no_wiki(root)
    service, sync = config.service, config.sync
    # as they are seen from anywhere
    if service.token_file:
        path = root / expanded(service.token_file)
        service = replace(service, token_file=str(path))
    if sync.hook_secret_file:
        path = root / expanded(sync.hook_secret_file)
        sync = replace(sync, hook_secret_file=str(path))
    return ConfiguredWorkspace(root, replace(config, service=service, sync=sync))


def named_page(workspace: ConfiguredWorkspace, name: str) -> tuple[WikiSection, Slug]:
    """``named_pages``, where a single page is meant."""
    wiki, slug = named_pages(workspace, name)
    if name.endswith("/"):
        raise UsageError(
            f"{name} is a folder of pages",
            hint=f"give one page of it: {name}NAME, or without the last slash the page"
            " of this name",
        )
    return wiki, Slug(slug.rstrip("/"))


def named_pages(workspace: ConfiguredWorkspace, name: str) -> tuple[WikiSection, Slug]:
    """The wiki and slug of a page or folder that a person names.

    By its file's path or its conflict file's, by the wiki's folder and the slug, or in
    a workspace of one wiki by the slug alone.  A folder of pages, as
    ``core.model.is_named`` takes it, is named with a slash at its end, or by the folder
    where no page has its name.  UsageError for what can be neither.
    """
    is_folder = name.endswith("/") or not Path(name).name.strip(".")
    wikis = workspace.config.wikis
    folders = {wiki: workspace.folder_of(wiki).resolve() for wiki in wikis}
    found = [
        (wiki, real, real.relative_to(folder).as_posix())
        for real in (_real(Path(name)), _real(workspace.root / name))
        for wiki, folder in folders.items()
        if name.strip() and real.is_relative_to(folder) and real != folder
    ]
    # inside the wiki's folder a hint's FOLDER/SLUG is no way from there
    for wiki, real, way in (*(one for one in found if _has_file(one[1])), *found[-1:]):
        parsed = None if is_folder else parse_path(page_of_conflict(way) or way)
        if parsed:
            return wiki, parsed[0]
        is_directory = os.path.lexists(f"{real}/.") and not _has_file(real, ())
        return wiki, Slug(f"{way}/" if is_folder or is_directory else way)
    slug = name.strip("/")
    # in a workspace of one wiki, a path that leads out of it is left as it is
    if len(wikis) == 1 and name.strip() and not {"", ".", ".."} & {*slug.split("/")}:
        return wikis[0], Slug(f"{slug}/" if is_folder else slug)
    raise UsageError(
        f"{name!r} is not the name of a page here",
        hint="give its file, or the wiki's folder and the page:"
        f" {wikis[0].folder}/home",
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
    """Refuse pages that were named, and that neither side has or had."""
    for unknown in no_such_pages(slugs):
        raise UsageError(f"{section.folder}/{unknown}", hint=unknown.hint)
