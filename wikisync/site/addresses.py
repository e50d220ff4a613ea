"""Where everything lies in the site, and how one file links to another.  Pure.

Only this module turns a slug into an output path.  Wiki pages lie at
``<full path>/-/wikis/<slug>.html``, as on the service, or at ``<slug>.html`` in
a site of one wiki; everything generated lies under ``-/``, which no page and no
wiki can reach, and loose files, which may have any name, under ``-/files/`` of
their wiki.  Paths are POSIX, relative to the top of the site, in NFC, and fit for
every common file system; links are relative and percent-encoded.
"""

import hashlib
import posixpath
import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any
from urllib.parse import quote

from msgspec import Struct, field

from wikisync.core.model import AttachmentPath, Problem, Slug, WikiOwner, folders_above
from wikisync.markup.file_types import inert_name, without_run_names
from wikisync.markup.frontmatter import tag_key
from wikisync.markup.links import STARTS, LinkIndex, settle_redirects
from wikisync.site.fingerprint import hash_of

SIDEBAR = "_sidebar"
FOOTER = "_footer"

MANIFEST = "-/manifest.json"
REPORT_PAGE = "-/report.html"
REPORT_JSON = "-/report.json"
WANTED_PAGE = "-/wanted.html"
ORPHANS_PAGE = "-/orphans.html"
ALL_PAGE = "-/all.html"
CHANGES_PAGE = "-/changes.html"
HISTORY_FOLDER = "-/history/"
SEARCH_PAGE = "-/search.html"
TAGS_PAGE = "-/tags.html"
PAGES_JSON = "-/pages.json"
LLMS = "llms.txt"
LLMS_FULL = "llms-full.txt"
SEARCH_FOLDER = "-/search/"
ASSETS_FOLDER = "-/assets/"
LOOSE_FOLDER = "-/files/"
WIKI_FOLDER = "/-/wikis/"
"""Below the path of each wiki; nothing else has it in its path."""
INDEX_PAGE = "index.html"
NOT_FOUND_PAGE = "404.html"
ROBOTS = "robots.txt"
SITEMAP = "sitemap.xml"
NO_JEKYLL = ".nojekyll"
REDIRECTS = "_redirects"
REDIRECTS_MAP = "-/redirects.map"

LIST_ITEMS_MAX = 2000
COMPONENT_BYTES_MAX = 200
PATH_BYTES_MAX = 1000
"""Well below the 4,096 of Linux, so that any output folder has room before it."""
TWIN_DIGITS = 6
LOOSE_DIGITS = 32

ROOT_FILES = frozenset(
    {INDEX_PAGE, NOT_FOUND_PAGE, ROBOTS, SITEMAP, NO_JEKYLL, REDIRECTS, LLMS, LLMS_FULL}
)
"""Files at the top of a site that no page may take, nor a folder replace."""

_UNSAFE = re.compile(r'[<>:"|?*\\/\x00-\x1f\x7f-\x9f\ud800-\udfff]')
_PLAIN = re.compile(r"[a-z0-9_][a-z0-9_-]{0,99}")
_URL = re.compile(r"[A-Za-z0-9_.~/-]*")
"""Of these signs none is quoted."""
_DEVICE = re.compile(r"(?i)(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9¹²³])(\..*)?")


def safe_component(name: str) -> str:
    """One path component that every file system takes; not a bijection.

    NFC; what Windows forbids becomes a hyphen, a dot in front too, because
    hosts leave such files out; so does the dot of an extension that something
    runs; device names get a hyphen behind, ``-`` alone is ours; cut at 200 bytes
    with a hash.
    """
    # nearly all names: nothing below changes them, but for devices
    if _PLAIN.fullmatch(name) and not _DEVICE.fullmatch(name):
        return name
    safe = _UNSAFE.sub("-", unicodedata.normalize("NFC", name)).rstrip(". ")
    safe = without_run_names(safe)
    if safe.startswith("."):
        safe = "-" + safe[1:]
    if safe in {"", "-"}:
        safe = "--"
    elif _DEVICE.fullmatch(safe):
        stem, dot, rest = safe.partition(".")
        safe = f"{stem}-{dot}{rest}"
    return _shortened(safe, name, COMPONENT_BYTES_MAX)


@lru_cache(maxsize=4096)
def safe_folder(path: str) -> str:
    """Components of a folder path made safe; one never looks like a page."""
    parts = [safe_component(part) for part in path.split("/")]
    if parts[0].lower() in ROOT_FILES:
        parts[0] += "-"
    return "/".join(parts)


def wiki_prefix(owner: WikiOwner) -> str:
    """Folder of a wiki in a site of many wikis, with the slash behind it."""
    return f"{safe_folder(owner.full_path)}{WIKI_FOLDER}"


@lru_cache(maxsize=16_384)
def page_path(prefix: str, slug: str) -> str:
    """Output path of a page where nothing else wants the same one."""
    folder, _, leaf = slug.rpartition("/")
    name = _shortened(safe_component(leaf), leaf, COMPONENT_BYTES_MAX - 5) + ".html"
    path = prefix + (safe_folder(folder) + "/" if folder else "") + name
    if len(path.encode()) > PATH_BYTES_MAX:
        path = f"{prefix}long-{_hash(slug, 16)}.html"
    return path


def attachment_output(prefix: str, path: str) -> str:
    """Output path of an attachment where nothing else wants the same one."""
    folder, _, leaf = path.rpartition("/")
    return prefix + (safe_folder(folder) + "/" if folder else "") + file_name(leaf)


def file_name(name: str) -> str:
    """Name of a stranger's file that every file system takes and nothing runs."""
    return inert_name(safe_component(name))


class WikiAddresses(Struct, frozen=True):
    """Output paths of one wiki's pages, attachments and loose files."""

    prefix: str
    pages: Mapping[Slug, str]
    attachments: Mapping[AttachmentPath, str]
    problems: tuple[Problem, ...] = ()
    left_out: Mapping[str, str] = field(default_factory=dict)
    """What the site has not got, by slug or path: why, a word of ``REASONS``."""
    names: bytes = b""
    """Hash of all that the paths follow from."""
    sources: Mapping[Slug, str] = field(default_factory=dict)
    """Output paths of the source texts of pages, in a wiki that has them."""
    redirects: Mapping[str, Slug] = field(default_factory=dict)
    """The pages that old names lead to."""
    stubs: Mapping[str, Slug] = field(default_factory=dict)
    """The same by the output paths of the old names, where nothing else lies."""

    def file(self, path: str) -> str:
        """Output path of an attachment, or of a loose file."""
        if (found := self.attachments.get(AttachmentPath(path))) is not None:
            return found
        # that of a loose file follows from its own path, and does not show it
        folder = self.prefix + LOOSE_FOLDER + _hash(path, LOOSE_DIGITS)
        return f"{folder}/{file_name(path.rpartition('/')[2])}"


NO_ADDRESSES = WikiAddresses("", {}, {})
NO_NAMES: Mapping[Any, str] = MappingProxyType({})


def assign_addresses(
    prefix: str,
    slugs: Iterable[Slug],
    attachments: Iterable[AttachmentPath],
    beside: Collection[Slug] = (),
    known: WikiAddresses = NO_ADDRESSES,
    redirects: Mapping[str, str] = NO_NAMES,
    extensions: Mapping[Slug, str] = NO_NAMES,
) -> WikiAddresses:
    """Give every page and attachment of a wiki a path of its own.

    Two that differ only in case, in Unicode form or in characters that cannot
    be kept would be one file somewhere: the later one in sorted order gets a
    short hash and a problem.  Pages ``beside`` others come first: one that is
    called like a sidebar and is none is named.  Depends on the names alone, so it
    is stable, and what is ``known`` is taken as it is where they are the same.  The
    page of a redirect and the source of a page, whose file has one of some
    ``extensions``, get a path only where nothing else wants it.
    """
    slugs, attachments = sorted(slugs), sorted(attachments)
    others = sorted(redirects.items()), sorted(extensions.items())
    names = hash_of(prefix, slugs, attachments, sorted(beside), *others)
    if names == known.names:
        return known
    claims = _Claims(prefix)
    slugs = sorted(slugs, key=lambda slug: (slug not in beside, slug))
    home = home_slug(slugs)
    # attachments first: pages move, files are linked from outside by their hash
    attachment_paths = {
        path: claims.claim(path, attachment_output(prefix, path))
        for path in attachments
    }
    page_paths = {
        slug: prefix + INDEX_PAGE
        if slug == home
        else claims.claim(slug, page_path(prefix, slug))
        for slug in slugs
    }
    index = LinkIndex(slugs, attachment_paths)
    settled = settle_redirects(redirects, index.find_page)
    problems = (*claims.problems, *settled.problems)
    return WikiAddresses(
        *(prefix, page_paths, attachment_paths, problems),
        names=names,
        sources={
            slug: path
            for slug, extension in extensions.items()
            if claims.has_room(
                path := page_paths[slug].removesuffix(".html") + extension
            )
        },
        redirects=settled.pages,
        stubs={
            path: slug
            for old, slug in settled.pages.items()
            if claims.has_room(path := page_path(prefix, old))
        },
    )


def home_slug(slugs: Iterable[Slug]) -> Slug | None:
    """The page that the wiki begins with: ``home``, else ``index``, else ``README``."""
    return LinkIndex(slug for slug in slugs if slug.lower() in STARTS).find_start()


def pages_named(name: str, slugs: Iterable[Slug]) -> dict[str, Slug]:
    """The page that the service finds by a name in any case, for each folder."""
    index = LinkIndex(slug for slug in slugs if slug.rpartition("/")[2].lower() == name)
    found = {}
    for slug in sorted(index.pages):
        folder = slug.rpartition("/")[0]
        found[folder] = index.find_page(f"{folder}/{name}" if folder else name) or slug
    return found


class _Claims:
    """The paths of one wiki that are taken, as a careless file system sees them."""

    def __init__(self, prefix: str) -> None:
        self.problems: list[Problem] = []
        self._prefix = prefix
        self._files = {_fold(prefix + INDEX_PAGE)}
        self._folders: set[str] = set()
        if not prefix:
            self._files |= {_fold(name) for name in ROOT_FILES}

    def claim(self, subject: str, wanted: str) -> str:
        """The wanted path, or one with a hash of the subject where it is taken."""
        path, digits = wanted, TWIN_DIGITS
        while not self.has_room(path):
            folder, _, name = wanted.rpartition("/")
            if not self._files.isdisjoint(_folded_folders(folder)):
                folder = self._prefix.removesuffix("/")
            stem, extension = posixpath.splitext(name)
            name = f"{stem}-{_hash(subject, digits)}{extension}"
            path = f"{folder}/{name}" if folder else name
            digits += 1
        if path != wanted:
            said = "has the same file name as another page or as a file of the site;"
            about = "address-twin", subject, f"{said} published as {path}"
            self.problems.append(Problem(*about, "rename one of the two"))
        return path

    def has_room(self, path: str) -> bool:
        """Take a path only if nothing else has it."""
        folded, above = _fold(path), _folded_folders(path.rpartition("/")[0])
        if folded in self._files or folded in self._folders:
            return False
        if not self._files.isdisjoint(above):
            return False
        self._files.add(folded)
        self._folders.update(above)
        return True


def relative_url(at: str, to: str, fragment: str = "") -> str:
    """The percent-encoded link from one file to another; it always names a file."""
    folder, up = at[: at.rfind("/") + 1], 0
    while not to.startswith(folder):
        folder = folder[: folder.rfind("/", 0, -1) + 1]
        up += 1
    url = "../" * up + to[len(folder) :]
    url = url if _URL.fullmatch(url) else quote(url)
    return f"{url}#{quote(fragment, safe='-._~!$&()*+,;=:@/?')}" if fragment else url


def root_url(at: str) -> str:
    """The way from a file up to the top of the site: ``./``, ``../`` ..."""
    return "../" * at.count("/") or "./"


def absolute_url(base: str, to: str) -> str:
    """Address of a file under the site's own URL; index files by their folder."""
    if to == INDEX_PAGE or to.endswith("/" + INDEX_PAGE):
        to = to[: -len(INDEX_PAGE)]
    return f"{base.rstrip('/')}/{quoted(to)}"


def quoted(path: str) -> str:
    """A path as an address has it; most need nothing, which is known in a tenth."""
    return path if _URL.fullmatch(path) else quote(path, errors="replace")


def wiki_list_path(owner: WikiOwner, *, is_only: bool) -> str:
    """Output path of the list of one wiki's pages."""
    return ALL_PAGE if is_only else f"-/all/{safe_folder(owner.full_path)}.html"


def wiki_changes_path(owner: WikiOwner, *, is_only: bool) -> str:
    """Output path of the list of what changed in one wiki."""
    return CHANGES_PAGE if is_only else f"-/changes/{safe_folder(owner.full_path)}.html"


def feed_path(changes: str) -> str:
    """Output path of the feed of a list of changes."""
    return f"{changes.removesuffix('.html')}.atom"


def tag_path(tag: str) -> str:
    """Output path of the list of a tag's pages, which follows from the tag alone."""
    key = tag_key(tag)
    name = safe_component(key.replace(" ", "-"))
    # two tags that differ in signs alone are two files, and foo-2 is a part of foo
    is_plain = name.replace("-", " ") == key and not key.split(" ")[-1].isdigit()
    plain = name if is_plain else f"{name}-{_hash(key, 8)}"
    return f"-/tags/{plain}.html"


def list_part(path: str, position: int) -> str:
    """Path of the part of a long list that has the entry at a position, from 0."""
    return numbered(path, position // LIST_ITEMS_MAX + 1)


def list_id(path: str) -> str:
    """The id of a page's entry in the list of all pages: no path has two slashes."""
    return path.replace(" ", "//")


def numbered(path: str, number: int) -> str:
    """Path of the n-th part of a long list; the first keeps the plain name."""
    return path if number == 1 else f"{path.removesuffix('.html')}-{number}.html"


def _shortened(safe: str, name: str, limit: int) -> str:
    raw = safe.encode()
    if len(raw) <= limit:
        return safe
    stem, extension = posixpath.splitext(safe)
    if len(extension.encode()) > 20:
        stem, extension = safe, ""
    room = limit - len(extension.encode()) - 9
    cut = stem.encode()[:room].decode("utf-8", "ignore").rstrip(". ")
    return f"{cut}-{_hash(name, 8)}{extension}"


def _hash(name: str, digits: int) -> str:
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:digits]


@lru_cache(maxsize=4096)
def _folded_folders(folder: str) -> tuple[str, ...]:
    return tuple(map(_fold, (folder, *folders_above(folder)))) if folder else ()


def _fold(path: str) -> str:
    if path.isascii():
        return path.lower()
    return unicodedata.normalize("NFC", path.casefold())
