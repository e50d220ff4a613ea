"""Single page files as HTML, with links among the files around them."""

import itertools
import os
import posixpath
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

from msgspec import Struct, field, structs
from msgspec.structs import replace

from wikisync import errors
from wikisync.config.reading import parse_markup
from wikisync.config.sections import FILE_NAME, MarkupSection
from wikisync.core import model
from wikisync.core.messages import Messages
from wikisync.folder import safe_open
from wikisync.folder.naming import attachment_path, parse_path
from wikisync.markup.bounded import bounded_parser
from wikisync.markup.context import Include
from wikisync.markup.links import WikiIndex, normal_path
from wikisync.markup.record import LinkResult, MarkupOptions, TocEntry, position_of
from wikisync.markup.resolve import REASONS, finish_page
from wikisync.markup.source import clean_source
from wikisync.workspace.configured import nearest_workspace, read_config

STDIN = "-"
FILE_BYTES_MAX = 64 * 1024 * 1024
INCLUDE_BYTES_MAX = 1024 * 1024
NEIGHBOURS_MAX = 20_000
"""Files listed around a single file, which may lie in a very large folder."""


class RenderedFile(Struct):
    """What ``--json`` prints of one file."""

    file: str
    format: str
    html: str
    title: str = ""
    toc: tuple[TocEntry, ...] = ()
    links: tuple[LinkResult, ...] = ()
    problems: tuple[model.Problem, ...] = ()
    output: str = ""


class Source(Struct, frozen=True):
    """One page file that the command line names."""

    name: str
    """As messages name it: the argument, or the path of a file found in it."""
    relative: str
    """Path below its root, with ``/``; decides slug and output name."""
    root: Path | None
    """Folder that links and includes stay in; None for standard input."""
    is_found: bool = False
    """In a folder that is named: it is read where it is a file in there."""


class Surroundings(Struct):
    """Pages and attachments around the files of one root."""

    pages: dict[model.Slug, str] = field(default_factory=dict)
    attachments: set[model.AttachmentPath] = field(default_factory=set)


class RelativeUrls(Struct):
    """Addresses relative to one output file, for files that lie side by side."""

    relative: str
    """Path of that file."""
    pages: Mapping[model.Slug, str]

    def page(self, slug: model.Slug, fragment: str) -> str:
        """The page's own output file."""
        address = self._relative(html_name(self.pages[slug]))
        return f"{address}#{quote(fragment)}" if fragment else address

    def attachment(self, path: model.AttachmentPath) -> str:
        """The attachment where it lies."""
        return self._relative(path)

    def missing(self, target: str) -> str | None:
        """Where it would be."""
        return self._relative(target.lstrip("/"))

    def _relative(self, path: str) -> str:
        folder = posixpath.dirname(self.relative)
        address = quote(posixpath.relpath(path, folder or "."))
        # "a:b" would be read as a scheme
        return address if ":" not in address.partition("/")[0] else f"./{address}"


class FileRenderer(Struct):
    """Finds, reads and renders files; counts those that failed."""

    page_format: model.Format | None
    messages: Messages
    markup: Sequence[str]
    failures: int = 0
    options: dict[Path, MarkupOptions] = field(default_factory=dict)
    """By root, as are the surroundings."""
    surroundings: dict[Path, Surroundings] = field(default_factory=dict)

    def fail(self, error: errors.WikisyncError) -> None:
        """Report one file and go on."""
        self.failures += 1
        self.messages.error(error)

    def sources(self, names: Iterable[str]) -> Iterator[Source]:
        """Every page file that the arguments name, folders in byte order."""
        for name in names:
            path = Path(name)
            if name == STDIN:
                yield Source(STDIN, "page", None)
                continue
            if not path.is_dir():
                yield Source(name, path.name, path.parent)
                continue
            found = sorted(self._around(path).pages.values())
            if not found:
                error = errors.FolderError(
                    f"no page in the folder {path}",
                    hint="pages end in .md, .rdoc, .adoc, .org and the like",
                )
                self.fail(error)
            for relative in found:
                yield Source(str(path / relative), relative, path, is_found=True)

    def render(self, source: Source) -> RenderedFile:
        """One file; FolderError where it cannot be read."""
        page = self._page(source)
        include = include_from(source.root, source.relative)
        options = self._options_for(source.root or Path())
        parser = bounded_parser()
        around = Surroundings({page.slug: source.relative})
        if source.root is not None:
            around = self._around(source.root, files_max=NEIGHBOURS_MAX)
            around.pages.setdefault(page.slug, source.relative)
        parsed = parser.parse(page, options, include=include)
        urls = RelativeUrls(source.relative, around.pages)
        rendered = finish_page(
            parsed,
            WikiIndex(around.pages, around.attachments),
            urls,
            lambda: clean_source(page.content),
        )
        for link in rendered.links:
            if link.is_broken:
                place = position_of(source.name, link.line)
                self.messages.note(f"{place}: {link.href}: {REASONS[link.reason]}")
        if parsed.is_source:
            self.fail(
                errors.RenderError(f"{source.name}: {parsed.problems[0].message}")
            )
        else:
            self.messages.problems(
                replace(one, subject=source.name + one.subject.removeprefix(page.slug))
                for one in parsed.problems
            )
        return RenderedFile(
            source.name,
            page.format,
            rendered.html,
            rendered.title,
            rendered.toc,
            rendered.links,
            rendered.problems,
        )

    def _page(self, source: Source) -> model.Page:
        known = parse_path(source.relative)
        page_format = self.page_format or (known[1] if known else None)
        if source.root is None:
            page_format = self.page_format or model.Format.MARKDOWN
        if page_format is None:
            raise errors.FolderError(
                f"the format of {source.name} cannot be determined from its name",
                hint="give it with --format",
            )
        slug = known[0] if known else model.Slug(strip_extension(source.relative))
        return model.Page(slug, page_format, read_text(source))

    def _options_for(self, root: Path) -> MarkupOptions:
        """The options that are given, and ``[markup]`` of the workspace around."""
        if root not in self.options:
            workspace = nearest_workspace(root.resolve())
            section = read_config(workspace / FILE_NAME).markup if workspace else None
            self.options[root] = chosen_markup(self.markup, section)
        return self.options[root]

    def _around(self, root: Path, *, files_max: int | None = None) -> Surroundings:
        if root not in self.surroundings:
            around = Surroundings()

            def refused(error: OSError) -> None:
                if files_max is None:
                    self.fail(safe_open.folder_error("read", error.filename, error))

            for relative in itertools.islice(files_below(root, refused), files_max):
                page = parse_path(relative)
                if page is not None:
                    around.pages.setdefault(page[0], relative)
                elif (found := attachment_path(relative)) is not None:
                    around.attachments.add(found)
            self.surroundings[root] = around
        return self.surroundings[root]


def files_below(root: Path, refused: Callable[[OSError], None]) -> Iterator[str]:
    """Paths of files and linked folders below a folder; hidden ones are passed by.

    ``refused`` hears of each folder that cannot be read.
    """
    for folder, folders, names in os.walk(root, onerror=refused):
        inside = Path(folder).relative_to(root)
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        linked = [name for name in folders if os.path.islink(f"{folder}/{name}")]  # noqa: PTH114 - names of any length
        for name in sorted(names + linked):
            yield (inside / name).as_posix()


def read_text(source: Source) -> str:
    """The text of a file; FolderError where it is none, or too large."""
    try:
        if source.root is None:
            raw = sys.stdin.buffer.read(FILE_BYTES_MAX + 1)
        elif source.is_found:
            path = source.relative
            with safe_open.opened_inside(source.root, path) as descriptor:
                raw = safe_open.read_limited(descriptor, path, FILE_BYTES_MAX)
        else:
            with Path(source.name).open("rb") as file:
                raw = file.read(FILE_BYTES_MAX + 1)
    except OSError as error:
        raise safe_open.folder_error("read", source.name, error) from error
    except errors.FolderError as error:
        folder = "" if source.root == Path() else f"{source.root}: "
        raise errors.FolderError(folder + error.message, hint=error.hint) from error
    if len(raw) > FILE_BYTES_MAX:
        raise errors.FolderError(
            f"{source.name} has more than {FILE_BYTES_MAX} bytes",
            hint="divide it into shorter pages",
        )
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise errors.FolderError(
            f"{source.name} is not UTF-8: byte {error.start} is wrong",
            hint="save it as UTF-8, for instance with iconv",
        ) from error


def write_html(path: Path, html: str) -> None:
    """Write one output file, making its folder."""
    with safe_open.folder_errors("write", path):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(html, encoding="utf-8")


def html_name(relative: str) -> str:
    """Name of the output file for a page file."""
    return f"{strip_extension(relative)}.html"


def strip_extension(relative: str) -> str:
    """A path without the extension of a page, or of any file."""
    known = model.split_extension(relative)
    return known[0] if known else posixpath.splitext(relative)[0]


def include_from(root: Path | None, relative: str) -> Include:
    """An include that reads text files below the root, beside the page first."""

    def include(target: str) -> str | None:
        inside = normal_path(f"{posixpath.dirname(relative)}/{target}")
        if root is None or target.startswith("/") or not inside:
            return None
        # no link out is followed
        try:
            with safe_open.opened_inside(root, inside) as descriptor:
                raw = safe_open.read_limited(descriptor, inside, INCLUDE_BYTES_MAX)
            return None if b"\0" in raw else raw.decode("utf-8")
        except (OSError, errors.FolderError, UnicodeDecodeError):
            return None

    return include


def markup_options(section: MarkupSection) -> MarkupOptions:
    """A section of the configuration as the options of the pipeline."""
    return MarkupOptions(
        math=section.math,
        kroki=section.kroki,
        engine=section.markdown_engine,
        asciidoc_engine=section.asciidoc_engine,
        highlight=section.highlight,
        emoji=section.emoji,
        anchors=section.anchors,
        placeholders={} if section.placeholders else None,
    )


def chosen_markup(
    given: Sequence[str], section: MarkupSection | None = None
) -> MarkupOptions:
    """The options that ``--markup`` and a section of the file give together."""
    values = structs.asdict(section or MarkupSection())
    values.update(parse_settings(given, "--markup"))
    return markup_options(parse_markup(values, "--markup"))


def parse_settings(given: Sequence[str], option: str) -> Mapping[str, object]:
    """Settings as ``name=value``; a value is TOML where it can be, else text."""
    settings: dict[str, object] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not name.strip() or not equals:
            raise errors.UsageError(
                f"{option} {text} is not NAME=VALUE",
                hint=f"write it like {option} {EXAMPLES.get(option, 'name=value')}",
            )
        settings[name.strip()] = value.strip()
        with suppress(tomllib.TOMLDecodeError):
            settings[name.strip()] = tomllib.loads(f"value = {value}")["value"]
    return settings


EXAMPLES = {"--theme-option": "accent=teal", "--markup": "math=source"}
