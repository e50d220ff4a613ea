"""From the text of ``wikisync.toml`` to its sections, and back to a commented file."""

from __future__ import annotations

import json
import os
import re
import stat
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import (
    Annotated,
    Any,
    Literal,
    TypeVar,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from msgspec import Struct

from wikisync.config.sections import (
    FILE_NAME,
    URL_EXAMPLE,
    Check,
    CheckSection,
    Config,
    Key,
    MarkupSection,
    OptionValue,
    PreviewSection,
    ServiceSection,
    SiteSection,
    SyncSection,
    WikiSection,
    check_folder,
    check_group,
    check_project,
    check_url,
    is_right,
    tidy,
)
from wikisync.config.trust import refuse_foreign
from wikisync.core.decoding import decode_text
from wikisync.core.model import OwnerKind, WikiOwner
from wikisync.core.packaged import packaged_text
from wikisync.errors import ConfigError, lowered

T = TypeVar("T")

HIDDEN_NAME = r"(?i)tok|pass|secret|key|pat\b"
HIDDEN_VALUE = r"gl[a-z]{2,8}-|[A-Za-z0-9_-]{20,}"
SHOWN_CHARS_MAX = 60


class Table:
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

    def table(self, key: str) -> Table:
        """A table inside this one, empty where it is absent."""
        value = self._take(key, dict, "a table")
        return Table(value or {}, self._at(key), self._problems)

    def tables(self, key: str) -> list[Table]:
        """An array of tables."""
        found = self._take(key, list, f"tables: write [[{key}]]") or []
        tables: list[Table] = []
        for index, value in enumerate(found):
            path = f"{self._at(key)}[{index}]"
            if isinstance(value, dict):
                tables.append(Table(value, path, self._problems))
            else:
                self._problems.append(f"{path}: expected a table: write [[{key}]]")
        return tables

    def text(
        self, key: str, default: str, check: Check = is_right, *, example: str = ""
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
        self._refuse(key, f"must be {words}{nearest(value, choices)}")
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
        if not value:
            return ()
        import shlex

        try:
            return tuple(shlex.split(value))
        except ValueError:
            self._refuse(key, "has a quote that is not closed")
            return ()

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of strings."""
        found = self._take(key, list, "a list of strings") or []
        if not all(isinstance(one, str) for one in found):
            self._refuse(key, "expected a list of strings")
            return ()
        return tuple(found)

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
                self._refuse(key, f"unknown key{nearest(key, self._known)}")
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
        shown = shown_value(key, self._values[key])
        self._problems.append(f"{self._at(key)}{shown}: {problem}")

    def _at(self, key: str) -> str:
        shown = key if re.fullmatch(r"[A-Za-z0-9_.-]+", key) else _quoted(key)
        return f"{self.path}.{shown}" if self.path and key else self.path or shown


def shown_value(key: str, value: object) -> str:
    """`` = value`` for a message, unless it is long or could be a secret."""
    if isinstance(value, dict | list) or re.search(HIDDEN_NAME, key):
        return ""
    text = _quoted(value)
    if re.search(HIDDEN_VALUE, text) or "@" in text or len(text) > SHOWN_CHARS_MAX:
        return ""
    return f" = {text}"


def _quoted(value: object) -> str:
    import json

    return json.dumps(value, ensure_ascii=False, default=str)


def nearest(word: str, words: Sequence[str]) -> str:
    """A question whether the nearest word was meant; empty where none is near."""
    import difflib

    found = difflib.get_close_matches(word.lower(), words, n=1, cutoff=0.6)
    return f' (did you mean "{found[0]}"?)' if found else ""


S = TypeVar("S", bound=Struct)

CONFIG_BYTES_MAX = 4 * 1024 * 1024
ID_MAX = 2**63 - 1
"""The largest number that a service gives to a project or group."""


def load_config(path: Path, environment: Mapping[str, str] | None = None) -> Config:
    """Read a workspace's configuration; ConfigError if missing, wrong or foreign."""
    try:
        text = decode_text(_read(path, environment or {}))
    except FileNotFoundError as exc:
        raise ConfigError(
            f"there is no {path.name} in {path.parent}",
            hint="go to a workspace, or make one with wikisync init",
        ) from exc
    except OSError as exc:
        raise ConfigError(
            f"cannot read {path}: {exc.strerror}",
            hint="make it a file that this user can read",
        ) from exc
    except UnicodeDecodeError as exc:
        raise ConfigError(
            f"{path} is not UTF-8 at byte {exc.start}", hint="save it as UTF-8"
        ) from exc
    return parse_config(text, str(path))


def _read(path: Path, environment: Mapping[str, str]) -> bytes:
    # a pipe would be waited for
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise ConfigError(
                f"{path} is not a file", hint="replace it by a file, or remove it"
            )
        refuse_foreign(path, status, environment)
        content = file.read(CONFIG_BYTES_MAX + 1)
    if len(content) > CONFIG_BYTES_MAX:
        raise ConfigError(
            f"{path} is larger than {CONFIG_BYTES_MAX >> 20} MiB",
            hint="replace it by a configuration",
        )
    return content


def parse_config(text: str, source: str = FILE_NAME) -> Config:
    """Read a configuration; a ConfigError has all that is wrong in ``problems``."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as exc:
        raise ConfigError(
            f"{source} is not TOML", problems=(lowered(str(exc)),)
        ) from exc
    problems: list[str] = []
    top = Table(document, "", problems)
    wikis = {table.path: _wiki(table) for table in top.tables("wiki")}
    found = {key: wiki for key, wiki in wikis.items() if wiki is not None}
    config = Config(
        service=_service(top.table("service")),
        wikis=tuple(found.values()),
        sync=_section(top.table("sync"), SyncSection),
        site=_section(top.table("site"), SiteSection),
        markup=_section(top.table("markup"), MarkupSection),
        preview=_section(top.table("preview"), PreviewSection),
        check=_section(top.table("check"), CheckSection),
    )
    top.refuse_the_rest()
    check_folders(found, config.site.output, problems)
    names = {name for wiki in config.wikis for name in (wiki.path, wiki.folder)}
    problems += [
        f"sync.exclude: no wiki of this file has the path or folder {name}"
        for name in config.sync.exclude
        if name not in names
    ]
    if problems:
        raise ConfigError(f"{source} is wrong", problems=tuple(problems))
    return config


def parse_markup(values: Mapping[str, object], source: str) -> MarkupSection:
    """The section ``[markup]`` alone, from values that somebody else has read."""
    problems: list[str] = []
    section = _section(Table(values, "markup", problems), MarkupSection)
    if problems:
        raise ConfigError(f"{source} is wrong", problems=tuple(problems))
    return section


# The sections -------------------------------------------------------------------


def _service(table: Table) -> ServiceSection:
    if table.has("token"):
        table.complain(
            "token",
            "a token must not be in this file: use WIKISYNC_TOKEN, "
            "token_command or token_file",
        )
    section = ServiceSection(
        url=table.text("url", "", check_url, example=URL_EXAMPLE).rstrip("/"),
        token_command=table.command("token_command"),
        token_file=table.text("token_file", ""),
    )
    if section.token_command and section.token_file:
        table.complain("token_file", "give either token_command or token_file")
    table.refuse_the_rest()
    return section


def _wiki(table: Table) -> WikiSection | None:
    project = table.text("project", "", check_project)
    group = table.text("group", "", check_group)
    folder = table.text("folder", "", check_folder)
    id_ = table.integer("id", 0, 1, ID_MAX)
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
    return WikiSection(kind, path, tidy(folder or leaf), id_ or None)


def _section(table: Table, kind: type[S]) -> S:
    default = kind()
    values: dict[str, Any] = {}
    for name, hint in get_type_hints(kind, include_extras=True).items():
        is_noted = get_origin(hint) is Annotated
        type_, key = get_args(hint) if is_noted else (hint, Key())
        values[name] = _value(table, name, getattr(default, name), type_, key)
    table.refuse_the_rest()
    return kind(**values)


def _value(table: Table, name: str, default: Any, type_: Any, key: Key) -> object:
    if type_ in {bool, bool | None}:
        return table.flag(name, is_on=default)
    if type_ is int:
        return table.integer(name, default, key.low, key.high)
    if get_origin(type_) is Literal:
        return table.choice(name, default, get_args(type_))
    if get_origin(type_) is tuple:
        return table.command(name) if key.is_command else table.texts(name)
    if type_ is str:
        text = table.text(name, default, key.check)
        return tidy(text) if key.check is check_folder else text
    return table.options(name)


def check_folders(
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
            if overlap(folder, wiki.folder):
                import json

                shown = json.dumps(wiki.folder, ensure_ascii=False)
                problems.append(
                    f"{key}.folder = {shown}: overlaps {other}, give it another name"
                )
        folders[f"{key}.folder"] = wiki.folder


def overlap(one: str, two: str) -> bool:
    """Whether one folder is or holds the other, also on a disk that folds case."""
    first, second = f"{one.casefold()}/", f"{two.casefold()}/"
    return first.startswith(second) or second.startswith(first)


def render_config(config: Config) -> str:
    """A configuration as a commented file; values that are defaults are comments."""
    head, *sections = packaged_text(__package__, "new.toml").split("\n\n")
    blocks = [
        f"{head}\n",
        _render_service(config.service),
        *(_render_wiki(wiki) for wiki in config.wikis),
    ]
    for lines in sections:
        name = lines[1 : lines.index("]")]
        blocks.append(_render_section(lines.rstrip(), getattr(config, name)))
        if name == "site" and config.site.options:
            blocks.append(_render_options(config.site.options))
    return "\n".join(blocks)


_KEY = re.compile(r"^# (\w+) = (.*)$", re.MULTILINE)


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
    lines = ["[[wiki]]", f"{wiki.kind} = {_toml(wiki.path)}"]
    if wiki.id is not None:
        lines.append(f"id = {wiki.id}")
    return "\n".join([*lines, f"folder = {_toml(wiki.folder)}"]) + "\n"


def _render_section(lines: str, section: Struct) -> str:
    def render(line: re.Match[str]) -> str:
        held = getattr(section, line[1])
        if held is None or _toml(held) == line[2]:
            return line[0]
        return f"{line[1]} = {_toml(held)}"

    return _KEY.sub(render, lines) + "\n"


def _render_options(options: Mapping[str, OptionValue]) -> str:
    lines = [f"{_toml(key)} = {_toml(value)}" for key, value in options.items()]
    return "\n".join(["[site.options]", *lines]) + "\n"


def _toml(value: OptionValue) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(_toml(item) for item in value)}]"
    if isinstance(value, float):
        return repr(value)
    # JSON's strings are TOML's, but for one character that JSON leaves as it is.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")
