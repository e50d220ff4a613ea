"""From the text of ``wikisync.toml`` to its sections, and back to a commented file."""

from __future__ import annotations

import json
import os
import re
import stat
import tomllib
from collections import defaultdict
from collections.abc import Collection, Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin
from typing import get_type_hints as all_hints

from msgspec import Struct, ValidationError, convert
from msgspec.structs import replace

from wikisync.config.sections import (
    FILE_NAME,
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
    tidy,
)
from wikisync.config.trust import refuse_foreign
from wikisync.core.decoding import decode_text
from wikisync.core.model import OwnerKind, WikiOwner, folders_above
from wikisync.core.packaged import packaged_text
from wikisync.errors import ConfigError, lowered

S = TypeVar("S", bound=Struct)
hints_of = cache(all_hints)

HIDDEN_NAME = r"(?i)tok|pass|secret|key|pat\b"
HIDDEN_VALUE = r"gl[a-z]{2,8}-|[A-Za-z0-9_-]{20,}"
SHOWN_CHARS_MAX = 60


class _Wrong(Exception):
    """What is wrong with the value of a key."""


class _Table:
    """One table of the file, and what is wrong in any of them."""

    def __init__(self, values: object, path: str, problems: list[str]) -> None:
        self.path, self.problems = path, problems
        """How messages call it: ``wiki[1]``."""
        self.values: Mapping[str, object] = values if isinstance(values, dict) else {}
        if not isinstance(values, dict):
            shown = shown_value(path, values)
            problems.append(f"{path}{shown}: expected a table")

    def complain(self, key: str, problem: str) -> None:
        """Something is wrong with a key."""
        shown = shown_value(key, self.values[key]) if key in self.values else ""
        name = key if re.fullmatch(r"[A-Za-z0-9_.-]+", key) else _quoted(key)
        where = f"{self.path}.{name}" if self.path else name
        self.problems.append(f"{where}{shown}: {problem}")

    def section(self, kind: type[S]) -> S:
        """Its keys as a section; of those that are wrong the defaults."""
        hints = hints_of(kind, include_extras=True)
        found = self._read(hints)
        self.refuse_others(hints)
        return kind(**found)

    def _read(self, hints: Mapping[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, hint in hints.items():
            is_noted = get_origin(hint) is Annotated
            type_, key = get_args(hint) if is_noted else (hint, Key())
            if key.example:
                found[name] = key.example
            if get_origin(type_) is Mapping and name in self.values:
                path = f"{self.path}.{name}"
                table = _Table(self.values[name], path, self.problems)
                found[name] = table._read(dict.fromkeys(table.values, OptionValue))
            elif name in self.values:
                try:
                    found[name] = _value(self.values[name], type_, key)
                except _Wrong as exc:
                    self.complain(name, str(exc))
            elif key.example:
                self.complain(name, f"is missing, like {key.example}")
        return found

    def refuse_others(self, known: Collection[str]) -> None:
        """Every other key is a problem."""
        for key in self.values:
            if key == "token":
                self.complain(key, MISPLACED)
            elif key not in known:
                self.complain(key, f"unknown key{nearest(key, known)}")


def _value(value: object, type_: Any, key: Key) -> object:
    if key.is_command and isinstance(value, str):
        import shlex

        try:
            value = shlex.split(value)
        except ValueError:
            raise _Wrong("has a quote that is not closed") from None
    try:
        held = convert(value, type_)
    except ValidationError:
        raise _Wrong(_expected(value, type_, key)) from None
    if isinstance(held, str) and (problem := key.check(held)):
        raise _Wrong(problem)
    if type_ is int and not key.low <= held <= key.high:
        raise _Wrong(f"must be from {key.low} to {key.high}")
    return tidy(held) if key.check is check_folder else held


def _expected(value: object, type_: Any, key: Key) -> str:
    if get_origin(type_) is Literal and isinstance(value, str):
        choices = get_args(type_)
        words = " or ".join(f'"{word}"' for word in choices)
        return f"must be {words}{nearest(value, choices)}"
    if key.is_command:
        return "expected a string or a list of strings"
    return f"expected {WORDS.get(type_, 'a string')}"


def shown_value(key: str, value: object) -> str:
    """`` = value`` for a message, unless it is long or could be a secret."""
    if isinstance(value, dict | list) or re.search(HIDDEN_NAME, key):
        return ""
    text = _quoted(value)
    if re.search(HIDDEN_VALUE, text) or "@" in text or len(text) > SHOWN_CHARS_MAX:
        return ""
    return f" = {text}"


def _quoted(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def nearest(word: str, words: Collection[str]) -> str:
    """A question whether the nearest word was meant; empty where none is near."""
    import difflib

    found = difflib.get_close_matches(word.lower(), words, n=1, cutoff=0.6)
    return f' (did you mean "{found[0]}"?)' if found else ""


CONFIG_BYTES_MAX = 4 * 1024 * 1024
SECTIONS: Mapping[str, type[Struct]] = {
    "service": ServiceSection,
    "sync": SyncSection,
    "site": SiteSection,
    "markup": MarkupSection,
    "preview": PreviewSection,
    "check": CheckSection,
}
MISPLACED = (
    "a token must not be in this file: use WIKISYNC_TOKEN, token_command or token_file"
)
WORDS: Mapping[object, str] = {
    bool: "true or false",
    bool | None: "true or false",
    int: "a whole number",
    tuple[str, ...]: "a list of strings",
    OptionValue: "a simple value or a list",
}


def load_config(path: Path) -> Config:
    """Read a workspace's configuration; ConfigError if missing, wrong or foreign."""
    try:
        text = decode_text(_read(path))
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


def _read(path: Path) -> bytes:
    # a pipe would be waited for
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise ConfigError(
                f"{path} is not a file", hint="replace it by a file, or remove it"
            )
        refuse_foreign(path, status)
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
    wikis = document.get("wiki", [])
    if not isinstance(wikis, list):
        problems.append("wiki: expected tables: write [[wiki]]")
        wikis = []
    found: dict[str, WikiSection] = {}
    for index, values in enumerate(wikis):
        path = f"wiki[{index}]"
        if not isinstance(values, dict):
            problems.append(f"{path}: expected a table: write [[wiki]]")
        elif wiki := _wiki(_Table(values, path, problems)):
            found[path] = wiki
    sections: dict[str, Any] = {
        name: _Table(document.get(name, {}), name, problems).section(kind)
        for name, kind in SECTIONS.items()
    }
    service: ServiceSection = sections["service"]
    if service.token_command and service.token_file:
        problems.append("service.token_file: give either token_command or token_file")
    sections["service"] = replace(service, url=service.url.rstrip("/"))
    config = Config(wikis=tuple(found.values()), **sections)
    _Table(document, "", problems).refuse_others(["wiki", *SECTIONS])
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
    table = _Table(values, "markup", [])
    section = table.section(MarkupSection)
    if table.problems:
        raise ConfigError(f"{source} is wrong", problems=tuple(table.problems))
    return section


class _WikiKeys(Struct):
    project: Annotated[str, Key(check=check_project)] = ""
    group: Annotated[str, Key(check=check_group)] = ""
    folder: Annotated[str, Key(check=check_folder)] = ""
    id: Annotated[int, Key(1, 2**63 - 1)] = 0


def _wiki(table: _Table) -> WikiSection | None:
    before = len(table.problems)
    keys = table.section(_WikiKeys)
    if keys.project and keys.group:
        table.complain("group", "a wiki has either a project or a group")
    path = keys.project or keys.group
    if not path:
        if len(table.problems) == before:
            needed = 'needs a project or a group: project = "docs/handbook"'
            table.problems.append(f"{table.path}: {needed}")
        return None
    kind: OwnerKind = "project" if keys.project else "group"
    folder = keys.folder or path.rpartition("/")[2]
    return WikiSection(kind, path, folder, keys.id or None)


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
        folders[f"{key}.folder"] = wiki.folder
    # by name and not pair by pair: a workspace can have thousands of wikis
    taken: defaultdict[str, list[str]] = defaultdict(list)
    holding: defaultdict[str, list[str]] = defaultdict(list)
    for key, folder in folders.items():
        own = folder.casefold()
        others = [*taken[own], *holding[own]]
        for above in folders_above(own):
            others += taken[above]
            holding[above].append(key)
        taken[own].append(key)
        problems += [
            f"{key} = {_quoted(folder)}: overlaps {other}, give it another name"
            for other in others
        ]


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
            given = config.site.options.items()
            options = [f"{_toml(key)} = {_toml(value)}" for key, value in given]
            blocks.append("\n".join(["[site.options]", *options]) + "\n")
    return "\n".join(blocks)


_KEY = re.compile(r"^# (\w+) = (.*)$", re.MULTILINE)


def _render_service(section: ServiceSection) -> str:
    lines = ["[service]", f"url = {_toml(section.url)}"]
    lines.append("# where the token comes from when WIKISYNC_TOKEN is not set:")
    names = {"token_command": '"pass show gitlab"', "token_file": '"~/.wikisync-token"'}
    given = {name: getattr(section, name) for name in names if getattr(section, name)}
    lines += [f"{name} = {_toml(value)}" for name, value in given.items()]
    lines += [] if given else [f"# {name} = {like}" for name, like in names.items()]
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


def _toml(value: OptionValue) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(_toml(item) for item in value)}]"
    if isinstance(value, float):
        return repr(value)
    # JSON's strings are TOML's, but for one character that JSON leaves as it is.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")
