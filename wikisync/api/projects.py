"""Projects: the operations on projects, one method per endpoint.

The methods are named as in ``endpoints.Endpoint`` and take the parameters of
its table by name.  What an endpoint does not take is refused before anything is
sent; what is newer than the table goes through ``also``.

Read next: ``project_reads``, the operations that change nothing, and what all of them
share.
"""

from __future__ import annotations

from http import HTTPStatus
from pathlib import Path
from typing import Literal, Unpack

from msgspec import Struct

from wikisync.api.answers import decode
from wikisync.api.client import Id
from wikisync.api.project_reads import Also, ProjectReads
from wikisync.api.request import Request
from wikisync.contract import project_types
from wikisync.contract.project_schema import (
    AvatarRecord,
    MembersImportRecord,
    ProjectRecord,
    ShareRecord,
    UploadRecord,
)
from wikisync.contract.routes import Endpoint
from wikisync.core.messages import Progress
from wikisync.core.terminal import one_line
from wikisync.errors import NotFound, Rejected, RemoteError, Unavailable, UsageError

GOING_ON = frozenset({"scheduled", "started"})
"""Values of ``import_status`` while a fork is being made."""
ENDED_BADLY = frozenset({"failed", "canceled"})
DELAY_FACTOR = 1.6


class Toggle(Struct, frozen=True):
    """What became of a switch: star or not, archived or not."""

    has_changed: bool
    """False where it was so already."""
    project: ProjectRecord | None
    """As it is now; None where the service does not say."""


class Deletion(Struct, frozen=True):
    """What became of a project that was to be deleted."""

    state: Literal["scheduled", "removed", "accepted"]
    """``scheduled``: marked, and removed after the service's delay;
    ``accepted``: the service removes it now, in the background."""
    project: ProjectRecord | None
    """As it is now; None where it is gone or cannot be read."""


class Projects(ProjectReads):
    """The projects of the service behind an open client.

    Every change raises ``UsageError`` for what its endpoint does not take,
    ``NotFound`` for a project that is missing or hidden, ``PermissionDenied``
    where the role does not suffice, and ``Rejected`` for values that the
    service refuses.
    """

    async def create_project(
        self,
        *,
        also: Also | None = None,
        **attributes: Unpack[project_types.CreateProjectArguments],
    ) -> ProjectRecord:
        """Create a project in the token's own namespace, or in ``namespace_id``."""
        values = self._values(Endpoint.CREATE, attributes, also)
        action = f"create project {values.get('path') or values.get('name')}"
        return await self._changed(self._writing(Endpoint.CREATE, action, values))

    async def create_project_for_user(
        self,
        user_id: int,
        *,
        also: Also | None = None,
        **attributes: Unpack[project_types.CreateProjectForUserArguments],
    ) -> ProjectRecord:
        """Create a project that belongs to a user; for administrators."""
        endpoint = Endpoint.CREATE_FOR_USER
        values = self._values(endpoint, attributes, also)
        action = f"create project {values.get('name')} for user {user_id}"
        return await self._changed(
            self._writing(endpoint, action, values, about="user", user_id=user_id)
        )

    async def edit_project(
        self,
        project: Id,
        *,
        also: Also | None = None,
        **attributes: Unpack[project_types.EditProjectArguments],
    ) -> ProjectRecord:
        """Change attributes of a project; the others stay.

        An empty text clears an attribute; ``avatar`` is a file, or an empty
        text to remove the picture.
        """
        values = self._values(Endpoint.EDIT, attributes, also)
        action = f"edit project {project}"
        if not values:
            raise Rejected(
                f"cannot {action}: no change is given",
                hint="give at least one attribute",
            )
        return await self._changed(
            self._writing(Endpoint.EDIT, action, values, id=project)
        )

    async def fork_project(
        self,
        project: Id,
        *,
        wait: bool = False,
        deadline_s: float | None = None,
        also: Also | None = None,
        **attributes: Unpack[project_types.ForkProjectArguments],
    ) -> ProjectRecord:
        """Fork a project; the service makes the copy in the background.

        Args:
            project: what to fork.
            wait: until the copy is whole.
            deadline_s: longest time to wait; the settings' otherwise.
            also: attributes newer than the table.
            attributes: where to put the fork, and what to call it.

        Returns:
            The fork; with ``wait`` as it is when it is whole.

        Raises:
            Rejected: it cannot be made, or the service gave it up.
            Unavailable: it is not whole at the deadline; it goes on.
        """
        values = self._values(Endpoint.FORK, attributes, also)
        target = values.get("namespace_path") or values.get("namespace_id")
        others = f"namespace {target}" if target else ""
        action = f"fork project {project}"
        fork = await self._changed(
            self._writing(Endpoint.FORK, action, values, others=others, id=project)
        )
        return await self.wait_for_fork(fork, deadline_s=deadline_s) if wait else fork

    async def wait_for_fork(
        self, fork: ProjectRecord, *, deadline_s: float | None = None
    ) -> ProjectRecord:
        """Wait until a fork is whole.

        Raises:
            Rejected: the service gave it up.
            Unavailable: it is not whole at the deadline; it goes on.
        """
        settings = self.client.settings
        patience_s = settings.fork_deadline_s if deadline_s is None else deadline_s
        begin, delay_s = self.client.now(), settings.fork_delay_s
        while fork.import_status in GOING_ON:
            if self.client.now() - begin + delay_s > patience_s:
                raise Unavailable(
                    f"the fork {fork.path_with_namespace} is not complete after "
                    f"{patience_s:.0f} s; the service is still working on it",
                    hint=f"check import_status of project {fork.id} later",
                )
            await self.client.wait(delay_s)
            delay_s = min(delay_s * DELAY_FACTOR, settings.fork_delay_max_s)
            fork = await self.show_project(fork.id)
        if fork.import_status in ENDED_BADLY:
            reason = fork.import_error or f"its import {fork.import_status}"
            raise Rejected(
                f"the fork {fork.path_with_namespace} was not made: {reason}",
                hint="delete the incomplete fork and fork again",
            )
        return fork

    async def star_project(self, project: Id) -> Toggle:
        """Star a project."""
        return await self._toggle_star(Endpoint.STAR, "star", project)

    async def unstar_project(self, project: Id) -> Toggle:
        """Take the star from a project."""
        return await self._toggle_star(Endpoint.UNSTAR, "unstar", project)

    async def archive_project(self, project: Id) -> Toggle:
        """Make a project read-only."""
        return await self._toggle_archive(Endpoint.ARCHIVE, "archive", project)

    async def unarchive_project(self, project: Id) -> Toggle:
        """Let an archived project be changed again."""
        return await self._toggle_archive(Endpoint.UNARCHIVE, "unarchive", project)

    async def delete_project(
        self,
        project: Id,
        *,
        also: Also | None = None,
        **options: Unpack[project_types.DeleteProjectArguments],
    ) -> Deletion:
        """Delete a project, at once or after the service's delay.

        With ``permanently_remove`` and ``full_path`` a project that is marked
        for deletion goes at once.  What became of it is read afterwards.
        """
        values = self._values(Endpoint.DELETE, options, also)
        action = f"delete project {project}"
        await self.client.send(
            self._writing(Endpoint.DELETE, action, values, id=project)
        )
        return await self._deletion(project)

    async def delete_project_permanently(self, project: Id) -> Deletion:
        """Delete a project with everything in it, and do not wait for the delay.

        It is marked first where it is not.  The service may rename what is
        marked, so the proof is its path as it is then.
        """
        found = await self.show_project(project)
        if found.deletion_date is None:
            deletion = await self.delete_project(found.id)
            if deletion.state != "scheduled" or deletion.project is None:
                return deletion
            found = deletion.project
        return await self.delete_project(
            found.id, permanently_remove=True, full_path=found.path_with_namespace
        )

    async def restore_project(self, project: Id) -> ProjectRecord:
        """Take the mark for deletion from a project."""
        action = f"restore project {project}"
        return await self._changed(self._writing(Endpoint.RESTORE, action, id=project))

    async def share_project(
        self,
        project: Id,
        *,
        also: Also | None = None,
        **options: Unpack[project_types.ShareProjectArguments],
    ) -> ShareRecord:
        """Share a project with a group; its members get ``group_access``."""
        values = self._values(Endpoint.SHARE, options, also)
        group = f"group {values['group_id']}"
        action = f"share project {project} with {group}"
        request = self._writing(
            Endpoint.SHARE, action, values, others=group, id=project
        )
        return await self.client.fetch(request, ShareRecord)

    async def unshare_project(self, project: Id, group_id: int) -> None:
        """End sharing a project with a group."""
        group = f"group {group_id}"
        action = f"unshare project {project} from {group}"
        request = self._writing(
            Endpoint.UNSHARE, action, others=group, id=project, group_id=group_id
        )
        await self.client.send(request)

    async def import_project_members(
        self, project: Id, source: Id
    ) -> MembersImportRecord:
        """Make the members of another project members of this one.

        Owners of the source become Maintainers where the token's role here is
        Maintainer.  Paths are resolved first: this endpoint takes only numbers
        in some versions of the service.
        """
        request = self._writing(
            Endpoint.IMPORT_MEMBERS,
            f"import the members of project {source} into project {project}",
            owner=project,
            others=f"project {source}",
            id=await self._number(project),
            source_id=await self._number(source),
        )
        return await self.client.fetch(request, MembersImportRecord)

    async def upload_file(
        self,
        project: Id,
        file: Path | bytes,
        name: str = "",
        *,
        progress: Progress | None = None,
    ) -> UploadRecord:
        """Upload a file for issues, merge requests and comments of a project.

        Args:
            project: where to.
            file: a path, or the bytes themselves.
            name: of the file; that of the path otherwise.
            progress: reports every byte read from disk.

        Raises:
            FolderError: the file cannot be read.
            Rejected: the service takes no file of this size or name.
        """
        name = _name_of(file, name)
        action = f"upload {one_line(name)} to project {project}"
        request = self._writing(Endpoint.UPLOAD, action, id=project)
        sent = self._uploading(request, "file", file, name, progress=progress)
        return await self.client.fetch(sent, UploadRecord)

    async def set_avatar(
        self, project: Id, file: Path | bytes, name: str = ""
    ) -> AvatarRecord:
        """Give a project a picture.

        Raises:
            FolderError: the file cannot be read.
            Rejected: it is no picture, or too big.
        """
        name = _name_of(file, name)
        action = f"set the avatar of project {project}"
        request = self._writing(Endpoint.EDIT, action, id=project)
        sent = self._uploading(request, "avatar", file, name)
        return await self.client.fetch(sent, AvatarRecord)

    async def remove_avatar(self, project: Id) -> AvatarRecord:
        """Take a project's picture away."""
        action = f"remove the avatar of project {project}"
        request = self._writing(Endpoint.EDIT, action, {"avatar": ""}, id=project)
        return await self.client.fetch(request, AvatarRecord)

    async def _changed(self, request: Request) -> ProjectRecord:
        return await self.client.fetch(request, ProjectRecord)

    async def _number(self, project: Id) -> int:
        if isinstance(project, int) or (project.isascii() and project.isdigit()):
            return int(project)
        return (await self.show_project(project)).id

    async def _toggle_star(self, endpoint: Endpoint, verb: str, project: Id) -> Toggle:
        """A 304 says that it was so already."""
        request = self._writing(
            endpoint, f"{verb} project {project}", may_change_nothing=True, id=project
        )
        answer = await self.client.send(request)
        if answer.status == HTTPStatus.NOT_MODIFIED:
            return Toggle(has_changed=False, project=None)
        return Toggle(True, decode(answer, ProjectRecord, request.purpose))

    async def _toggle_archive(
        self, endpoint: Endpoint, verb: str, project: Id
    ) -> Toggle:
        """The service answers a repetition alike, so it is read before."""
        before = await self.show_project(project)
        action = f"{verb} project {project}"
        after = await self._changed(
            self._writing(endpoint, action, owner=project, id=before.id)
        )
        return Toggle(before.archived != after.archived, after)

    async def _deletion(self, project: Id) -> Deletion:
        """What became of it; the deletion itself was accepted already."""
        try:
            found = await self.show_project(project)
        except NotFound:
            return Deletion("removed", None)
        except RemoteError:
            return Deletion("accepted", None)
        return Deletion("scheduled" if found.deletion_date else "accepted", found)


def _name_of(file: Path | bytes, name: str) -> str:
    if not name and isinstance(file, Path):
        name = file.name
    if not name or not name.isprintable():
        raise UsageError(
            "a file without a printable name cannot be uploaded",
            hint="give the file a name without line breaks or control characters",
        )
    return name
