"""Lists of projects, and of users and groups of one.

All are paged by offset, with a total where the service counts.  Ordered by id,
``list_projects`` and ``list_user_projects`` go on past the 50,000 records where
offset paging ends; that is why they order by id when no order is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Unpack

from wikisync.api.client import Id
from wikisync.api.endpoints import Endpoint
from wikisync.api.list_options import (
    ContributedFilters,
    ForkFilters,
    GroupFilters,
    MemberFilters,
    ProjectFilters,
    ShareLocationFilters,
    StarredFilters,
    StarrerFilters,
    UserFilters,
)
from wikisync.api.listing import Listing
from wikisync.api.parameters import parameters_of
from wikisync.api.project_calls import Also, ProjectCalls
from wikisync.api.project_schema import (
    ProjectGroupRecord,
    ProjectRecord,
    StarrerRecord,
)
from wikisync.api.schema import UserRecord


class ProjectLists(ProjectCalls):
    """One method per list.  ``page`` reads that page and no other.

    Every method raises ``UsageError`` for a filter that its endpoint does not
    take; the list raises ``RemoteError`` in all its kinds when it is read.
    """

    def list_projects(
        self, *, also: Also | None = None, **filters: Unpack[ProjectFilters]
    ) -> Listing[ProjectRecord]:
        """Every project that the token may see; without a token the public ones.

        Args:
            also: filters newer than the table.
            filters: ``updated_after`` and ``updated_before`` order by
                ``updated_at``, as the service demands.
        """
        values = self._list_values(Endpoint.LIST, filters, also)
        purpose = self._purpose("list the projects", about="service")
        return self._project_listing(Endpoint.LIST, purpose, values)

    def list_user_projects(
        self, user: Id, *, also: Also | None = None, **filters: Unpack[UserFilters]
    ) -> Listing[ProjectRecord]:
        """The projects in a user's own namespace; none of a private profile.

        Raises:
            NotFound: there is no such user.
        """
        values = self._list_values(Endpoint.USER_LIST, filters, also)
        purpose = self._purpose(f"list the projects of {user}", user, about="user")
        return self._project_listing(Endpoint.USER_LIST, purpose, values, user_id=user)

    def list_contributed_projects(
        self,
        user: Id,
        *,
        also: Also | None = None,
        **filters: Unpack[ContributedFilters],
    ) -> Listing[ProjectRecord]:
        """The projects that a user contributed to.

        Raises:
            NotFound: there is no such user.
        """
        endpoint = Endpoint.CONTRIBUTED_LIST
        values = self._list_values(endpoint, filters, also)
        action = f"list the projects that {user} contributed to"
        purpose = self._purpose(action, user, about="user")
        return self._project_listing(endpoint, purpose, values, user_id=user)

    def list_starred_projects(
        self, user: Id, *, also: Also | None = None, **filters: Unpack[StarredFilters]
    ) -> Listing[ProjectRecord]:
        """The projects that a user starred.

        Raises:
            NotFound: there is no such user.
        """
        values = self._list_values(Endpoint.STARRED_LIST, filters, also)
        action = f"list the projects that {user} starred"
        purpose = self._purpose(action, user, about="user")
        return self._project_listing(
            Endpoint.STARRED_LIST, purpose, values, user_id=user
        )

    def list_forks(
        self, project: Id, *, also: Also | None = None, **filters: Unpack[ForkFilters]
    ) -> Listing[ProjectRecord]:
        """The forks of a project that the token may see.

        Raises:
            NotFound: there is no such project.
        """
        values = self._list_values(Endpoint.FORK_LIST, filters, also)
        purpose = self._purpose(f"list the forks of project {project}", project)
        return self._project_listing(Endpoint.FORK_LIST, purpose, values, id=project)

    def list_project_users(
        self, project: Id, *, also: Also | None = None, **filters: Unpack[MemberFilters]
    ) -> Listing[UserRecord]:
        """The users of a project.

        Raises:
            NotFound: there is no such project.
        """
        values = self._list_values(Endpoint.USERS, filters, also)
        purpose = self._purpose(f"list the users of project {project}", project)
        request = self._reading(Endpoint.USERS, purpose, values, id=project)
        return self._listing(request, UserRecord, values)

    def list_project_groups(
        self, project: Id, *, also: Also | None = None, **filters: Unpack[GroupFilters]
    ) -> Listing[ProjectGroupRecord]:
        """The groups above a project; with ``with_shared`` those it is shared with.

        Raises:
            NotFound: there is no such project.
        """
        values = self._list_values(Endpoint.GROUPS, filters, also)
        purpose = self._purpose(f"list the groups of project {project}", project)
        request = self._reading(Endpoint.GROUPS, purpose, values, id=project)
        return self._listing(request, ProjectGroupRecord, values)

    def list_share_locations(
        self,
        project: Id,
        *,
        also: Also | None = None,
        **filters: Unpack[ShareLocationFilters],
    ) -> Listing[ProjectGroupRecord]:
        """The groups that a project can be shared with.

        Raises:
            NotFound: there is no such project.
        """
        endpoint = Endpoint.SHARE_LOCATIONS
        values = self._list_values(endpoint, filters, also)
        action = f"list the groups that project {project} can be shared with"
        purpose = self._purpose(action, project)
        request = self._reading(endpoint, purpose, values, id=project)
        return self._listing(request, ProjectGroupRecord, values)

    def list_starrers(
        self,
        project: Id,
        *,
        also: Also | None = None,
        **filters: Unpack[StarrerFilters],
    ) -> Listing[StarrerRecord]:
        """Who starred a project.

        Raises:
            NotFound: there is no such project.
        """
        values = self._list_values(Endpoint.STARRERS, filters, also)
        purpose = self._purpose(f"list who starred project {project}", project)
        request = self._reading(Endpoint.STARRERS, purpose, values, id=project)
        return self._listing(request, StarrerRecord, values)

    def _list_values(
        self, endpoint: Endpoint, filters: Mapping[str, object], also: Also | None
    ) -> dict[str, object]:
        """The filters with an order and a size of page where none is given."""
        given = {name: value for name, value in filters.items() if value is not None}
        if "pagination" in parameters_of(endpoint):
            by_time = {"updated_after", "updated_before"} & given.keys()
            is_timed = bool(by_time) and endpoint == Endpoint.LIST
            given.setdefault("order_by", "updated_at" if is_timed else "id")
        given.setdefault("per_page", self.client.settings.per_page)
        return self._values(endpoint, given, also)
