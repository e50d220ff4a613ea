"""A copy of a wiki made equal to the wiki: one step, without engine, folder or lock.

``mirror_wiki`` is the step.  ``Mirroring`` runs it for the wikis of an export that are
due by the list of projects.  The service may say so late, or never (Q14): every wiki is
asked after ``CHECK_S``, and where one had changed in silence, activity is not believed
for ``DISTRUST_S``.  What a copy lacks is never taken for deleted by one answer: a list
that is too short is held, and each missing page is asked for by itself.
"""

import logging
import time
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Mapping,
    Sequence,
)
from contextlib import aclosing, suppress

from msgspec import Struct, field
from msgspec.structs import replace

from wikisync import errors
from wikisync.api.client import Client
from wikisync.api.git import AttachmentSource, RemoteRepository
from wikisync.api.replica import WikiReplica
from wikisync.api.scan import UNREADABLE
from wikisync.api.scanning import READS_MAX
from wikisync.api.wikis import Wiki
from wikisync.core import model
from wikisync.core.fetching import MISSING_HINT, Fetching, Unfetched
from wikisync.core.layout import CACHE_FOLDER
from wikisync.core.mentions import (
    is_upload,
    linked_ways,
    mentioned_attachments,
    unmet_mentions,
    ways_lead_to,
)
from wikisync.core.messages import Progress
from wikisync.core.system.parallel import each
from wikisync.core.versions import UNKNOWN, Versions, seen_versions
from wikisync.folder.naming import check_attachment, encode_page, path_of
from wikisync.site.mirror import (
    NOTHING,
    Mirror,
    MirrorFile,
    MirrorPage,
    WikiCopy,
    name_of,
)
from wikisync.site.model import WikiSource
from wikisync.workspace.discovery import FoundWiki, skipped
from wikisync.workspace.pulled import Pull, PulledWiki, missing_pages
from wikisync.workspace.runner import CycleOutcome, ScanScope

log = logging.getLogger(__name__)

CHECK_S = 6 * 3600.0
"""After this time a wiki is asked whether it changed, whatever the list says."""
DISTRUST_S = 24 * 3600.0
GIT_BYTES_MIN = 1024 * 1024
"""A wiki with less text is listed, if it may have changed: git takes more requests."""

KeepFile = Callable[[AsyncIterator[bytes]], Awaitable[tuple[model.Digest, int]]]


class Step(Struct):
    """What a look at a wiki led to."""

    copy: WikiCopy
    """What the wiki holds; the very copy from before where nothing changed."""
    tag: str = ""
    """The mark to ask with next time whether anything changed."""
    texts: dict[model.Digest, bytes] = field(default_factory=dict)
    problems: list[model.Problem] = field(default_factory=list)
    """What the copy lacks, or has as it was before; without any it is all there is."""
    written: int = 0
    removed: int = 0
    fetched: int = 0


async def mirror_wiki(
    owner: model.WikiOwner,
    replica: WikiReplica,
    before: WikiCopy,
    keep_file: KeepFile,
    progress: Progress,
    *,
    allow_emptying: bool = False,
) -> Step:
    """What a copy has to hold to equal its wiki; Halted where it lost most pages."""
    seen = await replica.snapshot()
    step = Step(before, seen.tag, problems=list(seen.problems))
    pages = {
        slug: replace(known, identity=state.identity)
        for slug, state in seen.pages.items()
        if (known := before.pages.get(slug)) and known.state == state
    }
    changed = seen.pages.keys() - pages.keys()
    gone = before.pages.keys() - seen.pages.keys()
    unseen = gone & seen.unreadable if seen.is_complete else gone
    pages |= {slug: before.pages[slug] for slug in unseen}
    gone -= unseen
    lost = len(before.pages) - len(pages) - len(changed)
    if lost > model.removals_max(len(before.pages)) and not allow_emptying:
        raise missing_pages(owner, sorted(gone), len(before.pages))

    def fail(
        code: str, slug: model.Slug, error: errors.RemoteError | errors.FolderError
    ) -> None:
        step.tag = ""
        step.problems.append(model.Problem(code, slug, error.message, error.hint or ""))
        if slug in before.pages:
            pages[slug] = before.pages[slug]

    async def read(slug: model.Slug) -> None:
        progress.advance()
        try:
            page = seen.texts.get(slug) or await replica.read(slug)
            text = encode_page(page)
        except (errors.AuthenticationFailed, errors.RateLimited):
            raise
        except errors.RemoteError as error:
            if slug in changed or not isinstance(error, errors.NotFound):
                fail(UNREADABLE, slug, error)
            return
        except errors.FolderError as error:
            fail("page-unwritable", slug, error)
            return
        if slug in gone:
            step.tag = ""  # a list that lacks what is there may do so again
        identity = seen.pages[slug].identity if slug in changed else ""
        state, content = page.state(identity), page.content
        pages[slug] = MirrorPage(
            *(slug, state.format, path_of(slug, state.format), state.digest),
            *(len(text), identity, mentioned_attachments(content)),
            tuple(dict.fromkeys(ways_lead_to(slug, linked_ways(content)))),
        )
        step.texts[state.digest] = text
        step.written += 1

    asked = sorted(changed if allow_emptying else changed | gone)
    if asked:
        progress.start("pages", len(asked))
    await each(asked, read, in_flight=READS_MAX)
    step.removed = len(before.pages.keys() - pages.keys())
    files = await _files(replica, before, pages, step, keep_file, progress)
    if pages != before.pages or files != before.files:
        step.copy = WikiCopy(dict(sorted(pages.items())), dict(sorted(files.items())))
    return step


async def _files(
    replica: WikiReplica,
    before: WikiCopy,
    pages: Mapping[model.Slug, MirrorPage],
    step: Step,
    keep_file: KeepFile,
    progress: Progress,
) -> Mapping[model.AttachmentPath, MirrorFile]:
    """The files that the pages show or link to, and that of the redirects."""
    uploads = {path for page in pages.values() for path in page.mentions}
    linked = {way for page in pages.values() for way in page.ways}.difference(pages)
    # a wiki that is as it was has no other redirects
    is_asked = bool(linked) or pages.keys() != before.pages.keys()
    found = await replica.other_files() if is_asked else None
    if found is None:
        # nobody tells: what is here stays
        others = {one.path: one.version for one in before.files.values() if one.version}
    else:
        others = {
            model.AttachmentPath(path): version for path, version in found.items()
        }
    linked |= {model.REDIRECTS_PATH}
    versions = {
        path: one for path, one in others.items() if model.in_form_c(path) in linked
    }
    files = {
        path: one
        for path, one in before.files.items()
        if (path in uploads if is_upload(path) else versions.get(path) == one.version)
    }

    async def fetch(path: model.AttachmentPath) -> Unfetched | None:
        try:
            check_attachment(path)
        except errors.FolderError as error:
            hint = error.hint or MISSING_HINT
            problem = model.Problem("attachment-unwritable", path, error.message, hint)
            return Unfetched(problem)
        version = versions.get(path, "")
        # a full disk ends the reading, which gives the connection back
        async with aclosing(replica.read_attachment(path, version)) as chunks:
            kept = await keep_file(chunks)
        files[path] = MirrorFile(path, *kept, version)
        step.fetched += 1
        return None

    wanted = unmet_mentions(sorted({*uploads, *versions}), files)
    failed = await Fetching(fetch).run(wanted, progress, in_flight=READS_MAX)
    failed.sort(key=lambda one: (one.is_absent, one.problem.subject))
    step.problems += (one.problem for one in failed)
    for path in versions.keys() & before.files.keys() - files.keys():
        files[path] = before.files[path]
    return files


async def _versions(
    repository: RemoteRepository,
    known: Versions,
    before: WikiCopy,
    copy: WikiCopy,
    at: float,
) -> Versions:
    """The history of a wiki: as its git tells it, else what this look adds."""
    try:
        versions = await repository.versions(known)
    except errors.RemoteError as error:
        log.info("%s", error.message)
        versions = UNKNOWN
    if versions.head:
        return versions
    texts = (
        {slug: one.digest for slug, one in c.pages.items()} for c in (before, copy)
    )
    return seen_versions(known, int(at), *texts)


class Mirroring:
    """The wikis of one export and their copies."""

    def __init__(
        self,
        client: Client,
        mirror: Mirror,
        *,
        allow_emptying: bool = False,
        verify: bool = False,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._client, self._mirror = client, mirror
        self._allow_emptying = allow_emptying
        self._now = now
        self._believes = not verify and now() - mirror.distrusted_at > DISTRUST_S

    def pulls(self, wikis: Sequence[FoundWiki]) -> Sequence[Pull]:
        """The work on these wikis, for a runner."""
        return [_MirrorWork(self, wiki) for wiki in wikis]

    async def pull(
        self, wiki: FoundWiki, progress: Progress
    ) -> PulledWiki | model.Problem:
        """Make a copy equal to its wiki; a problem says why there is none."""
        name = name_of(str(self._client.address), wiki.owner.kind, wiki.id)
        noted = self._mirror.noted(name)
        passed_s = self._now() - noted.read_at
        is_same = bool(noted.number and noted.activity == wiki.activity != "")
        step = Step(NOTHING)
        if not (is_same and self._believes and 0 <= passed_s < CHECK_S):
            before, read_at = self._mirror.copy(noted), self._now()
            cache = self._mirror.folder / CACHE_FOLDER
            repository = RemoteRepository(self._client, wiki.owner, cache)
            remote = Wiki(self._client, wiki.owner, wiki.id)
            states = {slug: page.state for slug, page in before.pages.items()}
            replica = WikiReplica(
                remote,
                tag=noted.tag,
                pages=states if noted.tag else None,
                trees=repository.trees(),
                attachments=AttachmentSource(remote, repository),
                request_cost_bytes=GIT_BYTES_MIN,
            )
            step = await mirror_wiki(
                wiki.owner,
                replica,
                before,
                self._mirror.keep_file,
                progress,
                allow_emptying=self._allow_emptying,
            )
            if is_same and step.copy is not before:
                await self._doubt(wiki)
            noted = replace(
                noted,
                # what had a problem is asked for again, whatever happens on the wiki
                activity="" if step.problems else wiki.activity,
                tag=step.tag,
                read_at=read_at,
            )
            known, versions = self._mirror.versions(noted), None
            if step.copy is not before or (known == UNKNOWN and step.copy.pages):
                versions = await _versions(
                    repository, known, before, step.copy, read_at
                )
            noted = self._mirror.put(name, noted, step.copy, step.texts, versions)
        if not (wiki.is_named or noted.count or step.problems):
            return skipped(wiki.owner, "its wiki has no pages")
        source = WikiSource(
            **wiki.info,
            folder=self._mirror.folder,
            problems=tuple(dict.fromkeys(step.problems)),
            copy=noted.number,
        )
        return PulledWiki(
            source,
            pages=noted.count,
            written=step.written,
            removed=step.removed,
            attachments=step.fetched,
        )

    async def _doubt(self, wiki: FoundWiki) -> None:
        """A wiki changed and its project did not: ask whether it still says so."""
        # an error must not cost the wiki that was just read
        with suppress(errors.RemoteError):
            now = await self._client.project(wiki.id)
            if now.last_activity_at != wiki.activity:
                return
        self._mirror.distrust(self._now())
        self._believes = False


class _MirrorWork:
    is_paused = False

    def __init__(self, mirroring: Mirroring, wiki: FoundWiki) -> None:
        self.wiki, self.name = wiki, str(wiki.owner)
        self.progress = Progress()
        self._mirroring = mirroring
        self._pulled: PulledWiki | model.Problem | None = None

    def note(self, scope: ScanScope, paths: Collection[str] | None) -> None:
        """Nothing is kept: the one cycle reads all that is due."""

    async def cycle(self, scope: ScanScope) -> CycleOutcome:
        del scope
        self._pulled = await self._mirroring.pull(self.wiki, self.progress)
        return CycleOutcome(is_quiet=False)

    def pulled(self) -> PulledWiki | model.Problem:
        assert self._pulled is not None
        return self._pulled
