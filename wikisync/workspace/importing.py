"""Wikis of other programs as a new folder of pages that is ready to be synced.

Whatever has no counterpart is named, with file and line.  A dump of MediaWiki is read
twice, first for titles and redirects, and never held whole.  XML with a document type
is refused: entities that a file defines can stand for endless text.
"""

import bz2
import gzip
import posixpath
import re
import zlib
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from xml.parsers import expat

from msgspec import Struct, field

from wikisync.api.git_fetch import Fetching, FetchStopped, fetch, write_files
from wikisync.core.model import Slug
from wikisync.errors import FolderError, Unavailable, UsageError
from wikisync.folder.safe_open import folder_error, folder_errors, make_folder
from wikisync.workspace import import_notes as notes
from wikisync.workspace.mediawiki import convert
from wikisync.workspace.sentences import counted

DUMP_BYTES_MAX = 16 * 1024 * 1024 * 1024
PAGE_CHARS_MAX = 4 * 1024 * 1024
CHUNK_BYTES = 1024 * 1024
CARRIED = re.compile(r"0|4|12|14|[1-9]\d+[02468]")
"""Pages, project pages, help, categories and namespaces that a wiki has made.

No talk, which has the odd numbers, users, files and templates.
"""
PICTURE_WORDS = frozenset(
    {"thumb", "thumbnail", "frame", "frameless", "border", "upright"}
    | {"left", "right", "center", "none"}
)
INTERWIKI = re.compile(r"[a-z]{2,3}(-[a-z]+)?|wikipedia|wikt|commons|mw|special|user")
TEXTS = frozenset({"title", "ns", "text", "model", "timestamp", "base"})


class _DumpPage(Struct):
    title: str = ""
    space: str = "0"
    redirect: str = ""
    text: str = ""
    line: int = 1
    model: str = "wikitext"
    is_long: bool = False


class _Dump(Struct):
    spaces: dict[str, str] = field(default_factory=dict)
    main: str = ""
    slugs: dict[str, Slug] = field(default_factory=dict)
    redirects: dict[str, str] = field(default_factory=dict)


def _import_dump(source: Path, files: Path | None, imported: notes.Imported) -> None:
    """Convert every page of a dump; ``files`` is a folder with its files."""
    dump = _Dump()
    left: dict[str, int] = {}

    def note(page: _DumpPage) -> None:
        if page.redirect:
            dump.redirects[notes.folded(page.title)] = page.redirect
        elif CARRIED.fullmatch(page.space):
            slug = notes.slug_of(page.title.replace("_", " ").replace(":", "/"))
            is_main = notes.folded(page.title) == notes.folded(dump.main)
            dump.slugs[notes.folded(page.title)] = Slug("home") if is_main else slug
        else:
            left[page.space] = left.get(page.space, 0) + 1

    _read(source, dump, note)
    for space, count in left.items():
        named = dump.spaces.get(space) or space
        what = f"{counted(count, 'page')} of the namespace {named}"
        imported.lose(source.name, 1, what)
    found = {
        notes.folded(name.rpartition("/")[2]): name
        for name in (notes.names_in(files, imported) if files else ())
    }
    importer = _Importer(source.name, dump, found, imported)
    _read(source, dump, importer.write)
    for name in sorted(importer.used):
        assert files is not None
        imported.copy_file(files, name, f"files/{posixpath.basename(name)}")


class _Importer(Struct):
    source: str
    dump: _Dump
    files: dict[str, str]
    imported: notes.Imported
    used: set[str] = field(default_factory=set)
    page: _DumpPage = field(default_factory=_DumpPage)
    slug: Slug = Slug("")

    def write(self, page: _DumpPage) -> None:
        if page.redirect or not CARRIED.fullmatch(page.space):
            return
        if page.is_long or page.model != "wikitext":
            what = "is too long" if page.is_long else f"is {page.model}"
            self._lose(page, 1, f"the page {page.title} {what}")
            return
        if not page.title.strip():
            self._lose(page, 1, "a page without a title")
            return
        self.page, self.slug = page, self.dump.slugs[notes.folded(page.title)]
        converted = convert(page.text, self._link)
        for line, what in converted.lost:
            self._lose(page, line, what)
        tags = ", ".join(
            f'"{name.replace(chr(92), "").replace(chr(34), "")}"'
            for name in dict.fromkeys(converted.categories)
        )
        title = page.title.replace("\\", "\\\\").replace('"', '\\"')
        head = f'title: "{title}"\n' + (f"tags: [{tags}]\n" if tags else "")
        text = f"---\n{head}---\n{converted.text}"
        self.imported.write_page(self.slug, text, f"{self.source}: {page.title}")

    def _lose(self, page: _DumpPage, line: int, what: str) -> None:
        self.imported.lose(self.source, page.line + line - 1, what)

    def _link(self, target: str, rest: str, line: int) -> str:
        is_link = target.startswith(":")
        name, _, fragment = target.lstrip(":").partition("#")
        space, colon, leaf = name.partition(":")
        files = {"file", "image", "media", self.dump.spaces.get("6", "").lower()}
        if colon and space.strip().lower() in files:
            return self._file(leaf.strip(), rest, line, is_link=is_link)
        text = rest or target.lstrip(":")
        if name.startswith("/"):
            name = f"{self.page.title}{name.rstrip('/')}"
        key = notes.folded(name)
        for _ in range(5):
            key = notes.folded(self.dump.redirects.get(key, key))
        slug = self.dump.slugs.get(key)
        if slug is None and name:
            if colon and INTERWIKI.fullmatch(space.strip().lower()):
                self._lose(self.page, line, f"a link to another wiki: {name}")
                return text
            slug = notes.slug_of(name.replace("_", " ").replace(":", "/"))
        heading = fragment.replace("_", " ")
        return f"[{text}]({notes.address_of(slug or '', self.slug, heading)})"

    def _file(self, name: str, rest: str, line: int, *, is_link: bool) -> str:
        found = self.files.get(notes.folded(name))
        if found:
            self.used.add(found)
        else:
            self._lose(self.page, line, f"the file {name}, which no dump has")
        leaf = posixpath.basename(found or name.replace(" ", "_"))
        address = notes.address_of(f"files/{leaf}", self.slug)
        caption, size = "", ""
        for word in map(str.strip, rest.split("|")):
            if width := re.fullmatch(r"(\d+)(?:x\d+)?px", word):
                size = f"{{width={width[1]}}}"
            elif word and word not in PICTURE_WORDS and "=" not in word:
                caption = word
        if is_link:
            return f"[{caption or name}]({address})"
        return f"![{caption}]({address}){size}"


def _read(source: Path, dump: _Dump, found: Callable[[_DumpPage], None]) -> None:
    """Give every page; UsageError where it is no dump, or has a document type."""
    parser = expat.ParserCreate()
    page = _DumpPage()
    texts: list[str] = []
    at = ""
    chars = 0
    is_dump = False

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal page, at, chars, is_dump
        at = name if name in TEXTS else at
        texts.clear()
        chars = 0
        match name:
            case "mediawiki":
                is_dump = True
            case "page":
                page = _DumpPage()
            case "redirect":
                page.redirect = attributes.get("title", "")
            case "namespace":
                at = f"namespace {attributes.get('key', '')}"
            case "text":
                page.line, page.is_long = parser.CurrentLineNumber, False

    def character(text: str) -> None:
        nonlocal chars
        chars += len(text)
        if chars <= PAGE_CHARS_MAX:
            texts.append(text)
        else:
            page.is_long = True

    def end(name: str) -> None:
        nonlocal at
        text = "".join(texts)
        match name:
            case "title" | "model" | "text":
                setattr(page, name, text)
            case "ns":
                page.space = text
            case "base":
                dump.main = text.rpartition("/")[2]
            case "namespace":
                dump.spaces[at.partition(" ")[2]] = text
            case "page":
                found(page)
        texts.clear()

    def refuse(*_: object) -> None:
        raise UsageError(
            f"{source} has a document type, which no dump of MediaWiki has",
            hint="make the dump anew, with dumpBackup.php or Special:Export",
        )

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = character
    parser.StartDoctypeDeclHandler = refuse
    packers: dict[str, Callable[..., Any]] = {".bz2": bz2.open, ".gz": gzip.open}
    opener = packers.get(source.suffix, open)
    size = 0
    try:
        with opener(source, "rb") as file:
            while chunk := file.read(CHUNK_BYTES):
                size += len(chunk)
                if size > DUMP_BYTES_MAX:
                    raise UsageError(f"{source} is larger than {DUMP_BYTES_MAX} bytes")
                parser.Parse(chunk, False)
            parser.Parse(b"", True)
    except expat.ExpatError as error:
        raise UsageError(f"{source} is no XML: {error}") from error
    except (OSError, EOFError, zlib.error) as error:
        raise UsageError(f"cannot read {source}: {error}") from error
    if not is_dump:
        raise UsageError(f"{source} is no dump of MediaWiki")


KINDS = ("obsidian", "github", "mediawiki")


def import_wiki(
    kind: str, source: str, folder: Path, files: Path | None
) -> notes.Imported:
    """Make the folder, which must be empty, from a source of one of ``KINDS``."""
    if folder.is_dir() and any(folder.iterdir()):
        hint = "name a new folder, or first remove what a stopped import left in it"
        raise FolderError(f"{folder} is not empty", hint=hint)
    is_address = "://" in source and kind == "github"
    if not is_address and not Path(source).exists():
        raise UsageError(f"there is no {source}", hint="check the path")
    is_folder = is_address or Path(source).is_dir()
    if is_folder is (kind == "mediawiki"):
        wanted = "an XML dump" if kind == "mediawiki" else "a folder"
        raise UsageError(f"{source} is not {wanted}", hint="see wikisync import --help")
    with folder_errors("make", folder):
        make_folder(folder)
    imported = notes.Imported(folder)
    if kind == "mediawiki":
        _import_dump(Path(source), files, imported)
    elif is_address:
        with TemporaryDirectory(prefix="wikisync-") as name:
            root = _fetched(source, Path(name))
            notes.import_notes(root, imported, is_github=True, address=source)
    else:
        notes.import_notes(Path(source), imported, is_github=kind == "github")
    imported.lost.sort()
    return imported


def _fetched(address: str, place: Path) -> Path:
    try:
        fetch(address, place / "git", Fetching(None, address))
        write_files(place / "git", place / "files")
    except FetchStopped as error:
        raise Unavailable(
            f"cannot fetch {address}: {error}",
            hint="clone it with git, and import the folder",
        ) from error
    except OSError as error:
        raise folder_error("write to", str(place), error) from error
    return place / "files"
