"""The links of a page to files of the folder: as the wiki has to write them, and back.

On the way out each linked file is uploaded once, by its content, and the link leads to
the upload; on the way in the link is again what the person wrote (``docs/sync.md``
"Attachments").  Only real links are touched; the parser comes from outside.
"""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import logging
import re
from collections import Counter
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Container,
    Mapping,
    Sequence,
)
from contextlib import suppress
from typing import Protocol

from msgspec.structs import replace

from wikisync.errors import Rejected, RemoteError, WikisyncError
from wikisync.mentions import has_extension, is_upload, linked_ways
from wikisync.model import (
    Attachment,
    AttachmentPath,
    Digest,
    LinkPlace,
    LinkTarget,
    LooseFile,
    Page,
    Slug,
    fold_text,
    in_form_c,
)
from wikisync.pointer import POINTER_BYTES_MAX, is_pointer
from wikisync.sync.base.state import WikiState
from wikisync.sync.decide.ledger import FetchedFile, Intent, WriteKind, WrittenLink
from wikisync.sync.replica import RemoteReplica
from wikisync.sync.wiki.name_search import NameSearch, as_meant, count_name

log = logging.getLogger(__name__)

FILE_BYTES_MAX = 100 * 1024 * 1024
"""A linked file larger than this is not uploaded; its page waits."""

SEARCHED_CHARS = 1_000_000
"""Of pages that are searched for names of files in one turn of a thread."""

_HIDDEN = re.compile(r"(?<![\w.])\.[A-Za-z0-9][\w-]*/")
"""In a path, or a text: a hidden folder."""
NOWHERE = AttachmentPath("")
"""Where the wiki has what was not uploaded."""
UNKNOWN_FOLDER = "0" * 32
"""In place of the folder that the service will choose."""


class _Links(Protocol):
    """The links of a page's source, which parsers know; see ``markup.retarget``.

    Parsing takes its time, in which the loop goes on.
    """

    async def targets(self, page: Page) -> Sequence[LinkTarget]:
        """Where the page's links lead."""
        ...

    async def places(
        self, page: Page, targets: Collection[LinkTarget]
    ) -> Sequence[LinkPlace]:
        """Where the source names these targets, in order."""
        ...

    async def retarget(
        self, page: Page, changes: Sequence[tuple[LinkPlace, LinkTarget, str]]
    ) -> str | None:
        """The source with other targets; None where that makes another page of it."""
        ...


class _LinkedFiles(Protocol):
    """The files beside the pages of one folder."""

    async def names(self, besides: Collection[str]) -> frozenset[str]:
        """Their names, without folders and without those of the files besides."""
        ...

    async def find(
        self, wanted: Mapping[Slug, Collection[LinkTarget]]
    ) -> Mapping[Slug, Mapping[LinkTarget, LooseFile]]:
        """The files that links on pages lead to, of those that lead to one."""
        ...

    def is_unlisted(self, path: str) -> bool:
        """Whether a file is in a folder that is hidden, or of a program."""
        ...

    def fetched_path(
        self, slug: Slug, target: LinkTarget, fetched: Container[str]
    ) -> AttachmentPath | None:
        """The path of an attachment of the wiki that a link on a page leads to.

        Args:
            slug: The page, by the name of its file.
            target: Where the link leads.
            fetched: The attachments that are here; of uploads any counts.
        """
        ...

    async def there(
        self, paths: Collection[AttachmentPath]
    ) -> Mapping[AttachmentPath, LooseFile]:
        """Those of some fetched attachments that are there, as they are now."""
        ...

    def read(self, file: LooseFile) -> AsyncIterator[bytes]:
        """The file's bytes."""
        ...


PathOf = Callable[[Slug, LooseFile], Awaitable[AttachmentPath]]
"""Where the wiki has a file that a page links to."""


class FileLinks:
    """The links of one wiki's pages to files beside them."""

    def __init__(
        self,
        wiki: RemoteReplica,
        files: _LinkedFiles,
        state: WikiState,
        *,
        links: _Links,
        clock: Callable[[], float],
    ) -> None:
        self._wiki = wiki
        self._files = files
        self._state = state
        self._links = links
        self._clock = clock
        self._uploading = asyncio.Lock()
        self._names: NameSearch | None = None
        self._fetched: Mapping[AttachmentPath, AttachmentPath | LooseFile] = {}
        """Fetched attachments that are here: where the wiki has each, or the file that
        a person made of it."""
        self._pointers: dict[Digest, bool] = {}
        """Of small files: whether such a content is only a pointer."""
        self.unmet: dict[Slug, Sequence[str]] = {}
        """Ways of links to files that were not here when their pages were sent."""
        self._read: dict[AttachmentPath, Attachment] = {}
        """Uploads that were read to be compared."""
        self._covered: frozenset[str] = frozenset()
        """Names of files that were there when the pages were searched ..."""
        self._covering: Mapping[Slug, Digest] = {}
        """... and those that link to none of them, or were sent so, as they were."""

    def scan_anew(self) -> None:
        """Files may have come and gone."""
        self._names = None

    async def page_in(
        self, page: Page, attempts: Sequence[Sequence[WrittenLink]] | None = None
    ) -> Page:
        """The page as the folder writes it.

        Args:
            page: As the wiki has it.
            attempts: Its links to files; by default, as they are remembered.
        """
        if attempts is None:
            attempts = self._state.written_links(page.slug)
        paths = {link.path for links in attempts for link in links}
        # the name may stand there in another spelling, its folder cannot
        known = [
            LinkTarget(path)
            for path in paths
            if path.rpartition("/")[0] in page.content
        ]
        if not known:
            return page
        known += [replace(target, is_wikilink=True) for target in known]
        places = await self._links.places(page, known)
        links = _as_written([place.target for place in places], attempts)
        changes = [
            (place, link.target, link.written)
            for place, link in zip(places, links, strict=True)
            if link is not None
        ]
        content = await self._links.retarget(page, changes)
        return page if content is None else replace(page, content=content)

    async def page_out(
        self, page: Page, path_of: PathOf | None = None
    ) -> tuple[Page, Sequence[WrittenLink]]:
        """The page as the wiki is to hold it, and what its links here were.

        Args:
            page: As the folder writes it.
            path_of: Where the wiki has a file; uploaded if it has not, otherwise.

        Raises:
            RemoteError: a file cannot be uploaded, or a new link to one cannot be
                written for the wiki; it would be a broken one there.
        """
        if path_of is None:
            await self._note_unmet(page)
        attempts = self._state.written_links(page.slug)
        if not attempts and not await self._mentions_file(page):
            return page, ()
        before = {link.target: link.path for links in attempts[:1] for link in links}
        wanted: dict[LinkTarget, LooseFile | AttachmentPath] = {}
        targets = tuple(dict.fromkeys(await self._links.targets(page)))
        found = (await self._find({page.slug: targets}))[page.slug]
        refused = await self._unasked(page, found) - before.keys()
        for target in targets:
            file = None if target in refused else found.get(target)
            if target in before and await self._is_away(file):
                # the wiki still has it
                wanted[target] = before[target]
            elif isinstance(file, LooseFile):
                wanted[target] = file
        if not wanted:
            return page, ()
        places = await self._links.places(page, wanted)
        # From here on the page is really sent: its files are uploaded, and a link that
        # cannot be written for the wiki stops it before.
        is_sent = path_of is None
        if path_of is None:
            await self._refuse_composed(page, wanted, places)
            path_of = self._uploaded
        paths: dict[LinkTarget, AttachmentPath] = {}
        for target in {place.target for place in places}:
            held = wanted[target]
            if isinstance(held, LooseFile):
                held = await path_of(page.slug, held)
            paths[target] = held
        # where a link leads to what the wiki has in its own place, it stays as it is
        places = [place for place in places if paths[place.target] != NOWHERE]
        content = await self._links.retarget(
            page,
            [
                (place, replace(place.target, path=path), path)
                for place in places
                for path in [paths[place.target]]
            ],
        )
        if content is None:
            if is_sent:  # a comparison alone says nothing
                log.warning("%s: its links to files cannot be written", page.slug)
            return page, ()
        links = {
            place.start: WrittenLink(paths[place.target], place.written, place.target)
            for place in places
        }
        links = await self._as_on_the_wiki(page, set(paths.values())) | links
        return replace(page, content=content), [links[start] for start in sorted(links)]

    async def recognised(self, here: Page, there: Page) -> Sequence[WrittenLink] | None:
        """The links of a page to files, where nothing but these differs.

        For pages whose record was lost.  A link here and an upload there are the same
        if the bytes are; such an upload is remembered and not made again.

        Returns:
            None where the texts differ in anything else.
        """
        targets = await self._links.targets(there)
        uploads = [one.path for one in targets if is_upload(one.path)]
        if here.format is not there.format or not uploads:
            return None
        known: dict[Digest, AttachmentPath] = {}
        for path in map(AttachmentPath, dict.fromkeys(uploads)):
            try:
                known.setdefault((await self._there(path)).digest, path)
            except RemoteError as error:
                log.info("%s: %s", here.slug, error.message)
        used: list[tuple[LooseFile, AttachmentPath]] = []

        async def path_of(_slug: Slug, file: LooseFile) -> AttachmentPath:
            path = known.get(file.digest, NOWHERE)
            if path != NOWHERE:
                used.append((file, path))
            return path

        _, links = await self.page_out(here, path_of)
        back = await self.page_in(there, [tuple(links)])
        if not links or fold_text(back.content) != fold_text(here.content):
            return None
        for file, path in used:
            self._state.record_upload(file.digest, path, file.path, file.size)
        return links

    async def _there(self, path: AttachmentPath) -> Attachment:
        """What the wiki has for an upload; each is read once."""
        if path not in self._read:
            digest, size = hashlib.sha256(), 0
            async for chunk in self._wiki.read_attachment(path):
                digest.update(chunk)
                size += len(chunk)
            self._read[path] = Attachment(path, Digest(digest.hexdigest()), size)
        return self._read[path]

    async def outdated(self) -> frozenset[Slug]:
        """Pages that link to a file whose content is another one than the wiki's.

        Also pages that were sent before the file was there, or without an answer.
        """
        self._names = await self._scan()
        uploads = self._state.uploads()
        found = set(self._state.pages_with_unsettled_links())
        links_of = {
            slug: tuple(itertools.chain(*attempts))
            for slug, attempts in self._state.all_written_links().items()
        }
        files = await self._find(
            {slug: [one.target for one in links] for slug, links in links_of.items()}
        )
        for slug, links in links_of.items():
            for link in links:
                now = files[slug].get(link.target)
                if await self._is_away(now):
                    continue
                if isinstance(now, LooseFile):
                    now = uploads.get(now.digest, NOWHERE)
                if now != link.path:
                    found.add(slug)
        late = {slug async for slug in self._late(self._names)}
        base = self._state.base().items()
        # Pages that are as they were now need a search for new names only.
        self._covered = self._names.names
        self._covering = {slug: page.local for slug, page in base if slug not in late}
        return frozenset(found | late)

    async def _late(self, names: NameSearch) -> AsyncIterator[Slug]:
        """Pages that were sent without a file they link to, or came from the wiki so.

        Args:
            names: Of all files.
        """
        if not names.names:
            return
        new = NameSearch(names.names - self._covered)
        asked: list[tuple[Page, NameSearch]] = []
        chars = 0
        for slug, known in self._state.base().items():
            search = new if self._covering.get(slug) == known.local else names
            if not search.names:
                continue
            page = Page(slug, known.format, self._state.text(slug) or "")
            asked.append((page, search))
            chars += len(page.content)
            if chars >= SEARCHED_CHARS:
                async for late in self._linking_to_new(asked):
                    yield late
                asked, chars = [], 0
        async for late in self._linking_to_new(asked):
            yield late

    async def _linking_to_new(
        self, asked: Sequence[tuple[Page, NameSearch]]
    ) -> AsyncIterator[Slug]:
        """Pages that, as they were agreed on, link to files they were sent without."""
        if not asked:
            return
        for page, mentioned in await asyncio.to_thread(_searched, asked):
            if not self._are_all_sent(page, mentioned):
                _, links = await self.page_out(page, self._missing_there)
                if links and self._state.written_links(page.slug) != (tuple(links),):
                    yield page.slug

    async def _note_unmet(self, page: Page) -> None:
        """Note links to files that are not here."""
        # a way without an extension leads to a page
        ways = set(filter(has_extension, linked_ways(page.content)))
        self.unmet[page.slug] = []
        if ways:
            targets = dict.fromkeys(await self._links.targets(page))
            found = (await self._find({page.slug: targets}))[page.slug]
            missing = {one.path for one in targets if found.get(one) is None}
            self.unmet[page.slug] = sorted(missing & ways)

    async def _unasked(
        self,
        page: Page,
        found: Mapping[LinkTarget, LooseFile | AttachmentPath | None],
    ) -> Collection[LinkTarget]:
        """Links to files in folders that are left out, written here by nobody just now.

        Somebody else may have, who guesses what is in such folders.
        """
        hidden = {
            target
            for target, file in found.items()
            if isinstance(file, LooseFile)
            and self._files.is_unlisted(file.path)
            and file.path not in self._fetched
        }
        if not hidden:
            return hidden
        agreed = replace(page, content=self._state.text(page.slug) or "")
        return hidden & set(await self._links.targets(agreed))

    async def _refuse_composed(
        self,
        page: Page,
        wanted: Mapping[LinkTarget, LooseFile | AttachmentPath],
        places: Sequence[LinkPlace],
    ) -> None:
        """Send no new link to a file whose name is put together by the format.

        It stands nowhere to be replaced.  One that the wiki has already is no worse
        than it was: the file may be in its repository.
        """
        written = {place.target for place in places}
        composed = {
            target: held.path
            for target, held in wanted.items()
            if isinstance(held, LooseFile) and target not in written
        }
        if not composed:
            return
        agreed = replace(page, content=self._state.text(page.slug) or "")
        for target in composed.keys() - set(await self._links.targets(agreed)):
            raise Rejected(
                f"{page.slug} links to {composed[target]} with a path built from"
                f" attributes or macros, and the file has another path on the wiki",
                hint="write the full path in the link, without :imagesdir: or {...}",
            )

    async def _scan(self) -> NameSearch:
        """Scan the files: the names that the text of a page which links to one has."""
        known = self._state.attachments()
        there = await self._files.there(known)
        self._fetched = {
            path: path if await self._is_the_wikis(known[path], file) else file
            for path, file in there.items()
        }
        # an upload by its folder, for many have one name
        changed = {
            path.rpartition("/")[0 if is_upload(path) else 2]
            for path, file in self._fetched.items()
            if isinstance(file, LooseFile)
        }
        return NameSearch(await self._files.names(self._fetched.keys()) | changed)

    async def _find(
        self, wanted: Mapping[Slug, Collection[LinkTarget]]
    ) -> Mapping[Slug, Mapping[LinkTarget, LooseFile | AttachmentPath | None]]:
        """The files that the links of pages lead to from where each page's file is.

        Returns:
            Where the wiki has it, for a fetched one that is as it was.
        """
        if self._names is None:
            self._names = await self._scan()
        fetched: dict[Slug, dict[LinkTarget, LooseFile | AttachmentPath | None]] = {}
        loose: dict[Slug, list[LinkTarget]] = {}
        start = {slug: self._state.file_of(slug) for slug in wanted}
        find = self._files.fetched_path
        for slug, targets in wanted.items():
            fetched[slug] = {
                target: self._fetched.get(path)
                for target in targets
                if (path := find(start[slug], target, self._fetched)) is not None
            }
            loose[start[slug]] = [one for one in targets if one not in fetched[slug]]
        found = await self._files.find(loose)
        return {slug: {**fetched[slug], **found[start[slug]]} for slug in wanted}

    async def _is_the_wikis(self, known: FetchedFile, file: LooseFile) -> bool:
        """Whether a link to a fetched file means what the wiki has in its place."""
        if await self._is_away(file):
            return True
        if file.digest != known.digest:
            return False
        # another file than the wiki's means itself once it was uploaded
        is_own = not known.version and not is_upload(known.path)
        return not (is_own and self._state.upload_of(file.digest))

    async def _is_away(self, file: LooseFile | AttachmentPath | None) -> bool:
        """Whether a file is gone here, or only a pointer to its content is left."""
        if not isinstance(file, LooseFile):
            return file is None
        if file.size > POINTER_BYTES_MAX:
            return False
        if file.digest not in self._pointers:
            try:
                content = b"".join([chunk async for chunk in self._files.read(file)])
            except WikisyncError:
                return False  # who reads it will say what is wrong
            self._pointers[file.digest] = is_pointer(content)
        return self._pointers[file.digest]

    async def _as_on_the_wiki(
        self, page: Page, paths: Collection[AttachmentPath]
    ) -> dict[int, WrittenLink]:
        """Links that lead to an attachment here as they will there, by their place.

        Without them nothing says which link of the wiki's text was which here.
        """
        present = [path for path in paths if path.rpartition("/")[0] in page.content]
        if not present:
            return {}
        targets = [LinkTarget(path, kind) for path in present for kind in (False, True)]
        return {
            place.start: WrittenLink(
                AttachmentPath(place.target.path), place.written, place.target
            )
            for place in await self._links.places(page, targets)
        }

    async def _mentions_file(self, page: Page) -> bool:
        """Whether a file's name stands anywhere in the page: parsing costs more."""
        if self._names is None:
            self._names = await self._scan()
        # what is in hidden folders has no names until a page of the base links to it
        return bool(self._names.mentioned(page.content) or _HIDDEN.search(page.content))

    def _are_all_sent(self, page: Page, mentioned: Collection[str]) -> bool:
        """Whether each place where a file is named is a link that was sent.

        Parsing all pages that show pictures would be most of a sync's time.
        """
        attempts = self._state.written_links(page.slug)
        if len(attempts) != 1:
            return False
        targets = (in_form_c(link.target.path) for link in attempts[0])
        sent = Counter(target.rpartition("/")[2] for target in targets)
        text = as_meant(page.content)
        return all(count_name(name, text) == sent[name] for name in mentioned)

    async def _planned(self, _slug: Slug, file: LooseFile) -> AttachmentPath:
        """Where the wiki has the file, or about where it will have it."""
        name = file.path.rpartition("/")[2]
        planned = AttachmentPath(f"uploads/{UNKNOWN_FOLDER}/{name}")
        return self._state.upload_of(file.digest) or planned

    async def _missing_there(self, slug: Slug, file: LooseFile) -> AttachmentPath:
        """The same, but nowhere for a file of which the wiki has one in its own place.

        Without git nothing has listed that; links lead to it until this one changes.
        """
        path = AttachmentPath(file.path)
        if path not in self._fetched:
            with suppress(RemoteError):
                await self._there(path)
                self._state.record_attachments([FetchedFile(path, file.digest, file)])
                self._fetched = {**self._fetched, path: path}
                return NOWHERE
        return await self._planned(slug, file)

    async def _uploaded(self, slug: Slug, file: LooseFile) -> AttachmentPath:
        """Where the wiki has the file; uploaded once, whatever it is called here."""
        async with self._uploading:
            # another page may have sent the same file meanwhile
            known = self._state.upload_of(file.digest)
            return known or await self._upload(slug, file)

    async def _upload(self, slug: Slug, file: LooseFile) -> AttachmentPath:
        if file.size > FILE_BYTES_MAX:
            raise Rejected(
                f"{file.path}, which {slug} links to, is larger than"
                f" {FILE_BYTES_MAX >> 20} MiB",
                hint="make the file smaller, or host it elsewhere and link to it",
            )
        if await self._is_away(file):
            raise Rejected(
                f"{file.path}, which {slug} links to, holds only a pointer to its"
                " content",
                hint="get the content with git lfs pull or git annex get",
            )
        intent = self._state.begin(
            Intent(WriteKind.UPLOAD, slug, text=file.path, at=self._clock())
        )
        name = file.path.rpartition("/")[2]
        try:
            stored = await self._wiki.write_attachment(
                AttachmentPath(f"uploads/{name}"), self._files.read(file)
            )
        except RemoteError:
            self._state.settle(intent)
            raise
        with self._state.together():
            # of what was sent: it may have been saved again since it was read
            self._state.record_upload(
                stored.digest, stored.path, file.path, stored.size
            )
            self._state.settle(intent)
        log.info("uploaded %s as %s", file.path, stored.path)
        return stored.path


def _searched(
    asked: Sequence[tuple[Page, NameSearch]],
) -> Sequence[tuple[Page, Sequence[str]]]:
    """The pages that mention any of the names that each is searched for, with those."""
    found = ((page, search.mentioned(page.content)) for page, search in asked)
    return [one for one in found if one[1]]


def _as_written(
    targets: Sequence[LinkTarget], attempts: Sequence[Sequence[WrittenLink]]
) -> Sequence[WrittenLink | None]:
    """What stood here for each link of a text of the wiki to a file.

    The attempt that sent just these links, if there is one; else the newest that knows
    a file, whose links to it are taken in their order.
    """
    for links in attempts:
        if targets == [link.on_wiki for link in links]:
            return links
    left: dict[LinkTarget, list[WrittenLink]] = {}
    for target in dict.fromkeys(targets):
        of_attempts = ([one for one in a if one.on_wiki == target] for a in attempts)
        left[target] = next(filter(None, of_attempts), [])
    written: list[WrittenLink | None] = []
    for target in targets:
        links = left[target]
        written.append(links[0] if links else None)
        del links[: len(links) > 1]
    return written
