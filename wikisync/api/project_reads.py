"""Reading projects: one, lists of them, and of users and groups of one.

Nothing is sent that the table of parameters does not know, unless it is given as
``also``.  Old names are put into their present form with a ``DeprecationWarning`` that
names both.

Lists are paged by offset, with a total where the service counts.  Ordered by id,
``list_projects`` and ``list_user_projects`` go on past the 50,000 records where
offset paging ends; that is why they order by id when no order is asked for.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar, Unpack

from wikisync.api.answers import About, Purpose
from wikisync.api.client import Client, Id
from wikisync.api.listing import Listing, OffsetLimit
from wikisync.api.request import Request
from wikisync.api.upload import upload_form
from wikisync.api.values import check_values, fields_of, json_of, query_of
from wikisync.contract import project_types
from wikisync.contract.parameters import parameters_of, replace_deprecated
from wikisync.contract.project_schema import (
    ProjectGroupRecord,
    ProjectRecord,
    StarrerRecord,
)
from wikisync.contract.routes import Endpoint
from wikisync.contract.schema import UserRecord
from wikisync.core.messages import Progress

T = TypeVar("T")

Also = Mapping[str, object]
"""Parameters newer than the table, by name; sent as they are."""

CALLER = 4
"""Stack level of who called the operation, seen from ``_warn``."""


class ProjectReads:
    """One method per list: its owner, if it has one, then filters by keyword.

    Filters that are newer than the table are given as ``also``.  ``page`` reads that
    page and no other.  Every method raises ``UsageError`` for what its
    endpoint does not take; the list raises ``RemoteError`` in all its kinds when it
    is read, ``NotFound`` for a user or a project that does not exist.
    """

    def __init__(self, client: Client) -> None:
        """Use an open client; nothing is sent."""
        self.client = client

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.client!r})"

    def list_projects(
        self,
        *,
        also: Also | None = None,
        **filters: Unpack[project_types.ListProjectsArguments],
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
        **filters: Unpack[project_types.ListUserProjectsArguments],
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
        **filters: Unpack[project_types.ListContributedProjectsArguments],
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
        **filters: Unpack[project_types.ListStarredProjectsArguments],
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
        **filters: Unpack[project_types.ListForksArguments],
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
        **filters: Unpack[project_types.ListProjectUsersArguments],
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
        **filters: Unpack[project_types.ListProjectGroupsArguments],
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
        **filters: Unpack[project_types.ListShareLocationsArguments],
    ) -> Listing[ProjectGroupRecord]:
        """The groups that a project can be shared with."""
        action = f"list the groups that project {project} can be shared with"
        return self._list(
            Endpoint.SHARE_LOCATIONS, ProjectGroupRecord, action, project, filters, also
        )

    def list_starrers(
        self,
        project: Id,
        /,
        *,
        also: Also | None = None,
        **filters: Unpack[project_types.ListStarrersArguments],
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
        **options: Unpack[project_types.ShowProjectArguments],
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

    # -- values checked, requests made -------------------------------------------

    def _values(
        self, endpoint: Endpoint, values: Mapping[str, object], also: Also | None
    ) -> dict[str, object]:
        """The values as they are sent.

        Raises:
            UsageError: the endpoint does not take them.
        """
        given = {name: value for name, value in values.items() if value is not None}
        known = parameters_of(endpoint)
        for name in given:
            if name in known and known[name].is_deprecated:
                _warn(f"{name} is deprecated{_successor(known[name].replaced_by)}")
        present, replaced = replace_deprecated(endpoint, given)
        for replacement in replaced:
            if "." in replacement.old:
                _warn(f"{replacement.old} is deprecated, use {replacement.new}")
        return check_values(endpoint, present, also)

    def _purpose(
        self,
        action: str,
        owner: Id = "",
        *,
        about: About = "project",
        others: str = "",
        is_write: bool = False,
    ) -> Purpose:
        return Purpose(
            action=action,
            about=about,
            owner_kind="project" if about == "project" else None,
            owner=str(owner),
            others=others,
            is_write=is_write,
            has_token=self.client.has_token,
        )

    def _reading(
        self, endpoint: Endpoint, purpose: Purpose, values: Also, **segments: Id
    ) -> Request:
        path = endpoint.route.path(**segments)
        return Request("GET", path, purpose, query_of(values))

    async def _read(
        self, endpoint: Endpoint, kind: type[T], action: str, project: Id, values: Also
    ) -> T:
        purpose = self._purpose(action, project)
        request = self._reading(endpoint, purpose, values, id=project)
        return await self.client.fetch(request, kind)

    def _writing(
        self,
        endpoint: Endpoint,
        action: str,
        values: Also | None = None,
        *,
        owner: Id = "",
        about: About = "project",
        others: str = "",
        may_change_nothing: bool = False,
        **segments: Id,
    ) -> Request:
        """A request with a JSON body, or a multipart one where a file is in it.

        The first of the segments names what is changed where ``owner`` does not.
        """
        owner = owner or next(iter(segments.values()), "")
        purpose = self._purpose(
            action, owner, about=about, others=others, is_write=True
        )
        method, path = endpoint.route.method, endpoint.route.path(**segments)
        values = values or {}
        if method == "DELETE":
            return Request(method, path, purpose, query_of(values))
        for name, value in values.items():
            if isinstance(value, Path):
                rest = {key: held for key, held in values.items() if key != name}
                request = Request(method, path, purpose)
                return self._uploading(request, name, value, values=rest)
        return Request(
            method,
            path,
            purpose,
            json=json_of(values) if values else None,
            may_change_nothing=may_change_nothing,
        )

    def _uploading(
        self,
        request: Request,
        field: str,
        file: Path | bytes,
        name: str = "",
        *,
        values: Also | None = None,
        progress: Progress | None = None,
    ) -> Request:
        """The request with a file and other values as its multipart body."""
        shown = name or (file.name if isinstance(file, Path) else field)
        fields = fields_of(values or {})
        return Request(
            request.method,
            request.path,
            request.purpose,
            form=upload_form(field, file, shown, fields, progress),
            form_fields=((field, shown), *fields),
        )


def _with_order(
    calls: ProjectReads, endpoint: Endpoint, filters: Mapping[str, object]
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


def _warn(message: str) -> None:
    warnings.warn(message, DeprecationWarning, stacklevel=CALLER)


def _successor(name: str) -> str:
    return f", use {name}" if name else " and goes away with API version 5"
