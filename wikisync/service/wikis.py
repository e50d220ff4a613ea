"""Wiki pages of projects and groups: list, read, create, edit, delete."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec
from aiohttp import web

from wikisync.model import WRITABLE_FORMATS, Format, OwnerKind
from wikisync.service.access import Operation
from wikisync.service.answers import (
    bytes_answer,
    json_answer,
    no_content,
    not_found,
    weak_etag,
)
from wikisync.service.call import Call, Caller, Owner
from wikisync.service.editing import (
    Change,
    Edit,
    find_page,
    plan_create,
    plan_delete,
    plan_edit,
)
from wikisync.service.instance import WikiStorage
from wikisync.service.pages import (
    ShownPage,
    encode_full_list,
    encode_list,
    shown_page,
)
from wikisync.service.project_tables import note_write
from wikisync.service.redirects import REDIRECTS_PATH
from wikisync.service.render_worker import RenderJob
from wikisync.service.rows import Project
from wikisync.service.tree import PageFile, WikiTree


async def list_pages(call: Call, kind: OwnerKind) -> web.Response:
    """``GET .../wikis``: every page in one answer, in byte order of paths."""
    parameters = call.parameters()
    with_content = parameters.boolean("with_content")
    parameters.check()
    _caller, _owner, wiki = await call.wiki(kind, Operation.READ)
    service = call.service
    if service.settings.faults.list_fails_empty:
        return json_answer([])
    tree = await wiki.tree()
    assert tree is not None, "there is always a present tree"
    # the commit decides the whole body, so an unchanged list costs no reading
    etag = weak_etag(tree.commit or "", "full" if with_content else "short")
    headers = {"ETag": etag}
    if call.is_unchanged(etag):
        return web.Response(status=304, headers=headers)
    if with_content:
        body = await asyncio.to_thread(
            encode_full_list,
            wiki.repository,
            tree.pages,
            service.pages,
            service.settings.limits.shown_bytes_max,
        )
    else:
        body = await asyncio.to_thread(encode_list, tree.pages)
    return bytes_answer(body, headers=headers)


async def show_page(call: Call, kind: OwnerKind) -> web.Response:
    """``GET .../wikis/:slug``, as source or as HTML, now or at a commit."""
    parameters = call.parameters()
    render_html = parameters.boolean("render_html")
    version = parameters.text("version")
    parameters.check()
    _caller, owner, wiki = await call.wiki(kind, Operation.READ)
    tree = await wiki.tree(version or None)
    if tree is None:
        raise not_found("Wiki Page")
    page = find_page(tree, call.segments["slug"])
    shown = await _shown(call, wiki, page)
    if render_html:
        job = RenderJob(
            shown,
            str(wiki.repository.path),
            tree.commit or "",
            kind,
            owner.full_path,
            call.service.url,
        )
        content = await asyncio.to_thread(call.service.renderer.render, job)
        shown = msgspec.structs.replace(shown, content=content)
    return json_answer(shown)


async def create_page(call: Call, kind: OwnerKind) -> web.Response:
    """``POST .../wikis``."""
    parameters = call.parameters()
    title = parameters.required_text("title")
    content = parameters.required_text("content")
    format = parameters.member("format", Format, WRITABLE_FORMATS)  # noqa: A001
    message = parameters.text("message")
    parameters.check()
    caller, owner, wiki = await call.wiki(kind, Operation.WRITE)

    def decide(tree: WikiTree) -> Change:
        return plan_create(
            tree,
            title,
            content,
            format or Format.MARKDOWN,
            limits=call.service.settings.limits,
            redirects=_redirects(wiki, tree),
            message=message or _message(caller, "created", title),
        )

    shown = await _write(call, caller, owner, wiki, decide)
    return json_answer(shown, status=201)


async def edit_page(call: Call, kind: OwnerKind) -> web.Response:
    """``PUT .../wikis/:slug``: new text, title or format; children move along."""
    parameters = call.parameters()
    parameters.at_least_one_of("content", "title", "format")
    edit = Edit(
        title=parameters.text("title"),
        content=parameters.text("content"),
        format=parameters.member("format", Format, WRITABLE_FORMATS),
    )
    message = parameters.text("message")
    parameters.check()
    caller, owner, wiki = await call.wiki(kind, Operation.WRITE)

    def decide(tree: WikiTree) -> Change:
        page = find_page(tree, call.segments["slug"])
        return plan_edit(
            tree,
            page,
            edit,
            limits=call.service.settings.limits,
            redirects=_redirects(wiki, tree),
            message=message or _message(caller, "updated", edit.title or page.title),
        )

    shown = await _write(call, caller, owner, wiki, decide)
    return json_answer(shown)


async def delete_page(call: Call, kind: OwnerKind) -> web.Response:
    """``DELETE .../wikis/:slug``: one file; what is below it stays."""
    caller, owner, wiki = await call.wiki(kind, Operation.DELETE)

    def decide(tree: WikiTree) -> Change:
        page = find_page(tree, call.segments["slug"])
        return plan_delete(page, message=_message(caller, "deleted", page.title))

    await wiki.change(decide, caller.author)
    await note_activity(call, caller, owner)
    return no_content()


async def note_activity(call: Call, caller: Caller, owner: Owner) -> None:
    """Move the project's ``last_activity_at``; groups have none."""
    if isinstance(owner, Project):
        assert caller.user is not None, "nobody writes without a user"
        await call.service.records.ask(note_write, caller.user.id, owner.id)


async def _write(
    call: Call,
    caller: Caller,
    owner: Owner,
    wiki: WikiStorage,
    decide: Callable[[WikiTree], Change],
) -> ShownPage:
    change, tree = await wiki.change(decide, caller.author)
    await note_activity(call, caller, owner)
    page = next(page for page in tree.pages if page.path == change.page)
    return await _shown(call, wiki, page)


async def _shown(call: Call, wiki: WikiStorage, page: PageFile) -> ShownPage:
    content = await wiki.read(page.blob)
    return shown_page(page, content, call.service.settings.limits.shown_bytes_max)


def _redirects(wiki: WikiStorage, tree: WikiTree) -> bytes:
    file = tree.file(REDIRECTS_PATH)
    return wiki.repository.read(file.blob) if file is not None else b""


def _message(caller: Caller, verb: str, title: str) -> str:
    assert caller.user is not None, "nobody writes without a user"
    return f"{caller.user.username} {verb} page: {title}"
