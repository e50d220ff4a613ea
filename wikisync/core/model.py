"""The words of wikisync as types: page, slug, format, attachment, digest, snapshot.

Pure.  A value that has been made is right; whatever comes from outside is checked where
it comes in (``contract.schema``, ``folder.naming``, ``config``).
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Collection, Container, Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Literal, NewType, TypeVar, cast

from msgspec import Struct, field

NameT = TypeVar("NameT", bound=str)

Slug = NewType("Slug", str)
"""A page's identity inside one wiki, as the service spells it, never computed."""

Digest = NewType("Digest", str)
"""SHA-256 of some bytes, 64 lower-case hexadecimal digits."""

NO_FILE = Digest("")
"""Where a digest says what a file is expected to hold: that there is none."""

PagePath = NewType("PagePath", str)
"""A POSIX path relative to a wiki's folder; only ``folder.naming`` makes one."""

AttachmentPath = NewType("AttachmentPath", str)
"""Path of an attachment inside its wiki: ``uploads/<hash>/<name>``."""
REDIRECTS_PATH = AttachmentPath(".gitlab/redirects.yml")
"""Where the service keeps the old names of renamed pages, in the wiki's repository."""

OwnerKind = Literal["project", "group"]

TEMPORARY_NAME_DIGITS = 8

SAFETY_STOP_SHARE = 0.10
"""Removals within an hour up to this share of the tracked pages go through, ..."""
SAFETY_STOP_PAGES = 3
"""... these few whatever the share, ..."""
SAFETY_STOP_PAGES_MAX = 20
"""... and never more, but in a wiki of more than ``LARGE_PAGES``, ..."""
LARGE_PAGES = 1_000
LARGE_SHARE = 0.05
"""... where this share goes through."""


class Format(StrEnum):
    """The markup of a page, by the service's names; the first four are writable."""

    MARKDOWN = "markdown"
    RDOC = "rdoc"
    ASCIIDOC = "asciidoc"
    ORG = "org"
    TEXTILE = "textile"
    CREOLE = "creole"
    REST = "rest"
    MEDIAWIKI = "mediawiki"
    POD = "pod"
    PLAINTEXT = "plaintext"

    @property
    def extensions(self) -> tuple[str, ...]:
        """File extensions with the dot; the first is the one written."""
        return EXTENSIONS[self]

    @property
    def is_writable(self) -> bool:
        """Whether the service takes this format in a create or an edit."""
        return self in WRITABLE_FORMATS


EXTENSIONS: Mapping[Format, tuple[str, ...]] = {
    Format.MARKDOWN: (".md", ".mkd", ".mkdn", ".mdown", ".markdown"),
    Format.RDOC: (".rdoc",),
    Format.ASCIIDOC: (".asciidoc", ".adoc"),
    Format.ORG: (".org",),
    Format.TEXTILE: (".textile",),
    Format.CREOLE: (".creole",),
    Format.REST: (".rst", ".rest", ".rst.txt", ".rest.txt"),
    Format.MEDIAWIKI: (".mediawiki", ".wiki"),
    Format.POD: (".pod",),
    Format.PLAINTEXT: (".txt",),
}
"""Every extension that makes a file of a wiki repository a page."""

_SIMPLE, _COMPOUND = (
    {
        extension: known
        for known, extensions in EXTENSIONS.items()
        for extension in extensions
        if extension.count(".") == dots
    }
    for dots in (1, 2)
)

WRITABLE_FORMATS = frozenset(
    {Format.MARKDOWN, Format.RDOC, Format.ASCIIDOC, Format.ORG}
)


def folders_above(path: NameT) -> Iterator[NameT]:
    """The folders above a slug or path, the nearest first, without the top."""
    while "/" in path:
        path = cast(NameT, path.rpartition("/")[0])
        yield path


def joined_path(folder: str, way: str) -> str | None:
    """Where a way from a folder leads, both of a wiki; None where it leads out of it.

    Empty for the top of the wiki; also a way that begins with ``/`` starts at the
    folder.
    """
    parts = folder.split("/") if folder else []
    for part in way.split("/"):
        if part == "..":
            if not parts:
                return None
            parts.pop()
        elif part not in {"", "."}:
            parts.append(part)
    return "/".join(parts)


def is_named(slug: Slug, names: Container[str]) -> bool:
    """Whether a page is among names; one that ends with ``/`` is a folder's.

    A folder has the pages below it, and the page of its own name.
    """
    return slug in names or any(
        f"{above}/" in names for above in (slug, *folders_above(slug))
    )


def split_extension(name: str) -> tuple[str, Format] | None:
    """Split a file name into its stem and the format of its extension, or None.

    Case is ignored, as by the service, and the longest extension wins
    (``notes.rst.txt`` is ``notes``).
    """
    # two look-ups: a wiki of ten thousand files asks for each of them
    last = name.rfind(".")
    known = _SIMPLE.get(name[last:].lower()) if last >= 0 else None
    if known is None:
        return None
    first = name.rfind(".", 0, last)
    longer = _COMPOUND.get(name[first:].lower()) if first > 0 else None
    if longer is not None and name[first - 1] != "/":
        return name[:first], longer
    return (name[:last], known) if last > 0 and name[last - 1] != "/" else None


def path_of_title(title: str) -> str:
    """The path without extension that the service makes of a title; empty when blank.

    Whitespace is collapsed, the path is made absolute and normal, and spaces become
    dashes; nothing else is touched.
    """
    parts: list[str] = []
    for component in title.split("/"):
        name = "-".join(component.split())
        if name == "..":
            del parts[-1:]
        elif name not in {"", "."}:
            parts.append(name)
    return "/".join(parts)


def in_form_c(name: str) -> str:
    """A name in Unicode's form C: names that look the same are the same then."""
    return unicodedata.normalize("NFC", name)


def is_dashed(slug: str, given: str) -> bool:
    """Whether ``given`` is ``slug`` with dashes in place of spaces, of some or all."""
    has_fewer = sum(map(str.isspace, given)) < sum(map(str.isspace, slug))
    return has_fewer and path_of_title(slug) == path_of_title(given)


def name_key(slug: str) -> str:
    """What is equal for names of which the service keeps one page only."""
    return path_of_title(slug).casefold()


def temporary_name(slug: Slug, target: Slug) -> Slug:
    """The name of a page between the two writes of a rename to a look-alike name.

    The service takes ``notes`` and ``Notes`` for one page and refuses the rename.  The
    name follows from both, so that a rename that was cut is known and can be finished.
    """
    return Slug(f"{target}-{digest_of(slug)[:TEMPORARY_NAME_DIGITS]}")


def renames_under_way(
    missing: Iterable[Slug], names: Iterable[Slug]
) -> dict[Slug, Slug]:
    """Pages between the two writes of such a rename, by their old, missing names."""
    ends = TEMPORARY_NAME_DIGITS + 1
    found = {
        name_key(name[:-ends]): name for name in names if name[-ends : -ends + 1] == "-"
    }
    return {
        slug: name
        for slug in (missing if found else ())
        if (name := found.get(name_key(slug)))
        and name == temporary_name(slug, Slug(name[:-ends]))
    }


def digest_of(content: bytes | str) -> Digest:
    """SHA-256 of a text (as UTF-8) or of bytes."""
    if isinstance(content, str):
        content = content.encode("utf-8", "surrogatepass")
    return Digest(hashlib.sha256(content).hexdigest())


BYTE_ORDER_MARK = "\ufeff"
"""What some editors put before a text."""


def fold_text(content: str) -> str:
    """The text with line feeds as line ends, exactly one at its end, and no mark."""
    folded = content.removeprefix(BYTE_ORDER_MARK)
    folded = folded.replace("\r\n", "\n").rstrip("\n")
    return f"{folded}\n" if folded else ""


def is_blank(content: str) -> bool:
    """Whether a text says nothing, as a note does that was just made."""
    return not content.removeprefix(BYTE_ORDER_MARK).strip()


def folded_digest(content: str) -> Digest | None:
    """Digest of the folded text; None where folding changes nothing."""
    ends_in_one_line_end = content[-1:] == "\n" and content[-2:-1] not in {"", "\n"}
    has_mark = content.startswith(BYTE_ORDER_MARK)
    if ends_in_one_line_end and not has_mark and "\r\n" not in content:
        # most pages; folding them would copy each text three times
        return None
    folded = fold_text(content)
    return None if folded == content else digest_of(folded)


class WikiOwner(Struct, frozen=True, order=True):
    """The project or group that a wiki belongs to."""

    kind: OwnerKind
    full_path: str
    """Path with namespace, ``docs/handbook``; no leading or trailing slash."""

    def __str__(self) -> str:
        return f"{self.kind} {self.full_path}"


class Page(Struct, frozen=True):
    """One wiki page with its text, exactly as a replica holds it."""

    slug: Slug
    format: Format
    content: str
    title: str = ""
    """The service's display title: leaf of the slug, hyphens as spaces."""
    wiki_digest: Digest | None = None
    """Digest of the wiki's text where the content has its links to files as the folder
    writes them."""
    uploads: tuple[AttachmentPath, ...] = ()
    """Where such links lead on the wiki."""

    @property
    def digest(self) -> Digest:
        """Digest of the text alone, as the replica holds it."""
        return self.wiki_digest or digest_of(self.content)

    def state(self, identity: str = "") -> PageState:
        """What a snapshot knows of the page; see ``PageState.identity``."""
        content = self.content.encode("utf-8", "surrogatepass")
        digest, folded = digest_of(content), folded_digest(self.content)
        return PageState(
            self.slug,
            self.format,
            self.wiki_digest or digest,
            folded=folded or (digest if self.wiki_digest else None),
            identity=identity,
            size=len(content),
        )


class PageState(Struct, frozen=True):
    """What a snapshot knows of a page: enough to decide, without its text.

    Two states are equal if slug, format and digest are.
    """

    slug: Slug
    format: Format
    digest: Digest
    folded: Digest | None = None
    """Digest of ``fold_text``; None where it is not known or the same."""
    identity: str = ""
    """What stays the same when the page is renamed (``wiki_page_meta_id`` on the
    service), or empty; a replica that gives one vouches for it."""
    size: int | None = None
    """Of the content in bytes, or None where it is not known."""

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PageState):
            return NotImplemented
        mine = (self.digest, self.slug, self.format)
        return mine == (other.digest, other.slug, other.format)

    def __hash__(self) -> int:
        return hash((self.slug, self.format, self.digest))

    def has_same_text(self, other: PageState) -> bool:
        """Whether format and text agree, line ends and final newlines aside."""
        mine, theirs = self.folded or self.digest, other.folded or other.digest
        return self.format is other.format and mine == theirs


class LooseFile(Struct, frozen=True):
    """A file that is no page: one beside the pages, or an attachment."""

    path: str
    """Relative to the wiki's folder, with ``/``."""
    digest: Digest
    size: int
    """In bytes."""


class LinkTarget(Struct, frozen=True):
    """Where a link of a page leads."""

    path: str
    """Percent-decoded, without query and fragment."""
    is_wikilink: bool = False
    """Such a link starts at the wiki's root, others in the page's folder."""


class LinkPlace(Struct, frozen=True):
    """Where a page's source names the target of a link."""

    start: int
    """Index into the source."""
    written: str
    """As the source writes it, without query and fragment."""
    target: LinkTarget


FOLDER_OF_PAGES = "folder-of-pages"
"""Code of a problem: a folder with pages has the name of a page's file.  Whether there
is such a page, the folder's reader cannot know."""

STRAY_CONFLICT = "conflict-stray"
"""Code of a problem: a file has the name of a page's conflict file.  Whether the page
has a conflict, the folder's reader cannot know."""


class Problem(Struct, frozen=True):
    """Something that went wrong with one object while everything else went on."""

    code: str
    """Stable kebab-case word for programs: ``attachment-missing``."""
    subject: str
    """The object, named as its reader knows it: a slug, a path, a URL."""
    message: str
    """What is wrong, lower case, no full stop."""
    hint: str = ""
    """The next step for a person, or empty."""
    is_once: bool = False
    """It happened and is over: whoever looks again does not meet it again."""
    is_note: bool = False
    """It names what is left out on purpose: nobody has to act, and no exit code is 3
    because of it."""

    def __str__(self) -> str:
        return f"{self.subject}: {self.message}"


class Snapshot(Struct, frozen=True):
    """Everything one replica held at one look."""

    pages: Mapping[Slug, PageState]
    problems: tuple[Problem, ...] = ()
    is_complete: bool = True
    """False when something could not be seen: then absence means nothing."""
    unreadable: frozenset[Slug] = field(default_factory=frozenset)
    """Slugs that exist but whose text could not be had this time."""
    ignored: frozenset[Slug] = field(default_factory=frozenset)
    """Those of them that a person keeps out of the sync."""
    texts: Mapping[Slug, Page] = field(default_factory=dict)
    """Pages whose text came along with the look; often none, never a decision."""
    tag: str = ""
    """The replica's own mark of this state, an ETag for one, or empty."""
    head: str = ""
    """The commit that the wiki had when it was looked at; empty where git names none.
    Its texts are as of then or later."""
    busy: Mapping[Slug, str] = field(default_factory=dict)
    """Pages that are open in an editor, each with the lock file that tells so."""
    copies: Mapping[Slug, Problem] = field(default_factory=dict)
    """Pages by names that other programs give to copies of a file, with what is said of
    each that is not on the wiki already: it is not put there."""
    likely_copies: Mapping[Slug, Mapping[Slug, Problem]] = field(default_factory=dict)
    """The same of those that are copies if they are like one of these pages."""
    elsewhere: Mapping[str, Problem] = field(default_factory=dict)
    """Pages and other paths that may be kept elsewhere, with what is said of each that
    the wiki has or links to."""
    is_remembered: bool = False
    """Nobody looked now: it is what an earlier look saw, with our own writes."""
    is_partial: bool = False
    """Only files that were just saved were looked at: all else is as it was seen
    before, and no absence counts."""


class ConflictFile(Struct, frozen=True):
    """The file in which a person settles the conflict of a page."""

    path: str
    """In the wiki's folder."""
    text: str
    lock: str = ""
    """What an editor that has it open left beside it, or empty."""


class LateSave(Struct, frozen=True):
    """A text that was saved into a file after another text had taken its place."""

    slug: Slug
    """As its file was called when it was replaced; the path of what is no page."""
    text: str | None
    """What was saved; it stands in no page.  None where no page can hold it: it is in
    the trash then."""
    id: str
    """What ``acknowledge`` wants to hear."""
    before: Digest | None = None
    """Of the text that was edited; None where nothing tells."""


def some_of(names: Collection[str], most: int = 3) -> str:
    """The first of some names, and how many more there are."""
    shown, more = ", ".join(list(names)[:most]), len(names) - most
    return f"{shown} and {more} more" if more > 0 else shown


def removals_max(tracked: int) -> int:
    """How many pages may be removed unasked within an hour; never all of them."""
    if tracked > LARGE_PAGES:
        return int(tracked * LARGE_SHARE)
    share = min(int(tracked * SAFETY_STOP_SHARE), SAFETY_STOP_PAGES_MAX)
    return min(max(SAFETY_STOP_PAGES, share), max(tracked - 1, 0))
