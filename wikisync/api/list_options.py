"""Keyword arguments of lists and of other reading, with what each one means (pure)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from typing import Annotated, Literal, TypedDict

from wikisync.api.option import Option, Role

Sort = Literal["asc", "desc"]
Pagination = Literal["keyset", "legacy"]
Visibility = Literal["private", "internal", "public"]
Order = Literal["id", "name", "path", "created_at", "updated_at", "last_activity_at"]
AnyOrder = Literal[
    "id",
    "name",
    "path",
    "created_at",
    "updated_at",
    "last_activity_at",
    "similarity",
    "repository_size",
    "storage_size",
    "packages_size",
    "wiki_size",
]
EventAction = Literal["created", "updated", "destroyed", "pushed to"]
MEMBER_LEVELS = ("5", "10", "15", "20", "30", "40", "50")
ADMIN_ORDERS = ("repository_size", "storage_size", "packages_size", "wiki_size")
_FOR_ADMINS: Mapping[str, Role] = dict.fromkeys(ADMIN_ORDERS, "admin")


class Paging(TypedDict, total=False):
    """What every list takes that is read page by page."""

    page: Annotated[int, Option("Which page of the list; the first is 1.", default="1")]
    per_page: Annotated[int, Option("Records on a page, at most 100.", default="20")]


class _Searched(Paging, total=False):
    """What lists of named things take."""

    search: Annotated[str, "Only what has this in its name or path."]


class _EveryList(Paging, total=False):
    """What all lists of projects take."""

    simple: Annotated[bool, "Only the few fields that everyone sees."]
    sort: Annotated[Sort, Option("Direction of the order.", default="desc")]


class _PlainOrder(TypedDict, total=False):
    """The order of all lists but that of all projects."""

    order_by: Annotated[
        Order, Option("What the list is ordered by.", default="created_at")
    ]


class ContributedFilters(_EveryList, _PlainOrder, total=False):
    """``GET /users/:user_id/contributed_projects``."""


class _MostLists(_EveryList, total=False):
    """What most lists of projects take."""

    archived: Annotated[bool, "Only archived projects, or only others."]
    membership: Annotated[bool, "Only projects you are a member of."]
    min_access_level: Annotated[
        int,
        Option(
            "Only projects where your access level is at least this.",
            choices=MEMBER_LEVELS,
        ),
    ]
    owned: Annotated[bool, "Only projects you own."]
    search: Annotated[str, "Words in the path, name or description."]
    starred: Annotated[bool, "Only projects you starred."]
    statistics: Annotated[
        bool, Option("Sizes and counts with each project.", role="reporter")
    ]
    updated_after: Annotated[
        str | datetime,
        Option(
            "Only those updated since then; the list of all needs order_by=updated_at.",
            since="15.10",
        ),
    ]
    updated_before: Annotated[
        str | datetime,
        Option(
            "Only those not updated since then; the list of all needs"
            " order_by=updated_at.",
            since="15.10",
        ),
    ]
    visibility: Annotated[Visibility, "Only projects with this visibility."]
    with_custom_attributes: Annotated[
        bool, Option("Custom attributes with each project.", role="admin")
    ]
    with_issues_enabled: Annotated[bool, "Only those with issues."]
    with_merge_requests_enabled: Annotated[bool, "Only those with merge requests."]


class StarredFilters(_MostLists, _PlainOrder, total=False):
    """``GET /users/:user_id/starred_projects``."""


class ForkFilters(_MostLists, _PlainOrder, total=False):
    """``GET /projects/:id/forks``."""


class _KeysetLists(_MostLists, total=False):
    """What the lists take that can be walked by id."""

    id_after: Annotated[int, "Only ids above this one."]
    id_before: Annotated[int, "Only ids below this one."]
    with_programming_language: Annotated[
        str, "Only projects with files in this language."
    ]
    pagination: Annotated[
        Pagination,
        Option("Walk by id instead of by page; needs order_by=id.", default="legacy"),
    ]


class UserFilters(_KeysetLists, _PlainOrder, total=False):
    """``GET /users/:user_id/projects``."""


class GroupProjectFilters(UserFilters, total=False):
    """``GET /groups/:id/projects``."""

    include_subgroups: Annotated[bool, "Projects of the groups below it, too."]


class ProjectFilters(_KeysetLists, total=False):
    """``GET /projects``."""

    imported: Annotated[bool, "Only what you imported from elsewhere."]
    include_hidden: Annotated[
        bool, Option("Hidden projects too.", role="admin", tier="premium")
    ]
    include_pending_delete: Annotated[
        bool, Option("Projects that are being deleted too.", role="admin")
    ]
    last_activity_after: Annotated[str | datetime, "Only those active since then."]
    last_activity_before: Annotated[str | datetime, "Only those not active since then."]
    order_by: Annotated[
        AnyOrder,
        Option(
            "What the list is ordered by; similarity needs a search.",
            default="created_at",
            choice_roles=_FOR_ADMINS,
        ),
    ]
    repository_checksum_failed: Annotated[
        bool, Option("Only projects whose repository failed its check.", tier="premium")
    ]
    wiki_checksum_failed: Annotated[
        bool, Option("Only projects whose wiki failed its check.", tier="premium")
    ]
    repository_storage: Annotated[
        str, Option("Only projects on this storage.", role="admin")
    ]
    search_namespaces: Annotated[
        bool,
        Option("Search the names of groups and users above, too.", default="false"),
    ]
    topic_id: Annotated[int, "Only projects with the topic of this id."]
    topic: Annotated[str, "Only projects with all these topics (a,b)."]
    custom_attributes: Annotated[
        Mapping[str, str],
        Option("Only projects with these custom attributes (key=value).", role="admin"),
    ]


class ShowOptions(TypedDict, total=False):
    """``GET /projects/:id``."""

    license: Annotated[bool, "Which license the project has."]
    statistics: Annotated[bool, Option("Sizes and counts.", role="reporter")]
    with_custom_attributes: Annotated[bool, Option("Custom attributes.", role="admin")]


class MemberFilters(_Searched, total=False):
    """``GET /projects/:id/users``."""

    skip_users: Annotated[list[int] | tuple[int, ...], "Leave out users by id."]


class GroupFilters(_Searched, total=False):
    """``GET /projects/:id/groups``."""

    skip_groups: Annotated[list[int] | tuple[int, ...], "Leave out groups by id."]
    with_shared: Annotated[
        bool, Option("Groups the project is shared with, too.", default="false")
    ]
    shared_min_access_level: Annotated[
        int,
        Option(
            "Of the shared groups, those with at least this access level.",
            choices=MEMBER_LEVELS,
        ),
    ]
    shared_visible_only: Annotated[bool, "Of the shared groups, those you may see."]


class ShareLocationFilters(_Searched, total=False):
    """``GET /projects/:id/share_locations``."""


class StarrerFilters(_Searched, total=False):
    """``GET /projects/:id/starrers``."""


class NameFilters(_Searched, total=False):
    """Lists of groups and branches."""


class EventFilters(Paging, total=False):
    """``GET /projects/:id/events``."""

    action: Annotated[EventAction, "Only what was done in this way."]
    after: Annotated[str | date, "Only after this day."]
    before: Annotated[str | date, "Only before this day."]
    sort: Annotated[Sort, Option("The latest or the earliest first.", default="desc")]
