"""Reading one project."""

from __future__ import annotations

from wikisync.api.client import Id
from wikisync.api.endpoints import Endpoint
from wikisync.api.project_calls import Also, ProjectCalls
from wikisync.api.project_schema import ProjectRecord


class ProjectReads(ProjectCalls):
    """One project, and what its repository holds.

    Every method raises ``NotFound`` for a project that does not exist or is hidden
    from this token.
    """

    async def show_project(
        self, project: Id, *, also: Also | None = None, **options: object
    ) -> ProjectRecord:
        """One project, with the optional parts asked for.

        Raises:
            UsageError: the endpoint takes no such option.
        """
        values = self._values(Endpoint.SHOW, options, also)
        action = f"read project {project}"
        return await self._read(Endpoint.SHOW, ProjectRecord, action, project, values)

    async def show_languages(self, project: Id) -> dict[str, float]:
        """The languages of a project's files, each with its per cent."""
        action = f"read the languages of project {project}"
        kind = dict[str, float]
        return await self._read(Endpoint.LANGUAGES, kind, action, project, {})
