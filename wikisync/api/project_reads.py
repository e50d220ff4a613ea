"""Reading one project."""

from __future__ import annotations

from typing import Unpack

from wikisync.api.client import Id
from wikisync.api.endpoints import Endpoint
from wikisync.api.list_options import ShowOptions
from wikisync.api.project_calls import Also, ProjectCalls
from wikisync.api.project_schema import ProjectRecord


class ProjectReads(ProjectCalls):
    """One project, and what its repository holds."""

    async def show_project(
        self, project: Id, *, also: Also | None = None, **options: Unpack[ShowOptions]
    ) -> ProjectRecord:
        """One project, with the optional parts asked for.

        Raises:
            NotFound: it does not exist, or is hidden from this token.
            UsageError: the endpoint takes no such option.
        """
        values = self._values(Endpoint.SHOW, options, also)
        purpose = self._purpose(f"read project {project}", project)
        request = self._reading(Endpoint.SHOW, purpose, values, id=project)
        return await self.client.fetch(request, ProjectRecord)

    async def show_languages(self, project: Id) -> dict[str, float]:
        """The languages of a project's files, each with its per cent.

        Raises:
            NotFound: there is no such project.
        """
        purpose = self._purpose(f"read the languages of project {project}", project)
        request = self._reading(Endpoint.LANGUAGES, purpose, {}, id=project)
        return await self.client.fetch(request, dict[str, float])
