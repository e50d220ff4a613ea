"""A language server: what editors ask of the pages of a folder, over stdio.

Broken links and bad front matter while a text is written, completion of pages, files,
headings and emoji, the page behind a link, and renames with every link.  ``site`` and
``moves`` know all of it; here it is put into the words of the protocol (LSP 3.17).

One thread owns the site, as in a preview; a change of the folder by another program is
seen by the same watch.
"""

import asyncio
import contextlib
import logging
import os
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TypeVar
from urllib.parse import unquote

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcInvalidParams
from pygls.lsp.server import LanguageServer
from pygls.protocol import json_rpc
from pygls.uris import to_fs_path
from pygls.workspace import PositionCodec, TextDocument

from wikisync.core.messages import Progress
from wikisync.core.model import Format
from wikisync.core.version import __version__
from wikisync.errors import WikisyncError
from wikisync.folder.safe_open import make_folder
from wikisync.markup.filters.text import emoji_names
from wikisync.site.preview.checks import located
from wikisync.site.preview.following import follow_folders
from wikisync.site.preview.moves import Moves, Relinked, plan_links, plan_moves
from wikisync.site.preview.site import LiveSite, Load, WritablePage, held_cache
from wikisync.site.preview.world import Mark, PreviewInputs
from wikisync.site.preview.writing import WikiDesk

SETTLE_S = 0.05
"""A text is looked at when no key was typed for so long."""
MARKS_MAX = 500
"""In one text."""
OFFERED_MAX = 200
"""Completions at once; more letters find the others."""
_EDGES = "[](){}<>|\"'"
_OPENS = re.compile(
    r"(?:\]\(<?|\[\[|\}\[|<<|\b(?:link|xref|file|image|rdoc-ref)::?)"
    r"(?P<href>[^\s\]()\[{}<>|]*)$|(?<![\w:]):(?P<emoji>[a-z0-9_+-]+)$"
)
"""What stands before the cursor where a link, or the name of an emoji, is typed."""
TYPED_MAX = 2_000
"""Characters before the cursor in which that is looked for: a link has fewer."""
_END = re.compile(r"\r\n|\r|\n")
"""Of a line, as the protocol has it; Python and the library know more of them."""

_OPTIONS: Mapping[str, object] = {
    lsp.TEXT_DOCUMENT_COMPLETION: lsp.CompletionOptions(
        trigger_characters=["(", "[", ":", "<", "/", "#"]
    ),
    lsp.WORKSPACE_WILL_RENAME_FILES: lsp.FileOperationRegistrationOptions(
        [lsp.FileOperationFilter(lsp.FileOperationPattern("**/*"), "file")]
    ),
}
_AtPlace = (
    lsp.DefinitionParams | lsp.HoverParams | lsp.RenameParams | lsp.PrepareRenameParams
)
T = TypeVar("T")
Find = Callable[[str | None], tuple[Load, Path, Path | None, Path | None]]
"""What a folder shows, where to keep what the next run can use, and, of a workspace,
its own folder and its configuration; asked with the editor's root."""


class PageServer(LanguageServer):
    """The server of the folder that ``find`` makes of the editor's."""

    def __init__(self, find: Find) -> None:
        # an edit of a long line costs the library half a second, and it counts lines
        # by more than their ends; a megabyte that comes whole costs two milliseconds
        super().__init__("wikisync", __version__, lsp.TextDocumentSyncKind.Full)
        self._find = find
        self._thread = ThreadPoolExecutor(1, "wikisync-site")
        self._ready = asyncio.Event()
        self._is_over = asyncio.Event()
        self._running = asyncio.Lock()
        self._places: Mapping[Path, Path] = {}
        """The editor's folders, which may be links, and where each is."""
        logging.getLogger(json_rpc.__name__).addFilter(_is_unexpected)
        answers: Mapping[str, Callable[..., Awaitable[object]]] = {
            lsp.INITIALIZED: self._run,
            lsp.SHUTDOWN: self._end,
            lsp.TEXT_DOCUMENT_DID_OPEN: self._look,
            lsp.TEXT_DOCUMENT_DID_CHANGE: self._look,
            lsp.TEXT_DOCUMENT_DID_CLOSE: self._forget,
            lsp.TEXT_DOCUMENT_COMPLETION: self._complete,
            lsp.TEXT_DOCUMENT_DEFINITION: self._define,
            lsp.TEXT_DOCUMENT_HOVER: self._hover,
            lsp.TEXT_DOCUMENT_RENAME: self._rename,
            lsp.TEXT_DOCUMENT_PREPARE_RENAME: self._prepare,
            lsp.WORKSPACE_WILL_RENAME_FILES: self._will_rename,
        }
        for name, answer in answers.items():
            self.feature(name, _OPTIONS.get(name))(partial(answer))

    async def in_thread(self, act: Callable[..., T], *args: object) -> T:
        """Ask the site."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, act, *args)

    # Its life -----------------------------------------------------------------------

    async def _run(self, _params: lsp.InitializedParams) -> None:
        """Read the names of all pages, and follow the folders until the end."""
        kept = contextlib.ExitStack()
        await self._running.acquire()
        try:
            opened = [to_fs_path(uri) for uri in self.workspace.folders]
            root = self.workspace.root_path or next(iter(opened), None)
            named = map(Path, filter(None, (root, *opened)))
            self._places = {one: one.resolve() for one in named}
            try:
                load, cache, self._private, settings = self._find(root)
            except WikisyncError as exc:
                load, cache = partial(_fail, exc), Path(os.devnull)
                self._private = settings = None
            self._site = LiveSite(load, Progress())
            self._site.use(await self.in_thread(kept.enter_context, held_cache(cache)))
            await self._refresh(None)
            if self._site.failure is None:
                self._say(*_not_served(self._places.values(), self._site.folders))
            async with asyncio.TaskGroup() as group:
                follow = follow_folders(self._site, settings, self._refresh)
                following = group.create_task(follow)
                await self._is_over.wait()
                following.cancel()
        except asyncio.CancelledError:
            pass  # an editor that is gone ends the loop; nobody is left to hear of it
        finally:
            await self.in_thread(kept.close)
            self._thread.shutdown()
            self._running.release()

    async def _end(self, _params: None) -> None:
        """Leave nothing running."""
        self._is_over.set()
        await self._running.acquire()

    def _say(self, *texts: str) -> None:
        for text in texts:
            self.window_show_message(lsp.ShowMessageParams(lsp.MessageType.Error, text))

    async def _refresh(self, paths: frozenset[str] | None) -> None:
        was = self._site.failure and located(self._site.failure)
        await self.in_thread(self._site.refresh, paths)
        self._ready.set()
        now = self._site.failure and located(self._site.failure)
        if now and now != was:
            self._say(": ".join(filter(None, (now.subject, now.message, now.hint))))
        for document in tuple(self.workspace.text_documents.values()):
            await self._show_marks(document.uri)

    def file_of(self, uri: str) -> Path:
        """The file of a document, by the name that the site has for it."""
        return _inside(Path(to_fs_path(uri) or "/"), self._places.items())

    def uri_of(self, file: Path) -> str:
        """The name that the editor has for a file."""
        places = [(real, place) for place, real in self._places.items()]
        return _inside(file.absolute(), places).as_uri()

    # Diagnostics ----------------------------------------------------------------------

    async def _look(
        self, params: lsp.DidOpenTextDocumentParams | lsp.DidChangeTextDocumentParams
    ) -> None:
        """Show what is wrong in a document, once for all keys typed quickly."""
        uri = params.text_document.uri
        version = self.workspace.get_text_document(uri).version
        await asyncio.sleep(SETTLE_S)
        known = self.workspace.text_documents.get(unquote(uri))
        if known is not None and known.version == version:
            await self._ready.wait()
            await self._show_marks(uri)

    async def _forget(self, params: lsp.DidCloseTextDocumentParams) -> None:
        shown = lsp.PublishDiagnosticsParams(params.text_document.uri, [])
        self.text_document_publish_diagnostics(shown)

    async def _show_marks(self, uri: str) -> None:
        if self._is_over.is_set():
            return  # the site is closed
        document = self.workspace.get_text_document(uri)
        text, version = document.source.replace("\r\n", "\n"), document.version
        marks = await self.in_thread(self._site.marks, self.file_of(uri), text)
        if document.version == version:
            lines, codec = _END.split(document.source), document.position_codec
            some = [*dict.fromkeys(marks)][:MARKS_MAX]
            found = [_diagnostic(codec, lines, mark) for mark in some]
            shown = lsp.PublishDiagnosticsParams(uri, found, version)
            self.text_document_publish_diagnostics(shown)

    # Links ----------------------------------------------------------------------------

    async def page(self, uri: str) -> WritablePage | None:
        """The page in a document."""
        await self._ready.wait()
        return await self.in_thread(self._site.page_in, self.file_of(uri))

    async def linked(self, params: _AtPlace) -> WritablePage | None:
        """The page behind the link at a place."""
        page = await self.page(uri := params.text_document.uri)
        document = self.workspace.get_text_document(uri)
        for href in _hrefs_at(document, params.position) if page else ():
            if at := await self.in_thread(self._site.target, page, href):
                return await self.in_thread(self._site.writable, at)
        return None

    async def _complete(self, params: lsp.CompletionParams) -> lsp.CompletionList:
        """What may be typed here."""
        page = await self.page(uri := params.text_document.uri)
        document, place = self.workspace.get_text_document(uri), params.position
        found = _OPENS.search(_around(document, place)[0][-TYPED_MAX:])
        if page is None or found is None:
            return lsp.CompletionList(is_incomplete=False, items=[])
        typed = found["href"] if found["emoji"] is None else found["emoji"]
        length = document.position_codec.client_num_units(typed)
        start = lsp.Position(place.line, place.character - length)
        known, low = await self._offers(page, typed, found["emoji"]), typed.lower()
        offers = [one for one in known if low in " ".join(one).lower()]

        def item(text: str, detail: str) -> lsp.CompletionItem:
            edit, said = lsp.TextEdit(lsp.Range(start, place), text), f"{text} {detail}"
            return lsp.CompletionItem(
                text, detail=detail, filter_text=said, text_edit=edit
            )

        items = [item(*one) for one in offers[:OFFERED_MAX]]
        return lsp.CompletionList(is_incomplete=len(offers) > OFFERED_MAX, items=items)

    async def _define(self, params: lsp.DefinitionParams) -> lsp.Location | None:
        if (page := await self.linked(params)) is None:
            return None
        start = lsp.Range(lsp.Position(0, 0), lsp.Position(0, 0))
        return lsp.Location(self.uri_of(page.wiki.source.folder / page.path), start)

    async def _hover(self, params: lsp.HoverParams) -> lsp.Hover | None:
        if (page := await self.linked(params)) is None:
            return None
        titles = dict(await self.in_thread(self._site.titles, page.wiki))
        text = f"{titles[page.slug]}\n{page.path}"
        return lsp.Hover(lsp.MarkupContent(lsp.MarkupKind.PlainText, text))

    async def _offers(
        self, page: WritablePage, typed: str, emoji: str | None
    ) -> Sequence[tuple[str, str]]:
        if emoji is not None:
            names = emoji_names() if page.format is Format.MARKDOWN else {}
            return [(f"{name}:", character) for name, character in names.items()]
        href, mark, _ = typed.partition("#")
        if mark:
            found = await self.in_thread(self._site.headings, page, href or page.slug)
            return [(f"{href}#{name}", text) for name, text in found]
        files = (*page.wiki.attachments, *sorted(page.wiki.loose.names))
        titles = await self.in_thread(self._site.titles, page.wiki)
        return [*titles, *((path, "") for path in files)]

    # Renames --------------------------------------------------------------------------

    async def renamed(self, params: _AtPlace) -> WritablePage | None:
        """The page behind the link at a place, or else that of the document."""
        page = await self.linked(params) or await self.page(params.text_document.uri)
        return page if page and page.slug in page.wiki.pages else None

    async def _rename(self, params: lsp.RenameParams) -> lsp.WorkspaceEdit | None:
        workspace = self.client_capabilities.workspace
        edits = workspace and workspace.workspace_edit
        kinds = (edits and edits.resource_operations) or ()
        if lsp.ResourceOperationKind.Rename not in kinds:
            # it would change the links and leave the file
            raise JsonRpcInvalidParams("this editor renames no files: use wikisync mv")
        if (page := await self.renamed(params)) is None:
            return None
        folder = page.wiki.source.folder
        return await self.edit(folder, plan_moves, page.path, params.new_name)

    async def _prepare(
        self, params: lsp.PrepareRenameParams
    ) -> lsp.PrepareRenamePlaceholder | None:
        """Offer the whole name, as editors know a word of it or another one."""
        here = lsp.Range(params.position, params.position)
        page = await self.renamed(params)
        return lsp.PrepareRenamePlaceholder(here, page.slug) if page else None

    async def _will_rename(self, params: lsp.RenameFilesParams) -> lsp.WorkspaceEdit:
        """The links of files and folders that the editor itself renames."""
        of = self.file_of
        both = [(of(one.old_uri), of(one.new_uri)) for one in params.files]
        await self._ready.wait()
        edits = [await self.edit(one, plan_links, both) for one in self._site.folders]
        changes = [change for edit in edits for change in edit.document_changes or ()]
        return lsp.WorkspaceEdit(document_changes=changes)

    async def edit(
        self, folder: Path, plan: Callable[..., Moves], *names: object
    ) -> lsp.WorkspaceEdit:
        """What a plan does with the files of a wiki's folder."""
        try:
            desk = WikiDesk(folder, self._private)
            moves = await asyncio.to_thread(plan, desk, *names)
            texts = [self._relinked(folder, one) for one in moves.texts]
            for one in moves.files:
                # an editor may change the links, and not make a folder for the file
                make_folder((folder / one.target).parent)
        except (WikisyncError, OSError) as exc:
            raise JsonRpcInvalidParams(str(exc)) from exc
        both = [(folder / one.path, folder / one.target) for one in moves.files]
        renames = [lsp.RenameFile(self.uri_of(a), self.uri_of(b)) for a, b in both]
        return lsp.WorkspaceEdit(document_changes=[*texts, *renames])

    def _relinked(self, folder: Path, one: Relinked) -> lsp.TextDocumentEdit:
        """Every changed line of a text; refused where the editor has another one."""
        file = (folder / one.path).absolute()
        opened = self.workspace.text_documents.values()
        known = next((it for it in opened if self.file_of(it.uri) == file), None)
        old, new = _END.split(one.before), _END.split(one.after)
        if known is not None and _END.split(known.source) != old:
            raise JsonRpcInvalidParams(f"{one.path} is not saved: save it first")
        uri = known.uri if known else self.uri_of(file)
        codec = self.workspace.position_codec
        both = [*enumerate(zip(old, new, strict=True))]
        part = partial(_range_in, codec)
        edits = [lsp.TextEdit(part(a, at), b) for at, (a, b) in both if a != b]
        name = lsp.OptionalVersionedTextDocumentIdentifier(uri, known and known.version)
        return lsp.TextDocumentEdit(name, edits)


def _is_unexpected(record: logging.LogRecord) -> bool:
    """Whether it is no refusal, which the editor shows."""
    error = record.exc_info and record.exc_info[1]
    return not isinstance(error, JsonRpcInvalidParams)


def _fail(error: WikisyncError) -> PreviewInputs:
    raise error


def _not_served(folders: Iterable[Path], served: Iterable[Path]) -> Iterator[str]:
    """What to say of folders of the editor that hold no page of the site."""
    for one in folders:
        if not any(one.is_relative_to(of) or of.is_relative_to(one) for of in served):
            yield f"{one} is not served: open it in a window of its own"


def _inside(file: Path, places: Iterable[tuple[Path, Path]]) -> Path:
    """The file in the second of two folders, where it is in the first."""
    found = [to / file.relative_to(at) for at, to in places if file.is_relative_to(at)]
    return found[0] if found else file


def _diagnostic(
    codec: PositionCodec, lines: Sequence[str], mark: Mark
) -> lsp.Diagnostic:
    """A mark at its address in its line, or at the whole line."""
    shown = lines[: mark.line][-1:] if mark.line else lines
    is_whole = any(mark.href in line for line in shown)
    name = mark.href if is_whole else mark.href.lstrip("#")
    found = (number for number, line in enumerate(lines) if name in line)
    # not all formats tell where a link stands
    number = min(mark.line - 1, len(lines) - 1) if mark.line else next(found, 0)
    part = (at, len(name)) if name and (at := lines[number].find(name)) >= 0 else ()
    where = _range_in(codec, lines[number], number, *part)
    said = f"broken link {mark.href}: {mark.message}" if mark.href else mark.message
    kind = lsp.DiagnosticSeverity.Warning if mark.href else lsp.DiagnosticSeverity.Error
    return lsp.Diagnostic(where, said, kind, source="wikisync")


def _range_in(
    codec: PositionCodec, line: str, number: int, at: int = 0, length: int | None = None
) -> lsp.Range:
    """A part of a line, or all of it."""
    ends = (at, len(line) if length is None else at + length)
    units = [codec.client_num_units(line[:end]) for end in ends]
    return lsp.Range(*(lsp.Position(number, unit) for unit in units))


def _around(document: TextDocument, position: lsp.Position) -> tuple[str, str]:
    """What stands before a place in its line, and after it."""
    (line,) = _END.split(document.source)[position.line :][:1] or ("",)
    place = lsp.Position(0, position.character)
    at = document.position_codec.position_from_client_units([line], place).character
    return line[:at], line[at:]


def _hrefs_at(document: TextDocument, position: lsp.Position) -> Iterator[str]:
    """What the link at a place may be: up to the next brackets, or the next spaces."""
    before, after = _around(document, position)
    for edges in (_EDGES, f"{_EDGES} \t"):
        stop = f"[{re.escape(edges)}]"
        href = re.split(stop, before)[-1] + re.split(stop, after)[0]
        yield re.sub(r"^(?:link|xref|file|image|rdoc-ref)::?", "", href.strip())
