"""The wikis as a build sees them: every page and file by digest, and their history.

A copy in a mirror tells its digests (``mirror``).  In a folder, every file is reached
as the sync reaches it, by descriptors and through no link (``folder.safe_open``),
however long ago its name was listed: who may write in the folder may swap a file for
a link at any moment.  A file that is unchanged since the last build is not read again
(``folder.index``).
"""

from __future__ import annotations

import hashlib
import time
from collections import UserDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import cached_property, partial
from itertools import filterfalse
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from wikisync.core import model
from wikisync.core.decoding import msgpack_decoder
from wikisync.core.layout import CACHE_FOLDER
from wikisync.core.system.private import make_private_folder, write_private_file
from wikisync.core.versions import NO_DATES, UNKNOWN, Versions, dates_of, history_key
from wikisync.errors import FolderError
from wikisync.folder import safe_open
from wikisync.folder.index import FolderIndex, IndexedFile
from wikisync.folder.naming import is_unlisted, parse_path
from wikisync.folder.scan import read_patterns, scan_pages
from wikisync.markup.links import REDIRECTS_BYTES_MAX, parse_redirects
from wikisync.markup.resolve import REASONS
from wikisync.site import mirror
from wikisync.site.addresses import FOOTER, SIDEBAR, pages_named
from wikisync.site.cache import Cache
from wikisync.site.crosslinks import LooseStates
from wikisync.site.fingerprint import hash_of
from wikisync.site.model import SourcePage, Summary, WikiSource

UNREADABLE = model.Digest("unreadable")
"""Stands for the content of a file that vanished after it was listed."""
PAGES_PER_READ = 32
SCANS_FOLDER = "scans"
"""In the cache: what the files of each wiki held when they were read."""
LOGS_FOLDER = "logs"
COMMITS_MAX = 20_000
"""Of a repository that may hold more than pages; what is older is not known."""


class SourceFile(NamedTuple):
    """Where a file of a wiki lies: in the wiki's folder, at a path inside it."""

    folder: Path
    name: str


class WikiFiles(Struct, frozen=True):
    """Reads the files of a folder or mirror in any process: none is open."""

    folder: Path
    copy: int
    """As in ``WikiSource``."""

    def read(self, path: str, digest: model.Digest) -> bytes | None:
        """A page or file as it is now: the caller compares it.  None if lost."""
        text = self.texts([digest]).get(digest)
        return read_file(*self.place(path, digest)) if text is None else text

    def texts(self, digests: Sequence[model.Digest]) -> Mapping[model.Digest, bytes]:
        """Texts of pages that a mirror has, at once."""
        return mirror.read_texts(self.folder, self.copy, digests) if self.copy else {}

    def place(self, path: str, digest: model.Digest) -> SourceFile:
        """Where the bytes of a file that is no page are, to be copied."""
        if self.copy:
            return SourceFile(self.folder / mirror.FILES, digest)
        return SourceFile(self.folder, path)


_Pages = dict[model.Slug, SourcePage]


class CopiedPages(UserDict[model.Slug, SourcePage]):
    """Pages of a copy, read once somebody asks, and again after a build let go."""

    def __init__(self, read: Callable[[], _Pages]) -> None:
        self._read = read

    @cached_property
    def data(self) -> _Pages:  # type: ignore[override]
        """Them all."""
        return self._read()


class ScannedWiki(Struct, frozen=True, dict=True):
    """One wiki's folder at one look."""

    source: WikiSource
    pages: Mapping[model.Slug, SourcePage]
    attachments: Mapping[model.AttachmentPath, IndexedFile]
    problems: tuple[model.Problem, ...]
    loose: LooseStates = field(default_factory=LooseStates)
    templates: Mapping[model.Slug, SourcePage] = field(default_factory=dict)
    """Templates for new pages, which the site leaves out; a page may include one."""
    left_out: Mapping[str, str] = field(default_factory=dict)
    """What else is not in the site, by slug or path: why, a word of ``REASONS``."""
    missed: set[str] = field(default_factory=set)
    """Files that could not be read afterwards as they were at the look."""
    uncounted: set[str] = field(default_factory=set)
    """Texts of its history that were not there when their lines were counted."""
    drafts: Mapping[model.Digest, bytes] = field(default_factory=dict)
    """Texts of pages that no file holds yet."""
    has_news: bool = False
    """Whether a file had to be read: it is new, or has changed."""
    is_settled: bool = True
    """Every file is old enough to be believed the next time."""
    notes: tuple[model.Problem, ...] = ()
    """Folders that are left out."""
    history: bytes = b""
    """Hash of what is known of its history; empty where nothing is."""
    packed: bytes = b""
    """Hash of what a mirror has of it; empty for a folder."""
    log: Versions = UNKNOWN

    @cached_property
    def versions(self) -> Versions:
        """What is known of its history, a copy's read when somebody asks."""
        if not self.source.copy:
            return self.log
        return mirror.read_versions(mirror.reader(self.source.folder), self.source.copy)

    @cached_property
    def texts(self) -> Path:
        """The repository that has the texts of its versions."""
        return self.source.folder / CACHE_FOLDER / self.versions.texts

    redirects: Mapping[str, str] = field(default_factory=dict)
    """Other names by old names of pages, as they are noted."""

    @cached_property
    def files(self) -> WikiFiles:
        """What reads its pages and files, here or in another process."""
        # other processes run in another folder
        return WikiFiles(self.source.folder.absolute(), self.source.copy)

    def read(self, path: str, digest: model.Digest) -> bytes | None:
        """A page or file as it is now; None for one that is not there any more."""
        content = self.drafts.get(digest) or self.files.read(path, digest)
        if content is None:
            self.missed.add(path)
        return content

    def read_pages(self, pages: Sequence[SourcePage]) -> Iterator[bytes | None]:
        """Pages as they are now; of a mirror a few at once."""
        for start in range(0, len(pages), PAGES_PER_READ):
            some = pages[start : start + PAGES_PER_READ]
            held = {**self.drafts, **self.files.texts([page.digest for page in some])}
            rest = [one for one in some if one.digest not in held]
            read = read_files([self.files.place(one.path, one.digest) for one in rest])
            for page in some:
                content = held[page.digest] if page.digest in held else next(read)
                if content is None:
                    self.missed.add(page.path)
                yield content

    @cached_property
    def folders(self) -> Mapping[model.Slug, str]:
        """The folder of each page whose slug names another one."""
        places = (
            (slug, page.path.rpartition("/")[0]) for slug, page in self.pages.items()
        )
        return {slug: one for slug, one in places if one != slug.rpartition("/")[0]}

    @cached_property
    def sidebars(self) -> Mapping[str, model.Slug]:
        """The sidebar of the pages in a folder and below, by folder."""
        return pages_named(SIDEBAR, self.pages)

    @cached_property
    def footers(self) -> Mapping[str, model.Slug]:
        """The footer of the pages in a folder and below, by folder."""
        return pages_named(FOOTER, self.pages)

    @cached_property
    def beside(self) -> frozenset[model.Slug]:
        """The sidebars and footers, which are no pages of their own."""
        return frozenset([*self.sidebars.values(), *self.footers.values()])

    def edited(self, **changes: Any) -> ScannedWiki:
        """The same files, of which pages have other texts."""
        other = replace(self, **changes)
        kept = {"folders", "sidebars", "footers", "beside"} & self.__dict__.keys()
        other.__dict__.update((name, self.__dict__[name]) for name in kept)
        return other

    def forget(self) -> None:
        """Let go of what can be read again: that of many wikis fills the memory."""
        self.__dict__.pop("versions", None)
        if isinstance(self.pages, CopiedPages):
            self.pages.__dict__.pop("data", None)

    @cached_property
    def summary(self) -> Summary:
        """What others need of its pages; the last build's where they are the same."""
        dates = {slug: page.dates for slug, page in self.pages.items()}
        changed = max((one.changed for one in dates.values()), default=0)
        compared = tuple(slug for slug, one in dates.items() if one.count > 1)
        return Summary(len(dates), self.beside, changed, compared)

    @property
    def page_count(self) -> int:
        """How many pages it has; a sidebar or footer is none."""
        return self.summary.count - len(self.summary.beside)

    def file(self, path: str) -> IndexedFile | None:
        """State of an attachment or loose file; None where there is none."""
        return self.attachments.get(model.AttachmentPath(path)) or self.loose.get(path)

    @property
    def digests(self) -> tuple[str, ...]:
        """Those of its pages and of their versions, in their order."""
        pages = self.pages.values()
        return tuple([page.digest + page.dates.key.hex() for page in pages])

    @cached_property
    def state(self) -> bytes:
        """Hash of all that a site takes from it but linked files."""
        return self.packed or hash_of(self.around_texts, self.history, self.digests)

    @cached_property
    def around_texts(self) -> bytes:
        """Hash of what a site takes from it but these, history and linked files."""
        return hash_of(
            self.source.fingerprint(),
            [
                f"{page.slug}\0{page.format}\0{page.path}"
                for page in (*self.pages.values(), *self.templates.values())
            ],
            [page.digest for page in self.templates.values()],
            sorted(self.left_out.items()),
            [(path, state.digest) for path, state in self.attachments.items()],
            sorted(self.loose.names),
            self.problems,
            sorted(self.redirects.items()),
        )


class PageText(Struct, frozen=True):
    """A page's text, whatever its bytes are."""

    page: SourcePage
    text: str
    digest: model.Digest
    problems: tuple[model.Problem, ...]

    @classmethod
    def all_of(
        cls, scanned: ScannedWiki, pages: Sequence[SourcePage]
    ) -> list[PageText]:
        """The texts of pages as they are now, which may be others than at the look."""
        found = []
        for page, content in zip(pages, scanned.read_pages(pages), strict=True):
            # the key names what was read
            digest = UNREADABLE if content is None else model.digest_of(content)
            if digest != page.digest:
                scanned.missed.add(page.path)
            text = code = said = ""
            if content is None:
                code, said = "page-unreadable", "cannot be read any more"
            else:
                try:
                    text = content.decode("utf-8")
                except UnicodeDecodeError as exc:
                    text = content.decode("utf-8", "replace")
                    code, said = "page-not-utf8", f"is not UTF-8 (byte {exc.start})"
                    said += "; such bytes are shown as \ufffd"
            advice = f"check the file {page.path}"
            problems = (model.Problem(code, page.slug, said, advice),) if code else ()
            found.append(cls(page, text, digest, problems))
        return found


def folder_notes(wikis: Sequence[ScannedWiki]) -> tuple[model.Problem, ...]:
    """What is left out of their folders, named so that it can be found."""
    both = (
        (wiki.source.owner.full_path, note) for wiki in wikis for note in wiki.notes
    )
    return tuple(
        replace(one, subject=f"{name}: {one.subject}") if len(wikis) > 1 else one
        for name, one in both
    )


def scan_wiki(
    source: WikiSource,
    cache: Cache,
    *,
    page_templates: bool = False,
    now_ns: Callable[[], int] = time.time_ns,
    listed: Callable[[int], object] = lambda _: None,
) -> ScannedWiki:
    """Look at a wiki's folder or copy; what cannot be read becomes a problem.

    ``listed`` is told how many pages a folder has, before they are looked at.

    Raises:
        FolderError: The folder itself cannot be read.
    """
    if source.copy:
        return _scan_copy(source, page_templates=page_templates)
    # a site shows what is not synced, too, but nothing out of a bin or of packages
    patterns, _ = read_patterns(source.folder)
    index = _index(source, cache, now_ns)
    scanned = scan_pages(source.folder, patterns.takings_back, index.files, patterns)
    listed(len(scanned.pages))
    problems = [*source.problems, *scanned.problems]
    pages: dict[model.Slug, SourcePage] = {}
    templates = pages if page_templates else {}
    attachments: dict[model.AttachmentPath, IndexedFile] = {}
    files: dict[str, IndexedFile] = {}
    vanished: list[str] = []
    with _folders(source.folder) as folders:
        for file in sorted(scanned.pages, key=attrgetter("slug")):
            if not is_text(file.slug):
                said = "has a slug that is not valid Unicode; it is not in the site"
                about = "slug-not-text", file.path, said, "rename the page"
                problems.append(model.Problem(*about))
                continue
            state = index.look(folders, file.path, file.status)
            if state is None:
                vanished.append(file.path)
                continue
            if state.page is None:
                named = model.PageState(file.slug, file.format, state.digest)
                state = replace(state, page=named)
            files[file.path] = state
            found = templates if is_template(file.slug) else pages
            found[file.slug] = SourcePage(
                file.slug, file.format, file.path, state.digest
            )
        for path, status in sorted(scanned.attachments.items()):
            state = index.look(folders, path, status)
            if state is None:
                vanished.append(path)
                continue
            files[path] = attachments[path] = state
    said = "could not be read and is not in the site"
    advice = "check its permissions and build again"
    problems += [model.Problem("unreadable", path, said, advice) for path in vanished]
    redirects = b""
    # where a sync or git put them into the folder
    with suppress(OSError, FolderError):
        redirects = safe_open.read_below(
            source.folder, model.REDIRECTS_PATH, REDIRECTS_BYTES_MAX
        )
    log = folder_log(source, cache)
    dates = dates_of(log)
    for slug, page in pages.items() if dates else ():
        pages[slug] = replace(page, dates=dates.get(slug, NO_DATES))
    known = index.files
    unlisted = set(filter(is_unlisted, known.keys() - files.keys()))
    linked = {path: known[path] for path in known.keys() & (scanned.loose | unlisted)}
    index.note_all(files | linked)
    index.keep()
    # of a hundred thousand pages no more is kept in memory than the site needs
    rest = FolderIndex(source.folder, now_ns=now_ns)
    rest.note_all(linked)
    loose = LooseStates(scanned.loose, partial(_look, source.folder, rest), patterns)
    left_out = {
        _page_of(path) or path: why
        for path, why in scanned.hidden.items()
        if why in REASONS
    }
    if not page_templates:
        left_out |= dict.fromkeys(templates, "template")
    return ScannedWiki(
        source,
        pages,
        attachments,
        tuple(problems),
        loose,
        {} if page_templates else templates,
        {name: why for name, why in left_out.items() if name not in pages},
        has_news=index.has_read,
        is_settled=all(file.is_settled for file in files.values()),
        notes=tuple(one for one in scanned.left_out if one.is_note),
        history=history_key(log),
        log=log,
        redirects=_redirects(source, log, redirects),
    )


def _scan_copy(source: WikiSource, *, page_templates: bool) -> ScannedWiki:
    """What a mirror has of a wiki: no text is read, and no page while nobody asks."""

    def read(*, templates: bool) -> _Pages:
        at = mirror.reader(source.folder), source.copy
        dates, every = mirror.read_dates(*at), mirror.read_copy(*at).pages.values()
        known = ((one.slug, one.format, one.path, one.digest) for one in every)
        return {
            one[0]: SourcePage(*one, dates.get(one[0], NO_DATES))
            for one in known
            if templates is (not page_templates and is_template(one[0]))
        }

    reader = mirror.reader(source.folder)
    packed, copied, history = mirror.read_packed(reader, source.copy)
    named = source.fingerprint(), page_templates, model.digest_of(packed), history
    templates = read(templates=True) if b"templates/" in packed else {}
    files = {str(one.path): IndexedFile(one.digest, one.size) for one in copied}
    noted = files.pop(model.REDIRECTS_PATH, None)
    redirects = b""
    if noted and noted.size <= REDIRECTS_BYTES_MAX:
        redirects = read_file(source.folder / mirror.FILES, noted.digest) or b""
    uploads = {path: one for path, one in files.items() if path.startswith("uploads/")}
    loose = frozenset(filterfalse(is_unlisted, files.keys() - uploads.keys()))
    return ScannedWiki(
        source,
        CopiedPages(partial(read, templates=False)),
        {model.AttachmentPath(path): state for path, state in uploads.items()},
        source.problems,
        LooseStates(loose, partial(dict.get, files)),
        templates,
        dict.fromkeys(templates, "template"),
        has_news=True,  # a build that has nothing to do asks nobody
        history=history,
        packed=hash_of(named, copied),
        redirects=_redirects(source, UNKNOWN, redirects),
    )


def _redirects(source: WikiSource, log: Versions, noted: bytes) -> Mapping[str, str]:
    """The redirects of a wiki; of a name the newest word counts."""
    # a workspace has the service's as they were when it last saw new names
    renamed = {row.was: row.slug for row in reversed(log.rows) if row.kind == "renamed"}
    return {**renamed, **parse_redirects(noted), **source.renames}


def settle(
    wiki: ScannedWiki, cache: Cache, *, now_ns: Callable[[], int] = time.time_ns
) -> None:
    """Remember linked files, and look again at those that were too new for that."""
    linked = {path: state for path, state in wiki.loose.seen.items() if state}
    if wiki.source.copy or (wiki.is_settled and not linked):
        return
    index = _index(wiki.source, cache, now_ns)
    for path, state in linked.items():
        index.note(path, state)
    with suppress(FolderError), _folders(wiki.source.folder) as folders:
        for path, state in list(index.files.items()):
            found = None if state.is_settled else index.look(folders, path)
            if found and state.page:
                page = replace(state.page, digest=found.digest)
                index.note(path, replace(found, page=page))
    index.keep()


def _index(source: WikiSource, cache: Cache, now_ns: Callable[[], int]) -> FolderIndex:
    """What the last build knew of a folder's files."""
    name = hashlib.sha256(cache.key("folder", source.folder)).hexdigest()
    return FolderIndex(source.folder, cache.folder / SCANS_FOLDER / name, now_ns=now_ns)


def _look(folder: Path, index: FolderIndex, path: str) -> IndexedFile | None:
    with suppress(FolderError), _folders(folder) as folders:
        return index.look(folders, path)
    return None


def read_file(root: Path, path: str) -> bytes | None:
    """A file of a wiki as it is now; None where it cannot be read."""
    with suppress(OSError, FolderError), _folders(root) as folders:
        return _content(folders, path)
    return None


def read_files(places: Sequence[SourceFile]) -> Iterator[bytes | None]:
    """The same of several in one root: those of one folder cost less together."""
    with ExitStack() as opened:
        folders = None
        with suppress(OSError, FolderError):
            folders = opened.enter_context(_folders(places[0].folder))
        for root, path in places:
            content = None
            with suppress(OSError, FolderError):
                content = _content(folders, path) if folders else None
            # its folder may have been made anew since it was opened
            yield read_file(root, path) if content is None else content


@contextmanager
def _folders(root: Path) -> Iterator[safe_open.Folders]:
    with safe_open.opened_root(root) as top, safe_open.Folders(top) as folders:
        yield folders


def _content(folders: safe_open.Folders, path: str) -> bytes:
    with safe_open.opened_file(folders, path) as descriptor:
        return safe_open.read_all(descriptor, path)


def is_template(slug: str) -> bool:
    """Whether a page is a template for new pages of the service."""
    return slug.startswith("templates/")


def is_text(slug: str) -> bool:
    """Whether a slug can stand in a page; a service could send half characters."""
    try:
        return slug.isascii() or bool(slug.encode())
    except UnicodeEncodeError:
        return False


# The history of a folder: of the git work tree that it lies in, else what syncs saw.
# Times of files are none: a copy of a folder has others, and would make another site.


class _NotedLog(Struct, frozen=True, array_like=True):
    state: str
    cut: str
    """The commits whose parents were not there."""
    versions: Versions


_LOGS = msgpack_decoder(_NotedLog)


def folder_log(source: WikiSource, cache: Cache) -> Versions:
    """What is known of the history of a folder."""
    folder = source.folder.resolve()
    git = next(
        (at / ".git" for at in (folder, *folder.parents) if (at / ".git").exists()),
        None,
    )
    if git is None:
        return source.versions
    name = hashlib.sha256(cache.key("folder", folder)).hexdigest()
    place, noted = cache.folder / LOGS_FOLDER / name, _NotedLog("", "", UNKNOWN)
    with suppress(OSError, msgspec.MsgspecError):
        noted = _LOGS.decode(place.read_bytes())
    state, cut = _head_of(git), _text_of(git / "shallow")
    if not state or (noted.state, noted.cut) != (state, cut):
        # commits that came since, or are gone, are no newer ones
        known = noted.versions if noted.cut == cut else UNKNOWN
        noted = _NotedLog(state, cut, _read_log(git.parent, folder, known))
        with suppress(OSError):
            make_private_folder(place.parent)
            write_private_file(place, msgspec.msgpack.encode(noted))
    return noted.versions if noted.versions.rows else source.versions


def _head_of(git: Path) -> str:
    """What tells whether HEAD is another commit; empty where only git can say."""
    head = _text_of(git / "HEAD")
    if not head.startswith("ref: "):
        return head
    branch = _text_of(git / head.removeprefix("ref: ").strip())
    return branch and head + branch


def _text_of(file: Path) -> str:
    with suppress(OSError, UnicodeDecodeError):
        return file.read_text()
    return ""


def _read_log(tree: Path, folder: Path, known: Versions) -> Versions:
    # git's library is slow to load, and most folders lie in no repository
    import pygit2

    from wikisync.core.git_log import read_log

    below = folder.relative_to(tree).as_posix()
    try:
        versions = read_log(
            tree,
            known=known,
            below="" if below == "." else below,
            page_of=_page_of,
            commits_max=COMMITS_MAX,
        )
    except (pygit2.GitError, KeyError, ValueError):
        return UNKNOWN
    return msgspec.structs.replace(versions, texts=str(tree))


def _page_of(path: str) -> model.Slug | None:
    found = parse_path(path)
    return found[0] if found else None
