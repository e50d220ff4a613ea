"""The pages of a workspace, as an agent's tools read and write them.

Every write names the version that it was made from: where the file holds another text
by then, the two are merged, and where they clash nothing is written.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

from msgspec import Struct, field

from wikisync import errors
from wikisync.config.sections import WikiSection
from wikisync.core.model import WRITABLE_FORMATS, Format, Slug, digest_of
from wikisync.folder.naming import parse_path, path_of
from wikisync.folder.scan import ListedFile, read_patterns, scan_pages
from wikisync.folder.workspace import holder_of
from wikisync.site.preview.writing import TEXT_BYTES_MAX, WikiDesk, encoded, new_path
from wikisync.workspace.attention import failure_sentence, waiting_sentences
from wikisync.workspace.configured import ConfiguredWorkspace
from wikisync.workspace.opening import read_workspace
from wikisync.workspace.restoring import DIGITS, read_revisions
from wikisync.workspace.sentences import local_time
from wikisync.workspace.service import Credentials
from wikisync.workspace.status import scan
from wikisync.workspace.sync_run import SyncRequest, sync_workspace

PAGES_MAX = 200
RESULTS_MAX = 20
WORDS_MAX = 50
LINES_MAX = 3
LINE_CHARS_MAX = 300
PART_CHARS_MAX = 40_000
"""Of a page in one answer; the rest is read from an offset."""
HISTORY_MAX = 50
VERSIONS_MAX = 256
"""Texts that were read and may be edited; an older one has to be read again."""

Answer = dict[str, Any]


class Agent(Struct, eq=False):
    """What an agent may do with the pages of one workspace."""

    workspace: ConfiguredWorkspace
    credentials: Credentials
    syncs: bool
    """Whether each write is synced at once."""
    allows_delete: bool
    texts: OrderedDict[str, str] = field(default_factory=OrderedDict)
    """What was read, by version, the latest last."""
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    """One write at a time."""

    # -- reading -------------------------------------------------------------------

    def list_pages(self, folder: str = "", offset: int = 0) -> Answer:
        """Names of the pages, of all wikis or below one folder (``handbook/team``)."""
        names = [name for name, _, _ in self._files(folder)]
        first = max(offset, 0)
        shown = names[first : first + PAGES_MAX]
        answer: Answer = {"pages": shown, "total": len(names)}
        if first + len(shown) < len(names):
            answer["next_offset"] = first + len(shown)
        return answer

    def search_pages(self, query: str, folder: str = "") -> Answer:
        """Pages that hold every word of the query, best first, with their lines."""
        words = sorted(set(query.casefold().split()))
        if not 0 < len(words) <= WORDS_MAX:
            raise errors.UsageError(f"the query has not 1 to {WORDS_MAX} words")
        found: list[tuple[int, str, list[Answer]]] = []
        for name, section, file in self._files(folder):
            try:
                text = self._text(section, file)
            except errors.FolderError:
                continue  # no text, or too long: reading the page says so
            whole = f"{name}\n{text}".casefold()
            if not all(word in whole for word in words):
                continue
            title = name.casefold()
            score = sum(whole.count(word) + 100 * (word in title) for word in words)
            lines = [
                {"line": number, "text": line.strip()[:LINE_CHARS_MAX]}
                for number, line in enumerate(text.splitlines(), 1)
                if any(word in line.casefold() for word in words)
            ]
            found.append((-score, name, lines[:LINES_MAX]))
        found.sort(key=lambda one: one[:2])
        rows = [{"page": name, "lines": lines} for _, name, lines in found]
        return {"results": rows[:RESULTS_MAX], "total": len(rows)}

    async def read_page(self, page: str, offset: int = 0) -> Answer:
        """A page's text and the version that an edit of it names."""
        section, file = await asyncio.to_thread(self._file, page)
        text = await asyncio.to_thread(self._text, section, file)
        first = max(offset, 0)
        part = text[first : first + PART_CHARS_MAX]
        answer: Answer = {
            "page": f"{section.folder}/{file.slug}",
            "format": file.format.value,
            "version": self._noted(text),
            "text": part,
        }
        if first + len(part) < len(text):
            answer["next_offset"] = first + len(part)
        if waiting := await self._waiting(section, file):
            answer["held"] = waiting
        return answer

    async def page_history(self, page: str, limit: int = 20) -> Answer:
        """Who changed a page on the wiki, and what the sync did with it."""
        section, slug = self._named(page)
        count = min(max(limit, 1), HISTORY_MAX)
        with read_workspace(self.workspace) as opened:
            slug = opened.page_of(section, slug)
            events = opened.known(section).events(count, slug)
            answer: Answer = {
                "synced": [
                    {"at": local_time(one.at), "what": one.what} for one in events
                ]
            }
            try:
                found = await read_revisions(opened, section, slug, self.credentials)
            except errors.WikisyncError as error:
                answer["revisions_unknown"] = error.message
                return answer
        answer["revisions"] = [
            {
                "revision": row.commit[:DIGITS],
                "at": local_time(row.at),
                "author": row.author,
                "kind": row.kind,
            }
            for row in found.rows[:count]
        ]
        return answer

    # -- writing -------------------------------------------------------------------

    async def edit_page(
        self, page: str, version: str, text: str, old: str = ""
    ) -> Answer:
        """Write a text that was made from a version; with ``old``, one passage of it.

        PreconditionFailed where the page is in conflict, or its new text would clash.
        """
        async with self.turn:
            section, file = await asyncio.to_thread(self._file, page)
            base = self._base(section, file, version)
            if not old and len(base) > PART_CHARS_MAX:
                raise errors.UsageError(
                    f"{page} is longer than one answer, so its whole text is not taken",
                    hint="give the passage that changes as old",
                )
            if old and base.count(old) != 1:
                raise errors.UsageError(
                    f"the passage is {base.count(old)} times in version {version}",
                    hint="give a passage that is in it once, or the whole text",
                )
            text = base.replace(old, text) if old else text
            await self._refuse_conflict(section, file)
            written = await asyncio.to_thread(
                self._desk(section).save, file.path, file.format, text, base
            )
            if written.outcome in {"clash", "gone"}:
                what = "deleted" if written.outcome == "gone" else "changed"
                raise errors.PreconditionFailed(
                    f"{page} was {what} in the same place; nothing is written",
                    hint="read the page again, and make your edit in its new text",
                )
            answer: Answer = {
                "outcome": written.outcome,
                "version": self._noted(written.text),
            }
            if written.outcome == "merged":
                answer["text"] = written.text[:PART_CHARS_MAX]
            return answer | await self._carried(section, file.slug)

    async def create_page(
        self, page: str, text: str, markup: str = "markdown"
    ) -> Answer:
        """Create a page that is not there yet, and can have this name and format."""
        async with self.turn:
            section, slug = self._named(page)
            if markup not in WRITABLE_FORMATS:
                known = ", ".join(sorted(WRITABLE_FORMATS))
                raise errors.UsageError(
                    f"no page has the format {markup}", hint=f"use {known}"
                )
            path = new_path(slug, Format(markup))
            patterns, _ = read_patterns(self.workspace.folder_of(section))
            if path is None or patterns.is_ignored(path):
                raise errors.UsageError(f"{page} cannot be the name of a page")
            if any(one.slug == slug for one in self._listed(section)):
                raise errors.PreconditionFailed(
                    f"there is a page {page}", hint="read it, then edit it"
                )
            content = encoded(text, b"", path)
            await asyncio.to_thread(self._desk(section).create, path, content)
            answer: Answer = {"outcome": "created", "version": self._noted(text)}
            return answer | await self._carried(section, slug)

    async def delete_page(self, page: str, version: str) -> Answer:
        """Move a page of this version into the trash, or say what that does."""
        async with self.turn:
            section, file = await asyncio.to_thread(self._file, page)
            text = self._base(section, file, version)
            if not self.allows_delete:
                if text != self._text(section, file):
                    raise errors.PreconditionFailed(f"{page} was changed meanwhile")
                return {
                    "outcome": "nothing was deleted",
                    "would": f"move {page} to the trash; the next sync would delete the"
                    " page on the wiki",
                    "hint": "a person starts wikisync mcp with --allow-delete",
                }
            await self._refuse_conflict(section, file)
            await asyncio.to_thread(self._desk(section).delete, file.path, text)
            undo = errors.command_line("restore", page)
            answer: Answer = {"outcome": "deleted", "undo": undo}
            return answer | await self._carried(section, file.slug)

    # -- its parts -----------------------------------------------------------------

    def _files(self, folder: str) -> Iterator[tuple[str, WikiSection, ListedFile]]:
        start = folder.strip("/")
        for section in self.workspace.config.wikis:
            for file in self._listed(section):
                name = f"{section.folder}/{file.slug}"
                if not start or f"{name}/".startswith(f"{start}/"):
                    yield name, section, file

    def _listed(self, section: WikiSection) -> tuple[ListedFile, ...]:
        root = self.workspace.folder_of(section)
        return scan_pages(root, read_patterns(root)[0]).pages

    def _named(self, page: str) -> tuple[WikiSection, Slug]:
        """The wiki and slug of ``FOLDER/SLUG``: an agent has no current folder."""
        for section in self.workspace.config.wikis:
            way = page.removeprefix(f"{section.folder}/")
            if way != page and not {"", ".", ".."} & set(way.split("/")):
                found = parse_path(way)
                return section, found[0] if found else Slug(way)
        folder = self.workspace.config.wikis[0].folder
        raise errors.UsageError(
            f"{page!r} is no page", hint=f"name it as {folder}/home"
        )

    def _file(self, page: str) -> tuple[WikiSection, ListedFile]:
        section, slug = self._named(page)
        for file in self._listed(section):
            if file.slug == slug:
                return section, file
        raise errors.UsageError(
            f"there is no page {page}", hint="list the pages, or search for its words"
        )

    def _desk(self, section: WikiSection) -> WikiDesk:
        return WikiDesk(self.workspace.folder_of(section), self.workspace.private)

    def _text(self, section: WikiSection, file: ListedFile) -> str:
        try:
            return self._desk(section).read(file.path) or ""
        except (errors.SiteError, errors.FolderError) as error:
            raise errors.FolderError(
                f"{file.path} cannot be read as a page: {error.message}",
                hint=error.hint or f"a page has at most {TEXT_BYTES_MAX >> 10} KiB",
            ) from error

    def _noted(self, text: str) -> str:
        version = digest_of(text.encode())[:16]
        self.texts[version] = text
        self.texts.move_to_end(version)
        while len(self.texts) > VERSIONS_MAX:
            self.texts.popitem(last=False)
        return version

    def _base(self, section: WikiSection, file: ListedFile, version: str) -> str:
        if version not in self.texts:
            # of a page that is as it was read before this process began
            self._noted(self._text(section, file))
        if version not in self.texts:
            raise errors.UsageError(
                f"version {version} of {file.slug} is not known",
                hint="read the page, and edit the version that the answer names",
            )
        return self.texts[version]

    async def _refuse_conflict(self, section: WikiSection, file: ListedFile) -> None:
        waiting = await self._waiting(section, file)
        if waiting and "conflict" in waiting:
            raise errors.PreconditionFailed(
                f"{section.folder}/{file.slug} is held: {waiting}",
                hint="a person resolves the conflict; edit the page after that",
            )

    async def _waiting(self, section: WikiSection, file: ListedFile) -> str:
        with read_workspace(self.workspace) as opened:
            name, known = opened.page_of(section, file.slug), opened.known(section)
            # what both sides agreed on waits for nobody; a status reads all pages
            if known.text(name) == self._text(section, file):
                return ""
            status = await scan(opened, section, None)
        reasons = [
            one.sentence
            for one in status.differences
            if one.slug == name and one.side in {"held", "settled"}
        ]
        return "; ".join(reasons)

    async def _carried(self, section: WikiSection, slug: Slug) -> Answer:
        holder = holder_of(self.workspace.private)
        if not self.syncs or holder is not None:
            carrier = "the running wikisync" if holder else "the next sync"
            return {"sync": f"{carrier} carries it to the wiki"}
        try:
            run = await sync_workspace(
                self.workspace,
                # by a file: without an extension it may be a folder
                [f"{section.folder}/{path_of(slug, Format.MARKDOWN)}"],
                SyncRequest(),
                self.credentials,
            )
        except errors.WikisyncError as error:
            return {"sync": f"not synced: {failure_sentence(str(slug), error)}"}
        said = [one.message for one in run.problems]
        for wiki in run.wikis:
            if wiki.failure:
                said.append(failure_sentence(section.folder, wiki.failure))
            said += waiting_sentences(wiki)
            said += [one.message for one in wiki.problems]
        return {"sync": "; ".join(said) or "synced"}
