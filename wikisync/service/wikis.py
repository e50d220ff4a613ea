"""Wiki pages of projects and groups: list, read, create, edit, delete."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence

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
from wikisync.service.page_ids import moves_of_rename, page_ids, update_page_ids
from wikisync.service.pages import (
    ShownPage,
    encode_full_list,
    encode_list,
    shown_page,
)
from wikisync.service.project_tables import note_write
from wikisync.service.quirks import (
    BEND_PAGES,
    Quirk,
    bend_list,
    bend_listing,
    bend_page,
    bend_text,
    bend_title,
    bend_tree,
    check_new_title,
    foreign_page,
)
from wikisync.service.redirects import REDIRECTS_PATH
from wikisync.service.render_worker import RenderJob
from wikisync.service.rows import Project
from wikisync.service.tree import PageFile, WikiTree


async def list_pages(call: Call, kind: OwnerKind) -> web.Response:
    """``GET .../wikis``: every page in one answer, in byte order of paths."""
    parameters = call.parameters()
    with_content = parameters.boolean("with_content")
    parameters.check()
    _caller, owner, wiki = await call.wiki(kind, Operation.READ)
    service = call.service
    on = service.settings.quirks
    tree = await wiki.tree()
    assert tree is not None, "there is always a present tree"
    # the commit decides the whole body, so an unchanged list costs no reading
    shape = "full" if with_content else "short"
    etag = weak_etag(tree.commit or "", shape, service.settings.quirk_names)
    headers = {"ETag": etag}
    if call.is_unchanged(etag):
        return web.Response(status=304, headers=headers)
    pages = bend_listing(on, bend_tree(on, tree).pages)
    if with_content:
        body = await asyncio.to_thread(
            encode_full_list,
            wiki.repository,
            pages,
            service.pages,
            service.settings.limits.shown_bytes_max,
        )
    else:
        body = await asyncio.to_thread(encode_list, pages)
    if on & BEND_PAGES:
        ids = await _ids(call, kind, owner, [page.slug for page in pages])
        body = await asyncio.to_thread(bend_list, on, body, ids)
    return bytes_answer(body, headers=headers)


async def show_page(call: Call, kind: OwnerKind) -> web.Response:
    """``GET .../wikis/:slug``, as source or as HTML, now or at a commit."""
    parameters = call.parameters()
    render_html = parameters.boolean("render_html")
    version = parameters.text("version")
    parameters.check()
    _caller, owner, wiki = await call.wiki(kind, Operation.READ)
    on = call.service.settings.quirks
    foreign = foreign_page(on, call.segments["slug"])
    if foreign is not None:
        return json_answer(foreign)
    tree = await wiki.tree(version or None)
    if tree is None:
        raise not_found("Wiki Page")
    page = find_page(bend_tree(on, tree), call.segments["slug"])
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
    return await _answer(call, kind, owner, shown)


async def create_page(call: Call, kind: OwnerKind) -> web.Response:
    """``POST .../wikis``."""
    parameters = call.parameters()
    title = parameters.required_text("title")
    content = parameters.required_text("content")
    format = parameters.member("format", Format, WRITABLE_FORMATS)  # noqa: A001
    message = parameters.text("message")
    parameters.check()
    caller, owner, wiki = await call.wiki(kind, Operation.WRITE)
    settings = call.service.settings
    check_new_title(settings.quirks, title)
    content = bend_text(settings.quirks, content)

    def decide(tree: WikiTree) -> Change:
        return plan_create(
            tree,
            title,
            content,
            format or Format.MARKDOWN,
            limits=settings.limits_in_force,
            redirects=_redirects(wiki, tree),
            message=message or _message(caller, "created", title),
        )

    shown = await _write(call, kind, caller, owner, wiki, decide)
    return await _answer(call, kind, owner, shown, status=201)


async def edit_page(call: Call, kind: OwnerKind) -> web.Response:
    """``PUT .../wikis/:slug``: new text, title or format; children move along."""
    parameters = call.parameters()
    parameters.at_least_one_of("content", "title", "format")
    title = parameters.text("title")
    content = parameters.text("content")
    format = parameters.member("format", Format, WRITABLE_FORMATS)  # noqa: A001
    message = parameters.text("message")
    parameters.check()
    caller, owner, wiki = await call.wiki(kind, Operation.WRITE)
    settings = call.service.settings
    on = settings.quirks
    if title is not None:
        check_new_title(on, title)
    if content is not None:
        content = bend_text(on, content)
    if Quirk.FORMAT_DEFAULT in on:
        format = format or Format.MARKDOWN  # noqa: A001

    def decide(tree: WikiTree) -> Change:
        page = find_page(tree, call.segments["slug"])
        edit = Edit(bend_title(on, title, page.slug), content, format)
        return plan_edit(
            tree,
            page,
            edit,
            limits=settings.limits_in_force,
            redirects=_redirects(wiki, tree),
            moves_below=Quirk.KEEPS_BELOW not in on,
            message=message or _message(caller, "updated", title or page.title),
        )

    shown = await _write(call, kind, caller, owner, wiki, decide)
    return await _answer(call, kind, owner, shown)


async def delete_page(call: Call, kind: OwnerKind) -> web.Response:
    """``DELETE .../wikis/:slug``: one file; what is below it stays."""
    caller, owner, wiki = await call.wiki(kind, Operation.DELETE)

    def decide(tree: WikiTree) -> Change:
        page = find_page(tree, call.segments["slug"])
        return plan_delete(page, message=_message(caller, "deleted", page.title))

    await _change(call, kind, caller, owner, wiki, decide)
    return no_content()


async def note_activity(call: Call, caller: Caller, owner: Owner) -> None:
    """Move the project's ``last_activity_at``; groups have none."""
    if isinstance(owner, Project):
        assert caller.user is not None, "nobody writes without a user"
        if Quirk.ACTIVITY_STANDS_STILL in call.service.settings.quirks:
            return
        await call.service.records.ask(note_write, caller.user.id, owner.id)


async def _change(
    call: Call,
    kind: OwnerKind,
    caller: Caller,
    owner: Owner,
    wiki: WikiStorage,
    decide: Callable[[WikiTree], Change],
) -> tuple[Change, WikiTree]:
    """Commit what ``decide`` wants, and let the records follow."""
    found: list[WikiTree] = []

    def decide_here(tree: WikiTree) -> Change:
        found.append(tree)
        return decide(bend_tree(call.service.settings.quirks, tree))

    change, tree = await wiki.change(decide_here, caller.author)
    moved: Mapping[str, str] = {}
    gone: frozenset[str] = frozenset()
    if change.renamed is not None:
        moved = moves_of_rename(found[-1], tree, *change.renamed)
    elif change.page in change.removes:
        before, after = ({page.slug for page in t.pages} for t in (found[-1], tree))
        gone = frozenset(before - after)
    if moved or gone:
        await call.service.records.ask(update_page_ids, kind, owner.id, moved, gone)
    await note_activity(call, caller, owner)
    return change, tree


async def _write(
    call: Call,
    kind: OwnerKind,
    caller: Caller,
    owner: Owner,
    wiki: WikiStorage,
    decide: Callable[[WikiTree], Change],
) -> ShownPage:
    change, tree = await _change(call, kind, caller, owner, wiki, decide)
    page = next(page for page in tree.pages if page.path == change.page)
    return await _shown(call, wiki, page)


async def _shown(call: Call, wiki: WikiStorage, page: PageFile) -> ShownPage:
    content = await wiki.read(page.blob)
    return shown_page(page, content, call.service.settings.limits.shown_bytes_max)


async def _answer(
    call: Call, kind: OwnerKind, owner: Owner, shown: ShownPage, *, status: int = 200
) -> web.Response:
    on = call.service.settings.quirks
    if not on & BEND_PAGES:
        return json_answer(shown, status=status)
    ids = await _ids(call, kind, owner, [shown.slug])
    page = bend_page(on, msgspec.structs.asdict(shown), ids)
    return json_answer(page, status=status)


async def _ids(
    call: Call, kind: OwnerKind, owner: Owner, slugs: Sequence[str]
) -> Mapping[str, int]:
    if Quirk.META_ID not in call.service.settings.quirks:
        return {}
    return await call.service.records.ask(page_ids, kind, owner.id, slugs)


def _redirects(wiki: WikiStorage, tree: WikiTree) -> bytes:
    file = tree.file(REDIRECTS_PATH)
    return wiki.repository.read(file.blob) if file is not None else b""


def _message(caller: Caller, verb: str, title: str) -> str:
    assert caller.user is not None, "nobody writes without a user"
    return f"{caller.user.username} {verb} page: {title}"
