"""The two spellings of a page's links to files of its folder, and renames.  Pure.

On the wiki such a file is an upload, to which ``to_wiki`` lets the links lead;
``to_folder`` writes them as the person did.  Where a target stands in a source is
known by no parser of the four formats.  So every position where it may be written is
tried: each gets a name that stands nowhere, the page is parsed, and a position is a
link's if a link leads to that very name then.  Code, comments, other addresses and
plain words that are spelled like the target stay as they are.
"""

import posixpath
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from html.entities import html5
from typing import NamedTuple
from urllib.parse import quote, unquote

from msgspec.structs import replace

from wikisync.core.model import LinkPlace, LinkTarget, Page, Slug, split_extension
from wikisync.markup.links import LinkIndex, file_path
from wikisync.markup.page import parse_page
from wikisync.markup.record import MarkupOptions

ALONE_MAX = 20
"""Places tried each alone, where a try of all at once shows no link."""

_PLAIN = MarkupOptions(math="source", highlight=False, emoji=False, anchors=False)
_PROBE = "wikisync-probe-{:06d}-x"
_NAME = r"[\w%-]"
_SUFFIX = re.compile(r"[?#]")
_EXTENSION = re.compile(r"\.\w{1,10}\Z", re.ASCII)
_ENTITIES: dict[str, list[str]] = {}
for _name, _characters in html5.items():
    if _name.endswith(";"):
        _ENTITIES.setdefault(_characters, []).append(_name[:-1])


def link_targets(page: Page) -> tuple[LinkTarget, ...]:
    """Where the page's links, pictures and media lead, in their order."""
    parsed = parse_page(page, _PLAIN)
    return tuple(
        LinkTarget(unquote(_SUFFIX.split(ref.href, 1)[0]), ref.kind == "wikilink")
        for ref in parsed.refs
    )


def to_wiki(
    page: Page, files: Mapping[LinkTarget, str]
) -> tuple[str | None, frozenset[LinkTarget]]:
    """The page's source as the wiki writes it, and which targets stand whole in it.

    ``files`` are links to files of the folder, and where the wiki has each.  The source
    is None where it would be another page.
    """
    places = link_places(page, files)
    source = retarget(
        page,
        [
            (place, replace(place.target, path=path), path)
            for place in places
            for path in [files[place.target]]
        ],
    )
    return source, frozenset(place.target for place in places)


def to_folder(
    page: Page, like: Page, files: Mapping[LinkTarget, Collection[str]]
) -> tuple[str, frozenset[str]]:
    """The page's source as the folder writes it, and the uploads that are files in it.

    ``like`` is a text as the folder writes it, whose links to an upload are taken in
    their order; ``files`` are its links, and where the wiki has or had each.
    """
    ways = {way for each in files.values() for way in each}
    ways = {way for way in ways if way.rpartition("/")[0] in page.content}
    uploads = {LinkTarget(way, kind): [way] for way in ways for kind in (False, True)}
    written: dict[LinkTarget, list[LinkPlace]] = {}
    # with those that lead to an upload in both: else the order says nothing
    known = {**uploads, **files}
    for place in link_places(like, known) if ways else ():
        for way in known[place.target]:
            written.setdefault(replace(place.target, path=way), []).append(place)
    changes: list[tuple[LinkPlace, LinkTarget, str]] = []
    for place in link_places(page, uploads) if written else ():
        links = written.get(place.target, [])
        changes += [(place, link.target, link.written) for link in links[:1]]
        del links[: len(links) > 1]
    source = retarget(page, changes) if changes else None
    if source is None:
        return page.content, frozenset()
    found = {
        place.target.path for place, now, _ in changes if now.path != place.target.path
    }
    return source, frozenset(found)


def link_places(page: Page, targets: Collection[LinkTarget]) -> tuple[LinkPlace, ...]:
    """Where the source names one of the targets as a link's, in order."""
    spots = list(_spots(page.content, {target.path for target in targets}))
    found, count = _tried(page, spots)
    rest = [spot for spot in spots if spot[0] not in found]
    if rest and count != len(link_targets(page)):
        # the name of a definition and what it defines may be the same words, and with
        # other names for both there is no link
        for spot in rest[:ALONE_MAX]:
            found |= _tried(page, [spot])[0]
    positions = (found[start] for start in sorted(found))
    return tuple(position for position in positions if position.target in targets)


def retarget(
    page: Page, changes: Sequence[tuple[LinkPlace, LinkTarget, str]]
) -> str | None:
    """The page's source with other targets at these positions.

    Each is written so or percent-encoded; None where either would lead elsewhere or
    make another page of it.
    """
    before = link_targets(page)
    leads: dict[LinkTarget, set[str]] = {}
    for position, target, _ in changes:
        leads.setdefault(position.target, {position.target.path}).add(target.path)
    wanted = {
        position.start: (position.written, written) for position, _, written in changes
    }
    encoded = {
        position.start: (position.written, _encoded(target.path))
        for position, target, _ in changes
    }
    for spelling in (wanted, encoded):
        source = _replaced(page.content, spelling)
        after = link_targets(Page(page.slug, page.format, source, page.title))
        if len(after) == len(before) and all(
            now.path in leads.get(was, {was.path})
            for was, now in zip(before, after, strict=True)
        ):
            return source
    return None


def _tried(
    page: Page, spots: Sequence[tuple[int, str, str]]
) -> tuple[dict[int, LinkPlace], int]:
    """Those of the spots that are a link's, and how many links the page has then."""
    if not spots:
        return {}, 0
    probes: dict[str, tuple[int, str, str]] = {}
    for number, spot in enumerate(spots):
        # a picture's probe must be a picture's name, or it is no picture any more
        extension = _EXTENSION.search(spot[2])
        probes[_PROBE.format(number) + (extension[0] if extension else "")] = spot
    probed = _replaced(
        page.content,
        {start: (written, probe) for probe, (start, written, _) in probes.items()},
    )
    links = link_targets(Page(page.slug, page.format, probed, page.title))
    positions: dict[int, LinkPlace] = {}
    for link in links:
        if link.path in probes:
            start, written, path = probes[link.path]
            target = LinkTarget(path, link.is_wikilink)
            positions[start] = LinkPlace(start, written, target)
    return positions, len(links)


def _spots(source: str, paths: Collection[str]) -> Iterator[tuple[int, str, str]]:
    """Where a path may be written, how it is there, and which; the longest first."""
    ordered = sorted(filter(None, paths), key=len, reverse=True)
    if not ordered:
        return
    any_of = "|".join(f"({''.join(map(_spelled, path))})" for path in ordered)
    pattern = re.compile(rf"(?<!{_NAME})(?<!{_NAME}[/.])(?:{any_of})(?!\.?{_NAME}|/)")
    for match in pattern.finditer(source):
        assert match.lastindex is not None, "one of the paths was found"
        yield match.start(), match.group(), ordered[match.lastindex - 1]


def _spelled(character: str) -> str:
    """A pattern for a character of a path: as it is, encoded, escaped, as HTML."""
    plain = re.escape(character)
    if character.isascii() and character.isalnum():
        return plain
    encoded = "".join(f"%{byte:02x}" for byte in character.encode("utf-8", "replace"))
    ways = [
        *(f"&{name};" for name in _ENTITIES.get(character, ())),
        *(plain, f"(?i:{encoded})"),
        *(f"&#0*{ord(character)};", f"(?i:&#x0*{ord(character):x};)"),
    ]
    if character.isascii():
        ways.append(rf"\\{plain}")
    return f"(?:{'|'.join(ways)})"


def _encoded(path: str) -> str:
    """A path in characters that have no meaning in any of the formats."""
    return re.sub(
        r"[^A-Za-z0-9/.-]",
        lambda one: "".join(f"%{byte:02X}" for byte in one.group().encode()),
        path,
    )


def _replaced(source: str, changes: Mapping[int, tuple[str, str]]) -> str:
    parts: list[str] = []
    done = 0
    for start in sorted(changes):
        old, new = changes[start]
        parts += [source[done:start], new]
        done = start + len(old)
    return "".join([*parts, source[done:]])


# -- pages that get another name ---------------------------------------------------


class MovedLinks(NamedTuple):
    """A page whose links lead where they led before, under the new names."""

    source: str
    links: int
    """How many are written anew."""
    left: tuple[str, ...]
    """Links, as written, whose place in the source is not known."""


def moved_links(
    page: Page,
    before: LinkIndex,
    after: LinkIndex,
    names: Mapping[Slug, Slug],
    moved_file: Callable[[str], str | None],
) -> MovedLinks:
    """A page's source when some pages of its wiki get other names.

    A link stays as it is while it leads to the same page; else it is written as it
    was: from the wiki's top or from the page's folder, with an extension or without.
    ``names`` are the new ones, maybe of this page too; ``moved_file`` tells of a path
    in the wiki's folder where the file is afterwards; None: no file, or a page.
    """
    slug = names.get(page.slug, page.slug)
    wanted: dict[LinkTarget, str] = {}
    left: list[str] = []
    for ref in parse_page(page, _PLAIN).refs:
        href, is_wikilink = _SUFFIX.split(ref.href, 1)[0], ref.kind == "wikilink"
        if not href or (target := LinkTarget(unquote(href), is_wikilink)) in wanted:
            continue
        found = before.resolve(page.slug, href, is_wikilink=is_wikilink)
        if found.kind == "page" and not found.reason:
            goal = names.get(Slug(found.name), found.name)
            ways = _ways(target, goal, slug, found.name)
        elif not is_wikilink and after.resolve(slug, href) != found._replace(reason=""):
            # the way to a file is another one from another folder, or to another one
            file = file_path(page.slug.rpartition("/")[0], href)
            to = file and moved_file(file)
            if not to or (slug, to) == (page.slug, file):
                continue
            new = posixpath.relpath(to, slug.rpartition("/")[0] or ".")
            new = f"/{to}" if href.startswith("/") else new
            if new != posixpath.normpath(target.path):
                wanted[target] = new
            continue
        else:
            continue

        def is_right(way: str, goal: str = goal, is_wiki: bool = is_wikilink) -> bool:
            one = after.resolve(slug, quote(way), is_wikilink=is_wiki)
            return one.kind == "page" and one.name == goal and not one.reason

        if not is_right(target.path):
            if (way := next(filter(is_right, ways), None)) is not None:
                wanted[target] = way
            else:
                left.append(target.path)
    places = [one for one in link_places(page, wanted) if one.target in wanted]
    changes = [
        (place, replace(place.target, path=wanted[place.target]), wanted[place.target])
        for place in places
    ]
    source = retarget(page, changes) if changes else page.content
    content, done = (page.content, []) if source is None else (source, places)
    known = {place.target for place in done}
    left += [one.path for one in wanted if one not in known]
    return MovedLinks(content, len(done), tuple(left))


def _ways(target: LinkTarget, goal: str, slug: str, named: str) -> list[str]:
    """How a link to a page may be written, the way most like it was first."""
    split = split_extension(target.path)
    has_extension = split is not None and not named.endswith(target.path)
    extension = target.path[len(split[0]) :] if split and has_extension else ""
    from_top = goal + extension
    if target.is_wikilink:
        return [from_top, goal]
    rooted = f"/{from_top}"
    if target.path.startswith("/"):
        return [rooted, f"/{goal}"]
    beside = posixpath.relpath(from_top, slug.rpartition("/")[0] or ".")
    dotted = beside if beside.startswith("../") else f"./{beside}"
    if target.path.startswith("."):
        return [dotted, rooted]
    return [beside, dotted, rooted] if extension else [from_top, rooted, dotted]
