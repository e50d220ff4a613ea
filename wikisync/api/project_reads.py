"""Reading projects: one, lists of them, and of users and groups of one.

Lists are paged by offset, with a total where the service counts.  Ordered by id,
``list_projects`` and ``list_user_projects`` go on past the 50,000 records where
offset paging ends; that is why they order by id when no order is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar, Unpack

from wikisync.api.answers import About
from wikisync.api.client import Id
from wikisync.api.endpoints import Endpoint
from wikisync.api.listing import Listing, OffsetLimit
from wikisync.api.parameters import parameters_of
from wikisync.api.project_calls import Also, ProjectCalls
from wikisync.api.project_schema import (
    ProjectGroupRecord,
    ProjectRecord,
    StarrerRecord,
)
from wikisync.api.project_types import (
    ListContributedProjectsArguments,
    ListForksArguments,
    ListProjectGroupsArguments,
    ListProjectsArguments,
    ListProjectUsersArguments,
    ListShareLocationsArguments,
    ListStarredProjectsArguments,
    ListStarrersArguments,
    ListUserProjectsArguments,
    ShowProjectArguments,
)
from wikisync.api.schema import UserRecord
from wikisync.api.values import query_of

T = TypeVar("T")


def _with_order(
    calls: ProjectCalls, endpoint: Endpoint, filters: Mapping[str, object]
) -> dict[str, object]:
    """The filters with an order and a size of page where none is given."""
    given = {name: value for name, value in filters.items() if value is not None}
    if "pagination" in parameters_of(endpoint):
        by_time = {"updated_after", "updated_before"} & given.keys()
        is_timed = bool(by_time) and endpoint == Endpoint.LIST
        given.setdefault("order_by", "updated_at" if is_timed else "id")
    given.setdefault("per_page", calls.client.settings.per_page)
    return given


def _keyset(
    endpoint: Endpoint, values: Mapping[str, object]
) -> Callable[[Any], str] | None:
    """How a list goes on behind a record where offset paging ends."""
    if "pagination" not in parameters_of(endpoint) or values.get("order_by") != "id":
        return None
    bound = "id_after" if values.get("sort") == "asc" else "id_before"
    return lambda record: query_of({**values, "pagination": "keyset", bound: record.id})


class ProjectReads(ProjectCalls):
    """One method per list: its owner, if it has one, then filters by keyword.

    Filters that are newer than the table are given as ``also``.  ``page`` reads that
    page and no other.  Every method raises ``UsageError`` for what its
    endpoint does not take; the list raises ``RemoteError`` in all its kinds when it
    is read, ``NotFound`` for a user or a project that does not exist.
    """

    def list_projects(
        self, *, also: Also | None = None, **filters: Unpack[ListProjectsArguments]
    ) -> Listing[ProjectRecord]:
        """Every project that the token may see; without a token the public ones.

        ``updated_after`` and ``updated_before`` order by ``updated_at``, as the service
        demands.
        """
        action = "list the projects"
        return self._list(Endpoint.LIST, ProjectRecord, action, "", filters, also)

    def list_user_projects(
        self,
        user: Id,
        /,
        *,
        also: Also | None = None,
        **filters: Unpack[ListUserProjectsArguments],
    ) -> Listing[ProjectRecord]:
        """The projects in a user's own namespace; none of a private profile."""
        action = f"list the projects of {user}"
        return self._list(
            Endpoint.USER_LIST, ProjectRecord, action, user, filters, also
        )

    def list_contributed_projects(
        self,
        user: Id,
        /,
        *,
        also: Also | None = None,
        **filters: Unpack[ListContributedProjectsArguments],
    ) -> Listing[ProjectRecord]:
        """The projects that a user contributed to."""
        action = f"list the projects that {user} contributed to"
        return self._list(
            Endpoint.CONTRIBUTED_LIST, ProjectRecord, action, user, filters, also
        )

    def list_starred_projects(
        self,
        user: Id,
        /,
        *,
        also: Also | None = None,
        **filters: Unpack[ListStarredProjectsArguments],
    ) -> Listing[ProjectRecord]:
        """The projects that a user starred."""
        action = f"list the projects that {user} starred"
        return self._list(
            Endpoint.STARRED_LIST, ProjectRecord, action, user, filters, also
        )

    def list_forks(
        self,
        project: Id,
        /,
        *,
        also: Also | None = None,
        **filters: Unpack[ListForksArguments],
    ) -> Listing[ProjectRecord]:
        """The forks of a project that the token may see."""
        action = f"list the forks of project {project}"
        return self._list(
            Endpoint.FORK_LIST, ProjectRecord, action, project, filters, also
        )

    def list_project_users(
        self,
        project: Id,
        /,
        *,
        also: Also | None = None,
        **filters: Unpack[ListProjectUsersArguments],
    ) -> Listing[UserRecord]:
        """The members of a project, inherited ones too."""
        action = f"list the users of project {project}"
        return self._list(Endpoint.USERS, UserRecord, action, project, filters, also)

    def list_project_groups(
        self,
        project: Id,
        /,
        *,
        also: Also | None = None,
        **filters: Unpack[ListProjectGroupsArguments],
    ) -> Listing[ProjectGroupRecord]:
        """The groups above a project; with ``with_shared`` those it is shared with."""
        action = f"list the groups of project {project}"
        return self._list(
            Endpoint.GROUPS, ProjectGroupRecord, action, project, filters, also
        )

    def list_share_locations(
        self,
        project: Id,
        /,
        *,
        also: Also | None = None,
        **filters: Unpack[ListShareLocationsArguments],
    ) -> Listing[ProjectGroupRecord]:
        """The groups that a project can be shared with."""
        action = f"list the groups that project {project} can be shared with"
        return self._list(
            Endpoint.SHARE_LOCATIONS,
            ProjectGroupRecord,
            action,
            project,
            filters,
            also,
        )

    def list_starrers(
        self,
        project: Id,
        /,
        *,
        also: Also | None = None,
        **filters: Unpack[ListStarrersArguments],
    ) -> Listing[StarrerRecord]:
        """Who starred a project."""
        action = f"list who starred project {project}"
        return self._list(
            Endpoint.STARRERS, StarrerRecord, action, project, filters, also
        )

    def _list(
        self,
        endpoint: Endpoint,
        record: type[T],
        action: str,
        owner: Id,
        filters: Mapping[str, object],
        also: Also | None,
    ) -> Listing[T]:
        """A list; ``owner`` is the user or the project that its path names, if any."""
        values = self._values(endpoint, _with_order(self, endpoint, filters), also)
        is_of_user = "{user_id}" in endpoint.route.template
        about: About = "user" if is_of_user else "project" if owner else "service"
        name = "user_id" if is_of_user else "id"
        purpose = self._purpose(action, owner, about=about)
        limit = OffsetLimit(
            self.client.settings.offset_records_max, _keyset(endpoint, values)
        )
        return Listing(
            self.client,
            self._reading(endpoint, purpose, values, **{name: owner}),
            record,
            limit=limit,
            is_one_page="page" in values,
        )

    async def show_project(
        self,
        project: Id,
        *,
        also: Also | None = None,
        **options: Unpack[ShowProjectArguments],
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
