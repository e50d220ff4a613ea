"""Reading projects: one, lists of them, and of users and groups of one.

Lists are paged by offset, with a total where the service counts.  Ordered by id,
``list_projects`` and ``list_user_projects`` go on past the 50,000 records where
offset paging ends; that is why they order by id when no order is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

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
from wikisync.api.schema import UserRecord
from wikisync.api.values import query_of

T = TypeVar("T")


def _lists(
    endpoint: Endpoint, record: type[T], action: str, about: About = "project"
) -> Callable[..., Listing[T]]:
    """The method for one list; ``action`` has ``{}`` where its owner is named."""

    def open_list(
        self: ProjectCalls,
        owner: Id = "",
        /,
        *,
        also: Also | None = None,
        **filters: object,
    ) -> Listing[T]:
        values = self._values(endpoint, _with_order(self, endpoint, filters), also)
        purpose = self._purpose(action.format(owner), owner, about=about)
        name = "user_id" if about == "user" else "id"
        segments = {} if about == "service" else {name: owner}
        limit = OffsetLimit(
            self.client.settings.offset_records_max, _keyset(endpoint, values)
        )
        return Listing(
            self.client,
            self._reading(endpoint, purpose, values, **segments),
            record,
            limit=limit,
            is_one_page="page" in values,
        )

    return open_list


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

    list_projects = _lists(Endpoint.LIST, ProjectRecord, "list the projects", "service")
    """Every project that the token may see; without a token the public ones.

    ``updated_after`` and ``updated_before`` order by ``updated_at``, as the service
    demands.
    """
    list_user_projects = _lists(
        Endpoint.USER_LIST, ProjectRecord, "list the projects of {}", "user"
    )
    """The projects in a user's own namespace; none of a private profile."""
    list_contributed_projects = _lists(
        Endpoint.CONTRIBUTED_LIST,
        ProjectRecord,
        "list the projects that {} contributed to",
        "user",
    )
    list_starred_projects = _lists(
        Endpoint.STARRED_LIST,
        ProjectRecord,
        "list the projects that {} starred",
        "user",
    )
    list_forks = _lists(
        Endpoint.FORK_LIST, ProjectRecord, "list the forks of project {}"
    )
    """The forks of a project that the token may see."""
    list_project_users = _lists(
        Endpoint.USERS, UserRecord, "list the users of project {}"
    )
    list_project_groups = _lists(
        Endpoint.GROUPS, ProjectGroupRecord, "list the groups of project {}"
    )
    """The groups above a project; with ``with_shared`` those it is shared with."""
    list_share_locations = _lists(
        Endpoint.SHARE_LOCATIONS,
        ProjectGroupRecord,
        "list the groups that project {} can be shared with",
    )
    list_starrers = _lists(
        Endpoint.STARRERS, StarrerRecord, "list who starred project {}"
    )

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
