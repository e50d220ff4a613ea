"""What is done to a project as a whole: stars, archive, deletion, sharing, forks."""

import asyncio
from contextlib import suppress
from email.utils import parsedate_to_datetime

from aiohttp import web

from wikisync.contract.project_schema import AccessLevel
from wikisync.contract.routes import Endpoint
from wikisync.service import answers, validation
from wikisync.service.access import Act
from wikisync.service.answers import not_found, refuse
from wikisync.service.call import Call, Caller
from wikisync.service.projects import edits, people
from wikisync.service.projects import tables as project_tables
from wikisync.service.projects.parts import keep_avatar
from wikisync.service.projects.reading import answer_project
from wikisync.service.projects.tables import NewProject, Taken
from wikisync.service.projects.views import level_of_feature, reads_code
from wikisync.service.rows import Namespace, Project
from wikisync.service.tables import Tables


async def star_project(call: Call) -> web.Response:
    """``POST /projects/:id/star, /unstar``; 304 when it is so already."""
    caller, project = await call.project_for(Act.STAR, is_archived_too=True)
    question = people.star if call.endpoint is Endpoint.STAR else people.unstar
    if not await call.ask(question, caller.person.id, project.id):
        return web.Response(status=304)
    return await answer_project(call, caller, project.id, status=201)


async def archive_project(call: Call) -> web.Response:
    """``POST /projects/:id/archive, /unarchive``; again changes nothing."""
    caller, project = await call.project_for(Act.RELEASE, is_archived_too=True)
    is_archived = call.endpoint is Endpoint.ARCHIVE
    if project.is_archived is not is_archived:
        columns = {"is_archived": int(is_archived)}
        await call.ask(project_tables.change_project, project.id, columns, {})
    return await answer_project(call, caller, project.id, status=201)


async def delete_project(call: Call) -> web.Response:
    """``DELETE /projects/:id``: mark it, or remove it when it is marked."""
    values = call.values()
    _caller, project = await call.project_for(Act.RELEASE, is_archived_too=True)
    check_unmodified(call, project)
    service = call.service
    if values.get("permanently_remove"):
        if project.marked_on is None:
            raise answers.bad_request("Project must be marked for deletion first.")
        if values.get("full_path") != project.full_path:
            raise answers.bad_request(
                "`full_path` is incorrect. You must enter the complete path for"
                " the project."
            )
        await _remove(call, project)
    elif service.is_free or not service.settings.deletion.delay_days:
        await _remove(call, project)
    elif project.marked_on is None:
        await service.records.ask(project_tables.set_mark, project.id, is_marked=True)
    return answers.json_answer({"message": "202 Accepted"}, status=202)


async def restore_project(call: Call) -> web.Response:
    """``POST /projects/:id/restore``: take the mark away."""
    caller, project = await call.project_for(Act.RELEASE, is_archived_too=True)
    if project.marked_on is None:
        raise answers.bad_request("Project has not been marked for deletion")
    await call.ask(project_tables.set_mark, project.id, is_marked=False)
    return await answer_project(call, caller, project.id, status=201)


async def share_project(call: Call) -> web.Response:
    """``POST /projects/:id/share``: let a group's members in."""
    values = call.values()
    caller, project = await call.project_for(Act.EDIT)
    group_id = int(str(values["group_id"]))
    level = int(str(values["group_access"]))
    expires_on = values.get("expires_at")
    _check_may_grant(caller, project, level)
    # a group that the caller may not see answers like one that is not there
    group = await call.ask(Tables.group, str(group_id), caller.user_id)
    if group is None or not caller.sees(group):
        raise answers.Refusal(404, {"message": "404 Not Found"})
    above = await call.ask(people.ancestors, project.namespace.id, None)
    if group.id in {one.id for one in above}:
        text = (
            "Project cannot be shared with the group it is in or one of its ancestors."
        )
        raise answers.Refusal(409, {"message": text})
    last_day = str(expires_on) if expires_on else None
    share_id = await call.ask(people.add_share, project.id, group.id, level, last_day)
    if share_id is None:
        text = "Project already shared with this group"
        raise answers.Refusal(409, {"message": text})
    body = {
        "id": share_id,
        "project_id": project.id,
        "group_id": group.id,
        "group_access": level,
        "expires_at": last_day,
    }
    return answers.json_answer(body, status=201)


async def unshare_project(call: Call) -> web.Response:
    """``DELETE /projects/:id/share/:group_id``."""
    group_id = call.number("group_id")
    caller, project = await call.project_for(Act.EDIT)
    check_unmodified(call, project)
    for share in await call.ask(people.shares, [project.id]):
        if share.group_id == group_id:
            _check_may_grant(caller, project, share.access_level)
    if not await call.ask(people.remove_share, project.id, group_id):
        raise answers.not_found("Group Link")
    return answers.no_content()


async def import_members(call: Call) -> web.Response:
    """``POST /projects/:id/import_project_members/:source_id``.

    A maintainer makes nobody an owner: what is above its own level is capped.
    """
    source_id = call.number("source_id", "project_id")
    caller = await call.signed_in()
    target = await call.project(caller)
    source = await call.ask(Tables.project, str(source_id), caller.user_id)
    if source is None or not caller.sees(source):
        raise answers.not_found("Project")
    own, other = target.membership(caller.user), source.membership(caller.user)
    for membership in (own, other):
        if not membership.has(AccessLevel.MAINTAINER):
            raise answers.forbidden("Project")
    if target.is_archived:
        raise answers.forbidden()
    own_level = AccessLevel.OWNER if own.is_admin else own.level
    level_max = min(own_level, int(AccessLevel.OWNER))
    await call.ask(people.import_members, source.id, target.id, level_max)
    return answers.json_answer({"status": "success"}, status=201)


async def list_custom_attributes(call: Call) -> web.Response:
    """``GET /projects/:id/custom_attributes``: administrators only."""
    return answers.json_answer(await _custom_attributes(call))


async def show_custom_attribute(call: Call) -> web.Response:
    """``GET /projects/:id/custom_attributes/:key``."""
    for attribute in await _custom_attributes(call):
        if attribute["key"] == call.segments["key"]:
            return answers.json_answer(attribute)
    raise answers.Refusal(404, {"message": "404 Not found"})


async def set_custom_attribute(call: Call) -> web.Response:
    """``PUT /projects/:id/custom_attributes/:key``."""
    value = str(call.values()["value"])
    project = await _for_admin(call)
    key = call.segments["key"]
    await call.ask(project_tables.set_custom_attribute, project.id, key, value)
    return answers.json_answer({"key": key, "value": value})


async def delete_custom_attribute(call: Call) -> web.Response:
    """``DELETE /projects/:id/custom_attributes/:key``."""
    project = await _for_admin(call)
    is_removed = await call.ask(
        project_tables.set_custom_attribute, project.id, call.segments["key"], None
    )
    if not is_removed:
        raise answers.Refusal(404, {"message": "404 Not found"})
    return answers.no_content()


def check_unmodified(call: Call, project: Project) -> None:
    """Refuse (412) when the project changed after ``If-Unmodified-Since``."""
    header = call.request.headers.get("If-Unmodified-Since")
    if not header:
        return
    try:
        moment = parsedate_to_datetime(header)
    except (ValueError, TypeError, OverflowError):
        return
    # the header counts in seconds, the records in milliseconds
    if project.updated_at[:19] > moment.strftime("%Y-%m-%dT%H:%M:%S"):
        raise answers.Refusal(412, {"message": "412 Precondition Failed"})


def _check_may_grant(caller: Caller, project: Project, level: int) -> None:
    membership = project.membership(caller.user)
    if level >= AccessLevel.OWNER and not membership.has(AccessLevel.OWNER):
        raise answers.forbidden()


async def _remove(call: Call, project: Project) -> None:
    """Let a project go: from now on it is hidden, soon it is gone."""
    await call.ask(Tables.update, "project", project.id, {"is_going": 1})
    call.service.purge_wanted.set()


async def _custom_attributes(call: Call) -> list[dict[str, str]]:
    project = await _for_admin(call)
    found = await call.ask(project_tables.custom_attributes, [project.id])
    return found.get(project.id, [])


async def _for_admin(call: Call) -> Project:
    caller = await call.signed_in()
    project = await call.project(caller)
    if not caller.is_admin:
        raise answers.forbidden()
    return project


_COPIED = frozenset(
    {
        "ci_config_path",
        "ci_default_git_depth",
        "external_authorization_classification_label",
        "merge_commit_template",
        "shared_runners_enabled",
        "squash_commit_template",
        "suggestion_commit_message",
    }
)
"""Attributes that a fork has from its source, beside who may use which part."""


async def fork_project(call: Call) -> web.Response:
    """``POST /projects/:id/fork``: at once a project, later its repository."""
    values = edits.read_attributes(call)
    caller, source = await call.project_for(Act.STAR, is_archived_too=True)
    level = level_of_feature(source, "forking")
    membership = source.membership(caller.user)
    is_closed = level == "disabled" or (level == "private" and not membership.is_member)
    if is_closed or not reads_code(source, membership):
        raise answers.Refusal(404, {"message": "404 Not Found"})
    space = await _fork_space(call, caller, values)
    branch = values.get("branches") or None
    repository = call.service.code(source.id).repository
    if branch and not await asyncio.to_thread(repository.has_branch, branch):
        raise not_found("Source Branch")
    new = _new_fork(call, caller, source, space, values)
    try:
        fork_id = await call.ask(project_tables.create_project, new)
    except Taken as taken:
        raise _conflict(validation.taken_problems(taken.fields)) from taken
    if source.avatar is not None:
        picture = call.service.avatar_folder(source.id) / source.avatar
        with suppress(FileNotFoundError):
            await keep_avatar(call.service, fork_id, picture, source.avatar)
    call.service.imports(is_fetched=False).put_nowait(fork_id)
    return await answer_project(call, caller, fork_id, status=201)


def _new_fork(
    call: Call, caller: Caller, source: Project, space: Namespace, values: edits.Values
) -> NewProject:
    path = values.get("path") or source.path
    name = values.get("name") or source.name
    problems = validation.name_problems(name) | validation.path_problems(path)
    description = values.get("description", source.description)
    problems |= validation.attribute_problems(
        {"description": description}, call.service.limits.description_chars_max
    )
    if problems:
        raise _conflict(problems)
    attributes = {
        name: value
        for name, value in source.attributes.items()
        if name in _COPIED or name.endswith("_access_level")
    }
    if values.get("mr_default_target_self") is not None:
        attributes["mr_default_target_self"] = values["mr_default_target_self"]
    # as open as was asked, but no more than the source and the fork's group are
    bounds = source.visibility, space.visibility, values.get("visibility")
    return NewProject(
        namespace=space,
        path=path,
        name=name,
        creator_id=caller.person.id,
        columns={
            "visibility": min(filter(None, bounds), key=validation.RANKS.__getitem__),
            "description": description,
            "wiki_access_level": source.wiki_access_level,
            "issues_access_level": source.issues_access_level,
            "merge_requests_access_level": source.merge_requests_access_level,
        },
        attributes=attributes,
        forked_from=source.id,
        import_url=str(source.id),
        import_branch=values.get("branches") or None,
    )


def _conflict(problems: validation.Problems) -> answers.Refusal:
    return answers.Refusal(409, {"message": validation.sentences(problems)})


async def _fork_space(call: Call, caller: Caller, values: edits.Values) -> Namespace:
    wanted = values.get("namespace_id") or values.get("namespace_path")
    if not wanted:
        return await call.ask(project_tables.namespace_of_user, caller.person.id)
    space = await call.ask(project_tables.namespace, wanted)
    if space is None:
        raise not_found("Namespace")
    if space.kind == "group":
        group = await call.ask(Tables.group, str(space.id), caller.user_id)
        assert group is not None, "a namespace of a group is one"
        refuse(caller.judge(group), "Namespace")
    if not await edits.may_create(call, caller, caller.person, space):
        raise not_found("Target Namespace")
    return space
