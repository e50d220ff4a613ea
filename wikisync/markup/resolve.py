"""Phase B: the open links of a parsed page, answered by the index.  Pure, a join.

Only this file writes ``href`` and ``src`` of what a page links or shows, and each
is checked once more, whatever the index or ``Urls`` gave.
"""

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from urllib.parse import quote, unquote

from msgspec.structs import replace

from wikisync.core.model import AttachmentPath, Format, Problem, Slug
from wikisync.markup import record, references
from wikisync.markup.file_types import file_extension, may_open
from wikisync.markup.links import MEDIA_SCHEMES, LinkIndex, Target, Urls, is_safe_url
from wikisync.markup.record import LinkRef
from wikisync.markup.tokens import escape

WEB = ("http:", "https:", "ftp:")
EXTERNAL_WITHOUT_CLASS = ' rel="nofollow noreferrer noopener" target="_blank"'
EXTERNAL = f' class="external"{EXTERNAL_WITHOUT_CLASS}'
PICTURES = frozenset(
    {".jpg", ".jpeg", ".png", ".gif", ".svg", ".bmp", ".webp", ".avif"}
)
WIKILINK_PICTURES = frozenset({".jpg", ".png", ".gif", ".svg", ".bmp"})
VIDEOS = frozenset({".mp4", ".m4v", ".mov", ".webm", ".ogv"})
SOUNDS = frozenset({".mp3", ".oga", ".ogg", ".spx", ".wav"})
ACTIVE = frozenset(
    {".svg", ".html", ".htm", ".xhtml", ".xml", ".xht", ".mht", ".shtml"}
)
"""Files elsewhere that may run scripts when opened; of ours, ``file_types`` knows."""
FILES = (
    PICTURES
    | VIDEOS
    | SOUNDS
    | ACTIVE
    | {".pdf", ".zip", ".gz", ".csv", ".docx", ".xlsx", ".pptx", ".odt", ".ods", ".odp"}
)
"""What nobody calls a page; any other dot may stand in a page's name."""
REASONS = {
    "no-page": "there is no such page",
    "template": "the page is a template for new pages, which the site leaves out",
    "no-file": "there is no such file",
    "no-attachment": "there is no such attachment",
    "hidden-folder": "only pictures and documents in hidden folders are published, and"
    " none in .git and .wikisync",
    "ignored": ".wikisyncignore leaves it out",
    "program-folder": "no page in this folder of a program is published",
    "folder-unreadable": "its folder cannot be read",
    "file-elsewhere": "its content is not on this computer: a cloud drive keeps it",
    "link-ignored": "it is a symbolic link, which is not followed",
    "no-regular-file": "it is a pipe, a socket or a device",
    "no-heading": "the page has no such heading",
    "project-upload": "the file belongs to the project, not to its wiki",
    "outside-wiki": "the address leads out of the wiki",
    "no-id": "no page or heading has this id",
    "unsafe-scheme": "addresses of this kind are not allowed",
}
BEHIND_NAME = re.compile(r"[?#].*", re.DOTALL)


def finish_page(
    parsed: record.ParsedPage,
    links: LinkIndex,
    urls: Urls,
    source: Callable[[], str] = lambda: "",
) -> record.RenderedPage:
    """The page with every link resolved; broken ones are results, not errors.

    ``source`` gives the page's text, in which the lines of broken links are found.
    """
    writer = LinkWriter(parsed, links, urls)
    out: list[str] = []
    lost: dict[int, int] = {}
    for number, (part, ref) in enumerate(zip(parsed.parts, parsed.refs, strict=False)):
        out.append(part)
        known = len(writer.results)
        out.append(writer.write(ref))
        if writer.results[known:] and writer.results[known].is_broken:
            lost[known] = number
    out.append(parsed.parts[-1])
    lines = lines_of(parsed.refs, lost.values(), source()) if lost else {}
    for at, number in lost.items():
        writer.results[at] = replace(writer.results[at], line=lines.get(number, 0))
    broken = tuple(
        Problem(
            "link-broken",
            record.position_of(parsed.slug, link.line),
            f"{link.href}: {REASONS[link.reason]}",
        )
        for link in writer.results
        if link.is_broken
    )
    return record.RenderedPage(
        html="".join(out),
        title=parsed.title,
        toc=parsed.toc,
        links=tuple(writer.results),
        attachments=tuple(writer.attachments),
        meta=parsed.meta,
        features=parsed.features | writer.features,
        problems=parsed.problems + broken,
    )


class LinkWriter:
    """Writes the links of one page and remembers what became of each."""

    def __init__(self, parsed: record.ParsedPage, links: LinkIndex, urls: Urls) -> None:
        self.parsed = parsed
        self.index = links
        self.urls = urls
        self.has_references = parsed.format is Format.MARKDOWN
        self.results: list[record.LinkResult] = []
        self.attachments: dict[AttachmentPath, None] = {}
        self.features: set[str] = set()

    def write(self, ref: LinkRef) -> str:
        """HTML of one link or picture."""
        if ref.kind == "reference":
            return self.write_reference(references.parse_written(ref.href), ref)
        target = self.index.resolve(
            self.parsed.slug,
            ref.href,
            own_ids=self.parsed.ids,
            is_wikilink=ref.kind == "wikilink",
        )
        is_lost = target.reason and target.reason in {"no-page", "no-heading"}
        if is_lost and ref.kind == "link" and self.has_references:
            named = references.reference_of_link(ref.href)
            if named is not None and references.reference_url(
                named, self.index.web_url
            ):
                return self.write_reference(named, ref)
        if target.reason == "no-page" and (
            ref.kind == "picture" or extension(target.name) in FILES
        ):
            target = target._replace(reason="no-file")
        self.results.append(target.result(ref.href))
        if target.kind == "attachment" and not target.reason:
            self.attachments[AttachmentPath(target.name)] = None
        if ref.kind == "picture":
            return self.write_media(ref, target)
        if ref.kind == "link":
            return self.write_link(ref, target)
        is_file = target.kind == "attachment" or (
            target.kind == "external" and ref.kind == "wikilink" and not target.reason
        )
        if is_file and extension(target.name) in WIKILINK_PICTURES:
            # ``[[text|image.png]]`` is the picture that it means
            plain = re.sub(r"<[^>]*>", "", ref.inner)
            picture = LinkRef("picture", ref.href, ref.attributes, plain)
            return self.write_media(picture, target)
        if ref.kind == "address":
            return self.write_address(ref, target)
        return f"{self.write_link(ref, target)}{ref.inner}</a>"

    # -- links ------------------------------------------------------------------

    def write_link(self, ref: LinkRef, target: Target) -> str:
        """A link's start tag."""
        href = self.address(target)
        rest = ref.attributes
        if target.reason:
            rest += "" if " class=" in rest else ' class="broken-link"'
            rest += reason_title(ref, target)
        elif target.kind == "external" and target.name.lower().startswith(WEB):
            rest += EXTERNAL if " class=" not in rest else EXTERNAL_WITHOUT_CLASS
        elif target.kind == "attachment" and href is not None:
            rest += saving(target.name, href)
        if href is None or not is_safe_url(href):
            return f"<a{rest}>"
        return f'<a href="{escape(href)}"{rest}>'

    def write_address(self, ref: LinkRef, target: Target) -> str:
        """A link whose text is its address, shown as short as the service shows it."""
        web_url = self.index.web_url if self.has_references else ""
        named = references.reference_at(ref.href, web_url)
        if named is None:
            return f"{self.write_link(ref, target)}{ref.inner}</a>"
        kind = f' class="reference {named[0].kind}"'
        shown = LinkRef("link", ref.href, kind + ref.attributes)
        return f"{self.write_link(shown, target)}{escape(named[1])}</a>"

    def write_reference(self, reference: references.Reference, ref: LinkRef) -> str:
        """A reference as a link, or as its text where the service is not known.

        ``ref`` is its text, or a link that names it instead of an address.
        """
        is_own_page = reference.kind == "wiki_page" and not reference.path
        href = reference.name
        if not is_own_page:
            href = references.reference_url(reference, self.index.web_url)
        if not href:
            return ref.inner
        target = self.index.resolve(
            self.parsed.slug, href, own_ids=self.parsed.ids, is_wikilink=is_own_page
        )
        self.results.append(target.result(href))
        kind = f' class="reference {reference.kind}"'
        start = self.write_link(LinkRef("link", href, kind + ref.attributes), target)
        if ref.kind == "link":
            return start
        text = references.reference_text(reference, self.index.web_url)
        return f"{start}{ref.inner if text is None else escape(text)}</a>"

    def address(self, target: Target) -> str | None:
        """The address of what was found, or of what stands for it."""
        match target.kind:
            case "external":
                return None if target.reason else target.name
            case "fragment":
                return "#" + quote(target.fragment, safe="/:;,!*()'@~+=&?")
            case "page" if target.reason in {"", "no-heading"}:
                return self.urls.page(Slug(target.name), target.fragment)
            case "attachment" if not target.reason:
                return self.urls.attachment(AttachmentPath(target.name))
            case _:
                return self.urls.missing(target.name)

    # -- pictures, videos, sounds -------------------------------------------------

    def write_media(self, ref: LinkRef, target: Target) -> str:
        """A picture, video or sound as a whole element."""
        is_usable = target.kind in {"external", "attachment"} and not target.reason
        src = self.address(target) if is_usable else None
        if src is None or not is_safe_url(src, MEDIA_SCHEMES):
            return self.write_placeholder(ref, target)
        if target.kind == "attachment":
            name = unquote(leaf_of(src))
            kind, is_linked = file_extension(name), may_open(name)
        else:
            kind = extension(target.name)
            is_linked = kind not in ACTIVE
        if kind in VIDEOS or kind in SOUNDS:
            self.features.add("media")
            return write_player(ref, src, "video" if kind in VIDEOS else "audio")
        return write_picture(ref, src, is_linked=is_linked)

    def write_placeholder(self, ref: LinkRef, target: Target) -> str:
        """What stands for a picture that the wiki does not have."""
        name = f"<code>{escape(ref.href)}</code>"
        is_outside = target.kind == "external"
        href = None if is_outside else self.urls.missing(target.name)
        if href is not None and is_safe_url(href) and not ref.is_in_link:
            name = f'<a href="{escape(href)}"{EXTERNAL_WITHOUT_CLASS}>{name}</a>'
        alt = f"{escape(ref.inner)} " if ref.inner else ""
        title = reason_title(ref, target)
        return f'<span class="missing-media"{title}>{alt}{name}</span>'


def reason_title(ref: LinkRef, target: Target) -> str:
    """Why a link leads nowhere, as a title."""
    if " title=" in ref.attributes or not target.reason:
        return ""
    return f' title="{escape(f"{ref.href}: {REASONS[target.reason]}")}"'


def extension(name: str) -> str:
    """Extension with its dot, lower case; that of a URL's path for a URL."""
    return file_extension(BEHIND_NAME.sub("", name).rpartition("/")[2])


def saving(path: str, href: str) -> str:
    """What makes a link save a file instead of opening it, if anything.

    The written name decides; a file that may not run there is saved under its own.
    """
    written = unquote(leaf_of(href))
    own = re.split(r"[/\0]", path)[-1]
    is_renamed = file_extension(own) != file_extension(written)
    if may_open(written) and not is_renamed:
        return ""
    return f' download="{escape(own)}"' if is_renamed else " download"


def write_picture(ref: LinkRef, src: str, *, is_linked: bool) -> str:
    """A picture, in a link to itself unless it is in a link or must not be opened."""
    address = escape(src)
    alt = escape(ref.inner)
    picture = (
        f'<img src="{address}" alt="{alt}"{ref.attributes}'
        ' loading="lazy" decoding="async" referrerpolicy="no-referrer">'
    )
    if ref.is_in_link or not is_linked:
        return picture
    # a link needs a name: the picture's own, or its file's
    label = "" if ref.inner else f' aria-label="{escape(unquote(leaf_of(src)))}"'
    return f'<a class="picture" href="{address}"{label}>{picture}</a>'


def write_player(ref: LinkRef, src: str, tag: str) -> str:
    """A player with a link to the file, as the service shows videos and sounds."""
    address, name = escape(src), escape(ref.inner or unquote(leaf_of(src)))
    player = (
        f'<{tag} src="{address}"{ref.attributes} controls preload="metadata"'
        f' aria-label="{name}"></{tag}>'
    )
    if ref.is_in_link:
        return f'<span class="media-container {tag}-container">{player}</span>'
    link = f'<a href="{address}" download title="{name}">{name}</a>'
    return f'<span class="media-container {tag}-container">{player}{link}</span>'


def leaf_of(url: str) -> str:
    """File name at the end of a URL."""
    return BEHIND_NAME.sub("", url).rpartition("/")[2] or url


# -- lines -----------------------------------------------------------------------
#
# Of several links with one address the n-th stands at the n-th place of the address in
# the source.  Where there are too many places, those in code do not count, then those
# in the texts of links.  No line is better than a wrong one.


SEARCHED_CHARS_MAX = 20_000_000
"""All searches of a page together; a page with very many links gets fewer lines."""
FOUND_MAX = 200
"""An address that stands in more positions is searched for no further."""
BEFORE = frozenset("([{<\"'=|: \t\n")
BEHIND = frozenset(")]}>\"'|#,[ \t\n")
CODE = re.compile(
    r"(?<!`)(`{1,9})(?!`).*?(?<!`)\1(?!`)|(?<!~)(~{3,9})(?!~).*?(?<!~)\2(?!~)",
    re.DOTALL,
)
"""In the formats that have such signs; in others it is seldom between two places."""
SIGNS = ("](", "](<", "]: ", "[[", "}[", ":", "<", '="', "='")
"""Before an address, and not before the text of a link that is its address."""


def lines_of(
    refs: Sequence[LinkRef], numbers: Collection[int], source: str
) -> Mapping[int, int]:
    """The lines, from 1, of the links that ``numbers`` names, as far as known."""
    wanted = {written_address(refs[number]) for number in numbers}
    by_href: defaultdict[str, list[int]] = defaultdict(list)
    for number, ref in enumerate(refs):
        if (href := written_address(ref)) in wanted:
            by_href[href].append(number)
    found: dict[int, int] = {}
    budget = SEARCHED_CHARS_MAX
    ends = [found.start() for found in re.finditer("\n", source)]
    # where code begins and, by turns, ends
    code = [at for one in CODE.finditer(source) for at in one.span()]
    for href, equal in by_href.items():
        budget -= len(source) if href else 0
        if budget < 0:
            break
        positions = positions_of(href, source)
        for narrowed in (
            positions,
            shown := [at for at in positions if bisect_right(code, at) % 2 == 0],
            [at for at in shown if source.endswith(SIGNS, max(at - 3, 0), at)],
        ):
            lines = [bisect_right(ends, position) + 1 for position in narrowed]
            if len(set(lines)) == 1:
                lines = lines[:1] * len(equal)
            if len(lines) == len(equal):
                found |= zip(equal, lines, strict=True)
                break
    return found


def written_address(ref: LinkRef) -> str:
    """What the source says of where a link leads; of references, pages alone."""
    if ref.kind != "reference":
        return ref.href
    kind, _, name = ref.href.split(":", 2)
    return name if kind == "wiki_page" else ""


def positions_of(href: str, source: str) -> list[int]:
    """Where an address stands between the signs that markup sets around one."""
    if not href:
        return []
    # a source may write an address otherwise than its parser gives it
    for form in dict.fromkeys((href, unquote(href), href.replace("&", "&amp;"))):
        positions = list(between_signs(form, source))
        if positions:
            return positions
    return []


def between_signs(form: str, source: str) -> Iterable[int]:
    """Positions of a spelling, up to a limit, that are no part of a longer word."""
    found = 0
    position = source.find(form)
    while position >= 0 and found < FOUND_MAX:
        found += 1
        end = position + len(form)
        if (position == 0 or source[position - 1] in BEFORE) and (
            end == len(source) or source[end] in BEHIND
        ):
            yield position
        position = source.find(form, end)
