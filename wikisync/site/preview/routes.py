"""What the editor in the page asks for, and what is answered.

Every request is a POST with JSON, so that ``guard`` lets nobody but our own pages ask.
It names a page by its address in the preview; the file behind it is what the scan of
the folder found, never a path that the browser sends.
"""

import hashlib
import re
import unicodedata
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from aiohttp import web
from msgspec import Struct

from wikisync import errors
from wikisync.core.decoding import json_decoder
from wikisync.core.model import Format, Slug
from wikisync.core.system.parallel import finish_in_thread
from wikisync.folder.naming import attachment_path
from wikisync.markup.filters.text import emoji_names
from wikisync.merging.conflict import Piece
from wikisync.site.preview import writing
from wikisync.site.preview.checks import ticked
from wikisync.site.preview.editor import Editor
from wikisync.site.preview.moves import make_moves, plan_moves
from wikisync.site.preview.site import LiveSite, WritablePage
from wikisync.site.preview.states import Decisions, digest_of_pieces

FILE_BYTES_MAX = 32 * 1024 * 1024
"""Of a picture or file that is pasted or dropped."""
BODY_BYTES_MAX = 2 * writing.TEXT_BYTES_MAX * 6 + 4096
"""Two texts, every character escaped."""
FILE_BODY_BYTES_MAX = FILE_BYTES_MAX * 4 // 3 + 4096
HASH_DIGITS = 16
"""Of a file's hash in its path; the service's own have 32, and are never uploaded."""
HEADINGS: Mapping[Format, str] = {
    Format.MARKDOWN: "# ",
    Format.ASCIIDOC: "= ",
    Format.ORG: "* ",
    Format.RDOC: "= ",
}
_STATUSES = (
    (errors.NotFound, 404),
    (errors.PreconditionFailed, 409),
    (errors.FolderError, 500),
)
_NO_WORKSPACE = "this folder is in no workspace"
_UNFIT = re.compile(r'[\s<>:"|?*\\/#%\[\](){}\x00-\x1f\x7f-\x9f]+')

InThread = Callable[..., Awaitable[Any]]


class Wish(Struct, frozen=True, forbid_unknown_fields=True):
    """About the page that the window shows, by its output path."""

    at: str


class LinkWish(Wish, frozen=True):
    """The text of the page, or the pages and files that a link may lead to."""

    href: str = ""
    """A link of the page: what one that leads nowhere begins with, or the headings of
    the page that it leads to."""


class DraftWish(Wish, frozen=True):
    """The page as HTML with a text that no file holds."""

    text: str
    known: str = ""
    """Key of the page or draft that is shown."""
    stay: tuple[int, int] | None = None
    """Where ``text`` goes into that draft's, in UTF-16 units: from here, to there; None
    for all of the text."""
    is_whole: bool = False
    """The blocks around the change will not do."""


class SaveWish(Wish, frozen=True):
    """Write a text that was made from another one."""

    text: str
    base: str
    is_dry: bool = False
    """Only tell what the file would hold."""


class CreateWish(Wish, frozen=True):
    """Begin a page."""

    name: str = ""
    href: str = ""
    template: str = ""
    text: str | None = None
    """Of a file that went away while it was edited; ``name`` is its path."""


class RenameWish(Wish, frozen=True):
    """Give the page another name, and every link to it."""

    name: str
    is_dry: bool = False


class DeleteWish(Wish, frozen=True):
    """Move the page into the trash; it holds this text."""

    text: str


class BatchWish(Wish, frozen=True):
    """Approve or refuse what a safety stop holds."""

    batch: int
    is_approved: bool


class SettleWish(Wish, frozen=True):
    """Settle the conflict of the page with a text."""

    text: str
    seen: str
    """Digest of what was shown."""


class EarlierWish(Wish, frozen=True):
    """The texts that the page had."""

    of_wiki: bool = False
    """Those of the wiki's history, for which the service is asked."""


class BackWish(Wish, frozen=True):
    """Make an earlier text the page."""

    id: str


class FileWish(Wish, frozen=True):
    """Keep a picture or another file."""

    name: str
    content: bytes


class TickWish(Wish, frozen=True):
    """Tick a task box of the page, or not."""

    number: int
    is_done: bool
    text: str | None = None
    """That the page is shown with and no file holds: nothing is written."""


WISHES: Mapping[str, msgspec.json.Decoder[Any]] = {
    "source": json_decoder(LinkWish),
    "draft": json_decoder(DraftWish),
    "save": json_decoder(SaveWish),
    "create": json_decoder(CreateWish),
    "rename": json_decoder(RenameWish),
    "delete": json_decoder(DeleteWish),
    "restore": json_decoder(Wish),
    "names": json_decoder(LinkWish),
    "edit": json_decoder(Wish),
    "tick": json_decoder(TickWish),
    "file": json_decoder(FileWish),
    "decide": json_decoder(BatchWish),
    "settle": json_decoder(SettleWish),
    "back": json_decoder(BackWish),
    "state": json_decoder(Wish),
    "clash": json_decoder(Wish),
    "earlier": json_decoder(EarlierWish),
}
"""What is asked, by the last part of the address; ``WriteRoutes`` answers each in a
method of that name.  Nothing else of it can be asked for."""
_READS = frozenset({"state", "clash", "earlier"})


class WriteRoutes(Struct, frozen=True):
    """The routes of the editor."""

    _site: LiveSite
    _in_thread: InThread
    """Works for the site."""
    _refresh: Callable[[frozenset[str]], Awaitable[None]]
    """Takes changes over."""
    _desk_of: Callable[[Path], writing.WikiDesk]
    _decisions: Decisions | None
    _editor: Editor
    is_read_only: bool

    def add(self, router: web.UrlDispatcher, prefix: str) -> None:
        """Answer below an address."""
        for name in WISHES:
            router.add_post(f"{prefix}{name}", partial(self._answer, name))

    async def _answer(self, name: str, request: web.Request) -> web.Response:
        if self.is_read_only and name not in _READS:
            return said(403, "this preview is read-only")
        bytes_max = FILE_BODY_BYTES_MAX if name == "file" else BODY_BYTES_MAX
        answer: Callable[[Any], Awaitable[object]] = getattr(self, f"_{name}")
        try:
            body = await request.clone(client_max_size=bytes_max).read()
            wish = WISHES[name].decode(body)
            made = await answer(wish)
        except msgspec.DecodeError as exc:
            return said(400, f"the request cannot be read: {exc}")
        except errors.WikisyncError as exc:
            statuses = (one for kind, one in _STATUSES if isinstance(exc, kind))
            return said(next(statuses, 400), exc.message, exc.hint or "")
        answered = msgspec.json.encode(made)
        return web.Response(body=answered, content_type="application/json")

    async def _page(self, at: str) -> tuple[WritablePage, writing.WikiDesk]:
        page = await self._in_thread(self._site.writable, at)
        if page is None:
            raise errors.NotFound("there is no file behind this page")
        return page, self._desk(page)

    def _desk(self, page: WritablePage) -> writing.WikiDesk:
        return self._desk_of(page.wiki.source.folder)

    async def _source(self, wish: LinkWish) -> object:
        writable = self._site.writable
        page = None if wish.href else await self._in_thread(writable, wish.at)
        if page is None:
            return await self._beginning(wish)
        text = await finish_in_thread(self._desk(page).read, page.path)
        if text is None:
            raise errors.NotFound(f"{page.path} is gone")
        at = await self._in_thread(self._site.address_of, page.wiki, page.path)
        earlier = await self._in_thread(self._site.earlier_paths, page)
        return {
            "file": page.path,
            "title": page.wiki.source.title,
            "address": at,
            "slug": page.slug,
            "wiki": _id_of(page, ""),
            "ids": [_id_of(page, one) for one in (page.path, *earlier)],
            "format": page.format,
            "text": text,
            "is_conflict": bool(page.conflict),
            "templates": sorted(page.wiki.templates),
            "bytes_max": FILE_BYTES_MAX,
        }

    async def _beginning(self, wish: LinkWish) -> object:
        """What a page that is not there may begin with."""
        page = await self._new_page(wish.at, wish.href)
        trashed = await finish_in_thread(self._desk(page).has_trashed, page.path)
        address = await self._in_thread(self._site.address_of, page.wiki, page.path)
        return {
            "file": "",
            "new": page.path,
            "wiki": _id_of(page, ""),
            "address": address,
            "templates": sorted(page.wiki.templates),
            "is_trashed": trashed,
        }

    async def _new_page(self, at: str, href: str = "") -> WritablePage:
        found = await self._in_thread(self._site.new_page, at, "", href)
        page: WritablePage | None = found
        if page is None:
            raise errors.NotFound("no page can have this address")
        return page

    async def _draft(self, wish: DraftWish) -> object:
        draw = partial(self._site.draft, is_whole=wish.is_whole)
        return await self._in_thread(draw, wish.at, wish.text, wish.known, wish.stay)

    async def _save(self, wish: SaveWish) -> writing.Written:
        page = await self._in_thread(self._site.writable, wish.at)
        if page is None:
            return writing.Written("gone", "")
        save = partial(self._desk(page).save, is_dry=wish.is_dry)
        asked = (page.path, page.format, wish.text, wish.base)
        return await finish_in_thread(save, *asked)

    async def _create(self, wish: CreateWish) -> object:
        find = partial(self._site.new_page, is_file=wish.text is not None)
        page = await self._in_thread(find, wish.at, wish.name, wish.href)
        if page is None:
            message = f"{(wish.name or wish.at)[:80]!r} cannot be the name of a page"
            raise errors.UsageError(message, hint="choose another name")
        text = wish.text
        if text is None:
            name = page.slug.casefold()
            known = page.wiki.pages.items()
            twins = (one.path for slug, one in known if slug.casefold() == name)
            if (twin := next(twins, page.path)) != page.path:
                message = f"{twin} exists already, and has that name for the wiki"
                raise errors.PreconditionFailed(message, hint="choose another name")
            text = await finish_in_thread(_beginning_of, page, wish.template)
        content = writing.encoded(text, b"", page.path)
        await finish_in_thread(self._desk(page).create, page.path, content)
        return await self._shown(page, page.path)

    async def _rename(self, wish: RenameWish) -> object:
        page, desk = await self._page(wish.at)
        moves = await finish_in_thread(plan_moves, desk, page.path, wish.name)
        if not moves.files:
            raise errors.PreconditionFailed(f"{page.path} was renamed in the meantime")
        make = partial(finish_in_thread, make_moves, desk, moves)
        clashing = [] if wish.is_dry else await make()
        answer = {
            "files": [[file.path, file.target] for file in moves.files],
            "links": {one.path: one.count for one in moves.texts},
            "left": [*moves.left, *clashing],
        }
        if wish.is_dry:
            return answer
        changed = {*(one.path for one in moves.texts)}
        changed |= {way for file in moves.files for way in (file.path, file.target)}
        to = next(file.target for file in moves.files if file.path == page.path)
        for file in moves.files:
            # with other links in its text it is not known again by that
            renamed = (desk.root, file.path, file.target)
            await self._in_thread(self._site.rename, *renamed)
        return answer | await self._shown(page, to, *changed)

    async def _delete(self, wish: DeleteWish) -> object:
        page, desk = await self._page(wish.at)
        await finish_in_thread(desk.delete, page.path, wish.text)
        return await self._shown(page, page.path)

    async def _restore(self, wish: Wish) -> object:
        page = await self._new_page(wish.at)
        path = await finish_in_thread(self._desk(page).restore, page.path)
        return await self._shown(page, path)

    async def _file(self, wish: FileWish) -> object:
        _, desk = await self._page(wish.at)
        if len(wish.content) > FILE_BYTES_MAX:
            raise errors.SiteError(f"the file has more than {FILE_BYTES_MAX >> 20} MiB")
        path = file_path(wish.name, wish.content)
        with suppress(errors.PreconditionFailed):  # the same bytes are there
            await finish_in_thread(desk.create, path, wish.content)
        await self._refresh(frozenset({str(desk.root / path)}))
        return {"path": path}

    async def _names(self, wish: LinkWish) -> object:
        page, _ = await self._page(wish.at)
        if wish.href:
            headings = self._site.headings
            return {"headings": await self._in_thread(headings, page, wish.href)}
        titles = await self._in_thread(self._site.titles, page.wiki)
        return {
            "pages": titles,
            "files": [*page.wiki.attachments, *sorted(page.wiki.loose.names)],
            "emoji": emoji_names() if page.format is Format.MARKDOWN else {},
        }

    async def _edit(self, wish: Wish) -> object:
        page, desk = await self._page(wish.at)
        return await finish_in_thread(self._editor.open, desk.root / page.path)

    async def _tick(self, wish: TickWish) -> object:
        page, desk = await self._page(wish.at)
        is_draft = wish.text is not None
        text = wish.text if is_draft else await finish_in_thread(desk.read, page.path)
        render = partial(self._site.body, wish.at)
        tick = partial(ticked, is_done=wish.is_done, render=render)
        new = await self._in_thread(tick, text or "", page.format, wish.number)
        if new is None:
            message = f"the box cannot be found in the text of {page.path}"
            raise errors.SiteError(message)
        if is_draft:
            return writing.Written("saved", new)
        return await finish_in_thread(desk.save, page.path, page.format, new, text)

    # What a person decides -------------------------------------------------------

    async def _state(self, wish: Wish) -> object:
        wiki = await self._in_thread(self._site.wiki_at, wish.at)
        if wiki is None or self._decisions is None:
            return {"line": "", "rows": []}
        owner, paths = wiki
        sync_status = await finish_in_thread(self._decisions.sync_status, owner)
        found = [
            {
                "sentence": row.sentence,
                "at": paths.get(Slug(row.slug)),
                "is_conflict": row.is_conflict,
                "batch": row.batch,
                "pages": [(one, paths.get(Slug(one))) for one in row.pages],
            }
            for row in sync_status.rows
        ]
        return {"line": sync_status.headline, "rows": found}

    async def _decide(self, wish: BatchWish) -> object:
        wiki = await self._in_thread(self._site.wiki_at, wish.at)
        if wiki is None or self._decisions is None:
            raise errors.NotFound(_NO_WORKSPACE)
        decide = partial(self._decisions.decide, is_approved=wish.is_approved)
        return {"said": await finish_in_thread(decide, wiki[0], wish.batch)}

    async def _clash(self, wish: Wish) -> object:
        page, desk = await self._page(wish.at)
        pieces: Sequence[Piece] = ()
        if self._decisions is not None:
            owner = page.wiki.source.owner
            pieces = await finish_in_thread(self._decisions.pieces, owner, page.slug)
        if not pieces and page.conflict:
            pieces = await finish_in_thread(desk.pieces, page.conflict)
        return {"parts": writing.parts_of(pieces), "seen": digest_of_pieces(pieces)}

    async def _settle(self, wish: SettleWish) -> object:
        page, desk = await self._page(wish.at)
        if self._decisions is not None:
            settle, owner = self._decisions.settle, page.wiki.source.owner
            asked = (owner, page.slug, wish.text, wish.seen)
            return {"said": await finish_in_thread(settle, *asked)}
        if not page.conflict:
            raise errors.NotFound(f"{page.path} has no conflict any more")
        await finish_in_thread(desk.settle, page.conflict, wish.text, wish.seen)
        return {"said": "the next sync applies it"}

    async def _earlier(self, wish: EarlierWish) -> object:
        page, _ = await self._page(wish.at)
        if self._decisions is None:
            return {"texts": (), "has_wiki": False}
        earlier = partial(self._decisions.earlier, of_wiki=wish.of_wiki)
        texts = await finish_in_thread(earlier, page.wiki.source.owner, page.slug)
        return {"texts": texts, "has_wiki": True}

    async def _back(self, wish: BackWish) -> object:
        page, _ = await self._page(wish.at)
        if self._decisions is None:
            raise errors.NotFound(_NO_WORKSPACE)
        owner = page.wiki.source.owner
        await finish_in_thread(self._decisions.restore, owner, page.slug, wish.id)
        return await self._shown(page, page.path)

    async def _shown(
        self, page: WritablePage, path: str, *changed: str
    ) -> dict[str, object]:
        """Where a page is now that the site has taken its file over."""
        root = page.wiki.source.folder
        names = frozenset(str(root / one) for one in (path, *changed))
        await self._refresh(names)
        address = await self._in_thread(self._site.address_of, page.wiki, path)
        return {"file": path, "address": address}


def file_path(name: str, content: bytes) -> str:
    """Where a file is kept: under its own name, in a folder for its content.

    Raises:
        SiteError: no file may have this name.
    """
    plain = unicodedata.normalize("NFC", name.replace("\\", "/").rpartition("/")[2])
    plain = _UNFIT.sub("-", plain).strip("-. ") or "file"
    digest = hashlib.sha256(content).hexdigest()[:HASH_DIGITS]
    path = f"uploads/{digest}/{plain}"
    if attachment_path(path) is None:
        message = f"{plain} cannot be the name of a file"
        raise errors.SiteError(message, hint="choose a shorter name")
    return path


def said(status: int, message: str, hint: str = "") -> web.Response:
    """An answer that is a sentence."""
    text = msgspec.json.encode({"where": "", "message": message, "hint": hint})
    return web.Response(body=text, status=status, content_type="application/json")


def _beginning_of(page: WritablePage, template: str) -> str:
    """The text that a new page begins with."""
    if not template:
        title = page.slug.rpartition("/")[2].replace("-", " ")
        return f"{HEADINGS[page.format]}{title}\n\n"
    source = page.wiki.templates.get(Slug(template))
    content = page.wiki.read(source.path, source.digest) if source else None
    with suppress(UnicodeDecodeError):
        if content is not None:
            return content.decode("utf-8")
    message = f"the template {template} is gone or is no UTF-8 text"
    raise errors.NotFound(message, hint="mend its file, or begin with an empty page")


def _id_of(page: WritablePage, path: str) -> str:
    """By what the browser knows a file, or the wiki, for the drafts that it keeps."""
    named = f"{page.wiki.source.folder.absolute()}\0{path}"
    return hashlib.sha256(named.encode("utf-8", "surrogatepass")).hexdigest()[:16]
