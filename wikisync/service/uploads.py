"""Files sent to a project for use in issues and the like.

A file goes from the request to disk and from disk to the answer, never whole
through memory.
"""

from __future__ import annotations

import asyncio
import secrets
import shutil
from pathlib import Path

from aiohttp import web

from wikisync.api.endpoints import Endpoint
from wikisync.private import make_private_file, make_private_folder
from wikisync.service.access import Act
from wikisync.service.answers import bad_request, json_answer, unmatched_route
from wikisync.service.attachments import clean_name, markdown_link, send_file
from wikisync.service.call import Call
from wikisync.service.parameters import SentFile
from wikisync.service.projects import facts as project_facts
from wikisync.service.tables import Tables


async def upload_file(call: Call) -> web.Response:
    """``POST /projects/:id/uploads``."""
    sent = call.values(Endpoint.UPLOAD)["file"]
    assert isinstance(sent, SentFile), "check refuses a missing file"
    caller, project = await call.project_for(Act.UPLOAD)
    service = call.service
    name = clean_name(sent.name, service.settings.limits.attachment_name_chars_max)
    if not name:
        raise bad_request("The file name cannot be empty")
    secret = secrets.token_hex(16)
    target = service.uploads_folder(project.id) / secret / name
    await asyncio.to_thread(_keep, sent.path, target)
    found = await service.records.ask(
        project_facts.add_upload,
        project.id,
        caller.person.id,
        secret,
        name,
        sent.size,
    )
    url = f"/uploads/{secret}/{name}"
    markdown = markdown_link(name, url)
    body = {
        "id": found.id,
        "alt": markdown.partition("](")[0].lstrip("!").removeprefix("["),
        "url": url,
        "full_path": f"/-/project/{project.id}{url}",
        "markdown": markdown,
    }
    return json_answer(body, status=201)


async def show_upload(call: Call) -> web.StreamResponse:
    """The file's bytes, for whoever may see the project."""
    caller = await call.caller()
    records = call.service.records
    project = await records.ask(Tables.project, call.segments["id"], caller.user_id)
    if project is None or not caller.sees(project):
        raise unmatched_route()
    found = await records.ask(
        project_facts.upload,
        project.id,
        call.segments["secret"],
        call.segments["file_name"],
    )
    if found is None:
        raise unmatched_route()
    folder = call.service.uploads_folder(project.id)
    return await send_file(call, folder / found.secret / found.name)


def _keep(source: Path, target: Path) -> None:
    make_private_folder(target.parent)
    make_private_file(target)
    shutil.copyfile(source, target)
