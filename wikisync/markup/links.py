"""Where a link of a wiki page leads: the service's rules, then the index.  Pure.

``resolve_link`` restates the service's own rewriting, surprises included:

- a plain ``dir/page`` starts at the wiki's root, wherever the page lies;
- a last segment with a dot (``notes.md``, ``release-1.2``) is taken for a file
  and starts at the page's folder, as ``./x`` and ``../x`` do;
- ``/x`` starts at the wiki's root, ``uploads/...`` is the wiki's attachment
  folder, ``/uploads/...`` belongs to the project and is left alone;
- a query is lost, a fragment stays, a host without a scheme is lost.

``LinkIndex`` then finds the page or attachment that the address means.  Which schemes
an address in a page may have is one list with one check, ``is_safe_url``.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple, Protocol
from urllib.parse import quote, unquote, urlsplit

import msgspec

from wikisync.core.decoding import json_decoder
from wikisync.core.model import (
    REDIRECTS_PATH,
    AttachmentPath,
    Problem,
    Slug,
    in_form_c,
    joined_path,
    split_extension,
)
from wikisync.markup.context import ID_PREFIX
from wikisync.markup.record import LinkKind, LinkResult, ParsedPage

UPLOADS = "uploads/"
DEFAULT_BASE = "/wiki/-/wikis"
"""Stands for the wiki's address where nobody knows it."""
HOME = Slug("home")
ORG_ID = "ID-"
"""What an id begins with that a property ``ID`` of an Org page has in its HTML."""
STARTS = (HOME, "index", "readme")
"""What a site begins with: the first of these that is there, in any case.  The service
knows ``home`` alone."""

URL = re.compile(
    r"(?P<host>//[^/?#]*)?(?P<path>[^?#]*)(?P<query>\?[^#]*)?(?:#(?P<fragment>.*))?",
    re.DOTALL,
)
LEADING_DOTS = re.compile(r"(?:\.\.?/?)*")
CONTROL = re.compile(r"[\x00-\x1f\x7f]")
THEME_ID = re.compile(r"site[A-Z]")
PLAIN_PATH = re.compile(r"[A-Za-z0-9_-]++(?>(?:/[A-Za-z0-9_-]++)*)").fullmatch
"""A path that starts at the wiki's root by every rule; most links are no more."""


class Urls(Protocol):
    """How the reader of the HTML reaches what the index has found."""

    def page(self, slug: Slug, fragment: str) -> str:
        """Address of a page; ``fragment`` is decoded and may be empty."""

    def attachment(self, path: AttachmentPath) -> str:
        """Address of an attachment."""

    def missing(self, target: str) -> str | None:
        """Address for something the wiki does not have, or None."""


class Target(NamedTuple):
    """What a link means inside one wiki."""

    kind: LinkKind
    name: str
    fragment: str = ""
    reason: str = ""
    """Why it is broken, a word of ``LinkResult.reason``; empty if it is not."""

    def result(self, href: str) -> LinkResult:
        """This target as the answer to one link."""
        return LinkResult(
            href, self.kind, self.name, self.fragment, bool(self.reason), self.reason
        )


# -- the service's rules ----------------------------------------------------------


def resolve_link(page_slug: str, href: str, wiki_base: str) -> str:
    """The address the service gives a link of a page.

    ``wiki_base`` is the path of the wiki, ``/group/project/-/wikis``.  The result is
    below it, or the link as it is where the service does not touch it (another scheme,
    a bare fragment or query, ``/uploads/``).
    """
    if scheme_of(href) or href.startswith("/uploads/"):
        return href
    match = URL.fullmatch(href)
    assert match is not None
    path, fragment = match["path"], match["fragment"]
    if not path:
        return href
    if not path.startswith(UPLOADS) and (
        has_extension(path) or (path[0] == "." and not match["host"])
    ):
        path = join_path(page_slug, path)
    if not path:
        return ""
    if not is_below(path, wiki_base):
        path = f"{wiki_base}/{path.lstrip('/')}"
    return path if fragment is None else f"{path}#{fragment}"


def has_extension(path: str) -> bool:
    """Whether the last segment has a dot that is not its first character."""
    name = path.rstrip("/").rpartition("/")[2]
    return "." in name.lstrip(".")


def is_below(path: str, wiki_base: str) -> bool:
    """Whether a path is the wiki's own, with ``/-/`` or in the older way without."""
    older = wiki_base.replace("/-/", "/")
    return f"{path}/".startswith((f"{wiki_base}/", f"{older}/"))


def join_path(page_slug: str, path: str) -> str:
    """A path relative to the folder of a page, with its dots removed.

    As in the service's URL library, the first segment stays, and ``..`` removes ``..``.
    """
    if path.startswith("/"):
        return "/" + remove_dots([], path[1:].split("/"))
    folder, _, _ = page_slug.rpartition("/")
    if folder:
        first, *rest = folder.split("/")
        return remove_dots([first], rest + path.split("/"))
    first, *rest = path.split("/")
    return LEADING_DOTS.sub("", remove_dots([first], rest), count=1)


def remove_dots(fixed: list[str], segments: list[str]) -> str:
    """Join segments behind fixed ones; ``.`` goes, ``..`` takes one more with it."""
    kept: list[str] = []
    for number, segment in enumerate(segments):
        is_last = number == len(segments) - 1
        if segment == ".." and kept:
            kept.pop()
            kept += [""] if is_last else []
        elif segment == ".":
            kept += [""] if is_last else []
        else:
            kept.append(segment)
    return "/".join(fixed + kept)


# -- the index --------------------------------------------------------------------


class LinkIndex:
    """Every page and attachment of one wiki, to be asked where links lead.

    Args:
        pages: slugs; of those that the lookup takes for the same the first in
            byte order wins, as in the service.
        attachments: paths of files in the wiki that are not pages.
        headings: ids of each page; where a page is absent, or None is given,
            fragments into it are not checked.
        web_url: address of the wiki on the service, ending in ``/-/wikis``.
        redirects: pages by their old names; none of these is a page's name.
    """

    def __init__(
        self,
        pages: Iterable[Slug],
        attachments: Iterable[AttachmentPath] = (),
        headings: Mapping[Slug, frozenset[str]] | None = None,
        *,
        web_url: str = "",
        redirects: Mapping[str, Slug] | None = None,
    ) -> None:
        self._redirects = redirects or {}
        self.pages = frozenset(pages)
        self.attachments = frozenset(attachments)
        self.headings = {} if headings is None else headings
        self.web_url = web_url.rstrip("/")
        self.base = urlsplit(self.web_url).path or DEFAULT_BASE
        self._by_fold: dict[str, Slug] | None = None
        self._by_org_id: dict[str, Slug] | None = None
        self._by_form: dict[str, AttachmentPath] | None = None

    def find_page(self, path: str) -> Slug | None:
        """The page that the service's lookup finds for a path.

        Exact spelling first, then spaces as hyphens and any case; each of them
        also without the extension of a page.  The old name of a page comes last.
        """
        bare = split_extension(path)
        tries = (path,) if bare is None else (path, bare[0])
        for spelling in tries:
            if spelling in self.pages:
                return Slug(spelling)
        if self._by_fold is None:
            slugs = sorted(self.pages, reverse=True)
            old = {fold(name): slug for name, slug in self._redirects.items()}
            self._by_fold = old | {fold(slug): slug for slug in slugs}
        for spelling in tries:
            if (found := self._by_fold.get(fold(spelling))) is not None:
                return found
        return None

    def find(self, path: str) -> Slug | None:
        """The page that a path leads to; the wiki itself leads to its home."""
        return self.find_page(path or HOME)

    def find_start(self, folder: str = "") -> Slug | None:
        """The page that a folder begins with, or the wiki."""
        tries = (f"{folder}/{name}" if folder else name for name in STARTS)
        return next(filter(None, map(self.find_page, tries)), None)

    def find_attachment(self, path: str) -> AttachmentPath | None:
        """The attachment of a path, in whichever form of Unicode its name is."""
        if path in self.attachments:
            return AttachmentPath(path)
        if path.isascii():
            return None
        if self._by_form is None:
            self._by_form = {in_form_c(name): name for name in self.attachments}
        return self._by_form.get(in_form_c(path))

    def resolve(
        self,
        page_slug: Slug,
        href: str,
        *,
        own_ids: frozenset[str] | None = None,
        is_wikilink: bool = False,
    ) -> Target:
        """What a link on a page means.

        ``own_ids`` are those of that page, None leaves its own fragments unchecked.  A
        wikilink, ``[[x]]``, always starts at the wiki's root.
        """
        if PLAIN_PATH(href):
            return self._find(href, "")
        address = self._below_base(page_slug, href, is_wikilink=is_wikilink)
        if address.startswith("id:"):
            return self._find_id(page_slug, address, own_ids or frozenset())
        if scheme_of(address):
            reason = "" if is_safe_url(address) else "unsafe-scheme"
            return Target("external", address, reason=reason)
        path, _, raw_fragment = address.partition("#")
        fragment = page_id(unquote(raw_fragment))
        if not path or path.startswith("?"):
            # every browser takes #top for the start of the page
            is_known = fragment in {"", "top"} or own_ids is None or fragment in own_ids
            reason = "" if is_known else "no-heading"
            return Target("fragment", page_slug, fragment, reason)
        if not is_below(path, self.base):
            return self._project_upload(unquote(path))
        older = self.base.replace("/-/", "/")
        base = self.base if path.startswith(self.base) else older
        inside = normal_path(unquote(path[len(base) :]))
        if inside is None:
            return Target("page", address, fragment, "outside-wiki")
        return self._find(inside, fragment)

    def _below_base(self, page_slug: Slug, href: str, *, is_wikilink: bool) -> str:
        if self.web_url and href.startswith(self.web_url):
            rest = href[len(self.web_url) :]
            if not rest or rest[0] in "/#?":
                return self.base + "/" + rest.partition("?")[0].lstrip("/")
        if is_wikilink and not scheme_of(href) and href[:1] not in "#?":
            return f"{self.base}/{href.lstrip('/')}"
        return resolve_link(quote(page_slug), href, self.base)

    def _find_id(self, page_slug: Slug, href: str, own_ids: frozenset[str]) -> Target:
        """The page or heading whose property ``ID`` an Org link names."""
        identity = org_id(href)
        if identity in own_ids:
            return Target("fragment", page_slug, identity)
        slug = self.page_of_id(href)
        if slug is None:
            return Target("external", href, reason="no-id")
        return Target("page", slug, identity)

    def page_of_id(self, href: str) -> Slug | None:
        """The page that has what ``id:name`` names."""
        if self._by_org_id is None:
            self._by_org_id = {
                one: slug
                for slug in sorted(self.headings, reverse=True)
                for one in self.headings[slug]
                if one.startswith(ORG_ID)
            }
        return self._by_org_id.get(org_id(href))

    def _project_upload(self, path: str) -> Target:
        """``/uploads/..`` is the project's own store; the wiki may hold the same."""
        inside = path.lstrip("/")
        if (found := self.find_attachment(inside)) is not None:
            return Target("attachment", found)
        return Target("attachment", path, reason="project-upload")

    def _find(self, path: str, fragment: str) -> Target:
        if (found := self.find_attachment(path)) is not None:
            return Target("attachment", found, fragment)
        slug = self.find(path)
        if slug is None:
            is_upload = path.startswith(UPLOADS)
            kind: LinkKind = "attachment" if is_upload else "page"
            reason = "no-attachment" if is_upload else "no-page"
            return Target(kind, path or HOME, fragment, reason)
        ids = self.headings.get(slug)
        is_known = not fragment or ids is None or fragment in ids
        return Target("page", slug, fragment, "" if is_known else "no-heading")


class WikiIndex(LinkIndex):
    """The link index of one wiki of a site, where a folder leads to its start."""

    def find(self, path: str) -> Slug | None:
        """The page that a path leads to, or that the folder there begins with."""
        return (self.find_page(path) if path else None) or self.find_start(path)


def page_id(identity: str) -> str:
    """An id of a page's text as it stands in a site, without the service's prefix.

    Ids that a theme may have (``siteHits``) keep it: scripts and labels find their own.
    """
    own = identity.removeprefix(ID_PREFIX)
    return ID_PREFIX + own if THEME_ID.match(own) else own


def org_id(name: str) -> str:
    """The id in HTML of an Org property ``ID``, or of ``id:name`` without a search."""
    return ORG_ID + "-".join(name.removeprefix("id:").partition("::")[0].split())


def fold(path: str) -> str:
    """What the service's lookup takes for the same: case and spaces as hyphens."""
    return in_form_c(path.replace(" ", "-").lower())


def normal_path(path: str) -> str | None:
    """A path as a browser would ask for it, without slashes at its ends.

    None where it leaves the wiki or no address can hold it.
    """
    return None if CONTROL.search(path) else joined_path("", path)


def file_path(folder: str, href: str) -> str | None:
    """What a link, as written, means where it leads to a file beside the pages.

    ``folder`` is that of the page's file.  None where it leads out of the wiki's
    folder, or to no file.
    """
    way = href.partition("#")[0].partition("?")[0]
    if not way or way.startswith("//") or scheme_of(way):
        return None
    start = "" if way.startswith("/") else folder
    path = normal_path(f"{start}/{unquote(way)}")
    return path if path and "\\" not in path else None


def mentioned_attachments(parsed: ParsedPage) -> tuple[AttachmentPath, ...]:
    """Paths below ``uploads/`` that a page shows or links, whatever is there."""
    index = LinkIndex(())
    found: dict[AttachmentPath, None] = {}
    for ref in parsed.refs:
        target = index.resolve(
            parsed.slug, ref.href, is_wikilink=ref.kind == "wikilink"
        )
        if target.kind == "attachment" and target.reason == "no-attachment":
            found[AttachmentPath(target.name)] = None
    return tuple(found)


# -- redirects -------------------------------------------------------------------
#
# The service keeps the old names of renamed pages in a file of the wiki, one flat YAML
# mapping.  This skips what it cannot read, and writes every scalar in double quotes.


REDIRECTS_BYTES_MAX = 512 * 1024
"""What the service writes at most."""
STEPS_MAX = 50
"""From name to name, before one counts as a circle."""
NAME_CHARS_SHOWN = 100

_QUOTED = json_decoder(str)
_QUOTES = r""" "(?>(?:[^"\\]++|\\.)*)" | '(?>(?:[^']++|\'\')*)' """
_KEY = re.compile(
    rf"""(?: (?P<quoted> {_QUOTES} ) \s*+ : | (?P<plain> [^\s"'\#\-&*!|>%@`{{}}\[\],?:]
    (?>(?: [^:\#]++ | :(?!\s) | (?<!\s)\# )*) ) : ) \s++""",
    re.VERBOSE,
)
_RUN = frozenset({"javascript", "data", "vbscript", "blob", "file"})


class Redirects(msgspec.Struct, frozen=True):
    """What the redirects of a wiki come to among its pages."""

    pages: Mapping[str, Slug] = {}
    """The page that an old name leads to in the end, by old name, sorted."""
    problems: tuple[Problem, ...] = ()


def settle_redirects(
    given: Mapping[str, str], find: Callable[[str], Slug | None]
) -> Redirects:
    """Follow redirects from name to name until there is a page.

    One whose old name is a page again hides nothing, and one that leads to a page that
    is gone leads nowhere: both are left out.  ``find`` knows pages without redirects.
    """
    pages: dict[str, Slug] = {}
    problems: list[Problem] = []
    for old, new in sorted(given.items()):
        if find(old) is not None:
            continue
        if not (_is_name(old) and (_is_name(new) or find(new))):
            problems.append(_left_out(old, f"{new} or the name itself is no page name"))
            continue
        at, steps = new, 1
        while (found := find(at)) is None and at in given and steps < STEPS_MAX:
            at, steps = given[at], steps + 1
        if found is not None:
            pages[old] = found
        elif at in given:
            problems.append(_left_out(old, f"it leads round in a circle by {at}"))
    return Redirects(pages, tuple(problems))


def _is_name(name: str) -> bool:
    """Whether a page could be called so: no address and no way out of the wiki."""
    is_plain = normal_path(name) == name and "\\" not in name
    return is_plain and scheme_of(name) not in _RUN


def _left_out(old: str, why: str) -> Problem:
    subject = f"{REDIRECTS_PATH}: {old[:NAME_CHARS_SHOWN]}"
    return Problem(
        "redirect-left-out",
        subject,
        f"is no redirect: {why[: 2 * NAME_CHARS_SHOWN]}",
        f"remove the line from {REDIRECTS_PATH}",
    )


def parse_redirects(source: bytes) -> dict[str, str]:
    """The mapping in a redirects file; lines that are none are left out."""
    found: dict[str, str] = {}
    for line in source.decode("utf-8", "replace").split("\n"):
        match = _KEY.match(line)
        if match is None:
            continue
        key = _scalar(match["quoted"] or match["plain"].rstrip())
        value = _scalar(line[match.end() :].rstrip())
        if key and value:
            found[key] = value
    return found


def render_redirects(redirects: dict[str, str]) -> bytes:
    """The file that holds a mapping."""
    lines = [
        msgspec.json.encode(old) + b": " + msgspec.json.encode(new)
        for old, new in redirects.items()
    ]
    return b"---\n" + b"".join(line + b"\n" for line in lines)


def _scalar(text: str) -> str | None:
    if text.startswith("'"):
        return text[1:-1].replace("''", "'") if text.endswith("'") else None
    if not text.startswith('"'):
        return text
    try:
        return _QUOTED.decode(text.encode())
    except msgspec.DecodeError:
        return None


# -- which URLs may stand in a page ----------------------------------------------

LINK_SCHEMES = frozenset(
    [
        *("http", "https", "ftp", "ftps", "sftp", "mailto", "tel", "sms", "xmpp"),
        *("irc", "ircs", "matrix", "sip", "sips", "geo", "maps", "urn", "doi", "isbn"),
        *("news", "nntp", "git", "ssh", "svn", "bzr", "hg", "smb", "nfs", "afp"),
        *("ldap", "ldaps", "magnet", "callto", "skype", "slack", "teams", "zoommtg"),
        *("rsync", "rtsp", "webcal", "steam", "spotify", "vscode", "zotero"),
        *("obsidian", "notion", "jetbrains", "rdar", "gopher", "gemini", "dict"),
    ]
)
"""Schemes that a link may have; any other loses its address.

The service lets every scheme but three through; the sanitiser wants a list.
"""

MEDIA_SCHEMES = frozenset({"http", "https"})
"""Schemes that a picture, video or sound may have, as in the service."""

COMMON = frozenset({"http", "https", "mailto"})
"""What nearly every URL with a scheme has; accepted without further parsing."""
SCHEME = re.compile(r"([^:/?#]+):")
IGNORED_BY_BROWSERS = re.compile(r"[\x00-\x20\x7f-\xa0\u2028\u2029\ufeff]+")


def scheme_of(url: str) -> str:
    """The scheme as a browser would see it, lower case; empty for a relative URL.

    Browsers drop tabs, line ends and control characters: dropping all finds no fewer.
    """
    head, colon, _ = url.partition(":")
    if not colon:
        return ""
    if head in COMMON:
        return head
    match = SCHEME.match(IGNORED_BY_BROWSERS.sub("", url))
    return match[1].lower() if match else ""


def is_safe_url(url: str, schemes: frozenset[str] = LINK_SCHEMES) -> bool:
    """Whether a URL may be written into a page: relative, or an allowed scheme."""
    scheme = scheme_of(url)
    return not scheme or scheme in schemes
