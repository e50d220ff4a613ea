"""Projects: the operations on projects, one method per endpoint.

The methods are named as in ``routes.Endpoint`` and take the parameters of its table by
name, which are checked against it; what a value may be, the service says.  What is
newer goes through ``also``.  Lists are paged by offset, with a total, and
by id where no order is asked for; beyond 50,000 records ``pagination="keyset"`` is
needed.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Unpack, cast

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from wikisync.api.client import Client, Id, Listing
from wikisync.api.exchange import About, Request, decode, fields_of, query_of
from wikisync.api.upload import upload_form
from wikisync.contract import project_schema
from wikisync.contract.parameters import parameters_of, rules_of
from wikisync.contract.project_schema import ProjectRecord
from wikisync.contract.routes import Endpoint
from wikisync.contract.schema import UserRecord
from wikisync.core.messages import Progress
from wikisync.core.terminal import one_line
from wikisync.errors import NotFound, Rejected, RemoteError, Unavailable, UsageError

if TYPE_CHECKING:
    from wikisync.contract import arguments

T = TypeVar("T")
Values = Mapping[str, object]
ProjectList = Listing[ProjectRecord]
GroupList = Listing[project_schema.ProjectGroupRecord]

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


class Projects:
    """The projects of the service behind an open client.

    Every method raises ``UsageError`` for what its endpoint does not take,
    ``NotFound`` for what is missing or hidden, ``PermissionDenied`` where the role does
    not suffice, and ``Rejected`` for values that the service refuses; a list does when
    it is read.  ``page`` reads that page of a list and no other.
    """

    def __init__(self, client: Client) -> None:
        """Use an open client; nothing is sent."""
        self.client = client

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.client!r})"

    # -- lists -----------------------------------------------------------------------

    def list_projects(self, **filters: Unpack[arguments.ListProjects]) -> ProjectList:
        """Every project that the token may see; without a token the public ones.

        ``updated_after`` and ``updated_before`` order by ``updated_at``, as the service
        demands.
        """
        return self._list(Endpoint.LIST, ProjectRecord, "", filters)

    def list_user_projects(
        self, user: Id, /, **filters: Unpack[arguments.ListUserProjects]
    ) -> ProjectList:
        """The projects in a user's own namespace; none of a private profile."""
        return self._list(Endpoint.USER_LIST, ProjectRecord, user, filters)

    def list_contributed_projects(
        self, user: Id, /, **filters: Unpack[arguments.ListContributedProjects]
    ) -> ProjectList:
        """The projects that a user contributed to."""
        return self._list(Endpoint.CONTRIBUTED_LIST, ProjectRecord, user, filters)

    def list_starred_projects(
        self, user: Id, /, **filters: Unpack[arguments.ListStarredProjects]
    ) -> ProjectList:
        """The projects that a user starred."""
        return self._list(Endpoint.STARRED_LIST, ProjectRecord, user, filters)

    def list_forks(
        self, project: Id, /, **filters: Unpack[arguments.ListForks]
    ) -> ProjectList:
        """The forks of a project that the token may see."""
        return self._list(Endpoint.FORK_LIST, ProjectRecord, project, filters)

    def list_project_users(
        self, project: Id, /, **filters: Unpack[arguments.ListProjectUsers]
    ) -> Listing[UserRecord]:
        """The members of a project, inherited ones too."""
        return self._list(Endpoint.USERS, UserRecord, project, filters)

    def list_project_groups(
        self, project: Id, /, **filters: Unpack[arguments.ListProjectGroups]
    ) -> GroupList:
        """The groups above a project; with ``with_shared`` those it is shared with."""
        kind = project_schema.ProjectGroupRecord
        return self._list(Endpoint.GROUPS, kind, project, filters)

    def list_share_locations(
        self, project: Id, /, **filters: Unpack[arguments.ListShareLocations]
    ) -> GroupList:
        """The groups that a project can be shared with."""
        kind = project_schema.ProjectGroupRecord
        return self._list(Endpoint.SHARE_LOCATIONS, kind, project, filters)

    def list_starrers(
        self, project: Id, /, **filters: Unpack[arguments.ListStarrers]
    ) -> Listing[project_schema.StarrerRecord]:
        """Who starred a project."""
        kind = project_schema.StarrerRecord
        return self._list(Endpoint.STARRERS, kind, project, filters)

    def _list(
        self, endpoint: Endpoint, record: type[T], owner: Id, filters: Values
    ) -> Listing[T]:
        known = parameters_of(endpoint)
        given = {name: value for name, value in filters.items() if value is not None}
        if "pagination" in known:
            is_timed = bool({"updated_after", "updated_before"} & given.keys())
            is_timed = is_timed and endpoint == Endpoint.LIST
            given.setdefault("order_by", "updated_at" if is_timed else "id")
        given.setdefault("per_page", self.client.settings.per_page)
        values = check_values(endpoint, given)
        is_of_user = "{user_id}" in endpoint.template
        what = _LISTED[endpoint].format(owner)
        about: About = "user" if is_of_user else "project" if owner else "service"
        path = endpoint.path(**{"user_id" if is_of_user else "id": owner})
        purpose = self.client.purpose(f"list {what}", about, owner)
        return Listing(
            self.client,
            Request("GET", path, purpose, query_of(values)),
            record,
            is_one_page="page" in values,
        )

    # -- one project -----------------------------------------------------------------

    async def show_project(
        self, project: Id, **options: Unpack[arguments.ShowProject]
    ) -> ProjectRecord:
        """One project, with the optional parts asked for."""
        action = f"read project {project}"
        return await self._read(Endpoint.SHOW, ProjectRecord, action, project, options)

    async def show_languages(self, project: Id) -> dict[str, float]:
        """The languages of a project's files, each with its per cent."""
        action = f"read the languages of project {project}"
        kind = dict[str, float]
        return await self._read(Endpoint.LANGUAGES, kind, action, project, {})

    async def _read(
        self,
        endpoint: Endpoint,
        kind: type[T],
        action: str,
        project: Id,
        options: Values,
    ) -> T:
        query = query_of(check_values(endpoint, options))
        purpose = self.client.purpose(action, "project", project)
        request = Request("GET", endpoint.path(id=project), purpose, query)
        return await self.client.fetch(request, kind)

    async def create_project(
        self, **attributes: Unpack[arguments.CreateProject]
    ) -> ProjectRecord:
        """Create a project in the token's own namespace, or in ``namespace_id``."""
        action = f"create project {attributes.get('path') or attributes.get('name')}"
        request = self._writing(Endpoint.CREATE, action, attributes)
        return await self.client.fetch(request, ProjectRecord)

    async def create_project_for_user(
        self, user_id: int, **attributes: Unpack[arguments.CreateProjectForUser]
    ) -> ProjectRecord:
        """Create a project that belongs to a user; for administrators."""
        action = f"create project {attributes.get('name')} for user {user_id}"
        request = self._writing(
            Endpoint.CREATE_FOR_USER, action, attributes, about="user", user_id=user_id
        )
        return await self.client.fetch(request, ProjectRecord)

    async def edit_project(
        self, project: Id, **attributes: Unpack[arguments.EditProject]
    ) -> ProjectRecord:
        """Change attributes of a project; the others stay.

        An empty text clears an attribute; ``avatar`` is a file, or an empty
        text to remove the picture.
        """
        action = f"edit project {project}"
        if not any(value is not None and value != {} for value in attributes.values()):
            raise Rejected(
                f"cannot {action}: no change is given",
                hint="give at least one attribute",
            )
        request = self._writing(Endpoint.EDIT, action, attributes, id=project)
        return await self.client.fetch(request, ProjectRecord)

    async def fork_project(
        self,
        project: Id,
        *,
        wait: bool = False,
        deadline_s: float | None = None,
        **attributes: Unpack[arguments.ForkProject],
    ) -> ProjectRecord:
        """Fork a project; the service makes the copy in the background.

        Waiting raises Rejected if the service gave it up, and Unavailable if it is not
        whole at the deadline; it goes on then.
        """
        target = attributes.get("namespace_path") or attributes.get("namespace_id")
        others = f"namespace {target}" if target else ""
        action = f"fork project {project}"
        fork = await self.client.fetch(
            self._writing(Endpoint.FORK, action, attributes, others=others, id=project),
            ProjectRecord,
        )
        return await self._whole(fork, deadline_s) if wait else fork

    async def _whole(
        self, fork: ProjectRecord, deadline_s: float | None
    ) -> ProjectRecord:
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

    async def _toggle_star(self, endpoint: Endpoint, verb: str, project: Id) -> Toggle:
        request = self._writing(
            endpoint, f"{verb} project {project}", may_change_nothing=True, id=project
        )
        answer = await self.client.send(request)
        if answer.status == HTTPStatus.NOT_MODIFIED:
            return Toggle(has_changed=False, project=None)
        return Toggle(True, decode(answer, ProjectRecord, request.purpose))

    async def archive_project(self, project: Id) -> Toggle:
        """Make a project read-only."""
        return await self._toggle_archive(Endpoint.ARCHIVE, "archive", project)

    async def unarchive_project(self, project: Id) -> Toggle:
        """Let an archived project be changed again."""
        return await self._toggle_archive(Endpoint.UNARCHIVE, "unarchive", project)

    async def _toggle_archive(
        self, endpoint: Endpoint, verb: str, project: Id
    ) -> Toggle:
        """The service answers a repetition alike, so it is read before."""
        before = await self.show_project(project)
        action = f"{verb} project {project}"
        request = self._writing(endpoint, action, owner=project, id=before.id)
        after = await self.client.fetch(request, ProjectRecord)
        return Toggle(before.archived != after.archived, after)

    async def delete_project(
        self, project: Id, **options: Unpack[arguments.DeleteProject]
    ) -> Deletion:
        """Delete a project, at once or after the service's delay.

        With ``permanently_remove`` and ``full_path`` a project that is marked
        for deletion goes at once.  What became of it is read afterwards.
        """
        action = f"delete project {project}"
        await self.client.send(
            self._writing(Endpoint.DELETE, action, options, id=project)
        )
        try:
            found = await self.show_project(project)
        except NotFound:
            return Deletion("removed", None)
        except RemoteError:
            return Deletion("accepted", None)
        return Deletion("scheduled" if found.deletion_date else "accepted", found)

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
        request = self._writing(Endpoint.RESTORE, action, id=project)
        return await self.client.fetch(request, ProjectRecord)

    async def share_project(
        self, project: Id, **options: Unpack[arguments.ShareProject]
    ) -> project_schema.ShareRecord:
        """Share a project with a group; its members get ``group_access``."""
        group = f"group {options.get('group_id')}"
        action = f"share project {project} with {group}"
        request = self._writing(
            Endpoint.SHARE, action, options, others=group, id=project
        )
        return await self.client.fetch(request, project_schema.ShareRecord)

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
    ) -> project_schema.MembersImportRecord:
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
        return await self.client.fetch(request, project_schema.MembersImportRecord)

    async def _number(self, project: Id) -> int:
        if isinstance(project, int) or (project.isascii() and project.isdigit()):
            return int(project)
        return (await self.show_project(project)).id

    # -- files -----------------------------------------------------------------------

    async def upload_file(
        self,
        project: Id,
        file: Path | bytes,
        name: str = "",
        *,
        progress: Progress | None = None,
    ) -> project_schema.UploadRecord:
        """Upload a file for issues, merge requests and comments of a project.

        Raises FolderError for a file that cannot be read, Rejected for its size or
        name.
        """
        name = _name_of(file, name)
        action = f"upload {one_line(name)} to project {project}"
        request = self._request(Endpoint.UPLOAD, action, id=project)
        sent = _uploading(request, "file", file, name, progress=progress)
        return await self.client.fetch(sent, project_schema.UploadRecord)

    async def set_avatar(
        self, project: Id, file: Path | bytes, name: str = ""
    ) -> project_schema.AvatarRecord:
        """Give a project a picture; raises FolderError, or Rejected if it is none."""
        action = f"set the avatar of project {project}"
        request = self._request(Endpoint.EDIT, action, id=project)
        sent = _uploading(request, "avatar", file, _name_of(file, name))
        return await self.client.fetch(sent, project_schema.AvatarRecord)

    async def remove_avatar(self, project: Id) -> project_schema.AvatarRecord:
        """Take a project's picture away."""
        action = f"remove the avatar of project {project}"
        request = self._writing(Endpoint.EDIT, action, {"avatar": ""}, id=project)
        return await self.client.fetch(request, project_schema.AvatarRecord)

    # -- requests --------------------------------------------------------------------

    def _request(
        self,
        endpoint: Endpoint,
        action: str,
        *,
        owner: Id = "",
        about: About = "project",
        others: str = "",
        **segments: Id,
    ) -> Request:
        """A write without a body.

        The first of the segments names what is changed where ``owner`` does not.
        """
        owner = owner or next(iter(segments.values()), "")
        purpose = self.client.purpose(action, about, owner, others, is_write=True)
        return Request(endpoint.method, endpoint.path(**segments), purpose)

    def _writing(
        self,
        endpoint: Endpoint,
        action: str,
        given: Values | None = None,
        *,
        may_change_nothing: bool = False,
        **about: Any,
    ) -> Request:
        """A write with a JSON body, or a multipart one where a file is in it."""
        request = self._request(endpoint, action, **about)
        values = check_values(endpoint, given or {})
        if request.method == "DELETE":
            return replace(request, query=query_of(values))
        for name, value in values.items():
            if isinstance(value, Path):
                rest = {key: held for key, held in values.items() if key != name}
                return _uploading(request, name, value, value.name, rest)
        return replace(
            request,
            json=msgspec.json.encode(values) if values else None,
            may_change_nothing=may_change_nothing,
        )


def check_values(endpoint: Endpoint, given: Values) -> dict[str, object]:
    """The values as they go to the service; those that are None are left out.

    Names in the mapping that is given as ``also`` are not checked.  UsageError for
    parameters that are unknown, missing, given twice or exclude each other.
    """
    known, rules = parameters_of(endpoint), rules_of(endpoint)
    also = cast("Values", given.get("also") or {})
    values = {name: value for name, value in given.items() if name != "also"}
    for name in values:
        if name not in known:
            raise _unknown(endpoint, name)
    checked = {name: value for name, value in values.items() if value is not None}
    for name in checked.keys() & also.keys():
        raise UsageError(
            f"{_named(endpoint)}: {name} is given twice", hint=f"remove one {name}"
        )
    checked |= also
    for name, row in known.items():
        if row.is_required and name not in checked:
            raise UsageError(
                f"{_named(endpoint)} needs {name}", hint=f"give {name}: {row.help}"
            )
    if rules.one_of and checked.keys().isdisjoint(rules.one_of):
        raise UsageError(
            f"{_named(endpoint)} needs {' or '.join(rules.one_of)}",
            hint=f"give at least one of {', '.join(rules.one_of)}",
        )
    for names in rules.exclusive:
        both = [name for name in names if name in checked]
        if len(both) > 1:
            raise UsageError(
                f"{_named(endpoint)} does not take {' together with '.join(both)}",
                hint=f"omit {' or '.join(both)}",
            )
    try:
        msgspec.json.encode(checked, enc_hook=lambda _file: "")
    except UnicodeEncodeError as exc:
        raise UsageError(
            f"{_named(endpoint)}: a value is not UTF-8", hint="write it as UTF-8"
        ) from exc
    return checked


def _unknown(endpoint: Endpoint, name: str) -> UsageError:
    known = parameters_of(endpoint)
    near = difflib.get_close_matches(name, known, 1, 0.6)
    others = [other for other in Endpoint if name in parameters_of(other)]
    if others:
        hint = f"it belongs to {', '.join(_named(other) for other in others[:3])}"
    elif near:
        hint = f"did you mean {near[0]}?"
    else:
        hint = f"it takes: {', '.join(known) or 'no parameters'}"
    return UsageError(f"{_named(endpoint)} takes no parameter {name}", hint=hint)


def _named(endpoint: Endpoint) -> str:
    """An endpoint as its method and path, for messages."""
    return f"{endpoint.method} {endpoint.template}"


_LISTED: Mapping[Endpoint, str] = {
    Endpoint.LIST: "the projects",
    Endpoint.USER_LIST: "the projects of {}",
    Endpoint.CONTRIBUTED_LIST: "the projects that {} contributed to",
    Endpoint.STARRED_LIST: "the projects that {} starred",
    Endpoint.FORK_LIST: "the forks of project {}",
    Endpoint.USERS: "the users of project {}",
    Endpoint.GROUPS: "the groups of project {}",
    Endpoint.SHARE_LOCATIONS: "the groups that project {} can be shared with",
    Endpoint.STARRERS: "who starred project {}",
}


def _uploading(
    request: Request,
    field: str,
    file: Path | bytes,
    name: str,
    values: Values | None = None,
    *,
    progress: Progress | None = None,
) -> Request:
    fields = fields_of(values or {})
    return replace(
        request,
        form=upload_form(field, file, name, fields, progress),
        form_fields=((field, name), *fields),
    )


def _name_of(file: Path | bytes, name: str) -> str:
    if not name and isinstance(file, Path):
        name = file.name
    if not name or not name.isprintable():
        raise UsageError(
            "a file without a printable name cannot be uploaded",
            hint="give the file a name without line breaks or control characters",
        )
    return name
