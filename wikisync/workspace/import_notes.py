"""An Obsidian vault or a GitHub wiki as pages: links, embeds, callouts, tags, names.

Only running text is changed: code in fences, between backticks and in indented blocks
stays as it is.
"""

import json
import posixpath
import re
from collections.abc import Iterator, Mapping
from itertools import chain, takewhile
from pathlib import Path
from urllib.parse import quote, unquote

from msgspec import Struct, field

from wikisync.core import model
from wikisync.errors import FolderError, PreconditionFailed
from wikisync.folder.naming import attachment_path, path_of
from wikisync.folder.safe_open import read_below
from wikisync.folder.swap import write_atomically
from wikisync.markup.filters.headings import id_of
from wikisync.markup.frontmatter import find_block, split_front_matter
from wikisync.markup.resolve import PICTURES, SOUNDS, VIDEOS
from wikisync.workspace.mediawiki import convert
from wikisync.workspace.page_files import files_below

FILE_BYTES_MAX = 100 * 1024 * 1024
"""Of an attachment; the service's own limit is this by default."""
PAGE_BYTES_MAX = 16 * 1024 * 1024


class Lost(Struct, frozen=True, order=True):
    """Something that was not carried over."""

    file: str
    line: int
    what: str


class Imported(Struct):
    """The folder while it is made, and what came of it."""

    folder: Path
    pages: int = 0
    files: int = 0
    lost: list[Lost] = field(default_factory=list)

    def lose(self, file: str, line: int, what: str) -> None:
        """Note what is not carried over."""
        self.lost.append(Lost(file, line, what))

    def read_page(self, root: Path, name: str) -> str | None:
        """The text of a page of the source; what is none is noted."""
        try:
            return read_below(root, name, PAGE_BYTES_MAX).decode("utf-8-sig")
        except UnicodeDecodeError:
            self.lose(name, 1, "the page is not UTF-8 text")
        except (FolderError, FileNotFoundError) as error:
            self.lose(name, 1, f"the page cannot be read: {error}")
        return None

    def write_page(
        self,
        slug: model.Slug,
        text: str,
        source: str,
        page_format: model.Format = model.Format.MARKDOWN,
    ) -> None:
        """Write a page, unless another one has its name."""
        self.pages += self._write(path_of(slug, page_format), text.encode(), source)

    def copy_file(self, root: Path, name: str, to: str) -> None:
        """Copy a file of the source that is no page."""
        path = attachment_path(to)
        if path is None:
            self.lose(name, 1, "no file of a wiki can have this name")
            return
        try:
            content = read_below(root, name, FILE_BYTES_MAX)
        except (FolderError, FileNotFoundError) as error:
            self.lose(name, 1, f"the file cannot be read: {error}")
            return
        self.files += self._write(model.PagePath(path), content, name)

    def _write(self, path: model.PagePath, content: bytes, source: str) -> bool:
        try:
            write_atomically(self.folder, path, content, expected=None)
        except PreconditionFailed:
            self.lose(source, 1, f"another file of the import has the name {path}")
            return False
        return True


def slug_of(name: str) -> model.Slug:
    """The slug of a page by the name that it has elsewhere: words with hyphens."""
    parts = [" ".join(part.split()).replace(" ", "-") for part in name.split("/")]
    return model.Slug("/".join(filter(None, parts)))


def address_of(target: str, page: model.Slug, fragment: str = "") -> str:
    """A link from a page to another page or file, as the service reads it."""
    # it takes a name with a dot for that of a file beside the page, and any other one
    # from the root of the wiki
    if "." in target.rpartition("/")[2]:
        target = posixpath.relpath(target, posixpath.dirname(page) or ".")
    heading = f"#{quote(id_of(fragment))}" if fragment else ""
    return quote(target) + heading


def columns(text: str) -> int:
    """How wide a text is, with a tab to every fourth column."""
    return len(text.expandtabs(4))


def folded(name: str) -> str:
    """A name without what other programs do not distinguish."""
    return " ".join(name.replace("_", " ").replace("-", " ").split()).casefold()


def names_in(root: Path, imported: Imported) -> list[str]:
    """The files of a source, those of the fewest folders first."""

    def refused(error: OSError) -> None:
        name = Path(error.filename).relative_to(root).as_posix()
        imported.lose(name, 1, f"the folder cannot be read: {error.strerror}")

    return sorted(files_below(root, refused), key=lambda name: (name.count("/"), name))


MEDIA = PICTURES | SOUNDS | VIDEOS
HOMES = ("home", "index", "readme")
PLUGIN_FILES = frozenset({".canvas", ".base", ".excalidraw"})
QUERIES = frozenset({"dataview", "dataviewjs", "query", "base", "tasks", "excalidraw"})
CODE_INDENT = 4
FENCE = re.compile(r"(?:\s|>)*(`{3,}|~{3,})[ \t]*([\w-]*)")
ITEM = re.compile(
    r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])(?:[ \t]{1,4}(?=\S)|(?=\s))|(\[\^[^\]\n]+\]:))"
)
# or a link whose text has code
CODE = re.compile(r"(?<!\\)!?\[\[[^\[\]\n`]*`[^\[\]\n]*\]\]|(``[^\n]*?``|`[^`\n]*`)")
# a vault has math and addresses too, in which == and %% are what they are
KEPT = re.compile(
    r"(?<!\\)!?\[\[[^\[\]\n`$:]*[`$:][^\[\]\n]*\]\]|(``[^\n]*?``|`[^`\n]*`"
    r"|\$\$[^$\n]+\$\$|(?<![\\$])\$(?![\s$])[^$\n]*(?<![\s\\])\$(?![\d$])"
    r"|\bhttps?://[^\s<>()\[\]|]+)"
)
WIKILINK = re.compile(r"(?<!\\)(!?)\[\[([^\[\]\n]+)\]\]")
# its address, that of a definition, and that of HTML
LINK = re.compile(
    r"(\]\(|^ {0,3}\[[^\[\]\n^]+\]:[ \t]*|\s(?:href|src)=[\"'])"
    r"(<[^<>\n]*>|[^()<>\s\"']+)(?=[)\s\"']|$)"
)
EXTERNAL = re.compile(r"\w+://|mailto:")
FOOTNOTE = re.compile(r"\^\[((?:[^\[\]\n]|\[\[?[^\[\]\n]*\]\]?)+)\]")
CALLOUT = re.compile(r"((?:\s*>)+\s*)\[!([\w-]+)[^\]\n]*\]([+-]?)[ \t]*(.*)", re.DOTALL)
TAG = re.compile(r"(?<!\S)#([^\W\d][\w/-]*)")
HIGHLIGHT = re.compile(r"==([^=\s](?:[^=\n]*[^=\s])?)==")
BLOCK_ID = re.compile(r"(?:^|[ \t]+)\^[\w-]+[ \t]*$")
SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:|//|#")
ALERTS: Mapping[str, str] = {
    **dict.fromkeys(("note", "info", "abstract", "summary", "tldr", "todo"), "note"),
    **dict.fromkeys(("example", "quote", "cite"), "note"),
    **dict.fromkeys(("tip", "hint", "success", "check", "done"), "tip"),
    **dict.fromkeys(("important", "question", "help", "faq"), "important"),
    **dict.fromkeys(("warning", "attention"), "warning"),
    **dict.fromkeys(("caution", "failure", "fail", "missing"), "caution"),
    **dict.fromkeys(("danger", "error", "bug"), "caution"),
}
"""The service has five; the others keep their name as the title."""


class _Page(Struct):
    file: str
    slug: model.Slug
    line: int = 0
    tags: dict[str, None] = field(default_factory=dict)
    footnotes: list[tuple[int, str]] = field(default_factory=list)
    is_comment: bool = False
    behind: Iterator[str] = iter(())
    """The lines behind this one in its paragraph."""


def import_notes(
    root: Path, imported: Imported, *, is_github: bool, address: str = ""
) -> None:
    """Convert every page of a folder, and copy the other files."""
    names = names_in(root, imported)
    notes = _Notes(names, imported, is_github=is_github, address=address)
    for name in names:
        page_format = notes.formats.get(name)
        if page_format is None:
            if posixpath.splitext(name)[1] in PLUGIN_FILES:
                imported.lose(name, 1, "a file of a plug-in")
            else:
                imported.copy_file(root, name, name)
        elif (text := imported.read_page(root, name)) is not None:
            slug = notes.slugs[name]
            if page_format is model.Format.MEDIAWIKI:
                text = notes.from_mediawiki(name, text)
            elif page_format is model.Format.MARKDOWN:
                text = notes.converted(name, text)
            elif page_format not in model.WRITABLE_FORMATS:
                imported.lose(name, 1, f"the service takes no {page_format.value} page")
                continue
            is_same = page_format in model.WRITABLE_FORMATS
            imported.write_page(
                slug, text, name, page_format if is_same else model.Format.MARKDOWN
            )


class _Notes:
    def __init__(
        self, names: list[str], imported: Imported, *, is_github: bool, address: str
    ) -> None:
        self._imported = imported
        self._is_github = is_github
        self._address = address.removesuffix(".git").removesuffix(".wiki")
        self.formats: dict[str, model.Format] = {}
        self.slugs: dict[str, model.Slug] = {}
        self._by_name: dict[str, str] = {}
        for name in names:
            stem = name
            known = model.split_extension(name)
            # a vault has notes in Markdown alone; its .txt is a file
            if known and (is_github or known[1] is model.Format.MARKDOWN):
                stem, self.formats[name] = known
                self.slugs[name] = slug_of(stem)
            for key in (name, stem, stem.rpartition("/")[2], name.rpartition("/")[2]):
                self._by_name.setdefault(folded(key), name)
        for home in HOMES:
            found = self._by_name.get(home)
            if found in self.slugs and "/" not in found:
                self.slugs[found] = model.Slug("home")
                break
        for name, slug in self.slugs.items():
            if slug.lower() in {"_sidebar", "_footer"}:
                self.slugs[name] = model.Slug(slug.lower())

    def converted(self, name: str, text: str) -> str:
        page = _Page(name, self.slugs[name])
        block, parts = find_block(text), split_front_matter(text)
        head = text[: len(text) - len(parts.body)] if block else ""
        page.line = head.count("\n")
        body = "".join(self._lines(page, text[len(head) :]))
        if page.is_comment:
            self._lose(page, "a comment without an end")
            body += "-->\n"
        for number, (line, footnote) in enumerate(page.footnotes, 1):
            page.line = line
            body += f"\n[^inline-{number}]: {self._prose(page, footnote)}\n"
        meta, more = parts.meta, ""
        if meta.get("aliases"):
            self._imported.lose(name, 1, "aliases: links by another name of the page")
        leaf = posixpath.basename(name).removesuffix(".md")
        # the service shows each hyphen of a name as a space
        if "-" in leaf and "title" not in meta and not self._is_github:
            more = f"title: {json.dumps(leaf, ensure_ascii=False)}\n"
        if "tags" in meta or "tag" in meta:
            given = json.dumps(meta.get("tags", meta.get("tag")), default=str)
            for tag in page.tags:
                if tag not in given:
                    self._imported.lose(name, 1, f"tag #{tag} is only in the text")
        elif page.tags:
            more += f"tags: {json.dumps([*page.tags], ensure_ascii=False)}\n"
        if block and block.language == "yaml":
            return text[: block.begin] + more + text[block.begin : len(head)] + body
        return (f"---\n{more}---\n" if more else "") + head + body

    def from_mediawiki(self, name: str, text: str) -> str:
        page = _Page(name, self.slugs[name])

        def link(target: str, rest: str, line: int) -> str:
            page.line = line
            inner = f"{target}|{rest}" if rest else target
            return self._wikilink(page, inner, is_embed=False)

        converted = convert(text, link)
        for line, what in converted.lost:
            self._imported.lose(name, line, what)
        return converted.text

    def _lose(self, page: _Page, what: str) -> None:
        self._imported.lose(page.file, page.line, what)

    def _lines(self, page: _Page, text: str) -> Iterator[str]:
        fence, is_code, is_behind_blank = "", False, True
        contents = [0]  # columns where those of the open list items begin
        lines = text.splitlines(keepends=True)
        for number, line in enumerate(lines, 1):
            page.line += 1
            behind = (lines[one] for one in range(number, len(lines)))
            page.behind = takewhile(str.strip, behind)
            if not fence and not page.is_comment and line.strip():
                column = columns(line[: -len(line.lstrip(" \t"))])
                item = ITEM.match(line)
                while (item or is_behind_blank) and column < contents[-1]:
                    contents.pop()
                is_indented = column >= contents[-1] + CODE_INDENT
                is_code = is_indented and (is_code or is_behind_blank)
                if item and not is_code:
                    behind_marker = columns(item[0].rstrip()) + 1
                    content = max(behind_marker, columns(item[0]))
                    contents.append(column + CODE_INDENT if item[1] else content)
            is_behind_blank = not line.strip()
            if is_code:
                yield line
                continue
            found = FENCE.match(line)
            is_edge = fence in {"", "$$"} and "$$" in KEPT.sub("", line)
            if fence == "$$":
                kept, sign, rest = line.partition("$$") if is_edge else (line, "", "")
                fence = "" if is_edge or not line.strip() else fence
                yield kept + sign + self._line(page, rest)
            elif fence:
                is_end = found and found[1].startswith(fence) and not found[2]
                fence = "" if is_end else fence
                yield line
            elif found:
                fence = found[1]
                if found[2].lower() in QUERIES and not self._is_github:
                    self._lose(page, f"a query of the plug-in {found[2]}")
                yield line
            elif is_edge and not self._is_github:
                fence = "$$"
                before, sign, kept = line.rpartition("$$")
                yield self._line(page, before) + sign + kept
            else:
                yield self._line(page, line)

    def _line(self, page: _Page, line: str) -> str:
        if not self._is_github:
            end = line[len(line.rstrip("\r\n")) :]
            if callout := CALLOUT.match(line):
                kind, title = callout[2].lower(), callout[4].rstrip("\r\n")
                if callout[3]:
                    self._lose(page, "a callout that folds: it is open")
                known = ALERTS.get(kind, "note")
                if not title and known != kind:
                    title = kind.capitalize()
                line = f"{callout[1]}[!{known}] {title}".rstrip() + end
            if BLOCK_ID.search(line):
                self._lose(page, "the id of a block")
                line = BLOCK_ID.sub("", line.rstrip("\r\n")) + end
        done, at = "", 0
        for code in (CODE if self._is_github else KEPT).finditer(line):
            done += self._prose(page, line, at, code.start())
            done += code[1] or self._linked(page, code[0])
            at = code.end()
        return done + self._prose(page, line, at)

    def _prose(
        self, page: _Page, line: str, start: int = 0, end: int | None = None
    ) -> str:
        text = line[start:end]

        def footnote(found: re.Match[str]) -> str:
            page.footnotes.append((page.line, found[1]))
            return f"[^inline-{len(page.footnotes)}]"

        if not self._is_github:
            text = FOOTNOTE.sub(footnote, text)
        text = LINK.sub(lambda one: one[1] + self._moved(page, one[2]), text)
        text = self._linked(page, text)
        if self._is_github:
            return text
        page.tags |= dict.fromkeys(TAG.findall(text))
        text = HIGHLIGHT.sub(r"<mark>\1</mark>", text)
        first, *rest = text.split("%%")
        for number, part in enumerate(rest, 1):
            # inside a paragraph it opens no comment that does not end there: 100%%
            is_sign, is_inside = True, (line[:start] + first).strip()
            if is_inside and not page.is_comment and number == len(rest):
                behind = chain([line[end:] if end else ""], page.behind)
                is_sign = any("%%" in KEPT.sub("", one) for one in behind)
            page.is_comment ^= is_sign
            sign = "<!--" if page.is_comment else "-->"
            first += (sign if is_sign else "%%") + part
        return first

    # -- links -----------------------------------------------------------------------

    def _find(self, target: str, page: _Page) -> str | None:
        """The file that a link means, as the program finds it: by path, or by name."""
        beside = posixpath.normpath(
            posixpath.join(posixpath.dirname(page.file), target)
        )
        for name in (beside, target.strip("/"), target.rpartition("/")[2]):
            if found := self._by_name.get(folded(name)):
                return found
        return None

    def _moved(self, page: _Page, href: str) -> str:
        address = href.strip("<>")
        wiki = f"{self._address}/wiki"
        if self._address and address.startswith(wiki):
            address = address.removeprefix(wiki).strip("/") or "home"
        if SCHEME.match(address):
            return href
        path, _, fragment = unquote(address).partition("#")
        found = self._find(path, page)
        if found is None:
            return href
        return self._address_of(page, found, fragment)

    def _address_of(self, page: _Page, found: str, fragment: str) -> str:
        if slug := self.slugs.get(found):
            return address_of(slug, page.slug, fragment)
        # of a file it is no heading: #page=3
        return address_of(found, page.slug) + (fragment and f"#{quote(fragment, '=&')}")

    def _linked(self, page: _Page, text: str) -> str:
        return WIKILINK.sub(
            lambda one: self._wikilink(page, one[2], is_embed=bool(one[1])), text
        )

    def _wikilink(self, page: _Page, inner: str, *, is_embed: bool) -> str:
        first, *rest = (one.strip() for one in inner.replace("\\|", "|").split("|"))
        if self._is_github:
            if first == "_TOC_":
                return f"[[{inner}]]"
            # GitHub's form has the text first, but not in a page of MediaWiki; that of
            # a picture has its options behind it
            is_media = posixpath.splitext(first)[1].lower() in MEDIA
            if is_media:
                options = dict(one.split("=", 1) for one in rest if "=" in one)
                rest = [options[key] for key in ("alt", "width") if key in options]
            elif rest and self.formats[page.file] is not model.Format.MEDIAWIKI:
                first, rest = rest[0], [first]
            is_embed = is_embed or is_media
            if EXTERNAL.match(first):
                text = rest[0] if rest else first
                return f"![{text}]({first})" if is_embed else f"[{text}]({first})"
        target, _, fragment = first.partition("#")
        if fragment.startswith("^"):
            self._lose(page, f"a link to a block of {target or 'the page'}")
            fragment = ""
        heading = fragment.rpartition("#")[2]
        name = target.strip()
        found = self._find(name, page) if name else page.file
        address = address_of(slug_of(name), page.slug, heading)
        if found and name:
            address = self._address_of(page, found, heading)
        elif not found:
            self._lose(page, f"a link to {name}, which is not there")
        leaf = posixpath.splitext(target.rpartition("/")[2])[0]
        text = rest[0] if rest else fragment.replace("#", " > ") or target
        if not is_embed:
            return f"[{text}]({address})"
        if found and found not in self.slugs:
            sizes = [one for one in rest if re.fullmatch(r"\d+(x\d+)?(px)?", one)]
            alt = next((one for one in rest if one not in sizes), leaf)
            width = re.match(r"\d+", sizes[0]) if sizes else None
            size = f"{{width={width[0]}}}" if width else ""
            is_shown = posixpath.splitext(found)[1].lower() in MEDIA
            return f"![{alt}]({address}){size}" if is_shown else f"[{alt}]({address})"
        if found:
            self._lose(page, f"the embedded page {target}: it is a link")
        return f"[{text}]({address})"
