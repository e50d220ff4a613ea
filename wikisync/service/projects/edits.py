"""Making and changing projects: create, create for a user, edit, transfer.

Every change is checked whole before anything is kept.
"""

import asyncio
from collections.abc import Mapping
from typing import Any, cast

from aiohttp import web

from wikisync.contract.parameters import parameters_of, replace_deprecated
from wikisync.contract.project_schema import AccessLevel
from wikisync.contract.routes import Endpoint
from wikisync.service import answers, jobs, validation
from wikisync.service.access import Act, Visibility
from wikisync.service.call import Call, Caller
from wikisync.service.committing import DEFAULT_BRANCH
from wikisync.service.editing import CommitPlan
from wikisync.service.import_fetch import address_problem, shown
from wikisync.service.jobs import BUILT_IN, BUILT_IN_TYPE, TEMPLATE_TYPE, URL_TYPE
from wikisync.service.listing import DEFAULT_STORAGE
from wikisync.service.parameters import SentFile
from wikisync.service.projects import tables as project_tables
from wikisync.service.projects.parts import check_avatar, keep_avatar, remove_avatar
from wikisync.service.projects.reading import answer_project
from wikisync.service.projects.tables import NewProject, Taken
from wikisync.service.projects.views import reads_code
from wikisync.service.repository import is_branch_name
from wikisync.service.rows import Namespace, Project, User
from wikisync.service.tables import Tables, id_of, is_number
from wikisync.service.validation import COLUMNS, KEPT

Values = Mapping[str, Any]

NOT_A_REPOSITORY = "not a git repository"
CREATE_LEVEL = AccessLevel.DEVELOPER
"""Least level in a group for making projects in it."""


async def create_project(call: Call) -> web.Response:
    """``POST /projects``: a project of the caller's, or in a group."""
    values = read_attributes(call)
    caller = await call.signed_in()
    user = caller.person
    held = await call.ask(project_tables.count_personal_projects, user.id)
    if held >= user.projects_limit:
        text = (
            f"You've reached your limit of {user.projects_limit} projects created."
            " Contact your GitLab administrator."
        )
        raise answers.Refusal(403, {"error": [text]})
    project_id = await _create(call, caller, user, values)
    return await answer_project(call, caller, project_id, status=201)


async def create_project_for_user(call: Call) -> web.Response:
    """``POST /projects/user/:user_id``: administrators only."""
    owner_id = call.number("user_id")
    values = read_attributes(call)
    caller = await call.signed_in()
    if not caller.is_admin:
        raise answers.forbidden()
    owner = await call.ask(Tables.user_by_id, owner_id)
    if owner is None:
        raise answers.not_found("User")
    held = await call.ask(project_tables.count_personal_projects, owner.id)
    if held >= owner.projects_limit:
        text = f"Personal project creation is limited to {owner.projects_limit}."
        raise _invalid({"limit_reached": [text]})
    project_id = await _create(call, caller, owner, values)
    return await answer_project(call, caller, project_id, status=201)


async def edit_project(call: Call) -> web.Response:
    """``PUT /projects/:id``: any attributes, the picture among them."""
    known = parameters_of(Endpoint.EDIT, is_free=call.service.is_free)
    if not any(name in call.raw for name in known):
        every = ", ".join(known)
        raise answers.bad_parameters(
            [f"{every} are missing, at least one parameter must be provided"]
        )
    values = read_attributes(call)
    caller, project = await call.project_for(Act.EDIT)
    if values.get("visibility") not in {None, project.visibility}:
        await call.project_for(Act.RELEASE)
    problems = await _edit_problems(call, caller, project, values)
    if problems:
        raise _invalid(problems)
    columns = _columns(values, caller)
    if "import_url" in values:
        # nothing is fetched from it any more, so it needs no password
        columns["import_url"] = shown(values["import_url"] or "") or None
    branch = values.get("default_branch")
    code = call.service.code(project.id)
    if branch and not await asyncio.to_thread(code.repository.has_branch, branch):
        text = f"Could not change HEAD: branch '{branch}' does not exist"
        raise _invalid({"base": [text]})
    kept, topics = _kept(values, caller), values.get("topics")
    try:
        await call.ask(project_tables.change_project, project.id, columns, kept, topics)
    except Taken as taken:
        raise _invalid(validation.taken_problems(taken.fields)) from taken
    if branch:
        await asyncio.to_thread(code.repository.show_branch, branch)
        await jobs.refresh_code(call.service, project.id)
    if "avatar" in call.raw:
        sent = values.get("avatar")
        if isinstance(sent, SentFile):
            await keep_avatar(call.service, project.id, sent.path, sent.name)
        else:
            await remove_avatar(call.service, project.id)
    return await answer_project(call, caller, project.id)


async def transfer_project(call: Call) -> web.Response:
    """``PUT /projects/:id/transfer``: to another namespace; the id stays."""
    wanted = str(call.values()["namespace"])
    caller, project = await call.project_for(Act.RELEASE, is_archived_too=True)
    named = id_of(wanted) if is_number(wanted) else wanted
    space = await call.ask(project_tables.namespace, named)
    if space is None or not await may_create(call, caller, caller.person, space):
        raise answers.not_found("Namespace")
    if space.id == project.namespace.id:
        raise answers.bad_request("Failed to transfer project Project is already in it")
    try:
        await call.ask(project_tables.transfer_project, project.id, space)
    except Taken as taken:
        text = "Project with same name or path in target namespace already exists"
        raise answers.bad_request(f"Failed to transfer project {text}") from taken
    return await answer_project(call, caller, project.id)


def read_attributes(call: Call) -> Values:
    """The attributes sent, under their present names."""
    endpoint, values = call.endpoint, call.values()
    assert isinstance(endpoint, Endpoint), "projects alone have attributes"
    # a value of null says nothing, but for texts, where it takes them away
    sent = {
        name: value
        for name, value in values.items()
        if value is not None or parameters_of(endpoint)[name].type == "string"
    }
    return replace_deprecated(endpoint, sent)


async def _create(call: Call, caller: Caller, owner: User, values: Values) -> int:
    space = await _space(call, caller, owner, values)
    wants_readme = bool(values.get("initialize_with_readme"))
    has_source = any(
        values.get(name)
        for name in ("import_url", "template_name", "template_project_id")
    )
    if wants_readme and has_source:
        raise answers.bad_request(NOT_A_REPOSITORY)
    path = values.get("path") or validation.path_from_name(values.get("name") or "")
    name = values.get("name") or path
    visibility = cast("Visibility", values.get("visibility") or "private")
    problems = validation.name_problems(name) | validation.path_problems(path)
    problems |= validation.visibility_problems(visibility, space.visibility)
    problems |= _other_problems(call, caller, values)
    branch = values.get("default_branch")
    if branch and not is_branch_name(branch):
        problems["default_branch"] = ["is not a valid branch name"]
    if problems:
        raise _invalid(problems)
    import_type, import_url = await _source(call, caller, values)
    columns = _columns(values, caller) | {"visibility": visibility}
    new = NewProject(
        namespace=space,
        path=path,
        name=name,
        creator_id=caller.person.id if space.kind == "group" else owner.id,
        columns={k: v for k, v in columns.items() if k not in {"name", "path"}},
        attributes=_kept(values, caller),
        topics=values.get("topics") or (),
        import_type=import_type,
        import_url=import_url,
    )
    try:
        project_id = await call.ask(project_tables.create_project, new)
    except Taken as taken:
        raise _invalid(validation.taken_problems(taken.fields)) from taken
    if wants_readme:
        text = f"# {name}\n\n{values.get('description') or ''}".rstrip() + "\n"
        change = CommitPlan("Initial commit", writes={"README.md": text.encode()})
        code = call.service.code(project_id, branch or DEFAULT_BRANCH)
        await code.change(lambda _tree: change, caller.author)
        await jobs.refresh_code(call.service, project_id)
    if import_type:
        is_fetched = import_type == URL_TYPE
        call.service.imports(is_fetched=is_fetched).put_nowait(project_id)
    if isinstance(sent := values.get("avatar"), SentFile):
        await keep_avatar(call.service, project_id, sent.path, sent.name)
    return project_id


async def _space(call: Call, caller: Caller, owner: User, values: Values) -> Namespace:
    wanted = values.get("namespace_id")
    if wanted is None:
        return await call.ask(project_tables.namespace_of_user, owner.id)
    space = await call.ask(project_tables.namespace, wanted)
    if space is None or not await may_create(call, caller, owner, space):
        raise _invalid({"namespace": ["is not valid"]})
    return space


async def may_create(call: Call, caller: Caller, owner: User, space: Namespace) -> bool:
    """Whether the caller may make a project there, for its owner to be."""
    if space.kind == "user":
        return space.user_id == owner.id or caller.is_admin
    group = await call.ask(Tables.group, str(space.id), caller.user_id)
    assert group is not None, "a namespace of a group is one"
    return group.membership(caller.user).has(CREATE_LEVEL)


async def _source(
    call: Call, caller: Caller, values: Values
) -> tuple[str | None, str | None]:
    """Kind and address of what a new project's repository is filled from."""
    if address := values.get("import_url"):
        imports = call.service.settings.imports
        if not imports.hosts:
            raise answers.forbidden("Import source is disabled")
        problem = address_problem(address, imports.schemes, imports.hosts)
        if problem is not None:
            raise _invalid({"import_url": [problem]})
        return URL_TYPE, address
    if template_id := values.get("template_project_id"):
        template = await call.ask(Tables.project, str(template_id), caller.user_id)
        if template is None or not reads_code(
            template, template.membership(caller.user)
        ):
            text = f"{template_id} is unknown or invalid"
            raise _invalid({"template_project_id": [text]})
        return TEMPLATE_TYPE, str(template.id)
    if name := values.get("template_name"):
        if name in BUILT_IN and not values.get("use_custom_template"):
            return BUILT_IN_TYPE, name
        found = await _custom_template(call, caller, values, name)
        if found is None:
            raise _invalid({"template_name": [f"'{name}' is unknown or invalid"]})
        return TEMPLATE_TYPE, str(found.id)
    if values.get("use_custom_template"):
        text = "must be used with template_name or template_project_id"
        raise _invalid({"use_custom_template": [text]})
    return None, None


async def _custom_template(
    call: Call, caller: Caller, values: Values, name: str
) -> Project | None:
    group_id = values.get("group_with_project_templates_id")
    if not values.get("use_custom_template") or group_id is None:
        return None
    space = await call.ask(project_tables.namespace, group_id)
    if space is None:
        return None
    found = await call.ask(Tables.project, f"{space.full_path}/{name}", caller.user_id)
    if found is None or not reads_code(found, found.membership(caller.user)):
        return None
    return found


async def _edit_problems(
    call: Call, caller: Caller, project: Project, values: Values
) -> validation.Problems:
    problems = _other_problems(call, caller, values)
    if "name" in values and values["name"] != project.name:
        problems |= validation.name_problems(values["name"] or "")
    if "path" in values and values["path"] != project.path:
        problems |= validation.path_problems(values["path"] or "")
    if "import_url" in values:
        address, schemes = values["import_url"], call.service.settings.imports.schemes
        if project.origin.is_under_way:
            text = "cannot be changed while the import is under way"
            problems["import_url"] = [text]
        elif address and (problem := address_problem(address, schemes)):
            problems["import_url"] = [problem]
    if values.get("mr_default_target_self") and project.forked_from is None:
        text = "This setting is allowed for forked projects only"
        problems["project_setting.mr_default_target_self"] = [text]
    visibility = values.get("visibility")
    if visibility:
        source = None
        if project.forked_from is not None:
            found = await call.ask(Tables.project, str(project.forked_from), None)
            source = None if found is None else found.visibility
        problems |= validation.visibility_problems(
            visibility, project.namespace.visibility, source
        )
    return problems


def _other_problems(call: Call, caller: Caller, values: Values) -> validation.Problems:
    limits = call.service.limits
    problems = validation.attribute_problems(values, limits.description_chars_max)
    was_sent = "approvals_before_merge" in call.raw and not call.service.is_free
    if was_sent and "approvals_before_merge" not in values:
        problems["approvals_before_merge"] = ["is not a number"]
    storage = _columns(values, caller).get("repository_storage", DEFAULT_STORAGE)
    if storage != DEFAULT_STORAGE:
        problems["repository_storage_moves"] = ["is invalid"]
    if isinstance(sent := values.get("avatar"), SentFile):
        problems |= check_avatar(sent, limits.avatar_bytes_max)
    return problems


def _columns(values: Values, caller: Caller) -> dict[str, object]:
    return {
        name: value
        for name, value in values.items()
        if name in COLUMNS
        and (value is not None or name == "description")
        and (name != "repository_storage" or (caller.is_admin and value))
    }


def _kept(values: Values, caller: Caller) -> dict[str, object]:
    return {
        name: value
        for name, value in values.items()
        if name in KEPT and (name != "mirror_user_id" or caller.is_admin)
    }


def _invalid(problems: validation.Problems) -> answers.Refusal:
    return answers.Refusal(400, {"message": problems})
