"""What a project's links lead to: branches, files, uploads, its picture, empty lists.

This service has no events, issues, merge requests, labels or agents, and says so.
"""

import asyncio
import secrets
import shutil
from pathlib import Path, PurePosixPath

from aiohttp import web

from wikisync.contract.project_schema import BranchRecord
from wikisync.core.system.private import make_private_file, make_private_folder
from wikisync.service import answers, attachments
from wikisync.service.access import Act, Verdict, judge_code
from wikisync.service.call import Call, Caller
from wikisync.service.instance import Service
from wikisync.service.parameters import SentFile
from wikisync.service.projects.reading import answer_part, read_part
from wikisync.service.projects.tables import add_upload, has_upload
from wikisync.service.projects.views import level_of_feature
from wikisync.service.rows import Project
from wikisync.service.settings import KIB
from wikisync.service.tables import Tables
from wikisync.service.tree import is_regular
from wikisync.service.validation import Problems


async def list_branches(call: Call) -> web.Response:
    """``GET /projects/:id/repository/branches``, for who may read the code."""
    values, caller, project, window = await read_part(call)
    if judge_repository(project, caller, is_push=False) is not Verdict.ALLOWED:
        raise answers.forbidden()
    can_push = judge_repository(project, caller, is_push=True) is Verdict.ALLOWED
    repository = call.service.code(project.id).repository
    search = str(values.get("search") or "")
    default = await asyncio.to_thread(repository.branch)
    found = [
        BranchRecord(
            name=name, commit=commit, can_push=can_push, default=name == default
        )
        for name, commit in await asyncio.to_thread(repository.branches)
        if search in name
    ]
    return answer_part(call, found, window)


async def show_empty_list(call: Call) -> web.Response:
    """A list of things that this service has not: always empty."""
    _values, _caller, _project, window = await read_part(call)
    return answer_part(call, (), window)


async def show_code_file(call: Call) -> web.StreamResponse:
    """A file of a project's repository, by the address of its page on the web.

    The bytes alone: text as plain text, all else to be kept; of the default branch.
    """
    caller = await call.caller()
    project = await call.ask(Tables.project, call.segments["full_path"], caller.user_id)
    if project is None:
        raise answers.unmatched_route()
    if judge_repository(project, caller, is_push=False) is not Verdict.ALLOWED:
        raise answers.unmatched_route()
    branch = f"{project.default_branch}/"
    path = call.segments["path"]
    code = call.service.code(project.id)
    tree = await code.tree()
    file = tree.file(path.removeprefix(branch)) if path.startswith(branch) else None
    if file is None or not is_regular(file.mode):
        raise answers.unmatched_route()
    repository = code.repository
    (size,) = await asyncio.to_thread(repository.sizes, [file.blob])
    if size > call.service.limits.shown_bytes_max:
        # git itself brings larger ones
        raise answers.too_large()
    content = await code.read(file.blob)
    headers = attachments.file_headers(file.path)
    headers["ETag"] = answers.weak_etag(file.path, file.blob)
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


def _is_text(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return b"\0" not in content


async def upload_file(call: Call) -> web.Response:
    """``POST /projects/:id/uploads``."""
    sent = call.values()["file"]
    assert isinstance(sent, SentFile), "check refuses a missing file"
    caller, project = await call.project_for(Act.UPLOAD)
    service = call.service
    name = attachments.clean_name(sent.name, service.limits.attachment_name_chars_max)
    if not name:
        raise answers.bad_request("The file name cannot be empty")
    secret = secrets.token_hex(16)
    target = service.uploads_folder(project.id) / secret / name
    await asyncio.to_thread(replace_file, sent.path, target)
    upload_id = await service.records.ask(
        add_upload, project.id, caller.person.id, secret, name, sent.size
    )
    url = f"/uploads/{secret}/{name}"
    markdown = attachments.markdown_link(name, url)
    body = {
        "id": upload_id,
        "alt": markdown.partition("](")[0].lstrip("!").removeprefix("["),
        "url": url,
        "full_path": f"/-/project/{project.id}{url}",
        "markdown": markdown,
    }
    return answers.json_answer(body, status=201)


async def show_upload(call: Call) -> web.StreamResponse:
    """The file's bytes, for whoever may see the project."""
    project = await _seen_project(call)
    secret, name = call.segments["secret"], call.segments["file_name"]
    if not await call.ask(has_upload, project.id, secret, name):
        raise answers.unmatched_route()
    folder = call.service.uploads_folder(project.id)
    return await attachments.send_file(folder / secret / name)


# by the file's first bytes; what calls itself a picture and is none goes nowhere
_SIGNATURES: tuple[tuple[bytes, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"BM", "image/bmp"),
    (b"II*\0", "image/tiff"),
    (b"MM\0*", "image/tiff"),
    (b"\0\0\1\0", "image/vnd.microsoft.icon"),
)
_TYPES = tuple(dict.fromkeys(kind for _begin, kind in _SIGNATURES))
_EXTENSIONS = frozenset({"png", "jpg", "jpeg", "gif", "bmp", "tiff", "ico"})
_NAME_CHARS_MAX = 255


def check_avatar(sent: SentFile, bytes_max: int) -> Problems:
    """What is wrong with a picture."""
    if sent.size > bytes_max:
        text = f"is too big (should be at most {bytes_max // KIB} KiB)"
        return {"avatar": [text]}
    extension = PurePosixPath(sent.name).suffix[1:].lower()
    with sent.path.open("rb") as file:
        begin = file.read(8)
    is_picture = any(begin.startswith(signature) for signature, _kind in _SIGNATURES)
    if extension not in _EXTENSIONS or not is_picture:
        text = (
            "file format is not supported. Please try one of the following"
            f" supported formats: {', '.join(_TYPES)}"
        )
        return {"avatar": [text]}
    return {}


async def keep_avatar(
    service: Service, project_id: int, picture: Path, name: str
) -> None:
    """Make a checked file the project's picture."""
    name = attachments.clean_name(name, _NAME_CHARS_MAX)
    target = service.avatar_folder(project_id) / name
    await asyncio.to_thread(replace_file, picture, target)
    await service.records.ask(Tables.update, "project", project_id, {"avatar": name})


async def remove_avatar(service: Service, project_id: int) -> None:
    """Take the project's picture away, if it has one."""
    await service.records.ask(Tables.update, "project", project_id, {"avatar": None})
    folder = service.avatar_folder(project_id)
    await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)


async def show_avatar(call: Call) -> web.StreamResponse:
    """The picture, for whoever may see the project."""
    project = await _seen_project(call)
    name = call.segments["file_name"]
    if project.avatar != name:
        raise answers.unmatched_route()
    return await attachments.send_file(call.service.avatar_folder(project.id) / name)


async def _seen_project(call: Call) -> Project:
    """The project named in the path; to who may not see it there is no such address."""
    caller = await call.caller()
    found = await call.ask(Tables.project, call.segments["id"], caller.user_id)
    if found is None or not caller.sees(found):
        raise answers.unmatched_route()
    return found


def replace_file(source: Path, target: Path) -> None:
    """Put a file alone into its folder, whole or not at all."""
    make_private_folder(target.parent)
    fresh = target.with_name(f".{secrets.token_hex(4)}.new")
    make_private_file(fresh)
    shutil.copyfile(source, fresh)
    fresh.replace(target)
    for other in target.parent.iterdir():
        if other != target:
            other.unlink(missing_ok=True)
