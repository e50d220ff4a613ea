"""``wikisync.toml`` as frozen sections.

``parse_config`` is pure and tells every problem at once, each with its key path,
its value and the nearest right name; only ``load_config`` opens a file.  The
order that commands follow is: flag, environment, this file, default.

No section holds a token.  The file is shared and committed, so it may only say
where a token comes from, and a value that could be one is never repeated in an
error.
"""

from __future__ import annotations

import difflib
import json
import re
import shlex
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Literal, TypeVar, cast
from urllib.parse import urlsplit

from wikisync.errors import ConfigError
from wikisync.model import OwnerKind, WikiOwner

FILE_NAME = "wikisync.toml"

OptionValue = str | int | float | bool | tuple[str | int | float | bool, ...]
"""Value of a theme's option; the theme says which it takes."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ServiceSection:
    """Where the wikis are and where the token comes from."""

    url: str
    """Address of the service, without ``/api/v4`` and trailing slash."""
    token_command: tuple[str, ...] = ()
    """Command whose first line of output is the token; run without a shell."""
    token_file: str = ""
    """File that holds the token, readable by its owner alone."""


@dataclass(frozen=True, slots=True)
class WikiSection:
    """One wiki and the folder that holds it."""

    kind: OwnerKind
    path: str
    """Full path of the project or group."""
    folder: str
    """Relative to the workspace, with ``/``."""

    @property
    def owner(self) -> WikiOwner:
        """The project or group as the rest of the house names it."""
        return WikiOwner(self.kind, self.path)


@dataclass(frozen=True, slots=True)
class SyncSection:
    """How folder and wikis are kept in step."""

    reads_max: int = 8
    """Pages read at once."""
    settle_ms: int = 300
    """Quiet time after a save before a file is looked at."""
    poll_interval_s: int = 20
    """Time between two looks at the service."""


@dataclass(frozen=True, slots=True)
class SiteSection:
    """The website."""

    title: str = ""
    """Empty: the wiki's own title."""
    output: str = "site"
    """Folder of the site, relative to the workspace."""
    url: str = ""
    """Address where it will be published; empty when unknown."""
    language: str = "en"
    description: str = ""
    theme: str = "default"
    templates: str = ""
    """Folder of the project's own templates; empty: none."""
    options: Mapping[str, OptionValue] = field(default_factory=dict)
    """Options of the theme, from ``[site.options]``."""


MathOutput = Literal["mathml", "source"]
MarkdownEngine = Literal["auto", "markdown-it", "comrak"]


@dataclass(frozen=True, slots=True)
class MarkupSection:
    """How pages are rendered."""

    markdown_engine: MarkdownEngine = "auto"
    """``auto`` is comrak where it is installed."""
    math: MathOutput = "mathml"
    highlight: bool = True
    """Whether code is coloured."""
    emoji: bool = True
    """Whether ``:tada:`` becomes a character."""


@dataclass(frozen=True, slots=True)
class PreviewSection:
    """Where ``wikisync preview`` listens."""

    host: str = "127.0.0.1"
    port: int = 8000
    """0: any free one."""


@dataclass(frozen=True, slots=True)
class Config:
    """Everything that ``wikisync.toml`` says."""

    service: ServiceSection
    wikis: tuple[WikiSection, ...] = ()
    sync: SyncSection = SyncSection()
    site: SiteSection = field(default_factory=SiteSection)
    markup: MarkupSection = MarkupSection()
    preview: PreviewSection = PreviewSection()


def load_config(path: Path) -> Config:
    """Read a workspace's configuration.

    Raises:
        ConfigError: the file is missing, unreadable or wrong.
    """
    try:
        text = path.read_bytes().decode("utf-8")
    except FileNotFoundError as exc:
        raise ConfigError(
            f"there is no {path.name} in {path.parent}",
            hint="go to a workspace, or make one with wikisync clone",
        ) from exc
    except OSError as exc:
        raise ConfigError(f"cannot read {path}: {exc.strerror}") from exc
    except UnicodeDecodeError as exc:
        raise ConfigError(
            f"{path} is not UTF-8 at byte {exc.start}", hint="save it as UTF-8"
        ) from exc
    return parse_config(text, str(path))


def parse_config(text: str, source: str = FILE_NAME) -> Config:
    """Read a configuration from its text.

    Args:
        text: TOML.
        source: how messages call it.

    Raises:
        ConfigError: with one entry in ``problems`` for each thing that is wrong.
    """
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as exc:
        raise ConfigError(
            f"{source} is not TOML", problems=(_lower_first(str(exc)),)
        ) from exc
    problems: list[str] = []
    top = _Table(document, "", problems)
    wikis = {table.path: _wiki(table) for table in top.tables("wiki")}
    found = {key: wiki for key, wiki in wikis.items() if wiki is not None}
    config = Config(
        service=_service(top.table("service")),
        wikis=tuple(found.values()),
        sync=_sync(top.table("sync")),
        site=_site(top.table("site")),
        markup=_markup(top.table("markup")),
        preview=_preview(top.table("preview")),
    )
    top.refuse_the_rest()
    _check_folders(found, config.site.output, problems)
    if problems:
        raise ConfigError(f"{source} is wrong", problems=tuple(problems))
    return config


# The sections -------------------------------------------------------------------


def _service(table: _Table) -> ServiceSection:
    if table.has("token"):
        table.complain(
            "token",
            "a token never stands in this file: use WIKISYNC_TOKEN, "
            "token_command or token_file",
        )
    section = ServiceSection(
        url=table.text("url", "", _check_url, example=_URL_EXAMPLE).rstrip("/"),
        token_command=table.command("token_command"),
        token_file=table.text("token_file", ""),
    )
    if section.token_command and section.token_file:
        table.complain("token_file", "give either token_command or token_file")
    table.refuse_the_rest()
    return section


def _wiki(table: _Table) -> WikiSection | None:
    project = table.text("project", "", _check_project)
    group = table.text("group", "", _check_group)
    folder = table.text("folder", "", _check_folder)
    unknown = table.refuse_the_rest()
    if project and group:
        table.complain("group", "a wiki has either a project or a group")
    if not project and not group:
        if not unknown and not table.has("project", "group"):
            table.complain("", 'needs a project or a group: project = "docs/handbook"')
        return None
    path = project or group
    leaf = path.rpartition("/")[2]
    kind: OwnerKind = "project" if project else "group"
    return WikiSection(kind, path, _tidy(folder or leaf))


def _sync(table: _Table) -> SyncSection:
    default = SyncSection()
    section = SyncSection(
        reads_max=table.integer("reads_max", default.reads_max, 1, 32),
        settle_ms=table.integer("settle_ms", default.settle_ms, 50, 10_000),
        poll_interval_s=table.integer(
            "poll_interval_s", default.poll_interval_s, 1, 86_400
        ),
    )
    table.refuse_the_rest()
    return section


def _site(table: _Table) -> SiteSection:
    default = SiteSection()
    section = SiteSection(
        title=table.text("title", default.title),
        output=_tidy(table.text("output", default.output, _check_folder)),
        url=table.text("url", default.url, _check_url),
        language=table.text("language", default.language, _check_language),
        description=table.text("description", default.description),
        theme=table.text("theme", default.theme, _check_not_empty),
        templates=_tidy(table.text("templates", default.templates, _check_folder)),
        options=table.options("options"),
    )
    table.refuse_the_rest()
    return section


def _markup(table: _Table) -> MarkupSection:
    default = MarkupSection()
    math = table.choice("math", default.math, ("mathml", "source"))
    engine = table.choice(
        "markdown_engine", default.markdown_engine, ("auto", "markdown-it", "comrak")
    )
    section = MarkupSection(
        markdown_engine=cast("MarkdownEngine", engine),
        math=cast("MathOutput", math),
        highlight=table.flag("highlight", is_on=default.highlight),
        emoji=table.flag("emoji", is_on=default.emoji),
    )
    table.refuse_the_rest()
    return section


def _preview(table: _Table) -> PreviewSection:
    default = PreviewSection()
    section = PreviewSection(
        host=table.text("host", default.host, _check_not_empty),
        port=table.integer("port", default.port, 0, 65_535),
    )
    table.refuse_the_rest()
    return section


# What values may be: each check returns what is wrong, or nothing -----------------

_Check = Callable[[str], str]
_URL_EXAMPLE = "https://gitlab.example.com"
_PATH_PART = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_LANGUAGE = re.compile(r"[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*")


def _is_right(_value: str) -> str:
    return ""


def _check_not_empty(value: str) -> str:
    return "" if value.strip() else "must not be empty"


def _check_url(value: str) -> str:
    try:
        url = urlsplit(value)
        host, _ = url.hostname, url.port
    except ValueError:
        return "is not an address"
    if url.scheme not in {"http", "https"} or not host:
        return f"must be an address like {_URL_EXAMPLE}"
    if url.username is not None or url.password is not None:
        return "must not hold a user or a token"
    if url.query or url.fragment:
        return "must not have a query or a fragment"
    return ""


def _check_project(value: str) -> str:
    if "/" not in value.strip("/"):
        return 'needs the full path with its namespace, like "docs/handbook"'
    return _check_group(value)


def _check_group(value: str) -> str:
    if all(_PATH_PART.fullmatch(part) for part in value.split("/")):
        return ""
    return 'must be a full path without slashes at its ends, like "docs/handbook"'


def _check_folder(value: str) -> str:
    path = PurePosixPath(value)
    if not path.parts or path.is_absolute() or ".." in path.parts or "\\" in value:
        return "must be a folder inside the workspace, like handbook"
    if path.parts[0].casefold() == ".wikisync":
        return "is wikisync's own folder"
    if not value.isprintable():
        return "must be a printable name"
    return ""


def _check_language(value: str) -> str:
    return "" if _LANGUAGE.fullmatch(value) else "must be a language tag like en"


def _check_folders(
    wikis: Mapping[str, WikiSection], output: str, problems: list[str]
) -> None:
    """No wiki twice, and no folder in another or where the site goes."""
    owners: dict[WikiOwner, str] = {}
    folders = {"site.output": output}
    for key, wiki in wikis.items():
        first = owners.setdefault(wiki.owner, key)
        if first != key:
            problems.append(f"{key}: {wiki.owner} is already {first}")
        for other, folder in folders.items():
            if _overlap(folder, wiki.folder):
                shown = json.dumps(wiki.folder, ensure_ascii=False)
                problems.append(
                    f"{key}.folder = {shown}: overlaps {other}, give it another name"
                )
        folders[f"{key}.folder"] = wiki.folder


def _overlap(one: str, two: str) -> bool:
    """Whether one folder is or holds the other, also on a disk that folds case."""
    first, second = f"{one.casefold()}/", f"{two.casefold()}/"
    return first.startswith(second) or second.startswith(first)


def _tidy(folder: str) -> str:
    return str(PurePosixPath(folder)) if folder else ""


# Reading a table ------------------------------------------------------------------

_SECRET_NAME = re.compile(r"tok|pass|secret|key|pat\b", re.IGNORECASE)
_SECRET_VALUE = re.compile(r"gl[a-z]{2,8}-|[A-Za-z0-9_-]{20,}")
_SHOWN_CHARS_MAX = 60


class _Table:
    """One table of the file; what is read is ticked off, what is wrong collected."""

    def __init__(
        self, values: Mapping[str, object], path: str, problems: list[str]
    ) -> None:
        self._values = values
        self.path = path
        """How messages call it: ``wiki[1]``."""
        self._problems = problems
        self._known: list[str] = []

    def has(self, *keys: str) -> bool:
        """Whether the file sets one of the keys."""
        return any(key in self._values for key in keys)

    def complain(self, key: str, problem: str) -> None:
        """Something is wrong with a key, or with the table itself."""
        self._problems.append(f"{self._at(key)}: {problem}")

    def table(self, key: str) -> _Table:
        """A table inside this one, empty where it is absent."""
        value = self._take(key, dict, "a table")
        return _Table(value or {}, self._at(key), self._problems)

    def tables(self, key: str) -> list[_Table]:
        """An array of tables."""
        found = self._take(key, list, f"tables: write [[{key}]]") or []
        tables: list[_Table] = []
        for index, value in enumerate(found):
            path = f"{self._at(key)}[{index}]"
            if isinstance(value, dict):
                tables.append(_Table(value, path, self._problems))
            else:
                self._problems.append(f"{path}: expected a table: write [[{key}]]")
        return tables

    def text(
        self,
        key: str,
        default: str,
        check: _Check = _is_right,
        *,
        example: str = "",
    ) -> str:
        """A string that passes its check; one with an example must be there."""
        value = self._take(key, str, "a string")
        if value is None:
            if example and not self.has(key):
                self.complain(key, f"is missing, like {example}")
            return default
        problem = check(value)
        if problem:
            self._refuse(key, problem)
            return default
        return value

    def integer(self, key: str, default: int, low: int, high: int) -> int:
        """A whole number within bounds."""
        value = self._take(key, int, "a whole number")
        if value is None:
            return default
        if not low <= value <= high:
            self._refuse(key, f"must be from {low} to {high}")
            return default
        return value

    def flag(self, key: str, *, is_on: bool) -> bool:
        """True or false."""
        value = self._take(key, bool, "true or false")
        return is_on if value is None else value

    def choice(self, key: str, default: str, choices: Sequence[str]) -> str:
        """One of a few words."""
        value = self._take(key, str, "a string")
        if value is None or value in choices:
            return value or default
        words = " or ".join(f'"{word}"' for word in choices)
        self._refuse(key, f"must be {words}{_nearest(value, choices)}")
        return default

    def command(self, key: str) -> tuple[str, ...]:
        """A command line, as one string or as a list of its words."""
        self._known.append(key)
        value = self._values.get(key, "")
        if isinstance(value, list) and all(isinstance(word, str) for word in value):
            return tuple(value)
        if not isinstance(value, str):
            self._refuse(key, "expected a string or a list of strings")
            return ()
        try:
            return tuple(shlex.split(value))
        except ValueError:
            self._refuse(key, "has a quote that is not closed")
            return ()

    def options(self, key: str) -> Mapping[str, OptionValue]:
        """A flat table for somebody else to check."""
        options: dict[str, OptionValue] = {}
        for name, value in (self._take(key, dict, "a table") or {}).items():
            plain = tuple(value) if isinstance(value, list) else value
            items = plain if isinstance(plain, tuple) else (plain,)
            if all(isinstance(item, str | int | float | bool) for item in items):
                options[name] = cast("OptionValue", plain)
            else:
                self.complain(f"{key}.{name}", "expected a simple value or a list")
        return options

    def refuse_the_rest(self) -> bool:
        """Every key that nobody asked for is a problem; whether there was one."""
        unknown = [key for key in self._values if key not in self._known]
        for key in unknown:
            if key != "token":
                self._refuse(key, f"unknown key{_nearest(key, self._known)}")
        return bool(unknown)

    def _take(self, key: str, kind: type[T], words: str) -> T | None:
        self._known.append(key)
        if key not in self._values:
            return None
        value = self._values[key]
        if isinstance(value, kind) and (kind is bool or not isinstance(value, bool)):
            return value
        self._refuse(key, f"expected {words}")
        return None

    def _refuse(self, key: str, problem: str) -> None:
        shown = _shown(key, self._values[key])
        self._problems.append(f"{self._at(key)}{shown}: {problem}")

    def _at(self, key: str) -> str:
        shown = key if re.fullmatch(r"[A-Za-z0-9_.-]+", key) else json.dumps(key)
        return f"{self.path}.{shown}" if self.path and key else self.path or shown


def _shown(key: str, value: object) -> str:
    """`` = value`` for a message, unless it is long or could be a secret."""
    if isinstance(value, dict | list) or _SECRET_NAME.search(key):
        return ""
    text = json.dumps(value, ensure_ascii=False, default=str)
    if _SECRET_VALUE.search(text) or "@" in text or len(text) > _SHOWN_CHARS_MAX:
        return ""
    return f" = {text}"


def _nearest(word: str, words: Sequence[str]) -> str:
    found = difflib.get_close_matches(word.lower(), words, n=1, cutoff=0.6)
    return f' (did you mean "{found[0]}"?)' if found else ""


def _lower_first(text: str) -> str:
    return text[:1].lower() + text[1:]


# Writing --------------------------------------------------------------------------


def render_config(config: Config) -> str:
    """A configuration as a commented file that ``parse_config`` takes.

    Values that are the defaults stand there as comments, so that the file shows
    what can be set.
    """
    blocks = [
        _HEAD,
        _render_service(config.service),
        *(_render_wiki(wiki) for wiki in config.wikis),
        _render_section("sync", config.sync, SyncSection(), _SYNC_NOTES),
        _render_section("site", config.site, SiteSection(), _SITE_NOTES),
        _render_options(config.site.options),
        _render_section("markup", config.markup, MarkupSection(), _MARKUP_NOTES),
        _render_section("preview", config.preview, PreviewSection(), _PREVIEW_NOTES),
    ]
    return "\n".join(block for block in blocks if block)


_HEAD = """\
# The workspace's configuration: which wikis, from where, and how the site looks.
# A token never stands in this file.
"""
_SYNC_NOTES = {
    "reads_max": "pages read at once",
    "settle_ms": "quiet time after a save before a file is looked at",
    "poll_interval_s": "seconds between two looks at the service",
}
_SITE_NOTES = {
    "title": "empty: the wiki's own title",
    "output": "folder of the site",
    "url": "address where it will be published",
    "language": "language tag of the site's own words",
    "description": "one sentence for search engines",
    "theme": "name of a theme",
    "templates": "folder of your own templates",
}
_MARKUP_NOTES = {
    "markdown_engine": '"markdown-it", "comrak" (extra fast), or "auto"',
    "math": 'formulas as "mathml" or as "source"',
    "highlight": "whether code is coloured",
    "emoji": "whether :tada: becomes a character",
}
_PREVIEW_NOTES = {"host": "where preview listens", "port": "0: any free one"}


def _render_service(section: ServiceSection) -> str:
    lines = ["[service]", f"url = {_toml(section.url)}"]
    command, file = section.token_command, section.token_file
    lines.append("# where the token comes from when WIKISYNC_TOKEN is not set:")
    if command:
        lines.append(f"token_command = {_toml(command)}")
    if file:
        lines.append(f"token_file = {_toml(file)}")
    if not command and not file:
        lines.append('# token_command = "pass show gitlab"')
        lines.append('# token_file = "~/.wikisync-token"')
    return "\n".join(lines) + "\n"


def _render_wiki(wiki: WikiSection) -> str:
    return (
        f"[[wiki]]\n{wiki.kind} = {_toml(wiki.path)}\nfolder = {_toml(wiki.folder)}\n"
    )


def _render_section(
    name: str, section: object, default: object, notes: Mapping[str, str]
) -> str:
    lines = [f"[{name}]"]
    for key, note in notes.items():
        value = getattr(section, key)
        mark = "# " if value == getattr(default, key) else ""
        lines += [f"# {note}", f"{mark}{key} = {_toml(value)}"]
    return "\n".join(lines) + "\n"


def _render_options(options: Mapping[str, OptionValue]) -> str:
    if not options:
        return ""
    lines = [f"{_toml(key)} = {_toml(value)}" for key, value in options.items()]
    return "\n".join(["[site.options]", *lines]) + "\n"


def _toml(value: OptionValue) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(_toml(item) for item in value)}]"
    if isinstance(value, float):
        return repr(value)
    # JSON's strings are TOML's, but for one character that JSON leaves as it is.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")
