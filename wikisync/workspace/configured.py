"""A workspace on the disk: its wikis, folders and pages by name."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from wikisync.config import FILE_NAME, Config, WikiSection
from wikisync.errors import UsageError
from wikisync.folder.naming import page_of_conflict, parse_path
from wikisync.layout import PRIVATE_FOLDER
from wikisync.model import EXTENSIONS, Slug
from wikisync.workspace.settings import no_wiki, read_config, workspace_above


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
        """The wikis of these folders or full paths; all of them for none.

        Raises:
            UsageError: a name is none of theirs.
        """
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

    @property
    def synced(self) -> tuple[WikiSection, ...]:
        """The wikis that are kept in step, where no other ones are named."""
        return self.config.synced_wikis

    def without(self, excluded: Sequence[str]) -> ConfiguredWorkspace:
        """The same without some wikis, by their folders or full paths.

        Raises:
            UsageError: a name is none of theirs, or no wiki is left.
        """
        if not excluded and self.synced:
            return self
        sync = self.config.sync
        named = tuple(wiki.path for wiki in self.wikis(excluded)) if excluded else ()
        sync = replace(sync, exclude=(*sync.exclude, *named))
        workspace = replace(self, config=replace(self.config, sync=sync))
        if not workspace.synced:
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

    def page(self, name: str) -> tuple[WikiSection, Slug]:
        """The wiki and slug of a page that a person names.

        A page is named by its file's path, as the shell completes it, by that of
        its conflict file, or by the wiki's folder and the slug; in a workspace of
        one wiki by the slug alone.

        Raises:
            UsageError: it is a page of no wiki.
        """
        folders = {wiki: self.folder_of(wiki).resolve() for wiki in self.config.wikis}
        found = [
            (wiki, real, folder)
            for path in (Path(name), self.root / name)
            for real in (path.absolute().parent.resolve() / path.name,)
            for wiki, folder in folders.items()
            if real.is_relative_to(folder) and real != folder
        ]
        if found:
            # inside the wiki's folder a hint's FOLDER/SLUG is no way from there
            here = [one for one in found if _has_file(one[1])]
            wiki, real, folder = here[0] if here else found[-1]
            return wiki, _page_at(real.relative_to(folder).as_posix())
        if len(self.config.wikis) == 1:
            return self.config.wikis[0], Slug(name.strip("/"))
        raise UsageError(
            f"{name} is not a page of any wiki here",
            hint=f"give its file, or the wiki's folder and the page:"
            f" {self.config.wikis[0].folder}/home",
        )


def _has_file(path: Path) -> bool:
    """Whether a page's file is there, its extension given or not."""
    extensions = ("", *(one for known in EXTENSIONS.values() for one in known))
    return any(os.path.lexists(f"{path}{extension}") for extension in extensions)


def _page_at(way: str) -> Slug:
    """The page that a path below a wiki's folder means, its file there or not."""
    parsed = parse_path(page_of_conflict(way) or way)
    return parsed[0] if parsed else Slug(way)


def find_workspace(start: Path) -> ConfiguredWorkspace:
    """The workspace that a folder is, or lies in.

    Raises:
        UsageError: it is in none.
        ConfigError: its ``wikisync.toml`` is wrong, or names no wiki.
    """
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
    return ConfiguredWorkspace(root, _with_token_file(config, root))


def _with_token_file(config: Config, root: Path) -> Config:
    """The configuration with its token file as seen from anywhere."""
    service = config.service
    if not service.token_file:
        return config
    path = root / Path(service.token_file).expanduser()
    return replace(config, service=replace(service, token_file=str(path)))
