"""Forks: a project at once, filled by a job.  Rules: ``docs/service.md`` "Projects"."""

import asyncio

from aiohttp import web

from wikisync.contract.routes import Endpoint
from wikisync.service import validation
from wikisync.service.access import Act, Visibility
from wikisync.service.answers import Refusal, not_found, refuse
from wikisync.service.call import Call, Caller
from wikisync.service.projects import edits
from wikisync.service.projects import tables as project_tables
from wikisync.service.projects.files import copy_avatar
from wikisync.service.projects.reading import answer_project
from wikisync.service.projects.tables import NewProject, Taken
from wikisync.service.projects.views import level_of_feature, reads_code
from wikisync.service.rows import Namespace, Project
from wikisync.service.tables import Tables

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
    values = edits.read_attributes(call, Endpoint.FORK)
    caller, source = await call.project_for(Act.STAR, is_archived_too=True)
    if not _may_fork(source, caller):
        raise unmatched_message()
    space = await _fork_space(call, caller, values)
    branch = values.get("branches") or None
    repository = call.service.code(source.id).repository
    if branch and not await asyncio.to_thread(repository.has_branch, branch):
        raise not_found("Source Branch")
    new = _new_fork(call, caller, source, space, values)
    try:
        fork_id = await call.ask(project_tables.create_project, new)
    except Taken as taken:
        raise conflict(
            validation.sentences(validation.taken_problems(taken.fields))
        ) from taken
    if source.avatar is not None:
        await copy_avatar(call.service, source, fork_id)
    call.service.start_import(fork_id)
    return await answer_project(call, caller, fork_id, status=201)


def _new_fork(
    call: Call, caller: Caller, source: Project, space: Namespace, values: edits.Values
) -> NewProject:
    """The fork to be made, like its source but for what was asked; or 409."""
    path = values.get("path") or source.path
    name = values.get("name") or source.name
    problems = validation.name_problems(name) | validation.path_problems(path)
    description = values.get("description", source.description)
    problems |= validation.attribute_problems(
        {"description": description}, call.service.settings.limits.description_chars_max
    )
    if problems:
        raise conflict(validation.sentences(problems))
    attributes = {
        name: value
        for name, value in source.attributes.items()
        if name in _COPIED or name.endswith("_access_level")
    }
    if values.get("mr_default_target_self") is not None:
        attributes["mr_default_target_self"] = values["mr_default_target_self"]
    return NewProject(
        namespace=space,
        path=path,
        name=name,
        creator_id=caller.person.id,
        columns={
            "visibility": _fork_visibility(source, space, values.get("visibility")),
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


def conflict(message: object) -> Refusal:
    """What the service says when it cannot make a fork."""
    return Refusal(409, {"message": message})


def unmatched_message() -> Refusal:
    """Something that is not for this caller, without a name for it."""
    return Refusal(404, {"message": "404 Not Found"})


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


def _fork_visibility(
    source: Project, space: Namespace, wanted: Visibility | None
) -> Visibility:
    """As open as was asked, but no more than the source and the fork's group are."""
    bounds = (source.visibility, edits.group_visibility(space), wanted)
    return min((bound for bound in bounds if bound), key=validation.RANKS.__getitem__)


def _may_fork(source: Project, caller: Caller) -> bool:
    level = level_of_feature(source, "forking")
    membership = source.membership(caller.user)
    if level == "disabled" or (level == "private" and not membership.is_member):
        return False
    return reads_code(source, caller)
