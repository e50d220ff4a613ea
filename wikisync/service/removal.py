"""Removing a project or a group at once, with all its files, also while it runs."""

import shutil
import sqlite3
from pathlib import Path

from msgspec import Struct

from wikisync.errors import ServiceError
from wikisync.service.instance import Service
from wikisync.service.projects.people import groups_below, projects_below, remove_groups
from wikisync.service.projects.tables import remove_project
from wikisync.service.tables import Tables


class Removal(Struct, frozen=True):
    """What goes: projects with their paths, and groups."""

    projects: tuple[tuple[int, str], ...]
    groups: tuple[int, ...] = ()
    path: str = ""
    """Of the group that everything is in."""

    @property
    def lines(self) -> list[str]:
        """One line for each project, after one for the group."""
        head = [f"group: {self.path}"] if self.groups else []
        return head + [f"project: {path}" for _id, path in self.projects]


def to_remove(tables: Tables, path: str) -> Removal | None:
    """What goes with a project or group of this path; None where there is none."""
    if (project := tables.project(path, None)) is not None:
        return Removal(((project.id, project.full_path),))
    if (group := tables.group(path, None)) is not None:
        groups = groups_below(tables, group.id)
        return Removal(projects_below(tables, group.id), groups, group.full_path)
    return None


def remove(tables: Tables, data: Path, removal: Removal) -> None:
    """Remove it for ever; ServiceError where something came into the group meanwhile.

    Ended in the middle, the same call again removes the rest.
    """
    service = Service(data)
    with tables.transaction():
        for project_id, _path in removal.projects:
            tables.update("project", project_id, {"is_going": 1})
    for project_id, _path in removal.projects:
        for folder in service.folders_of(project_id):
            shutil.rmtree(folder, ignore_errors=True)
        remove_project(tables, project_id)
    try:
        remove_groups(tables, removal.groups)
    except sqlite3.IntegrityError:
        raise ServiceError(
            f"something was added to the group {removal.path} meanwhile",
            hint="give the same command again",
        ) from None
    for group_id in removal.groups:
        shutil.rmtree(service.wiki_folder(group_id, "group"), ignore_errors=True)
