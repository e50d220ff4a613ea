"""Wiki pages of projects and groups: list, read, create, edit, delete.

A browser may read them where *Edit* and *View* of a website lead.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import suppress
from html import escape
from typing import Any
from uuid import uuid4

import msgspec
from aiohttp import web
from msgspec import Struct

from wikisync.contract.routes import OtherEndpoint
from wikisync.core.decoding import json_decoder
from wikisync.core.model import REDIRECTS_PATH, Format, WikiOwner
from wikisync.core.packaged import packaged_text
from wikisync.markup import frontmatter
from wikisync.service import answers, attachments, editing
from wikisync.service.access import Operation
from wikisync.service.call import Call, Caller, Owner
from wikisync.service.hooks import Action, WikiEvent
from wikisync.service.page_ids import moves_of_rename, update_page_ids
from wikisync.service.pages import ShownPage, encode_list, full_list, shown_page
from wikisync.service.rendering import RenderJob
from wikisync.service.repository import WikiStorage
from wikisync.service.rows import Project
from wikisync.service.tree import PageFile, WikiTree

_SHOWN = json_decoder(ShownPage)
HOME = "home"
EDIT = "/edit"
_POLICY = (
    "default-src 'none'; img-src 'self' data: https:; media-src 'self';"
    " style-src 'unsafe-inline'; base-uri 'none'; form-action 'none';"
    " frame-ancestors 'none'"
)
_PAGE = packaged_text(__package__, "page.html")
"""A page in the browser, as a format."""


class _Visit(Struct, frozen=True):
    """A caller who may do what it asks of a wiki."""

    call: Call
    caller: Caller
    owner: Owner
    wiki: WikiStorage


async def list_pages(call: Call) -> web.Response:
    """``GET .../wikis``: every page in one answer, in byte order of paths."""
    with_content = call.values().get("with_content")
    _caller, _owner, wiki = await call.wiki(Operation.READ)
    tree = await wiki.tree()
    # the commit decides the whole body, so an unchanged list costs no reading
    shape = "full" if with_content else "short"
    etag = answers.weak_etag(tree.commit or "", shape)
    headers = {"ETag": etag}
    if answers.etag_matches(call.request.headers.get("If-None-Match", ""), etag):
        return web.Response(status=304, headers=headers)
    if not with_content:
        body = await asyncio.to_thread(encode_list, tree.pages)
        return answers.bytes_answer(body, headers=headers)
    most = call.service.limits.shown_bytes_max
    parts = full_list(wiki.repository, tree.pages, most)
    first = await asyncio.to_thread(next, parts)
    if second := await asyncio.to_thread(next, parts, b""):
        return answers.PartsAnswer(_sent(first, second, parts), headers)
    return answers.bytes_answer(first, headers=headers)


async def _sent(
    first: bytes, part: bytes, others: Iterator[bytes]
) -> AsyncIterator[bytes]:
    yield first
    while part:
        yield part
        part = await asyncio.to_thread(next, others, b"")


async def show_page(call: Call) -> web.Response:
    """``GET .../wikis/:slug``, as source or as HTML, now or at a commit."""
    values = call.values()
    caller, owner, wiki = await call.wiki(Operation.READ)
    tree = await wiki.tree(values.get("version") or None)
    page = editing.find_page(tree, call.segments["slug"])
    shown = await _shown(call, wiki, page)
    if values.get("render_html"):
        named = WikiOwner(call.kind, owner.full_path)
        job = RenderJob(shown, tree, wiki.repository, named, call.service.url)
        is_stranger = caller.user is None
        html = await call.service.renderer.render(job, is_stranger=is_stranger)
        shown = msgspec.structs.replace(shown, content=html)
    return answers.json_answer(shown)


async def create_page(call: Call) -> web.Response:
    """``POST .../wikis``."""
    values = call.values()
    title, message = values["title"], values.get("message")
    content = _front_matter(values) + values["content"]
    visit = _Visit(call, *await call.wiki(Operation.WRITE))

    def decide(tree: WikiTree) -> editing.CommitPlan:
        return editing.plan_create(
            tree,
            title,
            content,
            Format(values.get("format") or Format.MARKDOWN),
            limits=call.service.limits,
            redirects=_redirects(visit.wiki, tree),
            message=message or _message(visit.caller, "created", title),
        )

    page, sent = await _write(visit, decide, "create")
    shown = await _shown(call, visit.wiki, page, sent)
    return answers.json_answer(shown, status=201)


async def edit_page(call: Call) -> web.Response:
    """``PUT .../wikis/:slug``: new text, title or format; children move along."""
    values = call.values()
    title, content = values.get("title"), values.get("content")
    markup, message = values.get("format"), values.get("message")
    front_matter, known = _front_matter(values), values.get("last_commit_sha")
    visit = _Visit(call, *await call.wiki(Operation.WRITE))
    repository = visit.wiki.repository

    def decide(tree: WikiTree) -> editing.CommitPlan:
        page = editing.find_page(tree, call.segments["slug"])
        if known and repository.last_commit_of(page.path) != known:
            raise answers.changed()
        text = content
        if front_matter and text is None:
            # it takes the place of what is there, but not of what is sent
            text = frontmatter.text_without(
                repository.read(page.blob).decode("utf-8", "replace")
            )
        if text is not None:
            text = front_matter + text
        return editing.plan_edit(
            tree,
            page,
            title=title,
            content=text,
            format=None if markup is None else Format(markup),
            limits=call.service.limits,
            redirects=_redirects(visit.wiki, tree),
            message=message or _message(visit.caller, "updated", title or page.title),
        )

    page, sent = await _write(visit, decide, "update")
    return answers.json_answer(await _shown(call, visit.wiki, page, sent))


async def delete_page(call: Call) -> web.Response:
    """``DELETE .../wikis/:slug``: one file; what is below it stays."""
    visit = _Visit(call, *await call.wiki(Operation.DELETE))

    def decide(tree: WikiTree) -> editing.CommitPlan:
        page = editing.find_page(tree, call.segments["slug"])
        message = _message(visit.caller, "deleted", page.title)
        return editing.CommitPlan(message, page.path, removes=frozenset({page.path}))

    await _write(visit, decide, "delete")
    return answers.no_content()


async def _write(
    visit: _Visit, decide: Callable[[WikiTree], editing.CommitPlan], action: Action
) -> tuple[PageFile, bytes | None]:
    """Commit what ``decide`` wants, let the records follow, and announce it.

    Gives the page as it is, or was before it was deleted; and its text if that is new.
    """
    service = visit.call.service
    before, change, after = await visit.wiki.change(decide, visit.caller.author)
    shown = before if action == "delete" else after
    page = shown.page(change.page)
    moved: Mapping[str, str] = {}
    gone: frozenset[str] = frozenset()
    if change.renamed is not None:
        moved = moves_of_rename(before, after, *change.renamed)
    elif action == "delete" and all(other.slug != page.slug for other in after.pages):
        gone = frozenset({page.slug})
    if moved or gone:
        await service.records.ask(
            update_page_ids, visit.call.kind, visit.owner.id, moved, gone
        )
    visit.wiki.note_write(visit.caller.person.id)
    # groups have no webhooks
    if service.settings.hooks and isinstance(visit.owner, Project):
        event = WikiEvent(
            id=uuid4(),
            action=action,
            project=visit.owner,
            user=visit.caller.person,
            page=page,
            repository=visit.wiki.repository,
            message=change.message,
            version=shown.commit,
            base_url=service.url,
        )
        service.deliveries.announce(event, service.settings.hooks)
    return page, change.writes.get(page.path)


async def _shown(
    call: Call, wiki: WikiStorage, page: PageFile, content: bytes | None = None
) -> ShownPage:
    """A page with its text, which is read unless it is given."""
    if content is None:
        content = await wiki.read(page.blob)
    return shown_page(page, content, call.service.limits.shown_bytes_max)


def _front_matter(values: Mapping[str, Any]) -> str:
    """The block that is put before the text, or nothing; 400 if it is too long."""
    title = (values.get("front_matter") or {}).get("title")
    if title is None:
        return ""
    if len(title) > frontmatter.FRONT_MATTER_CHARS_MAX:
        raise answers.invalid("front_matter", "is too long")
    return frontmatter.title_block(title)


def _redirects(wiki: WikiStorage, tree: WikiTree) -> bytes:
    file = tree.file(REDIRECTS_PATH)
    return wiki.repository.read(file.blob) if file is not None else b""


def _message(caller: Caller, verb: str, title: str) -> str:
    return f"{caller.person.username} {verb} page: {title}"


async def show_for_browser(call: Call) -> web.StreamResponse:
    """``GET .../-/wikis/:path``: a file as it is, or a page; else 404."""
    path, owner = call.segments.get("path", HOME), call.segments["full_path"]
    if "path" in call.segments:
        with suppress(answers.Refusal):
            return await attachments.show_file(call)
    segments = {"id": owner, "slug": path.removesuffix(EDIT)}
    raw = {**call.raw, "render_html": "true"}
    asked = msgspec.structs.replace(
        call, segments=segments, raw=raw, endpoint=OtherEndpoint.PAGE
    )
    try:
        answer = await show_page(asked)
    except answers.Refusal as refusal:
        if refusal.status in {401, 403, 404}:
            raise answers.unmatched_route() from None
        raise
    if answer.status != 200:
        return answer
    assert isinstance(answer.body, bytes)
    page = _SHOWN.decode(answer.body)
    title = escape(page.title)
    heading = "" if page.content.startswith("<h1") else f"<h1>{title}</h1>\n"
    text = _PAGE.format(
        title=title, path=escape(owner), heading=heading, content=page.content
    )
    headers = {"Content-Security-Policy": _POLICY, "Cache-Control": "no-store"}
    return web.Response(text=text, content_type="text/html", headers=headers)
