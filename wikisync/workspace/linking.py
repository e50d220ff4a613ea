"""The links of a page to files of the folder: as the wiki has to write them, and back.

On the way out each linked file is uploaded once, by its content; on the way in the link
is again what the person wrote (``docs/sync.md`` "Attachments").  The engine sees both
sides as the folder writes them; the digest of a page is that of the wiki's own text.
"""

import asyncio
import hashlib
import logging
import threading
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from typing import TypeAlias, TypeVar

from msgspec.structs import replace

from wikisync.core import mentions, model
from wikisync.core.contents import POINTER_BYTES_MAX, is_pointer
from wikisync.core.mentions import is_upload, mentioned_attachments
from wikisync.core.model import (
    AttachmentPath,
    Digest,
    LinkTarget,
    LooseFile,
    Page,
    Slug,
    fold_text,
    in_form_c,
)
from wikisync.errors import Rejected, RemoteError, WikisyncError
from wikisync.folder.naming import is_unlisted
from wikisync.folder.replica import FolderReplica
from wikisync.markup.frontmatter import front_matter_problems
from wikisync.markup.retarget import link_targets, to_folder, to_wiki
from wikisync.sync.base.state import WikiState
from wikisync.sync.decide.ledger import FetchedFile, WriteKind
from wikisync.sync.replica import RemoteReplica

log = logging.getLogger(__name__)

FILE_BYTES_MAX = 100 * 1024 * 1024

NOWHERE = AttachmentPath("")
"""Where the wiki has what was not uploaded."""
UNKNOWN_FOLDER = "0" * 32

T = TypeVar("T")
_Held: TypeAlias = LooseFile | AttachmentPath
"""A file to be uploaded, or where the wiki has it."""


_PARSING = threading.Lock()
"""The parsers are the process's, and made for one page at a time."""


async def _parsed(work: Callable[[], T]) -> T:
    """What parsers find, in a thread: the loop never waits for them."""

    def alone() -> T:
        with _PARSING:
            return work()

    return await asyncio.to_thread(alone)


async def _targets(page: Page) -> Sequence[LinkTarget]:
    """Where the page's links lead, once each."""
    return tuple(dict.fromkeys(await _parsed(lambda: link_targets(page))))


class TranslatedWiki:
    """A ``RemoteReplica`` whose texts are as the folder writes them."""

    def __init__(
        self, wiki: RemoteReplica, files: FolderReplica, state: WikiState
    ) -> None:
        self._wiki, self.name = wiki, wiki.name
        self._files = files
        self._state = state
        self.head = wiki.head
        self.follows = wiki.follows
        self.write_attachment = wiki.write_attachment
        self.other_files = wiki.other_files
        self.is_remembering = False
        """Set while the wiki is taken as it was last seen, and not scanned: for a
        save here, whose page is read anyway before it is written."""
        self.keeps_files = False
        """Set while the files beside the pages are taken as they were last seen."""
        self.unmet: dict[Slug, Sequence[str]] = {}
        """Ways of links to files that were not here when their pages were sent."""
        self.bad_front_matter: dict[Slug, Sequence[model.Problem]] = {}
        """What is wrong in texts as they were sent, by the names of their files."""
        self._last: dict[Slug, model.PageState] | None = None
        self._problems: tuple[model.Problem, ...] = ()
        """Of the last scan: they are not over because nobody scans."""
        self._unanswered = 0
        """Writes under way: until they are answered nobody knows what there is."""
        self._uploading = asyncio.Lock()
        self._fetched: Mapping[str, _Held] | None = None
        """Fetched attachments that are here: where the wiki has each, or the file that
        a person made of it.  None where files may have come and gone."""
        self._pointers: dict[Digest, bool] = {}
        """Of small files: whether such a content is only a pointer."""
        self._read: dict[AttachmentPath, Digest] = {}
        self._compared: dict[Slug, tuple[Digest, Collection[str]]] = {}
        """Pages whose files and uploads differ, and whose links do not."""

    @property
    def last_window_s(self) -> float:
        """From the read to the answer of the last write."""
        return self._wiki.last_window_s

    async def snapshot(self) -> model.Snapshot:
        """Scan every page; see ``Replica``."""
        if not self.keeps_files:
            self._fetched = None
        if self.is_remembering and self._last is not None and not self._unanswered:
            return model.Snapshot(
                dict(self._last), problems=self._problems, is_remembered=True
            )
        # ``_last`` is whole, and brought up to date with every write that was answered;
        # while one is not, or after one that failed, only the wiki itself knows.
        seen = await self._wiki.snapshot()
        base, pages = self._state.base(), dict(seen.pages)
        texts = dict(seen.texts)
        uploaded = frozenset(self._state.uploads_by_digest().values())
        for slug, page in seen.texts.items():
            known, state = base.get(slug), pages[slug]
            if known is not None and known.remote != state.digest:
                texts[slug] = here = await self._to_folder(page)
                pages[slug] = state if here is page else here.state(state.identity)
            elif uploaded and not uploaded.isdisjoint(
                mentioned_attachments(page.content)
            ):
                # read if it is needed, by the name that the base has then
                del texts[slug]
        # A page that a partial scan lacks may be there all the same: only a whole one
        # may be taken for the wiki later.
        self._last = dict(pages) if seen.is_complete and not seen.unreadable else None
        self._problems = seen.problems
        return replace(seen, pages=pages, texts=texts)

    async def read(self, slug: Slug) -> Page:
        """The page with its text as of now."""
        return await self._to_folder(await self._wiki.read(slug))

    async def write(self, page: Page, *, expected: Digest | None) -> Page:
        """Upload what the page links to and the wiki lacks, then write the page."""
        # where a file cannot be uploaded the page is not written: a link would be
        # broken
        there = await self._to_wiki(page)
        last = self._last
        self._unanswered += 1
        try:
            answer = await self._wiki.write(there, expected=expected)
        except BaseException:
            # it may have been done: the wiki must be scanned
            self._last = None
            raise
        finally:
            self._unanswered -= 1
        file = self._state.file_of(page.slug)
        self.bad_front_matter[file] = front_matter_problems(file, page.content)
        if answer.content == there.content:
            digest = None if there is page else answer.digest
            here = replace(page, wiki_digest=digest, uploads=there.uploads)
        else:
            here = await self._to_folder(replace(answer, slug=page.slug))
        here = replace(here, slug=answer.slug, format=answer.format)
        if last is None or last is not self._last or answer.slug != page.slug:
            # a scan meanwhile may have been before it or after, and pages below one
            # that got another name may have got others
            self._last = None
        else:
            identity = last[here.slug].identity if here.slug in last else ""
            last[here.slug] = here.state(identity)
        return here

    async def move(self, slug: Slug, target: Slug, *, expected: Digest) -> Page:
        """Give the page another name, its text unchanged."""
        # pages below may be renamed along, under names that only a scan shows
        self._last = None
        moved = await self._wiki.move(slug, target, expected=expected)
        # the base has its text under the old name until it learns the new one
        here = await self._to_folder(replace(moved, slug=slug))
        return replace(here, slug=moved.slug)

    async def delete(self, slug: Slug, *, expected: Digest) -> None:
        """Remove the page if it still has the expected digest."""
        # without an answer it may be done or not
        self._last = None
        await self._wiki.delete(slug, expected=expected)

    def read_attachment(
        self, path: AttachmentPath, version: str = ""
    ) -> AsyncIterator[bytes]:
        """The bytes in chunks of what the wiki has for this file of the folder."""
        if is_upload(path):  # which may have been changed here
            held = {one for page in self._state.base().values() for one in page.uploads}
            versions = self._state.uploads().get(in_form_c(path), {}).values()
            path = next((one for one in versions if one in held), path)
        return self._wiki.read_attachment(path, version)

    # -- the two spellings -------------------------------------------------------

    async def _to_folder(self, page: Page) -> Page:
        """The page as the folder writes it, with the digest of the wiki's text."""
        # its links are written as in the text that both sides agreed on, or as in one
        # that was sent without an answer
        if "uploads/" not in page.content:
            return page
        slug, base = page.slug, self._state.base().get(page.slug)
        is_text = {WriteKind.CREATE, WriteKind.REPLACE}
        intents = [one for one in self._state.intents() if one.operation in is_text]
        sent = next((one for one in intents if one.slug == slug), None)
        if sent is not None:
            like = Page(slug, sent.format, sent.text)
        elif base is not None and base.uploads:
            like = Page(slug, base.format, self._state.text(slug) or "")
        else:
            return page
        held = () if base is None else base.uploads
        files: dict[LinkTarget, Collection[str]] = {}
        for target, file in (await self._find(slug, await _targets(like))).items():
            now = file.digest if isinstance(file, LooseFile) else None
            versions = self._versions(slug, target)
            ways = {v for d, v in versions.items() if sent or v in held or d == now}
            # a file that was moved here has its upload under its earlier path
            moved = self._state.upload_of(now) if now else None
            files[target] = ways | {one for one in held if one == moved}
        content, uploads = await _parsed(lambda: to_folder(page, like, files))
        if content == page.content:
            return page
        found = tuple(AttachmentPath(one) for one in sorted(uploads))
        return replace(page, content=content, wiki_digest=page.digest, uploads=found)

    async def _to_wiki(self, page: Page, *, is_sent: bool = True) -> Page:
        """The page as the wiki is to hold it.

        ``is_sent``: its files are uploaded, or Rejected is raised; else only compared.
        """
        wanted = await self._wanted(page, is_sent=is_sent)
        files: dict[LinkTarget, str] = {}
        for target, held in wanted.items():
            if not is_sent and await self._is_in_place(held):
                continue
            if isinstance(held, str):
                files[target] = held
            else:
                # where the wiki has it, or about where it will
                name = held.path.rpartition("/")[2]
                planned = f"uploads/{UNKNOWN_FOLDER}/{name}"
                files[target] = self._state.upload_of(held.digest) or planned
        if not files:
            return page
        content, placed = await _parsed(lambda: to_wiki(page, files))
        if is_sent:
            # A name that the format puts together stands nowhere to be replaced.  One
            # that the wiki has already is no worse than it was: the file may be in its
            # repository.
            composed = {
                target: held.path
                for target, held in wanted.items()
                if isinstance(held, LooseFile) and target not in placed
            }
            agreed = await self._agreed_targets(page) if composed else ()
            for target in composed.keys() - set(agreed):
                raise Rejected(
                    f"{page.slug} links to {composed[target]} with a path built from"
                    f" attributes or macros, and the file has another path on the wiki",
                    hint="write the full path in the link, without :imagesdir: or"
                    " {...}",
                )
            for target in placed:
                held = wanted[target]
                if isinstance(held, LooseFile):
                    files[target] = await self._uploaded(page.slug, held)
            content, placed = await _parsed(lambda: to_wiki(page, files))
        if content is None:
            if is_sent:  # a comparison alone says nothing
                log.warning("%s: its links to files cannot be written", page.slug)
            return page
        uploads = sorted({AttachmentPath(files[target]) for target in placed})
        return replace(page, content=content, uploads=tuple(uploads))

    async def recognised(self, here: Page, slug: Slug) -> Page | None:
        """The page of the wiki as the folder writes it, if nothing but links differ."""
        there = await self._wiki.read(slug)
        # For pages whose record was lost.  A link here and an upload there are the same
        # if the bytes are; such an upload is remembered and not made again.
        if here.format is not there.format:
            return None
        known: dict[Digest, AttachmentPath] = {}
        for way in dict.fromkeys(one.path for one in await _targets(there)):
            if is_upload(way):
                path = AttachmentPath(way)
                try:
                    known.setdefault(await self._digest_there(path), path)
                except RemoteError as error:
                    log.info("%s: %s", here.slug, error.message)
        wanted = await self._wanted(here) if known else {}
        files = {
            target: known[file.digest]
            for target, file in wanted.items()
            if isinstance(file, LooseFile) and file.digest in known
        }
        content, placed = await _parsed(lambda: to_wiki(here, files))
        if not placed or fold_text(content or "") != fold_text(there.content):
            return None
        for target in placed:
            file = wanted[target]
            if isinstance(file, LooseFile):
                self._state.record_upload(file.path, file.digest, files[target])
        uploads = tuple(sorted({files[target] for target in placed}))
        page = replace(here, wiki_digest=there.digest, uploads=uploads)
        if self._last is not None:
            self._last[slug] = page.state()
        return page

    async def outdated(self) -> frozenset[Slug]:
        """Pages that link to a file whose content is another one than the wiki's."""
        self._fetched = await self._scan()
        base = self._state.base()
        expected = await self._expected()
        with_uploads = {slug for slug, page in base.items() if page.uploads}
        found: set[Slug] = set()
        for slug in sorted(expected.keys() | with_uploads):
            known, now = base[slug], expected.get(slug, frozenset())
            seen = known.local, now
            if now == set(known.uploads) or self._compared.get(slug) == seen:
                continue
            page = Page(slug, known.format, self._state.text(slug) or "")
            sent = await self._to_wiki(page, is_sent=False)
            if set(sent.uploads) != set(known.uploads):
                found.add(slug)
            else:
                self._compared[slug] = seen
        return frozenset(found)

    async def _expected(self) -> Mapping[Slug, Collection[str]]:
        """The uploads that pages should have, if all that looks like a link is one."""
        base, uploads = self._state.base(), self._state.uploads()
        fetched = self._fetched or {}
        changed = {p for p, file in fetched.items() if isinstance(file, LooseFile)}
        paths = await self._files.loose_files() | changed | uploads.keys()
        pages = self._state.linking(paths)
        there = await self._files.files_at(pages.keys())
        expected = defaultdict[Slug, set[str]](set)
        for path, slugs in pages.items():
            file = fetched.get(path) or there.get(path)
            if await self._is_away(file):
                # the wiki still has it
                versions = uploads.get(path, {}).values()
                for slug in slugs:
                    expected[slug].update(set(versions) & set(base[slug].uploads))
            elif isinstance(file, LooseFile):
                place = self._state.upload_of(file.digest) or NOWHERE
                for slug in slugs:
                    expected[slug].add(place)
        return expected

    # -- files that pages link to ------------------------------------------------

    async def _wanted(
        self, page: Page, *, is_sent: bool = False
    ) -> Mapping[LinkTarget, _Held]:
        """What of the folder a page links to, or what the wiki still has of it."""
        if self._fetched is None:
            self._fetched = await self._scan()
        ways = mentions.linked_ways(page.content)
        files = [way for way in ways if mentions.has_extension(way)]
        if is_sent:
            self.unmet[page.slug] = ()
        if not (is_sent and files) and not await self._may_link(page, ways):
            return {}
        targets = await _targets(page)
        found = await self._find(page.slug, targets)
        if is_sent:
            missing = {one.path for one in targets if found.get(one) is None}
            # a way without an extension leads to a page
            self.unmet[page.slug] = sorted(missing.intersection(files))
        base = self._state.base().get(page.slug)
        # links to files in folders that are left out, which nobody here wrote
        hidden = {
            target
            for target, file in found.items()
            if isinstance(file, LooseFile)
            and is_unlisted(file.path)
            and file.path not in (self._fetched or {})
        }
        refused = hidden and hidden & set(await self._agreed_targets(page))
        wanted: dict[LinkTarget, _Held] = {}
        for target in targets:
            file = found.get(target)
            held = [
                one
                for one in self._versions(page.slug, target).values()
                if base is not None and one in base.uploads
            ]
            if held and await self._is_away(file):
                wanted[target] = held[0]
            elif isinstance(file, LooseFile) and (held or target not in refused):
                wanted[target] = file
        return wanted

    async def _may_link(self, page: Page, ways: Sequence[str]) -> bool:
        """Whether a page names a file that is here or was; parsing costs more."""
        fetched, uploads = self._fetched or {}, self._state.uploads()
        file = self._state.file_of(page.slug)
        paths = {
            *mentions.ways_lead_to(file, ways),
            *mentions.mentioned_attachments(page.content),
        }
        if not uploads.keys().isdisjoint(paths):
            return True
        if any(isinstance(fetched.get(path), LooseFile) for path in paths):
            return True
        return bool(await self._files.files_at(paths))

    def _versions(
        self, slug: Slug, target: LinkTarget
    ) -> Mapping[Digest, AttachmentPath]:
        """Where the wiki has what a link on a page led to at any time."""
        path = self._files.linked_path(self._state.file_of(slug), target)
        return self._state.uploads().get(in_form_c(path or ""), {})

    async def _find(
        self, slug: Slug, targets: Sequence[LinkTarget]
    ) -> Mapping[LinkTarget, _Held | None]:
        """Files that links lead to; where the wiki has it, for one as fetched."""
        if self._fetched is None:
            self._fetched = await self._scan()
        file, fetched = self._state.file_of(slug), self._fetched
        paths = {one: self._files.linked_path(file, one) for one in targets}
        there = await self._files.files_at([one for one in paths.values() if one])
        return {
            target: fetched.get(path) or there.get(path)
            for target, path in paths.items()
            if path is not None
        }

    async def _agreed_targets(self, page: Page) -> Sequence[LinkTarget]:
        agreed = replace(page, content=self._state.text(page.slug) or "")
        return await _targets(agreed)

    async def _scan(self) -> Mapping[str, _Held]:
        known, found = self._state.attachments(), dict[str, _Held]()
        for path, file in (await self._files.attachments(known)).items():
            fetched = known[path]
            # another file than the wiki's means itself once it was uploaded
            is_own = not fetched.version and not is_upload(path)
            is_sent = is_own and self._state.upload_of(file.digest)
            is_same = file.digest == fetched.digest and not is_sent
            found[path] = path if is_same or await self._is_away(file) else file
        return found

    async def _is_away(self, file: _Held | None) -> bool:
        """Whether a file is gone here, or only a pointer to its content is left."""
        if not isinstance(file, LooseFile):
            return file is None
        if file.size > POINTER_BYTES_MAX:
            return False
        if file.digest not in self._pointers:
            try:
                chunks = self._files.read_attachment(AttachmentPath(file.path))
                content = b"".join([chunk async for chunk in chunks])
            except WikisyncError:
                return False  # who reads it will say what is wrong
            self._pointers[file.digest] = is_pointer(content)
        return self._pointers[file.digest]

    # -- uploads -----------------------------------------------------------------

    async def _digest_there(self, path: AttachmentPath) -> Digest:
        if path not in self._read:
            digest = hashlib.sha256()
            async for chunk in self._wiki.read_attachment(path):
                digest.update(chunk)
            self._read[path] = Digest(digest.hexdigest())
        return self._read[path]

    async def _is_in_place(self, file: _Held) -> bool:
        """Whether the wiki has a file of its own where this one is."""
        # without git nothing has listed that; links lead to it until this one changes
        if isinstance(file, str) or file.path in (self._fetched or {}):
            return False
        if in_form_c(file.path) in self._state.uploads():
            return False
        path = AttachmentPath(file.path)
        with suppress(RemoteError):
            await self._digest_there(path)
            self._state.record_attachments([FetchedFile(path, file.digest, file)])
            self._fetched = {**(self._fetched or {}), path: path}
            return True
        return False

    async def _uploaded(self, slug: Slug, file: LooseFile) -> AttachmentPath:
        """Where the wiki has the file; uploaded once, whatever it is called here."""
        async with self._uploading:
            # another page may have sent the same file meanwhile
            known = self._state.upload_of(file.digest)
            if known is not None:
                self._state.record_upload(file.path, file.digest, known)
                return known
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
            name = file.path.rpartition("/")[2]
            # one whose answer is lost is sent again: nothing lists uploads
            chunks = self._files.read_attachment(AttachmentPath(file.path))
            stored = await self._wiki.write_attachment(
                AttachmentPath(f"uploads/{name}"), chunks
            )
            # of what was sent: it may have been saved again since it was read
            path = AttachmentPath(stored.path)
            self._state.record_upload(file.path, stored.digest, path)
            log.info("uploaded %s as %s", file.path, path)
            return path
