"""What a project's links lead to: its branches and files, and empty lists."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from aiohttp import web

from wikisync.contract.project_schema import BranchRecord, CommitRecord
from wikisync.contract.routes import OtherEndpoint
from wikisync.service.access import Verdict, judge_code
from wikisync.service.answers import forbidden, too_large, unmatched_route, weak_etag
from wikisync.service.attachments import file_headers
from wikisync.service.call import Call, Caller
from wikisync.service.committing import CommitNote
from wikisync.service.projects.reading import answer_part, read_part
from wikisync.service.projects.views import level_of_feature
from wikisync.service.repository import WikiRepository
from wikisync.service.rows import Project
from wikisync.service.tables import Tables
from wikisync.service.tree import is_regular

SHORT_ID_CHARS = 8


async def list_branches(call: Call) -> web.Response:
    """``GET /projects/:id/repository/branches``, for who may read the code."""
    values, caller, project, window = await read_part(call, OtherEndpoint.BRANCHES)
    if judge_repository(project, caller, is_push=False) is not Verdict.ALLOWED:
        raise forbidden()
    can_push = judge_repository(project, caller, is_push=True) is Verdict.ALLOWED
    repository = call.service.code(project.id).repository
    search = str(values.get("search") or "")
    found = await asyncio.to_thread(_branches, repository, search, can_push=can_push)
    return answer_part(call, found, window)


def empty_list(endpoint: OtherEndpoint) -> Callable[[Call], Awaitable[web.Response]]:
    """What answers a list of things that this service has not."""

    async def answer(call: Call) -> web.Response:
        """A list that is always empty."""
        _values, _caller, _project, window = await read_part(call, endpoint)
        return answer_part(call, (), window)

    return answer


async def show_code_file(call: Call) -> web.StreamResponse:
    """A file of a project's repository, by the address of its page on the web.

    The bytes alone: text as plain text, all else to be kept; of the default branch.
    """
    caller = await call.caller()
    project = await call.ask(Tables.project, call.segments["full_path"], caller.user_id)
    if (
        project is None
        or judge_repository(project, caller, is_push=False) is not Verdict.ALLOWED
    ):
        raise unmatched_route()
    branch = f"{project.default_branch}/"
    path = call.segments["path"]
    code = call.service.code(project.id)
    tree = await code.tree()
    assert tree is not None, "there is always a present tree"
    file = tree.file(path.removeprefix(branch)) if path.startswith(branch) else None
    if file is None or not is_regular(file.mode):
        raise unmatched_route()
    repository = code.repository
    (size,) = await asyncio.to_thread(repository.sizes, [file.blob])
    if size > call.service.settings.limits.shown_bytes_max:
        # git itself brings larger ones
        raise too_large()
    content = await code.read(file.blob)
    headers = file_headers(file.path)
    headers["ETag"] = weak_etag(file.path, file.blob)
    if _is_text(content):
        headers |= {
            "Content-Type": "text/plain; charset=utf-8",
            "Content-Disposition": "inline",
        }
    return web.Response(body=content, headers=headers)


def judge_repository(project: Project, caller: Caller, *, is_push: bool) -> Verdict:
    """Whether the caller may read a project's own repository, or write to it."""
    level = level_of_feature(project, "repository")
    membership = project.membership(caller.user)
    return judge_code(project.door, level, membership, is_push=is_push)


def _branches(
    repository: WikiRepository, search: str, *, can_push: bool
) -> Sequence[BranchRecord]:
    default = repository.branch()
    return [
        BranchRecord(
            name=name,
            commit=_commit(commit),
            can_push=can_push,
            default=name == default,
        )
        for name, commit in repository.branches()
        if search in name
    ]


def _commit(commit: CommitNote) -> CommitRecord:
    made = commit.committer.moment.isoformat(timespec="milliseconds")
    return CommitRecord(
        id=commit.id,
        short_id=commit.id[:SHORT_ID_CHARS],
        created_at=made,
        parent_ids=commit.parents,
        title=commit.title,
        message=commit.message,
        author_name=commit.author.name,
        author_email=commit.author.email,
        authored_date=commit.author.moment.isoformat(timespec="milliseconds"),
        committer_name=commit.committer.name,
        committer_email=commit.committer.email,
        committed_date=made,
    )


def _is_text(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return b"\0" not in content
