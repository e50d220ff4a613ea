"""Files of a project: uploads and its picture, streamed from disk."""

from __future__ import annotations

from pathlib import Path

from wikisync.api.client import Id
from wikisync.api.endpoints import Endpoint
from wikisync.api.project_calls import ProjectCalls
from wikisync.api.project_schema import AvatarRecord, UploadRecord
from wikisync.errors import UsageError
from wikisync.progress import Progress
from wikisync.terminal import one_line


class ProjectFiles(ProjectCalls):
    """Uploads and the avatar."""

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
        sent = self._uploading(request, "file", file, name, {}, progress)
        return await self.client.fetch(sent, UploadRecord)

    async def set_avatar(
        self,
        project: Id,
        file: Path | bytes,
        name: str = "",
        *,
        progress: Progress | None = None,
    ) -> AvatarRecord:
        """Give a project a picture.

        Raises:
            FolderError: the file cannot be read.
            Rejected: it is no picture, or too big.
        """
        name = _name_of(file, name)
        action = f"set the avatar of project {project}"
        request = self._writing(Endpoint.EDIT, action, id=project)
        sent = self._uploading(request, "avatar", file, name, {}, progress)
        return await self.client.fetch(sent, AvatarRecord)

    async def remove_avatar(self, project: Id) -> AvatarRecord:
        """Take a project's picture away."""
        action = f"remove the avatar of project {project}"
        request = self._writing(Endpoint.EDIT, action, {"avatar": ""}, id=project)
        return await self.client.fetch(request, AvatarRecord)


def _name_of(file: Path | bytes, name: str) -> str:
    if not name and isinstance(file, Path):
        name = file.name
    if not name or not name.isprintable():
        raise UsageError(
            "a file without a printable name cannot be uploaded",
            hint="give the file a name without line breaks or control characters",
        )
    return name
