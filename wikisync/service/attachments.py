"""Attachments of wikis: upload by REST, reading by the file route.

A file is never copied as a whole into memory; git's library holds the one it sends.
"""

import asyncio
import mimetypes
import re
import secrets
from collections.abc import AsyncIterator
from pathlib import Path, PurePosixPath
from urllib.parse import quote

import msgspec
from aiohttp import web

from wikisync.contract.schema import AttachmentLink, AttachmentRecord
from wikisync.core.model import split_extension
from wikisync.service import answers
from wikisync.service.access import Operation, Verdict
from wikisync.service.bodies import CHUNK_BYTES
from wikisync.service.call import Call, Caller, Owner
from wikisync.service.editing import CommitPlan
from wikisync.service.tables import Tables
from wikisync.service.tree import RepositoryFile, is_regular

SIGN_IN_PATH = "/users/sign_in"

_UNCLEAN = re.compile(r"[^\w.\-+]")
_IMAGES = frozenset({"bmp", "gif", "ico", "jpeg", "jpg", "png", "svg", "tiff", "webp"})
_MEDIA = _IMAGES | frozenset(
    {"m4v", "mov", "mp3", "mp4", "oga", "ogg", "ogv", "spx", "wav", "webm"}
)


async def upload(call: Call) -> web.Response:
    """``POST .../wikis/attachments``."""
    values = call.values()
    file, branch = values["file"], values.get("branch") or None
    caller, _owner, wiki = await call.wiki(Operation.WRITE)
    name = clean_name(file.name, call.service.limits.attachment_name_chars_max)
    if not name:
        raise answers.bad_request("The file name cannot be empty")
    path = f"uploads/{secrets.token_hex(16)}/{name}"
    blob = await asyncio.to_thread(wiki.repository.store_file, file.path)
    links = {path: RepositoryFile(path, blob)}
    change = CommitPlan(f"Upload attachment {name}", path, links=links)
    await wiki.change(lambda _tree: change, caller.author, branch=branch)
    wiki.note_write(caller.person.id)
    default = await asyncio.to_thread(wiki.repository.branch)
    record = AttachmentRecord(
        file_name=name,
        file_path=path,
        branch=branch or default,
        link=AttachmentLink(url=path, markdown=markdown_link(name, path)),
    )
    return answers.json_answer(msgspec.to_builtins(record), status=201)


async def show_file(call: Call) -> web.StreamResponse:
    """The bytes of any file but pages, for whoever may read the wiki; else 404."""
    owner = await readable_owner(call, await call.caller())
    if owner is None:
        raise answers.unmatched_route()
    wiki = call.service.wiki(call.kind, owner.id)
    tree = await wiki.tree()
    path = call.segments["path"]
    file = tree.file(path)
    is_page = split_extension(path) and not path.startswith("uploads/")
    if file is None or is_page or not is_regular(file.mode):
        raise answers.unmatched_route()
    etag = answers.weak_etag(file.path, file.blob)
    content = await asyncio.to_thread(wiki.repository.view, file.blob)
    headers = file_headers(file.path) | {"ETag": etag}
    headers["Content-Length"] = str(len(content))
    return web.Response(body=_chunks(content), headers=headers)


async def _chunks(content: memoryview) -> AsyncIterator[bytes]:
    for start in range(0, len(content), CHUNK_BYTES):
        yield bytes(content[start : start + CHUNK_BYTES])


async def readable_owner(call: Call, caller: Caller) -> Owner | None:
    """The owner named in the path, if the caller may read its wiki."""
    question = Tables.project if call.kind == "project" else Tables.group
    owner: Owner | None = await call.ask(
        question, call.segments["full_path"], caller.user_id
    )
    if owner is None:
        return None
    verdict = call.judge_wiki(owner, caller, Operation.READ)
    return owner if verdict is Verdict.ALLOWED else None


async def show_sign_in(_call: Call) -> web.Response:
    """The page that the file route leads to when it wants a session."""
    return web.Response(
        text="<!DOCTYPE html><html><head><title>Sign in</title></head>"
        "<body><form><input name=user></form></body></html>",
        content_type="text/html",
    )


def clean_name(name: str, chars_max: int) -> str:
    """The name under which a file is kept; empty when nothing is left of it."""
    leaf = re.split(r"[/\\]", name)[-1]
    stem, dot, extension = leaf.rpartition(".")
    if dot and stem:
        leaf = stem[: max(1, chars_max - len(extension) - 1)] + dot + extension
    cleaned = _UNCLEAN.sub("_", leaf)[:chars_max]
    return "" if set(cleaned) <= {"."} else cleaned


def markdown_link(name: str, path: str) -> str:
    """How a page mentions an attachment: pictures and media shown, others linked."""
    pure = PurePosixPath(name)
    extension = pure.suffix[1:].lower()
    text = pure.stem if extension in _MEDIA and extension != "svg" else name
    text = text.replace("]", r"\]")
    return f"{'!' if extension in _MEDIA else ''}[{text}]({path})"


def file_headers(path: str) -> dict[str, str]:
    """Headers that keep a browser from running what somebody uploaded."""
    name = PurePosixPath(path).name
    extension = PurePosixPath(path).suffix[1:].lower()
    kind, encoding = mimetypes.guess_type(name)
    is_image = extension in _IMAGES
    if kind is None or encoding is not None:
        kind = "application/octet-stream"
    shown = "inline" if is_image else "attachment"
    return {
        "Content-Type": kind,
        "Content-Disposition": f"{shown}; filename*=UTF-8''{quote(name, safe='')}",
        "Content-Security-Policy": "sandbox; default-src 'none';"
        " style-src 'unsafe-inline'",
        "X-Content-Type-Options": "nosniff",
        "Cache-Control": "max-age=0, private",
    }


async def send_file(path: Path) -> web.StreamResponse:
    """A file from disk, as whoever uploaded it wants it seen; 404 if it is gone."""
    if not await asyncio.to_thread(path.is_file):
        raise answers.unmatched_route()
    return web.FileResponse(path, headers=file_headers(path.name))
