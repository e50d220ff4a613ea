"""Links between the exported wikis, and how pages reach each other and loose files.

Pure.  ``markup`` knows one wiki.  A full address of another wiki that is part of
the site comes back from it as outside; here it becomes a page of that wiki, named by
a token, which nothing else can be mistaken for because a slug holds no NUL.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import chain
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

from msgspec import Struct

from wikisync.core import model
from wikisync.folder.ignore import NO_PATTERNS, Patterns
from wikisync.folder.naming import attachment_path, is_hidden, is_unlisted
from wikisync.markup import links as rules
from wikisync.markup.links import Target, WikiIndex, fold
from wikisync.site.addresses import WikiAddresses, relative_url
from wikisync.site.model import WikiInfo

if TYPE_CHECKING:
    from wikisync.folder.index import IndexedFile


WIKIS = "/-/wikis"
_NUL = "\0"
UP = "../"
"""The prefix of a wiki whose site lies beside this one begins so."""

Found = tuple[str, str]
"""Name and output path of a page or file.  Where the site has none the name is empty,
and the path says why if more is known, by a word of ``REASONS``."""
NOT_FOUND = frozenset({"no-page", "no-attachment"})
"""Why a link may lead to a loose file: whatever the service would find comes first."""


class ItemKey(Struct, frozen=True, gc=False):
    """A page or attachment of any wiki of the site."""

    wiki: int
    name: str

    def token(self) -> str:
        """The place as a name among the slugs of another wiki."""
        return f"{self.wiki}{_NUL}{self.name}"


def place_of(name: str, wiki: int) -> ItemKey:
    """What a link's target means, seen from a wiki: a token, or a name of its own."""
    number, found, rest = name.partition(_NUL)
    return ItemKey(int(number), rest) if found else ItemKey(wiki, name)


def is_elsewhere(name: str) -> bool:
    """Whether a link's target is in another wiki of the site."""
    return _NUL in name


def service_address(info: WikiInfo) -> str:
    """Address of the wiki on the service; without a host where that is unknown."""
    owner = info.owner
    kind = "groups/" if owner.kind == "group" else ""
    base = info.web_url.rstrip("/") or f"/{kind}{quote(owner.full_path)}"
    return base if base.endswith(WIKIS) else base + WIKIS


def changed_names(before: WikiAddresses, now: WikiAddresses) -> set[str]:
    """Pages, files and old names of a wiki that come, go, or lead elsewhere now."""
    changed = (
        before.pages.items() ^ now.pages.items(),
        before.attachments.items() ^ now.attachments.items(),
        before.left_out.items() ^ now.left_out.items(),
        before.redirects.items() ^ now.redirects.items(),
    )
    return {str(name) for name, _ in chain.from_iterable(changed)}


def leading_to(changed: Collection[str], paths: Iterable[str]) -> set[str]:
    """Paths of links that may find another page or file when some come or go.

    A lookup takes the names with one spelling for the same, with or without an
    extension, and gives the start of a folder for the folder (``WikiIndex``).
    """
    names = {fold(one) for name in changed for one in (name, name.rpartition("/")[0])}

    def may_find(path: str) -> bool:
        bare = model.split_extension(path)
        return fold(path) in names or (bare is not None and fold(bare[0]) in names)

    return set(filter(may_find, paths)) if names else set()


class LooseStates(Mapping[str, "IndexedFile"]):
    """Loose files of a folder that can be read, each read once a link leads to it."""

    def __init__(
        self,
        names: frozenset[str] = frozenset(),
        look: Callable[[str], IndexedFile | None] = lambda _: None,
        patterns: Patterns = NO_PATTERNS,
    ) -> None:
        self.names = names
        self.seen: dict[str, IndexedFile | None] = {}
        self._look = look
        self._patterns = patterns
        self._forms: dict[str, str] | None = None
        """Paths by their spelling in Unicode's form C."""

    def named(self, path: str) -> str | None:
        """The path of the file that a link means, as the disk spells it."""
        if path in self.names:
            return path
        if is_unlisted(path):
            return None if self._patterns.hides(path) else attachment_path(path)
        if path.isascii():
            return None
        if self._forms is None:
            self._forms = {model.in_form_c(name): name for name in self.names}
        return self._forms.get(model.in_form_c(path))

    def look(self, path: str) -> IndexedFile | None:
        """A file as it is now; None where the patterns hide it."""
        return None if self._patterns.hides(path) else self._look(path)

    def is_as(self, path: str, digest: str) -> bool:
        """Whether a file holds what it held; nothing: there was none."""
        state = self.get(path)
        return digest == (state.digest if state else "")

    def why_kept_back(self, path: str) -> str:
        """Why no page may show a file that is there; empty for any other."""
        if not is_unlisted(path) or self.named(path) or self._look(path) is None:
            return ""
        if self._patterns.hides(path):
            return "ignored"
        return "hidden-folder" if is_hidden(path) else "program-folder"

    def __getitem__(self, path: str) -> IndexedFile:
        if self.named(path) != path:
            raise KeyError(path)
        if path not in self.seen:
            self.seen[path] = self._look(path)
        state = self.seen[path]
        if state is None:
            raise KeyError(path)
        return state

    def __iter__(self) -> Iterator[str]:
        return (path for path in sorted(self.names) if path in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)


class WikiTable:
    """Every wiki of the site by its address on the service."""

    def __init__(
        self,
        web_urls: Iterable[str],
        addresses: Sequence[WikiAddresses],
        loose: Sequence[LooseStates] = (),
    ) -> None:
        """Take the wikis by their numbers; URLs are those of ``service_address``."""
        self.addresses = tuple(addresses)
        self._loose = tuple(loose)
        self.web_urls = tuple(web_urls)
        self._numbers = {
            url: number
            for number, url in enumerate(self.web_urls)
            if not url.startswith("/")
        }
        self._indexes: dict[int, WikiIndex] = {}
        self._found: dict[int, Callable[[str], Found]] = {}
        """What links of a wiki find at a path; each is looked up once."""

    def forget(self, number: int) -> None:
        """Let go of what was looked up for a wiki."""
        self._found.pop(number, None)
        self._indexes.clear()

    def found(self, number: int, path: str) -> Found:
        """What a link of a wiki finds at a path; one of a file begins with a slash."""
        return self._found_of(number)(path)

    def answers(
        self, number: int, targets: Iterable[str], paths: Iterable[str]
    ) -> bytes:
        """Hash of what is found at targets in a wiki and at paths inside it."""
        found = self._found_of(number)
        texts = [found(name) for name in targets if not is_elsewhere(name)]
        texts += map(found, paths)
        text = "\0".join(chain.from_iterable(texts))
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()

    def find(self, url: str) -> tuple[ItemKey, bool, str] | None:
        """Where a full address leads in the site.

        Returns:
            The place, whether it is an attachment, and the decoded fragment; a
            place with an empty name is in an exported wiki but does not exist.
            None for any other address.
        """
        base, found, rest = url.partition(WIKIS)
        number = self._numbers.get(base + found)
        if number is None or rest[:1] not in {"", "/", "?", "#"}:
            return None
        path, _, fragment = rest.partition("#")
        inside = rules.normal_path(unquote(path.partition("?")[0]))
        index = self._index(number)
        if inside and inside in index.attachments:
            return ItemKey(number, inside), True, ""
        slug = None if inside is None else index.find(inside)
        is_page = slug in self.addresses[number].pages
        place = ItemKey(number, slug if slug and is_page else "")
        return place, False, unquote(fragment)

    def is_beside(self, name: str) -> bool:
        """Whether a link's target is in a site beside this one."""
        number, found, _ = name.partition(_NUL)
        return bool(found) and self.addresses[int(number)].prefix.startswith(UP)

    def _found_of(self, number: int) -> Callable[[str], Found]:
        if number not in self._found:
            self._found[number] = cache(partial(self._look_up, number))
        return self._found[number]

    def _look_up(self, number: int, path: str) -> Found:
        known, index = self.addresses[number], self._index(number)
        if path.startswith("/"):
            file = path[1:]
            loose = self._loose[number] if self._loose else LooseStates()
            name = loose.named(file)
            if name is not None and file not in known.pages and name in loose:
                return name, known.file(name)
            why = map(known.left_out.get, (file, *model.folders_above(file)))
            return "", loose.why_kept_back(file) or next(filter(None, why), "")
        if (attachment := index.find_attachment(path)) is not None:
            return attachment, known.attachments[attachment]
        slug = index.find(path)
        if slug is not None and slug in known.pages:
            return slug, known.pages[slug]
        return "", known.left_out.get(slug or path, "")

    def _index(self, number: int) -> WikiIndex:
        if number not in self._indexes:
            known = self.addresses[number]
            slugs = [*known.pages, *map(model.Slug, known.left_out)]
            self._indexes[number] = WikiIndex(
                slugs, known.attachments, redirects=known.redirects
            )
        return self._indexes[number]


class SiteLinks(WikiIndex):
    """The link index of one wiki that also knows the other wikis of the site."""

    def __init__(
        self,
        number: int,
        table: WikiTable,
        headings: Mapping[model.Slug, frozenset[str]],
        folders: Mapping[model.Slug, str] | None = None,
    ) -> None:
        """Index the wiki of that number; ``folders`` as of ``ScannedWiki``."""
        known = table.addresses[number]
        super().__init__(
            [*known.pages, *map(model.Slug, known.left_out)],
            known.attachments,
            headings,
            web_url=table.web_urls[number],
            redirects=known.redirects,
        )
        self.number = number
        self._folders = folders or {}
        self.table = table
        self.crossings = 0
        """Links seen so far that name an exported wiki by its full address."""
        self.asked: dict[str, None] = {}
        """Paths that were looked up, on which answers hang."""
        self._plain: dict[str, Target] = {}
        """Pages by links that are spelled as they are, from whichever page."""

    def resolve(
        self,
        page_slug: model.Slug,
        href: str,
        *,
        own_ids: frozenset[str] | None = None,
        is_wikilink: bool = False,
    ) -> Target:
        """What a link means in the site; rules as in ``LinkIndex``."""
        if (known := self._plain.get(href)) is not None:
            self.asked[href] = None
            return known
        target = super().resolve(
            page_slug, href, own_ids=own_ids, is_wikilink=is_wikilink
        )
        if href == target.name and not target.reason and rules.PLAIN_PATH(href):
            self._plain[href] = target
        if target.reason in NOT_FOUND:
            above = page_slug.rpartition("/")[0]
            folder = "" if is_wikilink else self._folders.get(page_slug, above)
            return self._beside(folder, href, target)
        if target.kind != "external" or target.reason:
            return target
        found = self.table.find(target.name)
        if found is None:
            return target
        self.crossings += 1
        place, is_attachment, fragment = found
        if not place.name:
            return target
        return Target(
            "attachment" if is_attachment else "page", place.token(), fragment
        )

    def _beside(self, folder: str, href: str, otherwise: Target) -> Target:
        path = rules.file_path(folder, href)
        if path is None:
            return otherwise
        self.asked[f"/{path}"] = None
        name, why = self.table.found(self.number, f"/{path}")
        if name:
            return Target("attachment", name)
        return otherwise._replace(reason=why or otherwise.reason)

    def _find(self, path: str, fragment: str) -> Target:
        self.asked[path] = None
        target = super()._find(path, fragment)
        name, why = self.table.found(self.number, path)
        return target._replace(reason=why) if why and not name else target

    def _project_upload(self, path: str) -> Target:
        self.asked[path.lstrip("/")] = None
        return super()._project_upload(path)


class PageUrls:
    """Relative addresses as one page of a wiki writes them."""

    def __init__(self, at: str, number: int, table: WikiTable) -> None:
        self._at = at
        self._number = number
        self._table = table
        self._own = table.addresses[number].pages

    def page(self, slug: model.Slug, fragment: str) -> str:
        """Relative link to a page of this or, by a token, another wiki."""
        if (to := self._own.get(slug)) is None:
            place = place_of(slug, self._number)
            to = self._table.addresses[place.wiki].pages[model.Slug(place.name)]
        return relative_url(self._at, to, fragment)

    def attachment(self, path: model.AttachmentPath) -> str:
        """Relative link to a file of this or, by a token, another wiki."""
        place = place_of(path, self._number)
        wiki = self._table.addresses[place.wiki]
        return relative_url(self._at, wiki.file(place.name))

    def missing(self, target: str) -> str | None:
        """A missing attachment may still be had on the service; a page may not."""
        base = self._table.web_urls[self._number]
        if base.startswith("/") or not target.startswith("uploads/"):
            return None
        return f"{base}/{quote(target)}"
